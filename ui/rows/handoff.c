#include "ui/rows/handoff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/term/fmt.h"
#include "ui/rows/changes.h"
#include "ui/rows/row.h"

static void put_limits(json_t *o, const char *name, const struct limits *l)
{
	json_t *v = json_object();
	json_put_int(v, "uusd", l->uusd);
	json_put_int(v, "tokens", l->tokens);
	json_put_int(v, "time_us", l->time_us);
	json_put_int(v, "steps", l->steps);
	json_put_int(v, "actions", l->actions);
	json_put(o, name, v);
}

static const char *handoff_agent_name(const struct model *m, uint64_t id)
{
	const struct model_agent *a = model_agent(m, id);
	return a ? a->name : "";
}

/* @live: the session runs; otherwise unfinished agents are shown in their last state. */
static json_t *handoff_agents(const struct model *m, bool live)
{
	json_t *list = json_array();
	for (size_t i = 0; i < m->nr_agents; i++) {
		const struct model_agent *a = &m->agent[i];
		if (a->script)
			continue;
		json_t *o = json_object();
		json_put_int(o, "agent", (int64_t)a->id);
		json_put_str(o, "name", a->name);
		json_put_str(o, "task", a->task ? a->task : "");
		json_put_str(
			o, "state",
			agent_state_word(live || a->ended ? model_agent_state(m, a) : AGENT_LOST));
		json_put_int(o, "turn", a->turn);
		json_put_int(o, "tokens", a->tokens);
		json_put_int(o, "uusd", a->uusd);
		json_put_flag(o, "cost_unknown", a->cost_unknown);
		put_limits(o, "limits", &a->limits);
		json_array_append_new(list, o);
	}
	return list;
}

static const char *who_of(const json_t *body)
{
	const char *name = json_str(json_object_get(body, "who"), "name", "");
	return *name ? name : json_str(body, "by", "");
}

static const char *note_of(const json_t *body)
{
	return json_str(body, "note", json_str(body, "message", ""));
}

static void handoff_add_waiting(json_t *list, struct source *s, uint64_t seq, enum event_kind kind)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	const struct model_action *act = kind == EV_ASK ? NULL : model_action(&s->model, seq);
	struct row_info r;
	row_load(&r, s, &(struct row){ seq, kind }, &a);
	json_t *o = json_object();
	json_put_int(o, "event", (int64_t)seq);
	json_put_str(o, "agent", handoff_agent_name(&s->model, act ? act->agent : r.agent));
	json_put_str(o, "kind", act ? act->kind : "ask");
	json_put(o, "what", json_bytes_z(r.what));
	json_put_str(o, "why",
		     !act ? "question without an answer"
		     : act->latched
			     ? s->model.paused_by_freeze ? "frozen by a user" : "paused by a user"
			     : r.by);
	json_put_int(o, "since_us", act ? act->held_us : r.ts_us);
	json_put_int(o, "until_us", act ? act->until_us : 0);
	if (act && act->latched)
		json_put_flag(o, "paused", true);
	if (act && act->later) {
		CLEANUP(json_release) json_t *body = source_body(s, act->later);
		json_put_str(o, "note", note_of(body));
		json_put_str(o, "note_by", who_of(body));
	}
	json_array_append_new(list, o);
}

static json_t *handoff_waits(struct source *s)
{
	const struct model *m = &s->model;
	json_t *list = json_array();
	for (size_t i = 0; i < m->nr_held; i++)
		handoff_add_waiting(list, s, m->held[i], EV_ACTION_REQUESTED);
	for (size_t i = 0; i < m->nr_agents; i++) {
		const struct model_action *act = model_stands(m, &m->agent[i]);
		if (act && act->latched)
			handoff_add_waiting(list, s, act->id, EV_ACTION_REQUESTED);
	}
	for (size_t i = 0; i < m->nr_asks; i++)
		handoff_add_waiting(list, s, m->ask[i].seq, EV_ASK);
	return list;
}

static int64_t handoff_when(struct source *s, uint64_t seq)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event ev;
	return session_event(s->session, seq, &ev, &a, &err) < 0 ? 0 : ev.ts_us;
}

