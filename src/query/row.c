#include "query/row.h"

#include <string.h>

#include "base/mem.h"
#include "wire/event_body.h"

static void take_str(json_t *row, const char *as, const json_t *body, const char *key)
{
	const char *text = json_str(body, key, NULL);
	if (text && *text)
		json_put_str(row, as, text);
}

static void take_int(json_t *row, const char *as, const json_t *body, const char *key)
{
	if (json_is_integer(json_object_get(body, key)))
		json_put_int(row, as, json_int(body, key, 0));
}

/* Bytes (text or {"b64"}) as they are in the body. */
static void query_row_take_bytes(json_t *row, const char *as, const json_t *body, const char *key)
{
	json_t *v = json_object_get(body, key);
	if (v && !json_is_null(v))
		json_put(row, as, json_incref(v));
}

/* "sh -c TEXT" stands for TEXT, as in the filter language; else the words with blanks between. */
static void take_cmd(json_t *row, const json_t *body)
{
	struct strv v = STRV_INIT;
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	if (json_object_get(body, "cmd")) {
		query_row_take_bytes(row, "cmd", body, "cmd");
		return;
	}
	if (!json_get_argv(json_object_get(body, "argv"), &v) || !v.nr) {
		strv_release(&v);
		return;
	}
	if (v.nr == 3 && strcmp(v.item[1], "-c") == 0)
		buf_append(&line, v.item[2], v.len[2]);
	else
		for (size_t i = 0; i < v.nr; i++) {
			if (i)
				buf_putc(&line, ' ');
			buf_append(&line, v.item[i], v.len[i]);
		}
	json_put_bytes(row, "cmd", line.data, line.len);
	strv_release(&v);
}

static void query_row_requested(json_t *row, const json_t *body)
{
	static const char *const same[] = { "kind",  "tool",	"host",	 "cwd",
					    "where", "profile", "intent" };
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		take_str(row, same[i], body, same[i]);
	take_cmd(row, body);
	query_row_take_bytes(row, "path", body, "path");
	take_int(row, "port", body, "port");
	take_int(row, "call", body, "call");
	const json_t *args = json_object_get(body, "args");
	query_row_take_bytes(row, "url", args, "url");
}

static void row_text(json_t *row, const char *as, struct ev_text t)
{
	if (t.n)
		json_put_bytes(row, as, t.s, t.n);
}

static void query_row_judged(json_t *row, const struct event *ev, struct arena *a)
{
	struct ev_action_judged j;
	event_decode(&desc_ev_action_judged, ev, a, &j);
	row_text(row, "verdict", j.verdict);
	row_text(row, "risk", j.risk);
	json_put_int(row, "rules", (int64_t)j.rules.nr);
	if (!j.rules.nr)
		return;
	row_text(row, "rule", j.rules.item[0].name);
	row_text(row, "file", j.rules.item[0].file);
	if (j.rules.item[0].has_line)
		json_put_int(row, "line", j.rules.item[0].line);
}

static void query_row_decided(json_t *row, const struct event *ev, struct arena *a, int64_t held_us)
{
	struct ev_action_decided d;
	event_decode(&desc_ev_action_decided, ev, a, &d);
	row_text(row, "decision", d.decision);
	row_text(row, "by", d.by);
	row_text(row, "note", d.note);
	row_text(row, "person", d.who.name);
	json_put_int(row, "decided_us", ev->ts_us);
	if (held_us)
		json_put_int(row, "wait_us", ev->ts_us - held_us);
}

/* A user's edited fields are the ones that ran. */
static void query_row_started(json_t *row, const json_t *body)
{
	if (!json_flag(body, "edited", false))
		return;
	json_put_flag(row, "edited", true);
	if (json_object_get(row, "cmd"))
		json_put(row, "proposed", json_incref(json_object_get(row, "cmd")));
	take_cmd(row, body);
	query_row_take_bytes(row, "path", body, "path");
}

static void query_row_ended(json_t *row, const struct event *ev, struct arena *a)
{
	struct ev_action_ended e;
	event_decode(&desc_ev_action_ended, ev, a, &e);
	const struct {
		bool has;
		const char *as;
		int64_t value;
	} numbers[] = { { e.has_code, "exit", e.code },
			{ e.has_signal, "signal", e.signal },
			{ e.has_dur_us, "dur_us", e.dur_us },
			{ e.has_cost_uusd, "cost_uusd", e.cost_uusd },
			{ e.has_tokens, "tokens", e.tokens },
			{ e.has_out_bytes, "out_bytes", e.out_bytes },
			{ e.has_err_bytes, "err_bytes", e.err_bytes } };
	json_put_int(row, "ended_us", ev->ts_us);
	row_text(row, "end", e.end);
	row_text(row, "why", e.why);
	if (e.cost_unknown)
		json_put_flag(row, "cost_unknown", true);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].has)
			json_put_int(row, numbers[i].as, numbers[i].value);
}

