/* The bottom of every screen: key line, message line, prompt. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/frame/coach.h"
#include "ui/frame/prompt.h"
#include "ui/frame/select.h"
#include "ui/frame/transport.h"

int ui_frame_rows(const struct ui *ui)
{
	return (ui->grid.rows >= 30 || coach_text(ui) ? 3 : 2) + transport_rows(ui);
}

/* "a approve.." with the key itself set off. Returns the column after. */
static int put_hint(struct area a, int row, int col, const char *hint, bool off)
{
	size_t key = strcspn(hint, " ");
	char name[16];
	snprintf(name, sizeof(name), "%.*s", (int)(key < sizeof(name) - 1 ? key : sizeof(name) - 1),
		 hint);
	col = grid_put(a, row, col, off ? ROLE_OFF : ROLE_KEY, name);
	return grid_put(a, row, col, off ? ROLE_OFF : ROLE_TEXT, hint + key);
}

static bool hint_fits(int col, const char *hint, int cols)
{
	return col + (int)strlen(hint) <= cols;
}

/* A key line of the view's own, while what the table says is off. False: it has none. */
static bool own_keys(const struct ui *ui, struct area a, int row)
{
	const struct view *v = &ui->stack[ui->depth - 1];
	const char *const *hint = select_hints(ui) ? select_hints(ui)
				  : v->ops->hints  ? v->ops->hints(v->self, ui)
						   : NULL;
	if (!hint)
		return false;
	for (int col = 1; *hint && hint_fits(col, *hint, a.cols); hint++)
		col = put_hint(a, row, col, *hint, false) + 2;
	return true;
}

/* In a recording no decision or command is possible. A broadcast needs a session that it
 * reaches. */
static bool ui_frame_works(const struct ui *ui, enum verb v)
{
	const struct view *top = &ui->stack[ui->depth - 1];
	struct subject on = { 0 };
	if (top->ops->subject)
		top->ops->subject(top->self, ui, &on);
	bool all = v == VERB_FREEZE || v == VERB_PAUSE_ALL;
	bool gone = ui->act && (all ? ui_reached(ui) == 0
				    : on.source < ui->nr_src && !ui->act[on.source].command);
	return (!ui->replay && !gone) || (!verb_acts(v) && v != VERB_APPROVE);
}

/* Lays the key line out and draws it; or, with @a of no grid, says whose hint stands at column
 * @at. */
static enum verb lay_keys(const struct ui *ui, struct area a, int row, int at)
{
	static const char help[] = "? help";
	const struct view *v = &ui->stack[ui->depth - 1];
	unsigned where = ui_where(ui);
	bool seen[VERB_NR] = { false };
	int col = 1, gap = a.cols >= 100 ? 2 : 1;
	seen[VERB_HELP] = true;
	for (size_t i = 0; i < keymap_count(); i++) {
		const struct key_row *k = keymap_row(i);
		if (!k->hint || !(k->where & where) || seen[k->verb] ||
		    keymap_verb(where, k->key) != k->verb)
			continue;
		if (!ui_frame_works(ui, k->verb) ||
		    !hint_fits(col, k->hint, a.cols - (int)sizeof(help) - gap))
			continue;
		seen[k->verb] = true;
		int end = col + (int)strlen(k->hint);
		if (at >= col && at < end)
			return k->verb;
		if (at < 0)
			put_hint(a, row, col, k->hint,
				 v->ops->off && v->ops->off(v->self, ui, k->verb));
		col = end + gap;
	}
	if (at < 0)
		put_hint(a, row, col, help, false);
	return at >= col && at < col + (int)sizeof(help) - 1 ? VERB_HELP : VERB_NONE;
}

enum verb ui_frame_verb_at(const struct ui *ui, int row, int col)
{
	if (row != ui->grid.rows - 2 || own_keys(ui, (struct area){ 0 }, 0))
		return VERB_NONE;
	return lay_keys(ui, (struct area){ .cols = ui->grid.cols }, row, col);
}

static int percent_read(const struct ui *ui)
{
	int least = 100;
	for (size_t i = 0; i < ui->nr_src; i++) {
		int n = source_percent(ui->src[i], transport_limit(ui, i));
		least = n < least ? n : least;
	}
	return least;
}

static uint64_t all_events(const struct ui *ui)
{
	uint64_t n = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		n += ui->src[i]->model.head;
	return n;
}

static bool any_lost(const struct ui *ui)
{
	size_t i = 0;
	while (i < ui->nr_src && !ui->src[i]->lost)
		i++;
	return i < ui->nr_src;
}

static void paint_message(const struct ui *ui, struct area a, int row)
{
	uint64_t events = ui->counted.shown;
	uint32_t attached = 0; /* to the session that most are: who looks at all of them is one */
	char right[64];
	for (size_t i = 0; i < ui->nr_src; i++)
		if (ui->src[i]->model.attached > attached)
			attached = ui->src[i]->model.attached;
	if (ui->nr_src == 0)
		*right = 0;
	else if (ui_reading(ui) && percent_read(ui) < 100)
		snprintf(right, sizeof(right), "reading %d%%  %" PRIu64 " ev", percent_read(ui),
			 all_events(ui));
	else if (ui->replay)
		snprintf(right, sizeof(right), "read only  %" PRIu64 " ev", events);
	else if (attached > 1)
		snprintf(right, sizeof(right), "attached %u  rec %" PRIu64 " ev", attached, events);
	else
		snprintf(right, sizeof(right), "rec %" PRIu64 " ev", events);
	const char *text = *ui->message ? ui->message : ui->waits ? ui->waits : "";
	if ((*ui->message || any_lost(ui)) &&
	    text_cells(text, a.g->ascii) > a.cols - (int)strlen(right) - 4)
		*right = 0; /* the current message comes first */
	int n = (int)strlen(right);
	put_bytes(a, row, 1, a.cols - n - (n ? 4 : 2), *ui->message ? ui->message_role : ROLE_HELD,
		  text, strlen(text), 0);
	grid_put(a, row, a.cols - n - 1, ROLE_DIM, right);
}

void ui_frame_paint(const struct ui *ui, struct area a)
{
	int row = a.rows - ui_frame_rows(ui) + transport_rows(ui);
	const char *hint = coach_text(ui);
	if (hint) /* in the place of the rule */
		put_bytes(a, row, grid_put(a, row, 1, ROLE_HELD, "hint") + 2, a.cols - 8, ROLE_WARN,
			  hint, strlen(hint), 0),
			row++;
	else if (ui->grid.rows >= 30)
		put_rule(a, row++, NULL, ROLE_RULE, NULL);
	if (ui->prompt.active)
		prompt_hint(ui, a, row);
	else if (!own_keys(ui, a, row))
		lay_keys(ui, a, row, -1);
	if (ui->prompt.active)
		prompt_paint(ui, a, row + 1);
	else
		paint_message(ui, a, row + 1);
}
