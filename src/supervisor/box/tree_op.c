#include "supervisor/box/tree_op.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/box/box_ops.h"
#include "supervisor/box/file_mtimes.h"
#include "supervisor/box/super_box.h"
#include "base/failpoint.h"
#include "base/fd.h"
#include "record/read/settled.h"

static void tree_op_free(struct tree_op *o)
{
	json_decref(o->result);
	strv_release(&o->missing);
	free(o);
}

/* Reports missing files to the agents that use the sandbox. */
static void tell_missing(const struct tree_op *o)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT;
	tree_change_names(&o->missing, &names);
	super_box_warn(
		o->t->s, o->t->id, "a larger keep.file in the configuration keeps more",
		"the recording lacks the contents of %zu file%s, so sandbox '%s' doesn't have them: %s",
		o->missing.nr, o->missing.nr == 1 ? "" : "s", o->t->name, buf_cstr(&names));
}

static void tree_op_finish(struct tree_op *o)
{
	if (o->missing.nr && o->err.code == ERR_NONE)
		tell_missing(o);
	o->done(o);
	tree_op_free(o);
}

static void second_work(struct tree_job *j)
{
	struct tree_op *o = j->data;
	if (o->err.code == ERR_NONE)
		o->work(o);
}

static void second_done(struct tree_job *j)
{
	struct tree_op *o = j->data;
	if (j->err.code != ERR_NONE && o->err.code == ERR_NONE)
		o->err = j->err;
	tree_op_finish(o);
}

static void leave_waiting(struct tree_op *o)
{
	for (struct tree_op **p = &o->t->waiting; *p; p = &(*p)->next)
		if (*p == o) {
			*p = o->next;
			return;
		}
}

static void tree_op_committed(void *self)
{
	struct tree_op *o = self;
	leave_waiting(o);
	struct tree_job *j = NEW(struct tree_job);
	*j = (struct tree_job){ .work = second_work,
				.done = second_done,
				.freeze = o->freeze,
				.kept = o->kept,
				.data = o };
	tree_job_add(o->t, j);
}

static void first_work(struct tree_job *j)
{
	struct tree_op *o = j->data;
	tree_take(j->t, &o->taken, &j->err);
}

static void first_done(struct tree_job *j)
{
	struct tree_op *o = j->data;
	tree_record(j->t, &o->taken);
	o->before = record_head(o->t->s->record);
	o->kept = j->keep;
	if (j->err.code != ERR_NONE) {
		o->err = j->err;
		tree_op_finish(o);
		return;
	}
	o->next = o->t->waiting;
	o->t->waiting = o;
	record_barrier(o->t->s->record, record_head(o->t->s->record), tree_op_committed, o);
}

void tree_ops_end(struct trees *t)
{
	while (t->waiting) {
		struct tree_op *o = t->waiting;
		leave_waiting(o);
		record_barrier_forget(t->s->record, o);
		err_set(&o->err, ERR_CLOSED, "sandbox '%s' is closed", t->name);
		tree_op_finish(o);
	}
}

void tree_op_start(struct tree_op *o)
{
	o->taken = (struct taken){ .why = o->why, .cause = o->cause };
	struct tree_job *j = NEW(struct tree_job);
	*j = (struct tree_job){
		.work = first_work, .done = first_done, .freeze = true, .keep = o->freeze, .data = o
	};
	tree_job_add(o->t, j);
}

int tree_snap_of(struct trees *t, uint64_t box, size_t i, uint64_t seq, uint64_t *out,
		 struct err *err)
{
	if (!t->read && session_open(&t->read, record_path(t->s->record), err) < 0)
		return -1;
	*out = seq ? session_snapshot_at(t->read, box, t->layer[i].name, seq) : 0;
	return 0;
}

int tree_view(struct trees *t, size_t i, uint64_t seq, struct ws_view *v, struct err *err)
{
	uint64_t snapshot = t->layer[i].prev;
	if (seq != UINT64_MAX && tree_snap_of(t, t->id, i, seq, &snapshot, err) < 0)
		return -1;
	return tree_view_of(t, snapshot, v, err);
}

