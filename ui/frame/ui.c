#include "ui/frame/ui.h"

#include <inttypes.h>
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
#include "ui/term/fmt.h"
#include "ui/frame/transport.h"
#include "ui/frame/verifying.h"
#include "ui/rows/row.h"

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

size_t ui_waits(const struct ui *ui, size_t source)
{
	const struct source *s = ui->src[source];
	return s->lost || s->model.ended ? 0 : s->model.nr_held + s->model.nr_asks;
}

static size_t count_held(const struct ui *ui)
{
	size_t n = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		n += ui_waits(ui, i);
	return n;
}

/* One slice for all of them: who is late in the row this time comes first the next time. */
static bool read_sources(struct ui *ui)
{
	int64_t until = clock_mono_us() + ui->slice_us;
	bool news = false;
	for (size_t k = 0; k < ui->nr_src; k++) {
		size_t i = (ui->first_src + k) % ui->nr_src;
		int64_t left = until - clock_mono_us();
		struct source *s = ui->src[i];
		bool failed = s->failed;
		int n = source_sync(s, transport_limit(ui, i),
				    ui->slice_us == 0 ? 0
				    : left > 1	      ? left
						      : 1);
		if (n < 0)
			ui_say(ui, ROLE_ERROR, "%s", s->why.text);
		else if (failed && !s->failed && ui->message &&
			 strcmp(ui->message, s->why.text) == 0)
			ui_say(ui, ROLE_DIM, "%s", ""); /* it could be read again */
		news = news || n != 0;
	}
	ui->first_src = ui->nr_src ? (ui->first_src + 1) % ui->nr_src : 0;
	return news;
}

enum { WAITS_MAX = 300 };

char *ui_lost_text(const struct ui *ui, size_t source)
{
	const char *id = session_id(ui->src[source]->session);
	return mem_printf("%s lost its supervisor: 'sandglass resume %s' continues it", id, id);
}

/* "14:31:26 held #405 fix-parser: git push origin fix/parser": the newest; not where it is looked
 * at anyhow. */
static char *waits_text(const struct ui *ui)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	const struct model_action *newest = NULL;
	size_t source = 0;
	struct row_info r;
	for (size_t i = 0; i < ui->nr_src; i++)
		if (ui->src[i]->lost)
			return ui_lost_text(ui, i);
	for (size_t i = 0; i < ui->nr_src && !(ui_where(ui) & (IN_APPROVAL | IN_QUESTION)); i++) {
		const struct model *m = &ui->src[i]->model;
		const struct model_action *act =
			m->nr_held ? model_action(m, m->held[m->nr_held - 1]) : NULL;
		if (act && (!newest || act->held_us > newest->held_us))
			newest = act, source = i;
	}
	if (!newest)
		return NULL;
	const struct model_agent *agent = model_agent(&ui->src[source]->model, newest->agent);
	row_load(&r, ui->src[source], &(struct row){ newest->id, EV_ACTION_REQUESTED }, &a);
	const char *what = one_line(r.what, &a);
	size_t len = strnlen(what, WAITS_MAX);
	while (len > 0 && ((unsigned char)what[len] & 0xc0) == 0x80) /* not within a character */
		len--;
	bool bare = !agent || strcmp(r.word, "exec") == 0; /* a command needs no kind before it */
	return mem_printf("%s held #%" PRIu64 " %s: %s%s%.*s", fmt_hms(&a, newest->held_us),
			  newest->id,
			  agent ? ui_short_name(ui, &a, ui_agent_name(ui, source, agent)) : r.word,
			  bare ? "" : r.word, bare ? "" : " ", (int)len, what);
}

/* The status line names the pending action. A screen opens only if the user configured this, and
 * never during typing. */
static void news_waits(struct ui *ui)
{
	if (ui->met) /* else the first word, of what this is, stays */
		ui_say(ui, ROLE_TEXT, "%s", "");
	bool typing = ui->prompt.active || ui->prompt.away || ui->count || finder_waits(ui);
	if (ui->popup && !typing && (ui_where(ui) & (IN_FLEET | IN_AGENT | IN_LOG | IN_PAGE)) &&
	    ui->grid.rows >= UI_MIN_ROWS && ui->grid.cols >= UI_MIN_COLS)
		ui_do(ui, VERB_APPROVE);
}

