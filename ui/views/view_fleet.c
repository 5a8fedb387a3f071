/* All agents at a glance; below them what the selected one has done, what it changed, what waits.
 * Reads: every model; rows of the selected agent. Wide screens show three panes below, narrow ones
 * one at a time (Tab).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/views/approve.h"
#include "ui/views/fleet.h"
#include "ui/term/fmt.h"
#include "ui/frame/finder.h"

enum { PANE_EVENTS, PANE_WORK, PANE_PENDING, PANE_NR };

/* --- recalc ----------------------------------------------------------------------------------- */

/* The last line that a command wrote, shown under it. */
static const char *output_tail(struct source *s, const struct row_info *r, struct arena *ar)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const struct model_action *act = model_action(&s->model, r->seq);
	if (!act || strcmp(act->kind, "model") == 0 || act->out_bytes + act->err_bytes == 0)
		return NULL;
	source_tail(s, r->seq, act->out_bytes ? 1 : 2, 400, &b);
	sanitize_drop_colours(&b);
	while (b.len > 0 &&
	       (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == '\r' || b.data[b.len - 1] == ' '))
		b.data[--b.len] = 0;
	if (b.len == 0)
		return NULL;
	const char *nl = memrchr(b.data, '\n', b.len);
	return arena_strdup(ar, nl ? nl + 1 : b.data);
}

static void gather_events(struct fleet *f, struct ui *ui, int rows, struct arena *ar)
{
	f->nr_events = 0;
	if (f->nr == 0 || rows <= 0)
		return;
	struct source *s = ui->src[f->source];
	const struct model_agent *agent = f->line[f->at].agent;
	const struct rows *r = agent ? &agent->rows : &s->model.rows;
	struct row_info got[MAX_EVENTS];
	size_t n = 0, lines = 0, want = (size_t)rows < MAX_EVENTS ? (size_t)rows : MAX_EVENTS;
	for (size_t i = r->nr; i > 0 && lines < want; i--, n++) {
		row_load(&got[n], s, &r->row[i - 1], ar);
		const char *tail = output_tail(s, &got[n], ar);
		f->tail[n] = lines + 2 <= want ? tail : NULL;
		lines += f->tail[n] ? 2 : 1;
	}
	for (size_t i = 0; i < n; i++)
		f->event[i] = got[n - 1 - i];
	for (size_t i = 0; i < n / 2; i++) {
		const char *t = f->tail[i];
		f->tail[i] = f->tail[n - 1 - i];
		f->tail[n - 1 - i] = t;
	}
	f->nr_events = n;
}

static int64_t view_fleet_since(const struct pending *p)
{
	return p->act ? p->act->held_us : p->info.ts_us;
}

static bool is_before(const struct pending *a, const struct pending *b)
{
	return waits_order(&(struct waits){ a->source, a->seq, view_fleet_since(a) },
			   &(struct waits){ b->source, b->seq, view_fleet_since(b) }) < 0;
}

/* Keeps the oldest ones, in order. */
static void add_pending(struct fleet *f, const struct pending *p)
{
	size_t at = f->nr_pending;
	while (at > 0 && is_before(p, &f->pending[at - 1]))
		at--;
	if (at == MAX_PENDING)
		return;
	f->nr_pending += f->nr_pending < MAX_PENDING;
	memmove(&f->pending[at + 1], &f->pending[at], (f->nr_pending - 1 - at) * sizeof(*p));
	f->pending[at] = *p;
}

static void gather_pending(struct fleet *f, struct ui *ui, struct arena *ar)
{
	f->nr_pending = f->waiting = 0;
	for (size_t i = 0; i < ui->nr_src; i++) {
		struct source *s = ui->src[i];
		f->waiting += s->model.nr_held + s->model.nr_asks;
		for (size_t k = 0; k < s->model.nr_held; k++) {
			struct pending p = { .seq = s->model.held[k],
					     .act = model_action(&s->model, s->model.held[k]),
					     .source = i };
			p.agent = p.act ? model_agent(&s->model, p.act->agent) : NULL;
			add_pending(f, &p);
		}
		for (size_t k = 0; k < s->model.nr_asks && k < MAX_PENDING; k++) {
			struct pending p = { .seq = s->model.ask[k].seq,
					     .agent = model_agent(&s->model, s->model.ask[k].agent),
					     .source = i };
			row_load(&p.info, s, &(struct row){ p.seq, EV_ASK }, ar);
			add_pending(f, &p);
		}
	}
	for (size_t i = 0; i < f->nr_pending; i++)
		if (!f->pending[i].info.seq) /* not read yet */
			row_load(&f->pending[i].info, ui->src[f->pending[i].source],
				 &(struct row){ f->pending[i].seq, EV_ACTION_REQUESTED }, ar);
}

