/* All agents in a table; below it the selected agent's actions, changes, and pending approvals.
 * Reads: every model; rows of the selected agent. Wide screens show three panes below, narrow
 * ones one at a time (Tab). */
#include <stdio.h>
#include <string.h>

#include "ui/frame/claimed.h"
#include "ui/views/approve.h"
#include "ui/views/fleet.h"
#include "ui/term/fmt.h"
#include "ui/frame/finder.h"

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
	view_fleet_add_piece(
		f, cols >= 100 ? ROLE_TEXT : ROLE_DIM,
		fmt_plural(ar, (int64_t)(f->total - f->nr_scripts), "agent", "agents"));
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
			     count[AGENT_IDLE] ? arena_printf(ar, "%zu idle", count[AGENT_IDLE])
					       : "");
	view_fleet_add_piece(
		f, ROLE_PAUSED,
		count[AGENT_PAUSED] ? arena_printf(ar, "%zu paused", count[AGENT_PAUSED]) : "");
	view_fleet_add_piece(
		f, ROLE_FAILED,
		count[AGENT_FAILED] ? arena_printf(ar, "%zu failed", count[AGENT_FAILED]) : "");
	size_t claims = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		for (size_t k = 0; k < ui->src[i]->model.nr_agents; k++)
			claims += claimed_failing(ui, i, &ui->src[i]->model.agent[k]);
	view_fleet_add_piece(
		f, ROLE_FAILED,
		claims ? arena_printf(ar, "%s (K)",
				      fmt_plural(ar, (int64_t)claims, "claim fails", "claims fail"))
		       : "");
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
int list_rows(size_t nr, int rows, bool wide)
{
	int most = wide ? rows / 2 - 4 : rows / 2 - 1, want = (int)nr + 1;
	int least = wide ? 6 : 4;
	return want < least ? least : want > most ? most : want;
}

/* All panes below each other. */
bool view_fleet_beside(const struct fleet *f, int rows)
{
	return rows >= 30 && !f->zoom;
}

/* Of the list, as a user has dragged its end, as far as the panes below it go. */
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
		       view_fleet_beside(f, f->rows) ? "all panes"
						     : "one pane: Tab shows the next");
		return true;
	case VERB_OPEN:
		return f->agent == 0 ? fleet_fold(f) : ui_terminal(ui, f->source, f->agent);
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
