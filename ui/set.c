/* ":set name=value": what a person can change of this console while it runs. */
#include <string.h>

#include "base/text/width.h"
#include "ui/coach.h"

static void set_theme(struct ui *ui, const char *value)
{
	struct err err = ERR_INIT;
	if (!ui->theme)
		ui_say(ui, ROLE_DIM, "no terminal to colour");
	else if (ui->theme(ui->theme_self, value, &err) < 0)
		ui_say(ui, ROLE_ERROR, "%s", err.text);
	else
		ui_say(ui, ROLE_DIM, "theme %s", value);
}

static void set_mouse(struct ui *ui, bool on)
{
	ui->no_mouse = !on;
	ui_say(ui, ROLE_DIM, on ? "mouse on; Shift selects as the terminal does" : "mouse off: the terminal selects");
}

static void set_coach(struct ui *ui, bool on)
{
	coach_set(ui, on);
	ui_say(ui, ROLE_DIM, on ? "hints are shown again, each once" : "no hints; coach = false in config.lua makes it last");
}

static void set_ambiwidth(struct ui *ui, const char *value)
{
	if (strcmp(value, "1") != 0 && strcmp(value, "2") != 0) {
		ui_say(ui, ROLE_ERROR, "ambiwidth is 1 or 2");
		return;
	}
	text_ambiguous_wide(*value == '2');
	ui->redraw = true;
	ui_say(ui, ROLE_DIM, "ambiwidth %s", value);
}

void ui_set(struct ui *ui, const char *what)
{
	static const char theme[] = "theme=", ambiwidth[] = "ambiwidth=";
	if (strncmp(what, theme, sizeof(theme) - 1) == 0)
		set_theme(ui, what + sizeof(theme) - 1);
	else if (strncmp(what, ambiwidth, sizeof(ambiwidth) - 1) == 0)
		set_ambiwidth(ui, what + sizeof(ambiwidth) - 1);
	else if (strcmp(what, "mouse") == 0 || strcmp(what, "nomouse") == 0)
		set_mouse(ui, *what == 'm');
	else if (strcmp(what, "coach") == 0 || strcmp(what, "nocoach") == 0)
		set_coach(ui, *what == 'c');
	else
		ui_say(ui, ROLE_ERROR, "set: theme=NAME, mouse, nomouse, coach, nocoach, ambiwidth=1 or 2; not '%s'", what);
}
