/* Requests to the children of a merge: the changes of each target after the user's choices, and
 * the request of each part. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/workspace/memstore.h"
#include "sandbox/workspace/merge_priv.h"
#include "sandbox/workspace/pick.h"
#include "sandbox/workspace/tree.h"

void beside_earlier(const struct merge_target *t, const struct ws_change *c,
		    const struct ws_store *st, bool here, struct buf *b)
{
	CLEANUP(buf_release) struct buf base = BUF_INIT, had = BUF_INIT, both = BUF_INIT;
	const struct merged_path *p = t->had ? ws_merged_find(t->had, c->path, c->len) : NULL;
	enum object_type type;
	struct err none = ERR_INIT;
	const struct ws_state *now = p && here ? &p->here_now : p ? &p->now : NULL;
	if (!p || (here && !p->here) || now->kind != WS_FILE || p->base.kind != WS_FILE ||
	    c->now.kind != WS_FILE || st->get(st->self, &p->base.oid, &type, &base, &none) < 0 ||
	    st->get(st->self, &now->oid, &type, &had, &none) < 0 ||
	    merge_lines(&base, &had, b, &both, &none) != 0)
		return;
	buf_reset(b);
	buf_append(b, buf_cstr(&both), both.len);
}

/* Leaves out what a user left; a file of which only some hunks are taken gets a content of its
 * own. */
static int apply_choices(struct wish *w, const struct merge_opts *o, const struct merge_target *t,
			 const struct ws_store *st, struct err *err)
{
	struct ws_diff *d = &w->d;
	size_t keep = 0;
	for (size_t i = 0; i < d->nr; i++) {
		struct ws_change *c = &d->item[i];
		const struct merge_choice *ch = NULL;
		for (size_t k = 0; k < t->nr_choices && !ch; k++)
			if (t->choice[k].len == c->len &&
			    !memcmp(t->choice[k].path, c->path, c->len))
				ch = &t->choice[k];
		if (ch && ch->leave) {
			if (ws_has_content(&c->was) || ws_has_content(&c->now))
				strv_push_bytes(&w->left, c->path, c->len);
			continue;
		}
		if (ch && (ch->nr_left || ch->nr_ranges)) {
			struct ws_patch p;
			CLEANUP(buf_release) struct buf b = BUF_INIT;
			if (ws_patch_make(&p, st, c, 3, err) < 0)
				return -1;
			bool text = p.what == PATCH_TEXT && c->was.kind != WS_LINK &&
				    c->now.kind != WS_LINK;
			bool fits = true;
			if (ch->nr_ranges)
				fits = merge_take_ranges(&p.old, &p.new, ch->range, ch->nr_ranges,
							 &b);
			else
				merge_take_hunks(&p, ch->left, ch->nr_left, &b);
			bool nothing = c->was.kind == WS_FILE && b.len == p.old.len &&
				       !memcmp(buf_cstr(&b), buf_cstr(&p.old), b.len);
			ws_patch_release(&p);
			if (!text)
				return err_set(err, ERR_INVALID,
					       "'%s' has no hunks; accept or reject the whole file",
					       c->path);
			if (!fits)
				return err_set(
					err, ERR_INVALID,
					"'%s' has changed since it was shown; review it again",
					c->path);
			if (nothing || (c->was.kind == WS_NONE && b.len == 0)) {
				strv_push_bytes(&w->left, c->path, c->len);
				continue;
			}
			if (c->now.kind == WS_NONE) /* a removal of which something is left */
				c->now = c->was;
			strv_push_bytes(&w->partly, c->path, c->len);
			if (o->mode == MERGE_APPLY || o->mode == MERGE_COMMITS)
				beside_earlier(t, c, st, true, &b);
			st->add(st->self, OBJECT_BLOB, buf_cstr(&b), b.len, &c->now.oid);
		}
		d->item[keep++] = *c;
	}
	d->nr = keep;
	return 0;
}

static int cmp_change(const void *pa, const void *pb)
{
	const struct ws_change *a = pa, *b = pb;
	return ws_path_cmp(a->path, a->len, b->path, b->len);
}

