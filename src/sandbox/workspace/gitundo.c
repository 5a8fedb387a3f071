/* Taking a merge back, and forgetting the names of merges. */
#include <stdio.h>
#include <string.h>

#include "sandbox/workspace/gitchild.h"
#include "sandbox/workspace/merge.h"
#include "sandbox/workspace/tree.h"

/* --- forget --- */

/* Our own names of merges; a branch is the user's. */
int forget_refs(struct target *t, json_t **out, struct err *err)
{
	const json_t *list = json_object_get(t->request, "refs");
	int64_t removed = 0;
	for (size_t i = 0; t->repo && i < json_array_size(list); i++) {
		const char *ref = json_string_value(json_array_get(list, i));
		if (!ref || strncmp(ref, "refs/sandglass/", 15) != 0 || !branch_stands(t, ref))
			continue;
		if (git_reference_remove(t->repo, ref) < 0)
			return ws_git_err(err, "can't remove the ref");
		removed++;
	}
	*out = json_object();
	json_put_int(*out, "removed", removed);
	return 0;
}

/* --- undo --- */

/* After a failure: 0 if another process has changed the file meanwhile, which stays; -1. */
static int undo_kept(const struct buf *path, json_t *kept, struct err *err)
{
	if (err->code != ERR_BUSY)
		return -1;
	*err = ERR_INIT;
	json_array_append_new(kept, json_bytes(path->data, path->len));
	return 0;
}

/* 1 put back, 0 nothing to do or kept. */
static int undo_file(struct target *t, const json_t *f, json_t *kept, struct err *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	struct hostfile h = HOSTFILE_INIT;
	const json_t *before = json_object_get(f, "before"), *after = json_object_get(f, "after");
	if (!json_get_bytes(json_object_get(f, "path"), &path))
		return err_set(err, ERR_DAMAGED, "the record of the merge is damaged");
	hostfile_read(&h, t->root, buf_cstr(&path), path.len);
	bool is_after = !h.blocked && gitrecord_state_is(&h.state, after),
	     is_before = gitrecord_state_is(&h.state, before);
	if (h.state.kind == WS_NONE && !strcmp(json_str(after, "kind", ""), "dir"))
		is_after = true; /* it went when what was in it went */
	struct stat st = h.st;
	hostfile_release(&h);
	if (is_before)
		return 0;
	if (!is_after) {
		json_array_append_new(kept, json_bytes(buf_cstr(&path), path.len));
		return 0;
	}
	if (json_is_null(before)) {
		int rc = hostfile_remove(t->root, buf_cstr(&path), path.len, &st, err);
		if (rc < 0 && S_ISDIR(st.st_mode) && err->code == ERR_BUSY) {
			*err = ERR_INIT; /* files that are kept, or new ones of the user's */
			return 0;
		}
		if (rc < 0)
			return undo_kept(&path, kept, err);
		hostfile_tidy(t->root, buf_cstr(&path), path.len,
			      (size_t)json_int(f, "above", (int64_t)path.len));
		return 1;
	}
	struct ws_state s = { .mode = (uint16_t)json_int(before, "mode", 0644) };
	enum ws_kind kind = WS_FILE, now = WS_NONE;
	const char *name = json_str(f, "bytes", NULL);
	if (!ws_kind_find(json_str(before, "kind", ""), &kind) ||
	    (name && child_load(t, name, &bytes, err) != 0))
		return err_set(err, ERR_DAMAGED, "the record of the merge is damaged");
	ws_kind_find(json_str(after, "kind", "none"), &now);
	s.kind = (uint8_t)kind;
	if ((now == WS_DIR) != (kind == WS_DIR) &&
	    hostfile_remove(t->root, buf_cstr(&path), path.len, &st, err) < 0) {
		if (now != WS_DIR)
			return undo_kept(&path, kept, err);
		*err = ERR_INIT; /* files in that directory changed since, and stay */
		json_array_append_new(kept, json_bytes(buf_cstr(&path), path.len));
		return 0;
	}
	if ((now == WS_DIR) != (kind == WS_DIR))
		st = (struct stat){ 0 };
	return hostfile_write(t->root, buf_cstr(&path), path.len, &s, buf_cstr(&bytes), bytes.len,
			      &st, NULL, err) < 0
		       ? undo_kept(&path, kept, err)
		       : 1;
}

/* 1 the index was changed, 0 there was nothing to do. */
static int undo_stage(struct target *t, const json_t *f, struct err *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	struct object_id was = { 0 }, is = { 0 }, now;
	unsigned mode;
	const char *hex = json_str(f, "staged", NULL), *set = json_str(f, "stage", NULL);
	if (!t->index || !json_object_get(f, "stage_mode"))
		return 0;
	if (!json_get_bytes(json_object_get(f, "path"), &path) ||
	    (hex && !object_parse(hex, &was)) || (set && !object_parse(set, &is)))
		return err_set(err, ERR_DAMAGED, "the record of the merge is damaged");
	target_staged(t, buf_cstr(&path), path.len, &mode, &now);
	if (mode != (unsigned)json_int(f, "stage_mode", 0) || memcmp(&now, &is, sizeof(is)) != 0)
		return 0;
	return target_stage(t, buf_cstr(&path), path.len, (unsigned)json_int(f, "staged_mode", 0),
			    &was, false, err) < 0
		       ? -1
		       : 1;
}

