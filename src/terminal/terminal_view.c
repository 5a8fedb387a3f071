#include "terminal/terminal_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "terminal/operator_tty.h"
#include "terminal/overlay.h"
#include "terminal/prefix_keys.h"
#include "terminal/screen_model.h"
#include "base/fd.h"
#include "record/record.h"
#include "ui/term/foreground.h"
#include "ui/term/modes.h"

enum {
	CALL_MS = 10000,
	/* the delay in which a sequence that may be the prefix key must be complete */
	BEGUN_MS = 15,
	LOOK_MS = 25, /* at the recording, when its end must come */
	PIECE = 256 << 10,
	TYPE_PIECE = 64 << 10,
	QUIET_MS = 20,	/* silence of the program after which its output becomes cells */
	SETTLE_MS = 60, /* delay of the last output of a program that has stopped */
};

struct view {
	const struct terminal_use *u;
	struct control_client *c;
	struct feed *f;
	struct modes inner, opened; /* the program's; those when the overlay was opened */
	struct screen_model *screen;
	struct prefix_keys keys;
	struct winsize size;
	json_t *state;
	struct buf early; /* came before the screen was there */
	char name[64], note[256];
	uint64_t agent, box, sure;  /* sure: an action of high risk that 'y' was typed for once */
	uint64_t deciding, copying; /* replies that are awaited */
	char *put_path;
	struct buf path; /* that is being typed */
	bool ready, over, overlay, closing, queue, help, typing, title, titled, lost;
	bool decided; /* here, since the overlay was opened */
	bool detached, ended, taken, stopped;
	int status, signals;
};

static void view_write(struct view *v, const void *bytes, size_t len)
{
	struct err err = ERR_INIT;
	if (len && fd_write_all(1, bytes, len, &err) < 0)
		v->lost = true;
}

static void view_write_buf(struct view *v, const struct buf *b)
{
	view_write(v, b->data, b->len);
}

static json_t *view_words(const char *verb, uint64_t id)
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

static void send_window(struct view *v, const struct winsize *size)
{
	control_client_send(v->c, view_words("resize", v->u->action), size_opts(size));
}

static void terminal_view_signal(struct view *v, const char *name)
{
	control_client_send(v->c, view_words("terminal", v->u->action),
			    json_pack("{s:s}", "signal", name));
}

/* The program paints all of it again when its size changes, and not before. */
static void terminal_view_jiggle(struct view *v)
{
	struct winsize less = v->size;
	if (less.ws_col > 2)
		less.ws_col--;
	send_window(v, &less);
	send_window(v, &v->size);
}

/* --- the overlay --- */

static struct overlay_facts terminal_view_facts_of(const struct view *v)
{
	return (struct overlay_facts){ .state = v->state,
				       .name = v->name,
				       .session = session_id(v->u->session),
				       .note = v->note,
				       .agent = v->agent,
				       .rows = v->size.ws_row,
				       .cols = v->size.ws_col,
				       .prefix = v->u->prefix,
				       .queue = v->queue,
				       .help = v->help,
				       .typing = v->typing ? buf_cstr(&v->path) : NULL };
}

static void overlay_show(struct view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	const struct overlay_facts f = terminal_view_facts_of(v);
	overlay_paint(&f, &out);
	view_write_buf(v, &out);
}

/* The program's screen as made from its output. */
static void terminal_view_repaint(struct view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	screen_model_paint(v->screen, &out);
	view_write_buf(v, &out);
}

static void overlay_open(struct view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	v->overlay = true;
	v->decided = false;
	v->closing = v->queue = v->help = v->typing = false;
	v->note[0] = 0;
	v->sure = 0;
	v->opened = v->inner;
	if (!modes_quiet(&v->inner))
		buf_puts(&out, "\x18");
	modes_undo(&v->inner, true, &out);
	buf_puts(&out, "\x1b[?25l");
	view_write_buf(v, &out);
	overlay_show(v);
}

