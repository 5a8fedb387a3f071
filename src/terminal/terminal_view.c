#include "terminal/terminal_view.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "terminal/operator_tty.h"
#include "terminal/past_screen.h"
#include "terminal/terminal_view_priv.h"
#include "base/fd.h"
#include "record/record.h"
#include "ui/term/foreground.h"

enum {
	CALL_MS = 10000,
	/* the delay in which a sequence that may be the prefix key must be complete */
	BEGUN_MS = 15,
	LOOK_MS = 25, /* at the recording, when its end must come */
	TYPE_PIECE = 64 << 10,
	/* silence of the program after which its output becomes cells: a little, or much of it */
	QUIET_MS = 20,
	FLOOD_QUIET_MS = 200,
	FLOOD = 64 << 10,
	RAW_MAX = 1 << 20, /* of earlier output that the first client gets as it is */
	SETTLE_MS = 60,	   /* delay of the last output of a program that has stopped */
};

void view_write(struct attached_view *v, const void *bytes, size_t len)
{
	struct err err = ERR_INIT;
	if (len && fd_write_all(1, bytes, len, &err) < 0)
		v->lost = true;
}

void view_write_buf(struct attached_view *v, const struct buf *b)
{
	view_write(v, b->data, b->len);
}

json_t *view_words(const char *verb, uint64_t id)
{
	char number[24];
	snprintf(number, sizeof(number), "%" PRIu64, id);
	return json_pack("[s, s]", verb, number);
}

static json_t *size_opts(const struct winsize *size)
{
	char cols[16], rows[16], x[16], y[16];
	snprintf(cols, sizeof(cols), "%d", size->ws_col ? size->ws_col : 80);
	snprintf(rows, sizeof(rows), "%d", size->ws_row ? size->ws_row : 24);
	snprintf(x, sizeof(x), "%d", size->ws_xpixel);
	snprintf(y, sizeof(y), "%d", size->ws_ypixel);
	return json_pack("{s:s, s:s, s:s, s:s}", "cols", cols, "rows", rows, "xpixel", x, "ypixel",
			 y);
}

static void view_send_window(struct attached_view *v, const struct winsize *size)
{
	control_client_send(v->c, view_words("resize", v->u->action), size_opts(size));
}

static void terminal_view_signal(struct attached_view *v, const char *name)
{
	control_client_send(v->c, view_words("terminal", v->u->action),
			    json_pack("{s:s}", "signal", name));
}

void view_jiggle(struct attached_view *v)
{
	struct winsize less = v->size;
	if (less.ws_col > 2)
		less.ws_col--;
	view_send_window(v, &less);
	view_send_window(v, &v->size);
}

void view_repaint(struct attached_view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	screen_model_paint(v->screen, &out);
	view_write_buf(v, &out);
}

/* --- output --- */

static void model_feed(struct attached_view *v, const void *bytes, size_t len)
{
	modes_feed(&v->inner, bytes, len);
	screen_model_feed(v->screen, bytes, len);
}

/* An action of this agent is pending, or the status was requested: the window's title shows it
 * between two sequences. */
static void title_look(struct attached_view *v)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT, out = BUF_INIT;
	bool waits = overlay_waiting(v->state, v->agent) > 0, wanted = waits || v->title;
	if (!v->ready || v->overlay || !modes_quiet(&v->inner) || (!wanted && !v->titled))
		return;
	const struct overlay_facts f = view_overlay_facts(v);
	overlay_line(&f, &line);
	buf_printf(&out, "\x1b]0;%s\a%s", wanted ? buf_cstr(&line) : v->inner.title,
		   waits && !v->titled ? "\a" : "");
	v->titled = wanted;
	view_write_buf(v, &out);
}

static void on_tty(void *self, uint64_t action, const void *bytes, size_t len)
{
	struct attached_view *v = self;
	if (action != v->u->action)
		return;
	if (!len) {
		v->over = true;
	} else if (!v->ready) {
		buf_append(&v->early, bytes, len);
	} else if (v->overlay) {
		model_feed(v, bytes, len);
		if (v->closing && modes_quiet(&v->inner))
			view_overlay_close_now(v);
	} else {
		view_write(v, bytes, len);
		model_feed(v, bytes, len);
	}
}

