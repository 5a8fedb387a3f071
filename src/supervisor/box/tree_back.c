/* Going back: rollback to a snapshot, undo of the last change, and copies (forks). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/box/box_ops.h"
#include "luahost/luahost.h"
#include "supervisor/box/super_box.h"
#include "supervisor/box/tree_op.h"
#include "base/fd.h"
#include "record/record_event.h"

static uint64_t record_rollback(struct tree_op *o, uint64_t takes)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	return record_ev_rollback_done(
		o->t->s->record, &(struct event){ .cause = o->cause, .box = o->t->id },
		&(struct ev_rollback_done){
			EV_SET(to, (int64_t)o->to), .how = ev_text_of(takes ? "undo" : "rollback"),
			.takes = (int64_t)takes, EV_SET(ops, (int64_t)o->nr_ops),
			.missing = { o->missing.nr, ev_texts_of(&mem, &o->missing) },
			.why = ev_text_of(o->err.code != ERR_NONE ? o->err.text : NULL) });
}

static void back_work(struct tree_op *o)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < o->t->nr_layers; i++) {
		struct ws_view now = WS_VIEW_INIT, wanted = WS_VIEW_INIT;
		rc = tree_view(o->t, i, UINT64_MAX, &now, &o->err);
		if (rc == 0)
			rc = tree_view(o->t, i, o->to, &wanted, &o->err);
		if (rc == 0)
			rc = tree_bring(o, i, &now, &wanted, -1, 0);
		ws_view_release(&now);
		ws_view_release(&wanted);
	}
	o->taken = (struct taken){ .why = "rollback", .cause = o->cause };
	struct err err = ERR_INIT;
	/* what is there now is recorded in any case */
	tree_take(o->t, &o->taken, rc == 0 ? &o->err : &err);
}

static void back_done(struct tree_op *o)
{
	struct trees *t = o->t;
	t->undo = o->before;
	uint64_t seq = tree_record(t, &o->taken);
	t->undo_seen = seq;
	t->undo_done = record_rollback(o, o->rq.takes);
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)seq);
	json_put_int(v, "to", (int64_t)o->to);
	json_put_int(v, "changes", (int64_t)o->nr_ops);
	if (o->missing.nr)
		json_put(v, "missing", json_argv(o->missing.item, o->missing.nr));
	if (o->rq.tell && t->s->host) {
		CLEANUP(free_ptr)
		char *text = mem_printf(
			"The files of sandbox %s were restored to their state at #%" PRIu64 ".",
			t->name, o->to);
		for (size_t i = 0; i < t->s->nr_agents; i++)
			if (!t->s->agent[i].ended)
				luahost_message(t->s->host, t->s->agent[i].id, text, json_null());
	}
	tree_op_answer(o, v);
}

static struct tree_op *back_op(struct trees *t, uint64_t to, uint64_t cause)
{
	struct tree_op *o = NEW(struct tree_op);
	*o = (struct tree_op){ .t = t,
			       .work = back_work,
			       .done = back_done,
			       .why = "background",
			       .freeze = true,
			       .to = to,
			       .cause = cause };
	return o;
}

/* --- as an action of a script --- */

static void back_start(void *self, struct action *a)
{
	struct trees *t = self;
	struct err err = ERR_INIT;
	uint64_t to;
	if (tree_ref(t, json_object_get(action_spec(a)->args, "to"), &to, &err) < 0) {
		action_fail(a, &err);
		return;
	}
	struct tree_op *o = back_op(t, to, action_id(a));
	o->action = a;
	tree_op_start(o);
}

static void back_cancel(void *self, struct action *a, const char *how)
{
	(void)self; /* half of a rollback helps no user: it runs to its end */
	(void)a;
	(void)how;
}

static void back_answer(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_object();
	json_put_int(v, "event", json_int(res->body, "event", (json_int_t)res->id));
	call_answer(c, v);
}

