#include "sessions/sandbox_refs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/workspace/loose.h"
#include "sandbox/workspace/tree.h"
#include "sessions/git_seen.h"

/* A sandbox's history can be made up to take forever: these are for all its branches together. */
enum {
	OBJECT_MAX = 8 << 20,
	OBJECTS_MAX = 200000,
	BYTES_MAX = 256 << 20,
	REFS_MAX = 1000,
	TAGS_MAX = 5
};

static const char why_large[] = "it has too many objects",
		  why_packed[] = "its objects are in a pack";

/* --- what a commit leads to --- */

/* @out: none if the object is the content of a file, which leads to nothing. */
static bool made_read(struct refs_reader *r, struct made_object *m, enum loose_type *type,
		      struct buf *out)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT;
	enum object_type kind;
	struct err none = ERR_INIT;
	*type = LOOSE_BLOB;
	if (m->content)
		return true;
	if (r->st->get(r->st->self, &m->blob, &kind, &file, &none) < 0)
		return false;
	m->content = loose_is_blob(&file);
	r->bytes += file.len;
	if (m->content)
		return true;
	bool good = loose_read(&file, OBJECT_MAX, type, out);
	r->bytes += good ? out->len : OBJECT_MAX;
	return good;
}

static bool walks_end(const struct refs_reader *r)
{
	return r->objects >= OBJECTS_MAX || r->bytes >= BYTES_MAX;
}

struct made_stack {
	struct made_object **item;
	size_t nr, cap;
};

/* An object that the sandbox hasn't made, or that the walk has seen, is not read. */
static void stack_push(struct made_stack *s, const struct git_seen *g, const struct object_id *id,
		       unsigned walk)
{
	struct made_object *m = made_find(g, id);
	if (!m || m->walk == walk)
		return;
	m->walk = walk;
	GROW(s->item, s->nr, s->cap);
	s->item[s->nr++] = m;
}

static void stack_push_tree(struct made_stack *s, const struct git_seen *g, const struct buf *text,
			    unsigned walk)
{
	struct tree_entry e;
	struct err none = ERR_INIT;
	size_t pos = 0;
	while (tree_next(buf_cstr(text), text->len, &pos, &e, &none) == 1) {
		struct made_object *m = e.mode == TREE_MODE_GITLINK ? NULL : made_find(g, &e.oid);
		if (m && e.mode != TREE_MODE_DIR)
			m->content = true; /* if not, the merge child notices */
		if (m)
			stack_push(s, g, &e.oid, walk);
	}
}

/* The sandbox emptied the log of HEAD, and HEAD's file is untouched: HEAD's branch is the one that
 * was there and has moved. */
static void head_guess(struct git_seen *g)
{
	const char *name = NULL;
	size_t moved = 0;
	if (g->head_ref || !g->log_seen || !object_is_null(&g->head) ||
	    !object_is_null(&g->log_head))
		return;
	for (size_t i = 0; i < g->now.nr; i++) {
		const struct named_id *now = &g->now.item[i],
				      *was = id_list_find(&g->base, now->name);
		if (strncmp(now->name, "refs/heads/", 11) != 0 || !was ||
		    !memcmp(&was->id, &now->id, sizeof(now->id)))
			continue;
		name = now->name;
		moved++;
	}
	if (moved == 1)
		g->head_ref = mem_strdup(name);
}

/* The commits that HEAD leads to; returns its tree, if that is new. */
static struct object_id mark_head(struct refs_reader *r, struct git_seen *g)
{
	struct made_stack s = { 0 };
	unsigned walk = ++r->walk;
	struct object_id tree = { 0 }, head = object_is_null(&g->head) ? g->log_head : g->head;
	const struct named_id *now = g->head_ref ? id_list_find(&g->now, g->head_ref) : NULL;
	if (now)
		head = now->id;
	g->head = head;
	stack_push(&s, g, &head, walk);
	while (s.nr && !walks_end(r)) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct made_object *m = s.item[--s.nr];
		struct loose_commit c;
		enum loose_type type;
		r->objects++;
		if (!made_read(r, m, &type, &text) || type != LOOSE_COMMIT ||
		    !loose_commit_read(&c, &text))
			continue;
		m->of_head = true;
		if (!memcmp(&m->id, &head, sizeof(head)))
			tree = c.tree;
		for (size_t i = 0; i < c.nr; i++)
			stack_push(&s, g, &c.parent[i], walk);
		loose_commit_release(&c);
	}
	free(s.item);
	return tree;
}

