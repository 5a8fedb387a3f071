#include "ui/console.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/paths.h"
#include "ui/away.h"
#include "ui/coach.h"
#include "ui/term/notify.h"
#include "ui/term/tty.h"
#include "ui/finder.h"
#include "ui/looks.h"
#include "ui/soon.h"
#include "ui/transport.h"

/* A file that its writer leaves is looked at every LEFT_US, LEAVING_US long.
 *
 * While there is news to read, a turn of the loop reads for SLICE_US; keys are looked at in between. Behind somebody who
 * writes on, it rests as long after each slice: who writes is what we watch, he needs the processor, and who has rested
 * gets it at once when a key comes. While keys come it rests longer: the news may be a moment late. */
enum { LEFT_US = 100000, LEAVING_US = 5000000, FRAME_US = 50000, FRAME_SSH_US = 125000, SLICE_US = 4000, REST_US = 4000, REST_KEYS_US = 16000, KEYS_US = 1000000 };

struct console {
	const struct console_opts *o;
	struct console_source from[CONSOLE_SOURCES];
	struct source *src[CONSOLE_SOURCES];
	struct act act[CONSOLE_SOURCES];
	size_t nr;
	struct pollfd poll[CONSOLE_SOURCES + 4]; /* the keyboard, sources, notes, more sessions, the terminal's output */
	bool gone[CONSOLE_SOURCES];
	bool watched[CONSOLE_SOURCES];    /* its descriptor is of watch_file */
	int64_t leaves_us[CONSOLE_SOURCES]; /* mono: until then its file is looked at; 0 nobody has touched it since */
	char told[CONSOLE_SOURCES]; /* 1 that its supervisor has gone, 2 that it has ended, which may be read after that */
	struct ui ui;
	sigset_t outside;       /* signals as they were: SIGWINCH and the like come only while we wait */
	int64_t frame_us;       /* between two frames */
	int64_t drawn_us, read_us, key_us; /* when a frame was drawn, news read, a key came, last */
	struct notify notify;
	bool dirty, resized;
	struct buf note;        /* of notes_fd: a line that has begun */
	bool taken;             /* notes_fd has ended */
	bool told_saved;
	bool pressed;           /* a person has pressed something and has seen no answer to it yet */
	bool slow;              /* the terminal has not taken the last frame yet */
};

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

static bool key_waits(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	return poll(&p, 1, 0) > 0;
}

static int add_source(struct console *c, const struct console_source *s, struct err *err)
{
	size_t i = c->nr;
	if (i == CONSOLE_SOURCES)
		return err_set(err, ERR_FULL, "at most %d sessions on one screen", CONSOLE_SOURCES);
	if (source_open(&c->src[i], s->path, err) < 0)
		return -1;
	c->src[i]->stop = key_waits;
	c->from[i] = *s;
	c->act[i] = s->act;
	bool grows = !c->o->replay || session_live(c->src[i]->session);
	int fd = s->wake_fd >= 0 ? s->wake_fd : grows ? watch_file(s->path) : -1;
	c->watched[i] = s->wake_fd < 0;
	c->poll[i + 1] = (struct pollfd){ .fd = fd, .events = POLLIN };
	c->nr++;
	return 0;
}

static int open_sources(struct console *c, struct err *err)
{
	c->poll[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	for (size_t i = 0; i < c->o->nr_sources; i++)
		if (add_source(c, &c->o->source[i], err) < 0)
			return -1;
	return 0;
}

static void close_sources(struct console *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		source_close(&c->src[i]);
		if (c->watched[i])
			fd_close(&c->poll[i + 1].fd);
	}
}

/* Sessions that began while the console is open. */
static void more_sources(struct console *c)
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
		ui_say(&c->ui, ROLE_TEXT, "session %s has begun", session_id(c->src[c->nr - 1]->session));
	}
}