static void overlay_close_now(struct view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	bool was = modes_alternate(&v->opened), is = modes_alternate(&v->inner);
	v->overlay = v->closing = false;
	if (was && !is)
		buf_puts(&out, "\x1b[?1049l");
	buf_puts(&out, "\x1b[?25h");
	modes_redo(&v->inner, !was && is, &out);
	view_write_buf(v, &out);
	terminal_view_repaint(v);
	terminal_view_jiggle(v);
}

/* Not inside a sequence: its rest would come without its start. */
static void overlay_close(struct view *v)
{
	v->closing = true;
	if (modes_quiet(&v->inner))
		overlay_close_now(v);
}

static void note_put(struct view *v, const char *fmt, ...) PRINTF(2, 3);
static void note_put(struct view *v, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(v->note, sizeof(v->note), fmt, ap);
	va_end(ap);
}

static void decide_oldest(struct view *v, bool yes)
{
	const json_t *row = overlay_oldest(v->state, v->agent);
	uint64_t id = (uint64_t)json_int(row, "action", 0);
	json_t *opts = json_object();
	if (!row) {
		note_put(v, "nothing of this agent is pending approval");
	} else if (yes && *json_str(row, "type", "")) {
		note_put(v, "approve it elsewhere: sandglass approve %" PRIu64 " --confirm %s", id,
			 json_str(row, "type", ""));
	} else if (yes && !strcmp(json_str(row, "risk", ""), "high") && v->sure != id) {
		v->sure = id;
		note_put(v, "RISK high: y once more approves #%" PRIu64, id);
	} else {
		if (*json_str(row, "intent", ""))
			json_put_str(opts, "intent", json_str(row, "intent", ""));
		if (!yes)
			json_put_str(opts, "message", "denied at the agent's terminal");
		v->deciding = control_client_send(v->c, view_words(yes ? "approve" : "deny", id),
						  json_incref(opts));
		note_put(v, "%s #%" PRIu64 " ..", yes ? "approving" : "denying", id);
	}
	json_decref(opts);
}

/* The file goes into the sandbox as an action that the policy judges; its path is typed when it is
 * there. */
static void terminal_view_copy_file(struct view *v)
{
	char full[PATH_MAX], number[24];
	const char *typed = buf_cstr(&v->path);
	v->typing = false;
	if (!realpath(typed, full)) {
		note_put(v, "'%s': %s", typed, strerror(errno));
		return;
	}
	snprintf(number, sizeof(number), "%" PRIu64, v->box);
	free(v->put_path);
	v->put_path = mem_printf("/tmp/%s", strrchr(full, '/') + 1);
	v->copying = control_client_send(
		v->c, json_pack("[s, s, s, s, s]", "box_copy", "put", number, v->put_path, full),
		NULL);
	note_put(v, "copying '%s' ..", full);
}

static void send_prefix(struct view *v)
{
	char text[24] = { (char)v->u->prefix, 0 };
	const struct kitty_stack *k = &v->inner.kitty[modes_alternate(&v->inner)];
	int character = v->u->prefix <= 26 ? v->u->prefix + 'a' - 1 : v->u->prefix + '@';
	if (k->depth && k->flags[k->depth - 1])
		snprintf(text, sizeof(text), "\x1b[%d;5u", character);
	control_client_type(v->c, v->u->action, text, strlen(text));
}

static void show_fleet(struct view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	if (!v->u->fleet) {
		note_put(v, "no console from here: sandglass attach --console %s",
			 session_id(v->u->session));
		return;
	}
	modes_undo(&v->inner, false, &out);
	view_write_buf(v, &out);
	operator_tty_give_back(true);
	v->u->fleet(v->u->self);
	operator_tty_take();
	ioctl(0, TIOCGWINSZ, &v->size);
	buf_reset(&out);
	modes_redo(&v->inner, true, &out);
	buf_puts(&out, "\x1b[2J");
	view_write_buf(v, &out);
	screen_model_resize(v->screen, v->size.ws_row, v->size.ws_col);
	v->opened = v->inner;
	overlay_close(v);
}

