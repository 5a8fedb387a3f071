/* Merging back: as an action of a script (which asks) or as a command of a user, and taking it
 * back. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/box/box_ops.h"
#include "sessions/merge_layer.h"
#include "sessions/merge_recover.h"
#include "sessions/merge_text.h"
#include "supervisor/box/super_box.h"
#include "supervisor/box/tree_base.h"
#include "supervisor/box/tree_had.h"
#include "supervisor/box/tree_intent.h"
#include "supervisor/box/tree_op.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/paths.h"
#include "sandbox/workspace/content.h"
#include "sandbox/workspace/diff.h"
#include "sandbox/workspace/merge.h"
#include "sandbox/workspace/pick.h"

enum { FETCH_MAX = 64 << 20 };

/* The request; lives as long as its op. */
struct merging {
	struct tree_op op; /* first: freed with it */
	enum merge_mode mode;
	bool dry;
	char id[33];
	char *branch, *into, *message, *patch;
	struct pick pick; /* only these */
	json_t *body, **drift;
	bool done, clean;
	size_t left;		    /* files that were not asked for */
	json_t *taken;		    /* of the files taken in part */
	json_t *whole, *none, *who; /* paths that were merged, all others; who reviewed it */
	json_t *recovered;	    /* merge_recover */
	json_t *branches_left;	    /* of merge.done; NULL: none */
	json_t *interrupted;	    /* of a dry run: merge_recover_boxes */
	struct merge_intent intent;
	bool ignored;
};

static void merging_release(struct merging *m)
{
	free(m->branch);
	free(m->into);
	free(m->message);
	free(m->patch);
	pick_release(&m->pick);
	json_decref(m->taken);
	json_decref(m->whole);
	json_decref(m->none);
	json_decref(m->who);
	json_decref(m->recovered);
	json_decref(m->branches_left);
	json_decref(m->interrupted);
	json_decref(m->body);
	free(m->drift);
}

static void tree_merge_id(struct super *s, uint64_t cause, char out[33])
{
	CLEANUP(free_ptr) char *text = mem_printf("%s#%" PRIu64, record_id(s->record), cause);
	merge_id_of(text, strlen(text), out);
}

/* --- worker --- */

struct layer_merge {
	struct merge_layer l;
	struct sandbox_refs refs;
	struct tree_had had;
};

static int choose_steps(struct merging *m, size_t i, const struct ws_store *st,
			struct layer_merge *lm)
{
	struct trees *t = m->op.t;
	struct merge_choices *c = &lm->l.choices;
	int rc = pick_choices(&m->pick, t->layer[i].name, merge_layer_last(&lm->l), st, c,
			      &m->op.err);
	m->left += c->left + c->partly;
	if (c->taken && !m->taken)
		m->taken = json_array();
	if (c->taken)
		json_array_extend(m->taken, c->taken);
	return rc;
}

/* The agent's own commits, if it made any. */
static int load_commits(struct merging *m, size_t i, const struct ws_store *st, size_t nr,
			struct layer_merge *lm)
{
	struct trees *t = m->op.t;
	if (!merge_layer_commits(m->mode, m->message) || !nr)
		return 0;
	struct agent_steps_from *from = &lm->l.within.from;
	*from = (struct agent_steps_from){ .st = st,
					   .seq = mem_calloc(nr, sizeof(*from->seq)),
					   .rest = merge_message(t->name, 0,
								 record_id(t->s->record)) };
	for (size_t k = 0; k < t->nr_snaps; k++)
		if (t->snap[k].layer == i)
			from->seq[from->nr++] = t->snap[k].seq;
	int rc = 0;
	if (!t->read)
		rc = session_open(&t->read, record_path(t->s->record), &m->op.err);
	from->s = t->read;
	return rc == 0 ? agent_steps_read(&lm->l.agent, from, ".git", &m->op.err) : rc;
}

