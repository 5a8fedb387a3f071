/* ":set name=value": what a user can change of this console while it runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/width.h"
#include "ui/frame/coach.h"

enum { ARM_LEAST_MS = 150 };

static void set_theme(struct ui *ui, const char *value)
{
	struct err err = ERR_INIT;
	if (!ui->theme)
		ui_say(ui, ROLE_DIM, "no terminal to colour");
	else if (ui->theme(ui->theme_self, value, &err) < 0)
		ui_say(ui, ROLE_ERROR, "%s", err.text);
	else {
		snprintf(ui->theme_name, sizeof(ui->theme_name), "%s", value);
		ui_say(ui, ROLE_DIM, "theme %s", value);
	}
}

static void set_mouse(struct ui *ui, bool on)
{
	ui->no_mouse = !on;
	ui_say(ui, ROLE_DIM,
	       on ? "mouse on; Shift selects as the terminal does"
		  : "mouse off: the terminal selects");
}

static void set_coach(struct ui *ui, bool on)
{
	coach_set(ui, on);
	ui_say(ui, ROLE_DIM,
	       on ? "hints are shown again, each once"
		  : "no hints; coach = false in config.lua makes it last");
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

static void set_keys(struct ui *ui, const char *value)
{
	if (strcmp(value, "emacs") != 0 && strcmp(value, "own") != 0) {
		ui_say(ui, ROLE_ERROR, "keys are own or emacs");
		return;
	}
	keymap_emacs(*value == 'e');
	ui_say(ui, ROLE_DIM,
	       keymap_is_emacs()
		       ? "Ctrl-n p v move, Ctrl-s searches, Ctrl-g goes back; :palette finds anything"
		       : "keys as shown by ?");
}

static void set_ascii(struct ui *ui, bool on)
{
	if (!on && ui->ascii_only) {
		ui_say(ui, ROLE_ERROR,
		       "no: this terminal shows only ASCII (LC_ALL, SANDGLASS_ASCII)");
		return;
	}
	ui->grid.ascii = on;
	ui->redraw = true;
	ui_say(ui, ROLE_DIM,
	       on ? "rules and bars in ASCII; text stays as it is"
		  : "rules and bars as lines and blocks");
}

static void set_arm(struct ui *ui, const char *value)
{
	char *end;
	unsigned long ms = strtoul(value, &end, 10);
	if (*end || end == value || ms < ARM_LEAST_MS || ms > 10000) {
		ui_say(ui, ROLE_ERROR, "arm_ms: how long a question takes no keys, %d to 10000",
		       ARM_LEAST_MS);
		return;
	}
	ui->dead_us = (int64_t)ms * 1000;
	ui_say(ui, ROLE_DIM, "a question that opens takes no keys for %lu ms", ms);
}

static void set_popup(struct ui *ui, const char *value)
{
	if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0) {
		ui_say(ui, ROLE_ERROR, "approvals.popup is true or false");
		return;
	}
	ui->popup = *value == 't';
	ui_say(ui, ROLE_DIM,
	       ui->popup ? "pending approvals open when they arrive, unless you type"
			 : "pending approvals open only when you press a");
}

static void set_next(struct ui *ui, const char *value)
{
	if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0) {
		ui_say(ui, ROLE_ERROR, "approvals.next is true or false");
		return;
	}
	ui->no_next = *value == 'f';
	ui_say(ui, ROLE_DIM,
	       ui->no_next ? "an approval closes after your decision"
			   : "after your decision the next pending approval opens");
}

const char *ui_setting(size_t i)
{
	static const char *const all[] = { "theme=auto",
					   "theme=dark",
					   "theme=light",
					   "theme=dark-hc",
					   "theme=light-hc",
					   "theme=mono",
					   "keys=emacs",
					   "keys=own",
					   "approvals.popup=true",
					   "approvals.popup=false",
					   "approvals.next=true",
					   "approvals.next=false",
					   "mouse",
					   "nomouse",
					   "coach",
					   "nocoach",
					   "ascii",
					   "noascii",
					   "ambiwidth=1",
					   "ambiwidth=2",
					   "approvals.arm_ms=400" };
	return i < ARRAY_LEN(all) ? all[i] : NULL;
}

bool ui_is_setting(const char *word)
{
	size_t n = strcspn(word, "= ");
	for (size_t i = 0; n && ui_setting(i); i++)
		if (strncmp(ui_setting(i), word, n) == 0 && strchr("=", ui_setting(i)[n]))
			return true;
	return false;
}

/* All of them as they are. */
static void set_say_all(struct ui *ui)
{
	ui_say(ui, ROLE_TEXT, "theme=%s %s %s keys=%s ambiwidth=%d popup=%s next=%s arm_ms=%d",
	       *ui->theme_name ? ui->theme_name : "none", ui->no_mouse ? "nomouse" : "mouse",
	       ui->grid.ascii ? "ascii" : "noascii", keymap_is_emacs() ? "emacs" : "own",
	       text_ambiguous() ? 2 : 1, ui->popup ? "true" : "false",
	       ui->no_next ? "false" : "true", (int)(ui->dead_us / 1000));
}

