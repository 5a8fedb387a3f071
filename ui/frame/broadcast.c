/* What goes to every session on the screen at once: freeze, pause, and what becomes of them when
 * the user leaves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/ui.h"

static bool broadcast_reaches(const struct ui *ui, size_t i)
{
	return ui_may_act(ui, i) && !ui->src[i]->model.ended;
}

size_t ui_reached(const struct ui *ui)
{
	size_t n = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		n += broadcast_reaches(ui, i);
	return n;
}

static void broadcast_send_all(struct ui *ui, const char *word)
{
	const char *words[] = { word, NULL };
	for (size_t i = 0; i < ui->nr_src; i++)
		if (broadcast_reaches(ui, i))
			ui_send(ui, i, words, NULL);
}

static const char *broadcast_sessions(size_t n, char out[32])
{
	snprintf(out, 32, n == 1 ? "the session" : "%zu sessions", n);
	return out;
}

void ui_freeze_all(struct ui *ui)
{
	char of[32];
	size_t n = ui_reached(ui);
	broadcast_send_all(ui, "freeze");
	ui_say(ui, ROLE_HELD,
	       "FROZEN: every sandbox of %s is frozen, no action starts; P continues all",
	       broadcast_sessions(n, of));
}

void ui_pause_all(struct ui *ui)
{
	char of[32];
	bool all = true;
	for (size_t i = 0; i < ui->nr_src; i++)
		all = all && (!broadcast_reaches(ui, i) || ui->src[i]->model.paused_all);
	broadcast_send_all(ui, all ? "continue" : "pause");
	ui_say(ui, all ? ROLE_TEXT : ROLE_PAUSED,
	       all ? "%s: all continue"
		   : "%s: all pause before their next action; P continues them",
	       broadcast_sessions(ui_reached(ui), of));
}

/* --- leaving ---------------------------------------------------------------------------------- */

static bool nobody_runs(const struct ui *ui)
{
	for (size_t i = 0; i < ui->nr_src; i++)
		if (!ui->src[i]->model.ended)
			return false;
	return true;
}

static void broadcast_left(struct ui *ui, const char *key)
{
	ui->quit = key && *key == 'y';
}

void ui_leave(struct ui *ui, const struct subject *on)
{
	if (ui->replay || nobody_runs(ui))
		ui->quit = true;
	else
		ui_choose(
			ui,
			"leave the console? Agents continue; 'sandglass attach' comes back  (y/n)",
			"yn", on, broadcast_left);
}

/* One answer of the user to "leave: ..": each counts its own answers, so that a late one of an
 * earlier is none of it. */
struct leaving {
	struct leaving *before;
	struct ui *ui;
	size_t wanted; /* answers that are still to come; 0 it is over */
	bool stops;
};

/* The console goes when every supervisor has taken the command; one that has not keeps it here. */
static void broadcast_taken(void *self, const json_t *result, const struct err *err)
{
	struct leaving *l = self;
	(void)result;
	if (l != l->ui->leaving || l->wanted == 0)
		return;
	if (err) {
		l->wanted = 0;
		ui_say(l->ui, ROLE_ERROR, "the console stays open: %s%s%s", err->text,
		       *err->hint ? ". " : "", err->hint);
	} else if (--l->wanted == 0) {
		l->ui->quit = true;
		l->ui->stopped = l->stops;
	}
}

void ui_leave_free(struct ui *ui)
{
	while (ui->leaving) {
		struct leaving *l = ui->leaving;
		ui->leaving = l->before;
		free(l);
	}
}

static void leave_after(struct ui *ui, const char *word)
{
	const char *words[] = { word };
	struct leaving *l = NEW(struct leaving);
	*l = (struct leaving){ .before = ui->leaving,
			       .ui = ui,
			       .wanted = ui_reached(ui),
			       .stops = strcmp(word, "stop") == 0 };
	ui->leaving = l;
	ui_say(ui, ROLE_DIM, "%s..", word);
	for (size_t i = 0; i < ui->nr_src; i++)
		if (broadcast_reaches(ui, i))
			ui->act[i].command(ui->act[i].self, words, 1, NULL, broadcast_taken, l);
}

static void stop_chosen(struct ui *ui, const char *key)
{
	if (key && *key == 'y')
		leave_after(ui, "stop");
}

static void how_chosen(struct ui *ui, const char *key)
{
	const struct subject on = ui->prompt.on;
	char of[32], label[96];
	if (!key)
		return;
	if (*key == '1') {
		ui->quit = true;
	} else if (*key == '2') {
		leave_after(ui, "pause");
	} else {
		snprintf(label, sizeof(label),
			 "stop %s? Agents and sandboxes end, the recording is closed  (y/n)",
			 broadcast_sessions(ui_reached(ui), of));
		ui_choose(ui, label, "yn", &on, stop_chosen);
	}
}

void ui_leave_how(struct ui *ui, const struct subject *on)
{
	if (ui->replay || nobody_runs(ui) || ui_reached(ui) == 0)
		ui_leave(ui, on);
	else
		ui_choose(ui, "leave: 1 agents continue  2 pause all  3 stop all..   Esc stays",
			  "123", on, how_chosen);
}
