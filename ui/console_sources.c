#include "ui/console_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "ui/frame/finder.h"

enum { LEAVING_US = 5000000 }; /* how long a file is watched after its writer leaves */

/* A file that nobody announces: its writer touches the file or its WAL at each commit. */
static int watch_file(const char *path)
{
	CLEANUP(free_ptr) char *wal = mem_printf("%s-wal", path);
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0)
		return -1;
	inotify_add_watch(fd, path, IN_MODIFY);
	inotify_add_watch(fd, wal, IN_MODIFY);
	return fd;
}

static void console_sources_drain(int fd)
{
	char junk[4096];
	ssize_t n;
	do
		n = read(fd, junk, sizeof(junk));
	while (n > 0 || (n < 0 && errno == EINTR));
}

static int add_source(struct console *c, const struct console_source *s, struct err *err)
{
	size_t i = c->nr;
	if (i == CONSOLE_SOURCES)
		return err_set(err, ERR_FULL, "at most %d sessions on one screen", CONSOLE_SOURCES);
	if (source_open(&c->src[i], s->path, err) < 0)
		return -1;
	c->src[i]->stop = console_key_waits;
	c->from[i] = *s;
	c->act[i] = s->act;
	bool grows = !c->o->replay || session_live(c->src[i]->session);
	int fd = s->wake_fd >= 0 ? s->wake_fd : grows ? watch_file(s->path) : -1;
	c->watched[i] = s->wake_fd < 0;
	c->poll[i + 1] = (struct pollfd){ .fd = fd, .events = POLLIN };
	c->nr++;
	return 0;
}

int console_open_sources(struct console *c, struct err *err)
{
	c->poll[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	for (size_t i = 0; i < c->o->nr_sources; i++)
		if (add_source(c, &c->o->source[i], err) < 0)
			return -1;
	return 0;
}

void console_close_sources(struct console *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		source_close(&c->src[i]);
		if (c->watched[i])
			fd_close(&c->poll[i + 1].fd);
	}
}

void console_more_sources(struct console *c)
{
	struct console_source s;
	struct err err = ERR_INIT;
	while (c->o->more(c->o->self, &s)) {
		if (add_source(c, &s, &err) < 0) {
			ui_say(&c->ui, ROLE_WARN, "%s", err.text);
			continue;
		}
		c->ui.nr_src = c->nr;
		marks_load(&c->ui, c->nr - 1);
		c->dirty = true;
		ui_say(&c->ui, ROLE_TEXT, "session %s has begun",
		       session_id(c->src[c->nr - 1]->session));
	}
}

void console_say_gone(struct console *c)
{
	if (c->o->notes_fd > 0) /* our starter reports the end and the next session */
		return;
	for (size_t i = 0; i < c->nr; i++) {
		char is = c->gone[i] ? 1 + c->src[i]->model.ended : 0;
		/* its end may not have been read yet */
		if (is <= c->told[i] || (is == 1 && source_reading(c->src[i])))
			continue;
		c->told[i] = is;
		c->src[i]->lost = is == 1;
		const char *id = session_id(c->src[i]->session),
			   *others = c->nr > 1 ? ", the others as before" : "";
		const struct model *m = &c->src[i]->model;
		bool failed = is == 2 && !m->good && strcmp(m->how, "stopped") != 0;
		const char *why =
			failed && m->nr_agents > 0 && m->agent[0].script ? m->agent[0].text : NULL;
		if (why && *why) /* a row has no room for it */
			ui_say(&c->ui, ROLE_ERROR, "%s %s: %s", id, m->how, why);
		else if (is == 2)
			ui_say(&c->ui, ROLE_DIM,
			       "%s has ended; 'sandglass merge' and 'undo' work%s", id, others);
		else
			/* what the screens say of it stays (ui_lost_text) */
			ui_say(&c->ui, ROLE_WARN, "%s", "");
		c->dirty = true;
	}
}

void console_pump(struct console *c, size_t i, bool readable)
{
	const struct console_source *s = &c->from[i];
	if (s->pump && !c->gone[i]) {
		if (!s->pump(s->self)) {
			c->gone[i] = c->watched[i] = true;
			c->poll[i + 1].fd = watch_file(s->path);
			c->leaves_us[i] = clock_mono_us() + LEAVING_US;
			c->act[i] = (struct act){
				.why_not =
					s->again
						? "read-only: its supervisor has ended; run 'sandglass resume' in another terminal"
						: "read-only: its supervisor has ended; leave, then 'resume' or 'attach'"
			};
		}
		c->dirty = true;
	} else if (readable) {
		console_sources_drain(c->poll[i + 1].fd);
		c->leaves_us[i] = clock_mono_us() + LEAVING_US;
		c->dirty = true;
	}
}

void console_attach_again(struct console *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		const struct console_source *s = &c->from[i];
		int fd;
		if (!c->gone[i] || !c->leaves_us[i] || !s->again || c->src[i]->model.ended ||
		    !s->again(s->self, &c->act[i], &fd))
			continue;
		fd_close(&c->poll[i + 1].fd);
		c->poll[i + 1] = (struct pollfd){ .fd = fd, .events = POLLIN };
		c->gone[i] = c->watched[i] = c->src[i]->lost = false;
		c->leaves_us[i] = 0;
		c->told[i] = 0;
		c->dirty = true;
		ui_say(&c->ui, ROLE_OK, "%s continues under a new supervisor; so does this screen",
		       session_id(c->src[i]->session));
	}
}

void console_let_go(struct console *c)
{
	int64_t now = clock_mono_us();
	struct err err = ERR_INIT;
	for (size_t i = 0; i < c->nr; i++) {
		if (!c->leaves_us[i])
			continue;
		bool left = session_left(c->src[i]->session);
		if (left && session_rejoin(c->src[i]->session, &err) < 0)
			log_warn("console: %s", err.text);
		c->leaves_us[i] = left || now > c->leaves_us[i] ? 0 : c->leaves_us[i];
	}
}