static void terminal_view_path_key(struct view *v, char key)
{
	if (key == '\r' || key == '\n')
		terminal_view_copy_file(v);
	else if (key == 0x1b || key == 3)
		v->typing = false;
	else if ((key == 0x7f || key == 8) && v->path.len)
		v->path.data[--v->path.len] = 0;
	else if ((unsigned char)key >= ' ' && key != 0x7f)
		buf_putc(&v->path, key);
}

static void overlay_key(struct view *v, char key)
{
	v->note[0] = 0;
	if (v->typing) {
		terminal_view_path_key(v, key);
	} else if (key == v->u->prefix) {
		send_prefix(v);
		overlay_close(v);
	} else if (key == 'd') {
		v->detached = true;
	} else if (key == 'a') {
		v->queue = !v->queue;
		v->help = false;
		terminal_view_repaint(v);
	} else if (key == '?') {
		v->help = !v->help;
		v->queue = false;
		terminal_view_repaint(v);
	} else if (key == 'y' || key == 'n') {
		decide_oldest(v, key == 'y');
	} else if (key == 's') {
		v->title = !v->title;
		note_put(v, "status in the window title: %s", v->title ? "on" : "off");
	} else if (key == 'f') {
		show_fleet(v);
	} else if (key == 'v') {
		buf_reset(&v->path);
		v->typing = true;
	} else {
		overlay_close(v);
	}
}

/* Keys of the overlay. Sequences (arrows, answers of the terminal) are none, a lone Escape is. */
static void overlay_typed(struct view *v, const char *s, size_t n)
{
	for (size_t i = 0; i < n && v->overlay && !v->detached; i++) {
		if (s[i] == 0x1b && i + 1 < n && (s[i + 1] == '[' || s[i + 1] == 'O')) {
			for (i += 2; i < n && (s[i] < 0x40 || s[i] > 0x7e); i++)
				;
			continue;
		}
		overlay_key(v, s[i]);
	}
	if (v->overlay && !v->closing && !v->detached)
		overlay_show(v);
}

/* --- output --- */

static void model_feed(struct view *v, const void *bytes, size_t len)
{
	modes_feed(&v->inner, bytes, len);
	screen_model_feed(v->screen, bytes, len);
}

/* An action of this agent is pending, or the status was requested: the window's title shows it
 * between two sequences. */
static void title_look(struct view *v)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT, out = BUF_INIT;
	bool waits = overlay_waiting(v->state, v->agent) > 0, wanted = waits || v->title;
	if (!v->ready || v->overlay || !modes_quiet(&v->inner) || (!wanted && !v->titled))
		return;
	const struct overlay_facts f = terminal_view_facts_of(v);
	overlay_line(&f, &line);
	buf_printf(&out, "\x1b]0;%s\a%s", wanted ? buf_cstr(&line) : v->inner.title,
		   waits && !v->titled ? "\a" : "");
	v->titled = wanted;
	view_write_buf(v, &out);
}

static void on_tty(void *self, uint64_t action, const void *bytes, size_t len)
{
	struct view *v = self;
	if (action != v->u->action)
		return;
	if (!len) {
		v->over = true;
	} else if (!v->ready) {
		buf_append(&v->early, bytes, len);
	} else if (v->overlay) {
		model_feed(v, bytes, len);
		if (v->closing && modes_quiet(&v->inner))
			overlay_close_now(v);
	} else {
		view_write(v, bytes, len);
		model_feed(v, bytes, len);
	}
}

/* After your answer the program has the terminal again, unless more of it is pending. */
static void overlay_show_rest(struct view *v)
{
	if (!v->overlay || v->closing)
		return;
	if (v->decided && !overlay_waiting(v->state, v->agent))
		overlay_close(v);
	else
		overlay_show(v);
}

