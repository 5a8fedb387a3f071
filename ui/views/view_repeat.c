/* A recorded command and its second run side by side; narrow screens show one of the two, Tab goes
 * over. Both panes move together, so that the same lines stand beside each other; ] goes to where
 * they first differ. Reads: the repeat's events, the output of both actions. Follows the end until a
 * key moves away from it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/rows/pane.h"
#include "ui/views/repeat.h"
#include "phrase/repeat_lines.h"
#include "ui/views/repeat_priv.h"

enum { WIDE_COLS = 100, TAIL = 1 << 20, SUM_MAX = 12 };

/* Both beside each other. */
static bool view_repeat_beside(const struct repeat_view *v, int cols)
{
	return cols >= WIDE_COLS && !v->zoom;
}

static void view_repeat_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct repeat_view *v = self;
	const struct source *s = ui_source(ui, on->source);
	const struct model_repeat *r = s ? model_repeat(&s->model, on->action) : NULL;
	v->source = on->source;
	const struct model_action *act = s ? model_action(&s->model, on->action) : NULL;
	v->of = r || (act && strcmp(act->kind, "exec") == 0) ? on->action : 0;
	/* on the second run: the repeat is meant */
	for (size_t i = 0; s && on->action && i < s->model.nr_repeats; i++)
		if (s->model.repeat[i].again == on->action)
			v->of = s->model.repeat[i].here ? s->model.repeat[i].of : 0;
}

/* --- recalc ----------------------------------------------------------------------------------- */

static const struct model_action *side_action(const struct side *d)
{
	return d->source ? model_action(&d->source->model, d->action) : NULL;
}

static const char *view_repeat_outcome(const struct repeat_view *v, const struct ui *ui,
				       const struct model_action *act)
{
	struct arena *ar = v->arena;
	switch (act->state) {
	case ACT_WAITS:
		return "HELD";
	case ACT_JUDGED_:
		return "";
	case ACT_RUNS:
		return arena_printf(ar, "run %s", fmt_age(ar, ui_now(ui) - act->start_us));
	case ACT_OVER:
		break;
	}
	const char *span = act->start_us ? fmt_span(ar, act->end_us - act->start_us) : "";
	return act->code >= 0 ? arena_printf(ar, "exit %d  %s", act->code, span)
			      : arena_printf(ar, "ended  %s", span);
}

static void gather_side(struct repeat_view *v, struct ui *ui, struct side *d, const char *name,
			int cols)
{
	struct arena *ar = v->arena;
	const struct model_action *act = side_action(d);
	text_init(&d->text, ar, cols, 2, ui->grid.ascii);
	d->head = act ? arena_printf(ar, "%s #%" PRIu64 "  %s", name, d->action,
				     fmt_hms(ar, act->asked_us))
		      : name;
	d->note = act ? view_repeat_outcome(v, ui, act) : "";
	if (act)
		pane_output(&d->text, d->source, d->action, TAIL, false, NULL);
}

/* A repeat of another session's command: its record may be open beside this one. */
static void gather_origin(struct repeat_view *v, struct ui *ui, const json_t *started)
{
	const json_t *origin = json_object_get(started, "origin");
	const char *session = json_str(origin, "session", "");
	struct side *d = &v->side[0];
	d->action = v->there ? v->r.of : v->of;
	d->source = !v->there || v->r.here ? ui_source(ui, v->source) : NULL;
	for (size_t i = 0; !d->source && i < ui->nr_src; i++)
		if (ui->src[i]->model.id && strcmp(ui->src[i]->model.id, session) == 0)
			d->source = ui->src[i];
	v->title = v->there && !v->r.here
			   ? arena_printf(v->arena, "repeat %s#%" PRIu64, session, d->action)
			   : arena_printf(v->arena, "repeat #%" PRIu64, d->action);
}

static bool same_row(const struct text_row *a, const struct text_row *b)
{
	if (a->nr != b->nr || (a->gutter != b->gutter &&
			       (!a->gutter || !b->gutter || strcmp(a->gutter, b->gutter) != 0)))
		return false;
	struct text_walk wa = text_walk_row(a), wb = text_walk_row(b);
	struct glyph ga, gb;
	while (text_walk_next(&wa, &ga) && text_walk_next(&wb, &gb))
		if (strcmp(ga.s, gb.s) != 0)
			return false;
	return true;
}

/* Marks the first difference in both. While the repeat runs, its missing rest does not count as
 * one. */
