/* The same tree as SQL. A row is an event `r` that is not a mere step in the life of an action:
 * what an action came to is looked up where it is asked for. Needs nothing of the file but its
 * tables, so it runs on every format from 1 on, also where no view can be made. Every value is a
 * parameter; every condition is 0 or 1, never NULL. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/filter_priv.h"
#include "record/read/session.h"
#include "record/read/values.h"

#define OF_ACTION(kind, what)                                                                      \
	"(SELECT " what " FROM event x WHERE x.action=r.seq AND x.action>0 AND x.kind=" kind       \
	" ORDER BY x.seq DESC LIMIT 1)"
#define BODY(key)   "json_extract(r.body,'$." key "')"
#define X_BODY(key) "json_extract(x.body,'$." key "')"

#define CMD_OF(body)                                                                               \
	"coalesce(json_extract(" body ",'$.cmd'),CASE WHEN json_extract(" body                     \
	",'$.argv[1]')='-c' THEN json_extract(" body ",'$.argv[2]') END,"                          \
	"(SELECT group_concat(w.value,' ') FROM json_each(" body ",'$.argv') w))"
/* A user's edit, in the format of the request. */
#define EDITED_TO(what)                                                                            \
	" UNION ALL SELECT " what                                                                  \
	" FROM event x WHERE x.action=r.seq AND x.action>0 AND x.kind=104 AND json_extract(x.body,'$.edited')"

/* Where a field's value stands. TEXT fields may have several rows (@many): then it is a SELECT of
 * one column `v`. */
static const struct {
	const char *expr;
	const char *many;
} filter_sql_column[FIELD_NR] = {
	[FIELD_SESSION] = { NULL,
			    "SELECT id AS v FROM session UNION ALL SELECT name FROM session" },
	[FIELD_AGENT] = { NULL,
			  "SELECT json_extract(a.body,'$.name') AS v FROM event a WHERE a.seq=r.agent UNION ALL "
			  "SELECT CAST(r.agent AS TEXT) WHERE r.agent>0" },
	[FIELD_BOX] = { NULL,
			"SELECT json_extract(b.body,'$.name') AS v FROM event b WHERE b.seq=r.box UNION ALL "
			"SELECT CAST(r.box AS TEXT) WHERE r.box>0" },
	[FIELD_KIND] = { NULL, "SELECT CASE r.kind WHEN 100 THEN " BODY(
				       "kind") " WHEN 210 THEN 'snapshot' WHEN 420 THEN 'note' "
					       "WHEN 432 THEN 'tool' WHEN 433 THEN 'tool' "
					       "WHEN 403 THEN 'end' WHEN 3 THEN 'end' END AS v "
					       "UNION ALL SELECT k.name FROM kind k "
					       "WHERE k.number=r.kind" },
	[FIELD_TOOL] = { "CASE r.kind WHEN 432 THEN " BODY("name") " ELSE " BODY("tool") " END",
			 NULL },
	[FIELD_CMD] = { NULL, "SELECT " CMD_OF("r.body") " AS v" EDITED_TO(CMD_OF("x.body")) },
	[FIELD_PATH] = { NULL, "SELECT " BODY("path") " AS v UNION ALL SELECT " BODY("host_path")
				       EDITED_TO(X_BODY("path")) },
	[FIELD_HOST] = { BODY("host"), NULL },
	[FIELD_EXIT] = { OF_ACTION("105", X_BODY("code")), NULL },
	[FIELD_DUR] = { OF_ACTION("105", X_BODY("dur_us")), NULL },
	[FIELD_COST] = { "coalesce(" OF_ACTION("105",
					       X_BODY("cost_uusd")) "," BODY("cost_uusd") ")",
			 NULL },
	[FIELD_TOKENS] = { OF_ACTION("105", X_BODY("tokens")), NULL },
	[FIELD_LINES] = { "coalesce(" OF_ACTION("105", X_BODY("lines")) "," VALUES_DATA_LINES(
				  "r.body") ")",
			  NULL },
	[FIELD_RULE] = { NULL,
			 "SELECT json_extract(u.value,'$.name') AS v FROM event x, json_each(x.body,'$.rules') u WHERE "
			 "x.action=r.seq AND x.action>0 AND x.kind=101" },
	[FIELD_VERDICT] = { NULL,
			    "SELECT " X_BODY(
				    "verdict") " AS v FROM event x WHERE x.action=r.seq AND x.action>0 AND "
					       "x.kind=101 UNION ALL SELECT CASE x.kind WHEN 102 THEN 'held' WHEN 103 THEN CASE " X_BODY(
						       "decision") " WHEN 'deny' THEN 'deny' WHEN 'deny_pause' THEN 'deny' WHEN 'kill' THEN 'deny' "
								   "WHEN 'approve' THEN 'allow' WHEN 'edit' THEN 'allow' WHEN 'promote' THEN 'allow' END END FROM event x WHERE x.action=r.seq "
								   "AND x.action>0 AND x.kind IN (102,103)" },
	[FIELD_BY] = { NULL,
		       "SELECT " X_BODY(
			       "by") " AS v FROM event x WHERE x.action=r.seq AND x.action>0 AND x.kind=103 "
				     "UNION ALL SELECT " X_BODY(
					     "who.name") " FROM event x WHERE x.action=r.seq AND x.action>0 AND "
							 "x.kind=103" },
	[FIELD_RISK] = { "coalesce(" OF_ACTION(
				 "101", X_BODY("risk")) ",CASE r.kind WHEN 100 THEN 'none' END)",
			 NULL },
	[FIELD_TURN] = { "(SELECT json_extract(t.body,'$.n') FROM event t WHERE t.agent=r.agent AND t.agent>0 AND t.kind=401 AND "
			 "t.seq<=r.seq ORDER BY t.seq DESC LIMIT 1)",
			 NULL },
	[FIELD_ID] = { "r.seq", NULL },
	[FIELD_TEXT] = { NULL,
			 "SELECT r.body AS v UNION ALL SELECT x.body FROM event x WHERE x.action=r.seq AND x.action>0" },
	[FIELD_SINCE] = { "r.ts_us", NULL },
	[FIELD_UNTIL] = { "r.ts_us", NULL },
};