static void terminal_view_on_state(void *self, const json_t *state)
{
	struct view *v = self;
	json_decref(v->state);
	v->state = json_deep_copy(state);
	overlay_show_rest(v);
	title_look(v);
}

static void on_view_reply(void *self, uint64_t id, const json_t *result, const struct err *err)
{
	struct view *v = self;
	if (id == v->copying && !err && !json_object_get(result, "held")) {
		control_client_type(v->c, v->u->action, v->put_path, strlen(v->put_path));
		note_put(v, "copied to %s", v->put_path);
		if (v->overlay)
			overlay_close(v);
	} else if (id == v->copying) {
		note_put(v, "%s",
			 err ? err->text : json_str(result, "held", "it is pending approval"));
	} else if (id == v->deciding) {
		note_put(v, "%s", err ? err->text : "done");
		v->decided = !err;
	} else {
		return;
	}
	overlay_show_rest(v);
}

static const struct control_client_ops view_ops = { .tty = on_tty,
						    .state = terminal_view_on_state,
						    .reply = on_view_reply };

/* --- the recording --- */

static void view_event(struct view *v, const struct event *ev)
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

static int view_events(struct view *v, struct err *err)
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

/* The program's earlier output, with its sizes, up to @offset. Raw (@out): to the terminal as
 * well. */
static int past_output(struct view *v, uint64_t offset, bool raw, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	uint64_t at = 0;
	int rc = 1;
	while (at < offset && rc >= 0) {
		rc = feed_next(v->f, &ev, &a, 0, err);
		if (rc == 0) {
			poll(NULL, 0, LOOK_MS);
			continue;
		}
		CLEANUP(json_release)
		json_t *body =
			json_parse(ev.body ? ev.body : "{}", ev.body ? ev.len : 2, "event", err);
		if (ev.kind == EV_PROC_RESIZE)
			screen_model_resize(v->screen, (int)json_int(body, "rows", 24),
					    (int)json_int(body, "cols", 80));
		uint64_t end = ev.kind == EV_OUTPUT && json_int(body, "stream", 0) == STREAM_PTY
				       ? at + (uint64_t)json_int(body, "len", 0)
				       : 0;
		if (ev.kind != EV_OUTPUT)
			view_event(v, &ev);
		while (rc == 1 && at < end) {
			CLEANUP(buf_release) struct buf out = BUF_INIT;
			if (session_output(v->u->session, v->u->action, STREAM_PTY, at,
					   end - at < PIECE ? (size_t)(end - at) : PIECE, &out,
					   err) < 0)
				return -1;
			if (!out.len)
				break;
			at += out.len;
			if (raw)
				view_write_buf(v, &out);
			modes_feed(&v->inner, out.data, out.len);
			if (at + SCREEN_MODEL_MAX >= offset)
				screen_model_feed(v->screen, out.data, out.len);
		}
		arena_reset(&a);
		if (v->ended)
			return 0;
	}
	return rc < 0 ? -1 : 0;
}

/* --- coming --- */

static int view_tie(struct view *v, json_t **answer, struct err *err)
{
	json_t *opts = size_opts(&v->size);
	if (v->u->take)
		json_put_flag(opts, "take", true);
	return control_client_call(v->c, view_words("terminal", v->u->action), opts, CALL_MS,
				   answer, err);
}

static void view_begin(struct view *v, bool painted)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT, early = v->early;
	v->early = BUF_INIT;
	screen_model_resize(v->screen, v->size.ws_row, v->size.ws_col);
	if (painted) {
		modes_redo(&v->inner, true, &out);
		buf_puts(&out, "\x1b[2J");
		screen_model_paint(v->screen, &out);
		view_write_buf(v, &out);
	}
	v->ready = true;
	if (early.len)
		on_tty(v, v->u->action, early.data, early.len);
	if (painted)
		terminal_view_jiggle(v);
	title_look(v);
}

