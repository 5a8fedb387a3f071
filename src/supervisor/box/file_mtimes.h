/* Times at which the files of a sandbox last changed, by its snapshots. A merge that writes the
 * files gives them these times (ws_plan_times). Worker thread. */
#ifndef SUPERVISOR_BOX_FILE_MTIMES_H
#define SUPERVISOR_BOX_FILE_MTIMES_H

#include "record/read/session.h"

struct changed {
	/* path in hex -> microseconds since the epoch, of the snapshot that found it changed
	 * last */
	json_t *us;
	/* the same for paths that a long list of changes does not name; 0 = all are named */
	int64_t many_us;
};
#define CHANGED_INIT ((struct changed){ 0 })

/* Reads the snapshot @seq (0 = the base, nothing is known) of @s and those before it, back to where
 * its box began. One whose text was redacted ends that: what only earlier ones name is not
 * known. */
NODISCARD int file_mtimes_read(struct changed *c, struct session *s, uint64_t seq, struct err *err);
/* @self: struct changed. 0 = not known. */
int64_t file_mtimes_when(void *self, const char *path, size_t len);
void file_mtimes_release(struct changed *c);

#endif
