/* The one file that sees ncurses. Nothing but vetted cells reaches it, as wide characters, never as a format. */
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#undef KEY_EVENT

#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/text/utf8.h"
#include "ui/term/term.h"

/* Curses has names of its own for keys; ours come from ui/term/term.h. */
static SCREEN *screen;
static const struct theme *theme;
static bool colours;
static struct grid shown; /* what the terminal has */

bool term_utf8(void)
{
	const char *force = getenv("SANDGLASS_ASCII");
	if (force && strcmp(force, "1") == 0)
		return false;
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Modes that we set are left also when we are killed by a signal that can be caught. */
static void restore(int sig)
{
	static const char reset[] = "\x1b[?2004l\x1b[?1000l\x1b[0m\x1b[?25h\x1b[?1049l\r\n";
	ssize_t n = write(STDOUT_FILENO, reset, sizeof(reset) - 1);
	(void)n;
	signal(sig, SIG_DFL);
	raise(sig);
}

static void init_colours(void)
{
	colours = theme->colour && has_colors() && start_color() == OK;
	if (!colours)
		return;
	use_default_colors();
	int many = COLORS >= 16 ? 16 : 8;
	for (int i = 0; i < many; i++)
		init_pair((short)(i + 1), (short)i, -1);
	for (int i = many; i < 16; i++)
		init_pair((short)(i + 1), (short)(i == 8 ? -1 : i - 8), -1);
}

int term_open(const struct theme *t, bool ascii, struct err *err)
{
	const char *term = getenv("TERM");
	theme = t;
	(void)ascii;
	if (!term || !*term || strcmp(term, "dumb") == 0)
		return err_set(err, ERR_UNSUPPORTED, "terminal '%s' has no screen; use --no-tui", term ? term : "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return err_set(err, ERR_UNSUPPORTED, "terminal '%s' is not known here; use --no-tui", term);
	set_escdelay(25);
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	idlok(stdscr, TRUE);
	leaveok(stdscr, FALSE);
	curs_set(0);
	init_colours();
	signal(SIGTERM, restore);
	signal(SIGHUP, restore);
	return 0;
}

void term_close(void)
{
	if (!screen)
		return;
	curs_set(1);
	endwin();
	delscreen(screen);
	screen = NULL;
	grid_release(&shown);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
}

void term_size(int *rows, int *cols)
{
	struct winsize ws;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_row > 0 && ws.ws_col > 0 &&
	    (ws.ws_row != LINES || ws.ws_col != COLS))
		resizeterm(ws.ws_row, ws.ws_col);
	*rows = LINES;
	*cols = COLS;
}

static uint32_t special(wint_t c)
{
	static const struct {
		wint_t code;
		uint32_t key;
	} map[] = {
		{ KEY_UP, K_UP }, { KEY_DOWN, K_DOWN }, { KEY_LEFT, K_LEFT }, { KEY_RIGHT, K_RIGHT },
		{ KEY_PPAGE, K_PGUP }, { KEY_NPAGE, K_PGDN }, { KEY_HOME, K_HOME }, { KEY_END, K_END },
		{ KEY_DC, K_DEL }, { KEY_BACKSPACE, K_BACKSPACE }, { KEY_BTAB, K_STAB }, { KEY_ENTER, K_ENTER },
		{ KEY_RESIZE, K_RESIZE },
	};
	for (size_t i = 0; i < ARRAY_LEN(map); i++)
		if (map[i].code == c)
			return map[i].key;
	if (c >= KEY_F(1) && c <= KEY_F(10))
		return K_F1 + (uint32_t)(c - KEY_F(1));
	return KEY_NONE_;
}

uint32_t term_key(void)
{
	wint_t c;
	for (;;) {
		int rc = get_wch(&c);
		if (rc == ERR)
			return KEY_NONE_;
		if (rc == OK)
			return c == '\r' ? K_ENTER : c == 0x7f || c == 0x08 ? K_BACKSPACE : (uint32_t)c;
		uint32_t k = special(c);
		if (k != KEY_NONE_)
			return k;
	}
}

void term_flush_keys(void)
{
	flushinp();
}

/* --- drawing ------------------------------------------------------------------------------------------------------ */

static attr_t attrs_of(const struct cell *c, short *pair)
{
	const struct look *l = &theme->look[c->role];
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
	/* a reversed row of many colours is hard to read: it keeps the terminal's own */
	if (colours && fg >= 0 && !(c->flags & GRID_CURSOR))
		*pair = (short)(fg + 1);
	if (colours && fg >= 8 && COLORS < 16 && fg != 8)
		a |= A_BOLD;
	return a;
}

/* Base character and up to four marks; a joined picture shows its first. What libc thinks wider or narrower than we do
 * becomes a blank of our width, so that no column can shift. */
static void put_cell(int row, int col, const struct cell *c)
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

void term_show(const struct grid *g)
{
	bool all = !same_size(g, &shown) || !shown.cell;
	if (all) {
		grid_release(&shown);
		grid_init(&shown, g->rows, g->cols, g->ascii);
	}
	for (int row = 0; row < g->rows && row < LINES; row++) {
		const struct cell *now = &g->cell[(size_t)row * (size_t)g->cols];
		struct cell *then = &shown.cell[(size_t)row * (size_t)g->cols];
		size_t size = (size_t)g->cols * sizeof(*now);
		if (!all && memcmp(now, then, size) == 0)
			continue;
		for (int col = 0; col < g->cols && col < COLS; col++)
			if (now[col].width > 0)
				put_cell(row, col, &now[col]);
		memcpy(then, now, size);
	}
	if (g->cursor_row >= 0) {
		curs_set(1);
		move(g->cursor_row, g->cursor_col);
	} else {
		curs_set(0);
		move(g->rows - 1, 0);
	}
	wnoutrefresh(stdscr);
	doupdate();
}

void term_bell(void)
{
	beep();
}

void term_redraw(void)
{
	clearok(curscr, TRUE);
	grid_release(&shown);
}

void term_leave(void)
{
	def_prog_mode();
	endwin();
}

void term_return(void)
{
	reset_prog_mode();
	term_redraw();
}