enum mark_of { MARK_REMOTE, MARK_REF };

/* Marks the commits that those of @s lead to. */
static void mark_commits(struct refs_reader *r, struct git_seen *g, struct made_stack *s,
			 unsigned walk, enum mark_of of)
{
	while (s->nr && !walks_end(r)) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct made_object *m = s->item[--s->nr];
		struct loose_commit c;
		enum loose_type type;
		r->objects++;
		if (!made_read(r, m, &type, &text) || type != LOOSE_COMMIT ||
		    !loose_commit_read(&c, &text))
			continue;
		m->of_remote |= of == MARK_REMOTE;
		m->of_ref |= of == MARK_REF;
		for (size_t i = 0; i < c.nr; i++)
			stack_push(s, g, &c.parent[i], walk);
		loose_commit_release(&c);
	}
}

/* The commits that branches of remotes lead to. */
static void mark_remotes(struct refs_reader *r, struct git_seen *g)
{
	struct made_stack s = { 0 };
	unsigned walk = ++r->walk;
	for (size_t i = 0; i < g->remote.nr; i++)
		stack_push(&s, g, &g->remote.item[i], walk);
	mark_commits(r, g, &s, walk, MARK_REMOTE);
	free(s.item);
}

static void put_made(json_t *list, const struct made_object *m)
{
	char id[41], blob[41];
	json_t *pair = json_array();
	object_hex(&m->id, id);
	object_hex(&m->blob, blob);
	json_array_append_new(pair, json_string(id));
	json_array_append_new(pair, json_string(blob));
	json_array_append_new(list, pair);
}

/* Fills commits and objects of @ref; *tree_out: the tip's tree. */
static void walk_ref(struct refs_reader *r, struct git_seen *g, struct sandbox_ref *ref,
		     struct object_id *tree_out)
{
	struct made_stack s = { 0 };
	unsigned walk = ++r->walk;
	ref->objects = json_array();
	stack_push(&s, g, &ref->tip, walk);
	while (s.nr && !walks_end(r)) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct made_object *m = s.item[--s.nr];
		struct loose_commit c;
		enum loose_type type;
		r->objects++;
		put_made(ref->objects, m);
		if (!made_read(r, m, &type, &text)) {
			ref->why = "its objects are not in the recording";
		} else if (type == LOOSE_TREE) {
			stack_push_tree(&s, g, &text, walk);
		} else if (type == LOOSE_COMMIT && loose_commit_read(&c, &text)) {
			ref->commits += !m->of_head && !m->of_remote;
			m->of_ref = true;
			if (!memcmp(&m->id, &ref->tip, sizeof(ref->tip)))
				*tree_out = c.tree;
			stack_push(&s, g, &c.tree, walk);
			for (size_t i = 0; i < c.nr; i++)
				stack_push(&s, g, &c.parent[i], walk);
			loose_commit_release(&c);
		}
	}
	if (s.nr) {
		ref->why = why_large;
		json_array_clear(ref->objects);
	}
	free(s.item);
}

/* Tags that lead to the object which @ref leads to are followed. */
static void ref_peel(struct refs_reader *r, const struct git_seen *g, struct named_id *ref)
{
	for (int i = 0; i < TAGS_MAX; i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct made_object *m = made_find(g, &ref->id);
		enum loose_type type;
		char hex[41];
		if (!m || walks_end(r))
			return;
		r->objects++;
		if (!made_read(r, m, &type, &text) || type != LOOSE_TAG || text.len < 47 ||
		    memcmp(text.data, "object ", 7) != 0)
			return;
		memcpy(hex, text.data + 7, 40);
		hex[40] = 0;
		if (!object_parse(hex, &ref->id))
			return;
	}
}

