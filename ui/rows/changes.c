#include "ui/rows/changes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/rows/gittree.h"

enum { KEPT = 4, DEPTH_MAX = 64, COUNT_FILES = 200, COUNT_MAX = 1 << 20, TOOL_MAX = 64 << 20 };

struct kept {
	uint64_t key; /* sum of the snapshots' seqs: each only grows */
	uint64_t box;
	struct change *change;
	size_t nr;
	struct arena arena;
};

struct changes {
	struct kept kept[KEPT];
	size_t next;
};

struct list {
	struct change *change;
	size_t nr, cap;
	struct source *s;
	struct arena *arena;
};

static void changes_release(struct source *s)
{
	for (size_t i = 0; i < KEPT; i++)
		arena_release(&s->changes->kept[i].arena);
	free(s->changes);
	s->changes = NULL;
}

/* --- git trees -------------------------------------------------------------------------------- */

static void views_changes_add_change(struct list *l, const char *path, const struct tree_entry *old,
				     const struct tree_entry *new_)
{
	struct change c = { .path = path };
	c.old_mode = old ? old->mode : 0;
	c.new_mode = new_ ? new_->mode : 0;
	if (old)
		c.old = old->id;
	if (new_)
		c.new_ = new_->id;
	bool kind = old && new_ && (old->mode & TREE_MODE_KIND) != (new_->mode & TREE_MODE_KIND);
	bool bytes = old && new_ && memcmp(old->id.b, new_->id.b, sizeof(old->id.b)) != 0;
	c.op = !old ? 'A' : !new_ ? 'D' : kind ? 'T' : bytes ? 'M' : 'm';
	GROW(l->change, l->nr, l->cap);
	l->change[l->nr++] = c;
}

static void views_changes_walk(struct list *l, const char *dir, const struct object_id *old,
			       const struct object_id *new_, int depth);

static void one_name(struct list *l, const char *dir, const struct tree_entry *old,
		     const struct tree_entry *new_, int depth)
{
	static const struct object_id none;
	const struct tree_entry *any = old ? old : new_;
	if (!any)
		return;
	char *path =
		arena_printf(l->arena, "%s%s%.*s", dir, *dir ? "/" : "", (int)any->len, any->name);
	if (old && new_ && old->mode == new_->mode &&
	    memcmp(old->id.b, new_->id.b, sizeof(none.b)) == 0)
		return;
	if (tree_entry_is_dir(old) || tree_entry_is_dir(new_))
		views_changes_walk(l, path, tree_entry_is_dir(old) ? &old->id : &none,
				   tree_entry_is_dir(new_) ? &new_->id : &none, depth + 1);
	if ((old && !tree_entry_is_dir(old)) || (new_ && !tree_entry_is_dir(new_)))
		views_changes_add_change(l, path, old && !tree_entry_is_dir(old) ? old : NULL,
					 new_ && !tree_entry_is_dir(new_) ? new_ : NULL);
}

static void views_changes_walk(struct list *l, const char *dir, const struct object_id *old,
			       const struct object_id *new_, int depth)
{
	struct tree_entries a, b;
	size_t i = 0, j = 0;
	if (depth > DEPTH_MAX)
		return;
	tree_read(l->s, old, &a);
	tree_read(l->s, new_, &b);
	while (i < a.nr || j < b.nr) {
		int d = i == a.nr ? 1 : j == b.nr ? -1 : tree_entry_cmp(&a.entry[i], &b.entry[j]);
		one_name(l, dir, d <= 0 ? &a.entry[i] : NULL, d >= 0 ? &b.entry[j] : NULL, depth);
		i += d <= 0;
		j += d >= 0;
	}
	tree_entries_release(&a);
	tree_entries_release(&b);
}

/* --- contents --------------------------------------------------------------------------------- */

static int64_t blob_size(struct source *s, const struct object_id *id, uint32_t mode)
{
	return mode ? session_object_size(s->session, id) : 0;
}

