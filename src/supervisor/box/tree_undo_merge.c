/* undo as a command: the newest merge or rollback, or the one that is named. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/read/session.h"
#include "sessions/merge_recover.h"
#include "sessions/undo_choice.h"
#include "supervisor/core/parts.h"
#include "supervisor/box/super_box.h"
#include "supervisor/box/tree_intent.h"
#include "supervisor/box/tree_op.h"

struct undoing {
	struct super *s;
	struct tree_request rq;
	uint64_t id;  /* 0: the newest */
	uint64_t box; /* whose rollback is the newest; 0: there is none */
	struct undo_other other;
	json_t *list;		 /* bodies of merge.undone */
	json_t *recovered;	 /* the same, of killed merges */
	uint64_t newest, undone; /* seqs of merges afterwards */
	bool rollback;
	struct err err;
};

static struct trees *newest_undo(struct super *s)
{
	struct trees *newest = NULL;
	for (size_t i = 0; boxes_at(s->boxes, i); i++) {
		struct trees *t = super_box_trees(s, boxes_at(s->boxes, i));
		if (t && t->undo && (!newest || t->undo_done > newest->undo_done))
			newest = t;
	}
	return newest;
}

/* Afterwards: which merge is the newest that stands, and the newest that does not. */
static void undo_left(struct undoing *u, const struct unmerged *known, const struct undo_choice *c)
{
	for (size_t i = 0; i < known->nr_merges; i++) {
		const struct unmerged_merge *m = &known->merges[i];
		bool undone = m->undone;
		for (size_t k = 0; k < json_array_size(u->list); k++)
			undone |= c->merge[k] == i;
		if (undone)
			u->undone = m->seq;
		else
			u->newest = m->seq;
	}
}

/* Takes back what killed merges have left; without an id, that is the newest. */
static bool undo_recover(struct undoing *u, struct session *read)
{
	json_t *left = merge_recover_look(read);
	bool any = json_array_size(left) > 0;
	json_decref(left);
	if (any && merge_recover(read, &u->recovered, &u->err) < 0)
		return true;
	return any && !u->id;
}

static void undo_merge_work(void *self)
{
	struct undoing *u = self;
	struct session *read;
	struct unmerged known;
	struct undo_choice c = { 0 };
	if (session_open(&read, record_path(u->s->record), &u->err) < 0)
		return;
	if (!undo_recover(u, read) && unmerged_read(&known, read, &u->err) == 0) {
		if (undo_choose(&c, &known, u->id, &u->other, &u->err) == 0)
			u->list = undo_merges(&c, &known, &u->err);
		u->rollback = c.other;
		undo_left(u, &known, &c);
		undo_choice_release(&c);
		unmerged_release(&known);
	}
	session_close(&read);
}

static void undo_take_rollback(struct undoing *u)
{
	struct trees *t = super_box_trees(u->s, u->box);
	struct err gone = ERR_INIT;
	if (t && t->undo && t->undo_done == u->other.at) {
		trees_undo_rollback(&u->rq, t);
		return;
	}
	err_set(&gone, ERR_BUSY,
		"can't undo rollback #%" PRIu64
		": its sandbox ended or has a newer rollback\nRun 'undo' again.",
		u->other.at);
	if (u->s->server)
		control_refuse(u->s->server, u->rq.ticket, &gone);
}

static json_t *undo_all(const struct undoing *u)
{
	json_t *all = json_array();
	json_array_extend(all, u->recovered);
	json_array_extend(all, u->list);
	return all;
}

struct newest_merge {
	uint64_t done;	 /* the merge.done that stands; 0: none in this run */
	uint64_t undone; /* the merge.done that was undone in this run */
};

static struct newest_merge *newest_merge_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct newest_merge), NULL };
	return super_part(s, &part);
}

void tree_merge_recorded(struct super *s, uint64_t seq)
{
	newest_merge_of(s)->done = seq;
}

static void undo_merge_done(void *self)
{
	struct undoing *u = self;
	struct super *s = u->s;
	s->background--;
	tree_recovered(s, u->rq.cause, u->recovered);
	for (size_t i = 0; i < json_array_size(u->list); i++)
		record_append_json(s->record, EV_MERGE_UNDONE, u->rq.cause, 0, 0, 0,
				   json_deep_copy(json_array_get(u->list, i)));
	if (json_array_size(u->list)) {
		newest_merge_of(s)->done = u->newest;
		newest_merge_of(s)->undone = u->undone;
	}
	if (u->err.code == ERR_NONE && u->rollback)
		undo_take_rollback(u);
	else if (u->err.code == ERR_NONE)
		tree_answer_committed(s, u->rq.ticket, undo_result(undo_all(u)));
	else if (s->server)
		control_refuse(s->server, u->rq.ticket, &u->err);
	json_decref(u->list);
	json_decref(u->recovered);
	free(u);
	super_maybe_finish(s);
}

/* The worker reads the committed file. */
static void undo_merge_begin(void *self)
{
	struct undoing *u = self;
	loop_job_run(u->s->loop, undo_merge_work, undo_merge_done, u);
}

uint64_t trees_undo_at(struct super *s)
{
	const struct trees *newest = newest_undo(s);
	uint64_t at = newest ? newest->undo_done : 0;
	const struct newest_merge *m = newest_merge_of(s);
	if (m->done > at)
		at = m->done;
	return m->undone > at ? m->undone : at;
}

/* The sandbox of whose last rollback @id is an event: the state before it, its snapshot, its
 * end. */
static struct trees *undo_rollback_of(struct super *s, uint64_t id)
{
	for (size_t i = 0; id && boxes_at(s->boxes, i); i++) {
		struct trees *t = super_box_trees(s, boxes_at(s->boxes, i));
		if (t && t->undo && (t->undo == id || t->undo_done == id || t->undo_seen == id))
			return t;
	}
	return NULL;
}

void trees_undo_command(const struct tree_request *rq, uint64_t what, uint64_t set)
{
	struct super *s = rq->s;
	struct trees *newest = newest_undo(s), *named = undo_rollback_of(s, what);
	if (named) {
		trees_undo_rollback(rq, named);
		return;
	}
	struct undoing *u = NEW(struct undoing);
	*u = (struct undoing){ .s = s, .rq = *rq, .id = what };
	u->rq.who = NULL; /* borrowed for the call */
	if (newest && (!set || newest->undo_done > set)) {
		u->box = newest->id;
		u->other.at = newest->undo_done;
		snprintf(u->other.what, sizeof(u->other.what), "rollback of sandbox %.80s",
			 newest->name);
	} else if (set) {
		u->other.at = set;
		snprintf(u->other.what, sizeof(u->other.what), "breakpoint or session approval");
	}
	s->background++;
	record_barrier(s->record, record_head(s->record), undo_merge_begin, u);
}
