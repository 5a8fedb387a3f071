/* The traces of a session as one OTLP/HTTP JSON request: what a collector takes at /v1/traces. */
#include <inttypes.h>
#include <string.h>

#include "exchange/export.h"
#include "exchange/otlp.h"
#include "exchange/steps.h"
#include "base/mem.h"

struct traces {
	struct export *x;
	char uuid[33];
	size_t nr;
	int64_t begin_us, last_us;
	bool ok;
};

static void export_otlp_put_span(struct traces *t, json_t *span)
{
	fputs(t->nr++ ? ",\n" : "\n", t->x->out);
	export_json(t->x->out, span);
}

static void export_otlp_put_action(struct traces *t, uint64_t seq)
{
	struct act a;
	struct err none = ERR_INIT;
	if (act_load(&a, t->x->s, seq, &none) < 0) {
		export_lacks(t->x, "action #%" PRIu64 ": %s", seq, none.text);
		return;
	}
	export_otlp_put_span(t, otlp_action(&a, t->x->s, t->uuid, !t->x->no_content));
	act_release(&a);
}

static void export_otlp_put_agent(struct traces *t, const struct event *ev)
{
	struct err none = ERR_INIT;
	struct feed *feed = NULL;
	struct arena arena = ARENA_INIT;
	struct event last = *ev;
	json_t *end = steps_agent_end(t->x->s, ev->seq);
	if (feed_new(&feed, t->x->s, FEED_AGENT, ev->seq, &none) == 0) {
		feed_seek(feed, INT64_MAX);
		if (feed_prev(feed, &last, &arena, &none) <= 0)
			last = *ev;
	}
	export_otlp_put_span(t, otlp_agent(t->x->s, ev->seq, ev->ts_us, last.ts_us, end, t->uuid));
	feed_free(&feed);
	arena_release(&arena);
	json_decref(end);
}

static void export_otlp_on_event(struct traces *t, const struct event *ev)
{
	struct err none = ERR_INIT;
	json_t *body;
	switch (ev->kind) { /* kinds are numbers of a file: the others are in the spans of these */
	case EV_AGENT_START:
		export_otlp_put_agent(t, ev);
		break;
	case EV_ACTION_REQUESTED:
		export_otlp_put_action(t, ev->seq);
		break;
	case EV_SESSION_END:
		body = ev->body ? json_parse(ev->body, ev->len, "session.end", &none) : NULL;
		t->ok = json_flag(body, "ok", true);
		json_decref(body);
		break;
	default:
		break;
	}
}

int export_otlp(struct export *x, struct err *err)
{
	struct traces t = { .x = x, .ok = true };
	struct arena arena = ARENA_INIT;
	struct feed *feed = NULL;
	struct event ev;
	uint64_t head = session_head(x->s);
	export_uuid(x->s, t.uuid);
	fputs("{\"resourceSpans\":[{\"resource\":", x->out);
	export_json(x->out, otlp_resource(x->s));
	fputs(",\"scopeSpans\":[{\"scope\":", x->out);
	export_json(x->out, otlp_scope());
	fputs(",\"spans\":[", x->out);
	int rc = feed_new(&feed, x->s, FEED_ALL, 0, err);
	while (rc == 0 && (rc = feed_next(feed, &ev, &arena, head, err)) > 0) {
		if (!t.begin_us)
			t.begin_us = ev.ts_us;
		t.last_us = ev.ts_us;
		export_otlp_on_event(&t, &ev);
		rc = 0;
		arena_reset(&arena);
	}
	export_otlp_put_span(&t, otlp_session(x->s, t.begin_us, t.last_us, t.ok, t.uuid));
	fputs("\n]}]}]}\n", x->out);
	feed_free(&feed);
	arena_release(&arena);
	return rc;
}