static void terminal_view_on_state(void *self, const json_t *state)
{
	struct attached_view *v = self;
	json_decref(v->state);
	v->state = json_deep_copy(state);
	view_overlay_rest(v);
	title_look(v);
}

static void on_view_head(void *self, uint64_t head)
{
	struct attached_view *v = self;
	(void)head;
	v->news = true;
}

static void on_view_reply(void *self, uint64_t id, const json_t *result, const struct err *err)
{
	struct attached_view *v = self;
	if (id == v->copying && !err && !json_object_get(result, "held")) {
		control_client_type(v->c, v->u->action, v->put_path, strlen(v->put_path));
		view_note(v, "copied to %s", v->put_path);
		if (v->overlay)
			view_overlay_close(v);
	} else if (id == v->copying) {
		view_note(v, "%s",
			  err ? err->text : json_str(result, "held", "it is pending approval"));
	} else if (id == v->deciding) {
		view_note(v, "%s", err ? err->text : "done");
		v->decided = !err;
	} else {
		return;
	}
	view_overlay_rest(v);
}

static const struct control_client_ops view_ops = {
	.tty = on_tty, .state = terminal_view_on_state, .reply = on_view_reply, .head = on_view_head
};

/* --- the recording --- */

static void view_event(struct attached_view *v, const struct event *ev)
{
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *body =
		json_parse(ev->body ? ev->body : "{}", ev->body ? ev->len : 2, "event", &none);
	if (ev->kind == EV_ACTION_ENDED) {
		int64_t signo = json_int(body, "signal", 0);
		v->ended = true;
		v->status =
			signo ? 128 + (int)signo
			      : (int)json_int(body, "code",
					      strcmp(json_str(body, "end", ""), "ok") == 0 ? 0 : 1);
	} else if (ev->kind == EV_TERMINAL_DETACHED &&
		   !strcmp(json_str(body, "why", ""), "taken over")) {
		v->taken = v->over; /* an earlier one was another's */
	} else if (ev->kind == EV_TERMINAL_ATTACHED) {
		v->stopped = false; /* attaching continues the program */
	} else if (ev->kind == EV_TERMINAL_STOPPED) {
		v->stopped = json_flag(body, "stopped", false);
	}
}

static int view_events(struct attached_view *v, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	int rc;
	while ((rc = feed_next(v->f, &ev, &a, 0, err)) == 1) {
		view_event(v, &ev);
		arena_reset(&a);
	}
	return rc;
}

static bool past_view_event(void *self, const struct event *ev)
{
	struct attached_view *v = self;
	view_event(v, ev);
	return !v->ended;
}

static void past_view_output(void *self, const struct buf *bytes)
{
	view_write_buf(self, bytes);
}

/* The program's earlier output up to @offset. Raw: to the terminal as well, if it is not long. */
static int past_output(struct attached_view *v, uint64_t offset, bool raw, struct err *err)
{
	const struct past_screen p = { .session = v->u->session,
				       .action = v->u->action,
				       .offset = offset,
				       .screen = v->screen,
				       .modes = &v->inner,
				       .event = past_view_event,
				       .output = raw ? past_view_output : NULL,
				       .self = v };
	return past_screen_read(&p, v->f, err);
}

/* --- coming --- */

static int view_tie(struct attached_view *v, json_t **answer, struct err *err)
{
	json_t *opts = size_opts(&v->size);
	if (v->u->take)
		json_put_flag(opts, "take", true);
	return control_client_call(v->c, view_words("terminal", v->u->action), opts, CALL_MS,
				   answer, err);
}

static void view_begin(struct attached_view *v, bool painted)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT, early = v->early;
	v->early = BUF_INIT;
	screen_model_resize(v->screen, v->size.ws_row, v->size.ws_col);
	if (painted) {
		modes_repeat(&v->inner, true, &out);
		buf_puts(&out, "\x1b[2J");
		screen_model_paint(v->screen, &out);
		view_write_buf(v, &out);
	}
	v->ready = true;
	if (early.len)
		on_tty(v, v->u->action, early.data, early.len);
	if (painted)
		view_jiggle(v);
	title_look(v);
}

