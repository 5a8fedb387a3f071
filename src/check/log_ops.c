#include "check/log_ops.h"

#include <stdlib.h>
#include <string.h>

#include "exchange/changes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "query/filter.h"
#include "query/row.h"
#include "query/saved.h"
#include "query/sql.h"
#include "wire/event.h"

enum { SEQS = 4096, STDOUT = 1, STDERR = 2, PTY = 3 };

/* --- rows ------------------------------------------------------------------------------------- */

static int seqs_of(struct session *s, const char *text, uint64_t after, size_t max, uint64_t *seqs,
		   size_t *nr, struct err *err)
{
	struct filter *f = NULL;
	if (filter_parse(&f, text, NULL, NULL, err) < 0)
		return err_wrap(err, "filter '%s'", text);
	int rc = filter_search(f, s, clock_wall_us(), after, max, seqs, nr, err);
	filter_free(&f);
	return rc;
}

/* Calls with each page of matches; *last_out: the newest of all, 0 = none. Returns their number, or
 * -1. */
static int64_t log_ops_count(struct session *s, const char *text, uint64_t *last_out,
			     struct err *err)
{
	uint64_t *seqs = mem_calloc(SEQS, sizeof(*seqs)), at = 0;
	size_t nr = SEQS;
	int64_t n = 0;
	while (nr == SEQS) {
		if (seqs_of(s, text, at, SEQS, seqs, &nr, err) < 0) {
			free(seqs);
			return -1;
		}
		n += (int64_t)nr;
		at = nr ? seqs[nr - 1] : at;
	}
	free(seqs);
	*last_out = at;
	return n;
}

static int log_ops_rows(struct session *s, const uint64_t *seqs, size_t nr, json_t **out,
			struct err *err)
{
	json_t *list = json_array(), *o = json_object();
	json_put(o, "rows", list);
	for (size_t i = 0; i < nr; i++) {
		json_t *row;
		if (row_of(s, seqs[i], &row, err) < 0) {
			json_decref(o);
			return -1;
		}
		json_array_append_new(list, row);
	}
	*out = o;
	return 0;
}

static int log_ops_find(struct session *s, const json_t *args, json_t **out, struct err *err)
{
	const char *text = json_str(args, "filter", "");
	uint64_t seqs[LOG_FIND_MAX], last = 0;
	int64_t after = json_int(args, "after", 0), max = json_int(args, "max", LOG_FIND_MAX);
	size_t nr = 0;
	if (max < 1 || max > LOG_FIND_MAX)
		return err_set(err, ERR_INVALID, "max is 1 to %d", LOG_FIND_MAX);
	if (json_flag(args, "last", false)) {
		if (log_ops_count(s, text, &last, err) < 0)
			return -1;
		return log_ops_rows(s, &last, last ? 1 : 0, out, err);
	}
	if (seqs_of(s, text, (uint64_t)(after > 0 ? after : 0), (size_t)max, seqs, &nr, err) < 0)
		return -1;
	return log_ops_rows(s, seqs, nr, out, err);
}

static int find_count(struct session *s, const json_t *args, json_t **out, struct err *err)
{
	uint64_t last;
	int64_t n = log_ops_count(s, json_str(args, "filter", ""), &last, err);
	if (n < 0)
		return -1;
	*out = json_object();
	json_put_int(*out, "n", n);
	return 0;
}

static int log_ops_one(struct session *s, const json_t *args, json_t **out, struct err *err)
{
	json_t *row;
	if (row_of(s, (uint64_t)json_int(args, "id", 0), &row, err) < 0)
		return -1;
	*out = json_object();
	json_put(*out, "row", row);
	return 0;
}

/* --- the record's tables ---------------------------------------------------------------------- */

static json_t *log_ops_cell(const struct sql_table *t, size_t row, size_t col)
{
	const char *text = t->cell[row * t->cols + col];
	char *end;
	if (!text)
		return NULL;
	long long n = strtoll(text, &end, 10);
	return t->number[col] && *text && !*end ? json_integer(n) : json_bytes_z(text);
}

