#include "sessions/sandbox_refs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/workspace/loose.h"
#include "sandbox/workspace/tree.h"
#include "sessions/submodule.h"

enum { REFS_TEXT_MAX = 16 << 20, OBJECT_MAX = 64 << 20, OBJECTS_MAX = 200000 };

struct named_id {
	char *name;
	struct object_id id;
};
struct id_list {
	struct named_id *item;
	size_t nr, cap;
};
/* A git object that the sandbox has made. */
struct made_object {
	struct object_id id, blob;
	unsigned walk; /* of the newest walk that has come by */
	bool of_head;  /* HEAD leads to this commit */
};
/* One repository of the sandbox. */
struct git_seen {
	char *gitdir;
	struct id_list now, base; /* heads and stashes */
	struct id_list remote;	  /* what a remote has, too */
	struct made_object *made;
	size_t nr, cap;
	struct object_id log_head, head; /* null: untouched */
	char *head_ref;
	bool packs;
};
struct refs_reader {
	const struct ws_store *st;
	struct git_seen *seen;
	size_t nr, cap;
	bool base; /* the tree that is read is what was there before */
	unsigned walk;
};

/* --- what the trees hold --- */

static bool is_git_place(const char *p)
{
	return !strncmp(p, "refs/", 5) || !strncmp(p, "objects/", 8) || !strncmp(p, "logs/", 5) ||
	       !strcmp(p, "HEAD") || !strcmp(p, "packed-refs");
}

/* How many bytes of @path are the repository's own directory; 0: it isn't in one. */
static size_t gitdir_len(const char *path)
{
	const char *git = NULL;
	for (const char *p = path; p && *p && !git; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
		if (!strncmp(p, ".git/", 5))
			git = p + 4;
	if (!git)
		return 0;
	if (strncmp(git, "/modules/", 9) != 0)
		return is_git_place(git + 1) ? (size_t)(git - path) : 0;
	for (const char *p = strchr(git + 9, '/'); p; p = strchr(p + 1, '/'))
		if (is_git_place(p + 1))
			return (size_t)(p - path);
	return 0;
}

static struct git_seen *seen_of(struct refs_reader *r, const char *path, size_t len)
{
	for (size_t i = 0; i < r->nr; i++)
		if (strlen(r->seen[i].gitdir) == len && !memcmp(r->seen[i].gitdir, path, len))
			return &r->seen[i];
	GROW(r->seen, r->nr, r->cap);
	r->seen[r->nr] = (struct git_seen){ .gitdir = mem_strndup(path, len) };
	return &r->seen[r->nr++];
}

/* A ref's own file (@loose) counts before its line among the packed ones. */
static void id_list_put(struct id_list *l, const char *name, const struct object_id *id, bool loose)
{
	for (size_t i = 0; i < l->nr; i++)
		if (!strcmp(l->item[i].name, name)) {
			if (loose)
				l->item[i].id = *id;
			return;
		}
	GROW(l->item, l->nr, l->cap);
	l->item[l->nr++] = (struct named_id){ mem_strdup(name), *id };
}

static bool refs_text(const struct refs_reader *r, const struct object_id *id, struct buf *out)
{
	enum object_type type;
	struct err none = ERR_INIT;
	return r->st->get(r->st->self, id, &type, out, &none) == 0 && out->len < REFS_TEXT_MAX &&
	       !memchr(buf_cstr(out), 0, out->len);
}

/* "ID NAME" lines. */
static void see_packed(struct git_seen *g, struct id_list *l, char *text)
{
	for (char *line = text, *next; line && *line; line = next) {
		struct object_id id;
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (strlen(line) < 42 || line[40] != ' ')
			continue;
		line[40] = 0;
		if (!object_parse(line, &id))
			continue;
		if (!strncmp(line + 41, "refs/heads/", 11))
			id_list_put(l, line + 41, &id, false);
		else if (!strncmp(line + 41, "refs/remotes/", 13))
			id_list_put(&g->remote, line + 41, &id, false);
	}
}

/* The newest entry of a log, or with @all each of them, the newest first. */
static void see_log(char *text, struct object_id *newest, struct id_list *all)
{
	size_t nr = 0;
	for (char *end = text + strlen(text); end > text;) {
		char *line = end - 1;
		struct object_id id;
		char hex[41] = "", name[32];
		while (line > text && line[-1] != '\n')
			line--;
		if (end - line > 82)
			memcpy(hex, line + 41, 40);
		if (*hex && object_parse(hex, &id)) {
			if (newest && !nr)
				*newest = id;
			snprintf(name, sizeof(name), nr ? "refs/stash-%zu" : "refs/stash", nr);
			if (all)
				id_list_put(all, name, &id, true);
			nr++;
		}
		end = line;
	}
}

static void see_head(struct git_seen *g, const char *text)
{
	size_t len = strcspn(text, "\r\n");
	CLEANUP(free_ptr) char *line = mem_strndup(text, len);
	if (!strncmp(line, "ref: ", 5)) {
		free(g->head_ref);
		g->head_ref = mem_strdup(line + 5);
	} else if (!object_parse(line, &g->head)) {
		g->head = (struct object_id){ 0 };
	}
}

static void see_object(struct git_seen *g, const char *rest, const struct object_id *blob)
{
	struct object_id id;
	if (!strncmp(rest, "pack/", 5))
		g->packs |= strstr(rest, ".pack") != NULL;
	else if (loose_name(rest, strlen(rest), &id)) {
		GROW(g->made, g->nr, g->cap);
		g->made[g->nr++] = (struct made_object){ .id = id, .blob = *blob };
	}
}

static bool see_entry(void *self, const char *path, size_t len, unsigned mode,
		      const struct object_id *oid, struct err *err)
{
	struct refs_reader *r = self;
	CLEANUP(free_ptr) char *whole = mem_strndup(path, len);
	size_t at = gitdir_len(whole);
	(void)mode;
	(void)err;
	if (!at)
		return true;
	const char *rest = whole + at + 1;
	struct git_seen *g = seen_of(r, whole, at);
	struct id_list *list = r->base ? &g->base : &g->now;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct object_id id;
	if (!strncmp(rest, "objects/", 8)) {
		if (!r->base)
			see_object(g, rest + 8, oid);
		return true;
	}
	bool remote = !strncmp(rest, "refs/remotes/", 13),
	     head = remote || !strncmp(rest, "refs/heads/", 11),
	     packed = !strcmp(rest, "packed-refs"), stash = !strcmp(rest, "logs/refs/stash"),
	     log = !strcmp(rest, "logs/HEAD"), now = !strcmp(rest, "HEAD");
	if ((!head && !packed && !stash && !log && !now) || !refs_text(r, oid, &text))
		return true;
	buf_cstr(&text);
	if (head && text.len >= 40) {
		text.data[40] = 0;
		if (object_parse(text.data, &id))
			id_list_put(remote ? &g->remote : list, rest, &id, true);
	} else if (packed) {
		see_packed(g, list, text.data);
	} else if (stash) {
		see_log(text.data, NULL, list);
	} else if (log && !r->base) {
		see_log(text.data, &g->log_head, NULL);
	} else if (now && !r->base) {
		see_head(g, text.data);
	}
	return true;
}

static int see_tree(struct refs_reader *r, const json_t *body, const char *key, struct err *err)
{
	struct object_id root;
	const char *hex = json_str(body, key, NULL);
	if (!hex || !object_parse(hex, &root))
		return 0;
	return tree_each(r->st, &root, false, see_entry, r, err);
}

/* --- what a commit leads to --- */

static int cmp_made(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct object_id)); /* the id comes first */
}

