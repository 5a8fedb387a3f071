#include "exchange/steps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/act.h"
#include "exchange/export.h"
#include "base/hash.h"
#include "base/mem.h"
#include "record/read/list.h"

struct steps {
	struct session *s;
	struct feed *feed;
	uint64_t agent, head;
	bool system_given;
	struct step ready[8]; /* given out before anything else */
	size_t first, nr;
	struct step now; /* the answer under way */
	bool open;
	bool end;
};

void step_release(struct step *st)
{
	for (size_t i = 0; i < st->nr; i++) {
		free(st->call[i].id);
		free(st->call[i].name);
		free(st->call[i].told);
		free(st->call[i].result);
		json_decref(st->call[i].args);
	}
	free(st->call);
	free(st->text);
	json_decref(st->reply);
	*st = (struct step){ 0 };
}

int steps_new(struct steps **out, struct session *s, uint64_t agent, struct err *err)
{
	struct steps *st = NEW(struct steps);
	st->s = s;
	st->agent = agent;
	st->head = session_head(s);
	if (feed_new(&st->feed, s, agent ? FEED_AGENT : FEED_ALL, agent, err) < 0) {
		free(st);
		return -1;
	}
	*out = st;
	return 0;
}

void steps_free(struct steps **st)
{
	if (!*st)
		return;
	for (size_t i = (*st)->first; i < (*st)->nr; i++)
		step_release(&(*st)->ready[i]);
	step_release(&(*st)->now);
	feed_free(&(*st)->feed);
	free(*st);
	*st = NULL;
}

static bool exchange_steps_room(const struct steps *st)
{
	return st->nr + 3 < ARRAY_LEN(st->ready);
}

static void exchange_steps_give(struct steps *st, struct step one)
{
	if (st->nr < ARRAY_LEN(st->ready))
		st->ready[st->nr++] = one;
	else
		step_release(&one);
}

static void close_step(struct steps *st)
{
	if (st->open)
		exchange_steps_give(st, st->now);
	st->open = false;
	st->now = (struct step){ 0 };
}

static void exchange_steps_say(struct steps *st, enum step_who who, const char *from,
			       const struct event *ev, const char *text)
{
	exchange_steps_give(st, (struct step){ .who = who,
					       .from = from,
					       .seq = ev->seq,
					       .ts_us = ev->ts_us,
					       .text = mem_strdup(text) });
}

/* --- answers and calls --- */

static struct step_call *exchange_steps_add_call(struct step *st, char *id, const char *name,
						 const json_t *args)
{
	GROW(st->call, st->nr, st->cap);
	struct step_call *c = &st->call[st->nr++];
	*c = (struct step_call){ .id = id, .name = mem_strdup(name) };
	c->args = json_is_object(args) ? json_deep_copy(args) : json_object();
	if (args && !json_is_object(args))
		json_put(c->args, "value", json_deep_copy(args));
	return c;
}

static void begin_answer(struct steps *st, const struct event *ev)
{
	size_t i;
	json_t *call;
	struct err none = ERR_INIT;
	CLEANUP(json_release) json_t *body = json_parse(ev->body, ev->len, "event", &none);
	close_step(st);
	st->open = true;
	st->now = (struct step){ .who = STEP_AGENT,
				 .from = "",
				 .seq = ev->seq,
				 .ts_us = ev->ts_us,
				 .model = ev->action };
	st->now.text = mem_strdup(json_str(body, "text", ""));
	st->now.reply = json_incref(body);
	json_array_foreach(json_object_get(body, "calls"), i, call)
	{
		const char *id = json_str(call, "id", "");
		exchange_steps_add_call(&st->now,
					*id ? mem_strdup(id)
					    : mem_printf("c%" PRIu64 "_%zu", ev->seq, i + 1),
					json_str(call, "name", "?"), json_object_get(call, "args"));
	}
}

/* The call of the answer under way that the event @ev, of the tool @name, belongs to; one of its
 * own, "a405" or "t405", if the answer has none that is left. */
static struct step_call *exchange_steps_call_of(struct steps *st, const struct event *ev, char type,
						const char *name, struct ev_text text)
{
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *args = text.s ? json_parse(text.s, text.n, "arguments", &none) : NULL;
	if (!st->open) {
		st->open = true;
		st->now = (struct step){ .who = STEP_AGENT,
					 .from = "",
					 .seq = ev->seq,
					 .ts_us = ev->ts_us,
					 .text = mem_strdup("") };
	}
	for (size_t i = 0; i < st->now.nr; i++) {
		struct step_call *c = &st->now.call[i];
		if (!c->action && !c->tool && !strcmp(c->name, name))
			return c;
	}
	return exchange_steps_add_call(&st->now, mem_printf("%c%" PRIu64, type, ev->seq), name,
				       args);
}

