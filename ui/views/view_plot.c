/* The course of a session as curves: spending over time, the density of events, and the times at
 * which agents worked, waited, and failed. The values under the cursor are beside it as text.
 * Signs, not colors, tell states apart. Reads: the model and its track, both at the cursor. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/frame/finder.h"
#include "ui/rows/draw.h"
#include "ui/term/fmt.h"

enum { MAX_COLS = 512, MAX_LANES = 64, AXIS = 8, NAME = 14, VALUE = 9 };
enum lane { LANE_NONE, LANE_THINK, LANE_RUN, LANE_PAUSED, LANE_HELD, LANE_ERROR };

struct plot {
	size_t source;
	uint64_t agent; /* whose curve; 0 everybody's */
	enum track_what what;
	int column; /* of the cursor; -1 the newest */
	/* made by recalc */
	struct arena *arena;
	int64_t begin_us, end_us;
	int width; /* columns of time */
	int64_t sum[MAX_COLS], total;
	uint32_t events[MAX_COLS];
	struct {
		const struct model_agent *agent;
		int64_t value;
		uint8_t cell[MAX_COLS];
	} lane[MAX_LANES];
	size_t nr_lanes, more, top;
	const char *title;
};

static const struct {
	const char *name, *unit;
} view_plot_whats[] = {
	[TRACK_COST] = { "cost", "" },
	[TRACK_TOKENS] = { "tokens", "tokens" },
	[TRACK_OUTPUT] = { "output", "bytes" },
	[TRACK_ACTIONS] = { "actions", "actions" },
};

static void view_plot_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct plot *v = self;
	(void)ui;
	v->source = on->source;
	v->column = -1;
	v->what = on->action > 0 && on->action <= TRACK_WHAT_NR ? (enum track_what)(on->action - 1)
								: TRACK_COST;
}

/* --- recalc ----------------------------------------------------------------------------------- */

static int view_plot_column_of(const struct plot *v, int64_t ts_us)
{
	int64_t span = v->end_us - v->begin_us + 1, at = ts_us - v->begin_us;
	at = at < 0 ? 0 : at >= span ? span - 1 : at;
	return (int)(at * v->width / span);
}

static int64_t time_at(const struct plot *v, int column)
{
	return v->begin_us + (v->end_us - v->begin_us + 1) * (column + 1) / v->width;
}

static void mark_lane(uint8_t *cell, int from, int to, enum lane l)
{
	for (int i = from; i <= to; i++)
		if (cell[i] < l)
			cell[i] = (uint8_t)l;
}

static size_t lane_of(const struct plot *v, uint64_t agent)
{
	for (size_t i = 0; i < v->nr_lanes; i++)
		if (v->lane[i].agent->id == agent)
			return i;
	return SIZE_MAX;
}

static void view_plot_add_action(struct plot *v, const struct model_action *a)
{
	size_t i = lane_of(v, a->agent);
	if (i == SIZE_MAX)
		return;
	uint8_t *cell = v->lane[i].cell;
	int64_t end = a->ended ? a->end_us : v->end_us;
	int last = view_plot_column_of(v, end);
	if (a->started)
		mark_lane(cell, view_plot_column_of(v, a->start_us), last,
			  strcmp(a->kind, "model") == 0 ? LANE_THINK : LANE_RUN);
	if (a->held)
		mark_lane(cell, view_plot_column_of(v, a->held_us),
			  view_plot_column_of(v, a->started ? a->start_us : end),
			  a->latched ? LANE_PAUSED : LANE_HELD);
	if (a->ended && !a->ok)
		mark_lane(cell, last, last, LANE_ERROR);
}

static void gather_lanes(struct plot *v, const struct model *m, int rows)
{
	size_t room = rows < 1 ? 0 : rows > MAX_LANES ? MAX_LANES : (size_t)rows, at = 0;
	for (size_t i = 0; i < m->nr_agents; i++)
		if (m->agent[i].id == v->agent)
			at = i;
	v->top = v->agent && room > 0 && at >= room ? at - room + 1 : 0;
	v->nr_lanes = 0;
	for (size_t i = v->top; i < m->nr_agents && v->nr_lanes < room; i++, v->nr_lanes++) {
		v->lane[v->nr_lanes].agent = &m->agent[i];
		v->lane[v->nr_lanes].value = 0;
		memset(v->lane[v->nr_lanes].cell, LANE_NONE, sizeof(v->lane[0].cell));
	}
	v->more = m->nr_agents - v->nr_lanes;
	for (size_t i = 0; i < m->nr_actions; i++)
		view_plot_add_action(v, &m->action[i]);
}