static int log_ops_sql(struct session *s, const json_t *args, json_t **out, struct err *err)
{
	struct sql_table t;
	if (sql_select(s, json_str(args, "sql", ""), LOG_SQL_MAX, &t, err) < 0)
		return -1;
	int rc = t.cut	     ? err_set(err, ERR_FULL,
				       "sql: more than %d rows; ask for less (LIMIT, count(*))",
				       LOG_SQL_MAX)
		 : t.timeout ? err_set(err, ERR_TIMEOUT, "sql: ran for %d s", SQL_SECONDS)
			     : 0;
	if (rc == 0) {
		json_t *list = json_array();
		for (size_t i = 0; i < t.rows; i++) {
			json_t *o = json_object();
			for (size_t c = 0; c < t.cols; c++)
				json_put(o, t.name[c], log_ops_cell(&t, i, c));
			json_array_append_new(list, o);
		}
		*out = json_object();
		json_put(*out, "rows", list);
	}
	sql_table_release(&t);
	return rc;
}

static int log_ops_output(struct session *s, const json_t *args, json_t **out, struct err *err)
{
	const char *name = json_str(args, "stream", "out");
	int stream = !strcmp(name, "err") ? STDERR : !strcmp(name, "pty") ? PTY : STDOUT;
	uint64_t id = (uint64_t)json_int(args, "id", 0), size = session_output_size(s, id, stream);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	bool cut = size > LOG_OUTPUT_MAX;
	if (session_output(s, id, stream, 0, cut ? LOG_OUTPUT_MAX / 2 : LOG_OUTPUT_MAX, &text,
			   err) < 0 ||
	    (cut && session_output(s, id, stream, size - LOG_OUTPUT_MAX / 2, LOG_OUTPUT_MAX / 2,
				   &text, err) < 0))
		return -1;
	*out = json_object();
	json_put_bytes(*out, "text", text.data, text.len);
	json_put_flag(*out, "cut", cut);
	return 0;
}

/* The agents of the actions @by, each once; 0: an action of no agent. New reference. */
static json_t *agents_of(struct session *s, const json_t *by)
{
	json_t *list = json_array(), *id;
	size_t i;
	json_array_foreach((json_t *)(uintptr_t)by, i, id)
	{
		CLEANUP(arena_release) struct arena arena = ARENA_INIT;
		struct err none = ERR_INIT;
		struct event ev;
		json_t *known;
		size_t k;
		bool seen = false;
		if (session_event(s, (uint64_t)json_integer_value(id), &ev, &arena, &none) < 0)
			continue;
		json_array_foreach(list, k, known) seen |=
			(uint64_t)json_integer_value(known) == ev.agent;
		if (!seen)
			json_array_append_new(list, json_integer((json_int_t)ev.agent));
	}
	return list;
}

static int log_ops_changes_of(struct session *s, const struct event *ev, uint64_t action,
			      json_t *list, struct err *err)
{
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *body = snapshot_in_history(s, ev, &none), *all = NULL, *agents = NULL;
	json_t *c;
	size_t i;
	if (action && ev->action != action) {
		const json_t *by = json_object_get(body, "by");
		bool named = false;
		json_array_foreach(by, i, c) named |= (uint64_t)json_integer_value(c) == action;
		if (!named)
			return 0;
	}
	if (snapshot_changes(s, body, &all, err) < 0)
		return err_wrap(err, "changes of #%llu", (unsigned long long)ev->seq);
	agents = agents_of(s, json_object_get(body, "by"));
	json_array_foreach(all, i, c)
	{
		json_t *o = json_object();
		json_put_int(o, "id", (int64_t)ev->seq);
		json_put(o, "agents", json_incref(agents));
		json_put_int(o, "box", (int64_t)ev->box);
		json_put_str(o, "op", json_str(c, "op", ""));
		json_put(o, "path", json_incref(json_object_get(c, "path")));
		json_put_str(o, "kind", json_str(c, "kind", ""));
		json_put(o, "by", json_incref(json_object_get(body, "by")));
		if (json_flag(c, "hash_only", false))
			json_put_flag(o, "hash_only", true);
		json_array_append_new(list, o);
	}
	return 0;
}

static int log_ops_changes(struct session *s, const json_t *args, json_t **out, struct err *err)
{
	struct feed *feed;
	struct event ev;
	struct arena arena = ARENA_INIT;
	json_t *list = json_array();
	int rc;
	*out = json_object();
	json_put(*out, "changes", list);
	if (feed_new(&feed, s, FEED_ALL, 0, err) < 0)
		return -1;
	while ((rc = feed_next(feed, &ev, &arena, 0, err)) > 0) {
		if (ev.kind == EV_SNAPSHOT_TAKEN &&
		    log_ops_changes_of(s, &ev, (uint64_t)json_int(args, "id", 0), list, err) < 0) {
			rc = -1;
			break;
		}
		arena_reset(&arena);
	}
	feed_free(&feed);
	arena_release(&arena);
	if (rc < 0)
		json_decref(*out);
	return rc < 0 ? -1 : 0;
}

