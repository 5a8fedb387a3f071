/* Do the files of a merge have all that the commits of the sandbox's HEAD hold? Commits may hold
 * more than working files: a rewritten history, a file that HEAD stopped tracking, an ignored
 * one that was added, or a mode that only the index has. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/workspace/gitchild.h"
#include "sandbox/workspace/loose.h"
#include "sandbox/workspace/tree.h"

enum { HEAD_OBJECT_MAX = 8 << 20, HEAD_WORK_MAX = 200000 };

struct head_made {
	struct object_id id, blob; /* @id first: cmp_head_made */
	bool seen;
};
struct head_look {
	struct target *t;
	struct head_made *made;
	size_t nr, work;
};

static int cmp_head_made(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct object_id));
}

static struct head_made *head_made_find(const struct head_look *h, const struct object_id *id)
{
	return h->nr ? bsearch(id, h->made, h->nr, sizeof(*h->made), cmp_head_made) : NULL;
}

static void head_made_read(struct head_look *h, const json_t *list)
{
	h->made = mem_calloc(json_array_size(list) + 1, sizeof(*h->made));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *pair = json_array_get(list, i);
		const char *a = json_string_value(json_array_get(pair, 0)),
			   *b = json_string_value(json_array_get(pair, 1));
		struct head_made m = { 0 };
		if (a && b && object_parse(a, &m.id) && object_parse(b, &m.blob))
			h->made[h->nr++] = m;
	}
	if (h->nr)
		qsort(h->made, h->nr, sizeof(*h->made), cmp_head_made);
}

/* The content of a commit or tree, of the sandbox or of the repository. */
static bool head_object(struct head_look *h, const struct object_id *id, enum loose_type want,
			struct buf *out)
{
	const struct head_made *m = head_made_find(h, id);
	struct err none = ERR_INIT;
	if (++h->work > HEAD_WORK_MAX)
		return false;
	if (m) {
		CLEANUP(buf_release) struct buf file = BUF_INIT;
		enum loose_type type;
		return child_get(h->t, &m->blob, &file, &none) == 0 &&
		       loose_read(&file, HEAD_OBJECT_MAX, &type, out) && type == want;
	}
	git_odb_object *o = NULL;
	git_oid oid;
	memcpy(oid.id, id->b, sizeof(id->b));
	bool good = git_odb_read(&o, h->t->odb, &oid) == 0 &&
		    git_odb_object_type(o) ==
			    (want == LOOSE_TREE ? GIT_OBJECT_TREE : GIT_OBJECT_COMMIT);
	if (good)
		buf_append(out, git_odb_object_data(o), git_odb_object_size(o));
	git_odb_object_free(o);
	return good;
}

/* --- paths --- */

static bool head_is_left(const struct head_look *h, const struct buf *path)
{
	const json_t *left = json_object_get(h->t->request, "left");
	CLEANUP(buf_release) struct buf one = BUF_INIT;
	for (size_t i = 0; i < json_array_size(left); i++)
		if (json_get_bytes(json_array_get(left, i), &one) && one.len == path->len &&
		    !memcmp(buf_cstr(&one), buf_cstr(path), one.len))
			return true;
	return false;
}

/* Does the target have the content that the commit has? Nobody has changed the file in the sandbox:
 * the commit has what you had not committed. */
static bool host_has(const struct head_look *h, const struct buf *path, const struct tree_entry *e)
{
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	struct hostfile f = { 0 };
	struct object_id id;
	struct err none = ERR_INIT;
	const char *filter = NULL;
	hostfile_read(&f, h->t->root, buf_cstr(path), path->len);
	bool link = f.state.kind == WS_LINK, has = false;
	int rc = 0;
	if (!e) {
		has = !ws_has_content(&f.state);
	} else if ((link || f.state.kind == WS_FILE) && link == (e->mode == TREE_MODE_LINK)) {
		rc = link ? 0
			  : target_clean(h->t, buf_cstr(path), path->len, &f.bytes, &clean, &filter,
					 &none);
		const struct buf *bytes = link ? &f.bytes : &clean;
		object_name(OBJECT_BLOB, buf_cstr(bytes), bytes->len, &id);
		has = rc > 0 || (rc == 0 && !memcmp(&id, &e->oid, sizeof(id)) &&
				 (link || !(e->mode & 0100) == !(f.state.mode & 0100)));
	}
	hostfile_release(&f);
	return has;
}

static bool head_link_covered(const struct head_look *h, const struct buf *path)
{
	for (size_t i = 0; i < h->t->nr_links; i++)
		if (h->t->link[i].len == path->len &&
		    !memcmp(h->t->link[i].path, buf_cstr(path), path->len))
			return true;
	return false;
}

/* @e: of the commit; NULL: it has none there. */
static bool head_path_covered(struct head_look *h, const struct buf *path,
			      const struct tree_entry *e)
{
	const struct plan_path *p = plan_find(&h->t->all, buf_cstr(path), path->len);
	if (e && e->mode == TREE_MODE_GITLINK)
		return head_link_covered(h, path);
	if (head_is_left(h, path))
		return true;
	if (!p || plan_no_change(p))
		return host_has(h, path, e);
	if (p->result == CLASS_IGNORED || p->result == CLASS_HASH_ONLY)
		return host_has(h, path, e);
	return p->result == CLASS_REFUSED || ws_has_content(&p->want) == (e != NULL);
}

