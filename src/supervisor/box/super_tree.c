/* Snapshots: when they are taken and how they come into the record. */
#include "supervisor/box/notices.h"
#include "supervisor/box/super_tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/box/super_box.h"
#include "supervisor/box/tree_base.h"
#include "supervisor/box/tree_op.h"
#include "base/failpoint.h"
#include "record/record_event.h"
#include "supervisor/box/tree_priv.h"

/* --- snapshots --- */

void tree_take(struct trees *t, struct taken *k, struct err *err)
{
	struct ws_store st;
	const struct box_tree_ops *ops = t->box->driver->tree;
	if (ops->fresh &&
	    ops->fresh(t->box, k->ended && !(t->running && t->running->frozen), err) < 0)
		return;
	k->body = mem_calloc(t->nr_layers, sizeof(*k->body));
	if (!t->objects)
		t->objects = objects_new();
	objects_look(t->objects, t->baits);
	for (size_t i = 0; i < t->nr_layers; i++) {
		struct ws_how how = { .why = k->why, .sync = t->running && t->running->frozen };
		if (ws_take(t->layer[i].ws, tree_store(t, &st), &how, &k->body[i], err) < 0)
			return;
	}
}

void tree_remember(struct trees *t, size_t layer, uint64_t seq, const char *label)
{
	GROW(t->snap, t->nr_snaps, t->cap_snaps);
	t->snap[t->nr_snaps++] = (struct snap){ .seq = seq,
						.layer = layer,
						.label = label ? mem_strdup(label) : NULL };
}

uint64_t tree_record(struct trees *t, struct taken *k)
{
	struct super *s = t->s;
	uint64_t newest = 0;
	failpoint_hit("snapshot.before-record");
	int alive = t->dead ? 0 : boxes_alive(s->boxes, t->id);
	for (size_t i = 0; k->body && i < t->nr_layers; i++) {
		json_t *body = k->body[i];
		if (!body)
			continue;
		/* then so may the looks before have */
		bool missed = json_array_size(json_object_get(body, "hint_miss")) > 0;
		size_t first = missed ? 0 : t->clear, nr = t->nr_by - first;
		json_t *by = json_array();
		for (size_t n = first; n < t->nr_by; n++)
			json_array_append_new(by, json_integer((json_int_t)t->by[n]));
		json_put_str(body, "repo", t->layer[i].name);
		json_put_int(body, "prev", (int64_t)t->layer[i].prev);
		json_put_flag(body, "shared", nr + (size_t)alive > 1);
		if (missed)
			super_warn(
				s, NULL,
				"the change hint of sandbox '%s' missed %zu changed files; all files are scanned "
				"from now on",
				t->name, json_array_size(json_object_get(body, "hint_miss")));
		json_put(body, "by", by);
		json_put_int(body, "alive", alive);
		json_put_str(body, "label", k->label);
		char *text = json_dump_str(body);
		struct event ev = { .cause = k->cause,
				    .box = t->id,
				    .kind = EV_SNAPSHOT_TAKEN,
				    .body = text,
				    .len = strlen(text) };
		ev.action = nr == 1 ? t->by[first] : 0;
		struct objects *o = t->objects ? t->objects : objects_new();
		t->objects = NULL; /* the first event carries what all of them need */
		newest = record_objects(s->record, o, &ev);
		notices_tell(s, t->id, newest, notices_of_snapshot(body));
		t->layer[i].prev = newest;
		tree_remember(t, i, newest, k->label);
		free(text);
		json_decref(body);
	}
	if (newest)
		t->nr_by = t->clear = 0;
	failpoint_hit("snapshot.recorded");
	objects_free(&t->objects);
	free(k->body);
	free(k->label);
	k->body = NULL;
	k->label = NULL;
	return newest;
}

uint64_t tree_snap_at(const struct trees *t, size_t layer, uint64_t seq)
{
	uint64_t found = 0;
	for (size_t i = 0; i < t->nr_snaps; i++)
		if (t->snap[i].layer == layer && t->snap[i].seq <= seq && t->snap[i].seq > found)
			found = t->snap[i].seq;
	return found;
}

