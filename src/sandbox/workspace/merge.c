#include "sandbox/workspace/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/workspace/memstore.h"
#include "sandbox/workspace/merge_priv.h"

static const char *const mode_name[] = {
	[MERGE_APPLY] = "apply",
	[MERGE_BRANCH] = "branch",
	[MERGE_COMMITS] = "commits",
	[MERGE_PATCH] = "patch",
};

const char *merge_mode_name(enum merge_mode m)
{
	return mode_name[m];
}

char *merge_message(const char *box, uint64_t seq, const char *session)
{
	return seq ? mem_printf("sandglass: sandbox %s at #%" PRIu64
				"\n\nSandglass-Session: %s\nSandglass-Event: #%" PRIu64 "\n",
				box, seq, session, seq)
		   : mem_printf("sandglass: work of sandbox %s\n\nSandglass-Session: %s\n", box,
				session);
}

bool merge_mode_find(const char *name, enum merge_mode *out)
{
	for (size_t i = 0; i < ARRAY_LEN(mode_name); i++)
		if (!strcmp(mode_name[i], name)) {
			*out = (enum merge_mode)i;
			return true;
		}
	return false;
}

/* --- parts --- */

static size_t part_add(struct merge_work *w, size_t target, size_t up, const char *prefix,
		       size_t len)
{
	const char *dir = w->o->target[target].dir;
	GROW(w->part, w->nr, w->cap);
	struct part *p = &w->part[w->nr];
	*p = (struct part){ .target = target,
			    .up = up,
			    .prefix = mem_strndup(prefix, len),
			    .c = { .sock = -1, .pidfd = -1 } };
	p->dir = len ? mem_printf("%s/%s", dir, p->prefix) : mem_strdup(dir);
	return w->nr++;
}

static void part_take(struct part *p, size_t nth)
{
	GROW(p->nth, p->nr, p->cap);
	p->nth[p->nr++] = nth;
}

/* Moves what lies below @len bytes of path to a part of its own. */
static void part_split(struct merge_work *w, size_t i, const char *prefix, size_t len,
		       bool submodule)
{
	size_t made = part_add(w, w->part[i].target, i, prefix, len), keep = 0;
	struct part *from = &w->part[i], *to = &w->part[made];
	to->submodule = submodule;
	for (size_t k = 0; k < from->nr; k++) {
		const struct ws_change *c = &w->wish[from->target].d.item[from->nth[k]];
		if (path_within(c->path, c->len, prefix, len))
			part_take(to, from->nth[k]);
		else
			from->nth[keep++] = from->nth[k];
	}
	from->nr = keep;
}

/* Starts the child of part @i, and makes parts of the repositories within it. */
static int part_look(struct merge_work *w, size_t i, struct err *err)
{
	struct part *p = &w->part[i];
	json_t *rq = json_object(), *paths = json_array(), *out = NULL;
	size_t skip = *p->prefix ? strlen(p->prefix) + 1 : 0;
	for (size_t k = 0; k < p->nr; k++) {
		const struct ws_change *c = &w->wish[p->target].d.item[p->nth[k]];
		json_array_append_new(paths, json_bytes(c->path + skip, c->len - skip));
	}
	json_put_str(rq, "dir", p->dir);
	json_put(rq, "user", merge_user());
	json_put(rq, "paths", paths);
	int rc = merge_child_start(&p->c, w->o, &w->st, 0, err);
	if (rc == 0)
		rc = child_ask(&p->c, CHILD_LOOK, rq, &out, err);
	bool none = rc == 0 && !strcmp(json_str(out, "kind", ""), "none");
	const json_t *nested = json_object_get(out, "nested");
	for (size_t k = 0; rc == 0 && k < json_array_size(nested); k++) {
		const json_t *o = json_array_get(nested, k);
		const char *kind = json_str(o, "kind", "");
		CLEANUP(buf_release) struct buf full = BUF_INIT;
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		if (!json_get_bytes(json_object_get(o, "path"), &path) || !strcmp(kind, "missing"))
			continue;
		if (w->nr >= MERGE_PARTS_MAX)
			rc = err_set(
				err, ERR_FULL,
				"'%s' has more than %d repositories; merge parts of it with --path",
				p->dir, MERGE_PARTS_MAX);
		if (skip)
			buf_printf(&full, "%s/", w->part[i].prefix);
		buf_append(&full, buf_cstr(&path), path.len);
		if (rc == 0)
			part_split(w, i, buf_cstr(&full), full.len, !strcmp(kind, "submodule"));
	}
	w->part[i].idle = none && !w->part[i].nr && json_array_size(nested) > 0;
	json_decref(rq);
	json_decref(out);
	return rc;
}

