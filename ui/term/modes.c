#include "ui/term/modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/sanitize.h"

enum { BEL = 7, CAN = 0x18, SUB = 0x1a, ESC = 0x1b };

static void mode_put(struct modes *m, int number, bool on)
{
	for (int i = 0; i < m->nr_set; i++)
		if (m->set[i].number == number) {
			m->set[i].on = on;
			return;
		}
	if (m->nr_set < MODES_MAX)
		m->set[m->nr_set++] = (struct mode_set){ number, on };
}

bool modes_on(const struct modes *m, int number, bool at_first)
{
	for (int i = 0; i < m->nr_set; i++)
		if (m->set[i].number == number)
			return m->set[i].on;
	return at_first;
}

bool modes_alternate(const struct modes *m)
{
	return modes_on(m, 1049, false) || modes_on(m, 1047, false) || modes_on(m, 47, false);
}

/* As a new terminal; the parser and the title stay. */
static void modes_forget(struct modes *m)
{
	m->nr_set = 0;
	memset(m->kitty, 0, sizeof(m->kitty));
	m->other_keys = m->cursor_shape = 0;
	m->keypad = m->colors = false;
}

/* --- sequences --- */

static int next_number(const char **p, int missing)
{
	char *end;
	long n = strtol(*p, &end, 10);
	bool none = end == *p;
	*p = end;
	while (**p && **p != ';')
		(*p)++;
	if (**p == ';')
		(*p)++;
	return none ? missing : n < 0 || n > 99999 ? 99999 : (int)n;
}

static void kitty_keys(struct modes *m, const char *s)
{
	struct kitty_stack *k = &m->kitty[modes_alternate(m)];
	const char *p = s + 1;
	int first = next_number(&p, s[0] == '<'), how = next_number(&p, 1);
	int *top = &k->flags[k->depth ? k->depth - 1 : 0];
	if (s[0] == '>') {
		if (k->depth == MODES_KITTY)
			memmove(k->flags, k->flags + 1, sizeof(*k->flags) * (MODES_KITTY - 1));
		else
			k->depth++;
		k->flags[k->depth - 1] = first;
	} else if (s[0] == '<') {
		k->depth = first < k->depth ? k->depth - first : 0;
	} else if (s[0] == '=') {
		if (!k->depth)
			*top = 0;
		k->depth = k->depth ? k->depth : 1;
		*top = how == 2 ? *top | first : how == 3 ? *top & ~first : first;
	}
}

static void one_csi(struct modes *m, const char *s, char end)
{
	const char *p = s + 1;
	if (s[0] == '?' && (end == 'h' || end == 'l') && !strchr(s, '$'))
		while (*p)
			mode_put(m, next_number(&p, 0), end == 'h');
	else if (end == 'u' && s[0] && strchr("<>=", s[0]))
		kitty_keys(m, s);
	else if (end == 'm' && s[0] == '>' && next_number(&p, 0) == 4)
		m->other_keys = next_number(&p, 0);
	else if (end == 'q' && strchr(s, ' '))
		m->cursor_shape = atoi(s);
	else if (end == 'p' && !strcmp(s, "!"))
		modes_forget(m);
}

static void one_string(struct modes *m, const char *s)
{
	const char *p = s;
	if (m->string != ']')
		return;
	int number = next_number(&p, -1);
	if (number == 0 || number == 2) {
		CLEANUP(buf_release) struct buf safe = BUF_INIT;
		sanitize_line(p, strlen(p), 0, &safe);
		snprintf(m->title, sizeof(m->title), "%s", buf_cstr(&safe));
		for (size_t n = strlen(m->title);
		     n && ((unsigned char)m->title[n - 1] & 0xc0) == 0x80 &&
		     n > sizeof(m->title) - 5;
		     n--)
			m->title[n - 1] = 0; /* cut inside of a character */
	} else if (number >= 10 && number <= 12 && *p && *p != '?') {
		m->colors = true;
	} else if (number >= 110 && number <= 112) {
		m->colors = false;
	}
}

static void modes_one_escape(struct modes *m, char c)
{
	m->at = MODES_GROUND;
	m->nr_seq = 0;
	if (c == '[') {
		m->at = MODES_CSI;
	} else if (strchr("]P_^X", c) && c) {
		m->at = MODES_STRING;
		m->string = c;
	} else if (c == 'c') {
		modes_forget(m);
	} else if (c == '=' || c == '>') {
		m->keypad = c == '=';
	} else if (c == ESC || (c >= 0x20 && c <= 0x2f)) {
		m->at = MODES_ESC; /* ESC ( B and its like: one more comes */
	}
}

static void sequence_add(struct modes *m, char c)
{
	if (m->nr_seq < MODES_SEQ - 1)
		m->seq[m->nr_seq++] = c;
}

