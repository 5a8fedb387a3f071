/* Is the schema of a file that of a session? Each of its tables, indexes, triggers, and views must
 * be defined as in schema/, or as an earlier version defined it; only blanks and comments may
 * differ. Definitions may be missing: a query of a missing table fails, and verify_session looks
 * for the rest. Any thread. */
#ifndef RECORD_READ_SCHEMA_CHECK_H
#define RECORD_READ_SCHEMA_CHECK_H

#include <sqlite3.h>
#include <stdbool.h>

bool schema_is_ours(sqlite3 *db); /* false also if the schema can't be read */

#endif