static int load_steps(struct merging *m, size_t i, const struct ws_store *st,
		      struct layer_merge *lm)
{
	struct trees *t = m->op.t;
	size_t nr = 0;
	for (size_t k = 0; k < t->nr_snaps; k++)
		nr += t->snap[k].layer == i;
	if (load_commits(m, i, st, nr, lm) < 0)
		return -1;
	struct merge_layer *l = &lm->l;
	if (l->agent.nr)
		return choose_steps(m, i, st, lm);
	if (m->mode != MERGE_COMMITS || nr == 0)
		nr = 1;
	merge_layer_reserve(l, nr);
	for (size_t k = 0; l->nr < nr && (nr == 1 || k < t->nr_snaps); k++) {
		if (nr > 1 && t->snap[k].layer != i)
			continue;
		uint64_t seq = nr == 1 ? UINT64_MAX : t->snap[k].seq;
		if (tree_view(t, i, seq, &l->view[l->nr], &m->op.err) < 0)
			return -1;
		merge_layer_add(l, m->message ? mem_strdup(m->message)
					      : merge_message(t->name, nr == 1 ? 0 : seq,
							      record_id(t->s->record)));
	}
	return choose_steps(m, i, st, lm);
}

/* Branches that were made in layer @i, as its newest snapshot has them. */
static int load_branches(struct merging *m, size_t i, const struct ws_store *st, const char *dir,
			 struct layer_merge *lm)
{
	struct trees *t = m->op.t;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	uint64_t seq = t->layer[i].prev;
	lm->l.refs_at = (struct sandbox_refs_at){ .refs = &lm->refs, .dir = dir };
	if (!seq)
		return 0;
	if ((!t->read && session_open(&t->read, record_path(t->s->record), &m->op.err) < 0) ||
	    session_event(t->read, seq, &ev, &a, &m->op.err) < 0)
		return -1;
	CLEANUP(json_release)
	json_t *body = ev.body ? json_parse(ev.body, ev.len, "snapshot", &m->op.err) : NULL;
	return body ? sandbox_refs_read(&lm->refs, st, body, lm->had.refs, &m->op.err) : 0;
}

static void merge_branches_left(struct merging *m, const struct layer_merge *lm)
{
	json_t *left = json_array();
	for (size_t i = 0; i < m->op.t->nr_layers; i++)
		sandbox_refs_left(&lm[i].refs, m->body, m->op.t->layer[i].name, left);
	if (json_array_size(left))
		m->branches_left = json_incref(left);
	json_decref(left);
}

static void layer_merge_release(struct layer_merge *lm)
{
	merge_layer_release(&lm->l);
	tree_had_release(&lm->had);
	sandbox_refs_release(&lm->refs);
}

