/* Verifies the recording. Shows its checks as they finish, each with its verdict. Enter goes to
 * a check's event, r runs the checks again. They run beside the console (verifying.h) until you
 * leave; finished verdicts stay. Reads: the file. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "ui/frame/finder.h"
#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/term/text.h"
#include "ui/frame/verifying.h"
#include "ui/views/listed.h"

enum { AGAIN_US = 100000, DETAIL_ROWS = 4, SHOWN_US = 100000, ROWS_MAX = 64 };

/* A check that has come, runs, or is still to come. */
struct line {
	enum { LINE_COME, LINE_RUNS, LINE_WAITS } is;
	const char *name, *text;
	struct verified v;
};

struct verify_view {
	struct ui *ui;
	size_t source;
	struct line line[ROWS_MAX];
	struct listed l;
	struct verify_seen seen;
	/* has been verified here: not begun, or another session has been verified since */
	bool nothing;
	struct text detail;
	const char *title;
	struct arena *arena;
};

/* The running or finished verification of this session; NULL none. */
static struct verifying *view_verify_own(const struct verify_view *v)
{
	return v->ui->verifying_source == v->source ? v->ui->verifying : NULL;
}

static void view_verify_begin(struct verify_view *v, struct ui *ui)
{
	struct err err = ERR_INIT;
	const struct source *s = ui_source(ui, v->source);
	if (!s)
		return;
	verifying_free(&ui->verifying);
	ui->verifying_source = v->source;
	ui->stale = true;
	ui->verifying = verifying_new(session_path(s->session), ui->clock, &err);
	if (!ui->verifying)
		ui_say(ui, ROLE_ERROR, "%s", err.text);
}

/* The record has gone on since it was verified. */
static bool is_old(const struct verify_seen *seen, const struct source *s)
{
	return seen->over && seen->head && s && seen->head < session_head(s->session);
}

static bool view_verify_was_stopped(const struct verify_seen *seen)
{
	return seen->err.code == ERR_CANCELLED;
}

static bool is_shown(const struct verify_view *v, struct ui *ui)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct verify_seen seen;
	if (!view_verify_own(v))
		return false;
	verifying_look(view_verify_own(v), &seen, &a);
	return !view_verify_was_stopped(&seen) && !is_old(&seen, ui_source(ui, v->source));
}

static size_t source_of(const struct ui *ui, const struct subject *on)
{
	return ui->replay ? 0 : on->source;
}

/* Shows an existing verification of this session, unless it is old. */
static void view_verify_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct verify_view *v = self;
	v->ui = ui;
	v->source = source_of(ui, on);
	if (!is_shown(v, ui))
		view_verify_begin(v, ui);
}

static void view_verify_stop(struct verify_view *v)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct verify_seen was, is;
	struct verifying *runs = view_verify_own(v);
	if (!runs)
		return;
	verifying_look(runs, &was, &a);
	verifying_stop(runs);
	verifying_look(runs, &is, &a);
	if (!was.over && view_verify_was_stopped(&is))
		ui_say(v->ui, ROLE_WARN, "verify was stopped before its end");
	v->ui->stale = true;
}

/* A running verification continues. */
static bool view_verify_stays(const void *self, const struct ui *ui, const struct subject *on)
{
	const struct verify_view *v = self;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct verify_seen seen = { .over = true };
	if (view_verify_own(v))
		verifying_look(view_verify_own(v), &seen, &a);
	return v->source == source_of(ui, on) && !seen.over;
}

/* The screen is closed. */
static void view_verify_close_view(void *self)
{
	view_verify_stop(self);
}

/* --- recalc ----------------------------------------------------------------------------------- */

static bool has_come(const struct verify_seen *seen, const char *name)
{
	for (size_t i = 0; i < seen->nr; i++)
		if (strcmp(seen->row[i].name, name) == 0)
			return true;
	return false;
}

