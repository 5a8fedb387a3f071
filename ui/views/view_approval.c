/* One held action and the decisions that can be taken about it.
 *
 * It opens only when asked for. On opening, keys that were typed ahead are thrown away and decision keys are dead for
 * 0.4 s; Enter does nothing; a high risk wants y twice; widening takes a second screen; y is off until the end of the
 * bytes has been in sight. What is sent carries the hash of what was shown, so another action cannot be approved by it.
 * When somebody else decides first, any key closes. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/views/approve.h"
#include "ui/term/draw.h"
#include "ui/term/fmt.h"
#include "ui/ui.h"

enum { DEAD_US = 400000, MAX_PATTERNS = 5, TRY_ACTIONS = 2000 };

struct approval {
	size_t source;
	uint64_t action;
	int64_t opened_us;  /* mono */
	unsigned shown;     /* ui->nr_shown then */
	bool armed, sure;   /* y once, m once */
	bool seen_end;      /* the end of the bytes was on the screen */
	bool sent;          /* by us: it closes when it is done */
	bool unfold;        /* v: everything also on a small screen */
	bool output;        /* o: the output of the preview */
	int64_t top;
	/* second screen: a pattern for the session */
	bool widening;
	size_t pattern;
	/* made by recalc */
	struct approval_info info;
	struct text text;
	size_t text_top, command_end;
	int rows;           /* of the text */
	size_t place, of;   /* in the queue */
	char intent[80];    /* of what is shown; another one means another thing to decide */
	const char *choice[MAX_PATTERNS];
	size_t nr_choices, would[MAX_PATTERNS], tried;
	int64_t now_us;
	struct arena *arena;
};

static void arm_anew(struct approval *v, struct ui *ui)
{
	v->opened_us = ui->mono_us;
	v->shown = ui->nr_shown;
	v->armed = v->sure = v->seen_end = v->widening = v->sent = v->output = false;
	v->top = 0;
	ui->flush = true;
	ui->wake_us = ui->mono_us + DEAD_US;
	if (ui_may_act(ui, v->source))
		ui_say(ui, ROLE_DIM,
		       "keys typed before this screen was drawn were thrown away; keys are off for 0.4 s");
}

/* It has been covered by another screen: what was typed there was not meant for this one. */
static void uncovered(struct approval *v, struct ui *ui)
{
	if (v->shown == ui->nr_shown)
		return;
	v->shown = ui->nr_shown;
	v->opened_us = ui->mono_us;
	v->armed = v->sure = false;
	ui->flush = true;
	ui->wake_us = ui->mono_us + DEAD_US;
}

static void open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct approval *v = self;
	v->source = on->source;
	v->action = on->action;
	const struct source *s = ui_source(ui, v->source);
	const struct model_action *act = s ? model_action(&s->model, v->action) : NULL;
	if (s && (!act || act->state != ACT_WAITS) && s->model.nr_held > 0)
		v->action = s->model.held[0];
	arm_anew(v, ui);
}

/* --- recalc ------------------------------------------------------------------------------------------------------ */

/* Patterns from narrow to wide, made of the words of the part that was not allowed. */
static void gather_patterns(struct approval *v, struct source *s)
{
	CLEANUP(json_release) json_t *judged = source_body(s, v->info.act->judged);
	const json_t *parts = json_object_get(judged, "parts"), *words = NULL;
	CLEANUP(strv_release) struct strv w = STRV_INIT;
	size_t i;
	json_t *part;
	v->nr_choices = 0;
	json_array_foreach((json_t *)(uintptr_t)parts, i, part)
		if (json_flag(part, "not_allowed", false) && !words)
			words = json_object_get(part, "words");
	if (words)
		json_get_argv(words, &w);
	if (v->info.command)
		v->choice[v->nr_choices++] = v->info.command;
	for (size_t keep = w.nr; keep-- > 1 && v->nr_choices < MAX_PATTERNS - 1;) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		struct strv head = { w.item, w.len, keep, keep };
		fmt_argv(&head, &b);
		v->choice[v->nr_choices++] = arena_printf(v->arena, "%s *", buf_cstr(&b));
	}
}

