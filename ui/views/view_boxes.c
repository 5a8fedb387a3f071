/* Every sandbox of every session: its agent, isolation, running commands, changes, and freeze.
 * Reads: models. Enter and d open its changes, s a shell in it, z freezes or thaws it, X closes
 * it (asks; with unmerged work: by its name). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/frame/finder.h"
#include "ui/model/wall.h"
#include "ui/views/listed.h"

struct boxed {
	size_t source;
	const struct model_box *box;
	const struct model_agent *agent; /* the one that worked in it last; NULL */
	size_t running;
	int64_t kept; /* bytes of output of its actions */
};

struct boxes {
	size_t source;
	uint64_t box;
	struct boxed *b;
	struct listed l;
	size_t open, frozen, changed;
	struct arena *arena;
};

/* Counts the actions of @m by sandbox: @b has one row for each sandbox of it, in order. */
static void add_actions(const struct model *m, struct boxed *b, size_t nr)
{
	for (size_t i = 0; i < m->nr_actions; i++) {
		const struct model_action *act = &m->action[i];
		size_t low = 0, high = nr;
		while (low < high) {
			size_t mid = low + (high - low) / 2;
			if (b[mid].box->id < act->box)
				low = mid + 1;
			else
				high = mid;
		}
		if (low == nr || b[low].box->id != act->box)
			continue;
		b[low].running += act->state == ACT_RUNS;
		b[low].kept += (int64_t)(act->out_bytes + act->err_bytes);
	}
}

/* Is anything in it that nobody has taken? Also where there is none to merge them into. */
static bool only_here(const struct model_box *b)
{
	return b->touched > 0 && (!b->merged || b->merged < b->changed);
}

static const struct model_agent *view_boxes_agent_of(const struct model *m, uint64_t box)
{
	for (size_t i = m->nr_agents; i > 0; i--)
		if (m->agent[i - 1].box == box)
			return &m->agent[i - 1];
	return NULL;
}

static void view_boxes_list(struct boxes *v, struct ui *ui, struct arena *ar)
{
	size_t n = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		n += ui->src[i]->model.nr_boxes;
	v->b = arena_alloc(ar, (n + 1) * sizeof(*v->b));
	v->l.nr = v->open = v->frozen = v->changed = 0;
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		struct boxed *first = v->b + v->l.nr;
		for (size_t k = 0; k < m->nr_boxes; k++) {
			const struct model_box *b = &m->box[k];
			v->b[v->l.nr++] = (struct boxed){ .source = i,
							  .box = b,
							  .agent = view_boxes_agent_of(m, b->id) };
			v->open += b->ready && !b->closed;
			v->frozen += b->frozen && !b->closed;
			v->changed += model_box_unmerged(b);
		}
		add_actions(m, first, m->nr_boxes);
	}
}

static void view_boxes_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct boxes *v = self;
	const struct source *s = ui_source(ui, on->source);
	const struct model_agent *a = s ? model_agent(&s->model, on->agent) : NULL;
	v->source = on->source;
	v->box = a ? a->box : 0;
}

/* The row under the cursor is known by its box, not by its place. */
static void view_boxes_keep(struct boxes *v)
{
	if (v->l.nr == 0)
		return;
	v->source = v->b[v->l.at].source;
	v->box = v->b[v->l.at].box->id;
}

static void view_boxes_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct boxes *v = self;
	(void)cols;
	v->arena = ar;
	view_boxes_list(v, ui, ar);
	v->l.at = 0;
	for (size_t i = 0; i < v->l.nr; i++)
		if (v->b[i].source == v->source && v->b[i].box->id == v->box)
			v->l.at = i;
	list_settle(&v->l, rows);
	view_boxes_keep(v);
}

/* --- paint ------------------------------------------------------------------------------------ */

enum {
	COL_BOX,
	COL_SESSION,
	COL_WALL,
	COL_STATE,
	COL_NET,
	COL_RUN,
	COL_CHANGED,
	COL_OUTPUT,
	COL_AGENT,
	COL_NR
};

static const struct column view_boxes_columns[COL_NR] = {
	{ "SANDBOX", { 14, 16 }, { 1, 1 }, false },   { "SESSION", { 0, 9 }, { 1, 1 }, false },
	{ "ISOLATION", { 18, 21 }, { 1, 1 }, false }, { "STATE", { 8, 8 }, { 1, 1 }, false },
	{ "NET", { 7, 13 }, { 1, 1 }, false },	      { "RUN", { 4, 4 }, { 1, 1 }, true },
	{ "CHANGED", { 8, 8 }, { 1, 1 }, true },      { "OUTPUT", { 0, 8 }, { 1, 1 }, true },
	{ "AGENT", { 0, 0 }, { 2, 2 }, false },
};