/* False when the file does not hold it, or it is more than @max: then nothing is read. */
static bool read_blob(struct source *s, const struct object_id *id, uint32_t mode, int64_t max,
		      struct buf *out)
{
	struct err err = ERR_INIT;
	enum object_type type;
	buf_reset(out);
	if (mode == 0)
		return true;
	return blob_size(s, id, mode) <= max &&
	       session_object(s->session, id, &type, out, &err) == 0 && type == OBJECT_BLOB;
}

void change_diff(struct source *s, const struct change *c, int context, struct arena *a,
		 struct text_diff *out)
{
	CLEANUP(buf_release) struct buf old = BUF_INIT, new_ = BUF_INIT;
	*out = (struct text_diff){ .binary = true };
	if (!read_blob(s, &c->old, c->old_mode, CHANGE_READ_MAX, &old) ||
	    !read_blob(s, &c->new_, c->new_mode, CHANGE_READ_MAX, &new_))
		return;
	const char *old_text = arena_strndup(a, buf_cstr(&old), old.len);
	const char *new_text = arena_strndup(a, buf_cstr(&new_), new_.len);
	diff_texts(old_text, old.len, new_text, new_.len, context, a, out);
}

int64_t change_larger(struct source *s, const struct change *c, int64_t max)
{
	int64_t old = blob_size(s, &c->old, c->old_mode), now = blob_size(s, &c->new_, c->new_mode),
		most = old > now ? old : now;
	return most > max ? most : 0;
}

static void count_change(struct source *s, struct change *c)
{
	struct arena a = ARENA_INIT;
	struct text_diff d;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (change_larger(s, c, COUNT_MAX)) {
		c->note = "large";
	} else if (!read_blob(s, &c->old, c->old_mode, COUNT_MAX, &b) ||
		   !read_blob(s, &c->new_, c->new_mode, COUNT_MAX, &b)) {
		c->note = "hash only";
	} else {
		change_diff(s, c, 0, &a, &d);
		c->counted = !d.binary;
		c->added = d.added;
		c->removed = d.removed;
		c->note = d.binary ? "binary" : NULL;
	}
	arena_release(&a);
}

/* --- lists ------------------------------------------------------------------------------------ */

/* The trees of the changed files, now and below. A missing tree is not an error: all changed
 * files may be removed, or new, or no file may differ. */
static bool snapshot_trees(struct source *s, uint64_t seq, struct object_id *tree,
			   struct object_id *under, char **repo)
{
	CLEANUP(json_release) json_t *o = source_body(s, seq);
	if (!o)
		return false;
	if (!object_parse(json_str(o, "tree", ""), tree))
		*tree = (struct object_id){ 0 };
	if (!object_parse(json_str(o, "under", ""), under))
		*under = (struct object_id){ 0 };
	if (repo)
		*repo = mem_strdup(json_str(o, "repo", ""));
	return true;
}

static void views_changes_finish(struct list *l, struct change **out)
{
	/* thousands would make the screen wait */
	for (size_t i = 0; i < l->nr && i < COUNT_FILES; i++)
		count_change(l->s, &l->change[i]);
	*out = l->nr ? arena_alloc(l->arena, l->nr * sizeof(**out)) : NULL;
	if (l->nr)
		memcpy(*out, l->change, l->nr * sizeof(**out));
	free(l->change);
}

static void views_changes_fill(struct source *s, const struct model_box *b, struct kept *k)
{
	struct list l = { .s = s, .arena = &k->arena };
	for (size_t i = 0; i < b->nr_snapshots; i++) {
		struct object_id tree, under;
		char *repo = NULL;
		if (snapshot_trees(s, b->snapshot[i].seq, &tree, &under, &repo))
			views_changes_walk(&l, repo, &under, &tree, 0);
		free(repo);
	}
	k->nr = l.nr;
	views_changes_finish(&l, &k->change);
}