/* What each pattern would have let through so far. */
static void try_patterns(struct approval *v, struct source *s)
{
	const struct model *m = &s->model;
	v->tried = 0;
	memset(v->would, 0, sizeof(v->would));
	for (size_t i = m->nr_actions; i > 0 && v->tried < TRY_ACTIONS; i--) {
		const struct model_action *act = &m->action[i - 1];
		if (strcmp(act->kind, "exec") != 0 && strcmp(act->kind, "shell") != 0)
			continue;
		CLEANUP(json_release) json_t *o = source_body(s, act->id);
		const char *what = action_what(o, v->arena);
		v->tried++;
		for (size_t k = 0; k < v->nr_choices; k++)
			v->would[k] += k == 0 ? strcmp(v->choice[0], what) == 0 : fnmatch(v->choice[k], what, 0) == 0;
	}
}

static void find_place(struct approval *v, const struct ui *ui)
{
	v->place = v->of = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		for (size_t k = 0; k < ui->src[i]->model.nr_held; k++) {
			v->of++;
			if (i == v->source && ui->src[i]->model.held[k] == v->action)
				v->place = v->of;
		}
}

static bool small(int rows)
{
	return rows < 30;
}

static int decide_rows(const struct approval *v, int rows)
{
	if (v->widening)
		return MAX_PATTERNS + 4;
	return small(rows) ? 5 : 10;
}

static void recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct approval *v = self;
	uncovered(v, ui);
	struct source *s = ui_source(ui, v->source);
	v->arena = ar;
	v->now_us = ui_now(ui);
	v->rows = rows - 2 - decide_rows(v, rows);
	text_init(&v->text, ar, cols - 2, 5, ui->grid.ascii);
	v->info = (struct approval_info){ .intent = "" };
	find_place(v, ui);
	if (!s || !model_action(&s->model, v->action))
		return;
	approval_load(&v->info, s, v->action, ar);
	v->info.now_us = v->now_us;
	v->output = v->output && v->info.tried;
	if (v->info.trying)
		ui->wake_us = ui->mono_us + 1000000;
	if (v->output)
		approval_output(&v->text, s, &v->info);
	else
		approval_text(&v->text, s, &v->info, v->unfold ? 0 : (size_t)(v->rows < 1 ? 1 : v->rows),
			      &v->command_end);
	if (strcmp(v->intent, v->info.intent) != 0) { /* what is asked has changed under us */
		if (*v->intent)
			arm_anew(v, ui);
		snprintf(v->intent, sizeof(v->intent), "%s", v->info.intent);
	}
	v->text_top = text_clamp(&v->text, v->top, v->rows);
	v->top = (int64_t)v->text_top;
	v->seen_end = v->seen_end || (!v->output && v->text_top + (size_t)(v->rows < 0 ? 0 : v->rows) >= v->command_end);
	if (v->widening) {
		gather_patterns(v, s);
		try_patterns(v, s);
	}
}

/* --- paint ------------------------------------------------------------------------------------------------------- */

static const char *deadline(const struct approval *v)
{
	const struct model_action *act = v->info.act;
	if (!act->until_us)
		return "";
	bool allow = strcmp(v->info.on_timeout, "allow") == 0;
	return arena_printf(v->arena, "auto-%s in %s", allow ? "ALLOW" : "DENY",
			    fmt_age(v->arena, act->until_us - v->now_us));
}