static bool is_head_or_stash(const char *ref)
{
	return !strncmp(ref, "refs/heads/", 11) || !strncmp(ref, "refs/stash", 10);
}

static bool ref_changed(const struct git_seen *g, const struct named_id *ref)
{
	const struct named_id *base = id_list_find(&g->base, ref->name);
	bool left = !strncmp(ref->name, GIT_SEEN_LEFT, strlen(GIT_SEEN_LEFT));
	const struct made_object *m = made_find(g, &ref->id);
	/* a fetch brings tags in packs, of which nothing is known */
	if (!m && (left || (g->remote.nr && !is_head_or_stash(ref->name))))
		return false;
	return !(left && (m->of_ref || m->of_head || m->of_remote)) &&
	       !id_array_has(&g->remote, &ref->id) &&
	       !(base && !memcmp(&base->id, &ref->id, sizeof(ref->id))) &&
	       memcmp(&g->head, &ref->id, sizeof(ref->id)) != 0;
}

char *sandbox_ref_key(const char *gitdir, const char *name, const char *tip)
{
	return mem_printf("%s %s %s", tip, gitdir, name);
}

static bool ref_merged(const json_t *merged, const char *gitdir, const char *name,
		       const struct object_id *tip)
{
	char hex[41];
	object_hex(tip, hex);
	CLEANUP(free_ptr) char *key = sandbox_ref_key(gitdir, name, hex);
	return merged && json_object_get(merged, key);
}

/* Its name for users. */
static const char *ref_name(const char *ref)
{
	return ref + (!strncmp(ref, "refs/heads/", 11) ? 11 : 5);
}

static void refs_put(struct sandbox_refs *out, const char *gitdir, const char *name,
		     struct sandbox_ref ref)
{
	ref.gitdir = mem_strdup(gitdir);
	ref.name = mem_strdup(name);
	if (!ref.objects)
		ref.objects = json_array();
	if (!utf8_valid(name, strlen(name)) || !utf8_valid(gitdir, strlen(gitdir)))
		ref.why = "its name is not UTF-8";
	GROW(out->item, out->nr, out->cap);
	out->item[out->nr++] = ref;
}

static void refs_add(struct refs_reader *r, struct git_seen *g, const struct named_id *of,
		     const struct object_id *head_tree, struct sandbox_refs *out)
{
	bool stash = !strncmp(of->name, "refs/stash", 10);
	struct sandbox_ref ref = { .tip = of->id };
	struct object_id tree = { 0 };
	if (of->wide)
		ref.why = "its objects have SHA-256 names";
	else
		walk_ref(r, g, &ref, &tree);
	if (!ref.why && g->packs && !json_array_size(ref.objects))
		ref.why = why_packed;
	bool known = !ref.why || !object_is_null(&tree), /* the tip could be read */
		same = !stash && !object_is_null(&tree) && !memcmp(&tree, head_tree, sizeof(tree));
	if (known && json_array_size(ref.objects) ? !ref.commits || same : !ref.why) {
		json_decref(ref.objects);
		return;
	}
	refs_put(out, g->gitdir, ref_name(of->name), ref);
}

/* The branch that HEAD is at: the sandbox may have moved it without a change of HEAD's file. */
static const char *head_name(const struct git_seen *g)
{
	const char *name = NULL;
	if (g->head_ref)
		return !strncmp(g->head_ref, "refs/heads/", 11) ? g->head_ref + 11 : "HEAD";
	for (size_t i = 0; i < g->now.nr; i++) {
		const struct named_id *ref = &g->now.item[i];
		if (strncmp(ref->name, "refs/heads/", 11) != 0 ||
		    memcmp(&ref->id, &g->head, sizeof(g->head)) != 0)
			continue;
		if (!name || id_list_find(&g->base, ref->name)) /* it was there, and has moved */
			name = ref->name + 11;
	}
	return name ? name : "HEAD";
}

