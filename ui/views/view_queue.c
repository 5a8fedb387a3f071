/* Pending approvals of all agents and questions of scripts, oldest first; below them the card of
 * the one under the cursor. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/finder.h"
#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/term/text.h"
#include "ui/views/batch.h"
#include "ui/views/listed.h"

struct waiting {
	size_t source;
	uint64_t seq;
	const struct model_action *act; /* NULL: a question */
	const struct model_agent *agent;
	struct row_info info;
	bool whole; /* its line shows the whole action */
};

struct cells {
	bool wide;
	int session, agent, what, rule, risk, age;
};

/* Fewer rows than these show no card: the list needs them. */
enum { QUEUE_CARD_FROM = 16, QUEUE_CARD_LEAST = 6 };

struct queue {
	size_t source;
	uint64_t seq;
	struct waiting *w;
	struct listed l; /* of w */
	struct batch marked;
	struct batch one; /* the row under the cursor, while its denial is being typed */
	bool denies_one;
	size_t all;    /* that wait, also those that the filter hides */
	int list_rows; /* of the screen, with title and heads; the card has the rest */
	struct text card;
	struct approval_info shown;
	struct cells cells;
	struct arena *arena;
};

static int64_t view_queue_since(const struct waiting *w)
{
	return w->act ? w->act->held_us : w->info.ts_us;
}

static int oldest_first(const void *x, const void *y)
{
	const struct waiting *a = x, *b = y;
	return waits_order(&(struct waits){ a->source, a->seq, view_queue_since(a) },
			   &(struct waits){ b->source, b->seq, view_queue_since(b) });
}

static void view_queue_add(struct queue *q, struct ui *ui, size_t source, uint64_t seq,
			   enum event_kind kind)
{
	struct source *s = ui->src[source];
	if (!ui_lets_row(ui, source, seq))
		return;
	struct waiting *w = &q->w[q->l.nr++];
	*w = (struct waiting){ .source = source, .seq = seq, .act = model_action(&s->model, seq) };
	row_load(&w->info, s, &(struct row){ seq, kind }, q->arena);
	/* what a script does has the script's */
	w->agent = model_agent(&s->model, w->act ? w->act->agent : w->info.agent);
}

/* Columns of the line, from both ends; what an action wants has the rest. The session's is there
 * when there are several. */
static struct cells view_queue_cells_of(int cols, size_t sessions)
{
	int session = cols >= 100 && sessions > 1 ? 9 : 0;
	if (cols >= 100)
		return (struct cells){ true, session, 14, 31 + session, 30, 6, 8 };
	return (struct cells){ false, 0, 11, 27, 12, 5, 6 };
}

static int room_for(const struct cells *c, int cols)
{
	return cols - 1 - c->age - c->risk - c->rule - c->what - 2;
}

/* "policy.lua:22 'no-push'"; without the file if space is short. */
static const char *view_queue_rule_of(const struct waiting *w, const struct cells *c,
				      struct arena *a)
{
	const char *rule = row_held_rule(&w->info);
	return c->wide || !rule ? w->info.by : arena_strndup(a, rule + 1, strlen(rule) - 2);
}

/* The choice follows the action, not the row: rows come and go. */
static bool follow_cursor(struct queue *q)
{
	if (q->l.at < q->l.nr) {
		q->source = q->w[q->l.at].source;
		q->seq = q->w[q->l.at].seq;
	}
	return true;
}

/* How many of @rows the list takes: all that it needs, at most half. */
static int queue_list_rows(const struct queue *q, int rows)
{
	int need = LIST_HEAD + (int)(q->l.nr < INT16_MAX ? q->l.nr : INT16_MAX), half = rows / 2;
	if (rows < QUEUE_CARD_FROM || q->l.nr == 0)
		return rows;
	if (half < rows - QUEUE_CARD_LEAST && half > LIST_HEAD)
		return need < half ? need : half;
	return rows;
}

