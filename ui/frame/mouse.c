/* The mouse: a click selects, a click on the selection opens it, the wheel scrolls, a split is
 * dragged. A key in the key line can be clicked. The mouse never decides: decisions are not in
 * the key line, and a dialog ignores clicks. */
#include "ui/frame/select.h"
#include "ui/frame/transport.h"

enum { WHEEL_ROWS = 3 };

static void mouse_press(struct ui *ui, int row, int col)
{
	struct view *v = ui_top(ui);
	int body = ui->grid.rows - ui_frame_rows(ui);
	if (row >= body) {
		/* wherever it is: a y after it is a first one again */
		if (ui_where(ui) & IN_APPROVAL)
			v->ops->click(v->self, ui, row, col);
		enum verb at = ui_frame_verb_at(ui, row, col);
		if (transport_click(ui, row, col))
			return;
		if (at != VERB_NONE)
			ui_do(ui, at);
		return;
	}
	if (select_on(ui)) /* the selected lines may be gone after it */
		select_end(ui);
	enum click c = v->ops->click ? v->ops->click(v->self, ui, row, col) : CLICK_NONE;
	ui->grabbed = c == CLICK_GRABBED;
	if (c == CLICK_AGAIN)
		ui_do(ui, VERB_OPEN);
}

static void mouse_wheel(struct ui *ui, struct mouse m)
{
	struct view *v = ui_top(ui);
	enum verb verb = m.kind == MOUSE_WHEEL_UP ? VERB_UP : VERB_DOWN;
	if (!v->ops->wheel || select_on(ui) || !v->ops->wheel(v->self, ui, m.row, m.col, verb))
		ui_do(ui, verb);
}

void ui_mouse(struct ui *ui, struct mouse m)
{
	ui_fresh(ui);
	struct view *v = ui_top(ui);
	if (ui->no_mouse || ui->prompt.active || ui->grid.rows < UI_MIN_ROWS ||
	    ui->grid.cols < UI_MIN_COLS)
		return;
	switch (m.kind) {
	case MOUSE_PRESS:
		ui->nr_keys++; /* counts as a key: the last message is over */
		mouse_press(ui, m.row, m.col);
		break;
	case MOUSE_RELEASE:
		ui->grabbed = false;
		break;
	case MOUSE_DRAG:
		if (ui->grabbed && v->ops->drag)
			v->ops->drag(v->self, ui, m.row, m.col);
		break;
	case MOUSE_WHEEL_UP:
	case MOUSE_WHEEL_DOWN:
		for (int i = 0; i < WHEEL_ROWS; i++)
			mouse_wheel(ui, m);
		break;
	}
}
