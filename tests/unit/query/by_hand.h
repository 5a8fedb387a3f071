/* A session file changed by hand, as the sqlite3 shell would: what no recorder writes. */
#ifndef TEST_BY_HAND_H
#define TEST_BY_HAND_H

#include <sqlite3.h>

#include "tap.h"

static sqlite3 *open_rw(const char *path)
{
	sqlite3 *db = NULL;
	ok(sqlite3_open(path, &db) == SQLITE_OK, "%s is opened for writing", path);
	return db;
}

static void run(sqlite3 *db, const char *sql)
{
	char *why = NULL;
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		ok(false, "%s: %s", sql, why);
	sqlite3_free(why);
}

#endif