static void paint_top(const struct approval *v, struct area a)
{
	struct arena *ar = v->arena;
	const struct model_action *act = v->info.act;
	bool allow = strcmp(v->info.on_timeout, "allow") == 0;
	const char *name = v->info.agent ? v->info.agent->name : "no agent";
	struct piece p[] = {
		{ ROLE_NAME, name },
		{ ROLE_DIM, v->info.agent && a.cols >= 100 ? arena_printf(ar, "turn %u", v->info.agent->turn) : "" },
		{ ROLE_TEXT, arena_printf(ar, "action #%" PRIu64, v->action) },
		{ ROLE_HELD,
		  v->info.decided ? "" : arena_printf(ar, "held %s", fmt_age(ar, v->now_us - act->held_us)) },
		{ allow ? ROLE_FAILED : ROLE_WARN, v->info.decided ? "" : deadline(v) },
	};
	draw_title(a, 0, v->place ? arena_printf(ar, "approval %zu of %zu", v->place, v->of) : "approval", p,
		   ARRAY_LEN(p));
	const char *risk = v->info.high
				   ? arena_printf(ar, "RISK high%s%s", *v->info.risk_why ? ": " : "", v->info.risk_why)
			   : *v->info.risk_why ? v->info.risk_why
					       : NULL;
	put_rule(a, 1, NULL, ROLE_RULE, risk);
	if (risk && v->info.high)
		put(a, 1, a.cols - text_cells(risk, false) - 3, ROLE_FAILED, risk);
}

static void paint_counts(const struct approval *v, struct area a)
{
	if (v->text_top == 0 && v->info.counts && !v->output)
		put(a, 0, 9, v->info.hidden ? ROLE_FAILED : ROLE_DIM, arena_printf(v->arena, "(%s)", v->info.counts));
}

static const struct {
	enum verb verb;
	const char *key, *name, *what;
} decisions[] = {
	{ VERB_YES, "y", "approve once", "run exactly these bytes, once" },
	{ VERB_YES_SESSION, "s", "approve for session..", "choose a pattern; shows what it would have let through" },
	{ VERB_EDIT, "e", "edit and approve..", "opens $EDITOR; judged again; the agent is told that you changed it" },
	{ VERB_NO, "n", "deny with message..", "the message becomes the tool result; the agent goes on" },
	{ VERB_NO_PAUSE, "x", "deny and pause", "the agent stops before its next step" },
	{ VERB_NO_KILL, "X", "kill the agent..", "the sandbox is kept for review" },
	{ VERB_LATER, "Esc", "decide later", "it stays held; other agents go on" },
	{ VERB_PROMOTE, "m", "make the preview so", "exactly its difference, exit status and output; nothing runs" },
};

static const char *why_off(const struct approval *v, const struct ui *ui, enum verb verb)
{
	if (verb_group(verb) != GROUP_DECIDE || verb == VERB_LATER)
		return NULL;
	if (!v->info.act)
		return "there is nothing to decide";
	if (v->info.decided)
		return "it is decided";
	if (ui->mono_us - v->opened_us < DEAD_US)
		return "keys are off for a moment, so that nothing is decided by mistake";
	if (!v->seen_end && (verb == VERB_YES || verb == VERB_YES_SESSION))
		return "scroll to the end of the command first";
	if (verb == VERB_PROMOTE && !v->info.act->promotable)
		return v->info.trying ? "it is being tried" : v->info.tried ? "this preview cannot be promoted: r tries it again"
									    : "r tries it first";
	if (!v->info.command && (verb == VERB_YES_SESSION || verb == VERB_EDIT))
		return "only for command lines";
	return NULL;
}

static const char *off(const void *self, const struct ui *ui, enum verb verb)
{
	return why_off(self, ui, verb);
}

static const char *what_of(const struct approval *v, size_t i)
{
	if (decisions[i].verb == VERB_YES && !v->seen_end)
		return "(scroll to the end first)";
	if (decisions[i].verb == VERB_PROMOTE && !v->info.act->promotable)
		return v->info.trying ? "it is being tried now" : "r tries it first";
	if (decisions[i].verb == VERB_YES && v->armed)
		return "once more: the risk is high";
	if (decisions[i].verb == VERB_YES && v->info.high)
		return "run exactly these bytes, once (y twice: the risk is high)";
	return decisions[i].what;
}