int tree_view_of(struct trees *t, uint64_t seq, struct ws_view *v, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct ws_store st;
	struct event ev;
	tree_store(t, &st);
	if (!seq)
		return ws_view_load(v, &st, NULL, err);
	if (!t->read && session_open(&t->read, record_path(t->s->record), err) < 0)
		return -1;
	if (session_event(t->read, seq, &ev, &a, err) < 0)
		return -1;
	if (!ev.body)
		return err_set(err, ERR_NOENT, "snapshot #%llu was redacted",
			       (unsigned long long)seq);
	CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "snapshot", err);
	return body ? ws_view_load(v, &st, body, err) : -1;
}

int tree_bring(struct tree_op *o, size_t i, const struct ws_view *now, const struct ws_view *wanted,
	       int other, uint64_t times)
{
	struct trees *t = o->t;
	struct ws_diff d = WS_DIFF_INIT;
	struct ws_store st;
	tree_store(t, &st);
	int rc = ws_diff_views(&d, now, wanted, false, NULL, &o->err);
	if (rc == 0)
		rc = tree_apply(o, i, &d, &st, other, times);
	ws_diff_release(&d);
	return rc;
}

static int set_times(struct trees *t, struct ws_plan *p, const struct ws_diff *d, uint64_t snapshot,
		     struct err *err)
{
	struct changed c = CHANGED_INIT;
	if (!t->read && session_open(&t->read, record_path(t->s->record), err) < 0)
		return -1;
	int rc = file_mtimes_read(&c, t->read, snapshot, err);
	if (rc == 0)
		ws_plan_times(p, d, file_mtimes_when, &c);
	file_mtimes_release(&c);
	return rc;
}

int tree_apply(struct tree_op *o, size_t i, const struct ws_diff *d, const struct ws_store *st,
	       int other, uint64_t times)
{
	struct trees *t = o->t;
	struct ws_plan p = WS_PLAN_INIT;
	struct err none = ERR_INIT;
	CLEANUP(fd_close)
	int lower = other >= 0 ? -1 : t->box->driver->tree->root(t->box, i, "lower", &none);
	int rc = ws_plan_make(&p, d, st, other >= 0 ? other : lower, false, &o->err);
	if (rc == 0 && times)
		rc = set_times(t, &p, d, times, &o->err);
	failpoint_hit("apply.before");
	if (rc == 0 && p.nr_ops)
		rc = t->box->driver->tree->apply(t->box, i, p.plan.data, p.plan.len, p.fd, p.nr_fds,
						 &o->err);
	failpoint_hit("apply.after");
	o->nr_ops += p.nr_ops;
	strv_copy(&o->missing, &p.missing);
	ws_plan_release(&p);
	return rc;
}

struct late_answer {
	struct super *s;
	uint64_t ticket;
	json_t *result;
};

static void late_answer_send(void *self)
{
	struct late_answer *l = self;
	if (l->s->server)
		control_answer(l->s->server, l->ticket, json_incref(l->result));
	json_decref(l->result);
	free(l);
}

void tree_answer_committed(struct super *s, uint64_t ticket, json_t *result)
{
	struct late_answer *l = NEW(struct late_answer);
	*l = (struct late_answer){ .s = s, .ticket = ticket, .result = result };
	record_barrier(s->record, record_head(s->record), late_answer_send, l);
}

void tree_op_answer(struct tree_op *o, json_t *result)
{
	struct super *s = o->rq.ticket ? o->rq.s : o->t->s;
	bool bad = o->err.code != ERR_NONE;
	if (o->rq.ticket && s->server) {
		if (bad)
			control_refuse(s->server, o->rq.ticket, &o->err);
		else
			tree_answer_committed(s, o->rq.ticket, json_incref(result));
	}
	if (o->action) {
		if (bad)
			action_fail(o->action, &o->err);
		else
			action_ended(o->action, END_OK, json_incref(result));
	}
	if (o->call) {
		if (bad)
			call_fail_err(o->call, &o->err);
		else
			call_answer(o->call, json_incref(result));
	}
	json_decref(result);
}

int tree_ref(struct trees *t, const json_t *ref, uint64_t *seq_out, struct err *err)
{
	if (json_is_integer(ref)) {
		*seq_out = (uint64_t)json_integer_value(ref);
		return 0;
	}
	const char *label = json_is_string(ref) ? json_string_value(ref) : "";
	if (tree_find_label(t, label, seq_out))
		return 0;
	return err_set(err, ERR_NOENT, "sandbox '%s' has no snapshot with the label '%s'", t->name,
		       label);
}
