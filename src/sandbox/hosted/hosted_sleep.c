/* Rented boxes cost while they are awake: asleep after a while without work, woken by the next
 * call; their end is put off as long as we live. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/hosted/hosted_priv.h"

enum { IDLE_S = 60, TTL_S = 900, ALIVE_PART = 3 };

static void hosted_sleep_say(struct remote *r, const char *line)
{
	if (r->progress)
		r->progress(r->progress_self, line, strlen(line));
}

/* --- asleep --- */

static void hosted_sleep_wake(struct remote *r);

static void on_kept(void *self, const json_t *box)
{
	struct remote *r = self;
	struct err err = ERR_INIT;
	json_decref(r->box);
	r->box = json_deep_copy(box);
	if (r->book && hosted_book_put(r->book, box, &err) < 0)
		hosted_sleep_say(r, err.text);
}

static void on_asleep(void *self, const json_t *value, const struct err *err)
{
	struct remote *r = self;
	bool goes_on = json_is_string(value) && !strcmp(json_string_value(value), "memory");
	r->sleep_op = NULL;
	if (err && err->code == ERR_CLOSED) {
		hosted_died(r, err);
		return;
	}
	if (err) {
		hosted_sleep_say(r, err->text);
		r->state = AWAKE;
		hosted_runs_park(r, false);
		scripts_go(r);
		if (!r->busy)
			hosted_quiet(r); /* and tried again */
		return;
	}
	r->state = ASLEEP;
	r->asleep_since_us = loop_now_us(r->loop);
	if (goes_on)
		hosted_runs_park(r, false);
	else
		hosted_runs_slept(r);
	if (r->busy)
		hosted_sleep_wake(r);
}

static void fall_asleep(void *self)
{
	struct remote *r = self;
	static const struct remote_heard heard = { .done = on_asleep, .keep = on_kept };
	if (r->busy || r->state != AWAKE || r->dead || !r->open)
		return;
	json_t *args = hosted_args(r);
	r->state = FALLING_ASLEEP;
	json_array_append_new(args, json_string(r->idle_how));
	scripts_park(r);
	hosted_runs_park(r, true);
	r->sleep_op = hosted_ask(r, "sleep", args, &heard, r);
}

static void on_awake(void *self, const json_t *value, const struct err *err)
{
	struct remote *r = self;
	struct err why = ERR_INIT;
	(void)value;
	r->sleep_op = NULL;
	if (err) {
		why = *err;
		err_wrap(&why, "can't resume sandbox '%s'", r->name);
		hosted_died(r, &why);
		return;
	}
	r->state = AWAKE;
	hosted_oom_again(&r->oom);
	r->asleep_us += loop_now_us(r->loop) - r->asleep_since_us;
	scripts_go(r);
}

static void hosted_sleep_wake(struct remote *r)
{
	static const struct remote_heard heard = { .done = on_awake, .keep = on_kept };
	r->state = WAKING;
	r->sleep_op = hosted_ask(r, "wake", hosted_args(r), &heard, r);
}

bool hosted_awake(struct remote *r)
{
	if (r->idle)
		loop_timer_stop(r->idle);
	if (r->state == ASLEEP)
		hosted_sleep_wake(r);
	if (r->busy == 1)
		r->busy_since_us = loop_now_us(r->loop);
	return r->state == AWAKE;
}

void hosted_quiet(struct remote *r)
{
	if (r->busy_since_us)
		r->busy_us += loop_now_us(r->loop) - r->busy_since_us;
	r->busy_since_us = 0;
	if (!r->idle_how || !r->open || r->dead || r->closing)
		return;
	if (!r->idle)
		r->idle = loop_timer_new(r->loop, fall_asleep, r);
	loop_timer_set(r->idle, (uint64_t)r->idle_ms, 0);
}

/* --- kept alive --- */

static void hosted_sleep_on_alive(void *self, const json_t *value, const struct err *err)
{
	struct remote *r = self;
	(void)value;
	r->alive_op = NULL;
	if (err && err->code == ERR_CLOSED)
		hosted_died(r, err);
	else if (err)
		hosted_sleep_say(r, err->text);
}

static void hosted_sleep_keep_alive(void *self)
{
	struct remote *r = self;
	static const struct remote_heard heard = { .done = hosted_sleep_on_alive };
	if (r->alive_op || r->dead || r->state != AWAKE)
		return;
	json_t *args = hosted_args(r);
	json_array_append_new(args, json_integer(r->ttl_s));
	r->alive_op = hosted_ask(r, "alive", args, &heard, r);
}

void hosted_alive_begin(struct remote *r)
{
	const char *how = json_str(r->options, "idle", NULL);
	r->idle_ms = json_int(r->options, "idle_after", IDLE_S) * 1000;
	if (how && r->of->port.has(r->of->port.self, "sleep"))
		r->idle_how = how;
	r->state = AWAKE;
	hosted_quiet(r);
	if (!r->of->port.has(r->of->port.self, "alive"))
		return;
	r->alive = loop_timer_new(r->loop, hosted_sleep_keep_alive, r);
	loop_timer_set(r->alive, (uint64_t)r->ttl_s * 1000 / ALIVE_PART,
		       (uint64_t)r->ttl_s * 1000 / ALIVE_PART);
}

void hosted_sleep_end(struct remote *r)
{
	loop_timer_free(&r->idle);
	loop_timer_free(&r->alive);
	r->of->port.cancel(&r->sleep_op);
	r->of->port.cancel(&r->alive_op);
}
