/* Part of super_tree.c: work on a sandbox's files, one job at a time, and the store that it reads
 * and fills. */
#include <stdlib.h>
#include <unistd.h>

#include "supervisor/box/tree_priv.h"
#include "supervisor/box/tree_op.h"
#include "record/secrets.h"

/* --- jobs, one at a time per box --- */

static void job_start(struct trees *t);

void trees_destroy(struct trees *t)
{
	trees_review_close(t);
	for (size_t i = 0; i < t->nr_layers; i++) {
		ws_free(&t->layer[i].ws);
		free(t->layer[i].name);
		free(t->layer[i].host_dir);
	}
	for (size_t i = 0; i < t->nr_snaps; i++)
		free(t->snap[i].label);
	while (t->first) {
		struct tree_job *j = t->first;
		t->first = j->next;
		err_set(&j->err, ERR_CLOSED, "sandbox '%s' is closed", t->name);
		j->done(j);
		free(j);
	}
	tree_ops_end(t);
	trees_review_free(t);
	session_close(&t->read);
	objects_free(&t->objects);
	secrets_free(&t->baits);
	free(t->layer);
	free(t->snap);
	free(t->by);
	free(t->merged_ref);
	free(t->name);
	free(t);
}

static void job_finish(struct tree_job *j)
{
	struct trees *t = j->t;
	struct super *s = t->s;
	uint64_t box = t->id;
	t->running = NULL;
	j->done(j);
	free(j);
	if (t->dead)
		trees_destroy(t);
	else
		job_start(t);
	boxes_hold(s->boxes, box, false);
	super_maybe_finish(s);
}

static void on_thawed(void *self, json_t *result, const struct err *err)
{
	struct tree_job *j = self;
	(void)result;
	if (!err) /* else the box has died meanwhile: its runs tell */
		boxes_alive_look(j->t->s->boxes, j->t->id);
	job_finish(self);
}

void tree_job_release(struct tree_job *j)
{
	struct trees *t = j->t;
	if (j->kept)
		t->kept--;
	j->keep &= j->frozen && j->err.code == ERR_NONE;
	if (j->keep)
		t->kept++;
	if (j->frozen && !t->kept && !t->dead && !boxes_frozen(t->s->boxes, t->id))
		t->box->driver->freeze(t->box, false, on_thawed, j);
	else
		job_finish(j);
}

static void job_worked(void *self)
{
	struct tree_job *j = self;
	if (j->hold && !j->t->dead && j->err.code == ERR_NONE)
		j->hold(j);
	else
		tree_job_release(j);
}

static void job_work(void *self)
{
	struct tree_job *j = self;
	if (j->t->broken.code != ERR_NONE)
		j->err = j->t->broken;
	else if (j->err.code == ERR_NONE)
		j->work(j);
}

static void super_tree_on_frozen(void *self, json_t *result, const struct err *err)
{
	struct tree_job *j = self;
	(void)result;
	j->frozen = !err;
	if (err && j->always)
		j->err = *err;
	loop_job_run(j->t->s->loop, job_work, job_worked, j);
}

static void job_start(struct trees *t)
{
	struct tree_job *j = t->first;
	if (!j || t->running || boxes_get(t->s->boxes, t->id) != t->box)
		/* nothing to do yet; or the box is being closed, and its end ends what waits */
		return;
	boxes_hold(t->s->boxes, t->id, true);
	t->first = j->next;
	if (!t->first)
		t->last = &t->first;
	t->running = j;
	/* what still lives could write while we look: a torn snapshot would be a state that never
	 * was */
	bool lives = j->always || j->keep || boxes_alive(t->s->boxes, t->id) > 0;
	j->frozen = t->kept || boxes_frozen(t->s->boxes, t->id);
	if (j->freeze && !j->frozen && (t->box->driver->caps & CAP_FREEZE) && lives)
		t->box->driver->freeze(t->box, true, super_tree_on_frozen, j);
	else
		loop_job_run(t->s->loop, job_work, job_worked, j);
}

void tree_job_add(struct trees *t, struct tree_job *j)
{
	j->t = t;
	j->next = NULL;
	*t->last = j;
	t->last = &j->next;
	job_start(t);
}

/* --- the store of a job: new objects go into one set, reads come from the file --- */

static void store_add(void *self, enum object_type type, const void *bytes, size_t len,
		      struct object_id *id_out)
{
	struct trees *t = self;
	if (!t->objects)
		t->objects = objects_new();
	objects_add(t->objects, type, bytes, len, id_out);
}

static int store_get(void *self, const struct object_id *id, enum object_type *type_out,
		     struct buf *out, struct err *err)
{
	struct trees *t = self;
	if (!t->read && session_open(&t->read, record_path(t->s->record), err) < 0)
		return -1;
	return session_object(t->read, id, type_out, out, err);
}

static bool store_hide(void *self, const struct object_id *id, const void *bytes, size_t len)
{
	struct trees *t = self;
	if (!t->objects)
		t->objects = objects_new();
	return objects_hide(t->objects, bytes, len, id);
}

const struct ws_store *tree_store(struct trees *t, struct ws_store *out)
{
	*out = (struct ws_store){ .add = store_add, .get = store_get, .self = t };
	if (t->s->opts->hide_tokens)
		out->hide = store_hide;
	return out;
}
