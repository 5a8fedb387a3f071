/* A session as a golden list: what its script, its agents and its boxes did, without what differs
 * from run to run (times, numbers of events, hashes, output). Lines are grouped by who did it:
 * first the script, then its concurrent tasks and its agents in the order of their names and texts,
 * then the files of each box that are not as they were. So two runs of the same script give the
 * same list, however its tasks came to be interleaved. Pure but for reading the session. */
#ifndef CLI_GOLDEN_H
#define CLI_GOLDEN_H

#include "base/buf.h"
#include "record/read/session.h"

/* Appends the list of @s, each line ended. */
NODISCARD int golden_list(struct session *s, struct buf *out, struct err *err);

/* The first line in which two lists differ, from 1; 0: in none. */
size_t golden_differ(const char *a, const char *b);
/* Line @nr of @text (from 1) without its end; NULL past the last. Returns owned. */
char *golden_line(const char *text, size_t nr);

#endif