/* What the one who started this console has to say; what came of the save is older news by then. */
static void read_notes(struct console *c)
{
	char text[512];
	ssize_t n = read(c->o->notes_fd, text, sizeof(text));
	c->taken = n == 0;
	c->told_saved |= n > 0;
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] != '\n') {
			buf_putc(&c->note, text[i]);
			continue;
		}
		ui_say(&c->ui, ROLE_TEXT, "%s", buf_cstr(&c->note));
		buf_reset(&c->note);
		c->dirty = true;
	}
}

/* run --watch: how long the person's change took to show. */
static void say_saved(struct console *c)
{
	int64_t us = c->src[0]->model.saved_us;
	if (!us || c->told_saved || c->o->replay)
		return;
	c->told_saved = true;
	ui_say(&c->ui, ROLE_TEXT, "saved: the first new action came %lld ms later", (long long)us / 1000);
}

static void say_gone(struct console *c)
{
	if (c->o->notes_fd > 0) /* who started it tells of the end, and what comes next */
		return;
	for (size_t i = 0; i < c->nr; i++) {
		char is = c->gone[i] ? 1 + c->src[i]->model.ended : 0;
		if (is <= c->told[i] || (is == 1 && source_reading(c->src[i]))) /* its end may not have been read yet */
			continue;
		c->told[i] = is;
		c->src[i]->lost = is == 1;
		const char *id = session_id(c->src[i]->session), *others = c->nr > 1 ? ", the others as before" : "";
		const struct model *m = &c->src[i]->model;
		bool failed = is == 2 && !m->good && strcmp(m->how, "stopped") != 0;
		const char *why = failed && m->nr_agents > 0 && m->agent[0].script ? m->agent[0].text : NULL;
		if (why && *why) /* a row has no room for it */
			ui_say(&c->ui, ROLE_ERROR, "%s %s: %s", id, m->how, why);
		else if (is == 2)
			ui_say(&c->ui, ROLE_DIM, "session %s has ended: it can only be looked at%s", id, others);
		else
			ui_say(&c->ui, ROLE_WARN, "%s", ""); /* what the screens say of it stays (ui_lost_text) */
		c->dirty = true;
	}
}

static void pump(struct console *c, size_t i, bool readable)
{
	const struct console_source *s = &c->from[i];
	if (s->pump && !c->gone[i]) {
		if (!s->pump(s->self)) {
			c->gone[i] = c->watched[i] = true;
			c->poll[i + 1].fd = watch_file(s->path);
			c->leaves_us[i] = clock_mono_us() + LEAVING_US;
			c->act[i] = (struct act){ .why_not = s->again ? "read only: its supervisor has gone; 'resume' it in another terminal" :
									"read only: its supervisor has gone; leave, 'resume' it or 'attach' anew" };
		}
		c->dirty = true;
	} else if (readable) {
		drain(c->poll[i + 1].fd);
		c->leaves_us[i] = clock_mono_us() + LEAVING_US;
		c->dirty = true;
	}
}

/* Somebody has resumed what had lost its supervisor. */
static void attach_again(struct console *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		const struct console_source *s = &c->from[i];
		int fd;
		if (!c->gone[i] || !c->leaves_us[i] || !s->again || c->src[i]->model.ended || !s->again(s->self, &c->act[i], &fd))
			continue;
		fd_close(&c->poll[i + 1].fd);
		c->poll[i + 1] = (struct pollfd){ .fd = fd, .events = POLLIN };
		c->gone[i] = c->watched[i] = c->src[i]->lost = false;
		c->leaves_us[i] = 0;
		c->told[i] = 0;
		c->dirty = true;
		ui_say(&c->ui, ROLE_OK, "%s goes on under a new supervisor; so does this screen", session_id(c->src[i]->session));
	}
}

/* Whose session has ended, or who has gone on with the record, has left the file as one: merge, undo and resume wait for
 * whoever still has it in two parts. */
static void let_go(struct console *c)
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

