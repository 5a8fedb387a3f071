/* How a second run of a recorded command compares with the first: the same words on the screen and
 * the command line. Paths are bytes as they were recorded: they go through a sanitizer before a
 * user sees them. */
#ifndef PHRASE_REPEATNE_H
#define PHRASE_REPEATNE_H

#include "base/json.h"

/* From the body of redo.ended: status, streams, files, each a line with its line break. */
void repeat_lines(const json_t *ended, struct buf *out);
/* From the body of redo.started: what the record does not hold, "values of the environment,
 * standard input"; "" nothing. */
void repeat_lines_lacks(const json_t *started, struct buf *out);

#endif
