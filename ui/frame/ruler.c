#include "ui/frame/ruler.h"

#include <string.h>

#include "ui/frame/finder_priv.h"
#include "ui/rows/draw.h"
#include "ui/term/fmt.h"

enum { LABEL = 9, BEGIN = LABEL + 1, TALL = 30, SMALL = 20 };

static const struct {
	const char *name;
	bool amount; /* of the track's steps; else how many events */
	int which;
} ruler_lanes[] = {
	{ "exec", false, LANE_EXEC },	  { "events", false, LANE_EVENTS },
	{ "model", false, LANE_MODEL },	  { "cost", true, TRACK_COST },
	{ "tokens", true, TRACK_TOKENS }, { "output", true, TRACK_OUTPUT },
};

bool ruler_choose(struct ui *ui, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(ruler_lanes); i++)
		if (strcmp(ruler_lanes[i].name, name) == 0) {
			ui->transport.lane = (int)i;
			return true;
		}
	return false;
}

int ruler_rows(const struct ui *ui)
{
	return ui->grid.rows >= TALL ? 5 : ui->grid.rows >= SMALL ? 2 : 0;
}

/* --- columns ---------------------------------------------------------------------------------- */

struct slot {
	uint64_t from, to; /* events from + 1 to to */
	struct track_sum sum;
	int64_t value; /* of the first lane */
};

static int width_of(int cols)
{
	return cols - BEGIN - 2 > 1 ? cols - BEGIN - 2 : 1;
}

static uint64_t column_end(const struct track *t, int i, int width)
{
	int64_t all = track_length(t) + 1;
	return i + 1 == width
		       ? t->nr
		       : track_seq(t, (all / width) * (i + 1) + all % width * (i + 1) / width);
}

static struct slot *ruler_columns(const struct ui *ui, const struct track *t, int width,
				  struct arena *ar)
{
	struct slot *c = arena_alloc(ar, (size_t)width * sizeof(*c));
	uint64_t from = 0;
	for (int i = 0; i < width; i++) {
		uint64_t to = column_end(t, i, width);
		c[i] = (struct slot){ .from = from, .to = to < from ? from : to };
		c[i].sum = track_between(t, from, c[i].to);
		c[i].value = ruler_lanes[ui->transport.lane].amount
				     ? c[i].sum.amount[ruler_lanes[ui->transport.lane].which]
				     : c[i].sum.count[ruler_lanes[ui->transport.lane].which];
		from = c[i].to;
	}
	return c;
}

uint64_t ruler_seq(const struct ui *ui, size_t source, int col)
{
	const struct track *t = &ui->src[source]->track;
	int width = width_of(ui->grid.cols), i = col - BEGIN;
	if (t->nr == 0 || i < 0 || i >= width)
		return 0;
	uint64_t from = i > 0 ? column_end(t, i - 1, width) : 0;
	return from + 1 <= t->nr ? from + 1 : t->nr;
}

static int ruler_column_of(const struct slot *c, int width, uint64_t at)
{
	int i = 0;
	while (i + 1 < width && at > c[i].to)
		i++;
	return i;
}

/* --- lanes ------------------------------------------------------------------------------------ */

static void paint_bars(struct area a, int row, const struct slot *c, int width)
{
	int64_t most = 1;
	for (int i = 0; i < width; i++)
		most = c[i].value > most ? c[i].value : most;
	for (int i = 0; i < width; i++)
		if (c[i].value)
			put_sign(a, row, BEGIN + i, ROLE_SPARK,
				 (enum sign)(SIGN_SPARK1 +
					     (int)((double)c[i].value * 7 / (double)most)));
}

static void paint_edits(struct area a, int row, const struct slot *c, int width)
{
	for (int i = 0; i < width; i++)
		if (c[i].sum.count[LANE_EDIT])
			grid_put(a, row, BEGIN + i, ROLE_ADD, "+");
}

/* The reader's own mark in events from + 1 to to: its letter, "m" without one; 0 none. */
static char own_mark(const struct ui *ui, size_t source, const struct slot *c)
{
	const struct own_marks *own = &ui->find->own[source];
	for (size_t i = 0; i < own->nr; i++)
		if (own->mark[i].seq > c->from && own->mark[i].seq <= c->to)
			return own->mark[i].key ? own->mark[i].key : 'm';
	return 0;
}

