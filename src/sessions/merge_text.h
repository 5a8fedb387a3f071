/* The result of a merge, for users. */
#ifndef SESSIONS_MERGE_TEXT_H
#define SESSIONS_MERGE_TEXT_H

#include "base/json.h"

/* "merged b1: 3 changes to /home/ann/repo, sandglass/s-7k2m9q", a line for each repository, then a
 * line for each kind of path that was left out, with the paths and what to do. @box may be NULL.
 * @body: of merge.done, merge.planned or merge.failed. No newline at the end. Bytes of paths as
 * they are: for a screen the caller makes them safe. */
void merge_text(const json_t *body, const char *box, bool dry, struct buf *out);
/* "path (why), path (why) and 3 more": the conflicts. */
void merge_conflicts(const json_t *body, struct buf *out);
/* @body: of merge.undone. "merge #152 undone; branch sandglass/my deleted". */
void merge_undone_text(const json_t *body, struct buf *out);
/* A dry run is compared with the files that an interrupted merge has left: "changes of an
 * interrupted merge of a, b are still there" and what to do, in two lines. Nothing if there is
 * none. @result: has "interrupted". @session: may be NULL. */
void merge_interrupted_text(const json_t *result, const char *session, struct buf *out);
/* Only the temporary files that a killed merge had left, and their fate; nothing if there were
 * none. */
void merge_leftover_text(const json_t *body, struct buf *out);

#endif