/* Finished checks always report, so the running one comes after the last report. */
static size_t under_way(const struct verify_seen *seen)
{
	size_t next = 0;
	for (size_t i = 0; verify_name(i); i++)
		next = has_come(seen, verify_name(i)) ? i + 1 : next;
	return next;
}

static void view_verify_gather(struct verify_view *v)
{
	const struct verify_seen *seen = &v->seen;
	v->l.nr = 0;
	for (size_t i = 0; i < seen->nr && v->l.nr < ROWS_MAX; i++)
		v->line[v->l.nr++] = (struct line){ LINE_COME, seen->row[i].name, seen->row[i].text,
						    seen->row[i] };
	size_t first = under_way(seen);
	for (size_t i = first; !seen->over && verify_name(i) && v->l.nr < ROWS_MAX; i++)
		v->line[v->l.nr++] = (struct line){ .is = i == first ? LINE_RUNS : LINE_WAITS,
						    .name = verify_name(i),
						    .text = verify_about(i) };
}

static void view_verify_gather_detail(struct verify_view *v, int cols, bool ascii)
{
	const struct line *l = v->l.nr ? &v->line[v->l.at] : NULL;
	text_init(&v->detail, v->arena, cols - 2, 2, ascii);
	if (v->nothing)
		text_puts(&v->detail, ROLE_WARN, "Not verified yet: r runs the checks.");
	else if (view_verify_was_stopped(&v->seen))
		text_puts(
			&v->detail, ROLE_WARN,
			"You stopped it: checks that are not listed have no verdict. r runs them again.");
	else if (v->seen.err.code != ERR_NONE)
		text_putf(&v->detail, ROLE_ERROR, "can't verify all of it: %s", v->seen.err.text);
	else if (l)
		text_puts(&v->detail,
			  l->is == LINE_COME && l->v.result == VERIFY_FAIL ? ROLE_ERROR : ROLE_TEXT,
			  l->text);
	if (l && l->is == LINE_COME && l->v.seq)
		text_putf(&v->detail, ROLE_DIM, "Enter goes to #%" PRIu64, l->v.seq);
}

static void view_verify_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct verify_view *v = self;
	const struct source *s = ui_source(ui, v->source);
	v->arena = ar;
	v->seen = (struct verify_seen){ .over = true };
	v->nothing = !view_verify_own(v);
	if (!v->nothing)
		verifying_look(view_verify_own(v), &v->seen, ar);
	if (!v->seen.over)
		ui->wake_us = ui->mono_us + AGAIN_US;
	view_verify_gather(v);
	list_settle(&v->l, rows - DETAIL_ROWS - 1);
	view_verify_gather_detail(v, cols, ui->grid.ascii);
	v->title = s ? arena_printf(ar, "verify %s %s", s->model.id, s->model.name) : "verify";
	if (is_old(&v->seen, s))
		v->title = arena_printf(ar, "verify %s as of event %" PRIu64, s->model.id,
					v->seen.head);
}

/* --- paint ------------------------------------------------------------------------------------ */

enum { COL_VERDICT, COL_CHECK, COL_EVENT, COL_TIME, COL_TEXT, COL_NR };

static const struct column view_verify_columns[COL_NR] = {
	{ "VERDICT", { 7, 7 }, { 3, 3 }, false }, { "CHECK", { 10, 12 }, { 1, 1 }, false },
	{ "EVENT", { 8, 9 }, { 1, 1 }, true },	  { "TIME", { 6, 6 }, { 1, 1 }, true },
	{ "", { 0, 0 }, { 2, 2 }, false },
};

static const char *view_verify_verdict_of(const struct line *l, enum role *role)
{
	static const struct {
		const char *word;
		enum role role;
	} known[] = { [VERIFY_OK] = { "ok", ROLE_OK },
		      [VERIFY_FAIL] = { "FAIL", ROLE_FAILED },
		      [VERIFY_SKIP] = { "skip", ROLE_DIM } };
	*role = l->is == LINE_RUNS    ? ROLE_RUN
		: l->is == LINE_WAITS ? ROLE_DIM
				      : known[l->v.result].role;
	return l->is == LINE_RUNS ? "run" : l->is == LINE_WAITS ? "--" : known[l->v.result].word;
}

