/* One pending action and the decisions about it.
 *
 * It opens only on request. On opening, earlier keys are discarded and decision keys are dead
 * for 0.4 s. Enter does nothing. A high risk requires y twice. Widening takes a second screen. y
 * is off until the end of the bytes was on the screen. A decision carries the hash of the action
 * on the screen, so that it can't approve another one. After another user's decision any key
 * closes the screen. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/finder.h"
#include "ui/views/approval_priv.h"

void approval_arm(struct approval *v, struct ui *ui)
{
	v->opened_us = ui->mono_us;
	v->shown = ui->nr_shown;
	v->armed = v->sure = v->seen_end = v->sent = v->output = false;
	v->top = 0;
	widen_close(&v->widen);
	json_release(&v->pending);
	free(v->edited);
	v->edited = NULL;
	ui->flush = true;
	ui->wake_us = ui->mono_us + ui->dead_us;
	if (!ui_may_act(ui, v->source) || v->info.decided)
		return;
	ui_say(ui, ROLE_DIM, "%s%skeys are off for %lld.%lld s", v->before, *v->before ? "; " : "",
	       (long long)ui->dead_us / 1000000, (long long)ui->dead_us / 100000 % 10);
	v->told_off = ui->nr_messages;
}

/* The words about dead keys go with the dead time, unless others took their place. */
static void approval_untell(struct approval *v, struct ui *ui)
{
	if (!v->told_off || (ui->mono_us - v->opened_us < ui->dead_us && !v->info.decided))
		return;
	if (ui->nr_messages == v->told_off)
		ui_say(ui, ROLE_DIM, "%s", v->before);
	v->told_off = 0;
	v->before[0] = 0;
}

/* Another screen has covered it: keys typed there were not meant for this one. */
static void view_approval_uncovered(struct approval *v, struct ui *ui)
{
	if (v->shown == ui->nr_shown)
		return;
	v->shown = ui->nr_shown;
	v->opened_us = v->widen.opened_us = ui->mono_us;
	v->armed = v->sure = v->widen.sure = false;
	ui->flush = true;
	ui->wake_us = ui->mono_us + ui->dead_us;
}

static void view_approval_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct approval *v = self;
	v->source = on->source;
	v->action = on->action;
	const struct source *s = ui_source(ui, v->source);
	/* one that was chosen stays, decided meanwhile or not */
	if (s && v->action == 0 && s->model.nr_held > 0)
		v->action = s->model.held[0];
	approval_arm(v, ui);
}

/* --- recalc ----------------------------------------------------------------------------------- */

/* In the order of the queue. */
static struct waits *all_waiting(const struct ui *ui, size_t *nr_out)
{
	size_t n = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		n += ui->src[i]->model.nr_held;
	struct waits *w = mem_calloc(n + 1, sizeof(*w));
	*nr_out = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		for (size_t k = 0; k < ui->src[i]->model.nr_held; k++) {
			const struct model_action *act =
				model_action(&ui->src[i]->model, ui->src[i]->model.held[k]);
			w[(*nr_out)++] = (struct waits){ i, ui->src[i]->model.held[k],
							 act ? act->held_us : 0 };
		}
	qsort(w, *nr_out, sizeof(*w), waits_order);
	return w;
}

static void find_place(struct approval *v, const struct ui *ui)
{
	CLEANUP(free_ptr) struct waits *w = all_waiting(ui, &v->of);
	v->place = 0;
	for (size_t i = 0; i < v->of; i++)
		if (w[i].source == v->source && w[i].action == v->action)
			v->place = i + 1;
}

static void approval_show(struct approval *v, struct ui *ui, const struct waits *w)
{
	v->source = w->source;
	v->action = w->action;
	v->intent[0] = v->note[0] = 0;
	v->chosen = 0;
	v->unfold = false;
	approval_arm(v, ui);
}

