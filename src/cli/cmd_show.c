/* sandglass show: one session, event or action in full. */
#include <stdlib.h>
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "phrase/describe.h"
#include "cli/show.h"
#include "sessions/sessions.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "record/read/back.h"
#include "query/action_end.h"
#include "record/read/ended.h"
#include "record/read/list.h"
#include "wire/event_json.h"

static void cmd_show_line(struct cmd_ctx *ctx, const char *label, const char *text)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	cmd_safe(&b, text, strlen(text), false);
	fprintf(ctx->out, "%-9s %s\n", label, buf_cstr(&b));
}

static void time_line(struct cmd_ctx *ctx, const char *label, int64_t us)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	cmd_time(us, &b);
	cmd_show_line(ctx, label, buf_cstr(&b));
}

/* "2026-11-22 14:30:56 UTC": of one event the minute says too little. */
static void second_line(struct cmd_ctx *ctx, const char *label, int64_t us)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	cmd_time(us, &b);
	CLEANUP(free_ptr) char *minute = mem_strdup(buf_cstr(&b));
	char *zone = strrchr(minute, ' ');
	buf_reset(&b);
	buf_printf(&b, "%.*s:%02d%s", (int)(zone - minute), minute, (int)(us / 1000000 % 60), zone);
	cmd_show_line(ctx, label, buf_cstr(&b));
}

/* --- a session --------------------------------------------------------------------------------
 */

struct counts {
	uint64_t actions, denied, held, failed, snapshots;
	const char *how; /* it ended; NULL it did not */
	char *why;	 /* ... owned; NULL it does not say */
	int64_t begun_us, last_us;
	json_t *agents, *boxes, *warnings, *notices;
	json_t *start;
};

static json_t *cmd_show_body_of(const struct event *ev)
{
	struct err err = ERR_INIT;
	return ev->body ? json_parse(ev->body, ev->len, "event", &err) : NULL;
}

static void note_name(json_t *list, const struct event *ev, const json_t *body)
{
	json_t *o = json_object();
	json_put_int(o, "id", (int64_t)ev->seq);
	json_put_str(o, "name", json_str(body, "name", ""));
	const char *const keys[] = { "task", "model", "driver" };
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (json_object_get(body, keys[i]))
			json_put(o, keys[i], json_incref(json_object_get(body, keys[i])));
	json_array_append_new(list, o);
}

static void end_agent(json_t *agents, uint64_t id, const json_t *body)
{
	for (size_t i = 0; i < json_array_size(agents); i++) {
		json_t *o = json_array_get(agents, i);
		if (json_int(o, "id", 0) == (int64_t)id)
			json_put_str(o, "stop", json_str(body, "stop", ""));
		if (json_int(o, "id", 0) == (int64_t)id && !json_flag(body, "ok", true))
			json_put(o, "why", json_incref(json_object_get(body, "text")));
	}
}

static void cmd_show_ended(struct counts *c, const struct event *ev)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct ev_action_ended end;
	event_decode(&desc_ev_action_ended, ev, &a, &end);
	enum action_outcome how = action_outcome_of(&end);
	c->denied += how == OUTCOME_DENIED;
	c->failed += how == OUTCOME_FAILED;
}

static void cmd_show_end(struct counts *c, const struct event *ev)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct ev_session_end end;
	event_decode(&desc_ev_session_end, ev, &arena, &end);
	struct ev_text why = ended_why(&end);
	free(c->why);
	c->why = why.n ? mem_strndup(why.s, why.n) : NULL;
	c->how = ended_word(&end);
}

