/* One agent: its timeline at the left, at the right what belongs to the selected row (output,
 * transcript, difference, details). Narrow screens show one of the two; Enter and Tab go over.
 * Reads: the agent's rows, the session's texts. Follows the end until a key moves away from it; G
 * or F follows again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/term/fmt.h"
#include "ui/frame/finder.h"
#include "ui/frame/select.h"
#include "ui/model/wall.h"
#include "ui/views/agent_priv.h"

enum { SPLIT_STEP = 4 };

static void view_agent_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct agent_view *v = self;
	const struct source *s = ui_source(ui, on->source);
	const struct model_agent *a = s ? model_agent(&s->model, on->agent) : NULL;
	v->source = on->source;
	v->agent = on->agent;
	if (!a && s && s->model.nr_agents > 0)
		v->agent = s->model.agent[0].id;
	v->follow = v->text_follow = true;
}

/* --- recalc ----------------------------------------------------------------------------------- */

static void gather_rows(struct agent_view *v, struct source *s, int rows)
{
	const struct rows *r = v->rows;
	size_t want = rows < MAX_ROWS ? (size_t)(rows < 1 ? 1 : rows) : MAX_ROWS, sel;
	v->nr = 0;
	if (r->nr == 0)
		return;
	if (v->follow || v->seq == 0)
		v->seq = r->row[r->nr - 1].seq;
	sel = rows_find(r, v->seq);
	if (sel == r->nr)
		sel = r->nr - 1;
	/* some of what follows stays in sight */
	size_t last = sel + 1 + want / 3 < r->nr ? sel + 1 + want / 3 : r->nr;
	if (last < want)
		last = want < r->nr ? want : r->nr;
	size_t first = last > want ? last - want : 0;
	for (size_t i = first; i < last; i++)
		row_load(&v->row[v->nr++], s, &r->row[i], v->arena);
	v->at = sel - first;
	v->seq = r->row[sel].seq;
}

static const char *view_agent_facts_of(struct agent_view *v, const struct ui *ui, struct source *s)
{
	uint64_t id = agent_action_at(v, &s->model);
	const struct model_action *act = model_action(&s->model, id);
	const struct model_box *b = act ? model_box(&s->model, act->box) : NULL;
	CLEANUP(json_release) json_t *o = source_body(s, id);
	CLEANUP(buf_release) struct buf f = BUF_INIT, cwd = BUF_INIT;
	if (!act || !o)
		return "";
	if (json_get_bytes(json_object_get(o, "cwd"), &cwd) && cwd.len > 0)
		buf_printf(&f, "cwd %s  ", cwd.data);
	if (b)
		buf_printf(&f, "net %s  ", wall_net(b));
	if (json_int(o, "timeout_us", 0) > 0)
		buf_printf(&f, "limit %s  ", fmt_span(v->arena, json_int(o, "timeout_us", 0)));
	/* an ended action keeps nothing back */
	uint64_t out =
		ui_calm(ui, &v->out, act->ended ? act->ended : id, act->out_bytes + act->err_bytes);
	if (out > 0)
		buf_printf(&f, "%s%s out  ", fmt_bytes(v->arena, (int64_t)out),
			   out < 1000 ? " bytes" : "");
	if (b && *b->profile && strcmp(b->profile, "enforced") != 0)
		buf_printf(&f, "%s", wall_words(b->profile));
	return arena_strdup(v->arena, buf_cstr(&f));
}

static void view_agent_add_piece(struct agent_view *v, enum role r, const char *text)
{
	v->piece[v->nr_pieces++] = (struct piece){ r, text };
}

static const char *of_limit(struct arena *ar, const char *used, const char *limit, bool limited,
			    const char *unit)
{
	return limited ? arena_printf(ar, "%s/%s%s", used, limit, unit)
		       : arena_printf(ar, "%s%s", used, unit);
}

/* "= PAUSED before #378", "! HELD, paused" */
static const char *view_agent_state_text(const struct agent_view *v, const struct source *s)
{
	const struct model_action *stands = model_stands(&s->model, v->a);
	const char *more = "";
	if (v->state == AGENT_PAUSED && stands)
		more = arena_printf(v->arena, " %s #%" PRIu64,
				    stands->latched ? "before" : "FROZEN in", stands->id);
	else if (v->state != AGENT_PAUSED && !v->a->ended && (v->a->paused || s->model.paused_all))
		more = ", paused";
	return arena_printf(v->arena, "%c %s%s", agent_state_sign(v->state),
			    agent_state_word(v->state), more);
}