static int find_parts(struct merge_work *w, struct err *err)
{
	for (size_t k = 0; k < w->o->nr_targets; k++) {
		size_t i = part_add(w, k, SIZE_MAX, "", 0);
		for (size_t n = 0; n < w->wish[k].d.nr; n++)
			part_take(&w->part[i], n);
	}
	for (size_t i = 0; i < w->nr; i++)
		if (part_look(w, i, err) < 0)
			return -1;
	return 0;
}

/* --- the run --- */

static json_t *target_entry(struct merge_work *w, struct part *p)
{
	const struct merge_target *t = &w->o->target[p->target];
	json_t *o = json_object();
	json_put_str(o, "repo", t->repo);
	json_put_str(o, "dir", p->dir);
	if (*p->prefix)
		json_put_str(o, "within", p->prefix);
	else
		json_put(o, "flags", json_incref(w->wish[p->target].flags));
	json_array_append_new(w->targets, o);
	return o;
}

/* The repositories within come first: the one around names their commits. Targets are reported in
 * their own order. */
static int prepare_parts(struct merge_work *w, struct err *err)
{
	size_t k = 0;
	for (size_t i = 0; i < w->nr; i++)
		w->part[i].out = target_entry(w, &w->part[i]);
	for (size_t i = w->nr; i-- > 0;) {
		struct part *p = &w->part[i];
		if (p->idle)
			continue;
		json_t *rq = part_request(w, i);
		p->c.k = k++;
		int rc = child_ask(&p->c, CHILD_PREPARE, rq, &p->c.prepared, err);
		json_decref(rq);
		if (rc < 0)
			return *p->prefix ? err_wrap(err, "'%s'", p->dir) : -1;
		json_object_update_missing(p->out, p->c.prepared);
		part_answer(w, p, p->c.prepared);
		w->clean &= json_flag(p->c.prepared, "clean", false);
	}
	return 0;
}

static void back_out(struct merge_work *w)
{
	for (size_t i = 0; i < w->nr; i++) {
		struct err err = ERR_INIT;
		struct part *p = &w->part[i];
		json_t *rq = json_object(), *out = NULL;
		json_put_str(rq, "dir", p->dir);
		if (p->c.sock >= 0 && p->c.prepared)
			(void)!child_ask(&p->c, p->c.committed ? CHILD_UNDO : CHILD_ABORT, rq, &out,
					 &err);
		json_decref(rq);
		json_decref(out);
	}
}

static int commit_parts(struct merge_work *w, struct err *err)
{
	json_t *rq = json_object();
	int rc = 0;
	for (size_t i = w->nr; rc == 0 && i-- > 0;) {
		json_t *out = NULL;
		struct part *p = &w->part[i];
		if (p->idle)
			continue;
		rc = child_ask(&p->c, CHILD_COMMIT, rq, &out, err);
		if (rc < 0) {
			err_wrap(err, "'%s'", p->dir);
			break;
		}
		p->c.committed = true;
		json_object_update(p->out, out);
		part_answer(w, p, out);
		json_decref(out);
	}
	json_decref(rq);
	return rc;
}

static int run_parts(struct merge_work *w, struct err *err)
{
	if (find_parts(w, err) < 0 || prepare_parts(w, err) < 0)
		return -1;
	if (!w->clean || w->o->dry)
		return 0;
	w->done = true;
	return commit_parts(w, err);
}

static const char *patch_skip(const struct ws_change *c)
{
	if (ws_path_is_git(c->path, c->len))
		return "git's own files are never merged";
	return ws_path_is_vcs(c->path, c->len)
		       ? "a version control system's own files are never merged"
		       : NULL;
}

static char patch_letter(const struct ws_change *c)
{
	bool dirs = (c->now.kind == WS_DIR || c->now.kind == WS_NONE) &&
		    (c->was.kind == WS_DIR || c->was.kind == WS_NONE);
	if (dirs)
		return CLASS_NONE;
	return patch_skip(c)				      ? CLASS_REFUSED
	       : (c->now.flags | c->was.flags) & WS_HASH_ONLY ? CLASS_HASH_ONLY
							      : CLASS_MERGED;
}

static int write_patch(struct merge_work *w, size_t i, struct err *err)
{
	const struct merge_opts *o = w->o;
	const struct merge_target *t = &o->target[i];
	struct wish *wish = &w->wish[i];
	struct ws_diff d = WS_DIFF_INIT;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	CLEANUP(free_ptr)
	char *path = o->nr_targets == 1 || !o->patch ? mem_strdup(o->patch ? o->patch : "")
						     : mem_printf("%s.%s", o->patch, t->repo);
	size_t files = 0, made = part_add(w, i, SIZE_MAX, "", 0);
	for (size_t k = 0; k < wish->d.nr; k++) {
		const struct ws_change *c = &wish->d.item[k];
		part_take(&w->part[made], k);
		wish->letters[k] = patch_letter(c);
		wish->why[k] = patch_skip(c);
		if (wish->why[k])
			continue;
		files += c->now.kind != WS_DIR && (c->now.kind != WS_NONE || c->was.kind != WS_DIR);
		GROW(d.item, d.nr, d.cap);
		d.item[d.nr++] = *c;
	}
	int rc = ws_diff_patch(&d, &w->st, &b, err);
	free(d.item);
	if (rc == 0 && !o->dry && !o->patch)
		rc = err_set(err, ERR_USAGE, "merge: mode patch: missing file name");
	if (rc == 0 && !o->dry)
		rc = file_write_atomic(path, buf_cstr(&b), b.len, 0644, err);
	if (rc < 0)
		return -1;
	json_t *e = json_object();
	json_put_str(e, "repo", t->repo);
	json_put_str(e, "dir", t->dir);
	json_put_str(e, "patch", path);
	json_put_int(e, "files", (int64_t)files);
	json_put_int(e, "bytes", (int64_t)b.len);
	json_array_append_new(w->targets, e);
	w->part[made].out = e;
	return 0;
}