struct life {
	json_t *row;
	int64_t held_us;
	uint64_t last;
};

static void query_row_step(void *self, const struct event *ev)
{
	struct life *l = self;
	struct err none = ERR_INIT;
	int64_t ts_us = ev->ts_us;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	CLEANUP(json_release)
	json_t *body = ev->body && ev->kind == EV_ACTION_STARTED
			       ? json_parse(ev->body, ev->len, "event", &none)
			       : NULL;
	l->last = ev->seq;
	switch (ev->kind) {
	case EV_ACTION_JUDGED:
		query_row_judged(l->row, ev, &a);
		break;
	case EV_ACTION_HELD:
		if (!l->held_us)
			l->held_us = ts_us;
		json_put_flag(l->row, "held", true);
		break;
	case EV_ACTION_DECIDED:
		query_row_decided(l->row, ev, &a, l->held_us);
		break;
	case EV_ACTION_STARTED:
		json_put_int(l->row, "started_us", ts_us);
		query_row_started(l->row, body);
		break;
	case EV_ACTION_ENDED:
		query_row_ended(l->row, ev, &a);
		break;
	default:
		break;
	}
}

/* The name that an agent or a box began with. */
static void query_row_name_of(struct session *s, json_t *row, const char *key, const char *key_id,
			      uint64_t id)
{
	struct arena arena = ARENA_INIT;
	struct err none = ERR_INIT;
	struct event ev;
	if (!id)
		return;
	json_put_int(row, key_id, (int64_t)id);
	if (session_event(s, id, &ev, &arena, &none) == 0 && ev.body) {
		CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "event", &none);
		take_str(row, key, body, "name");
	}
	arena_release(&arena);
}

static void query_row_other(json_t *row, const struct event *ev, const json_t *body)
{
	bool is_tool = ev->kind == EV_TOOL_CALL || ev->kind == EV_TOOL_END;
	const char *kind = ev->kind == EV_SNAPSHOT_TAKEN ? "snapshot"
			   : ev->kind == EV_NOTE	 ? "note"
			   : ev->kind == EV_AGENT_END	 ? "end"
			   : is_tool			 ? "tool"
							 : event_kind_name(ev->kind);
	json_put_str(row, "kind", kind ? kind : "unknown");
	take_str(row, "text", body, "text");
	take_str(row, "level", body, "level");
	if (is_tool) {
		take_str(row, "tool", body, "name");
		if (json_object_get(body, "args"))
			json_put(row, "args", json_incref(json_object_get(body, "args")));
		if (json_object_get(body, "ok"))
			json_put_flag(row, "ok", json_flag(body, "ok", false));
	}
	take_str(row, "stop", body, "stop");
	take_str(row, "tree", body, "tree");
	if (ev->kind == EV_BOX_CLOSED)
		take_int(row, "cost_uusd", json_object_get(body, "cost"), "uusd");
	else
		take_int(row, "cost_uusd", body, "cost_uusd");
	if (ev->kind == EV_SNAPSHOT_TAKEN)
		json_put_int(row, "changes",
			     json_int(body, "changed",
				      (int64_t)json_array_size(json_object_get(body, "changes"))));
}

static int query_row_fill(struct session *s, json_t *row, const struct event *ev, struct err *err)
{
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", err) : NULL;
	struct life l = { .row = row, .last = ev->seq };
	json_put_int(row, "id", (int64_t)ev->seq);
	json_put_int(row, "seq", (int64_t)ev->seq);
	json_put_int(row, "ts_us", ev->ts_us);
	const char *name = event_kind_name(ev->kind);
	json_put_str(row, "event", name ? name : "unknown");
	if (!ev->body)
		json_put_flag(row, "redacted", true);
	query_row_name_of(s, row, "agent", "agent_id", ev->agent);
	query_row_name_of(s, row, "box", "box_id", ev->box);
	if (ev->kind != EV_ACTION_REQUESTED) {
		query_row_other(row, ev, body);
		return 0;
	}
	query_row_requested(row, body);
	if (session_steps(s, ev->seq, query_row_step, &l, err) < 0)
		return err_wrap(err, "steps of #%llu", (unsigned long long)ev->seq);
	json_put_int(row, "last", (int64_t)l.last);
	return 0;
}

int row_of(struct session *s, uint64_t seq, json_t **out, struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	json_t *row = json_object();
	int rc = session_event(s, seq, &ev, &arena, err);
	if (rc == 0)
		rc = query_row_fill(s, row, &ev, err);
	arena_release(&arena);
	if (rc < 0)
		json_decref(row);
	else
		*out = row;
	return rc;
}

void row_what(const json_t *row, struct buf *out)
{
	static const char *const from[] = { "cmd", "path", "url", "host", "tool", "text", "kind" };
	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		const json_t *v = json_object_get(row, from[i]);
		if (v && json_get_bytes(v, &b) && b.len) {
			buf_append(out, b.data, b.len);
			return;
		}
	}
}
