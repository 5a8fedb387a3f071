#include "ui/term/theme.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/width.h"

static const struct look theme_dark[ROLE_NR] = {
#define ROLE(NAME, name, letter, theme_dark, theme_light, attrs, theme_mono, doc)                  \
	[ROLE_##NAME] = { (theme_dark), (attrs) },
#include "ui/term/roles.def"
#undef ROLE
}, theme_light[ROLE_NR] = {
#define ROLE(NAME, name, letter, theme_dark, theme_light, attrs, theme_mono, doc)                  \
	[ROLE_##NAME] = { (theme_light), (attrs) },
#include "ui/term/roles.def"
#undef ROLE
}, theme_mono[ROLE_NR] = {
#define ROLE(NAME, name, letter, theme_dark, theme_light, attrs, theme_mono, doc)                  \
	[ROLE_##NAME] = { -1, (theme_mono) },
#include "ui/term/roles.def"
#undef ROLE
};

static const char *const theme_names[ROLE_NR] = {
#define ROLE(NAME, name, letter, theme_dark, theme_light, attrs, theme_mono, doc) name,
#include "ui/term/roles.def"
#undef ROLE
};

static const char theme_letters[] = {
#define ROLE(NAME, name, letter, theme_dark, theme_light, attrs, theme_mono, doc) letter,
#include "ui/term/roles.def"
#undef ROLE
};

static const char *const theme_signs[SIGN_NR][2] = {
	[SIGN_HLINE] = { "\xe2\x94\x80", "-" },
	[SIGN_VLINE] = { "\xe2\x94\x82", "|" },
	[SIGN_CUT] = { ">", ">" },
	[SIGN_FULL] = { "\xe2\x96\x88", "#" },
	[SIGN_EMPTY] = { "\xe2\x96\x91", "." },
	[SIGN_DOT] = { "\xc2\xb7", "." },
	[SIGN_SPARK1] = { "\xe2\x96\x81", "_" },
	[SIGN_SPARK2] = { "\xe2\x96\x82", "_" },
	[SIGN_SPARK3] = { "\xe2\x96\x83", "-" },
	[SIGN_SPARK4] = { "\xe2\x96\x84", "-" },
	[SIGN_SPARK5] = { "\xe2\x96\x85", "=" },
	[SIGN_SPARK6] = { "\xe2\x96\x86", "+" },
	[SIGN_SPARK7] = { "\xe2\x96\x87", "*" },
	[SIGN_SPARK8] = { "\xe2\x96\x88", "#" },
};

/* Nothing dim; on dark the bright half of the palette, on light the dark half; colors bold as
 * well. */
static struct look high_contrast(struct look l, bool on_dark)
{
	if (l.fg == 8 || l.fg == 7)
		l.fg = -1;
	if (l.fg < 0)
		return l;
	l.fg = on_dark ? l.fg | 8 : l.fg & 7;
	l.attrs |= ATTR_BOLD;
	return l;
}

static struct theme theme_themes[] = { { .name = "dark" },
				       { .name = "light" },
				       { .name = "dark-hc" },
				       { .name = "light-hc" },
				       { .name = "mono" } };

static void make_themes(void)
{
	for (int r = 0; r < ROLE_NR; r++) {
		theme_themes[0].look[r] = theme_dark[r];
		theme_themes[1].look[r] = theme_light[r];
		theme_themes[2].look[r] = high_contrast(theme_dark[r], true);
		theme_themes[3].look[r] = high_contrast(theme_light[r], false);
		theme_themes[4].look[r] = theme_mono[r];
	}
	for (size_t i = 0; i < ARRAY_LEN(theme_themes); i++)
		theme_themes[i].colour = strcmp(theme_themes[i].name, "mono") != 0;
}

const struct theme *theme_find(const char *name)
{
	if (!theme_themes[0].colour)
		make_themes();
	for (size_t i = 0; i < ARRAY_LEN(theme_themes); i++)
		if (strcmp(theme_themes[i].name, name) == 0)
			return &theme_themes[i];
	return NULL;
}

/* rxvt and its kin say "15;0" or "0;default;15": the last number is the background. */
static bool background_is_light(void)
{
	const char *s = getenv("COLORFGBG");
	const char *last = s ? strrchr(s, ';') : NULL;
	return last && (strcmp(last, ";7") == 0 || strcmp(last, ";15") == 0);
}

bool theme_no_colour(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	return (no_color && *no_color) || (term && strcmp(term, "dumb") == 0);
}

const struct theme *theme_choose(const char *choice, int background)
{
	const struct theme *named = choice ? theme_find(choice) : NULL;
	if (theme_no_colour())
		return theme_find("mono");
	if (named)
		return named;
	return theme_find(background > 0 || (background == 0 && background_is_light()) ? "light"
										       : "dark");
}

/* --- a user's own --------------------------------------------------------------------------- */

/* The nearest of the cube's 216 and the 24 greys. */
static int theme_nearest(unsigned rgb)
{
	static const int level[] = { 0, 95, 135, 175, 215, 255 };
	const int want[3] = { (int)(rgb >> 16) & 255, (int)(rgb >> 8) & 255, (int)rgb & 255 };
	int best = 16, best_d = INT32_MAX;
	for (int i = 16; i < 256; i++) {
		int c[3] = { level[(i - 16) / 36 % 6], level[(i - 16) / 6 % 6],
			     level[(i - 16) % 6] },
		    d = 0;
		if (i >= 232)
			c[0] = c[1] = c[2] = 8 + (i - 232) * 10;
		for (int k = 0; k < 3; k++)
			d += (c[k] - want[k]) * (c[k] - want[k]);
		if (d < best_d) {
			best_d = d;
			best = i;
		}
	}
	return best;
}

/* One word of a role; false if it is none. */
static bool take_word(struct look *l, bool *bright, const char *w)
{
	static const char *const colours[] = { "black", "red",	   "green", "yellow",
					       "blue",	"magenta", "cyan",  "white" };
	static const struct {
		const char *word;
		unsigned attr;
	} attrs[] = { { "bold", ATTR_BOLD },
		      { "underline", ATTR_UNDERLINE },
		      { "reverse", ATTR_REVERSE },
		      { "plain", 0 } };
	char *end;
	for (size_t i = 0; i < ARRAY_LEN(colours); i++)
		if (strcmp(w, colours[i]) == 0) {
			l->fg = (int)i + (*bright ? 8 : 0);
			return true;
		}
	for (size_t i = 0; i < ARRAY_LEN(attrs); i++)
		if (strcmp(w, attrs[i].word) == 0) {
			l->attrs |= attrs[i].attr;
			return true;
		}
	if (strcmp(w, "bright") == 0 || strcmp(w, "default") == 0) {
		*bright = *w == 'b';
		return true;
	}
	unsigned long n = strtoul(*w == '#' ? w + 1 : w, &end, *w == '#' ? 16 : 10);
	if (*end || (*w == '#' ? strlen(w) != 7 : (*w < '0' || *w > '9' || n > 255)))
		return false;
	l->fg = *w == '#' ? theme_nearest((unsigned)n) : (int)n;
	return true;
}

static int take_role(struct look *l, const char *role, const char *text, struct err *err)
{
	char copy[96], *save = NULL;
	bool bright = false;
	*l = (struct look){ .fg = -1 };
	if (strlen(text) >= sizeof(copy))
		return err_set(err, ERR_INVALID, "theme: %s: too many values", role);
	strcpy(copy, text);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		if (!take_word(l, &bright, w))
			return err_set(
				err, ERR_INVALID,
				"theme: %s: expected a color, bold, underline, reverse, or plain, got '%s'",
				role, w);
	return 0;
}

int theme_from_json(const json_t *o, const char *name, struct theme *out, struct err *err)
{
	const struct theme *base = theme_find(json_str(o, "base", "dark"));
	struct theme t;
	const char *key;
	json_t *v;
	if (!base)
		return err_set(err, ERR_INVALID,
			       "theme: base is dark, light, dark-hc, light-hc or mono");
	t = *base;
	t.name = name;
	json_object_foreach((json_t *)(uintptr_t)o, key, v)
	{
		int r = 0;
		while (r < ROLE_NR && strcmp(theme_names[r], key) != 0)
			r++;
		if (strcmp(key, "base") == 0)
			continue;
		if (r == ROLE_NR)
			return err_set(err, ERR_INVALID, "theme: unknown role '%s'", key);
		if (!json_is_string(v))
			return err_set(err, ERR_INVALID,
				       "theme: %s is a text like \"bright red bold\"", key);
		if (take_role(&t.look[r], key, json_string_value(v), err) < 0)
			return -1;
	}
	*out = t;
	return 0;
}

char role_letter(enum role r)
{
	return theme_letters[r];
}

const char *sign_text(enum sign s, bool ascii)
{
	return theme_signs[s][ascii || text_ambiguous()]; /* line drawing is of ambiguous width */
}