/* Until the screen changes by itself: false = for ever. */
static bool wait_time(const struct console *c, int64_t now, struct timespec *out)
{
	int64_t until = ui_next(&c->ui);
	if (c->dirty && !c->slow)
		until = c->pressed || c->resized ? now : c->drawn_us + c->frame_us;
	if (notify_next(&c->notify) < until)
		until = notify_next(&c->notify);
	bool typing = c->key_us > 0 && now < c->key_us + KEYS_US;
	int64_t rest = ui_growing(&c->ui) ? c->read_us + (typing ? REST_KEYS_US : REST_US) : now;
	if (ui_reading(&c->ui) && rest < until)
		until = rest;
	for (size_t i = 0; i < c->nr; i++)
		if (c->leaves_us[i] && until > now + LEFT_US)
			until = now + LEFT_US;
	if (term_key_wait_ms() >= 0 && until > now + term_key_wait_ms() * 1000)
		until = now + term_key_wait_ms() * 1000;
	if (until == INT64_MAX)
		return false;
	int64_t us = until <= now ? 0 : until - now;
	*out = (struct timespec){ .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };
	return true;
}

/* ppoll takes no signal while there is something to read, and a busy console always has something. */
static void let_signals_in(const struct console *c)
{
	sigset_t blocked;
	sigprocmask(SIG_SETMASK, &c->outside, &blocked);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

static void wait_for_news(struct console *c)
{
	nfds_t nr = (nfds_t)c->nr + 4;
	for (size_t i = 0; i < c->nr; i++) {
		const struct console_source *s = &c->from[i];
		bool write = s->wants_write && !c->gone[i] && s->wants_write(s->self);
		bool known = !s->pump && ui_reading(&c->ui); /* that there is more */
		c->poll[i + 1].events = (short)((known ? 0 : POLLIN) | (write ? POLLOUT : 0));
	}
	c->poll[nr - 3] = (struct pollfd){ .fd = c->o->notes_fd > 0 ? c->o->notes_fd : -1, .events = POLLIN };
	c->poll[nr - 2] = (struct pollfd){ .fd = c->o->more ? c->o->more_fd : -1, .events = POLLIN };
	c->poll[nr - 1] = (struct pollfd){ .fd = tty_pending() ? tty_fd() : -1, .events = POLLOUT };
	struct timespec time;
	bool timed = wait_time(c, clock_mono_us(), &time), esc = term_key_wait_ms() >= 0;
	int n = ppoll(c->poll, nr, timed ? &time : NULL, &c->outside);
	if (n > 0)
		let_signals_in(c);
	if (n == 0 && !esc)
		c->dirty = true; /* an age has grown */
	if (n <= 0)
		c->poll[0].revents = 0;
	for (size_t i = 0; i < c->nr && n > 0; i++)
		if (c->poll[i + 1].revents)
			pump(c, i, c->poll[i + 1].revents & POLLIN);
	if (n > 0 && c->poll[nr - 3].revents)
		read_notes(c);
	if (n > 0 && c->poll[nr - 2].revents)
		more_sources(c);
	attach_again(c);
	let_go(c);
	c->slow = !tty_flush();
}

/* --- away from the screen ----------------------------------------------------------------------------------------- */

static void copy(struct console *c, const char *text, size_t len)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const char *program = clip_program(text, len);
	if (len <= CLIP_MAX && tty_modern()) {
		clip_sequence(text, len, &b);
		tty_put(b.data, b.len);
		tty_flush();
	} else if (!program) {
		ui_say(&c->ui, ROLE_WARN,
		       "%zu bytes are too many for the terminal's clipboard: w writes them to a file", len);
		return;
	}
	ui_say(&c->ui, ROLE_DIM, "copied %zu byte%s%s%s", len, len == 1 ? "" : "s", program ? " with " : " (OSC 52)", program ? program : "");
}

/* @where: "SESSION BOX" */
static void shell(struct console *c, const char *where)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *session = xstrndup(where, strcspn(where, " "));
	const char *box = where + strlen(session) + 1;
	if (!c->o->shell) {
		ui_say(&c->ui, ROLE_DIM, "no shell from here: sandglass shell %s --in %s", box, session);
		return;
	}
	term_leave();
	printf("your own shell in %s; it is recorded as yours; exit or Ctrl-D comes back\n", box);
	fflush(stdout);
	uint64_t since = 0;
	for (size_t i = 0; i < c->nr; i++)
		since = strcmp(session_id(c->src[i]->session), session) == 0 ? c->src[i]->model.head : since;
	int status = c->o->shell(c->o->self, session, box, &err);
	term_return();
	if (status < 0)
		ui_say(&c->ui, ROLE_ERROR, "%s", err.text);
	else
		ui_shell_ended(&c->ui, session, box, since, status);
}

