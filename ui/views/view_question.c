/* A question of a script, and its answer: a choice by its number, a text, or the fields of its form
 * in order.
 *
 * As with a pending action, it opens only on request. Earlier keys are discarded, and answer
 * keys are dead for a moment. A choice can be made once it was on the screen. Enter alone
 * answers nothing: y sends a form, and also any answer at high risk. The first user to answer
 * wins, and the others see who answered. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/prompt.h"
#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/term/text.h"
#include "ui/frame/ui.h"

enum { BY_KEY = 9 }; /* with more choices than this the number is typed */

struct question {
	size_t source;
	uint64_t seq;
	int64_t opened_us; /* mono */
	unsigned shown;
	bool sent;
	int64_t top;
	json_t *fields; /* "name=value" as they have been typed; owned */
	char *word;	/* the answer that waits for y; owned */
	bool *seen;	/* by choice: its end was on the screen; owned */
	/* made by recalc */
	bool waits;
	const struct model_agent *agent;
	struct row_info info;
	struct text text;
	const char **choice, **field, **preset;
	size_t *choice_end; /* the row after it */
	size_t nr_choices, nr_fields, text_top;
	int64_t until_us, since_us;
	bool high;
	const char *default_, *answered;
	int rows;
	struct arena *arena;
};

static void view_question_arm(struct question *v, struct ui *ui)
{
	v->shown = ui->nr_shown;
	v->opened_us = ui->mono_us;
	ui->flush = true;
	ui->wake_us = ui->mono_us + ui->dead_us;
}

static void view_question_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct question *v = self;
	v->source = on->source;
	v->seq = on->action;
	const struct source *s = ui_source(ui, v->source);
	/* one that was chosen stays, answered meanwhile or not */
	if (s && v->seq == 0 && s->model.nr_asks > 0)
		v->seq = s->model.ask[0].seq;
	view_question_arm(v, ui);
}

static void view_question_close_view(void *self)
{
	struct question *v = self;
	json_release(&v->fields);
	free(v->word);
	free(v->seen);
}

/* --- recalc ----------------------------------------------------------------------------------- */

static const char *view_question_words_of(const json_t *v, struct arena *ar)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const json_t *text = json_is_object(v) ? json_object_get(v, "text") : NULL;
	if (!json_get_bytes(text ? text : v, &b) && v)
		json_dump_buf((json_t *)(uintptr_t)v, &b);
	return arena_strndup(ar, buf_cstr(&b), b.len);
}

static void load_form(struct question *v, json_t *form)
{
	const char *name;
	json_t *value;
	size_t i;
	size_t most = json_is_array(form) ? json_array_size(form) : json_object_size(form);
	v->nr_fields = 0;
	v->field = arena_alloc(v->arena, (most + 1) * sizeof(*v->field));
	v->preset = arena_alloc(v->arena, (most + 1) * sizeof(*v->preset));
	if (json_is_array(form))
		json_array_foreach(form, i, value) if (json_is_string(value))
			v->preset[v->nr_fields] = "",
			v->field[v->nr_fields++] = view_question_words_of(value, v->arena);
	if (json_is_object(form))
		json_object_foreach(form, name, value)
			v->preset[v->nr_fields] = view_question_words_of(value, v->arena),
			v->field[v->nr_fields++] = arena_strdup(v->arena, name);
}

/* An answer names its question by cause; one that names none is of its agent's. */
static bool view_question_answers(const struct question *v, struct source *s, uint64_t seq)
{
	struct event ev;
	struct err err = ERR_INIT;
	if (session_event(s->session, seq, &ev, v->arena, &err) < 0)
		return false;
	return ev.cause ? ev.cause == v->seq : ev.agent == v->info.agent;
}

/* The user and the answer, from the first row after the question that is its answer. */
static const char *view_question_answer_of(const struct question *v, struct source *s)
{
	struct row_info r;
	for (size_t i = rows_find(&s->model.rows, v->seq); i < s->model.rows.nr; i++) {
		const struct row *row = &s->model.rows.row[i];
		if (row->kind != EV_ASK_ANSWERED || !view_question_answers(v, s, row->seq))
			continue;
		CLEANUP(json_release) json_t *o = source_body(s, row->seq);
		row_load(&r, s, row, v->arena);
		return json_flag(o, "timeout", false)
			       ? "nobody answered in time"
			       : arena_printf(v->arena, "answered: %s", r.what);
	}
	return "already decided";
}

