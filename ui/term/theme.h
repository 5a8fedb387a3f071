/* How things look: roles to attributes, signs to glyphs. Views name roles and signs and never a
 * color or a byte of line drawing. Built in: dark, light, dark-hc, light-hc (high contrast), mono.
 * Pure data.
 *
 * A theme of a user's own is a Lua file that is run once in a Lua host and gives a table of
 * roles:
 *   return { base = "dark", held = "bright yellow bold", dim = "244", error = "#ff5f5f reverse",
 *   key = "underline" }
 * A role is words: a color (black red green yellow blue magenta cyan white, "bright" before it;
 * default; 0 to 255; #rrggbb, which becomes the nearest of the 256) and bold, underline, reverse,
 * plain. A role that is not named is the base's. Colors past 15 need a terminal with 256;
 * elsewhere they are its default. */
#ifndef UI_THEME_H
#define UI_THEME_H

#include "base/json.h"

enum { ATTR_BOLD = 1 << 0, ATTR_UNDERLINE = 1 << 1, ATTR_REVERSE = 1 << 2 };

enum role {
#define ROLE(NAME, name, letter, dark, light, attrs, mono, doc) ROLE_##NAME,
#include "ui/term/roles.def"
#undef ROLE
	ROLE_NR
};

struct look {
	int fg; /* 0 to 255, -1 = default */
	unsigned attrs;
};

struct theme {
	const char *name;
	bool colour;
	struct look look[ROLE_NR];
};

/* NULL if there is none of that name. */
const struct theme *theme_find(const char *name);
/* mono without color; else the theme named @choice. For "auto", NULL, and unknown names:
 * by the terminal's background (1 light, -1 dark, 0 not known), COLORFGBG, then dark. */
const struct theme *theme_choose(const char *choice, int background);
/* True if nothing may be colored: NO_COLOR (not empty) or TERM=dumb. */
bool theme_no_colour(void);
/* Checks it whole: an unknown role or word is an error that names it. @name is borrowed. */
NODISCARD int theme_from_json(const json_t *o, const char *name, struct theme *out,
			      struct err *err);
char role_letter(enum role r);

enum sign {
	SIGN_HLINE,
	SIGN_VLINE,
	SIGN_CUT,
	SIGN_FULL,
	SIGN_EMPTY,
	SIGN_DOT,
	SIGN_SPARK1,
	SIGN_SPARK2,
	SIGN_SPARK3,
	SIGN_SPARK4,
	SIGN_SPARK5,
	SIGN_SPARK6,
	SIGN_SPARK7,
	SIGN_SPARK8,
	SIGN_NR
};
const char *sign_text(enum sign s, bool ascii);

#endif