void op_box_rollback(struct call *c)
{
	uint64_t box;
	struct trees *t = op_trees(c, &box);
	if (!t)
		return;
	struct effector *eff = NEW(struct effector);
	*eff = (struct effector){
		.name = "files", .start = back_start, .cancel = back_cancel, .self = t
	};
	c->data = eff;
	c->free_data = free;
	struct action_spec spec = { .kind = ACT_ROLLBACK,
				    .tool = "rollback",
				    .box = box,
				    .args = c->args,
				    .may_write = true };
	call_action(c, &spec, eff, back_answer);
}

/* --- as a command of a user --- */

int trees_rollback_command(const struct tree_request *rq, uint64_t to, bool tell, struct err *err)
{
	struct trees *t = super_box_trees(rq->s, rq->box);
	if (!t)
		return err_set(err, ERR_UNSUPPORTED,
			       "this sandbox's backend gives no access to files");
	if (to > record_head(rq->s->record))
		return err_set(err, ERR_NOENT, "event #%" PRIu64 " not found", to);
	struct tree_op *o = back_op(t, to, rq->cause);
	o->rq = *rq;
	o->rq.tell = tell;
	tree_op_start(o);
	return 0;
}

void trees_undo_rollback(const struct tree_request *rq, struct trees *t)
{
	struct tree_op *o = back_op(t, t->undo, rq->cause);
	o->rq = *rq;
	o->rq.takes = t->undo_done;
	tree_op_start(o);
}

/* --- fork: a box over the same repositories, brought to the files of another --- */

/* The source is held open meanwhile. */
struct forking {
	struct tree_op op; /* first: freed with it */
	struct box *src;   /* NULL = gone */
};

static void fork_work(struct tree_op *o)
{
	struct forking *f = (struct forking *)o;
	struct trees *t = o->t;
	int rc = f->src ? 0 : err_set(&o->err, ERR_CLOSED, "the sandbox to copy has ended");
	for (size_t i = 0; rc == 0 && i < t->nr_layers; i++) {
		struct ws_view now = WS_VIEW_INIT, wanted = WS_VIEW_INIT;
		struct err none = ERR_INIT;
		uint64_t seq;
		CLEANUP(fd_close)
		int merged = f->src->driver->tree->root(f->src, i, "merged", &none);
		rc = tree_view(t, i, UINT64_MAX, &now, &o->err);
		if (rc == 0)
			rc = tree_snap_of(t, o->from, i, o->to, &seq, &o->err);
		if (rc == 0)
			rc = tree_view_of(t, seq, &wanted, &o->err);
		if (rc == 0)
			rc = tree_bring(o, i, &now, &wanted, merged, seq);
		ws_view_release(&now);
		ws_view_release(&wanted);
	}
	o->taken = (struct taken){ .why = "fork", .cause = o->cause };
	if (rc == 0)
		tree_take(t, &o->taken, &o->err);
}

static void fork_done(struct tree_op *o)
{
	struct super *s = o->t->s;
	struct call *c = o->call;
	struct forking *f = (struct forking *)o;
	tree_record(o->t, &o->taken);
	bool lost = boxes_lost(s->boxes, o->from);
	if (f->src)
		boxes_hold(s->boxes, o->from, false);
	if (lost)
		super_box_close(s, o->from);
	if (o->err.code != ERR_NONE) {
		super_box_close(s, o->t->id);
		call_fail_err(c, &o->err);
		return;
	}
	record_ev_fork_done(s->record,
			    &(struct event){ .cause = o->from, .agent = c->agent, .box = o->t->id },
			    &(struct ev_fork_done){ .from = (int64_t)o->from,
						    .to = (int64_t)o->t->id,
						    EV_SET(n, (int64_t)o->to),
						    .how = ev_text_of(lost ? "restore" : "copy"),
						    EV_SET(files, (int64_t)o->nr_ops) });
	super_box_answer(s, o->t->id, c);
}