static void find_difference(struct repeat_view *v)
{
	struct text *a = &v->side[0].text, *b = &v->side[1].text;
	size_t come = b->nr - (b->nr > 0 && !v->r.ended); /* its last line may not be whole */
	size_t both = a->nr < come ? a->nr : come, i = 0;
	v->differs = SIZE_MAX;
	const struct model_action *was = side_action(&v->side[0]), *now = side_action(&v->side[1]);
	if (!was || !now || (!v->r.ended && now->out_bytes + now->err_bytes == 0) ||
	    was->out_bytes + was->err_bytes > TAIL || now->out_bytes + now->err_bytes > TAIL)
		return;
	while (i < both && same_row(&a->row[i], &b->row[i]))
		i++;
	if (i == both && (v->r.ended ? a->nr == b->nr : come <= a->nr))
		return;
	v->differs = i;
	struct text *sides[] = { a, b };
	for (size_t k = 0; k < ARRAY_LEN(sides); k++)
		if (i < sides[k]->nr) {
			sides[k]->row[i].gutter = "!";
			sides[k]->row[i].gutter_role = ROLE_WARN;
		}
}

static void sum_line(struct text *t, const char *line, size_t len)
{
	bool inner = len > 0 && *line == ' ', same = len > 12 && memcmp(line + 8, "same", 4) == 0;
	text_add(t, inner ? ROLE_TEXT : same ? ROLE_OK : ROLE_WARN, NULL, line, len, 0);
}

static void view_repeat_set_state(struct repeat_view *v, enum role r, const char *text)
{
	v->state_role = r;
	v->state = text;
}

static void gather_end(struct repeat_view *v, struct source *s)
{
	CLEANUP(json_release) json_t *o = source_body(s, v->r.ended);
	CLEANUP(buf_release) struct buf lines = BUF_INIT;
	const char *why = json_str(o, "why", "");
	if (*why) {
		view_repeat_set_state(v, ROLE_FAILED, "not compared");
		text_putf(&v->sum, ROLE_FAILED, "not compared: %s", why);
		return;
	}
	bool same = json_flag(o, "same", false);
	int64_t code = json_int(json_object_get(json_object_get(o, "status"), "now"), "code", -1);
	if (json_flag(o, "now", false)) {
		view_repeat_set_state(v, code == 0 ? ROLE_OK : ROLE_FAILED,
				      code == 0 ? "passes" : "FAILS");
		text_puts(
			&v->sum, ROLE_DIM,
			"on the files as they are, not as they were then: output and files are not compared");
	} else {
		view_repeat_set_state(v, same ? ROLE_OK : ROLE_WARN, same ? "the same" : "DIFFERS");
	}
	repeat_lines(o, &lines);
	for (const char *l = buf_cstr(&lines), *nl; (nl = strchr(l, '\n')); l = nl + 1)
		sum_line(&v->sum, l, (size_t)(nl - l));
}

static void gather_sum(struct repeat_view *v, struct source *s, const json_t *started)
{
	const struct model_action *again = model_action(&s->model, v->r.again);
	CLEANUP(buf_release) struct buf lacks = BUF_INIT;
	if (v->r.ended) {
		gather_end(v, s);
	} else if (again && again->state == ACT_WAITS) {
		view_repeat_set_state(v, ROLE_HELD, "HELD");
		text_puts(&v->sum, ROLE_HELD, "it is pending: a opens the approval");
	} else if (again) {
		view_repeat_set_state(v, ROLE_RUN,
				      again->state == ACT_OVER ? "is compared" : "run");
		text_puts(&v->sum, ROLE_DIM,
			  "exit status, output and files are compared when it has ended");
	} else {
		view_repeat_set_state(v, ROLE_DIM, v->there ? "begins" : "not run again yet");
		text_puts(
			&v->sum, ROLE_DIM,
			v->there
				? json_flag(started, "now", false)
					  ? "it gets a sandbox of its own, with the current files"
					  : "it gets a sandbox of its own, with the files at that event"
				: "r runs it again in a sandbox of its own");
	}
	repeat_lines_lacks(started, &lacks);
	if (lacks.len)
		text_putf(&v->sum, ROLE_WARN, "not in the recording, so the run lacked: %s",
			  buf_cstr(&lacks));
}

static int sum_rows(const struct repeat_view *v, int rows)
{
	int nr = (int)(v->sum.nr > SUM_MAX ? SUM_MAX : v->sum.nr), most = rows / 3;
	return 1 + (nr < most ? nr : most);
}