static void view_agent_gather_title(struct agent_view *v, struct ui *ui, struct source *s, int cols)
{
	struct arena *ar = v->arena;
	const struct model_agent *a = v->a;
	const struct limits *l = &a->limits;
	const struct model_box *b = model_box(&s->model, a->box);
	int64_t end = a->ended ? a->end_us : ui_now_of(ui, v->source);
	bool wide = cols >= WIDE_COLS;
	v->nr_pieces = 0;
	v->title = arena_printf(ar, "%s / %s", s->model.id, ui_agent_name(ui, v->source, a));
	view_agent_add_piece(v, ROLE_DIM,
			     b && wide ? arena_printf(ar, "sandbox %s:%s", b->driver, b->name)
				       : "");
	view_agent_add_piece(v, draw_state_role(v->state), view_agent_state_text(v, s));
	view_agent_add_piece(v, ROLE_TEXT,
			     of_limit(ar, arena_printf(ar, "step %u", a->turn),
				      fmt_count(ar, l->steps), l->steps > 0, ""));
	if (wide)
		view_agent_add_piece(v, ROLE_TEXT,
				     of_limit(ar, fmt_count(ar, a->tokens),
					      fmt_count(ar, l->tokens), l->tokens > 0, " tok"));
	view_agent_add_piece(v, ROLE_TEXT,
			     of_limit(ar, fmt_cost(ar, a->uusd, a->cost_unknown),
				      fmt_money(ar, l->uusd), l->uusd > 0, ""));
	view_agent_add_piece(v, ROLE_TEXT,
			     of_limit(ar, fmt_age(ar, end - a->start_us), fmt_age(ar, l->time_us),
				      l->time_us > 0, ""));
	CLEANUP(buf_release) struct buf h = BUF_INIT;
	buf_printf(&h, "task: %s", first_line(a->task, ar));
	if (wide && *a->model)
		buf_printf(&h, "    model: %s", a->model);
	if (wide && s->model.waivers)
		buf_printf(&h, "    %s",
			   fmt_plural(ar, s->model.waivers, "session approval", "session waivers"));
	v->head = arena_strdup(ar, buf_cstr(&h));
}

/* The difference below wide screens: the file that the agent changed last. */
static void gather_strip(struct agent_view *v, struct source *s, int cols)
{
	struct change *c;
	size_t nr = changes_list(s, v->a->box, &c, v->arena), pick = 0;
	text_init(&v->strip, v->arena, cols - 1, 4, v->ascii);
	v->strip_title = "diff";
	if (nr == 0) {
		text_puts(&v->strip, ROLE_DIM, "no file has changed");
		return;
	}
	for (size_t i = 1; i < nr; i++)
		if (c[i].counted && !c[pick].counted)
			pick = i;
	v->strip_title = arena_printf(
		v->arena, "diff  %s  %s%s", c[pick].path, change_counts(&c[pick], v->arena),
		nr > 1 ? arena_printf(v->arena, "  (1 of %zu files)", nr) : "");
	pane_change(&v->strip, s, &c[pick], 1);
}

static void view_agent_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct agent_view *v = self;
	struct source *s = ui_source(ui, v->source);
	v->arena = ar;
	v->cols = cols;
	v->ascii = ui->grid.ascii;
	v->a = s ? model_agent(&s->model, v->agent) : NULL;
	if (!v->a && s && s->model.nr_agents > 0) {
		v->agent = s->model.agent[0].id;
		v->a = &s->model.agent[0];
	}
	if (!s || !v->a)
		return;
	bool wide = agent_beside(v, cols), strip = wide && rows >= 30;
	v->rows = ui_rows(ui, v->source, &v->a->rows);
	v->state = source_agent_state(s, v->a);
	view_agent_gather_title(v, ui, s, cols);
	gather_rows(v, s, rows - 3 - (strip ? 7 : 0));
	v->facts = view_agent_facts_of(v, ui, s);
	agent_gather_text(v, s, rows - 4 - (strip ? 7 : 0),
			  wide ? cols - agent_left_cols(v) - 1 : cols - 1);
	if (strip)
		gather_strip(v, s, cols);
}

/* --- verbs ------------------------------------------------------------------------------------ */

static void view_agent_move(struct agent_view *v, int64_t by)
{
	const struct rows *r = v->a ? v->rows : NULL;
	if (!r || r->nr == 0)
		return;
	int64_t at = (int64_t)rows_find(r, v->seq) + by, last = (int64_t)r->nr - 1;
	at = at < 0 ? 0 : at > last ? last : at;
	v->seq = r->row[at].seq;
	v->follow = at == last && by > 0;
	v->text_follow = true;
}

