/* The last verdicts of `verify`, one line a session in the user's state directory: "ID SIZE
 * MTIME_US WORD". A verdict counts only while the session's file keeps its size and time. It is
 * a memory, not a proof: `verify` reads the file. */
#ifndef CATALOG_VERDICTS_H
#define CATALOG_VERDICTS_H

#include "sessions/sessions.h"

struct verdicts;
/* Never fails: without a file there are no verdicts. */
struct verdicts *verdicts_open(void) NODISCARD;
void verdicts_close(struct verdicts **v);
/* "verified", "damaged", "incomplete", "failed"; NULL: not verified since it changed. Borrowed. */
const char *verdicts_find(const struct verdicts *v, const struct session_file *f);
/* Replaces the verdict of the file at @path; @word is one of those above. */
NODISCARD int verdicts_note(const char *path, const char *word, struct err *err);

#endif
