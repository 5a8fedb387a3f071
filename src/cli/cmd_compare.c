/* sandglass compare A B [C...]: sessions side by side, aligned by their actions; the first
 * difference; the sessions that ended with the same files or took the same action sequence. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/choice_options.h"
#include "check/past.h"
#include "check/summary.h"
#include "cli/lib/cmd_priv.h"
#include "sessions/sessions.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/lcs.h"
#include "base/mem.h"
#include "query/row.h"

enum { STEPS_MAX = 2000000, AROUND = 3 };

/* Its texts are keys of run.texts: long sessions say the same again and again. */
struct step {
	/* "exec make test": the compared text; the model of a call is not part of the action
	 * sequence */
	const char *key;
	const char *what;    /* as it is printed */
	const char *outcome; /* "exit 0", "denied" */
	const char *agent;   /* name; "" = the script */
	uint64_t id;
	uint32_t did; /* number of key and outcome */
};
struct run {
	struct session *s;
	struct summary sum;
	struct step *step;
	size_t nr, cap;
	char *way;     /* H over the keys in order, 8 digits */
	json_t *texts; /* of all runs: text -> its number; borrowed */
	/* number of the first run that took the same way, ended with the same files */
	size_t same_way, same_tree;
};

/* The one copy of @text, which is freed; NULL becomes "". */
static const char *cmd_compare_kept(json_t *texts, char *text, uint32_t *number)
{
	const char *key = text ? text : "";
	void *at = json_object_iter_at(texts, key);
	if (!at) {
		if (json_object_set_new_nocheck(
			    texts, key, json_integer((json_int_t)json_object_size(texts))) < 0)
			abort();
		at = json_object_iter_at(texts, key);
	}
	if (number)
		*number = (uint32_t)json_integer_value(json_object_iter_value(at));
	free(text);
	return json_object_iter_key(at);
}

static char *outcome_of(const json_t *row)
{
	if (json_is_integer(json_object_get(row, "exit")))
		return mem_printf("exit %lld", (long long)json_int(row, "exit", 0));
	if (json_int(row, "signal", 0))
		return mem_printf("signal %lld", (long long)json_int(row, "signal", 0));
	return mem_strdup(json_str(row, "end", "open"));
}

static int take_step(void *self, const struct past_action *a, struct err *err)
{
	struct run *r = self;
	CLEANUP(buf_release) struct buf what = BUF_INIT;
	const char *kind = json_str(a->row, "kind", "");
	if (r->nr == STEPS_MAX)
		return err_set(err, ERR_FULL, "more than %d actions\nSelect fewer with --filter.",
			       STEPS_MAX);
	row_what(a->row, &what);
	GROW(r->step, r->nr, r->cap);
	struct step *s = &r->step[r->nr++];
	s->id = a->id;
	s->agent = cmd_compare_kept(r->texts, mem_strdup(json_str(a->row, "agent", "")), NULL);
	/* a redacted text differs from every other, also from a redacted text of another session */
	s->what = cmd_compare_kept(r->texts,
				   a->requested ? mem_printf("%-5s %s", kind, buf_cstr(&what))
						: mem_printf("(redacted in %s)", session_id(a->s)),
				   NULL);
	s->key = a->requested && !strcmp(kind, "model")
			 ? cmd_compare_kept(r->texts, mem_strdup(kind), NULL)
			 : s->what;
	s->outcome = cmd_compare_kept(r->texts, outcome_of(a->row), NULL);
	cmd_compare_kept(r->texts, mem_printf("%s\n%s", s->key, s->outcome), &s->did);
	return 0;
}

/* Agent by agent, each in its order: who runs at the same time takes turns as it comes. */
static int cmd_compare_by_agent(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	int c = strcmp(x->agent, y->agent);
	return c ? c : x->id < y->id ? -1 : 1;
}