static void queue_card(struct queue *q, struct ui *ui, int rows, int cols)
{
	size_t end;
	text_init(&q->card, q->arena, cols - 2, 5, ui->grid.ascii);
	if (rows < 2 || q->l.at >= q->l.nr || !q->w[q->l.at].act)
		return;
	struct source *s = ui->src[q->source];
	approval_load(&q->shown, s, q->seq, q->arena);
	q->shown.now_us = ui_now_of(ui, q->source);
	approval_text(&q->card, s, &q->shown, (size_t)rows - 1, &end);
	if (q->shown.trying)
		ui->wake_us = ui->mono_us + 1000000;
}

static void view_queue_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct queue *q = self;
	size_t n = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		n += ui->src[i]->model.nr_held + ui->src[i]->model.nr_asks;
	q->arena = ar;
	q->all = n;
	q->cells = view_queue_cells_of(cols, ui->nr_src);
	q->l.nr = 0;
	q->w = arena_alloc(ar, (n + 1) * sizeof(*q->w));
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		for (size_t k = 0; k < m->nr_held; k++)
			view_queue_add(q, ui, i, m->held[k], EV_ACTION_REQUESTED);
		for (size_t k = 0; k < m->nr_asks; k++)
			view_queue_add(q, ui, i, m->ask[k].seq, EV_ASK);
	}
	qsort(q->w, q->l.nr, sizeof(*q->w), oldest_first);
	batch_refresh(&q->marked, ui);
	for (size_t i = 0; i < q->l.nr; i++) {
		const char *what = q->w[i].info.what;
		q->w[i].whole = text_cells(one_line(what, ar), ui->grid.ascii) <=
					room_for(&q->cells, cols) &&
				!strchr(what, '\n');
	}
	for (size_t i = 0; i < q->l.nr; i++)
		if (q->w[i].source == q->source && q->w[i].seq == q->seq)
			q->l.at = i;
	q->list_rows = queue_list_rows(q, rows);
	/* if the chosen row is gone, the cursor stays at its place */
	list_settle(&q->l, q->list_rows);
	follow_cursor(q);
	queue_card(q, ui, rows - q->list_rows, cols);
}

static void view_queue_paint_heads(const struct cells *c, struct area a)
{
	int right = a.cols - 1 - c->age - c->risk - c->rule;
	grid_put(a, 2, 3, ROLE_HEAD, "ID");
	if (c->session)
		grid_put(a, 2, 9, ROLE_HEAD, "SESSION");
	grid_put(a, 2, 9 + c->session, ROLE_HEAD, "AGENT");
	grid_put(a, 2, 9 + c->session + c->agent, ROLE_HEAD, "KIND");
	grid_put(a, 2, c->what, ROLE_HEAD, "WHAT");
	grid_put(a, 2, right, ROLE_HEAD, "STOPPED BY");
	grid_put(a, 2, right + c->rule, ROLE_HEAD, "RISK");
	put_right(a, 2, a.cols - 1 - c->age, c->age, ROLE_HEAD, "HELD");
}

static void view_queue_paint_one(const struct queue *q, const struct ui *ui, struct area a, int row,
				 const struct waiting *w)
{
	struct arena *ar = q->arena;
	const struct cells *c = &q->cells;
	bool marked = batch_has(&q->marked, w->source, w->seq);
	grid_put(a, row, 1, ROLE_HELD, "!");
	grid_put(a, row, 2, ROLE_NAME, marked ? "*" : "");
	int col = grid_put(a, row, 3, ROLE_HELD, arena_printf(ar, "%" PRIu64, w->seq)) + 1;
	if (col < 9)
		col = 9;
	if (c->session)
		col = put_field(a, row, col, c->session, ROLE_DIM, ui->src[w->source]->model.id);
	col = put_field(a, row, col, c->agent - 1, ROLE_NAME,
			ui_agent_name(ui, w->source, w->agent)) +
	      1;
	put_field(a, row, col, c->what - col, ROLE_DIM, w->act ? w->info.word : "asks");
	int right = a.cols - 1 - c->age;
	put_right(a, row, right, c->age, ROLE_DIM,
		  fmt_age(ar, ui_now_of(ui, w->source) - view_queue_since(w)));
	right -= c->risk;
	if (w->act && w->act->high_risk)
		grid_put(a, row, right, ROLE_FAILED, "HIGH");
	right -= c->rule;
	put_field(a, row, right, c->rule - 1, ROLE_DIM,
		  w->act ? view_queue_rule_of(w, c, ar) : "the script");
	const char *what = one_line(w->info.what, ar);
	put_bytes(a, row, c->what, room_for(c, a.cols), ROLE_TEXT, what, strlen(what), 0);
}