#define STEP(cond) "EXISTS(SELECT 1 FROM event x WHERE x.action=r.seq AND x.action>0 AND " cond ")"

static const struct {
	const char *name, *sql;
} is_sql[] = {
	{ "pending", "(r.kind=100 AND " OF_ACTION("102", "x.seq") ">ifnull(" OF_ACTION(
			     "103", "x.seq") ",0) AND NOT " STEP("x.kind IN (104,105)") ")" },
	{ "error", STEP("x.kind=105 AND " VALUES_ERROR("x.body")) },
	{ "live", "(r.kind=100 AND " STEP("x.kind=104") " AND NOT " STEP("x.kind=105") ")" },
	{ "edited", STEP("x.kind=103 AND " X_BODY("decision") "='edit'") },
	{ "marked", "glass_noted(r.seq,1)" },
};

static const struct {
	const char *name, *sql;
} has_sql[] = {
	{ "diff", STEP("x.kind=210 AND json_array_length(x.body,'$.changes')>0") },
	{ "output", "EXISTS(SELECT 1 FROM segment g WHERE g.action=r.seq)" },
	{ "note", "glass_noted(r.seq,0)" },
};

static void put_closed(const struct node *n, struct buf *out)
{
	buf_putc(out, '(');
	for (size_t i = 0; i < n->nr; i++) {
		const char *sql = "0";
		for (size_t k = 0; k < ARRAY_LEN(is_sql) && n->field == FIELD_IS; k++)
			if (!strcmp(is_sql[k].name, n->value[i].text))
				sql = is_sql[k].sql;
		for (size_t k = 0; k < ARRAY_LEN(has_sql) && n->field == FIELD_HAS; k++)
			if (!strcmp(has_sql[k].name, n->value[i].text))
				sql = has_sql[k].sql;
		buf_printf(out, "%s%s", i ? " OR " : "", sql);
	}
	buf_putc(out, ')');
}

