#include "ui/rows/files.h"

#include <stdlib.h>
#include <string.h>

enum { LAYERS = 16, LOOK_BACK = 100000 };

struct layer {
	const char *repo;
	struct object_id tree, under, base;
};

struct layers {
	struct layer item[LAYERS];
	size_t nr;
};

/* --- which trees ------------------------------------------------------------------------------ */

static void views_files_take_snapshot(struct layer *l, const json_t *o)
{
	if (!object_parse(json_str(o, "tree", ""), &l->tree))
		l->tree = (struct object_id){ 0 };
	if (!object_parse(json_str(o, "under", ""), &l->under))
		l->under = (struct object_id){ 0 };
}

/* The newest snapshot of each layer at or before @at. */
static void look_back(struct source *s, uint64_t box, uint64_t at, struct layers *ls)
{
	struct feed *f = NULL;
	struct event ev;
	struct err err = ERR_INIT;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	bool seen[LAYERS] = { false };
	size_t left = ls->nr;
	if (feed_new(&f, s->session, FEED_BOX, box, &err) < 0)
		return;
	feed_seek(f, at + 1);
	for (int i = 0; i < LOOK_BACK && left && feed_prev(f, &ev, &a, &err) == 1; i++) {
		bool is = ev.kind == EV_SNAPSHOT_TAKEN && ev.box == box && ev.body;
		CLEANUP(json_release)
		json_t *o = is ? json_parse(ev.body, ev.len, "snapshot", &err) : NULL;
		for (size_t k = 0; o && k < ls->nr; k++)
			if (!seen[k] && strcmp(ls->item[k].repo, json_str(o, "repo", "")) == 0) {
				views_files_take_snapshot(&ls->item[k], o);
				seen[k] = true;
				left--;
			}
		arena_reset(&a);
	}
	feed_free(&f);
}

static void views_files_layers_at(struct source *s, uint64_t box, uint64_t at, struct layers *ls)
{
	const struct model_box *b = model_box(&s->model, box);
	*ls = (struct layers){ .nr = 0 };
	for (size_t i = 0; b && i < b->nr_snapshots && ls->nr < LAYERS; i++) {
		struct layer *l = &ls->item[ls->nr++];
		CLEANUP(json_release)
		json_t *base = b->snapshot[i].base ? source_body(s, b->snapshot[i].base) : NULL;
		CLEANUP(json_release)
		json_t *snap =
			!at && b->snapshot[i].seq ? source_body(s, b->snapshot[i].seq) : NULL;
		*l = (struct layer){ .repo = b->snapshot[i].repo };
		if (!object_parse(json_str(base, "tree", ""), &l->base))
			l->base = (struct object_id){ 0 };
		if (snap)
			views_files_take_snapshot(l, snap);
	}
	if (at)
		look_back(s, box, at, ls);
}

/* The layer that holds @dir, and the rest of the path in it. */
static const struct layer *views_files_layer_of(const struct layers *ls, const char *dir,
						const char **below)
{
	for (size_t i = 0; i < ls->nr; i++) {
		size_t n = strlen(ls->item[i].repo);
		if (n && strncmp(dir, ls->item[i].repo, n) == 0 && (!dir[n] || dir[n] == '/')) {
			*below = dir + n + (dir[n] == '/');
			return &ls->item[i];
		}
	}
	*below = dir;
	for (size_t i = 0; i < ls->nr; i++)
		if (!*ls->item[i].repo)
			return &ls->item[i];
	return NULL;
}

/* --- one directory ---------------------------------------------------------------------------- */

static bool views_files_same(const struct tree_entry *a, const struct tree_entry *b)
{
	return a->mode == b->mode && memcmp(a->id.b, b->id.b, sizeof(a->id.b)) == 0;
}

static char views_files_op_of(const struct tree_entry *now, const struct tree_entry *was)
{
	if (!was)
		return 'A';
	if (!now)
		return 'D';
	if (views_files_same(now, was))
		return ' ';
	if (tree_entry_is_dir(now) && tree_entry_is_dir(was))
		return 'M';
	if ((now->mode & TREE_MODE_KIND) != (was->mode & TREE_MODE_KIND))
		return 'T';
	return memcmp(now->id.b, was->id.b, sizeof(now->id.b)) ? 'M' : 'm';
}

struct adding {
	struct files *out;
	size_t cap;
	struct arena *a;
};

/* @tree, @under and @base: the name in each of them, or NULL. */
static void views_files_add(struct adding *to, const struct tree_entry *tree,
			    const struct tree_entry *under, const struct tree_entry *base)
{
	const struct tree_entry *was = base ? base : under,
				*now = tree    ? tree
				       : under ? NULL
					       : base,
				*any = now ? now : was;
	struct files *f = to->out;
	struct file_entry e = { .name = arena_strndup(to->a, any->name, any->len),
				.dir = tree_entry_is_dir(any),
				.mode = any->mode,
				.id = any->id };
	e.op = tree || under ? views_files_op_of(tree, under) : ' ';
	if (e.op == 'A' && base) /* a directory of which only what was touched is known */
		e.op = 'M';
	if (was) {
		e.was = was->id;
		e.was_mode = was->mode;
	}
	GROW(f->entry, f->nr, to->cap);
	f->entry[f->nr++] = e;
}

