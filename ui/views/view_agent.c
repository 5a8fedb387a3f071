/* One agent: its timeline at the left, at the right what belongs to the selected row (output,
 * transcript, difference, details). Narrow screens show one of the two; Enter and Tab go over.
 * Reads: the agent's rows, the session's texts. Follows the end until a key moves away from it; G
 * or F follows again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/rows/pane.h"
#include "ui/frame/finder.h"
#include "ui/frame/select.h"
#include "ui/model/wall.h"

enum tab { TAB_OUTPUT, TAB_TALK, TAB_DIFF, TAB_DETAILS, TAB_NR };
enum {
	MAX_ROWS = 128,
	LEFT_COLS = 46,
	SPLIT_STEP = 4,
	WIDE_COLS = 100,
	TAIL_FOLLOW = 16 << 10,
	TAIL_SCROLL = 256 << 10,
	TAIL_ALL = 4 << 20,
	TALK_ROWS = 200
};

struct agent_view {
	size_t source;
	uint64_t agent, seq; /* seq: the selected row */
	bool follow, right, text_follow, render;
	bool zoom; /* the pane that keys move, alone */
	int split; /* columns of the timeline, its rule included; 0 = as we like it */
	int cols;
	enum tab tab;
	int64_t top;			     /* of the text, when it does not follow */
	struct pane_hold output_at, talk_at; /* while it does not follow */
	/* rows from there to the end, once it has stopped following; 0 = top counts */
	int64_t below;
	struct calm out; /* bytes of output as shown */
	/* made by recalc */
	const struct model_agent *a;
	const struct rows *rows; /* what the filter lets through */
	enum agent_state state;
	struct row_info row[MAX_ROWS];
	size_t nr, at; /* at: index of the selection among row[] */
	struct text text;
	size_t text_top;
	int text_rows, text_cols;
	const char *title, *head, *facts;
	struct piece piece[6];
	size_t nr_pieces;
	struct text strip; /* the difference below, wide screens only */
	const char *strip_title;
	bool ascii;
	struct arena *arena;
};

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

/* Timeline and text beside each other. */
static bool view_agent_beside(const struct agent_view *v, int cols)
{
	return cols >= WIDE_COLS && !v->zoom;
}

static int left_cols(const struct agent_view *v)
{
	int most = v->cols - 40, n = v->split ? v->split : v->cols * 2 / 5;
	if (!v->split && n < LEFT_COLS)
		n = LEFT_COLS;
	return n > most ? most : n < 30 ? 30 : n;
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

/* Output belongs to an action: the selected one, or the nearest before. */
static uint64_t action_at(const struct agent_view *v, const struct model *m)
{
	const struct rows *r = v->rows;
	for (size_t i = rows_find(r, v->seq) + 1; i > 0; i--)
		if (i <= r->nr && r->row[i - 1].kind == EV_ACTION_REQUESTED)
			return model_action(m, r->row[i - 1].seq) ? r->row[i - 1].seq : 0;
	return 0;
}

static void gather_text(struct agent_view *v, struct source *s, int rows, int cols)
{
	uint64_t action = action_at(v, &s->model);
	text_init(&v->text, v->arena, cols,
		  v->tab == TAB_DETAILS	 ? 14
		  : v->tab == TAB_OUTPUT ? 2
					 : 3,
		  v->ascii);
	if (v->text_follow)
		v->output_at = v->talk_at = (struct pane_hold){ 0 };
	switch (v->tab) {
	case TAB_OUTPUT:
		pane_output(&v->text, s, action, v->text_follow ? TAIL_FOLLOW : TAIL_SCROLL,
			    v->render, v->text_follow ? NULL : &v->output_at);
		break;
	case TAB_TALK:
		pane_transcript(&v->text, s, v->agent, TALK_ROWS,
				v->text_follow ? NULL : &v->talk_at);
		break;
	case TAB_DIFF:
		pane_diff(&v->text, s, v->a->box);
		break;
	case TAB_DETAILS:
		pane_details(&v->text, s, v->seq);
		break;
	case TAB_NR:
		break;
	}
	bool from_end = v->tab == TAB_OUTPUT || v->tab == TAB_TALK;
	if (v->below && !v->text_follow)
		v->top = (int64_t)v->text.nr - v->below;
	v->below = 0;
	v->text_rows = rows;
	v->text_top = v->text_follow ? (from_end ? text_clamp(&v->text, INT32_MAX, rows) : 0)
				     : text_clamp(&v->text, v->top, rows);
	v->top = (int64_t)v->text_top;
}

static const char *view_agent_facts_of(struct agent_view *v, const struct ui *ui, struct source *s)
{
	uint64_t id = action_at(v, &s->model);
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
			   fmt_plural(ar, s->model.waivers, "session waiver", "session waivers"));
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
	bool wide = view_agent_beside(v, cols), strip = wide && rows >= 30;
	v->rows = ui_rows(ui, v->source, &v->a->rows);
	v->state = source_agent_state(s, v->a);
	view_agent_gather_title(v, ui, s, cols);
	gather_rows(v, s, rows - 3 - (strip ? 7 : 0));
	v->facts = view_agent_facts_of(v, ui, s);
	gather_text(v, s, rows - 4 - (strip ? 7 : 0), wide ? cols - left_cols(v) - 1 : cols - 1);
	if (strip)
		gather_strip(v, s, cols);
}

