#include "ui/theme_setup.h"

#include <stdio.h>
#include <string.h>

#include "ui/term/tty.h"

/* ":set theme=NAME": one of ours, or a file of the user's own. */
static int theme_wanted(void *self, const char *name, struct err *err)
{
	const struct console_opts *o = self;
	const struct theme *t = theme_find(name);
	struct theme made;
	if (!t && strcmp(name, "auto") == 0)
		t = theme_choose(NULL, term_background());
	if (!t && o->theme_load) {
		CLEANUP(json_release) json_t *data = o->theme_load(o->self, name, err);
		if (!data || theme_from_json(data, "own", &made, err) < 0)
			return -1;
		t = &made;
	}
	if (!t)
		return err_set(
			err, ERR_NOENT,
			"unknown theme '%s': expected auto, dark, light, dark-hc, light-hc, or mono",
			name);
	term_set_theme(t);
	return 0;
}

void theme_setup_theme(struct ui *ui, const struct console_opts *o)
{
	struct err err = ERR_INIT;
	struct theme made;
	const struct theme *t = theme_choose(o->theme, term_background());
	bool own = o->theme && !theme_find(o->theme) && strcmp(o->theme, "auto") != 0 &&
		   !theme_no_colour();
	CLEANUP(json_release)
	json_t *data = own && o->theme_load ? o->theme_load(o->self, o->theme, &err) : NULL;
	if (data && theme_from_json(data, "own", &made, &err) == 0)
		t = &made;
	else if (own)
		ui_say(ui, ROLE_WARN, *err.text ? "%s" : "unknown theme '%s'",
		       *err.text ? err.text : o->theme);
	term_set_theme(t);
	snprintf(ui->theme_name, sizeof(ui->theme_name), "%s", t == &made ? o->theme : t->name);
	ui->theme = theme_wanted;
	ui->theme_self = (void *)(uintptr_t)o;
}

void theme_setup_keys(struct ui *ui, const struct console_opts *o)
{
	CLEANUP(buf_release) struct buf said = BUF_INIT;
	keymap_user(o->keys, &said);
	if (said.len == 0)
		return;
	said.data[said.len - 1] = 0;
	for (char *p = said.data; (p = strchr(p, '\n'));)
		*p = ';';
	ui_say(ui, ROLE_WARN, "%s", said.data);
}