static void load_choices(struct question *v, const json_t *list)
{
	v->nr_choices = json_array_size(list);
	v->choice = arena_alloc(v->arena, (v->nr_choices + 1) * sizeof(*v->choice));
	v->choice_end = arena_alloc(v->arena, (v->nr_choices + 1) * sizeof(*v->choice_end));
	for (size_t i = 0; i < v->nr_choices; i++)
		v->choice[i] = view_question_words_of(json_array_get(list, i), v->arena);
	if (!v->seen && v->nr_choices)
		v->seen = mem_calloc(v->nr_choices, sizeof(*v->seen));
}

static void note_seen(struct question *v)
{
	size_t end = v->text_top + (size_t)(v->rows > 0 ? v->rows : 0);
	for (size_t i = 0; i < v->nr_choices; i++)
		v->seen[i] =
			v->seen[i] || (v->choice_end[i] > v->text_top && v->choice_end[i] <= end);
}

static void view_question_compose(struct question *v, const json_t *o)
{
	struct text *t = &v->text;
	const char *asked = view_question_words_of(json_object_get(o, "text"), v->arena);
	text_head(t, ROLE_TITLE, "THE SCRIPT ASKS");
	text_add(t, ROLE_CMD, "", asked, strlen(asked), TEXT_SOFT);
	text_blank(t);
	if (v->nr_choices)
		text_head(t, ROLE_TITLE, "CHOICES");
	for (size_t i = 0; i < v->nr_choices; i++) {
		text_add(t, ROLE_TEXT, arena_printf(v->arena, "%zu", i + 1), v->choice[i],
			 strlen(v->choice[i]), TEXT_SOFT);
		v->choice_end[i] = t->nr;
	}
	if (v->nr_fields)
		text_head(t, ROLE_TITLE, "FIELDS");
	for (size_t i = 0; i < v->nr_fields; i++) {
		const char *given = json_string_value(json_array_get(v->fields, i)),
			   *eq = given ? strchr(given, '=') : NULL;
		const char *line =
			arena_printf(v->arena, "%s  %s", v->field[i], eq ? eq + 1 : v->preset[i]);
		text_add(t, eq ? ROLE_TEXT : ROLE_DIM, "", line, strlen(line), TEXT_SOFT);
	}
	if (v->default_) {
		text_blank(t);
		text_putf(t, ROLE_DIM, "without an answer%s: %s", v->until_us ? " in time" : "",
			  v->default_);
	}
}

static void view_question_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct question *v = self;
	struct source *s = ui_source(ui, v->source);
	if (v->shown != ui->nr_shown)
		view_question_arm(v, ui);
	v->arena = ar;
	v->rows = rows - 2;
	v->waits = s && model_ask(&s->model, v->seq);
	v->agent = NULL;
	v->nr_choices = v->nr_fields = 0;
	text_init(&v->text, ar, cols - 2, 5, ui->grid.ascii);
	CLEANUP(json_release) json_t *o = s ? source_body(s, v->seq) : NULL;
	if (!o)
		return;
	row_load(&v->info, s, &(struct row){ v->seq, EV_ASK }, ar);
	v->agent = model_agent(&s->model, v->info.agent);
	v->since_us = v->info.ts_us;
	int64_t limit = json_int(o, "timeout_us", 0);
	v->until_us = limit > 0 ? v->since_us + limit : 0;
	v->high = strcmp(json_str(o, "risk", ""), "high") == 0;
	v->default_ = json_object_get(o, "default")
			      ? view_question_words_of(json_object_get(o, "default"), ar)
			      : NULL;
	load_choices(v, json_object_get(o, "choices"));
	load_form(v, json_object_get(o, "form"));
	v->answered = v->waits ? NULL : view_question_answer_of(v, s);
	view_question_compose(v, o);
	v->text_top = text_clamp(&v->text, v->top, v->rows);
	v->top = (int64_t)v->text_top;
	note_seen(v);
}

/* --- paint ------------------------------------------------------------------------------------ */

static void view_question_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct question *v = self;
	struct arena *ar = v->arena;
	if (!v->info.seq) {
		draw_title(a, 0, "question", NULL, 0);
		put_rule(a, 1, NULL, ROLE_RULE, NULL);
		grid_put(a, 3, 3, ROLE_DIM, "nothing is asked");
		return;
	}
	struct piece p[] = {
		{ ROLE_NAME, v->agent ? v->agent->name : "script" },
		{ ROLE_TEXT, arena_printf(ar, "question #%" PRIu64, v->seq) },
		{ ROLE_HELD,
		  v->waits ? arena_printf(ar, "asks for %s",
					  fmt_age(ar, ui_now_of(ui, v->source) - v->since_us))
			   : "" },
		{ ROLE_WARN,
		  v->waits && v->until_us
			  ? arena_printf(ar, "gives up in %s",
					 fmt_age(ar, v->until_us - ui_now_of(ui, v->source)))
			  : "" },
	};
	draw_title(a, 0, arena_printf(ar, "question of %s", ui->src[v->source]->model.id), p,
		   ARRAY_LEN(p));
	bool below = v->text_top + (size_t)(v->rows > 0 ? v->rows : 0) < v->text.nr;
	put_rule(a, 1, v->high ? "RISK high" : NULL, ROLE_FAILED,
		 v->answered ? "any key closes"
		 : below     ? "more below"
			     : NULL);
	text_paint(&v->text, area_sub(a, 2, 1, v->rows, a.cols - 1), v->text_top);
	int row = 3 + (int)(v->text.nr - v->text_top);
	if (v->answered && row < a.rows)
		grid_put(a, row, 3, ROLE_HELD, v->answered);
}

