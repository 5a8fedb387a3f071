/* A commit as git keeps it in a file of its own below objects/ (gitformat-loose(5)): a zlib stream
 * of "commit LENGTH\0" and the commit's text. Made in a sandbox: nothing of it is trusted but its
 * author's words. Pure. */
#ifndef SESSIONS_LOOSE_COMMIT_H
#define SESSIONS_LOOSE_COMMIT_H

#include <stdint.h>

#include "base/buf.h"

struct loose_commit {
	char *author, *email, *message; /* owned; the message without blank lines at its end */
	int64_t ts_us;			/* when the author made it */
};

/* False: another kind of file, a text of more than 1 MiB, or an empty author or message. */
bool loose_commit_read(struct loose_commit *out, const struct buf *file);
void loose_commit_release(struct loose_commit *c);

#endif
