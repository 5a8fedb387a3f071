#include "check/summary.h"

#include <stdlib.h>
#include <string.h>

#include "check/log_ops.h"
#include "check/past.h"
#include "sessions/sessions.h"
#include "base/hash.h"
#include "base/mem.h"
#include "query/sql.h"
#include "record/read/ended.h"

/* One row of four readings of the file, however long; events of an action are found by their kind:
 * 100 requested, 101 judged, 102 held, 103 decided, 105 ended. "action>0": the index is of those
 * only. A label, merge, or undo after the end is a later end: the session took until the first one
 * after its newest script began. */
static const char figures_sql[] =
	"SELECT a.*,b.*,c.*,(SELECT body FROM event WHERE kind=3 ORDER BY seq DESC LIMIT 1) FROM (SELECT count(*),"
	"min(ts_us),coalesce((SELECT mono_us FROM event WHERE kind=3 AND seq>(SELECT seq FROM event WHERE kind=410 "
	"ORDER BY seq DESC LIMIT 1) ORDER BY seq LIMIT 1),max(mono_us))-min(mono_us),"
	"count(*) FILTER (WHERE kind=100),"
	"count(*) FILTER (WHERE kind=100 AND json_extract(body,'$.kind')='exec'),"
	"count(*) FILTER (WHERE kind=105 AND (json_extract(body,'$.end') NOT IN ('ok','denied') OR "
	"coalesce(json_extract(body,'$.code'),0)<>0 OR coalesce(json_extract(body,'$.signal'),0)<>0)),"
	"count(*) FILTER (WHERE kind=430),"
	"total(json_extract(body,'$.usage.in')) FILTER (WHERE kind=431 OR (kind=134 AND json_extract(body,'$.imported'))),"
	"total(json_extract(body,'$.usage.out')) FILTER (WHERE kind=431 OR (kind=134 AND json_extract(body,'$.imported'))),"
	"total(json_extract(body,'$.cost_uusd')) FILTER (WHERE kind=431)+"
	"total(json_extract(body,'$.used.uusd')) FILTER (WHERE kind=134 AND json_extract(body,'$.imported')),"
	"count(DISTINCT action) FILTER (WHERE kind=102),"
	"count(*) FILTER (WHERE kind=103 AND json_extract(body,'$.by')='human' AND json_extract(body,'$.decision') IN "
	"('approve','edit','promote')),"
	"count(*) FILTER (WHERE kind=103 AND json_extract(body,'$.by')='human' AND json_extract(body,'$.decision') IN "
	"('deny','deny_pause','kill')),"
	"count(*) FILTER (WHERE kind=101 AND json_extract(body,'$.verdict')='deny'),"
	"count(*) FILTER (WHERE kind=24),"
	"total(json_extract(body,'$.cost.uusd')) FILTER (WHERE kind=202),"
	"count(*) FILTER (WHERE (kind=431 AND json_extract(body,'$.cost_unknown')) OR (kind=202 AND json_extract(body,'$.cost.open_us')>0 "
	"AND json_extract(body,'$.cost.uusd') IS NULL) OR (kind=134 AND json_extract(body,'$.imported') AND "
	"json_extract(body,'$.used.uusd') IS NULL) OR (kind=400 AND json_extract(body,'$.model')='outside')) FROM event) a,"
	"(SELECT total(dur) FILTER (WHERE kind='model'),total(dur) FILTER (WHERE kind IN ('exec','shell','read','write','edit')),"
	"total(cost) FILTER (WHERE kind<>'model') FROM "
	"(SELECT json_extract(e.body,'$.dur_us') AS dur,json_extract(e.body,'$.cost_uusd') AS cost,json_extract(r.body,'$.kind') AS kind FROM event e JOIN event r ON "
	"r.seq=e.action WHERE e.kind=105)) b,"
	"(SELECT total(d.ts_us-(SELECT min(h.ts_us) FROM event h WHERE h.action=d.action AND h.action>0 AND h.kind=102)) FROM event d "
	"WHERE d.kind=103 AND json_extract(d.body,'$.by')='human') c";

