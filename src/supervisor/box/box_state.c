#include "supervisor/box/box_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sessions/box_folder.h"
#include "supervisor/core/parts.h"
#include "supervisor/box/super_box.h"
#include "base/fd.h"
#include "base/paths.h"
#include "sandbox/common/remote_orphans.h"

enum { SWEEP_MS = 500 };

/* One state that is to go. */
struct box_rubbish {
	struct box_rubbish *next;
	struct box_states *of;
	char *dir;
	uint64_t seq; /* everything up to it must be on the disk before */
	struct err err;
};

struct box_states {
	struct super *s;   /* NULL: not there */
	char *dir;	   /* of all of them */
	uint64_t ids_from; /* states of sandboxes before this event may lie under their names */
	struct box_rubbish *first, **last;
	struct box_rubbish *running;
	struct loop_timer *timer; /* NULL: none waits */
	uint64_t durable;
	uint64_t *stays; /* owners of states that a later sandbox may continue */
	size_t nr_stays, cap_stays;
	bool keep; /* beyond the end of the session */
};

static struct box_states *box_states_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct box_states), NULL };
	return super_part(s, &part);
}

/* Reads FOLDER/.ids, or makes it. A directory of a resumed session without this file uses names. */
static int read_ids_from(struct box_states *b, const char *folder, bool was_there, struct err *err)
{
	char text[32];
	CLEANUP(free_ptr) char *link = path_join(folder, ".ids");
	ssize_t n = readlink(link, text, sizeof(text) - 1);
	if (n > 0) {
		text[n] = 0;
		b->ids_from = strtoull(text, NULL, 10);
		return 0;
	}
	b->ids_from = was_there ? record_head(b->s->record) : 0;
	snprintf(text, sizeof(text), "%" PRIu64, b->ids_from);
	return symlink(text, link) < 0 ? err_sys(err, "can't make '%s'", link) : 0;
}

int box_state_init(struct super *s, struct err *err)
{
	CLEANUP(free_ptr) char *folder = box_folder(record_id(s->record));
	bool was_there = access(folder, F_OK) == 0;
	if (box_folder_take(folder, record_path(s->record), err) < 0)
		return err_wrap(err, "can't keep sandboxes");
	struct box_states *b = box_states_of(s);
	*b = (struct box_states){ .s = s, .last = &b->first, .dir = mem_strdup(folder) };
	s->box_observer->clear(b->dir);
	return read_ids_from(b, folder, was_there, err);
}

const char *box_state_root(const struct super *s)
{
	return box_states_of(s)->dir;
}

char *box_state_dir(const struct super *s, uint64_t id, const char *name)
{
	const struct box_states *b = box_states_of(s);
	CLEANUP(free_ptr) char *own = mem_printf("%s/#%" PRIu64, b->dir, id);
	CLEANUP(free_ptr) char *named = path_join(b->dir, name);
	bool by_name = id < b->ids_from && access(own, F_OK) < 0 && access(named, F_OK) == 0;
	return take(by_name ? &named : &own);
}

uint64_t box_state_owner(uint64_t seq, const json_t *open)
{
	int64_t state = json_int(open, "state", 0),
		fork = json_int(json_object_get(open, "fork"), "box", 0);
	return state && (!fork || json_int(open, "was", 0)) ? (uint64_t)state : seq;
}

void box_state_stays(struct super *s, uint64_t id)
{
	struct box_states *b = box_states_of(s);
	if (box_state_may_continue(s, id))
		return;
	GROW(b->stays, b->nr_stays, b->cap_stays);
	b->stays[b->nr_stays++] = id;
}

bool box_state_may_continue(const struct super *s, uint64_t id)
{
	const struct box_states *b = box_states_of(s);
	for (size_t i = 0; i < b->nr_stays; i++)
		if (b->stays[i] == id)
			return true;
	return false;
}

/* --- states that go --- */

static void rubbish_free(struct box_rubbish *r)
{
	free(r->dir);
	free(r);
}

static void rubbish_work(void *self)
{
	struct box_rubbish *r = self;
	if (dir_remove(r->dir, &r->err) < 0)
		return; /* rubbish_done tells */
}

static void next_rubbish(struct box_states *b);

static void rubbish_done(void *self)
{
	struct box_rubbish *r = self;
	struct box_states *b = r->of;
	if (!b) { /* the session has ended */
		rubbish_free(r);
		return;
	}
	if (r->err.code != ERR_NONE && r->err.code != ERR_NOENT)
		super_warn(b->s, NULL, "files of a closed sandbox remain: %s", r->err.text);
	rubbish_free(r);
	b->running = NULL;
	b->s->background--;
	next_rubbish(b);
	super_maybe_finish(b->s);
}

/* One at a time: sandboxes that are opened meanwhile need the workers, too. */
static void next_rubbish(struct box_states *b)
{
	struct box_rubbish *r = b->first;
	if (b->running || !r || r->seq > b->durable || b->s->ending)
		return; /* the end removes all of them */
	b->first = r->next;
	if (!b->first)
		b->last = &b->first;
	b->running = r;
	b->s->background++;
	loop_job_run(b->s->loop, rubbish_work, rubbish_done, r);
}

void box_state_sweep(struct super *s, uint64_t seq)
{
	struct box_states *b = box_states_of(s);
	if (seq > b->durable)
		b->durable = seq;
	next_rubbish(b);
}

static void all_durable(void *self)
{
	struct box_states *b = self;
	struct box_rubbish *newest = b->first;
	while (newest && newest->next)
		newest = newest->next;
	if (newest && b->durable < newest->seq) /* what is added meanwhile has a timer of its own */
		b->durable = newest->seq;
	next_rubbish(b);
}

static void sweep_late(void *self)
{
	struct box_states *b = self;
	struct box_rubbish *r = b->first;
	loop_timer_free(&b->timer);
	while (r && r->next)
		r = r->next;
	if (r && record_state(b->s->record) == RECORD_OK)
		record_barrier(b->s->record, r->seq, all_durable, b);
}

void box_state_leave(struct super *s, char *dir)
{
	struct box_states *b = box_states_of(s);
	struct box_rubbish *r = NEW(struct box_rubbish);
	*r = (struct box_rubbish){ .of = b, .dir = dir, .seq = record_head(s->record) };
	*b->last = r;
	b->last = &r->next;
	if (b->timer || s->ending)
		return;
	b->timer = loop_timer_new(s->loop, sweep_late, b);
	loop_timer_set(b->timer, SWEEP_MS, 0);
}

void box_state_clear(struct super *s, uint64_t id)
{
	char *own = mem_printf("%s/#%" PRIu64, box_states_of(s)->dir, id);
	if (access(own, F_OK) == 0 && !remote_orphans_left(own))
		box_state_leave(s, own);
	else
		free(own);
}

void box_state_keep(struct super *s)
{
	box_states_of(s)->keep = true;
}

void box_state_end(struct super *s)
{
	struct box_states *b = box_states_of(s);
	struct err err = ERR_INIT;
	if (!b->s)
		return;
	loop_timer_free(&b->timer);
	if (s->record)
		record_barrier_forget(s->record, b);
	for (struct box_rubbish *r = b->first, *next; r; r = next) {
		next = r->next;
		if (b->keep && dir_remove(r->dir, &err) < 0)
			fprintf(stderr, "sandglass: %s\n", err.text);
		rubbish_free(r);
	}
	if (b->running)
		b->running->of = NULL;
	if (!b->keep && dir_remove(b->dir, &err) < 0)
		fprintf(stderr, "sandglass: %s\n", err.text);
	free(b->stays);
	free(b->dir);
	*b = (struct box_states){ 0 };
}
