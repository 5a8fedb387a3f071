/* A script's merge of several sandboxes in one step. It is planned first: a conflict between the
 * sandboxes fails at once, and a reviewer sees what the plan found. Then it is one action. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "luahost/answer_cache.h"
#include "sandbox/workspace/merge.h"
#include "sessions/merge_between.h"
#include "supervisor/box/box_ops.h"
#include "supervisor/box/super_box.h"
#include "supervisor/box/tree_priv.h"
#include "supervisor/box/tree_several.h"
#include "supervisor/core/resumed.h"

/* The request; lives as long as its call, or until its worker is done. */
struct boxes_merge {
	struct effector eff;
	struct super *s;
	struct call *call; /* NULL: dropped while the worker ran */
	struct action *action;
	bool working;	   /* it is planned or merged */
	struct strv names; /* ids */
	json_t *opts, *boxes;
	char *host_path; /* NULL: the sandboxes have several */
};

static void boxes_merge_free(struct boxes_merge *b)
{
	strv_release(&b->names);
	json_decref(b->opts);
	json_decref(b->boxes);
	free(b->host_path);
	free(b);
}

static void boxes_merge_drop(void *data)
{
	struct boxes_merge *b = data;
	b->call = NULL;
	if (!b->working)
		boxes_merge_free(b);
}

/* --- the result --- */

static json_t *boxes_paths_of(json_t *list)
{
	return list ? json_incref(list) : json_array();
}

static json_t *boxes_one_result(const struct box_merge *b, uint64_t event)
{
	json_t *o = json_copy(b->body), *taken = json_object_get(b->body, "taken");
	const json_t *first = json_array_get(json_object_get(b->body, "targets"), 0);
	json_put(o, "partly", boxes_paths_of(taken));
	json_put_int(o, "box", (int64_t)b->box->id);
	json_put_str(o, "name", b->box->name);
	json_put_int(o, "event", (int64_t)event);
	json_put_str(o, "ref", json_str(first, "ref", NULL));
	json_put(o, "taken", boxes_paths_of(b->result.taken));
	json_put(o, "left", boxes_paths_of(b->result.not_taken));
	return o;
}

/* A branch that all of them were merged to; NULL: there is none. */
static const char *common_ref(const json_t *boxes)
{
	const char *ref = json_str(json_array_get(boxes, 0), "ref", NULL);
	for (size_t i = 1; ref && i < json_array_size(boxes); i++)
		if (strcmp(json_str(json_array_get(boxes, i), "ref", ""), ref) != 0)
			return NULL;
	return ref;
}

/* The reviewer, and the comments on all sandboxes. */
static void put_reviewed(struct boxes_merge *b, json_t *o)
{
	json_t *comments = json_array();
	struct review_pick got;
	for (size_t i = 0; i < json_array_size(b->boxes); i++) {
		uint64_t id = (uint64_t)json_int(json_array_get(b->boxes, i), "box", 0);
		struct trees *t = super_box_trees(b->s, id);
		if (!t)
			continue;
		if (trees_review_take(t, action_id(b->action), &got)) {
			json_put_str(o, "by", json_str(got.who, "name", "somebody"));
			pick_release(&got.pick);
			json_decref(got.who);
		}
		json_t *of = trees_review_comments(t);
		json_array_extend(comments, of);
		json_decref(of);
	}
	json_put(o, "comments", comments);
}

static json_t *boxes_result(struct boxes_merge *b, const struct merge_several *m,
			    const uint64_t *event)
{
	json_t *o = json_object(), *boxes = json_array();
	for (size_t i = 0; i < m->nr; i++)
		json_array_append_new(boxes, boxes_one_result(&m->merge[i], event[i]));
	json_put_str(o, "group", m->group);
	json_put_str(o, "ref", common_ref(boxes));
	json_put(o, "between", m->between ? json_incref(m->between) : json_array());
	json_put(o, "both", m->both ? json_incref(m->both) : json_array());
	json_put(o, "boxes", boxes);
	put_reviewed(b, o);
	return o;
}

