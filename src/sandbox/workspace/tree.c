#include "sandbox/workspace/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

int tree_cmp(const char *a, size_t a_len, bool a_dir, const char *b, size_t b_len, bool b_dir)
{
	size_t n = a_len < b_len ? a_len : b_len;
	int c = memcmp(a, b, n);
	if (c)
		return c;
	int x = a_len > n ? (unsigned char)a[n] : a_dir ? '/' : 0;
	int y = b_len > n ? (unsigned char)b[n] : b_dir ? '/' : 0;
	return x - y;
}

void tree_append(struct buf *tree, unsigned mode, const char *name, size_t len,
		 const struct object_id *oid)
{
	buf_printf(tree, "%o ", mode);
	buf_append(tree, name, len);
	buf_putc(tree, 0);
	buf_append(tree, oid->b, sizeof(oid->b));
}

static int bad_tree(struct err *err, size_t at, const char *why)
{
	return err_set(err, ERR_DAMAGED, "tree object: %s at byte %zu", why, at);
}

static bool parse_mode(const char *p, size_t len, size_t *used, unsigned *mode)
{
	unsigned m = 0;
	size_t i = 0;
	for (; i < len && p[i] >= '0' && p[i] <= '7' && i < 7; i++)
		m = m << 3 | (unsigned)(p[i] - '0');
	*used = i;
	*mode = m;
	return i > 0 && i < len && p[i] == ' ';
}

static int parse_entry(const char *bytes, size_t len, size_t *pos, struct tree_entry *e,
		       struct err *err)
{
	size_t at = *pos, used;
	struct tree_entry n;
	if (!parse_mode(bytes + at, len - at, &used, &n.mode) || n.mode == 0)
		return bad_tree(err, at, "no mode");
	at += used + 1;
	const char *nul = memchr(bytes + at, 0, len - at);
	if (!nul)
		return bad_tree(err, at, "a name without an end");
	n.name = bytes + at;
	n.name_len = (size_t)(nul - n.name);
	if (n.name_len == 0 || memchr(n.name, '/', n.name_len))
		return bad_tree(err, at, "an invalid name");
	at += n.name_len + 1;
	if (len - at < sizeof(n.oid.b))
		return bad_tree(err, at, "cut off");
	memcpy(n.oid.b, bytes + at, sizeof(n.oid.b));
	*e = n;
	*pos = at + sizeof(n.oid.b);
	return 1;
}

int tree_next(const char *bytes, size_t len, size_t *pos, struct tree_entry *e, struct err *err)
{
	if (*pos >= len)
		return 0;
	size_t at = *pos;
	struct tree_entry next;
	if (parse_entry(bytes, len, pos, &next, err) < 0)
		return -1;
	/* order is judged against the entry behind, so that no state is kept between calls */
	if (*pos < len) {
		size_t after = *pos;
		struct tree_entry n2;
		if (parse_entry(bytes, len, &after, &n2, err) < 0)
			return -1;
		bool same =
			next.name_len == n2.name_len && !memcmp(next.name, n2.name, n2.name_len);
		if (same || tree_cmp(next.name, next.name_len, next.mode == TREE_MODE_DIR, n2.name,
				     n2.name_len, n2.mode == TREE_MODE_DIR) >= 0)
			return bad_tree(err, at, "entries out of order");
	}
	*e = next;
	return 1;
}

static int load_tree(const struct ws_store *st, const struct object_id *id, struct buf *out,
		     struct err *err)
{
	buf_reset(out);
	if (!id || object_is_null(id))
		return 0;
	enum object_type type;
	char hex[41];
	object_hex(id, hex);
	if (st->get(st->self, id, &type, out, err) < 0)
		return err_wrap(err, "tree %s", hex);
	return type == OBJECT_TREE ? 0 : err_set(err, ERR_DAMAGED, "object %s is not a tree", hex);
}

/* --- edit --- */

static int cmp_edit(const void *pa, const void *pb)
{
	const struct tree_edit *a = *(const struct tree_edit *const *)pa,
			       *b = *(const struct tree_edit *const *)pb;
	int c = ws_path_cmp(a->path, a->len, b->path, b->len);
	return c ? c : (a > b) - (a < b);
}

