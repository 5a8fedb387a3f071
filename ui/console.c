#include "ui/console.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "ui/ui.h"

enum { MAX_SOURCES = 16, FRAME_US = 50000, BELL_US = 10000000 };

struct console {
	const struct console_opts *o;
	struct source *src[MAX_SOURCES];
	struct act act[MAX_SOURCES];
	struct pollfd poll[MAX_SOURCES + 1]; /* the keyboard first */
	bool gone[MAX_SOURCES];
	struct ui ui;
	sigset_t outside;       /* signals as they were: SIGWINCH comes only while we wait */
	int64_t drawn_us, bell_us;
	bool dirty;
};

static volatile sig_atomic_t resized;

static void on_winch(int sig)
{
	(void)sig;
	resized = 1;
}

/* --- what wakes us ------------------------------------------------------------------------------------------------ */

/* A file that nobody announces: its writer touches the file or its WAL at each commit. */
static int watch_file(const char *path)
{
	CLEANUP(free_ptr) char *wal = xasprintf("%s-wal", path);
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0)
		return -1;
	inotify_add_watch(fd, path, IN_MODIFY);
	inotify_add_watch(fd, wal, IN_MODIFY);
	return fd;
}

static void drain(int fd)
{
	char junk[4096];
	ssize_t n;
	do
		n = read(fd, junk, sizeof(junk));
	while (n > 0 || (n < 0 && errno == EINTR));
}

