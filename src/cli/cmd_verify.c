/* sandglass verify: is the record what was written, and does what it shows pass the checks? */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalog/verdicts.h"
#include "check/check.h"
#include "check/report.h"
#include "cli/lib/cmd_priv.h"
#include "cli/verify_repeat.h"
#include "sessions/sessions.h"
#include "base/fd.h"
#include "base/mem.h"
#include "query/filter.h"
#include "record/read/verify.h"

struct verification {
	struct cmd_ctx *ctx;
	struct report report;
	bool incomplete; /* what is there is intact, but not everything is there */
	bool damaged;	 /* what was written is not what is there; else a check failed */
};

/* Tells the newest item. */
static void cmd_verify_tell(struct verification *v, const struct report_item *i)
{
	if (v->ctx->json) {
		cmd_json(v->ctx, report_json(i));
		return;
	}
	if (v->ctx->quiet && i->result != REPORT_FAILED)
		return;
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	report_line(i, &line);
	fprintf(v->ctx->out, "%s\n", buf_cstr(&line));
}

static void cmd_verify_on_check(void *self, const char *name, enum verify_result result,
				const char *text, uint64_t seq)
{
	static const enum report_result as[] = { [VERIFY_OK] = REPORT_OK,
						 [VERIFY_FAIL] = REPORT_FAILED,
						 [VERIFY_SKIP] = REPORT_SKIPPED };
	struct verification *v = self;
	v->incomplete |= result == VERIFY_FAIL && !strcmp(name, "complete");
	/* these three are about what was done, the others about whether the record can be
	 * believed */
	if (result == VERIFY_FAIL && strcmp(name, "order") != 0 && strcmp(name, "closed") != 0 &&
	    strcmp(name, "complete") != 0)
		v->damaged = true;
	cmd_verify_tell(v, report_add(&v->report, "record", as[result], name, text, NULL, &seq,
				      seq ? 1 : 0));
}

/* --- the checks of users and ours ------------------------------------------------------------ */

static void take_results(struct verification *v, const char *group, json_t *results)
{
	size_t from = v->report.nr;
	report_add_checks(&v->report, group, results);
	json_decref(results);
	for (size_t i = from; i < v->report.nr; i++)
		cmd_verify_tell(v, &v->report.item[i]);
}

static int with_file(struct verification *v, struct session *s, const char *path, struct err *err)
{
	json_t *results;
	const char *slash = strrchr(path, '/');
	if (check_file(s, path, &results, err) < 0)
		return -1;
	take_results(v, slash ? slash + 1 : path, results);
	return 0;
}

static int cmd_verify_checks(struct verification *v, struct session *s, struct err *err)
{
	json_t *results;
	const char *word;
	for (size_t i = 0; (word = command_opt_nth(v->ctx->line, "with", i)); i++)
		if (with_file(v, s, word, err) < 0)
			return -1;
	for (size_t i = 0; (word = command_opt_nth(v->ctx->line, "check", i)); i++) {
		if (check_named(s, word, &results, err) < 0)
			return -1;
		take_results(v, "check", results);
	}
	return 0;
}

static void tell_repeat(void *self, const struct report_item *i)
{
	struct verification *v = self;
	cmd_verify_tell(v, i);
	fflush(v->ctx->out);
}

