/* A decision: the action ends as its dry run did, and the box's files get exactly the difference
 * that it made. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/trial/dry_run_priv.h"
#include "supervisor/box/tree_op.h"
#include "base/failpoint.h"
#include "base/fd.h"
#include "record/record_event.h"

struct promoting {
	struct dry_run *p;
	struct action *action; /* NULL: only whether it could be */
	struct tree_request rq;
	json_t *who;
	char *message;
	struct hash intent;
	struct taken taken;
	size_t nr_ops;
};

static void promoting_free(struct promoting *pr)
{
	json_decref(pr->who);
	free(pr->message);
	free(pr);
}

/* --- worker --- */

static int dry_run_apply_load(struct trees *t, uint64_t seq, struct ws_view *v, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct ws_store st;
	struct event ev;
	if (!t->read && session_open(&t->read, record_path(t->s->record), err) < 0)
		return -1;
	if (session_event(t->read, seq, &ev, &a, err) < 0)
		return -1;
	if (!ev.body)
		return err_set(err, ERR_NOENT, "dry run #%" PRIu64 " was redacted", seq);
	CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "preview", err);
	return body ? ws_view_load(v, tree_store(t, &st), body, err) : -1;
}

/* Contents kept only as a hash are still in the removed layer's directories. */
static int upper_of(const struct dry_run *p, size_t i)
{
	return p->layer[i].upper
		       ? open(p->layer[i].upper, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
		       : -1;
}

static int dry_run_apply_layer(struct promoting *pr, struct trees *t, size_t i, bool apply,
			       struct err *err)
{
	struct dry_run *p = pr->p;
	struct ws_view none = WS_VIEW_INIT, view = WS_VIEW_INIT;
	struct ws_diff d = WS_DIFF_INIT;
	struct ws_plan plan = WS_PLAN_INIT;
	struct ws_store st;
	CLEANUP(fd_close) int upper = upper_of(p, i);
	int rc = dry_run_apply_load(t, p->layer[i].seq, &view, err);
	if (rc == 0)
		rc = ws_diff_views(&d, &none, &view, false, NULL, err);
	if (rc == 0)
		rc = ws_plan_make(&plan, &d, tree_store(t, &st), upper, false, err);
	if (rc == 0 && plan.missing.nr)
		rc = err_set(
			err, ERR_UNSUPPORTED,
			"can't apply: the content of '%s' is not recorded (%zu such files); approve the action instead",
			plan.missing.item[0], plan.missing.nr);
	failpoint_hit("promote.apply");
	if (rc == 0 && apply && plan.nr_ops)
		rc = t->box->driver->tree->apply(t->box, i, plan.plan.data, plan.plan.len, plan.fd,
						 plan.nr_fds, err);
	pr->nr_ops += plan.nr_ops;
	ws_plan_release(&plan);
	ws_diff_release(&d);
	ws_view_release(&view);
	return rc;
}

static void dry_run_apply_work(struct tree_job *j)
{
	struct promoting *pr = j->data;
	struct dry_run *p = pr->p;
	struct hash now;
	tree_take(j->t, &pr->taken, &j->err);
	if (j->err.code != ERR_NONE || dry_run_hash(j->t, &now, &j->err) < 0)
		return;
	if (!hash_eq(&now, &p->before)) {
		err_set(&j->err, ERR_INVALID,
			"the sandbox's files changed since the dry run of #%" PRIu64
			"; repeat the dry run",
			p->action);
		return;
	}
	/* all layers can be done, or none is begun */
	for (int pass = 0; pass < (pr->action ? 2 : 1); pass++) {
		pr->nr_ops = 0;
		for (size_t i = 0; i < p->nr_layers; i++)
			if (p->layer[i].seq &&
			    dry_run_apply_layer(pr, j->t, i, pass == 1, &j->err) < 0)
				return;
	}
}

/* --- bringing it about --- */

static bool dry_run_apply_replay(void *self, int stream, int64_t ts_us, const void *bytes,
				 size_t len)
{
	(void)ts_us;
	action_output(self, (enum record_stream)stream, bytes, len);
	return true;
}

static void replay_output(struct action *a, const struct dry_run *p)
{
	struct session *read;
	struct err err = ERR_INIT;
	if (session_open(&read, record_path(p->s->record), &err) < 0)
		return;
	CLEANUP(buf_release) struct buf pty = BUF_INIT;
	if (session_output_each(read, p->seq, dry_run_apply_replay, a, &err) == 0 && p->pty &&
	    session_output(read, p->seq, STREAM_PTY, 0, DRY_RUN_OUTPUT_MAX, &pty, &err) == 0 &&
	    pty.len)
		action_output(a, STREAM_PTY, pty.data, pty.len);
	session_close(&read);
}

static void dry_run_apply_record_done(const struct promoting *pr, const struct err *err)
{
	const struct dry_run *p = pr->p;
	record_ev_rollback_done(
		p->s->record,
		&(struct event){
			.cause = p->action, .agent = p->agent, .box = p->box, .action = p->action },
		&(struct ev_rollback_done){
			EV_SET(to, (int64_t)p->seq), .how = ev_text_of("promote"),
			EV_SET(ops, (int64_t)pr->nr_ops),
			.why = ev_text_of(err->code != ERR_NONE ? err->text : NULL) });
}

static void dry_run_apply_over(struct tree_job *j)
{
	struct promoting *pr = j->data;
	struct dry_run *p = pr->p;
	struct action *a = pr->action;
	tree_record(j->t, &pr->taken);
	dry_run_apply_record_done(pr, &j->err);
	if (j->err.code != ERR_NONE) {
		action_fail(a, &j->err);
	} else {
		json_t *body = json_object();
		replay_output(a, p);
		if (p->signal)
			json_put_int(body, "signal", p->signal);
		else if (p->kind == ACT_EXEC)
			json_put_int(body, "code", p->code);
		json_put_int(body, "out_bytes", p->bytes[0]);
		json_put_int(body, "err_bytes", p->bytes[1]);
		json_put_int(body, "promoted", (int64_t)p->seq);
		action_ended(a, END_OK, body);
	}
	promoting_free(pr);
	dry_run_drop(p, "it was applied");
}

static void dry_run_apply_start(void *self, struct action *a)
{
	struct dry_run *p = self;
	struct trees *t = super_box_trees(p->s, p->box);
	struct err err = ERR_INIT;
	if (!t) {
		err_set(&err, ERR_CLOSED, "its sandbox has ended");
		action_fail(a, &err);
		dry_run_drop(p, "its sandbox has ended");
		return;
	}
	struct promoting *pr = NEW(struct promoting);
	*pr = (struct promoting){ .p = p,
				  .action = a,
				  .taken = { .why = "background", .cause = p->action } };
	struct tree_job *j = NEW(struct tree_job);
	*j = (struct tree_job){ .work = dry_run_apply_work,
				.done = dry_run_apply_over,
				.freeze = true,
				.always = true,
				.data = pr };
	tree_job_add(t, j);
}

static void dry_run_apply_cancel(void *self, struct action *a, const char *how)
{
	(void)self; /* half of a difference helps no user: it runs to its end */
	(void)a;
	(void)how;
}

/* --- may it be? --- */

static void dry_run_apply_checked(struct tree_job *j)
{
	struct promoting *pr = j->data;
	struct dry_run *p = pr->p;
	struct super *s = p->s;
	struct err err = j->err;
	tree_record(j->t, &pr->taken);
	p->effector = (struct effector){ .name = "promote",
					 .start = dry_run_apply_start,
					 .cancel = dry_run_apply_cancel,
					 .self = p };
	const struct decide d = { .action = p->action,
				  .decision = DECIDE_APPROVE,
				  .intent = pr->intent,
				  .message = pr->message,
				  .promote = p->seq,
				  .with = &p->effector,
				  .who = pr->who };
	bool done = err.code == ERR_NONE && gate_decide(s->gate, &d, &err) == 0;
	if (done && s->server) {
		json_t *out = json_object();
		json_put_str(out, "decision", "promoted");
		json_put_int(out, "preview", (int64_t)p->seq);
		json_put_int(out, "changes", (int64_t)pr->nr_ops);
		control_answer(s->server, pr->rq.ticket, out);
	} else if (s->server) {
		control_refuse(s->server, pr->rq.ticket, &err);
	}
	super_changed(s);
	promoting_free(pr);
	p->promoting = done;
	const struct action *a = done ? NULL : gate_action(s->gate, p->action);
	if (!done && (!a || action_state(a) != ACTION_HELD))
		dry_run_drop(p, "the action is decided");
}

int dry_run_apply(const struct tree_request *rq, uint64_t id, const char *message,
		  const struct hash *intent, struct err *err)
{
	struct super *s = rq->s;
	const struct action *a = gate_action(s->gate, id);
	struct dry_run *p = dry_run_of_action(s, id);
	if (!a || action_state(a) != ACTION_HELD)
		return err_set(err, ERR_NOENT, "action #%" PRIu64 " is not a pending approval", id);
	if (!p)
		return err_set(err, ERR_NOENT,
			       "no dry run of #%" PRIu64 " to apply; run 'dry-run %" PRIu64
			       "' first",
			       id, id);
	if (p->stage != DRY_RUN_OVER || p->promoting)
		return err_set(err, ERR_BUSY, "the dry run of #%" PRIu64 " is still running", id);
	if (!hash_eq(action_intent(a), &p->intent))
		return err_set(err, ERR_INVALID,
			       "action %" PRIu64
			       " changed since the dry run (another intent); repeat the dry run",
			       id);
	struct trees *t = super_box_trees(s, p->box);
	if (!t)
		return err_set(err, ERR_CLOSED, "its sandbox has ended");
	p->promoting = true;
	struct promoting *pr = NEW(struct promoting);
	*pr = (struct promoting){ .p = p,
				  .rq = *rq,
				  .who = json_incref(rq->who),
				  .message = message ? mem_strdup(message) : NULL,
				  .intent = *intent,
				  .taken = { .why = "background", .cause = p->seq } };
	struct tree_job *j = NEW(struct tree_job);
	*j = (struct tree_job){ .work = dry_run_apply_work,
				.done = dry_run_apply_checked,
				.freeze = true,
				.always = true,
				.data = pr };
	tree_job_add(t, j);
	return 0;
}
