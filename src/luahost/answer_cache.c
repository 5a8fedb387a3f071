#include "luahost/answer_cache.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/core/call.h"
#include "base/log.h"
#include "wire/host.h"

struct entry {
	uint64_t call, action, box;
	bool ended, writes, kept; /* kept: the files as it left them are in the record */
	json_t *end;		  /* body of action.ended */
	json_t *edit, *reply;	  /* of action.decided, model.reply; may be NULL */
	struct call *asking;	  /* its answer is on the way */
};

/* No action, done and recorded in one breath. */
struct effect {
	uint64_t call, seq;
	uint16_t kind;
	json_t *body, *answered; /* answered: of a question */
};

struct recorded {
	struct entry *item; /* without an answer in the record, in order */
	size_t nr, cap;
	struct effect *effect; /* without an answer in the record, too */
	size_t nr_effects, cap_effects;
	uint64_t host;	/* host.start of the script; other hosts number their own calls */
	uint64_t asked; /* its highest call with a host.call */
	struct loop_timer *later;
	struct super *s;
};

struct recorded *answer_cache_new(void)
{
	return NEW(struct recorded);
}

static void answer_cache_drop(struct recorded *r, size_t i)
{
	json_decref(r->item[i].end);
	json_decref(r->item[i].edit);
	json_decref(r->item[i].reply);
	memmove(&r->item[i], &r->item[i + 1], (--r->nr - i) * sizeof(*r->item));
}

static void drop_effect(struct recorded *r, size_t i)
{
	json_decref(r->effect[i].body);
	json_decref(r->effect[i].answered);
	memmove(&r->effect[i], &r->effect[i + 1], (--r->nr_effects - i) * sizeof(*r->effect));
}

void answer_cache_free(struct recorded **rp)
{
	struct recorded *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	while (r->nr)
		answer_cache_drop(r, r->nr - 1);
	while (r->nr_effects)
		drop_effect(r, r->nr_effects - 1);
	loop_timer_free(&r->later);
	free(r->effect);
	free(r->item);
	free(r);
}

static struct entry *answer_cache_of_action(struct recorded *r, uint64_t action)
{
	for (size_t i = 0; i < r->nr; i++)
		if (r->item[i].action == action)
			return &r->item[i];
	return NULL;
}

static void answer_cache_keep(json_t **at, const json_t *body)
{
	json_decref(*at);
	*at = json_incref((json_t *)(uintptr_t)body);
}

static bool has_effect(enum event_kind kind)
{
	return kind == EV_STORE_SET || kind == EV_AGENT_START || kind == EV_AGENT_TURN ||
	       kind == EV_AGENT_END || kind == EV_TOOL_CALL || kind == EV_ASK ||
	       kind == EV_ASK_ANSWERED || kind == EV_BOX_OPEN || kind == EV_SESSION_LABELED;
}

static void see_effect(struct recorded *r, const struct event *ev, const json_t *body)
{
	for (size_t i = 0; ev->kind == EV_ASK_ANSWERED && i < r->nr_effects; i++)
		if (r->effect[i].seq == ev->cause)
			answer_cache_keep(&r->effect[i].answered, body);
	uint64_t call = (uint64_t)json_int(body, "call", 0);
	if (!call)
		return;
	GROW(r->effect, r->nr_effects, r->cap_effects);
	r->effect[r->nr_effects++] =
		(struct effect){ .call = call,
				 .seq = ev->seq,
				 .kind = ev->kind,
				 .body = json_incref((json_t *)(uintptr_t)body) };
}

/* A snapshot has what each action left that had ended before it; of several it names all, and
 * belongs to none. */
static void answer_cache_see_snapshot(struct recorded *r, struct entry *e, const json_t *body)
{
	size_t i;
	json_t *v;
	if (e)
		e->kept = true;
	json_array_foreach(json_object_get(body, "by"), i, v)
	{
		e = answer_cache_of_action(r, (uint64_t)json_integer_value(v));
		if (e && e->ended)
			e->kept = true;
	}
}

