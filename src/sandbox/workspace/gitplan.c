/* A merge's plan for each path of its target: taken, done already, merged by lines, in conflict,
 * or never touched. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/workspace/gitchild.h"
#include "sandbox/workspace/merge.h"
#include "sandbox/workspace/tree.h"

/* --- the request --- */

static bool gitplan_read_state(const json_t *o, struct ws_state *s)
{
	const char *hex = json_str(o, "oid", NULL);
	enum ws_kind kind;
	*s = (struct ws_state){ .nlink = 1 };
	if (!o || json_is_null(o))
		return true;
	if (!ws_kind_find(json_str(o, "kind", ""), &kind) || (hex && !object_parse(hex, &s->oid)))
		return false;
	s->kind = (uint8_t)kind;
	s->mode = (uint16_t)(json_int(o, "mode", 0) & 07777);
	s->flags = (uint8_t)json_int(o, "flags", 0);
	return true;
}

static int cmp_plan(const void *pa, const void *pb)
{
	const struct plan_path *a = pa, *b = pb;
	return ws_path_cmp(a->path, a->len, b->path, b->len);
}

static int read_step(struct plan_step *s, const json_t *o, struct err *err)
{
	const json_t *list = json_object_get(o, "paths");
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	const char *author = json_str(o, "author", NULL), *email = json_str(o, "email", NULL);
	s->message = mem_strdup(json_str(o, "message", ""));
	s->author = author && email ? mem_strdup(author) : NULL;
	s->email = author && email ? mem_strdup(email) : NULL;
	s->ts_us = json_int(o, "ts_us", 0);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);
		struct plan_path p = { 0 };
		if (!json_get_bytes(json_object_get(c, "path"), &path) || !path.len ||
		    !gitplan_read_state(json_object_get(c, "base"), &p.base) ||
		    !gitplan_read_state(json_object_get(c, "had"), &p.had) ||
		    !gitplan_read_state(json_object_get(c, "want"), &p.want))
			return err_set(err, ERR_PARSE, "merge: invalid change");
		p.has_had = json_object_get(c, "had") != NULL;
		p.moved = json_flag(c, "moved", false);
		p.asked = json_flag(c, "asked", false);
		p.result = CLASS_NONE;
		p.path = mem_strndup(buf_cstr(&path), path.len);
		p.len = path.len;
		p.nth = i;
		GROW(s->path, s->nr, s->cap);
		s->path[s->nr++] = p;
	}
	if (s->nr)
		qsort(s->path, s->nr, sizeof(*s->path), cmp_plan);
	return 0;
}

static void gitplan_step_release(struct plan_step *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		free(s->path[i].path);
		hostfile_release(&s->path[i].host);
		buf_release(&s->path[i].bytes);
	}
	free(s->path);
	free(s->message);
	free(s->author);
	free(s->email);
	*s = (struct plan_step){ 0 };
}

void plan_release(struct target *t)
{
	gitplan_step_release(&t->all);
	for (size_t i = 0; i < t->nr_steps; i++)
		gitplan_step_release(&t->step[i]);
	for (size_t i = 0; i < t->nr_links; i++)
		free(t->link[i].path);
	branches_release(t);
	free(t->link);
	free(t->step);
	free(t->ref);
	t->link = NULL;
	t->nr_links = 0;
	t->step = NULL;
	t->ref = NULL;
	t->nr_steps = 0;
}

struct plan_path *plan_find(struct plan_step *s, const char *path, size_t len)
{
	struct plan_path key = { .path = (char *)(uintptr_t)path, .len = len };
	return s->nr ? bsearch(&key, s->path, s->nr, sizeof(*s->path), cmp_plan) : NULL;
}

/* --- judging --- */

static const char why_hash_only[] = "its bytes were not kept (hash only)",
		  why_ignored[] = "ignored by the target";

static const char *gitplan_never(struct target *t, const struct plan_path *p)
{
	if (ws_path_is_git(p->path, p->len))
		return "git's own files are never merged";
	if (ws_path_is_vcs(p->path, p->len))
		return "a version control system's own files are never merged";
	if (p->want.kind != WS_NONE && p->want.kind != WS_DIR && !ws_has_content(&p->want))
		return "only files, links and directories are merged";
	if (p->want.kind == WS_DIR && p->base.kind == WS_DIR)
		return "modes of directories are not merged";
	if (t->repo && target_in_submodule(t, p->path, p->len))
		return "it is in a submodule that is not checked out in the target";
	return NULL;
}

static bool gitplan_tracked(struct target *t, const struct plan_path *p)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	unsigned mode;
	struct object_id id;
	struct err err = ERR_INIT;
	if (target_tracked(t, p->path, p->len))
		return true;
	target_path(t, p->path, p->len, &path);
	return !object_is_null(&t->head_tree) &&
	       tree_find(&t->store, &t->head_tree, buf_cstr(&path), path.len, &mode, &id, &err) ==
		       1;
}

static bool gitplan_ignored(struct target *t, const struct plan_path *p)
{
	for (size_t i = 1; i < p->len; i++)
		if (p->path[i] == '/' && target_ignored(t, p->path, i, true))
			return true;
	return target_ignored(t, p->path, p->len, p->want.kind == WS_DIR);
}

