#include "supervisor/core/disk_space.h"

#include <stdlib.h>
#include <sys/statvfs.h>

#include "supervisor/core/core.h"
#include "supervisor/core/parts.h"
#include "base/clock.h"
#include "record/record_event.h"

enum { LITTLE = 1 << 30, AGAIN_US = 1000000, AGAIN_MS = 2000 };

struct room {
	struct super *s;
	int64_t next_us; /* mono: not looked at before then */
	uint64_t told;	 /* bytes that were left when it became little; 0 = there is enough */
	struct loop_timer *timer;
};

static struct room *disk_space_of(struct super *s)
{
	static const struct super_part part = { sizeof(struct room), NULL };
	struct room *r = super_part(s, &part);
	r->s = s;
	return r;
}

bool disk_space_is_little(const char *path, uint64_t *bytes_out)
{
	struct statvfs fs;
	*bytes_out = 0;
	if (statvfs(path, &fs) < 0 || !fs.f_blocks)
		return false;
	*bytes_out = (uint64_t)fs.f_bavail * fs.f_frsize;
	return *bytes_out < LITTLE && fs.f_bavail < fs.f_blocks / 10;
}

static void disk_space_tell(struct super *s, bool over, uint64_t bytes)
{
	const char *fix =
		over ? NULL
		     : "'sandglass prune --older-than 30d -n' lists sessions that you can remove";
	CLEANUP(free_ptr)
	char *text =
		over ? mem_printf("there is room on the disk again: %llu MB",
				  (unsigned long long)(bytes >> 20))
		     : mem_printf(
			       "only %llu MB are left on the disk of the session file '%s'; when it is full, agents stand still",
			       (unsigned long long)(bytes >> 20), record_path(s->record));
	record_ev_super_warn(s->record, &(struct event){ .cause = s->start_seq },
			     &(struct ev_super_warn){ .text = ev_text_of(text),
						      .topic = ev_text_of("room"),
						      .over = over,
						      .fix = ev_text_of(fix) });
	super_changed(s);
}

static void disk_space_check(void *self)
{
	struct room *r = self;
	uint64_t bytes;
	bool little = disk_space_is_little(record_path(r->s->record), &bytes);
	r->next_us = clock_mono_us() + AGAIN_US;
	if (little && !r->told) {
		r->told = bytes + 1;
		r->timer = loop_timer_new(r->s->loop, disk_space_check, r);
		loop_timer_set(r->timer, AGAIN_MS, AGAIN_MS);
		disk_space_tell(r->s, false, bytes);
	} else if (!little && r->told && bytes > r->told + r->told / 4) { /* not to and fro */
		r->told = 0;
		loop_timer_free(&r->timer);
		disk_space_tell(r->s, true, bytes);
	}
}

void disk_space_look(struct super *s)
{
	struct room *r = disk_space_of(s);
	if (clock_mono_us() >= r->next_us && !s->ending)
		disk_space_check(r);
}

void disk_space_free(struct super *s)
{
	loop_timer_free(&disk_space_of(s)->timer);
}
