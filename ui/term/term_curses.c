/* The one file that sees ncurses. Nothing but vetted cells reaches it, as wide characters, never as
 * a format.
 *
 * Curses does not write to the terminal: it writes into a file in memory, from where each frame
 * goes to the queue of tty.h as a whole. So a frame can be counted, wrapped in a synchronized
 * update, and left out while the terminal is slow; and curses never waits. It reads no keys either
 * (input.h). */
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#undef KEY_EVENT

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

#include "base/text/utf8.h"
#include "base/text/width.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "ui/term/input.h"
#include "ui/term/squeeze.h"
#include "ui/term/tty.h"

/* Curses has names of its own for keys; ours come from ui/term/term.h. */
static SCREEN *term_curses_screen;
static FILE *term_curses_sink; /* what curses takes for the terminal */
static struct theme term_curses_theme;
static bool term_curses_colours, sync_updates;
/* what the terminal has, or will have when the queue is empty */
static struct grid term_curses_shown;
static struct squeeze term_curses_pen = SQUEEZE_INIT;
static struct input term_curses_input;
static struct tty_answers term_curses_answers;

bool term_utf8(void)
{
	const char *force = getenv("SANDGLASS_ASCII");
	if (force && strcmp(force, "1") == 0)
		return false;
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* --- taking the screen ------------------------------------------------------------------------ */

static void init_colours(void)
{
	term_curses_colours = has_colors() && start_color() == OK;
	if (!term_curses_colours)
		return;
	use_default_colors();
	for (int i = 0; i < 256 && i + 1 < COLOR_PAIRS; i++) {
		int c = i < COLORS ? i : i < 16 ? (i == 8 ? -1 : i - 8) : -1;
		init_pair((short)(i + 1), (short)c, -1);
	}
}

/* Takes the bytes that curses has written since the last call. */
static void term_curses_take_frame(struct buf *out)
{
	int fd = fileno(term_curses_sink);
	off_t len = lseek(fd, 0, SEEK_CUR);
	if (len <= 0)
		return;
	buf_reserve(out, (size_t)len + 1);
	ssize_t n = pread(fd, out->data + out->len, (size_t)len, 0);
	if (n > 0)
		out->len += (size_t)n;
	lseek(fd, 0, SEEK_SET);
}

static void term_curses_pass_on(bool whole_frame)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT, b = BUF_INIT;
	term_curses_take_frame(&all);
	term_curses_pen.rows = LINES;
	squeeze_frame(&term_curses_pen, all.data, all.len, &b);
	if (!whole_frame)
		squeeze_settle(&term_curses_pen, &b);
	if (b.len == 0)
		return;
	bool wrap = whole_frame && sync_updates;
	if (wrap)
		tty_puts("\x1b[?2026h");
	tty_put(b.data, b.len);
	if (wrap)
		tty_puts("\x1b[?2026l");
	tty_flush();
}

static void set_up_curses(void)
{
	nonl();
	idlok(stdscr, TRUE);
	leaveok(stdscr, FALSE);
	typeahead(-1); /* a frame is whole, whatever is being typed */
	curs_set(0);
	init_colours();
}

/* Newer terminals bring a name that many machines have never heard of, most of all over ssh; they
 * understand xterm. */
static SCREEN *new_screen(const char *term)
{
	static const char *const like[][2] = {
		{ "xterm", "xterm-256color" },	 { "alacritty", "xterm-256color" },
		{ "foot", "xterm-256color" },	 { "wezterm", "xterm-256color" },
		{ "ghostty", "xterm-256color" }, { "rio", "xterm-256color" },
		{ "contour", "xterm-256color" }, { "tmux", "screen-256color" },
		{ "screen", "screen" },
	};
	SCREEN *s = newterm(NULL, term_curses_sink, stdin);
	for (size_t i = 0; !s && i < ARRAY_LEN(like); i++)
		if (strncmp(term, like[i][0], strlen(like[i][0])) == 0)
			s = newterm(like[i][1], term_curses_sink, stdin);
	return s;
}

