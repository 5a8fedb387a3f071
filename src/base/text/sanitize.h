/* The one way by which bytes that we did not write reach a screen, a terminal or a text export.
 *
 * Bytes go in, vetted glyphs come out: a glyph is one grapheme cluster that is safe to hand to a
 * terminal, or the visible stand-in of something that is not. The rules: 1. UTF-8 is read strictly;
 * each maximal broken subpart becomes "\xHH" per byte. A partial tail waits for the next chunk and
 * is broken at sanitizer_end. 2. C0 controls and DEL become "^[" "^G" ...; C1 become "<U+009B>". LF
 * (and CR LF) ends a line, tabs become spaces. 3. Characters that are invisible or move their
 * neighbors (text_is_hidden) become "<U+202E>". U+200D stays between two pictures, a variation
 * selector after a picture is left out. A cell takes four combining marks; more, or a mark without
 * a base, become "<U+0301>".
 * 4. SANITIZE_EXACT (what a user is asked to approve): nothing is left out or spaced: also tab,
 *    CR and other controls are "<U+0009>", joiners and selectors are shown, and a Greek or Cyrillic
 *    letter in a word that has Latin ones too is "<U+0430>". Only LF still ends a line (the caller
 *    numbers lines in a gutter of its own).
 * 5. SANITIZE_RENDER (on request, for output only): the escape parser of Paul Williams with limits:
 *    16 parameters up to 9999, strings up to 4 KiB (then they end and the rest is text), LF ends a
 *    string. Of it only SGR color, bold, underline and reverse have an effect, and CR (the line
 *    starts again); everything else is dropped and counted.
 * 6. SANITIZE_ASCII: everything outside ASCII becomes "<U+4E2D>"; what hides nothing is not counted
 *    as hidden. Streams keep their state in a struct sanitizer; it is reset at each event's
 *    boundary. Any thread, one at a time. */
#ifndef BASE_TEXT_SANITIZE_H
#define BASE_TEXT_SANITIZE_H

#include "base/buf.h"

enum sanitize_flags { SANITIZE_EXACT = 1 << 0, SANITIZE_RENDER = 1 << 1, SANITIZE_ASCII = 1 << 2 };

enum glyph_flags {
	GLYPH_NEWLINE = 1 << 0, /* the line ends here; no text */
	GLYPH_RETURN = 1 << 1,	/* render only: the line starts again; no text */
	GLYPH_ESCAPED = 1 << 2, /* stands for what cannot be drawn */
	GLYPH_BOLD = 1 << 3,
	GLYPH_UNDERLINE = 1 << 4,
	GLYPH_REVERSE = 1 << 5,
};

enum { GLYPH_BYTES = 27, GLYPH_MARKS = 4 };

struct glyph {
	char s[GLYPH_BYTES +
	       /* valid UTF-8, NUL-terminated; an escaped one is plain ASCII, one glyph per
	        * character */
	       1];
	uint8_t len, width;
	uint8_t flags;
	uint8_t fg; /* render: 0 default, 1 to 16 the ANSI colors */
};

/* Gets each glyph; false stops the feed (the rest of that chunk is dropped). */
typedef bool glyph_fn(void *self, const struct glyph *g);

struct sanitizer {
	unsigned flags;
	glyph_fn *fn;
	void *self;
	/* counted since init. stand-ins for controls, invisible and mixed-script characters, broken
	 * UTF-8 */
	uint32_t hidden;
	uint32_t non_ascii; /* characters outside ASCII that were drawn */
	uint32_t dropped;   /* render: sequences without effect */
	/* private */
	bool stopped, cr, latin_word;
	char tail[4];
	uint8_t tail_len;
	uint32_t last, joiner;
	int32_t breaks;
	uint8_t marks;
	struct glyph cell; /* the cluster under way */
	unsigned col;
	uint8_t state, sgr, fg;
	uint16_t param[16];
	uint8_t nr_params;
	uint32_t string_len;
	const char *rest;
	size_t rest_len;
};

void sanitizer_init(struct sanitizer *s, unsigned flags, glyph_fn *fn, void *self);
void sanitizer_feed(struct sanitizer *s, const void *bytes, size_t len);
void sanitizer_end(struct sanitizer *s); /* flushes the tail and forgets all state but the counts */

/* One whole text. Returns the number of stand-ins. */
uint32_t sanitize_for_screen(const void *bytes, size_t len, unsigned flags, glyph_fn *fn,
			     void *self);
/* The same into text; lines end with LF. For one-line fields pass SANITIZE_EXACT or call
 * sanitize_line. */
uint32_t sanitize_text(const void *bytes, size_t len, unsigned flags, struct buf *out);
/* Into one line: a visible mark stands between lines ("a ↵ b"; SANITIZE_ASCII: "a ^J b"), so that
 * two commands never look like one; none at the end. */
void sanitize_line(const void *bytes, size_t len, unsigned flags, struct buf *out);
/* For a summary of one line, before it goes through one of the above: whole color sequences (ESC [
 * numbers m) go, all other escapes stay and will be marked. Not for what a user is asked to
 * approve. */
void sanitize_drop_colours(struct buf *b);

#endif
