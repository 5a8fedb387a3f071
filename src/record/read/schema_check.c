#include "record/read/schema_check.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "record/read/schema.h"

/* normalized; read-only after schema_check_once */
static struct strv schema_check_known;
static pthread_once_t schema_check_once = PTHREAD_ONCE_INIT;

/* Length of the quoted text at @p, with its quotes; 1 without quotes. */
static size_t quoted_len(const char *p)
{
	const char *end = *p == '\'' || *p == '"' || *p == '`' ? strchr(p + 1, *p) : NULL;
	return end ? (size_t)(end + 1 - p) : 1;
}

/* Appends @sql with one blank in place of blanks and comments, none at both ends. */
static void schema_normalize(const char *sql, struct buf *out)
{
	bool gap = false;
	while (*sql) {
		if (!strncmp(sql, "--", 2)) {
			sql += strcspn(sql, "\n");
			gap = true;
		} else if (isspace((unsigned char)*sql)) {
			sql++;
			gap = true;
		} else {
			size_t n = quoted_len(sql);
			if (gap && out->len)
				buf_putc(out, ' ');
			buf_append(out, sql, n);
			sql += n;
			gap = false;
		}
	}
}

/* As SQLite keeps it: without "IF NOT EXISTS" and the semicolon. */
static void schema_check_learn(const char *statement)
{
	static const char maybe[] = " IF NOT EXISTS";
	CLEANUP(buf_release) struct buf b = BUF_INIT, kept = BUF_INIT;
	schema_normalize(statement, &b);
	const char *p = buf_cstr(&b), *cut = strstr(p, maybe);
	if (strncmp(p, "CREATE ", 7) != 0)
		return; /* a DROP */
	size_t len = b.len - (b.len && p[b.len - 1] == ';');
	if (cut) {
		buf_append(&kept, p, (size_t)(cut - p));
		cut += sizeof(maybe) - 1;
		buf_append(&kept, cut, len - (size_t)(cut - p));
	} else {
		buf_append(&kept, p, len);
	}
	strv_push(&schema_check_known, buf_cstr(&kept));
}

static void learn_statements(const char *sql)
{
	CLEANUP(buf_release) struct buf one = BUF_INIT;
	for (const char *end; (end = strchr(sql, ';')); sql = end + 1) {
		buf_append(&one, sql, (size_t)(end + 1 - sql));
		if (!sqlite3_complete(buf_cstr(&one)))
			continue; /* within a trigger, or a comment */
		schema_check_learn(buf_cstr(&one));
		buf_reset(&one);
	}
}

static void schema_check_begin(void)
{
	learn_statements(schema_tables());
	learn_statements(schema_views());
	learn_statements(schema_earlier());
}

static bool is_known_definition(const char *sql)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	schema_normalize(sql, &b);
	for (size_t i = 0; i < schema_check_known.nr; i++)
		if (!strcmp(schema_check_known.item[i], buf_cstr(&b)))
			return true;
	return false;
}

/* An index that a UNIQUE column makes has no definition. */
static bool is_known_row(const char *type, const char *name, const char *sql)
{
	if (sql)
		return is_known_definition(sql);
	return !strcmp(type, "index") && !strncmp(name, "sqlite_autoindex_", 17);
}

bool schema_is_ours(sqlite3 *db)
{
	sqlite3_stmt *st = NULL;
	bool ours = true;
	pthread_once(&schema_check_once, schema_check_begin);
	int rc = sqlite3_prepare_v2(db, "SELECT type, name, sql FROM sqlite_schema", -1, &st, NULL);
	while (rc == SQLITE_OK && ours && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *type = (const char *)sqlite3_column_text(st, 0);
		const char *name = (const char *)sqlite3_column_text(st, 1);
		ours = type && name &&
		       is_known_row(type, name, (const char *)sqlite3_column_text(st, 2));
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return ours && rc == SQLITE_DONE;
}
