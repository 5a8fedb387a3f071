#include "supervisor/box/tree_base.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/paths.h"

/* at most a fiftieth of the time goes into looking */
enum { DRIFT_MIN_MS = 5000, DRIFT_SHARE = 50 };

/* One per layer. It outlives its trees while a thread still hashes: the last one out frees it. */
struct tree_base {
	struct trees *t; /* NULL once the box has gone */
	struct super *s;
	uint64_t box;
	size_t i;
	struct base *base;
	int lower;
	char *name;
	json_t *hashed; /* body of base.hashed */
	struct objects *objects;
	struct err err;
	atomic_bool stop;
	bool hashing;
	int64_t took_us;
};

static void base_done(struct tree_base *b)
{
	base_free(&b->base);
	fd_close(&b->lower);
	json_decref(b->hashed);
	objects_free(&b->objects);
	free(b->name);
	free(b);
}

/* --- hashing --- */

static bool tree_base_stopped(void *self)
{
	struct tree_base *b = self;
	return atomic_load(&b->stop);
}

static void tree_base_add_object(void *self, enum object_type type, const void *bytes, size_t len,
				 struct object_id *id_out)
{
	struct tree_base *b = self;
	objects_add(b->objects, type, bytes, len, id_out);
}

static int tree_base_get_object(void *self, const struct object_id *id, enum object_type *type_out,
				struct buf *out, struct err *err)
{
	(void)self;
	(void)id;
	(void)type_out;
	(void)out;
	return err_set(err, ERR_NOENT, "the base is not recorded");
}

static void hash_work(void *self)
{
	struct tree_base *b = self;
	struct ws_store st = { .add = tree_base_add_object,
			       .get = tree_base_get_object,
			       .self = b };
	CLEANUP(free_ptr) char *dir = paths_cache("");
	CLEANUP(free_ptr) char *cache = paths_cache("oids");
	struct err none = ERR_INIT;
	b->objects = objects_new();
	bool keep = dir_make(dir, 0700, &none) == 0;
	if (base_hash(b->base, b->lower, &st, keep ? cache : NULL, tree_base_stopped, b, &b->hashed,
		      &b->err) < 0)
		b->hashed = NULL;
}

static void hash_done(void *self)
{
	struct tree_base *b = self;
	b->hashing = false;
	b->s->background--;
	if (!b->t) {
		super_maybe_finish(b->s);
		base_done(b);
		return;
	}
	if (b->hashed) {
		json_put_str(b->hashed, "repo", b->name);
		CLEANUP(free_ptr) char *text = json_dump_str(b->hashed);
		struct event ev = { .cause = b->box,
				    .box = b->box,
				    .kind = EV_BASE_HASHED,
				    .body = text,
				    .len = strlen(text) };
		record_objects(b->s->record, b->objects, &ev);
		b->objects = NULL;
	}
	super_maybe_finish(b->s);
}

/* --- listing and drift --- */

struct listing {
	struct tree_base *b;
	json_t *body;
};

static void list_work(struct tree_job *j)
{
	struct listing *l = j->data;
	struct tree_base *b = l->b;
	int64_t began = clock_mono_us();
	b->lower = j->t->box->driver->tree->root(j->t->box, b->i, "lower", &j->err);
	if (b->lower < 0)
		return;
	if (base_list(&b->base, b->lower, getuid(), &j->err) == 0)
		l->body = base_body(b->base);
	b->took_us = clock_mono_us() - began;
}

static void drift_later(struct trees *t);

static void tree_base_list_done(struct tree_job *j)
{
	struct listing *l = j->data;
	struct tree_base *b = l->b;
	struct trees *t = j->t;
	if (l->body && !t->dead) {
		json_put_str(l->body, "repo", b->name);
		json_put_str(l->body, "dir", t->layer[b->i].host_dir);
		record_append_json(t->s->record, EV_BASE_LISTED, t->id, 0, t->id, 0, l->body);
		t->layer[b->i].base = b;
		b->hashing = true;
		t->s->background++;
		loop_job_run(t->s->loop, hash_work, hash_done, b);
		drift_later(t);
	} else {
		if (j->err.code != ERR_NONE && !t->dead)
			super_warn(t->s, NULL, "can't list the directory below sandbox '%s': %s",
				   t->name, j->err.text);
		json_decref(l->body);
		base_done(b);
	}
	free(l);
}