/* Does the merge itself take a file or link away that stands where a directory of @p must be? */
static bool way_is_cleared(struct target *t, const struct plan_path *p)
{
	for (size_t i = 1; i < p->len; i++) {
		const struct plan_path *up =
			p->path[i] == '/' ? plan_find(&t->all, p->path, i) : NULL;
		if (up && ws_has_content(&up->base) && !ws_has_content(&up->want))
			return true;
	}
	return false;
}

static unsigned host_umask(void)
{
	mode_t mask = umask(022);
	umask(mask);
	return mask | 0002;
}

/* As git does it: executable or not is the sandbox's, the rest follows the umask. A file that the
 * user has keeps its mode but for that; a new one that only its owner may read stays so. */
static void take_mode(struct plan_path *p)
{
	p->after = p->want;
	if (p->want.kind != WS_FILE) {
		p->after.mode &= 0777 & ~host_umask();
		if (p->want.kind == WS_DIR)
			p->after.mode |= 0700; /* files are written into it, and undone in it */
		return;
	}
	bool runs = p->want.mode & 0100;
	if (p->host.state.kind == WS_FILE) {
		unsigned mode = p->host.state.mode & 0777;
		bool as_had =
			p->has_had && p->had.kind == WS_FILE && !((p->had.mode ^ mode) & 0100);
		if (!as_had && p->base.kind == WS_FILE && !((p->base.mode ^ p->want.mode) & 0100))
			runs = mode & 0100;
		p->after.mode = (uint16_t)(runs ? mode | ((mode & 0444) >> 2 & ~host_umask()) | 0100
						: mode & ~0111u);
		return;
	}
	unsigned mode = (runs ? 0777 : 0666) & ~host_umask();
	p->after.mode = (uint16_t)(p->want.mode & 0077 ? mode : mode & 0700);
}

static int take_want(struct target *t, struct plan_path *p, struct err *err)
{
	take_mode(p);
	p->write = true;
	int rc = plan_bytes_of(t, &p->want, &p->bytes, err);
	if (rc > 0) {
		p->write = false;
		p->skip = why_hash_only;
		rc = 0;
	}
	return rc;
}

static int by_lines(struct target *t, struct plan_path *p, struct err *err)
{
	CLEANUP(buf_release) struct buf base = BUF_INIT, had = BUF_INIT;
	CLEANUP(buf_release) struct buf want = BUF_INIT;
	if (p->base.kind != WS_FILE || p->want.kind != WS_FILE || p->host.state.kind != WS_FILE ||
	    (p->host.state.flags & WS_HASH_ONLY)) {
		p->conflict = p->host.state.kind == WS_NONE
				      ? "changed in the sandbox, removed in the target"
			      : p->base.kind == WS_NONE ? "exists in the target with other content"
			      : p->want.kind == WS_NONE
				      ? "removed in the sandbox, changed in the target"
				      : "changed in the sandbox and in the target";
		return 0;
	}
	int rc = plan_bytes_of(t, &p->base, &base, err);
	if (rc == 0)
		rc = plan_bytes_of(t, &p->want, &want, err);
	if (rc == 0) {
		bool known = p->has_had && p->had.kind == WS_FILE &&
			     plan_bytes_of(t, &p->had, &had, err) == 0;
		rc = plan_lines_onto(&base, known ? &had : NULL, &p->host.bytes, &want, &p->bytes,
				     err);
	}
	if (rc > 0)
		p->conflict = "changed in the sandbox and in the target, at the same lines";
	if (rc == 0) {
		take_mode(p);
		object_name(OBJECT_BLOB, buf_cstr(&p->bytes), p->bytes.len, &p->after.oid);
		p->write = !plan_alike(&p->after, &p->host.state);
	}
	return rc < 0 ? -1 : 0;
}

static bool is_dirs(const struct plan_path *p)
{
	return p->want.kind == WS_DIR || (p->want.kind == WS_NONE && p->base.kind == WS_DIR);
}

static int judge_dir(struct plan_path *p)
{
	const struct ws_state *h = &p->host.state;
	bool come = p->want.kind == WS_DIR && h->kind == WS_NONE,
	     go = p->want.kind == WS_NONE && h->kind == WS_DIR;
	p->write = come || go ||
		   (p->want.kind == WS_DIR &&
		    (plan_alike(h, &p->base) || (p->has_had && plan_alike(h, &p->had))));
	take_mode(p);
	if (!p->write && (p->want.kind == WS_DIR || h->kind != WS_NONE))
		p->conflict = "the target has another kind of file there";
	return 0;
}

static const char *judge_tracked(struct target *t, struct plan_path *p)
{
	const struct ws_state *h = &p->host.state;
	bool known = is_dirs(p) ? !gitplan_ignored(t, p) : gitplan_tracked(t, p);
	p->untracked = !known && ws_has_content(h);
	if (!known && !p->asked && gitplan_ignored(t, p))
		return why_ignored;
	if (known && !is_dirs(p) && h->kind == WS_NONE && p->base.kind == WS_NONE)
		p->conflict = "tracked by the target, but not checked out there";
	else if (p->untracked && ws_has_content(&p->base) &&
		 !(p->has_had && plan_alike(h, &p->had)) && (p->moved || !plan_alike(h, &p->base)))
		p->conflict =
			"untracked in the target, and changed there since the sandbox was opened";
	return NULL;
}

