#include "ui/model/facts.h"

#include <string.h>

static void facts_add(json_t *o, const char *list, const char *word)
{
	json_t *l = json_object_get(o, list);
	if (!l) {
		l = json_array();
		json_put(o, list, l);
	}
	json_array_append_new(l, json_string(word));
}

static void facts_copy(json_t *to, const json_t *from, const char *key)
{
	json_t *v = json_object_get(from, key);
	if (v && !json_is_null(v))
		json_put(to, key, json_incref(v));
}

static void put_who(json_t *o, const struct model *m, uint64_t agent, uint64_t box)
{
	const struct model_agent *a = model_agent(m, agent);
	const struct model_box *b = model_box(m, box);
	if (a)
		json_put_str(o, "agent", a->name);
	if (agent)
		json_put_int(o, "agent_id", (int64_t)agent);
	if (b)
		json_put_str(o, "box", b->name);
	if (box)
		json_put_int(o, "box_id", (int64_t)box);
	facts_add(o, "session", m->id ? m->id : "");
	facts_add(o, "session", m->name ? m->name : "");
}

/* The body of one step in an action's life; its text is kept for "text:". Returns owned or NULL. */
static json_t *facts_step(json_t *o, struct source *s, uint64_t seq)
{
	json_t *body = seq ? source_body(s, seq) : NULL;
	if (body) {
		CLEANUP(free_ptr) char *text = json_dump_str(body);
		facts_add(o, "text", text);
	}
	return body;
}

static void facts_put_cmd(json_t *o, const json_t *body)
{
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	facts_copy(o, body, "cmd");
	if (!json_object_get(o, "cmd") && json_get_argv(json_object_get(body, "argv"), &argv) &&
	    argv.nr > 0) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		if (argv.nr > 2 && strcmp(argv.item[1], "-c") == 0)
			buf_puts(&b, argv.item[2]);
		else
			for (size_t i = 0; i < argv.nr; i++)
				buf_printf(&b, "%s%s", i ? " " : "", argv.item[i]);
		json_put_bytes(o, "cmd", b.data, b.len);
	}
}

/* A user's edit; a filter finds both texts. */
static void put_edited(json_t *o, const json_t *started)
{
	json_t *was = json_object_get(o, "cmd");
	if (was) {
		json_put(o, "proposed", json_incref(was));
		json_object_del(o, "cmd");
	}
	facts_put_cmd(o, started);
	json_t *path = json_object_get(o, "path"), *now = json_object_get(started, "path");
	if (path && now)
		json_put(o, "path", json_pack("[O,O]", path, now));
}

static void put_request(json_t *o, const json_t *body)
{
	static const char *const same[] = { "kind", "tool", "path", "host_path", "host" };
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		facts_copy(o, body, same[i]);
	facts_put_cmd(o, body);
	const char *data = json_str(body, "data", NULL);
	if (data) {
		int64_t lines = 0;
		for (const char *p = data; *p; p++)
			lines += *p == '\n' || !p[1];
		json_put_int(o, "lines", lines);
	}
}

static void put_judged(json_t *o, const json_t *body)
{
	size_t i;
	json_t *rule;
	facts_add(o, "verdict", json_str(body, "verdict", ""));
	json_put_str(o, "risk", json_str(body, "risk", "none"));
	json_array_foreach(json_object_get(body, "rules"), i, rule)
		facts_add(o, "rule", json_str(rule, "name", ""));
}

static void put_decided(json_t *o, const json_t *body)
{
	const char *d = json_str(body, "decision", "");
	bool deny =
		strcmp(d, "deny") == 0 || strcmp(d, "deny_pause") == 0 || strcmp(d, "kill") == 0;
	if (deny || strcmp(d, "approve") == 0 || strcmp(d, "edit") == 0 ||
	    strcmp(d, "promote") == 0)
		facts_add(o, "verdict", deny ? "deny" : "allow");
	if (strcmp(d, "edit") == 0)
		facts_add(o, "is", "edited");
	facts_add(o, "by", json_str(body, "by", ""));
	facts_add(o, "by", json_str(json_object_get(body, "who"), "name", ""));
}

static void facts_put_ended(json_t *o, const json_t *body)
{
	static const char *const same[] = { "dur_us", "cost_uusd", "tokens", "lines" };
	const char *end = json_str(body, "end", "");
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		facts_copy(o, body, same[i]);
	if (json_is_integer(json_object_get(body, "code")))
		json_put_int(o, "exit", json_int(body, "code", 0));
	if (strcmp(end, "failed") == 0 || strcmp(end, "timeout") == 0 ||
	    strcmp(end, "killed") == 0 || strcmp(end, "interrupted") == 0 ||
	    json_int(body, "code", 0) != 0 || json_int(body, "signal", 0) > 0)
		facts_add(o, "is", "error");
}