/* Names the files, and how a script decides about them. */
static void between_error(const struct merge_several *m, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	between_text(m->between, &text);
	err_set(err, ERR_INVALID,
		"nothing was merged, the sandboxes conflict:%s; decide with take = { \"SANDBOX:FILE\" } "
		"or leave = { \"FILE\" }",
		buf_cstr(&text));
}

/* --- as an action --- */

static void boxes_merged(void *self, const struct merge_several *m, const uint64_t *event,
			 const struct err *err)
{
	struct boxes_merge *b = self;
	struct err why = *err;
	b->working = false;
	if (!b->call) { /* the session has ended, and the action with it */
		boxes_merge_free(b);
		return;
	}
	if (err->code == ERR_NONE) {
		for (size_t i = 0; i < m->nr; i++) {
			struct trees *t = super_box_trees(b->s, m->merge[i].box->id);
			if (t)
				tree_merge_keep_ref(t, m->merge[i].body);
		}
		action_ended(b->action, END_OK, boxes_result(b, m, event));
		return;
	}
	if (json_array_size(m->between))
		between_error(m, &why);
	action_fail(b->action, &why);
}

static void boxes_merge_start(void *self, struct action *a)
{
	struct boxes_merge *b = self;
	b->action = a;
	json_object_del(b->opts, "dry-run");
	b->working = true;
	const struct several_request rq = { .s = b->s,
					    .cause = action_id(a),
					    .action = action_id(a),
					    .names = &b->names,
					    .opts = b->opts,
					    .done = boxes_merged,
					    .self = b };
	trees_merge_recorded(&rq);
}

static void boxes_answer(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	static const char *const said[] = { "group", "ref", "between", "both",
					    "boxes", "by",  "comments" };
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)res->id);
	for (size_t i = 0; i < ARRAY_LEN(said); i++)
		if (json_object_get(res->body, said[i]))
			json_put(v, said[i], json_incref(json_object_get(res->body, said[i])));
	call_answer(c, v);
}

/* The first that is open: its policy facts are those of the action. */
static uint64_t first_open(struct super *s, const json_t *boxes)
{
	for (size_t i = 0; i < json_array_size(boxes); i++) {
		uint64_t id = (uint64_t)json_int(json_array_get(boxes, i), "box", 0);
		if (boxes_get(s->boxes, id))
			return id;
	}
	return 0;
}

static void boxes_submit(struct boxes_merge *b)
{
	struct call *c = b->call;
	struct action_spec spec = { .kind = ACT_MERGE,
				    .tool = "merge",
				    .box = first_open(b->s, b->boxes),
				    .boxes = b->boxes,
				    .args = c->args,
				    .host_path = b->host_path,
				    .leaves_box = true };
	b->eff = (struct effector){
		.name = "merge", .start = boxes_merge_start, .cancel = tree_merge_cancel, .self = b
	};
	call_action(c, &spec, &b->eff, boxes_answer);
}

/* --- the plan --- */

static void keep_sandboxes(struct boxes_merge *b, const struct merge_several *m)
{
	const char *dir = NULL;
	bool same = true;
	b->boxes = json_array();
	for (size_t i = 0; i < m->nr; i++) {
		const struct box_merge *of = &m->merge[i];
		json_t *one = json_object();
		json_put_int(one, "box", (int64_t)of->box->id);
		json_put_str(one, "name", of->box->name);
		json_put(one, "dirs", json_array());
		json_array_append_new(b->boxes, one);
		for (size_t k = 0; k < of->nr; k++) {
			json_array_append_new(json_object_get(one, "dirs"),
					      json_bytes_z(of->target[k].dir));
			same &= !dir || !strcmp(dir, of->target[k].dir);
			dir = of->target[k].dir;
		}
	}
	b->host_path = dir && same ? mem_strdup(dir) : NULL;
}

