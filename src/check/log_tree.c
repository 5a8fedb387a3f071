/* The files of all boxes from two sides: the newest recorded tree, and every recorded change
 * applied in order. Both as text over the same paths, so that a check can compare them. */
#include <stdlib.h>
#include <string.h>

#include "check/log_ops.h"
#include "exchange/changes.h"
#include "base/mem.h"
#include "wire/event.h"

/* One layer of a box: what changes say (path -> oid), and its newest snapshot. */
struct layer {
	uint64_t box;
	char *repo;
	json_t *files;			    /* path as compact JSON -> oid, "" when it went */
	json_t *base;			    /* the same before its first change */
	struct object_id tree[2], under[2]; /* of the workspace, of its .git */
};
struct layers {
	struct layer *item;
	size_t nr, cap;
};

static struct layer *log_tree_layer_of(struct layers *l, uint64_t box, const char *repo)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->item[i].box == box && !strcmp(l->item[i].repo, repo))
			return &l->item[i];
	GROW(l->item, l->nr, l->cap);
	l->item[l->nr] = (struct layer){
		.box = box, .repo = mem_strdup(repo), .files = json_object(), .base = json_object()
	};
	return &l->item[l->nr++];
}

static void log_tree_layers_release(struct layers *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		free(l->item[i].repo);
		json_decref(l->item[i].files);
		json_decref(l->item[i].base);
	}
	free(l->item);
}

static char *log_tree_path_key(const json_t *path)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	json_get_bytes(path, &b);
	char *hex = NULL;
	struct buf out = BUF_INIT;
	hex_append(&out, b.data, b.len); /* any bytes: a path need not be text */
	hex = buf_take(&out);
	return hex;
}

static int log_tree_take_snapshot(struct layers *l, struct session *s, const struct event *ev,
				  struct err *err)
{
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", err) : NULL, *all = NULL;
	json_t *c;
	size_t i;
	if (!body)
		return err_set(err, ERR_UNSUPPORTED, "snapshot #%llu was redacted",
			       (unsigned long long)ev->seq);
	if (snapshot_changes(s, body, &all, err) < 0)
		return err_wrap(err, "changes of #%llu", (unsigned long long)ev->seq);
	struct layer *at = log_tree_layer_of(l, ev->box, json_str(body, "repo", ""));
	json_array_foreach(all, i, c)
	{
		const char *op = json_str(c, "op", "");
		if (!strcmp(op, "m"))
			continue; /* only its mode */
		CLEANUP(free_ptr) char *key = log_tree_path_key(json_object_get(c, "path"));
		if (!json_object_get(at->base, key))
			json_put_str(at->base, key, json_str(json_object_get(c, "was"), "oid", ""));
		if (*op == 'D' || *op == 'T' || json_str(c, "oid", NULL))
			json_put_str(at->files, key, *op == 'D' ? "" : json_str(c, "oid", ""));
	}
	static const char *const keys[] = { "tree", "under", "git", "git_under" };
	struct object_id *const to[] = { &at->tree[0], &at->under[0], &at->tree[1], &at->under[1] };
	for (size_t k = 0; k < ARRAY_LEN(keys); k++)
		if (!object_parse(json_str(body, keys[k], ""), to[k]))
			*to[k] = (struct object_id){ { 0 } };
	return 0;
}

static int log_tree_gather(struct session *s, struct layers *l, struct err *err)
{
	struct feed *feed;
	struct event ev;
	struct arena arena = ARENA_INIT;
	int rc;
	if (feed_new(&feed, s, FEED_ALL, 0, err) < 0)
		return -1;
	while ((rc = feed_next(feed, &ev, &arena, 0, err)) > 0) {
		if (ev.kind == EV_SNAPSHOT_TAKEN && log_tree_take_snapshot(l, s, &ev, err) < 0) {
			rc = -1;
			break;
		}
		arena_reset(&arena);
	}
	feed_free(&feed);
	arena_release(&arena);
	return rc < 0 ? -1 : 0;
}

/* --- one path in a recorded tree -------------------------------------------------------------- */

