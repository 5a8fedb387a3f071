#include "supervisor/trial/repeat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/box/file_mtimes.h"
#include "supervisor/core/parts.h"
#include "supervisor/trial/repeat_priv.h"
#include "supervisor/box/super_box.h"
#include "base/fd.h"

struct repeats {
	struct repeat *first;
};

static struct repeats *repeats_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct repeats), NULL };
	return super_part(s, &part);
}

const struct repeat *repeat_of_action(const struct super *s, uint64_t action)
{
	for (const struct repeat *r = repeats_of(s)->first; r; r = r->next)
		if (r->action == action)
			return r;
	return NULL;
}

static void repeat_free(struct repeat *r)
{
	for (struct repeat **at = &repeats_of(r->s)->first; *at; at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			break;
		}
	origin_release(&r->o);
	json_decref(r->who);
	json_decref(r->body);
	json_decref(r->result);
	free(r);
}

void repeats_free(struct super *s)
{
	struct repeats *all = repeats_of(s);
	while (all->first) {
		record_barrier_forget(s->record, all->first);
		repeat_free(all->first);
	}
}

static json_t *origin_json(const struct repeat *r)
{
	json_t *o = json_object();
	json_put_str(o, "session", session_id(r->o.read));
	json_put_bytes(o, "path", r->o.path, strlen(r->o.path));
	json_put_int(o, "action", (int64_t)r->o.action);
	json_put_int(o, "box", (int64_t)r->o.box);
	json_put_int(o, "tree_at", (int64_t)r->o.tree_at);
	return o;
}

/* --- the end --- */

/* redo.ended is committed: the caller gets its answer. */
static void repeat_ended(void *self)
{
	struct repeat *r = self;
	struct super *s = r->s;
	bool same = json_flag(r->result, "same", false), end = r->end_session;
	if (s->server && r->err.code != ERR_NONE)
		control_refuse(s->server, r->ticket, &r->err);
	else if (s->server)
		control_answer(s->server, r->ticket, json_incref(r->result));
	if (r->box && !r->keep)
		super_box_close(s, r->box);
	repeat_free(r);
	if (end)
		super_end(s, same ? 0 : 1, same ? "the same as it was" : "not the same as it was");
}

static void repeat_finish(struct repeat *r)
{
	if (!r->result)
		r->result = json_object();
	json_put_int(r->result, "started", (int64_t)r->seq);
	json_put_int(r->result, "action", (int64_t)r->action);
	json_put(r->result, "origin", origin_json(r));
	json_put_str(r->result, "end", action_end_name(r->end));
	json_put_flag(r->result, "kept", r->keep);
	if (r->now)
		json_put_flag(r->result, "now", true);
	if (r->missing)
		json_put_flag(r->result, "files_missing", true);
	if (r->err.code != ERR_NONE) {
		json_put_flag(r->result, "same", false);
		json_put_str(r->result, "why", r->err.text);
	}
	uint64_t seq = record_append_json(r->s->record, EV_REDO_ENDED, r->seq, 0, r->box, r->action,
					  json_incref(r->result));
	record_barrier(r->s->record, seq, repeat_ended, r);
}

static void repeat_fail(struct repeat *r, const struct err *err)
{
	r->err = *err;
	repeat_finish(r);
}

/* --- the comparison --- */

static struct repeat *of_box(struct super *s, uint64_t box)
{
	for (struct repeat *r = repeats_of(s)->first; r; r = r->next)
		if (r->box == box)
			return r;
	return NULL;
}

static void compare_work(struct tree_op *o)
{
	struct repeat *r = of_box(o->t->s, o->t->id);
	if (r)
		repeat_compare(r, o->t, &o->err);
}

static void compare_done(struct tree_op *o)
{
	struct repeat *r = of_box(o->t->s, o->t->id);
	tree_record(o->t, &o->taken);
	if (!r)
		return;
	r->err = o->err;
	repeat_finish(r);
}