/* Its start itself waits for approval. */
static bool terminal_view_held(const struct attached_view *v)
{
	const json_t *held = json_object_get(v->state, "held");
	for (size_t i = 0; i < json_array_size(held); i++)
		if ((uint64_t)json_int(json_array_get(held, i), "action", 0) == v->u->action)
			return true;
	return false;
}

static int view_attach(struct attached_view *v, struct err *err)
{
	CLEANUP(json_release) json_t *answer = NULL;
	if (view_tie(v, &answer, err) < 0)
		return -1;
	uint64_t offset = (uint64_t)json_int(answer, "offset", 0);
	bool first = json_flag(answer, "first", false) && offset <= RAW_MAX;
	v->agent = (uint64_t)json_int(answer, "agent", 0);
	v->box = (uint64_t)json_int(answer, "box", 0);
	snprintf(v->name, sizeof(v->name), "%s", json_str(answer, "name", "program"));
	v->screen = screen_model_new(v->size.ws_row, v->size.ws_col);
	if (!json_flag(answer, "runs", false) && terminal_view_held(v))
		fprintf(stderr,
			"%s is pending approval: Ctrl-%c y approves it, Ctrl-%c n denies it, Ctrl-%c d leaves\r\n",
			v->name, v->u->prefix + '@', v->u->prefix + '@', v->u->prefix + '@');
	view_write(v, "\x1b[22;2t", 7);
	if (past_output(v, offset, first, err) < 0)
		return -1;
	view_begin(v, offset > 0 && !first);
	if (json_flag(answer, "stopped", false))
		terminal_view_signal(v, "CONT");
	return 0;
}

/* --- going on --- */

static void view_typed(struct attached_view *v)
{
	static char bytes[TYPE_PIECE];
	ssize_t n = read(0, bytes, sizeof(bytes));
	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
		v->detached = true; /* the terminal is gone */
		return;
	}
	for (size_t at = 0; n > 0 && at < (size_t)n;) {
		CLEANUP(buf_release) struct buf out = BUF_INIT;
		bool hit;
		if (v->overlay) {
			view_overlay_typed(v, bytes + at, (size_t)n - at);
			return;
		}
		at += prefix_keys_scan(&v->keys, bytes + at, (size_t)n - at, &out, &hit);
		if (out.len)
			control_client_type(v->c, v->u->action, out.data, out.len);
		if (hit)
			view_overlay_open(v);
	}
}

static void keys_flush(struct attached_view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	prefix_keys_flush(&v->keys, &out);
	if (out.len)
		control_client_type(v->c, v->u->action, out.data, out.len);
}

static void terminal_view_settle(struct attached_view *v)
{
	struct pollfd p = { .fd = control_client_fd(v->c), .events = POLLIN };
	while (!v->lost && poll(&p, 1, SETTLE_MS) > 0)
		v->lost = !control_client_pump(v->c);
}

/* The program has stopped itself: restores the terminal and stops this process, too. Continuing
 * this process (fg) continues the program. */
static void view_suspend(struct attached_view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT, again = BUF_INIT;
	terminal_view_settle(v);
	if (v->overlay)
		view_overlay_close_now(v);
	modes_undo(&v->inner, false, &out);
	view_write_buf(v, &out);
	operator_tty_give_back(v->inner.nr_set > 0);
	foreground_stop();
	operator_tty_take();
	ioctl(0, TIOCGWINSZ, &v->size);
	modes_repeat(&v->inner, true, &again);
	view_write_buf(v, &again);
	screen_model_resize(v->screen, v->size.ws_row, v->size.ws_col);
	if (modes_alternate(&v->inner))
		view_repaint(v);
	v->stopped = false;
	terminal_view_signal(v, "CONT");
	view_jiggle(v);
}

static void view_signals(struct attached_view *v)
{
	struct signalfd_siginfo si;
	while (read(v->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGTSTP) {
			terminal_view_signal(v, "TSTP");
			continue;
		}
		if (ioctl(0, TIOCGWINSZ, &v->size) < 0)
			continue;
		screen_model_resize(v->screen, v->size.ws_row, v->size.ws_col);
		view_send_window(v, &v->size);
		if (v->overlay) {
			view_repaint(v);
			view_overlay_show(v);
		}
	}
}

