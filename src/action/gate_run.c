/* Running an action: its turn in its sandbox, the barrier, the effect, the end. */
#include "action/gate_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "record/record_event.h"

/* The effect may begin: everything up to action.started is on the disk. */
static void gate_run_on_barrier(void *self)
{
	struct action *a = self;
	struct gate *g = a->gate;
	struct gate_box *b = gate_find_box(g, a->spec.box);
	struct hash now;
	if (a->state != ACTION_BARRIER || a->cancelled || record_state(g->record) == RECORD_DEAD)
		return;
	intent_of(&a->spec, b ? b->profile : NULL, &now);
	if (!hash_eq(&now, &a->intent)) {
		action_finish(a, END_FAILED, NULL,
			      "the action changed after its policy check; nothing was started",
			      NULL);
		return;
	}
	failpoint_hit("gate.start");
	a->state = ACTION_RUNNING;
	if (b && a->spec.agent)
		b->last_agent = a->spec.agent;
	a->started_us = clock_awake_us();
	a->eff->start(a->eff->self, a);
}

static void gate_run_start(struct action *a)
{
	struct gate *g = a->gate;
	json_t *body = json_object();
	put_hash(body, "intent", &a->intent);
	if (a->spec.timeout_us)
		json_put_int(body, "timeout_us", a->spec.timeout_us);
	if (a->edited) {
		json_t *ran = ran_json(&a->spec);
		json_put_flag(body, "edited", true);
		json_object_update(body, ran);
		json_decref(ran);
	}
	if (a->promoted)
		json_put_int(body, "promoted", (int64_t)a->promoted);
	a->state = ACTION_BARRIER;
	a->begun_us = clock_awake_us();
	a->started = true;
	uint64_t seq = action_event(a, EV_ACTION_STARTED, body);
	record_barrier(g->record, seq, gate_run_on_barrier, a);
	if (a->eff->prepare)
		gate_todo(a, TODO_PREPARE);
}

static bool takes_turns(const struct action *a)
{
	return a->spec.may_write && !a->spec.parallel && a->spec.box;
}

void action_admit(struct action *a)
{
	struct gate_box *b = a->spec.box ? gate_make_box(a->gate, a->spec.box) : NULL;
	a->admitted_us = clock_awake_us();
	bool waits = b && (b->locked || (takes_turns(a) && (b->busy || b->nr_queue)));
	if (!waits && !takes_turns(a)) {
		gate_run_start(a);
		return;
	}
	if (waits) {
		a->state = ACTION_QUEUED;
		GROW(b->queue, b->nr_queue, b->cap_queue);
		b->queue[b->nr_queue++] = a;
		return;
	}
	b->busy = a->id;
	gate_run_start(a);
}

static void gate_run_take_turn(struct gate_box *b, size_t i)
{
	struct action *a = b->queue[i];
	memmove(&b->queue[i], &b->queue[i + 1], (--b->nr_queue - i) * sizeof(*b->queue));
	if (!a->by_person && gate_latched(a->gate, a)) { /* paused while it waited */
		a->queued_us += clock_awake_us() - a->admitted_us;
		action_hold(a, HOLD_PAUSE);
		return;
	}
	if (takes_turns(a))
		b->busy = a->id;
	gate_run_start(a);
}

static void next_in_box(struct gate_box *b)
{
	b->busy = 0;
	while (b->nr_queue && !b->locked && !b->busy)
		gate_run_take_turn(b, 0);
}

/* Those that take no turns may all begin at once, of the others the first. */
static void run_queue(struct gate_box *b)
{
	for (size_t i = 0; i < b->nr_queue;) {
		if (takes_turns(b->queue[i]) && b->busy)
			i++;
		else
			gate_run_take_turn(b, i);
	}
}

void gate_box_lock(struct gate *g, uint64_t box, bool locked)
{
	struct gate_box *b = gate_make_box(g, box);
	if (locked) {
		b->locked++;
		return;
	}
	assert(b->locked);
	if (--b->locked == 0 && !b->gone)
		run_queue(b);
}

bool gate_box_quiet(const struct gate *g, uint64_t box)
{
	for (const struct action *a = g->all; a; a = a->next) {
		bool process = a->spec.kind == ACT_EXEC || a->spec.kind == ACT_SHELL;
		if (a->spec.box == box &&
		    (a->state == ACTION_BARRIER ||
		     (a->state == ACTION_RUNNING && !process && a->spec.kind != ACT_CONNECT)))
			return false;
	}
	return true;
}

/* A command that the script leaves running in the background serves every agent of the sandbox. */
static bool uses_box(const struct action *a, uint64_t box)
{
	bool begun = a->state == ACTION_QUEUED || a->state == ACTION_BARRIER ||
		     a->state == ACTION_RUNNING;
	return a->spec.box == box && begun && !a->spec.person &&
	       (a->spec.agent || !json_flag(a->spec.args, "spawn", false)) &&
	       (a->spec.agent || a->spec.kind != ACT_SHELL);
}

