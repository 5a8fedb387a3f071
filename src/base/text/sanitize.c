#include "base/text/sanitize.h"

#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/text/width.h"

enum { STRING_MAX = 4096, PARAM_MAX = 9999, WORD_SCAN = 256, JOINER = 0x200d };

enum parse_state { GROUND, ESCAPE, ESCAPE_MIDDLE, CSI, CSI_IGNORE, STRING, STRING_ESCAPE };

static void sanitize_emit(struct sanitizer *s, struct glyph *g)
{
	if (s->stopped)
		return;
	g->fg = g->flags & GLYPH_ESCAPED ? 0 : s->fg;
	if (!(g->flags & GLYPH_ESCAPED))
		g->flags = (uint8_t)(g->flags | s->sgr);
	s->col += g->width;
	if (!s->fn(s->self, g))
		s->stopped = true;
}

static void flush_cell(struct sanitizer *s)
{
	if (s->cell.len > 0)
		sanitize_emit(s, &s->cell);
	s->cell = (struct glyph){ 0 };
	s->marks = 0;
	s->breaks = 0;
	s->last = 0;
}

/* A stand-in, one ASCII glyph per character so that it can be cut and wrapped like any text. */
static void emit_stand_in(struct sanitizer *s, const char *text)
{
	flush_cell(s);
	for (; *text; text++) {
		struct glyph g = { .len = 1, .width = 1, .flags = GLYPH_ESCAPED };
		g.s[0] = *text;
		sanitize_emit(s, &g);
	}
}

static void emit_escaped(struct sanitizer *s, const char *text)
{
	s->hidden++;
	emit_stand_in(s, text);
}

static void emit_code(struct sanitizer *s, uint32_t cp)
{
	char text[16];
	snprintf(text, sizeof(text), "<U+%04X>", (unsigned)cp);
	emit_escaped(s, text);
}

static void emit_broken(struct sanitizer *s, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char text[8];
		snprintf(text, sizeof(text), "\\x%02X", (unsigned)(unsigned char)bytes[i]);
		emit_escaped(s, text);
	}
}

static void emit_mark(struct sanitizer *s, uint8_t flag)
{
	struct glyph g = { .flags = flag };
	flush_cell(s);
	sanitize_emit(s, &g);
	s->col = 0;
	s->latin_word = false;
}

static void emit_spaces(struct sanitizer *s, unsigned nr)
{
	flush_cell(s);
	while (nr-- > 0) {
		struct glyph g = { .s = " ", .len = 1, .width = 1 };
		sanitize_emit(s, &g);
	}
}

static bool cell_takes(const struct sanitizer *s, size_t more)
{
	return s->cell.len > 0 && s->cell.len + more <= GLYPH_BYTES;
}

static void cell_add(struct sanitizer *s, uint32_t cp)
{
	s->cell.len = (uint8_t)(s->cell.len + utf8_put(cp, s->cell.s + s->cell.len));
	s->last = cp;
	int w = s->cell.width + text_width(cp);
	s->cell.width = (uint8_t)(w > 2 ? 2 : w);
}

/* A joiner waits until it is known what follows it. */
static void settle_joiner(struct sanitizer *s, uint32_t next)
{
	if (!s->joiner)
		return;
	s->joiner = 0;
	if (text_is_picture(next) && cell_takes(s, 7)) {
		s->cell.len = (uint8_t)(s->cell.len + utf8_put(JOINER, s->cell.s + s->cell.len));
		text_breaks(s->last, JOINER, &s->breaks);
		s->last = JOINER;
	} else {
		emit_code(s, JOINER);
	}
}

static void put_drawable(struct sanitizer *s, uint32_t cp)
{
	bool breaks = s->cell.len == 0 || text_breaks(s->last, cp, &s->breaks);
	if (!breaks && text_width(cp) == 0 && (!cell_takes(s, 4) || s->marks == GLYPH_MARKS)) {
		struct glyph full = s->cell; /* its marks are full: say so beside it */
		sanitize_emit(s, &full);
		s->cell = (struct glyph){ 0 };
		emit_code(s, cp);
		return;
	}
	if (!breaks && !cell_takes(s, 4))
		breaks = true;
	if (breaks) {
		flush_cell(s);
		if (text_width(cp) == 0) {
			emit_code(s, cp);
			return;
		}
	} else if (text_width(cp) == 0) {
		s->marks++;
	}
	if (cp >= 0x80)
		s->non_ascii++;
	cell_add(s, cp);
}

