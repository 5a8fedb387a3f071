#include "sessions/box_merge.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sessions/merge_text.h"

static void box_merge_add(void *self, enum object_type type, const void *bytes, size_t len,
			  struct object_id *id_out)
{
	struct box_merge *m = self; /* trees of merged paths: recorded with the event */
	if (!m->objects)
		m->objects = objects_new();
	objects_add(m->objects, type, bytes, len, id_out);
}

static int box_merge_get(void *self, const struct object_id *id, enum object_type *type_out,
			 struct buf *out, struct err *err)
{
	struct box_merge *m = self;
	return session_object(m->read, id, type_out, out, err);
}

static struct ws_store box_merge_store(struct box_merge *m)
{
	return (struct ws_store){ .add = box_merge_add, .get = box_merge_get, .self = m };
}

/* The same state of the same box has the same id: a second try finds what the first one did. */
static void make_merge_id(struct box_merge *m)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	buf_printf(&text, "%s/%" PRIu64, session_id(m->read), m->box->id);
	for (size_t i = 0; i < m->box->nr; i++)
		buf_printf(&text, "#%" PRIu64, m->box->layer[i].seq);
	/* each has a record of its own to be undone from */
	buf_printf(&text, "/%zu", m->known->nr_merges + m->known->nr_recovered);
	merge_id_of(text.data, text.len, m->id);
}

static void release_plan(struct box_merge *m)
{
	for (size_t i = 0; i < m->nr; i++)
		merge_layer_release(&m->layer[i]);
	free(m->layer);
	free(m->target);
	free(m->message);
	json_decref(m->taken);
	m->layer = NULL;
	m->target = NULL;
	m->message = NULL;
	m->taken = NULL;
	m->nr = m->left = 0;
}

static bool stays_out(const struct box_merge *m, const struct box_merge_opts *o,
		      const struct unmerged_layer *l, const char *path)
{
	CLEANUP(free_ptr) char *named = *l->repo ? mem_printf("%s/%s", l->repo, path) : NULL;
	bool left = false;
	for (size_t i = 0; o->leave && i < o->leave->nr; i++)
		if (fnmatch(o->leave->item[i], path, 0) == 0 ||
		    (named && fnmatch(o->leave->item[i], named, 0) == 0))
			left = o->left[i] = true;
	if (left)
		return true;
	CLEANUP(free_ptr) char *full = m->decided.nr ? mem_printf("%s/%s", l->dir, path) : NULL;
	for (size_t i = 0; i < m->decided.nr; i++)
		if (!strcmp(m->decided.item[i], full))
			return true;
	return false;
}

/* Adds to @c the paths that --leave or a decision names. */
static void leave_out(struct box_merge *m, const struct box_merge_opts *o,
		      const struct unmerged_layer *l, const struct ws_view *v,
		      struct merge_choices *c)
{
	for (size_t i = 0; i < v->nr; i++) {
		const struct ws_path *p = &v->item[i];
		struct merge_choice *had = NULL;
		if (!stays_out(m, o, l, p->path))
			continue;
		for (size_t k = 0; k < c->nr && !had; k++)
			if (c->item[k].len == p->len && !memcmp(c->item[k].path, p->path, p->len))
				had = &c->item[k];
		if (had && had->leave)
			continue;
		if (!had) {
			GROW(c->item, c->nr, c->cap);
			had = &c->item[c->nr++];
			*had = (struct merge_choice){ .path = p->path, .len = p->len };
		}
		had->leave = true;
		c->left += !ws_path_is_git(p->path, p->len) && !ws_state_eq(&p->base, &p->now);
	}
}

/* The snapshots of a layer, as steps are read from them. */
static void steps_from(struct box_merge *m, const struct unmerged_layer *l,
		       struct agent_steps_within *w)
{
	w->from = (struct agent_steps_from){ .s = m->read,
					     .st = &m->store,
					     .seq = mem_calloc(l->nr_snaps + 1, sizeof(*l->snaps)),
					     .nr = l->nr_snaps,
					     .rest = mem_strdup(m->message) };
	for (size_t i = 0; i < l->nr_snaps; i++)
		w->from.seq[i] = l->snaps[i];
}

