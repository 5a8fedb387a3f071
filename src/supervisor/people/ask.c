#include "supervisor/people/ask.h"

#include "supervisor/core/parts.h"
#include "supervisor/core/notify_command.h"
#include "supervisor/core/call.h"
#include "luahost/answer_cache.h"
#include "record/record_event.h"
#include "supervisor/core/resumed.h"

#include <stdlib.h>
#include <string.h>

struct ask {
	uint64_t id;
	struct loop_timer *timer;
};

static void free_ask(void *data)
{
	struct ask *a = data;
	loop_timer_free(&a->timer);
	free(a);
}

static bool is_ask(const struct call *c)
{
	return !strcmp(c->op, "ask") && c->data;
}

/* Records the answer and gives it to the script; @answer is taken. */
static void ask_settle(struct call *c, json_t *answer)
{
	struct ask *a = c->data;
	record_append_json(c->super->record, EV_ASK_ANSWERED, a->id, c->agent, 0, 0,
			   json_copy(answer));
	call_answer(c, answer);
}

static void out_of_time(void *self)
{
	struct call *c = self;
	struct ask *a = c->data;
	json_t *def = json_object_get(c->args, "default");
	if (!def) {
		record_ev_ask_answered(c->super->record,
				       &(struct event){ .cause = a->id, .agent = c->agent },
				       &(struct ev_ask_answered){ .timeout = true });
		call_fail(c, "timeout", NULL, NULL, a->id, "nobody answered in time");
		return;
	}
	json_t *v = json_object();
	json_put(v, "choice", json_incref(def));
	json_put_flag(v, "timeout", true);
	ask_settle(c, v);
}

static void ask_cancel(struct call *c)
{
	call_fail(c, "cancelled", NULL, NULL, 0, "cancelled");
}

/* No question is asked twice: one from before a crash or a fork is kept, and so is its answer. */
static uint64_t asked_already(struct call *c)
{
	uint64_t id;
	return call_done_before(c, EV_ASK, &id) ? id : 0;
}

static bool answered_already(struct call *c, uint64_t id)
{
	const json_t *was = answer_cache_answered(resume_recorded(c->super->resume), id);
	if (!was)
		return false;
	if (json_flag(was, "timeout", false) && !json_object_get(was, "choice"))
		call_fail(c, "timeout", NULL, NULL, id, "nobody answered in time");
	else
		call_answer(c, json_copy((json_t *)(uintptr_t)was));
	return true;
}

static uint64_t record_ask(struct call *c)
{
	json_t *body = json_object();
	static const char *const kept[] = { "text",    "choices",    "form",
					    "default", "timeout_us", "risk" };
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		json_put(body, kept[i], json_incref(json_object_get(c->args, kept[i])));
	call_mark(c, body);
	return record_append_json(c->super->record, EV_ASK,
				  c->agent ? c->agent : c->super->start_seq, c->agent, 0, 0, body);
}

struct asks {
	bool missed; /* no_input, and an answer was required */
};

static struct asks *asks_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct asks), NULL };
	return super_part(s, &part);
}

bool ask_missed_person(const struct super *s)
{
	return asks_of(s)->missed;
}

void ask_begin(struct call *c)
{
	struct super *s = c->super;
	uint64_t before = asked_already(c);
	if (before && answered_already(c, before))
		return;
	struct ask *a = NEW(struct ask);
	a->id = before ? before : record_ask(c);
	c->data = a;
	c->free_data = free_ask;
	c->cancel = ask_cancel;
	int64_t timeout = json_int(c->args, "timeout_us", 0);
	if (s->opts->no_input) {
		if (json_object_get(c->args, "default")) {
			out_of_time(c);
			return;
		}
		asks_of(s)->missed = true;
		call_fail(c, "denied", "your answer is required, and --no-input was given", NULL,
			  a->id, "no user can answer");
		return;
	}
	if (timeout > 0) {
		a->timer = loop_timer_new(s->loop, out_of_time, c);
		loop_timer_set(a->timer, (uint64_t)(timeout + 999) / 1000, 0);
	}
	super_held(s, a->id, json_str(c->args, "text", ""));
}

/* The choice that @text names, by its words or else by its number from 1; NULL: none. Borrowed. */
static const char *ask_choice_of(const json_t *choices, const char *text)
{
	size_t i;
	json_t *v;
	char *end;
	if (!json_is_array(choices))
		return text;
	json_array_foreach((json_t *)(uintptr_t)choices, i,
			   v) if (json_is_string(v) &&
				  !strcmp(json_string_value(v), text)) return text;
	unsigned long nr = *text >= '1' && *text <= '9' ? strtoul(text, &end, 10) : 0;
	return nr && !*end ? json_string_value(json_array_get(choices, nr - 1)) : NULL;
}

int ask_answer(struct super *s, uint64_t id, const char *choice, json_t *form, json_t *who,
	       struct err *err)
{
	for (struct call *c = s->calls; c; c = c->next) {
		if (!is_ask(c) || ((struct ask *)c->data)->id != id)
			continue;
		const json_t *choices = json_object_get(c->args, "choices");
		const char *named = choice ? ask_choice_of(choices, choice) : NULL;
		if (choice && !named) {
			CLEANUP(free_ptr) char *list = json_dump_str(choices);
			return err_set(err, ERR_INVALID, "'%s' is not one of %s", choice, list);
		}
		choice = named;
		json_t *v = json_object();
		json_put_str(v, "choice", choice);
		json_put_str(v, "text", choice);
		json_put(v, "form", json_incref(form));
		json_put_str(v, "by", json_str(who, "name", "somebody"));
		json_put(v, "who", json_incref(who));
		ask_settle(c, v);
		return 0;
	}
	return err_set(err, ERR_NOENT, "question #%llu is not pending", (unsigned long long)id);
}

json_t *ask_pending(struct super *s)
{
	json_t *list = json_array();
	for (struct call *c = s->calls; c; c = c->next) {
		if (!is_ask(c))
			continue;
		json_t *item = json_object();
		json_put_int(item, "ask", (int64_t)((struct ask *)c->data)->id);
		json_put(item, "text", json_incref(json_object_get(c->args, "text")));
		json_put(item, "choices", json_incref(json_object_get(c->args, "choices")));
		json_put(item, "default", json_incref(json_object_get(c->args, "default")));
		json_array_append_new(list, item);
	}
	return list;
}
