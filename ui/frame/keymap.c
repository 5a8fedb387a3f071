#include "ui/frame/keymap_priv.h"

#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"

static const struct key_row keymap_rows[] = {
#define KEY(where, key, VERB, hint) { (where), (uint32_t)(key), VERB_##VERB, (hint) },
#include "ui/frame/keys.def"
#undef KEY
};

static const struct {
	const char *name, *doc;
	enum verb_group group;
	bool acts, alone;
} keymap_verbs[] = {
	{ "", "", GROUP_ALL, false, false },
#define VERB(NAME, name, group, acts, alone, doc) { (name), (doc), GROUP_##group, (acts), (alone) },
#include "ui/frame/verbs.def"
#undef VERB
};

/* ":set keys=emacs" */
static const struct key_row keymap_emacs_rows[] = {
	{ IN_ALL & ~(unsigned)IN_APPROVAL, K_CTRL('n'), VERB_DOWN, NULL },
	{ IN_ALL & ~(unsigned)IN_APPROVAL, K_CTRL('p'), VERB_UP, NULL },
	{ IN_ALL & ~(unsigned)IN_APPROVAL, K_CTRL('v'), VERB_PAGE_DOWN, NULL },
	{ IN_ALL & ~(unsigned)IN_APPROVAL, K_CTRL('s'), VERB_SEARCH, NULL },
	{ IN_ALL & ~(unsigned)IN_APPROVAL, K_CTRL('g'), VERB_BACK, NULL },
};
static size_t nr_emacs; /* 0 or all of them */

enum { USER_MAX = 128 };
static struct key_row keymap_user_rows[USER_MAX];
static size_t nr_user;

enum verb keymap_verb(unsigned where, uint32_t key)
{
	for (size_t i = 0; i < keymap_count(); i++) {
		const struct key_row *k = keymap_row(i);
		if (k->key == key && (k->where & where))
			return k->verb;
	}
	return VERB_NONE;
}

void keymap_emacs(bool on)
{
	nr_emacs = on ? ARRAY_LEN(keymap_emacs_rows) : 0;
}

bool keymap_is_emacs(void)
{
	return nr_emacs > 0;
}

bool keymap_add(const struct key_row *k)
{
	if (nr_user == USER_MAX)
		return false;
	keymap_user_rows[nr_user++] = *k;
	return true;
}

size_t keymap_count(void)
{
	return nr_user + nr_emacs + ARRAY_LEN(keymap_rows);
}

const struct key_row *keymap_row(size_t i)
{
	if (i < nr_user)
		return &keymap_user_rows[i];
	return i < nr_user + nr_emacs ? &keymap_emacs_rows[i - nr_user]
				      : &keymap_rows[i - nr_user - nr_emacs];
}

const char *verb_name(enum verb v)
{
	return keymap_verbs[v].name;
}

const char *verb_doc(enum verb v)
{
	return keymap_verbs[v].doc;
}

enum verb_group verb_group(enum verb v)
{
	return keymap_verbs[v].group;
}

bool verb_acts(enum verb v)
{
	return keymap_verbs[v].acts;
}

bool verb_alone(enum verb v)
{
	return keymap_verbs[v].alone;
}

enum verb verb_find(const char *name)
{
	for (int v = 1; v < VERB_NR; v++)
		if (strcmp(keymap_verbs[v].name, name) == 0)
			return (enum verb)v;
	return VERB_NONE;
}

const char *verb_group_title(enum verb_group g)
{
	static const char *const titles[] = {
		[GROUP_MOVE] = "move",	    [GROUP_ACT] = "act",       [GROUP_LOOK] = "look",
		[GROUP_ALL] = "everywhere", [GROUP_DECIDE] = "decide", [GROUP_REPLAY] = "replay",
		[GROUP_HERE] = "here",
	};
	return titles[g];
}

static const char *special_name(uint32_t key)
{
	static const char *const names[] = { "Up",   "Down", "Left", "Right",	  "PgUp",  "PgDn",
					     "Home", "End",  "Del",  "Backspace", "S-Tab", "F1",
					     "F2",   "F3",   "F4",   "F5",	  "F6",	   "F7",
					     "F8",   "F9",   "F10",  "S-F3" };
	if (key >= K_UP && key <= K_SF3)
		return names[key - K_UP];
	return key == K_ENTER ? "Enter"
	       : key == K_TAB ? "Tab"
	       : key == K_ESC ? "Esc"
	       : key == ' '   ? "Space"
			      : NULL;
}

void key_name(uint32_t key, char out[16])
{
	const char *special = special_name(key);
	if (special)
		snprintf(out, 16, "%s", special);
	else if (key < 0x20)
		snprintf(out, 16, "Ctrl-%c", (char)(key + 'a' - 1));
	else
		out[utf8_put(key < KEY_FIRST_ ? key : '?', out)] = 0;
}