static void cmd_show_count(struct counts *c, const struct event *ev)
{
	if (!c->begun_us)
		c->begun_us = ev->ts_us;
	c->last_us = ev->ts_us;
	switch (ev->kind) {
	case EV_ACTION_REQUESTED:
		c->actions++;
		return;
	case EV_ACTION_HELD:
		c->held++;
		return;
	case EV_SNAPSHOT_TAKEN:
		c->snapshots++;
		return;
	case EV_ACTION_ENDED:
		cmd_show_ended(c, ev);
		return;
	case EV_SESSION_START:
	case EV_SESSION_END:
	case EV_AGENT_START:
	case EV_AGENT_END:
	case EV_BOX_OPEN:
	case EV_BOX_WARN:
	case EV_BOX_NOTICE:
	case EV_HONEYTOKEN_SEEN:
	case EV_SECRET_SEEN:
		break;
	default:
		/* every other kind says nothing about the whole */
		return;
	}
	CLEANUP(json_release) json_t *body = cmd_show_body_of(ev);
	if (ev->kind == EV_SESSION_START) {
		json_decref(c->start);
		c->start = json_incref(body);
	} else if (ev->kind == EV_SESSION_END) {
		cmd_show_end(c, ev);
	} else if (ev->kind == EV_AGENT_START) {
		note_name(c->agents, ev, body);
	} else if (ev->kind == EV_AGENT_END) {
		end_agent(c->agents, ev->agent, body);
	} else if (ev->kind == EV_BOX_OPEN) {
		note_name(c->boxes, ev, body);
	} else if (ev->kind == EV_BOX_NOTICE) {
		json_put_int(body, "box", (int64_t)ev->box);
		json_array_append(c->notices, body);
	} else {
		json_array_append(c->warnings, body);
	}
}

static int count_all(struct session *s, struct counts *c, struct err *err)
{
	struct feed *feed;
	struct arena arena = ARENA_INIT;
	struct event ev;
	int rc;
	if (feed_new(&feed, s, FEED_ALL, 0, err) < 0)
		return -1;
	while ((rc = feed_next(feed, &ev, &arena, 0, err)) > 0) {
		cmd_show_count(c, &ev);
		arena_reset(&arena);
	}
	arena_release(&arena);
	feed_free(&feed);
	return rc;
}

static void print_names(struct cmd_ctx *ctx, const char *label, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		buf_printf(&b, "#%lld %s", (long long)json_int(o, "id", 0),
			   json_str(o, "name", ""));
		const char *const keys[] = { "driver", "model", "stop", "why", "task" };
		for (size_t k = 0; k < ARRAY_LEN(keys); k++)
			if (*json_str(o, keys[k], ""))
				buf_printf(&b, "%s %s",
					   k == 0   ? ","
					   : k == 2 ? ", ended:"
					   : k == 3 ? ":"
						    : ",",
					   json_str(o, keys[k], ""));
		cmd_show_line(ctx, i ? "" : label, buf_cstr(&b));
	}
}

static void print_session(struct cmd_ctx *ctx, struct session *s, const struct counts *c,
			  const char *state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	cmd_show_line(ctx, "session", session_id(s));
	cmd_show_line(ctx, "name", session_name(s));
	buf_puts(&b, state);
	buf_puts(&b, ", ");
	clock_span((session_live(s) ? clock_wall_us() : c->last_us) - c->begun_us, &b);
	cmd_show_line(ctx, "state", buf_cstr(&b));
	if (c->why)
		cmd_show_line(ctx, "why", c->why);
	time_line(ctx, "begun", c->begun_us);
	cmd_show_line(ctx, "file", session_path(s));
	if (*json_str(c->start, "script", ""))
		cmd_show_line(ctx, "script", json_str(c->start, "script", ""));
	if (*json_str(c->start, "version", ""))
		cmd_show_line(ctx, "sandglass", json_str(c->start, "version", ""));
	buf_reset(&b);
	buf_printf(&b,
		   "%llu, of them %llu %s (%llu denied, %llu not successful, %llu held), %llu %s",
		   (unsigned long long)session_head(s), (unsigned long long)c->actions,
		   c->actions == 1 ? "action" : "actions", (unsigned long long)c->denied,
		   (unsigned long long)c->failed, (unsigned long long)c->held,
		   (unsigned long long)c->snapshots, c->snapshots == 1 ? "snapshot" : "snapshots");
	cmd_show_line(ctx, "events", buf_cstr(&b));
	print_names(ctx, "agents", c->agents);
	print_names(ctx, "sandboxes", c->boxes);
	for (size_t i = 0; i < json_array_size(c->warnings); i++)
		cmd_show_line(ctx, i ? "" : "warnings",
			      json_str(json_array_get(c->warnings, i), "text", ""));
	for (size_t i = 0; i < json_array_size(c->notices); i++)
		cmd_show_line(ctx, i ? "" : "notices",
			      json_str(json_array_get(c->notices, i), "text", ""));
}

