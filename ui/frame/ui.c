#include "ui/frame/ui.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ui/frame/claimed.h"
#include "ui/frame/coach.h"
#include "ui/frame/finder.h"
#include "ui/frame/prompt.h"
#include "ui/frame/select.h"
#include "ui/frame/transport.h"
#include "ui/frame/verifying.h"

enum { CALM_US = 10000000, REST_US = 1000000, CLAIMED_US = 100000 };

void ui_init(struct ui *ui, struct source **src, const struct act *act, size_t nr, int rows,
	     int cols, bool ascii)
{
	*ui = (struct ui){ .src = src,
			   .act = act,
			   .nr_src = nr,
			   .dead_us = 400000,
			   .clock = clock_mono_us,
			   .ascii_only = ascii };
	grid_init(&ui->grid, rows, cols, ascii);
	ui->message = mem_strdup("");
	ui->find = finder_new();
	ui_open(ui, "fleet", &(struct subject){ 0 });
}

static void view_close(struct view *v)
{
	if (v->ops->close)
		v->ops->close(v->self);
	free(v->self);
	arena_release(&v->arena);
	*v = (struct view){ 0 };
}

void ui_release(struct ui *ui)
{
	while (ui->depth > 0)
		view_close(&ui->stack[--ui->depth]);
	prompt_clear(&ui->prompt);
	grid_release(&ui->grid);
	finder_free(ui->find);
	coach_free(ui->coach);
	claimed_free(&ui->claimed);
	ui_leave_free(ui);
	verifying_free(&ui->verifying);
	free(ui->message);
	free(ui->waits);
	free(ui->edit);
	buf_release(&ui->wish_text);
}

struct view *ui_top(struct ui *ui)
{
	return &ui->stack[ui->depth - 1];
}

static void ui_recalc(struct ui *ui)
{
	struct view *v = ui_top(ui);
	arena_reset(&v->arena);
	for (size_t i = 0; i < ui->nr_src; i++)
		session_hold(ui->src[i]->session);
	filter_count_anew(ui);
	v->ops->recalc(v->self, ui, &v->arena, ui->grid.rows - ui_frame_rows(ui), ui->grid.cols);
	for (size_t i = 0; i < ui->nr_src; i++)
		session_let_go(ui->src[i]->session);
	ui->stale = false;
	select_keep(ui);
}

/* What was said by the way is of the screen that it was said on. */
static void ui_passed(struct ui *ui)
{
	if ((ui->message_role == ROLE_DIM || ui->message_role == ROLE_HELD) &&
	    ui->message_key != ui->nr_keys)
		ui_say(ui, ROLE_TEXT, "%s", "");
}

/* A view that is on top already is opened anew, if it does not stay as it is; the oldest but the
 * first gives way to the ninth. */
void ui_open(struct ui *ui, const char *name, const struct subject *on)
{
	const struct view_ops *ops = view_find(name);
	if (!ops)
		return;
	const struct view *top = ui->depth > 0 ? ui_top(ui) : NULL;
	if (top && top->ops == ops && ops->stays && ops->stays(top->self, ui, on))
		return;
	if (top && top->ops == ops)
		view_close(&ui->stack[--ui->depth]);
	if (ui->depth == UI_VIEWS) {
		view_close(&ui->stack[1]);
		memmove(&ui->stack[1], &ui->stack[2], (UI_VIEWS - 2) * sizeof(*ui->stack));
		ui->depth--;
	}
	ui_passed(ui);
	struct view *v = &ui->stack[ui->depth++];
	ui->nr_shown++;
	*v = (struct view){ .ops = ops, .self = mem_calloc(1, ops->size) };
	if (ops->open)
		ops->open(v->self, ui, on);
	ui_recalc(ui); /* keys may come before the next draw */
}

void ui_begin_browse(struct ui *ui, const struct browse *browse)
{
	ui->browse = browse;
	while (ui->depth > 0)
		view_close(&ui->stack[--ui->depth]);
	ui_open(ui, "sessions", &(struct subject){ 0 });
}

void ui_back(struct ui *ui)
{
	if (ui->depth > 1)
		view_close(&ui->stack[--ui->depth]), ui->nr_shown++, ui->stale = true;
	ui_passed(ui);
}

void ui_fresh(struct ui *ui)
{
	if (ui->stale)
		ui_recalc(ui);
}

void ui_say(struct ui *ui, enum role r, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	free(ui->message);
	ui->message = mem_strdup(text);
	ui->message_role = r;
	ui->message_key = ui->nr_keys;
	ui->nr_messages++;
}

