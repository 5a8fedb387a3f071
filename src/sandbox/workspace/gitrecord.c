/* The undo record of a merge in one target (record.json and contents beside it). */
#include <stdio.h>
#include <string.h>

#include "sandbox/workspace/gitchild.h"
#include "sandbox/workspace/tree.h"

static json_t *state_json(const struct ws_state *s)
{
	json_t *o = json_object();
	if (s->kind == WS_NONE)
		return json_decref(o), json_null();
	json_put_str(o, "kind", ws_kind_name((enum ws_kind)s->kind));
	json_put_int(o, "mode", s->mode);
	gitwrite_put_oid(o, "oid", &s->oid);
	return o;
}

bool gitrecord_state_is(const struct ws_state *s, const json_t *want)
{
	const char *hex = json_str(want, "oid", NULL);
	struct object_id id = { 0 };
	if (json_is_null(want) || !want)
		return s->kind == WS_NONE;
	if (hex && !object_parse(hex, &id))
		return false;
	return !strcmp(ws_kind_name((enum ws_kind)s->kind), json_str(want, "kind", "")) &&
	       (s->kind == WS_DIR || (!memcmp(&s->oid, &id, sizeof(id)) &&
				      !((s->mode ^ (unsigned)json_int(want, "mode", 0)) & 0100)));
}

/* --- what an interrupted try has saved --- */

static void copy_keys(json_t *to, const json_t *from, const char *const *key, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		json_object_del(to, key[i]);
		json_put(to, key[i], json_incref(json_object_get(from, key[i])));
	}
}

static void entry_key(const char *path, size_t len, struct buf *out)
{
	buf_reset(out);
	hex_append(out, path, len);
}

/* The files of @old by path. */
static json_t *earlier_files(const json_t *old)
{
	const json_t *files = json_object_get(old, "files");
	CLEANUP(buf_release) struct buf path = BUF_INIT, key = BUF_INIT;
	json_t *by_path = json_object();
	for (size_t i = 0; i < json_array_size(files); i++) {
		json_t *f = json_array_get(files, i);
		if (!json_get_bytes(json_object_get(f, "path"), &path))
			continue;
		entry_key(buf_cstr(&path), path.len, &key);
		json_put(by_path, buf_cstr(&key), json_incref(f));
	}
	return by_path;
}

/* 0 with the record of an earlier try of the same merge, or NULL; -1. */
static int earlier_record(struct target *t, json_t **out, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, dir = BUF_INIT;
	int rc = child_load(t, "record.json", &b, err);
	*out = NULL;
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	json_t *old = json_parse(buf_cstr(&b), b.len, "the record of the merge", err);
	if (!old)
		return -1;
	bool here = json_get_bytes(json_object_get(old, "dir"), &dir) &&
		    !strcmp(buf_cstr(&dir), t->dir);
	if (!json_flag(old, "undone", false) && here) {
		*out = old;
		return 0;
	}
	rc = json_flag(old, "undone", false)
		     ? 0
		     : err_set(err, ERR_EXISTS,
			       "can't replace the undo record of an interrupted merge into '%.300s'",
			       buf_cstr(&dir));
	json_decref(old);
	return rc;
}

/* @f, an entry of this try, becomes one of both tries. */
static void keep_earlier(json_t *f, const json_t *old, const struct ws_state *now)
{
	static const char *const written[] = { "write", "above", "before", "bytes" },
				 *const staged[] = { "staged_mode", "staged", "stage_mode",
						     "stage" };
	bool stages = json_object_get(f, "stage_mode") != NULL;
	if (json_flag(old, "write", false) &&
	    gitrecord_state_is(now, json_object_get(old, "after")))
		copy_keys(f, old, written, ARRAY_LEN(written));
	if (!json_object_get(old, "stage_mode"))
		return;
	if (!stages)
		copy_keys(f, old, staged, ARRAY_LEN(staged));
	else if (json_equal(json_object_get(f, "staged_mode"),
			    json_object_get(old, "stage_mode")) &&
		 !strcmp(json_str(f, "staged", ""), json_str(old, "stage", "")))
		copy_keys(f, old, staged, 2);
}