static void paint_decisions(const struct approval *v, const struct ui *ui, struct area a)
{
	bool two = a.rows < 8;
	int half = (int)(ARRAY_LEN(decisions) + 1) / 2;
	put_rule(a, 0, "decide", ROLE_TITLE, v->armed ? "y again to approve, any other key not" : NULL);
	for (int i = 0; i < (int)ARRAY_LEN(decisions); i++) {
		int row = 1 + (two ? i % half : i), col = two ? 3 + i / half * (a.cols / 2) : 3;
		bool dead = why_off(v, ui, decisions[i].verb) ||
			    (verb_acts(decisions[i].verb) && !ui_may_act(ui, v->source));
		bool hot = decisions[i].verb == VERB_YES && v->armed;
		col = put_field(a, row, col, 4, dead ? ROLE_OFF : ROLE_KEY, decisions[i].key);
		col = put_field(a, row, col, 24, dead ? ROLE_OFF : hot ? ROLE_HELD : ROLE_TEXT, decisions[i].name);
		if (!two)
			put(a, row, col, hot ? ROLE_HELD : ROLE_DIM, what_of(v, (size_t)i));
	}
}

static void paint_widening(const struct approval *v, struct area a)
{
	struct arena *ar = v->arena;
	put_rule(a, 0, "approve for session: which commands?", ROLE_HELD, "Enter saves and approves, Esc back");
	for (size_t i = 0; i < v->nr_choices; i++) {
		int row = 2 + (int)i;
		bool wide = i + 1 == v->nr_choices && i > 0;
		put(a, row, 3, ROLE_KEY, i == v->pattern ? "(*)" : "( )");
		put_bytes(a, row, 7, a.cols / 2 - 8, ROLE_CMD, v->choice[i], strlen(v->choice[i]), SANITIZE_EXACT);
		put(a, row, a.cols / 2, wide ? ROLE_WARN : ROLE_DIM, i == 0 ? "exactly this" : wide ? "WIDE" : "");
		put(a, row, a.cols / 2 + 14, ROLE_DIM,
		    arena_printf(ar, "would have matched %zu of %zu", v->would[i], v->tried));
		if (i == v->pattern)
			put_cursor_row(a, row);
	}
	int row = 3 + (int)v->nr_choices;
	put(a, row, 3, ROLE_DIM,
	    "for the rest of this session; deny rules stay; a compound command needs every part to match");
}

static void paint_decided(const struct approval *v, struct area a)
{
	put_rule(a, 0, "decided", ROLE_TITLE, "any key closes");
	put(a, 2, 3, ROLE_HELD, v->info.decided);
}

static void paint(const void *self, const struct ui *ui, struct area a)
{
	const struct approval *v = self;
	if (!v->info.act) {
		draw_title(a, 0, "approval", NULL, 0);
		put_rule(a, 1, NULL, ROLE_RULE, NULL);
		put(a, 3, 3, ROLE_DIM, "nothing is held");
		return;
	}
	int below = decide_rows(v, a.rows);
	struct area body = area_sub(a, 2, 1, a.rows - 2 - below, a.cols - 1);
	paint_top(v, a);
	text_paint(&v->text, body, v->text_top);
	paint_counts(v, body);
	if (v->text_top + (size_t)body.rows < v->text.nr)
		put_right(body, body.rows - 1, 0, body.cols - 1, ROLE_WARN,
			  arena_printf(v->arena, " %zu more lines: j ", v->text.nr - v->text_top - (size_t)body.rows));
	struct area low = area_sub(a, a.rows - below, 0, below, a.cols);
	if (v->info.decided)
		paint_decided(v, low);
	else if (v->widening)
		paint_widening(v, low);
	else
		paint_decisions(v, ui, low);
}

/* --- deciding ---------------------------------------------------------------------------------------------------- */