/* @what: "SESSION COMMAND" */
static void host(struct console *c, const char *what)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *session = xstrndup(what, strcspn(what, " "));
	const char *cmd = what + strlen(session) + 1;
	int key;
	term_leave();
	printf("$ %s\n", cmd);
	fflush(stdout);
	int status = c->o->host(c->o->self, session, cmd, &err);
	if (status >= 0)
		printf("-- exit %d; recorded as yours; Enter comes back ", status);
	fflush(stdout);
	while (status >= 0 && (key = getchar()) != EOF && key != '\n')
		;
	clearerr(stdin);
	term_return();
	if (status < 0 || err.code != ERR_NONE)
		ui_say(&c->ui, ROLE_ERROR, "%s", err.text);
	else
		ui_say(&c->ui, ROLE_DIM, "exit %d: %s", status, cmd);
}

/* What a screen wanted done that takes the terminal. */
static void away(struct console *c)
{
	CLEANUP(buf_release) struct buf text = c->ui.wish_text, back = BUF_INIT;
	enum ui_wish wish = c->ui.wish;
	const char *s = buf_cstr(&text), *why = "";
	c->ui.wish = WISH_NONE;
	c->ui.wish_text = BUF_INIT;
	c->dirty = true;
	notify_away(&c->notify);
	switch (wish) {
	case WISH_NONE:
		break;
	case WISH_EDIT:
		ui_edited(&c->ui, away_edit(c->ui.edit, &back) ? buf_cstr(&back) : NULL);
		break;
	case WISH_LOOK:
		if (!away_edit(s, &back))
			ui_say(&c->ui, ROLE_ERROR, "the editor ($VISUAL, $EDITOR) could not be run");
		break;
	case WISH_PAGE:
		if (!away_page(c->o->pager, s, text.len))
			ui_say(&c->ui, ROLE_ERROR, "the pager ($PAGER) could not be run");
		break;
	case WISH_PLAIN:
		away_plain(s, text.len);
		break;
	case WISH_COMPARE:
		if (!away_compare(&text, &why))
			ui_say(&c->ui, ROLE_ERROR, "%s", why);
		break;
	case WISH_SHELL:
		shell(c, s);
		break;
	case WISH_HOST:
		host(c, s);
		break;
	case WISH_COPY:
		copy(c, s, text.len);
		break;
	}
}

static void suspend(struct console *c)
{
	term_leave();
	tty_stop();
	term_return();
	notify_away(&c->notify);
	c->dirty = true;
}

static void note_signals(struct console *c)
{
	if (tty_resized())
		c->resized = c->dirty = true;
	if (tty_stop_wanted())
		suspend(c);
	if (tty_continued()) { /* somebody else had the terminal and has left it as he liked */
		term_return();
		notify_away(&c->notify);
		c->dirty = true;
	}
}

/* --- one turn ----------------------------------------------------------------------------------------------------- */

static void take_keys(struct console *c)
{
	uint32_t k;
	while (!c->ui.quit && (k = term_key()) != KEY_NONE_) {
		c->ui.mono_us = c->key_us = clock_mono_us();
		c->ui.now_us = clock_wall_us();
		if (k == K_CTRL('z'))
			suspend(c);
		else if (k == K_FOCUS_IN || k == K_FOCUS_OUT)
			notify_focus(&c->notify, k == K_FOCUS_IN);
		else if (k == K_MOUSE)
			ui_mouse(&c->ui, term_mouse());
		else
			ui_key(&c->ui, k);
		c->dirty = c->pressed = true;
		if (c->ui.flush)
			break; /* what was typed ahead was not meant for the new screen */
	}
}

static void play(struct console *c)
{
	c->ui.mono_us = clock_mono_us();
	if (c->ui.playing && transport_tick(&c->ui))
		c->dirty = true;
}

