#include "exchange/vetted.h"

#include <string.h>

#include "base/text/utf8.h"

/* --- of a pipe --- */

static void vetted_put_style(struct buf *out, const struct glyph *g)
{
	buf_puts(out, "\033[0");
	if (g->flags & GLYPH_BOLD)
		buf_puts(out, ";1");
	if (g->flags & GLYPH_UNDERLINE)
		buf_puts(out, ";4");
	if (g->flags & GLYPH_REVERSE)
		buf_puts(out, ";7");
	if (g->fg)
		buf_printf(out, ";%d", g->fg <= 8 ? 29 + g->fg : 81 + g->fg);
	buf_putc(out, 'm');
}

static bool on_glyph(void *self, const struct glyph *g)
{
	struct vetted *v = self;
	unsigned style =
		g->fg | (unsigned)(g->flags & (GLYPH_BOLD | GLYPH_UNDERLINE | GLYPH_REVERSE)) << 8;
	if (g->flags & GLYPH_NEWLINE) {
		buf_puts(v->out, "\r\n");
	} else if (g->flags & GLYPH_RETURN) {
		buf_putc(v->out, '\r');
	} else {
		if (style != v->style)
			vetted_put_style(v->out, g);
		v->style = style;
		buf_append(v->out, g->s, g->len);
	}
	return true;
}

/* --- of a terminal --- */

enum { GROUND, ESCAPE, STRING, STRING_ESCAPE };

static bool is_string_c1(uint32_t c) /* OSC, DCS, APC, PM, SOS as one character */
{
	return c == 0x9d || c == 0x90 || c == 0x9f || c == 0x9e || c == 0x98;
}

/* The character behind an escape. A terminal executes a control inside an escape and continues;
 * so does this. */
static void vetted_put_escaped(struct vetted *v, uint32_t c, struct buf *out)
{
	char bytes[4];
	if (c == 033 || !c || c == 0x7f)
		return;
	if (c < 0x20 && c != 0x18 && c != 0x1a) {
		buf_putc(out, (char)c);
		return;
	}
	bool c1 = c >= 0x80 && c < 0xa0;
	bool string = c1 ? is_string_c1(c) : c < 0x80 && strchr("]P_^X", (int)c);
	v->state = string ? STRING : GROUND;
	if (string || c1 || c < 0x20)
		return;
	buf_putc(out, 033);
	buf_append(out, bytes, utf8_put(c, bytes));
}

static void vetted_put_char(struct vetted *v, uint32_t c, struct buf *out)
{
	char bytes[4];
	switch (v->state) {
	case ESCAPE:
		vetted_put_escaped(v, c, out);
		return;
	case STRING:
		v->state = c == 7 || c == 0x9c || c == 0x18 || c == 0x1a ? GROUND
			   : c == 033					 ? STRING_ESCAPE
									 : STRING;
		return;
	case STRING_ESCAPE:
		if (c == '\\') {
			v->state = GROUND;
			return;
		}
		v->state = ESCAPE; /* another escape has ended the string */
		vetted_put_char(v, c, out);
		return;
	default:
		break;
	}
	if (c == 033)
		v->state = ESCAPE;
	else if (is_string_c1(c))
		v->state = STRING;
	else if (c && (c < 0x80 || c >= 0xa0))
		buf_append(out, bytes, utf8_put(c, bytes));
}

static void feed_pty(struct vetted *v, const char *p, size_t len, struct buf *out)
{
	while (len) {
		uint32_t c;
		size_t used;
		enum utf8_result r = utf8_next(p, len, &c, &used);
		if (r == UTF8_PARTIAL && len < sizeof(v->tail)) {
			memcpy(v->tail, p, len);
			v->tail_len = len;
			return;
		}
		vetted_put_char(v, r == UTF8_OK ? c : 0xfffd, out);
		p += used;
		len -= used;
	}
}

/* --- both --- */

void vetted_init(struct vetted *v, bool pty)
{
	*v = (struct vetted){ .pty = pty };
	if (!pty)
		sanitizer_init(&v->pipe, SANITIZE_RENDER, on_glyph, v);
}

void vetted_feed(struct vetted *v, const void *bytes, size_t len, struct buf *out)
{
	v->out = out;
	if (!v->pty) {
		v->pipe.self = v; /* we may have been moved */
		sanitizer_feed(&v->pipe, bytes, len);
		return;
	}
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	buf_append(&all, v->tail, v->tail_len);
	buf_append(&all, bytes, len);
	v->tail_len = 0;
	feed_pty(v, buf_cstr(&all), all.len, out);
}

void vetted_end(struct vetted *v, struct buf *out)
{
	v->out = out;
	if (v->pty && v->tail_len)
		buf_puts(out, "\xef\xbf\xbd");
	v->tail_len = 0;
	if (!v->pty) {
		v->pipe.self = v;
		sanitizer_end(&v->pipe);
	}
	if (v->style)
		buf_puts(out, "\033[0m");
	v->style = 0;
}
