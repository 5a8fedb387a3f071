/* How the fleet screen is painted: columns, rows, panes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/views/fleet.h"
#include "ui/frame/claimed.h"
#include "ui/term/fmt.h"
#include "ui/frame/finder.h"

/* --- paint ------------------------------------------------------------------------------------ */

struct columns {
	int agent, session, box, state, now, step, tok, cost, spark, end;
};

/* Columns go in this order when it gets narrow: SESSION, TOK, SANDBOX, then a shorter ACTIVITY. */
static struct columns columns_for(int cols)
{
	struct columns c = { .agent = 3 };
	int spark = cols >= 100 ? 15 : 6;
	c.spark = cols - spark - 1;
	c.cost = c.spark - 8;
	c.tok = cols >= 90 ? c.cost - 6 : c.cost;
	c.step = c.tok - 6;
	c.session = 16;
	c.box = cols >= 110 ? c.session + 9 : c.session;
	c.state = cols >= 100 ? c.box + 16 : c.box;
	c.now = c.state + 11;
	c.end = cols - 1;
	return c;
}

static void view_fleet_paint_heads(struct area a, int row, const struct columns *c)
{
	grid_put(a, row, c->agent, ROLE_HEAD, "AGENT");
	if (c->box > c->session)
		grid_put(a, row, c->session, ROLE_HEAD, "SESSION");
	if (c->state > c->box)
		grid_put(a, row, c->box, ROLE_HEAD, "SANDBOX");
	grid_put(a, row, c->state, ROLE_HEAD, "STATE");
	grid_put(a, row, c->now, ROLE_HEAD, "NOW");
	put_right(a, row, c->step, 5, ROLE_HEAD, "STEP");
	if (c->cost > c->tok)
		put_right(a, row, c->tok, 5, ROLE_HEAD, "TOK");
	put_right(a, row, c->cost, 7, ROLE_HEAD, "COST");
	grid_put(a, row, c->spark, ROLE_HEAD, c->end - c->spark >= 11 ? "ACTIVITY 4m" : "ACT");
}

/* If both don't fit, the name wins, because it tells sandboxes apart. The backend of a sandbox
 * without isolation is always shown. */
static const char *box_in(const struct line *l, int cells, bool ascii)
{
	const char *name = strchr(l->box, ':');
	return name && !l->bare && text_cells(l->box, ascii) > cells ? name + 1 : l->box;
}

static void paint_agent(const struct fleet *f, const struct ui *ui, struct area a, int row,
			const struct line *l, const struct columns *c)
{
	const struct model *m = &ui->src[l->source]->model;
	struct arena *ar = f->arena;
	enum role r = draw_state_role(l->state);
	const char *state = agent_state_word(l->state);
	if (l->moved)
		grid_put(a, row, 0, ROLE_DIM, "~");
	if (claimed_failing(ui, l->source, l->agent)) /* said what the recording does not show */
		grid_put(a, row, 0, ROLE_FAILED, "C");
	grid_put(a, row, 1, r, arena_printf(ar, "%c", agent_state_sign(l->state)));
	if (l->state != AGENT_PAUSED && !l->agent->ended && (l->agent->paused || m->paused_all))
		grid_put(a, row, 2, ROLE_PAUSED, "="); /* and paused besides */
	put_field(a, row, c->agent, c->session - c->agent - 1, ROLE_NAME,
		  ui_agent_name(ui, l->source, l->agent));
	if (c->box > c->session)
		put_field(a, row, c->session, c->box - c->session - 1, ROLE_DIM, m->id);
	if (c->state > c->box)
		put_field(a, row, c->box, c->state - c->box - 1, l->bare ? ROLE_WARN : ROLE_DIM,
			  box_in(l, c->state - c->box - 1, a.g->ascii));
	put_field(a, row, c->state, c->now - c->state - 1, r,
		  *l->age ? arena_printf(ar, "%s %s", state, l->age) : state);
	int now_end = c->step - 1;
	if (l->total > 0 && now_end - c->now > 24) {
		now_end -= 11;
		if (l->timed)
			put_time_bar(a, row, now_end + 1, 9, l->done, l->total);
		else
			put_bar(a, row, now_end + 1, 9, ROLE_RUN, l->done, l->total);
	}
	put_bytes(a, row, c->now, now_end - c->now, ROLE_TEXT, l->now, strlen(l->now), 0);
	put_right(a, row, c->step, 5, ROLE_TEXT, arena_printf(ar, "%u", l->agent->turn));
	if (c->cost > c->tok)
		put_right(a, row, c->tok, 5, ROLE_TEXT, fmt_count(ar, l->agent->tokens));
	put_right(a, row, c->cost, 7, ROLE_TEXT,
		  fmt_cost(ar, l->agent->uusd, l->agent->cost_unknown));
	draw_spark(a, row, c->spark, c->end - c->spark, &l->agent->spark, ui_now_of(ui, l->source));
}

