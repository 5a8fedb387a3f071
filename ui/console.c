#include "ui/console_priv.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/paths.h"
#include "ui/frame/coach.h"
#include "ui/frame/finder.h"
#include "ui/theme_setup.h"
#include "ui/sched_slice.h"
#include "ui/frame/transport.h"

/* A file without a writer is checked every LEFT_US.
 *
 * While there is news to read, a turn of the loop reads for SLICE_US and checks for keys in
 * between. Behind a busy writer it rests for as long after each slice: the writer needs the
 * processor, and a rested process is scheduled at once when a key comes. While keys come it
 * rests longer: the news may be a moment late. */
enum {
	LEFT_US = 100000,
	FRAME_US = 50000,
	FRAME_SSH_US = 125000,
	SLICE_US = 4000,
	REST_US = 4000,
	REST_KEYS_US = 16000,
	KEYS_US = 1000000
};

/* --- what wakes us ---------------------------------------------------------------------------- */

bool console_key_waits(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	return poll(&p, 1, 0) > 0;
}

/* Messages of the program that started this console; older results of a save are dropped. */
static void console_read_notes(struct console *c)
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

/* run --watch: how long the user's change took to show. */
static void say_saved(struct console *c)
{
	int64_t us = c->nr ? c->src[0]->model.saved_us : 0;
	if (!us || c->told_saved || c->o->replay)
		return;
	c->told_saved = true;
	ui_say(&c->ui, ROLE_TEXT, "script saved: its first new action came after %lld ms",
	       (long long)us / 1000);
}

/* Time until the screen changes without a key; false: no limit. */
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

/* ppoll takes no signal while there is something to read, and a busy console always has
 * something. */
static void let_signals_in(const struct console *c)
{
	sigset_t blocked;
	sigprocmask(SIG_SETMASK, &c->outside, &blocked);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

static void console_wait_for_news(struct console *c)
{
	nfds_t nr = (nfds_t)c->nr + 4;
	for (size_t i = 0; i < c->nr; i++) {
		const struct console_source *s = &c->from[i];
		bool write = s->wants_write && !c->gone[i] && s->wants_write(s->self);
		bool known = !s->pump && ui_reading(&c->ui); /* that there is more */
		c->poll[i + 1].events = (short)((known ? 0 : POLLIN) | (write ? POLLOUT : 0));
	}
	c->poll[nr - 3] =
		(struct pollfd){ .fd = c->o->notes_fd > 0 ? c->o->notes_fd : -1, .events = POLLIN };
	c->poll[nr - 2] =
		(struct pollfd){ .fd = c->o->more ? c->o->more_fd : -1, .events = POLLIN };
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
			console_pump(c, i, c->poll[i + 1].revents & POLLIN);
	if (n > 0 && c->poll[nr - 3].revents)
		console_read_notes(c);
	if (n > 0 && c->poll[nr - 2].revents)
		console_more_sources(c);
	console_attach_again(c);
	console_let_go(c);
	c->slow = !tty_flush();
}

static void console_stop_job(struct console *c)
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
		console_stop_job(c);
	if (tty_continued()) { /* another program had the terminal and may have changed it */
		term_return();
		notify_away(&c->notify);
		c->dirty = true;
	}
}

/* --- one turn --------------------------------------------------------------------------------- */

static void take_keys(struct console *c)
{
	uint32_t k;
	while (!c->ui.quit && (k = term_key()) != KEY_NONE_) {
		c->ui.mono_us = c->key_us = clock_mono_us();
		c->ui.now_us = clock_wall_us();
		if (k == K_CTRL('z'))
			console_stop_job(c);
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

static void console_play(struct console *c)
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
	snprintf(out, 48, "%s",
		 *rule					   ? rule
		 : reason && strcmp(reason, "hold") == 0   ? "a hold"
		 : reason && strcmp(reason, "budget") == 0 ? "the budget"
		 : reason && strcmp(reason, "price") == 0  ? "an unknown price"
							   : "no rule allows it");
}

/* Agent, session, and reason of the newest pending action, for users who look elsewhere. */
static const char *where_held(const struct console *c, char *out, size_t size)
{
	char why[48];
	for (size_t i = 0; i < c->nr; i++) {
		const struct model *m = &c->src[i]->model;
		const struct model_action *act = m->nr_held && ui_waits(&c->ui, i)
							 ? model_action(m, m->held[m->nr_held - 1])
							 : NULL;
		const struct model_agent *a = act ? model_agent(m, act->agent) : NULL;
		if (!act)
			continue;
		why_held(c->src[i], act, why);
		snprintf(out, size, "%.24s of %s is pending approval, %s",
			 a ? a->name : "an action", m->id, why);
		return out;
	}
	for (size_t i = 0; i < c->nr; i++)
		if (c->src[i]->model.nr_asks && ui_waits(&c->ui, i)) {
			snprintf(out, size, "a script asks, %s", c->src[i]->model.id);
			return out;
		}
	return NULL;
}

static void console_tell(struct console *c, int64_t now)
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
static bool console_draw(struct console *c, int64_t now)
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
	bool dropped = c->ui.flush && term_flush_keys();
	c->ui.flush = false;
	if (!term_show(&c->ui.grid))
		return false;
	console_tell(c, now);
	c->drawn_us = now;
	c->dirty = c->pressed = false;
	if (dropped && (ui_top(&c->ui)->ops->where & (IN_APPROVAL | IN_QUESTION))) {
		ui_say(&c->ui, ROLE_DIM, "earlier keystrokes were ignored");
		c->dirty = true;
	}
	return true;
}