static void facts_put_action(json_t *o, struct source *s, const struct model_action *act)
{
	CLEANUP(json_release) json_t *judged = facts_step(o, s, act->judged);
	CLEANUP(json_release) json_t *held = facts_step(o, s, act->held);
	CLEANUP(json_release) json_t *decided = facts_step(o, s, act->decided);
	CLEANUP(json_release) json_t *started = facts_step(o, s, act->started);
	CLEANUP(json_release) json_t *ended = facts_step(o, s, act->ended);
	CLEANUP(json_release) json_t *snapshot = facts_step(o, s, act->snapshot);
	json_put_str(o, "risk", "none");
	if (judged)
		put_judged(o, judged);
	if (held)
		facts_add(o, "verdict", "held");
	if (decided)
		put_decided(o, decided);
	if (json_flag(started, "edited", false))
		put_edited(o, started);
	if (ended)
		facts_put_ended(o, ended);
	if (act->held > act->decided && !started && !ended)
		facts_add(o, "is", "pending");
	if (started && !ended)
		facts_add(o, "is", "live");
	if (json_array_size(json_object_get(snapshot, "changes")) > 0)
		facts_add(o, "has", "diff");
	if (act->out_bytes + act->err_bytes + act->wire_bytes > 0)
		facts_add(o, "has", "output");
}

/* The turn that an event of an agent belongs to: the last heading before it. */
static void put_turn(json_t *o, struct source *s, uint64_t agent, uint64_t seq)
{
	const struct model_agent *a = model_agent(&s->model, agent);
	for (size_t i = a ? rows_find(&a->rows, seq + 1) : 0; i > 0; i--)
		if (a->rows.row[i - 1].kind == EV_AGENT_TURN) {
			CLEANUP(json_release) json_t *body = source_body(s, a->rows.row[i - 1].seq);
			facts_copy(o, body, "n");
			if (json_object_get(o, "n"))
				json_put_int(o, "turn", json_int(o, "n", 0));
			json_object_del(o, "n");
			return;
		}
}

static void facts_put_kind(json_t *o, enum event_kind kind, const json_t *body)
{
	if (kind == EV_ACTION_REQUESTED)
		facts_add(o, "kind", json_str(body, "kind", ""));
	else if (kind == EV_SNAPSHOT_TAKEN)
		facts_add(o, "kind", "snapshot");
	else if (kind == EV_NOTE)
		facts_add(o, "kind", "note");
	else if (kind == EV_TOOL_CALL || kind == EV_TOOL_END)
		facts_add(o, "kind", "tool");
	else if (kind == EV_AGENT_END || kind == EV_SESSION_END)
		facts_add(o, "kind", "end");
	if (event_kind_name(kind))
		facts_add(o, "kind", event_kind_name(kind));
}

json_t *facts_row(struct source *s, uint64_t seq)
{
	struct err err = ERR_INIT;
	struct event ev;
	json_t *o = json_object();
	if (session_event(s->session, seq, &ev, &s->arena, &err) < 0) {
		arena_reset(&s->arena);
		return o;
	}
	CLEANUP(json_release)
	json_t *body = ev.body ? json_parse(ev.body, ev.len, "event", &err) : NULL;
	const struct event head = ev;
	arena_reset(&s->arena);
	if (body) {
		put_request(o, body);
		json_object_del(o, "kind");
		CLEANUP(free_ptr) char *text = json_dump_str(body);
		facts_add(o, "text", text);
		facts_copy(o, body, "cost_uusd");
	}
	json_put_int(o, "id", (int64_t)seq);
	json_put_int(o, "ts_us", head.ts_us);
	facts_put_kind(o, head.kind, body);
	if (head.kind == EV_TOOL_CALL)
		json_put_str(o, "tool", json_str(body, "name", ""));
	put_who(o, &s->model, head.agent, head.box);
	put_turn(o, s, head.agent, seq);
	const struct model_action *act = model_action(&s->model, seq);
	if (act)
		facts_put_action(o, s, act);
	for (size_t i = 0; i < s->model.nr_marks; i++)
		if (s->model.mark[i].on == seq) {
			facts_add(o, "is", "marked");
			facts_add(o, "has", "note");
		}
	return o;
}

json_t *facts_agent(struct source *s, const struct model_agent *a)
{
	uint64_t on = a->current ? a->current : a->ask ? a->ask : a->last;
	json_t *o = on ? facts_row(s, on) : json_object();
	enum agent_state st = source_agent_state(s, a);
	if (!on)
		put_who(o, &s->model, a->id, a->box);
	json_put(o, "is", json_array());
	if (st == AGENT_HELD || st == AGENT_ASK)
		facts_add(o, "is", "pending");
	if (st == AGENT_FAILED)
		facts_add(o, "is", "error");
	if (st == AGENT_RUN || st == AGENT_THINK)
		facts_add(o, "is", "live");
	json_put_int(o, "cost_uusd", a->uusd);
	json_put_int(o, "tokens", a->tokens);
	json_put_int(o, "turn", a->turn);
	if (a->task)
		facts_add(o, "text", a->task);
	return o;
}