unsigned ui_where(const struct ui *ui)
{
	return ui->stack[ui->depth - 1].ops->where | (ui->replay ? IN_REPLAY : 0u);
}

/* The verb's key opens a line for text. The screen of one pending action has dead keys of its
 * own. */
static bool asks_for_words(const struct ui *ui, enum verb v)
{
	return v == VERB_SAY || v == VERB_BUDGET || (v == VERB_NO && !(ui_where(ui) & IN_APPROVAL));
}

/* Keys typed for a line that has not opened are not commands. They are discarded, with the
 * following ones until a pause. */
static void no_keys(struct ui *ui)
{
	ui->flush = true;
	ui->dead_until_us = ui->mono_us + ui->dead_us;
}

static void do_verb(struct ui *ui, enum verb v)
{
	ui_fresh(ui);
	if (ui->nr_src == 0 && !verb_alone(v)) {
		ui_say(ui, ROLE_DIM, "%s: open a session first", verb_name(v));
		return;
	}
	coach_did(ui, v);
	if (select_verb(ui, v))
		return;
	struct view *top = ui_top(ui);
	struct subject on = { 0 };
	const char *why = top->ops->off ? top->ops->off(top->self, ui, v) : NULL;
	if (top->ops->subject)
		top->ops->subject(top->self, ui, &on);
	bool all = v == VERB_FREEZE || v == VERB_PAUSE_ALL; /* whatever session is selected */
	if (verb_acts(v) && (all ? ui_reached(ui) == 0 : !ui_may_act(ui, on.source)))
		why = ui_why_not(ui, on.source);
	if (why)
		ui_say(ui, ROLE_DIM, "%s: %s", verb_name(v), why);
	else if (ui->replay && v == VERB_FOLLOW)
		transport_verb(ui, v, &on);
	else if (!top->ops->verb || !top->ops->verb(top->self, ui, v))
		ui_common_verb(ui, v, &on);
}

void ui_do(struct ui *ui, enum verb v)
{
	bool words = asks_for_words(ui, v);
	do_verb(ui, v);
	if (words && !ui->prompt.active)
		no_keys(ui);
}

static bool at_top(const struct ui *ui)
{
	return ui->depth == 1 && ui_where(ui) & (IN_FLEET | IN_SESSIONS);
}

void ui_key(struct ui *ui, uint32_t key)
{
	if (key == KEY_NONE_)
		return;
	ui->nr_keys++;
	if (key & K_PASTED) { /* text for a prompt, and never a command */
		key &= ~(uint32_t)K_PASTED;
		if (!ui->prompt.active || ui->prompt.choice || ui->prompt.by_hand)
			return;
		if (key < 0x20) {
			prompt_pasted_control(ui, key);
			return;
		}
	}
	if (ui->grid.rows < UI_MIN_ROWS || ui->grid.cols < UI_MIN_COLS) {
		if (key == 'q')
			/* nothing else means anything on a screen that shows nothing */
			ui->quit = true;
		return;
	}
	if (key != K_ESC && ui->mono_us < ui->dead_until_us) {
		no_keys(ui);
		return;
	}
	ui_fresh(ui);
	if (ui->prompt.active) {
		prompt_key(ui, key);
		return;
	}
	if (select_key(ui, key))
		return;
	struct view *top = ui_top(ui);
	if (ui->replay && transport_key(ui, key))
		return;
	if (finder_key(ui, key))
		return;
	if (top->ops->key && top->ops->key(top->self, ui, key))
		return;
	if (count_key(ui, key))
		return;
	if (key == K_CTRL('c')) {
		ui_say(ui, ROLE_TEXT,
		       "q leaves the console, agents continue; :stop ends the session");
		return;
	}
	enum verb v = keymap_verb(ui_where(ui), key);
	/* pressed once too often: that leaves nothing */
	if (v == VERB_BACK && (key == K_ESC || key == K_CTRL('g')) && at_top(ui))
		ui_say(ui, ROLE_DIM, "this is the first screen; q leaves the console");
	else if (v != VERB_NONE)
		ui_do(ui, v);
	else if (key > ' ' && key < 0x7f)
		ui_say(ui, ROLE_DIM, "'%c' has no action on this screen; ? lists the keys",
		       (char)key);
}

const char *ui_agent_name(const struct ui *ui, size_t source, const struct model_agent *a)
{
	const char *session = ui->src[source]->model.name;
	if (!a)
		return "";
	return a->script && ui->nr_src > 1 && session && *session ? session : a->name;
}