/* A part of the changes is asked for, and @path isn't in it. */
static bool not_picked(const struct merge_target *t, const char *path)
{
	for (size_t i = 0; t->asked && i < t->asked->nr; i++)
		if (pick_path_matches(t->asked->item[i], t->repo, path))
			return false;
	return t->nr_choices > 0 || (t->asked && t->asked->nr);
}

/* Is something changed below @path, among the first @nr changes? */
static bool changed_below(const struct wish *w, size_t nr, const char *path, size_t len)
{
	size_t lo = 0, hi = nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (ws_path_cmp(w->d.item[mid].path, w->d.item[mid].len, path, len) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < nr && path_within(w->d.item[lo].path, w->d.item[lo].len, path, len);
}

/* Merged changes that the sandbox has reverted since are changes, too. A branch gets only those of
 * files that are in the way of a directory. */
static void add_taken_back(struct wish *w, const struct merge_target *t, bool branch)
{
	size_t nr = w->d.nr;
	for (size_t i = 0; t->had && i < t->had->nr; i++) {
		const struct merged_path *p = &t->had->item[i];
		struct ws_change key = { .path = p->path, .len = p->len };
		struct ws_change *c =
			nr ? bsearch(&key, w->d.item, nr, sizeof(key), cmp_change) : NULL;
		bool changed = c && (ws_has_content(&c->was) || ws_has_content(&c->now));
		if (!p->here || changed || ws_state_alike(&p->base, &p->here_now) ||
		    (branch && !changed_below(w, nr, p->path, p->len)))
			continue;
		if (c) { /* a directory took the place of a file that the base doesn't have */
			c->was = p->here_now;
			continue;
		}
		if (not_picked(t, p->path)) {
			strv_push_bytes(&w->left, p->path, p->len);
			continue;
		}
		GROW(w->d.item, w->d.nr, w->d.cap);
		w->d.item[w->d.nr++] =
			(struct ws_change){ .op = ws_state_op(&p->here_now, &p->base),
					    .path = p->path,
					    .len = p->len,
					    .was = p->here_now,
					    .now = p->base };
	}
	if (w->d.nr > nr)
		qsort(w->d.item, w->d.nr, sizeof(*w->d.item), cmp_change);
}

static int check_bounds(const struct ws_diff *d, struct err *err)
{
	if (d->nr > MERGE_PATHS_MAX)
		return err_set(
			err, ERR_FULL,
			"%zu changed paths exceed the limit of a merge (%d); merge parts of them with --path",
			d->nr, MERGE_PATHS_MAX);
	for (size_t i = 0; i < d->nr; i++) {
		size_t depth = 0;
		for (size_t k = 0; k < d->item[i].len; k++)
			depth += d->item[i].path[k] == '/';
		if (depth > MERGE_DEPTH_MAX)
			return err_set(
				err, ERR_FULL,
				"'%.60s...' is %zu directories deep; the limit of a merge is %d; leave it out with "
				"--path",
				d->item[i].path, depth, MERGE_DEPTH_MAX);
	}
	return 0;
}

static bool asked_for(const struct merge_opts *o, const struct merge_target *t,
		      const struct ws_change *c)
{
	bool asked = o->ignored;
	for (size_t i = 0; t->asked && i < t->asked->nr && !asked; i++)
		asked = !strcmp(t->asked->item[i], c->path);
	return asked;
}

static bool bytes_held(const struct ws_store *st, const struct object_id *id)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	enum object_type type;
	struct err none = ERR_INIT;
	return st->get(st->self, id, &type, &b, &none) == 0;
}

/* Reads hash-only files from the sandbox, which may still have them. Files of earlier merges are
 * read again, also those that the sandbox has taken back. */