static void decide(struct approval *v, struct ui *ui, const char *word, json_t *opts)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, v->action);
	const char *words[] = { word, id, NULL };
	if (*v->info.intent)
		json_put_str(opts, "intent", v->info.intent);
	v->sent = ui_send(ui, v->source, words, opts);
}

static struct approval *on_top(struct ui *ui)
{
	struct view *top = ui_top(ui);
	struct approval *v = top->self;
	return strcmp(top->ops->name, "approval") == 0 && v->action == ui->prompt.on.action ? v : NULL;
}

static void denied(struct ui *ui, const char *text)
{
	struct approval *v = on_top(ui);
	json_t *opts;
	if (!v || !text)
		return;
	opts = json_object();
	if (*text)
		json_put_str(opts, "message", text);
	decide(v, ui, "deny", opts);
}

static void kill_chosen(struct ui *ui, const char *key)
{
	struct approval *v = on_top(ui);
	json_t *opts;
	if (!v || !key || *key != 'y')
		return;
	opts = json_object();
	json_put_flag(opts, "kill", true);
	decide(v, ui, "deny", opts);
}

static void edited(struct ui *ui, const char *text)
{
	struct view *top = ui_top(ui);
	struct approval *v = top->self;
	if (strcmp(top->ops->name, "approval") != 0 || !v->info.command)
		return;
	if (!text || strcmp(text, v->info.command) == 0) {
		ui_say(ui, ROLE_DIM, "nothing was changed; it is still held");
		arm_anew(v, ui);
		return;
	}
	json_t *opts = json_object();
	json_put_str(opts, "cmd", text);
	decide(v, ui, "approve", opts);
}

static void yes(struct approval *v, struct ui *ui)
{
	if (v->info.high && !v->armed) {
		v->armed = true;
		ui_say(ui, ROLE_HELD, "the risk is high: y once more approves #%" PRIu64, v->action);
		return;
	}
	v->armed = false;
	decide(v, ui, "approve", json_object());
}

static void try_it(struct approval *v, struct ui *ui)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, v->action);
	const char *words[] = { "preview", id, NULL };
	if (v->info.trying)
		ui_say(ui, ROLE_DIM, "it is being tried already");
	else if (v->info.act && !v->info.decided)
		ui_send(ui, v->source, words, NULL);
}

static void promote(struct approval *v, struct ui *ui)
{
	if (v->info.high && !v->sure) {
		v->sure = true;
		ui_say(ui, ROLE_HELD, "the risk is high: m once more makes what #%" PRIu64 " would do so", v->action);
		return;
	}
	v->sure = false;
	decide(v, ui, "promote", json_object());
}

static void to_queued(struct approval *v, struct ui *ui, int by)
{
	size_t want = v->of ? (v->place + v->of - 1 + (size_t)((int)v->of + by)) % v->of : 0, n = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		for (size_t k = 0; k < ui->src[i]->model.nr_held; k++, n++)
			if (n == want) {
				v->source = i;
				v->action = ui->src[i]->model.held[k];
				v->intent[0] = 0;
				arm_anew(v, ui);
				ui->stale = true; /* what is known is of the other one */
				return;
			}
}

static bool decide_verb(struct approval *v, struct ui *ui, enum verb verb)
{
	const struct subject on = { .source = v->source, .action = v->action };
	if (verb != VERB_YES)
		v->armed = false;
	if (verb != VERB_PROMOTE)
		v->sure = false;
	switch ((int)verb) {
	case VERB_PROMOTE:
		promote(v, ui);
		return true;
	case VERB_YES:
		yes(v, ui);
		return true;
	case VERB_YES_SESSION:
		v->widening = true;
		v->pattern = 0;
		return true;
	case VERB_EDIT:
		free(ui->edit);
		ui->edit = xstrdup(v->info.command);
		ui->edited = edited;
		return true;
	case VERB_NO:
		ui_ask(ui, "deny, and tell the agent (may be empty):", &on, denied);
		return true;
	case VERB_NO_PAUSE: {
		json_t *opts = json_object();
		json_put_flag(opts, "pause", true);
		decide(v, ui, "deny", opts);
		return true;
	}
	case VERB_NO_KILL:
		ui_choose(ui, "deny and end this agent?  (y/n)", "yn", &on, kill_chosen);
		return true;
	default:
		return false;
	}
}