/* HEAD's own commits, if the sandbox made some. */
static void head_add(struct refs_reader *r, struct git_seen *g, const json_t *merged,
		     struct sandbox_refs *out)
{
	struct sandbox_ref ref = { .tip = g->head, .base = g->base_head, .of_head = true };
	const struct made_object *m = made_find(g, &g->head);
	struct object_id tree;
	if (id_array_has(&g->remote, &g->head) || (m ? !m->of_head || m->of_remote : !g->packs) ||
	    (!m && (object_is_null(&g->base_head) || object_is_null(&g->head) ||
		    !memcmp(&g->head, &g->base_head, sizeof(g->head)))) ||
	    ref_merged(merged, g->gitdir, head_name(g), &g->head))
		return;
	walk_ref(r, g, &ref, &tree);
	ref.commits = 0;
	for (size_t i = 0; i < g->nr; i++)
		ref.commits += g->made[i].of_head && !g->made[i].of_remote;
	if (!m)
		ref.why = why_packed;
	refs_put(out, g->gitdir, head_name(g), ref);
}

/* Returns how many there are too many. @left: those that HEAD has left, or all others. */
static size_t refs_of(struct refs_reader *r, struct git_seen *g, const json_t *merged, bool left,
		      const struct object_id *tree, struct sandbox_refs *out)
{
	size_t others = 0;
	struct made_stack brought = { 0 };
	unsigned walk = ++r->walk;
	for (size_t k = 0; k < g->now.nr; k++) {
		struct named_id *ref = &g->now.item[k];
		if (left != !strncmp(ref->name, GIT_SEEN_LEFT, strlen(GIT_SEEN_LEFT)))
			continue;
		ref_peel(r, g, ref);
		if (!ref_changed(g, ref))
			continue;
		if (ref_merged(merged, g->gitdir, ref_name(ref->name), &ref->id)) {
			stack_push(&brought, g, &ref->id, walk);
			continue;
		}
		if (out->nr < REFS_MAX)
			refs_add(r, g, ref, tree, out);
		else
			others++;
	}
	mark_commits(r, g, &brought, ++r->walk, MARK_REF);
	free(brought.item);
	return others;
}

static int cmp_refs(const void *pa, const void *pb)
{
	const struct sandbox_ref *a = pa, *b = pb;
	int c = strcmp(a->gitdir, b->gitdir);
	return c ? c : strcmp(a->name, b->name);
}

/* Why some branches have no entry of their own. */
static const char *why_others(const struct refs_reader *r)
{
	return r->more	   ? "the sandbox has too many repositories"
	       : r->unread ? "a file of refs is not in the recording"
			   : "the sandbox has too many branches";
}

int sandbox_refs_read(struct sandbox_refs *out, const struct ws_store *st, const json_t *body,
		      const json_t *merged, struct err *err)
{
	struct refs_reader r = { .st = st };
	*out = SANDBOX_REFS_INIT;
	int rc = git_seen_read(&r, body, err);
	size_t others = 0;
	for (size_t i = 0; rc == 0 && i < r.nr && !r.full; i++) {
		struct git_seen *g = &r.seen[i];
		head_guess(g);
		struct object_id tree = mark_head(&r, g);
		mark_remotes(&r, g);
		others += refs_of(&r, g, merged, false, &tree, out);
		others += refs_of(&r, g, merged, true, &tree, out); /* of which no ref is left */
		head_add(&r, g, merged, out);
	}
	if (others || r.full || r.more || r.unread)
		refs_put(out, ".git", "(others)", (struct sandbox_ref){ .why = why_others(&r) });
	if (out->nr)
		qsort(out->item, out->nr, sizeof(*out->item), cmp_refs);
	git_seen_release(&r);
	return rc;
}
