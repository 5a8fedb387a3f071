#include "exchange/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "query/sql.h"

enum { DAY = sizeof("2026-11-28") };

struct tables_part {
	FILE *file; /* of the day; NULL: none is open */
	char day[DAY];
	uint64_t rows;
};
struct tables {
	char *dir, *part, *old; /* owned: the wanted one, the one being written, the one before */
	bool force;
	struct tables_part table[TABLE_NR];
	enum table at; /* of the query that runs */
	uint64_t files_left;
};

#define TIME(column) "strftime('%Y-%m-%dT%H:%M:%fZ', " column " / 1000000.0, 'unixepoch')"
#define DATE(column) "strftime('%Y-%m-%d', " column " / 1000000, 'unixepoch')"
#define SESSION	     "'session', (SELECT id FROM session)"
#define AGENT(row)                                                                                 \
	"(SELECT json_extract(a.body, '$.name') FROM event a WHERE a.seq = " row ".agent)"
#define BOX(row) "(SELECT json_extract(b.body, '$.name') FROM event b WHERE b.seq = " row ".box)"
#define STEP(kind, field)                                                                          \
	"(SELECT json_extract(j.body, '$." field "') FROM event j WHERE j.action = r.seq"          \
	" AND j.action > 0 AND j.kind = " kind " ORDER BY j.seq DESC LIMIT 1)"
#define REDACTED(row)                                                                              \
	"'redacted', json(CASE WHEN " row ".body IS NULL THEN 'true' ELSE 'false' END)"

/* clang-format off */
/* Each: the date of the row, and the row. */
#define ACTIONS                                                                                    \
	"SELECT " DATE("r.ts_us") ", json_object(" SESSION ", 'action', r.seq"                     \
	", 'time', " TIME("r.ts_us") ", 'agent', " AGENT("r") ", 'sandbox', " BOX("r")             \
	", 'kind', json_extract(r.body, '$.kind')"                                                 \
	", 'what', v.what, 'wanted', v.wanted, 'verdict', v.verdict, 'decision', v.decision"       \
	", 'decided_by', v.claimed_by, 'ended', v.\"end\", 'code', v.code, 'signal', v.signal"     \
	", 'why', v.why, 'duration_us', v.took_us"                                                 \
	", 'cost_uusd', CASE WHEN " STEP("431", "cost_unknown") " THEN NULL"                       \
	" ELSE coalesce(" STEP("105", "cost_uusd") ", " STEP("431", "cost_uusd") ") END"           \
	", " REDACTED("r") ")"                                                                     \
	" FROM event r JOIN v_action v ON v.action = r.seq WHERE r.kind = 100 ORDER BY r.seq"
#define EVENTS                                                                                     \
	"SELECT " DATE("e.ts_us") ", json_object(" SESSION ", 'seq', e.seq"                        \
	", 'time', " TIME("e.ts_us") ", 'kind', coalesce(k.name, 'kind-' || e.kind)"               \
	", 'cause', e.cause, 'agent', e.agent, 'box', e.box, 'action', e.action"                   \
	", " REDACTED("e") ", 'body', json(e.body))"                                               \
	" FROM event e LEFT JOIN kind k ON k.number = e.kind ORDER BY e.seq"
#define FILES                                                                                      \
	"SELECT " DATE("e.ts_us") ", json_object(" SESSION ", 'seq', e.seq"                        \
	", 'time', " TIME("e.ts_us") ", 'sandbox', " BOX("e") ", 'action', e.action"               \
	", 'op', json_extract(c.value, '$.op'), 'path', json_extract(c.value, '$.path')"           \
	", 'mode', json_extract(c.value, '$.mode'), 'size', json_extract(c.value, '$.size')"       \
	", 'oid', json_extract(c.value, '$.oid'))"                                                 \
	" FROM event e, json_each(e.body, '$.changes') c WHERE e.body IS NOT NULL"                 \
	" ORDER BY e.seq, c.key"
#define MODEL_CALLS                                                                                \
	"SELECT " DATE("e.ts_us") ", json_object(" SESSION ", 'action', e.action"                  \
	", 'time', " TIME("e.ts_us") ", 'agent', " AGENT("e")                                      \
	", 'model', json_extract(e.body, '$.model')"                                               \
	", 'tokens_in', json_extract(e.body, '$.usage.in')"                                        \
	", 'tokens_out', json_extract(e.body, '$.usage.out')"                                      \
	", 'tokens_cached', json_extract(e.body, '$.usage.cached')"                                \
	", 'cost_uusd', CASE WHEN json_extract(e.body, '$.cost_unknown') THEN NULL ELSE"           \
	" json_extract(e.body, '$.cost_uusd') END, 'stop', json_extract(e.body, '$.stop')"         \
	", " REDACTED("e") ") FROM event e WHERE e.kind = 431 ORDER BY e.seq"
/* clang-format on */

static const struct {
	const char *name, *sql;
} tables_sql[TABLE_NR] = {
	[TABLE_SESSIONS] = { "sessions", NULL },
	[TABLE_ACTIONS] = { "actions", ACTIONS },
	[TABLE_EVENTS] = { "events", EVENTS },
	[TABLE_FILES] = { "files", FILES },
	[TABLE_MODEL_CALLS] = { "model_calls", MODEL_CALLS },
	[TABLE_CLAIMS] = { "claims", NULL },
};

const char *tables_name(enum table table)
{
	return tables_sql[table].name;
}