void trees_fork_into(struct trees *t, struct call *c, uint64_t from, uint64_t n)
{
	struct forking *f = NEW(struct forking);
	struct trees *src = super_box_trees(t->s, from);
	f->op = (struct tree_op){ .t = t,
				  .call = c,
				  .work = fork_work,
				  .done = fork_done,
				  .why = "open",
				  .cause = t->id,
				  .from = from,
				  .to = n };
	f->src = src ? boxes_get(t->s->boxes, from) : NULL;
	if (f->src)
		boxes_hold(t->s->boxes, from, true);
	tree_op_start(&f->op);
}

/* --- adopt: a box of a resumed session gets the files that its predecessor had --- */

struct adopting {
	struct tree_op op; /* first: freed with it */
	bool restore;
	void (*done)(struct super *s, uint64_t box, const struct err *err);
};

static void adopt_work(struct tree_op *o)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < o->t->nr_layers; i++) {
		struct ws_view now = WS_VIEW_INIT, wanted = WS_VIEW_INIT;
		uint64_t seq = tree_snap_at(o->t, i, o->to);
		rc = seq ? tree_view(o->t, i, seq, &wanted, &o->err) : 0;
		if (rc == 0 && seq)
			rc = tree_view(o->t, i, UINT64_MAX, &now, &o->err);
		if (rc == 0 && seq && (((struct adopting *)o)->restore || !now.nr))
			rc = tree_bring(o, i, &now, &wanted, -1, seq);
		ws_view_release(&now);
		ws_view_release(&wanted);
	}
	o->taken = (struct taken){ .why = "resume", .cause = o->cause };
	if (rc == 0)
		tree_take(o->t, &o->taken, &o->err);
}

static void adopt_done(struct tree_op *o)
{
	struct adopting *a = (struct adopting *)o;
	tree_record(o->t, &o->taken);
	a->done(o->t->s, o->t->id, o->err.code != ERR_NONE ? &o->err : NULL);
}

void trees_adopt(struct trees *t, const struct old_snap *snap, size_t nr, bool restore,
		 void (*done)(struct super *s, uint64_t box, const struct err *err))
{
	struct adopting *a = NEW(struct adopting);
	a->done = done;
	a->restore = restore;
	a->op = (struct tree_op){
		.t = t, .work = adopt_work, .done = adopt_done, .why = "background", .cause = t->id
	};
	for (size_t k = 0; k < nr; k++)
		for (size_t i = 0; i < t->nr_layers; i++)
			if (!strcmp(t->layer[i].name, snap[k].repo)) {
				tree_remember(t, i, snap[k].seq, snap[k].label);
				a->op.to = snap[k].seq;
			}
	tree_op_start(&a->op);
}

/* First the present state of the source is recorded and committed; then the copy is opened. */
static void fork_source_work(struct tree_op *o)
{
	(void)o;
}

static void fork_source_done(struct tree_op *o)
{
	struct err err = ERR_INIT;
	struct call *c = o->call;
	if (o->err.code != ERR_NONE)
		call_fail_err(c, &o->err);
	else if (super_box_fork(c, o->t->id, o->to ? o->to : record_head(o->t->s->record), &err) <
		 0)
		call_fail_err(c, &err);
}

void op_box_fork(struct call *c)
{
	uint64_t box, at = 0;
	struct err err = ERR_INIT;
	struct trees *t = op_trees(c, &box);
	if (!t)
		return;
	const json_t *ref = json_object_get(c->args, "at");
	if (ref && tree_ref(t, ref, &at, &err) < 0) {
		call_fail_err(c, &err);
		return;
	}
	struct tree_op *o = NEW(struct tree_op);
	*o = (struct tree_op){ .t = t,
			       .call = c,
			       .work = fork_source_work,
			       .done = fork_source_done,
			       .why = "background",
			       .cause = box,
			       .to = at };
	tree_op_start(o);
}