static struct made_object *made_find(const struct git_seen *g, const struct object_id *id)
{
	return g->nr ? bsearch(id, g->made, g->nr, sizeof(*g->made), cmp_made) : NULL;
}

static bool made_read(const struct refs_reader *r, const struct made_object *m,
		      enum loose_type *type, struct buf *out)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT;
	enum object_type kind;
	struct err none = ERR_INIT;
	return r->st->get(r->st->self, &m->blob, &kind, &file, &none) == 0 &&
	       loose_read(&file, OBJECT_MAX, type, out);
}

static bool made_commit(const struct refs_reader *r, const struct made_object *m,
			struct loose_commit *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	enum loose_type type;
	return m && made_read(r, m, &type, &text) && type == LOOSE_COMMIT &&
	       loose_commit_read(out, &text);
}

struct id_stack {
	struct object_id *item;
	size_t nr, cap;
};

static void stack_push(struct id_stack *s, const struct object_id *id)
{
	GROW(s->item, s->nr, s->cap);
	s->item[s->nr++] = *id;
}

static void stack_push_tree(struct id_stack *s, const struct buf *text)
{
	struct tree_entry e;
	struct err none = ERR_INIT;
	size_t pos = 0;
	while (tree_next(buf_cstr(text), text->len, &pos, &e, &none) == 1)
		if (e.mode != TREE_MODE_GITLINK)
			stack_push(s, &e.oid);
}

