/* Names like those of secrets that only earlier commits have: the sandbox's git can read them. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/workspace/gitchild.h"
#include "sandbox/workspace/merge.h"

enum { HISTORY_TREES = 200000, HISTORY_DEPTH = 64, HISTORY_US = 3000000, HISTORY_NAMED = 200 };

struct history {
	struct target *t;
	git_name_rule *suspect;
	git_tree *head; /* NULL: no commit */
	git_oid *seen;	/* open hash table; trees that were looked through */
	size_t nr, cap;
	struct strv found; /* sorted */
	size_t count;
	int64_t until_us;
	bool cut, missing; /* a bound was reached; an object is not there (partial clone) */
};

static size_t history_place(const struct history *h, const git_oid *id)
{
	size_t at;
	memcpy(&at, id->id, sizeof(at));
	for (at &= h->cap - 1; !git_oid_is_zero(&h->seen[at]) && !git_oid_equal(&h->seen[at], id);)
		at = (at + 1) & (h->cap - 1);
	return at;
}

/* True the first time. */
static bool history_new(struct history *h, const git_oid *id)
{
	if (2 * (h->nr + 1) > h->cap) {
		struct history old = *h;
		h->cap = h->cap ? 2 * h->cap : 1024;
		h->seen = mem_calloc(h->cap, sizeof(*h->seen));
		for (size_t i = 0; i < old.cap; i++)
			if (!git_oid_is_zero(&old.seen[i]))
				h->seen[history_place(h, &old.seen[i])] = old.seen[i];
		free(old.seen);
	}
	size_t at = history_place(h, id);
	if (!git_oid_is_zero(&h->seen[at]))
		return false;
	h->seen[at] = *id;
	h->nr++;
	return true;
}

/* What git tracks now is judged by its content (masks.h). */
static bool history_tracked(const struct history *h, const char *path, bool dir)
{
	git_tree_entry *e = NULL;
	size_t at;
	CLEANUP(free_ptr) char *below = dir ? mem_printf("%s/", path) : NULL;
	if (h->t->index && dir && git_index_find_prefix(&at, h->t->index, below) == 0)
		return true;
	if (h->t->index && !dir && git_index_get_bypath(h->t->index, path, 0))
		return true;
	bool is = h->head && git_tree_entry_bypath(&e, h->head, path) == 0;
	git_tree_entry_free(e);
	return is;
}

static void history_found(struct history *h, const char *path, bool dir)
{
	for (size_t i = 0; i < h->found.nr; i++)
		if (!strcmp(h->found.item[i], path))
			return;
	if (history_tracked(h, path, dir))
		return;
	h->count++;
	if (h->found.nr < HISTORY_NAMED)
		strv_push(&h->found, path);
}

static void history_tree(struct history *h, const git_oid *id, struct buf *path, int depth)
{
	git_tree *tree = NULL;
	if (h->nr >= HISTORY_TREES || depth > HISTORY_DEPTH || clock_mono_us() > h->until_us) {
		h->cut = true;
		return;
	}
	if (!history_new(h, id))
		return;
	if (git_tree_lookup(&tree, h->t->repo, id) < 0) {
		h->missing = true;
		return;
	}
	size_t len = path->len, nr = git_tree_entrycount(tree);
	for (size_t i = 0; i < nr && !h->cut; i++) {
		const git_tree_entry *e = git_tree_entry_byindex(tree, i);
		const char *name = git_tree_entry_name(e);
		bool dir = git_tree_entry_type(e) == GIT_OBJECT_TREE;
		buf_printf(path, "%s%s", len ? "/" : "", name);
		if (git_tree_entry_type(e) != GIT_OBJECT_COMMIT && h->suspect(name, dir))
			history_found(h, buf_cstr(path), dir);
		else if (dir)
			history_tree(h, git_tree_entry_id(e), path, depth + 1);
		path->len = len;
		path->data[len] = 0;
	}
	git_tree_free(tree);
}

/* A tag may name another object than a commit; a symbolic reference may name nothing. */
static void history_push_refs(struct history *h, git_revwalk *walk)
{
	git_reference_iterator *it = NULL;
	const char *name;
	git_oid id;
	int rc = git_reference_iterator_new(&it, h->t->repo);
	while (rc == 0 && (rc = git_reference_next_name(&name, it)) == 0) {
		int is = git_reference_name_to_id(&id, h->t->repo, name);
		if (is == 0)
			is = git_revwalk_push(walk, &id);
		else if (is == GIT_ENOTFOUND)
			continue;
		h->missing |= is < 0 && is != GIT_EINVALIDSPEC && is != GIT_EPEEL;
		if (clock_mono_us() > h->until_us) {
			h->cut = true;
			break;
		}
	}
	h->missing |= rc < 0 && rc != GIT_ITEROVER;
	git_reference_iterator_free(it);
}

static void walk_push_all(struct history *h, git_revwalk *walk)
{
	if (git_repository_head_unborn(h->t->repo) != 1 && git_revwalk_push_head(walk) < 0)
		h->missing = true;
	history_push_refs(h, walk);
}

static size_t history_walk(struct history *h, size_t most, bool *more_out, struct err *err)
{
	git_revwalk *walk = NULL;
	git_oid id;
	size_t nr = 0;
	int rc = 0;
	if (git_revwalk_new(&walk, h->t->repo) < 0) {
		(void)!ws_git_err(err, "can't read the history");
		return 0;
	}
	/* any other order reads every commit before the first one is given */
	git_revwalk_sorting(walk, GIT_SORT_NONE);
	walk_push_all(h, walk);
	while (!h->cut && (rc = git_revwalk_next(&id, walk)) == 0) {
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		git_commit *c = NULL;
		if (nr == most) {
			*more_out = true;
			break;
		}
		buf_puts(&path, "");
		if (git_commit_lookup(&c, h->t->repo, &id) == 0)
			history_tree(h, git_commit_tree_id(c), &path, 0);
		else
			h->missing = true;
		git_commit_free(c);
		nr += !h->cut;
	}
	h->missing |= rc < 0 && rc != GIT_ITEROVER;
	*more_out |= h->cut;
	git_revwalk_free(walk);
	return nr;
}

int history_look(struct target *t, git_name_rule *suspect, json_t **out, struct err *err)
{
	struct history h = { .t = t,
			     .suspect = suspect,
			     .found = STRV_INIT,
			     .until_us = clock_mono_us() + HISTORY_US };
	git_oid head;
	bool more = false;
	size_t nr = 0;
	*out = json_object();
	memcpy(head.id, t->head_tree.b, sizeof(t->head_tree.b));
	if (t->repo && suspect) {
		if (object_is_null(&t->head_tree) || git_tree_lookup(&h.head, t->repo, &head) < 0)
			h.head = NULL;
		nr = history_walk(&h, (size_t)json_int(t->request, "commits", 0), &more, err);
	}
	json_put(*out, "paths", json_argv(h.found.item, h.found.nr));
	json_put_int(*out, "count", (int64_t)h.count);
	json_put_int(*out, "commits", (int64_t)nr);
	json_put_flag(*out, "more", more);
	json_put_flag(*out, "missing", h.missing);
	git_tree_free(h.head);
	strv_release(&h.found);
	free(h.seen);
	if (err->code == ERR_NONE)
		return 0;
	json_decref(*out);
	*out = NULL;
	return -1;
}