static enum text_script peek_word(const struct sanitizer *s)
{
	const char *p = s->rest;
	size_t len = s->rest_len < WORD_SCAN ? s->rest_len : WORD_SCAN, used;
	uint32_t cp;
	for (; len > 0 && utf8_next(p, len, &cp, &used) == UTF8_OK; p += used, len -= used) {
		enum text_script script = text_script(cp);
		if (script == SCRIPT_LATIN)
			return SCRIPT_LATIN;
		if (script == SCRIPT_COMMON)
			break;
	}
	return SCRIPT_COMMON;
}

static bool mixed_script(struct sanitizer *s, uint32_t cp)
{
	enum text_script script = text_script(cp);
	if (script == SCRIPT_COMMON)
		s->latin_word = false;
	else if (script == SCRIPT_LATIN)
		s->latin_word = true;
	return (script == SCRIPT_GREEK || script == SCRIPT_CYRILLIC) &&
	       (s->latin_word || peek_word(s) == SCRIPT_LATIN);
}

/* Nothing that hides: the screen cannot show it. */
static void emit_foreign(struct sanitizer *s, uint32_t cp)
{
	char text[16];
	s->non_ascii++;
	snprintf(text, sizeof(text), "<U+%04X>", (unsigned)cp);
	emit_stand_in(s, text);
}

static void sanitize_put_text(struct sanitizer *s, uint32_t cp)
{
	bool exact = s->flags & SANITIZE_EXACT;
	settle_joiner(s, cp);
	if (!exact && cp == JOINER && text_is_picture(s->last) && s->cell.len > 0) {
		s->joiner = cp;
		return;
	}
	if (!exact && (cp == 0xfe0e || cp == 0xfe0f) && s->cell.len > 0 && text_is_picture(s->last))
		return;
	if ((cp >= 0x80 && cp < 0xa0) || text_is_hidden(cp) || (exact && mixed_script(s, cp)))
		emit_code(s, cp);
	else if (cp >= 0x80 && (s->flags & SANITIZE_ASCII))
		emit_foreign(s, cp);
	else
		put_drawable(s, cp);
}

static void put_control(struct sanitizer *s, uint32_t cp)
{
	char text[4] = "^?";
	settle_joiner(s, 0);
	s->latin_word = false;
	if (cp == '\n') {
		emit_mark(s, GLYPH_NEWLINE);
	} else if (s->flags & SANITIZE_EXACT) {
		emit_code(s, cp);
	} else if (cp == '\t') {
		flush_cell(s);
		emit_spaces(s, 8 - s->col % 8);
	} else {
		if (cp != 0x7f)
			text[1] = (char)(cp + '@');
		emit_escaped(s, text);
	}
}

/* --- the escape parser (render only) ---------------------------------------------------------- */

static void sgr_one(struct sanitizer *s, unsigned p)
{
	if (p == 0)
		s->sgr = 0, s->fg = 0;
	else if (p == 1)
		s->sgr |= GLYPH_BOLD;
	else if (p == 4)
		s->sgr |= GLYPH_UNDERLINE;
	else if (p == 7)
		s->sgr |= GLYPH_REVERSE;
	else if (p == 22)
		s->sgr = (uint8_t)(s->sgr & ~GLYPH_BOLD);
	else if (p == 24)
		s->sgr = (uint8_t)(s->sgr & ~GLYPH_UNDERLINE);
	else if (p == 27)
		s->sgr = (uint8_t)(s->sgr & ~GLYPH_REVERSE);
	else if (p >= 30 && p <= 37)
		s->fg = (uint8_t)(p - 30 + 1);
	else if (p == 39)
		s->fg = 0;
	else if (p >= 90 && p <= 97)
		s->fg = (uint8_t)(p - 90 + 9);
}

/* 38;5;N and 38;2;R;G;B take their arguments with them; of the 256 only the first 16 are kept. */
static void sanitize_sgr(struct sanitizer *s)
{
	for (unsigned i = 0; i < s->nr_params; i++) {
		unsigned p = s->param[i];
		if (p != 38 && p != 48) {
			sgr_one(s, p);
			continue;
		}
		unsigned mode = i + 1 < s->nr_params ? s->param[i + 1] : 0;
		if (p == 38 && mode == 5 && i + 2 < s->nr_params)
			s->fg = s->param[i + 2] < 16 ? (uint8_t)(s->param[i + 2] + 1) : 0;
		i += mode == 5 ? 2 : mode == 2 ? 4 : 1;
	}
}