static bool approval_gone(const struct approval *v, const struct ui *ui)
{
	const struct source *s = ui_source(ui, v->source);
	const struct model_action *act = s ? model_action(&s->model, v->action) : NULL;
	return v->sent && act && act->state != ACT_WAITS;
}

/* After your decision: the approval that took the place of the decided one in the queue. */
static void approval_next(struct approval *v, struct ui *ui)
{
	size_t n;
	v->none_next = false;
	if (ui->no_next || !approval_gone(v, ui))
		return;
	CLEANUP(free_ptr) struct waits *w = all_waiting(ui, &n);
	size_t at = v->place ? v->place - 1 : 0;
	for (size_t i = 0; i < n; i++) {
		const struct waits *next = &w[(at + i) % n];
		/* a reviewer who filtered the queue has not asked for the others */
		if (!ui_below_lets_row(ui, "queue", next->source, next->action))
			continue;
		snprintf(v->before, sizeof(v->before), "%s", ui->message);
		approval_show(v, ui, next);
		return;
	}
	v->none_next = true; /* the screen closes at the next look */
	ui->wake_us = ui->mono_us + 1;
}

static void view_approval_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct approval *v = self;
	approval_next(v, ui);
	view_approval_uncovered(v, ui);
	struct source *s = ui_source(ui, v->source);
	v->arena = ar;
	v->now_us = ui_now_of(ui, v->source);
	v->looks = !ui_may_act(ui, v->source);
	v->rows = rows - 2 - approval_decide_rows(v, rows);
	text_init(&v->text, ar, cols - 2, 5, ui->grid.ascii);
	v->info = (struct approval_info){ .intent = "" };
	find_place(v, ui);
	if (!s || !model_action(&s->model, v->action))
		return;
	approval_load(&v->info, s, v->action, ar);
	approval_untell(v, ui);
	v->info.edited = v->edited;
	v->info.now_us = v->now_us;
	v->output = v->output && v->info.tried;
	if (v->info.trying)
		ui->wake_us = ui->mono_us + 1000000;
	if (v->output)
		approval_output(&v->text, s, &v->info);
	else
		approval_text(&v->text, s, &v->info,
			      v->unfold ? 0 : (size_t)(v->rows < 1 ? 1 : v->rows), &v->command_end);
	if (strcmp(v->intent, v->info.intent) != 0) { /* what is asked has changed under us */
		if (*v->intent)
			approval_arm(v, ui);
		snprintf(v->intent, sizeof(v->intent), "%s", v->info.intent);
	}
	v->text_top = text_clamp(&v->text, v->top, v->rows);
	v->top = (int64_t)v->text_top;
	v->seen_end =
		v->seen_end ||
		(!v->output && v->text_top + (size_t)(v->rows < 0 ? 0 : v->rows) >= v->command_end);
}

static void to_queued(struct approval *v, struct ui *ui, int by)
{
	size_t n, want = v->of ? (v->place + v->of - 1 + (size_t)((int)v->of + by)) % v->of : 0;
	CLEANUP(free_ptr) struct waits *w = all_waiting(ui, &n);
	if (want >= n)
		return;
	approval_show(v, ui, &w[want]);
	ui->stale = true; /* what is known is of the other one */
}

static const char *view_approval_off(const void *self, const struct ui *ui, enum verb verb)
{
	const struct approval *v = self;
	const struct model_action *act = v->info.act;
	if (verb == VERB_TRY && act && !v->info.tries && strcmp(act->kind, "merge") != 0)
		return "only for commands, writes, edits, and merges";
	return approval_off(v, ui, verb);
}

