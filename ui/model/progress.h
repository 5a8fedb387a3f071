/* The progress of a command, from its last printed line: "[12/47]", "(12/47)", "12 of 47",
 * "45%". These are bytes of a sandbox: they are shown, and nothing acts on them. */
#ifndef UI_PROGRESS_H
#define UI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: the text says nothing of the kind. Of several in the last line, the last. */
bool progress_parse(const char *text, size_t len, int64_t *done, int64_t *total);

#endif