static void csi_byte(struct sanitizer *s, uint32_t cp)
{
	if (cp >= '0' && cp <= '9') {
		unsigned v = s->param[s->nr_params - 1] * 10u + (cp - '0');
		s->param[s->nr_params - 1] = (uint16_t)(v > PARAM_MAX ? PARAM_MAX : v);
	} else if (cp == ';' || cp == ':') {
		if (s->nr_params == ARRAY_LEN(s->param))
			s->state = CSI_IGNORE;
		else
			s->param[s->nr_params++] = 0;
	} else if (cp >= 0x40 && cp <= 0x7e) {
		if (cp == 'm')
			sanitize_sgr(s);
		else
			s->dropped++;
		s->state = GROUND;
	} else {
		s->state = CSI_IGNORE; /* private markers and intermediates: nothing that we draw */
	}
}

static void escape_byte(struct sanitizer *s, uint32_t cp)
{
	s->state = GROUND;
	if (cp == '[') {
		s->state = CSI;
		memset(s->param, 0, sizeof(s->param));
		s->nr_params = 1;
	} else if (cp == ']' || cp == 'P' || cp == 'X' || cp == '^' || cp == '_') {
		s->state = STRING;
		s->string_len = 0;
	} else if (cp >= 0x20 && cp <= 0x2f) {
		s->state = ESCAPE_MIDDLE;
	} else {
		s->dropped++;
	}
}

/* True if the character belonged to a sequence and has been dealt with. */
static bool sanitize_parse(struct sanitizer *s, uint32_t cp)
{
	/* CAN, SUB; LF ends what is open */
	if (cp == 0x18 || cp == 0x1a || (cp == '\n' && s->state != GROUND)) {
		s->dropped += s->state != GROUND;
		bool was = s->state != GROUND;
		s->state = GROUND;
		return was && cp != '\n';
	}
	if (cp == 0x1b && s->state != STRING) {
		flush_cell(s);
		s->dropped += s->state != GROUND;
		s->state = ESCAPE;
		return true;
	}
	switch ((enum parse_state)s->state) {
	case GROUND:
		return false;
	case ESCAPE:
		escape_byte(s, cp);
		return true;
	case ESCAPE_MIDDLE:
		if (cp >= 0x30)
			s->state = GROUND, s->dropped++;
		return true;
	case CSI:
		csi_byte(s, cp);
		return true;
	case CSI_IGNORE:
		if (cp >= 0x40 && cp <= 0x7e)
			s->state = GROUND, s->dropped++;
		return true;
	case STRING_ESCAPE:
		s->dropped++;
		s->state = GROUND;
		if (cp == '\\')
			return true;
		escape_byte(s, cp);
		return true;
	case STRING:
		if (cp == 0x1b)
			s->state = STRING_ESCAPE;
		else if (cp == 0x07 || ++s->string_len > STRING_MAX)
			s->state = GROUND, s->dropped++;
		return true;
	}
	return false;
}

/* --- feeding ----------------------------------------------------------------------------------
 */

/* A CR waits: before LF it is part of the line end. */
static void settle_return(struct sanitizer *s, uint32_t next)
{
	if (!s->cr)
		return;
	s->cr = false;
	if (next != '\n' && (s->flags & SANITIZE_RENDER))
		emit_mark(s, GLYPH_RETURN);
	else if (next != '\n')
		put_control(s, '\r');
}

static void sanitize_put(struct sanitizer *s, uint32_t cp)
{
	settle_return(s, cp);
	if ((s->flags & SANITIZE_RENDER) && sanitize_parse(s, cp))
		return;
	if (cp == '\r' && !(s->flags & SANITIZE_EXACT)) {
		s->cr = true;
	} else if (cp < 0x20 || cp == 0x7f) {
		if (cp == 0x07 && (s->flags & SANITIZE_RENDER))
			s->dropped++;
		else
			put_control(s, cp);
	} else {
		sanitize_put_text(s, cp);
	}
}

static void put_broken(struct sanitizer *s, const char *bytes, size_t len)
{
	settle_return(s, 0);
	settle_joiner(s, 0);
	if (!(s->flags & SANITIZE_RENDER) || s->state == GROUND)
		emit_broken(s, bytes, len);
}

/* Completes a character whose first bytes came with an earlier chunk. Returns how many of the new
 * bytes it took. */
