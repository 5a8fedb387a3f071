/* Taking merges back, and other requests to one target. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/workspace/merge_priv.h"

/* @rq: the fields that only this type of request has; taken. @k: of the undo record. */
static int with_child(const struct merge_opts *o, size_t k, unsigned type, const char *dir,
		      json_t *rq, json_t **out, struct err *err)
{
	struct child c;
	struct ws_store none = { 0 };
	json_put_str(rq, "dir", dir);
	json_put_str(rq, "author", o->author);
	json_put_str(rq, "email", o->email);
	json_put(rq, "user", merge_user());
	int rc = merge_child_start(&c, o, o->store ? o->store : &none, k, err);
	if (rc == 0)
		rc = child_ask(&c, type, rq, out, err);
	child_end(&c);
	json_decref(rq);
	return rc;
}

int merge_look(const struct merge_opts *o, const char *dir, json_t **out, struct err *err)
{
	return with_child(o, 0, CHILD_LOOK, dir, json_object(), out, err);
}

int merge_history(const char *dir, unsigned commits, bool (*stop)(void *self), void *self,
		  json_t **out, struct err *err)
{
	const struct merge_opts o = { .id = "", .stop = stop, .self = self };
	json_t *rq = json_object();
	json_put_int(rq, "commits", commits);
	return with_child(&o, 0, CHILD_HISTORY, dir, rq, out, err);
}

int merge_forget(const struct merge_opts *o, const char *dir, const json_t *refs, struct err *err)
{
	json_t *out = NULL, *rq = json_object();
	json_put(rq, "refs", json_incref((json_t *)(uintptr_t)refs));
	int rc = with_child(o, 0, CHILD_FORGET, dir, rq, &out, err);
	json_decref(out);
	return rc;
}

/* 1 with the undo record of the @k-th target, which is NULL if it can't be read; 0: no record. */
static int undo_record(const struct merge_opts *o, size_t k, json_t **out, struct err *err)
{
	CLEANUP(free_ptr) char *dir = merge_record_dir(o, k);
	CLEANUP(free_ptr) char *path = path_join(dir, "record.json");
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err why = ERR_INIT;
	*out = NULL;
	if (file_read(path, &b, MERGE_UNDO_MAX, &why) == 0)
		*out = json_parse(buf_cstr(&b), b.len, "the record of the merge", err);
	else if (why.code == ERR_NOENT)
		return 0;
	else
		*err = why;
	return 1;
}

bool merge_stands(const struct merge_opts *o)
{
	bool stands = false;
	json_t *rec;
	struct err none = ERR_INIT;
	for (size_t k = 0; !stands && k < MERGE_PARTS_MAX; k++) {
		if (!undo_record(o, k, &rec, &none))
			continue;
		stands = !json_flag(rec, "undone", false);
		json_decref(rec);
	}
	return stands;
}

static bool target_gone(const char *dir)
{
	struct stat st;
	return stat(dir, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Asks for @type in the target of each record of the merge, and adds the answers to @targets. */
static int each_record(const struct merge_opts *o, unsigned type, json_t *targets, struct err *err)
{
	json_t *rec, *out;
	for (size_t k = 0; k < MERGE_PARTS_MAX; k++) { /* an interrupted merge has gaps */
		CLEANUP(buf_release) struct buf name = BUF_INIT;
		if (!undo_record(o, k, &rec, err))
			continue;
		out = NULL;
		const char *target =
			json_get_bytes(json_object_get(rec, "dir"), &name) ? buf_cstr(&name) : NULL;
		bool gone = target && target_gone(target);
		int rc = gone	  ? 0
			 : target ? with_child(o, k, type, target, json_object(), &out, err)
				  : -1;
		if (gone) {
			out = json_object();
			json_put_flag(out, "gone", true);
		}
		if (rc == 0) {
			json_put_str(out, "dir", target);
			json_array_append_new(targets, out);
		}
		json_decref(rec);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int merge_undo(const struct merge_opts *o, json_t **body_out, struct err *err)
{
	json_t *targets = json_array();
	int rc = each_record(o, CHILD_UNDO, targets, err);
	if (rc < 0)
		err_wrap(err, "undo of merge %s", o->id);
	else if (!json_array_size(targets))
		rc = err_set(err, ERR_NOENT, "merge %s not found in the records", o->id);
	if (rc < 0) {
		json_decref(targets);
		return -1;
	}
	*body_out = json_object();
	json_put_str(*body_out, "merge", o->id);
	json_put(*body_out, "targets", targets);
	return 0;
}

bool merge_all_gone(const json_t *body)
{
	const json_t *list = json_object_get(body, "targets");
	size_t gone = 0;
	for (size_t i = 0; i < json_array_size(list); i++)
		gone += json_flag(json_array_get(list, i), "gone", false);
	return gone > 0 && gone == json_array_size(list);
}

int merge_settle(const struct merge_opts *o, json_t **out, struct err *err)
{
	CLEANUP(json_release) json_t *targets = json_array();
	*out = json_array();
	int rc = each_record(o, CHILD_SETTLE, targets, err);
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *t = json_array_get(targets, i),
			     *left = json_object_get(t, "leftover");
		CLEANUP(buf_release) struct buf dir = BUF_INIT;
		json_get_bytes(json_object_get(t, "dir"), &dir);
		for (size_t k = 0; k < json_array_size(left); k++) {
			json_t *one = json_copy(json_array_get(left, k));
			CLEANUP(buf_release) struct buf path = BUF_INIT, full = BUF_INIT;
			json_get_bytes(json_object_get(one, "path"), &path);
			buf_printf(&full, "%s/", buf_cstr(&dir));
			buf_append(&full, buf_cstr(&path), path.len);
			json_put_bytes(one, "path", full.data, full.len);
			json_array_append_new(*out, one);
		}
	}
	return rc < 0 ? err_wrap(err, "merge %s", o->id) : 0;
}
