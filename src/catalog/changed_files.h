/* The files that a session's snapshots changed: by them, commands about one file leave sessions out
 * before they are opened. */
#ifndef CATALOG_CHANGED_FILES_H
#define CATALOG_CHANGED_FILES_H

#include "base/json.h"
#include "record/read/session.h"

/* An array of paths below their repositories, once each; null: unknown, or too many to keep.
 * Returns owned. */
json_t *session_changed_files(struct session *s) NODISCARD;

#endif