static void view_fleet_add_piece(struct fleet *f, enum role r, const char *text)
{
	f->piece[f->nr_pieces++] = (struct piece){ r, text };
}

static void view_fleet_gather_title(struct fleet *f, struct ui *ui, int cols, struct arena *ar)
{
	const size_t *count = f->count;
	int64_t uusd = 0, limit = 0, tokens = 0;
	for (size_t i = 0; i < ui->nr_src; i++) {
		uusd += ui->src[i]->model.uusd;
		tokens += ui->src[i]->model.tokens;
		limit += ui->src[i]->model.limits.uusd;
	}
	size_t run = count[AGENT_RUN] + count[AGENT_THINK],
	       held = count[AGENT_HELD] + count[AGENT_ASK];
	f->nr_pieces = 0;
	view_fleet_add_piece(f, cols >= 100 ? ROLE_TEXT : ROLE_DIM,
			     fmt_plural(ar, (int64_t)f->total, "agent", "agents"));
	view_fleet_add_piece(f, ROLE_RUN, run ? arena_printf(ar, "%zu run", run) : "");
	for (size_t i = 0; i < ui->nr_src; i++)
		if (ui->src[i]->model.no_room && !ui->src[i]->model.ended) {
			view_fleet_add_piece(f, ROLE_WARN, "DISK nearly full");
			break;
		}
	view_fleet_add_piece(f, ROLE_FAILED,
			     count[AGENT_LOST] ? arena_printf(ar, "%zu LOST", count[AGENT_LOST])
					       : "");
	view_fleet_add_piece(f, ROLE_HELD, held ? arena_printf(ar, "%zu HELD", held) : "");
	view_fleet_add_piece(f, ROLE_DIM,
			     count[AGENT_IDLE] ? arena_printf(ar, "%zu wait", count[AGENT_IDLE])
					       : "");
	view_fleet_add_piece(
		f, ROLE_PAUSED,
		count[AGENT_PAUSED] ? arena_printf(ar, "%zu paused", count[AGENT_PAUSED]) : "");
	view_fleet_add_piece(
		f, ROLE_FAILED,
		count[AGENT_FAILED] ? arena_printf(ar, "%zu failed", count[AGENT_FAILED]) : "");
	view_fleet_add_piece(f, ROLE_TEXT,
			     limit ? arena_printf(ar, "%s/%s", fmt_cost(ar, uusd, f->cost_unknown),
						  fmt_money(ar, limit))
				   : fmt_cost(ar, uusd, f->cost_unknown));
	if (cols >= 100)
		view_fleet_add_piece(f, ROLE_DIM,
				     arena_printf(ar, "%s tok", fmt_count(ar, tokens)));
	view_fleet_add_piece(f, ROLE_DIM, fmt_hms_zone(ar, ui_now(ui)));
	const struct model *m = ui->nr_src == 1 ? &ui->src[0]->model : NULL;
	if (cols < 100)
		m = NULL;
	f->title = cols < 100 ? "fleet"
		   : m	      ? arena_printf(ar, "fleet: %s %s", m->id, m->name)
			      : arena_printf(ar, "fleet: %zu sessions", ui->nr_src);
}

/* A screen of 36 rows gives the agents what they need, at least 8 and at most half; the panes share
 * the rest. */
static int list_rows(size_t nr, int rows, bool wide)
{
	int most = wide ? rows / 2 - 4 : rows / 2 - 1, want = (int)nr + 1;
	int least = wide ? 6 : 4;
	return want < least ? least : want > most ? most : want;
}

/* All panes below each other. */
static bool view_fleet_beside(const struct fleet *f, int rows)
{
	return rows >= 30 && !f->zoom;
}

enum { LIST_TOP = 2, SPLIT_LEAST = 3 };

/* Of the list, as a person has dragged its end, as far as the panes below it go. */
static int split_rows(const struct fleet *f, int rows)
{
	int most = view_fleet_beside(f, rows) ? rows - 15 : rows - 7;
	return f->split < SPLIT_LEAST ? SPLIT_LEAST : f->split > most ? most : f->split;
}

/* Before the rows are known: from how many agents there are, and as many as there were rows. */
static int wanted_rows(const struct fleet *f, const struct ui *ui, int rows)
{
	size_t n = 0;
	if (f->split)
		return split_rows(f, rows);
	for (size_t i = 0; i < ui->nr_src; i++)
		n += ui->src[i]->model.nr_agents;
	n += f->grouped ? ui->nr_src : 0; /* headings */
	return list_rows(n, rows, view_fleet_beside(f, rows));
}

