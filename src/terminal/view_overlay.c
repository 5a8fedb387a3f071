/* The overlay over a program's screen: its keys, and when it opens and closes. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terminal/operator_tty.h"
#include "terminal/terminal_view_priv.h"

struct overlay_facts view_overlay_facts(const struct attached_view *v)
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
				       .typing = v->typing ? buf_cstr(&v->typed) : NULL,
				       .denying = v->denying };
}

void view_overlay_show(struct attached_view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	const struct overlay_facts f = view_overlay_facts(v);
	overlay_paint(&f, &out);
	view_write_buf(v, &out);
}

void view_overlay_open(struct attached_view *v)
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
	view_overlay_show(v);
}

void view_overlay_close_now(struct attached_view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	bool was = modes_alternate(&v->opened), is = modes_alternate(&v->inner);
	v->overlay = v->closing = false;
	if (was && !is)
		buf_puts(&out, "\x1b[?1049l");
	buf_puts(&out, "\x1b[?25h");
	modes_repeat(&v->inner, !was && is, &out);
	view_write_buf(v, &out);
	view_repaint(v);
	view_jiggle(v);
}

/* Not inside a sequence: its rest would come without its start. */
void view_overlay_close(struct attached_view *v)
{
	v->closing = true;
	if (modes_quiet(&v->inner))
		view_overlay_close_now(v);
}

void view_note(struct attached_view *v, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(v->note, sizeof(v->note), fmt, ap);
	va_end(ap);
}

/* @intent: of what you have seen; "" unknown. @message: of a denial; NULL: it is approved. */
static void send_decision(struct attached_view *v, uint64_t id, const char *intent,
			  const char *message)
{
	json_t *opts = json_object();
	if (*intent)
		json_put_str(opts, "intent", intent);
	json_put_str(opts, "message", message);
	v->deciding = control_client_send(v->c, view_words(message ? "deny" : "approve", id), opts);
	view_note(v, "%s #%" PRIu64 " ..", message ? "denying" : "approving", id);
}

static void approve_oldest(struct attached_view *v)
{
	const json_t *row = overlay_oldest(v->state, v->agent);
	uint64_t id = (uint64_t)json_int(row, "action", 0);
	if (!row) {
		view_note(v, "nothing of this agent is pending approval");
	} else if (*json_str(row, "type", "")) {
		view_note(v, "approve it elsewhere: sandglass approve %" PRIu64 " --confirm %s", id,
			  json_str(row, "type", ""));
	} else if (!strcmp(json_str(row, "risk", ""), "high") && v->sure != id) {
		v->sure = id;
		view_note(v, "RISK high: y once more approves #%" PRIu64, id);
	} else {
		send_decision(v, id, json_str(row, "intent", ""), NULL);
	}
}

static void type_into_overlay(struct attached_view *v, uint64_t denying)
{
	buf_reset(&v->typed);
	v->denying = denying;
	v->typing = true;
}

/* Asks for the reason first: it reaches the model. */
static void deny_oldest(struct attached_view *v)
{
	const json_t *row = overlay_oldest(v->state, v->agent);
	if (!row) {
		view_note(v, "nothing of this agent is pending approval");
		return;
	}
	type_into_overlay(v, (uint64_t)json_int(row, "action", 0));
}

static void deny_with_reason(struct attached_view *v)
{
	const char *reason = buf_cstr(&v->typed);
	v->typing = false;
	send_decision(v, v->denying, "", *reason ? reason : "denied at the agent's terminal");
}

/* The file goes into the sandbox as an action that the policy judges; its path is typed when it is
 * there. */
static void terminal_view_copy_file(struct attached_view *v)
{
	char full[PATH_MAX], number[24];
	const char *typed = buf_cstr(&v->typed);
	v->typing = false;
	if (!realpath(typed, full)) {
		view_note(v, "'%s': %s", typed, strerror(errno));
		return;
	}
	snprintf(number, sizeof(number), "%" PRIu64, v->box);
	free(v->put_path);
	v->put_path = mem_printf("/tmp/%s", strrchr(full, '/') + 1);
	v->copying = control_client_send(
		v->c, json_pack("[s, s, s, s, s]", "box_copy", "put", number, v->put_path, full),
		NULL);
	view_note(v, "copying '%s' ..", full);
}

static void send_prefix(struct attached_view *v)
{
	char text[24] = { (char)v->u->prefix, 0 };
	const struct kitty_stack *k = &v->inner.kitty[modes_alternate(&v->inner)];
	int character = v->u->prefix <= 26 ? v->u->prefix + 'a' - 1 : v->u->prefix + '@';
	if (k->depth && k->flags[k->depth - 1])
		snprintf(text, sizeof(text), "\x1b[%d;5u", character);
	control_client_type(v->c, v->u->action, text, strlen(text));
}

static void show_fleet(struct attached_view *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	if (!v->u->fleet) {
		view_note(v, "no console from here: sandglass attach --console %s",
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
	modes_repeat(&v->inner, true, &out);
	buf_puts(&out, "\x1b[2J");
	view_write_buf(v, &out);
	screen_model_resize(v->screen, v->size.ws_row, v->size.ws_col);
	v->opened = v->inner;
	view_overlay_close(v);
}

/* Erases the last character with all of its bytes: a reason with half a character is not text. */
static void view_overlay_erase(struct buf *typed)
{
	while (typed->len && ((unsigned char)typed->data[typed->len - 1] & 0xc0) == 0x80)
		typed->len--;
	if (typed->len)
		typed->len--;
	if (typed->data)
		typed->data[typed->len] = 0;
}

static void terminal_view_line_key(struct attached_view *v, char key)
{
	if ((key == '\r' || key == '\n') && v->denying)
		deny_with_reason(v);
	else if (key == '\r' || key == '\n')
		terminal_view_copy_file(v);
	else if (key == 0x1b || key == 3)
		v->typing = false;
	else if (key == 0x7f || key == 8)
		view_overlay_erase(&v->typed);
	else if ((unsigned char)key >= ' ' && key != 0x7f)
		buf_putc(&v->typed, key);
}

static void overlay_key(struct attached_view *v, char key)
{
	v->note[0] = 0;
	if (v->typing) {
		terminal_view_line_key(v, key);
	} else if (key == v->u->prefix) {
		send_prefix(v);
		view_overlay_close(v);
	} else if (key == 'd') {
		v->detached = true;
	} else if (key == 'a') {
		v->queue = !v->queue;
		v->help = false;
		view_repaint(v);
	} else if (key == '?') {
		v->help = !v->help;
		v->queue = false;
		view_repaint(v);
	} else if (key == 'y') {
		approve_oldest(v);
	} else if (key == 'n') {
		deny_oldest(v);
	} else if (key == 's') {
		v->title = !v->title;
		view_note(v, "status in the window title: %s", v->title ? "on" : "off");
	} else if (key == 'f') {
		show_fleet(v);
	} else if (key == 'v') {
		type_into_overlay(v, 0);
	} else {
		view_overlay_close(v);
	}
}

/* Keys of the overlay. Sequences (arrows, answers of the terminal) are none, a lone Escape is. */
void view_overlay_typed(struct attached_view *v, const char *s, size_t n)
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
		view_overlay_show(v);
}

void view_overlay_rest(struct attached_view *v)
{
	if (!v->overlay || v->closing)
		return;
	/* while you type a line it stays open: the agent would receive the rest of the line */
	if (v->decided && !v->typing && !overlay_waiting(v->state, v->agent))
		view_overlay_close(v);
	else
		view_overlay_show(v);
}
