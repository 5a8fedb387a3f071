/* The part of a decision that lasts: session approvals, and the past actions that each would have
 * covered. */
#include "action/gate_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/record_event.h"

enum { LISTED_MAX = 50 };

static void gate_waiver_add(struct action *a, const struct decide *d, enum action_kind kind,
			    const char *pattern)
{
	struct gate *g = a->gate;
	GROW(g->waiver, g->nr_waivers, g->cap_waivers);
	struct waiver *w = &g->waiver[g->nr_waivers++];
	*w = (struct waiver){ .kind = kind,
			      .agent = d->waiver_all ? 0 : a->spec.agent,
			      .pattern = mem_strdup(pattern),
			      .uses = d->waiver_uses };
	if (d->waiver_for_us) {
		w->until_us = clock_wall_us() + d->waiver_for_us;
		w->deadline_us = clock_mono_us() + d->waiver_for_us;
	}
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	w->seq = record_ev_policy_waiver(
		g->record,
		&(struct event){ .cause = a->last_seq,
				 .agent = a->spec.agent,
				 .box = a->spec.box,
				 .action = a->id },
		&(struct ev_policy_waiver){ .kind = ev_text_of(action_kind_name(kind)),
					    .pattern = ev_text_of(pattern),
					    EV_SET(agent, (int64_t)w->agent),
					    .until_us = w->until_us,
					    .uses = w->uses,
					    .note = ev_text_of(d->note),
					    .who = ev_who_from(&mem, d->who) });
}

void waiver_add(struct action *a, const struct decide *d)
{
	gate_waiver_add(a, d, a->spec.kind, d->waiver);
	if (d->waiver_host)
		gate_waiver_add(a, d, ACT_CONNECT, d->waiver_host);
}

static void gate_waiver_drop(struct gate *g, size_t i)
{
	free(g->waiver[i].pattern);
	g->waiver[i] = g->waiver[--g->nr_waivers];
}

void waivers_expire(struct gate *g)
{
	for (size_t i = g->nr_waivers; i-- > 0;)
		if (g->waiver[i].deadline_us && g->waiver[i].deadline_us <= clock_mono_us())
			gate_waiver_drop(g, i);
}

void waiver_drop(struct gate *g, uint64_t seq)
{
	for (size_t i = g->nr_waivers; i-- > 0;)
		if (g->waiver[i].seq == seq)
			gate_waiver_drop(g, i);
}

json_t *waivers_json(struct gate *g)
{
	json_t *list = json_array();
	waivers_expire(g);
	for (size_t i = 0; i < g->nr_waivers; i++) {
		const struct waiver *w = &g->waiver[i];
		json_t *o = json_object();
		json_put_int(o, "event", (json_int_t)w->seq);
		json_put_str(o, "kind", action_kind_name(w->kind));
		json_put_str(o, "pattern", w->pattern);
		json_put_int(o, "agent", (json_int_t)w->agent);
		if (w->until_us)
			json_put_int(o, "until_us", w->until_us);
		if (w->uses)
			json_put_int(o, "uses", w->uses);
		json_array_append_new(list, o);
	}
	return list;
}

/* --- taken back ------------------------------------------------------------------------------- */

static struct waiver *waiver_of(struct gate *g, uint64_t seq)
{
	for (size_t i = 0; i < g->nr_waivers; i++)
		if (g->waiver[i].seq == seq)
			return &g->waiver[i];
	return NULL;
}

uint64_t gate_newest_set(struct gate *g)
{
	uint64_t newest = g->hold_seq;
	waivers_expire(g);
	for (size_t i = 0; i < g->nr_waivers; i++)
		newest = g->waiver[i].seq > newest ? g->waiver[i].seq : newest;
	return newest;
}

bool gate_take_back(struct gate *g, uint64_t seq, json_t *who, struct buf *said)
{
	struct err err = ERR_INIT;
	const struct waiver *w = waiver_of(g, seq);
	if (w) {
		CLEANUP(arena_release) struct arena mem = ARENA_INIT;
		record_ev_policy_waiver_end(g->record,
					    &(struct event){ .cause = seq, .agent = w->agent },
					    &(struct ev_policy_waiver_end){
						    .waiver = (int64_t)seq,
						    .kind = ev_text_of(action_kind_name(w->kind)),
						    .pattern = ev_text_of(w->pattern),
						    .who = ev_who_from(&mem, who) });
		buf_printf(said, "no longer approved for the session: %s", w->pattern);
		waiver_drop(g, seq);
		return true;
	}
	if (!seq || seq != g->hold_seq)
		return false;
	CLEANUP(free_ptr) char *before = mem_strdup(g->hold_before);
	if (gate_hold(g, before, who, &err) < 0)
		return false;
	g->hold_seq = 0; /* this one has been the undo */
	buf_printf(said, *before ? "breakpoint as before: %s" : "no breakpoint is set, as before",
		   before);
	return true;
}

void waivers_used(struct action *a)
{
	if (a->judgement.waived)
		waivers_used_by(a);
}