static const char *view_boxes_state_word(const struct boxed *b, enum role *r, char *sign)
{
	*r = b->box->closed   ? ROLE_DONE
	     : b->box->frozen ? ROLE_PAUSED
	     : !b->box->ready ? ROLE_THINK
			      : ROLE_RUN;
	*sign = b->box->closed ? '.' : b->box->frozen ? '=' : !b->box->ready ? 'z' : '>';
	return b->box->closed	? "closed"
	       : b->box->frozen ? "FROZEN"
	       : !b->box->ready ? "opening"
				: "open";
}

static void paint_box(const struct boxes *v, const struct ui *ui, struct area a, int row,
		      const struct boxed *b, const struct columns *c)
{
	struct arena *ar = v->arena;
	enum role r;
	char sign;
	const char *state = view_boxes_state_word(b, &r, &sign),
		   *profile = b->box->profile ? b->box->profile : "";
	bool weak = strcmp(profile, "reduced") == 0 || strcmp(profile, "none") == 0;
	grid_put(a, row, 1, r, arena_printf(ar, "%c", sign));
	list_cell(a, row, c, COL_BOX, ROLE_NAME, b->box->name);
	list_cell(a, row, c, COL_SESSION, ROLE_DIM, ui->src[b->source]->model.id);
	list_cell(a, row, c, COL_WALL, weak ? ROLE_WARN : ROLE_TEXT,
		  arena_printf(ar, "%s %s", b->box->driver, wall_words(profile)));
	list_cell(a, row, c, COL_STATE, r, state);
	list_cell(a, row, c, COL_NET, ROLE_TEXT, b->box->ready ? wall_net(b->box) : "");
	list_cell(a, row, c, COL_RUN, ROLE_TEXT,
		  b->running ? arena_printf(ar, "%zu", b->running) : "-");
	list_cell(a, row, c, COL_CHANGED, model_box_unmerged(b->box) ? ROLE_ADD : ROLE_DIM,
		  !b->box->touched    ? "-"
		  : only_here(b->box) ? fmt_plural(ar, b->box->touched, "file", "files")
				      : "merged");
	list_cell(a, row, c, COL_OUTPUT, ROLE_DIM, fmt_bytes(ar, b->kept));
	list_cell(a, row, c, COL_AGENT, ROLE_TEXT, ui_agent_name(ui, b->source, b->agent));
}

static void view_boxes_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct boxes *v = self;
	struct arena *ar = v->arena;
	struct columns c;
	int row;
	const struct piece p[] = {
		{ ROLE_TEXT, fmt_plural(ar, (int64_t)v->l.nr, "sandbox", "sandboxes") },
		{ ROLE_RUN, v->open ? arena_printf(ar, "%zu open", v->open) : "" },
		{ ROLE_PAUSED, v->frozen ? arena_printf(ar, "%zu FROZEN", v->frozen) : "" },
		{ ROLE_ADD, v->changed ? arena_printf(ar, "%zu not merged", v->changed) : "" },
	};
	draw_title(a, 0, "sandboxes", p, ARRAY_LEN(p));
	list_rule(&v->l, a,
		  ui_may_act(ui, v->source) ? "d changes   s shell..   z freeze, thaw   X close.."
					    : "d changes",
		  ar);
	list_columns(&c, view_boxes_columns, COL_NR, a.cols, a.cols >= 110, COL_NR);
	list_heads(a, 2, &c);
	for (size_t i = v->l.top; list_sees(&v->l, i, a, &row); i++) {
		paint_box(v, ui, a, row, &v->b[i], &c);
		if (i == v->l.at)
			put_cursor_row(a, row);
	}
	if (v->l.nr == 0)
		grid_put(a, 4, 3, ROLE_DIM, "no sandbox has been opened");
}

/* --- verbs ------------------------------------------------------------------------------------ */

static const struct boxed *view_boxes_here(const struct boxes *v)
{
	return v->l.nr > 0 ? &v->b[v->l.at] : NULL;
}

static bool open_changes(struct boxes *v, struct ui *ui)
{
	const struct boxed *b = view_boxes_here(v);
	if (b && b->agent)
		ui_open(ui, "diff",
			&(struct subject){ .source = b->source, .agent = b->agent->id });
	else
		ui_say(ui, ROLE_DIM, "nothing has run in this sandbox yet");
	return true;
}

static bool view_boxes_freeze(const struct boxes *v, struct ui *ui)
{
	const struct model_box *b = view_boxes_here(v) ? view_boxes_here(v)->box : NULL;
	if (b && b->closed)
		ui_say(ui, ROLE_DIM, "it is closed");
	else if (b)
		ui_send(ui, v->source,
			(const char *[]){ b->frozen ? "thaw" : "freeze", b->name, NULL }, NULL);
	return true;
}