static void fill_dry_run(struct source *s, uint64_t ended, struct kept *k)
{
	struct list l = { .s = s, .arena = &k->arena };
	CLEANUP(json_release) json_t *o = source_body(s, ended);
	const json_t *trees = json_object_get(o, "trees");
	for (size_t i = 0; i < json_array_size(trees); i++) {
		struct object_id tree, under;
		char *repo = NULL;
		uint64_t seq = (uint64_t)json_integer_value(json_array_get(trees, i));
		if (snapshot_trees(s, seq, &tree, &under, &repo))
			views_changes_walk(&l, strcmp(repo, ":home") == 0 ? "/home/agent" : repo,
					   &under, &tree, 0);
		free(repo);
	}
	k->nr = l.nr;
	views_changes_finish(&l, &k->change);
}

/* The list kept for @box and @key; *fresh when it has to be filled. */
static struct kept *views_changes_keep(struct source *s, uint64_t box, uint64_t key, bool *fresh)
{
	if (!s->changes) {
		s->changes = NEW(struct changes);
		s->changes_free = changes_release;
	}
	*fresh = false;
	for (size_t i = 0; i < KEPT; i++)
		if (s->changes->kept[i].box == box && s->changes->kept[i].key == key)
			return &s->changes->kept[i];
	struct kept *k = &s->changes->kept[s->changes->next++ % KEPT];
	arena_reset(&k->arena);
	k->key = key;
	k->box = box;
	*fresh = true;
	return k;
}

size_t changes_dry_run(struct source *s, uint64_t ended, struct change **out)
{
	bool fresh;
	struct kept *k = views_changes_keep(s, 0, ended, &fresh);
	if (fresh)
		fill_dry_run(s, ended, k);
	*out = k->change;
	return k->nr;
}

/* --- between two places ----------------------------------------------------------------------- */

enum { REPOS = 16, LOOK_BACK = 100000 };

/* Changes against the base as of event @seq: those of the newest snapshot of each layer. */
static void changes_at(struct list *l, uint64_t box, uint64_t seq)
{
	struct feed *f = NULL;
	struct event ev;
	struct err err = ERR_INIT;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	char *repos[REPOS];
	size_t nr = 0;
	const struct model_box *b = model_box(&l->s->model, box);
	size_t layers = 0;
	for (size_t i = 0; b && i < b->nr_snapshots; i++)
		layers += b->snapshot[i].seq != 0;
	layers = layers ? layers : 1;
	if (feed_new(&f, l->s->session, FEED_BOX, box, &err) < 0)
		return;
	feed_seek(f, seq + 1);
	for (int i = 0;
	     i < LOOK_BACK && nr < layers && nr < REPOS && feed_prev(f, &ev, &a, &err) == 1; i++) {
		struct object_id tree, under;
		char *repo = NULL;
		size_t known = 0;
		if (ev.kind == EV_SNAPSHOT_TAKEN && ev.box == box &&
		    snapshot_trees(l->s, ev.seq, &tree, &under, &repo)) {
			while (known < nr && strcmp(repos[known], repo) != 0)
				known++;
			if (known == nr) {
				views_changes_walk(l, repo, &under, &tree, 0);
				repos[nr++] = arena_strdup(l->arena, repo);
			}
		}
		free(repo);
		arena_reset(&a);
	}
	feed_free(&f);
}

static int views_changes_by_path(const void *x, const void *y)
{
	return strcmp(((const struct change *)x)->path, ((const struct change *)y)->path);
}

static void add_between(struct list *l, const char *path, const struct object_id *old,
			uint32_t old_mode, const struct object_id *new_, uint32_t new_mode)
{
	const struct tree_entry a = { .mode = old_mode, .id = *old },
				b = { .mode = new_mode, .id = *new_ };
	if (old_mode != new_mode || (old_mode && memcmp(old->b, new_->b, sizeof(old->b)) != 0))
		views_changes_add_change(l, path, old_mode ? &a : NULL, new_mode ? &b : NULL);
}