/* "+ s-7k2m9q fix   37 agents  30 run  3 HELD  2 failed" and the sums. */
static void view_fleet_paint_group(const struct fleet *f, const struct ui *ui, struct area a,
				   int row, const struct line *l, const struct columns *c)
{
	static const struct {
		enum agent_state state, with;
		const char *word;
	} words[] = {
		{ AGENT_HELD, AGENT_ASK, "HELD" },
		{ AGENT_RUN, AGENT_THINK, "run" },
		{ AGENT_IDLE, AGENT_IDLE, "idle" },
		{ AGENT_PAUSED, AGENT_PAUSED, "paused" },
		{ AGENT_LOST, AGENT_LOST, "LOST" },
		{ AGENT_FAILED, AGENT_FAILED, "failed" },
		{ AGENT_STOPPED, AGENT_STOPPED, "stopped" },
		{ AGENT_DONE, AGENT_DONE, "done" },
	};
	const struct model *m = &ui->src[l->source]->model;
	const struct group *g = l->group;
	struct arena *ar = f->arena;
	struct piece p[ARRAY_LEN(words) + 1] = {
		{ ROLE_TEXT, fmt_plural(ar, (int64_t)(g->nr - g->nr_scripts), "agent", "agents") }
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = g->count[words[i].state];
		if (words[i].with != words[i].state)
			n += g->count[words[i].with];
		p[i + 1] = (struct piece){ draw_state_role(words[i].state),
					   n ? arena_printf(ar, "%zu %s", n, words[i].word) : "" };
	}
	/* Its name takes what the counts leave. */
	int least = c->state - c->agent - 1,
	    room = c->step - c->agent - 1 - draw_pieces_cells(p, ARRAY_LEN(p), a.g->ascii);
	const char *name =
		arena_printf(ar, "%s  %s%s", m->id, m->name, m->ended ? "  (ended)" : "");
	int need = text_cells(name, a.g->ascii);
	room = need < room ? need : room;
	grid_put(a, row, 1, ROLE_TITLE, g->folded ? "+" : "-");
	int col = put_field(a, row, c->agent, room > least ? room : least, ROLE_TITLE, name);
	draw_pieces(area_sub(a, row, 0, 1, c->step), 0, room > least ? col + 2 : c->state, p,
		    ARRAY_LEN(p));
	put_right(a, row, c->step, 5, ROLE_TEXT, fmt_count(ar, (int64_t)g->steps));
	if (c->cost > c->tok)
		put_right(a, row, c->tok, 5, ROLE_TEXT, fmt_count(ar, g->tokens));
	put_right(a, row, c->cost, 7, ROLE_TEXT, fmt_cost(ar, g->uusd, g->cost_unknown));
}

static void view_fleet_paint_list(const struct fleet *f, const struct ui *ui, struct area a)
{
	struct columns c = columns_for(a.cols);
	view_fleet_paint_heads(a, 0, &c);
	for (int i = 1; i < a.rows && (size_t)(f->top + i - 1) < f->nr; i++) {
		size_t at = (size_t)(f->top + i - 1);
		if (f->line[at].agent)
			paint_agent(f, ui, a, i, &f->line[at], &c);
		else
			view_fleet_paint_group(f, ui, a, i, &f->line[at], &c);
		if (at == f->at)
			put_cursor_row(a, i);
	}
	if (f->nr == 0)
		grid_put(a, 1, 3, ROLE_DIM,
			 *ui_filter(ui) ? "no agent matches the filter: Esc removes it"
					: "no agent has started yet");
}

static void paint_events(const struct fleet *f, struct area a)
{
	struct draw_row_opts o = { .clock = a.cols >= 100,
				   .cost = a.cols >= 100,
				   .verdict = true,
				   .id = draw_id_cells(f->event, f->nr_events) };
	int need = 0, row = 0;
	size_t first = 0;
	for (size_t i = 0; i < f->nr_events; i++)
		need += f->tail[i] ? 2 : 1;
	while (need > a.rows && first < f->nr_events) {
		need -= f->tail[first] ? 2 : 1;
		first++;
	}
	for (size_t i = first; i < f->nr_events; i++) {
		draw_row(a, row++, &f->event[i], &o, f->arena);
		if (f->tail[i]) {
			int col = (o.id > 4 ? 4 + o.id : 8) + (o.clock ? 10 : 0);
			put_sign(a, row, col, ROLE_RULE, SIGN_VLINE);
			put_bytes(a, row++, col + 2, a.cols - col - 3, ROLE_TEXT, f->tail[i],
				  strlen(f->tail[i]), 0);
		}
	}
	if (f->nr_events == 0)
		grid_put(a, 0, 3, ROLE_DIM, "nothing yet");
}