void waivers_touched(struct gate *g, uint64_t agent, const struct policy_subject *subject)
{
	for (size_t i = g->nr_waivers; i-- > 0;)
		if (g->waiver[i].uses && waiver_touches(&g->waiver[i], agent, subject) &&
		    --g->waiver[i].uses == 0)
			gate_waiver_drop(g, i);
}

void waivers_used_by(const struct action *a)
{
	struct policy_subject subject;
	action_subject(a, &subject);
	waivers_touched(a->gate, a->spec.agent, &subject);
}

/* --- what it would have covered ---------------------------------------------------------------
 */

void past_push(struct gate *g, const struct action *a)
{
	const struct action_spec *s = &a->spec;
	size_t bytes = 0;
	for (size_t i = 0; i < s->argv.nr; i++)
		bytes += s->argv.len[i];
	if (bytes > PAST_TEXT_MAX || s->kind == ACT_MODEL || s->kind == ACT_ASK)
		return;
	struct action_spec kept = { .kind = s->kind,
				    .cause = a->id,
				    .agent = s->agent,
				    .box = s->box,
				    .tool = s->tool,
				    .argv = s->argv,
				    .cwd = s->cwd,
				    .path = s->path,
				    .host_path = s->host_path,
				    .host = s->host,
				    .port = s->port };
	if (!g->past) {
		g->past = mem_calloc(PAST_MAX, sizeof(*g->past));
		g->past_denied = mem_calloc(PAST_MAX, sizeof(*g->past_denied));
		g->past_parts = mem_calloc(PAST_MAX, sizeof(*g->past_parts));
	}
	size_t at = g->cap_past++ % PAST_MAX;
	if (g->nr_past < PAST_MAX)
		g->nr_past++;
	action_spec_release(&g->past[at]);
	spec_copy(&g->past[at], &kept);
	g->past_denied[at] = false;
	g->past_parts[at] = 0;
}

void past_judged(struct gate *g, const struct action *a)
{
	for (size_t i = 0; i < g->nr_past && a->judgement.not_allowed; i++)
		if (g->past[i].cause == a->id)
			g->past_parts[i] = a->judgement.not_allowed;
}

void past_denied(struct gate *g, const struct action *a)
{
	for (size_t i = 0; i < g->nr_past; i++)
		if (g->past[i].cause == a->id)
			g->past_denied[i] = true;
}

void waiver_count_past(struct gate *g, const struct waiver *w, json_t *out)
{
	int64_t matched = 0, denied = 0;
	json_t *ids = json_array();
	for (size_t n = g->nr_past; n > 0; n--) { /* newest first */
		size_t i = (g->cap_past + n - 1 - g->nr_past) % PAST_MAX;
		const struct policy_subject subject = { .spec = &g->past[i] };
		uint64_t parts = g->past_parts[i];
		if (!(parts ? waiver_lifts(w, g->past[i].agent, &subject, parts)
			    : waiver_covers(w, g->past[i].agent, &subject)))
			continue;
		matched++;
		denied += g->past_denied[i];
		if (matched <= LISTED_MAX)
			json_array_append_new(ids, json_integer((json_int_t)g->past[i].cause));
	}
	json_put_int(out, "tried", (json_int_t)g->nr_past);
	json_put(out, "actions", ids);
	json_put_int(out, "matched", matched);
	json_put_int(out, "denied", denied);
}

json_t *gate_waiver_proposals(struct gate *g, uint64_t id)
{
	struct action *a = gate_action(g, id);
	struct policy_subject subject;
	if (!a || a->state != ACTION_HELD || !a->has_judgement)
		return json_array();
	action_subject(a, &subject);
	json_t *list = policy_proposals(&a->judgement, &subject), *one;
	size_t i;
	json_array_foreach(list, i, one)
	{
		CLEANUP(free_ptr) char *pattern = mem_strdup(json_str(one, "pattern", ""));
		const struct waiver w = { .kind = a->spec.kind, .pattern = pattern };
		waiver_count_past(g, &w, one);
		json_put(one, "others", others_with_waiver(g, a, &w));
	}
	return list;
}

json_t *gate_waiver_try(struct gate *g, uint64_t id, const char *pattern, struct err *err)
{
	const struct decide look = { .action = id, .decision = DECIDE_LATER };
	if (gate_may_decide(g, &look, err) < 0)
		return NULL;
	const struct action *a = gate_action(g, id);
	if (waiver_check(a->spec.kind, pattern, err) < 0)
		return NULL;
	CLEANUP(free_ptr) char *mine = mem_strdup(pattern);
	json_t *out = json_object();
	json_put_str(out, "pattern", pattern);
	json_put_flag(out, "wide", waiver_wide(a->spec.kind, pattern));
	const struct waiver w = { .kind = a->spec.kind, .pattern = mine };
	waiver_count_past(g, &w, out);
	json_put(out, "others", others_with_waiver(g, a, &w));
	return out;
}