/* A file as it is in the box now. */
static int fetch_upper(void *self, const char *path, size_t len, struct buf *out)
{
	struct ws_state s;
	struct stat st;
	CLEANUP(fd_close)
	int fd = beneath_open(ws_upper_fd(self), path, len, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	content_file(fd, (struct content_rule){ .keep_max = FETCH_MAX }, &s, out, &st);
	return s.kind == WS_FILE && !(s.flags & (WS_HASH_ONLY | WS_UNREADABLE | WS_TORN)) ? 0 : -1;
}

/* What killed merges of the session have left is taken back first. */
static int merge_begin(struct merging *m)
{
	struct trees *t = m->op.t;
	struct session *read = NULL;
	if (m->mode == MERGE_PATCH)
		return 0;
	if (session_open(&read, record_path(t->s->record), &m->op.err) < 0)
		return -1;
	if (m->dry)
		m->interrupted = merge_recover_boxes(read);
	int rc = m->dry ? 0 : merge_recover(read, &m->recovered, &m->op.err);
	session_close(&read);
	if (rc < 0 || m->dry)
		return rc;
	json_t *list = json_array(), *one = json_object();
	json_put_str(one, "merge", m->id);
	json_put_int(one, "box", (int64_t)t->id);
	json_put_str(one, "name", t->name);
	json_put_str(one, "mode", merge_mode_name(m->mode));
	json_array_append_new(list, one);
	return merge_intent_write(&m->intent, record_id(t->s->record), list, &m->op.err);
}

static void merge_work(struct tree_op *op)
{
	struct merging *m = (struct merging *)op;
	struct trees *t = op->t;
	struct ws_store st;
	struct layer_merge *lm = mem_calloc(t->nr_layers, sizeof(*lm));
	struct merge_target *target = mem_calloc(t->nr_layers, sizeof(*target));
	CLEANUP(free_ptr) char *undo = paths_state("undo");
	size_t nr = 0;
	tree_store(t, &st);
	int rc = dir_make(undo, 0700, &op->err);
	m->drift = mem_calloc(t->nr_layers, sizeof(*m->drift));
	if (rc == 0)
		rc = merge_begin(m);
	for (size_t i = 0; rc == 0 && i < t->nr_layers; i++) {
		if (!t->layer[i].host_dir && !m->into)
			continue;
		rc = tree_base_drift(t, i, &m->drift[i], &op->err);
		if (rc == 0)
			rc = load_steps(m, i, &st, &lm[i]);
		const char *dir = m->into ? m->into : t->layer[i].host_dir;
		if (rc == 0)
			rc = tree_had_read(t, i, dir, &lm[i].had, &op->err);
		if (rc == 0)
			rc = load_branches(m, i, &st, dir, &lm[i]);
		lm[i].l.within.dir = dir;
		target[nr] = (struct merge_target){
			.repo = t->layer[i].name,
			.dir = dir,
			.had = &lm[i].had.merged,
			.opening = lm[i].had.opening,
			.asked = &m->pick.paths,
			.fetch = fetch_upper,
			.fetch_self = t->layer[i].ws,
		};
		merge_layer_target(&lm[i].l, &target[nr++]);
	}
	if (rc == 0)
		rc = pick_check(&m->pick, &op->err);
	if (rc == 0 && nr == 0)
		rc = err_set(&op->err, ERR_INVALID,
			     "sandbox '%s' has no directory to merge into; name one", t->name);
	struct merge_opts o = {
		.id = m->id,
		.mode = m->mode,
		.branch = m->branch,
		.session = record_id(t->s->record),
		.ignored = m->ignored,
		.author = "sandglass",
		.email = "sandglass@localhost",
		.ts_us = clock_wall_us(),
		.undo_dir = undo,
		.patch = m->patch,
		.dry = m->dry,
		.hold = m->intent.path ? &m->intent.fd : NULL,
		.store = tree_store(t, &st),
		.target = target,
		.nr_targets = nr,
	};
	struct merge_result r = { 0 };
	if (rc == 0 && merge_run(&o, &r, &op->err) == 0) {
		m->done = r.done;
		m->clean = r.clean;
		m->body = json_incref(r.body);
		m->whole = json_incref(r.taken);
		m->none = json_incref(r.not_taken);
		merge_branches_left(m, lm);
	}
	merge_result_release(&r);
	for (size_t i = 0; i < t->nr_layers; i++)
		layer_merge_release(&lm[i]);
	free(lm);
	free(target);
}

/* --- loop --- */

/* Records the merge with the trees of the merged files. Takes @body. */
static uint64_t tree_merge_record_merge(struct tree_op *op, enum event_kind kind, json_t *body)
{
	struct trees *t = op->t;
	CLEANUP(free_ptr) char *text = json_dump_str(body);
	struct event ev = { .cause = op->cause,
			    .box = t->id,
			    .action = op->action ? op->cause : 0,
			    .kind = (uint16_t)kind,
			    .body = text,
			    .len = strlen(text) };
	struct objects *o = t->objects ? t->objects : objects_new();
	t->objects = NULL;
	json_decref(body);
	return record_objects(t->s->record, o, &ev);
}

/* Has it failed, and couldn't be taken back? */
static bool merge_half(const struct merging *m)
{
	CLEANUP(free_ptr) char *dir = paths_state("undo");
	return merge_stands(&(struct merge_opts){ .id = m->id, .undo_dir = dir });
}

void tree_merge_keep_ref(struct trees *t, const json_t *body)
{
	const json_t *first = json_array_get(json_object_get(body, "targets"), 0);
	const char *ref = json_str(first, "ref", NULL);
	free(t->merged_ref);
	t->merged_ref = ref ? mem_strdup(ref) : NULL;
}

static void merge_done(struct tree_op *op)
{
	struct merging *m = (struct merging *)op;
	struct trees *t = op->t;
	struct super *s = t->s;
	for (size_t i = 0; m->drift && i < t->nr_layers; i++)
		tree_base_record_drift(t, m->drift[i]);
	if (op->err.code == ERR_NONE && !m->clean && !m->dry) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		merge_conflicts(m->body, &text);
		err_set(&op->err, ERR_INVALID, "nothing merged: conflicts:%s", buf_cstr(&text));
	}
	json_t *body = m->body ? json_copy(m->body) : json_object();
	if (op->err.code != ERR_NONE) {
		json_put_str(body, "why", op->err.text);
		json_put_str(body, "code", err_code_name(op->err.code));
	}
	json_put_str(body, "merge", m->id);
	if (m->ignored)
		json_put_flag(body, "with_ignored", true);
	if (m->left)
		json_put_int(body, "left", (int64_t)m->left);
	if (m->taken)
		json_put(body, "taken", json_incref(m->taken));
	if (m->branches_left)
		json_put(body, "branches_left", json_incref(m->branches_left));
	if (m->branches_left && m->body)
		json_put(m->body, "branches_left", json_incref(m->branches_left));
	if (json_array_size(m->interrupted))
		json_put(body, "interrupted", json_incref(m->interrupted));
	if (m->who)
		json_put(body, "reviewed", json_incref(m->who));
	json_t *notices = super_box_notices(s, t->id);
	if (json_array_size(notices)) {
		json_put(body, "notices", json_deep_copy(notices));
		if (m->body)
			json_put(m->body, "notices", json_deep_copy(notices));
	}
	enum event_kind kind = m->dry			  ? EV_MERGE_PLANNED
			       : op->err.code == ERR_NONE ? EV_MERGE_DONE
							  : EV_MERGE_FAILED;
	tree_recovered(s, op->cause, m->recovered);
	uint64_t seq = tree_merge_record_merge(op, kind, body);
	if (kind == EV_MERGE_FAILED && merge_half(m))
		merge_intent_release(&m->intent); /* the next merge or undo tries again */
	else
		tree_intent_done(s, &m->intent);
	const json_t *first = json_array_get(json_object_get(m->body, "targets"), 0);
	json_t *v = m->body ? json_copy(m->body) : json_object();
	json_put_int(v, "event", (int64_t)seq);
	if (json_array_size(m->interrupted))
		json_put(v, "interrupted", json_incref(m->interrupted));
	json_put_str(v, "ref", json_str(first, "ref", NULL));
	json_put(v, "taken", m->whole ? json_incref(m->whole) : json_array());
	json_put(v, "left", m->none ? json_incref(m->none) : json_array());
	json_put(v, "partly", m->taken ? json_incref(m->taken) : json_array());
	if (m->who) {
		json_put_str(v, "by", json_str(m->who, "name", "somebody"));
		json_put(v, "comments", trees_review_comments(t));
	}
	if (kind == EV_MERGE_DONE) {
		tree_merge_keep_ref(t, m->body);
		tree_merge_recorded(s, seq);
	}
	tree_op_answer(op, v);
	merging_release(m);
}