static void paint_line(const struct verify_view *v, const struct ui *ui, struct area a, int row,
		       const struct columns *c, const struct line *l)
{
	enum role role;
	int64_t took = l->is == LINE_COME   ? l->v.took_us
		       : l->is == LINE_RUNS ? ui->mono_us - v->seen.since_us
					    : 0;
	const char *sign = l->is == LINE_RUNS				      ? ">"
			   : l->is == LINE_COME && l->v.result == VERIFY_FAIL ? "x"
									      : " ";
	list_cell(a, row, c, COL_VERDICT, ROLE_TEXT, view_verify_verdict_of(l, &role));
	grid_put(a, row, 1, role, sign);
	grid_put(a, row, c->col[COL_VERDICT], role, view_verify_verdict_of(l, &role));
	list_cell(a, row, c, COL_CHECK, l->is == LINE_WAITS ? ROLE_DIM : ROLE_NAME, l->name);
	list_cell(a, row, c, COL_EVENT, ROLE_TEXT,
		  l->is == LINE_COME && l->v.seq ? arena_printf(v->arena, "#%" PRIu64, l->v.seq)
						 : "");
	list_cell(a, row, c, COL_TIME, ROLE_DIM, took >= SHOWN_US ? fmt_span(v->arena, took) : "");
	list_cell(a, row, c, COL_TEXT,
		  l->is == LINE_COME ? role == ROLE_OK ? ROLE_TEXT : role : ROLE_DIM, l->text);
}

static size_t all_checks(void)
{
	size_t n = 0;
	while (verify_name(n))
		n++;
	return n;
}

static struct piece view_verify_state_of(const struct verify_view *v)
{
	const struct verify_totals *t = &v->seen.totals;
	if (!v->seen.over)
		return (struct piece){ ROLE_RUN,
				       arena_printf(v->arena, "check %zu of %zu",
						    under_way(&v->seen) + 1, all_checks()) };
	if (v->nothing)
		return (struct piece){ ROLE_WARN, "NOT VERIFIED" };
	if (view_verify_was_stopped(&v->seen))
		return (struct piece){ ROLE_WARN, "STOPPED" };
	if (v->seen.err.code != ERR_NONE)
		return (struct piece){ ROLE_FAILED, "NOT READ" };
	return (struct piece){ t->failed ? ROLE_FAILED : ROLE_OK,
			       arena_printf(v->arena, "%s  %u passed  %u failed  %u skipped",
					    t->failed ? "FAILED" : "VERIFIED", t->ok, t->failed,
					    t->skipped) };
}

static const char *keys_text(const struct verify_view *v)
{
	if (v->nothing)
		return "r runs the checks";
	return v->seen.over ? "Enter goes to the event   r runs them again"
			    : "leaving this screen stops them";
}

static void view_verify_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct verify_view *v = self;
	struct columns c;
	int row;
	const struct piece p = view_verify_state_of(v);
	draw_title(a, 0, v->title, &p, 1);
	list_rule(&v->l, a, keys_text(v), v->arena);
	list_columns(&c, view_verify_columns, COL_NR, a.cols, a.cols >= 110, COL_NR);
	list_heads(a, 2, &c);
	struct area list = area_sub(a, 0, 0, a.rows - DETAIL_ROWS - 1, a.cols);
	for (size_t i = v->l.top; list_sees(&v->l, i, list, &row); i++) {
		paint_line(v, ui, list, row, &c, &v->line[i]);
		if (i == v->l.at)
			put_cursor_row(list, row);
	}
	put_rule(a, a.rows - DETAIL_ROWS - 1, v->l.nr ? v->line[v->l.at].name : NULL, ROLE_TITLE,
		 "checks of your own: sandglass verify --with FILE");
	text_paint(&v->detail, area_sub(a, a.rows - DETAIL_ROWS, 0, DETAIL_ROWS, a.cols), 0);
}

/* --- keys ------------------------------------------------------------------------------------- */