int term_open(struct err *err)
{
	const char *term = getenv("TERM"), *sync = getenv("SANDGLASS_SYNC");
	if (!term || !*term || strcmp(term, "dumb") == 0)
		return err_set(err, ERR_UNSUPPORTED, "terminal '%s' has no screen; use --no-tui",
			       term ? term : "");
	int fd = memfd_create("frame", MFD_CLOEXEC);
	term_curses_sink = fd >= 0 ? fdopen(fd, "w+") : NULL;
	if (!term_curses_sink) {
		fd_close(&fd);
		return err_sys(err, "can't create a directory for frames");
	}
	term_curses_screen = new_screen(term);
	tty_set_mouse(true);
	int rc =
		term_curses_screen
			? tty_open(err)
			: err_set(err, ERR_UNSUPPORTED,
				  "unknown terminal '%s'\nSet TERM=xterm-256color if it is compatible, or use --no-tui.",
				  term);
	if (rc < 0) {
		term_close();
		return -1;
	}
	input_clear(&term_curses_input);
	term_curses_answers = tty_ask(true, !sync || strcmp(sync, "0") != 0, 50);
	sync_updates = term_curses_answers.sync;
	set_up_curses();
	return 0;
}

int term_background(void)
{
	return term_curses_answers.light ? 1 : term_curses_answers.dark ? -1 : 0;
}

void term_set_theme(const struct theme *t)
{
	term_curses_theme = *t;
	grid_release(&term_curses_shown); /* every cell anew; the terminal gets what differs */
}

void term_close(void)
{
	if (term_curses_screen) {
		curs_set(1);
		endwin();
		term_curses_pass_on(false);
		tty_close();
		delscreen(term_curses_screen);
		term_curses_screen = NULL;
	}
	if (term_curses_sink)
		fclose(term_curses_sink);
	term_curses_sink = NULL;
	grid_release(&term_curses_shown);
}

void term_size(int *rows, int *cols)
{
	struct winsize ws;
	if (ioctl(tty_fd(), TIOCGWINSZ, &ws) == 0 && ws.ws_row > 0 && ws.ws_col > 0 &&
	    (ws.ws_row != LINES || ws.ws_col != COLS))
		resizeterm(ws.ws_row, ws.ws_col);
	*rows = LINES;
	*cols = COLS;
}

/* --- keys ------------------------------------------------------------------------------------- */

static bool read_more(void)
{
	char bytes[256];
	size_t room = input_room(&term_curses_input);
	int n = room ? tty_read(bytes, room < sizeof(bytes) ? room : sizeof(bytes)) : 0;
	if (n > 0)
		input_feed(&term_curses_input, bytes, (size_t)n);
	return n > 0;
}

uint32_t term_key(void)
{
	static int64_t waiting_us;
	for (;;) {
		uint32_t k = input_key(&term_curses_input, false);
		if (k != KEY_NONE_) {
			waiting_us = 0;
			return k;
		}
		if (read_more()) {
			waiting_us = 0;
			continue;
		}
		if (!input_waits(&term_curses_input))
			return KEY_NONE_;
		int64_t now = clock_mono_us();
		if (waiting_us == 0)
			waiting_us = now;
		if (now - waiting_us < INPUT_ESC_MS * 1000)
			return KEY_NONE_;
		waiting_us = 0;
		return input_key(&term_curses_input, true);
	}
}

struct mouse term_mouse(void)
{
	return term_curses_input.mouse;
}

int term_key_wait_ms(void)
{
	return input_waits(&term_curses_input) ? INPUT_ESC_MS : -1;
}

/* Read and forgotten, not cleared: the end of a paste that is under way must not be missed. */
bool term_flush_keys(void)
{
	uint32_t key;
	bool any = false;
	do {
		while ((key = input_key(&term_curses_input, false)) != KEY_NONE_)
			any |= key != K_MOUSE && key != K_FOCUS_IN && key != K_FOCUS_OUT;
	} while (read_more());
	return any;
}

void term_set_mouse(bool on)
{
	tty_set_mouse(on);
	tty_flush();
}

/* --- drawing ---------------------------------------------------------------------------------- */