/* A path that only one of them has changed is the base's in the other. */
static void fill_between(struct source *s, uint64_t box, uint64_t from, uint64_t to, struct kept *k)
{
	struct list a = { .s = s, .arena = &k->arena }, b = { .s = s, .arena = &k->arena },
		    l = { .s = s, .arena = &k->arena };
	changes_at(&a, box, from);
	changes_at(&b, box, to);
	if (a.nr > 1)
		qsort(a.change, a.nr, sizeof(*a.change), views_changes_by_path);
	if (b.nr > 1)
		qsort(b.change, b.nr, sizeof(*b.change), views_changes_by_path);
	for (size_t i = 0, j = 0; i < a.nr || j < b.nr;) {
		int d = i == a.nr   ? 1
			: j == b.nr ? -1
				    : views_changes_by_path(&a.change[i], &b.change[j]);
		struct change only = d <= 0 ? a.change[i] : b.change[j],
			      then = d >= 0 ? b.change[j] : only;
		if (d == 0)
			add_between(&l, only.path, &only.new_, only.new_mode, &then.new_,
				    then.new_mode);
		else if (d < 0)
			add_between(&l, only.path, &only.new_, only.new_mode, &only.old,
				    only.old_mode);
		else
			add_between(&l, only.path, &only.old, only.old_mode, &only.new_,
				    only.new_mode);
		i += d <= 0;
		j += d >= 0;
	}
	free(a.change);
	free(b.change);
	k->nr = l.nr;
	views_changes_finish(&l, &k->change);
}

size_t changes_between(struct source *s, uint64_t box, uint64_t from, uint64_t to,
		       struct change **out)
{
	bool fresh;
	struct kept *k = views_changes_keep(s, box, from << 32 ^ to ^ UINT64_C(1) << 63, &fresh);
	if (fresh)
		fill_between(s, box, from, to, k);
	*out = k->change;
	return k->nr;
}

size_t changes_list(struct source *s, uint64_t box, struct change **out, struct arena *a)
{
	bool fresh;
	const struct model_box *b = model_box(&s->model, box);
	uint64_t key = 0;
	(void)a;
	*out = NULL;
	for (size_t i = 0; b && i < b->nr_snapshots; i++)
		key += b->snapshot[i].seq;
	if (key == 0)
		return 0;
	struct kept *k = views_changes_keep(s, box, key, &fresh);
	if (fresh)
		views_changes_fill(s, b, k);
	*out = k->change;
	return k->nr;
}

const char *change_counts(const struct change *c, struct arena *a)
{
	if (c->added && c->removed)
		return arena_printf(a, "+%u -%u", c->added, c->removed);
	return c->removed ? arena_printf(a, "-%u", c->removed) : arena_printf(a, "+%u", c->added);
}

int change_put_counts(struct area a, int row, int col, const struct change *c, struct arena *arena)
{
	if (!c->counted)
		return grid_put(a, row, col, ROLE_DIM, c->note ? c->note : "");
	if (c->added || !c->removed)
		col = grid_put(a, row, col, ROLE_ADD, arena_printf(arena, "+%u", c->added)) + 1;
	if (c->removed)
		col = grid_put(a, row, col, ROLE_DEL, arena_printf(arena, "-%u", c->removed)) + 1;
	return col - 1;
}

const char *changes_sum(const struct change *c, size_t nr, struct arena *a)
{
	uint64_t added = 0, removed = 0;
	if (nr == 0)
		return NULL;
	if (nr > COUNT_FILES)
		return arena_printf(a, "%zu files", nr);
	for (size_t i = 0; i < nr; i++) {
		added += c[i].added;
		removed += c[i].removed;
	}
	return arena_printf(a, "%zu %s +%" PRIu64 " -%" PRIu64, nr, nr == 1 ? "file" : "files",
			    added, removed);
}

const char *changes_total(const struct change *c, size_t nr, struct arena *a)
{
	const char *sum = changes_sum(c, nr, a);
	return sum ? arena_printf(a, "%s  since start", sum) : NULL;
}

bool change_contents(struct source *s, const struct change *c, struct buf *old, struct buf *new_)
{
	bool had = !object_is_null(&c->old), has = !object_is_null(&c->new_);
	return (had || has) && (!had || read_blob(s, &c->old, c->old_mode, TOOL_MAX, old)) &&
	       (!has || read_blob(s, &c->new_, c->new_mode, TOOL_MAX, new_));
}