/* "theme light" is "theme=light"; a blank that completion has put is none. */
static void put_equal(char *what)
{
	size_t n = strcspn(what, "= "), end = strlen(what);
	while (end > 0 && what[end - 1] == ' ')
		what[--end] = '\0';
	if (what[n] != ' ' || !ui_is_setting(what))
		return;
	size_t skip = strspn(what + n, " =");
	what[n] = '=';
	memmove(what + n + 1, what + n + skip, strlen(what + n + skip) + 1);
}

/* Is @value said of a switch in one of the words for on, or for off? */
static bool is_on_or_off(const char *value, bool *on)
{
	static const char *const words[][2] = {
		{ "on", "off" }, { "true", "false" }, { "yes", "no" }, { "1", "0" }
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		*on = strcmp(value, words[i][0]) == 0;
		if (*on || strcmp(value, words[i][1]) == 0)
			return true;
	}
	return false;
}

static bool is_switch(const char *name, size_t len)
{
	static const char *const all[] = { "mouse", "coach", "ascii" };
	size_t i = 0;
	while (i < ARRAY_LEN(all) && (strlen(all[i]) != len || strncmp(name, all[i], len) != 0))
		i++;
	return i < ARRAY_LEN(all);
}

/* Switches may be given as settings with a value, and those of approvals without that word. Returns
 * owned. */
static char *set_normal(const char *typed)
{
	CLEANUP(free_ptr) char *what = mem_strdup(typed);
	put_equal(what);
	size_t n = strcspn(what, "=");
	bool on;
	if (what[n] && is_switch(what, n) && is_on_or_off(what + n + 1, &on))
		return mem_printf("%s%.*s", on ? "" : "no", (int)n, what);
	bool short_name = strncmp(what, "popup=", 6) == 0 || strncmp(what, "next=", 5) == 0 ||
			  strncmp(what, "arm_ms=", 7) == 0;
	return mem_printf("%s%s", short_name ? "approvals." : "", what);
}

void ui_set(struct ui *ui, const char *typed)
{
	CLEANUP(free_ptr) char *what = set_normal(typed);
	bool toggled = strcmp(what, "mouse") == 0 || strcmp(what, "coach") == 0 ||
		       strcmp(what, "ascii") == 0 || strncmp(what, "no", 2) == 0;
	if (!*what || (ui_is_setting(what) && !strchr(what, '=') && !toggled)) {
		set_say_all(ui);
		return;
	}
	static const char keys[] = "keys=", popup[] = "approvals.popup=",
			  next[] = "approvals.next=";
	static const char theme[] = "theme=", ambiwidth[] = "ambiwidth=",
			  arm[] = "approvals.arm_ms=";
	if (strncmp(what, theme, sizeof(theme) - 1) == 0)
		set_theme(ui, what + sizeof(theme) - 1);
	else if (strncmp(what, ambiwidth, sizeof(ambiwidth) - 1) == 0)
		set_ambiwidth(ui, what + sizeof(ambiwidth) - 1);
	else if (strncmp(what, keys, sizeof(keys) - 1) == 0)
		set_keys(ui, what + sizeof(keys) - 1);
	else if (strncmp(what, popup, sizeof(popup) - 1) == 0)
		set_popup(ui, what + sizeof(popup) - 1);
	else if (strncmp(what, next, sizeof(next) - 1) == 0)
		set_next(ui, what + sizeof(next) - 1);
	else if (strncmp(what, arm, sizeof(arm) - 1) == 0)
		set_arm(ui, what + sizeof(arm) - 1);
	else if (strcmp(what, "ascii") == 0 || strcmp(what, "noascii") == 0)
		set_ascii(ui, *what == 'a');
	else if (strcmp(what, "mouse") == 0 || strcmp(what, "nomouse") == 0)
		set_mouse(ui, *what == 'm');
	else if (strcmp(what, "coach") == 0 || strcmp(what, "nocoach") == 0)
		set_coach(ui, *what == 'c');
	else if (is_switch(what, strcspn(what, "=")))
		ui_say(ui, ROLE_ERROR, "%.*s is on or off", (int)strcspn(what, "="), what);
	else
		ui_say(ui, ROLE_ERROR, "no setting '%.24s'; Tab lists them (theme= keys= mouse ..)",
		       what);
}