static int show_session(struct cmd_ctx *ctx, struct session *s)
{
	struct counts c = { .agents = json_array(),
			    .boxes = json_array(),
			    .warnings = json_array(),
			    .notices = json_array() };
	struct err err = ERR_INIT;
	int status = EXIT_DONE;
	if (count_all(s, &c, &err) < 0) {
		status = cmd_fail(ctx, &err);
	} else {
		const char *state = session_live(s) ? "running" : !c.how ? "interrupted" : c.how;
		if (!ctx->json) {
			print_session(ctx, s, &c, state);
		} else {
			json_t *o = json_object();
			json_put_str(o, "session", session_id(s));
			json_put_str(o, "name", session_name(s));
			json_put_str(o, "state", state);
			if (c.why)
				json_put_str(o, "why", c.why);
			json_put(o, "path", json_bytes_z(session_path(s)));
			cmd_json_time(o, "begun", c.begun_us);
			json_put_int(o, "dur_us", c.last_us - c.begun_us);
			json_put_int(o, "events", (int64_t)session_head(s));
			json_put_int(o, "actions", (int64_t)c.actions);
			json_put_int(o, "denied", (int64_t)c.denied);
			json_put_int(o, "unsuccessful", (int64_t)c.failed);
			json_put_int(o, "held", (int64_t)c.held);
			json_put_int(o, "snapshots", (int64_t)c.snapshots);
			json_put(o, "agents", json_incref(c.agents));
			json_put(o, "boxes", json_incref(c.boxes));
			json_put(o, "warnings", json_incref(c.warnings));
			json_put(o, "notices", json_incref(c.notices));
			json_put(o, "start", c.start ? json_incref(c.start) : json_null());
			cmd_json(ctx, o);
		}
	}
	free(c.why);
	json_decref(c.agents);
	json_decref(c.boxes);
	json_decref(c.warnings);
	json_decref(c.notices);
	json_decref(c.start);
	return status;
}

/* --- an event, an action ----------------------------------------------------------------------
 */

static void id_line(struct cmd_ctx *ctx, const char *label, uint64_t id)
{
	char text[32];
	snprintf(text, sizeof(text), "#%llu", (unsigned long long)id);
	if (id)
		cmd_show_line(ctx, label, text);
}

/* The messages (of model.sent: the bytes) that a list of the body stands for; missing ones are
 * named. */
static json_t *whole_list(struct session *s, const json_t *list, bool text)
{
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *names = session_list(s, list, &err);
	CLEANUP(buf_release) struct buf one = BUF_INIT, all = BUF_INIT;
	json_t *out = json_array(), *v;
	size_t i;
	if (!names) {
		json_array_append_new(out, json_string(err.text));
		return out;
	}
	json_array_foreach(names, i, v)
	{
		struct hash h;
		json_t *m = NULL;
		bool good = json_is_string(v) &&
			    hex_parse(json_string_value(v), json_string_length(v), h.b, HASH_LEN) &&
			    session_message(s, &h, &one, &err) == 0;
		if (!good)
			buf_printf(&one, "<%s>",
				   err.code == ERR_CANCELLED ? "redacted" : "not in the file");
		if (text)
			buf_append(&all, one.data, one.len);
		else
			m = good ? json_parse(one.data, one.len, "message", &err)
				 : json_string(buf_cstr(&one));
		if (!text)
			json_array_append_new(out, m ? m : json_bytes(one.data, one.len));
		buf_reset(&one);
	}
	if (!text)
		return out;
	json_decref(out);
	json_t *request = json_parse(buf_cstr(&all), all.len, "request", &err);
	return request ? request : json_bytes(buf_cstr(&all), all.len);
}