static void repeat_ran(void *self, const struct action_result *res)
{
	struct repeat *r = self;
	struct trees *t = super_box_trees(r->s, r->box);
	struct err err = ERR_INIT;
	r->end = res->end;
	r->body = json_deep_copy(res->body);
	if (res->end == END_DENIED)
		action_denied_err(res, &err);
	else if (res->end == END_FAILED || res->end == END_INTERRUPTED || !t)
		err_set(&err, ERR_CLOSED, "the repetition didn't end: %s",
			res->why ? res->why : action_end_name(res->end));
	if (err.code != ERR_NONE) {
		repeat_fail(r, &err);
		return;
	}
	struct tree_op *o = NEW(struct tree_op);
	*o = (struct tree_op){ .t = t,
			       .work = compare_work,
			       .done = compare_done,
			       .why = "background",
			       .cause = r->seq };
	tree_op_start(o);
}

/* --- the run --- */

/* The arguments of the recorded run, as edited by a reviewer. */
static json_t *as_it_ran(const struct repeat *r)
{
	static const char *const edited[] = { "argv", "cmd", "cwd" }, *const gone[] = { "env",
											"said" };
	json_t *o = json_copy(r->o.requested);
	if (json_flag(r->o.started, "edited", false) && json_object_get(r->o.started, "argv")) {
		json_object_del(o, "cmd");
		for (size_t i = 0; i < ARRAY_LEN(edited); i++)
			json_put(o, edited[i],
				 json_incref(json_object_get(r->o.started, edited[i])));
	}
	for (size_t i = 0; i < ARRAY_LEN(gone); i++)
		json_object_del(o, gone[i]);
	return o;
}

static void repeat_submit(struct repeat *r)
{
	struct super *s = r->s;
	struct action_spec spec = { 0 };
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *body = as_it_ran(r);
	if (action_spec_from_json(&spec, body, &err) < 0) {
		repeat_fail(r, &err);
		return;
	}
	const json_t *had = json_object_get(body, "args");
	json_t *args = json_is_object(had) ? json_copy((json_t *)(uintptr_t)had) : json_object();
	json_put(args, "who", json_incref(r->who));
	json_object_del(args, "spawn"); /* it is waited for */
	json_object_del(args, "stdin"); /* nobody would close it */
	json_decref(spec.args);
	spec.args = args;
	spec.cause = r->seq;
	spec.agent = 0;
	spec.box = r->box;
	spec.stdin_bytes = NULL;
	spec.stdin_len = 0;
	spec.may_write = true;
	spec.person = true;
	const struct action_client client = { .done = repeat_ran, .self = r };
	r->before = record_head(s->record);
	r->action = gate_submit(s->gate, &spec, boxes_effector(s->boxes, r->box), &client);
	action_spec_release(&spec);
}

/* --- the files as they were just before it --- */

static int repeat_bring(struct repeat *r, struct trees *t, size_t i, struct err *err)
{
	struct ws_view now = WS_VIEW_INIT, wanted = WS_VIEW_INIT;
	struct ws_diff d = WS_DIFF_INIT;
	struct ws_plan p = WS_PLAN_INIT;
	struct ws_store st;
	struct err none = ERR_INIT;
	struct changed changed = CHANGED_INIT;
	uint64_t seq = 0;
	for (size_t k = 0; k < r->o.nr_layers; k++)
		if (!strcmp(r->o.layer[k].repo, t->layer[i].name))
			seq = r->o.layer[k].before;
	CLEANUP(fd_close) int lower = t->box->driver->tree->root(t->box, i, "lower", &none);
	origin_store(&r->o, &st);
	int rc = tree_view(t, i, UINT64_MAX, &now, err);
	if (rc == 0)
		rc = origin_view(&r->o, seq, &wanted, err);
	if (rc == 0)
		rc = ws_diff_views(&d, &now, &wanted, false, NULL, err);
	if (rc == 0)
		rc = ws_plan_make(&p, &d, &st, lower, false, err);
	if (rc == 0 && (rc = file_mtimes_read(&changed, r->o.read, seq, err)) == 0)
		ws_plan_times(&p, &d, file_mtimes_when, &changed);
	if (rc == 0 && p.nr_ops)
		rc = t->box->driver->tree->apply(t->box, i, p.plan.data, p.plan.len, p.fd, p.nr_fds,
						 err);
	r->missing |= p.missing.nr > 0;
	file_mtimes_release(&changed);
	ws_plan_release(&p);
	ws_diff_release(&d);
	ws_view_release(&now);
	ws_view_release(&wanted);
	return rc;
}