size_t gate_box_users(const struct gate *g, uint64_t box, uint64_t **out)
{
	uint64_t *user = NULL;
	size_t nr = 0, cap = 0;
	for (const struct action *a = g->all; a; a = a->next) {
		size_t i = 0;
		while (i < nr && user[i] != a->spec.agent)
			i++;
		if (!uses_box(a, box) || i < nr)
			continue;
		GROW(user, nr, cap);
		user[nr++] = a->spec.agent;
	}
	for (size_t i = 0; i < g->nr_boxes && nr == 0; i++)
		if (g->box[i]->id == box && g->box[i]->last_agent) {
			GROW(user, nr, cap);
			user[nr++] = g->box[i]->last_agent;
		}
	*out = user;
	return nr;
}

static int by_age(const void *va, const void *vb)
{
	const struct action *a = *(struct action *const *)va, *b = *(struct action *const *)vb;
	return a->id < b->id ? -1 : a->id > b->id;
}

size_t gate_box_commands(const struct gate *g, uint64_t box, struct action ***out)
{
	struct action **list = NULL;
	size_t nr = 0, cap = 0;
	for (struct action *a = g->all; a; a = a->next) {
		bool process = a->spec.kind == ACT_EXEC || a->spec.kind == ACT_SHELL;
		if (a->spec.box != box || !process || a->state != ACTION_RUNNING)
			continue;
		GROW(list, nr, cap);
		list[nr++] = a;
	}
	if (nr)
		qsort(list, nr, sizeof(struct action *), by_age);
	*out = list;
	return nr;
}

static void leave_queue(struct gate_box *b, const struct action *a)
{
	for (size_t i = 0; i < b->nr_queue; i++)
		if (b->queue[i] == a) {
			memmove(&b->queue[i], &b->queue[i + 1],
				(--b->nr_queue - i) * sizeof(*b->queue));
			return;
		}
}

/* The sandbox is free for the next action, or will be when its files have been scanned: @a reports
 * its end after that, so that the agent's next request comes after the snapshot of this action. */
static void leave_box(struct action *a, bool ran)
{
	struct gate *g = a->gate;
	struct gate_box *b = a->spec.box ? gate_find_box(g, a->spec.box) : NULL;
	bool wrote = ran && a->spec.may_write && b && !b->gone && g->ops.snapshot;
	if (b)
		leave_queue(b, a);
	bool mine = b && b->busy == a->id;
	if (wrote) {
		a->settling = true;
		g->ops.snapshot(g->ops.self, a->id, a->spec.box);
		return;
	}
	gate_todo(a, TODO_DONE);
	if (mine)
		next_in_box(b);
}

void gate_settled(struct gate *g, uint64_t action)
{
	for (struct action *a = g->all; a; a = a->next)
		if (a->id == action && a->settling) {
			a->settling = false;
			gate_todo(a, TODO_DONE);
			break;
		}
	for (size_t i = 0; i < g->nr_boxes; i++)
		if (g->box[i]->busy == action) {
			const struct action *a = gate_action(g, action);
			if (!a) /* else it runs and is not settled */
				next_in_box(g->box[i]);
			return;
		}
}

/* The times of its phases; zeros are left out. */
static json_t *times_of(const struct action *a, int64_t dur)
{
	int64_t gate = a->asked_us ? (a->admitted_us ? a->admitted_us : clock_awake_us()) -
					     a->asked_us - a->people_us - a->queued_us
				   : 0;
	int64_t back = a->box_us < 0 ? 0 : dur - a->out_us - a->box_us;
	const struct {
		const char *key;
		int64_t us;
	} part[] = { { "gate_us", gate },
		     { "people_us", a->people_us },
		     { "queue_us",
		       a->queued_us + (a->begun_us ? a->begun_us - a->admitted_us : 0) },
		     { "disk_us", a->started_us ? a->started_us - a->begun_us : 0 },
		     { "out_us", a->out_us },
		     { "box_us", a->box_us },
		     { "back_us", back } };
	json_t *o = json_object();
	for (size_t i = 0; i < ARRAY_LEN(part); i++)
		if (part[i].us > 0)
			json_put_int(o, part[i].key, part[i].us);
	return o;
}

void action_finish(struct action *a, enum action_end end, json_t *body, const char *why,
		   const char *rule)
{
	struct gate *g = a->gate;
	bool ran = a->state == ACTION_RUNNING, held = a->state == ACTION_HELD;
	int64_t dur = ran ? clock_awake_us() - a->started_us : 0;
	json_t *ev = json_object();
	assert(a->state != ACTION_ENDED);
	action_waited(a);
	json_put_str(ev, "end", action_end_name(end));
	json_put_str(ev, "why", why);
	json_put_str(ev, "rule", rule);
	json_put_int(ev, "dur_us", dur);
	json_put_flag(ev, "started", ran);
	json_put(ev, "times", times_of(a, dur));
	if (body)
		json_object_update_missing(ev, body);
	record_barrier_forget(g->record, a);
	if (ran)
		record_output_end(g->record, a->id);
	action_event(a, EV_ACTION_ENDED, ev);
	a->end = end;
	free(a->why);
	a->why = why ? mem_strdup(why) : NULL;
	a->rule = rule ? mem_strdup(rule) : NULL;
	a->body = body ? json_deep_copy(body) : json_object();
	if (a->edited)
		json_put(a->body, "ran", ran_json(&a->spec));
	json_decref(body);
	if (ran)
		budget_settle(a, a->body, dur);
	else
		budget_drop(a);
	a->deadline_us = 0;
	a->state = ACTION_ENDED;
	a->todo &= (unsigned)(TODO_HELD | TODO_UNHELD);
	if (held)
		gate_todo(a, TODO_UNHELD);
	if (held)
		a->todo &= ~(unsigned)TODO_HELD;
	leave_box(a, ran);
}