static bool view_verify_verb(void *self, struct ui *ui, enum verb verb)
{
	struct verify_view *v = self;
	const struct line *l = v->l.nr ? &v->line[v->l.at] : NULL;
	if (verb != VERB_OPEN)
		return list_verb(&v->l, verb);
	if (!l || l->is != LINE_COME || !l->v.seq) {
		ui_say(ui, ROLE_DIM, "this check is about no event");
		return true;
	}
	size_t source = v->source;
	uint64_t seq = l->v.seq;
	ui_back(ui);
	jump_to(ui, source, seq);
	return true;
}

static bool view_verify_key(void *self, struct ui *ui, uint32_t key)
{
	struct verify_view *v = self;
	if (key == K_CTRL('c') && !v->seen.over) {
		view_verify_stop(v);
		return true;
	}
	if (key != 'r')
		return false;
	if (v->seen.over)
		view_verify_begin(v, ui);
	else
		ui_say(ui, ROLE_DIM, "they run");
	return true;
}

static enum click view_verify_click(void *self, struct ui *ui, int row, int col)
{
	struct verify_view *v = self;
	(void)ui;
	(void)col;
	return list_click(&v->l, row);
}

static void view_verify_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct verify_view *v = self;
	const struct line *l = v->l.nr ? &v->line[v->l.at] : NULL;
	(void)ui;
	*out = (struct subject){ .source = v->source,
				 .action = l && l->is == LINE_COME ? l->v.seq : 0 };
}

static const char *view_verify_line_of(const void *self, const struct ui *ui, size_t i,
				       struct arena *a)
{
	const struct verify_view *v = self;
	enum role role;
	(void)ui;
	if (i >= v->l.nr)
		return "";
	const struct line *l = &v->line[i];
	return arena_printf(a, "%-4s  %-10s  %s", view_verify_verdict_of(l, &role), l->name,
			    l->is == LINE_COME ? l->text : "");
}

static void view_verify_as_text(const void *self, struct ui *ui, struct buf *out)
{
	const struct verify_view *v = self;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	buf_printf(out, "%s: %s\n", v->title, view_verify_state_of(v).text);
	for (size_t i = 0; i < v->l.nr; i++)
		buf_printf(out, "%s\n", view_verify_line_of(self, ui, i, &a));
}

static void view_verify_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct verify_view *v = self;
	(void)ui;
	*out = (struct looked){ .what = LOOK_LINES,
				.source = v->source,
				.nr = v->l.nr,
				.line = view_verify_line_of,
				.at = v->l.at };
}

static void view_verify_go(void *self, struct ui *ui, uint64_t to)
{
	struct verify_view *v = self;
	(void)ui;
	list_move(&v->l, (int64_t)to);
}

static const char *const *view_verify_hints(const void *self, const struct ui *ui)
{
	static const char *const all[] = { "Enter event", "r again",  "w write..",
					   "y copy..",	  "/ search", ": cmd",
					   "? help",	  "q back",   NULL };
	static const char *const runs[] = { "Ctrl-c stop", "Esc stop and leave",
					    "w write..",   "y copy..",
					    "/ search",	   ": cmd",
					    "? help",	   NULL };
	const struct verify_view *v = self;
	(void)ui;
	return v->seen.over ? all : runs;
}

static const char *const keys_own[] = { "r", "run the checks again", "Ctrl-c", "stop them", NULL };

const struct view_ops view_verify = {
	.name = "verify",
	.where = IN_TABLE,
	.hints = view_verify_hints,
	.size = sizeof(struct verify_view),
	.open = view_verify_open_view,
	.close = view_verify_close_view,
	.stays = view_verify_stays,
	.recalc = view_verify_recalc,
	.paint = view_verify_paint,
	.verb = view_verify_verb,
	.key = view_verify_key,
	.own = keys_own,
	.click = view_verify_click,
	.subject = view_verify_subject,
	.text = view_verify_as_text,
	.look = view_verify_look,
	.go = view_verify_go,
};
