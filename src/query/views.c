#include "query/views.h"

#include <sqlite3.h>
#include <string.h>

#include "base/mem.h"

/* The path is relative to the top of the tree, where make runs. */
__asm__(".pushsection .rodata\nquery_views_text:\n.incbin \"schema/views.sql\"\n.byte 0\n.popsection\n");
extern const char query_views_text[] __attribute__((visibility("hidden")));

static const char views_create_sql[] = "CREATE VIEW ";

static int views_one(sqlite3 *db, const char *from, size_t len, struct err *err)
{
	CLEANUP(free_ptr)
	char *sql = mem_printf("CREATE TEMP VIEW IF NOT EXISTS %.*s", (int)len, from);
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : err_set(err, ERR_IO, "can't create the views: %s", sqlite3_errmsg(db));
}

static int views_all(sqlite3 *db, struct err *err)
{
	for (const char *p = query_views_text; (p = strstr(p, views_create_sql));) {
		p += strlen(views_create_sql);
		size_t len = strcspn(p, ";");
		if (views_one(db, p, len, err) < 0)
			return -1;
		p += len;
	}
	return 0;
}

int views_make(void *db, struct err *err)
{
	/* a reader's connection refuses every write, also that of a temporary view */
	sqlite3_exec(db, "PRAGMA query_only=0", NULL, NULL, NULL);
	int rc = views_all(db, err);
	sqlite3_exec(db, "PRAGMA query_only=1", NULL, NULL, NULL);
	return rc;
}