static int cmd_compare_load(struct cmd_ctx *ctx, const char *word, struct working *w, struct run *r,
			    struct err *err)
{
	uint64_t seq;
	struct hash_ctx h;
	struct hash way;
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	if (session_open_ref(ctx, word, &r->s, &seq, err) < 0)
		return -1;
	if (summary_of(r->s, &r->sum, err) < 0 ||
	    past_each(r->s, cmd_opt(ctx, "filter"), w, take_step, r, err) < 0)
		return err_wrap(err, "%s", word);
	if (r->nr)
		qsort(r->step, r->nr, sizeof(*r->step), cmd_compare_by_agent);
	hash_begin(&h);
	for (size_t i = 0; i < r->nr; i++)
		hash_add(&h, r->step[i].key, strlen(r->step[i].key) + 1);
	hash_end(&h, &way);
	hex_append(&hex, way.b, 4);
	r->way = buf_take(&hex);
	return 0;
}

static void run_release(struct run *r)
{
	free(r->step);
	free(r->way);
	summary_release(&r->sum);
	session_close(&r->s);
}

/* --- two of them: how far they go together ---------------------------------------------------- */

static bool step_same(const struct run *a, size_t i, const struct run *b, size_t k)
{
	return i < a->nr && k < b->nr && a->step[i].did == b->step[k].did;
}

static uint32_t *cmd_compare_deeds(const struct run *r)
{
	uint32_t *did = mem_calloc(r->nr + 1, sizeof(*did));
	for (size_t i = 0; i < r->nr; i++)
		did[i] = r->step[i].did;
	return did;
}

static size_t cmd_compare_common(const struct run *a, const struct run *b)
{
	uint32_t *x = cmd_compare_deeds(a), *y = cmd_compare_deeds(b);
	size_t length = lcs_length(x, a->nr, y, b->nr, (uint32_t)json_object_size(a->texts));
	free(x);
	free(y);
	return length;
}

static size_t cmd_compare_together(const struct run *a, const struct run *b)
{
	size_t i = 0;
	while (step_same(a, i, b, i))
		i++;
	return i;
}

static void cmd_compare_put_step(struct cmd_ctx *ctx, const struct run *r, size_t i,
				 const char *mark)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (i >= r->nr) {
		fprintf(ctx->out, "  %s %s  (ends here)\n", mark, r->sum.id);
		return;
	}
	if (*r->step[i].agent) {
		cmd_safe(&b, r->step[i].agent, strlen(r->step[i].agent), false);
		buf_puts(&b, ": ");
	}
	cmd_safe(&b, r->step[i].what, strlen(r->step[i].what), false);
	fprintf(ctx->out, "  %s %s#%-6llu %s -> %s\n", mark, r->sum.id,
		(unsigned long long)r->step[i].id, buf_cstr(&b), r->step[i].outcome);
}

static void first_difference(struct cmd_ctx *ctx, const struct run *a, const struct run *b)
{
	size_t at = cmd_compare_together(a, b);
	if (at == a->nr && at == b->nr) {
		fprintf(ctx->out, "%s and %s did the same: %zu action%s\n", a->sum.id, b->sum.id,
			at, at == 1 ? "" : "s");
		return;
	}
	fprintf(ctx->out, "%s and %s: ", a->sum.id, b->sum.id);
	if (at > 1)
		fprintf(ctx->out, "the first %zu actions are the same", at);
	else
		fputs(at ? "the first action is the same" : "the first actions differ", ctx->out);
	fprintf(ctx->out, "; both did %zu of %zu and %zu\n", cmd_compare_common(a, b), a->nr,
		b->nr);
	for (size_t i = at > AROUND ? at - AROUND : 0; i < at; i++)
		cmd_compare_put_step(ctx, a, i, " ");
	for (size_t i = at; i < at + AROUND && i < (a->nr > at ? a->nr : at + 1); i++)
		cmd_compare_put_step(ctx, a, i, "-");
	for (size_t i = at; i < at + AROUND && i < (b->nr > at ? b->nr : at + 1); i++)
		cmd_compare_put_step(ctx, b, i, "+");
}

