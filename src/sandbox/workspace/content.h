/* Reads one file of a tree that another process may be writing to, as bytes and as a name. Any
 * thread.
 *
 * Files are read by descriptor, never mapped (a truncation would be a signal), and checked again
 * afterwards: a file that changed meanwhile is read once more, then marked torn. Up to keep_max
 * bytes are returned; more, or hash-only content, goes through a fixed buffer. */
#ifndef SANDBOX_WORKSPACE_CONTENT_H
#define SANDBOX_WORKSPACE_CONTENT_H

#include <sys/stat.h>

#include "sandbox/workspace/state.h"

struct content_rule {
	uint64_t keep_max;
	bool hash_only;
};

/* State of an open regular file. @bytes: its content if kept (out->flags has no WS_HASH_ONLY), else
 * empty. @st_out: the stat of the content read. An unreadable file is a state, not an error. */
void content_file(int fd, struct content_rule rule, struct ws_state *out, struct buf *bytes,
		  struct stat *st_out);
/* State of the symbolic link @name in @dir; @bytes is its target. */
void content_link(int dir, const char *name, struct ws_state *out, struct buf *bytes);
/* State of an entry without content, from its stat. */
void content_other(const struct stat *st, struct ws_state *out);

#endif
