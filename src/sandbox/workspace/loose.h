/* A git object as git keeps it in a file of its own below objects/ (gitformat-loose(5)): a zlib
 * stream of "TYPE LENGTH\0" and the content. Made in a sandbox: nothing of it is trusted. Pure. */
#ifndef SANDBOX_WORKSPACE_LOOSE_H
#define SANDBOX_WORKSPACE_LOOSE_H

#include "base/buf.h"
#include "record/read/object.h"

enum loose_type { LOOSE_COMMIT, LOOSE_TREE, LOOSE_BLOB, LOOSE_TAG };

/* False: another kind of file, or a content of more than @max bytes or of another length than it
 * states. @out: the content. */
bool loose_read(const struct buf *file, size_t max, enum loose_type *type_out, struct buf *out);

/* Does @file begin as a blob? Its content is not read. */
bool loose_is_blob(const struct buf *file);

/* The id of a file named "objects/xx/yyyy...": @path is what follows "objects/". */
bool loose_name(const char *path, size_t len, struct object_id *out);

struct loose_commit {
	struct object_id tree;
	char *author, *email, *message; /* owned; the message without blank lines at its end */
	int64_t ts_us;			/* when the author made it */
	struct object_id *parent;	/* owned */
	size_t nr, cap;
};

/* A time in a commit or log, between 1970 and the year 36812. */
int64_t loose_time_us(const char *seconds);

/* False: @text has no tree. Author and message are NULL where it has none. */
bool loose_commit_read(struct loose_commit *out, const struct buf *text);
void loose_commit_release(struct loose_commit *c);

#endif