static json_t *difference_json(const struct run *a, const struct run *b)
{
	json_t *o = json_object();
	size_t at = cmd_compare_together(a, b);
	json_put_str(o, "a", a->sum.id);
	json_put_str(o, "b", b->sum.id);
	json_put_int(o, "same_from_start", (int64_t)at);
	json_put_int(o, "same", (int64_t)cmd_compare_common(a, b));
	json_put_flag(o, "same_way", at == a->nr && at == b->nr);
	if (at < a->nr)
		json_put_int(o, "a_differs_at", (int64_t)a->step[at].id);
	if (at < b->nr)
		json_put_int(o, "b_differs_at", (int64_t)b->step[at].id);
	return o;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void cmd_compare_cluster(struct run *r, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		r[i].same_way = r[i].same_tree = i;
		for (size_t k = i; k-- > 0;) {
			if (!strcmp(r[k].way, r[i].way))
				r[i].same_way = k;
			if (r[k].sum.tree && r[i].sum.tree && !strcmp(r[k].sum.tree, r[i].sum.tree))
				r[i].same_tree = k;
		}
	}
}

static size_t cmd_compare_kinds(const struct run *r, size_t nr, bool tree)
{
	size_t n = 0;
	for (size_t i = 0; i < nr; i++)
		n += (tree ? r[i].same_tree : r[i].same_way) == i;
	return n;
}

/* Each new one gets the next letter. */
static char cmd_compare_letter(const struct run *r, size_t i, bool tree)
{
	size_t of = tree ? r[i].same_tree : r[i].same_way;
	return (char)((tree ? 'a' : 'A') + (cmd_compare_kinds(r, of + 1, tree) - 1) % 26);
}

static void cmd_compare_table(struct cmd_ctx *ctx, const struct run *r, size_t nr)
{
	fprintf(ctx->out, "%-8s %-11s %7s %7s %6s %5s %6s %9s  %-3s  %s\n", "session", "state",
		"time", "actions", "failed", "asked", "denied", "cost $", "way", "files");
	for (size_t i = 0; i < nr; i++) {
		const struct summary *m = &r[i].sum;
		CLEANUP(buf_release) struct buf took = BUF_INIT, cost = BUF_INIT;
		clock_span(m->took_us, &took);
		summary_cost(m->cost_uusd, m->cost_unknown, &cost);
		/* ways and ends are named by letters: the same letter, the same thing */
		fprintf(ctx->out, "%-8s %-11s %7s %7llu %6llu %5llu %6llu %9s  %-3c  %c\n", m->id,
			m->state, buf_cstr(&took), (unsigned long long)m->actions,
			(unsigned long long)m->failed, (unsigned long long)m->asked,
			(unsigned long long)(m->denied + m->denied_by_rule), buf_cstr(&cost),
			cmd_compare_letter(r, i, false),
			m->tree ? cmd_compare_letter(r, i, true) : '?');
	}
	if (nr > 2) {
		size_t ways = cmd_compare_kinds(r, nr, false),
		       ends = cmd_compare_kinds(r, nr, true);
		fprintf(ctx->out, "%zu way%s, %zu end%s among %zu sessions\n", ways,
			ways == 1 ? "" : "s", ends, ends == 1 ? "" : "s", nr);
	}
}

static bool cmd_compare_tell(struct cmd_ctx *ctx, const struct run *r, size_t nr)
{
	bool same = true;
	if (!ctx->json)
		cmd_compare_table(ctx, r, nr);
	for (size_t i = 0; ctx->json && i < nr; i++) {
		json_t *o = summary_json(&r[i].sum);
		json_put_str(o, "way", r[i].way);
		cmd_json(ctx, o);
	}
	for (size_t i = 1; i < nr; i++) {
		same = same && r[i].same_way == 0 && r[i].same_tree == 0;
		if (ctx->json)
			cmd_json(ctx, difference_json(&r[0], &r[i]));
		else
			first_difference(ctx, &r[0], &r[i]);
	}
	return same;
}

