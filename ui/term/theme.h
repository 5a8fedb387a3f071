/* How things look: roles to attributes, signs to glyphs. Views name roles and signs and never a colour or a byte of
 * line drawing. Themes: dark, light, mono (also NO_COLOR, TERM=dumb). Pure data. */
#ifndef UI_THEME_H
#define UI_THEME_H

#include "base/compat.h"

enum { ATTR_BOLD = 1 << 0, ATTR_UNDERLINE = 1 << 1, ATTR_REVERSE = 1 << 2 };

enum role {
#define ROLE(NAME, name, letter, dark, light, attrs, mono, doc) ROLE_##NAME,
#include "ui/roles.def"
#undef ROLE
	ROLE_NR
};

struct look {
	int fg; /* 0 to 15, -1 = default */
	unsigned attrs;
};

struct theme {
	const char *name;
	bool colour;
	struct look look[ROLE_NR];
};

/* NULL if there is none of that name. */
const struct theme *theme_find(const char *name);
/* What NO_COLOR, TERM and COLORFGBG ask for; @choice ("auto", NULL, or a name) goes first. */
const struct theme *theme_choose(const char *choice);
char role_letter(enum role r);

enum sign {
	SIGN_HLINE, SIGN_VLINE, SIGN_CUT, SIGN_FULL, SIGN_EMPTY, SIGN_DOT,
	SIGN_SPARK1, SIGN_SPARK2, SIGN_SPARK3, SIGN_SPARK4, SIGN_SPARK5, SIGN_SPARK6, SIGN_SPARK7, SIGN_SPARK8,
	SIGN_NR
};
const char *sign_text(enum sign s, bool ascii);

#endif