static void make_whole(struct session *s, const struct event *ev, json_t *body)
{
	json_t *args = json_object_get(body, "args");
	if (ev->kind == EV_MODEL_SENT)
		json_put(body, "body", whole_list(s, json_object_get(body, "body"), true));
	else if (ev->kind == EV_MODEL_CALL)
		json_put(body, "messages", whole_list(s, json_object_get(body, "messages"), false));
	else if (ev->kind == EV_HOST_CALL && !strcmp(json_str(body, "op", ""), "model.call") &&
		 args)
		json_put(args, "messages", whole_list(s, json_object_get(args, "messages"), false));
}

/* The event as it is; where its body names a list of messages, these stand beside it. */
static json_t *whole_event(struct session *s, const struct event *ev)
{
	json_t *o = event_json(ev);
	if (ev->kind != EV_MODEL_SENT && ev->kind != EV_MODEL_CALL && ev->kind != EV_HOST_CALL)
		return o;
	CLEANUP(json_release) json_t *body = cmd_show_body_of(ev);
	make_whole(s, ev, body);
	json_t *args = json_object_get(body, "args"), *in = ev->kind == EV_HOST_CALL ? args : body;
	const char *key = ev->kind == EV_MODEL_SENT ? "body" : "messages";
	if (json_object_get(in, key))
		json_put(o, ev->kind == EV_MODEL_SENT ? "request" : "messages",
			 json_incref(json_object_get(in, key)));
	return o;
}

static void print_event(struct cmd_ctx *ctx, struct session *s, const struct event *ev)
{
	struct agent_names names = { 0 };
	CLEANUP(buf_release)
	struct buf b = BUF_INIT, text = BUF_INIT, back = BUF_INIT, person = BUF_INIT;
	const char *kind = event_kind_name(ev->kind), *doc = event_kind_doc(ev->kind);
	buf_printf(&b, "%s#%llu", session_id(s), (unsigned long long)ev->seq);
	cmd_show_line(ctx, "event", buf_cstr(&b));
	cmd_show_line(ctx, "kind", kind ? kind : "of a newer version");
	second_line(ctx, "time", ev->ts_us);
	if (ev->agent)
		cmd_show_line(ctx, "agent", agent_name(&names, s, ev->agent));
	id_line(ctx, "action", ev->action);
	id_line(ctx, "sandbox", ev->box);
	id_line(ctx, "cause", ev->cause);
	describe_event(ev, &text);
	if (session_put_back(s, ev->seq, &back, &person))
		buf_printf(&text, " (%s%s%s)", buf_cstr(&back), person.len ? " by " : "",
			   buf_cstr(&person));
	cmd_show_line(ctx, "says", buf_cstr(&text));
	if (doc && ctx->verbose)
		cmd_show_line(ctx, "means", doc);
	agent_names_release(&names);
	CLEANUP(json_release) json_t *body = cmd_show_body_of(ev);
	if (!body) {
		cmd_show_line(ctx, "body", ev->body ? "<unreadable>" : "<redacted>");
		return;
	}
	if (ev->kind == EV_ACTION_REQUESTED && !ctx->verbose &&
	    (show_card(ctx, session_path(s), ev->seq) || show_call(ctx, body))) {
		if (!ctx->quiet)
			fputs("the request as recorded: --verbose\n", ctx->out);
		return;
	}
	if (ev->kind == EV_TOOL_CALL && !ctx->verbose && show_call(ctx, body)) {
		show_call_result(ctx, s, ev->seq);
		if (!ctx->quiet)
			fputs("the call as recorded: --verbose\n", ctx->out);
		return;
	}
	make_whole(s, ev, body);
	/* for reading; the line with --json has it as it is */
	char *pretty = json_dumps(body, JSON_INDENT(2) | JSON_ENCODE_ANY);
	if (!pretty)
		return;
	cmd_print_safe(ctx->out, pretty, strlen(pretty), true);
	fputc('\n', ctx->out);
	free_ptr(&pretty);
}

