/* Applies a repeat's changes to the sandbox of the first run: as a user's action with a policy
 * check, three-way if that sandbox has changed since. If both changed the same lines, nothing is
 * changed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/trial/repeat_priv.h"
#include "supervisor/core/resumed.h"
#include "supervisor/box/super_box.h"
#include "sandbox/workspace/memstore.h"
#include "record/record_event.h"

struct repeat_apply {
	struct super *s;
	uint64_t ticket, again, of, box; /* the second run, the first, the box of the first */
	struct origin o;		 /* of the second run */
	struct effector eff;
};

struct promote_op {
	struct tree_op op; /* first: freed with it */
	const struct repeat_apply *p;
	struct strv conflicts;
	json_t *paths;
};

static void promote_free(struct repeat_apply *p)
{
	origin_release(&p->o);
	free(p);
}

/* --- worker --- */

static const struct repeat_layer *layer_named(const struct origin *o, const char *repo)
{
	for (size_t i = 0; i < o->nr_layers; i++)
		if (!strcmp(o->layer[i].repo, repo))
			return &o->layer[i];
	return NULL;
}

/* One round over all layers: 0 only looks whether it goes. */
static int round_of(struct promote_op *po, const struct ws_store *st, int apply)
{
	struct trees *t = po->op.t;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < t->nr_layers; i++) {
		const struct repeat_layer *l = layer_named(&po->p->o, t->layer[i].name);
		struct ws_diff d = WS_DIFF_INIT;
		if (!l || !l->after)
			continue;
		rc = tree_change(&po->op, i, l->before, l->after, st, &d, &po->conflicts);
		if (rc == 0 && apply)
			rc = tree_apply(&po->op, i, &d, st, -1, 0);
		if (rc == 0 && apply)
			tree_change_paths(t, i, &d, po->paths);
		ws_diff_release(&d);
	}
	return rc;
}

static int repeat_apply_both_rounds(struct tree_op *o, const struct ws_store *st)
{
	struct promote_op *po = (struct promote_op *)o;
	CLEANUP(buf_release) struct buf names = BUF_INIT;
	if (round_of(po, st, 0) < 0)
		return -1;
	if (!po->conflicts.nr)
		return round_of(po, st, 1);
	tree_change_names(&po->conflicts, &names);
	return err_set(
		&po->op.err, ERR_BUSY,
		"#%" PRIu64
		" can't be applied: sandbox '%s' has other work in the same place of %s; nothing was "
		"changed",
		po->p->again, po->op.t->name, buf_cstr(&names));
}

static void promote_work(struct tree_op *o)
{
	tree_change_work(o, repeat_apply_both_rounds);
}

/* --- loop --- */

static uint64_t repeat_apply_record_done(const struct promote_op *po)
{
	const struct tree_op *o = &po->op;
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	return record_ev_rollback_done(
		o->t->s->record,
		&(struct event){ .cause = o->cause, .box = o->t->id, .action = o->cause },
		&(struct ev_rollback_done){
			EV_SET(to, (int64_t)o->before), .how = ev_text_of("redo"),
			EV_SET(of, (int64_t)po->p->again), EV_SET(ops, (int64_t)o->nr_ops),
			.paths = ev_json_of(&mem, po->paths),
			.missing = { o->missing.nr, ev_texts_of(&mem, &o->missing) },
			.why = ev_text_of(o->err.code != ERR_NONE ? o->err.text : NULL) });
}

static void promote_done(struct tree_op *o)
{
	struct promote_op *po = (struct promote_op *)o;
	uint64_t seq = tree_record(o->t, &o->taken);
	uint64_t done = repeat_apply_record_done(po);
	if (o->err.code == ERR_NONE && o->nr_ops) { /* an undo takes this back */
		o->t->undo = o->before;
		o->t->undo_done = done;
	}
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)seq);
	json_put_int(v, "of", (int64_t)po->p->of);
	json_put_int(v, "again", (int64_t)po->p->again);
	json_put_str(v, "box", o->t->name);
	json_put_int(v, "changes", (int64_t)o->nr_ops);
	json_put(v, "paths", po->paths);
	if (o->missing.nr)
		json_put(v, "missing", json_argv(o->missing.item, o->missing.nr));
	strv_release(&po->conflicts);
	tree_op_answer(o, v);
}

static void repeat_apply_start(void *self, struct action *a)
{
	struct repeat_apply *p = self;
	struct trees *t = super_box_trees(p->s, p->box);
	struct err err = ERR_INIT;
	if (!t) {
		err_set(&err, ERR_CLOSED, "the sandbox of #%" PRIu64 " has ended", p->of);
		action_fail(a, &err);
		return;
	}
	struct promote_op *po = NEW(struct promote_op);
	po->p = p;
	po->paths = json_array();
	po->op = (struct tree_op){ .t = t,
				   .action = a,
				   .work = promote_work,
				   .done = promote_done,
				   .why = "background",
				   .freeze = true,
				   .cause = action_id(a) };
	tree_op_start(&po->op);
}

