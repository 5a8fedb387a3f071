/* Looks and notifications: custom themes, custom keys and their conflicts, notifications by terminal, and widths.
 * Hostile bytes of each kind go through a grid; each cell then holds a checked glyph. */
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/text/width.h"
#include "tap.h"
#include "ui/frame/keymap.h"
#include "ui/term/notify.h"
#include "ui/term/text.h"

static bool theme(const char *text, struct theme *out, struct err *err)
{
	CLEANUP(json_release) json_t *o = json_parse(text, strlen(text), "theme", err);
	return o && theme_from_json(o, "own", out, err) == 0;
}

static void themes(void)
{
	struct theme t;
	struct err err = ERR_INIT;
	ok(theme("{\"base\":\"light\",\"held\":\"bright red bold reverse\",\"dim\":\"244\",\"key\":\"#ff8800 "
		 "underline\",\"ok\":\"plain\"}",
		 &t, &err),
	   "a theme of one's own");
	ok(t.look[ROLE_HELD].fg == 9 && t.look[ROLE_HELD].attrs == (ATTR_BOLD | ATTR_REVERSE), "colour and attributes");
	ok(t.look[ROLE_DIM].fg == 244 && t.look[ROLE_KEY].fg == 208 && t.look[ROLE_OK].fg == -1,
	   "256 colours, the nearest, none");
	is_int(t.look[ROLE_ADD].fg, theme_find("light")->look[ROLE_ADD].fg, "the rest is the base's");
	static const char *const wrong[] = { "{\"held\":\"purple\"}", "{\"hold\":\"red\"}", "{\"base\":\"dusk\"}",
					     "{\"held\":7}",	      "{\"held\":\"256\"}", "{\"held\":\"#ff88\"}",
					     "{\"held\":\"-1\"}" };
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		ok(!theme(wrong[i], &t, &err), "not a theme: %s", wrong[i]);
	static const char *const names[] = { "dark", "light", "dark-hc", "light-hc" };
	static const enum role pairs[][2] = { { ROLE_OK, ROLE_ERROR },
					      { ROLE_ADD, ROLE_DEL },
					      { ROLE_RUN, ROLE_FAILED } };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (size_t k = 0; k < ARRAY_LEN(pairs); k++)
			ok(theme_find(names[i])->look[pairs[k][0]].fg != theme_find(names[i])->look[pairs[k][1]].fg,
			   "%s: pair %zu differs in colour (and by a sign: the mono screens)", names[i], k);
	for (int r = 0; r < ROLE_NR; r++)
		for (size_t i = 1; i < ARRAY_LEN(names); i += 2) /* yellow and cyan, bright or not */
			ok(theme_find(names[i])->look[r].fg % 8 != 3 && theme_find(names[i])->look[r].fg % 8 != 6,
			   "%s: role %d can be read on white", names[i], r);
	setenv("NO_COLOR", "1", 1);
	is_str(theme_choose("dark", 0)->name, "mono", "NO_COLOR");
	setenv("NO_COLOR", "", 1);
	is_str(theme_choose("dark-hc", 0)->name, "dark-hc", "empty means nothing");
	setenv("COLORFGBG", "0;15", 1);
	is_str(theme_choose("auto", 0)->name, "light", "COLORFGBG");
	is_str(theme_choose("auto", -1)->name, "dark", "the terminal itself knows better");
	unsetenv("COLORFGBG");
	is_str(theme_choose(NULL, 0)->name, "dark", "nobody knows");
}