/* Its start itself waits for approval. */
static bool terminal_view_held(const struct view *v)
{
	const json_t *held = json_object_get(v->state, "held");
	for (size_t i = 0; i < json_array_size(held); i++)
		if ((uint64_t)json_int(json_array_get(held, i), "action", 0) == v->u->action)
			return true;
	return false;
}

static int view_attach(struct view *v, struct err *err)
{
	CLEANUP(json_release) json_t *answer = NULL;
	if (view_tie(v, &answer, err) < 0)
		return -1;
	uint64_t offset = (uint64_t)json_int(answer, "offset", 0);
	bool first = json_flag(answer, "first", false);
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

static void view_typed(struct view *v)
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
			overlay_typed(v, bytes + at, (size_t)n - at);
			return;
		}
		at += prefix_keys_scan(&v->keys, bytes + at, (size_t)n - at, &out, &hit);
		if (out.len)
			control_client_type(v->c, v->u->action, out.data, out.len);
		if (hit)
			overlay_open(v);
	}
}

static void keys_flush(struct view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	prefix_keys_flush(&v->keys, &out);
	if (out.len)
		control_client_type(v->c, v->u->action, out.data, out.len);
}

static void terminal_view_settle(struct view *v)
{
	struct pollfd p = { .fd = control_client_fd(v->c), .events = POLLIN };
	while (!v->lost && poll(&p, 1, SETTLE_MS) > 0)
		v->lost = !control_client_pump(v->c);
}

/* The program has stopped itself: restores the terminal and stops this process, too. Continuing
 * this process (fg) continues the program. */
static void view_suspend(struct view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT, again = BUF_INIT;
	terminal_view_settle(v);
	if (v->overlay)
		overlay_close_now(v);
	modes_undo(&v->inner, false, &out);
	view_write_buf(v, &out);
	operator_tty_give_back(v->inner.nr_set > 0);
	foreground_stop();
	operator_tty_take();
	ioctl(0, TIOCGWINSZ, &v->size);
	modes_redo(&v->inner, true, &again);
	view_write_buf(v, &again);
	screen_model_resize(v->screen, v->size.ws_row, v->size.ws_col);
	if (modes_alternate(&v->inner))
		terminal_view_repaint(v);
	v->stopped = false;
	terminal_view_signal(v, "CONT");
	terminal_view_jiggle(v);
}

static void view_signals(struct view *v)
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
		send_window(v, &v->size);
		if (v->overlay) {
			terminal_view_repaint(v);
			overlay_show(v);
		}
	}
}

static int view_patience(const struct view *v)
{
	if (v->keys.nr_begun)
		return BEGUN_MS;
	if (v->over)
		return LOOK_MS;
	return screen_model_pending(v->screen) ? QUIET_MS : -1;
}

static int view_loop(struct view *v, struct err *err)
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
			if (view_events(v, err) < 0)
				return -1;
			if (v->stopped && !v->ended && !v->lost)
				view_suspend(v);
		}
	}
	return 0;
}

static void view_leave(struct view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct err none = ERR_INIT;
	json_t *reply = NULL;
	bool main_screen = !modes_alternate(&v->inner) && !v->ended;
	if (v->overlay && main_screen)
		terminal_view_repaint(v);
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
	struct view v = {
		.u = u, .c = u->client, .keys = { .prefix = u->prefix }, .status = 1, .signals = -1
	};
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
	buf_release(&v.path);
	free(v.put_path);
	*status_out = v.status;
	if (rc < 0)
		return -1;
	return v.detached ? TERMINAL_DETACHED
	       : v.ended  ? TERMINAL_ENDED
	       : v.taken  ? TERMINAL_TAKEN
			  : TERMINAL_LOST;
}
