#include "supervisor/box/tree_several.h"

#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "record/read/session.h"
#include "sandbox/meant.h"
#include "supervisor/box/super_box.h"
#include "supervisor/box/tree_intent.h"
#include "supervisor/box/tree_op.h"

struct tree_several {
	struct super *s;
	uint64_t ticket, cause, action;
	several_done_fn *done; /* NULL: the ticket is answered */
	void *self;
	struct strv names;
	json_t *opts;
	size_t waiting; /* open sandboxes whose files are not recorded yet */
	struct session *read;
	struct merge_several m;
	struct err err;
};

/* The snapshot that comes before: the op has nothing else to do. */
struct several_look {
	struct tree_op op; /* first: freed with it */
	struct tree_several *of;
};

static void several_merge_work(void *self)
{
	struct tree_several *v = self;
	if (v->err.code == ERR_NONE &&
	    session_open(&v->read, record_path(v->s->record), &v->err) == 0)
		(void)!merge_several_run(&v->m, v->read, &v->names, v->opts, &v->err);
}

static uint64_t several_merge_record(struct tree_several *v, struct box_merge *b)
{
	CLEANUP(free_ptr) char *text = json_dump_str(b->body);
	enum event_kind kind = box_merge_kind(b, v->m.dry);
	struct event ev = { .cause = v->cause,
			    .box = b->box->id,
			    .action = v->action,
			    .kind = (uint16_t)kind,
			    .body = text,
			    .len = strlen(text) };
	struct objects *o = b->objects ? b->objects : objects_new();
	b->objects = NULL;
	uint64_t seq = record_objects(v->s->record, o, &ev);
	if (kind == EV_MERGE_DONE)
		tree_merge_recorded(v->s, seq);
	return seq;
}

static json_t *several_merge_result(struct tree_several *v, const uint64_t *event)
{
	if (v->m.nr != 1)
		return merge_several_result(&v->m, event);
	json_t *one = json_copy(v->m.merge[0].body);
	json_put_int(one, "event", (int64_t)event[0]);
	json_put_int(one, "box", (int64_t)v->m.merge[0].box->id);
	json_put_str(one, "name", v->m.merge[0].box->name);
	return one;
}

static void several_merge_done(void *self)
{
	struct tree_several *v = self;
	struct super *s = v->s;
	uint64_t *event = mem_calloc(v->m.nr + 1, sizeof(*event));
	s->background--;
	tree_recovered(s, v->cause, v->m.recovered);
	failpoint_hit("merge-several-done");
	for (size_t i = 0; i < v->m.nr; i++)
		if (v->m.merge[i].body)
			event[i] = several_merge_record(v, &v->m.merge[i]);
	if (merge_several_half(&v->m))
		merge_intent_release(&v->m.intent);
	else
		tree_intent_done(s, &v->m.intent);
	if (v->done)
		v->done(v->self, &v->m, event, &v->err);
	else if (v->err.code != ERR_NONE && s->server)
		control_refuse(s->server, v->ticket, &v->err);
	else
		tree_answer_committed(s, v->ticket, several_merge_result(v, event));
	merge_several_release(&v->m);
	session_close(&v->read);
	strv_release(&v->names);
	json_decref(v->opts);
	free(event);
	free(v);
	super_maybe_finish(s);
}

static void several_merge_begin(struct tree_several *v)
{
	if (v->waiting == 0)
		loop_job_run(v->s->loop, several_merge_work, several_merge_done, v);
}

static void several_barrier(void *self)
{
	several_merge_begin(self);
}

static void several_look_work(struct tree_op *op)
{
	(void)op;
}

static void several_look_done(struct tree_op *op)
{
	struct tree_several *v = ((struct several_look *)op)->of;
	if (op->err.code != ERR_NONE && op->err.code != ERR_CLOSED && v->err.code == ERR_NONE)
		v->err = op->err;
	v->waiting--;
	several_merge_begin(v);
}

static bool several_names(const struct tree_several *v, uint64_t box)
{
	for (size_t i = 0; i < v->names.nr; i++)
		if (meant_box(v->names.item[i], box, boxes_name(v->s->boxes, box)))
			return true;
	return v->names.nr == 0;
}

static void several_look(struct tree_several *v, struct trees *t)
{
	struct several_look *l = NEW(struct several_look);
	l->of = v;
	l->op = (struct tree_op){ .t = t,
				  .work = several_look_work,
				  .done = several_look_done,
				  .why = "background",
				  .cause = v->cause };
	v->waiting++;
	tree_op_start(&l->op);
}

static struct tree_several *several_new(struct super *s, uint64_t cause, const struct strv *names,
					const json_t *opts)
{
	struct tree_several *v = NEW(struct tree_several);
	*v = (struct tree_several){ .s = s,
				    .cause = cause,
				    .names = STRV_INIT,
				    .opts = json_deep_copy(opts),
				    .waiting = 1 };
	strv_copy(&v->names, names);
	return v;
}

static void several_start(struct tree_several *v)
{
	struct super *s = v->s;
	s->background++;
	for (size_t i = 0; boxes_at(s->boxes, i); i++) {
		uint64_t id = boxes_at(s->boxes, i);
		struct trees *t = super_box_trees(s, id);
		if (t && several_names(v, id))
			several_look(v, t);
	}
	v->waiting--;
	if (v->waiting == 0)
		record_barrier(s->record, record_head(s->record), several_barrier, v);
}

void trees_merge_several(const struct tree_request *rq, const struct strv *names,
			 const json_t *opts)
{
	struct tree_several *v = several_new(rq->s, rq->cause, names, opts);
	v->ticket = rq->ticket;
	several_start(v);
}

void trees_merge_recorded(const struct several_request *rq)
{
	struct tree_several *v = several_new(rq->s, rq->cause, rq->names, rq->opts);
	v->action = rq->action;
	v->done = rq->done;
	v->self = rq->self;
	several_start(v);
}