static bool verb(void *self, struct ui *ui, enum verb verb)
{
	struct approval *v = self;
	if (verb_group(verb) == GROUP_DECIDE && verb != VERB_LATER)
		return decide_verb(v, ui, verb);
	v->armed = v->sure = false;
	switch ((int)verb) {
	case VERB_TRY:
		try_it(v, ui);
		return true;
	case VERB_OUTPUT:
		if (!v->info.tried)
			return false;
		v->output = !v->output;
		v->top = 0;
		return true;
	case VERB_UP:
	case VERB_DOWN:
		v->top += verb == VERB_UP ? -1 : 1;
		return true;
	case VERB_PAGE_UP:
	case VERB_PAGE_DOWN:
		v->top += verb == VERB_PAGE_UP ? -v->rows / 2 : v->rows / 2;
		return true;
	case VERB_FIRST:
	case VERB_LAST:
		v->top = verb == VERB_FIRST ? 0 : INT32_MAX;
		return true;
	case VERB_NEXT:
	case VERB_NEXT_PANE:
		to_queued(v, ui, 1);
		return true;
	case VERB_PREV:
	case VERB_PREV_PANE:
		to_queued(v, ui, -1);
		return true;
	case VERB_DETAILS: /* first what was cut, then everything that is recorded */
		if (v->unfold || v->text.nr <= (size_t)v->rows)
			return v->unfold = false;
		v->unfold = true;
		return true;
	default:
		return false;
	}
}

static bool finished(const void *self, const struct ui *ui)
{
	const struct approval *v = self;
	const struct source *s = ui_source(ui, v->source);
	const struct model_action *act = s ? model_action(&s->model, v->action) : NULL;
	return v->sent && act && act->state != ACT_WAITS;
}

static bool key(void *self, struct ui *ui, uint32_t key)
{
	struct approval *v = self;
	uncovered(v, ui);
	v->armed = v->armed && key == 'y'; /* any other key takes it back, one that means nothing too */
	v->sure = v->sure && key == 'm';
	if (v->info.decided) { /* somebody was first */
		ui_back(ui);
		return true;
	}
	if (!v->widening)
		return false;
	if (key == K_ESC || key == 'q') {
		v->widening = false;
	} else if ((key == 'j' || key == K_DOWN) && v->pattern + 1 < v->nr_choices) {
		v->pattern++;
	} else if ((key == 'k' || key == K_UP) && v->pattern > 0) {
		v->pattern--;
	} else if (key == K_ENTER && v->pattern < v->nr_choices && ui_may_act(ui, v->source)) {
		json_t *opts = json_object();
		json_put_bytes(opts, "session", v->choice[v->pattern], strlen(v->choice[v->pattern]));
		v->widening = false;
		decide(v, ui, "approve", opts);
	}
	return true;
}

/* It decides nothing; but a second y after it is a first one again. */
static enum click click(void *self, struct ui *ui, int row, int col)
{
	struct approval *v = self;
	(void)ui;
	(void)row;
	(void)col;
	v->armed = v->sure = false;
	return CLICK_NONE;
}

static void subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct approval *v = self;
	const struct source *s = ui_source(ui, v->source);
	const struct model_action *act = s ? model_action(&s->model, v->action) : NULL;
	*out = (struct subject){ .source = v->source, .agent = act ? act->agent : 0, .action = v->action };
}

const struct view_ops view_approval = {
	.name = "approval", .where = IN_APPROVAL, .size = sizeof(struct approval), .open = open_view, .recalc = recalc,
	.paint = paint, .verb = verb, .key = key, .click = click, .finished = finished, .subject = subject, .off = off,
};
