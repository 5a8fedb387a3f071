/* Git's tree objects as the record holds them: one level at a time, by name. */
#ifndef UI_ROWS_GITTREE_H
#define UI_ROWS_GITTREE_H

#include "base/buf.h"
#include "ui/model/source.h"

enum { TREE_MODE_DIR = 0040000, TREE_MODE_LINK = 0120000, TREE_MODE_KIND = 0170000 };

struct tree_entry {
	const char *name; /* bytes, ended by NUL */
	size_t len;
	uint32_t mode;
	struct object_id id;
};

struct tree_entries {
	struct tree_entry *entry;
	size_t nr, cap;
	struct buf raw; /* names borrow from it */
};

/* The entries of @e->raw (each "MODE NAME\0" and 20 bytes), by name; a truncated entry is left
 * out. */
void tree_parse(struct tree_entries *e);
/* Empty when the record does not hold it (or @id is the null id). */
void tree_read(struct source *s, const struct object_id *id, struct tree_entries *e);
void tree_entries_release(struct tree_entries *e);
int tree_entry_cmp(const struct tree_entry *a, const struct tree_entry *b);
/* NULL */
const struct tree_entry *tree_named(const struct tree_entries *e, const char *name, size_t len);
bool tree_entry_is_dir(const struct tree_entry *e); /* NULL: no */
/* The tree at @path ("" itself, no slash at its ends) below @root; the null id when there is
 * none. */
struct object_id tree_at_path(struct source *s, const struct object_id *root, const char *path);

#endif