bool ui_reading(const struct ui *ui)
{
	for (size_t i = 0; i < ui->nr_src; i++)
		if (source_reading(ui->src[i]))
			return true;
	return false;
}

bool ui_sync(struct ui *ui)
{
	bool news = read_sources(ui);
	if (claimed_look(ui)) {
		news = ui->stale = true;
		if (ui->replay && !ui->limit && !*ui->message)
			transport_summary(ui);
	}
	while (ui->depth > 1 && ui_top(ui)->ops->finished &&
	       ui_top(ui)->ops->finished(ui_top(ui)->self, ui))
		ui_back(ui);
	size_t held = count_held(ui);
	if (held > ui->nr_held_seen && !ui->replay && !(ui_where(ui) & (IN_APPROVAL | IN_QUESTION)))
		news_waits(ui);
	ui->bell = ui->bell || (held > ui->nr_held_seen && !ui->replay);
	ui->nr_held_seen = held;
	ui->met = ui->met || !ui_reading(ui);
	return news;
}

bool ui_growing(const struct ui *ui)
{
	for (size_t i = 0; i < ui->nr_src; i++)
		if (ui->src[i]->growing)
			return true;
	return false;
}

/* A record stands still where its cursor is; so do sessions that have ended. */
int64_t ui_now(const struct ui *ui)
{
	int64_t last = 0;
	bool live = false;
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		last = m->last_us > last ? m->last_us : last;
		live = live || !(m->ended || ui->src[i]->lost);
	}
	return ui->replay || !live || ui->now_us < last ? last : ui->now_us;
}