void action_output(struct action *a, enum record_stream s, const void *bytes, size_t len)
{
	assert(a->state == ACTION_RUNNING);
	struct action *outer = a->gate->speaking;
	a->gate->speaking = a;
	if (a->gate->raw)
		a->gate->raw(a->gate->raw_self, a->id, s, bytes, len);
	/* what is kept of it comes to gate_on_output */
	record_output(a->gate->record, a->id, s, bytes, len);
	a->gate->speaking = outer;
}

uint64_t action_output_mark(struct action *a, enum record_stream s)
{
	struct action *outer = a->gate->speaking;
	a->gate->speaking = a;
	uint64_t at = record_output_mark(a->gate->record, a->id, s);
	a->gate->speaking = outer;
	return at;
}

void action_took(struct action *a, int64_t out_us, int64_t box_us)
{
	int64_t most = clock_awake_us() - a->started_us;
	a->out_us = out_us < 0 ? 0 : out_us > most ? most : out_us;
	a->box_us = box_us < 0 ? 0 : box_us > most - a->out_us ? most - a->out_us : box_us;
}

void gate_on_output(void *self, uint64_t action, enum record_stream s, const void *bytes,
		    size_t len)
{
	struct gate *g = self;
	struct action *a =
		g->speaking && g->speaking->id == action ? g->speaking : gate_action(g, action);
	if (a && a->client.output)
		a->client.output(a->client.self, s, bytes, len);
}

bool action_flooded(const struct action *a)
{
	return record_state(a->gate->record) != RECORD_OK ||
	       record_backlog(a->gate->record) > RECORD_FLOOD;
}

void action_ended(struct action *a, enum action_end end, json_t *body)
{
	assert(a->state == ACTION_RUNNING || (a->state == ACTION_BARRIER && a->cancelled));
	const char *said = json_str(body, "why", end == END_KILLED ? a->why : NULL);
	CLEANUP(free_ptr) char *why = said ? mem_strdup(said) : NULL;
	action_finish(a, end, body, why, NULL);
}

void action_fail(struct action *a, const struct err *err)
{
	json_t *body = json_object();
	json_put_str(body, "code", NULL);
	json_put_str(body, "error", err_code_name(err->code));
	if (*err->hint)
		json_put_str(body, "hint", err->hint);
	action_finish(a, END_FAILED, body, err->text, NULL);
}

void gate_cancel(struct gate *g, uint64_t id, const char *how, const char *why)
{
	struct action *a = gate_action(g, id);
	if (!a)
		return;
	struct event at = action_place(a);
	a->last_seq = record_ev_action_cancel(
		g->record, &at,
		&(struct ev_action_cancel){ .how = ev_text_of(how), .why = ev_text_of(why) });
	switch (a->state) {
	case ACTION_BARRIER:
		a->cancelled = true;
		record_barrier_forget(g->record, a);
		if (a->prepared) {
			a->eff->cancel(a->eff->self, a, how);
			return;
		}
		break;
	case ACTION_RUNNING:
		free(a->why); /* the reason for its agent, unless its end has a better one */
		a->why = why ? mem_strdup(why) : NULL;
		if (a->eff->cancel)
			a->eff->cancel(a->eff->self, a, how);
		return;
	case ACTION_JUDGING:
	case ACTION_HELD:
	case ACTION_QUEUED:
		break;
	case ACTION_ENDED:
		return;
	}
	action_finish(a, END_CANCELLED, NULL, why, NULL);
}

void gate_box_gone(struct gate *g, uint64_t box)
{
	struct gate_box *b = gate_find_box(g, box);
	if (b) {
		b->gone = true;
		/* its members are ended below; none of them may be started by another's end */
		b->nr_queue = 0;
		b->busy = 0;
	}
	for (struct action *a = g->all; a; a = a->next) {
		if (a->spec.box != box || a->orphan)
			continue;
		switch (a->state) {
		case ACTION_JUDGING:
		case ACTION_HELD:
		case ACTION_QUEUED:
			action_finish(a, END_INTERRUPTED, NULL, "its sandbox has ended", NULL);
			break;
		case ACTION_BARRIER:
			if (!a->prepared)
				action_finish(a, END_INTERRUPTED, NULL, "its sandbox has ended",
					      NULL);
			break;
		case ACTION_RUNNING: /* its effector knows and ends it */
		case ACTION_ENDED:
			break;
		}
	}
}