static void fetch_asked(struct wish *w, const struct merge_opts *o, const struct merge_target *t,
			const struct ws_store *st)
{
	for (size_t i = 0; t->fetch && i < w->d.nr; i++) {
		struct ws_change *c = &w->d.item[i];
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		struct object_id id;
		bool had = t->had && ws_merged_find(t->had, c->path, c->len);
		bool lacks = c->now.kind == WS_FILE && ((c->now.flags & WS_HASH_ONLY) ||
							(had && !bytes_held(st, &c->now.oid)));
		if (!lacks || !(had || asked_for(o, t, c)) ||
		    t->fetch(t->fetch_self, c->path, c->len, &b) < 0)
			continue;
		object_name(OBJECT_BLOB, buf_cstr(&b), b.len, &id);
		if (memcmp(&id, &c->now.oid, sizeof(id)) != 0)
			continue; /* it has changed since the snapshot */
		st->add(st->self, OBJECT_BLOB, buf_cstr(&b), b.len, &id);
		c->now.flags &= (uint8_t)~WS_HASH_ONLY;
	}
}

int wish_make(struct wish *w, const struct merge_opts *o, const struct merge_target *t,
	      const struct ws_store *st, struct err *err)
{
	const struct ws_view base = WS_VIEW_INIT;
	*w = (struct wish){ .left = STRV_INIT, .partly = STRV_INIT };
	if (ws_diff_views(&w->d, &base, t->step[t->nr_steps - 1].view, false, NULL, err) < 0)
		return -1;
	if (o->mode != MERGE_PATCH)
		add_taken_back(w, t, o->mode == MERGE_BRANCH);
	if (apply_choices(w, o, t, st, err) < 0 ||
	    (o->mode != MERGE_PATCH && check_bounds(&w->d, err) < 0))
		return -1;
	fetch_asked(w, o, t, st);
	w->letters = mem_calloc(w->d.nr + 1, 1);
	memset(w->letters, CLASS_NONE, w->d.nr);
	w->why = mem_calloc(w->d.nr + 1, sizeof(*w->why));
	w->flags = json_array();
	for (size_t i = 0; i < w->d.nr; i++) {
		const char *word[8];
		size_t nr = merge_flags(&w->d.item[i], st, word);
		for (size_t k = 0; k < nr; k++) {
			json_t *f = json_object();
			json_put_bytes(f, "path", w->d.item[i].path, w->d.item[i].len);
			json_put_str(f, "what", word[k]);
			json_array_append_new(w->flags, f);
		}
	}
	return 0;
}

void wish_release(struct wish *w)
{
	ws_diff_release(&w->d);
	strv_release(&w->left);
	strv_release(&w->partly);
	free(w->letters);
	free(w->why);
	json_decref(w->flags);
}

/* --- requests --- */

static json_t *merge_request_side(const struct ws_state *s)
{
	char hex[41];
	if (s->kind == WS_NONE)
		return json_null();
	json_t *o = json_object();
	json_put_str(o, "kind", ws_kind_name((enum ws_kind)s->kind));
	json_put_int(o, "mode", s->mode);
	json_put_int(o, "flags", s->flags);
	object_hex(&s->oid, hex);
	if (!object_is_null(&s->oid))
		json_put_str(o, "oid", hex);
	return o;
}

/* Is what the sandbox had as the base something else than what stood there when it was opened? */
static bool base_moved(const struct merge_work *w, const struct merge_target *t,
		       const struct ws_change *c)
{
	unsigned mode;
	struct object_id id;
	struct err none = ERR_INIT;
	if (object_is_null(&t->opening) || !ws_has_content(&c->was))
		return false;
	int rc = tree_find(&w->st, &t->opening, c->path, c->len, &mode, &id, &none);
	return rc == 0 || (rc == 1 && memcmp(&id, &c->was.oid, sizeof(id)) != 0);
}

static json_t *change_request(const struct ws_change *c, size_t skip)
{
	json_t *p = json_object();
	json_put_bytes(p, "path", c->path + skip, c->len - skip);
	json_put(p, "base", merge_request_side(&c->was));
	json_put(p, "want", merge_request_side(&c->now));
	return p;
}