static void keys(void)
{
	static const char map[] =
		"{\"fleet\":{\"X\":\"pause\",\"Ctrl-k\":\"nosuch\",\"F9\":\"kill\",\"zz\":\"kill\",\"Y\":\"approve\"},"
		"\"approval\":{\"y\":\"deny\"},\"moon\":{\"a\":\"log\"},\"all\":{\"g\":\"none\"}}";
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf said = BUF_INIT;
	CLEANUP(json_release) json_t *o = json_parse(map, sizeof(map) - 1, "map", &err);
	keymap_user(o, &said);
	is_int(keymap_verb(IN_FLEET, 'X'), VERB_PAUSE, "a key has the person's meaning");
	is_int(keymap_verb(IN_AGENT, 'X'), VERB_KILL, "on his screen only");
	is_int(keymap_verb(IN_FLEET, K_F9), VERB_KILL, "another key");
	is_int(keymap_verb(IN_LOG, 'g'), VERB_NONE, "a key can mean nothing");
	is_int(keymap_verb(IN_APPROVAL, 'y'), VERB_YES, "the approval dialog is fixed");
	is_int(keymap_verb(IN_FLEET, 'Y'), VERB_NONE, "and its verbs exist nowhere else");
	static const char *const told[] = { "'X' on fleet was kill", "'Ctrl-k' on fleet: unknown verb 'nosuch'",
					    "'zz' on fleet: this key", "unknown verb 'approve'", "approval dialog are fixed",
					    "unknown screen 'moon'", "'g' on all was first" };
	for (size_t i = 0; i < ARRAY_LEN(told); i++)
		ok(strstr(buf_cstr(&said), told[i]) != NULL, "told: %s", told[i]);
	char name[16];
	for (uint32_t k = K_UP; k <= K_F10; k++) {
		key_name(k, name);
		if (key_parse(name) != k)
			is_str(name, "?", "a key's name is read back");
	}
}

static void told(const char *variable, const char *value, const char *want, const char *name)
{
	struct notify n;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	setenv(variable, value, 1);
	notify_init(&n);
	unsetenv(variable);
	notify_held(&n);
	notify_due(&n, 1, "fix\x1b]52;c;x\x07 of s-1", 1000, &b);
	is_str(buf_cstr(&b), want, name);
}

static void notifications(void)
{
	static const char *const variables[] = { "TMUX", "KITTY_WINDOW_ID", "VTE_VERSION", "GHOSTTY_RESOURCES_DIR",
						 "WEZTERM_PANE", "TERM_PROGRAM", "LC_TERMINAL" };
	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		unsetenv(variables[i]);
	setenv("TERM", "xterm-256color", 1);
	told("NONE", "", "\a", "a bell where nothing better is known");
	told("VTE_VERSION", "7000", "\a\x1b]777;notify;sandglass, 1 held;fix?]52?c?x? of s-1\x1b\\",
	     "OSC 777, its text made plain");
	told("LC_TERMINAL", "iTerm2", "\a\x1b]9;sandglass, 1 held fix?]52?c?x? of s-1\x1b\\", "OSC 9");
	told("KITTY_WINDOW_ID", "1", "\a\x1b]99;i=sandglass:d=0;sandglass, 1 held\x1b\\"
	     "\x1b]99;i=sandglass:d=1:p=body;fix?]52?c?x? of s-1\x1b\\", "OSC 99");
	struct notify n;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	notify_init(&n);
	notify_held(&n);
	notify_due(&n, 1, NULL, 1000000, &b);
	notify_held(&n);
	notify_held(&n);
	notify_due(&n, 3, NULL, 5000000, &b);
	is_str(buf_cstr(&b), "\a", "one bell in ten seconds");
	is_int(notify_next(&n), 11000000, "the next is owed");
	notify_due(&n, 3, NULL, 11000000, &b);
	is_str(buf_cstr(&b), "\a\a", "and comes once");
	notify_held(&n);
	notify_focus(&n, true);
	notify_due(&n, 3, NULL, 12000000, &b);
	is_str(buf_cstr(&b), "\a\a\a", "looking arms it again");
	notify_held(&n);
	notify_due(&n, 0, NULL, 90000000, &b);
	is_str(buf_cstr(&b), "\a\a\a", "a decided action does not ring again");
	buf_reset(&b);
	notify_title(&n, 2, &b);
	notify_title(&n, 2, &b);
	is_str(buf_cstr(&b), "\x1b]2;sandglass 2 held\x1b\\", "the title, once");
	buf_reset(&b);
	notify_away(&n);
	notify_title(&n, 2, &b);
	is_str(buf_cstr(&b), "\x1b]2;sandglass 2 held\x1b\\", "and again when the terminal has been away");
}