static int64_t summary_number(const struct sql_table *t, size_t col)
{
	return t->cell[col] ? (int64_t)strtod(t->cell[col], NULL) : 0;
}

static void summary_fill(struct summary *m, struct session *s, const struct sql_table *t)
{
	uint64_t *const count[] = { &m->events,
				    NULL,
				    NULL,
				    &m->actions,
				    &m->execs,
				    &m->failed,
				    &m->model_calls,
				    &m->tokens_in,
				    &m->tokens_out,
				    NULL,
				    &m->asked,
				    &m->approved,
				    &m->denied,
				    &m->denied_by_rule };
	for (size_t i = 0; i < ARRAY_LEN(count); i++)
		if (count[i])
			*count[i] = (uint64_t)summary_number(t, i);
	m->begun_us = summary_number(t, 1);
	m->took_us = summary_number(t, 2);
	m->honeytokens = (uint64_t)summary_number(t, 14);
	m->box_uusd = summary_number(t, 15);
	m->cost_unknown = summary_number(t, 16) > 0;
	m->model_us = summary_number(t, 17);
	m->box_us = summary_number(t, 18);
	m->cost_uusd = summary_number(t, 9) + m->box_uusd + summary_number(t, 19);
	m->people_us = summary_number(t, 20);
	m->tokens = m->tokens_in + m->tokens_out;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct event ev = { .kind = EV_SESSION_END,
			    .body = t->cell[21],
			    .len = t->cell[21] ? strlen(t->cell[21]) : 0 };
	struct ev_session_end end;
	event_decode(&desc_ev_session_end, &ev, &arena, &end);
	m->state = end.decoded.reading == BODY_READ ? end.ok ? "ok" : ended_word(&end)
		   : session_live(s) ? "running"
						    : "interrupted";
	m->why = end.why.s ? mem_strndup(end.why.s, end.why.n) : NULL;
}

static int summary_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* H over the lines of log_tree, sorted; what git keeps for itself holds times and is left out. */
static char *tree_hash(struct session *s)
{
	CLEANUP(buf_release) struct buf tree = BUF_INIT, hex = BUF_INIT;
	CLEANUP(strv_release) struct strv line = STRV_INIT;
	struct err none = ERR_INIT;
	struct hash_ctx c;
	struct hash h;
	if (log_tree(s, false, &tree, &none) < 0)
		return NULL;
	for (char *save = NULL, *l = strtok_r((char *)(uintptr_t)buf_cstr(&tree), "\n", &save); l;
	     l = strtok_r(NULL, "\n", &save))
		if (!strstr(l, " .git/"))
			strv_push(&line, l);
	if (line.nr)
		qsort(line.item, line.nr, sizeof(*line.item), summary_by_text);
	hash_begin(&c);
	for (size_t i = 0; i < line.nr; i++)
		hash_add(&c, line.item[i], strlen(line.item[i]) + 1);
	hash_end(&c, &h);
	hex_append(&hex, h.b, HASH_LEN);
	return buf_take(&hex);
}

int summary_counts(struct session *s, struct summary *out, struct err *err)
{
	struct sql_table t;
	if (sql_own(s, figures_sql, 1, &t, err) < 0)
		return -1;
	if (t.rows != 1) { /* an aggregate has one row; a made-up file need not */
		sql_table_release(&t);
		return err_set(err, ERR_DAMAGED, "the statistics of this session can't be read");
	}
	*out = (struct summary){ .id = mem_strdup(session_id(s)),
				 .name = mem_strdup(session_name(s)) };
	summary_fill(out, s, &t);
	sql_table_release(&t);
	if (session_of_suite(s)) /* its list waits for nobody */
		out->people_us = 0;
	return 0;
}

int summary_of(struct session *s, struct summary *out, struct err *err)
{
	if (summary_counts(s, out, err) < 0)
		return -1;
	out->tree = tree_hash(s);
	return 0;
}