/* The edits that concern one name of one directory. */
struct group {
	const char *name;
	size_t len;
	struct tree_edit **below; /* edits of paths under name/ */
	size_t nr_below;
	struct tree_edit *self; /* the edit of the name itself */
};

static int cmp_group(const void *pa, const void *pb)
{
	const struct group *a = pa, *b = pb;
	return ws_path_cmp(a->name, a->len, b->name, b->len);
}

static size_t make_groups(struct tree_edit **edits, size_t nr, size_t skip, struct group **out)
{
	struct group *g = NULL;
	size_t ng = 0, cap = 0;
	for (size_t i = 0; i < nr; i++) {
		const char *p = edits[i]->path + skip;
		size_t len = edits[i]->len - skip;
		const char *slash = memchr(p, '/', len);
		size_t n = slash ? (size_t)(slash - p) : len;
		struct group *last = NULL;
		/* "a", "a.b" and "a/c" sort in this order, so a name's edits need not stand
		 * together */
		for (size_t k = ng; k-- > 0 && g[k].len >= n && !memcmp(g[k].name, p, n);)
			if (g[k].len == n) {
				last = &g[k];
				break;
			}
		if (!last) {
			GROW(g, ng, cap);
			last = &g[ng++];
			*last = (struct group){ .name = p, .len = n };
		}
		if (!slash) {
			last->self = edits[i];
		} else {
			if (!last->nr_below)
				last->below = &edits[i];
			last->nr_below++;
		}
	}
	if (ng)
		qsort(g, ng, sizeof(*g), cmp_group);
	*out = g;
	return ng;
}

struct out_entry {
	unsigned mode;
	const char *name;
	size_t len;
	struct object_id oid;
};

static int cmp_out(const void *pa, const void *pb)
{
	const struct out_entry *a = pa, *b = pb;
	return tree_cmp(a->name, a->len, a->mode == TREE_MODE_DIR, b->name, b->len,
			b->mode == TREE_MODE_DIR);
}

static int edit_dir(const struct ws_store *st, const struct object_id *root,
		    struct tree_edit **edits, size_t nr, size_t skip, unsigned depth,
		    struct object_id *out, bool *empty_out, struct err *err);

static const struct group *find_group(const struct group *g, size_t ng, const char *name,
				      size_t len)
{
	struct group key = { .name = name, .len = len };
	return ng ? bsearch(&key, g, ng, sizeof(*g), cmp_group) : NULL;
}

/* The new entry at @g's name; mode 0 = nothing. */
static int edit_name(const struct ws_store *st, const struct group *g, const struct tree_entry *was,
		     size_t skip, unsigned depth, struct out_entry *o, struct err *err)
{
	*o = (struct out_entry){ .name = g->name, .len = g->len };
	struct object_id sub = { 0 };
	bool sub_dir = was && was->mode == TREE_MODE_DIR;
	if (was) {
		o->mode = was->mode;
		o->oid = was->oid;
	}
	if (g->self) {
		o->mode = g->self->mode;
		o->oid = g->self->oid;
		sub_dir = o->mode == TREE_MODE_DIR;
	}
	if (!g->nr_below)
		return 0;
	if (sub_dir)
		sub = o->oid;
	bool empty, any = false;
	for (size_t i = 0; i < g->nr_below; i++)
		any |= g->below[i]->mode != 0;
	if (!any && !sub_dir)
		return 0; /* removals below a path that is not a directory (now) */
	if (edit_dir(st, &sub, g->below, g->nr_below, skip + g->len + 1, depth + 1, &o->oid, &empty,
		     err) < 0)
		return -1;
	o->mode = empty ? 0 : TREE_MODE_DIR;
	return 0;
}