static int gitplan_judge(struct target *t, struct plan_path *p, struct err *err)
{
	p->skip = gitplan_never(t, p);
	hostfile_read(&p->host, t->root, p->path, p->len);
	const struct ws_state *h = &p->host.state;
	if (p->skip)
		return 0;
	if (p->host.blocked && plan_no_change(p))
		return 0;
	if (p->host.blocked && p->want.kind == WS_NONE && h->kind == WS_NONE)
		return 0; /* what cannot be there is not there */
	if (p->host.blocked && !way_is_cleared(t, p)) {
		p->conflict = p->host.blocked;
		return 0;
	}
	p->same = plan_alike(h, &p->want) || plan_no_change(p); /* done already */
	if (t->repo)
		p->skip = judge_tracked(t, p);
	if (!p->skip && ws_has_content(&p->want) &&
	    (p->want.flags & (WS_HASH_ONLY | WS_UNREADABLE)))
		p->skip = why_hash_only; /* also what is there already: a commit needs the bytes */
	if (p->same)
		p->conflict = NULL;
	if (p->skip || p->conflict || p->same)
		return 0;
	if (is_dirs(p))
		return judge_dir(p);
	if (plan_alike(h, &p->base) || (p->has_had && plan_alike(h, &p->had)))
		return take_want(t, p, err);
	return by_lines(t, p, err);
}

/* A file that is in the target and not in HEAD's commit is not a change of that commit. */
static void judge_apart(struct target *t, struct plan_path *p)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	struct err err = ERR_INIT;
	unsigned mode;
	struct object_id id;
	target_path(t, p->path, p->len, &path);
	p->apart = ws_has_content(&p->base) && ws_has_content(&p->host.state) &&
		   (object_is_null(&t->head_tree) ||
		    tree_find(&t->store, &t->head_tree, buf_cstr(&path), path.len, &mode, &id,
			      &err) == 0);
}

static int read_links(struct target *t, struct err *err)
{
	const json_t *list = json_object_get(t->request, "gitlinks");
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	t->link = mem_calloc(json_array_size(list) + 1, sizeof(*t->link));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		struct plan_link *l = &t->link[t->nr_links];
		if (!json_get_bytes(json_object_get(o, "path"), &path) ||
		    !object_parse(json_str(o, "oid", ""), &l->oid))
			return err_set(err, ERR_PARSE, "merge: invalid submodule");
		l->path = mem_strndup(buf_cstr(&path), path.len);
		l->len = path.len;
		t->nr_links++;
	}
	return 0;
}

void plan_classify(struct target *t, bool files, bool trees)
{
	for (size_t i = 0; i < t->all.nr; i++) {
		struct plan_path *p = &t->all.path[i];
		bool effect = (files && (p->write || p->stage)) || (trees && p->in_tree);
		/* a file that a directory takes the place of is a change of that file */
		if ((is_dirs(p) && !ws_has_content(&p->base)) || p->result == CLASS_CHANGED)
			continue;
		p->result = p->skip == why_ignored     ? CLASS_IGNORED
			    : p->skip == why_hash_only ? CLASS_HASH_ONLY
			    : p->skip		       ? CLASS_REFUSED
			    : (trees && p->tree_conflict) || (files && p->conflict) ? CLASS_CONFLICT
			    : effect						    ? CLASS_MERGED
				     : CLASS_IDENTICAL;
	}
}

int plan_make(struct target *t, struct err *err)
{
	const json_t *steps = json_object_get(t->request, "steps");
	if (read_step(&t->all, json_object_get(t->request, "all"), err) < 0)
		return -1;
	t->step = mem_calloc(json_array_size(steps) + 1, sizeof(*t->step));
	for (size_t i = 0; i < json_array_size(steps); i++, t->nr_steps++)
		if (read_step(&t->step[i], json_array_get(steps, i), err) < 0) {
			t->nr_steps++;
			return -1;
		}
	if (read_links(t, err) < 0)
		return -1;
	for (size_t i = 0; i < t->all.nr; i++) {
		if (gitplan_judge(t, &t->all.path[i], err) < 0)
			return err_wrap(err, "'%s'", t->all.path[i].path);
		if (t->repo)
			judge_apart(t, &t->all.path[i]);
	}
	for (size_t i = 0; i < t->nr_steps; i++) /* what is never touched is in no commit either */
		for (size_t k = 0; k < t->step[i].nr; k++) {
			struct plan_path *p = &t->step[i].path[k];
			const struct plan_path *whole = plan_find(&t->all, p->path, p->len);
			p->skip = whole ? whole->skip : gitplan_never(t, p);
			p->apart = whole && whole->apart;
			if (!whole && !p->skip && t->repo && !gitplan_tracked(t, p) &&
			    gitplan_ignored(t, p))
				p->skip = why_ignored;
		}
	return 0;
}