static attr_t attrs_of(const struct cell *c, short *pair)
{
	const struct look *l = &term_curses_theme.look[c->role];
	attr_t a = A_NORMAL;
	if ((l->attrs & ATTR_BOLD) || (c->flags & GLYPH_BOLD))
		a |= A_BOLD;
	if ((l->attrs & ATTR_UNDERLINE) || (c->flags & GLYPH_UNDERLINE))
		a |= A_UNDERLINE;
	bool reverse = (l->attrs & ATTR_REVERSE) != 0;
	if (c->flags & GLYPH_REVERSE)
		reverse = !reverse;
	if (c->flags & GRID_CURSOR)
		reverse = !reverse;
	if (reverse)
		a |= A_REVERSE;
	int fg = c->fg > 0 ? c->fg - 1 : l->fg;
	*pair = 0;
	/* a reversed row of many colors is hard to read: it keeps the terminal's own */
	if (term_curses_colours && term_curses_theme.colour && fg >= 0 && !(c->flags & GRID_CURSOR))
		*pair = (short)(fg + 1);
	if (fg >= 16 && COLORS <= fg)
		*pair = 0;
	if (term_curses_colours && term_curses_theme.colour && fg >= 8 && fg < 16 && COLORS < 16 &&
	    fg != 8)
		a |= A_BOLD;
	return a;
}

/* Curses asks libc; libc's tables are another Unicode version than ours. This one is found first,
 * also by curses. */
int wcwidth(wchar_t c)
{
	return c == 0 ? 0 : c < 0x20 || (c >= 0x7f && c < 0xa0) ? -1 : text_width((uint32_t)c);
}

/* Base character and up to four marks; a joined picture shows its first. What would be wider or
 * narrower than its cell becomes a blank of its width, so that no column can shift. */
static void term_curses_put_cell(int row, int col, const struct cell *c)
{
	wchar_t w[CCHARW_MAX + 1] = { 0 };
	size_t n = 0, used;
	uint32_t cp;
	short pair;
	cchar_t cc;
	attr_t a = attrs_of(c, &pair);
	for (size_t i = 0; i < c->len && n < CCHARW_MAX; i += used) {
		if (utf8_next(c->s + i, c->len - i, &cp, &used) != UTF8_OK || cp == 0x200d)
			break;
		if (n > 0 && wcwidth((wchar_t)cp) != 0)
			break;
		w[n++] = (wchar_t)cp;
	}
	if (n == 0 || wcwidth(w[0]) != c->width) {
		for (int i = 0; i < c->width; i++) {
			setcchar(&cc, i == 0 ? L"?" : L" ", a, pair, NULL);
			mvadd_wch(row, col + i, &cc);
		}
		return;
	}
	setcchar(&cc, w, a, pair, NULL);
	mvadd_wch(row, col, &cc);
}

static bool same_size(const struct grid *a, const struct grid *b)
{
	return a->rows == b->rows && a->cols == b->cols;
}

bool term_show(const struct grid *g)
{
	if (!tty_flush())
		return false;
	bool all = !same_size(g, &term_curses_shown) || !term_curses_shown.cell;
	if (all) {
		grid_release(&term_curses_shown);
		grid_init(&term_curses_shown, g->rows, g->cols, g->ascii);
	}
	for (int row = 0; row < g->rows && row < LINES; row++) {
		const struct cell *now = &g->cell[(size_t)row * (size_t)g->cols];
		struct cell *then = &term_curses_shown.cell[(size_t)row * (size_t)g->cols];
		size_t size = (size_t)g->cols * sizeof(*now);
		if (!all && memcmp(now, then, size) == 0)
			continue;
		for (int col = 0; col < g->cols && col < COLS; col++)
			if (now[col].width > 0)
				term_curses_put_cell(row, col, &now[col]);
		memcpy(then, now, size);
	}
	bool typing = g->cursor_row >= 0, hidden = curs_set(typing ? 1 : 0) != ERR && !typing;
	leaveok(stdscr, hidden); /* nobody sees where it stays */
	if (typing)
		move(g->cursor_row, g->cursor_col);
	else
		move(g->rows - 1, 0);
	wnoutrefresh(stdscr);
	doupdate();
	term_curses_pass_on(true);
	return true;
}

void term_redraw(void)
{
	clearok(curscr, TRUE);
	grid_release(&term_curses_shown);
}

void term_leave(void)
{
	curs_set(1);
	def_prog_mode();
	endwin();
	term_curses_pass_on(false);
	tty_leave();
}

void term_return(void)
{
	tty_return();
	term_curses_pen.foreign = true; /* another program wrote there */
	reset_prog_mode();
	term_redraw();
}