static enum role change_role(char op)
{
	return op == 'A' ? ROLE_ADD : op == 'D' ? ROLE_DEL : ROLE_HUNK;
}

static void paint_changes(const struct fleet *f, struct area a)
{
	int width = a.cols >= 100 ? (a.cols - 3) / 3 : (a.cols - 3) / 2, per = (a.cols - 3) / width;
	for (size_t i = 0; i < f->nr_changes; i++) {
		const struct change *c = &f->change[i];
		int row = (int)i / per, col = 3 + (int)i % per * width;
		if (row >= a.rows)
			break;
		grid_put(a, row, col, change_role(c->op), arena_printf(f->arena, "%c", c->op));
		struct area cell = area_sub(a, row, 0, 1, col + width - 2);
		int n = c->counted ? text_cells(change_counts(c, f->arena), true) : 0;
		int end = put_bytes(cell, 0, col + 2, cell.cols - col - 3 - n, ROLE_TEXT, c->path,
				    strlen(c->path), 0);
		if (c->counted)
			change_put_counts(cell, 0, end + 1, c, f->arena);
	}
	if (f->nr_changes == 0)
		grid_put(a, 0, 3, ROLE_DIM, "nothing has changed");
}

static void paint_pending(const struct fleet *f, const struct ui *ui, struct area a)
{
	uint64_t most = 0;
	for (size_t i = 0; i < f->nr_pending && (int)i < a.rows; i++)
		most = f->pending[i].info.seq > most ? f->pending[i].info.seq : most;
	int cells = text_cells(arena_printf(f->arena, "! %" PRIu64, most), true);
	for (size_t i = 0; i < f->nr_pending && (int)i < a.rows; i++) {
		const struct pending *p = &f->pending[i];
		const struct model *m = &ui->src[p->source]->model;
		int row = (int)i, col = 1 + cells + 1;
		grid_put(a, row, 1, ROLE_HELD, arena_printf(f->arena, "! %" PRIu64, p->info.seq));
		col = put_field(a, row, col, 12, ROLE_NAME,
				ui_agent_name(ui, p->source, p->agent)) +
		      1;
		if (ui->nr_src > 1) /* the same name and number may wait in each */
			col = put_field(a, row, col, 9, ROLE_DIM, m->id ? m->id : "?");
		if (ui->nr_src == 1 || a.cols >= 100)
			col = put_field(a, row, col, 6, ROLE_TEXT, p->act ? p->info.word : "asks");
		const char *what = one_line(p->info.what, f->arena);
		const char *why = ui->src[p->source]->lost	      ? "until it is resumed"
				  : !p->act			      ? "waits for your answer"
				  : strcmp(p->info.by, "budget") != 0 ? p->info.by
				  : ui_may_act(ui, p->source)
					  ? "the budget is used up: $ extends it"
					  : "the budget is used up";
		int n = text_cells(why, a.g->ascii), room = a.cols - col - n - 3;
		if (room < 20)
			room = a.cols - col - 1, n = 0;
		put_bytes(a, row, col, room, ROLE_TEXT, what, strlen(what), 0);
		if (n > 0)
			grid_put(a, row, a.cols - n - 1, ROLE_DIM, why);
	}
	if (f->nr_pending == 0)
		grid_put(a, 0, 3, ROLE_DIM, "no approval is pending");
}

static const char *pending_note(const struct fleet *f, const struct ui *ui)
{
	int64_t until = 0;
	for (size_t i = 0; i < f->nr_pending; i++)
		if (f->pending[i].act && f->pending[i].act->until_us &&
		    !ui->src[f->pending[i].source]->lost &&
		    (!until || f->pending[i].act->until_us < until))
			until = f->pending[i].act->until_us;
	return until ? arena_printf(f->arena, "deny in %s", fmt_age(f->arena, until - ui_now(ui)))
		     : NULL;
}