static int view_patience(const struct attached_view *v)
{
	if (v->keys.nr_begun)
		return BEGUN_MS;
	if (v->over)
		return LOOK_MS;
	size_t pending = screen_model_pending(v->screen);
	return !pending ? -1 : pending > FLOOD ? FLOOD_QUIET_MS : QUIET_MS;
}

static int view_loop(struct attached_view *v, struct err *err)
{
	while (!v->detached && !v->ended && !v->taken && !v->lost) {
		struct pollfd p[3] = { { .fd = 0, .events = POLLIN },
				       { .fd = control_client_fd(v->c), .events = POLLIN },
				       { .fd = v->signals, .events = POLLIN } };
		if (control_client_wants_write(v->c))
			p[1].events |= POLLOUT;
		int n = poll(p, 3, view_patience(v));
		if (n == 0 && v->keys.nr_begun)
			keys_flush(v);
		if (n == 0)
			screen_model_settle(v->screen);
		if (p[2].revents)
			view_signals(v);
		if (p[0].revents)
			view_typed(v);
		if (p[1].revents && !control_client_pump(v->c))
			v->lost = true;
		if (p[1].revents || v->over) {
			title_look(v);
			if ((v->news || v->over) && view_events(v, err) < 0)
				return -1;
			v->news = false;
			if (v->stopped && !v->ended && !v->lost)
				view_suspend(v);
		}
	}
	return 0;
}

static void view_leave(struct attached_view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct err none = ERR_INIT;
	json_t *reply = NULL;
	bool main_screen = !modes_alternate(&v->inner) && !v->ended;
	if (v->overlay && main_screen)
		view_repaint(v);
	if (!modes_quiet(&v->inner))
		buf_puts(&out, "\x18");
	modes_undo(v->overlay ? &v->opened : &v->inner, false, &out);
	buf_puts(&out, "\x1b[23;2t");
	if (main_screen) /* later typing must start below it */
		buf_printf(&out, "\x1b[%d;1H", v->size.ws_row);
	view_write_buf(v, &out);
	bool plain = v->inner.nr_set == 0 && !v->overlay && v->ended;
	operator_tty_give_back(!plain);
	if (v->detached && control_client_alive(v->c) &&
	    control_client_call(v->c, view_words("terminal", v->u->action),
				json_pack("{s:b}", "leave", 1), CALL_MS, &reply, &none) == 0)
		json_decref(reply);
}

static int signals_open(sigset_t *before)
{
	sigset_t mine;
	sigemptyset(&mine);
	sigaddset(&mine, SIGWINCH);
	sigaddset(&mine, SIGCONT);
	sigaddset(&mine, SIGTSTP);
	sigprocmask(SIG_BLOCK, &mine, before);
	return signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
}

int terminal_use(const struct terminal_use *u, int *status_out, struct err *err)
{
	struct attached_view v = { .u = u,
				   .c = u->client,
				   .keys = { .prefix = u->prefix },
				   .news = true,
				   .status = 1,
				   .signals = -1 };
	sigset_t before;
	if (ioctl(0, TIOCGWINSZ, &v.size) < 0 ||
	    feed_new(&v.f, u->session, FEED_ACTION, u->action, err) < 0)
		return v.f ? -1 : err_set(err, ERR_UNSUPPORTED, "standard input is not a terminal");
	v.state = json_deep_copy(json_object_get(control_client_welcome(v.c), "state"));
	v.signals = signals_open(&before);
	control_client_hear(v.c, &view_ops, &v);
	operator_tty_take();
	int rc = view_attach(&v, err);
	if (rc == 0)
		rc = view_loop(&v, err);
	view_leave(&v);
	control_client_hear(v.c, NULL, NULL);
	fd_close(&v.signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	feed_free(&v.f);
	screen_model_free(&v.screen);
	json_decref(v.state);
	buf_release(&v.early);
	buf_release(&v.typed);
	free(v.put_path);
	*status_out = v.status;
	if (rc < 0)
		return -1;
	return v.detached ? TERMINAL_DETACHED
	       : v.ended  ? TERMINAL_ENDED
	       : v.taken  ? TERMINAL_TAKEN
			  : TERMINAL_LOST;
}