static void print_times(struct cmd_ctx *ctx, const struct show_times *t)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	show_times_line(t, &b);
	if (b.len && !ctx->json)
		cmd_show_line(ctx, "time", buf_cstr(&b));
}

/* The life of an action, one line per event. */
static int cmd_show_print_action(struct cmd_ctx *ctx, struct session *s, uint64_t action,
				 struct err *err)
{
	struct feed *feed;
	struct arena arena = ARENA_INIT;
	struct event ev;
	struct show_times times = { 0 };
	int rc;
	if (feed_new(&feed, s, FEED_ACTION, action, err) < 0)
		return -1;
	if (!ctx->json)
		fputc('\n', ctx->out);
	while ((rc = feed_next(feed, &ev, &arena, 0, err)) > 0) {
		CLEANUP(buf_release) struct buf when = BUF_INIT, text = BUF_INIT;
		if (ctx->json && ev.seq != action) {
			cmd_json(ctx, event_json(&ev));
		} else if (!ctx->json && ev.kind != EV_OUTPUT) {
			clock_local_hms(ev.ts_us, true, &when);
			ev.action = 0;
			describe_event(&ev, &text);
			fprintf(ctx->out, "%s #%-6llu ", buf_cstr(&when),
				(unsigned long long)ev.seq);
			cmd_print_safe(ctx->out, buf_cstr(&text), text.len, false);
			fputc('\n', ctx->out);
		}
		CLEANUP(json_release) json_t *body = ctx->json ? NULL : cmd_show_body_of(&ev);
		show_times_add(&times, &ev, body);
		arena_reset(&arena);
	}
	arena_release(&arena);
	feed_free(&feed);
	if (!ctx->json) {
		show_call_output(ctx, s, action);
		show_call_result(ctx, s, action);
		show_times_snapshot(&times, s);
	}
	print_times(ctx, &times);
	show_times_release(&times);
	uint64_t bytes = 0;
	for (int stream = 1; stream <= 3; stream++)
		bytes += session_output_size(s, action, stream);
	if (bytes && !ctx->json) {
		CLEANUP(buf_release) struct buf size = BUF_INIT;
		cmd_size(bytes, &size);
		fprintf(ctx->out, "%s of output: sandglass out %s#%llu\n", buf_cstr(&size),
			session_id(s), (unsigned long long)action);
	}
	return rc;
}

int cmd_show(struct cmd_ctx *ctx)
{
	struct session *s;
	struct err err = ERR_INIT;
	uint64_t seq;
	if (session_open_ref(ctx, cmd_word(ctx, 0), &s, &seq, &err) < 0)
		return cmd_fail(ctx, &err);
	int status = EXIT_DONE;
	struct arena arena = ARENA_INIT;
	struct event ev;
	if (cmd_has(ctx, "handoff")) {
		status = show_handover(ctx, s);
	} else if (!seq && cmd_has(ctx, "time")) {
		status = show_session_time(ctx, s);
	} else if (!seq) {
		status = show_session(ctx, s);
	} else if (session_event(s, seq, &ev, &arena, &err) < 0) {
		status = cmd_fail(ctx, &err);
	} else {
		if (ctx->json)
			cmd_json(ctx, whole_event(s, &ev));
		else
			print_event(ctx, s, &ev);
		if (ev.kind == EV_ACTION_REQUESTED && cmd_show_print_action(ctx, s, seq, &err) < 0)
			status = cmd_fail(ctx, &err);
	}
	arena_release(&arena);
	session_close(&s);
	return status;
}