static int edit_dir(const struct ws_store *st, const struct object_id *root,
		    struct tree_edit **edits, size_t nr, size_t skip, unsigned depth,
		    struct object_id *out, bool *empty_out, struct err *err)
{
	if (depth > TREE_DEPTH_MAX)
		return err_set(err, ERR_FULL, "a path is deeper than %d directories",
			       TREE_DEPTH_MAX);
	CLEANUP(buf_release) struct buf old = BUF_INIT;
	if (load_tree(st, root, &old, err) < 0)
		return -1;
	CLEANUP(free_ptr) struct group *g = NULL;
	size_t ng = make_groups(edits, nr, skip, &g), n = 0, cap = 0, pos = 0;
	CLEANUP(free_ptr) struct out_entry *o = NULL;
	CLEANUP(free_ptr) bool *done = mem_calloc(ng, sizeof(bool));
	struct tree_entry e;
	int rc;
	while ((rc = tree_next(buf_cstr(&old), old.len, &pos, &e, err)) > 0) {
		const struct group *hit = find_group(g, ng, e.name, e.name_len);
		GROW(o, n, cap);
		o[n] = (struct out_entry){ e.mode, e.name, e.name_len, e.oid };
		if (hit) {
			done[hit - g] = true;
			if (edit_name(st, hit, &e, skip, depth, &o[n], err) < 0)
				return -1;
		}
		n += o[n].mode != 0;
	}
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < ng; i++) {
		if (done[i])
			continue;
		GROW(o, n, cap);
		if (edit_name(st, &g[i], NULL, skip, depth, &o[n], err) < 0)
			return -1;
		n += o[n].mode != 0;
	}
	if (n)
		qsort(o, n, sizeof(*o), cmp_out);
	CLEANUP(buf_release) struct buf made = BUF_INIT;
	for (size_t i = 0; i < n; i++)
		tree_append(&made, o[i].mode, o[i].name, o[i].len, &o[i].oid);
	*empty_out = n == 0;
	st->add(st->self, OBJECT_TREE, buf_cstr(&made), made.len, out);
	return 0;
}

int tree_edit(const struct ws_store *st, const struct object_id *root, struct tree_edit *edits,
	      size_t nr, struct object_id *out, struct err *err)
{
	CLEANUP(free_ptr) struct tree_edit **list = mem_calloc(nr, sizeof(struct tree_edit *));
	for (size_t i = 0; i < nr; i++)
		list[i] = &edits[i];
	if (nr)
		qsort(list, nr, sizeof(struct tree_edit *), cmp_edit);
	bool empty;
	return edit_dir(st, root, list, nr, 0, 0, out, &empty, err);
}

/* --- find and walk --- */

int tree_find(const struct ws_store *st, const struct object_id *root, const char *path, size_t len,
	      unsigned *mode_out, struct object_id *oid_out, struct err *err)
{
	struct object_id at = *root;
	unsigned mode = TREE_MODE_DIR;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	for (size_t i = 0; i < len;) {
		const char *slash = memchr(path + i, '/', len - i);
		size_t n = slash ? (size_t)(slash - path) - i : len - i, pos = 0;
		if (mode != TREE_MODE_DIR)
			return 0;
		if (load_tree(st, &at, &b, err) < 0)
			return -1;
		struct tree_entry e;
		int rc;
		while ((rc = tree_next(buf_cstr(&b), b.len, &pos, &e, err)) > 0)
			if (e.name_len == n && !memcmp(e.name, path + i, n))
				break;
		if (rc <= 0)
			return rc;
		at = e.oid;
		mode = e.mode;
		i += n + 1;
	}
	*mode_out = mode;
	*oid_out = at;
	return 1;
}

/* One directory under way; the stack is on the heap because depth is the box's choice. */
struct level {
	struct buf bytes;
	size_t pos, path_len;
	struct object_id oid;
};

int tree_each(const struct ws_store *st, const struct object_id *root, bool dirs, tree_each_fn *fn,
	      void *self, struct err *err)
{
	struct level *s = NULL;
	size_t nr = 0, cap = 0;
	struct buf path = BUF_INIT;
	GROW(s, nr, cap);
	s[nr++] = (struct level){ .oid = *root };
	int rc = load_tree(st, root, &s[0].bytes, err);
	while (rc == 0 && nr) {
		struct level *l = &s[nr - 1];
		struct tree_entry e;
		int got = tree_next(buf_cstr(&l->bytes), l->bytes.len, &l->pos, &e, err);
		path.len = l->path_len;
		if (got < 0) {
			rc = -1;
		} else if (got == 0) {
			if (dirs && nr > 1 &&
			    !fn(self, buf_cstr(&path), path.len, TREE_MODE_DIR, &l->oid, err))
				rc = -1;
			buf_release(&l->bytes);
			nr--;
		} else {
			if (path.len)
				buf_putc(&path, '/');
			buf_append(&path, e.name, e.name_len);
			if (e.mode != TREE_MODE_DIR) {
				rc = fn(self, buf_cstr(&path), path.len, e.mode, &e.oid, err) ? 0
											      : -1;
			} else if (nr > TREE_DEPTH_MAX) {
				rc = err_set(err, ERR_FULL, "a tree is deeper than %d directories",
					     TREE_DEPTH_MAX);
			} else {
				GROW(s, nr, cap);
				s[nr] = (struct level){ .oid = e.oid, .path_len = path.len };
				rc = load_tree(st, &s[nr].oid, &s[nr].bytes, err);
				nr++;
			}
		}
	}
	while (nr)
		buf_release(&s[--nr].bytes);
	free(s);
	buf_release(&path);
	return rc;
}