static struct merging *merging_new(struct trees *t, uint64_t cause)
{
	struct merging *m = NEW(struct merging);
	m->op = (struct tree_op){
		.t = t, .work = merge_work, .done = merge_done, .why = "background", .cause = cause
	};
	m->pick = PICK_INIT;
	m->intent = MERGE_INTENT_INIT;
	tree_merge_id(t->s, cause, m->id);
	return m;
}

/* --- as an action --- */

static void merge_start(void *self, struct action *a)
{
	struct trees *t = self;
	const json_t *args = action_spec(a)->args;
	struct merging *m = merging_new(t, action_id(a));
	const char *branch = json_str(args, "branch", NULL),
		   *message = json_str(args, "message", NULL);
	const char *into = action_spec(a)->host_path;
	struct review_pick got;
	m->op.action = a;
	if (trees_review_take(t, action_id(a), &got)) {
		m->pick = got.pick;
		m->who = got.who;
	}
	merge_mode_find(json_str(args, "mode", "branch"), &m->mode);
	m->branch = branch ? mem_strdup(branch) : NULL;
	m->message = message ? mem_strdup(message) : NULL;
	m->ignored = json_flag(args, "ignored", false);
	if (m->mode == MERGE_PATCH) {
		m->patch = mem_strdup(into && *into ? into : "sandglass.patch");
	} else if (into && t->nr_layers == 1) {
		m->into = mem_strdup(into);
	}
	tree_op_start(&m->op);
}

