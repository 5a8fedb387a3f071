/* sandglass blame: each line of a file and where it comes from. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/choice_options.h"
#include "cli/files_at.h"
#include "exchange/export.h"
#include "base/mem.h"
#include "sandbox/workspace/diff.h"

struct origins { /* of each line of the present version: index of the version that brought it */
	size_t *item;
	size_t nr, cap;
};

static size_t cmd_blame_count_lines(const struct buf *text)
{
	size_t nr = 0;
	for (size_t i = 0; i < text->len; i++)
		nr += text->data[i] == '\n' || i + 1 == text->len;
	return nr;
}

/* Lines outside of the hunks keep their origin, those in them are @version's. */
static void cmd_blame_carry(struct origins *o, const struct ws_patch *p, size_t version,
			    size_t lines)
{
	struct origins next = { .item = mem_calloc(lines + 1, sizeof(size_t)),
				.nr = lines,
				.cap = lines + 1 };
	size_t old = 0, new = 0;
	for (size_t h = 0; h <= p->nr; h++) {
		const struct patch_hunk *k = h < p->nr ? &p->hunk[h] : NULL;
		/* a hunk without lines on one side begins behind the line that it names */
		size_t old_at = !k ? o->nr : k->old_lines ? k->old_start - 1 : k->old_start;
		while (old < old_at && old < o->nr && new < lines)
			next.item[new ++] = o->item[old++];
		for (size_t i = 0; k && i < k->nr; i++)
			if (k->line[i].op == '-')
				old++;
			else if (k->line[i].op == '+' && new < lines)
				next.item[new ++] = version;
			else if (new < lines && old < o->nr)
				next.item[new ++] = o->item[old++];
	}
	while (new < lines)
		next.item[new ++] = version;
	free(o->item);
	*o = next;
}

static void all_from(struct origins *o, size_t version, size_t lines)
{
	free(o->item);
	*o = (struct origins){ .item = mem_calloc(lines + 1, sizeof(size_t)),
			       .nr = lines,
			       .cap = lines + 1 };
	for (size_t i = 0; i < lines; i++)
		o->item[i] = version;
}

static int one_version(struct origins *o, struct session *s, const struct file_version *v, size_t n,
		       struct buf *text, struct err *err)
{
	CLEANUP(buf_release) struct buf was = BUF_INIT;
	struct ws_patch p = WS_PATCH_INIT;
	struct err none = ERR_INIT;
	buf_append(&was, buf_cstr(text), text->len);
	buf_reset(text);
	if (object_is_null(&v->oid)) {
		all_from(o, n, 0);
		return 0;
	}
	/* hash only: from the next one on it is known again */
	if (session_object(s, &v->oid, NULL, text, &none) < 0) {
		all_from(o, n, 0);
		buf_reset(text);
		return 0;
	}
	size_t lines = cmd_blame_count_lines(text);
	if (!o->nr) {
		all_from(o, n, lines);
		return 0;
	}
	int rc = ws_patch_buffers(&p, buf_cstr(&was), was.len, buf_cstr(text), text->len, 0, err);
	if (rc == 0 && (p.what == PATCH_TEXT || p.what == PATCH_NONE))
		cmd_blame_carry(o, &p, n, lines);
	else if (rc == 0)
		all_from(o, n, lines);
	ws_patch_release(&p);
	return rc;
}

static void cmd_blame_print_json(struct cmd_ctx *ctx, struct session *s,
				 const struct file_versions *v, size_t from, size_t line,
				 const char *text, size_t len)
{
	json_t *o = json_object(), *who = files_who_json(s, &v->item[from]);
	json_put_str(o, "session", session_id(s));
	json_put_int(o, "line", (int64_t)line);
	json_put(o, "text", json_bytes(text, len));
	json_object_update(o, who);
	json_decref(who);
	cmd_json(ctx, o);
}