/* --- paint ------------------------------------------------------------------------------------ */

/* "#366 exec   make test        exit 2   5.9s" */
static void view_agent_paint_row(const struct agent_view *v, struct area a, int row,
				 const struct row_info *r)
{
	struct arena *ar = v->arena;
	char id[32];
	bool sign = r->sign && strchr(">!x=", r->sign);
	snprintf(id, sizeof(id), "%s%" PRIu64, sign ? "" : "#", r->seq);
	int col = 0;
	if (sign)
		col = grid_put(a, row, 0, r->role, arena_printf(ar, "%c", r->sign));
	col = grid_put(a, row, col, ROLE_DIM, id) + 1;
	if (col < 1 + draw_id_cells(v->row, v->nr))
		col = 1 + draw_id_cells(v->row, v->nr);
	if (col < 6)
		col = 6;
	if (r->turn) {
		col = grid_put(a, row, col, ROLE_DIM, r->what) + 1;
		for (; col < a.cols - 2; col++)
			put_sign(a, row, col, ROLE_RULE, SIGN_HLINE);
		return;
	}
	put_field(a, row, col, 8, ROLE_TEXT, r->word);
	col += strlen(r->word) > 6 ? 9 : 7;
	int right = a.cols - 1;
	if (r->dur_us >= 0 || r->sign == '>') {
		put_right(a, row, right - 6, 6, ROLE_DIM,
			  r->dur_us >= 0 ? fmt_span(ar, r->dur_us) : "");
		right -= 7;
	}
	const char *outcome = r->sign == '!'				     ? "HELD"
			      : r->sign == '='				     ? "PAUSED"
			      : *r->outcome && strcmp(r->outcome, "ok") != 0 ? r->outcome
									     : "";
	if (*outcome) {
		int n = text_cells(outcome, false);
		grid_put(a, row, right - n, r->role, outcome);
		right -= n + 1;
	}
	const char *what = one_line(r->what, ar);
	put_bytes(a, row, col, right - col, ROLE_TEXT, what, strlen(what), 0);
}

static void paint_timeline(const struct agent_view *v, struct area a)
{
	int head = grid_put(a, 0, 1, ROLE_TITLE, "TIMELINE");
	put_right(a, 0, head + 1, a.cols - head - 2, ROLE_DIM,
		  v->follow ? "F follow on" : "F follow");
	struct area list = area_sub(a, 1, 0, a.rows - 1, a.cols);
	for (size_t i = 0; i < v->nr && (int)i < list.rows; i++) {
		view_agent_paint_row(v, list, (int)i, &v->row[i]);
		if (i == v->at)
			put_cursor_row(list, (int)i);
	}
}

static void paint_tabs(const struct agent_view *v, struct area a)
{
	static const char *const names[TAB_NR][2] = {
		{ "o", "output" }, { "t", "transcript" }, { "d", "diff" }, { "v", "details" }
	};
	int col = 1;
	for (int i = 0; i < TAB_NR; i++) {
		bool on = (enum tab)i == v->tab;
		char key[8];
		snprintf(key, sizeof(key), on ? "[%s]" : "%s", names[i][0]);
		col = grid_put(a, 0, col, on ? ROLE_TITLE : ROLE_KEY, key) + 1;
		col = grid_put(a, 0, col, on ? ROLE_TITLE : ROLE_TEXT, names[i][1]) + 3;
	}
	const struct row_info *r = v->nr > 0 ? &v->row[v->at] : NULL;
	if (r && a.cols - col > 16) {
		const char *what = arena_printf(v->arena, "#%" PRIu64 " %s", r->seq,
						first_line(r->what, v->arena));
		put_bytes(a, 0, col + 1, a.cols - col - 2, ROLE_DIM, what, strlen(what), 0);
	}
}