static void read_news(struct console *c)
{
	ui_sync(&c->ui);
	say_saved(c);
	console_say_gone(c);
	c->read_us = clock_mono_us();
}

/* Keys are answered before news is read, except for one slice per frame, so that typing can't
 * delay the news. */
static void read_and_draw(struct console *c)
{
	int64_t now = clock_mono_us();
	bool due = now - c->drawn_us >= c->frame_us,
	     at_once = c->pressed || c->ui.flush || c->resized;
	c->ui.mono_us = now;
	c->ui.now_us = clock_wall_us();
	if (c->dirty && !c->slow && (due || at_once)) {
		if (!at_once || now - c->read_us >= c->frame_us)
			read_news(c);
		if (at_once || !console_key_waits()) /* else one frame shows both */
			c->slow = !console_draw(c, now);
	} else if (ui_reading(&c->ui)) {
		read_news(c);
		c->dirty = true;
	}
}

static int console_loop(struct console *c)
{
	while (!c->ui.quit) {
		read_and_draw(c);
		int end = c->o->ended ? c->o->ended(c->o->self) : -1;
		if (end >= 0)
			return end;
		console_wait_for_news(c);
		if (c->taken)
			return CONSOLE_TAKEN;
		note_signals(c);
		take_keys(c);
		if (c->ui.edit)
			c->ui.wish = WISH_EDIT;
		if (c->ui.wish != WISH_NONE)
			console_suspend(c);
		term_set_mouse(!c->ui.no_mouse);
		if (c->poll[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			break; /* the terminal has gone */
		console_play(c);
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

/* Of the agent of the event that the cursor is on, else of the first. An event of the session alone
 * has no agent's screen: the fleet stays. */
static void open_first_view(struct console *c, const struct console_opts *o)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct source *s = c->src[0];
	struct event ev;
	struct err none = ERR_INIT;
	uint64_t agent = s->model.nr_agents ? s->model.agent[0].id : 0;
	if (o->at && session_event(s->session, o->at, &ev, &a, &none) == 0)
		agent = ev.kind == EV_AGENT_START ? ev.seq : ev.agent;
	if (agent || strcmp(o->view, "agent") != 0)
		ui_open(&c->ui, o->view, &(struct subject){ .agent = agent });
}

int console_main(const struct console_opts *o, struct err *err)
{
	struct console c = { .o = o, .dirty = true };
	int rc = -1, rows = 24, cols = 80;
	setlocale(LC_CTYPE, "");
	if (console_open_sources(&c, err) == 0 && term_open(err) == 0) {
		block_signals(&c);
		sched_slice();
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
		c.ui.no_next = o->no_next;
		if (o->arm_ms > 0)
			c.ui.dead_us = o->arm_ms * 1000L;
		c.ui.trust = o->host != NULL;
		if (o->greeting) /* whatever is wrong with the settings is more worth the line */
			ui_say(&c.ui, ROLE_TEXT, "%s", o->greeting);
		if (o->filter)
			filter_begin(&c.ui, o->filter);
		c.ui.limit = o->at;
		if (o->claims)
			c.ui.claimed = claimed_new(o->claims, o->claims_self, o->replay);
		c.ui.slice_us = SLICE_US;
		for (size_t i = 0; i < o->nr_sources && o->replay; i++)
			source_keep_way(c.src[i]);
		ui_sync(&c.ui);
		c.ui.browse = o->browse;
		c.ui.mono_us = clock_mono_us();
		c.ui.now_us = clock_wall_us();
		if (o->browse && o->nr_sources == 0)
			ui_begin_browse(&c.ui, o->browse);
		theme_setup_theme(&c.ui, o);
		if (o->view && strcmp(o->view, "fleet") != 0)
			open_first_view(&c, o);
		theme_setup_keys(&c.ui, o);
		rc = console_loop(&c);
		if (rc == 0 && c.ui.stopped)
			rc = CONSOLE_STOPPED;
		ui_release(&c.ui);
		sigprocmask(SIG_SETMASK, &c.outside, NULL);
		term_close();
	}
	console_close_sources(&c);
	buf_release(&c.note);
	return rc;
}