static json_t *whole_request(const struct merge_work *w, const struct part *part)
{
	const struct merge_target *t = &w->o->target[part->target];
	json_t *paths = json_array();
	size_t skip = *part->prefix ? strlen(part->prefix) + 1 : 0;
	for (size_t i = 0; i < part->nr; i++) {
		const struct ws_change *c = &w->wish[part->target].d.item[part->nth[i]];
		const struct merged_path *had =
			t->had ? ws_merged_find(t->had, c->path, c->len) : NULL;
		json_t *p = change_request(c, skip);
		if (had && had->here)
			json_put(p, "had", merge_request_side(&had->here_now));
		json_put_flag(p, "moved", base_moved(w, t, c));
		json_put_flag(p, "asked", asked_for(w->o, t, c));
		json_array_append_new(paths, p);
	}
	return paths;
}

bool path_within(const char *path, size_t len, const char *prefix, size_t prefix_len)
{
	return !prefix_len ||
	       (len > prefix_len && path[prefix_len] == '/' && !memcmp(path, prefix, prefix_len));
}

/* Is @path for part @i, and not for a part within it? */
static bool part_holds(const struct merge_work *w, size_t i, const char *path, size_t len)
{
	const struct part *p = &w->part[i];
	if (!path_within(path, len, p->prefix, strlen(p->prefix)))
		return false;
	for (size_t k = i + 1; k < w->nr; k++)
		if (w->part[k].up == i &&
		    path_within(path, len, w->part[k].prefix, strlen(w->part[k].prefix)))
			return false;
	return true;
}

static void merge_request_put_step(const struct merge_opts *opts, json_t *steps,
				   const struct merge_step *step, json_t *paths)
{
	json_t *o = json_object();
	CLEANUP(free_ptr)
	char *text = step->author ? mem_printf("%s\n\nSandglass-Session: %s\n", step->message,
					       opts->session ? opts->session : opts->id)
				  : mem_strdup(step->message);
	json_put_str(o, "message", text);
	json_put_str(o, "author", step->author);
	json_put_str(o, "email", step->email);
	if (step->author)
		json_put_int(o, "ts_us", step->ts_us);
	json_put(o, "paths", paths);
	json_array_append_new(steps, o);
}

/* Commits of the repository around a part are not those of the part. */
struct part_steps {
	const struct merge_step *step;
	size_t nr;
	struct merge_step rest;
};

static void part_steps_find(const struct merge_work *w, const struct part *p,
			    struct part_steps *out)
{
	const struct merge_target *t = &w->o->target[p->target];
	const struct merge_step *last = &t->step[t->nr_steps - 1];
	*out = (struct part_steps){ .step = t->step, .nr = t->nr_steps };
	if (!*p->prefix || !t->within)
		return;
	out->nr = t->within(t->within_self, p->prefix, &out->step);
	if (out->nr)
		return;
	out->rest = (struct merge_step){ .view = last->view,
					 .message = t->rest ? t->rest : last->message };
	out->step = &out->rest;
	out->nr = 1;
}

static json_t *steps_request(const struct merge_work *w, size_t i, const struct part_steps *of)
{
	static const struct ws_view base;
	const struct part *part = &w->part[i];
	const struct merge_target *t = &w->o->target[part->target];
	size_t skip = *part->prefix ? strlen(part->prefix) + 1 : 0;
	json_t *steps = json_array();
	bool one =
		w->o->mode == MERGE_APPLY || of->nr == 1 || t->nr_choices || (t->had && t->had->nr);
	if (one)
		merge_request_put_step(w->o, steps, &of->step[of->nr - 1], whole_request(w, part));
	for (size_t s = 0; !one && s < of->nr; s++) {
		struct ws_diff d;
		struct err none = ERR_INIT;
		json_t *paths = json_array();
		if (ws_diff_views(&d, s ? of->step[s - 1].view : &base, of->step[s].view, false,
				  NULL, &none) == 0) {
			for (size_t k = 0; k < d.nr; k++)
				if (part_holds(w, i, d.item[k].path, d.item[k].len))
					json_array_append_new(paths,
							      change_request(&d.item[k], skip));
			ws_diff_release(&d);
		}
		merge_request_put_step(w->o, steps, &of->step[s], paths);
	}
	return steps;
}