/* The text that followed the end was read in part: earlier text is above from now on. */
static void scroll_to(struct agent_view *v, int64_t top)
{
	v->below = v->text_follow ? (int64_t)v->text.nr - top : 0;
	v->top = top;
}

static void view_agent_scroll(struct agent_view *v, int64_t by)
{
	int64_t end = (int64_t)v->text.nr - v->text_rows;
	scroll_to(v, by == INT32_MIN ? by : (int64_t)v->text_top + by);
	v->text_follow = by > 0 && v->top >= end && v->tab == TAB_OUTPUT;
}

/* Next row whose outcome is an error, a change or an approval: "]" goes to any of them. */
static void seek_mark(struct agent_view *v, struct ui *ui, int by)
{
	struct source *s = ui_source(ui, v->source);
	const struct rows *r = v->a ? v->rows : NULL;
	if (!s || !r || r->nr == 0)
		return;
	for (int64_t i = (int64_t)rows_find(r, v->seq) + by; i >= 0 && i < (int64_t)r->nr;
	     i += by) {
		const struct model_action *act = model_action(&s->model, r->row[i].seq);
		bool mark = act && (act->held || act->decided || (act->ended && !act->ok));
		if (mark || r->row[i].kind == EV_AGENT_END) {
			v->seq = r->row[i].seq;
			v->follow = false;
			return;
		}
	}
	ui_say(ui, ROLE_DIM, "no more of them");
}

static bool set_tab(struct agent_view *v, enum tab tab)
{
	if (v->tab == tab && tab == TAB_OUTPUT && v->right)
		v->render = !v->render;
	v->tab = tab;
	v->right = true;
	v->text_follow = true;
	v->top = 0;
	return true;
}

static bool view_agent_move_verb(struct agent_view *v, struct ui *ui, enum verb verb)
{
	bool text = v->right;
	int page = v->text_rows / 2 > 0 ? v->text_rows / 2 : 1;
	switch ((int)verb) {
	case VERB_UP:
	case VERB_DOWN:
		text ? view_agent_scroll(v, verb == VERB_UP ? -1 : 1)
		     : view_agent_move(v, verb == VERB_UP ? -1 : 1);
		return true;
	case VERB_PAGE_UP:
	case VERB_PAGE_DOWN:
		text ? view_agent_scroll(v, verb == VERB_PAGE_UP ? -page : page)
		     : view_agent_move(v, verb == VERB_PAGE_UP ? -page : page);
		return true;
	case VERB_FIRST:
		text ? view_agent_scroll(v, INT32_MIN) : view_agent_move(v, INT32_MIN);
		return true;
	case VERB_LAST:
		text ? view_agent_scroll(v, INT32_MAX) : view_agent_move(v, INT32_MAX);
		return true;
	case VERB_NEXT:
	case VERB_PREV:
		seek_mark(v, ui, verb == VERB_NEXT ? 1 : -1);
		return true;
	default:
		return false;
	}
}

static bool view_agent_verb(void *self, struct ui *ui, enum verb verb)
{
	struct agent_view *v = self;
	if (view_agent_move_verb(v, ui, verb))
		return true;
	switch ((int)verb) {
	case VERB_FOLLOW:
		v->follow = !v->follow;
		v->text_follow = v->follow;
		return true;
	case VERB_NEXT_PANE:
	case VERB_PREV_PANE:
		v->right = !v->right;
		ui_say(ui, ROLE_DIM, v->right ? "keys move the text" : "keys move the timeline");
		return true;
	case VERB_ZOOM:
		v->zoom = !v->zoom && v->cols >= WIDE_COLS;
		ui_say(ui, ROLE_DIM,
		       v->zoom || v->cols < WIDE_COLS ? "one pane: Tab goes over" : "both panes");
		return true;
	case VERB_NARROW:
	case VERB_WIDEN:
		v->split = agent_left_cols(v) + (verb == VERB_WIDEN ? SPLIT_STEP : -SPLIT_STEP);
		v->split = agent_left_cols(v);
		return true;
	case VERB_OPEN:
		v->right = true;
		return true;
	case VERB_BACK:
		if (!v->right)
			return false;
		v->right = false;
		return true;
	case VERB_OUTPUT:
		return set_tab(v, TAB_OUTPUT);
	case VERB_TALK:
		return set_tab(v, TAB_TALK);
	case VERB_DETAILS:
		return set_tab(v, TAB_DETAILS);
	case VERB_DIFF:
		return v->tab != TAB_DIFF && set_tab(v, TAB_DIFF); /* once more: the full screen */
	default:
		return false;
	}
}