static int log_ops_grep(struct session *s, const json_t *args, json_t **out, struct err *err)
{
	json_t *ids = json_array();
	if (log_grep(s, json_str(args, "regex", ""), ids, err) < 0) {
		json_decref(ids);
		return -1;
	}
	*out = json_object();
	json_put(*out, "ids", ids);
	return 0;
}

static int log_ops_tree(struct session *s, const json_t *args, json_t **out, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (log_tree(s, !strcmp(json_str(args, "how", ""), "rebuild"), &text, err) < 0)
		return -1;
	*out = json_object();
	json_put_bytes(*out, "tree", text.data, text.len);
	return 0;
}

/* --- the session ------------------------------------------------------------------------------ */

static const char agents_sql[] =
	"SELECT a.seq AS id, json_extract(a.body,'$.name') AS name, json_extract(a.body,'$.task') AS task, "
	"json_extract(a.body,'$.model') AS model, json_extract(a.body,'$.parent') AS parent, json_extract(a.body,'$.box') AS box, "
	"json_extract(z.body,'$.stop') AS stop, json_extract(z.body,'$.text') AS text, "
	"json_extract(z.body,'$.ok') AS ok, z.seq AS ended FROM event a LEFT JOIN event z ON z.agent=a.seq AND z.agent>0 AND "
	"z.kind=403 WHERE a.kind=400 ORDER BY a.seq";

/* 480: redo.started, which opens a box to repeat a command in. */
static const char boxes_sql[] =
	"SELECT b.seq AS id, json_extract(b.body,'$.name') AS name, json_extract(b.body,'$.was') AS was, "
	"json_extract(b.body,'$.fork.box') AS fork, json_extract(b.body,'$.fork.n') AS upto, c.kind=480 AS trial "
	"FROM event b LEFT JOIN event c ON c.seq=b.cause WHERE b.kind=200 ORDER BY b.seq";

static int put_rows(struct session *s, json_t *out, const char *key, const char *text,
		    struct err *err)
{
	CLEANUP(json_release) json_t *ask = json_object(), *list = NULL;
	json_put_str(ask, "sql", text);
	if (log_ops_sql(s, ask, &list, err) < 0)
		return -1;
	json_put(out, key, json_incref(json_object_get(list, "rows")));
	return 0;
}

static int log_ops_session(struct session *s, json_t **out, struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct err none = ERR_INIT;
	struct event ev;
	*out = json_object();
	if (put_rows(s, *out, "agents", agents_sql, err) < 0 ||
	    put_rows(s, *out, "boxes", boxes_sql, err) < 0) {
		json_decref(*out);
		return -1;
	}
	json_put_str(*out, "id", session_id(s));
	json_put_str(*out, "name", session_name(s));
	json_put_flag(*out, "live", session_live(s));
	json_put_int(*out, "head", (int64_t)session_head(s));
	if (session_event(s, 1, &ev, &arena, &none) == 0 && ev.body) {
		CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "event", &none);
		json_put_str(*out, "script", json_str(body, "script", NULL));
	}
	arena_release(&arena);
	return 0;
}

int log_call(void *self, const char *op, const json_t *args, json_t **out, struct err *err)
{
	struct session *s = self;
	static const struct {
		const char *op;
		int (*fn)(struct session *s, const json_t *args, json_t **out, struct err *err);
	} table[] = {
		{ "log.find", log_ops_find },	  { "log.count", find_count },
		{ "log.row", log_ops_one },	  { "log.sql", log_ops_sql },
		{ "log.output", log_ops_output }, { "log.changes", log_ops_changes },
		{ "log.tree", log_ops_tree },	  { "log.grep", log_ops_grep },
	};
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (!strcmp(op, table[i].op))
			return table[i].fn(s, args, out, err);
	if (!strcmp(op, "log.session"))
		return log_ops_session(s, out, err);
	return err_set(err, ERR_SCRIPT, "a check only reads a recording; it can't call '%s'", op);
}