static void view_fleet_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct fleet *f = self;
	f->rows = rows;
	f->arena = ar;
	int list = wanted_rows(f, ui, rows);
	fleet_gather(f, ui, list - 1, ar);
	gather_events(f, ui, rows - 4 - list, ar);
	gather_pending(f, ui, ar);
	view_fleet_gather_title(f, ui, cols, ar);
	f->list_rows = list;
	f->nr_changes = 0;
	if (f->nr > 0 && f->line[f->at].agent)
		f->nr_changes =
			changes_list(ui->src[f->source], f->line[f->at].agent->box, &f->change, ar);
}

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

/* Where there is no room for both, the name is what tells one from another; of a box without walls
 * the kind is never left out. */
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
	put_bytes(a, row, c->now, now_end - c->now,
		  l->state == AGENT_DONE || l->state == AGENT_IDLE ? ROLE_DIM : ROLE_TEXT, l->now,
		  strlen(l->now), 0);
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
		{ AGENT_IDLE, AGENT_IDLE, "wait" },
		{ AGENT_PAUSED, AGENT_PAUSED, "paused" },
		{ AGENT_LOST, AGENT_LOST, "LOST" },
		{ AGENT_FAILED, AGENT_FAILED, "failed" },
		{ AGENT_STOPPED, AGENT_STOPPED, "stopped" },
		{ AGENT_DONE, AGENT_DONE, "done" },
	};
	const struct model *m = &ui->src[l->source]->model;
	const struct group *g = l->group;
	struct arena *ar = f->arena;
	struct piece p[ARRAY_LEN(words) + 1] = { { ROLE_TEXT, fmt_plural(ar, (int64_t)g->nr,
									 "agent", "agents") } };
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
			 *ui_filter(ui) ? "no agent matches the filter: Esc takes it away"
					: "no agent has begun yet");
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
			put_bytes(a, row++, col + 2, a.cols - col - 3, ROLE_DIM, f->tail[i],
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
			col = put_field(a, row, col, 6, ROLE_DIM, p->act ? p->info.word : "asks");
		const char *what = one_line(p->info.what, f->arena);
		const char *why = ui->src[p->source]->lost	      ? "until it is resumed"
				  : !p->act			      ? "waits for an answer"
				  : strcmp(p->info.by, "budget") != 0 ? p->info.by
				  : ui_may_act(ui, p->source)
					  ? "the budget is used up: $ gives more"
					  : "the budget is used up";
		int n = text_cells(why, a.g->ascii), room = a.cols - col - n - 3;
		if (room < 20)
			room = a.cols - col - 1, n = 0;
		put_bytes(a, row, col, room, ROLE_TEXT, what, strlen(what), 0);
		if (n > 0)
			grid_put(a, row, a.cols - n - 1, ROLE_DIM, why);
	}
	if (f->nr_pending == 0)
		grid_put(a, 0, 3, ROLE_DIM, "nothing waits for you");
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

static void paint_wide(const struct fleet *f, const struct ui *ui, struct area a, int row)
{
	int pending = f->nr_pending > 3 ? 4 : (int)f->nr_pending + 1,
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
	int rows = a.rows - row - 1 - (strip ? 2 : 0);
	view_fleet_paint_pane(f, ui, area_sub(a, row + 1, 0, rows, a.cols), f->pane);
	if (!strip)
		return;
	put_rule(a, a.rows - 2, pane_title(f, ui, PANE_PENDING), ROLE_HELD, pending_note(f, ui));
	paint_pending(f, ui, area_sub(a, a.rows - 1, 0, 1, a.cols));
}

/* Which rows are seen when there are more, and what is held back from now on. */
static void view_fleet_paint_rule(const struct fleet *f, const struct ui *ui, struct area a)
{
	const char *hold = ui->nr_src > 0 ? ui->src[f->source]->model.hold : "", *seen;
	seen = fmt_seen(f->arena, (size_t)f->top, (size_t)f->list_rows - 1, f->nr);
	if (*hold)
		hold = arena_printf(f->arena, "hold: %s", hold);
	if (seen && *hold && text_cells(seen, false) + text_cells(hold, a.g->ascii) + 10 > a.cols)
		seen = NULL;
	put_rule(a, 1, seen, ROLE_DIM, *hold ? hold : NULL);
}

static void view_fleet_paint(const void *self, const struct ui *ui, struct area a)
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

/* --- verbs ------------------------------------------------------------------------------------ */

static void select_line(struct fleet *f, int64_t to)
{
	if (f->nr == 0)
		return;
	if (to < 0)
		to = 0;
	if (to >= (int64_t)f->nr)
		to = (int64_t)f->nr - 1;
	f->moved = true;
	f->source = f->line[to].source;
	f->agent = f->line[to].agent ? f->line[to].agent->id : 0;
	f->at = (size_t)to;
}