const char *ui_short_name(const struct ui *ui, struct arena *ar, const char *name)
{
	return text_short(ar, name, ui->grid.cols >= 100 ? 32 : 13);
}

bool ui_may_act(const struct ui *ui, size_t source)
{
	return !ui->replay && ui->act && source < ui->nr_src && ui->act[source].command;
}

const char *ui_why_not(const struct ui *ui, size_t source)
{
	const struct source *s = ui_source(ui, source);
	if (!ui->replay && ui->act && source < ui->nr_src && ui->act[source].why_not && s &&
	    !s->model.ended)
		return ui->act[source].why_not;
	return ui->replay	     ? "read only: nothing runs in replay"
	       : s && s->model.ended ? "read only: the session has ended"
				     : "read only: not attached to a running session";
}

void ui_resize(struct ui *ui, int rows, int cols)
{
	ui->select.on = ui->select.on && cols == ui->grid.cols; /* else other rows are wrapped */
	if (rows < UI_MIN_ROWS || cols < UI_MIN_COLS)
		ui->nr_shown++; /* unreadable: the next screen is painted anew */
	grid_resize(&ui->grid, rows, cols);
}

void ui_edited(struct ui *ui, const char *text)
{
	void (*edited)(struct ui *, const char *) = ui->edited;
	free(ui->edit);
	ui->edit = NULL;
	ui->edited = NULL;
	if (edited)
		edited(ui, text);
}

static uint64_t events_of(const struct ui *ui)
{
	uint64_t n = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		n += ui->src[i]->model.events;
	return n;
}

static int64_t calm_until(const struct calm *c)
{
	return c->came_us + REST_US < c->at_us + CALM_US ? c->came_us + REST_US
							 : c->at_us + CALM_US;
}

int64_t ui_next(const struct ui *ui)
{
	int64_t next = ui->wake_us > ui->mono_us ? ui->wake_us : INT64_MAX, find = finder_next(ui);
	next = find < next ? find : next;
	if (!ui->replay && ui->counted.at_us > 0 && ui->counted.shown != events_of(ui) &&
	    next > calm_until(&ui->counted))
		next = calm_until(&ui->counted);
	if (claimed_comes(ui) && next > ui->mono_us + CLAIMED_US)
		next = ui->mono_us + CLAIMED_US;
	if (ui->playing && ui->transport.next_us < next)
		next = ui->transport.next_us;
	for (size_t i = 0; i < ui->nr_src && !ui->replay; i++) {
		const struct model *m = &ui->src[i]->model;
		bool busy = m->nr_held || m->nr_asks || model_count(m, AGENT_RUN) ||
			    model_count(m, AGENT_THINK);
		if (busy && !m->ended && !ui->src[i]->lost && next > ui->mono_us + 1000000)
			next = ui->mono_us + 1000000; /* an age counts on */
	}
	return next;
}

uint64_t ui_calm(const struct ui *ui, struct calm *c, uint64_t of, uint64_t value)
{
	if (value != c->value)
		c->came_us = ui->mono_us;
	c->value = value;
	bool still = !ui->replay && c->at_us > 0 && ui->mono_us < calm_until(c);
	/* twice as many is another order of things */
	bool near = value > c->shown && value / 2 < c->shown;
	if (c->of == of && (c->shown == value || (still && near)))
		return c->shown;
	c->of = of;
	c->shown = value;
	c->at_us = ui->mono_us;
	return value;
}

void ui_draw(struct ui *ui)
{
	struct view *v = ui_top(ui);
	grid_clear(&ui->grid);
	struct area all = area_all(&ui->grid);
	if (all.rows < UI_MIN_ROWS || all.cols < UI_MIN_COLS) {
		small_paint(ui, all);
		return;
	}
	coach_look(ui);
	free(ui->waits);
	ui->waits = *ui->message ? NULL : ui_waits_text(ui);
	ui_calm(ui, &ui->counted, 0, events_of(ui));
	struct area body = area_sub(all, 0, 0, all.rows - ui_frame_rows(ui), all.cols);
	ui_recalc(ui);
	v->ops->paint(v->self, ui, body);
	ui_frame_paint(ui, all);
	if (ui->replay)
		transport_paint(ui, area_sub(all, all.rows - ui_frame_rows(ui), 0,
					     transport_rows(ui), all.cols));
	finder_paint(ui, body);
	select_paint(ui, body);
}
