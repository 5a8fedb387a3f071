/* Looking at a long session without reading it: what an event is about but not what it says; the
 * events that tell most. */
#include <stdlib.h>

#include "base/mem.h"
#include "record/read/read_priv.h"

enum { BEGINNING = 32, AGENT_BEGINNING = 6, LEAST_EACH = 4, MOST_AGENTS = 2048 };

int session_headers(struct session *s, uint64_t after_seq, struct event *ev, size_t max,
		    size_t *nr_out, struct err *err)
{
	sqlite3_stmt *st = session_sql(s, READ_HEADERS, err);
	int rc;
	*nr_out = 0;
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (int64_t)after_seq);
	sqlite3_bind_int64(st, 2, (int64_t)max);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		ev[(*nr_out)++] = (struct event){
			.seq = (uint64_t)sqlite3_column_int64(st, 0),
			.agent = (uint64_t)sqlite3_column_int64(st, 1),
			.action = (uint64_t)sqlite3_column_int64(st, 2),
			.ts_us = sqlite3_column_int64(st, 3),
			.kind = (uint16_t)sqlite3_column_int(st, 4),
		};
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : session_failed(s, err);
}

struct seqs {
	uint64_t *seq;
	size_t nr, cap;
};

static void outline_add(struct seqs *l, uint64_t seq)
{
	GROW(l->seq, l->nr, l->cap);
	l->seq[l->nr++] = seq;
}

/* Numbers that a statement gives for up to three of them. */
static int outline_ask(struct session *s, enum read_sql which, uint64_t a, uint64_t b, uint64_t c,
		       struct seqs *out, struct err *err)
{
	const uint64_t value[] = { a, b, c };
	sqlite3_stmt *st = session_sql(s, which, err);
	int rc;
	if (!st)
		return -1;
	for (int i = 0; i < sqlite3_bind_parameter_count(st); i++)
		sqlite3_bind_int64(st, i + 1, (int64_t)value[i]);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		if (sqlite3_column_type(st, 0) != SQLITE_NULL)
			outline_add(out, (uint64_t)sqlite3_column_int64(st, 0));
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : session_failed(s, err);
}

/* One step through the index for each agent, not one for each event. */
static int outline_agents(struct session *s, struct seqs *out, struct err *err)
{
	for (size_t before = SIZE_MAX; before != out->nr && out->nr < MOST_AGENTS;) {
		before = out->nr;
		if (outline_ask(s, READ_NEXT_AGENT, before ? out->seq[before - 1] : 0, 0, 0, out,
				err) < 0)
			return -1;
	}
	return 0;
}

static int outline_compare(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;
	return (*a > *b) - (*a < *b);
}

static void outline_finish(struct seqs *l, uint64_t upto)
{
	size_t left = 0;
	if (l->nr > 1)
		qsort(l->seq, l->nr, sizeof(*l->seq), outline_compare);
	for (size_t i = 0; i < l->nr; i++)
		if (l->seq[i] <= upto && l->seq[i] > 0 &&
		    (left == 0 || l->seq[left - 1] != l->seq[i]))
			l->seq[left++] = l->seq[i];
	l->nr = left;
}

int session_outline(struct session *s, uint64_t upto, size_t max, uint64_t **seq_out,
		    size_t *nr_out, struct err *err)
{
	struct seqs all = { 0 }, who = { 0 };
	int rc = outline_agents(s, &who, err);
	uint64_t tail = max / 2, each = who.nr ? max / 2 / who.nr : 0;
	each = each < LEAST_EACH ? LEAST_EACH : each;
	for (uint64_t i = 1; i <= BEGINNING; i++)
		outline_add(&all, i);
	for (uint64_t i = 0; i < tail && i < upto; i++)
		outline_add(&all, upto - i);
	for (size_t i = 0; i < who.nr && rc == 0 && who.seq[i] <= upto; i++) {
		outline_add(&all, who.seq[i]);
		rc = outline_ask(s, READ_AGENT_FIRST, who.seq[i], AGENT_BEGINNING, 0, &all, err);
		if (rc == 0)
			rc = outline_ask(s, READ_AGENT_LAST, who.seq[i], upto, each, &all, err);
	}
	outline_finish(&all, upto);
	free(who.seq);
	*seq_out = all.seq;
	*nr_out = all.nr;
	return rc;
}