static void files_work(struct tree_op *o)
{
	struct repeat *r = of_box(o->t->s, o->t->id);
	for (size_t i = 0; r && i < o->t->nr_layers; i++)
		if (repeat_bring(r, o->t, i, &o->err) < 0)
			return;
	o->taken = (struct taken){ .why = "fork", .cause = o->cause };
	tree_take(o->t, &o->taken, &o->err);
}

static void files_done(struct tree_op *o)
{
	struct repeat *r = of_box(o->t->s, o->t->id);
	tree_record(o->t, &o->taken);
	if (!r)
		return;
	if (o->err.code != ERR_NONE)
		repeat_fail(r, &o->err);
	else
		repeat_submit(r);
}

static void box_ready(void *self, uint64_t box, const struct err *err)
{
	struct repeat *r = self;
	struct trees *t = super_box_trees(r->s, box);
	struct err none = ERR_INIT;
	if (!err && !t)
		err_set(&none, ERR_UNSUPPORTED, "this sandbox's backend gives no access to files");
	if (err || !t) {
		if (err)
			r->box = 0;
		repeat_fail(r, err ? err : &none);
		return;
	}
	struct tree_op *o = NEW(struct tree_op);
	*o = (struct tree_op){
		.t = t, .work = files_work, .done = files_done, .why = "open", .cause = r->seq
	};
	tree_op_start(o);
}

/* redo.started is on the disk. */
static void repeat_begin_run(void *self)
{
	struct repeat *r = self;
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *name = mem_printf("redo-%" PRIu64, r->seq);
	r->box = super_box_open_as(r->s, r->o.open, name, r->seq, box_ready, r, &err);
	if (!r->box)
		repeat_fail(r, &err);
}

static json_t *repeat_lacks(const struct repeat *r)
{
	json_t *list = json_array();
	if (json_array_size(json_object_get(r->o.requested, "env")))
		json_array_append_new(list, json_string("env"));
	const json_t *args = json_object_get(r->o.requested, "args");
	if (json_int(r->o.requested, "stdin_bytes", 0) ||
	    (json_flag(args, "stdin", false) && !json_flag(args, "spawn", false)))
		json_array_append_new(list, json_string("stdin"));
	if (!r->o.ended)
		json_array_append_new(list, json_string("end"));
	return list;
}

int repeat_begin(const struct tree_request *rq, const struct repeat_want *w, struct err *err)
{
	struct super *s = rq->s;
	struct repeat *r = NEW(struct repeat);
	*r = (struct repeat){ .s = s,
			      .ticket = rq->ticket,
			      .cause = rq->cause,
			      .who = json_incref(rq->who),
			      .keep = w->keep,
			      .now = w->now,
			      .end_session = w->end };
	r->next = repeats_of(s)->first;
	repeats_of(s)->first = r;
	if (origin_read(&r->o, w->from ? w->from : record_path(s->record), w->action, w->now, err) <
	    0) {
		repeat_free(r);
		return -1;
	}
	if (w->backend) {
		json_put_str(r->o.open, "driver", w->backend);
		json_object_del(r->o.open, "file");
	}
	json_t *body = json_object();
	json_put(body, "origin", origin_json(r));
	json_put_str(body, "backend", w->backend);
	json_put(body, "cmd", json_incref(json_object_get(r->o.requested, "cmd")));
	json_put(body, "argv", json_incref(json_object_get(r->o.requested, "argv")));
	json_put(body, "lacks", repeat_lacks(r));
	if (r->now)
		json_put_flag(body, "now", true);
	json_put(body, "who", json_incref(rq->who));
	r->seq = record_append_json(s->record, EV_REDO_STARTED, rq->cause, 0, 0, 0, body);
	record_barrier(s->record, r->seq, repeat_begin_run, r);
	return 0;
}