/* --- mouse ------------------------------------------------------------------------------ */

static bool click_tab(struct agent_view *v, int col)
{
	enum tab tab = agent_tab_at(v, col);
	return tab != TAB_NR && set_tab(v, tab);
}

static enum click view_agent_click(void *self, struct ui *ui, int row, int col)
{
	struct agent_view *v = self;
	bool wide = agent_beside(v, v->cols),
	     strip = wide && ui->grid.rows - ui_frame_rows(ui) >= 30;
	int left = wide ? agent_left_cols(v) : 0,
	    end = ui->grid.rows - ui_frame_rows(ui) - (strip ? 7 : 0);
	if (!v->a || row < 2 || row >= end)
		return CLICK_NONE;
	if (wide && col == left - 1)
		return CLICK_GRABBED;
	if (wide ? col >= left : v->right) {
		if (row == 2)
			return click_tab(v, col - left) ? CLICK_SELECTED : CLICK_NONE;
		v->right = true;
		return CLICK_SELECTED;
	}
	v->right = false;
	if (row < 3 || (size_t)(row - 3) >= v->nr)
		return CLICK_NONE;
	if ((size_t)(row - 3) == v->at)
		return CLICK_AGAIN;
	v->seq = v->row[row - 3].seq;
	v->follow = false;
	v->text_follow = true;
	return CLICK_SELECTED;
}

static void view_agent_drag(void *self, struct ui *ui, int row, int col)
{
	struct agent_view *v = self;
	(void)ui;
	(void)row;
	v->split = col + 1;
	v->split = agent_left_cols(v);
}

static bool view_agent_wheel(void *self, struct ui *ui, int row, int col, enum verb to)
{
	struct agent_view *v = self;
	bool keys_right = v->right;
	if (!v->a || row < 2 || !agent_beside(v, v->cols))
		return false;
	v->right = col >= agent_left_cols(v);
	bool took = view_agent_verb(self, ui, to);
	v->right = keys_right;
	return took;
}

static void view_agent_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct agent_view *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source, .agent = v->agent, .action = v->seq };
}

static void view_agent_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct agent_view *v = self;
	bool wide = agent_beside(v, v->cols);
	int left = wide ? agent_left_cols(v) : 0;
	(void)ui;
	if (!v->a)
		return;
	if (v->right)
		*out = (struct looked){ .what = LOOK_TEXT,
					.source = v->source,
					.text = &v->text,
					.at = v->text_top,
					.gutters = v->tab == TAB_DIFF || v->tab == TAB_DETAILS,
					.seen = { .first = v->text_top,
						  .row = 4,
						  .col = left,
						  .rows = v->text_rows,
						  .cols = v->cols - left } };
	else if (v->rows->nr > 0)
		*out = (struct looked){
			.what = LOOK_ROWS, .source = v->source, .rows = v->rows, .at = v->seq
		};
}

/* In the text "v" chooses lines, and once more shows the details, as it does beside the
 * timeline. */
static bool view_agent_key(void *self, struct ui *ui, uint32_t key)
{
	struct agent_view *v = self;
	if (key != 'v' || !v->right || keymap_verb(ui_where(ui), key) != VERB_DETAILS)
		return false;
	if (select_on(ui)) {
		select_end(ui);
		set_tab(v, TAB_DETAILS);
	} else {
		ui_do(ui, VERB_SELECT);
	}
	return true;
}

static void view_agent_go(void *self, struct ui *ui, uint64_t to)
{
	struct agent_view *v = self;
	(void)ui;
	if (v->right)
		scroll_to(v, (int64_t)to);
	else
		v->seq = to;
	v->text_follow = !v->right;
	v->follow = false; /* else the next action takes the text with it */
}

const struct view_ops view_agent = {
	.name = "agent",
	.where = IN_AGENT,
	.size = sizeof(struct agent_view),
	.open = view_agent_open_view,
	.recalc = view_agent_recalc,
	.paint = agent_paint,
	.verb = view_agent_verb,
	.key = view_agent_key,
	.click = view_agent_click,
	.drag = view_agent_drag,
	.wheel = view_agent_wheel,
	.text = agent_pane_text,
	.subject = view_agent_subject,
	.look = view_agent_look,
	.go = view_agent_go,
};