static json_t *handoff_decisions(struct source *s)
{
	const struct model *m = &s->model;
	json_t *list = json_array();
	for (size_t i = m->nr_actions; i > 0 && json_array_size(list) < HANDOVER_DECISIONS; i--) {
		const struct model_action *act = &m->action[i - 1];
		CLEANUP(json_release)
		json_t *body = act->decided ? source_body(s, act->decided) : NULL;
		/* the end of a pause is nobody's decision on it */
		if (!body || strcmp(json_str(body, "by", ""), "latch") == 0)
			continue;
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		struct row_info r;
		row_load(&r, s, &(struct row){ act->id, EV_ACTION_REQUESTED }, &a);
		json_t *o = json_object();
		json_put_int(o, "event", (int64_t)act->decided);
		json_put_int(o, "action", (int64_t)act->id);
		json_put(o, "what", json_bytes_z(r.what));
		json_put_str(o, "agent", handoff_agent_name(m, act->agent));
		json_put_str(o, "decision", json_str(body, "decision", ""));
		json_put_str(o, "by", json_str(body, "by", ""));
		json_put_str(o, "who", who_of(body));
		json_put_int(o, "uid", json_int(json_object_get(body, "who"), "uid", -1));
		json_put_int(o, "ts_us", handoff_when(s, act->decided));
		json_put_str(o, "note", note_of(body));
		json_array_append_new(list, o);
	}
	return list;
}

static void taken_back(json_t *list, int64_t event)
{
	for (size_t i = json_array_size(list); i-- > 0;)
		if (json_int(json_array_get(list, i), "event", 0) == event)
			json_array_remove(list, i);
}

static json_t *handoff_waivers(struct source *s)
{
	json_t *list = json_array();
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event ev;
	struct feed *f;
	if (s->model.waivers == 0 || feed_new(&f, s->session, FEED_ALL, 0, &err) < 0)
		return list;
	while (feed_next(f, &ev, &a, s->model.head, &err) == 1) {
		bool end = ev.kind == EV_POLICY_WAIVER_END;
		json_t *body = (end || ev.kind == EV_POLICY_WAIVER) && ev.body
				       ? json_parse(ev.body, ev.len, "waiver", &err)
				       : NULL;
		if (body && end) {
			taken_back(list, json_int(body, "waiver", 0));
		} else if (body) {
			json_t *o = json_object();
			json_put_int(o, "event", (int64_t)ev.seq);
			json_put_str(o, "kind", json_str(body, "kind", ""));
			json_put_str(o, "pattern", json_str(body, "pattern", ""));
			json_put_str(o, "who", who_of(body));
			json_array_append_new(list, o);
		}
		json_decref(body);
		arena_reset(&a);
	}
	feed_free(&f);
	return list;
}

/* The recorded merges of one sandbox. */
struct merges {
	/* seqs of the newest merge that stands, and of the newest snapshot with changes */
	uint64_t box, merged, changed;
	int64_t left; /* files that are not merged after it */
	json_t *rest; /* [{path,why}] of them, some; NULL: an older merge.done */
	/* a directory of the user's is below it; another sandbox continues its files */
	bool target, again;
	char id[33];
};

static struct merges *merges_of(struct merges *list, size_t nr, uint64_t box)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i].box == box)
			return &list[i];
	return NULL;
}

static void handoff_see_open(struct merges *list, size_t nr, const struct event *ev,
			     const json_t *body)
{
	const json_t *repos = json_object_get(body, "repos");
	struct merges *b = merges_of(list, nr, ev->seq);
	struct merges *was = merges_of(list, nr, (uint64_t)json_int(body, "was", 0));
	if (was)
		was->again = true;
	for (size_t i = 0; b && i < json_array_size(repos); i++)
		b->target = b->target || json_object_get(json_array_get(repos, i), "dir");
}

static void see_merge(struct merges *list, size_t nr, const struct event *ev, const json_t *body)
{
	struct merges *b = merges_of(list, nr, ev->box);
	const char *why = json_str(body, "why", "");
	if (ev->kind == EV_MERGE_UNDONE) {
		for (size_t i = 0; i < nr; i++)
			if (strcmp(list[i].id, json_str(body, "merge", "")) == 0)
				list[i].merged = 0;
	} else if (ev->kind == EV_MERGE_DONE && b) {
		b->merged = ev->seq;
		const json_t *rest = json_object_get(body, "unmerged");
		b->left = json_int(rest, "files", json_int(body, "left", 0));
		json_decref(b->rest);
		b->rest = json_incref(json_object_get(rest, "paths"));
		snprintf(b->id, sizeof(b->id), "%s", json_str(body, "merge", ""));
	} else if (ev->kind == EV_SNAPSHOT_TAKEN && b && json_int(body, "changed", 0) > 0 &&
		   strcmp(why, "open") != 0 && strcmp(why, "resume") != 0) {
		b->changed = ev->seq;
	}
}

static void read_merges(struct source *s, struct merges *list, size_t nr)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event ev;
	struct feed *f;
	if (nr == 0 || feed_new(&f, s->session, FEED_ALL, 0, &err) < 0)
		return;
	while (feed_next(f, &ev, &a, s->model.head, &err) == 1) {
		bool of_merge = ev.kind == EV_SNAPSHOT_TAKEN || ev.kind == EV_MERGE_DONE ||
				ev.kind == EV_MERGE_UNDONE;
		CLEANUP(json_release)
		json_t *body = (of_merge || ev.kind == EV_BOX_OPEN) && ev.body
				       ? json_parse(ev.body, ev.len, "event", &err)
				       : NULL;
		if (body && of_merge)
			see_merge(list, nr, &ev, body);
		else if (body)
			handoff_see_open(list, nr, &ev, body);
		arena_reset(&a);
	}
	feed_free(&f);
}

