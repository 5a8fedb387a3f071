/* The breakpoint filter, and its matches in this session. e edits it, x removes it, I switches
 * it off and on. */
#include <string.h>

#include "query/filter.h"
#include "ui/frame/finder.h"
#include "ui/model/pick.h"
#include "ui/rows/draw.h"
#include "ui/rows/row.h"

enum { SHOWN = 200, WORK_US = 30000 };

struct holds {
	size_t source, total, top;
	char *text;
	struct pick *pick;
	struct row_info row[SHOWN];
	size_t nr;
	struct arena *arena;
};

static void view_holds_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct holds *v = self;
	(void)ui;
	v->source = on->source;
}

static void view_holds_close_view(void *self)
{
	struct holds *v = self;
	pick_free(&v->pick);
	free_ptr(&v->text);
}

static void view_holds_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct holds *v = self;
	struct source *s = ui_source(ui, v->source);
	const struct filter_saved saved = filter_names(ui);
	struct err err = ERR_INIT;
	(void)cols;
	v->arena = ar;
	v->nr = v->total = 0;
	const char *hold = s && s->model.hold ? s->model.hold : "";
	if (!v->text || strcmp(v->text, hold) != 0) {
		pick_free(&v->pick);
		free_ptr(&v->text);
		v->text = mem_strdup(hold);
		if (*hold && pick_new(&v->pick, hold, &saved, NULL, &err) < 0)
			ui_say(ui, ROLE_ERROR, "%s", err.text);
	}
	if (!v->pick)
		return;
	if (pick_work(v->pick, s, ui_now(ui), WORK_US))
		ui->wake_us = ui->mono_us + 1;
	const struct rows *r = pick_rows(v->pick, s, &s->model.rows, ui_now(ui));
	for (size_t i = r->nr; i > 0; i--) {
		if (r->row[i - 1].kind != EV_ACTION_REQUESTED)
			continue;
		if (v->total++ >= v->top && v->nr < SHOWN && (int)v->nr < rows - 5)
			row_load(&v->row[v->nr++], s, &r->row[i - 1], ar);
	}
}

static void view_holds_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct holds *v = self;
	bool may = ui_may_act(ui, v->source);
	draw_title(a, 0, "breakpoints: matching actions require approval", NULL, 0);
	put_rule(a, 1, NULL, ROLE_RULE, may ? "e edit   x remove   I off, on" : "read only");
	if (!v->text || !*v->text) {
		grid_put(a, 3, 3, ROLE_DIM,
			 may ? "no breakpoint; i sets one, like kind:exec cmd~\"git push\""
			     : "no breakpoint");
		return;
	}
	grid_put(a, 2, 1, ROLE_HELD, "!");
	put_bytes(a, 2, 3, a.cols - 4, ROLE_TITLE, v->text, strlen(v->text), 0);
	grid_putf(a, 3, 3, ROLE_DIM, "would have matched %zu of this session's actions%s", v->total,
		  v->total ? ", newest first:" : "");
	for (size_t i = 0; i < v->nr; i++) {
		struct draw_row_opts o = { .id = draw_id_cells(v->row, v->nr),
					   .clock = a.cols >= 90,
					   .verdict = a.cols >= 90 };
		draw_row(a, (int)i + 5, &v->row[i], &o, v->arena);
	}
}

static bool view_holds_verb(void *self, struct ui *ui, enum verb verb)
{
	struct holds *v = self;
	(void)ui;
	if (verb == VERB_DOWN || verb == VERB_PAGE_DOWN)
		v->top = v->top + 1 < v->total ? v->top + 1 : v->top;
	else if (verb == VERB_UP || verb == VERB_PAGE_UP)
		v->top -= v->top > 0;
	else
		return false;
	return true;
}

static bool view_holds_key(void *self, struct ui *ui, uint32_t key)
{
	struct holds *v = self;
	if (key == 'e') {
		hold_ask(ui);
	} else if (key == 'x' || key == K_DEL) {
		json_t *opts = json_object();
		json_put_flag(opts, "clear", true);
		ui_send(ui, v->source, (const char *[]){ "hold", NULL }, opts);
	} else {
		return false;
	}
	return true;
}

static void view_holds_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct holds *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source };
}

static const char *const view_holds_own[] = { "e", "another filter..", "x Del",
					      "remove the breakpoint", NULL };

const struct view_ops view_holds = {
	.name = "holds",
	.where = IN_TABLE,
	.size = sizeof(struct holds),
	.open = view_holds_open_view,
	.close = view_holds_close_view,
	.recalc = view_holds_recalc,
	.paint = view_holds_paint,
	.verb = view_holds_verb,
	.key = view_holds_key,
	.own = view_holds_own,
	.subject = view_holds_subject,
};