/* The commits that HEAD leads to; returns its tree, if that is new. */
static struct object_id mark_head(struct refs_reader *r, struct git_seen *g)
{
	struct id_stack s = { 0 };
	struct object_id tree = { 0 }, head = object_is_null(&g->head) ? g->log_head : g->head;
	for (size_t i = 0; g->head_ref && i < g->now.nr; i++)
		if (!strcmp(g->now.item[i].name, g->head_ref))
			head = g->now.item[i].id;
	g->head = head;
	stack_push(&s, &head);
	while (s.nr) {
		struct object_id id = s.item[--s.nr];
		struct made_object *m = made_find(g, &id);
		struct loose_commit c;
		if (!m || m->of_head || !made_commit(r, m, &c))
			continue;
		m->of_head = true;
		if (!memcmp(&id, &head, sizeof(id)))
			tree = c.tree;
		for (size_t i = 0; i < c.nr; i++)
			stack_push(&s, &c.parent[i]);
		loose_commit_release(&c);
	}
	free(s.item);
	return tree;
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
	struct id_stack s = { 0 };
	unsigned walk = ++r->walk;
	ref->objects = json_array();
	stack_push(&s, &ref->tip);
	while (s.nr && json_array_size(ref->objects) < OBJECTS_MAX) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct object_id id = s.item[--s.nr];
		struct made_object *m = made_find(g, &id);
		struct loose_commit c;
		enum loose_type type;
		if (!m || m->walk == walk)
			continue;
		m->walk = walk;
		put_made(ref->objects, m);
		if (!made_read(r, m, &type, &text)) {
			ref->why = "its objects are not in the recording";
		} else if (type == LOOSE_TREE) {
			stack_push_tree(&s, &text);
		} else if (type == LOOSE_COMMIT && loose_commit_read(&c, &text)) {
			ref->commits += !m->of_head;
			if (!memcmp(&id, &ref->tip, sizeof(id)))
				*tree_out = c.tree;
			stack_push(&s, &c.tree);
			for (size_t i = 0; i < c.nr; i++)
				stack_push(&s, &c.parent[i]);
			loose_commit_release(&c);
		}
	}
	if (s.nr)
		ref->why = "it has too many objects";
	free(s.item);
}

static bool ref_changed(const struct git_seen *g, const struct named_id *ref)
{
	for (size_t i = 0; i < g->remote.nr; i++)
		if (!memcmp(&g->remote.item[i].id, &ref->id, sizeof(ref->id)))
			return false;
	for (size_t i = 0; i < g->base.nr; i++)
		if (!memcmp(&g->base.item[i].id, &ref->id, sizeof(ref->id)) &&
		    !strcmp(g->base.item[i].name, ref->name))
			return false;
	return memcmp(&g->head, &ref->id, sizeof(ref->id)) != 0;
}

static void refs_add(struct refs_reader *r, struct git_seen *g, const struct named_id *of,
		     const struct object_id *head_tree, struct sandbox_refs *out)
{
	bool stash = !strncmp(of->name, "refs/stash", 10);
	struct sandbox_ref ref = { .tip = of->id };
	struct object_id tree = { 0 };
	if (!ref_changed(g, of))
		return;
	walk_ref(r, g, &ref, &tree);
	bool packed = g->packs && !json_array_size(ref.objects);
	if (packed)
		ref.why = "its objects are in a pack";
	bool same = !stash && !object_is_null(&tree) && !memcmp(&tree, head_tree, sizeof(tree));
	if (!packed && (!ref.commits || same)) {
		json_decref(ref.objects);
		return;
	}
	ref.gitdir = mem_strdup(g->gitdir);
	ref.name = mem_strdup(of->name + (stash ? 5 : 11));
	GROW(out->item, out->nr, out->cap);
	out->item[out->nr++] = ref;
}

static int cmp_refs(const void *pa, const void *pb)
{
	const struct sandbox_ref *a = pa, *b = pb;
	int c = strcmp(a->gitdir, b->gitdir);
	return c ? c : strcmp(a->name, b->name);
}

static void id_list_release(struct id_list *l)
{
	for (size_t i = 0; i < l->nr; i++)
		free(l->item[i].name);
	free(l->item);
}

static void reader_release(struct refs_reader *r)
{
	for (size_t i = 0; i < r->nr; i++) {
		free(r->seen[i].gitdir);
		free(r->seen[i].head_ref);
		free(r->seen[i].made);
		id_list_release(&r->seen[i].now);
		id_list_release(&r->seen[i].base);
		id_list_release(&r->seen[i].remote);
	}
	free(r->seen);
}