static const char *marks_text(const struct queue *q, const struct ui *ui)
{
	const char *why = batch_why_not(&q->marked);
	if (q->marked.nr == 0)
		return ui->replay ? "Enter opens one" : "y or Enter opens one, n denies it";
	return arena_printf(q->arena, "%zu selected: n denies%s%s", q->marked.nr,
			    why ? "; y not: " : ", y approves", why ? why : "");
}

static void queue_paint_card(const struct queue *q, struct area a)
{
	if (a.rows < 2 || q->l.at >= q->l.nr)
		return;
	const struct waiting *w = &q->w[q->l.at];
	put_rule(a, 0, arena_printf(q->arena, "#%" PRIu64, w->seq), ROLE_TITLE,
		 w->act && w->act->high_risk ? "RISK high" : NULL);
	if (w->act)
		text_paint(&q->card, area_sub(a, 1, 1, a.rows - 1, a.cols - 1), 0);
	else
		put_bytes(a, 1, 3, a.cols - 4, ROLE_TEXT, w->info.what, strlen(w->info.what), 0);
}

static void view_queue_paint(const void *self, const struct ui *ui, struct area all)
{
	const struct queue *q = self;
	struct area a = area_sub(all, 0, 0, q->list_rows, all.cols);
	int row;
	const char *held = q->l.nr < q->all
				   ? arena_printf(q->arena, "%zu of %zu HELD", q->l.nr, q->all)
			   : q->l.nr ? arena_printf(q->arena, "%zu HELD", q->l.nr)
				     : "";
	draw_title(a, 0, "pending approvals", &(struct piece){ ROLE_HELD, held }, 1);
	list_rule(&q->l, a, marks_text(q, ui), q->arena);
	view_queue_paint_heads(&q->cells, a);
	for (size_t i = q->l.top; list_sees(&q->l, i, a, &row); i++) {
		view_queue_paint_one(q, ui, a, row, &q->w[i]);
		if (i == q->l.at)
			put_cursor_row(a, row);
	}
	if (q->l.nr == 0)
		grid_put(a, LIST_HEAD, 3, ROLE_DIM,
			 *ui_filter(ui) ? "no pending approval matches the filter"
					: "no approval is pending");
	queue_paint_card(q, area_sub(all, q->list_rows, 0, all.rows - q->list_rows, all.cols));
}

static enum click view_queue_click(void *self, struct ui *ui, int row, int col)
{
	struct queue *q = self;
	(void)ui;
	(void)col;
	enum click c = list_click(&q->l, row);
	follow_cursor(q);
	return c;
}

static void queue_take_one(struct queue *q, struct ui *ui)
{
	q->one.nr = 0;
	if (q->l.at < q->l.nr)
		batch_pick(&q->one, ui, q->source, q->seq, true);
}

static void queue_try(const struct queue *q, struct ui *ui)
{
	const struct waiting *w = &q->w[q->l.at];
	if (w->act && strcmp(w->act->kind, "merge") == 0)
		approval_plan(ui, q->source, w->act);
	else
		ui_send(ui, q->source,
			(const char *[]){ "dry-run", arena_printf(q->arena, "%" PRIu64, q->seq),
					  NULL },
			NULL);
}

