/* Every event of a session that is a row, in order. Follows the end until a key moves away from it. */
#include <inttypes.h>
#include <string.h>

#include "ui/term/draw.h"
#include "ui/term/fmt.h"
#include "ui/ui.h"

enum { MAX_ROWS = 200 };

struct log_view {
	size_t source;
	uint64_t seq;
	bool follow;
	struct row_info row[MAX_ROWS];
	const char *name[MAX_ROWS];
	size_t nr, at, total;
	int page;
	struct arena *arena;
};

static void open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct log_view *v = self;
	(void)ui;
	v->source = on->source;
	v->follow = true;
}

static void recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct log_view *v = self;
	struct source *s = ui_source(ui, v->source);
	(void)cols;
	v->arena = ar;
	v->nr = v->total = 0;
	if (!s || s->model.rows.nr == 0)
		return;
	const struct rows *r = &s->model.rows;
	size_t want = rows - 2 < MAX_ROWS ? (size_t)(rows - 2) : MAX_ROWS;
	v->page = (int)want;
	v->total = r->nr;
	if (v->follow || v->seq == 0)
		v->seq = r->row[r->nr - 1].seq;
	size_t sel = rows_find(r, v->seq);
	sel = sel == r->nr ? r->nr - 1 : sel;
	size_t last = sel + want / 2 < r->nr ? sel + want / 2 : r->nr;
	last = last < want ? (want < r->nr ? want : r->nr) : last;
	size_t first = last > want ? last - want : 0;
	for (size_t i = first; i < last; i++, v->nr++) {
		row_load(&v->row[v->nr], s, &r->row[i], ar);
		const struct model_agent *a = model_agent(&s->model, v->row[v->nr].agent);
		v->name[v->nr] = a ? a->name : "";
	}
	v->at = sel - first;
}

static void paint(const void *self, const struct ui *ui, struct area a)
{
	const struct log_view *v = self;
	const struct source *s = ui_source(ui, v->source);
	const char *note = arena_printf(v->arena, "%zu rows   F follow %s", v->total, v->follow ? "on" : "off");
	draw_title(a, 0, s ? arena_printf(v->arena, "log of %s %s", s->model.id, s->model.name) : "log", NULL, 0);
	put_rule(a, 1, NULL, ROLE_RULE, note);
	for (size_t i = 0; i < v->nr; i++) {
		struct draw_row_opts o = { .clock = a.cols >= 90, .cost = a.cols >= 110, .verdict = a.cols >= 90,
					   .agent = v->name[i] };
		draw_row(a, (int)i + 2, &v->row[i], &o, v->arena);
		if (i == v->at)
			put_cursor_row(a, (int)i + 2);
	}
	if (v->nr == 0)
		put(a, 3, 3, ROLE_DIM, "nothing yet");
}

static bool move(struct log_view *v, struct ui *ui, int64_t by)
{
	const struct source *s = ui_source(ui, v->source);
	if (!s || s->model.rows.nr == 0)
		return true;
	const struct rows *r = &s->model.rows;
	int64_t at = (int64_t)rows_find(r, v->seq) + by, last = (int64_t)r->nr - 1;
	at = at < 0 ? 0 : at > last ? last : at;
	v->seq = r->row[at].seq;
	v->follow = at == last && by > 0;
	return true;
}

static bool verb(void *self, struct ui *ui, enum verb verb)
{
	struct log_view *v = self;
	switch ((int)verb) {
	case VERB_UP:
		return move(v, ui, -1);
	case VERB_DOWN:
		return move(v, ui, 1);
	case VERB_PAGE_UP:
		return move(v, ui, -v->page / 2);
	case VERB_PAGE_DOWN:
		return move(v, ui, v->page / 2);
	case VERB_FIRST:
		return move(v, ui, INT32_MIN);
	case VERB_LAST:
		return move(v, ui, INT32_MAX);
	case VERB_FOLLOW:
		v->follow = !v->follow;
		return true;
	default:
		return false;
	}
}

static void subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct log_view *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source, .action = v->seq };
	if (v->at < v->nr)
		out->agent = v->row[v->at].agent;
}

const struct view_ops view_log = {
	.name = "log", .where = IN_LOG, .size = sizeof(struct log_view),
	.open = open_view, .recalc = recalc, .paint = paint, .verb = verb, .subject = subject,
};