static void boxes_planned(void *self, const struct merge_several *m, const uint64_t *event,
			  const struct err *err)
{
	struct boxes_merge *b = self;
	struct err why = *err;
	(void)event;
	b->working = false;
	if (!b->call) {
		boxes_merge_free(b);
		return;
	}
	if (err->code == ERR_NONE && json_array_size(m->between))
		between_error(m, &why);
	if (b->call->cancelled) {
		call_fail(b->call, "cancelled", NULL, NULL, 0, "cancelled by the script");
	} else if (why.code != ERR_NONE) {
		call_fail_as(b->call, why.code == ERR_USAGE ? "script" : "io", &why);
	} else {
		keep_sandboxes(b, m);
		boxes_submit(b);
	}
}

static bool boxes_named(struct call *c, struct boxes_merge *b)
{
	const json_t *list = json_object_get(c->args, "boxes");
	for (size_t i = 0; i < json_array_size(list); i++) {
		int64_t old = json_integer_value(json_array_get(list, i));
		uint64_t id = resume_box(c->super->resume, (uint64_t)old);
		CLEANUP(free_ptr) char *word = mem_printf("#%" PRIu64, id);
		for (size_t k = 0; k < b->names.nr; k++)
			if (!strcmp(b->names.item[k], word)) {
				call_fail(c, "script", NULL, NULL, 0,
					  "merge: a sandbox is named twice");
				return false;
			}
		strv_push(&b->names, word);
	}
	if (b->names.nr >= 2)
		return true;
	call_fail(c, "script", NULL, NULL, 0, "merge: expected two sandboxes or more, got %zu",
		  b->names.nr);
	return false;
}

/* The options as the command has them. */
static bool boxes_merge_opts(struct call *c, struct boxes_merge *b)
{
	static const char *const same[] = { "leave", "take", "message" };
	const char *into = json_str(c->args, "into", NULL);
	const char *mode = json_str(c->args, "mode", "branch");
	enum merge_mode known;
	struct err err = ERR_INIT;
	char full[PATH_MAX];
	b->opts = json_object();
	json_put_flag(b->opts, "dry-run", true);
	if (!merge_mode_find(mode, &known) || known == MERGE_PATCH) {
		call_fail(c, "script", NULL, NULL, 0,
			  "merge: no mode '%s' (known: apply, branch, commits)", mode);
		return false;
	}
	if (into && !realpath(into, full)) {
		err_sys(&err, "merge: can't use '%s'", into);
		call_fail_err(c, &err);
		return false;
	}
	if (known != MERGE_BRANCH)
		json_put_flag(b->opts, mode, true);
	json_put_str(b->opts, "to", json_str(c->args, "branch", NULL));
	if (into)
		json_put(b->opts, "into", json_bytes_z(full));
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		if (json_object_get(c->args, same[i]))
			json_put(b->opts, same[i], json_incref(json_object_get(c->args, same[i])));
	return true;
}

void op_boxes_merge(struct call *c)
{
	struct boxes_merge *b = NEW(struct boxes_merge);
	*b = (struct boxes_merge){ .s = c->super, .call = c, .names = STRV_INIT };
	c->data = b;
	c->free_data = boxes_merge_drop;
	c->done = boxes_answer;
	/* its answer may be in the recording of the script that is resumed */
	if (c->host == c->super->host && answer_cache_answer(resume_recorded(c->super->resume), c))
		return;
	if (!boxes_named(c, b) || !boxes_merge_opts(c, b))
		return;
	b->working = true;
	const struct several_request rq = { .s = c->super,
					    .cause = c->agent ? c->agent : c->super->start_seq,
					    .names = &b->names,
					    .opts = b->opts,
					    .done = boxes_planned,
					    .self = b };
	trees_merge_recorded(&rq);
}