int64_t ui_now_of(const struct ui *ui, size_t source)
{
	const struct source *s = ui_source(ui, source);
	return s && s->lost && s->model.last_us < ui_now(ui) ? s->model.last_us : ui_now(ui);
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

/* Of a rollback or an undo. */
static void say_back(struct ui *ui, const json_t *result)
{
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	int64_t to = json_int(result, "to", 0), of = json_int(result, "of", 0);
	const char *n = fmt_plural(&ar, json_int(result, "changes", 0), "change", "changes");
	if (to)
		ui_say(ui, ROLE_TEXT, "files are as they were at #%" PRId64 ": %s", to, n);
	else if (of)
		ui_say(ui, ROLE_TEXT, "undid #%" PRId64 ": %s", of, n);
}

void ui_say_error(struct ui *ui, const struct err *err)
{
	ui_say(ui, ROLE_ERROR, "%s%s%s", err->text, *err->hint ? ". " : "", err->hint);
}

static void ui_sent(void *self, const json_t *result, const struct err *err)
{
	struct ui *ui = self;
	const char *text = json_str(result, "text", NULL), *hold = json_str(result, "hold", NULL);
	if (err)
		ui_say_error(ui, err);
	else if (hold)
		ui_say(ui, ROLE_TEXT, *hold ? "breakpoint set: %s" : "the breakpoint is removed",
		       hold);
	else if (text)
		ui_say(ui, ROLE_TEXT, "%s", text);
	else if (json_object_get(result, "changes") && !json_object_get(result, "again"))
		say_back(ui, result);
}

/* True for an action that only a decision continues; an action at a breakpoint continues with
 * its agent. */
static bool wants_decision(struct source *s, const struct model_action *act)
{
	CLEANUP(json_release) json_t *o = source_body(s, act->held);
	const json_t *why = json_object_get(o, "reasons");
	for (size_t i = 0; i < json_array_size(why); i++) {
		const char *w = json_string_value(json_array_get(why, i));
		if (w &&
		    (strcmp(w, "ask") == 0 || strcmp(w, "budget") == 0 || strcmp(w, "price") == 0))
			return true;
	}
	return false;
}

/* The action that keeps @agent from going on whatever is continued; 0: none. */
static uint64_t waits_at(struct source *s, const char *agent)
{
	const struct model *m = &s->model;
	for (size_t i = 0; i < m->nr_agents; i++) {
		const struct model_action *act =
			strcmp(m->agent[i].name, agent) == 0 ? model_held(m, &m->agent[i]) : NULL;
		if (act && wants_decision(s, act))
			return act->id;
	}
	return 0;
}

static void say_deciding(struct ui *ui, const char *const *words, const json_t *o)
{
	const char *session = json_str(o, "session", NULL);
	const char *what = json_str(o, "rule", NULL)   ? "approved; a rule is added"
			   : json_object_get(o, "cmd") ? "approved as edited"
			   : session		       ? "approved, with later actions that match "
						       : "approved once";
	if (strcmp(words[0], "deny") == 0)
		what = json_str(o, "rule", NULL)      ? "denied; a rule is added"
		       : json_flag(o, "kill", false)  ? "denied; agent ends"
		       : json_flag(o, "pause", false) ? "denied; agent pauses: c continues it"
						      : "denied; agent continues";
	ui_say(ui, ROLE_DIM, "#%s %s%s", words[1], what,
	       session && strstr(what, "match ") ? session : "");
}

/* The status line until the answer arrives. */
static void say_sending(struct ui *ui, size_t source, const char *const *words, size_t nr,
			const json_t *opts)
{
	static const struct {
		const char *word, *of, *sign;
	} said[] = {
		{ "pause", "pauses before its next action", "" },
		{ "step", "does one action, then pauses", "" },
		{ "continue", "continues to the next breakpoint", "" },
		{ "say", "gets the message before its next model call", "" },
		{ "apply", "approved: the dry run's result is being applied", "#" },
		{ "defer", "still pending; the note is recorded", "#" },
		{ "answer", "answered", "#" },
		{ "dry-run", "dry run; its changes are discarded", "#" },
		{ "kill", "is being ended", "" },
	};
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	const struct source *s = ui_source(ui, source);
	const char *word = words[0], *whom = nr > 1 ? ui_short_name(ui, &ar, words[1]) : "";
	if (strcmp(word, "continue") == 0 && nr > 1 && s && s->model.paused_all) {
		ui_say(ui, ROLE_PAUSED,
		       "%s continues; all agents are still paused: P continues them", whom);
		return;
	}
	uint64_t at = strcmp(word, "continue") == 0 && nr > 1 && s
			      ? waits_at(ui->src[source], words[1])
			      : 0;
	if (at) {
		ui_say(ui, ROLE_HELD,
		       "%s waits at #%" PRIu64 ", which is pending approval: a opens it", whom, at);
		return;
	}
	if ((strcmp(word, "approve") == 0 || strcmp(word, "deny") == 0) && nr > 1) {
		say_deciding(ui, words, opts);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(said); i++)
		if (strcmp(word, said[i].word) == 0 && nr > 1) {
			ui_say(ui, ROLE_DIM, "%s%s %s", said[i].sign, whom, said[i].of);
			return;
		}
	if (strcmp(word, "merge") == 0 && nr > 1)
		ui_say(ui, ROLE_DIM, "%s",
		       json_flag(opts, "dry-run", false)
			       ? "dry run of the merge started; nothing is merged"
			       : arena_printf(&ar, "merge of sandbox %s started", whom));
	else if (strcmp(word, "budget") == 0)
		ui_say(ui, ROLE_DIM, "budget extended; its agents continue");
	else if (strcmp(word, "review") == 0 && nr > 1)
		ui_say(ui, ROLE_DIM, "review: %s",
		       strcmp(words[1], "accept") == 0	 ? "accepted"
		       : strcmp(words[1], "reject") == 0 ? "rejected"
		       : strcmp(words[1], "comment") == 0
			       ? "comment recorded; the agent reads it before its next turn"
			       : "undecided again");
	else
		ui_say(ui, ROLE_DIM, "%s%s%s", word, nr > 1 ? " " : "", nr > 1 ? words[1] : "");
}

bool ui_send(struct ui *ui, size_t source, const char *const *words, json_t *opts)
{
	size_t nr = 0;
	if (!ui_may_act(ui, source)) {
		json_decref(opts);
		ui_say(ui, ROLE_DIM, "%s", ui_why_not(ui, source));
		return false;
	}
	while (words[nr])
		nr++;
	say_sending(ui, source, words, nr, opts);
	ui->act[source].command(ui->act[source].self, words, nr, opts, ui_sent, ui);
	json_decref(opts);
	return true;
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
	ui->waits = *ui->message ? NULL : waits_text(ui);
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