static json_t *links_request(const struct merge_work *w, size_t i)
{
	json_t *list = json_array();
	size_t skip = *w->part[i].prefix ? strlen(w->part[i].prefix) + 1 : 0;
	for (size_t k = i + 1; k < w->nr; k++) {
		const struct part *p = &w->part[k];
		const char *commit = json_str(p->c.prepared, "new", NULL);
		if (p->up != i || !p->submodule || !commit ||
		    !json_int(p->c.prepared, "commits", 0))
			continue;
		json_t *o = json_object();
		json_put_bytes(o, "path", p->prefix + skip, strlen(p->prefix) - skip);
		json_put_str(o, "oid", commit);
		json_array_append_new(list, o);
	}
	return list;
}

/* Files of part @i that a choice left out. */
static json_t *left_request(const struct merge_work *w, size_t i)
{
	const struct part *p = &w->part[i];
	const struct strv *left = &w->wish[p->target].left;
	size_t skip = *p->prefix ? strlen(p->prefix) + 1 : 0;
	json_t *list = json_array();
	for (size_t k = 0; k < left->nr; k++)
		if (part_holds(w, i, left->item[k], strlen(left->item[k])))
			json_array_append_new(list, json_bytes(left->item[k] + skip,
							       strlen(left->item[k]) - skip));
	return list;
}

/* A merge with a choice of files brings no branches. Every merge finds out whether the files cover
 * the commits of HEAD. */
static void put_branches(json_t *rq, const struct merge_work *w, size_t i)
{
	const struct merge_opts *o = w->o;
	const struct part *p = &w->part[i];
	const struct merge_target *t = &o->target[p->target];
	bool whole = (o->mode == MERGE_BRANCH || o->mode == MERGE_COMMITS) && !t->nr_choices &&
		     !(t->asked && t->asked->nr);
	json_t *list = t->branches ? t->branches(t->branches_self, p->prefix) : NULL;
	CLEANUP(free_ptr)
	char *base =
		o->mode == MERGE_BRANCH && o->branch
			? mem_printf("refs/heads/%s", o->branch)
			: mem_printf("refs/heads/sandglass/%s", o->session ? o->session : o->id);
	for (size_t k = json_array_size(list); !whole && k-- > 0;)
		if (!json_flag(json_array_get(list, k), "of_head", false))
			json_array_remove(list, k);
	if (!list)
		return;
	json_put(rq, "branches", list);
	json_put_str(rq, "branch_base", base);
	json_put_flag(rq, "branches_look", !whole);
	json_put_flag(rq, "head_whole", whole && t->cut && !*p->prefix);
	json_put(rq, "left", left_request(w, i));
}

json_t *part_request(const struct merge_work *w, size_t i)
{
	const struct merge_opts *o = w->o;
	const struct part *p = &w->part[i];
	struct part_steps of;
	json_t *rq = json_object(), *all = json_object();
	part_steps_find(w, p, &of);
	CLEANUP(free_ptr)
	char *free_name = mem_printf("refs/heads/sandglass/%s", o->session ? o->session : o->id);
	CLEANUP(free_ptr)
	char *ref = o->mode == MERGE_BRANCH && o->branch ? mem_printf("refs/heads/%s", o->branch)
		    : o->mode == MERGE_BRANCH		 ? mem_strdup(free_name)
					      : mem_printf("refs/sandglass/merge/%s", o->id);
	json_put_str(rq, "dir", p->dir);
	json_put_str(rq, "mode", merge_mode_name(o->mode));
	json_put_str(rq, "ref", ref);
	json_put_flag(rq, "free", o->mode == MERGE_BRANCH && !o->branch);
	json_put_str(rq, "author", o->author);
	json_put_str(rq, "email", o->email);
	json_put_int(rq, "ts_us", o->ts_us);
	json_put_flag(rq, "dry", o->dry);
	json_put(rq, "user", merge_user());
	if (o->onto && o->mode == MERGE_BRANCH)
		json_put(rq, "onto", json_incref((json_t *)(uintptr_t)o->onto));
	put_branches(rq, w, i);
	json_put_str(all, "message", of.step[of.nr - 1].message);
	json_put(all, "paths", whole_request(w, p));
	json_put(rq, "all", all);
	json_put(rq, "steps", steps_request(w, i, &of));
	json_put(rq, "gitlinks", links_request(w, i));
	return rq;
}
