/* A report in Markdown: the task, its agents, every action with its verdict, decision, and end,
 * and the failures. Recorded text is in code blocks, where Markdown has no meaning. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/export.h"
#include "exchange/layer_patch.h"
#include "exchange/steps.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/sanitize.h"
#include "record/read/back.h"

enum { PATCH_MAX = 256 << 10, OUTPUT_MAX = 4000, TEXT_MAX = 20000, HEADERS = 500 };

struct report {
	struct export *x;
	size_t actions, denied, failed, decided, answers, honeytokens, put_back;
	int64_t in, out;
	bool patched;
};

/* In a fence that is longer than any run of backquotes in it. */
static void export_md_put_fence(FILE *out, const char *type, const char *text, size_t len)
{
	CLEANUP(buf_release) struct buf vet = BUF_INIT;
	size_t longest = 2, run = 0;
	sanitize_text(text, len, 0, &vet);
	for (size_t i = 0; i < vet.len; i++) {
		run = vet.data[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	for (size_t i = 0; i <= longest; i++)
		fputc('`', out);
	fprintf(out, "%s\n%s%s", type, buf_cstr(&vet),
		vet.len && vet.data[vet.len - 1] == '\n' ? "" : "\n");
	for (size_t i = 0; i <= longest; i++)
		fputc('`', out);
	fputs("\n\n", out);
}

static void export_md_put_block(FILE *out, const char *text, size_t len)
{
	export_md_put_fence(out, "text", text, len);
}

/* One line as code; backquotes in it become apostrophes. */
static void put_code(FILE *out, const char *text, size_t len)
{
	CLEANUP(buf_release) struct buf vet = BUF_INIT;
	sanitize_line(text, len > 300 ? 300 : len, 0, &vet);
	for (size_t i = 0; i < vet.len; i++)
		if (vet.data[i] == '`')
			vet.data[i] = '\'';
	fprintf(out, "`%s%s`", buf_cstr(&vet), len > 300 ? " ..." : "");
}

static void export_md_put_line(FILE *out, const char *label, const char *text)
{
	fprintf(out, "- %s: ", label);
	put_code(out, text, strlen(text));
	fputc('\n', out);
}

static void put_act(struct report *r, const struct act *a)
{
	FILE *out = r->x->out;
	CLEANUP(buf_release)
	struct buf what = BUF_INIT, rules = BUF_INIT, span = BUF_INIT, text = BUF_INIT,
		   proposed = BUF_INIT;
	CLEANUP(buf_release) struct buf how = BUF_INIT;
	act_what(a, &what);
	bool was_edited = act_proposed(a, &proposed);
	act_rules(a, &rules);
	clock_span(a->ended.dur_us, &span);
	fprintf(out, "- **#%" PRIu64 "** %s ", a->seq, act_kind(a));
	put_code(out, buf_cstr(&what), what.len);
	act_how(a, &how);
	fprintf(out, ": %s, %s\n", buf_cstr(&how), buf_cstr(&span));
	const char *own =
		json_str(json_object_get(json_object_get(a->wanted, "args"), "who"), "name", NULL);
	if (own) /* a user's own command belongs to no agent */
		fputs("    - by ", out), put_code(out, own, strlen(own)),
			fputs(" (the name is claimed)\n", out);
	if (rules.len)
		fputs("    ", out), export_md_put_line(out, "rules", buf_cstr(&rules));
	if (a->has_decided) {
		const char *how_decided = act_text(a, a->decided.decision, "decided");
		fprintf(out, "    - %s by ",
			!strcmp(how_decided, "approve") ? "approved"
			: !strcmp(how_decided, "deny")	? "denied"
							: how_decided);
		const char *who = act_decider(a, "nobody");
		put_code(out, who, strlen(who));
		fputs(" (the name is claimed)\n", out);
		if (*act_text(a, a->decided.message, ""))
			fputs("    ", out), export_md_put_line(out, "said",
							       act_text(a, a->decided.message, ""));
		r->decided++;
	}
	if (was_edited)
		fputs("    ", out), export_md_put_line(out, "wanted was", buf_cstr(&proposed));
	if (*act_text(a, a->ended.why, ""))
		fputs("    ", out), export_md_put_line(out, "why", act_text(a, a->ended.why, ""));
	r->actions++;
	r->denied += !strcmp(act_end(a), "denied");
	if (act_good(a))
		return;
	r->failed += strcmp(act_end(a), "denied") != 0;
	if (act_output(a, r->x->s, OUTPUT_MAX, &text)) {
		fputc('\n', out);
		export_md_put_block(out, buf_cstr(&text), text.len);
	}
}

/* The arguments and the result of a script's own tool. */
static void export_md_put_tool(struct report *r, const struct step_call *c)
{
	FILE *out = r->x->out;
	CLEANUP(free_ptr) char *args = json_dump_str(c->args);
	fprintf(out, "- **#%" PRIu64 "** tool ", c->tool);
	put_code(out, c->name, strlen(c->name));
	fputc(' ', out);
	put_code(out, args, strlen(args));
	fprintf(out, ": %s\n", !c->ended ? "open" : c->ok ? "ok" : "failed");
}

static void export_md_put_result(struct report *r, const struct step_call *c)
{
	size_t len = c->result_len > OUTPUT_MAX ? OUTPUT_MAX : c->result_len;
	if (!len)
		return;
	fputc('\n', r->x->out);
	export_md_put_block(r->x->out, c->result, len);
	if (c->result_bytes > len)
		fprintf(r->x->out, "%zu more bytes of this result are left out.\n\n",
			c->result_bytes - len);
}

static void export_md_put_step(struct report *r, const struct step *st)
{
	static const char *const who[] = { "System", "Asked", "Said" };
	FILE *out = r->x->out;
	struct err none = ERR_INIT;
	if (*st->text) {
		fprintf(out, "%s%s (#%" PRIu64 "):\n\n", who[st->who],
			!strcmp(st->from, "person") ? " by you" : "", st->seq);
		export_md_put_block(out, st->text,
				    strlen(st->text) > TEXT_MAX ? TEXT_MAX : strlen(st->text));
	}
	if (st->reply) {
		const json_t *u = json_object_get(st->reply, "usage");
		r->answers++;
		r->in += json_int(u, "in", 0);
		r->out += json_int(u, "out", 0);
	}
	for (size_t i = 0; i < st->nr; i++) {
		struct act a;
		if (st->call[i].action && act_load(&a, r->x->s, st->call[i].action, &none) == 0) {
			put_act(r, &a);
			act_release(&a);
			export_md_put_result(r, &st->call[i]);
		} else if (st->call[i].tool) {
			export_md_put_tool(r, &st->call[i]);
			export_md_put_result(r, &st->call[i]);
		} else {
			fputs("- ", out);
			put_code(out, st->call[i].name, strlen(st->call[i].name));
			fputs(": asked for, no action is recorded\n", out);
		}
	}
	if (st->nr && st->reply)
		fputc('\n', out);
}

static int export_md_put_agent(struct report *r, uint64_t agent, struct err *err)
{
	struct steps *steps = NULL;
	struct step st;
	json_t *start = steps_agent(r->x->s, agent), *end = steps_agent_end(r->x->s, agent);
	FILE *out = r->x->out;
	const char *name = agent ? json_str(start, "name", "agent") : "the script itself";
	fputs("## ", out);
	put_code(out, name, strlen(name));
	fputs(agent ? "\n\n" : "\n", out);
	if (agent)
		export_md_put_line(out, "model", json_str(start, "model", "none"));
	if (end)
		export_md_put_line(out, "ended", json_str(end, "stop", "unknown"));
	fputc('\n', out);
	int rc = steps_new(&steps, r->x->s, agent, err);
	while (rc == 0 && (rc = steps_next(steps, &st, err)) > 0) {
		export_md_put_step(r, &st);
		step_release(&st);
		rc = 0;
	}
	steps_free(&steps);
	json_decref(start);
	json_decref(end);
	return rc;
}

static void put_sums(struct report *r)
{
	FILE *out = r->x->out;
	fprintf(out,
		"\n## Sums\n\n| what | how many |\n|---|---|\n| actions | %zu |\n| denied | %zu |\n| failed | %zu |\n",
		r->actions, r->denied, r->failed);
	if (r->honeytokens)
		fprintf(out, "| honeytokens seen | %zu |\n", r->honeytokens);
	fprintf(out,
		"| decided by a reviewer | %zu |\n| answers of models | %zu |\n| tokens in, out | %" PRId64
		", %" PRId64 " |\n",
		r->decided, r->answers, r->in, r->out);
	CLEANUP(buf_release) struct buf cost = BUF_INIT;
	export_cost(r->x->evidence, &cost);
	fprintf(out, "| cost | %s |\n", buf_cstr(&cost));
	fprintf(out,
		"\nThe recording of this session is `%s`; `sandglass verify` checks whether it is "
		"intact.\n",
		session_id(r->x->s));
}

static int put_honeytoken(struct report *r, uint64_t seq, struct arena *arena, struct err *err)
{
	FILE *out = r->x->out;
	struct event ev;
	if (session_event(r->x->s, seq, &ev, arena, err) < 0)
		return -1;
	CLEANUP(json_release)
	json_t *body = ev.body ? json_parse(ev.body, ev.len, "event", err) : NULL;
	const char *text = json_str(body, "text", "one was seen (redacted)");
	uint64_t of = ev.action ? ev.action : ev.cause;
	if (!r->honeytokens++)
		fputs("## Honeytokens that were seen\n\n", out);
	fprintf(out, "- **#%" PRIu64 "** ", seq);
	put_code(out, text, strlen(text));
	if (of)
		fprintf(out, ", of #%" PRIu64, of);
	fputc('\n', out);
	return 0;
}

/* Changes that a user undid; an applied dry run and a script's own rollback are among the
 * actions. */
static int export_md_put_back(struct report *r, uint64_t seq, struct arena *arena, struct err *err)
{
	FILE *out = r->x->out;
	struct event ev;
	struct err none = ERR_INIT;
	CLEANUP(buf_release) struct buf what = BUF_INIT, who = BUF_INIT;
	if (session_event(r->x->s, seq, &ev, arena, err) < 0)
		return -1;
	CLEANUP(json_release)
	json_t *body = ev.body ? json_parse(ev.body, ev.len, "event", &none) : NULL;
	if (ev.action || !session_put_back(r->x->s, seq, &what, &who) || !who.len)
		return 0;
	if (!r->put_back++)
		fputs("\n## Files that were put back\n\n", out);
	fprintf(out, "- **#%" PRIu64 "** ", seq);
	put_code(out, buf_cstr(&what), what.len);
	fputs(" by ", out);
	put_code(out, buf_cstr(&who), who.len);
	if (*json_str(body, "why", "")) {
		fputs(": not done, ", out);
		put_code(out, json_str(body, "why", ""), strlen(json_str(body, "why", "")));
	} else {
		fprintf(out, ": %" PRId64 " change%s", json_int(body, "ops", 0),
			json_int(body, "ops", 0) == 1 ? "" : "s");
	}
	fputc('\n', out);
	return 0;
}

/* --- what the report states of the whole session --- */

static void export_md_put_patch(void *self, const char *title, const char *patch, size_t len,
				size_t left_out, const char *why)
{
	struct report *r = self;
	FILE *out = r->x->out;
	if (!r->patched)
		fputs("\n## Changed files\n", out);
	r->patched = true;
	fputs("\nSandbox ", out);
	put_code(out, title, strlen(title));
	fputs(":\n\n", out);
	if (why)
		export_md_put_line(out, "unknown", why);
	else
		export_md_put_fence(out, "diff", patch, len);
	if (left_out)
		fprintf(out,
			"%zu more bytes are left out; `sandglass export -F patch` has all of them.\n",
			left_out);
}

static void export_md_put_claim(FILE *out, const json_t *c)
{
	const char *text = json_str(c, "text", ""), *agent = json_str(c, "agent", "");
	json_t *seq;
	size_t i;
	fprintf(out, "- **%s** ", json_str(c, "verdict", "unknown"));
	put_code(out, text, strlen(text));
	fprintf(out, " (%s, #%lld) by ", json_str(c, "kind", "claim"),
		(long long)json_int(c, "event", 0));
	put_code(out, agent, strlen(agent));
	fputc('\n', out);
	if (*json_str(c, "why", ""))
		fputs("    ", out), export_md_put_line(out, "why", json_str(c, "why", ""));
	if (!json_array_size(json_object_get(c, "evidence")))
		return;
	fputs("    - evidence:", out);
	json_array_foreach(json_object_get(c, "evidence"), i, seq)
		fprintf(out, " #%lld", (long long)json_integer_value(seq));
	fputc('\n', out);
}

static void export_md_put_claims(struct report *r)
{
	FILE *out = r->x->out;
	const json_t *claims = json_object_get(r->x->evidence, "claims");
	json_t *c;
	size_t i;
	fputs("\n## Claims\n\n", out);
	json_array_foreach(claims, i, c) export_md_put_claim(out, c);
	if (*json_str(r->x->evidence, "claims_why", ""))
		export_md_put_line(out, "unknown", json_str(r->x->evidence, "claims_why", ""));
	else if (!json_array_size(claims))
		fputs("Nothing is claimed.\n", out);
}

static void export_md_put_verified(struct report *r)
{
	FILE *out = r->x->out;
	const json_t *v = json_object_get(r->x->evidence, "verification");
	json_t *c;
	size_t i;
	fprintf(out, "\n## Verification\n\nThe recording is **%s**.\n\n",
		json_str(v, "verdict", "unknown"));
	if (*json_str(v, "why", ""))
		export_md_put_line(out, "why", json_str(v, "why", ""));
	json_array_foreach(json_object_get(v, "checks"), i, c)
	{
		fprintf(out, "- %s: %s: ", json_str(c, "result", ""), json_str(c, "name", ""));
		put_code(out, json_str(c, "text", ""), strlen(json_str(c, "text", "")));
		fputc('\n', out);
	}
}

static int export_md_put_facts(struct report *r, struct err *err)
{
	if (!r->x->evidence)
		return 0;
	int rc = layer_patches(r->x, PATCH_MAX, export_md_put_patch, r, err);
	export_md_put_claims(r);
	export_md_put_verified(r);
	return rc;
}

/* Every event of @kind, in order. */
static int put_each(struct report *r, enum event_kind kind,
		    int (*put)(struct report *r, uint64_t seq, struct arena *arena,
			       struct err *err),
		    struct err *err)
{
	struct event ev[HEADERS];
	struct arena arena = ARENA_INIT;
	size_t nr = 0;
	uint64_t at = 0;
	int rc;
	do {
		rc = session_headers(r->x->s, at, ev, HEADERS, &nr, err);
		for (size_t i = 0; rc == 0 && i < nr; i++)
			if (ev[i].kind == kind)
				rc = put(r, ev[i].seq, &arena, err);
		at = rc == 0 && nr ? ev[nr - 1].seq : at;
		arena_reset(&arena);
	} while (rc == 0 && nr);
	arena_release(&arena);
	return rc;
}

int export_md(struct export *x, struct err *err)
{
	struct report r = { .x = x };
	uint64_t *agent = NULL;
	size_t nr = 0;
	struct arena arena = ARENA_INIT;
	struct event ev;
	CLEANUP(buf_release) struct buf when = BUF_INIT;
	if (session_event(x->s, 1, &ev, &arena, err) < 0 ||
	    steps_agents(x->s, &agent, &nr, err) < 0) {
		arena_release(&arena);
		return -1;
	}
	clock_rfc3339(ev.ts_us, &when);
	arena_release(&arena);
	fputs("# Session ", x->out);
	put_code(x->out, session_name(x->s), strlen(session_name(x->s)));
	fprintf(x->out, " %s\n\n", session_id(x->s));
	export_md_put_line(x->out, "began", buf_cstr(&when));
	fprintf(x->out, "- events: %" PRIu64 "\n\n", session_head(x->s));
	/* what nobody had a reason to carry: above all that was done */
	int rc = put_each(&r, EV_HONEYTOKEN_SEEN, put_honeytoken, err);
	if (r.honeytokens)
		fputc('\n', x->out);
	if (rc == 0 && steps_any(x->s, 0))
		rc = export_md_put_agent(&r, 0, err);
	for (size_t i = 0; rc == 0 && i < nr; i++)
		rc = export_md_put_agent(&r, agent[i], err);
	if (rc == 0)
		rc = put_each(&r, EV_ROLLBACK_DONE, export_md_put_back, err);
	if (rc == 0)
		rc = export_md_put_facts(&r, err);
	put_sums(&r);
	free(agent);
	return rc;
}
