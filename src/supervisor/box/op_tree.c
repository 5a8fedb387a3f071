/* Snapshots, differences, going back, copies and merging back, as scripts ask for them. */
#include <stdlib.h>
#include <string.h>

#include "supervisor/box/box_ops.h"
#include "supervisor/box/tree_priv.h"

struct trees *op_trees(struct call *c, uint64_t *box_out)
{
	if (!call_box(c, box_out))
		return NULL;
	struct trees *t = super_box_trees(c->super, *box_out);
	if (!t)
		call_fail(c, "backend", NULL, NULL, *box_out,
			  "this sandbox's backend gives no access to files");
	return t;
}

/* --- snapshot --- */

struct shot {
	struct taken taken;
	struct action *action;
};

static void shot_work(struct tree_job *j)
{
	struct shot *s = j->data;
	tree_take(j->t, &s->taken, &j->err);
}

static void shot_done(struct tree_job *j)
{
	struct shot *s = j->data;
	struct action *a = s->action;
	if (j->err.code != ERR_NONE) {
		tree_record(j->t, &s->taken);
		action_fail(a, &j->err);
	} else {
		char *label = s->taken.label ? mem_strdup(s->taken.label) : NULL;
		uint64_t seq = tree_record(j->t, &s->taken);
		if (!seq) { /* nothing has changed: the newest one is it */
			for (size_t i = 0; i < j->t->nr_layers; i++)
				seq = j->t->layer[i].prev > seq ? j->t->layer[i].prev : seq;
			if (label)
				tree_label(j->t, seq, label, action_id(a));
		}
		free(label);
		json_t *body = json_object();
		json_put_int(body, "snapshot", (int64_t)seq);
		action_ended(a, END_OK, body);
	}
	free(s);
}

static void shot_start(void *self, struct action *a)
{
	struct trees *t = self;
	const struct action_spec *spec = action_spec(a);
	const char *label = json_str(spec->args, "label", NULL);
	struct shot *s = NEW(struct shot);
	s->action = a;
	s->taken = (struct taken){ .why = "person",
				   .label = label ? mem_strdup(label) : NULL,
				   .cause = action_id(a) };
	struct tree_job *j = NEW(struct tree_job);
	*j = (struct tree_job){ .work = shot_work, .done = shot_done, .freeze = true, .data = s };
	tree_job_add(t, j);
}

static void shot_cancel(void *self, struct action *a, const char *how)
{
	(void)self; /* it is a matter of milliseconds */
	(void)a;
	(void)how;
}

void op_snapshot_effector(struct trees *t, struct effector *out)
{
	*out = (struct effector){
		.name = "files", .start = shot_start, .cancel = shot_cancel, .self = t
	};
}

static void shot_answer(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_object();
	json_put_int(v, "event", json_int(res->body, "snapshot", 0));
	json_put_str(v, "label", json_str(c->args, "label", NULL));
	call_answer(c, v);
}

void op_box_snapshot(struct call *c)
{
	uint64_t box;
	struct trees *t = op_trees(c, &box);
	if (!t)
		return;
	struct effector *eff = NEW(struct effector);
	op_snapshot_effector(t, eff);
	c->data = eff;
	c->free_data = free;
	struct action_spec spec = {
		.kind = ACT_SNAPSHOT, .tool = "snapshot", .box = box, .args = c->args
	};
	call_action(c, &spec, eff, shot_answer);
}
