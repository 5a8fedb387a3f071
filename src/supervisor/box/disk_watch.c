#include "supervisor/box/disk_watch.h"

#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "record/record_event.h"
#include "supervisor/box/super_box.h"

/* SHARE: at most a twentieth of the time goes into looking; SELDOM: where only FILES_MAX, the bound
 * on files of a sandbox that names none, is looked for */
enum { LOOK_MS = 500, LOOK_SELDOM_MS = 5000, LOOK_SHARE = 20, FILES_MAX = 1000000 };

struct disk_use {
	int64_t bytes, files;
};

struct disk_watch {
	struct super *s;
	uint64_t box;
	char *dir; /* of ours: uppers and work directories */
	struct loop_timer *timer;
	struct disk_use limit;	/* bytes 0: none */
	struct disk_use used;	/* when its files were last looked at */
	struct disk_use now;	/* of the look under way */
	bool looked, own_files; /* own_files: the limit counts from what the first look found */
	int64_t began_us, next_us;
	bool looking, dead, told;
	char *uncounted; /* the first directory that could not be read; NULL: all was counted */
};

static void disk_watch_destroy(struct disk_watch *d)
{
	loop_timer_free(&d->timer);
	free(d->dir);
	free(d->uncounted);
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
	d->now = (struct disk_use){ 0 };
	while (f && (e = fts_read(f))) {
		if (e->fts_info == FTS_F)
			d->now.bytes += (int64_t)e->fts_statp->st_blocks * 512;
		d->now.files += e->fts_info != FTS_DP;
		if ((e->fts_info == FTS_DNR || e->fts_info == FTS_ERR) && !d->uncounted)
			d->uncounted = mem_strdup(e->fts_path);
	}
	if (f)
		fts_close(f);
	else if (!d->uncounted)
		d->uncounted = mem_strdup(d->dir);
}

/* A directory without read permission, which the supervisor's user may not override. */
static void tell_uncounted(struct disk_watch *d)
{
	if (!d->uncounted || d->told)
		return;
	d->told = true;
	super_box_warn(d->s, d->box, "make the directory readable in the sandbox",
		       "files below '%s' don't count against the limits of sandbox '%s': the "
		       "directory can't be read",
		       d->uncounted, boxes_name(d->s->boxes, d->box));
}

static void stop_box(struct disk_watch *d, bool files)
{
	const char *name = boxes_name(d->s->boxes, d->box);
	CLEANUP(free_ptr)
	char *text =
		files ? mem_printf(
				"sandbox '%s' is over its limit of files (%lld of %lld); its commands were killed",
				name, (long long)d->now.files, (long long)d->limit.files)
		      : mem_printf(
				"sandbox '%s' is over its disk limit (%lld of %lld MB); its commands were killed",
				name, (long long)(d->now.bytes >> 20),
				(long long)(d->limit.bytes >> 20));
	const char *fix =
		files ? "remove files in the sandbox, or raise the limit: limits = { files = ... }"
		      : "remove files in the sandbox, or raise the limit: limits = { disk = \"...\" }";
	record_ev_box_warn(
		d->s->record, &(struct event){ .cause = d->box, .box = d->box },
		&(struct ev_box_warn){ .text = ev_text_of(text), .fix = ev_text_of(fix) });
	boxes_kill(
		d->s->boxes, d->box,
		files ? "the limit of files of the sandbox is reached; remove some of its files first"
		      : "the disk limit of the sandbox is reached; remove some of its files first");
}

/* Files from before the opening, a copy of the repository with some backends, do not count. */
static void disk_watch_first(struct disk_watch *d)
{
	if (!d->looked && !d->own_files)
		d->limit.files += d->now.files;
	d->looked = true;
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
	disk_watch_first(d);
	tell_uncounted(d);
	bool grows = d->now.bytes > d->used.bytes, more = d->now.files > d->used.files;
	d->used = d->now;
	d->next_us = clock_mono_us() + LOOK_SHARE * (clock_mono_us() - d->began_us);
	if (d->limit.bytes && d->now.bytes > d->limit.bytes && grows)
		stop_box(d, false);
	else if (d->now.files > d->limit.files && more)
		stop_box(d, true);
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
	bool own_files = o->limits.files > 0;
	int often = own_files || o->limits.disk_bytes > 0 ? LOOK_MS : LOOK_SELDOM_MS;
	if (!o->state_dir)
		return NULL;
	struct disk_watch *d = NEW(struct disk_watch);
	*d = (struct disk_watch){
		.s = s,
		.box = b->id,
		.dir = mem_strdup(b->files ? b->files : o->state_dir),
		.own_files = own_files,
		.limit = { .bytes = o->limits.disk_bytes > 0 ? o->limits.disk_bytes : 0,
			   .files = own_files ? o->limits.files : FILES_MAX },
	};
	d->timer = loop_timer_new(s->loop, disk_watch_tick, d);
	loop_timer_set(d->timer, (uint64_t)often, (uint64_t)often);
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
