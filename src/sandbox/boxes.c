/* The sandboxes of a session: opened behind their barrier, closed once nobody holds them, and
 * found. effect.c runs commands in them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/record_event.h"
#include "sandbox/effect.h"
#include "sandbox/effect_dial.h"
#include "sandbox/effect_priv.h"
#include "sandbox/view/masks.h"

enum { SAID_MOST = 2000 };

struct boxes *boxes_new(struct loop *l, struct record *r, struct gate *g,
			const struct boxes_ops *ops)
{
	struct boxes *b = NEW(struct boxes);
	b->loop = l;
	b->record = r;
	b->gate = g;
	b->ops = *ops;
	return b;
}

void boxes_free(struct boxes **bp)
{
	struct boxes *b = *bp;
	*bp = NULL;
	if (!b)
		return;
	assert(!b->nr);
	free(b->item);
	free(b);
}

struct slot *slot_find(struct boxes *b, uint64_t id)
{
	for (size_t i = 0; i < b->nr; i++)
		if (b->item[i]->id == id)
			return b->item[i];
	return NULL;
}

static void slot_drop(struct slot *s)
{
	struct boxes *b = s->boxes;
	for (size_t i = 0; i < b->nr; i++)
		if (b->item[i] == s) {
			memmove(&b->item[i], &b->item[i + 1], (b->nr - i - 1) * sizeof(*b->item));
			b->nr--;
			break;
		}
	slot_untrace(s);
	slot_forget_let_go(s);
	alive_forget(s);
	loop_timer_free(&s->still_timer);
	box_opts_free(&s->opts);
	strv_release(&s->env);
	free(s->name);
	free(s->killed_why);
	free(s);
}

/* --- open and close --- */

static void boxes_on_closed(void *self, json_t *result, const struct err *err)
{
	struct slot *s = self;
	struct boxes *b = s->boxes;
	uint64_t id = s->id;
	struct err why = ERR_INIT;
	if (err)
		why = *err;
	end_jobs(s, err ? END_INTERRUPTED : END_CANCELLED);
	dials_end(s, err ? END_INTERRUPTED : END_CANCELLED);
	json_t *body = json_object();
	if (err)
		json_put_str(body, "why", why.text);
	if (result && json_is_integer(json_object_get(result, "killed")))
		json_put_int(body, "killed", json_int(result, "killed", 0));
	json_put(body, "cost", json_incref(json_object_get(result, "cost")));
	record_append_json(b->record, EV_BOX_CLOSED, id, s->agent, id, 0, body);
	gate_charge(b->gate, s->agent, json_int(json_object_get(result, "cost"), "uusd", 0));
	slot_drop(s);
	b->ops.gone(b->ops.self, id, err ? &why : NULL);
}

void boxes_accrue(struct boxes *b)
{
	for (size_t i = 0; i < b->nr; i++) {
		const struct slot *s = b->item[i];
		CLEANUP(json_release)
		json_t *cost =
			s->box && s->open && s->driver->cost ? s->driver->cost(s->box) : NULL;
		if (cost)
			gate_accrue(b->gate, s->agent, json_int(cost, "uusd", 0));
	}
}

/* Cancels a prepared run whose barrier would call into a closed sandbox. */
static void cancel_prepared(struct slot *s)
{
	for (struct job *j = s->jobs, *next; j; j = next) {
		next = j->next;
		if (action_state(j->action) != ACTION_RUNNING)
			gate_cancel(s->boxes->gate, action_id(j->action), "cancel",
				    "its sandbox is closed");
	}
}

static void close_slot(struct slot *s)
{
	if (s->closing)
		return;
	s->closing = true;
	s->holds++; /* what ends below may give others back */
	gate_box_gone(s->boxes->gate, s->id);
	cancel_prepared(s);
	dials_stop(s);
	if (s->answers && s->driver->hear) /* a frozen guest would never give them */
		s->driver->hear(s->box);
	boxes_hold(s->boxes, s->id, false);
}

void boxes_hold(struct boxes *b, uint64_t box, bool held)
{
	struct slot *s = slot_find(b, box);
	if (!s)
		return;
	assert(held || s->holds);
	s->holds += held ? 1u : -1u;
	if (!s->holds && s->closing)
		s->box->driver->close(s->box, boxes_on_closed, s);
}

void boxes_hold_answer(struct boxes *b, uint64_t box, bool held)
{
	struct slot *s = slot_find(b, box);
	if (!s)
		return;
	assert(held || s->answers);
	s->answers += held ? 1u : -1u;
	boxes_hold(b, box, held);
}

static void boxes_on_opened(void *self, json_t *result, const struct err *err)
{
	struct slot *s = self;
	struct boxes *b = s->boxes;
	if (err) {
		struct err copy = *err;
		uint64_t id = s->id;
		record_ev_box_closed(
			b->record, &(struct event){ .cause = id, .agent = s->agent, .box = id },
			&(struct ev_box_closed){ .why = ev_text_of(err->text),
						 .code = ev_text_of(err_code_name(err->code)) });
		slot_drop(s);
		b->ops.opened(b->ops.self, id, NULL, &copy);
		return;
	}
	s->open = true;
	s->box->id = s->id;
	record_append_json(b->record, EV_BOX_READY, s->id, s->agent, s->id, 0, json_incref(result));
	trace_not_here(s);
	b->ops.opened(b->ops.self, s->id, result, NULL);
	if (s->close_wanted)
		close_slot(s);
}