void tree_merge_cancel(void *self, struct action *a, const char *how)
{
	(void)self; /* all or nothing: it is carried to its end */
	(void)a;
	(void)how;
}

static void merge_answer(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)res->id);
	json_put_str(v, "ref", json_str(res->body, "ref", NULL));
	static const char *const said[] = { "targets",	"branches_left", "taken",
					    "left",	"partly",	 "by",
					    "comments", "counts",	 "paths",
					    "unmerged", "notices" };
	for (size_t i = 0; i < ARRAY_LEN(said); i++)
		if (json_object_get(res->body, said[i]))
			json_put(v, said[i], json_incref(json_object_get(res->body, said[i])));
	call_answer(c, v);
}

/* Checks before the approval: the directory exists, and git knows it if commits are to be made. */
static int may_merge(const struct trees *t, enum merge_mode mode, const char *into, struct err *err)
{
	size_t nr = 0;
	for (size_t i = 0; i < t->nr_layers; i++) {
		const char *dir = into && mode != MERGE_PATCH && t->nr_layers == 1
					  ? into
					  : t->layer[i].host_dir;
		if (dir && merge_may_commit(dir, mode, err) < 0)
			return -1;
		nr += dir != NULL;
	}
	return nr ? 0
		  : err_set(err, ERR_INVALID,
			    "sandbox '%s' has no directory to merge into; name one", t->name);
}

void op_box_merge(struct call *c)
{
	uint64_t box;
	enum merge_mode mode;
	struct err err = ERR_INIT;
	struct trees *t = op_trees(c, &box);
	char full[PATH_MAX];
	if (!t)
		return;
	const char *into = json_str(c->args, "into", NULL);
	if (!merge_mode_find(json_str(c->args, "mode", "branch"), &mode)) {
		call_fail(c, "script", NULL, NULL, 0,
			  "merge: no mode '%s' (known: apply, branch, commits, patch)",
			  json_str(c->args, "mode", ""));
		return;
	}
	if (into && mode != MERGE_PATCH && !realpath(into, full)) {
		err_sys(&err, "merge: can't use '%s'", into);
		call_fail_err(c, &err);
		return;
	}
	if (may_merge(t, mode, into ? full : NULL, &err) < 0) {
		/* the same as when it turns out later */
		call_fail_as(c, "io", &err);
		return;
	}
	struct effector *eff = NEW(struct effector);
	*eff = (struct effector){
		.name = "merge", .start = merge_start, .cancel = tree_merge_cancel, .self = t
	};
	c->data = eff;
	c->free_data = free;
	struct action_spec spec = {
		.kind = ACT_MERGE,
		.tool = "merge",
		.box = box,
		.args = c->args,
		.host_path = into ? (mode == MERGE_PATCH ? into : full) : t->layer[0].host_dir,
		.leaves_box = true,
	};
	call_action(c, &spec, eff, merge_answer);
}

/* --- as a command --- */

int trees_merge_command(const struct tree_request *rq, const json_t *opts, struct err *err)
{
	struct trees *t = super_box_trees(rq->s, rq->box);
	const char *to = json_str(opts, "to", NULL), *patch = json_str(opts, "patch", NULL);
	if (!t)
		return err_set(err, ERR_UNSUPPORTED,
			       "this sandbox's backend gives no access to files");
	struct pick pick = PICK_INIT;
	if (pick_opts(&pick, opts, err) < 0) {
		pick_release(&pick);
		return -1;
	}
	struct merging *m = merging_new(t, rq->cause);
	pick_release(&m->pick);
	m->pick = pick;
	m->op.rq = *rq;
	m->patch = patch ? mem_strdup(patch) : NULL;
	m->mode = patch				     ? MERGE_PATCH
		  : json_object_get(opts, "apply")   ? MERGE_APPLY
		  : json_object_get(opts, "commits") ? MERGE_COMMITS
						     : MERGE_BRANCH;
	m->dry = json_object_get(opts, "dry-run") != NULL;
	m->ignored = json_object_get(opts, "ignored") != NULL;
	m->branch = to ? mem_strdup(to) : NULL;
	tree_op_start(&m->op);
	return 0;
}
