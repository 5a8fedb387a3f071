/* A user's SELECT: reads, and can do nothing else. */
#include "tap.h"

#include <unistd.h>

#include "base/fd.h"
#include "query/sql.h"
#include "record/record.h"

static void refused(struct session *s, const char *text, int code)
{
	struct sql_table t;
	struct err err = ERR_INIT;
	int rc = sql_select(s, text, 10, &t, &err);
	ok(rc < 0 && (int)err.code == code, "refused: %s (%s)", text, err.text);
	if (rc == 0)
		sql_table_release(&t);
}

/* A wrong name is answered with the right ones. */
static void told(struct session *s, const char *text, const char *want)
{
	struct sql_table t;
	struct err err = ERR_INIT;
	ok(sql_select(s, text, 10, &t, &err) < 0, "refused: %s", text);
	is_str(err.text, want, "with what there is");
}

static void reads(struct session *s)
{
	struct sql_table t;
	struct err err = ERR_INIT;
	ok(sql_select(s, "SELECT seq, 'x' AS word, NULL AS none, x'00ff' AS bytes FROM event ORDER BY seq; ", 2, &t, &err) == 0,
	   "a SELECT %s", err.text);
	is_int((int64_t)t.cols, 4, "columns");
	is_int((int64_t)t.rows, 2, "as many rows as asked for");
	ok(t.cut, "there would be more");
	is_str(t.name[1], "word", "named");
	is_str(t.cell[0], "1", "numbers as text");
	ok(t.number[0] && !t.number[1] && !t.cell[2], "numbers are known, NULL is NULL");
	is_str(t.cell[3], "00ff", "bytes in hexadecimal");
	sql_table_release(&t);
	ok(sql_select(s, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5) SELECT sum(i) FROM n", 2, &t, &err) ==
		   0, "recursion %s", err.text);
	is_str(t.cell[0], "15", "works");
	sql_table_release(&t);
}

static void names(struct session *s)
{
	told(s, "SELECT id FROM v_event", "sql: no such column: id; available: seq, time, kind, cause, agent, box, action, body");
	told(s, "select id from  v_agent;", "sql: no such column: id; available: agent, name, task, model, actions, stop");
	told(s, "SELECT 1 FROM events", "sql: no such table: events; available: event, v_action, v_agent, v_diff, v_event, v_output, v_redaction");
	told(s, "SELECT wrong", "sql: no such column: wrong");
}

int main(void)
{
	char dir[] = "/tmp/t_sql.XXXXXX", path[300];
	struct err err = ERR_INIT;
	struct session *s = NULL;
	struct record *r;
	struct loop *l;
	const struct record_ops none = { 0 };
	hash_init();
	if (!mkdtemp(dir) || loop_new(&l, &err) < 0)
		return 1;
	CLEANUP(json_release) json_t *start = json_object();
	if (record_create(&r, l, dir, "sql", start, &none, NULL, &err) < 0)
		return 1;
	for (int i = 0; i < 3; i++)
		record_append_json(r, EV_NOTE, 1, 0, 0, 0, json_object());
	snprintf(path, sizeof(path), "%s", record_path(r));
	ok(record_close(&r, json_object(), &err) == 0, "a session is made %s", err.text);
	if (session_open(&s, path, &err) < 0)
		return 1;
	reads(s);
	names(s);
	refused(s, "DELETE FROM event", ERR_DENIED);
	refused(s, "UPDATE event SET ts_us=0", ERR_DENIED);
	refused(s, "ATTACH '/tmp/other.db' AS other", ERR_DENIED);
	refused(s, "PRAGMA writable_schema=1", ERR_DENIED);
	refused(s, "CREATE TEMP TABLE t(x)", ERR_DENIED);
	refused(s, "SELECT load_extension('/tmp/x')", ERR_DENIED);
	refused(s, "SELECT 1; SELECT 2", ERR_PARSE);
	refused(s, "SELEC 1", ERR_PARSE);
	refused(s, "  -- nothing", ERR_PARSE);
	ok(session_head(s) > 3, "the session reads on as before");
	session_close(&s);
	loop_turn(l, 0);
	loop_free(l);
	if (dir_remove(dir, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}
