#include "sandbox/workspace/snapshot.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/workspace/change_json.h"
#include "sandbox/workspace/tree.h"
#include "sandbox/workspace/upper.h"
#include "sandbox/workspace/watch.h"

static const char *const hash_only_default[] = {
	"node_modules/", "target/",  ".venv/",	"venv/", "__pycache__/",
	".tox/",	 ".gradle/", ".cache/", "*.pyc",
};

struct ws {
	char *name;
	struct upper upper;
	struct ignore *ignore;
	int upper_fd, lower_fd;
	struct strv hash_only;
	bool no_ignore, again;
	struct watch *watch;
	bool watch_off, proved_write; /* told of a write into a file that lay in the upper */
	unsigned proofs, since_full;
	uint64_t n; /* snapshots so far */
	/* that differ from the base: all nodes; files of the work, without .git */
	size_t touched, files;
	struct object_id tree, under, git, git_under, attrs;
};

static void snapshot_load_rules(struct ws *w)
{
	ignore_free(&w->ignore);
	w->ignore = ignore_new(w->no_ignore ? -1 : w->lower_fd,
			       (const char *const *)w->hash_only.item, w->hash_only.nr);
	w->upper.ignore = w->ignore;
}

struct ws *ws_new(const struct ws_opts *o, int upper_fd, int lower_fd)
{
	struct ws *w = NEW(struct ws);
	upper_init(&w->upper);
	w->name = mem_strdup(o->name ? o->name : "");
	w->upper_fd = w->upper.upper_fd = upper_fd;
	w->lower_fd = w->upper.lower_fd = lower_fd;
	w->upper.copy = o->copy;
	w->again = o->again;
	if (o->keep_max)
		w->upper.keep_max = o->keep_max;
	w->no_ignore = o->no_ignore;
	w->watch_off = o->no_hint;
	const char *const *list = o->hash_only ? o->hash_only : hash_only_default;
	size_t nr = o->hash_only ? o->nr_hash_only : ARRAY_LEN(hash_only_default);
	for (size_t i = 0; i < nr; i++)
		strv_push(&w->hash_only, list[i]);
	snapshot_load_rules(w);
	return w;
}

void ws_free(struct ws **wp)
{
	struct ws *w = *wp;
	if (!w)
		return;
	watch_free(&w->watch);
	upper_release(&w->upper);
	ignore_free(&w->ignore);
	strv_release(&w->hash_only);
	fd_close(&w->upper_fd);
	fd_close(&w->lower_fd);
	free(w->name);
	free(w);
	*wp = NULL;
}

void ws_set_open(struct ws *w,
		 int (*open)(void *self, const char *which, const char *path, struct err *err),
		 void *self)
{
	w->upper.open = open;
	w->upper.open_self = self;
}

/* --- trees --- */

static void snapshot_add_line(struct buf *lines, char side, const struct ws_node *n,
			      const struct ws_state *s)
{
	if (s->kind == WS_NONE || ws_state_plain(s))
		return;
	buf_printf(lines, "%c %s %o %" PRIu32 " %x %" PRIu64 " ", side,
		   ws_kind_name((enum ws_kind)s->kind), s->mode, s->nlink, s->flags, s->size);
	buf_append(lines, n->name, n->name_len);
	buf_putc(lines, 0);
}

static bool in_tree(const struct ws_state *s)
{
	return ws_has_content(s) && !object_is_null(&s->oid);
}

/* One entry of a tree under construction. Files and directories sort differently ("a.b" lies
 * between the file "a" and the directory "a"), so a tree is sorted once it is known what each name
 * is. */
struct entry {
	unsigned mode;
	const struct ws_node *node;
	struct object_id oid;
};

static int cmp_entry(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	return tree_cmp(a->node->name, a->node->name_len, a->mode == TREE_MODE_DIR, b->node->name,
			b->node->name_len, b->mode == TREE_MODE_DIR);
}

static void snapshot_put_tree(const struct ws_store *st, struct entry *e, size_t nr,
			      struct object_id *out)
{
	*out = (struct object_id){ 0 };
	if (!nr)
		return;
	if (nr)
		qsort(e, nr, sizeof(*e), cmp_entry);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	for (size_t i = 0; i < nr; i++)
		tree_append(&b, e[i].mode, e[i].node->name, e[i].node->name_len, &e[i].oid);
	st->add(st->self, OBJECT_TREE, buf_cstr(&b), b.len, out);
}

