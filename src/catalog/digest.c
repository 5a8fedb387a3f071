#include "catalog/digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "catalog/traits.h"
#include "check/summary.h"
#include "record/read/ended.h"
#include "record/read/settled.h"
#include "sessions/unmerged.h"
#include "wire/event.h"

int64_t digest_ended_us(struct session *s, int64_t head_us)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	uint64_t begun = 0, next, end;
	while ((next = session_next_of(s, EV_HOST_START, 0, begun)))
		begun = next;
	end = begun ? session_next_of(s, EV_SESSION_END, 0, begun) : 0;
	return end && session_event(s, end, &ev, &arena, &none) == 0 ? ev.ts_us : head_us;
}

static void digest_end(struct digest *d, struct session *s)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	bool ended = false;
	d->events = session_head(s);
	d->live = session_live(s);
	if (session_event(s, 1, &ev, &arena, &none) == 0)
		d->begun_us = ev.ts_us;
	if (d->events && session_event(s, d->events, &ev, &arena, &none) == 0) {
		d->last_us = ev.ts_us;
		ended = ev.kind == EV_SESSION_END;
		struct ev_session_end end = { 0 };
		if (ended)
			event_decode(&desc_ev_session_end, &ev, &arena, &end);
		struct ev_text why = ended_why(&end);
		d->state = ended_word(&end);
		d->why = why.n ? mem_strndup(why.s, why.n) : NULL;
	}
	if (ended)
		d->last_us = digest_ended_us(s, d->last_us);
	d->broken_off = !d->live && !ended;
	d->state = d->live ? "running" : !ended ? "interrupted" : d->state;
	arena_release(&arena);
}

static void digest_summary(struct digest *d, const struct summary *m)
{
	d->cost_uusd = m->cost_uusd;
	d->cost_unknown = m->cost_unknown;
	d->failed = m->failed;
	d->denied = m->denied + m->denied_by_rule;
}

static void digest_count(struct digest *d, struct session *s)
{
	struct summary m = { 0 };
	struct unmerged u = UNMERGED_INIT;
	struct err none = ERR_INIT;
	CLEANUP(json_release) json_t *traits = session_traits(s, &none);
	if (traits && summary_counts(s, &m, &none) == 0 && unmerged_read(&u, s, &none) == 0) {
		digest_summary(d, &m);
		d->agents = json_incref(json_object_get(traits, "agents"));
		d->labels = json_incref(json_object_get(traits, "labels"));
		d->unmerged = unmerged_work(&u);
		d->counted = true;
	}
	unmerged_release(&u);
	summary_release(&m);
}

static bool digest_catalogued(struct digest *d, const struct catalog *c,
			      const struct session_file *f)
{
	const struct shard_session *known = catalog_find(c, f);
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *o =
		known ? json_parse(known->glance, strlen(known->glance), "catalog", &none) : NULL;
	if (!o)
		return false;
	d->cost_uusd = json_int(o, "cost_uusd", 0);
	d->cost_unknown = json_flag(o, "cost_unknown", false);
	d->failed = (uint64_t)json_int(o, "failed", 0);
	d->denied = (uint64_t)json_int(o, "denied", 0);
	d->unmerged = (uint64_t)json_int(o, "unmerged", 0);
	d->state = known->state;
	d->why = known->why ? mem_strdup(known->why) : NULL;
	d->events = known->events;
	d->begun_us = known->begun_us;
	d->last_us = known->last_us;
	d->agents = json_incref(json_object_get(o, "agents"));
	d->labels = json_incref(json_object_get(o, "labels"));
	d->counted = true;
	return true;
}

void digest_of(struct digest *out, const struct catalog *c, const struct session_file *f)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	*out = (struct digest){ .state = "unreadable" };
	if (digest_catalogued(out, c, f))
		return;
	if (session_open(&s, f->path, &err) < 0) {
		out->unreadable = true;
		out->why = mem_strdup(err.text);
		return;
	}
	digest_end(out, s);
	digest_count(out, s);
	session_close(&s);
}

int64_t digest_begun(const struct catalog *c, const struct session_file *f)
{
	const struct shard_session *known = catalog_find(c, f);
	struct session *s = NULL;
	struct event ev;
	struct arena arena = ARENA_INIT;
	struct err none = ERR_INIT;
	int64_t begun_us = 0;
	if (known)
		return known->begun_us;
	if (session_open(&s, f->path, &none) < 0)
		return 0;
	if (session_event(s, 1, &ev, &arena, &none) == 0)
		begun_us = ev.ts_us;
	arena_release(&arena);
	session_close(&s);
	return begun_us;
}

void digest_release(struct digest *d)
{
	free(d->why);
	json_decref(d->agents);
	json_decref(d->labels);
	*d = (struct digest){ 0 };
}

void digest_cost(const struct digest *d, struct buf *out)
{
	if (!d->counted || (d->cost_unknown && !d->cost_uusd))
		buf_puts(out, "unknown");
	else
		buf_printf(out, "$%.2f%s", (double)d->cost_uusd / 1e6, d->cost_unknown ? "+" : "");
}

void digest_agents(const struct digest *d, struct buf *out)
{
	const json_t *name;
	size_t i;
	json_array_foreach(d->agents, i, name)
		buf_printf(out, "%s%s", i ? ", " : "", json_string_value(name));
}