/* What tells most of a column. */
static char mark_in(const struct ui *ui, size_t source, const struct slot *c, enum role *r)
{
	static const struct {
		unsigned flag;
		char sign;
		enum role role;
	} signs[] = { { TRACK_MARK, 'm', ROLE_TITLE },	{ TRACK_DENIED, 'D', ROLE_ERROR },
		      { TRACK_ERROR, 'E', ROLE_ERROR }, { TRACK_ROLLBACK, 'R', ROLE_WARN },
		      { TRACK_DRIFT, 'B', ROLE_WARN },	{ TRACK_APPROVED, 'A', ROLE_OK },
		      { TRACK_HELD, '!', ROLE_HELD },	{ TRACK_END, 'X', ROLE_DIM } };
	char own = own_mark(ui, source, c);
	*r = ROLE_KEY;
	for (size_t i = 0; !own && i < ARRAY_LEN(signs); i++)
		if (c->sum.flags & signs[i].flag) {
			*r = signs[i].role;
			return signs[i].sign;
		}
	return own;
}

static void ruler_paint_marks(const struct ui *ui, size_t source, struct area a, int row,
			      const struct slot *c, int width)
{
	for (int i = 0; i < width; i++) {
		enum role r;
		const char sign[2] = { mark_in(ui, source, &c[i], &r), 0 };
		if (*sign)
			grid_put(a, row, BEGIN + i, r, sign);
	}
}

static void ruler_label(struct area a, int row, const char *text, int width)
{
	put_field(a, row, 1, LABEL - 2, ROLE_HEAD, text);
	put_sign(a, row, BEGIN - 1, ROLE_RULE, SIGN_VLINE);
	put_sign(a, row, BEGIN + width, ROLE_RULE, SIGN_VLINE);
}

static void paint_tall(const struct ui *ui, size_t source, struct area a, const struct slot *c,
		       int width, int here)
{
	struct arena ar = ARENA_INIT;
	const struct track *t = &ui->src[source]->track;
	const char *scale = arena_printf(
		&ar,
		"A approved  D denied  ! held  E error  R rollback  B base moved  X end   column = %s, pauses >2s cut",
		fmt_span_fine(&ar, track_length(t) / width));
	put_rule(a, 0, "timeline", ROLE_TITLE, scale);
	ruler_label(a, 1, ruler_lanes[ui->transport.lane].name, width);
	paint_bars(a, 1, c, width);
	ruler_label(a, 2, "edit", width);
	paint_edits(a, 2, c, width);
	ruler_label(a, 3, "marks", width);
	ruler_paint_marks(ui, source, a, 3, c, width);
	ruler_label(a, 4, "", width);
	for (int i = 0; i < width; i++)
		put_sign(a, 4, BEGIN + i, i < here ? ROLE_SPARK : ROLE_RULE, SIGN_HLINE);
	grid_put(a, 4, BEGIN + here, ROLE_HIDDEN, "^"); /* reversed in every theme */
	arena_release(&ar);
}

/* The cursor is among the signs; a hidden sign is shown by reversing it. */
static void paint_small(const struct ui *ui, size_t source, struct area a, const struct slot *c,
			int width, int here)
{
	enum role r;
	const char sign[2] = { mark_in(ui, source, &c[here], &r), 0 };
	ruler_label(a, 0, ruler_lanes[ui->transport.lane].name, width);
	paint_bars(a, 0, c, width);
	ruler_label(a, 1, "marks", width);
	ruler_paint_marks(ui, source, a, 1, c, width);
	grid_put(a, 1, BEGIN + here, ROLE_HIDDEN, *sign ? sign : "^");
}

void ruler_paint(const struct ui *ui, size_t source, uint64_t at, struct area a)
{
	struct arena ar = ARENA_INIT;
	const struct track *t = &ui->src[source]->track;
	int width = width_of(a.cols);
	if (t->nr == 0 || a.rows < 2)
		return;
	struct slot *c = ruler_columns(ui, t, width, &ar);
	int here = ruler_column_of(c, width, at);
	if (a.rows >= 5)
		paint_tall(ui, source, a, c, width, here);
	else
		paint_small(ui, source, a, c, width, here);
	arena_release(&ar);
}