static void gather_curve(struct plot *v, const struct track *t, uint64_t head)
{
	memset(v->sum, 0, sizeof(v->sum));
	memset(v->events, 0, sizeof(v->events));
	v->total = 0;
	for (size_t i = 0; i < t->nr_steps && t->step[i].seq <= head; i++) {
		const struct track_step *s = &t->step[i];
		size_t lane = s->what == v->what ? lane_of(v, s->agent) : SIZE_MAX;
		v->events[view_plot_column_of(v, s->ts_us)]++;
		if (lane != SIZE_MAX)
			v->lane[lane].value += s->amount;
		if (s->what == v->what && (v->agent == 0 || v->agent == s->agent))
			v->sum[view_plot_column_of(v, s->ts_us)] += s->amount;
	}
	for (int i = 0; i < v->width; i++)
		v->sum[i] = v->total += v->sum[i];
}

static const char *view_plot_value(const struct plot *v, int64_t n)
{
	return v->what == TRACK_COST	 ? fmt_money(v->arena, n)
	       : v->what == TRACK_OUTPUT ? fmt_bytes(v->arena, n)
					 : fmt_count(v->arena, n);
}

static int curve_rows(int rows)
{
	return rows / 3 > 4 ? rows / 3 : 4;
}

static void view_plot_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct plot *v = self;
	const struct source *s = ui_source(ui, v->source);
	v->arena = ar;
	v->nr_lanes = 0;
	v->width = cols - NAME - VALUE - 3;
	v->width = v->width > MAX_COLS ? MAX_COLS : v->width < 1 ? 1 : v->width;
	if (v->column >= v->width)
		v->column = v->width - 1;
	if (!s)
		return;
	v->begin_us = s->model.start_us;
	v->end_us =
		ui_now_of(ui, v->source) > v->begin_us ? ui_now_of(ui, v->source) : v->begin_us + 1;
	gather_lanes(v, &s->model, rows - curve_rows(rows) - 6);
	gather_curve(v, &s->track, s->model.head);
	const struct model_agent *a = model_agent(&s->model, v->agent);
	v->title = arena_printf(ar, "plot: %s of %s", view_plot_whats[v->what].name,
				a ? a->name : "all agents");
}

/* --- paint ------------------------------------------------------------------------------------ */

static int cursor_column(const struct plot *v)
{
	return v->column < 0 ? v->width - 1 : v->column;
}

/* A small number is not said of two rows. */
static const char *put_level(const struct plot *v, struct area a, int row, int64_t level,
			     const char *above)
{
	const char *text = v->total ? view_plot_value(v, level) : "";
	if (strcmp(text, above) != 0)
		put_right(a, row, 1, NAME - 2, ROLE_DIM, text);
	return text;
}

static void paint_curve(const struct plot *v, struct area a)
{
	int64_t most = v->total > 0 ? v->total : 1;
	const char *above = "";
	for (int row = 0; row < a.rows; row++) {
		int64_t level = most * (a.rows - row) / a.rows;
		if (row % 2 == 0 || row == a.rows - 1)
			above = put_level(v, a, row, level, above);
		put_sign(a, row, NAME, ROLE_RULE, SIGN_VLINE);
		for (int i = 0; i < v->width; i++) {
			int64_t eighths =
				v->sum[i] * a.rows * 8 / most - (int64_t)(a.rows - 1 - row) * 8;
			enum role r = i == cursor_column(v) ? ROLE_TITLE : ROLE_SPARK;
			if (eighths > 0)
				put_sign(a, row, NAME + 1 + i, r,
					 (enum sign)(SIGN_SPARK1 +
						     (eighths > 8 ? 7 : (int)eighths - 1)));
		}
	}
}

static void paint_heat(const struct plot *v, struct area a, int row)
{
	uint32_t most = 1;
	for (int i = 0; i < v->width; i++)
		most = v->events[i] > most ? v->events[i] : most;
	put_field(a, row, 1, NAME - 2, ROLE_HEAD, "activity");
	for (int i = 0; i < v->width; i++)
		if (v->events[i])
			put_sign(a, row, NAME + 1 + i, ROLE_SPARK,
				 (enum sign)(SIGN_SPARK1 + v->events[i] * 7 / most));
		else
			put_sign(a, row, NAME + 1 + i, ROLE_RULE, SIGN_DOT);
}

static void paint_lane(const struct plot *v, struct area a, int row, size_t i)
{
	static const struct {
		enum role role;
		const char *sign;
	} looks[] = { [LANE_NONE] = { ROLE_RULE, NULL },    [LANE_THINK] = { ROLE_THINK, "-" },
		      [LANE_RUN] = { ROLE_RUN, "#" },	    [LANE_HELD] = { ROLE_HELD, "!" },
		      [LANE_PAUSED] = { ROLE_PAUSED, "=" }, [LANE_ERROR] = { ROLE_ERROR, "x" } };
	put_field(a, row, 1, NAME - 2, ROLE_NAME, v->lane[i].agent->name);
	for (int c = 0; c < v->width; c++) {
		const uint8_t l = v->lane[i].cell[c];
		if (l == LANE_NONE)
			put_sign(a, row, NAME + 1 + c, ROLE_RULE, SIGN_DOT);
		else
			grid_put(a, row, NAME + 1 + c, looks[l].role, looks[l].sign);
	}
	put_right(a, row, NAME + 1 + v->width, VALUE, ROLE_TEXT,
		  view_plot_value(v, v->lane[i].value));
	if (v->lane[i].agent->id == v->agent)
		put_cursor_row(a, row);
}

