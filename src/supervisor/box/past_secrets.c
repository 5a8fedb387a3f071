#include "supervisor/box/past_secrets.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sandbox/notice.h"
#include "sandbox/view/masks.h"
#include "sandbox/view/past_names.h"
#include "supervisor/core/parts.h"
#include "supervisor/box/notices.h"

enum { PAST_AGAIN_US = 300000000, PAST_END_US = 300000 };

struct past_box {
	uint64_t box;
	char *repo;
	struct strv expose;
};

/* One repository on the host. */
struct past_secrets {
	struct past_secrets *next;
	struct super *s;
	char *dir;
	json_t *facts;	     /* of past_names; NULL: not known */
	bool running, known; /* a look is under way; one has ended at @when_us */
	int64_t begun_us, when_us;
	struct past_box *wait; /* sandboxes that get the result */
	size_t nr, cap;
};

static void past_tell(struct super *s, const struct past_box *b, const json_t *facts)
{
	json_t *mine = json_array(), *ready = json_object();
	for (size_t i = 0; i < json_array_size(facts); i++) {
		const json_t *f = json_array_get(facts, i);
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		if (json_get_bytes(json_object_get(f, "path"), &path) &&
		    masks_exposed(&b->expose, buf_cstr(&path)))
			continue;
		json_t *one = json_copy((json_t *)(uintptr_t)f);
		json_put_str(one, "repo", b->repo);
		json_array_append_new(mine, one);
	}
	json_put(ready, "history", mine);
	if (json_array_size(mine))
		notices_tell(s, b->box, b->box, notices_of_ready(ready));
	json_decref(ready);
}

static void past_box_release(struct past_box *b)
{
	free(b->repo);
	strv_release(&b->expose);
}

/* A session that ends does not wait long for it. */
static bool past_secrets_due(void *self)
{
	const struct past_secrets *p = self;
	return __atomic_load_n(&p->s->ending, __ATOMIC_RELAXED) &&
	       clock_mono_us() - p->begun_us > PAST_END_US;
}

static void past_secrets_work(void *self)
{
	struct past_secrets *p = self;
	const struct strv none = STRV_INIT;
	struct err err = ERR_INIT;
	const struct past_stop stop = { .due = past_secrets_due, .self = p };
	bool all;
	if (past_names(p->dir, "", &none, &stop, &p->facts, &all, &err) == 0)
		return;
	p->facts = NULL;
	if (err.code == ERR_CANCELLED)
		return;
	p->facts = json_array();
	json_array_append_new(p->facts, past_incomplete("", 0));
}

static void past_secrets_done(void *self)
{
	struct past_secrets *p = self;
	struct super *s = p->s;
	p->when_us = clock_mono_us();
	p->running = false;
	p->known = true;
	s->background--;
	for (size_t i = 0; i < p->nr; i++) {
		past_tell(s, &p->wait[i], p->facts);
		past_box_release(&p->wait[i]);
	}
	p->nr = 0;
	super_maybe_finish(s);
}

struct past_session {
	struct past_secrets *first;
};

static struct past_session *past_session_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct past_session), NULL };
	return super_part(s, &part);
}

static struct past_secrets *past_of(struct super *s, const char *dir)
{
	struct past_session *all = past_session_of(s);
	for (struct past_secrets *p = all->first; p; p = p->next)
		if (!strcmp(p->dir, dir))
			return p;
	struct past_secrets *p = NEW(struct past_secrets);
	*p = (struct past_secrets){ .s = s, .next = all->first, .dir = mem_strdup(dir) };
	all->first = p;
	return p;
}

static void past_look(struct super *s, uint64_t box, const char *repo, const char *dir,
		      const struct box_opts *o)
{
	struct past_secrets *p = past_of(s, dir);
	struct past_box b = { .box = box, .repo = mem_strdup(repo), .expose = STRV_INIT };
	for (size_t i = 0; i < o->nr_expose; i++)
		strv_push(&b.expose, o->expose[i]);
	if (p->known && clock_mono_us() - p->when_us < PAST_AGAIN_US) {
		past_tell(s, &b, p->facts);
		past_box_release(&b);
		return;
	}
	GROW(p->wait, p->nr, p->cap);
	p->wait[p->nr++] = b;
	if (p->running)
		return;
	p->running = true;
	p->begun_us = clock_mono_us();
	p->known = false;
	json_decref(p->facts);
	p->facts = NULL;
	s->background++;
	loop_job_run(s->loop, past_secrets_work, past_secrets_done, p);
}

void past_secrets_begin(struct super *s, uint64_t box, const struct box_opts *o)
{
	if (o->mask_history) /* then it would not be open */
		return;
	for (size_t i = 0; i < o->nr_repos; i++)
		if (o->repo[i].host_dir)
			past_look(s, box, o->repo[i].name ? o->repo[i].name : "",
				  o->repo[i].host_dir, o);
}

void past_secrets_release(struct super *s)
{
	struct past_session *all = past_session_of(s);
	while (all->first) {
		struct past_secrets *p = all->first;
		all->first = p->next;
		for (size_t i = 0; i < p->nr; i++)
			past_box_release(&p->wait[i]);
		free(p->wait);
		json_decref(p->facts);
		free(p->dir);
		free(p);
	}
}