static void repeat_apply_cancel(void *self, struct action *a, const char *how)
{
	(void)self; /* half of a difference helps no user: it runs to its end */
	(void)a;
	(void)how;
}

static void repeat_apply_over(void *self, const struct action_result *res)
{
	struct repeat_apply *p = self;
	struct err err = ERR_INIT;
	if (res->end == END_DENIED)
		action_denied_err(res, &err);
	else if (res->end != END_OK)
		err_set(&err, ERR_BUSY, "%s", res->why ? res->why : action_end_name(res->end));
	if (p->s->server && err.code != ERR_NONE)
		control_refuse(p->s->server, p->ticket, &err);
	else if (p->s->server)
		control_answer(p->s->server, p->ticket, json_incref(res->body));
	promote_free(p);
}

static void repeat_apply_submit(struct repeat_apply *p, const struct tree_request *rq)
{
	CLEANUP(json_release) json_t *args = json_object();
	json_put_int(args, "redo", (int64_t)p->again);
	json_put_int(args, "of", (int64_t)p->of);
	json_put(args, "who", json_incref(rq->who));
	struct action_spec spec = { .kind = ACT_ROLLBACK,
				    .tool = "redo",
				    .cause = rq->cause,
				    .box = p->box,
				    .args = args,
				    .may_write = true,
				    .person = true };
	const struct action_client client = { .done = repeat_apply_over, .self = p };
	p->eff = (struct effector){ .name = "redo",
				    .start = repeat_apply_start,
				    .cancel = repeat_apply_cancel,
				    .self = p };
	gate_submit(p->s->gate, &spec, &p->eff, &client);
}

/* --- may it be? --- */

static json_t *repeat_apply_body_of(struct session *s, uint64_t seq, enum event_kind kind,
				    uint64_t *cause_out)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	if (session_event(s, seq, &ev, &a, &none) < 0 || ev.kind != kind || !ev.body)
		return NULL;
	*cause_out = ev.cause;
	return json_parse(ev.body, ev.len, "event", &none);
}

bool repeat_is_second_run(struct super *s, uint64_t action)
{
	struct session *read;
	struct err none = ERR_INIT;
	uint64_t cause = 0, other;
	if (session_open(&read, record_path(s->record), &none) < 0)
		return false;
	CLEANUP(json_release)
	json_t *asked = repeat_apply_body_of(read, action, EV_ACTION_REQUESTED, &cause);
	CLEANUP(json_release)
	json_t *begun = asked ? repeat_apply_body_of(read, cause, EV_REDO_STARTED, &other) : NULL;
	session_close(&read);
	return begun != NULL;
}

static int repeat_apply_look(struct repeat_apply *p, struct err *err)
{
	struct super *s = p->s;
	uint64_t started = 0, none = 0;
	if (origin_read(&p->o, record_path(s->record), p->again, false, err) < 0)
		return -1;
	CLEANUP(json_release)
	json_t *asked = repeat_apply_body_of(p->o.read, p->again, EV_ACTION_REQUESTED, &started);
	CLEANUP(json_release)
	json_t *begun = repeat_apply_body_of(p->o.read, started, EV_REDO_STARTED, &none);
	if (!asked || !begun)
		return err_set(err, ERR_NOENT, "#%" PRIu64 " is not a repetition", p->again);
	const json_t *origin = json_object_get(begun, "origin");
	p->of = (uint64_t)json_int(origin, "action", 0);
	p->box = resume_box(s->resume, (uint64_t)json_int(origin, "box", 0));
	bool changed = false;
	for (size_t i = 0; i < p->o.nr_layers; i++)
		changed |= p->o.layer[i].after != 0;
	if (repeat_of_action(s, p->again))
		return err_set(err, ERR_BUSY, "the comparison of #%" PRIu64 " is still running",
			       p->again);
	if (strcmp(json_str(origin, "session", ""), record_id(s->record)) != 0)
		return err_set(err, ERR_UNSUPPORTED,
			       "#%" PRIu64
			       " repeats an action of session %s, whose sandbox is not here",
			       p->again, json_str(origin, "session", "?"));
	if (!super_box_trees(s, p->box))
		return err_set(err, ERR_CLOSED,
			       "the sandbox of #%" PRIu64
			       " has ended, or its backend gives no access to files",
			       p->of);
	if (!p->o.ended)
		return err_set(err, ERR_INVALID, "#%" PRIu64 " did not end: nothing to apply",
			       p->again);
	return changed ? 0
		       : err_set(err, ERR_NOENT, "#%" PRIu64 " changed no files: nothing to apply",
				 p->again);
}

int repeat_apply(const struct tree_request *rq, uint64_t again, struct err *err)
{
	struct repeat_apply *p = NEW(struct repeat_apply);
	*p = (struct repeat_apply){ .s = rq->s, .ticket = rq->ticket, .again = again };
	if (repeat_apply_look(p, err) < 0) {
		promote_free(p);
		return -1;
	}
	repeat_apply_submit(p, rq);
	return 0;
}
