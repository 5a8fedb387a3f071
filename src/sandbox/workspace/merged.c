#include "sandbox/workspace/merged.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox/workspace/tree.h"

enum { LARGE_BYTES = 16 << 20 };

bool ws_state_alike(const struct ws_state *a, const struct ws_state *b)
{
	if (a->kind != b->kind || ((a->flags | b->flags) & WS_UNREADABLE))
		return false;
	if (a->kind != WS_FILE && a->kind != WS_LINK)
		return true;
	return !memcmp(&a->oid, &b->oid, sizeof(a->oid)) &&
	       (a->kind == WS_LINK || !((a->mode ^ b->mode) & 0100));
}

/* --- adding --- */

struct merged_load {
	struct ws_merged *m;
	size_t first; /* item of this merge */
	bool under, here;
};

static struct merged_path *merged_item(struct merged_load *l, const char *path, size_t len)
{
	/* the tree's paths are in order, and came before those of the other one */
	for (size_t lo = l->first, hi = l->m->nr; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;
		struct merged_path *p = &l->m->item[mid];
		int c = ws_path_cmp(path, len, p->path, p->len);
		if (c == 0)
			return p;
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

static int cmp_merged(const void *pa, const void *pb)
{
	const struct merged_path *a = pa, *b = pb;
	return ws_path_cmp(a->path, a->len, b->path, b->len);
}

static bool merged_entry(void *self, const char *path, size_t len, unsigned mode,
			 const struct object_id *oid, struct err *err)
{
	struct merged_load *l = self;
	struct merged_path *p = l->under ? merged_item(l, path, len) : NULL;
	(void)err;
	if (!p) {
		GROW(l->m->item, l->m->nr, l->m->cap);
		p = &l->m->item[l->m->nr++];
		*p = (struct merged_path){ .path = arena_strndup(&l->m->arena, path, len),
					   .len = len,
					   .here = l->here };
	}
	struct ws_state *s = l->under ? &p->base : &p->now;
	*s = (struct ws_state){ .kind = mode == TREE_MODE_LINK ? WS_LINK : WS_FILE,
				.mode = mode == TREE_MODE_LINK ? 0777 : (uint16_t)(mode & 0777),
				.nlink = 1,
				.oid = *oid };
	if (!l->under && l->here)
		p->here_now = *s;
	return true;
}

/* Both parts are sorted; of two for one path the later one counts. */
static void fold_merged(struct ws_merged *m, size_t first)
{
	struct merged_path *out = mem_calloc(m->nr + 1, sizeof(*out));
	size_t nr = 0;
	for (size_t i = 0, k = first; i < first || k < m->nr;) {
		int c = i == first ? 1 : k == m->nr ? -1 : cmp_merged(&m->item[i], &m->item[k]);
		struct merged_path p = c < 0 ? m->item[i] : m->item[k];
		if (c == 0 && !p.here && m->item[i].here) {
			p.here = true;
			p.here_now = m->item[i].here_now;
		}
		i += c <= 0;
		k += c >= 0;
		out[nr++] = p;
	}
	free(m->item);
	m->item = out;
	m->nr = nr;
	m->cap = m->nr + 1;
}

int ws_merged_add(struct ws_merged *m, const struct ws_store *st, const struct object_id *tree,
		  const struct object_id *under, bool here, struct err *err)
{
	struct merged_load l = { .m = m, .first = m->nr, .here = here };
	int rc = object_is_null(tree) ? 0 : tree_each(st, tree, false, merged_entry, &l, err);
	if (rc == 0 && m->nr > l.first)
		qsort(m->item + l.first, m->nr - l.first, sizeof(*m->item), cmp_merged);
	struct ws_merged removed = { .arena = m->arena };
	struct merged_load u = { .m = &removed, .under = true, .here = here };
	if (rc == 0 && !object_is_null(under))
		rc = tree_each(st, under, false, merged_entry, &u, err);
	m->arena = removed.arena;
	size_t had = m->nr;
	for (size_t i = 0; rc == 0 && i < removed.nr; i++) {
		struct merged_load in = { .m = &(struct ws_merged){ .item = m->item, .nr = had },
					  .first = l.first };
		struct merged_path *p = merged_item(&in, removed.item[i].path, removed.item[i].len);
		if (p) {
			p->base = removed.item[i].base;
			continue;
		}
		GROW(m->item, m->nr, m->cap);
		m->item[m->nr++] = removed.item[i];
	}
	free(removed.item);
	if (m->nr > l.first)
		qsort(m->item + l.first, m->nr - l.first, sizeof(*m->item), cmp_merged);
	if (rc == 0)
		fold_merged(m, l.first);
	return rc;
}

void ws_merged_put(struct ws_merged *m, const struct merged_path *list, size_t nr)
{
	size_t first = m->nr;
	for (size_t i = 0; i < nr; i++) {
		GROW(m->item, m->nr, m->cap);
		m->item[m->nr++] = list[i];
	}
	if (nr)
		qsort(m->item + first, nr, sizeof(*m->item), cmp_merged);
	fold_merged(m, first);
}

static bool same_dir(const json_t *target, const char *dir)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	return dir && json_get_bytes(json_object_get(target, "dir"), &b) &&
	       !strcmp(buf_cstr(&b), dir);
}

int ws_merged_event(struct ws_merged *m, const struct ws_store *st, const json_t *body,
		    const char *repo, const char *dir, struct err *err)
{
	const char *mode = json_str(body, "mode", "");
	bool files = !strcmp(mode, "apply") || !strcmp(mode, "commits");
	const json_t *list = json_object_get(body, "targets");
	if (!strcmp(mode, "patch"))
		return 1; /* a file of changes: no repository has them yet */
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *t = json_array_get(list, i);
		const char *tree = json_str(t, "tree", NULL), *under = json_str(t, "under", NULL);
		struct object_id now = { 0 }, base = { 0 };
		if (strcmp(json_str(t, "repo", ""), repo) != 0 || json_object_get(t, "within"))
			continue;
		if (!json_object_get(t, "counts"))
			return 0;
		if ((tree && !object_parse(tree, &now)) || (under && !object_parse(under, &base)))
			return err_set(err, ERR_DAMAGED, "merge.done: invalid tree");
		if (ws_merged_add(m, st, &now, &base, files && same_dir(t, dir), err) < 0)
			return -1;
	}
	return 1;
}

