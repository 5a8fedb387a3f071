#include "exchange/otlp_batch.h"

#include <inttypes.h>

#include "exchange/export.h"
#include "exchange/steps.h"

enum { PAGE = 256, CUMULATIVE = 2 };

/* --- spans --- */

static void otlp_batch_put_span(struct otlp_batch *b, json_t *span)
{
	if (b->spans++)
		buf_putc(&b->traces, ',');
	json_dump_buf(span, &b->traces);
	json_decref(span);
}

static void otlp_batch_put_action(struct otlp_batch *b, struct session *s, uint64_t action,
				  const char uuid[33])
{
	struct act a;
	struct err none = ERR_INIT;
	if (act_load(&a, s, action, &none) < 0)
		return;
	b->ended++;
	b->failed += !act_good(&a);
	otlp_batch_put_span(b, otlp_action(&a, s, uuid, b->content));
	act_release(&a);
}

static int64_t otlp_batch_time_of(struct session *s, uint64_t seq, int64_t otherwise)
{
	struct arena arena = ARENA_INIT;
	struct event ev = { 0 };
	struct err none = ERR_INIT;
	int64_t us = session_event(s, seq, &ev, &arena, &none) == 0 ? ev.ts_us : otherwise;
	arena_release(&arena);
	return us;
}

static void otlp_batch_put_agent(struct otlp_batch *b, struct session *s, uint64_t agent,
				 int64_t end_us, const char uuid[33])
{
	CLEANUP(json_release) json_t *end = steps_agent_end(s, agent);
	otlp_batch_put_span(
		b, otlp_agent(s, agent, otlp_batch_time_of(s, agent, end_us), end_us, end, uuid));
}

static void otlp_batch_put_header(struct otlp_batch *b, struct session *s, const struct event *h,
				  const char uuid[33])
{
	if (h->kind == EV_ACTION_ENDED && h->action)
		otlp_batch_put_action(b, s, h->action, uuid);
	else if (h->kind == EV_AGENT_END && h->agent)
		otlp_batch_put_agent(b, s, h->agent, h->ts_us, uuid);
}

/* Continues until the batch is full or @upto is reached. */
static int otlp_batch_put_ended(struct otlp_batch *b, struct session *s, const char uuid[33],
				struct err *err)
{
	struct event page[PAGE];
	size_t nr = 0, i;
	do {
		if (session_headers(s, b->reached, page, PAGE, &nr, err) < 0)
			return -1;
		for (i = 0; i < nr && page[i].seq <= b->upto; i++) {
			if (b->spans >= OTLP_SPANS || b->traces.len >= OTLP_BYTES) {
				b->more = true;
				return 0;
			}
			otlp_batch_put_header(b, s, &page[i], uuid);
			b->reached = page[i].seq;
		}
	} while (nr && i == nr);
	return 0;
}

static void otlp_batch_open_request(struct buf *out, const char *what, const char *scope,
				    const char *list, struct session *s)
{
	CLEANUP(json_release) json_t *resource = otlp_resource(s);
	CLEANUP(json_release) json_t *name = otlp_scope();
	buf_printf(out, "{\"%s\":[{\"resource\":", what);
	json_dump_buf(resource, out);
	buf_printf(out, ",\"%s\":[{\"scope\":", scope);
	json_dump_buf(name, out);
	buf_printf(out, ",\"%s\":[", list);
}

int otlp_batch_read(struct otlp_batch *b, struct session *s, struct err *err)
{
	char uuid[33];
	export_uuid(s, uuid);
	buf_reset(&b->traces);
	b->reached = b->after;
	b->spans = 0;
	b->ended = b->failed = 0;
	b->more = false;
	otlp_batch_open_request(&b->traces, "resourceSpans", "scopeSpans", "spans", s);
	if (otlp_batch_put_ended(b, s, uuid, err) < 0)
		return -1;
	if (b->last && !b->more) {
		for (size_t i = 0; i < b->nr_open; i++)
			otlp_batch_put_agent(b, s, b->open[i], b->now_us, uuid);
		otlp_batch_put_span(b, otlp_session(s, otlp_batch_time_of(s, 1, b->now_us),
						    b->now_us, b->ok, uuid));
	}
	buf_puts(&b->traces, "]}]}]}");
	if (!b->spans)
		buf_reset(&b->traces);
	return 0;
}

void otlp_batch_release(struct otlp_batch *b)
{
	buf_release(&b->traces);
}

/* --- metrics --- */

static json_t *otlp_batch_nano(int64_t us)
{
	return json_sprintf("%" PRId64 "000", us > 0 ? us : 1);
}

/* @sum: NULL a gauge, else whether it only ever grows. */
static void put_metric(json_t *list, const char *name, const char *unit, const char *about,
		       const bool *sum, uint64_t value, int64_t begin_us, int64_t now_us)
{
	json_t *m = json_object(), *data = json_object(), *points = json_array(),
	       *point = json_object();
	json_put(point, "startTimeUnixNano", otlp_batch_nano(begin_us));
	json_put(point, "timeUnixNano", otlp_batch_nano(now_us));
	json_put(point, "asInt", json_sprintf("%" PRIu64, value));
	json_array_append_new(points, point);
	json_put(data, "dataPoints", points);
	if (sum) {
		json_put_int(data, "aggregationTemporality", CUMULATIVE);
		json_put_flag(data, "isMonotonic", *sum);
	}
	json_put_str(m, "name", name);
	json_put_str(m, "description", about);
	json_put_str(m, "unit", unit);
	json_put(m, sum ? "sum" : "gauge", data);
	json_array_append_new(list, m);
}

void otlp_metrics(const struct otlp_state *st, struct session *s, struct buf *out)
{
	static const bool grows = true, varies = false;
	const struct {
		const char *name, *unit, *about;
		const bool *sum;
		uint64_t value;
	} row[] = {
		{ "sandglass.sessions", "{session}", "Sessions that run", &varies, st->running },
		{ "sandglass.actions.ended", "{action}", "Actions that have ended", &grows,
		  st->ended },
		{ "sandglass.actions.failed", "{action}", "Actions that failed or were denied",
		  &grows, st->failed },
		{ "sandglass.actions.held", "{action}", "Actions pending approval", NULL,
		  st->held },
		{ "sandglass.queue.age", "us", "How long the first of those has waited", NULL,
		  (uint64_t)st->queue_age_us },
		{ "sandglass.recorder.lag", "{event}", "Events that are not committed yet", NULL,
		  st->lag_events },
		{ "sandglass.recorder.backlog", "By", "Bytes that are not written yet", NULL,
		  st->lag_bytes },
	};
	CLEANUP(json_release) json_t *list = json_array();
	int64_t begin_us = otlp_batch_time_of(s, 1, st->now_us);
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		put_metric(list, row[i].name, row[i].unit, row[i].about, row[i].sum, row[i].value,
			   begin_us, st->now_us);
	otlp_batch_open_request(out, "resourceMetrics", "scopeMetrics", "metrics", s);
	out->len--; /* the list brings its own bracket */
	json_dump_buf(list, out);
	buf_puts(out, "}]}]}");
}