static int folders_first(const void *x, const void *y)
{
	const struct file_entry *a = x, *b = y;
	return a->dir != b->dir ? (a->dir ? -1 : 1) : strcmp(a->name, b->name);
}

static void views_files_merge(struct source *s, const struct layer *l, const char *dir,
			      struct adding *to)
{
	const struct object_id root[3] = { l->tree, l->under, l->base };
	struct tree_entries e[3];
	size_t at[3] = { 0 };
	for (int i = 0; i < 3; i++) {
		struct object_id id = tree_at_path(s, &root[i], dir);
		to->out->there |= !object_is_null(&id);
		tree_read(s, &id, &e[i]);
	}
	for (;;) {
		const struct tree_entry *first = NULL, *of[3] = { NULL };
		for (int i = 0; i < 3; i++)
			if (at[i] < e[i].nr &&
			    (!first || tree_entry_cmp(&e[i].entry[at[i]], first) < 0))
				first = &e[i].entry[at[i]];
		if (!first)
			break;
		for (int i = 0; i < 3; i++)
			if (at[i] < e[i].nr && tree_entry_cmp(&e[i].entry[at[i]], first) == 0)
				of[i] = &e[i].entry[at[i]++];
		views_files_add(to, of[0], of[1], of[2]);
	}
	for (int i = 0; i < 3; i++)
		tree_entries_release(&e[i]);
}

void files_list(struct source *s, uint64_t box, uint64_t at, const char *dir, struct arena *a,
		struct files *out)
{
	struct layers ls;
	const char *below;
	struct adding to = { .out = out, .a = a };
	*out = (struct files){ .there = !*dir };
	views_files_layers_at(s, box, at, &ls);
	const struct layer *l = views_files_layer_of(&ls, dir, &below);
	if (l) {
		out->base = !object_is_null(&l->base);
		views_files_merge(s, l, below, &to);
	}
	/* repositories of their own below the workspace */
	for (size_t i = 0; !*dir && i < ls.nr; i++)
		if (*ls.item[i].repo && ls.item[i].repo[0] != ':') {
			GROW(out->entry, out->nr, to.cap);
			out->entry[out->nr++] =
				(struct file_entry){ .name = arena_strdup(a, ls.item[i].repo),
						     .dir = true,
						     .op = ' ',
						     .mode = TREE_MODE_DIR };
			out->base = true;
		}
	if (out->nr > 1)
		qsort(out->entry, out->nr, sizeof(*out->entry), folders_first);
	struct file_entry *kept = out->nr ? arena_alloc(a, out->nr * sizeof(*kept)) : NULL;
	if (out->nr)
		memcpy(kept, out->entry, out->nr * sizeof(*kept));
	free(out->entry);
	out->entry = kept;
}

uint64_t files_state(const struct source *s, uint64_t box)
{
	const struct model_box *b = model_box(&s->model, box);
	uint64_t of = box;
	for (size_t i = 0; b && i < b->nr_snapshots; i++)
		of = (of * UINT64_C(1099511628211) ^ b->snapshot[i].seq) * UINT64_C(1099511628211) ^
		     b->snapshot[i].base;
	return of;
}

bool files_find(struct source *s, uint64_t box, uint64_t at, const char *path, struct arena *a,
		struct file_entry *out)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct files f;
	files_list(s, box, at, slash ? arena_strndup(a, path, (size_t)(slash - path)) : "", a, &f);
	for (size_t i = 0; i < f.nr; i++)
		if (strcmp(f.entry[i].name, name) == 0) {
			*out = f.entry[i];
			return true;
		}
	return false;
}

bool files_read(struct source *s, const struct object_id *id, struct buf *out)
{
	struct err err = ERR_INIT;
	enum object_type type;
	buf_reset(out);
	return !object_is_null(id) && session_object_size(s->session, id) <= FILES_READ_MAX &&
	       session_object(s->session, id, &type, out, &err) == 0 && type == OBJECT_BLOB;
}

/* --- one path of one snapshot ----------------------------------------------------------------- */

struct object_id files_blob(struct source *s, const char *hex, const char *path)
{
	struct object_id root, none = { { 0 } };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct tree_entries e;
	if (!object_parse(hex, &root))
		return none;
	CLEANUP(free_ptr)
	char *dir = slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup("");
	struct object_id at = tree_at_path(s, &root, dir);
	tree_read(s, &at, &e);
	const struct tree_entry *found = tree_named(&e, name, strlen(name));
	struct object_id id = found && !tree_entry_is_dir(found) ? found->id : none;
	tree_entries_release(&e);
	return id;
}

bool files_repo(struct source *s, uint64_t box, uint64_t at, const char *path, char **repo_out,
		char **below_out)
{
	struct layers ls;
	const char *below;
	views_files_layers_at(s, box, at, &ls);
	const struct layer *l = views_files_layer_of(&ls, path, &below);
	if (!l)
		return false;
	*repo_out = mem_strdup(l->repo);
	*below_out = mem_strdup(below);
	return true;
}