static int cmd_verify_repeat(struct verification *v, struct session *s, struct err *err)
{
	const char *which = cmd_opt(v->ctx, "repeat");
	return which ? verify_repeat(v->ctx, s, which, &v->report, tell_repeat, v, err) : 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct sums {
	unsigned ok, failed, warn, skipped;
};

static struct sums cmd_verify_sum(const struct report *r)
{
	struct sums n = { 0 };
	unsigned *const by[] = { &n.ok, &n.failed, &n.warn, &n.skipped };
	for (size_t i = 0; i < r->nr; i++)
		(*by[r->item[i].result])++;
	return n;
}

/* Lists show it (catalog/verdicts.h). A part of the checks gives no verdict. */
static void cmd_verify_note(struct verification *v, struct session *s, const char *word)
{
	struct err err = ERR_INIT;
	if (!cmd_has(v->ctx, "quick") && verdicts_note(session_path(s), word, &err) < 0 &&
	    !v->ctx->quiet)
		cmd_tell_error(v->ctx, "the verdict can't be kept for lists", &err);
}

static void cmd_verify_verdict(struct verification *v, struct session *s,
			       const struct verify_totals *t)
{
	struct sums n = cmd_verify_sum(&v->report);
	const char *word = n.failed		      ? v->damaged			 ? "damaged"
							: v->incomplete && n.failed == 1 ? "incomplete"
											 : "failed"
			   : cmd_has(v->ctx, "quick") ? "verified in part"
						      : "verified";
	cmd_verify_note(v, s, word);
	if (v->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", session_id(s));
		json_put_str(o, "verdict", word);
		json_put_int(o, "events", (int64_t)t->events);
		json_put_int(o, "segments", (int64_t)t->segments);
		json_put_int(o, "objects", (int64_t)t->objects);
		json_put_int(o, "messages", (int64_t)t->messages);
		json_put_int(o, "checkpoints", (int64_t)t->checkpoints);
		json_put_int(o, "redacted", (int64_t)t->redacted);
		json_put_int(o, "anchors", (int64_t)t->anchors);
		json_put_int(o, "anchors_beside", (int64_t)t->anchors_beside);
		json_put_int(o, "ok", n.ok);
		json_put_int(o, "failed", n.failed);
		json_put_int(o, "warnings", n.warn);
		json_put_int(o, "skipped", n.skipped);
		if (t->first_bad)
			json_put_int(o, "first_bad", (int64_t)t->first_bad);
		cmd_json(v->ctx, o);
		return;
	}
	fprintf(v->ctx->out, "%s %s: %u ok, %u failed, %u skipped", session_id(s), word, n.ok,
		n.failed, n.skipped);
	if (n.warn)
		fprintf(v->ctx->out, ", %u warning%s", n.warn, n.warn == 1 ? "" : "s");
	fprintf(v->ctx->out, "; %llu events", (unsigned long long)t->events);
	if (t->redacted)
		fprintf(v->ctx->out, ", %llu redacted", (unsigned long long)t->redacted);
	if (t->first_bad)
		fprintf(v->ctx->out, "; first bad event #%llu", (unsigned long long)t->first_bad);
	fputc('\n', v->ctx->out);
}

static int cmd_verify_documents(struct verification *v, struct err *err)
{
	static const struct {
		const char *option;
		void (*make)(const struct report *r, struct buf *out);
	} kind[] = { { "junit", report_junit }, { "tap", report_tap }, { "sarif", report_sarif } };
	for (size_t i = 0; i < ARRAY_LEN(kind); i++) {
		const char *file = cmd_opt(v->ctx, kind[i].option);
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		if (!file)
			continue;
		kind[i].make(&v->report, &b);
		if (file_write_atomic(file, b.data, b.len, 0644, err) < 0)
			return -1;
	}
	return 0;
}

static int cmd_verify_options(struct cmd_ctx *ctx, struct verify_opts *o, uint8_t key[SIGN_KEY_LEN],
			      struct err *err)
{
	const char *hex = cmd_opt(ctx, "key");
	o->anchor = cmd_opt(ctx, "anchor");
	o->quick = cmd_has(ctx, "quick");
	if (hex && !hex_parse(hex, strlen(hex), key, SIGN_KEY_LEN))
		return err_set(err, ERR_USAGE, "--key: expected %d hexadecimal digits, got '%s'",
			       2 * SIGN_KEY_LEN, hex);
	o->key = hex ? key : NULL;
	uint64_t n;
	return cmd_opt(ctx, "repeat") ? verify_repeat_which(cmd_opt(ctx, "repeat"), &n, err) : 0;
}

static int cmd_verify_known(const json_t *list, const char *spec, struct err *err)
{
	CLEANUP(free_ptr) char *name = mem_strndup(spec, strcspn(spec, "="));
	const char *names[64] = { NULL }, *near;
	const json_t *c;
	size_t i;
	json_array_foreach(list, i, c)
	{
		if (i + 1 < ARRAY_LEN(names))
			names[i] = json_str(c, "name", "");
		if (!strcmp(name, json_str(c, "name", "")))
			return 0;
	}
	near = nearest_name(name, names);
	return err_set(
		err, ERR_USAGE,
		"--check: unknown check '%s'%s%s%s\n'sandglass verify --list' names the checks.",
		name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Checks before reading that the requested checks exist. */
static int checks_exist(struct cmd_ctx *ctx, struct err *err)
{
	CLEANUP(json_release) json_t *list = NULL;
	const char *word;
	if (cmd_opt(ctx, "anchor") && *cmd_opt(ctx, "anchor") &&
	    access(cmd_opt(ctx, "anchor"), R_OK) < 0)
		return err_sys(err, "--anchor: can't read '%s'", cmd_opt(ctx, "anchor"));
	for (size_t i = 0; (word = command_opt_nth(ctx->line, "with", i)); i++)
		if (access(word, R_OK) < 0)
			return err_sys(err, "--with: can't read '%s'", word);
	if (command_opt_nth(ctx->line, "check", 0) && check_list(&list, err) < 0)
		return -1;
	for (size_t i = 0; (word = command_opt_nth(ctx->line, "check", i)); i++)
		if (cmd_verify_known(list, word, err) < 0 || check_sound(word, err) < 0)
			return -1;
	return 0;
}

static int list_checks(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	json_t *list, *c;
	size_t i;
	if (check_list(&list, &err) < 0)
		return cmd_fail(ctx, &err);
	json_array_foreach(list, i, c)
	{
		if (ctx->json)
			cmd_json(ctx, json_deep_copy(c));
		else
			fprintf(ctx->out, "%-24s %s\n", json_str(c, "usage", ""),
				json_str(c, "about", ""));
	}
	json_decref(list);
	return EXIT_DONE;
}

int cmd_verify(struct cmd_ctx *ctx)
{
	struct session *s;
	struct err err = ERR_INIT;
	struct verify_opts o = { 0 };
	struct verify_totals t = { 0 };
	struct verification v = { .ctx = ctx };
	uint8_t key[SIGN_KEY_LEN];
	uint64_t seq;
	if (cmd_has(ctx, "list"))
		return list_checks(ctx);
	if (cmd_verify_options(ctx, &o, key, &err) < 0 || checks_exist(ctx, &err) < 0 ||
	    session_open_ref(ctx, cmd_word(ctx, 0), &s, &seq, &err) < 0)
		return cmd_fail(ctx, &err);
	int status;
	v.report.session = mem_strdup(session_id(s));
	if (verify_session(s, &o, cmd_verify_on_check, &v, &t, &err) < 0 ||
	    cmd_verify_checks(&v, s, &err) < 0 || cmd_verify_repeat(&v, s, &err) < 0 ||
	    cmd_verify_documents(&v, &err) < 0) {
		status = cmd_fail(ctx, &err);
	} else {
		cmd_verify_verdict(&v, s, &t);
		status = !cmd_verify_sum(&v.report).failed ? EXIT_DONE
			 : v.damaged			   ? EXIT_DAMAGED
							   : EXIT_UNSUCCESSFUL;
	}
	report_release(&v.report);
	session_close(&s);
	return status;
}