static void exchange_steps_add_action(struct steps *st, const struct event *ev, struct arena *a,
				      const struct ev_action_requested *o)
{
	const char *tool = exchange_text(a, o->tool, exchange_text(a, o->kind, "action"));
	if (!ev_text_is(o->kind, "model"))
		exchange_steps_call_of(st, ev, 'a', tool, o->args)->action = ev->seq;
}

static void exchange_steps_add_tool(struct steps *st, const struct event *ev, struct arena *a,
				    const struct ev_tool_call *o)
{
	const char *name = exchange_text(a, o->name, "?");
	exchange_steps_call_of(st, ev, 't', name, o->args)->tool = ev->seq;
}

static void exchange_steps_end_tool(struct steps *st, const struct event *ev,
				    const struct ev_tool_end *o)
{
	for (size_t i = 0; i < st->now.nr; i++) {
		struct step_call *c = &st->now.call[i];
		if (c->ended || !ev->cause || (c->tool != ev->cause && c->action != ev->cause))
			continue;
		c->ended = true;
		c->ok = o->ok;
		if (!o->text.s)
			return;
		c->result_len = o->text.n;
		c->result_bytes = o->text_bytes ? (size_t)o->text_bytes : o->text.n;
		c->result = mem_strndup(o->text.s, o->text.n);
		return;
	}
}

/* --- messages of a request --- */

static json_t *exchange_steps_message(struct session *s, const char *hex)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct hash id;
	struct err none = ERR_INIT;
	if (!hex || !hex_parse(hex, strlen(hex), id.b, HASH_LEN) ||
	    session_message(s, &id, &text, &none) < 0)
		return NULL;
	return json_parse(buf_cstr(&text), text.len, "message", &none);
}

static const char *message_text(const json_t *m)
{
	return json_str(m, "text", json_str(m, "content", ""));
}

static void exchange_steps_told(struct step *st, const json_t *m)
{
	const char *id = json_str(m, "call", "");
	for (size_t i = 0; i < st->nr; i++)
		if (!strcmp(st->call[i].id, id) && !st->call[i].told) {
			st->call[i].told = mem_strdup(message_text(m));
			st->call[i].told_len = strlen(st->call[i].told);
			return;
		}
}

/* The newest messages answer the calls of the step under way; the first request has the system's
 * text. */
static void look_at_request(struct steps *st, const struct event *ev, const struct ev_model_call *o)
{
	struct err none = ERR_INIT;
	struct ev_text text = o->messages;
	CLEANUP(json_release)
	json_t *names = text.s ? json_parse(text.s, text.n, "messages", &none) : NULL;
	json_t *list = session_list(st->s, names, &none);
	size_t nr = json_array_size(list), back = st->open ? st->now.nr + 8 : 0;
	for (size_t i = nr > back ? nr - back : 0; st->open && i < nr; i++) {
		json_t *m =
			exchange_steps_message(st->s, json_string_value(json_array_get(list, i)));
		if (m && !strcmp(json_str(m, "role", ""), "tool"))
			exchange_steps_told(&st->now, m);
		json_decref(m);
	}
	for (size_t i = 0; !st->system_given && i < nr && i < 4; i++) {
		json_t *m =
			exchange_steps_message(st->s, json_string_value(json_array_get(list, i)));
		if (m && !strcmp(json_str(m, "role", ""), "system") &&
		    st->nr < ARRAY_LEN(st->ready)) {
			exchange_steps_say(st, STEP_SYSTEM, "", ev, message_text(m));
			struct step one = st->ready[st->nr - 1]; /* it stood before the task */
			memmove(&st->ready[1], &st->ready[0], (st->nr - 1) * sizeof(one));
			st->ready[0] = one;
		}
		json_decref(m);
	}
	st->system_given = true;
	json_decref(list);
}

/* --- the walk --- */

static void exchange_steps_say_to(struct steps *st, const struct event *ev, struct arena *a,
				  const struct ev_agent_say *o)
{
	close_step(st);
	exchange_steps_say(st, STEP_USER, "person", ev, exchange_text(a, o->text, ""));
}

static void exchange_steps_ended(struct steps *st, const struct event *ev,
				 const struct ev_action_ended *o)
{
	if (st->open && ev->action && ev->action == st->now.model)
		st->now.took_us = o->dur_us;
	if (!st->agent)
		close_step(st); /* of a script: each action is a step */
}

/* @body: the struct of its kind. */
static void exchange_steps_on_event(struct steps *st, const struct event *ev, struct arena *a,
				    const void *body)
{
	/* kinds are numbers in a file: other kinds are not part of a conversation */
	switch (ev->kind) {
	case EV_AGENT_SAY:
		exchange_steps_say_to(st, ev, a, body);
		break;
	case EV_MODEL_CALL:
		look_at_request(st, ev, body);
		close_step(st);
		break;
	case EV_MODEL_REPLY:
		begin_answer(st, ev);
		break;
	case EV_ACTION_REQUESTED:
		exchange_steps_add_action(st, ev, a, body);
		break;
	case EV_TOOL_CALL:
		exchange_steps_add_tool(st, ev, a, body);
		break;
	case EV_TOOL_END:
		exchange_steps_end_tool(st, ev, body);
		break;
	case EV_ACTION_ENDED:
		exchange_steps_ended(st, ev, body);
		break;
	default:
		break;
	}
}

