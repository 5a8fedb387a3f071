/* Between the commands that change a session that has ended: merge, undo, redact,
 * label. */
#ifndef SESSIONS_OFFLINE_PRIV_H
#define SESSIONS_OFFLINE_PRIV_H

#include "record/record.h"
#include "sessions/unmerged.h"

/* A session that is written once more. */
struct again {
	struct cmd_ctx *ctx;
	struct loop *loop;
	struct record *record;
	struct session *read;
	struct unmerged u;
	uint64_t cause;
	json_t *who;
	size_t removed;	    /* by a redaction, in its callback */
	char *catalog_left; /* record_catalog_left; owned */
	bool done;
};

/* Opens the session for reading. */
NODISCARD int again_open(struct again *g, struct cmd_ctx *ctx, const char *path, struct err *err);
/* Opens it for writing too, and records the command. */
NODISCARD int again_write(struct again *g, struct err *err);
/* Waits until everything up to now is durable. */
NODISCARD int again_settle(struct again *g, struct err *err);
/* Appends a merge.undone for each body of merge_recover's @list, and names them on ctx->err. */
void again_recovered(struct again *g, const json_t *list);
/* Closes all of it. @rc: 0, or -1 with @err, which is printed. Returns the exit status. */
int again_finish(struct again *g, int rc, struct err *err);

#endif