static const char *const *view_question_hints(const void *self, const struct ui *ui)
{
	const struct question *v = self;
	const char **h = arena_alloc(v->arena, 5 * sizeof(*h));
	size_t nr = 0;
	bool waits = v->waits && ui_may_act(ui, v->source);
	if (waits)
		h[nr++] = v->nr_choices	 ? "1.. the answer of that number"
			  : v->nr_fields ? "Enter fills the fields in"
					 : "Enter types the answer";
	h[nr++] = waits ? "Esc later" : "Esc back";
	if (v->agent) /* a script's own has none */
		h[nr++] = "t transcript";
	h[nr++] = "? help";
	h[nr] = NULL;
	return h;
}

/* --- answering -------------------------------------------------------------------------------- */

static struct question *view_question_on_top(struct ui *ui)
{
	struct view *top = ui_top(ui);
	struct question *v = top->self;
	return strcmp(top->ops->name, "question") == 0 && v->seq == ui->prompt.on.action ? v : NULL;
}

static void view_question_answer(struct question *v, struct ui *ui, const char *text, json_t *opts)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, v->seq);
	v->sent = ui_send(ui, v->source, (const char *[]){ "answer", id, text, NULL }, opts);
}

/* y to "send it?", where Enter means nothing. */
static void view_question_sure(struct ui *ui, const char *key)
{
	struct question *v = view_question_on_top(ui);
	if (!v)
		return;
	CLEANUP(free_ptr) char *word = v->word;
	CLEANUP(json_release) json_t *fields = take(&v->fields);
	v->word = NULL;
	if (!key || *key != 'y') {
		ui_say(ui, ROLE_DIM, "nothing was sent; the question is still open");
		return;
	}
	json_t *opts = fields ? json_object() : NULL;
	if (fields)
		json_put(opts, "field", take(&fields));
	view_question_answer(v, ui, word, opts);
}

static void ask_sure(struct question *v, struct ui *ui, const char *label)
{
	const struct subject on = { .source = v->source, .action = v->seq };
	prompt_sure(ui, label, "yn", &on, view_question_sure);
}

/* @shown: the answer @text as a user reads it. */
static void view_question_give(struct question *v, struct ui *ui, const char *text,
			       const char *shown)
{
	if (!v->high) {
		view_question_answer(v, ui, text, NULL);
		return;
	}
	free(v->word);
	v->word = mem_strdup(text);
	ask_sure(v, ui, arena_printf(v->arena, "send it?  (y/n)  the risk is high: %s", shown));
}

static void view_question_typed(struct ui *ui, const char *text)
{
	struct question *v = view_question_on_top(ui);
	if (v && text && *text)
		view_question_give(v, ui, text, text);
}

/* The choice of number @n, from 1. Words come before numbers where both could be meant, so that a
 * choice that reads like a number is named by its words. */
static void view_question_choose(struct question *v, struct ui *ui, size_t n)
{
	if (n == 0 || n > v->nr_choices) {
		ui_say(ui, ROLE_DIM, "no choice has that number");
		return;
	}
	if (!v->seen[n - 1]) {
		ui_say(ui, ROLE_DIM, "Space first: choice %zu has not been shown yet", n);
		return;
	}
	const char *text = arena_printf(v->arena, "%zu", n);
	for (size_t i = 0; i < v->nr_choices; i++)
		if (strcmp(v->choice[i], text) == 0) {
			text = v->choice[n - 1];
			break;
		}
	view_question_give(v, ui, text, arena_printf(v->arena, "%zu %s", n, v->choice[n - 1]));
}

static void number_typed(struct ui *ui, const char *text)
{
	struct question *v = view_question_on_top(ui);
	if (!v || !text)
		return;
	size_t len = strlen(text);
	view_question_choose(v, ui,
			     len > 0 && len < 6 && strspn(text, "0123456789") == len
				     ? strtoul(text, NULL, 10)
				     : 0);
}

