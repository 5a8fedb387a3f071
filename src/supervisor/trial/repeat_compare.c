/* Two runs of one command side by side: where do they differ first? */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/trial/repeat_priv.h"

enum { CHUNK = 1 << 20 };

/* --- exit status --- */

static json_t *repeat_compare_status_of(const json_t *ended)
{
	json_t *o = json_object();
	static const char *const keys[] = { "end", "code", "signal" };
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		json_put(o, keys[i], json_incref(json_object_get(ended, keys[i])));
	return o;
}

static bool put_status(struct repeat *r)
{
	json_t *o = json_object(), *was = repeat_compare_status_of(r->o.ended),
	       *now = repeat_compare_status_of(r->body);
	json_put_str(now, "end", action_end_name(r->end));
	bool same = json_equal(was, now) != 0;
	json_put(o, "was", was);
	json_put(o, "now", now);
	json_put_flag(o, "same", same);
	json_put(r->result, "status", o);
	return same;
}

/* --- output --- */

static void repeat_compare_count_lines(const struct buf *b, size_t n, int64_t *line)
{
	for (size_t i = 0; i < n; i++)
		*line += b->data[i] == '\n';
}

/* Reads both chunk by chunk; *line and *at: where the first difference is. */
static bool same_stream(struct session *a, uint64_t ida, struct session *b, uint64_t idb,
			int stream, int64_t *line, uint64_t *at, struct err *err)
{
	CLEANUP(buf_release) struct buf x = BUF_INIT;
	CLEANUP(buf_release) struct buf y = BUF_INIT;
	*line = 1;
	for (*at = 0;;) {
		buf_reset(&x);
		buf_reset(&y);
		if (session_output(a, ida, stream, *at, CHUNK, &x, err) < 0 ||
		    session_output(b, idb, stream, *at, CHUNK, &y, err) < 0)
			return false;
		size_t n = x.len < y.len ? x.len : y.len, i = 0;
		while (i < n && x.data[i] == y.data[i])
			i++;
		repeat_compare_count_lines(&x, i, line);
		*at += i;
		if (i < n || (n == 0 && x.len != y.len))
			return false;
		if (n == 0)
			return true;
	}
}

static bool put_stream(struct repeat *r, struct session *now, const char *name, int stream,
		       struct err *err)
{
	json_t *o = json_object();
	int64_t line;
	uint64_t at;
	bool same = same_stream(r->o.read, r->o.action, now, r->action, stream, &line, &at, err);
	json_put_int(o, "was_bytes", (int64_t)session_output_size(r->o.read, r->o.action, stream));
	json_put_int(o, "now_bytes", (int64_t)session_output_size(now, r->action, stream));
	json_put_flag(o, "same", same);
	if (!same) {
		json_put_int(o, "line", line);
		json_put_int(o, "offset", (int64_t)at);
	}
	json_put(r->result, name, o);
	return same;
}

/* --- files --- */

static const char *repeat_compare_state_text(const struct ws_change *c, char text[64])
{
	if (!c)
		return "as before";
	if (c->now.kind == WS_NONE)
		return "removed";
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	hex_append(&hex, c->now.oid.b, sizeof(c->now.oid.b));
	snprintf(text, 64, "%s %o %.12s", ws_kind_name((enum ws_kind)c->now.kind), c->now.mode,
		 buf_cstr(&hex));
	return text;
}

static void repeat_compare_differs(json_t *files, int64_t *more, const char *repo,
				   const struct ws_change *was, const struct ws_change *now)
{
	const struct ws_change *any = was ? was : now;
	char a[64], b[64];
	if (json_array_size(files) >= REPEAT_FILES_MAX) {
		(*more)++;
		return;
	}
	json_t *row = json_object();
	json_put_bytes(row, "path", any->path, any->len);
	if (*repo)
		json_put_str(row, "repo", repo);
	json_put_str(row, "was", repeat_compare_state_text(was, a));
	json_put_str(row, "now", repeat_compare_state_text(now, b));
	json_array_append_new(files, row);
}