static size_t feed_tail(struct sanitizer *s, const char *bytes, size_t len)
{
	size_t taken = 0, used;
	uint32_t cp;
	while (s->tail_len > 0 && taken < len) {
		s->tail[s->tail_len++] = bytes[taken++];
		enum utf8_result r = utf8_next(s->tail, s->tail_len, &cp, &used);
		if (r == UTF8_PARTIAL)
			continue;
		if (r == UTF8_OK) {
			s->tail_len = 0;
			sanitize_put(s, cp);
		} else { /* the new byte does not belong to it: give it back */
			taken--;
			used = (size_t)s->tail_len - 1;
			s->tail_len = 0;
			put_broken(s, s->tail, used);
		}
	}
	return taken;
}

void sanitizer_init(struct sanitizer *s, unsigned flags, glyph_fn *fn, void *self)
{
	*s = (struct sanitizer){ .flags = flags, .fn = fn, .self = self };
}

void sanitizer_feed(struct sanitizer *s, const void *bytes, size_t len)
{
	size_t used = feed_tail(s, bytes, len);
	const char *p = (const char *)bytes + used;
	uint32_t cp;
	for (len -= used; len > 0 && !s->stopped; p += used, len -= used) {
		switch (utf8_next(p, len, &cp, &used)) {
		case UTF8_OK:
			s->rest = p + used;
			s->rest_len = len - used;
			sanitize_put(s, cp);
			break;
		case UTF8_BAD:
			put_broken(s, p, used);
			break;
		case UTF8_PARTIAL:
			memcpy(s->tail, p, used);
			s->tail_len = (uint8_t)used;
			break;
		}
	}
	s->rest_len = 0;
}

void sanitizer_end(struct sanitizer *s)
{
	if (s->tail_len > 0)
		put_broken(s, s->tail, s->tail_len);
	if (!(s->flags & SANITIZE_RENDER))
		settle_return(s, 0);
	settle_joiner(s, 0);
	flush_cell(s);
	s->dropped += s->state != GROUND;
	s->tail_len = 0;
	s->state = GROUND;
	s->sgr = s->fg = 0;
	s->cr = s->latin_word = s->stopped = false;
	s->col = 0;
}

uint32_t sanitize_for_screen(const void *bytes, size_t len, unsigned flags, glyph_fn *fn,
			     void *self)
{
	struct sanitizer s;
	sanitizer_init(&s, flags, fn, self);
	sanitizer_feed(&s, bytes, len);
	sanitizer_end(&s);
	return s.hidden;
}

static bool sanitize_add_text(void *self, const struct glyph *g)
{
	if (g->flags & (GLYPH_NEWLINE | GLYPH_RETURN))
		buf_putc(self, '\n');
	else
		buf_append(self, g->s, g->len);
	return true;
}

uint32_t sanitize_text(const void *bytes, size_t len, unsigned flags, struct buf *out)
{
	return sanitize_for_screen(bytes, len, flags, sanitize_add_text, out);
}

/* Lines that are joined. */
struct joined {
	struct buf *out;
	size_t from; /* where its own text begins */
	const char *mark;
	bool ended; /* a line has; the mark comes with what follows */
};

static bool sanitize_add_line(void *self, const struct glyph *g)
{
	struct joined *j = self;
	if (g->flags & (GLYPH_NEWLINE | GLYPH_RETURN)) {
		j->ended = j->out->len > j->from;
		return true;
	}
	if (j->ended) {
		if (j->out->data[j->out->len - 1] != ' ')
			buf_putc(j->out, ' ');
		buf_puts(j->out, j->mark);
		buf_putc(j->out, ' ');
	}
	j->ended = false;
	buf_append(j->out, g->s, g->len);
	return true;
}

void sanitize_line(const void *bytes, size_t len, unsigned flags, struct buf *out)
{
	struct joined j = { out, out->len, flags & SANITIZE_ASCII ? "^J" : "\342\206\265", false };
	sanitize_for_screen(bytes, len, flags, sanitize_add_line, &j);
}

/* How long the color sequence at @p is; 0: it is none. */
static size_t colour_len(const char *p, size_t len)
{
	size_t n = 2;
	if (len < 3 || p[0] != '\033' || p[1] != '[')
		return 0;
	while (n < len && strchr("0123456789;:", p[n]) && p[n])
		n++;
	return n < len && p[n] == 'm' ? n + 1 : 0;
}

void sanitize_drop_colours(struct buf *b)
{
	size_t to = 0;
	for (size_t at = 0, n; at < b->len; at += n) {
		n = colour_len(b->data + at, b->len - at);
		if (n == 0)
			b->data[to++] = b->data[at], n = 1;
	}
	if (b->len)
		b->data[b->len = to] = 0;
}