/* The rule that held it, or what else did; words of rules, no bytes of a command. */
static void why_held(struct source *s, const struct model_action *act, char out[48])
{
	CLEANUP(json_release) json_t *held = source_body(s, act->held);
	const char *reason = json_string_value(json_array_get(json_object_get(held, "reasons"), 0));
	const char *rule = json_str(held, "rule", "");
	snprintf(out, 48, "%s", *rule ? rule : reason && strcmp(reason, "hold") == 0 ? "a hold" :
		 reason && strcmp(reason, "budget") == 0 ? "the budget" : "no rule allows it");
}

/* Agent, session and reason of what was held last, for people who do not look at this screen. */
static const char *where_held(const struct console *c, char *out, size_t size)
{
	char why[48];
	for (size_t i = 0; i < c->nr; i++) {
		const struct model *m = &c->src[i]->model;
		const struct model_action *act = m->nr_held && ui_waits(&c->ui, i) ? model_action(m, m->held[m->nr_held - 1]) : NULL;
		const struct model_agent *a = act ? model_agent(m, act->agent) : NULL;
		if (!act)
			continue;
		why_held(c->src[i], act, why);
		snprintf(out, size, "%.24s of %s waits for you, %s", a ? a->name : "an action", m->id, why);
		return out;
	}
	for (size_t i = 0; i < c->nr; i++)
		if (c->src[i]->model.nr_asks && ui_waits(&c->ui, i)) {
			snprintf(out, size, "a script asks, %s", c->src[i]->model.id);
			return out;
		}
	return NULL;
}

static void tell(struct console *c, int64_t now)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	char where[96];
	size_t waits = 0;
	for (size_t i = 0; i < c->nr; i++)
		waits += ui_waits(&c->ui, i);
	if (c->ui.bell)
		notify_held(&c->notify);
	c->ui.bell = false;
	if (c->o->replay)
		return;
	bool due = notify_next(&c->notify) <= now;
	notify_due(&c->notify, waits, due ? where_held(c, where, sizeof(where)) : NULL, now, &b);
	notify_title(&c->notify, waits, &b);
	if (b.len == 0)
		return;
	tty_put(b.data, b.len);
	tty_flush();
}

/* False: the terminal is slow; the screen stays to be drawn, from what holds then. */
static bool draw(struct console *c, int64_t now)
{
	int rows, cols;
	term_size(&rows, &cols);
	c->resized = false;
	if (rows != c->ui.grid.rows || cols != c->ui.grid.cols)
		ui_resize(&c->ui, rows, cols);
	ui_draw(&c->ui);
	if (c->ui.redraw)
		term_redraw();
	c->ui.redraw = false;
	if (c->ui.flush)
		term_flush_keys();
	c->ui.flush = false;
	if (!term_show(&c->ui.grid))
		return false;
	tell(c, now);
	c->drawn_us = now;
	c->dirty = c->pressed = false;
	return true;
}

static void read_news(struct console *c)
{
	ui_sync(&c->ui);
	say_saved(c);
	say_gone(c);
	c->read_us = clock_mono_us();
}

/* Keys are answered before news is read, but for one slice a frame, so that nobody can hold news up by typing. */
static void read_and_draw(struct console *c)
{
	int64_t now = clock_mono_us();
	bool due = now - c->drawn_us >= c->frame_us, at_once = c->pressed || c->ui.flush || c->resized;
	c->ui.mono_us = now;
	c->ui.now_us = clock_wall_us();
	if (c->dirty && !c->slow && (due || at_once)) {
		if (!at_once || now - c->read_us >= c->frame_us)
			read_news(c);
		if (at_once || !key_waits()) /* else one frame shows both */
			c->slow = !draw(c, now);
	} else if (ui_reading(&c->ui)) {
		read_news(c);
		c->dirty = true;
	}
}