static int first_step(struct steps *st, struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	int rc = st->agent ? session_event(st->s, st->agent, &ev, &arena, err) : 0;
	if (rc == 0 && st->agent) {
		struct ev_agent_start start;
		event_decode(&desc_ev_agent_start, &ev, &arena, &start);
		const char *task = exchange_text(&arena, start.task, "");
		if (*task)
			exchange_steps_say(st, STEP_USER, "task", &ev, task);
	}
	arena_release(&arena);
	return rc;
}

static bool exchange_steps_interesting(const struct event *ev)
{
	return ev->kind == EV_AGENT_SAY || ev->kind == EV_MODEL_CALL || ev->kind == EV_TOOL_CALL ||
	       ev->kind == EV_TOOL_END || ev->kind == EV_MODEL_REPLY ||
	       ev->kind == EV_ACTION_REQUESTED || ev->kind == EV_ACTION_ENDED;
}

static int exchange_steps_fill(struct steps *st, struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	int rc = feed_seq(st->feed) == 0 && !st->end && st->nr == 0 ? first_step(st, err) : 0;
	while (rc == 0 && !st->end && exchange_steps_room(st) &&
	       (st->nr == 0 || !st->system_given)) {
		rc = feed_next(st->feed, &ev, &arena, st->head, err);
		if (rc < 0)
			break;
		if (rc == 0) {
			close_step(st);
			st->end = true;
		} else if (ev.body && exchange_steps_interesting(&ev) && ev.agent == st->agent) {
			const struct event_desc *d = event_desc_of(ev.kind);
			struct ev_state *body = arena_alloc(&arena, d->size);
			event_decode(d, &ev, &arena, body);
			if (body->reading == BODY_READ)
				exchange_steps_on_event(st, &ev, &arena, body);
		}
		rc = 0;
		arena_reset(&arena);
	}
	arena_release(&arena);
	return rc;
}

int steps_next(struct steps *st, struct step *out, struct err *err)
{
	if (st->first == st->nr) {
		st->first = st->nr = 0;
		if (exchange_steps_fill(st, err) < 0)
			return -1;
	}
	if (st->first == st->nr)
		return 0;
	*out = st->ready[st->first++];
	return 1;
}

bool steps_any(struct session *s, uint64_t agent)
{
	struct steps *steps = NULL;
	struct step st;
	struct err none = ERR_INIT;
	bool found = steps_new(&steps, s, agent, &none) == 0 && steps_next(steps, &st, &none) > 0;
	if (found)
		step_release(&st);
	steps_free(&steps);
	return found;
}

/* --- agents --- */

int steps_agents(struct session *s, uint64_t **out, size_t *nr_out, struct err *err)
{
	struct event ev[256];
	uint64_t *list = NULL, after = 0;
	size_t nr = 0, cap = 0, got;
	do {
		if (session_headers(s, after, ev, ARRAY_LEN(ev), &got, err) < 0) {
			free(list);
			return -1;
		}
		for (size_t i = 0; i < got; i++) {
			after = ev[i].seq;
			if (ev[i].kind != EV_AGENT_START)
				continue;
			GROW(list, nr, cap);
			list[nr++] = ev[i].seq;
		}
	} while (got == ARRAY_LEN(ev));
	*out = list;
	*nr_out = nr;
	return 0;
}

static json_t *exchange_steps_body_of(struct session *s, uint64_t seq)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	json_t *body = NULL;
	if (seq && session_event(s, seq, &ev, &arena, &none) == 0 && ev.body)
		body = json_parse(ev.body, ev.len, "event", &none);
	arena_release(&arena);
	return body;
}

json_t *steps_agent(struct session *s, uint64_t agent)
{
	json_t *body = exchange_steps_body_of(s, agent);
	return body ? body : json_object();
}

json_t *steps_agent_end(struct session *s, uint64_t agent)
{
	struct feed *feed = NULL;
	struct arena arena = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	json_t *body = NULL;
	if (agent && feed_new(&feed, s, FEED_AGENT, agent, &none) == 0) {
		feed_seek(feed, INT64_MAX);
		while (!body && feed_prev(feed, &ev, &arena, &none) > 0) {
			if (ev.kind == EV_AGENT_END && ev.body)
				body = json_parse(ev.body, ev.len, "agent.end", &none);
			if (ev.kind == EV_ACTION_REQUESTED)
				break;
			arena_reset(&arena);
		}
	}
	feed_free(&feed);
	arena_release(&arena);
	return body;
}
