/* Reading one file of a tree that somebody else may be writing to, as bytes and as a name. Any
 * thread.
 *
 * Files are read by descriptor, never mapped (a truncation would be a signal), and looked at again
 * afterwards: what changed meanwhile is read once more, then marked torn. Up to keep_max bytes are
 * handed out; more, or what is hash only, goes through a fixed buffer. */
#ifndef SANDBOX_WORKSPACE_CONTENT_H
#define SANDBOX_WORKSPACE_CONTENT_H

#include <sys/stat.h>

#include "sandbox/workspace/state.h"

struct content_rule {
	uint64_t keep_max;
	bool hash_only;
};

/* State of an open regular file. @bytes: its content if kept (out->flags has no WS_HASH_ONLY), else
 * empty. @st_out: the stat that belongs to what was read. An unreadable file is a state, not an
 * error. */
void content_file(int fd, struct content_rule rule, struct ws_state *out, struct buf *bytes,
		  struct stat *st_out);
/* State of the symbolic link @name in @dir; @bytes is its target. */
void content_link(int dir, const char *name, struct ws_state *out, struct buf *bytes);
/* State of what has no content, from its stat. */
void content_other(const struct stat *st, struct ws_state *out);

#endif
