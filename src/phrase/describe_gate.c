#include "phrase/describe_gate.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "phrase/describe.h"
#include "phrase/phrase.h"

enum { TEXT_MAX = 300 };

static void describe_judged(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_action_judged j;
	event_decode(&desc_ev_action_judged, ev, a, &j);
	const struct ev_rule_match *rule = j.rules.nr ? &j.rules.item[0] : NULL;
	if (!ev_text_put(out, j.verdict, TEXT_MAX))
		buf_puts(out, "judged");
	if (!rule || !phrase_text(out, " by ", rule->name))
		buf_puts(out, " by default");
	if (rule)
		phrase_text(out, ": ", rule->why);
	phrase_text(out, ", risk ", j.risk);
}

static void describe_held(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_action_held h;
	event_decode(&desc_ev_action_held, ev, a, &h);
	for (size_t i = 0; i < h.reasons.nr; i++)
		phrase_text(out, i ? ", " : "HELD: ", h.reasons.item[i]);
	phrase_text(out, " by ", h.rule);
	phrase_text(out, ": ", h.why);
}

const char *describe_decision(const char *decision)
{
	static const struct {
		const char *decision, *past;
	} words[] = { { "approve", "approved" },
		      { "deny", "denied" },
		      { "deny_pause", "denied and paused" },
		      { "promote", "dry run applied" },
		      { "edit", "edited and approved" },
		      { "kill", "ended" },
		      { "release", "released" } };
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(decision, words[i].decision))
			return words[i].past;
	return decision;
}

static void describe_decided(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_action_decided d;
	event_decode(&desc_ev_action_decided, ev, a, &d);
	CLEANUP(buf_release) struct buf decision = BUF_INIT;
	ev_text_put(&decision, d.decision, TEXT_MAX);
	buf_puts(out, describe_decision(buf_cstr(&decision)));
	phrase_who(out, &d.who, d.by);
	phrase_number(out, ", together with #", d.with != 0, d.with);
	phrase_text(out, ": ", d.message);
	phrase_text(out, ", with a new rule ", d.rule);
	phrase_text(out, ", note: ", d.note);
}

static void describe_later(const struct event *ev, struct arena *a, struct buf *out)
{
	struct ev_action_later l;
	event_decode(&desc_ev_action_later, ev, a, &l);
	buf_puts(out, "deferred");
	phrase_who(out, &l.who, (struct ev_text){ 0 });
	phrase_text(out, ", note: ", l.note);
	phrase_text(out, ", note: ", l.message);
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
	phrase_number(out, ": exit ", good && e.has_code, e.code);
	phrase_number(out, ": signal ", good && e.has_signal, e.signal);
	phrase_number(out, ": stopped with signal ", good && e.has_stopped, e.stopped);
	phrase_text(out, " by ", e.rule);
	phrase_text(out, ": ", e.why);
	if (permitted || !e.has_dur_us)
		return;
	buf_puts(out, " in ");
	clock_span(e.dur_us, out);
}

bool describe_gate(const struct event *ev, struct buf *out)
{
	static const struct phrase table[] = {
		{ EV_ACTION_JUDGED, describe_judged },	 { EV_ACTION_HELD, describe_held },
		{ EV_ACTION_DECIDED, describe_decided }, { EV_ACTION_LATER, describe_later },
		{ EV_ACTION_ENDED, describe_ended },
	};
	return phrase_from(table, ARRAY_LEN(table), ev, out);
}