static void cmd_blame_print_lines(struct cmd_ctx *ctx, struct session *s,
				  const struct file_versions *v, const struct origins *o,
				  const struct buf *text)
{
	size_t at = 0;
	for (size_t i = 0; i < o->nr && at < text->len; i++) {
		const char *line = text->data + at, *nl = memchr(line, '\n', text->len - at);
		size_t len = nl ? (size_t)(nl - line) : text->len - at;
		const struct file_version *from = &v->item[o->item[i]];
		if (ctx->json) {
			cmd_blame_print_json(ctx, s, v, o->item[i], i + 1, line, len);
		} else {
			char id[32] = "base";
			if (from->snapshot)
				snprintf(id, sizeof(id), "#%" PRIu64 "%s",
					 from->action ? from->action : from->snapshot,
					 from->shared ? "~" : "");
			fprintf(ctx->out, "%-8s %5zu  ", id, i + 1);
			cmd_print_safe(ctx->out, line, len, false);
			fputc('\n', ctx->out);
		}
		at += len + (nl != NULL);
	}
}

static void print_field(FILE *out, const char *label, const char *text)
{
	fprintf(out, "         %s", label);
	cmd_print_safe(out, text, strcspn(text, "\n") > 300 ? 300 : strcspn(text, "\n"), false);
	fputc('\n', out);
}

/* "required by rule sources (...); approved by root" */
static void verdict_words(const json_t *who, struct buf *out)
{
	static const char *const past[][2] = { { "allow", "allowed" },
					       { "ask", "required" },
					       { "deny", "denied" },
					       { "approve", "approved" },
					       { "edit", "edited and approved" },
					       { "kill", "killed" } };
	const char *verdict = json_str(who, "verdict", "unknown");
	const char *decision = json_str(who, "decision", NULL),
		   *rules = json_str(who, "rules", NULL);
	size_t n = strlen(verdict);
	if (rules && !strncmp(rules, verdict, n) && rules[n] == ' ')
		rules += n + 1;
	for (size_t i = 0; i < ARRAY_LEN(past); i++) {
		if (!strcmp(verdict, past[i][0]))
			verdict = !strcmp(verdict, "ask") ? "approval required" : past[i][1];
		if (decision && !strcmp(decision, past[i][0]))
			decision = past[i][1];
	}
	buf_printf(out, "%s%s%s", verdict, rules ? " by rule " : "", rules ? rules : "");
	if (decision)
		buf_printf(out, "; %s by %s", decision, json_str(who, "by", ""));
}

/* The authors, once each, in order of time. */
static void print_legend(struct cmd_ctx *ctx, struct session *s, const struct file_versions *v,
			 const struct origins *o)
{
	for (size_t n = 0; n < v->nr; n++) {
		bool used = false;
		for (size_t i = 0; i < o->nr && !used; i++)
			used = o->item[i] == n;
		if (!used || !v->item[n].snapshot)
			continue;
		CLEANUP(buf_release) struct buf who = BUF_INIT, by = BUF_INIT;
		json_t *more = files_who_json(s, &v->item[n]);
		files_who(s, &v->item[n], &who);
		fputc('\n', ctx->out);
		cmd_print_safe(ctx->out, buf_cstr(&who), who.len, false);
		fputc('\n', ctx->out);
		verdict_words(more, &by);
		if (json_str(more, "verdict", NULL)) /* not of what no action did */
			print_field(ctx->out, "verdict  ", buf_cstr(&by));
		if (json_str(more, "message", NULL))
			print_field(ctx->out, "message  ", json_str(more, "message", ""));
		if (json_str(more, "proposed", NULL))
			print_field(ctx->out, "wanted   ", json_str(more, "proposed", ""));
		if (json_str(more, "said", NULL))
			print_field(ctx->out, "said     ", json_str(more, "said", ""));
		json_decref(more);
	}
}