void answer_cache_see(struct recorded *r, const struct event *ev, const json_t *body)
{
	struct entry *e = ev->action ? answer_cache_of_action(r, ev->action) : NULL;
	if (ev->kind == EV_HOST_START && !strcmp(json_str(body, "mode", ""), "script")) {
		r->host = ev->seq;
		r->asked = 0;
	} else if (ev->kind == EV_HOST_CALL && ev->cause == r->host) {
		if ((uint64_t)json_int(body, "id", 0) > r->asked)
			r->asked = (uint64_t)json_int(body, "id", 0);
	} else if (ev->kind == EV_ACTION_REQUESTED && json_int(body, "call", 0)) {
		GROW(r->item, r->nr, r->cap);
		r->item[r->nr++] =
			(struct entry){ .call = (uint64_t)json_int(body, "call", 0),
					.action = ev->seq,
					.box = ev->box,
					.writes = json_flag(body, "may_write", false) &&
						  !json_flag(body, "leaves_box", false) };
	} else if (ev->kind == EV_ACTION_ENDED && e && e->reply &&
		   !strcmp(json_str(body, "end", ""), "interrupted")) {
		/* it broke off between the answer and the end: the answer is whole */
	} else if (ev->kind == EV_ACTION_ENDED && e) {
		e->ended = strcmp(json_str(body, "end", ""), "interrupted") != 0;
		answer_cache_keep(&e->end, body);
	} else if (ev->kind == EV_SNAPSHOT_TAKEN) {
		answer_cache_see_snapshot(r, e, body);
	} else if (ev->kind == EV_ACTION_DECIDED && e &&
		   !strcmp(json_str(body, "decision", ""), "edit")) {
		answer_cache_keep(&e->edit, json_object_get(body, "edit"));
	} else if (ev->kind == EV_MODEL_REPLY && e) {
		CLEANUP(json_release) json_t *end = json_object();
		json_put_str(end, "end", action_end_name(END_OK));
		answer_cache_keep(&e->reply, body);
		answer_cache_keep(&e->end, end);
		e->ended = true;
	} else if (ev->kind == EV_HOST_FRAME && ev->cause == r->host &&
		   !strcmp(json_str(body, "type", ""), "answer")) {
		for (size_t i = r->nr; i-- > 0;)
			if (r->item[i].call == (uint64_t)json_int(body, "id", 0))
				answer_cache_drop(r, i);
		for (size_t i = r->nr_effects; i-- > 0;)
			if (r->effect[i].call == (uint64_t)json_int(body, "id", 0))
				drop_effect(r, i);
	} else if (has_effect(ev->kind)) {
		see_effect(r, ev, body);
	}
}

const json_t *answer_cache_effect(const struct recorded *r, uint64_t call, enum event_kind kind,
				  uint64_t *seq_out)
{
	for (size_t i = 0; r && i < r->nr_effects; i++)
		if (r->effect[i].call == call && r->effect[i].kind == kind) {
			*seq_out = r->effect[i].seq;
			return r->effect[i].body;
		}
	return NULL;
}

const json_t *answer_cache_answered(const struct recorded *r, uint64_t ask)
{
	for (size_t i = 0; r && i < r->nr_effects; i++)
		if (r->effect[i].seq == ask)
			return r->effect[i].answered;
	return NULL;
}

static enum action_end answer_cache_end_of(const char *name)
{
	for (enum action_end e = END_OK; e <= END_BUDGET; e++)
		if (!strcmp(action_end_name(e), name))
			return e;
	return END_INTERRUPTED;
}

static bool give_output(void *self, int stream, int64_t ts_us, const void *bytes, size_t len)
{
	(void)ts_us;
	call_output(self, (enum record_stream)stream, bytes, len);
	return true;
}

static void answer_cache_give(struct recorded *r, struct entry *e)
{
	struct call *c = e->asking;
	struct session *s;
	struct err err = ERR_INIT;
	if (session_open(&s, record_path(r->s->record), &err) == 0) {
		if (session_output_each(s, e->action, give_output, c, &err) < 0)
			log_warn("can't read the output of #%llu: %s",
				 (unsigned long long)e->action, err.text);
		session_close(&s);
	}
	CLEANUP(json_release) json_t *body = json_copy(e->end);
	if (e->edit)
		json_put(body, "ran", json_incref(e->edit));
	if (e->reply)
		json_put(c->body, "reply", json_incref(e->reply));
	struct action_result res = {
		.id = e->action,
		.end = answer_cache_end_of(json_str(body, "end", "")),
		.body = body,
		.why = json_str(body, "why", NULL),
		.rule = json_str(body, "rule", NULL),
		.edited = e->edit != NULL,
	};
	answer_cache_drop(r, (size_t)(e - r->item));
	call_result(c, &res);
}

static void answer_cache_on_later(void *self)
{
	struct recorded *r = self;
	for (size_t i = 0; i < r->nr;)
		if (r->item[i].asking) {
			answer_cache_give(r, &r->item[i]);
			i = 0; /* an answer may have brought the next question */
		} else {
			i++;
		}
}

bool answer_cache_asked(const struct recorded *r, uint64_t call)
{
	return r && call <= r->asked;
}

void answer_cache_ask_anew(struct recorded *r)
{
	r->asked = 0;
}

bool answer_cache_undone(const struct recorded *r, uint64_t box)
{
	for (size_t i = 0; i < r->nr; i++)
		if (r->item[i].box == box && r->item[i].ended && r->item[i].writes &&
		    !r->item[i].kept)
			return true;
	return false;
}

static struct entry *answer_to(const struct recorded *r, const struct call *c)
{
	for (size_t i = 0; r && i < r->nr; i++) {
		struct entry *e = &r->item[i];
		if (e->call == c->id && e->ended && (!e->writes || e->kept) && !e->asking)
			return e;
	}
	return NULL;
}

bool answer_cache_knows(const struct recorded *r, const struct call *c)
{
	return c->host == c->super->host && answer_to(r, c);
}

bool answer_cache_answer(struct recorded *r, struct call *c)
{
	struct entry *e = answer_to(r, c);
	if (!e)
		return false;
	e->asking = c;
	r->s = c->super;
	if (!r->later)
		r->later = loop_timer_new(c->super->loop, answer_cache_on_later, r);
	loop_timer_set(r->later, 0, 0);
	return true;
}

void answer_cache_forget(struct recorded *r, const struct call *c)
{
	for (size_t i = 0; r && i < r->nr; i++)
		if (r->item[i].asking == c)
			r->item[i].asking = NULL;
}