static void one_byte(struct modes *m, char c)
{
	bool cut = c == CAN || c == SUB;
	if (cut)
		m->at = MODES_GROUND;
	else if (m->at == MODES_STRING_ESC && c == '\\') {
		m->seq[m->nr_seq] = 0;
		one_string(m, m->seq);
		m->at = MODES_GROUND;
	} else if (m->at == MODES_STRING_ESC)
		modes_one_escape(m, c);
	else if (m->at == MODES_STRING && c == BEL) {
		m->seq[m->nr_seq] = 0;
		one_string(m, m->seq);
		m->at = MODES_GROUND;
	} else if (c == ESC)
		m->at = m->at == MODES_STRING ? MODES_STRING_ESC : MODES_ESC;
	else if (m->at == MODES_STRING)
		sequence_add(m, c);
	else if (m->at == MODES_ESC)
		modes_one_escape(m, c);
	else if (m->at == MODES_CSI && c >= 0x40 && c <= 0x7e) {
		m->seq[m->nr_seq] = 0;
		one_csi(m, m->seq, c);
		m->at = MODES_GROUND;
	} else if (m->at == MODES_CSI && c >= 0x20)
		sequence_add(m, c);
}

void modes_feed(struct modes *m, const void *bytes, size_t len)
{
	const char *p = bytes, *end = p + len;
	while (p < end) {
		if (m->at == MODES_GROUND) { /* most of it is text */
			p = memchr(p, ESC, (size_t)(end - p));
			if (!p)
				return;
		}
		one_byte(m, *p++);
	}
}

bool modes_quiet(const struct modes *m)
{
	return m->at == MODES_GROUND;
}

/* --- back and again --- */

static bool is_screen(int number)
{
	return number == 1049 || number == 1047 || number == 47;
}

/* Those that are on in a new terminal. */
static bool on_at_first(int number)
{
	return number == 7 || number == 25;
}

void modes_undo(const struct modes *m, bool keep_screen, struct buf *out)
{
	buf_puts(out, "\x1b[?2026l");
	for (int i = 0; i < m->nr_set; i++) {
		bool on = on_at_first(m->set[i].number);
		if (!is_screen(m->set[i].number) && m->set[i].number != 2026 && m->set[i].on != on)
			buf_printf(out, "\x1b[?%d%c", m->set[i].number, on ? 'h' : 'l');
	}
	/* that of the screen that is shown; the other one after it is shown */
	for (int i = 1; i >= 0; i--) {
		if (i == modes_alternate(m) && m->kitty[i].depth)
			buf_printf(out, "\x1b[<%du", MODES_KITTY);
		else if (m->kitty[i].depth && !keep_screen && i == 0)
			buf_printf(out, "\x1b[?1049l\x1b[<%du\x1b[?1049h", MODES_KITTY);
	}
	if (m->other_keys)
		buf_puts(out, "\x1b[>4m");
	if (m->keypad)
		buf_puts(out, "\x1b>");
	if (m->colors)
		buf_puts(out, "\x1b]110\a\x1b]111\a\x1b]112\a");
	if (m->cursor_shape)
		buf_puts(out, "\x1b[0 q");
	buf_puts(out, "\x1b[0m\x1b(B\x0f");
	if (keep_screen)
		return;
	for (int i = 0; i < m->nr_set; i++)
		if (is_screen(m->set[i].number) && m->set[i].on)
			buf_printf(out, "\x1b[r\x1b[?%dl", m->set[i].number);
}

void modes_repeat(const struct modes *m, bool screen, struct buf *out)
{
	bool alternate = modes_alternate(m);
	for (int s = screen ? 0 : alternate; s <= alternate; s++) {
		for (int i = 0; s && screen && i < m->nr_set; i++)
			if (is_screen(m->set[i].number) && m->set[i].on)
				buf_printf(out, "\x1b[?%dh", m->set[i].number);
		for (int i = 0; i < m->kitty[s].depth; i++)
			buf_printf(out, "\x1b[>%du", m->kitty[s].flags[i]);
	}
	for (int i = 0; i < m->nr_set; i++) {
		int number = m->set[i].number;
		if (!is_screen(number) && number != 2026 && m->set[i].on != on_at_first(number))
			buf_printf(out, "\x1b[?%d%c", number, m->set[i].on ? 'h' : 'l');
	}
	if (m->other_keys)
		buf_printf(out, "\x1b[>4;%dm", m->other_keys);
	if (m->keypad)
		buf_puts(out, "\x1b=");
	if (m->cursor_shape)
		buf_printf(out, "\x1b[%d q", m->cursor_shape);
	if (*m->title)
		buf_printf(out, "\x1b]0;%s\a", m->title);
}

/* tty_guard.c writes the same from a signal handler. */
void modes_undo_all(struct buf *out)
{
	struct modes all = { .other_keys = 1,
			     .keypad = true,
			     .cursor_shape = 1,
			     .kitty = { { .depth = 1 }, { .depth = 1 } } };
	static const int on[] = { 1,	9,    1000, 1002, 1003, 1004, 1005, 1006,
				  1007, 1015, 1016, 2004, 2027, 2031, 2048, 1049 };
	for (size_t i = 0; i < sizeof(on) / sizeof(*on); i++)
		mode_put(&all, on[i], true);
	mode_put(&all, 25, false);
	mode_put(&all, 7, false);
	modes_undo(&all, false, out);
}
