#include "base/text/width.h"

#include <utf8proc.h>

static const struct {
	uint32_t first, last;
} width_ambiguous[] = {
#include "base/text/ambiguous.inc"
};
static bool ambiguous_wide;

void text_ambiguous_wide(bool wide)
{
	ambiguous_wide = wide;
}

bool text_ambiguous(void)
{
	return ambiguous_wide;
}

static bool is_ambiguous(uint32_t cp)
{
	size_t lo = 0, hi = ARRAY_LEN(width_ambiguous);
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (cp > width_ambiguous[mid].last)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < ARRAY_LEN(width_ambiguous) && cp >= width_ambiguous[lo].first;
}

int text_width(uint32_t cp)
{
	if (ambiguous_wide && cp >= 0xa1 && is_ambiguous(cp))
		return 2;
	int w = utf8proc_charwidth((utf8proc_int32_t)cp);
	return w < 0 ? 0 : w > 2 ? 2 : w;
}

bool text_breaks(uint32_t before, uint32_t after, int32_t *state)
{
	return utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)after,
						state);
}

bool text_is_picture(uint32_t cp)
{
	int c = utf8proc_get_property((utf8proc_int32_t)cp)->boundclass;
	return c == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
}

static bool width_in(uint32_t cp, uint32_t first, uint32_t last)
{
	return cp >= first && cp <= last;
}

static bool is_filler(uint32_t cp)
{
	return cp == 0x00ad || cp == 0x034f || width_in(cp, 0x115f, 0x1160) ||
	       width_in(cp, 0x17b4, 0x17b5) || width_in(cp, 0x180b, 0x180f) || cp == 0x3164 ||
	       cp == 0xffa0 || cp == 0x2800;
}

bool text_is_hidden(uint32_t cp)
{
	if (cp < 0xa0)
		return false;
	if (is_filler(cp) || width_in(cp, 0xfe00, 0xfe0f) || width_in(cp, 0xe0000, 0xe0fff) ||
	    (cp & 0xfffe) == 0xfffe)
		return true;
	utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
	return c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CO ||
	       c == UTF8PROC_CATEGORY_CN || c == UTF8PROC_CATEGORY_CS ||
	       c == UTF8PROC_CATEGORY_ZL || c == UTF8PROC_CATEGORY_ZP;
}

static bool is_letter(uint32_t cp)
{
	utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
	return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

enum text_script text_script(uint32_t cp)
{
	if (!is_letter(cp))
		return SCRIPT_COMMON;
	if (cp < 0x0250 || width_in(cp, 0x1e00, 0x1eff) || width_in(cp, 0x2c60, 0x2c7f) ||
	    width_in(cp, 0xa720, 0xa7ff))
		return SCRIPT_LATIN;
	if (width_in(cp, 0x0370, 0x03ff) || width_in(cp, 0x1f00, 0x1fff))
		return SCRIPT_GREEK;
	if (width_in(cp, 0x0400, 0x052f) || width_in(cp, 0x1c80, 0x1c8f) ||
	    width_in(cp, 0x2de0, 0x2dff) || width_in(cp, 0xa640, 0xa69f))
		return SCRIPT_CYRILLIC;
	return SCRIPT_OTHER;
}

uint32_t text_lower(uint32_t cp)
{
	return (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
}

uint32_t text_upper(uint32_t cp)
{
	uint32_t upper = (uint32_t)utf8proc_toupper((utf8proc_int32_t)cp);
	return text_lower(upper) == cp ? upper : cp;
}