void tree_label(struct trees *t, uint64_t seq, const char *label, uint64_t cause)
{
	record_ev_snapshot_labeled(t->s->record, &(struct event){ .cause = cause, .box = t->id },
				   &(struct ev_snapshot_labeled){ .snapshot = (int64_t)seq,
								  .label = ev_text_of(label) });
	for (size_t i = 0; i < t->nr_snaps; i++)
		if (t->snap[i].seq == seq) {
			free(t->snap[i].label);
			t->snap[i].label = mem_strdup(label);
		}
}

bool tree_find_label(const struct trees *t, const char *label, uint64_t *seq_out)
{
	for (size_t i = t->nr_snaps; i > 0; i--)
		if (t->snap[i - 1].label && !strcmp(t->snap[i - 1].label, label)) {
			*seq_out = t->snap[i - 1].seq;
			return true;
		}
	return false;
}

/* --- after an action --- */

struct after {
	struct taken taken;
	uint64_t action;
};

static void after_work(struct tree_job *j)
{
	struct after *a = j->data;
	tree_take(j->t, &a->taken, &j->err);
}

static void snapshot_failed(struct trees *t, uint64_t cause, const struct err *err)
{
	record_ev_snapshot_failed(
		t->s->record, &(struct event){ .cause = cause, .box = t->id },
		&(struct ev_snapshot_failed){ .why = ev_text_of(err->text),
					      .code = ev_text_of(err_code_name(err->code)) });
}

/* The look after @action is done: it and those before it, if no snapshot names them yet. */
static void changed_nothing(struct trees *t, uint64_t action)
{
	for (size_t i = t->clear; i < t->nr_by; i++)
		if (t->by[i] == action)
			t->clear = i + 1;
}

static void after_done(struct tree_job *j)
{
	struct after *a = j->data;
	if (j->err.code != ERR_NONE && !j->t->dead)
		snapshot_failed(j->t, a->action, &j->err);
	if (!j->t->dead)
		j->t->behind = j->err.code != ERR_NONE;
	tree_record(j->t, &a->taken);
	if (j->err.code == ERR_NONE)
		changed_nothing(j->t, a->action);
	gate_settled(j->t->s->gate, a->action);
	free(a);
}

void trees_after_action(struct trees *t, uint64_t action)
{
	const struct action *act = gate_action(t->s->gate, action);
	GROW(t->by, t->nr_by, t->cap_by);
	t->by[t->nr_by++] = action;
	if (act && action_spec(act)->agent)
		t->agent = action_spec(act)->agent;
	struct after *a = NEW(struct after);
	a->action = action;
	a->taken = (struct taken){ .why = "action", .cause = action, .ended = true };
	struct tree_job *j = NEW(struct tree_job);
	*j = (struct tree_job){ .work = after_work, .done = after_done, .freeze = true, .data = a };
	tree_job_add(t, j);
}

/* --- before the end --- */

struct last_look {
	struct taken taken;
	void (*done)(struct super *s, uint64_t box);
};

static void last_work(struct tree_job *j)
{
	struct last_look *l = j->data;
	tree_take(j->t, &l->taken, &j->err);
}

static void last_done(struct tree_job *j)
{
	struct last_look *l = j->data;
	struct trees *t = j->t;
	t->behind = j->err.code != ERR_NONE;
	if (t->behind && !t->dead)
		snapshot_failed(t, t->id, &j->err);
	tree_record(t, &l->taken);
	if (!t->dead)
		l->done(t->s, t->id);
	free(l);
}

bool trees_last_look(struct trees *t, void (*done)(struct super *s, uint64_t box))
{
	struct boxes *b = t->s->boxes;
	uint64_t action;
	bool busy = t->first || t->running || boxes_alive(b, t->id) > 0;
	if (t->broken.code != ERR_NONE || boxes_lost(b, t->id) ||
	    record_state(t->s->record) != RECORD_OK)
		return false;
	for (size_t i = 0; (action = boxes_running(b, t->id, i)); i++) {
		GROW(t->by, t->nr_by, t->cap_by);
		t->by[t->nr_by++] = action;
		busy = true;
	}
	if (!busy)
		return false;
	struct last_look *l = NEW(struct last_look);
	*l = (struct last_look){ .taken = { .why = "close", .cause = t->id }, .done = done };
	struct tree_job *j = NEW(struct tree_job);
	*j = (struct tree_job){
		.work = last_work, .done = last_done, .freeze = true, .keep = true, .data = l
	};
	tree_job_add(t, j);
	return true;
}

bool trees_behind(const struct trees *t)
{
	return t->behind || record_state(t->s->record) == RECORD_DEAD;
}