static void keep_refs(json_t *rec, const json_t *old)
{
	static const char *const all[] = { "ref", "ref_old", "commit", "head", "head_old" },
				 *const ref_old[] = { "ref_old" },
				 *const head_old[] = { "head_old" };
	const char *was = json_str(old, "commit", NULL), *is = json_str(rec, "commit", NULL);
	if (!was)
		return;
	if (!is || !strcmp(was, is)) {
		copy_keys(rec, old, all, ARRAY_LEN(all));
		return;
	}
	if (!strcmp(json_str(rec, "head_old", ""), was))
		copy_keys(rec, old, head_old, 1);
	if (!strcmp(json_str(rec, "ref_old", ""), was) &&
	    !strcmp(json_str(rec, "ref", ""), json_str(old, "ref", "")))
		copy_keys(rec, old, ref_old, 1);
}

/* --- temporary files of a try that was killed --- */

/* Is it one of the two versions that the record has? */
static bool gitrecord_knows(void *self, const struct ws_state *s)
{
	const json_t *f = self;
	return gitrecord_state_is(s, json_object_get(f, "before")) ||
	       gitrecord_state_is(s, json_object_get(f, "after"));
}

json_t *gitrecord_settle(struct target *t, const json_t *rec)
{
	static const char *const word[] = { [HOSTFILE_REMOVED] = "removed",
					    [HOSTFILE_BACK] = "put back",
					    [HOSTFILE_STAYS] = "kept" };
	const json_t *files = json_object_get(rec, "files");
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	json_t *list = json_array();
	hostplace_use(json_str(rec, "temp", NULL));
	for (size_t i = 0; json_str(rec, "temp", NULL) && i < json_array_size(files); i++) {
		json_t *f = json_array_get(files, i);
		char name[HOSTPLACE_TEMP];
		if (!json_flag(f, "write", false) ||
		    !json_get_bytes(json_object_get(f, "path"), &path))
			continue;
		enum hostfile_left left = hostfile_settle(t->root, buf_cstr(&path), path.len,
							  gitrecord_knows, f, name);
		if (left == HOSTFILE_NOTHING)
			continue;
		json_t *o = json_object();
		const char *slash = memrchr(buf_cstr(&path), '/', path.len);
		json_put(o, "of", json_incref(json_object_get(f, "path")));
		CLEANUP(buf_release) struct buf beside = BUF_INIT;
		buf_append(&beside, path.data, slash ? (size_t)(slash - path.data) + 1 : 0);
		buf_puts(&beside, name);
		json_put_bytes(o, "path", buf_cstr(&beside), beside.len);
		json_put_str(o, "what", word[left]);
		json_array_append_new(list, o);
	}
	return list;
}

/* --- saving --- */

static void save_stage(json_t *f, unsigned staged_mode, const struct object_id *staged,
		       unsigned stage_mode, const struct object_id *stage)
{
	json_put_int(f, "staged_mode", staged_mode);
	gitwrite_put_oid(f, "staged", staged);
	json_put_int(f, "stage_mode", stage_mode);
	gitwrite_put_oid(f, "stage", stage);
}

static json_t *save_link(const struct plan_link *l)
{
	json_t *f = json_object();
	json_put_bytes(f, "path", l->path, l->len);
	save_stage(f, l->staged_mode, &l->staged_oid, TREE_MODE_GITLINK, &l->oid);
	return f;
}

static json_t *save_path(const struct target *t, const struct plan_path *p)
{
	json_t *f = json_object();
	json_put_bytes(f, "path", p->path, p->len);
	json_put_flag(f, "write", p->write);
	if (p->write && p->host.state.kind == WS_NONE)
		json_put_int(f, "above", (int64_t)hostfile_above(t->root, p->path, p->len));
	json_put(f, "before", state_json(&p->host.state));
	json_put(f, "after", state_json(p->write ? &p->after : &p->host.state));
	if (p->stage)
		save_stage(f, p->staged_mode, &p->staged_oid, p->stage_mode, &p->stage_oid);
	return f;
}

/* The content that @p had is named after its hash: no other try's content has that name. */
static int save_bytes(struct target *t, const struct plan_path *p, json_t *f, struct err *err)
{
	char name[41];
	if (!p->write || !ws_has_content(&p->host.state))
		return 0;
	object_hex(&p->host.state.oid, name);
	json_put_str(f, "bytes", name);
	return child_save(t, name, buf_cstr(&p->host.bytes), p->host.bytes.len, err);
}

