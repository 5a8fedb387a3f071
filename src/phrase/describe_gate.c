#include "phrase/describe_gate.h"

#include "base/clock.h"
#include "wire/event_body.h"

enum { TEXT_MAX = 300 };

static bool gate_text(struct buf *out, const char *before, struct ev_text t)
{
	if (!t.n)
		return false;
	buf_puts(out, before);
	return ev_text_put(out, t, TEXT_MAX);
}

static void gate_number(struct buf *out, const char *before, bool has, int64_t v)
{
	if (has)
		buf_printf(out, "%s%lld", before, (long long)v);
}

static void gate_who(struct buf *out, const struct ev_who *w, struct ev_text by)
{
	if (!w->there)
		gate_text(out, " by ", by);
	else if (!gate_text(out, " by ", w->name))
		gate_number(out, " by uid ", w->has_uid, w->uid);
}

static void describe_judged(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_action_judged j;
	event_decode(&desc_ev_action_judged, ev, a, &j);
	const struct ev_rule_match *rule = j.rules.nr ? &j.rules.item[0] : NULL;
	if (!ev_text_put(out, j.verdict, TEXT_MAX))
		buf_puts(out, "judged");
	if (!rule || !gate_text(out, " by ", rule->name))
		buf_puts(out, " by default");
	if (rule)
		gate_text(out, ": ", rule->why);
	gate_text(out, ", risk ", j.risk);
}

static void describe_held(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_action_held h;
	event_decode(&desc_ev_action_held, ev, a, &h);
	for (size_t i = 0; i < h.reasons.nr; i++)
		gate_text(out, i ? ", " : "HELD: ", h.reasons.item[i]);
	gate_text(out, " by ", h.rule);
	gate_text(out, ": ", h.why);
}

static void describe_decided(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_action_decided d;
	event_decode(&desc_ev_action_decided, ev, a, &d);
	ev_text_put(out, d.decision, TEXT_MAX);
	gate_who(out, &d.who, d.by);
	gate_number(out, ", together with #", d.with != 0, d.with);
	gate_text(out, ": ", d.message);
	gate_text(out, ", with a new rule ", d.rule);
	gate_text(out, ", note: ", d.note);
}

static void describe_later(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_action_later l;
	event_decode(&desc_ev_action_later, ev, a, &l);
	buf_puts(out, "deferred");
	gate_who(out, &l.who, (struct ev_text){ 0 });
	gate_text(out, ", note: ", l.note);
	gate_text(out, ", note: ", l.message);
}

static void describe_ended(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_action_ended e;
	event_decode(&desc_ev_action_ended, ev, a, &e);
	bool good = ev_text_is(e.end, "ok"), permitted = good && e.permitted;
	if (good)
		buf_puts(out, permitted ? "allowed" : "done");
	else if (!ev_text_put(out, e.end, TEXT_MAX))
		buf_puts(out, "ended");
	gate_number(out, ": exit ", good && e.has_code, e.code);
	gate_number(out, ": signal ", good && e.has_signal, e.signal);
	gate_number(out, ": stopped with signal ", good && e.has_stopped, e.stopped);
	gate_text(out, " by ", e.rule);
	gate_text(out, ": ", e.why);
	if (permitted || !e.has_dur_us)
		return;
	buf_puts(out, " in ");
	clock_span(e.dur_us, out);
}

bool describe_gate(const struct event *ev, struct buf *out)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	if (ev->kind == EV_ACTION_JUDGED)
		describe_judged(ev, &a, out);
	else if (ev->kind == EV_ACTION_HELD)
		describe_held(ev, &a, out);
	else if (ev->kind == EV_ACTION_DECIDED)
		describe_decided(ev, &a, out);
	else if (ev->kind == EV_ACTION_LATER)
		describe_later(ev, &a, out);
	else if (ev->kind == EV_ACTION_ENDED)
		describe_ended(ev, &a, out);
	else
		return false;
	return true;
}