/* *found_out: a snapshot has the file, whatever it is now. */
static int cmd_blame_file(struct cmd_ctx *ctx, struct files_at *f, bool *found_out, struct err *err)
{
	struct file_versions v;
	const struct layer_at *layer;
	struct origins o = { 0 };
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(free_ptr) char *path = states_path(cmd_word(ctx, 0));
	if (files_at_path(f, path, &layer, &v, err) < 0)
		return -1;
	int rc = 0;
	*found_out = true;
	for (size_t i = 0; rc == 0 && i < v.nr; i++)
		rc = one_version(&o, f->s, &v.item[i], i, &text, err);
	const struct file_version *last = &v.item[v.nr - 1];
	if (rc == 0 && object_is_null(&last->oid))
		rc = err_set(err, ERR_NOENT,
			     "'%s' not found: #%" PRIu64
			     " removed it\nName an earlier event with --at.",
			     path, last->action ? last->action : last->snapshot);
	else if (rc == 0 && !last->held)
		rc = err_set(err, ERR_NOENT,
			     "the content of '%s' is not in the recording, only its name and hash",
			     path);
	else if (rc == 0 && memchr(buf_cstr(&text), 0, text.len > 8000 ? 8000 : text.len))
		rc = err_set(err, ERR_INVALID, "'%s' is not a text file", path);
	if (rc == 0 && cmd_has(ctx, "all") && !ctx->json && !ctx->quiet)
		fprintf(ctx->err, "session %s\n", session_id(f->s));
	if (rc == 0) {
		cmd_blame_print_lines(ctx, f->s, &v, &o, &text);
		if (!ctx->json)
			print_legend(ctx, f->s, &v, &o);
	}
	free(o.item);
	file_versions_release(&v);
	return rc;
}

/* "src/a.c" in any repository, or "NAME/src/a.c" in the repository NAME. */
static bool cmd_blame_looks_at(void *self, const char *path)
{
	const char *wanted = self;
	size_t n = strlen(wanted), len = strlen(path);
	return !strcmp(wanted, path) ||
	       (n > len && wanted[n - len - 1] == '/' && !strcmp(wanted + n - len, path));
}

static int cmd_blame_session(struct cmd_ctx *ctx, const char *ref, bool *found_out, struct err *err)
{
	struct files_at f;
	*found_out = false;
	int rc = files_at_open(&f, ctx, ref, err);
	if (rc == 0) {
		rc = cmd_blame_file(ctx, &f, found_out, err);
		if (rc < 0 && cmd_has(ctx, "all"))
			err_wrap(err, "session %s", session_id(f.s));
	}
	files_at_release(&f);
	return rc;
}

/* Of a session of many: 1 if it changed the file, which is printed; 0 if not; -1. */
static int cmd_blame_one_of(struct cmd_ctx *ctx, struct past *past, const char *path,
			    struct err *err)
{
	struct err why = ERR_INIT;
	bool found;
	if (cmd_blame_session(ctx, path, &found, &why) == 0)
		return 1;
	if (found || why.code == ERR_USAGE) {
		*err = why;
		return -1;
	}
	if (why.code != ERR_NOENT)
		past_left_out(past, &why);
	return 0;
}

/* The newest session that changed the file. */
static int cmd_blame_newest(struct cmd_ctx *ctx, bool *left_out, struct err *err)
{
	struct past past = { 0 };
	CLEANUP(free_ptr) char *path = states_path(cmd_word(ctx, 0));
	int found = 0, rc = past_sessions(ctx, 1, &past, err);
	if (rc == 0)
		rc = past_choose_changed(ctx, &past, cmd_blame_looks_at, path, err);
	for (size_t i = past.paths.nr; rc == 0 && !found && i-- > 0;) {
		progress_at(&past.working, "all sessions", past.paths.nr - i, past.paths.nr,
			    "sessions");
		found = cmd_blame_one_of(ctx, &past, past.paths.item[i], err);
	}
	progress_clear(&past.working);
	*left_out = past.unread > 0;
	past_release(&past);
	if (rc == 0 && !found)
		return err_set(err, ERR_NOENT, "no chosen session changed '%s'", path);
	return rc < 0 || found < 0 ? -1 : 0;
}

int cmd_blame(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	bool found, left_out = false;
	int status = choice_all_check(ctx);
	if (status != EXIT_DONE)
		return status;
	int rc = cmd_has(ctx, "all") ? cmd_blame_newest(ctx, &left_out, &err)
				     : cmd_blame_session(ctx, cmd_opt(ctx, "at"), &found, &err);
	return rc < 0 ? cmd_fail(ctx, &err) : left_out ? EXIT_UNSUCCESSFUL : EXIT_DONE;
}
