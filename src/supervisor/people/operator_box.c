#include "supervisor/people/operator_box.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/box/box_ops.h"
#include "supervisor/box/super_tree.h"

struct deed {
	struct super *s;
	uint64_t ticket;
	struct effector eff;
	bool told; /* that it waits */
};

static struct deed *deed_new(const struct ask_for *a)
{
	struct deed *d = NEW(struct deed);
	d->s = a->s;
	d->ticket = a->rq->ticket;
	return d;
}

static void operator_box_answer(struct deed *d, uint64_t id, json_t *out)
{
	json_put_int(out, "action", (int64_t)id);
	control_answer(d->s->server, d->ticket, out);
}

static void operator_box_over(void *self, const struct action_result *res)
{
	struct deed *d = self;
	struct err err = ERR_INIT;
	if (res->end == END_DENIED)
		action_denied_err(res, &err);
	else if (res->end != END_OK)
		err_set(&err, ERR_IO, "%s", res->why ? res->why : action_end_name(res->end));
	if (d->s->server && !d->told && err.code != ERR_NONE)
		control_refuse(d->s->server, d->ticket, &err);
	else if (d->s->server && !d->told)
		operator_box_answer(d, res->id, res->body ? json_copy(res->body) : json_object());
	free(d);
}

/* An approval that a rule requires is given by the user's own command. */
static void operator_box_submit(struct deed *d, const struct ask_for *a, struct action_spec *spec)
{
	struct gate *g = a->s->gate;
	CLEANUP(json_release) json_t *args = spec->args ? json_incref(spec->args) : json_object();
	const struct action_client client = { .done = operator_box_over, .self = d };
	struct err err = ERR_INIT;
	json_put(args, "who", json_incref(a->rq->who));
	spec->args = args;
	spec->cause = a->rq->cause;
	spec->person = true;
	uint64_t id = gate_submit(g, spec, &d->eff, &client);
	const struct decide yes = { .action = id,
				    .decision = DECIDE_APPROVE,
				    .note = "by the command itself",
				    .who = a->rq->who };
	const struct action *now = gate_action(g, id);
	if (now && action_state(now) == ACTION_HELD && gate_decide(g, &yes, &err) < 0) {
		json_t *out = json_object();
		json_put_str(out, "held", err.text);
		d->told = true;
		operator_box_answer(d, id, out);
	}
}

void operator_box_copy(const struct ask_for *a, uint64_t box, bool put, const char *path,
		       const char *host)
{
	struct deed *d = deed_new(a);
	struct action_spec spec = { .kind = put ? ACT_PUT : ACT_GET,
				    .tool = put ? "put" : "get",
				    .box = box,
				    .path = path,
				    .host_path = host,
				    .leaves_box = true,
				    .may_write = put,
				    .parallel = true };
	op_copy_effector(a->s, &d->eff);
	operator_box_submit(d, a, &spec);
}

int operator_box_snapshot(const struct ask_for *a, uint64_t box, const char *label, struct err *err)
{
	struct trees *t = super_box_trees(a->s, box);
	if (!t)
		return err_set(err, ERR_UNSUPPORTED,
			       "this sandbox's backend gives no access to files");
	CLEANUP(json_release) json_t *args = json_object();
	struct deed *d = deed_new(a);
	struct action_spec spec = {
		.kind = ACT_SNAPSHOT, .tool = "snapshot", .box = box, .args = args
	};
	json_put_str(args, "label", label);
	op_snapshot_effector(t, &d->eff);
	operator_box_submit(d, a, &spec);
	return 0;
}

/* --- the file at a path, for copies of directories --- */

struct look {
	struct super *s;
	uint64_t ticket, box;
	char *path, *kind;
};

static void operator_box_look_end(struct look *l, json_t *out, const struct err *err)
{
	if (l->s->server && out)
		control_answer(l->s->server, l->ticket, out);
	else if (l->s->server)
		control_refuse(l->s->server, l->ticket, err);
	free(l->path);
	free(l->kind);
	free(l);
}

static json_t *names_and_kinds(const json_t *entries)
{
	json_t *rows = json_array(), *e;
	size_t i;
	json_array_foreach(entries, i, e)
	{
		json_t *row = json_object();
		json_put(row, "name", json_incref(json_object_get(e, "name")));
		json_put_str(row, "kind", json_str(e, "kind", ""));
		json_put_int(row, "mode", json_int(e, "mode", 0755));
		json_array_append_new(rows, row);
	}
	return rows;
}

static void operator_box_on_listed(void *self, json_t *result, const struct err *err)
{
	struct look *l = self;
	bool dir = !strcmp(l->kind, "dir");
	json_t *out = json_object();
	if (err && dir) {
		json_decref(out);
		operator_box_look_end(l, NULL, err);
		return;
	}
	json_put_str(out, "kind", err ? l->kind : "dir"); /* a link to a directory counts as one */
	if (!err)
		json_put(out, "entries", names_and_kinds(json_object_get(result, "entries")));
	operator_box_look_end(l, out, NULL);
}

static void on_looked(void *self, json_t *result, const struct err *err)
{
	struct look *l = self;
	struct box *b = boxes_get(l->s->boxes, l->box);
	struct err gone = ERR_INIT;
	if (!err && !b)
		err_set(&gone, ERR_CLOSED, "the sandbox has ended");
	if (err || !b) {
		operator_box_look_end(l, NULL, err ? err : &gone);
		return;
	}
	l->kind = mem_strdup(json_str(result, "kind", ""));
	if (!strcmp(l->kind, "dir") || !strcmp(l->kind, "symlink")) {
		b->driver->list(b, l->path, operator_box_on_listed, l);
		return;
	}
	json_t *out = json_object();
	json_put_str(out, "kind", l->kind);
	operator_box_look_end(l, out, NULL);
}

static void look_now(void *self)
{
	struct look *l = self;
	struct box *b = boxes_get(l->s->boxes, l->box);
	struct err err = ERR_INIT;
	if (b) {
		b->driver->stat(b, l->path, on_looked, l);
		return;
	}
	err_set(&err, ERR_CLOSED, "the sandbox has ended");
	operator_box_look_end(l, NULL, &err);
}

/* Where a box is far away, to look is to run something in it: not before the command that asks is
 * on record. */
void operator_box_look(const struct ask_for *a, uint64_t box, const char *path)
{
	struct look *l = NEW(struct look);
	*l = (struct look){
		.s = a->s, .ticket = a->rq->ticket, .box = box, .path = mem_strdup(path)
	};
	record_barrier(a->s->record, a->rq->cause, look_now, l);
}