static size_t snapshot_put_entry(struct entry *list, const struct ws_node *c, bool base)
{
	const struct ws_state *s = base ? &c->base : &c->now;
	const struct object_id *sub = base ? &c->under : &c->tree;
	if (c->nr && !object_is_null(sub))
		*list = (struct entry){ TREE_MODE_DIR, c, *sub };
	else if (node_differs(c) && in_tree(s))
		*list = (struct entry){ ws_git_mode(s), c, s->oid };
	else
		return 0;
	return 1;
}

static void write_attrs(const struct ws_store *st, struct ws_node *d)
{
	CLEANUP(buf_release) struct buf lines = BUF_INIT;
	CLEANUP(buf_release) struct buf tree = BUF_INIT;
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	struct object_id id;
	for (uint32_t i = 0; i < d->nr; i++)
		if (node_differs(d->child[i])) {
			snapshot_add_line(&lines, 'b', d->child[i], &d->child[i]->base);
			snapshot_add_line(&lines, 'n', d->child[i], &d->child[i]->now);
		}
	if (lines.len) {
		st->add(st->self, OBJECT_BLOB, buf_cstr(&lines), lines.len, &id);
		tree_append(&tree, 0100644, "a", 1, &id);
	}
	/* children are sorted by bytes; as directories the tree wants them sorted with their
	 * slash */
	struct entry *e = mem_calloc(d->nr, sizeof(*e));
	size_t nr = 0;
	for (uint32_t i = 0; i < d->nr; i++)
		if (d->child[i]->nr && !object_is_null(&d->child[i]->attrs))
			e[nr++] = (struct entry){ TREE_MODE_DIR, d->child[i], d->child[i]->attrs };
	if (nr)
		qsort(e, nr, sizeof(*e), cmp_entry);
	for (size_t i = 0; i < nr; i++) {
		buf_reset(&name);
		buf_putc(&name, 'd');
		buf_append(&name, e[i].node->name, e[i].node->name_len);
		tree_append(&tree, TREE_MODE_DIR, buf_cstr(&name), name.len, &e[i].oid);
	}
	free(e);
	d->attrs = (struct object_id){ 0 };
	if (tree.len)
		st->add(st->self, OBJECT_TREE, buf_cstr(&tree), tree.len, &d->attrs);
}

static bool is_git(const struct ws_node *n)
{
	return n->name_len == 4 && !memcmp(n->name, ".git", 4) && n->up && !n->up->up;
}

/* Trees of @d and of its dirty subdirectories. The depth is bounded by UPPER_DEPTH_MAX, a frame is
 * small. */
static void write_dir(const struct ws_store *st, struct ws_node *d)
{
	for (uint32_t i = 0; i < d->nr; i++)
		if (d->child[i]->dirty)
			write_dir(st, d->child[i]);
	struct entry *e = mem_calloc(d->nr ? d->nr : 1, sizeof(*e));
	for (int base = 0; base < 2; base++) {
		size_t nr = 0;
		for (uint32_t i = 0; i < d->nr; i++)
			if (!is_git(d->child[i]))
				nr += snapshot_put_entry(&e[nr], d->child[i], base);
		snapshot_put_tree(st, e, nr, base ? &d->under : &d->tree);
	}
	free(e);
	write_attrs(st, d);
	d->dirty = false;
}

static void write_trees(struct ws *w, const struct ws_store *st)
{
	struct ws_node *root = w->upper.root, *git = node_child(root, ".git", 4);
	if (root->dirty)
		write_dir(st, root);
	struct entry e;
	w->tree = root->tree;
	w->under = root->under;
	w->attrs = root->attrs;
	snapshot_put_tree(st, &e, git ? snapshot_put_entry(&e, git, false) : 0, &w->git);
	snapshot_put_tree(st, &e, git ? snapshot_put_entry(&e, git, true) : 0, &w->git_under);
}

/* --- the body --- */

static void snapshot_put_oid(json_t *o, const char *key, const struct object_id *id)
{
	char hex[41];
	if (object_is_null(id))
		return;
	object_hex(id, hex);
	json_put_str(o, key, hex);
}

static json_t *snapshot_change_of(const struct ws_node *n, struct buf *path)
{
	node_path(n, path);
	return ws_change_json(buf_cstr(path), path->len, &n->was, &n->now, true);
}