static const char *pane_title(const struct fleet *f, const struct ui *ui, int pane)
{
	const char *name = f->nr == 0 ? ""
			   : f->line[f->at].agent
				   ? ui_agent_name(ui, f->line[f->at].source, f->line[f->at].agent)
				   : "the session";
	if (pane == PANE_EVENTS)
		return arena_printf(f->arena, "%s%slast events", name, *name ? "  " : "");
	if (pane == PANE_WORK)
		return arena_printf(f->arena, "workspace  %s", f->nr > 0 ? f->line[f->at].box : "");
	return f->nr_pending ? arena_printf(f->arena, "pending approvals %zu", f->waiting)
			     : "pending approvals";
}

static void view_fleet_paint_pane(const struct fleet *f, const struct ui *ui, struct area a,
				  int pane)
{
	if (pane == PANE_EVENTS)
		paint_events(f, a);
	else if (pane == PANE_WORK)
		paint_changes(f, a);
	else
		paint_pending(f, ui, a);
}

enum { PENDING_ROWS = 5, PANE_LEAST = 3 };

/* Pending approvals come before everything else below the list. */
static int pending_rows(const struct fleet *f)
{
	return f->nr_pending < PENDING_ROWS ? (int)f->nr_pending : PENDING_ROWS;
}

static void paint_wide(const struct fleet *f, const struct ui *ui, struct area a, int row)
{
	int pending = f->nr_pending > 3 ? pending_rows(f) : (int)f->nr_pending + 1,
	    work = f->nr_changes > 6 ? 3 : 2;
	int events = a.rows - row - 3 - pending - work;
	put_rule(a, row, pane_title(f, ui, PANE_EVENTS), ROLE_TITLE, "follow on");
	paint_events(f, area_sub(a, row + 1, 0, events, a.cols));
	row += 1 + events;
	put_rule(a, row, pane_title(f, ui, PANE_WORK), ROLE_TITLE,
		 changes_total(f->change, f->nr_changes, f->arena));
	paint_changes(f, area_sub(a, row + 1, 0, work, a.cols));
	row += 1 + work;
	put_rule(a, row, pane_title(f, ui, PANE_PENDING), f->nr_pending ? ROLE_HELD : ROLE_TITLE,
		 pending_note(f, ui));
	paint_pending(f, ui, area_sub(a, row + 1, 0, pending, a.cols));
}

static void paint_narrow(const struct fleet *f, const struct ui *ui, struct area a, int row)
{
	put_rule(a, row, pane_title(f, ui, f->pane), ROLE_TITLE,
		 "Tab: events / workspace / pending");
	bool strip = f->nr_pending > 0 && f->pane != PANE_PENDING;
	int most = a.rows - row - 1 - 1 - PANE_LEAST,
	    low = pending_rows(f) < most ? pending_rows(f) : most;
	low = low < 1 ? 1 : low;
	int rows = a.rows - row - 1 - (strip ? 1 + low : 0);
	view_fleet_paint_pane(f, ui, area_sub(a, row + 1, 0, rows, a.cols), f->pane);
	if (!strip)
		return;
	put_rule(a, a.rows - 1 - low, pane_title(f, ui, PANE_PENDING), ROLE_HELD,
		 pending_note(f, ui));
	paint_pending(f, ui, area_sub(a, a.rows - low, 0, low, a.cols));
}

/* Names the visible rows if there are more, and the active breakpoint. */
static void view_fleet_paint_rule(const struct fleet *f, const struct ui *ui, struct area a)
{
	const char *hold = ui->nr_src > 0 ? ui->src[f->source]->model.hold : "", *seen;
	seen = fmt_seen(f->arena, (size_t)f->top, (size_t)f->list_rows - 1, f->nr);
	if (*hold)
		hold = arena_printf(f->arena, "breakpoint: %s", hold);
	if (seen && *hold && text_cells(seen, false) + text_cells(hold, a.g->ascii) + 10 > a.cols)
		seen = NULL;
	put_rule(a, 1, seen, ROLE_DIM, *hold ? hold : NULL);
}

void view_fleet_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct fleet *f = self;
	draw_title(a, 0, f->title, f->piece, f->nr_pieces);
	view_fleet_paint_rule(f, ui, a);
	bool wide = view_fleet_beside(f, a.rows);
	int rows = f->list_rows;
	view_fleet_paint_list(f, ui, area_sub(a, LIST_TOP, 0, rows, a.cols));
	if (wide)
		paint_wide(f, ui, a, LIST_TOP + rows + 1);
	else
		paint_narrow(f, ui, a, LIST_TOP + rows);
}