uint64_t tables_rows(const struct tables *t, enum table table)
{
	return t->table[table].rows;
}

int tables_begin(struct tables **out, const char *dir, bool force, struct err *err)
{
	if (!force && access(dir, F_OK) == 0)
		return err_set(err, ERR_EXISTS, "'%s' exists; --force replaces it", dir);
	struct tables *t = NEW(struct tables);
	size_t len = strlen(dir);
	while (len > 1 && dir[len - 1] == '/')
		len--;
	t->dir = mem_strndup(dir, len);
	t->part = mem_printf("%s.part-%d", t->dir, (int)getpid());
	t->old = mem_printf("%s.old-%d", t->dir, (int)getpid());
	t->force = force;
	*out = t;
	return dir_make(t->part, 0700, err);
}

static int tables_close_part(struct tables *t, enum table table, struct err *err)
{
	struct tables_part *p = &t->table[table];
	FILE *f = p->file;
	p->file = NULL;
	if (!f)
		return 0;
	bool written = fflush(f) == 0 && !ferror(f) && fsync(fileno(f)) == 0;
	if (fclose(f) == 0 && written)
		return 0;
	return err_sys(err, "can't write table '%s' in '%s'", tables_name(table), t->part);
}

/* The file of the day is the one that is open. */
static int tables_open_part(struct tables *t, enum table table, const char *day, struct err *err)
{
	struct tables_part *p = &t->table[table];
	if (p->file && !strcmp(p->day, day))
		return 0;
	if (tables_close_part(t, table, err) < 0)
		return -1;
	CLEANUP(free_ptr)
	char *dir = mem_printf("%s/%s/date=%s", t->part, tables_name(table), day);
	CLEANUP(free_ptr) char *path = mem_printf("%s/part.jsonl", dir);
	if (dir_make(dir, 0700, err) < 0)
		return -1;
	p->file = fopen(path, "ae");
	snprintf(p->day, sizeof(p->day), "%s", day);
	return p->file ? 0 : err_sys(err, "can't make '%s'", path);
}

static int tables_put(struct tables *t, enum table table, const char *day, const char *row,
		      struct err *err)
{
	struct tables_part *p = &t->table[table];
	if (tables_open_part(t, table, day, err) < 0)
		return -1;
	if (fputs(row, p->file) == EOF || fputc('\n', p->file) == EOF)
		return err_sys(err, "can't write table '%s' in '%s'", tables_name(table), t->part);
	p->rows++;
	return 0;
}

int tables_row(struct tables *t, enum table table, int64_t ts_us, json_t *row, struct err *err)
{
	CLEANUP(json_release) json_t *owned = row;
	CLEANUP(free_ptr) char *text = json_dump_str(owned);
	time_t s = (time_t)(ts_us / 1000000);
	struct tm tm;
	char day[DAY];
	gmtime_r(&s, &tm);
	strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	return tables_put(t, table, day, text, err);
}

static int tables_on_row(void *self, const char *day, const char *row, struct err *err)
{
	struct tables *t = self;
	return tables_put(t, t->at, day, row, err);
}

uint64_t tables_files_left(const struct tables *t)
{
	return t->files_left;
}

static int tables_count_left(struct tables *t, struct session *s, struct err *err)
{
	static const char sql[] = "SELECT coalesce(sum(json_extract(body, '$.more')), 0) FROM event"
				  " WHERE json_type(body, '$.changes') = 'array'";
	struct sql_table left = { 0 };
	if (sql_own(s, sql, 1, &left, err) < 0)
		return -1;
	t->files_left += left.rows && left.cell[0] ? strtoull(left.cell[0], NULL, 10) : 0;
	sql_table_release(&left);
	return 0;
}

int tables_session(struct tables *t, struct session *s, struct err *err)
{
	if (tables_count_left(t, s, err) < 0)
		return err_wrap(err, "session %s", session_id(s));
	for (t->at = 0; t->at < TABLE_NR; t->at++)
		if (tables_sql[t->at].sql &&
		    sql_pairs(s, tables_sql[t->at].sql, tables_on_row, t, err) < 0)
			return err_wrap(err, "session %s, table %s", session_id(s),
					tables_name(t->at));
	return 0;
}

int tables_finish(struct tables *t, struct err *err)
{
	for (enum table table = 0; table < TABLE_NR; table++) {
		CLEANUP(free_ptr) char *dir = mem_printf("%s/%s", t->part, tables_name(table));
		if (tables_close_part(t, table, err) < 0 || dir_make(dir, 0700, err) < 0)
			return -1;
	}
	bool replaces = t->force && rename(t->dir, t->old) == 0;
	if (rename(t->part, t->dir) < 0) {
		err_sys(err, "can't make '%s'", t->dir);
		if (replaces && rename(t->old, t->dir) < 0)
			err_wrap(err, "can't remove the former directory '%s'", t->old);
		return -1;
	}
	free(t->part);
	t->part = NULL;
	return replaces ? dir_remove(t->old, err) : 0;
}

void tables_free(struct tables **tp)
{
	struct tables *t = *tp;
	struct err none = ERR_INIT;
	*tp = NULL;
	if (!t)
		return;
	for (enum table table = 0; table < TABLE_NR; table++)
		if (tables_close_part(t, table, &none) < 0)
			none.code = ERR_NONE;
	if (t->part && dir_remove(t->part, &none) < 0)
		none.code = ERR_NONE;
	free(t->dir);
	free(t->part);
	free(t->old);
	free(t);
}