static void place_texts(struct repeat_view *v)
{
	size_t longer = v->side[0].text.nr > v->side[1].text.nr ? 0 : 1;
	bool live = v->r.again && !v->r.ended;
	const struct text *t = live ? &v->side[1].text : &v->side[longer].text;
	if (!v->moved)
		v->top = live			  ? INT32_MAX
			 : v->differs == SIZE_MAX ? 0
						  : (int64_t)v->differs - v->rows / 2;
	v->top = (int64_t)text_clamp(v->moved ? &v->side[longer].text : t, v->top, v->rows);
}

static const char *what_runs(const struct repeat_view *v)
{
	const struct side *d = v->side[0].source ? &v->side[0] : &v->side[1];
	CLEANUP(json_release)
	json_t *o = d->source && d->action ? source_body(d->source, d->action) : NULL;
	return o ? first_line(action_what(o, v->arena), v->arena) : "";
}

/* Replaces the message of the start; later messages stay. */
static void view_repeat_tell_end(struct repeat_view *v, struct ui *ui)
{
	char begun[80];
	if (!v->asked || !v->r.ended)
		return;
	v->asked = false;
	snprintf(begun, sizeof(begun), RUNS_AGAIN, v->r.of);
	if (strcmp(ui->message, begun) == 0)
		ui_say(ui, v->state_role, "#%" PRIu64 " has run again: %s", v->r.of, v->state);
}

static void view_repeat_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct repeat_view *v = self;
	struct source *s = ui_source(ui, v->source);
	v->arena = ar;
	v->side[0] = v->side[1] = (struct side){ 0 };
	v->differs = SIZE_MAX;
	v->title = "repeat";
	v->what = NULL;
	view_repeat_set_state(v, ROLE_DIM, "");
	text_init(&v->sum, ar, cols - 1, 2, ui->grid.ascii);
	if (!s)
		return;
	const struct model_repeat *r = model_repeat(&s->model, v->of);
	v->there = r && r->seq > v->after;
	v->r = v->there ? *r : (struct model_repeat){ 0 };
	CLEANUP(json_release) json_t *started = v->there ? source_body(s, v->r.seq) : NULL;
	int width = view_repeat_beside(v, cols) ? cols / 2 - 1 : cols - 1;
	gather_origin(v, ui, started);
	v->side[1].source = s;
	v->side[1].action = v->r.again;
	gather_side(v, ui, &v->side[0], "RECORDED", width);
	gather_side(v, ui, &v->side[1], "NOW", width);
	if (!v->side[0].source)
		text_puts(&v->side[0].text, ROLE_DIM,
			  "its session is not open here: 'sandglass out' prints its output");
	gather_sum(v, s, started);
	view_repeat_tell_end(v, ui);
	v->rows = rows - 3 - sum_rows(v, rows);
	v->what = what_runs(v);
	if (!json_flag(started, "now", false))
		find_difference(v);
	place_texts(v);
}

/* --- paint ------------------------------------------------------------------------------------ */

static void paint_side(const struct repeat_view *v, struct area a, const struct side *d,
		       const char *hint)
{
	int col = grid_put(a, 0, 1, ROLE_TITLE, d->head) + 2;
	if (hint)
		grid_put(a, 0, col, ROLE_DIM, hint);
	put_right(a, 0, a.cols - 24, 23, ROLE_DIM, d->note);
	text_paint(&d->text, area_sub(a, 1, 0, a.rows - 1, a.cols), (size_t)v->top);
	size_t below = (size_t)v->top + (size_t)(v->rows > 0 ? v->rows : 0);
	if (below < d->text.nr)
		put_right(a, a.rows - 1, 0, a.cols - 1, ROLE_DIM,
			  arena_printf(v->arena, "  %s",
				       fmt_plural(v->arena, (int64_t)(d->text.nr - below),
						  "more line", "more lines")));
}

static void view_repeat_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct repeat_view *v = self;
	int sum = sum_rows(v, a.rows);
	struct area body = area_sub(a, 2, 0, a.rows - 2 - sum, a.cols);
	(void)ui;
	draw_title(a, 0, v->title, &(struct piece){ v->state_role, v->state }, 1);
	put_rule(a, 1, NULL, ROLE_RULE, v->what);
	if (view_repeat_beside(v, a.cols)) {
		int half = a.cols / 2;
		paint_side(v, area_sub(body, 0, 0, body.rows, half - 1), &v->side[0], NULL);
		put_vline(body, 0, half - 1, body.rows);
		paint_side(v, area_sub(body, 0, half, body.rows, a.cols - half), &v->side[1], NULL);
	} else {
		paint_side(v, body, &v->side[v->now], v->now ? "Tab recorded" : "Tab now");
	}
	put_rule(a, a.rows - sum, "compared", ROLE_TITLE,
		 v->differs == SIZE_MAX ? NULL : "] where they differ first");
	text_paint(&v->sum, area_sub(a, a.rows - sum + 1, 0, sum - 1, a.cols), 0);
}

