#include "ui/term/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/term/tty.h"

enum { BELL_US = 10000000 };

static bool notify_begins(const char *s, const char *with)
{
	return s && strncmp(s, with, strlen(with)) == 0;
}

static enum notify_form form_of_terminal(void)
{
	const char *term = getenv("TERM"), *program = getenv("TERM_PROGRAM"),
		   *lc = getenv("LC_TERMINAL");
	if (getenv("KITTY_WINDOW_ID") || notify_begins(term, "xterm-kitty"))
		return NOTIFY_OSC99;
	if (getenv("VTE_VERSION") || getenv("GHOSTTY_RESOURCES_DIR") || getenv("WEZTERM_PANE") ||
	    notify_begins(term, "foot") || notify_begins(term, "rxvt-unicode") ||
	    notify_begins(program, "ghostty") || notify_begins(program, "WezTerm"))
		return NOTIFY_OSC777;
	if (notify_begins(program, "iTerm") || notify_begins(lc, "iTerm"))
		return NOTIFY_OSC9;
	return NOTIFY_BELL;
}

/* tmux lets a sequence through only if its user has said so. */
static bool tmux_passes(void)
{
	char answer[16] = "";
	FILE *p = popen("tmux show-options -gqv allow-passthrough 2>/dev/null", "r");
	if (p && !fgets(answer, sizeof(answer), p))
		answer[0] = 0;
	if (p)
		pclose(p);
	return notify_begins(answer, "on") || notify_begins(answer, "all");
}

void notify_init(struct notify *n)
{
	const char *tmux = getenv("TMUX");
	*n = (struct notify){ .form = form_of_terminal(),
			      .tmux = tmux && *tmux,
			      .titles = tty_modern() };
	if (n->tmux && n->form != NOTIFY_BELL && !tmux_passes())
		n->form = NOTIFY_BELL;
}

void notify_focus(struct notify *n, bool in)
{
	n->focused = in;
	if (in)
		n->rung_us = 0;
}

void notify_away(struct notify *n)
{
	n->titled = 0;
}

void notify_held(struct notify *n)
{
	n->owed = true;
}

int64_t notify_next(const struct notify *n)
{
	return !n->owed ? INT64_MAX : n->rung_us ? n->rung_us + BELL_US : 0;
}

/* Printable ASCII without what separates fields in any of the forms. */
static void notify_put_plain(struct buf *out, const char *s)
{
	for (size_t i = 0; s && s[i] && i < 80; i++)
		buf_putc(out,
			 s[i] < 0x20 || s[i] > 0x7e || s[i] == ';' || s[i] == ':' ? '?' : s[i]);
}

static void put_sequence(const struct notify *n, const char *title, const char *text,
			 struct buf *out)
{
	switch (n->form) {
	case NOTIFY_BELL:
		break;
	case NOTIFY_OSC9:
		buf_printf(out, "\x1b]9;%s %s\x1b\\", title, text);
		break;
	case NOTIFY_OSC99:
		buf_printf(
			out,
			"\x1b]99;i=sandglass:d=0;%s\x1b\\\x1b]99;i=sandglass:d=1:p=body;%s\x1b\\",
			title, text);
		break;
	case NOTIFY_OSC777:
		buf_printf(out, "\x1b]777;notify;%s;%s\x1b\\", title, text);
		break;
	}
}

/* tmux: ESC P tmux; with every ESC doubled, ESC \ */
static void wrap_for_tmux(const struct buf *in, struct buf *out)
{
	buf_puts(out, "\x1bPtmux;");
	for (size_t i = 0; i < in->len; i++) {
		if (in->data[i] == 0x1b)
			buf_putc(out, 0x1b);
		buf_putc(out, in->data[i]);
	}
	buf_puts(out, "\x1b\\");
}

void notify_due(struct notify *n, size_t waits, const char *where, int64_t now_us, struct buf *out)
{
	CLEANUP(buf_release) struct buf seq = BUF_INIT, text = BUF_INIT;
	char title[48];
	if (!n->owed || now_us < notify_next(n))
		return;
	n->owed = false;
	if (waits == 0)
		return; /* decided meanwhile */
	n->rung_us = now_us;
	if (!n->quiet)
		buf_putc(out, 7);
	if (n->focused)
		return;
	snprintf(title, sizeof(title), "sandglass, %zu held", waits);
	notify_put_plain(&text, where && *where ? where : "an action is pending");
	put_sequence(n, title, buf_cstr(&text), &seq);
	if (seq.len > 0 && n->tmux)
		wrap_for_tmux(&seq, out);
	else
		buf_append(out, buf_cstr(&seq), seq.len);
}

void notify_title(struct notify *n, size_t waits, struct buf *out)
{
	if (!n->titles || n->titled == waits + 1)
		return;
	n->titled = waits + 1;
	if (waits)
		buf_printf(out, "\x1b]2;sandglass %zu held\x1b\\", waits);
	else
		buf_puts(out, "\x1b]2;sandglass\x1b\\");
}