static bool head_differs(void *self, const char *path, size_t len, unsigned was_mode,
			 const struct object_id *was, unsigned mode, const struct object_id *oid,
			 struct err *err)
{
	struct head_look *h = self;
	CLEANUP(buf_release) struct buf p = BUF_INIT;
	struct tree_entry e = { .mode = mode };
	(void)was_mode;
	(void)was;
	(void)err;
	buf_append(&p, path, len);
	if (mode)
		e.oid = *oid;
	return ++h->work <= HEAD_WORK_MAX && head_path_covered(h, &p, mode ? &e : NULL);
}

static int head_tree_get(void *self, const struct object_id *id, enum object_type *type_out,
			 struct buf *out, struct err *err)
{
	*type_out = OBJECT_TREE;
	buf_reset(out);
	return head_object(self, id, LOOSE_TREE, out) ? 0 : err_set(err, ERR_NOENT, "no such tree");
}

static bool trees_covered(struct head_look *h, const struct object_id *was,
			  const struct object_id *now)
{
	const struct ws_store st = { .get = head_tree_get, .self = h };
	struct err none = ERR_INIT;
	return tree_diff(&st, was, now, head_differs, h, &none) == 0;
}

/* --- history --- */

struct head_stack {
	struct object_id *id;
	size_t nr, cap;
};

static void head_push(struct head_stack *s, const struct object_id *id)
{
	GROW(s->id, s->nr, s->cap);
	s->id[s->nr++] = *id;
}

static bool descends(const struct head_look *h, const struct object_id *commit,
		     const struct object_id *from)
{
	git_oid a, b;
	memcpy(a.id, commit->b, sizeof(commit->b));
	memcpy(b.id, from->b, sizeof(from->b));
	return !memcmp(commit, from, sizeof(*from)) ||
	       git_graph_descendant_of(h->t->repo, &a, &b) == 1;
}

/* Do the sandbox's commits stand on @base? *first_out: the commit of the repository on which they
 * stand; null: on none. */
static bool stands_on_base(struct head_look *h, const struct object_id *tip,
			   const struct object_id *base, struct object_id *first_out)
{
	struct head_stack s = { 0 };
	bool found = object_is_null(base);
	*first_out = (struct object_id){ 0 };
	head_push(&s, tip);
	while (s.nr && h->work <= HEAD_WORK_MAX) {
		struct object_id id = s.id[--s.nr];
		struct head_made *m = head_made_find(h, &id);
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct loose_commit c;
		if (!m) { /* first parents come first */
			if (object_is_null(first_out))
				*first_out = id;
			found = found || descends(h, &id, base);
			continue;
		}
		if (m->seen || !head_object(h, &id, LOOSE_COMMIT, &text) ||
		    !loose_commit_read(&c, &text))
			continue;
		m->seen = true;
		for (size_t i = c.nr; i-- > 0;)
			head_push(&s, &c.parent[i]);
		loose_commit_release(&c);
	}
	free(s.id);
	return found && h->work <= HEAD_WORK_MAX;
}

static bool head_tree_of(struct head_look *h, const struct object_id *commit, struct object_id *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct loose_commit c;
	*out = (struct object_id){ 0 };
	if (object_is_null(commit))
		return true;
	if (!head_object(h, commit, LOOSE_COMMIT, &text) || !loose_commit_read(&c, &text))
		return false;
	*out = c.tree;
	loose_commit_release(&c);
	return true;
}

/* The directory of the sandbox in a tree of the repository around it. */
static bool below_prefix(const struct head_look *h, struct object_id *tree)
{
	unsigned mode;
	struct object_id sub = { 0 };
	struct err none = ERR_INIT;
	if (!h->t->prefix_len || object_is_null(tree))
		return true;
	int rc = tree_find(&h->t->store, tree, h->t->prefix, h->t->prefix_len, &mode, &sub, &none);
	*tree = rc == 1 && mode == TREE_MODE_DIR ? sub : (struct object_id){ 0 };
	return rc >= 0;
}

bool head_covered(struct target *t, const json_t *branch)
{
	struct head_look h = { .t = t };
	struct object_id tip, base = { 0 }, first, was, now;
	const char *hex = json_str(branch, "base", NULL);
	if (!t->repo || !t->odb || json_str(branch, "why", NULL) ||
	    !object_parse(json_str(branch, "tip", ""), &tip) || (hex && !object_parse(hex, &base)))
		return false;
	head_made_read(&h, json_object_get(branch, "objects"));
	bool good = stands_on_base(&h, &tip, &base, &first) &&
		    head_tree_of(&h, object_is_null(&base) ? &first : &base, &was) &&
		    below_prefix(&h, &was) && head_tree_of(&h, &tip, &now) &&
		    trees_covered(&h, &was, &now);
	free(h.made);
	return good;
}
