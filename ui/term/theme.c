#include "ui/term/theme.h"

#include <stdlib.h>
#include <string.h>

static const struct theme themes[] = {
	{ "dark", true, {
#define ROLE(NAME, name, letter, dark, light, attrs, mono, doc) [ROLE_##NAME] = { (dark), (attrs) },
#include "ui/roles.def"
#undef ROLE
	} },
	{ "light", true, {
#define ROLE(NAME, name, letter, dark, light, attrs, mono, doc) [ROLE_##NAME] = { (light), (attrs) },
#include "ui/roles.def"
#undef ROLE
	} },
	{ "mono", false, {
#define ROLE(NAME, name, letter, dark, light, attrs, mono, doc) [ROLE_##NAME] = { -1, (mono) },
#include "ui/roles.def"
#undef ROLE
	} },
};

static const char letters[] = {
#define ROLE(NAME, name, letter, dark, light, attrs, mono, doc) letter,
#include "ui/roles.def"
#undef ROLE
};

static const char *const signs[SIGN_NR][2] = {
	[SIGN_HLINE] = { "\xe2\x94\x80", "-" },  [SIGN_VLINE] = { "\xe2\x94\x82", "|" },
	[SIGN_CUT] = { ">", ">" },               [SIGN_FULL] = { "\xe2\x96\x88", "#" },
	[SIGN_EMPTY] = { "\xe2\x96\x91", "." },  [SIGN_DOT] = { "\xc2\xb7", "." },
	[SIGN_SPARK1] = { "\xe2\x96\x81", "." }, [SIGN_SPARK2] = { "\xe2\x96\x82", "." },
	[SIGN_SPARK3] = { "\xe2\x96\x83", "-" }, [SIGN_SPARK4] = { "\xe2\x96\x84", "-" },
	[SIGN_SPARK5] = { "\xe2\x96\x85", "=" }, [SIGN_SPARK6] = { "\xe2\x96\x86", "+" },
	[SIGN_SPARK7] = { "\xe2\x96\x87", "*" }, [SIGN_SPARK8] = { "\xe2\x96\x88", "#" },
};

const struct theme *theme_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(themes); i++)
		if (strcmp(themes[i].name, name) == 0)
			return &themes[i];
	return NULL;
}

/* rxvt and its kin say "15;0" or "0;default;15": the last number is the background. */
static bool background_is_light(void)
{
	const char *s = getenv("COLORFGBG");
	const char *last = s ? strrchr(s, ';') : NULL;
	return last && (strcmp(last, ";7") == 0 || strcmp(last, ";15") == 0);
}

const struct theme *theme_choose(const char *choice)
{
	const struct theme *named = choice ? theme_find(choice) : NULL;
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	if (named)
		return named;
	if ((no_color && *no_color) || (term && strcmp(term, "dumb") == 0))
		return theme_find("mono");
	return theme_find(background_is_light() ? "light" : "dark");
}

char role_letter(enum role r)
{
	return letters[r];
}

const char *sign_text(enum sign s, bool ascii)
{
	return signs[s][ascii];
}