struct differ {
	const struct ws_store *st;
	tree_diff_fn *fn;
	void *self;
	struct buf path;
	unsigned depth;
};

static int diff_dirs(struct differ *d, const struct object_id *a, const struct object_id *b,
		     struct err *err);

static int diff_entry(struct differ *d, const struct tree_entry *a, const struct tree_entry *b,
		      struct err *err)
{
	static const struct object_id none;
	if (a && b && a->mode == b->mode && !memcmp(&a->oid, &b->oid, sizeof(a->oid)))
		return 0;
	const struct tree_entry *any = a ? a : b;
	size_t keep = d->path.len;
	if (keep)
		buf_putc(&d->path, '/');
	buf_append(&d->path, any->name, any->name_len);
	bool a_dir = a && a->mode == TREE_MODE_DIR, b_dir = b && b->mode == TREE_MODE_DIR;
	int rc = 0;
	if ((a && !a_dir) || (b && !b_dir))
		rc = d->fn(d->self, buf_cstr(&d->path), d->path.len, a && !a_dir ? a->mode : 0,
			   a && !a_dir ? &a->oid : &none, b && !b_dir ? b->mode : 0,
			   b && !b_dir ? &b->oid : &none, err)
			     ? 0
			     : -1;
	if (rc == 0 && (a_dir || b_dir))
		rc = diff_dirs(d, a_dir ? &a->oid : &none, b_dir ? &b->oid : &none, err);
	d->path.len = keep;
	return rc;
}

static int diff_dirs(struct differ *d, const struct object_id *a, const struct object_id *b,
		     struct err *err)
{
	if (++d->depth > TREE_DEPTH_MAX)
		return err_set(err, ERR_FULL, "a tree is deeper than %d directories",
			       TREE_DEPTH_MAX);
	CLEANUP(buf_release) struct buf x = BUF_INIT;
	CLEANUP(buf_release) struct buf y = BUF_INIT;
	if (load_tree(d->st, a, &x, err) < 0 || load_tree(d->st, b, &y, err) < 0)
		return -1;
	size_t px = 0, py = 0;
	struct tree_entry ex, ey;
	int gx = tree_next(buf_cstr(&x), x.len, &px, &ex, err);
	int gy = gx < 0 ? -1 : tree_next(buf_cstr(&y), y.len, &py, &ey, err);
	while (gx >= 0 && gy >= 0 && (gx || gy)) {
		int c = !gx   ? 1
			: !gy ? -1
			      : tree_cmp(ex.name, ex.name_len, ex.mode == TREE_MODE_DIR, ey.name,
					 ey.name_len, ey.mode == TREE_MODE_DIR);
		if (diff_entry(d, c <= 0 ? &ex : NULL, c >= 0 ? &ey : NULL, err) < 0)
			return -1;
		if (c <= 0)
			gx = tree_next(buf_cstr(&x), x.len, &px, &ex, err);
		if (c >= 0 && gx >= 0)
			gy = tree_next(buf_cstr(&y), y.len, &py, &ey, err);
	}
	d->depth--;
	return gx < 0 || gy < 0 ? -1 : 0;
}

int tree_diff(const struct ws_store *st, const struct object_id *a, const struct object_id *b,
	      tree_diff_fn *fn, void *self, struct err *err)
{
	struct differ d = { .st = st, .fn = fn, .self = self };
	int rc = diff_dirs(&d, a, b, err);
	buf_release(&d.path);
	return rc;
}
