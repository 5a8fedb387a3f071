#include "cli/front/front_fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/front/front_act.h"
#include "base/fd.h"
#include "base/mem.h"
#include "control/socket.h"

struct fleet_watch {
	bool watch;
	int fd;
	struct strv seen; /* ids that were given, or that could not be reached */
	struct strv here; /* found by the last look, not yet tried */
	size_t at;
	struct hands *hands[CONSOLE_SOURCES];
	char *path[CONSOLE_SOURCES];
	size_t nr;
};

static void front_fleet_look(struct fleet_watch *f)
{
	struct err err = ERR_INIT;
	strv_release(&f->here);
	f->here = STRV_INIT;
	f->at = 0;
	if (control_list(&f->here, &err) < 0)
		strv_release(&f->here), f->here = STRV_INIT;
}

struct fleet_watch *fleet_watch_new(bool watch, struct err *err)
{
	CLEANUP(free_ptr) char *dir = NULL;
	if (control_dir(&dir, err) < 0)
		return NULL;
	struct fleet_watch *f = NEW(struct fleet_watch);
	f->watch = watch;
	f->seen = STRV_INIT;
	f->here = STRV_INIT;
	f->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (f->fd >= 0)
		inotify_add_watch(f->fd, dir, IN_MOVED_TO);
	front_fleet_look(f);
	return f;
}

void fleet_watch_free(struct fleet_watch **fp)
{
	struct fleet_watch *f = *fp;
	*fp = NULL;
	if (!f)
		return;
	fd_close(&f->fd);
	for (size_t i = 0; i < f->nr; i++) {
		hands_free(&f->hands[i]);
		free(f->path[i]);
	}
	strv_release(&f->seen);
	strv_release(&f->here);
	free(f);
}

int fleet_watch_fd(const struct fleet_watch *f)
{
	return f->fd;
}

/* True if a session has put a socket there since. */
static bool front_fleet_changed(const struct fleet_watch *f)
{
	char junk[4096];
	bool some = false;
	ssize_t n;
	while ((n = read(f->fd, junk, sizeof(junk))) > 0 || (n < 0 && errno == EINTR))
		some = some || n > 0;
	return some;
}

static bool front_fleet_seen(const struct fleet_watch *f, const char *id)
{
	for (size_t i = 0; i < f->seen.nr; i++)
		if (strcmp(f->seen.item[i], id) == 0)
			return true;
	return false;
}

static bool front_fleet_reach(struct fleet_watch *f, const char *id, struct console_source *out)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *socket = control_path(id);
	struct hands *h = hands_new(socket, f->watch, &err);
	if (!h)
		return false;
	f->hands[f->nr] = h;
	f->path[f->nr] = mem_strdup(hands_path(h));
	*out = (struct console_source){
		.path = f->path[f->nr],
		.act = hands_act(h),
		.wake_fd = hands_fd(h),
		.pump = hands_pump,
		.again = hands_again,
		.wants_write = hands_wants_write,
		.self = h,
	};
	f->nr++;
	return true;
}

bool fleet_watch_next(void *self, struct console_source *out)
{
	struct fleet_watch *f = self;
	if (f->at == f->here.nr && front_fleet_changed(f))
		front_fleet_look(f);
	while (f->at < f->here.nr && f->nr < CONSOLE_SOURCES) {
		const char *id = f->here.item[f->at++];
		if (front_fleet_seen(f, id))
			continue;
		strv_push(&f->seen, id);
		if (front_fleet_reach(f, id, out))
			return true;
	}
	return false;
}