/* The entry @name of a raw tree: "mode name NUL oid" ... */
static bool log_tree_entry(const struct buf *raw, const char *name, size_t len,
			   struct object_id *out, bool *folder)
{
	const char *p = raw->data, *end = p + raw->len;
	while (p < end) {
		const char *blank = memchr(p, ' ', (size_t)(end - p));
		const char *nul = blank ? memchr(blank, 0, (size_t)(end - blank)) : NULL;
		if (!nul || end - nul < 21)
			return false;
		if ((size_t)(nul - blank - 1) == len && !memcmp(blank + 1, name, len)) {
			*folder = *p == '4';
			memcpy(out->b, nul + 1, sizeof(out->b));
			return true;
		}
		p = nul + 21;
	}
	return false;
}

static bool log_tree_lookup(struct session *s, const struct object_id *root, const struct buf *path,
			    struct object_id *out)
{
	CLEANUP(buf_release) struct buf raw = BUF_INIT;
	struct object_id at = *root;
	const char *p = path->data, *end = p + path->len;
	bool folder;
	while (p <= end) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		size_t len = (size_t)((slash ? slash : end) - p);
		enum object_type type;
		struct err none = ERR_INIT;
		if (object_is_null(&at) || session_object(s, &at, &type, &raw, &none) < 0 ||
		    type != OBJECT_TREE || !log_tree_entry(&raw, p, len, &at, &folder))
			return false;
		if (!slash) {
			/* its files have paths of their own */
			*out = folder ? (struct object_id){ { 0 } } : at;
			return true;
		}
		p = slash + 1;
	}
	return false;
}

/* The snapshot's object at a changed path: its own entry, else the one below if the changes say
 * that the file exists. Its trees have neither if the file is again as in the base. */
static const char *final_oid(struct session *s, const struct layer *l, const struct buf *path,
			     const char *folded, const char *first, char hex[41])
{
	struct object_id id;
	bool git = path->len >= 5 && !memcmp(path->data, ".git/", 5);
	if (!log_tree_lookup(s, &l->tree[git], path, &id)) {
		if (!log_tree_lookup(s, &l->under[git], path, &id))
			return first;
		if (!*folded)
			return "";
	}
	object_hex(&id, hex);
	return object_is_null(&id) ? "" : hex;
}

/* Numbers of boxes differ from run to run, their names do not. */
static char *log_tree_box_name(struct session *s, uint64_t box)
{
	struct arena arena = ARENA_INIT;
	struct err none = ERR_INIT;
	struct event ev;
	char *name = NULL;
	if (session_event(s, box, &ev, &arena, &none) == 0 && ev.body) {
		CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "event", &none);
		name = mem_strdup(json_str(body, "name", "box"));
	}
	arena_release(&arena);
	return name ? name : mem_printf("%llu", (unsigned long long)box);
}

static void put_layer(struct session *s, const struct layer *l, bool rebuild, struct buf *out)
{
	CLEANUP(free_ptr) char *name = log_tree_box_name(s, l->box);
	const char *key;
	json_t *v;
	json_object_foreach(l->files, key, v)
	{
		char hex[41];
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		size_t len = strlen(key) / 2;
		char *bytes = mem_calloc(len + 1, 1);
		hex_parse(key, strlen(key), bytes, len);
		buf_append(&path, bytes, len);
		free(bytes);
		const char *folded = json_string_value(v),
			   *oid = rebuild ? folded
					  : final_oid(s, l, &path, folded,
						      json_str(l->base, key, ""), hex);
		if (!*oid)
			continue;
		buf_printf(out, "%s %s %s ", name, *l->repo ? l->repo : ".", oid);
		buf_append(out, path.data, path.len);
		buf_putc(out, '\n');
	}
}

int log_tree(struct session *s, bool rebuild, struct buf *out, struct err *err)
{
	struct layers l = { 0 };
	int rc = log_tree_gather(s, &l, err);
	for (size_t i = 0; rc == 0 && i < l.nr; i++)
		put_layer(s, &l.item[i], rebuild, out);
	log_tree_layers_release(&l);
	return rc;
}