static void view_agent_paint_pane(const struct agent_view *v, struct area a)
{
	paint_tabs(v, a);
	if (v->tab == TAB_OUTPUT)
		put_bytes(a, 1, 1, a.cols - 2, ROLE_DIM, v->facts, strlen(v->facts), 0);
	text_paint(&v->text, area_sub(a, 2, 0, a.rows - 2, a.cols), v->text_top);
	if (v->text_top + (size_t)v->text_rows < v->text.nr) {
		const char *more = arena_printf(
			v->arena, "  %s  G end",
			fmt_plural(v->arena, (int64_t)(v->text.nr - v->text_top) - v->text_rows,
				   "more line", "more lines"));
		put_right(a, a.rows - 1, 0, a.cols - 1, ROLE_DIM, more);
	}
}

static void view_agent_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct agent_view *v = self;
	(void)ui;
	if (!v->a) {
		draw_title(a, 0, "no agent has started yet", NULL, 0);
		put_rule(a, 1, NULL, ROLE_RULE, NULL);
		return;
	}
	draw_title(a, 0, v->title, v->piece, v->nr_pieces);
	put_rule(a, 1, NULL, ROLE_RULE, v->head);
	bool wide = view_agent_beside(v, a.cols), strip = wide && a.rows >= 30;
	struct area body = area_sub(a, 2, 0, a.rows - 2 - (strip ? 7 : 0), a.cols);
	if (wide) {
		int left = left_cols(v);
		paint_timeline(v, area_sub(body, 0, 0, body.rows, left - 1));
		put_vline(body, 0, left - 1, body.rows);
		view_agent_paint_pane(v, area_sub(body, 0, left, body.rows, body.cols - left));
	} else if (v->right) {
		view_agent_paint_pane(v, body);
	} else {
		paint_timeline(v, body);
	}
	if (strip) {
		put_rule(a, a.rows - 7, v->strip_title, ROLE_TITLE, "d full");
		text_paint(&v->strip, area_sub(a, a.rows - 6, 0, 6, a.cols), 0);
	}
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
		v->split = left_cols(v) + (verb == VERB_WIDEN ? SPLIT_STEP : -SPLIT_STEP);
		v->split = left_cols(v);
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

/* --- mouse, text ------------------------------------------------------------------------------ */

/* "[o] output   t transcript  ..": as paint_tabs lays them out. */
static bool click_tab(struct agent_view *v, int col)
{
	static const int cells[TAB_NR] = { 6, 10, 4, 7 };
	for (int i = 0, at = 1; i < TAB_NR; i++) {
		int n = ((enum tab)i == v->tab ? 3 : 1) + 1 + cells[i];
		if (col >= at && col < at + n)
			return set_tab(v, (enum tab)i);
		at += n + 3;
	}
	return false;
}

static enum click view_agent_click(void *self, struct ui *ui, int row, int col)
{
	struct agent_view *v = self;
	bool wide = view_agent_beside(v, v->cols),
	     strip = wide && ui->grid.rows - ui_frame_rows(ui) >= 30;
	int left = wide ? left_cols(v) : 0,
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
	v->split = left_cols(v);
}

static bool view_agent_wheel(void *self, struct ui *ui, int row, int col, enum verb to)
{
	struct agent_view *v = self;
	bool keys_right = v->right;
	if (!v->a || row < 2 || !view_agent_beside(v, v->cols))
		return false;
	v->right = col >= left_cols(v);
	bool took = view_agent_verb(self, ui, to);
	v->right = keys_right;
	return took;
}

/* The pane at the right, whole and unwrapped. */
static void pane_as_text(const void *self, struct ui *ui, struct buf *out)
{
	struct agent_view v = *(const struct agent_view *)self;
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	struct source *s = ui_source(ui, v.source);
	if (!s || !v.a)
		return;
	v.arena = &ar;
	text_init(&v.text, &ar, 4000, 2, v.ascii);
	uint64_t action = action_at(&v, &s->model);
	if (v.tab == TAB_OUTPUT)
		pane_output(&v.text, s, action, TAIL_ALL, v.render, NULL);
	else if (v.tab == TAB_TALK)
		pane_transcript(&v.text, s, v.agent, SIZE_MAX, NULL);
	else if (v.tab == TAB_DIFF)
		pane_diff(&v.text, s, v.a->box);
	else
		pane_details(&v.text, s, v.seq);
	text_plain(&v.text, v.tab == TAB_DIFF || v.tab == TAB_DETAILS, out);
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
	bool wide = view_agent_beside(v, v->cols);
	int left = wide ? left_cols(v) : 0;
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
	.paint = view_agent_paint,
	.verb = view_agent_verb,
	.key = view_agent_key,
	.click = view_agent_click,
	.drag = view_agent_drag,
	.wheel = view_agent_wheel,
	.text = pane_as_text,
	.subject = view_agent_subject,
	.look = view_agent_look,
	.go = view_agent_go,
};
