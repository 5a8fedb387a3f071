/* box:diff: the changes between two snapshots, as a table and as a patch. Reads only the
 * recording. */
#include <stdlib.h>
#include <string.h>

#include "supervisor/box/box_ops.h"
#include "supervisor/box/tree_op.h"

static const char *status_word(const char *op)
{
	return *op == 'A' ? "added" : *op == 'D' ? "deleted" : *op == 'R' ? "renamed" : "modified";
}

/* The rows of one layer in the form of wire/host.h. */
static void tree_diff_add_files(json_t *files, const json_t *diff, const char *prefix)
{
	size_t i;
	json_t *f;
	json_array_foreach(json_object_get(diff, "files"), i, f)
	{
		json_t *row = json_object();
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		CLEANUP(buf_release) struct buf full = BUF_INIT;
		json_get_bytes(json_object_get(f, "path"), &path);
		buf_printf(&full, "%s%s", prefix, *prefix ? "/" : "");
		buf_append(&full, path.data, path.len);
		const char *what = json_str(f, "what", "text");
		json_put_bytes(row, "path", full.data, full.len);
		json_put_str(row, "status", status_word(json_str(f, "op", "M")));
		json_put_int(row, "added", json_int(f, "added", 0));
		json_put_int(row, "removed", json_int(f, "removed", 0));
		json_put_flag(row, "binary", !strcmp(what, "binary"));
		if (!strcmp(what, "hash_only") || !strcmp(what, "hash only"))
			json_put_str(row, "note", "hash only");
		json_array_append_new(files, row);
	}
}

/* Git's own files are in the snapshots so that a rollback is complete; they are not shown as a
 * change. */
static void drop_git(struct ws_diff *d)
{
	size_t kept = 0;
	for (size_t i = 0; i < d->nr; i++)
		if (!ws_path_is_git(d->item[i].path, d->item[i].len))
			d->item[kept++] = d->item[i];
	d->nr = kept;
}

static int diff_layer(struct tree_op *o, size_t i, json_t *files, struct buf *patch, int64_t *lines)
{
	struct trees *t = o->t;
	struct ws_view a = WS_VIEW_INIT, b = WS_VIEW_INIT;
	struct ws_diff d = WS_DIFF_INIT;
	struct ws_store st;
	tree_store(t, &st);
	int rc = tree_view(t, i, o->from, &a, &o->err);
	if (rc == 0)
		rc = tree_view(t, i, o->to, &b, &o->err);
	if (rc == 0)
		rc = ws_diff_views(&d, &a, &b, true, &st, &o->err);
	drop_git(&d);
	json_t *j = rc == 0 ? ws_diff_json(&d, &st, false, &o->err) : NULL;
	if (j) {
		tree_diff_add_files(files, j, t->layer[i].name);
		*lines += json_int(j, "added", 0) + json_int(j, "removed", 0);
		if (*t->layer[i].name && d.nr)
			buf_printf(patch, "# %s\n", t->layer[i].name);
		rc = ws_diff_patch(&d, &st, patch, &o->err);
		json_decref(j);
	} else {
		rc = -1;
	}
	ws_diff_release(&d);
	ws_view_release(&a);
	ws_view_release(&b);
	return rc;
}

static void diff_work(struct tree_op *o)
{
	CLEANUP(buf_release) struct buf patch = BUF_INIT;
	json_t *files = json_array();
	int64_t lines = 0;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < o->t->nr_layers; i++)
		rc = diff_layer(o, i, files, &patch, &lines);
	o->result = json_object();
	json_put_int(o->result, "lines", lines);
	json_put(o->result, "files", files);
	json_put_bytes(o->result, "patch", buf_cstr(&patch), patch.len);
}

static void diff_done(struct tree_op *o)
{
	tree_op_answer(o, json_incref(o->result));
}

void op_box_diff(struct call *c)
{
	uint64_t box;
	struct err err = ERR_INIT;
	struct trees *t = op_trees(c, &box);
	if (!t)
		return;
	struct tree_op *o = NEW(struct tree_op);
	*o = (struct tree_op){ .t = t,
			       .call = c,
			       .work = diff_work,
			       .done = diff_done,
			       .why = "background",
			       .cause = box,
			       .to = UINT64_MAX };
	const json_t *from = json_object_get(c->args, "from"), *to = json_object_get(c->args, "to");
	if ((from && tree_ref(t, from, &o->from, &err) < 0) ||
	    (to && tree_ref(t, to, &o->to, &err) < 0)) {
		free(o);
		call_fail_err(c, &err);
		return;
	}
	tree_op_start(o);
}