const struct merged_path *ws_merged_find(const struct ws_merged *m, const char *path, size_t len)
{
	struct merged_load l = { .m = (struct ws_merged *)(uintptr_t)m };
	return merged_item(&l, path, len);
}

void ws_merged_release(struct ws_merged *m)
{
	free(m->item);
	arena_release(&m->arena);
	*m = WS_MERGED_INIT;
}

/* --- the rest --- */

size_t ws_merged_rest(const struct ws_merged *m, const struct ws_view *view, ws_rest_fn *fn,
		      void *self, size_t *large)
{
	size_t nr = 0;
	for (size_t i = 0; i < view->nr; i++) {
		const struct ws_path *p = &view->item[i];
		const struct merged_path *had = m ? ws_merged_find(m, p->path, p->len) : NULL;
		bool held = !(p->now.flags & (WS_HASH_ONLY | WS_UNREADABLE));
		if ((!ws_has_content(&p->now) && !ws_has_content(&p->base)) ||
		    ws_path_is_git(p->path, p->len) || ws_path_is_vcs(p->path, p->len) ||
		    (!had && ws_state_eq(&p->base, &p->now)))
			continue;
		bool gone = had && !ws_has_content(&had->now) && !ws_has_content(&p->now);
		if (had ? gone || ws_state_alike(&had->now, &p->now)
			: ws_state_alike(&p->base, &p->now) && ws_has_content(&p->base))
			continue;
		if (!held && p->now.size <= LARGE_BYTES)
			continue;
		*large += !held;
		nr++;
		if (fn)
			fn(self, p->path, p->len,
			   held ? had ? "changed since it was merged" : "not merged" : "hash only");
	}
	for (size_t i = 0; m && i < m->nr; i++) {
		const struct merged_path *p = &m->item[i];
		if (ws_view_find(view, p->path, p->len) || ws_state_alike(&p->base, &p->now))
			continue;
		nr++;
		if (fn)
			fn(self, p->path, p->len, "taken back in the sandbox since it was merged");
	}
	return nr;
}
