/* How wide is a character on a screen, which characters join into one cell, and which must never be
 * drawn as themselves?
 *
 * The tables are those of utf8proc (used only here), so width does not depend on the libc of the
 * host and a replay looks as the live screen did. Ambiguous width is 1, or 2 if you set it for a
 * console (because your terminal draws them so; set before anything is measured, one thread).
 * Otherwise pure functions, any thread. */
#ifndef BASE_TEXT_WIDTH_H
#define BASE_TEXT_WIDTH_H

#include "base/compat.h"

/* Cells of a character that may be drawn: 0 (combining), 1 or 2. */
int text_width(uint32_t cp);

void text_ambiguous_wide(bool wide);
bool text_ambiguous(void);

/* True if a new grapheme cluster begins between @before and @after. *state is 0 at the start of a
 * text. */
bool text_breaks(uint32_t before, uint32_t after, int32_t *state);

/* True if @cp is a picture (Extended_Pictographic): the only neighbors between which a joiner is
 * harmless. */
bool text_is_picture(uint32_t cp);

/* True if @cp looks like nothing, moves what is around it, or means something only to one font:
 * format characters (bidi marks and overrides, zero width space and joiners, tags), variation
 * selectors, fillers, line and paragraph separators, soft hyphen, private use, noncharacters,
 * unassigned. Controls are not included. */
bool text_is_hidden(uint32_t cp);

/* Scripts in which letters look alike. */
enum text_script { SCRIPT_COMMON, SCRIPT_LATIN, SCRIPT_GREEK, SCRIPT_CYRILLIC, SCRIPT_OTHER };
enum text_script text_script(uint32_t cp);

/* Simple lower case of one character: the same in every locale. */
uint32_t text_lower(uint32_t cp);
/* Another character than @cp whose lower case is @cp; @cp if there is none. */
uint32_t text_upper(uint32_t cp);

#endif
