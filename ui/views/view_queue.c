/* Everything that waits for a person: held actions of all agents, questions of scripts. Oldest first. */
#include <inttypes.h>
#include <string.h>

#include "ui/term/draw.h"
#include "ui/term/fmt.h"
#include "ui/finder.h"
#include "ui/views/batch.h"

struct waiting {
	size_t source;
	uint64_t seq;
	const struct model_action *act; /* NULL: a question */
	const struct model_agent *agent;
	struct row_info info;
	bool whole; /* all of what it wants stands in its line */
};

struct queue {
	size_t source;
	uint64_t seq;
	struct waiting *w;
	size_t nr, at;
	struct batch marked;
	struct arena *arena;
};

static void add(struct queue *q, struct ui *ui, size_t source, uint64_t seq, uint16_t kind)
{
	struct source *s = ui->src[source];
	if (!ui_lets_row(ui, source, seq))
		return;
	struct waiting *w = &q->w[q->nr++];
	*w = (struct waiting){ .source = source, .seq = seq, .act = model_action(&s->model, seq) };
	row_load(&w->info, s, &(struct row){ seq, kind }, q->arena);
	w->agent = model_agent(&s->model, w->info.agent);
}

/* Columns of the line, from both ends; what an action wants has the rest. */
static const struct cells {
	int agent, what, rule, risk, age;
} wide = { 14, 31, 30, 10, 8 }, narrow = { 9, 25, 12, 5, 6 };

static const struct cells *cells_of(int cols)
{
	return cols >= 100 ? &wide : &narrow;
}

static int room_for(int cols)
{
	const struct cells *c = cells_of(cols);
	return cols - 1 - c->age - c->risk - c->rule - c->what - 2;
}

/* "policy.lua:22 'no-push'"; without the file where there is no room. */
static const char *rule_of(const struct waiting *w, const struct cells *c, struct arena *a)
{
	const char *quote = strchr(w->info.by, '\'');
	if (c == &wide || !quote)
		return w->info.by;
	return arena_strndup(a, quote + 1, strcspn(quote + 1, "'"));
}

static void recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct queue *q = self;
	size_t n = 0;
	(void)rows;
	for (size_t i = 0; i < ui->nr_src; i++)
		n += ui->src[i]->model.nr_held + ui->src[i]->model.nr_asks;
	q->arena = ar;
	q->nr = 0;
	q->w = arena_alloc(ar, (n + 1) * sizeof(*q->w));
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		for (size_t k = 0; k < m->nr_held; k++)
			add(q, ui, i, m->held[k], EV_ACTION_REQUESTED);
		for (size_t k = 0; k < m->nr_asks; k++)
			add(q, ui, i, m->ask[k].seq, EV_ASK);
	}
	batch_refresh(&q->marked, ui);
	for (size_t i = 0; i < q->nr; i++) {
		const char *what = q->w[i].info.what;
		q->w[i].whole = text_cells(one_line(what, ar), ui->grid.ascii) < room_for(cols) && !strchr(what, '\n');
	}
	q->at = 0;
	for (size_t i = 0; i < q->nr; i++)
		if (q->w[i].source == q->source && q->w[i].seq == q->seq)
			q->at = i;
	if (q->nr > 0) {
		q->source = q->w[q->at].source;
		q->seq = q->w[q->at].seq;
	}
}

static void paint_one(const struct queue *q, const struct ui *ui, struct area a, int row, const struct waiting *w)
{
	struct arena *ar = q->arena;
	bool marked = batch_has(&q->marked, w->source, w->seq);
	put(a, row, 1, ROLE_HELD, "!");
	put(a, row, 2, ROLE_NAME, marked ? "*" : "");
	int col = put(a, row, 3, ROLE_HELD, arena_printf(ar, "%" PRIu64, w->seq)) + 1;
	if (col < 9)
		col = 9;
	const struct cells *c = cells_of(a.cols);
	col = put_field(a, row, col, c->agent, ROLE_NAME, w->agent ? w->agent->name : "");
	put_field(a, row, col, c->what - col, ROLE_DIM, w->act ? w->info.word : "asks");
	int64_t since = w->act ? w->act->held_us : w->info.ts_us;
	int right = a.cols - 1 - c->age;
	put_right(a, row, right, c->age, ROLE_DIM, fmt_age(ar, ui_now(ui) - since));
	right -= c->risk;
	if (w->act && w->act->high_risk)
		put(a, row, right, ROLE_FAILED, c == &wide ? "RISK high" : "HIGH");
	right -= c->rule;
	put_field(a, row, right, c->rule - 1, ROLE_DIM, rule_of(w, c, ar));
	const char *what = one_line(w->info.what, ar);
	put_bytes(a, row, c->what, room_for(a.cols), ROLE_TEXT, what, strlen(what), 0);
}