/* On a terminal, unless words were asked for. */
static bool cmd_compare_on_screen(const struct cmd_ctx *ctx)
{
	return cmd_word(ctx, 0) && !ctx->json && !ctx->no_tui && !cmd_has(ctx, "filter") &&
	       isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static int cmd_compare_show(struct run *r, size_t nr, struct err *err)
{
	CLEANUP(free_ptr) char *program = cmd_replay_program();
	struct strv argv = STRV_INIT;
	int status = 0;
	strv_push(&argv, "sandglass-replay");
	strv_push(&argv, "--view");
	strv_push(&argv, "compare");
	for (size_t i = 0; i < nr; i++)
		strv_push(&argv, session_path(r[i].s));
	pid_t pid = fork();
	if (pid == 0) {
		execv(program, argv.item);
		_exit(127);
	}
	int rc = pid < 0 ? err_sys(err, "can't start '%s'", program) : 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
		rc = err_set(err, ERR_NOENT, "can't run '%s'", program);
	strv_release(&argv);
	return rc;
}

/* Those that words name, or that options choose, oldest first. */
static int cmd_compare_sessions(struct cmd_ctx *ctx, struct strv *out, struct err *err)
{
	struct past past;
	for (size_t i = 0; cmd_word(ctx, i); i++)
		strv_push(out, cmd_word(ctx, i));
	if (out->nr)
		return 0;
	if (past_sessions(ctx, 0, &past, err) < 0)
		return -1;
	int rc = past_choose(ctx, &past, err);
	for (size_t i = 0; rc == 0 && i < past.paths.nr; i++)
		strv_push(out, past.paths.item[i]);
	if (rc == 0 && out->nr < 2)
		rc = err_set(err, ERR_NOENT,
			     "expected two or more sessions, the options choose %zu", out->nr);
	past_release(&past);
	return rc;
}

static int cmd_compare_check(struct cmd_ctx *ctx)
{
	bool chooses = choice_given(ctx);
	if (cmd_has(ctx, "patterns"))
		return cmd_word(ctx, 0) || chooses ? cmd_usage(ctx, "--patterns takes no sessions")
						   : EXIT_DONE;
	if (cmd_has(ctx, "image") || cmd_has(ctx, "keep"))
		return cmd_usage(ctx, "--image and --keep require --patterns");
	if (cmd_word(ctx, 0) && chooses)
		return cmd_usage(ctx, "expected names or options that choose sessions, got both");
	return chooses || cmd_word(ctx, 1) ? EXIT_DONE : cmd_usage(ctx, "missing arguments: A B");
}

static int cmd_compare_all(struct cmd_ctx *ctx, const struct strv *refs, bool *same_out,
			   struct err *err)
{
	size_t nr = refs->nr;
	struct run *r = mem_calloc(nr, sizeof(*r));
	struct working w = { .ctx = ctx };
	CLEANUP(json_release) json_t *texts = json_object();
	int rc = 0;
	for (size_t i = 0; i < nr; i++)
		r[i].texts = texts;
	for (size_t i = 0; rc == 0 && i < nr; i++)
		rc = cmd_compare_load(ctx, refs->item[i], &w, &r[i], err);
	progress_clear(&w);
	if (rc == 0) {
		cmd_compare_cluster(r, nr);
		for (size_t i = 1; i < nr && cmd_compare_on_screen(ctx); i++)
			*same_out =
				r[i].same_way == 0 && r[i].same_tree == 0 && (i == 1 || *same_out);
		if (cmd_compare_on_screen(ctx))
			rc = cmd_compare_show(r, nr, err);
		else
			*same_out = cmd_compare_tell(ctx, r, nr);
	}
	for (size_t i = 0; i < nr; i++)
		run_release(&r[i]);
	free(r);
	return rc;
}

int cmd_compare(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	CLEANUP(strv_release) struct strv refs = STRV_INIT;
	bool same = false;
	int status = cmd_compare_check(ctx);
	if (status != EXIT_DONE)
		return status;
	if (cmd_has(ctx, "patterns"))
		return cmd_patterns(ctx);
	if (cmd_compare_sessions(ctx, &refs, &err) < 0 ||
	    cmd_compare_all(ctx, &refs, &same, &err) < 0)
		return cmd_fail(ctx, &err);
	return same ? EXIT_DONE : EXIT_UNSUCCESSFUL;
}
