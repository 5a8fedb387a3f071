#include "ui/rows/gittree.h"

#include <stdlib.h>
#include <string.h>

int tree_entry_cmp(const struct tree_entry *a, const struct tree_entry *b)
{
	int d = memcmp(a->name, b->name, a->len < b->len ? a->len : b->len);
	return d ? d : (a->len > b->len) - (a->len < b->len);
}

static int gittree_by_name(const void *x, const void *y)
{
	return tree_entry_cmp(x, y);
}

void tree_parse(struct tree_entries *e)
{
	const char *p = e->raw.data, *end = p + e->raw.len;
	while (p && p < end) {
		const char *space = memchr(p, ' ', (size_t)(end - p));
		const char *nul = space ? memchr(space, 0, (size_t)(end - space)) : NULL;
		if (!nul || end - nul < 21)
			break;
		struct tree_entry en = { .name = space + 1, .len = (size_t)(nul - space - 1) };
		en.mode = (uint32_t)strtoul(p, NULL, 8);
		memcpy(en.id.b, nul + 1, sizeof(en.id.b));
		GROW(e->entry, e->nr, e->cap);
		e->entry[e->nr++] = en;
		p = nul + 21;
	}
	if (e->nr > 1)
		qsort(e->entry, e->nr, sizeof(*e->entry), gittree_by_name);
}

void tree_read(struct source *s, const struct object_id *id, struct tree_entries *e)
{
	struct err err = ERR_INIT;
	enum object_type type;
	*e = (struct tree_entries){ 0 };
	if (!object_is_null(id) && session_object(s->session, id, &type, &e->raw, &err) == 0 &&
	    type == OBJECT_TREE)
		tree_parse(e);
}

void tree_entries_release(struct tree_entries *e)
{
	free(e->entry);
	buf_release(&e->raw);
}

const struct tree_entry *tree_named(const struct tree_entries *e, const char *name, size_t len)
{
	const struct tree_entry key = { .name = name, .len = len };
	return e->nr ? bsearch(&key, e->entry, e->nr, sizeof(*e->entry), gittree_by_name) : NULL;
}

bool tree_entry_is_dir(const struct tree_entry *e)
{
	return e && (e->mode & TREE_MODE_KIND) == TREE_MODE_DIR;
}

struct object_id tree_at_path(struct source *s, const struct object_id *root, const char *path)
{
	struct object_id id = *root;
	while (*path && !object_is_null(&id)) {
		size_t len = strcspn(path, "/");
		struct tree_entries e;
		tree_read(s, &id, &e);
		const struct tree_entry *found = tree_named(&e, path, len);
		id = tree_entry_is_dir(found) ? found->id : (struct object_id){ 0 };
		tree_entries_release(&e);
		path += len + (path[len] == '/');
	}
	return id;
}