/* One value of a text field; the function is the one that the predicate uses. */
static void filter_sql_put_text(const struct node *n, const char *v, struct buf *out)
{
	if (n->op == OP_REGEX) {
		buf_printf(out, "glass_regex(%s,?)", v);
		return;
	}
	buf_putc(out, '(');
	for (size_t i = 0; i < n->nr; i++)
		buf_printf(out, "%sglass_is(%d,%d,%d,%s,?)", i ? " OR " : "", (int)n->field,
			   (int)n->op, n->value[i].glob, v);
	buf_putc(out, ')');
}

static void filter_sql_put_number(const struct node *n, const char *expr, struct buf *out)
{
	static const char *const sign[] = {
		[OP_LT] = "<", [OP_LE] = "<=", [OP_GT] = ">", [OP_GE] = ">="
	};
	if (n->op == OP_LT || n->op == OP_LE || n->op == OP_GT || n->op == OP_GE) {
		buf_printf(out, "ifnull(%s%s?,0)", expr, sign[n->op]);
		return;
	}
	buf_puts(out, "ifnull(");
	for (size_t i = 0; i < n->nr; i++)
		buf_printf(out, "%s%s BETWEEN ? AND ?", i ? " OR " : "", expr);
	buf_puts(out, ",0)");
}

static void filter_sql_put_term(const struct node *n, struct buf *out)
{
	const char *expr = filter_sql_column[n->field].expr,
		   *many = filter_sql_column[n->field].many;
	if (n->op == OP_NOT)
		buf_puts(out, "NOT ");
	switch (filter_field[n->field].type) {
	case F_IS:
	case F_HAS:
		put_closed(n, out);
		break;
	case F_TEXT:
		if (many) {
			buf_printf(out, "EXISTS(SELECT 1 FROM (%s) WHERE ", many);
			filter_sql_put_text(n, "v", out);
			buf_putc(out, ')');
		} else {
			filter_sql_put_text(n, expr, out);
		}
		break;
	case F_NUMBER:
	case F_SPAN:
	case F_MONEY:
		filter_sql_put_number(n, expr, out);
		break;
	case F_INSTANT:
		buf_printf(out, "r.ts_us%s?", n->field == FIELD_SINCE ? ">=" : "<=");
		break;
	}
}

/* A step in an action's life stands for the action. */
#define STEP_KINDS(h) "(" h ".kind BETWEEN 101 AND 109 OR " h ".kind IN (10,11))"

static const char words_sql[] =
	"EXISTS(SELECT 1 FROM (SELECT r.seq AS q UNION ALL SELECT x.seq FROM event x WHERE x.action=r.seq "
	"AND x.action>0 AND " STEP_KINDS("x") ") WHERE glass_look(q,?))";

static void filter_sql_put(const struct node *n, struct buf *out)
{
	switch (n->type) {
	case NODE_ALL:
		buf_puts(out, "1");
		return;
	case NODE_NOT:
		buf_puts(out, "NOT ");
		filter_sql_put(n->left, out);
		return;
	case NODE_AND:
	case NODE_OR:
		buf_putc(out, '(');
		filter_sql_put(n->left, out);
		buf_puts(out, n->type == NODE_AND ? " AND " : " OR ");
		filter_sql_put(n->right, out);
		buf_putc(out, ')');
		return;
	case NODE_TERM:
		filter_sql_put_term(n, out);
		return;
	case NODE_WORDS:
		buf_puts(out, words_sql);
		return;
	}
}

void filter_node_sql(const struct node *n, struct buf *out)
{
	filter_sql_put(n, out);
}

void filter_sql(const struct filter *f, struct buf *out)
{
	buf_puts(out, "(r.kind NOT BETWEEN 101 AND 109 AND r.kind NOT IN (10,11) AND ");
	filter_sql_put(f->root, out);
	buf_putc(out, ')');
}

/* --- binding ---------------------------------------------------------------------------------- */

struct binder {
	const struct words *w;
	sqlite3_stmt *st;
	int next;
	int64_t now_us;
};

void filter_match_text(const struct node *n, struct buf *out)
{
	buf_putc(out, '"');
	for (const char *c = n->value[0].text; *c; c++)
		if (*c != '"')
			buf_putc(out, *c);
	buf_puts(out, n->prefix ? "\"*" : "\"");
}