void summary_release(struct summary *m)
{
	free(m->id);
	free(m->name);
	free(m->tree);
	free(m->why);
	*m = (struct summary){ 0 };
}

void summary_cost(int64_t uusd, bool unknown, struct buf *out)
{
	if (!unknown || uusd)
		buf_printf(out, "%.4f", (double)uusd / 1e6);
	if (unknown)
		buf_puts(out, uusd ? "+?" : "?");
}

void summary_put_cost(json_t *o, int64_t uusd, bool unknown)
{
	if (unknown && !uusd)
		json_put(o, "cost_uusd", json_null());
	else
		json_put_int(o, "cost_uusd", uusd);
	json_put_flag(o, "cost_unknown", unknown);
}

json_t *summary_json(const struct summary *m)
{
	json_t *o = json_object();
	const struct {
		const char *key;
		int64_t v;
	} n[] = {
		{ "begun_us", m->begun_us },
		{ "took_us", m->took_us },
		{ "events", (int64_t)m->events },
		{ "actions", (int64_t)m->actions },
		{ "execs", (int64_t)m->execs },
		{ "failed", (int64_t)m->failed },
		{ "model_calls", (int64_t)m->model_calls },
		{ "tokens_in", (int64_t)m->tokens_in },
		{ "tokens_out", (int64_t)m->tokens_out },
		{ "box_uusd", m->box_uusd },
		{ "asked", (int64_t)m->asked },
		{ "approved", (int64_t)m->approved },
		{ "denied", (int64_t)m->denied },
		{ "denied_by_rule", (int64_t)m->denied_by_rule },
		{ "model_us", m->model_us },
		{ "box_us", m->box_us },
		{ "people_us", m->people_us },
		{ "honeytokens", (int64_t)m->honeytokens },
	};
	json_put_str(o, "session", m->id);
	json_put_str(o, "name", m->name);
	json_put_str(o, "state", m->state);
	for (size_t i = 0; i < ARRAY_LEN(n); i++)
		json_put_int(o, n[i].key, n[i].v);
	summary_put_cost(o, m->cost_uusd, m->cost_unknown);
	json_put_str(o, "tree", m->tree);
	json_put_str(o, "why", m->why);
	return o;
}

static char *summary_text(const json_t *o, const char *key)
{
	const char *text = json_str(o, key, NULL);
	return text ? mem_strdup(text) : NULL;
}

void summary_from_json(struct summary *m, const json_t *o)
{
	const struct {
		const char *key;
		uint64_t *v;
	} n[] = {
		{ "events", &m->events },
		{ "actions", &m->actions },
		{ "execs", &m->execs },
		{ "failed", &m->failed },
		{ "model_calls", &m->model_calls },
		{ "tokens_in", &m->tokens_in },
		{ "tokens_out", &m->tokens_out },
		{ "asked", &m->asked },
		{ "approved", &m->approved },
		{ "denied", &m->denied },
		{ "denied_by_rule", &m->denied_by_rule },
		{ "honeytokens", &m->honeytokens },
	};
	*m = (struct summary){ .id = mem_strdup(json_str(o, "session", "")),
			       .name = mem_strdup(json_str(o, "name", "")),
			       .state = json_str(o, "state", ""),
			       .begun_us = json_int(o, "begun_us", 0),
			       .took_us = json_int(o, "took_us", 0),
			       .box_uusd = json_int(o, "box_uusd", 0),
			       .cost_uusd = json_int(o, "cost_uusd", 0),
			       .cost_unknown = json_flag(o, "cost_unknown", false),
			       .model_us = json_int(o, "model_us", 0),
			       .box_us = json_int(o, "box_us", 0),
			       .people_us = json_int(o, "people_us", 0),
			       .tree = summary_text(o, "tree"),
			       .why = summary_text(o, "why") };
	for (size_t i = 0; i < ARRAY_LEN(n); i++)
		*n[i].v = (uint64_t)json_int(o, n[i].key, 0);
	m->tokens = m->tokens_in + m->tokens_out;
}