static int cmp_node(const void *pa, const void *pb)
{
	const struct ws_node *a = *(const struct ws_node *const *)pa,
			     *b = *(const struct ws_node *const *)pb;
	unsigned da = node_depth(a), db = node_depth(b);
	const struct ws_node *x = a, *y = b;
	for (; da > db; da--)
		x = x->up;
	for (; db > da; db--)
		y = y->up;
	if (x == y) /* one lies above the other */
		return (a != x) - (b != y);
	while (x->up != y->up) {
		x = x->up;
		y = y->up;
	}
	return ws_path_cmp(x->name, x->name_len, y->name, y->name_len);
}

static bool snapshot_really(const struct ws_node *n)
{
	return !ws_state_eq(&n->was, &n->now);
}

static size_t put_changes(struct ws *w, json_t *body)
{
	struct upper *u = &w->upper;
	json_t *list = json_array();
	size_t nr = 0;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	if (u->nr_changed)
		qsort(u->changed, u->nr_changed, sizeof(struct ws_node *), cmp_node);
	for (size_t i = 0; i < u->nr_changed; i++) {
		const struct ws_node *n = u->changed[i];
		if (!snapshot_really(n))
			continue;
		if (nr++ < WS_CHANGES_MAX)
			json_array_append_new(list, snapshot_change_of(n, &path));
	}
	json_put_int(body, "changed", (int64_t)nr);
	json_put(body, "changes", list);
	if (nr > WS_CHANGES_MAX)
		json_put_int(body, "more", (int64_t)(nr - WS_CHANGES_MAX));
	return nr;
}

/* True for entries that a merge can bring back: neither a directory nor git's own files. */
static bool snapshot_is_work(const struct ws_node *n, const struct ws_state *s)
{
	bool file = ws_has_content(&n->base) || ws_has_content(s);
	for (; file && n; n = n->up)
		file = !is_git(n);
	return file;
}

static void count_touched(struct ws *w)
{
	for (size_t i = 0; i < w->upper.nr_changed; i++) {
		const struct ws_node *n = w->upper.changed[i];
		bool before = !ws_state_eq(&n->base, &n->was), now = node_differs(n);
		w->touched -= before;
		w->touched += now;
		w->files -= before && snapshot_is_work(n, &n->was);
		w->files += now && snapshot_is_work(n, &n->now);
	}
}

/* --- the change hint --- */

static void watch_begin(struct ws *w)
{
	struct err err = ERR_INIT;
	if (w->watch || w->watch_off || w->upper.nr_nodes < WATCH_MIN_NODES)
		return;
	w->watch_off = watch_new(&w->watch, w->upper_fd, &err) < 0;
	w->proofs = 0;
	w->proved_write = false;
}

static bool watch_trusted(const struct ws *w)
{
	return w->watch && w->proofs >= WATCH_PROOFS && w->proved_write;
}

/* Was it told of @path or of a directory above it (that came, went or was replaced)? */
static bool told_of(const struct strv *told, struct buf *path)
{
	size_t whole = path->len;
	bool hit = ws_path_in(told, buf_cstr(path), whole);
	buf_putc(path, '/');
	for (size_t i = 1; i <= whole && !hit; i++)
		if (path->data[i] == '/')
			hit = ws_path_in(told, path->data, i) ||
			      ws_path_in(told, path->data, i + 1);
	path->len = whole;
	path->data[whole] = 0;
	return hit;
}

/* Everything was walked: had the hint told of all that was found? NULL = yes. */
static json_t *watch_judge(struct ws *w, const struct strv *told)
{
	json_t *missed = NULL;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	bool any = false;
	for (size_t i = 0; i < w->upper.nr_changed; i++) {
		const struct ws_node *n = w->upper.changed[i];
		if (ws_state_eq(&n->was, &n->now) || !n->up || !n->in_upper)
			continue;
		any = true;
		node_path(n, &path);
		if (told_of(told, &path)) {
			w->proved_write |= n->rewritten;
			continue;
		}
		missed = missed ? missed : json_array();
		if (json_array_size(missed) < 20)
			json_array_append_new(missed, json_bytes(buf_cstr(&path), path.len));
	}
	w->proofs += any && !missed;
	if (missed) {
		watch_free(&w->watch);
		w->watch_off = true;
	}
	return missed;
}