static int open_sources(struct console *c, struct err *err)
{
	c->poll[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	for (size_t i = 0; i < c->o->nr_sources; i++) {
		const struct console_source *s = &c->o->source[i];
		if (source_open(&c->src[i], s->path, err) < 0)
			return -1;
		c->act[i] = s->act;
		bool live = !c->o->replay;
		int fd = s->wake_fd >= 0 ? s->wake_fd : live ? watch_file(s->path) : -1;
		c->poll[i + 1] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	return 0;
}

static void close_sources(struct console *c)
{
	for (size_t i = 0; i < c->o->nr_sources && i < MAX_SOURCES; i++) {
		source_close(&c->src[i]);
		if (c->o->source[i].wake_fd < 0)
			fd_close(&c->poll[i + 1].fd);
	}
}

static void pump(struct console *c, size_t i, bool readable)
{
	const struct console_source *s = &c->o->source[i];
	if (c->gone[i])
		return;
	if (s->pump) {
		if (!s->pump(s->self)) {
			c->gone[i] = true;
			c->poll[i + 1].fd = -1;
			c->act[i].command = NULL;
			ui_say(&c->ui, ROLE_DIM, "the supervisor has gone: read only");
		}
		c->dirty = true;
	} else if (readable) {
		drain(c->poll[i + 1].fd);
		c->dirty = true;
	}
}

/* Until the screen changes by itself: false = for ever. */
static bool wait_time(const struct console *c, int64_t now, struct timespec *out)
{
	int64_t until = ui_next(&c->ui);
	if (c->dirty) {
		until = c->drawn_us + FRAME_US;
	} else if (c->ui.playing) {
		until = now + 300000;
	}
	if (until == INT64_MAX)
		return false;
	int64_t us = until <= now ? 0 : until - now;
	*out = (struct timespec){ .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };
	return true;
}

static void wait_for_news(struct console *c)
{
	nfds_t nr = (nfds_t)c->o->nr_sources + 1;
	for (size_t i = 0; i < c->o->nr_sources; i++) {
		const struct console_source *s = &c->o->source[i];
		bool write = s->wants_write && !c->gone[i] && s->wants_write(s->self);
		c->poll[i + 1].events = (short)(POLLIN | (write ? POLLOUT : 0));
	}
	struct timespec time;
	bool timed = wait_time(c, clock_mono_us(), &time);
	int n = ppoll(c->poll, nr, timed ? &time : NULL, &c->outside);
	if (n == 0)
		c->dirty = true; /* an age has grown */
	for (size_t i = 0; i < c->o->nr_sources && n > 0; i++)
		if (c->poll[i + 1].revents)
			pump(c, i, c->poll[i + 1].revents & POLLIN);
}

/* --- the editor --------------------------------------------------------------------------------------------------- */

static int run_editor(const char *path)
{
	const char *editor = getenv("VISUAL");
	if (!editor || !*editor)
		editor = getenv("EDITOR");
	if (!editor || !*editor)
		editor = "vi";
	CLEANUP(free_ptr) char *script = xasprintf("%s \"$1\"", editor);
	pid_t pid = fork();
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execl("/bin/sh", "sh", "-c", script, "sh", path, (char *)NULL);
		_exit(127);
	}
	int status = -1;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void edit(struct console *c)
{
	struct err err = ERR_INIT;
	char path[] = "/tmp/sandglass-edit-XXXXXX";
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(fd_close) int fd = mkostemp(path, O_CLOEXEC);
	const char *before = c->ui.edit;
	bool ok = fd >= 0 && fd_write_all(fd, before, strlen(before), &err) == 0;
	term_leave();
	ok = ok && run_editor(path) == 0 && file_read(path, &text, 1 << 20, &err) == 0;
	term_return();
	if (fd >= 0)
		unlink(path);
	/* editors end a file with a line end that nobody typed */
	if (text.len > 0 && text.data[text.len - 1] == '\n' && (!*before || before[strlen(before) - 1] != '\n'))
		text.data[--text.len] = 0;
	ui_edited(&c->ui, ok && memchr(buf_cstr(&text), 0, text.len) == NULL ? buf_cstr(&text) : NULL);
	c->dirty = true;
}

/* --- one turn ----------------------------------------------------------------------------------------------------- */

static void take_keys(struct console *c)
{
	uint32_t k;
	while (!c->ui.quit && (k = term_key()) != KEY_NONE_) {
		c->ui.mono_us = clock_mono_us();
		c->ui.now_us = clock_wall_us();
		if (k == K_RESIZE)
			resized = 1;
		else if (k == K_CTRL('z'))
			term_leave(), raise(SIGTSTP), term_return();
		else
			ui_key(&c->ui, k);
		c->dirty = true;
		if (c->ui.flush)
			break; /* what was typed ahead was not meant for the new screen */
	}
}

static void play(struct console *c)
{
	uint64_t before = c->src[0]->model.head;
	if (!c->ui.playing)
		return;
	ui_common_verb(&c->ui, VERB_REPLAY_NEXT, &(struct subject){ 0 });
	c->ui.playing = c->src[0]->model.head != before;
	c->dirty = true;
}

static void draw(struct console *c, int64_t now)
{
	int rows, cols;
	term_size(&rows, &cols);
	resized = 0;
	if (rows != c->ui.grid.rows || cols != c->ui.grid.cols)
		ui_resize(&c->ui, rows, cols);
	ui_draw(&c->ui);
	if (c->ui.redraw)
		term_redraw();
	c->ui.redraw = false;
	if (c->ui.flush)
		term_flush_keys();
	c->ui.flush = false;
	term_show(&c->ui.grid);
	if (c->ui.bell && now - c->bell_us >= BELL_US) {
		term_bell();
		c->bell_us = now;
	}
	c->ui.bell = false;
	c->drawn_us = now;
	c->dirty = false;
}

static int loop(struct console *c)
{
	while (!c->ui.quit) {
		int64_t now = clock_mono_us();
		c->ui.mono_us = now;
		c->ui.now_us = clock_wall_us();
		if (c->dirty && (now - c->drawn_us >= FRAME_US || c->ui.flush || resized)) {
			ui_sync(&c->ui);
			draw(c, now);
		}
		int end = c->o->ended ? c->o->ended(c->o->self) : -1;
		if (end >= 0)
			return end;
		wait_for_news(c);
		c->dirty = c->dirty || resized;
		take_keys(c);
		if (c->ui.edit)
			edit(c);
		if (c->poll[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			break; /* the terminal has gone */
		play(c);
		if (c->ui.flush || c->dirty)
			c->drawn_us -= c->poll[0].revents ? FRAME_US : 0; /* an answer to a key waits for no frame */
	}
	return 0;
}

int console_main(const struct console_opts *o, struct err *err)
{
	struct console c = { .o = o, .dirty = true };
	int rc = -1, rows = 24, cols = 80;
	struct sigaction winch = { .sa_handler = on_winch };
	sigset_t mask;
	setlocale(LC_CTYPE, "");
	if (o->nr_sources > MAX_SOURCES)
		return err_set(err, ERR_FULL, "at most %d sessions on one screen", MAX_SOURCES);
	if (open_sources(&c, err) == 0 && term_open(theme_choose(o->theme), !term_utf8(), err) == 0) {
		sigaction(SIGWINCH, &winch, NULL);
		sigemptyset(&mask);
		sigaddset(&mask, SIGWINCH);
		sigprocmask(SIG_BLOCK, &mask, &c.outside);
		term_size(&rows, &cols);
		ui_init(&c.ui, c.src, c.act, o->nr_sources, rows, cols, !term_utf8());
		c.ui.replay = o->replay;
		c.ui.limit = o->at;
		ui_sync(&c.ui);
		c.ui.bell = false;
		if (o->view && strcmp(o->view, "fleet") != 0)
			ui_open(&c.ui, o->view,
				&(struct subject){ .agent = c.src[0]->model.nr_agents ? c.src[0]->model.agent[0].id
										      : 0 });
		if (o->greeting)
			ui_say(&c.ui, ROLE_TEXT, "%s", o->greeting);
		rc = loop(&c);
		ui_release(&c.ui);
		sigprocmask(SIG_SETMASK, &c.outside, NULL);
		term_close();
	}
	close_sources(&c);
	return rc;
}

int console_screen(const struct screen_opts *o, FILE *to, struct err *err)
{
	struct source *s = NULL;
	struct ui ui;
	if (o->view && !view_find(o->view))
		return err_set(err, ERR_USAGE,
			       "there is no view '%s'; there are fleet, agent, approval, queue, diff, log, help",
			       o->view);
	if (source_open(&s, o->path, err) < 0)
		return -1;
	ui_init(&ui, &s, NULL, 1, o->rows, o->cols, o->ascii);
	ui.replay = true;
	ui.limit = o->seq;
	ui_sync(&ui);
	struct subject on = { .action = o->action };
	const struct model_action *act = model_action(&s->model, o->action);
	on.agent = act ? act->agent : s->model.nr_agents > 0 ? s->model.agent[0].id : 0;
	if (o->view && strcmp(o->view, "fleet") != 0)
		ui_open(&ui, o->view, &on);
	ui_draw(&ui);
	term_dump(&ui.grid, to);
	ui_release(&ui);
	source_close(&s);
	return 0;
}
