/* The readable views of schema/views.sql as temporary ones of a connection: those in a file are not
 * used, because a foreign file can make them say anything, and SQLite refuses most functions in a
 * schema that is not trusted. */
#ifndef QUERY_VIEWS_H
#define QUERY_VIEWS_H

#include "base/err.h"

/* @db: struct sqlite3 *, also read-only. May be called again. */
NODISCARD int views_make(void *db, struct err *err);

#endif