static const char *marks_text(const struct queue *q, const struct ui *ui)
{
	const char *why = batch_why_not(&q->marked);
	if (q->marked.nr == 0)
		return ui->replay ? "Enter looks at one" : "Enter looks at one, Space marks";
	return arena_printf(q->arena, "%zu marked: n denies%s%s", q->marked.nr, why ? "; y not: " : ", y approves",
			    why ? why : "");
}

static void paint(const void *self, const struct ui *ui, struct area a)
{
	const struct queue *q = self;
	draw_title(a, 0, "what waits for you",
		   &(struct piece){ ROLE_HELD, q->nr ? arena_printf(q->arena, "%zu", q->nr) : "" }, 1);
	put_rule(a, 1, NULL, ROLE_RULE, marks_text(q, ui));
	for (size_t i = 0; i < q->nr && (int)i < a.rows - 2; i++) {
		paint_one(q, ui, a, (int)i + 2, &q->w[i]);
		if (i == q->at)
			put_cursor_row(a, (int)i + 2);
	}
	if (q->nr == 0)
		put(a, 3, 3, ROLE_DIM,
		    *ui_filter(ui) ? "nothing that waits matches the filter" : "nothing waits for you");
}

static bool move_to(struct queue *q, int64_t to)
{
	if (q->nr > 0) {
		to = to < 0 ? 0 : to >= (int64_t)q->nr ? (int64_t)q->nr - 1 : to;
		q->source = q->w[to].source;
		q->seq = q->w[to].seq;
		q->at = (size_t)to;
	}
	return true;
}

static enum click click(void *self, struct ui *ui, int row, int col)
{
	struct queue *q = self;
	(void)ui;
	(void)col;
	if (row < 2 || (size_t)(row - 2) >= q->nr)
		return CLICK_NONE;
	if ((size_t)(row - 2) == q->at)
		return CLICK_AGAIN;
	move_to(q, row - 2);
	return CLICK_SELECTED;
}

static bool verb(void *self, struct ui *ui, enum verb v)
{
	struct queue *q = self;
	switch ((int)v) {
	case VERB_UP:
		return move_to(q, (int64_t)q->at - 1);
	case VERB_DOWN:
		return move_to(q, (int64_t)q->at + 1);
	case VERB_FIRST:
		return move_to(q, 0);
	case VERB_LAST:
		return move_to(q, INT32_MAX);
	case VERB_PICK:
		if (q->at < q->nr)
			batch_pick(&q->marked, ui, q->w[q->at].source, q->w[q->at].seq, q->w[q->at].whole);
		return move_to(q, (int64_t)q->at + 1);
	case VERB_YES:
		batch_approve(&q->marked, ui);
		return true;
	case VERB_NO:
		batch_deny(&q->marked, ui);
		return true;
	case VERB_OPEN:
	case VERB_APPROVE:
		if (q->nr > 0)
			ui_open(ui, "approval", &(struct subject){ .source = q->source, .action = q->seq });
		return true;
	default:
		return false;
	}
}

static const char *off(const void *self, const struct ui *ui, enum verb v)
{
	const struct queue *q = self;
	(void)ui;
	if (v == VERB_YES)
		return batch_why_not(&q->marked);
	if (v == VERB_NO && q->marked.nr == 0)
		return "nothing is marked: Space marks, Enter looks at one";
	return NULL;
}

struct batch *batch_on_top(struct ui *ui)
{
	struct view *top = ui_top(ui);
	return strcmp(top->ops->name, "queue") == 0 ? &((struct queue *)top->self)->marked : NULL;
}

static void subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct queue *q = self;
	(void)ui;
	*out = (struct subject){ .source = q->source, .action = q->seq };
	if (q->at < q->nr && q->w[q->at].agent)
		out->agent = q->w[q->at].agent->id;
}

static const char *line(const void *self, const struct ui *ui, size_t i, struct arena *a)
{
	const struct queue *q = self;
	const struct row_info *r = &q->w[i].info;
	(void)ui;
	return arena_printf(a, "%llu %s %s %s %s", (unsigned long long)q->w[i].seq,
			    q->w[i].agent ? q->w[i].agent->name : "", r->word, r->what, r->by);
}

static void look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct queue *q = self;
	(void)ui;
	*out = (struct looked){ .what = LOOK_LINES, .source = q->source, .nr = q->nr, .line = line, .at = q->at };
}

static void go(void *self, struct ui *ui, uint64_t to)
{
	(void)ui;
	move_to(self, (int64_t)to);
}

const struct view_ops view_queue = {
	.name = "queue",
	.where = IN_QUEUE,
	.size = sizeof(struct queue),
	.recalc = recalc,
	.paint = paint,
	.verb = verb,
	.click = click,
	.subject = subject,
	.off = off,
	.look = look,
	.go = go,
};