/* --- close ------------------------------------------------------------------------------------ */

static const struct model_box *asked_about(const struct ui *ui)
{
	const struct source *s = ui_source(ui, ui->prompt.on.source);
	return s ? model_box(&s->model, ui->prompt.on.action) : NULL;
}

static void view_boxes_close_it(struct ui *ui, const struct model_box *b)
{
	char id[24];
	snprintf(id, sizeof(id), "%" PRIu64, b->id); /* names may come twice */
	ui_send(ui, ui->prompt.on.source, (const char *[]){ "close", id, NULL }, NULL);
}

static void close_chosen(struct ui *ui, const char *key)
{
	const struct model_box *b = asked_about(ui);
	if (key && *key == 'y' && b)
		view_boxes_close_it(ui, b);
}

static void close_named(struct ui *ui, const char *name)
{
	const struct model_box *b = asked_about(ui);
	if (!name || !*name || !b)
		return;
	if (strcmp(name, b->name) == 0)
		view_boxes_close_it(ui, b);
	else
		ui_say(ui, ROLE_WARN, "not closed: its name is %s", b->name);
}

static bool ask_close(const struct boxes *v, struct ui *ui)
{
	const struct boxed *b = view_boxes_here(v);
	struct subject on = { .source = v->source, .action = b ? b->box->id : 0 };
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	if (!b)
		return true;
	if (b->box->closed) {
		ui_say(ui, ROLE_DIM, "it is closed");
	} else if (only_here(b->box)) {
		ui_ask(ui,
		       arena_printf(&ar,
				    "type %s to close it; %" PRIu32 " %s %s stay in the recording:",
				    b->box->name, b->box->touched,
				    b->box->touched == 1 ? "file" : "files",
				    model_box_unmerged(b->box) ? "not merged" : "that it changed"),
		       &on, close_named);
	} else {
		ui_choose(ui,
			  arena_printf(&ar,
				       "close %s? Its processes end, its agent continues  (y/n)",
				       ui_short_name(ui, &ar, b->box->name)),
			  "yn", &on, close_chosen);
	}
	return true;
}

static bool view_boxes_verb(void *self, struct ui *ui, enum verb verb)
{
	struct boxes *v = self;
	if (list_verb(&v->l, verb)) {
		view_boxes_keep(v);
		return true;
	}
	switch ((int)verb) {
	case VERB_OPEN:
	case VERB_DIFF:
		return open_changes(v, ui);
	case VERB_SHELL:
		if (view_boxes_here(v))
			ui_shell(ui, v->source, view_boxes_here(v)->box);
		return true;
	case VERB_THAW:
		return view_boxes_freeze(v, ui);
	case VERB_CLOSE:
		return ask_close(v, ui);
	default:
		return false;
	}
}

static enum click view_boxes_click(void *self, struct ui *ui, int row, int col)
{
	struct boxes *v = self;
	enum click c = list_click(&v->l, row);
	(void)ui, (void)col;
	view_boxes_keep(v);
	return c;
}

static void view_boxes_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct boxes *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source };
	if (view_boxes_here(v) && view_boxes_here(v)->agent)
		out->agent = view_boxes_here(v)->agent->id;
}

static const char *view_boxes_line(const void *self, const struct ui *ui, size_t i, struct arena *a)
{
	const struct boxes *v = self;
	const struct boxed *b = &v->b[i];
	enum role r;
	char sign;
	return arena_printf(a, "%s %s %s %s %s", b->box->name, ui->src[b->source]->model.id,
			    b->box->driver, view_boxes_state_word(b, &r, &sign),
			    ui_agent_name(ui, b->source, b->agent));
}

static void view_boxes_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct boxes *v = self;
	(void)ui;
	*out = (struct looked){ .what = LOOK_LINES,
				.source = v->source,
				.nr = v->l.nr,
				.line = view_boxes_line,
				.at = v->l.at };
}

static void view_boxes_go(void *self, struct ui *ui, uint64_t to)
{
	struct boxes *v = self;
	(void)ui;
	list_move(&v->l, (int64_t)to);
	view_boxes_keep(v);
}

const struct view_ops view_boxes = {
	.name = "sandboxes",
	.where = IN_BOXES,
	.size = sizeof(struct boxes),
	.open = view_boxes_open_view,
	.recalc = view_boxes_recalc,
	.paint = view_boxes_paint,
	.verb = view_boxes_verb,
	.click = view_boxes_click,
	.subject = view_boxes_subject,
	.look = view_boxes_look,
	.go = view_boxes_go,
};
