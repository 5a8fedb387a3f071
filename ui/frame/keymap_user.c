/* A user's own keys, checked against ours. */
#include <string.h>

#include "base/text/utf8.h"
#include "ui/frame/keymap_priv.h"

static const struct {
	const char *name;
	unsigned where;
} keymap_user_screens[] = {
	{ "all", IN_ALL & ~(unsigned)IN_APPROVAL },
	{ "fleet", IN_FLEET },
	{ "agent", IN_AGENT },
	{ "queue", IN_QUEUE },
	{ "diff", IN_DIFF },
	{ "log", IN_LOG },
	{ "help", IN_HELP },
	{ "replay", IN_REPLAY },
};

uint32_t key_parse(const char *name)
{
	char other[16];
	uint32_t cp;
	size_t used, len = strlen(name);
	if (len == 6 && strncmp(name, "Ctrl-", 5) == 0 && name[5] >= 'a' && name[5] <= 'z')
		return K_CTRL(name[5]);
	if (len > 0 && utf8_next(name, len, &cp, &used) == UTF8_OK && used == len && cp > 0x20)
		return cp;
	for (uint32_t k = K_UP; k <= K_SF3; k++) {
		key_name(k, other);
		if (strcmp(other, name) == 0)
			return k;
	}
	static const uint32_t plain[] = { K_ENTER, K_TAB, ' ' };
	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		key_name(plain[i], other);
		if (strcmp(other, name) == 0)
			return plain[i];
	}
	return KEY_NONE_;
}

/* True if some key still gives the verb on that screen. */
static bool keymap_user_reachable(unsigned where, enum verb v)
{
	for (size_t i = 0; i < keymap_count(); i++) {
		const struct key_row *k = keymap_row(i);
		if (k->verb == v && (k->where & where) &&
		    keymap_verb(k->where & where, k->key) == v)
			return true;
	}
	return false;
}

static void keymap_user_add(const char *screen, unsigned where, const char *name, const char *verb,
			    struct buf *said)
{
	uint32_t key = key_parse(name);
	enum verb v = strcmp(verb, "none") == 0 ? VERB_NONE : verb_find(verb);
	if (key == KEY_NONE_ || key == K_ESC || key == K_CTRL('c') || key == K_CTRL('z')) {
		buf_printf(said, "keys: '%s' on %s: this key can't be assigned\n", name, screen);
		return;
	}
	if ((v == VERB_NONE && strcmp(verb, "none") != 0) ||
	    (v != VERB_NONE && verb_group(v) == GROUP_DECIDE)) {
		buf_printf(said, "keys: '%s' on %s: unknown verb '%s'\n", name, screen, verb);
		return;
	}
	enum verb was = keymap_verb(where, key);
	if (!keymap_add(&(struct key_row){ .where = where, .key = key, .verb = v })) {
		buf_printf(said, "keys: '%s' on %s is one too many\n", name, screen);
		return;
	}
	if (was != VERB_NONE && was != v && !keymap_user_reachable(where, was))
		buf_printf(said, "keys: '%s' on %s was %s, which has no key now\n", name, screen,
			   verb_name(was));
	else if (was != VERB_NONE && was != v)
		buf_printf(said, "keys: '%s' on %s was %s\n", name, screen, verb_name(was));
}

void keymap_user(const json_t *map, struct buf *said)
{
	const char *screen, *key;
	json_t *keys, *verb;
	json_object_foreach((json_t *)(uintptr_t)map, screen, keys)
	{
		unsigned where = 0;
		for (size_t i = 0; i < ARRAY_LEN(keymap_user_screens); i++)
			if (strcmp(keymap_user_screens[i].name, screen) == 0)
				where = keymap_user_screens[i].where;
		if (where == 0) {
			buf_printf(said,
				   strcmp(screen, "approval") == 0
					   ? "keys: those of the %s dialog are fixed\n"
					   : "keys: unknown screen '%s'\n",
				   screen);
			continue;
		}
		json_object_foreach(keys, key, verb)
			keymap_user_add(screen, where, key,
					json_is_string(verb) ? json_string_value(verb) : "", said);
	}
}