/* --- open --- */

struct opening {
	struct taken taken;
};

static int super_tree_root_of(struct trees *t, size_t i, const char *which, struct err *err)
{
	const struct box_tree_ops *ops = t->box->driver->tree;
	return ops->root(t->box, i, which, err);
}

static int super_tree_open_foreign(void *self, const char *which, const char *path, struct err *err)
{
	struct layer_open *lo = self;
	return lo->t->box->driver->tree->open(lo->t->box, lo->i, which, path, err);
}

static void open_layers(struct trees *t, struct err *err)
{
	for (size_t i = 0; i < t->nr_layers; i++) {
		struct layer *l = &t->layer[i];
		bool overlay = t->box->driver->tree->overlay(t->box);
		int upper = super_tree_root_of(t, i, overlay ? "upper" : "merged", err);
		if (upper < 0)
			return;
		struct err none = ERR_INIT;
		int lower = l->host_dir ? super_tree_root_of(t, i, "lower", &none) : -1;
		struct ws_opts o = { .name = l->name,
				     .copy = !overlay,
				     .again = t->again,
				     .keep_max = t->s->opts->keep_file_bytes,
				     .hash_only = t->s->opts->hash_only,
				     .nr_hash_only = t->s->opts->nr_hash_only };
		l->ws = ws_new(&o, upper, lower);
		l->open = (struct layer_open){ .t = t, .i = i };
		ws_set_open(l->ws, super_tree_open_foreign, &l->open);
	}
}

static void opening_work(struct tree_job *j)
{
	struct opening *o = j->data;
	open_layers(j->t, &j->err);
	if (j->err.code == ERR_NONE)
		tree_take(j->t, &o->taken, &j->err);
	else
		j->t->broken = j->err;
}

static void opening_done(struct tree_job *j)
{
	struct opening *o = j->data;
	struct trees *t = j->t;
	if (j->err.code != ERR_NONE && !t->dead) {
		snapshot_failed(t, t->id, &j->err);
		super_warn(t->s, NULL, "can't follow the files of sandbox '%s': %s", t->name,
			   j->err.text);
	}
	tree_record(t, &o->taken);
	free(o);
	if (t->dead)
		return;
	super_box_ready(t->s, t->id);
	if (t->broken.code == ERR_NONE)
		tree_base_begin(t);
}

struct trees *super_trees_new(struct super *s, struct box *b, const char *name,
			      const struct box_opts *opts)
{
	struct trees *t = NEW(struct trees);
	t->s = s;
	t->box = b;
	t->id = b->id;
	t->baits = record_honeytokens(s->record); /* those planted by now: also its own */
	t->name = mem_strdup(name);
	t->last = &t->first;
	t->again = opts->was || (opts->state && !opts->fork_box);
	t->nr_layers = opts->nr_repos ? opts->nr_repos : 1;
	t->layer = mem_calloc(t->nr_layers, sizeof(*t->layer));
	for (size_t i = 0; i < t->nr_layers; i++) {
		t->layer[i].name = mem_strdup(opts->nr_repos ? opts->repo[i].name : "");
		t->layer[i].host_dir = opts->nr_repos ? mem_strdup(opts->repo[i].host_dir) : NULL;
	}
	struct opening *o = NEW(struct opening);
	o->taken = (struct taken){ .why = "open", .cause = b->id };
	struct tree_job *j = NEW(struct tree_job);
	*j = (struct tree_job){ .work = opening_work, .done = opening_done, .data = o };
	tree_job_add(t, j);
	return t;
}

void super_trees_free(struct trees **tp)
{
	struct trees *t = *tp;
	*tp = NULL;
	if (!t)
		return;
	t->dead = true;
	tree_base_end(t);
	if (!t->running)
		trees_destroy(t);
}

bool trees_busy(const struct trees *t)
{
	return t->running || t->first;
}

bool trees_repo(const struct trees *t, size_t i, const char **name_out, const char **dir_out)
{
	if (i >= t->nr_layers)
		return false;
	*name_out = t->layer[i].name ? t->layer[i].name : "";
	*dir_out = t->layer[i].host_dir;
	return true;
}

void trees_merged(const struct trees *t, const char **dir_out, const char **ref_out)
{
	*dir_out = t->layer[0].host_dir;
	*ref_out = t->merged_ref;
}