static enum click view_fleet_click(void *self, struct ui *ui, int row, int col)
{
	struct fleet *f = self;
	int rows = f->list_rows, at = f->top + row - 3;
	(void)col, (void)ui;
	if (row == LIST_TOP + rows + view_fleet_beside(f, f->rows)) /* the rule below */
		return CLICK_GRABBED;
	if (row < 3 || row >= LIST_TOP + rows || at < 0 || (size_t)at >= f->nr)
		return CLICK_NONE;
	if ((size_t)at == f->at)
		return CLICK_AGAIN;
	select_line(f, at);
	return CLICK_SELECTED;
}

static void view_fleet_drag(void *self, struct ui *ui, int row, int col)
{
	struct fleet *f = self;
	(void)col, (void)ui;
	f->split = row - LIST_TOP - view_fleet_beside(f, f->rows);
	f->split = split_rows(f, f->rows);
}

static bool view_fleet_verb(void *self, struct ui *ui, enum verb v)
{
	struct fleet *f = self;
	static const char *const sorts[SORT_NR] = { "state: held, failed, running", "name",
						    "newest event", "cost" };
	/* a row is seen again */
	int64_t at = (int64_t)f->at, page = f->list_rows > 3 ? f->list_rows - 2 : 1;
	(void)ui;
	switch ((int)v) {
	case VERB_UP:
		select_line(f, at - 1);
		return true;
	case VERB_DOWN:
		select_line(f, at + 1);
		return true;
	case VERB_PAGE_UP:
		select_line(f, at - page);
		return true;
	case VERB_PAGE_DOWN:
		select_line(f, at + page);
		return true;
	case VERB_FIRST:
		select_line(f, 0);
		return true;
	case VERB_LAST:
		select_line(f, INT32_MAX);
		return true;
	case VERB_NEXT_PANE:
		f->pane = (f->pane + 1) % PANE_NR;
		return true;
	case VERB_PREV_PANE:
		f->pane = (f->pane + PANE_NR - 1) % PANE_NR;
		return true;
	case VERB_ZOOM:
		f->zoom = !f->zoom && f->rows >= 30;
		ui_say(ui, ROLE_DIM,
		       view_fleet_beside(f, f->rows) ? "all panes" : "one pane: Tab goes on");
		return true;
	case VERB_OPEN:
		return f->agent == 0 && fleet_fold(f);
	case VERB_FOLD:
		if (!fleet_fold(f))
			ui_say(ui, ROLE_DIM, "nothing is grouped: 'group' groups by session");
		return true;
	case VERB_GROUP:
		f->grouping = f->grouped ? GROUP_NO : GROUP_YES;
		ui_say(ui, ROLE_DIM,
		       f->grouping == GROUP_YES ? "grouped by session; Space folds"
						: "not grouped");
		return true;
	case VERB_SORT:
		f->sort = (f->sort + 1) % SORT_NR;
		/* who sorts wants every row in its place, the selected one, too */
		f->pin.set = false;
		ui_say(ui, ROLE_DIM, "sorted by %s; S once more: by %s", sorts[f->sort],
		       sorts[(f->sort + 1) % SORT_NR]);
		return true;
	default:
		return false;
	}
}

static void view_fleet_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct fleet *f = self;
	const struct source *s = ui_source(ui, f->source);
	const struct model_agent *a = s ? model_agent(&s->model, f->agent) : NULL;
	*out = (struct subject){ .source = f->source,
				 .agent = f->agent,
				 .action = a ? a->last : 0 };
}

static const char *view_fleet_line(const void *self, const struct ui *ui, size_t i, struct arena *a)
{
	const struct fleet *f = self;
	const struct line *l = &f->line[i];
	const struct model *m = &ui->src[l->source]->model;
	if (!l->agent)
		return arena_printf(a, "%s %s", m->id, m->name);
	const struct model_box *b = model_box(m, l->agent->box);
	return arena_printf(a, "%s %s %s %s %s %s", l->agent->name, m->id, m->name,
			    b ? b->name : "", agent_state_word(l->state), fleet_now(l, ui, a));
}

static void view_fleet_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct fleet *f = self;
	(void)ui;
	*out = (struct looked){ .what = LOOK_LINES,
				.source = f->source,
				.nr = f->nr,
				.line = view_fleet_line,
				.at = f->at };
}

static void view_fleet_go(void *self, struct ui *ui, uint64_t to)
{
	(void)ui;
	select_line(self, (int64_t)to);
}

const struct view_ops view_fleet = {
	.name = "fleet",
	.where = IN_FLEET,
	.size = sizeof(struct fleet),
	.recalc = view_fleet_recalc,
	.paint = view_fleet_paint,
	.verb = view_fleet_verb,
	.click = view_fleet_click,
	.subject = view_fleet_subject,
	.look = view_fleet_look,
	.go = view_fleet_go,
	.drag = view_fleet_drag,
};