static void filter_sql_free_nothing(void *p)
{
	(void)p;
}

static void bind_words(struct binder *b, const struct node *n)
{
	size_t i = 0;
	while (b->w->item[i].node != n)
		i++;
	sqlite3_bind_pointer(b->st, b->next++, b->w->item[i].look, "glass_look",
			     filter_sql_free_nothing);
}

static void bind_term(struct binder *b, const struct node *n)
{
	switch (filter_field[n->field].type) {
	case F_IS:
	case F_HAS:
		return;
	case F_TEXT:
		if (n->op == OP_REGEX) /* compiled once; the filter outlives the statement's run */
			sqlite3_bind_pointer(b->st, b->next++, (void *)(uintptr_t)&n->regex,
					     "glass_regex", filter_sql_free_nothing);
		else
			for (size_t i = 0; i < n->nr; i++)
				sqlite3_bind_text(b->st, b->next++, n->value[i].text, -1,
						  SQLITE_TRANSIENT);
		return;
	case F_INSTANT:
		sqlite3_bind_int64(b->st, b->next++,
				   n->value[0].ago ? b->now_us - n->value[0].low : n->value[0].low);
		return;
	case F_NUMBER:
	case F_SPAN:
	case F_MONEY:
		break;
	}
	for (size_t i = 0; i < n->nr; i++) {
		const struct value *v = &n->value[i];
		bool order = n->op == OP_LT || n->op == OP_LE || n->op == OP_GT || n->op == OP_GE;
		if (order && i)
			break;
		sqlite3_bind_int64(b->st, b->next++,
				   n->op == OP_LE || n->op == OP_GT ? v->high : v->low);
		if (!order)
			sqlite3_bind_int64(b->st, b->next++, v->high);
	}
}

static void bind_node(struct binder *b, const struct node *n)
{
	if (!n)
		return;
	if (n->type == NODE_TERM)
		bind_term(b, n);
	if (n->type == NODE_WORDS)
		bind_words(b, n);
	bind_node(b, n->left);
	bind_node(b, n->right);
}

int filter_bind_words(const struct filter *f, const struct words *w, void *stmt, int first,
		      int64_t now_us)
{
	struct binder b = { w, stmt, first, now_us };
	bind_node(&b, f->root);
	return b.next;
}

/* --- functions -------------------------------------------------------------------------------- */

static void sql_is(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	const char *text = (const char *)sqlite3_value_text(argv[3]),
		   *want = (const char *)sqlite3_value_text(argv[4]);
	if (!text || !want) {
		sqlite3_result_int(ctx, 0);
		return;
	}
	CLEANUP(free_ptr) char *copy = mem_strdup(want);
	const struct value v = { .text = copy, .glob = sqlite3_value_int(argv[2]) != 0 };
	sqlite3_result_int(ctx, value_matches_text((enum field_id)sqlite3_value_int(argv[0]),
						   (enum op)sqlite3_value_int(argv[1]), &v, text));
}

static void sql_regex(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const regex_t *re = sqlite3_value_pointer(argv[1], "glass_regex");
	sqlite3_result_int(ctx, text && re && regexec(re, text, 0, NULL, 0) == 0);
}

static void sql_look(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	struct look *l = sqlite3_value_pointer(argv[1], "glass_look");
	sqlite3_result_int(ctx, l && look_holds(l, (uint64_t)sqlite3_value_int64(argv[0])));
}

int filter_functions(void *db, struct err *err)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
	if (sqlite3_create_function(db, "glass_is", 5, flags, NULL, sql_is, NULL, NULL) !=
		    SQLITE_OK ||
	    sqlite3_create_function(db, "glass_regex", 2, flags, NULL, sql_regex, NULL, NULL) !=
		    SQLITE_OK ||
	    sqlite3_create_function(db, "glass_look", 2, flags, NULL, sql_look, NULL, NULL) !=
		    SQLITE_OK ||
	    filter_noted(db) != SQLITE_OK)
		return err_set(err, ERR_IO, "can't add the functions of the filter: %s",
			       sqlite3_errmsg(db));
	return 0;
}
