/* Drives the approval screen over a recorded session by keys: what a test presses, sees, and
 * finds sent. */
#ifndef TEST_APPROVAL_SCREEN_H
#define TEST_APPROVAL_SCREEN_H

#include <unistd.h>

#include "fake_session.h"
#include "fake_waivers.h"
#include "tap.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"

static char sent[512];
static int nr_sent;

static void command(void *self, const char *const *words, size_t nr, json_t *opts,
		    act_done_fn *done, void *done_self)
{
	size_t at = 0;
	(void)self;
	if (fake_waivers(words, nr, opts, done, done_self))
		return;
	nr_sent++;
	for (size_t i = 0; i < nr; i++)
		at += (size_t)snprintf(sent + at, sizeof(sent) - at, "%s%s", i ? " " : "",
				       words[i]);
	CLEANUP(free_ptr) char *text = opts ? json_dump_str(opts) : mem_strdup("");
	snprintf(sent + at, sizeof(sent) - at, " %s", text);
}

static struct source *src;
static struct ui ui;
static const struct act act = { .command = command };
static uint64_t action;

static void begin(const char *fixture, const struct act *with, int rows)
{
	struct err err = ERR_INIT;
	if (source_open(&src, fixture, &err) < 0)
		exit(99);
	ui_init(&ui, &src, with, 1, rows, 120, false);
	ui_sync(&ui);
	action = src->model.held[0];
	ui.mono_us = 1000000;
	sent[0] = 0;
	nr_sent = 0;
	ui_draw(&ui);
	ui_do(&ui, VERB_APPROVE);
	ui_draw(&ui);
}

static void end(void)
{
	ui_release(&ui);
	source_close(&src);
}

static void later(int64_t us)
{
	ui.mono_us += us;
}

static void press(const char *keys)
{
	for (; *keys; keys++) {
		ui_key(&ui, (uint32_t)(unsigned char)*keys);
		ui_draw(&ui);
	}
}

static const char *view(void)
{
	return ui_top(&ui)->ops->name;
}

static bool seen(const char *what)
{
	char *text = NULL;
	size_t len = 0;
	ui_draw(&ui);
	FILE *to = open_memstream(&text, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	bool yes = strstr(text, what);
	free(text);
	return yes;
}

/* On the screen of the held action of steer.jsonl with the number @id. */
static void begin_at(uint64_t id)
{
	begin("tests/screens/steer.jsonl", &act, 36);
	while (src->model.held[0] != id && action != id) {
		press("]");
		for (size_t i = 0; i < src->model.nr_held; i++)
			if (src->model.held[i] == id)
				action = id;
	}
	struct subject on = { 0 };
	for (int i = 0; i < 8 && on.action != id; i++) {
		ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
		if (on.action != id)
			press("]");
	}
	later(1000000);
}

#endif