static int plan_layer(struct box_merge *m, const struct box_merge_opts *o,
		      const struct unmerged_layer *l, const struct ws_store *st, struct err *err)
{
	size_t k = m->nr++;
	struct merge_layer *ml = &m->layer[k];
	struct merge_choices *c = &ml->choices;
	merge_layer_reserve(ml, 1);
	if (ws_view_load(&ml->view[0], st, l->snap, err) < 0)
		return -1;
	merge_layer_add(ml, mem_strdup(m->message));
	if (pick_choices(o->pick, l->repo, &ml->view[0], st, c, err) < 0)
		return -1;
	leave_out(m, o, l, &ml->view[0], c);
	if (c->taken)
		json_array_extend(m->taken, c->taken);
	m->left += c->left + c->partly;
	ml->within.dir = l->dir;
	if (merge_layer_commits(o->mode, o->message)) {
		steps_from(m, l, &ml->within);
		if (agent_steps_read(&ml->agent, &ml->within.from, ".git", err) < 0)
			return -1;
	}
	ml->refs_at = (struct sandbox_refs_at){ .refs = &l->refs, .dir = l->dir };
	m->target[k] = (struct merge_target){ .repo = l->repo,
					      .had = &l->had,
					      .opening = l->opening,
					      .asked = &o->pick->paths,
					      .dir = l->dir };
	merge_layer_target(ml, &m->target[k]);
	return 0;
}

int box_merge_plan(struct box_merge *m, const struct box_merge_opts *o, struct err *err)
{
	const struct unmerged_box *b = m->box;
	struct ws_store st = box_merge_store(m);
	release_plan(m);
	make_merge_id(m);
	m->taken = json_array();
	m->layer = mem_calloc(b->nr, sizeof(*m->layer));
	m->store = st;
	m->target = mem_calloc(b->nr, sizeof(*m->target));
	m->message = o->message ? mem_strdup(o->message)
				: merge_message(b->name, 0, session_id(m->read));
	for (size_t i = 0; i < b->nr; i++)
		if (b->layer[i].dir && b->layer[i].snap &&
		    plan_layer(m, o, &b->layer[i], &st, err) < 0)
			return -1;
	return m->nr ? 0
		     : err_set(err, ERR_INVALID,
			       "sandbox '%s' has no directory of yours to merge into", b->name);
}

static int box_merge_conflicts(const json_t *body, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	merge_conflicts(body, &text);
	return err_set(err, ERR_INVALID, "nothing merged: conflicts:%s", buf_cstr(&text));
}

static void fill_branches(struct box_merge *m)
{
	json_t *left = json_array();
	for (size_t i = 0; i < m->box->nr; i++)
		sandbox_refs_left(&m->box->layer[i].refs, m->body, m->box->layer[i].repo, left);
	if (json_array_size(left))
		json_put(m->body, "branches_left", json_incref(left));
	json_decref(left);
}

static void fill_body(struct box_merge *m, const struct box_merge_opts *o)
{
	json_decref(m->body);
	m->body = m->result.body ? json_copy(m->result.body) : json_object();
	json_put_str(m->body, "merge", m->id);
	json_put_str(m->body, "group", m->group);
	if (o && o->ignored)
		json_put_flag(m->body, "with_ignored", true);
	if (m->left)
		json_put_int(m->body, "left", (int64_t)m->left);
	fill_branches(m);
	if (json_array_size(m->taken))
		json_put(m->body, "taken", json_incref(m->taken));
	if (m->box->notices)
		json_put(m->body, "notices", json_incref(m->box->notices));
}

void box_merge_fail(struct box_merge *m, const struct err *why)
{
	if (!m->body)
		fill_body(m, NULL);
	json_put_str(m->body, "why", why->text);
	json_put_str(m->body, "code", err_code_name(why->code));
}

int box_merge_run(struct box_merge *m, const struct box_merge_opts *o, bool dry, struct err *err)
{
	CLEANUP(free_ptr) char *undo = paths_state("undo");
	struct ws_store st = box_merge_store(m);
	struct merge_opts opts = {
		.id = m->id,
		.mode = o->mode,
		.patch = o->patch,
		.branch = o->branch,
		.session = session_id(m->read),
		.ignored = o->ignored,
		.author = "sandglass",
		.email = "sandglass@localhost",
		.ts_us = clock_wall_us(),
		.undo_dir = undo,
		.dry = dry,
		.onto = m->onto,
		.hold = m->hold,
		.store = &st,
		.target = m->target,
		.nr_targets = m->nr,
	};
	merge_result_release(&m->result);
	objects_free(&m->objects);
	int rc = dir_make(undo, 0700, err);
	if (rc == 0)
		rc = merge_run(&opts, &m->result, err);
	if (rc == 0 && !m->result.clean && !dry)
		rc = box_merge_conflicts(m->result.body, err);
	fill_body(m, o);
	if (rc < 0)
		box_merge_fail(m, err);
	return rc;
}

enum event_kind box_merge_kind(const struct box_merge *m, bool dry)
{
	return dry				 ? EV_MERGE_PLANNED
	       : json_object_get(m->body, "why") ? EV_MERGE_FAILED
						 : EV_MERGE_DONE;
}

void box_merge_release(struct box_merge *m)
{
	release_plan(m);
	merge_result_release(&m->result);
	objects_free(&m->objects);
	json_decref(m->body);
	strv_release(&m->decided);
	*m = (struct box_merge){ 0 };
}
