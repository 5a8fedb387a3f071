#include "cli/front/fork_models.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/summary.h"
#include "cli/front/fork_outcome.h"
#include "sessions/sessions.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "loop/loop.h"

enum { LEGS_MAX = 64, LOOK_MS = 200, SAID_MAX = 16 << 20, TEST_REFUSED = 125 };

/* One model's way from the common event on. */
struct leg {
	char *model, *id, *path;
	int64_t run;
	bool over, late;
	json_t *outcome; /* fork_outcome */
	int test;	 /* exit status; -1: none was run */
	char *test_why;	 /* why it could not be run */
	int64_t files, added, removed;
	int64_t took_us, cost_uusd, actions, model_calls; /* after the common event */
	bool other_model;
	struct summary sum;
};

struct race {
	struct cmd_ctx *ctx;
	const char *from;
	uint64_t seq;
	char *dir, *repo; /* scratch; the repository of its first box, NULL none */
	struct leg leg[LEGS_MAX];
	size_t nr;
	int64_t until_us; /* monotonic; 0: no limit */
};

extern char **environ;

/* --- programs of ours ------------------------------------------------------------------------- */

/* Runs sandglass itself with the arguments @words; its output is in @out. Returns the exit
 * status, -1 with an error. */
static int run_own(const struct race *r, const struct strv *words, const char *input,
		   struct buf *out, struct err *err)
{
	CLEANUP(free_ptr) char *file = mem_printf("%s/out", r->dir);
	CLEANUP(free_ptr) char *none = mem_printf("%s/err", r->dir);
	CLEANUP(fd_close) int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CLEANUP(fd_close) int said = open(none, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CLEANUP(fd_close) int in = input ? open(input, O_RDONLY | O_CLOEXEC) : -1;
	int pid, pidfd, status = 0;
	if (fd < 0 || said < 0 || (input && in < 0))
		return err_sys(err, "can't open a file in '%s'", r->dir);
	const int fds[] = { in, fd, said };
	if (proc_spawn("/proc/self/exe", words->item, environ, fds, ARRAY_LEN(fds), &pid, &pidfd,
		       err) < 0)
		return -1;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	while (poll(&p, 1, -1) < 0)
		;
	int rc = proc_reap(pidfd, &status, err);
	fd_close(&pidfd);
	struct err bad = ERR_INIT;
	if (rc < 0 || file_read(file, out, SAID_MAX, err) < 0)
		return -1;
	if (status && !out->len && file_read(none, out, SAID_MAX, &bad) < 0)
		out->len = 0;
	return status > 255 ? 255 : status;
}

static void own_words(const struct race *r, struct strv *w)
{
	strv_push(w, "sandglass");
	strv_push(w, "--sessions");
	strv_push(w, r->ctx->sessions);
}

/* --- beginning -------------------------------------------------------------------------------- */

/* Of its session or its test's: the model's name, in the signs that a name takes. */
static char *leg_name(const struct leg *g, const char *kind)
{
	char *name = mem_printf("%s-%s-%" PRId64, kind, g->model, g->run);
	for (char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9') || *p == '-'))
			*p = '-';
	if (strlen(name) > 40)
		name[40] = 0;
	return name;
}

static int start_leg(struct race *r, struct leg *g, struct err *err)
{
	CLEANUP(strv_release) struct strv w = STRV_INIT;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	CLEANUP(free_ptr) char *name = leg_name(g, "fork");
	const char *budget = cmd_opt(r->ctx, "budget"), *own = cmd_opt(r->ctx, "name");
	CLEANUP(free_ptr) char *ref = mem_printf("%s#%" PRIu64, r->from, r->seq);
	own_words(r, &w);
	const char *const fixed[] = { "--json", "fork",	      ref,
				      "-d",	"--no-input", "--with",
				      g->model, "--name",     own ? own : name };
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		strv_push(&w, fixed[i]);
	if (budget) {
		strv_push(&w, "--budget");
		strv_push(&w, budget);
	}
	int status = run_own(r, &w, NULL, &out, err);
	if (status < 0)
		return -1;
	CLEANUP(json_release)
	json_t *launch = status ? NULL : json_parse(out.data, out.len, "what fork says", err);
	if (status || !launch)
		return status ? err_set(err, ERR_INVALID, "%s: %s", g->model,
					out.len ? buf_cstr(&out) : "can't start")
			      : -1;
	g->id = mem_strdup(json_str(launch, "session", ""));
	g->path = mem_strdup(json_str(launch, "path", ""));
	return 0;
}

static void end_leg_unstarted(struct leg *g, const struct err *err)
{
	g->over = true;
	g->outcome = json_pack("{ssss}", "outcome", "failed", "why", err->text);
}

/* --- until all have ended --------------------------------------------------------------------- */

static void stop_leg(struct race *r, struct leg *g)
{
	CLEANUP(strv_release) struct strv w = STRV_INIT;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct err none = ERR_INIT;
	own_words(r, &w);
	const char *const fixed[] = { "stop", "--now", "-S", g->id };
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		strv_push(&w, fixed[i]);
	g->late = true;
	(void)!run_own(r, &w, NULL, &out, &none);
}

/* Counts an event after the common one. */
static void see_event(struct leg *g, const struct event *ev)
{
	struct err none = ERR_INIT;
	g->actions += ev->kind == EV_ACTION_REQUESTED;
	if (!ev->body || (ev->kind != EV_ACTION_ENDED && ev->kind != EV_MODEL_CALL))
		return;
	CLEANUP(json_release) json_t *body = json_parse(ev->body, ev->len, "event", &none);
	if (ev->kind == EV_ACTION_ENDED)
		g->cost_uusd += json_int(body, "cost_uusd", 0);
	if (ev->kind != EV_MODEL_CALL)
		return;
	g->model_calls++;
	g->other_model |= strcmp(json_str(body, "model", ""), g->model) != 0;
}

static void see_leg(struct race *r, struct leg *g, struct session *s)
{
	int64_t first = 0, last = 0;
	for (uint64_t seq = r->seq + 1; seq <= session_head(s); seq++) {
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		struct event ev;
		struct err none = ERR_INIT;
		if (session_event(s, seq, &ev, &a, &none) < 0)
			continue;
		first = first ? first : ev.ts_us;
		last = ev.ts_us;
		see_event(g, &ev);
	}
	g->took_us = last - first;
}

static bool leg_over(struct race *r, struct leg *g)
{
	struct session *s;
	struct err none = ERR_INIT;
	if (session_open(&s, g->path, &none) < 0)
		return false;
	g->over = !session_live(s) && session_head(s) > r->seq;
	if (g->over) {
		g->outcome = fork_outcome(s, r->seq);
		if (g->late) {
			json_put_str(g->outcome, "outcome", "late");
			json_put_str(g->outcome, "why", "its time was up (--time)");
		}
		see_leg(r, g, s);
		if (g->other_model) {
			json_put_str(g->outcome, "outcome", "failed");
			json_put_str(
				g->outcome, "why",
				"another model answered: the agent kept its own, or the recording holds a library from before fork --model");
		}
		(void)!summary_of(s, &g->sum, &none);
	}
	session_close(&s);
	return g->over;
}

static void await_all(struct race *r)
{
	for (size_t open = r->nr; open;) {
		open = 0;
		bool late = r->until_us && clock_mono_us() > r->until_us;
		for (size_t i = 0; i < r->nr; i++) {
			struct leg *g = &r->leg[i];
			if (g->over || leg_over(r, g))
				continue;
			if (late && !g->late)
				stop_leg(r, g);
			open++;
		}
		if (open)
			poll(NULL, 0, LOOK_MS);
	}
}

/* --- what they came to ------------------------------------------------------------------------ */

/* The difference as a patch in DIR/patch, and its size. */
static int take_diff(struct race *r, struct leg *g, const char *patch, struct err *err)
{
	for (int text = 0; text < 2; text++) {
		CLEANUP(strv_release) struct strv w = STRV_INIT;
		CLEANUP(buf_release) struct buf out = BUF_INIT;
		own_words(r, &w);
		if (!text)
			strv_push(&w, "--json");
		strv_push(&w, "diff");
		strv_push(&w, g->id);
		if (!text)
			strv_push(&w, "--stat");
		if (run_own(r, &w, NULL, &out, err) < 0)
			return -1;
		if (text)
			return file_write_atomic(patch, buf_cstr(&out), out.len, 0600, err);
		for (const char *p = buf_cstr(&out), *eol; (eol = strchr(p, '\n')); p = eol + 1) {
			struct err none = ERR_INIT;
			CLEANUP(json_release)
			json_t *box = json_parse(p, (size_t)(eol - p), "diff", &none);
			g->files += (int64_t)json_array_size(json_object_get(box, "files"));
			g->added += json_int(box, "added", 0);
			g->removed += json_int(box, "removed", 0);
		}
	}
	return 0;
}

/* The test runs in a sandbox of its own over the repository, with the leg's changes put on it. */
static const char test_sh[] =
	"if [ -s /dev/stdin ] || [ \"$1\" = 1 ]; then git apply --whitespace=nowarn -p1 - || exit 125; fi; exec sh -c \"$0\" </dev/null";

static void test_leg(struct race *r, struct leg *g, const char *patch)
{
	const char *test = cmd_opt(r->ctx, "test");
	CLEANUP(strv_release) struct strv w = STRV_INIT;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct err err = ERR_INIT;
	struct stat st;
	own_words(r, &w);
	CLEANUP(free_ptr) char *name = leg_name(g, "test");
	const char *const fixed[] = { "-q", "sandbox", "exec", "-i", "--name", name };
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		strv_push(&w, fixed[i]);
	if (r->repo) {
		strv_push(&w, "--repo");
		strv_push(&w, r->repo);
	}
	bool any = stat(patch, &st) == 0 && st.st_size > 0;
	const char *const last[] = { "--", "sh", "-c", test_sh, test, any ? "1" : "0" };
	for (size_t i = 0; i < ARRAY_LEN(last); i++)
		strv_push(&w, last[i]);
	int status = run_own(r, &w, patch, &out, &err);
	g->test = status < 0 || status == TEST_REFUSED ? -1 : status;
	if (g->test < 0)
		g->test_why = mem_strdup(
			status < 0 ? err.text
				   : "its changes can't be put on the repository as it is now");
}

static void judge_leg(struct race *r, struct leg *g)
{
	CLEANUP(free_ptr) char *patch = mem_printf("%s/patch", r->dir);
	struct err err = ERR_INIT;
	g->test = -1;
	if (!g->id)
		return;
	if (take_diff(r, g, patch, &err) == 0 && cmd_opt(r->ctx, "test"))
		test_leg(r, g, patch);
	if (g->test > 0 && !strcmp(json_str(g->outcome, "outcome", ""), "ok")) {
		CLEANUP(free_ptr) char *why = mem_printf("the test ended with status %d", g->test);
		json_put_str(g->outcome, "outcome", "failed");
		json_put_str(g->outcome, "why", why);
	}
	if (g->test_why && !strcmp(json_str(g->outcome, "outcome", ""), "ok")) {
		json_put_str(g->outcome, "outcome", "failed");
		json_put_str(g->outcome, "why", g->test_why);
	}
	if (fork_kept_write(g->id, g->outcome, &err) < 0)
		fprintf(r->ctx->err, "sandglass: fork: can't store the outcome of %s: %s\n", g->id,
			err.text);
}

/* --- telling ---------------------------------------------------------------------------------- */

static void fork_models_put_row(struct race *r, const struct leg *g)
{
	CLEANUP(buf_release) struct buf took = BUF_INIT;
	CLEANUP(free_ptr)
	char *test = g->test < 0 ? mem_strdup("-")
		     : g->test	 ? mem_printf("exit %d", g->test)
				 : mem_strdup("pass");
	CLEANUP(free_ptr)
	char *diff =
		mem_printf("%" PRId64 " +%" PRId64 " -%" PRId64, g->files, g->added, g->removed);
	clock_span(g->took_us, &took);
	fprintf(r->ctx->out, "%-9s %-28s %3" PRId64 " %-8s %-8s %-14s %9.4f %8s %7" PRId64 "  %s\n",
		g->id ? g->id : "-", g->model, g->run, json_str(g->outcome, "outcome", "?"), test,
		diff, (double)g->cost_uusd / 1e6, buf_cstr(&took), g->actions,
		json_str(g->outcome, "why", ""));
}

static json_t *leg_json(const struct leg *g)
{
	json_t *o = json_object();
	json_put_str(o, "event", "fork");
	json_put_str(o, "session", g->id);
	json_put_str(o, "model", g->model);
	json_put_int(o, "run", g->run);
	json_put_str(o, "outcome", json_str(g->outcome, "outcome", NULL));
	json_put_str(o, "why", json_str(g->outcome, "why", NULL));
	if (g->test >= 0)
		json_put_int(o, "test", g->test);
	json_put_str(o, "test_why", g->test_why);
	json_put_int(o, "files", g->files);
	json_put_int(o, "added", g->added);
	json_put_int(o, "removed", g->removed);
	json_put_int(o, "cost_uusd", g->cost_uusd);
	json_put_int(o, "took_us", g->took_us);
	json_put_int(o, "actions", g->actions);
	json_put_int(o, "model_calls", g->model_calls);
	json_put_str(o, "tree", g->sum.tree);
	return o;
}

static int fork_models_tell_all(struct race *r)
{
	int status = 1;
	if (!r->ctx->json)
		fprintf(r->ctx->out, "%-9s %-28s %3s %-8s %-8s %-14s %9s %8s %7s  %s\n", "session",
			"model", "run", "outcome", "test", "files + -", "cost $", "time", "actions",
			"why");
	for (size_t i = 0; i < r->nr; i++) {
		if (!strcmp(json_str(r->leg[i].outcome, "outcome", ""), "ok"))
			status = 0;
		if (r->ctx->json)
			cmd_json(r->ctx, leg_json(&r->leg[i]));
		else
			fork_models_put_row(r, &r->leg[i]);
	}
	if (!r->ctx->json && !r->ctx->quiet)
		fprintf(r->ctx->out,
			"sandglass apply SESSION writes the files of one to your working files\n");
	return status;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int read_legs(struct race *r, struct err *err)
{
	int64_t runs = 1, time_us = 0;
	const char *text = cmd_opt(r->ctx, "runs"), *time = cmd_opt(r->ctx, "time");
	if (text && (strspn(text, "0123456789") != strlen(text) ||
		     (runs = strtol(text, NULL, 10)) < 1 || runs > LEGS_MAX))
		return err_set(err, ERR_USAGE, "--runs: expected a number from 1 to %d, got '%s'",
			       LEGS_MAX, text);
	if (time && (!clock_parse_span(time, &time_us) || time_us <= 0))
		return err_set(err, ERR_USAGE, "--time: expected a time (30s, 10m), got '%s'",
			       time);
	if (time_us)
		r->until_us = clock_mono_us() + time_us;
	CLEANUP(free_ptr) char *copy = mem_strdup(cmd_opt(r->ctx, "model"));
	char *save = NULL;
	for (char *m = strtok_r(copy, ",", &save); m; m = strtok_r(NULL, ",", &save))
		for (int64_t k = 1; k <= runs; k++) {
			if (r->nr == LEGS_MAX)
				return err_set(err, ERR_USAGE,
					       "--model and --runs: more than %d sessions at once",
					       LEGS_MAX);
			r->leg[r->nr++] =
				(struct leg){ .model = mem_strdup(m), .run = k, .test = -1 };
		}
	return r->nr ? 0
		     : err_set(err, ERR_USAGE,
			       "--model: expected names separated by commas, got '%s'",
			       cmd_opt(r->ctx, "model"));
}

/* The repository of the first box that has one. */
static char *repo_of(const char *path)
{
	struct session *s;
	struct err none = ERR_INIT;
	char *dir = NULL;
	if (session_open(&s, path, &none) < 0)
		return NULL;
	for (uint64_t seq = 1; !dir && seq <= session_head(s); seq++) {
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		struct event ev;
		if (session_event(s, seq, &ev, &a, &none) < 0 || ev.kind != EV_BOX_OPEN || !ev.body)
			continue;
		CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "box.open", &none);
		CLEANUP(buf_release) struct buf name = BUF_INIT;
		if (json_get_bytes(
			    json_object_get(json_array_get(json_object_get(body, "repos"), 0),
					    "dir"),
			    &name))
			dir = mem_strdup(buf_cstr(&name));
	}
	session_close(&s);
	return dir;
}

static void race_release(struct race *r)
{
	struct err none = ERR_INIT;
	for (size_t i = 0; i < r->nr; i++) {
		struct leg *g = &r->leg[i];
		free(g->model);
		free(g->id);
		free(g->path);
		free(g->test_why);
		json_decref(g->outcome);
		summary_release(&g->sum);
	}
	if (r->dir)
		(void)!dir_remove(r->dir, &none);
	free(r->dir);
	free(r->repo);
}

int fork_models(struct cmd_ctx *ctx, const char *from, uint64_t seq)
{
	struct race *r = NEW(struct race);
	struct err err = ERR_INIT;
	char dir[] = "/tmp/sandglass-fork-XXXXXX";
	*r = (struct race){ .ctx = ctx, .from = from, .seq = seq };
	int status = 0;
	if (read_legs(r, &err) < 0 ||
	    (mkdtemp(dir) ? 0 : err_sys(&err, "can't create a directory")) < 0) {
		status = cmd_fail(ctx, &err);
	} else {
		r->dir = mem_strdup(dir);
		r->repo = repo_of(from);
		for (size_t i = 0; i < r->nr; i++) {
			err = ERR_INIT;
			if (start_leg(r, &r->leg[i], &err) < 0)
				end_leg_unstarted(&r->leg[i], &err);
		}
		await_all(r);
		for (size_t i = 0; i < r->nr; i++)
			judge_leg(r, &r->leg[i]);
		status = fork_models_tell_all(r);
	}
	race_release(r);
	free(r);
	return status;
}
