#include "supervisor/box/disk_watch.h"

#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"

enum { LOOK_MS = 500, LOOK_SHARE = 20 }; /* at most a twentieth of the time goes into looking */

struct disk_watch {
	struct super *s;
	uint64_t box;
	char *dir; /* of ours: uppers and work folders */
	struct loop_timer *timer;
	int64_t limit, used; /* bytes; used: when its files were last looked at */
	int64_t now;	     /* of the look under way */
	int64_t began_us, next_us;
	bool looking, dead;
};

static void disk_watch_destroy(struct disk_watch *d)
{
	loop_timer_free(&d->timer);
	free(d->dir);
	free(d);
}

/* Worker: what the box's files occupy. A hard link counts once for each name, which is on the safe
 * side. */
static void disk_watch_look_work(void *self)
{
	struct disk_watch *d = self;
	char *const paths[] = { d->dir, NULL };
	FTS *f = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	const FTSENT *e;
	d->now = 0;
	while (f && (e = fts_read(f)))
		if (e->fts_info == FTS_F)
			d->now += (int64_t)e->fts_statp->st_blocks * 512;
	if (f)
		fts_close(f);
}

static void stop_box(struct disk_watch *d)
{
	json_t *body = json_object();
	CLEANUP(free_ptr)
	char *text = mem_printf(
		"box '%s' is over its disk limit (%lld of %lld MB): what ran in it was killed",
		boxes_name(d->s->boxes, d->box), (long long)(d->now >> 20),
		(long long)(d->limit >> 20));
	json_put_str(body, "text", text);
	json_put_str(body, "fix",
		     "remove something in the box, or give it more: limits = { disk = \"...\" }");
	record_append_json(d->s->record, EV_BOX_WARN, d->box, 0, d->box, 0, body);
	boxes_kill(d->s->boxes, d->box, "the box's disk limit is reached");
}

static void disk_watch_look_done(void *self)
{
	struct disk_watch *d = self;
	d->looking = false;
	d->s->background--;
	if (d->dead) {
		struct super *s = d->s;
		disk_watch_destroy(d);
		super_maybe_finish(s);
		return;
	}
	bool grows = d->now > d->used;
	d->used = d->now;
	d->next_us = clock_mono_us() + LOOK_SHARE * (clock_mono_us() - d->began_us);
	if (d->now > d->limit && grows)
		stop_box(d);
}

static void disk_watch_tick(void *self)
{
	struct disk_watch *d = self;
	if (d->looking || clock_mono_us() < d->next_us || !boxes_alive(d->s->boxes, d->box))
		return;
	d->looking = true;
	d->began_us = clock_mono_us();
	d->s->background++;
	loop_job_run(d->s->loop, disk_watch_look_work, disk_watch_look_done, d);
}

struct disk_watch *disk_watch_new(struct super *s, struct box *b, const struct box_opts *o)
{
	if (o->limits.disk_bytes <= 0 || !o->state_dir)
		return NULL;
	struct disk_watch *d = NEW(struct disk_watch);
	*d = (struct disk_watch){
		.s = s, .box = b->id, .dir = mem_strdup(o->state_dir), .limit = o->limits.disk_bytes
	};
	d->timer = loop_timer_new(s->loop, disk_watch_tick, d);
	loop_timer_set(d->timer, LOOK_MS, LOOK_MS);
	return d;
}

void disk_watch_free(struct disk_watch **dp)
{
	struct disk_watch *d = *dp;
	*dp = NULL;
	if (!d)
		return;
	loop_timer_free(&d->timer);
	d->dead = true;
	if (!d->looking)
		disk_watch_destroy(d);
}