/* The files of a box that nobody has merged back, as far as the page has room. */
static void put_unmerged(json_t *o, struct source *s, const struct merges *b)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	json_t *files = json_array();
	struct change *c = NULL;
	int64_t count = 0;
	bool stands = b->merged > b->changed;
	size_t nr = !b->target || b->again || stands ? 0 : changes_list(s, b->box, &c, &a);
	for (size_t i = 0; i < nr; i++) {
		if (c[i].note && strcmp(c[i].note, "hash only") == 0)
			continue;
		count++;
		if (json_array_size(files) >= HANDOVER_FILES)
			continue;
		const char op[] = { c[i].op, 0 };
		json_t *f = json_object();
		json_put(f, "path", json_bytes_z(c[i].path));
		json_put_str(f, "op", op);
		json_put_str(f, "lines",
			     c[i].counted ? change_counts(&c[i], &a)
			     : c[i].note  ? c[i].note
					  : "");
		json_array_append_new(files, f);
	}
	for (size_t i = 0;
	     stands && i < json_array_size(b->rest) && json_array_size(files) < HANDOVER_FILES;
	     i++) {
		const json_t *r = json_array_get(b->rest, i);
		json_t *f = json_object();
		json_put(f, "path", json_incref(json_object_get(r, "path")));
		json_put_str(f, "op", "");
		json_put_str(f, "lines", json_str(r, "why", ""));
		json_array_append_new(files, f);
	}
	json_put_int(o, "unmerged_files", stands && b->target && !b->again ? b->left : count);
	json_put_int(o, "merged", (int64_t)(stands ? b->merged : 0));
	json_put(o, "unmerged", files);
}

static json_t *handoff_boxes(struct source *s)
{
	const struct model *m = &s->model;
	json_t *list = json_array();
	struct merges *seen = mem_calloc(m->nr_boxes + 1, sizeof(*seen));
	for (size_t i = 0; i < m->nr_boxes; i++)
		seen[i].box = m->box[i].id;
	read_merges(s, seen, m->nr_boxes);
	for (size_t i = 0; i < m->nr_boxes; i++) {
		const struct model_box *b = &m->box[i];
		json_t *o = json_object();
		json_put_int(o, "box", (int64_t)b->id);
		json_put_str(o, "name", b->name);
		json_put_str(o, "state",
			     b->closed	 ? "closed"
			     : b->frozen ? "frozen"
			     : b->ready	 ? "open"
					 : "opens");
		json_put_int(o, "changed_files", b->touched);
		put_unmerged(o, s, &seen[i]);
		json_array_append_new(list, o);
	}
	for (size_t i = 0; i < m->nr_boxes; i++)
		json_decref(seen[i].rest);
	free(seen);
	return list;
}

json_t *handoff_make(struct source *s, bool live, int64_t now_us)
{
	const struct model *m = &s->model;
	bool wait = m->nr_held + m->nr_asks > 0;
	json_t *o = json_object(), *spent = json_object();
	json_put_str(o, "session", m->id);
	json_put_str(o, "name", m->name);
	json_put_str(o, "state",
		     m->ended		   ? m->how
		     : !live		   ? "interrupted"
		     : wait		   ? "waiting"
		     : m->paused_by_freeze ? "frozen"
		     : m->paused_all	   ? "paused"
					   : "running");
	json_put_flag(o, "over", m->ended);
	json_put_str(o, "script", m->script ? m->script : "");
	json_put_int(o, "begun_us", m->start_us);
	json_put_int(o, "dur_us", (live && !m->ended ? now_us : m->last_us) - m->start_us);
	json_put(o, "agents", handoff_agents(m, live));
	json_put(o, "waits", handoff_waits(s));
	json_put(o, "decisions", handoff_decisions(s));
	json_put_str(o, "hold", m->hold ? m->hold : "");
	json_put(o, "waivers", handoff_waivers(s));
	json_put(o, "boxes", handoff_boxes(s));
	json_put_int(spent, "uusd", m->uusd);
	json_put_flag(spent, "cost_unknown", m->cost_unknown);
	json_put_int(spent, "tokens", m->tokens);
	json_put_int(spent, "time_us", json_int(o, "dur_us", 0));
	json_put(o, "spent", spent);
	put_limits(o, "limits", &m->limits);
	json_put_str(o, "warning", m->warning ? m->warning : "");
	return o;
}
