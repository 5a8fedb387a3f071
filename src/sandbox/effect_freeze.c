/* Freezing and killing what runs in a sandbox. */
#include <signal.h>
#include <stdlib.h>

#include "sandbox/effect.h"
#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/effect_priv.h"

/* --- freeze --- */

/* One request, for one sandbox or for all. */
struct freezing {
	size_t left; /* boxes that have not answered, and one while they are being asked */
	struct err err;
	boxes_frozen_fn *done; /* NULL: nobody waits */
	void *self;
};

struct freeze {
	struct boxes *boxes;
	struct freezing *of;
	uint64_t box, cause;
	bool frozen;
	const char *why; /* a literal, or NULL */
};

static void freezing_less(struct freezing *f)
{
	if (--f->left)
		return;
	if (f->done)
		f->done(f->self, f->err.code != ERR_NONE ? &f->err : NULL);
	free(f);
}

static void effect_nobody(void *self, json_t *result, const struct err *err)
{
	(void)self;
	(void)result;
	(void)err;
}

static void effect_on_frozen(void *self, json_t *result, const struct err *err)
{
	struct freeze *f = self;
	struct slot *s = slot_find(f->boxes, f->box);
	json_t *body = result ? json_copy(result) : json_object();
	if (s && err)
		s->frozen = !f->frozen;
	/* half of it may have happened, or only its answer been lost */
	if (s && err && f->frozen && !s->closing)
		s->driver->freeze(s->box, false, effect_nobody, NULL);
	if (s && !s->frozen)
		let_all_go(s);
	json_put_flag(body, "frozen", err ? !f->frozen : f->frozen);
	json_put_str(body, "why", err ? err->text : f->why);
	record_append_json(f->boxes->record, EV_BOX_FROZEN, f->cause, 0, f->box, 0, body);
	if (err && f->of->err.code == ERR_NONE)
		f->of->err = *err;
	freezing_less(f->of);
	free(f);
}

static void freeze_all(struct boxes *b, uint64_t box, bool frozen, uint64_t cause, const char *why,
		       struct freezing *all)
{
	all->left = 1;
	for (size_t i = 0; i < b->nr; i++) {
		struct slot *s = b->item[i];
		if ((box && s->id != box) || !s->open || s->closing || s->frozen == frozen)
			continue;
		s->frozen = frozen;
		slot_forget_let_go(s);
		all->left++;
		struct freeze *f = NEW(struct freeze);
		*f = (struct freeze){ .boxes = b,
				      .of = all,
				      .box = s->id,
				      .cause = cause,
				      .frozen = frozen,
				      .why = why };
		if (s->pinned) {
			CLEANUP(json_release) json_t *how = json_object();
			json_put_str(how, "how", "when the dry run is over");
			effect_on_frozen(f, how, NULL);
		} else {
			s->driver->freeze(s->box, frozen, effect_on_frozen, f);
		}
	}
	freezing_less(all);
}

void boxes_freeze_why(struct boxes *b, uint64_t box, bool frozen, uint64_t cause, const char *why)
{
	freeze_all(b, box, frozen, cause, why, NEW(struct freezing));
}

void boxes_freeze_then(struct boxes *b, uint64_t box, bool frozen, uint64_t cause,
		       boxes_frozen_fn *done, void *self)
{
	for (size_t i = 0; i < b->nr; i++)
		if (!box || b->item[i]->id == box)
			b->item[i]->stilled = false; /* from now on it is as it was asked for */
	struct freezing *all = NEW(struct freezing);
	all->done = done;
	all->self = self;
	freeze_all(b, box, frozen, cause, NULL, all);
}

void boxes_freeze(struct boxes *b, uint64_t box, bool frozen, uint64_t cause)
{
	boxes_freeze_then(b, box, frozen, cause, NULL, NULL);
}

bool boxes_frozen(struct boxes *b, uint64_t box)
{
	const struct slot *s = slot_find(b, box);
	return s && s->frozen;
}

void boxes_pin(struct boxes *b, uint64_t box, bool pinned)
{
	struct slot *s = slot_find(b, box);
	if (s)
		s->pinned = pinned;
}

void boxes_kill(struct boxes *b, uint64_t box, const char *why)
{
	struct slot *s = slot_find(b, box);
	if (!s || !s->open || s->closing)
		return;
	for (struct job *j = s->jobs, *next; j; j = next) {
		next = j->next;
		if (action_state(j->action) == ACTION_RUNNING)
			gate_cancel(b->gate, action_id(j->action), "kill", why);
	}
	free(s->killed_why);
	s->killed_why = mem_strdup(why);
	s->killed_us = clock_mono_us();
	if (s->driver->kill)
		s->driver->kill(s->box);
}

int boxes_left(struct boxes *b, uint64_t box)
{
	const struct slot *s = slot_find(b, box);
	return s ? s->alive : 0;
}

int boxes_alive(struct boxes *b, uint64_t box)
{
	struct slot *s = slot_find(b, box);
	if (!s)
		return 0;
	int n = s->alive;
	for (struct job *j = s->jobs; j; j = j->next)
		n++;
	return n;
}