static int save_files(struct target *t, json_t *earlier, json_t *files, struct err *err)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT;
	bool branch = !strcmp(json_str(t->request, "mode", ""), "branch");
	for (size_t i = 0; !branch && i < t->all.nr; i++) {
		const struct plan_path *p = &t->all.path[i];
		if (p->skip || p->conflict || (!p->write && !p->stage))
			continue;
		json_t *f = save_path(t, p);
		json_array_append_new(files, f);
		if (save_bytes(t, p, f, err) < 0)
			return -1;
		entry_key(p->path, p->len, &key);
		const json_t *old = json_object_get(earlier, buf_cstr(&key));
		if (old)
			keep_earlier(f, old, &p->host.state);
		json_object_del(earlier, buf_cstr(&key));
	}
	for (size_t i = 0; i < t->nr_links; i++) {
		if (!t->link[i].stage)
			continue;
		json_t *f = save_link(&t->link[i]);
		json_array_append_new(files, f);
		entry_key(t->link[i].path, t->link[i].len, &key);
		const json_t *old = json_object_get(earlier, buf_cstr(&key));
		if (old)
			keep_earlier(f, old, &(struct ws_state){ 0 });
		json_object_del(earlier, buf_cstr(&key));
	}
	return 0;
}

static json_t *save_refs(const struct target *t)
{
	json_t *rec = json_object();
	const char *mode = json_str(t->request, "mode", "");
	json_put_str(rec, "dir", t->dir);
	json_put_str(rec, "mode", mode);
	json_put_str(rec, "temp", t->temp);
	if (t->ref_made) {
		json_put_str(rec, "ref", t->ref);
		gitwrite_put_oid(rec, "ref_old", &t->ref_old);
	}
	gitwrite_put_oid(rec, "commit", &t->commit);
	if (!strcmp(mode, "commits") && !object_is_null(&t->commit)) {
		json_put_str(rec, "head", t->branch ? t->branch : "");
		gitwrite_put_oid(rec, "head_old", &t->head);
	}
	return rec;
}

static int save_text(struct target *t, const json_t *rec, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	json_dump_buf(rec, &b);
	return child_save(t, "record.json", buf_cstr(&b), b.len, err);
}

int gitrecord_save(struct target *t, bool files, struct err *err)
{
	if (!t->looked && earlier_record(t, &t->earlier, err) < 0)
		return -1;
	if (!t->looked && json_str(t->earlier, "temp", NULL))
		snprintf(t->temp, sizeof(t->temp), "%s", json_str(t->earlier, "temp", ""));
	else if (!t->looked)
		hostplace_token(t->temp);
	if (!t->looked)
		t->leftover = gitrecord_settle(t, t->earlier);
	t->looked = true;
	hostplace_use(t->temp);
	CLEANUP(json_release) json_t *earlier = earlier_files(t->earlier);
	CLEANUP(json_release) json_t *rec = save_refs(t);
	json_t *list = json_array(), *left;
	const char *name;
	json_put(rec, "files", list);
	if (t->earlier)
		keep_refs(rec, t->earlier);
	json_put(rec, "branches", branches_record(t, t->earlier));
	if (files && save_files(t, earlier, list, err) < 0)
		return -1;
	json_object_foreach(earlier, name, left) json_array_append(list, left);
	return save_text(t, rec, err);
}

void gitrecord_aborted(struct target *t)
{
	struct err none = ERR_INIT;
	json_t *rec = t->earlier ? json_incref(t->earlier) : save_refs(t);
	if (!t->earlier)
		gitrecord_undone(t, rec);
	else if (save_text(t, rec, &none) < 0)
		none.code = ERR_NONE; /* the record names more than there is: an undo finds that */
	json_decref(rec);
}

void gitrecord_undone(struct target *t, json_t *rec)
{
	struct err none = ERR_INIT;
	json_put_flag(rec, "undone", true);
	if (save_text(t, rec, &none) < 0)
		none.code = ERR_NONE; /* the undo itself is done */
}