static int write_patches(struct merge_work *w, struct err *err)
{
	for (size_t i = 0; i < w->o->nr_targets; i++)
		if (write_patch(w, i, err) < 0)
			return -1;
	w->done = !w->o->dry;
	return 0;
}

static void work_release(struct merge_work *w, struct memstore **mem)
{
	for (size_t i = 0; i < w->nr; i++) {
		if (w->part[i].c.sock >= 0)
			child_end(&w->part[i].c);
		free(w->part[i].prefix);
		free(w->part[i].dir);
		free(w->part[i].nth);
	}
	for (size_t i = 0; i < w->o->nr_targets; i++)
		wish_release(&w->wish[i]);
	free(w->part);
	free(w->wish);
	json_decref(w->targets);
	memstore_free(mem);
}

static int make_wishes(struct merge_work *w, struct err *err)
{
	for (size_t i = 0; i < w->o->nr_targets; i++)
		if (wish_make(&w->wish[i], w->o, &w->o->target[i], &w->st, err) < 0)
			return -1;
	return 0;
}

/* Another process's version that a child which died had taken aside is named. */
static void restored_beside(const json_t *body, struct err *why)
{
	const json_t *targets = json_object_get(body, "targets");
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *left = json_object_get(json_array_get(targets, i), "leftover");
		for (size_t k = 0; k < json_array_size(left); k++) {
			const json_t *one = json_array_get(left, k);
			const char *what = json_str(one, "what", "");
			CLEANUP(buf_release) struct buf path = BUF_INIT;
			const struct err was = *why;
			json_get_bytes(json_object_get(one, "path"), &path);
			if (strcmp(what, "removed") != 0)
				err_set(why, was.code,
					"%.300s; '%.200s', another process's version, was %s",
					was.text, buf_cstr(&path), what);
		}
	}
}

/* After a failure @why. A child that died couldn't restore what it had written: a new one does. */
static void restore_half(const struct merge_opts *o, struct err *why)
{
	struct merge_opts again = *o;
	struct err err = ERR_INIT, was = *why;
	json_t *body = NULL;
	again.stop = NULL; /* the cancellation of the merge isn't one of this */
	if (o->dry || o->mode == MERGE_PATCH || !merge_stands(&again))
		return;
	if (merge_undo(&again, &body, &err) < 0)
		err_set(why, was.code, "%.200s; can't restore the former state: %.200s", was.text,
			err.text);
	else
		restored_beside(body, why);
	json_decref(body);
}

int merge_run(const struct merge_opts *o, struct merge_result *r, struct err *err)
{
	struct memstore *mem = memstore_new(o->store);
	struct merge_work w = {
		.o = o, .st = memstore_store(mem), .targets = json_array(), .clean = true
	};
	json_t *body = json_object();
	*r = (struct merge_result){ 0 };
	w.wish = mem_calloc(o->nr_targets + 1, sizeof(*w.wish));
	int rc = make_wishes(&w, err);
	if (rc == 0)
		rc = o->mode == MERGE_PATCH ? write_patches(&w, err) : run_parts(&w, err);
	if (o->mode != MERGE_PATCH && (rc < 0 || !w.clean))
		back_out(&w);
	json_put_str(body, "merge", o->id);
	json_put_str(body, "mode", mode_name[o->mode]);
	json_put(body, "targets", json_incref(w.targets));
	json_put_flag(body, "clean", w.clean);
	if (w.done && o->mode != MERGE_PATCH)
		json_put_str(body, "undo", o->undo_dir);
	if (rc == 0)
		rc = merge_results(&w, body, r, err);
	r->clean = w.clean;
	r->done = w.done && w.clean;
	r->body = body;
	work_release(&w, &mem);
	if (rc < 0) {
		restore_half(o, err);
		merge_result_release(r);
		return err_wrap(err, "merge");
	}
	return 0;
}

void merge_result_release(struct merge_result *r)
{
	json_decref(r->body);
	json_decref(r->taken);
	json_decref(r->not_taken);
	*r = (struct merge_result){ 0 };
}