static void view_plot_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct plot *v = self;
	const struct source *s = ui_source(ui, v->source);
	if (!s)
		return;
	int curve = curve_rows(a.rows), at = cursor_column(v), row = 2 + curve;
	struct piece p[] = { { ROLE_TITLE,
			       arena_printf(v->arena, "%s %s", view_plot_value(v, v->total),
					    view_plot_whats[v->what].unit) },
			     { ROLE_DIM, fmt_hms(v->arena, v->end_us) } };
	draw_title(a, 0, v->title, p, ARRAY_LEN(p));
	put_rule(a, 1, NULL, ROLE_RULE,
		 "Tab cost, tokens, output, actions   j k agent   h l along the time");
	paint_curve(v, area_sub(a, 2, 0, curve, a.cols));
	if (!v->total && curve > 0)
		grid_put(a, 2 + curve / 2, NAME + 3, ROLE_DIM,
			 arena_printf(v->arena, "no %s so far; Tab: what else there is",
				      view_plot_whats[v->what].name));
	int64_t before = at > 0 ? v->sum[at - 1] : 0;
	grid_put(a, row, NAME + 1 + at, ROLE_TITLE, "^");
	const char *text = arena_printf(
		v->arena, "%s  %s (+%s)  %s", fmt_hms(v->arena, time_at(v, at)),
		view_plot_value(v, v->sum[at]), view_plot_value(v, v->sum[at] - before),
		fmt_plural(v->arena, v->events[at], "step", "steps"));
	int n = text_cells(text, a.g->ascii), left = NAME + 1 + at + 2;
	grid_put(a, row++, left + n < a.cols ? left : NAME + at - n, ROLE_TEXT, text);
	paint_heat(v, a, row++);
	put_rule(a, row++, "agents over time", ROLE_TITLE,
		 "# runs  - thinks  = paused  ! held  x failed");
	for (size_t i = 0; i < v->nr_lanes && row < a.rows; i++)
		paint_lane(v, a, row++, i);
	if (v->more > 0 && row < a.rows)
		grid_put(a, row, 1, ROLE_DIM,
			 arena_printf(v->arena, "%zu more above or below", v->more));
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Everybody, then one after the other. */
static void view_plot_move(struct plot *v, const struct ui *ui, int by)
{
	const struct source *s = ui_source(ui, v->source);
	size_t nr = s ? s->model.nr_agents : 0, at = 0;
	for (size_t i = 0; i < nr; i++)
		if (s->model.agent[i].id == v->agent)
			at = i + 1;
	if (by < 0 && at > 0)
		at--;
	else if (by > 0 && at < nr)
		at++;
	v->agent = at && s ? s->model.agent[at - 1].id : 0;
}

static bool view_plot_verb(void *self, struct ui *ui, enum verb verb)
{
	struct plot *v = self;
	switch ((int)verb) {
	case VERB_UP:
	case VERB_DOWN:
		view_plot_move(v, ui, verb == VERB_UP ? -1 : 1);
		return true;
	case VERB_NEXT_PANE:
		v->what = (enum track_what)((v->what + 1) % TRACK_WHAT_NR);
		return true;
	case VERB_PREV_PANE:
		v->what = (enum track_what)((v->what + TRACK_WHAT_NR - 1) % TRACK_WHAT_NR);
		return true;
	case VERB_FIRST:
		v->column = 0;
		return true;
	case VERB_LAST:
		v->column = -1;
		return true;
	default:
		return false;
	}
}

static bool view_plot_key(void *self, struct ui *ui, uint32_t key)
{
	struct plot *v = self;
	(void)ui;
	if (key == 'h' || (key == K_LEFT && !ui->replay))
		v->column = cursor_column(v) > 0 ? cursor_column(v) - 1 : 0;
	else if (key == 'l' || (key == K_RIGHT && !ui->replay))
		v->column = cursor_column(v) + 1 < v->width ? cursor_column(v) + 1 : -1;
	else
		return false;
	return true;
}

static enum click view_plot_click(void *self, struct ui *ui, int row, int col)
{
	struct plot *v = self;
	(void)ui;
	(void)row;
	if (col <= NAME || col > NAME + v->width)
		return CLICK_NONE;
	v->column = col - NAME - 1;
	return CLICK_SELECTED;
}

static void view_plot_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct plot *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source, .agent = v->agent };
}

static const char *const view_plot_own[] = { "h l", "along the time", NULL };

const struct view_ops view_plot = {
	.name = "plot",
	.where = IN_PLOT,
	.size = sizeof(struct plot),
	.open = view_plot_open_view,
	.recalc = view_plot_recalc,
	.paint = view_plot_paint,
	.verb = view_plot_verb,
	.key = view_plot_key,
	.own = view_plot_own,
	.click = view_plot_click,
	.subject = view_plot_subject,
};