/* Looks at what has to be looked at. @missed_out: paths of which the hint had not told. */
static int snapshot_look(struct ws *w, const struct ws_how *how, bool *full_out,
			 json_t **missed_out, struct err *err)
{
	struct strv told = STRV_INIT;
	bool told_all = w->watch && watch_collect(w->watch, &told);
	bool part = told_all && watch_trusted(w) && w->since_full < WATCH_AGAIN && !how->full &&
		    !how->sync;
	int rc;
	if (w->watch && !told_all)
		watch_free(&w->watch);
	watch_begin(w); /* before the walk: it reports later changes */
	if (w->n && (how->told || part)) {
		rc = upper_walk_only(&w->upper, how->told ? how->told : &told, err);
		w->since_full++;
		*full_out = false;
	} else {
		rc = w->again ? upper_prime(&w->upper, err) : 0;
		if (rc == 0)
			rc = upper_walk(&w->upper, err);
		w->since_full = 0;
		*full_out = true;
		if (rc == 0 && told_all)
			*missed_out = watch_judge(w, &told);
	}
	strv_release(&told);
	return rc;
}

int ws_take(struct ws *w, const struct ws_store *st, const struct ws_how *how, json_t **body_out,
	    struct err *err)
{
	int64_t began = clock_mono_us();
	struct upper *u = &w->upper;
	u->store = *st;
	if (how->sync) {
		CLEANUP(fd_close)
		int fd = openat(w->upper_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 || syncfs(fd) < 0)
			return err_sys(err, "snapshot: can't sync the upper layer");
	}
	bool full = true;
	json_t *missed = NULL;
	if (snapshot_look(w, how, &full, &missed, err) < 0) {
		watch_free(&w->watch); /* what it told is lost with the walk */
		return err_wrap(err, "snapshot%s%s", *w->name ? " of " : "", w->name);
	}
	bool any = w->n == 0;
	for (size_t i = 0; i < u->nr_changed && !any; i++)
		any = snapshot_really(u->changed[i]) ||
		      u->changed[i]->was.flags != u->changed[i]->now.flags;
	if (!any) {
		assert(!missed);
		upper_settled(u);
		return 0;
	}
	write_trees(w, st);
	json_t *body = json_object();
	json_put_str(body, "repo", w->name);
	json_put_int(body, "n", (int64_t)++w->n);
	json_put_str(body, "why", how->why);
	snapshot_put_oid(body, "tree", &w->tree);
	snapshot_put_oid(body, "under", &w->under);
	snapshot_put_oid(body, "git", &w->git);
	snapshot_put_oid(body, "git_under", &w->git_under);
	snapshot_put_oid(body, "attrs", &w->attrs);
	count_touched(w);
	json_put_int(body, "touched", (int64_t)w->touched);
	json_put_int(body, "files", (int64_t)w->files);
	put_changes(w, body);
	json_put_flag(body, "full", full && !u->unlisted.nr && !u->deep.nr);
	json_put(body, "hint_miss", missed);
	if (u->unlisted.nr)
		json_put(body, "unlisted", json_argv(u->unlisted.item, u->unlisted.nr));
	if (u->deep.nr)
		json_put(body, "deep", json_argv(u->deep.item, u->deep.nr));
	if (u->unread.nr)
		json_put(body, "unread", json_argv(u->unread.item, u->unread.nr));
	json_put_int(body, "took_us", clock_mono_us() - began);
	upper_settled(u);
	*body_out = body;
	return 1;
}

void ws_fingerprint(const struct ws *w, struct hash *out)
{
	struct hash_ctx c;
	const struct object_id *ids[] = { &w->tree, &w->under, &w->git, &w->git_under, &w->attrs };
	hash_begin(&c);
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		hash_add(&c, ids[i]->b, sizeof(ids[i]->b));
	hash_end(&c, out);
}

bool ws_touched(const struct ws *w, const char *path, size_t len)
{
	const struct ws_node *n = node_find(w->upper.root, path, len);
	return n && node_differs(n);
}

void ws_stats(const struct ws *w, struct ws_stats *out)
{
	*out = (struct ws_stats){ .nodes = w->upper.nr_nodes,
				  .touched = w->touched,
				  .looked = w->upper.looked,
				  .hint = w->watch_off	     ? "off"
					  : !w->watch	     ? "none"
					  : watch_trusted(w) ? "trusted"
							     : "on trial" };
}

const char *ws_name(const struct ws *w)
{
	return w->name;
}

int ws_lower_fd(const struct ws *w)
{
	return w->lower_fd;
}

int ws_upper_fd(const struct ws *w)
{
	return w->upper_fd;
}
