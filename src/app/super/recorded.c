#include "app/super/recorded.h"

#include <stdlib.h>
#include <string.h>

#include "wire/host.h"

struct entry {
	uint64_t call, action, box;
	bool ended, writes, kept; /* kept: the files as it left them are in the record */
	json_t *end;         /* body of action.ended */
	json_t *edit, *reply; /* of action.decided, model.reply; may be NULL */
	struct call *asking; /* its answer is on the way */
};

struct recorded {
	struct entry *item; /* without an answer in the record, in order */
	size_t nr, cap;
	uint64_t asked; /* the highest call with a host.call */
	struct loop_timer *later;
	struct super *s;
};

struct recorded *recorded_new(void)
{
	return NEW(struct recorded);
}

static void drop(struct recorded *r, size_t i)
{
	json_decref(r->item[i].end);
	json_decref(r->item[i].edit);
	json_decref(r->item[i].reply);
	memmove(&r->item[i], &r->item[i + 1], (--r->nr - i) * sizeof(*r->item));
}

void recorded_free(struct recorded **rp)
{
	struct recorded *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	while (r->nr)
		drop(r, r->nr - 1);
	loop_timer_free(&r->later);
	free(r->item);
	free(r);
}

static struct entry *of_action(struct recorded *r, uint64_t action)
{
	for (size_t i = 0; i < r->nr; i++)
		if (r->item[i].action == action)
			return &r->item[i];
	return NULL;
}

static void keep(json_t **at, const json_t *body)
{
	json_decref(*at);
	*at = json_incref((json_t *)(uintptr_t)body);
}

void recorded_see(struct recorded *r, const struct event *ev, const json_t *body)
{
	struct entry *e = ev->action ? of_action(r, ev->action) : NULL;
	if (ev->kind == EV_HOST_START && !strcmp(json_str(body, "mode", ""), "script")) {
		r->asked = 0;
	} else if (ev->kind == EV_HOST_CALL) {
		if ((uint64_t)json_int(body, "id", 0) > r->asked)
			r->asked = (uint64_t)json_int(body, "id", 0);
	} else if (ev->kind == EV_ACTION_REQUESTED && json_int(body, "call", 0)) {
		GROW(r->item, r->nr, r->cap);
		r->item[r->nr++] = (struct entry){ .call = (uint64_t)json_int(body, "call", 0), .action = ev->seq,
						  .box = ev->box,
						  .writes = json_flag(body, "may_write", false) &&
							    !json_flag(body, "leaves_box", false) };
	} else if (ev->kind == EV_ACTION_ENDED && e && e->reply && !strcmp(json_str(body, "end", ""), "interrupted")) {
		/* it broke off between the answer and the end: the answer is whole */
	} else if (ev->kind == EV_ACTION_ENDED && e) {
		e->ended = strcmp(json_str(body, "end", ""), "interrupted") != 0;
		keep(&e->end, body);
	} else if (ev->kind == EV_SNAPSHOT_TAKEN && e) {
		e->kept = true;
	} else if (ev->kind == EV_ACTION_DECIDED && e && !strcmp(json_str(body, "decision", ""), "edit")) {
		keep(&e->edit, json_object_get(body, "edit"));
	} else if (ev->kind == EV_MODEL_REPLY && e) {
		CLEANUP(json_release) json_t *end = json_object();
		json_put_str(end, "end", action_end_name(END_OK));
		keep(&e->reply, body);
		keep(&e->end, end);
		e->ended = true;
	} else if (ev->kind == EV_HOST_FRAME && !strcmp(json_str(body, "type", ""), "answer")) {
		for (size_t i = r->nr; i-- > 0;)
			if (r->item[i].call == (uint64_t)json_int(body, "id", 0))
				drop(r, i);
	}
}

static enum action_end end_of(const char *name)
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

static void give(struct recorded *r, struct entry *e)
{
	struct call *c = e->asking;
	struct session *s;
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf pty = BUF_INIT;
	if (session_open(&s, record_path(r->s->record), &err) == 0) {
		if (session_output_each(s, e->action, give_output, c, &err) == 0 &&
		    session_output(s, e->action, STREAM_PTY, 0, SIZE_MAX / 2, &pty, &err) == 0 && pty.len)
			call_output(c, STREAM_PTY, pty.data, pty.len);
		session_close(&s);
	}
	CLEANUP(json_release) json_t *body = json_copy(e->end);
	if (e->edit)
		json_put(body, "ran", json_incref(e->edit));
	if (e->reply)
		json_put(c->body, "reply", json_incref(e->reply));
	struct action_result res = {
		.id = e->action,
		.end = end_of(json_str(body, "end", "")),
		.body = body,
		.why = json_str(body, "why", NULL),
		.rule = json_str(body, "rule", NULL),
		.edited = e->edit != NULL,
	};
	drop(r, (size_t)(e - r->item));
	call_result(c, &res);
}

static void on_later(void *self)
{
	struct recorded *r = self;
	for (size_t i = 0; i < r->nr;)
		if (r->item[i].asking) {
			give(r, &r->item[i]);
			i = 0; /* an answer may have brought the next question */
		} else {
			i++;
		}
}

bool recorded_asked(const struct recorded *r, uint64_t call)
{
	return r && call <= r->asked;
}

void recorded_ask_anew(struct recorded *r)
{
	r->asked = 0;
}

bool recorded_undone(const struct recorded *r, uint64_t box)
{
	for (size_t i = 0; i < r->nr; i++)
		if (r->item[i].box == box && r->item[i].ended && r->item[i].writes && !r->item[i].kept)
			return true;
	return false;
}

bool recorded_answer(struct recorded *r, struct call *c)
{
	for (size_t i = 0; r && i < r->nr; i++) {
		struct entry *e = &r->item[i];
		if (e->call != c->id || !e->ended || (e->writes && !e->kept) || e->asking)
			continue;
		e->asking = c;
		r->s = c->super;
		if (!r->later)
			r->later = loop_timer_new(c->super->loop, on_later, r);
		loop_timer_set(r->later, 0, 0);
		return true;
	}
	return false;
}

void recorded_forget(struct recorded *r, const struct call *c)
{
	for (size_t i = 0; r && i < r->nr; i++)
		if (r->item[i].asking == c)
			r->item[i].asking = NULL;
}
