/* The sanitizer, in every mode and cut anywhere: no control byte and no hidden character ever comes out, every glyph is
 * well-formed UTF-8 of its width, and a stream says the same whole or in two pieces. */
#include <stdlib.h>
#include <string.h>

#include "base/text/sanitize.h"
#include "base/text/utf8.h"
#include "base/text/width.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_glyph(const struct glyph *g)
{
	size_t used;
	uint32_t cp;
	if (g->len > GLYPH_BYTES || strlen(g->s) != g->len || g->width > 2)
		abort();
	if ((g->flags & (GLYPH_NEWLINE | GLYPH_RETURN)) && g->len)
		abort();
	for (size_t i = 0; i < g->len; i += used) {
		if (utf8_next(g->s + i, g->len - i, &cp, &used) != UTF8_OK)
			abort();
		if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || (text_is_hidden(cp) && cp != 0x200d))
			abort();
	}
}

static bool take_glyph(void *self, const struct glyph *g)
{
	struct buf *out = self;
	check_glyph(g);
	buf_append(out, g->s, g->len);
	buf_putc(out, (char)g->flags);
	return true;
}

static void run(unsigned flags, const uint8_t *data, size_t size, size_t cut, struct buf *out)
{
	struct sanitizer s;
	sanitizer_init(&s, flags, take_glyph, out);
	sanitizer_feed(&s, data, cut);
	sanitizer_feed(&s, data + cut, size - cut);
	sanitizer_end(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned modes[] = { 0, SANITIZE_EXACT, SANITIZE_RENDER, SANITIZE_ASCII,
					  SANITIZE_RENDER | SANITIZE_ASCII };
	if (size < 2 || size > 4096)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		CLEANUP(buf_release) struct buf whole = BUF_INIT, parts = BUF_INIT;
		run(modes[i], data + 1, size - 1, 0, &whole);
		if (modes[i] & SANITIZE_EXACT)
			continue; /* looks ahead, so it is never a stream */
		run(modes[i], data + 1, size - 1, data[0] % size, &parts);
		if (whole.len != parts.len || (whole.len && memcmp(whole.data, parts.data, whole.len) != 0))
			abort();
	}
	return 0;
}