int sandbox_refs_read(struct sandbox_refs *out, const struct ws_store *st, const json_t *body,
		      struct err *err)
{
	struct refs_reader r = { .st = st };
	*out = SANDBOX_REFS_INIT;
	int rc = see_tree(&r, body, "git", err);
	if (rc == 0)
		rc = see_tree(&r, body, "tree", err);
	r.base = true;
	if (rc == 0)
		rc = see_tree(&r, body, "git_under", err);
	if (rc == 0)
		rc = see_tree(&r, body, "under", err);
	for (size_t i = 0; rc == 0 && i < r.nr; i++) {
		struct git_seen *g = &r.seen[i];
		if (g->nr)
			qsort(g->made, g->nr, sizeof(*g->made), cmp_made);
		struct object_id tree = mark_head(&r, g);
		for (size_t k = 0; k < g->now.nr; k++)
			refs_add(&r, g, &g->now.item[k], &tree, out);
	}
	if (out->nr)
		qsort(out->item, out->nr, sizeof(*out->item), cmp_refs);
	reader_release(&r);
	return rc;
}

/* --- of merges --- */

static void sandbox_ref_release(struct sandbox_ref *ref)
{
	free(ref->gitdir);
	free(ref->name);
	json_decref(ref->objects);
}

/* What the merge's @list says of @ref. */
static const json_t *ref_entry(const struct sandbox_ref *ref, const json_t *list)
{
	char hex[41];
	object_hex(&ref->tip, hex);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *b = json_array_get(list, i);
		if (!strcmp(json_str(b, "tip", ""), hex) &&
		    !strcmp(json_str(b, "gitdir", ""), ref->gitdir) &&
		    !strcmp(json_str(b, "name", ""), ref->name))
			return b;
	}
	return NULL;
}

void sandbox_refs_merged(struct sandbox_refs *r, const json_t *body, const char *repo,
			 const char *dir)
{
	const json_t *targets = json_object_get(body, "targets");
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *t = json_array_get(targets, i);
		CLEANUP(buf_release) struct buf at = BUF_INIT;
		size_t keep = 0;
		if (strcmp(json_str(t, "repo", ""), repo) != 0 ||
		    !json_get_bytes(json_object_get(t, "dir"), &at) ||
		    (strcmp(buf_cstr(&at), dir) != 0 && !path_holds(dir, buf_cstr(&at))))
			continue;
		for (size_t k = 0; k < r->nr; k++) {
			const json_t *b = ref_entry(&r->item[k], json_object_get(t, "branches"));
			if (*json_str(b, "ref", ""))
				sandbox_ref_release(&r->item[k]);
			else
				r->item[keep++] = r->item[k];
		}
		r->nr = keep;
	}
}

void sandbox_refs_left(const struct sandbox_refs *r, const json_t *body, const char *repo,
		       json_t *out)
{
	const json_t *targets = json_object_get(body, "targets");
	for (size_t k = 0; k < r->nr; k++) {
		const struct sandbox_ref *ref = &r->item[k];
		const json_t *b = NULL;
		for (size_t i = 0; !b && i < json_array_size(targets); i++) {
			const json_t *t = json_array_get(targets, i);
			if (!strcmp(json_str(t, "repo", ""), repo))
				b = ref_entry(ref, json_object_get(t, "branches"));
		}
		if (*json_str(b, "ref", ""))
			continue;
		json_t *o = json_object();
		json_put_str(o, "repo", repo);
		json_put_str(o, "gitdir", ref->gitdir);
		json_put_str(o, "name", ref->name);
		json_put_int(o, "commits", (int64_t)ref->commits);
		json_put_str(o, "why", b ? json_str(b, "why", NULL) : ref->why);
		json_array_append_new(out, o);
	}
}

static json_t *refs_of_gitdir(const struct sandbox_refs *r, const char *gitdir)
{
	json_t *list = NULL;
	for (size_t i = 0; i < r->nr; i++) {
		const struct sandbox_ref *ref = &r->item[i];
		char hex[41];
		if (strcmp(ref->gitdir, gitdir) != 0)
			continue;
		json_t *o = json_object();
		object_hex(&ref->tip, hex);
		json_put_str(o, "gitdir", ref->gitdir);
		json_put_str(o, "name", ref->name);
		json_put_str(o, "tip", hex);
		json_put_int(o, "commits", (int64_t)ref->commits);
		json_put_str(o, "why", ref->why);
		json_put(o, "objects", json_incref(ref->objects));
		if (!list)
			list = json_array();
		json_array_append_new(list, o);
	}
	return list;
}

json_t *sandbox_refs_at(void *self, const char *prefix)
{
	const struct sandbox_refs_at *at = self;
	CLEANUP(free_ptr)
	char *own = *prefix ? path_join(prefix, ".git") : mem_strdup(".git"),
	     *module = *prefix ? submodule_gitdir(at->dir, prefix) : NULL;
	json_t *list = refs_of_gitdir(at->refs, own);
	return list || !module ? list : refs_of_gitdir(at->refs, module);
}

void sandbox_refs_release(struct sandbox_refs *r)
{
	for (size_t i = 0; i < r->nr; i++)
		sandbox_ref_release(&r->item[i]);
	free(r->item);
	*r = SANDBOX_REFS_INIT;
}