static bool view_queue_verb(void *self, struct ui *ui, enum verb v)
{
	struct queue *q = self;
	if (list_verb(&q->l, v))
		return follow_cursor(q);
	switch ((int)v) {
	case VERB_PICK:
		if (q->l.at < q->l.nr)
			batch_pick(&q->marked, ui, q->w[q->l.at].source, q->w[q->l.at].seq,
				   q->w[q->l.at].whole);
		list_move(&q->l, (int64_t)q->l.at + 1);
		return follow_cursor(q);
	case VERB_NO:
		q->denies_one = q->marked.nr == 0;
		if (q->denies_one)
			queue_take_one(q, ui);
		batch_deny(q->denies_one ? &q->one : &q->marked, ui);
		return true;
	case VERB_TRY:
		if (q->l.at < q->l.nr)
			queue_try(q, ui);
		return true;
	case VERB_YES:
		if (q->marked.nr > 0) {
			q->denies_one = false;
			batch_approve(&q->marked, ui);
			return true;
		}
		FALLTHROUGH;
	case VERB_OPEN:
	case VERB_APPROVE:
		if (q->l.nr > 0)
			ui_open(ui, q->w[q->l.at].act ? "approval" : "question",
				&(struct subject){ .source = q->source, .action = q->seq });
		return true;
	default:
		return false;
	}
}

static const char *view_queue_off(const void *self, const struct ui *ui, enum verb v)
{
	const struct queue *q = self;
	(void)ui;
	bool question = q->l.at < q->l.nr && !q->w[q->l.at].act;
	if (v == VERB_YES && q->marked.nr > 0)
		return batch_why_not(&q->marked);
	if ((v == VERB_YES || v == VERB_NO || v == VERB_TRY) && q->l.nr == 0)
		return "no approval is pending";
	if (v == VERB_TRY || (v == VERB_NO && q->marked.nr == 0))
		return question ? "it is a question: Enter opens it" : NULL;
	return NULL;
}

struct batch *batch_on_top(struct ui *ui)
{
	struct view *top = ui_top(ui);
	struct queue *q = top->self;
	if (strcmp(top->ops->name, "queue") != 0)
		return NULL;
	return q->denies_one ? &q->one : &q->marked;
}

static void view_queue_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct queue *q = self;
	(void)ui;
	*out = (struct subject){ .source = q->source, .action = q->seq };
	if (q->l.at < q->l.nr && q->w[q->l.at].agent)
		out->agent = q->w[q->l.at].agent->id;
}

static const char *view_queue_line(const void *self, const struct ui *ui, size_t i, struct arena *a)
{
	const struct queue *q = self;
	const struct row_info *r = &q->w[i].info;
	(void)ui;
	return arena_printf(a, "%llu %s %s %s %s", (unsigned long long)q->w[i].seq,
			    ui_agent_name(ui, q->w[i].source, q->w[i].agent), r->word, r->what,
			    r->by);
}

static void view_queue_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct queue *q = self;
	(void)ui;
	*out = (struct looked){ .what = LOOK_LINES,
				.source = q->source,
				.nr = q->l.nr,
				.line = view_queue_line,
				.at = q->l.at };
}

static void view_queue_go(void *self, struct ui *ui, uint64_t to)
{
	struct queue *q = self;
	(void)ui;
	list_move(&q->l, (int64_t)to);
	follow_cursor(q);
}

const struct view_ops view_queue = {
	.name = "queue",
	.where = IN_QUEUE,
	.size = sizeof(struct queue),
	.recalc = view_queue_recalc,
	.paint = view_queue_paint,
	.verb = view_queue_verb,
	.click = view_queue_click,
	.subject = view_queue_subject,
	.off = view_queue_off,
	.look = view_queue_look,
	.go = view_queue_go,
};