/* The variables of the options, then those that stand nowhere. */
static const char *const *env_of(struct slot *s)
{
	const char *const *own = s->opts.o.env;
	size_t nr = 0;
	while (own && own[nr])
		nr++;
	const char **all = arena_alloc(&s->opts.arena, (nr + s->env.nr + 1) * sizeof(*all));
	for (size_t i = 0; i < nr; i++)
		all[i] = own[i];
	for (size_t i = 0; i < s->env.nr; i++)
		all[nr + i] = s->env.item[i];
	all[nr + s->env.nr] = NULL;
	return all;
}

/* box_opts.progress. A machine may print on its console endlessly. */
static void boxes_on_said(void *self, const char *line, size_t len)
{
	struct slot *s = self;
	if (s->said >= SAID_MOST)
		return;
	record_ev_box_said(s->boxes->record,
			   &(struct event){ .cause = s->id, .agent = s->agent, .box = s->id },
			   &(struct ev_box_said){ .text = { line ? line : "", len },
						  .last = ++s->said == SAID_MOST });
}

static void open_now(void *self)
{
	struct slot *s = self;
	masks_values(record_hidden(s->boxes->record));
	s->given = s->opts.o;
	s->given.progress = boxes_on_said;
	s->given.progress_self = s;
	if (s->env.nr)
		s->given.env = env_of(s);
	s->box = driver_open(s->driver, s->boxes->loop, &s->given, boxes_on_opened, s);
}

bool boxes_env(struct boxes *b, uint64_t box, const char *entry)
{
	struct slot *s = slot_find(b, box);
	size_t name = strcspn(entry, "=") + 1;
	for (const char *const *e = s ? s->opts.o.env : NULL; e && *e; e++)
		if (!strncmp(*e, entry, name))
			return false;
	if (s)
		strv_push(&s->env, entry);
	return s != NULL;
}

uint64_t boxes_open(struct boxes *b, const struct driver *d, const struct box_opts *o,
		    uint64_t cause, uint64_t agent)
{
	struct slot *s = NEW(struct slot);
	s->boxes = b;
	s->driver = d;
	s->agent = agent;
	s->name = mem_strdup(o->name);
	box_opts_copy(&s->opts, o);
	effector_init(s);
	json_t *body = json_object();
	json_put_str(body, "name", o->name);
	json_put_str(body, "driver", d->name);
	if (d->file)
		json_put_str(body, "file", d->file);
	box_opts_put(body, o);
	s->id = record_append_json(b->record, EV_BOX_OPEN, cause, agent, 0, 0, body);
	if (b->ops.state_dir) {
		CLEANUP(free_ptr) char *dir = b->ops.state_dir(b->ops.self, s->id, &s->opts.o);
		s->opts.o.state_dir = arena_strdup(&s->opts.arena, dir);
	}
	GROW(b->item, b->nr, b->cap);
	b->item[b->nr++] = s;
	record_barrier(b->record, s->id, open_now, s);
	return s->id;
}

void boxes_close(struct boxes *b, uint64_t box)
{
	struct slot *s = slot_find(b, box);
	if (!s)
		return;
	if (s->open) {
		close_slot(s);
	} else if (!s->box && record_state(b->record) == RECORD_DEAD) {
		struct err err = ERR_INIT; /* its barrier never comes, so nothing was opened */
		record_barrier_forget(b->record, s);
		err_set(&err, ERR_CLOSED, "can't write the session file");
		boxes_on_opened(s, NULL, &err);
	} else {
		s->close_wanted = true;
	}
}

bool boxes_lost(struct boxes *b, uint64_t box)
{
	const struct slot *s = slot_find(b, box);
	return s && s->lost;
}

size_t boxes_count(const struct boxes *b)
{
	return b->nr;
}

struct box *boxes_get(struct boxes *b, uint64_t box)
{
	struct slot *s = slot_find(b, box);
	return s && s->open && !s->closing ? s->box : NULL;
}

const char *boxes_name(struct boxes *b, uint64_t box)
{
	struct slot *s = slot_find(b, box);
	return s ? s->name : "";
}

const struct box_opts *boxes_opts(struct boxes *b, uint64_t box)
{
	struct slot *s = slot_find(b, box);
	return s ? &s->opts.o : NULL;
}

uint64_t boxes_find(struct boxes *b, const char *name)
{
	for (size_t i = 0; i < b->nr; i++)
		if (!strcmp(b->item[i]->name, name))
			return b->item[i]->id;
	return 0;
}

uint64_t boxes_at(struct boxes *b, size_t i)
{
	return i < b->nr ? b->item[i]->id : 0;
}

uint64_t boxes_running(struct boxes *b, uint64_t box, size_t i)
{
	struct slot *s = slot_find(b, box);
	for (struct job *j = s ? s->jobs : NULL; j; j = j->next)
		if (action_state(j->action) == ACTION_RUNNING && i-- == 0)
			return action_id(j->action);
	return 0;
}

const struct effector *boxes_effector(struct boxes *b, uint64_t box)
{
	struct slot *s = slot_find(b, box);
	return s ? &s->effector : NULL;
}