/* Every byte of every cell is plain text that cannot do anything. */
static bool harmless(const struct grid *g)
{
	for (size_t i = 0; i < (size_t)g->rows * (size_t)g->cols; i++) {
		const struct cell *c = &g->cell[i];
		for (size_t k = 0, used; k < c->len; k += used) {
			uint32_t cp;
			if (utf8_next(c->s + k, c->len - k, &cp, &used) != UTF8_OK || cp < 0x20 ||
			    (cp >= 0x7f && cp < 0xa0) || (text_is_hidden(cp) && cp != 0x200d))
				return false;
		}
	}
	return true;
}

static void hostile_bytes(void)
{
	struct grid g;
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct text t;
	uint32_t seed = 1;
	grid_init(&g, 24, 80, false);
	text_init(&t, &ar, 60, 4, false);
	for (int i = 0; i < 200000; i++) {
		seed = seed * 1664525 + 1013904223;
		buf_putc(&b, (char)(seed >> 24));
	}
	text_add(&t, ROLE_TEXT, NULL, b.data, b.len, 0);
	text_add(&t, ROLE_TEXT, NULL, b.data, b.len, SANITIZE_RENDER);
	text_add(&t, ROLE_TEXT, NULL, "a\0b\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80", 14, 0);
	bool fine = true, inside = true;
	for (size_t top = 0; top < t.nr; top += 20) {
		grid_clear(&g);
		text_paint(&t, area_sub(area_all(&g), 2, 10, 20, 60), top);
		fine = fine && harmless(&g);
		for (int row = 0; row < 24; row++)
			for (int col = 0; col < 80; col++)
				if (row < 2 || row >= 22 || col < 14 || col >= 70)
					inside = inside && g.cell[row * 80 + col].s[0] == ' ';
	}
	ok(fine, "random bytes: every cell is harmless");
	ok(inside, "and nothing is drawn outside of the pane and its gutter");
	put_bytes(area_all(&g), 0, 0, 80, ROLE_TEXT, b.data, b.len, SANITIZE_EXACT);
	ok(harmless(&g), "nor as one line");
	grid_release(&g);
}

static void long_line(void)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct grid g;
	grid_init(&g, 24, 80, false);
	for (int i = 0; i < 10 << 20; i++)
		buf_putc(&b, "0123456789"[i % 10]);
	int end = put_bytes(area_all(&g), 3, 10, 20, ROLE_TEXT, b.data, b.len, 0);
	is_int(end, 30, "a line of 10 MB takes its field");
	is_str(g.cell[3 * 80 + 29].s, ">", "says that there is more");
	is_str(g.cell[3 * 80 + 30].s, " ", "and stops there");
	grid_release(&g);
}

static void widths(void)
{
	is_int(text_width(0x6587), 2, "CJK");
	is_int(text_width(0x0301), 0, "a combining mark");
	is_int(text_width(0x1f600), 2, "a picture");
	is_int(text_width(0x2500), 1, "an ambiguous one");
	is_int(text_cells("e\xcc\x81", false), 1, "a cluster is whole");
	text_ambiguous_wide(true);
	is_int(text_width(0x2500), 2, ":set ambiwidth=2");
	is_int(text_width('a'), 1, "changes nothing else");
	is_str(sign_text(SIGN_HLINE, false), "-", "and signs are ASCII then");
	text_ambiguous_wide(false);
}

/* A pane that is too large for the screen starts at the screen's edge. */
static void too_small(void)
{
	struct grid g;
	grid_init(&g, 4, 10, false);
	struct area low = area_sub(area_all(&g), -3, -2, 5, 6);
	ok(low.row == 0 && low.col == 0 && low.rows == 2 && low.cols == 4, "a pane that would begin above is cut");
	low = area_sub(area_all(&g), -9, 0, 5, 10);
	is_int(low.rows, 0, "one that would lie above is empty");
	low = area_sub(area_all(&g), 6, 0, 5, 10);
	is_int(low.rows, 0, "as is one below");
	put_rule(low, 0, "title", ROLE_RULE, "note");
	grid_release(&g);
}

int main(void)
{
	too_small();
	themes();
	keys();
	notifications();
	hostile_bytes();
	long_line();
	widths();
	return done_testing();
}