static void ask_number(struct question *v, struct ui *ui, const char *first)
{
	const struct subject on = { .source = v->source, .action = v->seq };
	prompt_ask(ui, arena_printf(v->arena, "number of the choice (1 to %zu):", v->nr_choices),
		   first, NULL, &on, number_typed);
}

static void ask_field(struct question *v, struct ui *ui);

static void field_typed(struct ui *ui, const char *text)
{
	struct question *v = view_question_on_top(ui);
	if (!v)
		return;
	size_t i = json_array_size(v->fields);
	if (!text || i >= v->nr_fields) {
		json_release(&v->fields);
		ui_say(ui, ROLE_DIM, "nothing was sent; the question is still open");
		return;
	}
	json_array_append_new(v->fields,
			      json_string(arena_printf(v->arena, "%s=%s", v->field[i], text)));
	if (i + 1 < v->nr_fields) {
		ask_field(v, ui);
		return;
	}
	ask_sure(v, ui,
		 v->high ? "send the form?  (y/n)  the risk is high" : "send the form?  (y/n)");
}

static void ask_field(struct question *v, struct ui *ui)
{
	const struct subject on = { .source = v->source, .action = v->seq };
	size_t i = json_array_size(v->fields);
	prompt_ask(ui, arena_printf(v->arena, "%s (%zu of %zu):", v->field[i], i + 1, v->nr_fields),
		   v->preset[i], NULL, &on, field_typed);
}

static void view_question_begin(struct question *v, struct ui *ui)
{
	const struct subject on = { .source = v->source, .action = v->seq };
	if (v->nr_choices) {
		ui_say(ui, ROLE_DIM, "Enter answers nothing: the number of a choice does");
	} else if (v->nr_fields) {
		json_release(&v->fields);
		v->fields = json_array();
		ask_field(v, ui);
	} else {
		ui_ask(ui, "answer:", &on, view_question_typed);
	}
}

static bool view_question_key(void *self, struct ui *ui, uint32_t key)
{
	struct question *v = self;
	char number[2] = { (char)key, 0 };
	bool digit = key >= '1' && key <= '9';
	if (v->answered) {
		ui_back(ui);
		return true;
	}
	if (!digit && key != K_ENTER)
		return false;
	if (!ui_may_act(ui, v->source))
		ui_say(ui, ROLE_DIM, "%s", ui_why_not(ui, v->source));
	else if (!v->waits)
		ui_say(ui, ROLE_DIM, "nothing is asked");
	else if (ui->mono_us - v->opened_us < ui->dead_us)
		ui_say(ui, ROLE_DIM,
		       "keys are off for a moment, so that nothing is answered by mistake");
	else if (key == K_ENTER)
		view_question_begin(v, ui);
	else if (v->nr_choices > BY_KEY)
		ask_number(v, ui, number);
	else
		view_question_choose(v, ui, (size_t)(key - '0'));
	return true;
}

static bool view_question_verb(void *self, struct ui *ui, enum verb verb)
{
	struct question *v = self;
	int half = v->rows / 2 > 0 ? v->rows / 2 : 1;
	(void)ui;
	switch ((int)verb) {
	case VERB_UP:
	case VERB_DOWN:
		v->top += verb == VERB_UP ? -1 : 1;
		return true;
	case VERB_PAGE_UP:
	case VERB_PAGE_DOWN:
		v->top += verb == VERB_PAGE_UP ? -half : half;
		return true;
	case VERB_FIRST:
	case VERB_LAST:
		v->top = verb == VERB_FIRST ? 0 : INT32_MAX;
		return true;
	case VERB_TALK:
		if (!v->agent)
			ui_say(ui, ROLE_DIM, "the script asks: it has no transcript");
		return !v->agent;
	default:
		return false;
	}
}

static bool view_question_finished(const void *self, const struct ui *ui)
{
	const struct question *v = self;
	const struct source *s = ui_source(ui, v->source);
	return v->sent && s && !model_ask(&s->model, v->seq);
}

static void view_question_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct question *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source,
				 .agent = v->agent ? v->agent->id : 0,
				 .action = v->seq };
}

static const char *const view_question_own[] = { "1", "1 to 9: that choice", "Enter",
						 "type the answer", NULL };

const struct view_ops view_question = {
	.name = "question",
	.where = IN_QUESTION,
	.size = sizeof(struct question),
	.open = view_question_open_view,
	.close = view_question_close_view,
	.recalc = view_question_recalc,
	.paint = view_question_paint,
	.verb = view_question_verb,
	.key = view_question_key,
	.own = view_question_own,
	.finished = view_question_finished,
	.subject = view_question_subject,
	.hints = view_question_hints,
};