static int loop(struct console *c)
{
	while (!c->ui.quit) {
		read_and_draw(c);
		int end = c->o->ended ? c->o->ended(c->o->self) : -1;
		if (end >= 0)
			return end;
		wait_for_news(c);
		if (c->taken)
			return CONSOLE_TAKEN;
		note_signals(c);
		take_keys(c);
		if (c->ui.edit)
			c->ui.wish = WISH_EDIT;
		if (c->ui.wish != WISH_NONE)
			away(c);
		term_set_mouse(!c->ui.no_mouse);
		if (c->poll[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			break; /* the terminal has gone */
		play(c);
	}
	return 0;
}

static void block_signals(struct console *c)
{
	static const int waited[] = { SIGWINCH, SIGTSTP, SIGCONT };
	sigset_t mask;
	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_LEN(waited); i++)
		sigaddset(&mask, waited[i]);
	sigprocmask(SIG_BLOCK, &mask, &c->outside);
	for (size_t i = 0; i < ARRAY_LEN(waited); i++)
		sigdelset(&c->outside, waited[i]);
}

int console_main(const struct console_opts *o, struct err *err)
{
	struct console c = { .o = o, .dirty = true };
	int rc = -1, rows = 24, cols = 80;
	setlocale(LC_CTYPE, "");
	if (open_sources(&c, err) == 0 && term_open(err) == 0) {
		block_signals(&c);
		soon_please();
		c.frame_us = getenv("SSH_CONNECTION") ? FRAME_SSH_US : FRAME_US;
		notify_init(&c.notify);
		c.notify.quiet = o->quiet;
		term_size(&rows, &cols);
		ui_init(&c.ui, c.src, c.act, c.nr, rows, cols, !term_utf8());
		CLEANUP(free_ptr) char *history = paths_state("history");
		history_file(&c.ui, history);
		CLEANUP(free_ptr) char *marks = paths_state("marks");
		marks_folder(&c.ui, marks);
		CLEANUP(free_ptr) char *seen = paths_state("hints");
		if (o->hints != CONSOLE_HINTS_NONE)
			c.ui.coach = coach_new(o->hints == CONSOLE_HINTS_NEW ? seen : NULL);
		c.ui.replay = o->replay;
		if (o->arm_ms > 0)
			c.ui.dead_us = o->arm_ms * 1000L;
		c.ui.trust = o->host != NULL;
		if (o->greeting) /* whatever is wrong with the settings is more worth the line */
			ui_say(&c.ui, ROLE_TEXT, "%s", o->greeting);
		if (o->filter)
			filter_begin(&c.ui, o->filter);
		c.ui.limit = o->at;
		c.ui.slice_us = SLICE_US;
		for (size_t i = 0; i < o->nr_sources && o->replay; i++)
			source_keep_way(c.src[i]);
		ui_sync(&c.ui);
		looks_theme(&c.ui, o);
		if (o->view && strcmp(o->view, "fleet") != 0)
			ui_open(&c.ui, o->view,
				&(struct subject){ .agent = c.src[0]->model.nr_agents ? c.src[0]->model.agent[0].id
										      : 0 });
		looks_keys(&c.ui, o);
		rc = loop(&c);
		ui_release(&c.ui);
		sigprocmask(SIG_SETMASK, &c.outside, NULL);
		term_close();
	}
	close_sources(&c);
	buf_release(&c.note);
	return rc;
}

static void close_all(struct source **src, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		source_close(&src[i]);
}

int console_screen(const struct screen_opts *o, FILE *to, struct err *err)
{
	struct source *src[CONSOLE_SOURCES] = { NULL };
	size_t nr = 0;
	struct ui ui;
	if (o->view && !view_find(o->view))
		return err_set(err, ERR_USAGE,
			       "there is no view '%s'; there are fleet, agent, approval, queue, diff, log, help",
			       o->view);
	for (; nr < o->nr_beside + 1 && nr < CONSOLE_SOURCES; nr++)
		if (source_open(&src[nr], nr == 0 ? o->path : o->beside[nr - 1], err) < 0) {
			close_all(src, nr);
			return -1;
		}
	const struct source *s = src[0];
	ui_init(&ui, src, NULL, nr, o->rows, o->cols, o->ascii);
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
	close_all(src, nr);
	return 0;
}