/* Sets @ref (NULL: a detached HEAD) back to @old, or removes it if @old is null. Changes nothing if
 * the merge was interrupted before it changed the ref. */
static int undo_ref(struct target *t, const char *ref, const struct object_id *commit,
		    const struct object_id *old, struct err *why)
{
	git_oid now;
	bool there = git_reference_name_to_id(&now, t->repo, ref ? ref : "HEAD") == 0;
	if (object_is_null(old) ? !there : there && !memcmp(now.id, old->b, sizeof(old->b)))
		return 0;
	return target_ref(t, ref, commit, old, why);
}

static int undo_refs(struct target *t, const json_t *rec, json_t *out, struct err *err)
{
	struct object_id commit = { 0 }, old = { 0 };
	const char *hex = json_str(rec, "commit", NULL), *head = json_str(rec, "head", NULL),
		   *ref = json_str(rec, "ref", NULL);
	struct err why = ERR_INIT;
	git_oid now;
	if (!t->repo || !hex || !object_parse(hex, &commit))
		return 0;
	if (head) {
		const char *from = json_str(rec, "head_old", NULL);
		if (from && !object_parse(from, &old))
			return err_set(err, ERR_DAMAGED, "the record of the merge is damaged");
		if ((!from && !*head) || undo_ref(t, *head ? head : NULL, &commit, &old, &why) < 0)
			json_put_str(out, "head_kept",
				     from ? why.text : "there was no commit before");
	}
	old = (struct object_id){ 0 };
	hex = json_str(rec, "ref_old", NULL);
	if (hex && !object_parse(hex, &old))
		return err_set(err, ERR_DAMAGED, "the record of the merge is damaged");
	bool there = ref && git_reference_name_to_id(&now, t->repo, ref) == 0;
	bool stays = there && object_is_null(&old) && target_checked_out(t, ref);
	if (stays)
		err_set(&why, ERR_BUSY, "'%s' is checked out", ref);
	if (stays || (ref && undo_ref(t, ref, &commit, &old, &why) < 0))
		json_put_str(out, "ref_kept", why.text);
	else if (there && object_is_null(&old))
		json_put_flag(out, "ref_deleted", true);
	json_put_str(out, "ref", ref);
	return 0;
}

static int undo_load(struct target *t, json_t **rec_out, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	int rc = child_load(t, "record.json", &b, err);
	if (rc != 0)
		return rc < 0 ? -1 : err_set(err, ERR_NOENT, "the record of this merge is missing");
	*rec_out = json_parse(buf_cstr(&b), b.len, "the record of the merge", err);
	return *rec_out ? 0 : -1;
}

int settle_run(struct target *t, json_t **out, struct err *err)
{
	json_t *rec;
	if (undo_load(t, &rec, err) < 0)
		return -1;
	*out = json_object();
	json_put(*out, "leftover", gitrecord_settle(t, rec));
	json_decref(rec);
	return 0;
}

int undo_run(struct target *t, json_t **out, struct err *err)
{
	json_t *rec;
	int rc = 0;
	if (undo_load(t, &rec, err) < 0)
		return -1;
	json_t *o = json_object(), *kept = json_array(), *files = json_object_get(rec, "files");
	size_t written = 0;
	json_put(o, "kept", kept);
	if (json_flag(rec, "undone", false)) {
		json_put_int(o, "written", 0);
		json_decref(rec);
		*out = o;
		return 0;
	}
	json_t *leftover = gitrecord_settle(t, rec);
	if (json_array_size(leftover))
		json_put(o, "leftover", json_incref(leftover));
	json_decref(leftover);
	if (t->index && git_index_read(t->index, 1) < 0)
		rc = ws_git_err(err, "can't read the index");
	/* what was made goes first, last path first; then what was there comes back, parents
	 * first */
	for (int pass = 0; pass < 2 && rc == 0; pass++)
		for (size_t i = 0, n = json_array_size(files); rc == 0 && i < n; i++) {
			const json_t *f = json_array_get(files, pass ? i : n - 1 - i);
			if (!json_flag(f, "write", false) ||
			    json_is_null(json_object_get(f, "before")) != (pass == 0))
				continue;
			rc = undo_file(t, f, kept, err);
			written += rc > 0;
			rc = rc < 0 ? -1 : 0;
		}
	size_t staged = 0;
	for (size_t i = 0; rc == 0 && i < json_array_size(files); i++) {
		int did = undo_stage(t, json_array_get(files, i), err);
		staged += did > 0;
		rc = did < 0 ? -1 : 0;
	}
	if (rc == 0 && staged && git_index_write(t->index) < 0)
		rc = ws_git_err(err, "can't write the index");
	if (rc == 0)
		rc = undo_refs(t, rec, o, err);
	if (rc == 0)
		branches_undo(t, rec, o);
	json_put_int(o, "written", (int64_t)written);
	if (rc == 0)
		gitrecord_undone(t, rec);
	json_decref(rec);
	if (rc < 0) {
		json_decref(o);
		return -1;
	}
	*out = o;
	return 0;
}