void tree_base_begin(struct trees *t)
{
	for (size_t i = 0; i < t->nr_layers; i++) {
		if (!t->layer[i].host_dir)
			continue;
		struct tree_base *b = NEW(struct tree_base);
		b->t = t;
		b->s = t->s;
		b->box = t->id;
		b->i = i;
		b->lower = -1;
		b->name = mem_strdup(t->layer[i].name);
		struct listing *l = NEW(struct listing);
		l->b = b;
		struct tree_job *j = NEW(struct tree_job);
		*j = (struct tree_job){ .work = list_work, .done = tree_base_list_done, .data = l };
		tree_job_add(t, j);
	}
}

void tree_base_end(struct trees *t)
{
	loop_timer_free(&t->drift);
	for (size_t i = 0; i < t->nr_layers; i++) {
		struct tree_base *b = t->layer[i].base;
		t->layer[i].base = NULL;
		if (!b)
			continue;
		b->t = NULL;
		atomic_store(&b->stop, true);
		if (!b->hashing)
			base_done(b);
	}
}

static bool tree_base_touched(void *self, const char *path, size_t len)
{
	return ws_touched(self, path, len);
}

int tree_base_drift(struct trees *t, size_t i, json_t **body_out, struct err *err)
{
	struct tree_base *b = t->layer[i].base;
	*body_out = NULL;
	if (!b || b->hashing)
		return 0;
	int64_t began = clock_mono_us();
	int rc = base_drift(b->base, b->lower, tree_base_touched, t->layer[i].ws, body_out, err);
	b->took_us = clock_mono_us() - began;
	if (*body_out)
		json_put_str(*body_out, "repo", b->name);
	return rc < 0 ? -1 : 0;
}

void tree_base_record_drift(struct trees *t, json_t *body)
{
	if (body)
		record_append_json(t->s->record, EV_BASE_DRIFT, t->id, 0, t->id, 0, body);
}

struct drift_job {
	json_t **body;
};

static void drift_work(struct tree_job *j)
{
	struct drift_job *d = j->data;
	for (size_t i = 0; i < j->t->nr_layers; i++)
		if (tree_base_drift(j->t, i, &d->body[i], &j->err) < 0)
			return;
}

static void drift_done(struct tree_job *j)
{
	struct drift_job *d = j->data;
	for (size_t i = 0; i < j->t->nr_layers; i++)
		if (j->t->dead)
			json_decref(d->body[i]);
		else
			tree_base_record_drift(j->t, d->body[i]);
	free(d->body);
	free(d);
	if (!j->t->dead)
		drift_later(j->t);
}

static void drift_now(void *self)
{
	struct trees *t = self;
	struct drift_job *d = NEW(struct drift_job);
	d->body = mem_calloc(t->nr_layers, sizeof(*d->body));
	struct tree_job *j = NEW(struct tree_job);
	*j = (struct tree_job){ .work = drift_work, .done = drift_done, .data = d };
	tree_job_add(t, j);
}

static void drift_later(struct trees *t)
{
	uint64_t ms = DRIFT_MIN_MS;
	for (size_t i = 0; i < t->nr_layers; i++) {
		struct tree_base *b = t->layer[i].base;
		if (b && (uint64_t)b->took_us * DRIFT_SHARE / 1000 > ms)
			ms = (uint64_t)b->took_us * DRIFT_SHARE / 1000;
	}
	if (!t->drift)
		t->drift = loop_timer_new(t->s->loop, drift_now, t);
	loop_timer_set(t->drift, ms, 0);
}