/* Compares the changes of both runs; git's own files separately, because they hold times. */
static void compare_diffs(const struct ws_diff *was, const struct ws_diff *now, const char *repo,
			  json_t *files, int64_t *more, bool *git)
{
	size_t i = 0, k = 0;
	while (i < was->nr || k < now->nr) {
		const struct ws_change *a = i < was->nr ? &was->item[i] : NULL,
				       *b = k < now->nr ? &now->item[k] : NULL;
		int d = !a ? 1 : !b ? -1 : ws_path_cmp(a->path, a->len, b->path, b->len);
		a = d <= 0 ? a : NULL;
		b = d >= 0 ? b : NULL;
		i += d <= 0;
		k += d >= 0;
		if (a && b && ws_state_eq(&a->now, &b->now))
			continue;
		const struct ws_change *any = a ? a : b;
		if (ws_path_is_git(any->path, any->len))
			*git = false;
		else
			repeat_compare_differs(files, more, repo, a, b);
	}
}

static int compare_layer(struct repeat *r, struct trees *t, size_t i, json_t *files, int64_t *more,
			 bool *git, struct err *err)
{
	struct ws_view v[4] = { WS_VIEW_INIT, WS_VIEW_INIT, WS_VIEW_INIT, WS_VIEW_INIT };
	struct ws_diff was = WS_DIFF_INIT, now = WS_DIFF_INIT;
	const struct repeat_layer *l = NULL, none = { 0 };
	for (size_t k = 0; k < r->o.nr_layers; k++)
		if (!strcmp(r->o.layer[k].repo, t->layer[i].name))
			l = &r->o.layer[k];
	l = l ? l : &none;
	int rc = origin_view(&r->o, l->before, &v[0], err);
	if (rc == 0)
		rc = origin_view(&r->o, l->after ? l->after : l->before, &v[1], err);
	if (rc == 0)
		rc = tree_view(t, i, r->before, &v[2], err);
	if (rc == 0)
		rc = tree_view(t, i, UINT64_MAX, &v[3], err);
	if (rc == 0)
		rc = ws_diff_views(&was, &v[0], &v[1], false, NULL, err);
	if (rc == 0)
		rc = ws_diff_views(&now, &v[2], &v[3], false, NULL, err);
	if (rc == 0)
		compare_diffs(&was, &now, t->layer[i].name, files, more, git);
	ws_diff_release(&was);
	ws_diff_release(&now);
	for (size_t k = 0; k < ARRAY_LEN(v); k++)
		ws_view_release(&v[k]);
	return rc;
}

static bool repeat_compare_put_tree(struct repeat *r, struct trees *t, struct err *err)
{
	json_t *o = json_object(), *files = json_array();
	int64_t more = 0;
	bool git = true;
	for (size_t i = 0; i < t->nr_layers; i++)
		if (compare_layer(r, t, i, files, &more, &git, err) < 0)
			break;
	bool same = !json_array_size(files) && err->code == ERR_NONE;
	json_put_flag(o, "same", same);
	json_put_flag(o, "git_same", git);
	json_put_flag(o, "shared", r->o.shared);
	json_put(o, "files", files);
	if (more)
		json_put_int(o, "more", more);
	json_put(r->result, "tree", o);
	return same;
}

void repeat_compare(struct repeat *r, struct trees *t, struct err *err)
{
	struct session *now;
	r->result = json_object();
	if (session_open(&now, record_path(r->s->record), err) < 0)
		return;
	bool same = put_status(r);
	if (r->now) { /* other files: output and changes may differ */
		session_close(&now);
		json_put_flag(r->result, "same", same);
		return;
	}
	same = put_stream(r, now, "stdout", STREAM_OUT, err) && same;
	same = put_stream(r, now, "stderr", STREAM_ERR, err) && same;
	if (session_output_size(r->o.read, r->o.action, STREAM_PTY) ||
	    session_output_size(now, r->action, STREAM_PTY))
		same = put_stream(r, now, "pty", STREAM_PTY, err) && same;
	same = repeat_compare_put_tree(r, t, err) && same;
	session_close(&now);
	json_put_flag(r->result, "same", same && err->code == ERR_NONE);
}