static bool view_approval_verb(void *self, struct ui *ui, enum verb verb)
{
	struct approval *v = self;
	if (verb_group(verb) == GROUP_DECIDE)
		return approval_decide(v, ui, verb);
	v->armed = v->sure = false;
	switch ((int)verb) {
	case VERB_TRY:
		approval_try(v, ui);
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

static bool view_approval_finished(const void *self, const struct ui *ui)
{
	const struct approval *v = self;
	size_t held = 0;
	for (size_t i = 0; i < ui->nr_src && !ui->no_next; i++)
		held += ui->src[i]->model.nr_held;
	return approval_gone(v, ui) && (held == 0 || v->none_next);
}

/* Round all decisions, and past the last one to none. */
static void view_approval_choose(struct approval *v, bool down)
{
	size_t n = approval_count() + 1;
	do
		v->chosen = (v->chosen + (down ? 1 : n - 1)) % n;
	while (v->chosen && !approval_offers(v, v->chosen - 1));
}

/* The second y (or m) that is asked for does not come now: what asks for it must not stay on the
 * screen either. */
static void view_approval_take_back(struct approval *v, struct ui *ui)
{
	if ((v->armed || v->sure) && !v->info.decided)
		ui_say(ui, ROLE_DIM, "not decided: it is still pending");
	v->armed = v->sure = false;
}

static bool view_approval_key(void *self, struct ui *ui, uint32_t key)
{
	static const char numbered[] = "yspenxX"; /* 1 to 7, in the order of line mode */
	struct approval *v = self;
	bool number = key >= '1' && key <= '7' && !v->widen.what;
	view_approval_uncovered(v, ui);
	key = number ? (uint32_t)numbered[key - '1'] : key;
	if ((v->armed && key != 'y') || (v->sure && key != 'm'))
		view_approval_take_back(v, ui); /* any other key, one that means nothing too */
	if (v->info.decided) {			/* another user was first */
		ui_back(ui);
		return true;
	}
	if (v->widen.what) {
		widen_key(v, ui, key);
		return true;
	}
	if (number) {
		ui_do(ui, keymap_verb(IN_APPROVAL, key));
		return true;
	}
	if (key == 'j' || key == K_DOWN || key == 'k' || key == K_UP) {
		view_approval_choose(v, key == 'j' || key == K_DOWN);
		return true;
	}
	if (key == K_ENTER)
		approval_enter(v, ui);
	return key == K_ENTER;
}

static const char *const *view_approval_hints(const void *self, const struct ui *ui)
{
	static const char *const over[] = { "Esc back", NULL };
	static const char *const looks[] = { "Esc back",     "d diff",	"v details",
					     "t transcript", "A queue", "] next",
					     ": cmd",	     "? help",	NULL };
	const struct approval *v = self;
	(void)ui;
	return v->info.decided		 ? over
	       : v->looks && !ui->replay ? looks
	       : v->widen.what		 ? widen_hints(&v->widen)
					 : NULL;
}

static void view_approval_close_view(void *self)
{
	struct approval *v = self;
	widen_close(&v->widen);
	json_release(&v->pending);
	free(v->edited);
}

/* It decides nothing; but a second y after it is a first one again. */
static enum click view_approval_click(void *self, struct ui *ui, int row, int col)
{
	struct approval *v = self;
	(void)row;
	(void)col;
	view_approval_take_back(v, ui);
	return CLICK_NONE;
}

static void view_approval_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct approval *v = self;
	const struct source *s = ui_source(ui, v->source);
	const struct model_action *act = s ? model_action(&s->model, v->action) : NULL;
	*out = (struct subject){ .source = v->source,
				 .agent = act ? act->agent : 0,
				 .action = v->action };
}

const struct view_ops view_approval = {
	.name = "approval",
	.where = IN_APPROVAL,
	.size = sizeof(struct approval),
	.open = view_approval_open_view,
	.close = view_approval_close_view,
	.recalc = view_approval_recalc,
	.paint = approval_paint,
	.verb = view_approval_verb,
	.key = view_approval_key,
	.click = view_approval_click,
	.finished = view_approval_finished,
	.subject = view_approval_subject,
	.off = view_approval_off,
	.hints = view_approval_hints,
};