/* --- verbs ------------------------------------------------------------------------------------ */

static bool view_repeat_scroll(struct repeat_view *v, int64_t by)
{
	v->moved = true;
	v->top += by;
	return true;
}

static bool to_difference(struct repeat_view *v, struct ui *ui)
{
	if (v->differs == SIZE_MAX)
		ui_say(ui, ROLE_DIM, "no difference so far");
	else
		view_repeat_scroll(v, (int64_t)v->differs - v->rows / 2 - v->top);
	return true;
}

static bool view_repeat_approve(const struct repeat_view *v, struct ui *ui)
{
	const struct source *s = ui_source(ui, v->source);
	const struct model_action *act = s ? model_action(&s->model, v->r.again) : NULL;
	if (!act || act->state != ACT_WAITS)
		return false;
	ui_open(ui, "approval", &(struct subject){ .source = v->source, .action = act->id });
	return true;
}

static bool view_repeat_again(const struct repeat_view *v, struct ui *ui)
{
	if (v->there && !v->r.ended)
		ui_say(ui, ROLE_DIM, "it runs");
	else if (v->there && !v->r.here)
		ui_say(ui, ROLE_DIM, "it belongs to another session: run sandglass repeat");
	else
		repeat_ask(ui, &(struct subject){ .source = v->source,
						  .action = v->there ? v->r.of : v->of });
	return true;
}

static bool view_repeat_verb(void *self, struct ui *ui, enum verb verb)
{
	struct repeat_view *v = self;
	int page = v->rows / 2 > 0 ? v->rows / 2 : 1;
	switch ((int)verb) {
	case VERB_UP:
		return view_repeat_scroll(v, -1);
	case VERB_DOWN:
		return view_repeat_scroll(v, 1);
	case VERB_PAGE_UP:
		return view_repeat_scroll(v, -page);
	case VERB_PAGE_DOWN:
		return view_repeat_scroll(v, page);
	case VERB_FIRST:
		return view_repeat_scroll(v, INT32_MIN);
	case VERB_LAST:
		return view_repeat_scroll(v, INT32_MAX);
	case VERB_FOLLOW:
		v->moved = !v->moved;
		return true;
	case VERB_NEXT:
	case VERB_PREV:
		return to_difference(v, ui);
	case VERB_NEXT_PANE:
	case VERB_PREV_PANE:
		v->now = !v->now;
		return true;
	case VERB_ZOOM:
		v->zoom = !v->zoom && ui->grid.cols >= WIDE_COLS;
		ui_say(ui, ROLE_DIM,
		       view_repeat_beside(v, ui->grid.cols) ? "both runs"
							    : "one of the two: Tab goes over");
		return true;
	case VERB_APPROVE:
		return view_repeat_approve(v, ui);
	case VERB_REPEAT:
		return view_repeat_again(v, ui);
	default:
		return false;
	}
}

static void view_repeat_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct repeat_view *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source, .action = v->r.again ? v->r.again : v->of };
}

/* Both outputs, one after the other, and how they compare. */
static void view_repeat_as_text(const void *self, struct ui *ui, struct buf *out)
{
	const struct repeat_view *v = self;
	(void)ui;
	for (size_t i = 0; i < ARRAY_LEN(v->side); i++) {
		buf_printf(out, "%s  %s\n", v->side[i].head ? v->side[i].head : "",
			   v->side[i].note ? v->side[i].note : "");
		text_plain(&v->side[i].text, true, out);
	}
	text_plain(&v->sum, false, out);
}

static void view_repeat_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct repeat_view *v = self;
	*out = (struct looked){
		.what = LOOK_TEXT,
		.source = v->source,
		.at = (uint64_t)v->top,
		.text = &v->side[view_repeat_beside(v, ui->grid.cols) || v->now].text
	};
}

static void view_repeat_go(void *self, struct ui *ui, uint64_t to)
{
	struct repeat_view *v = self;
	(void)ui;
	v->moved = true;
	v->top = (int64_t)to;
}

const struct view_ops view_repeat = {
	.name = "repeat",
	.where = IN_REPEAT,
	.size = sizeof(struct repeat_view),
	.open = view_repeat_open_view,
	.recalc = view_repeat_recalc,
	.paint = view_repeat_paint,
	.verb = view_repeat_verb,
	.text = view_repeat_as_text,
	.subject = view_repeat_subject,
	.look = view_repeat_look,
	.go = view_repeat_go,
};
