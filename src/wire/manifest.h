/* The contents of a directory, as one run of bytes: how the two sides of a mirror
 * (mirror.h) compare. The guest's tool makes it beside the files, the supervisor beside
 * their copy.
 *
 *   1. Entries in order: a directory before its entries, names in one directory by their bytes. The
 *      root itself is not listed.
 *   2. Entry: u8 kind (enum manifest_kind), u32 mode (07777 bits), u64 size (files), u64 time of
 *      change of the bytes, u64 of the inode (ns since 1970), u64 inode number, str path relative
 *      to the root, str target of a symbolic link (else ""). Numbers and str as in wire/guest.h.
 *   3. A path that cannot be listed (a name above 16 KiB, an unreadable directory) ends the making
 *      with an error. */
#ifndef WIRE_MANIFEST_H
#define WIRE_MANIFEST_H

#include "base/buf.h"
#include "base/err.h"

enum manifest_kind {
	MANIFEST_FILE = 1,
	MANIFEST_DIR,
	MANIFEST_LINK,
	MANIFEST_FIFO,
	MANIFEST_OTHER
};
enum { MANIFEST_MAX = 2000000, MANIFEST_DEPTH = 400 };

struct manifest_entry {
	enum manifest_kind kind;
	uint32_t mode;
	uint64_t size, mtime_ns, ctime_ns, ino;
	const char *path, *target; /* borrowed; terminated */
};

void manifest_put(struct buf *out, const struct manifest_entry *e);
/* Walks <bytes, len>: @pos starts at 0. 1 and @e (borrows), 0 at the end, -1 where a rule is
 * broken: order, a path that leads nowhere, too many. */
struct manifest_at {
	size_t pos, nr;
	const char *last; /* path before */
};
int manifest_next(const char *bytes, size_t len, struct manifest_at *at, struct manifest_entry *e,
		  struct err *err);
/* Rule 1's order of two paths. */
int manifest_cmp(const char *a, const char *b);
/* Appends what lies below @root (borrowed). */
NODISCARD int manifest_make(int root, struct buf *out, struct err *err);
/* Fills all but path and target. */
struct stat;
void manifest_stat(struct manifest_entry *e, const struct stat *st);

#endif
