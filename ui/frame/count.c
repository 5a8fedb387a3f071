/* A number before a key, as in vi: 10j moves ten rows, 120G goes to event 120, 50% to the middle
 * of the list. Not where digits have another meaning: in dialogs, prompts, and the palette. In a
 * recording they apply to the cursor (transport.c). */
#include <stdio.h>

#include "ui/frame/finder.h"
#include "ui/term/text.h"

enum { COUNT_MOST = 9999999, TIMES_MOST = 10000 };

static void count_percent(struct ui *ui, unsigned n)
{
	struct view *top = ui_top(ui);
	struct looked l = { 0 };
	if (top->ops->look)
		top->ops->look(top->self, ui, &l);
	size_t nr = l.what == LOOK_ROWS	   ? l.rows->nr
		    : l.what == LOOK_TEXT  ? l.text->nr
		    : l.what == LOOK_LINES ? l.nr
					   : 0;
	if (nr == 0 || n > 100) {
		ui_say(ui, ROLE_DIM, nr ? "at most 100%%" : "nothing is listed here");
		return;
	}
	size_t at = (nr - 1) * n / 100;
	top->ops->go(top->self, ui, l.what == LOOK_ROWS ? l.rows->row[at].seq : at);
}

static bool count_moves(enum verb v)
{
	return verb_group(v) == GROUP_MOVE || v == VERB_AGAIN || v == VERB_AGAIN_UP;
}

bool count_key(struct ui *ui, uint32_t key)
{
	unsigned n = ui->count;
	unsigned where = ui_where(ui);
	if (ui->replay || (where & (IN_APPROVAL | IN_QUESTION | IN_PALETTE)))
		return false;
	ui->count = 0;
	if (key >= '0' && key <= '9' && (n || key != '0')) {
		ui->count = n > COUNT_MOST / 10 ? COUNT_MOST : n * 10 + (key - '0');
		ui_say(ui, ROLE_DIM,
		       "%u   then j k .. repeat that often, G goes to the event, %% of the list",
		       ui->count);
		return true;
	}
	if (n == 0)
		return false;
	ui_say(ui, ROLE_TEXT, "%s", "");
	enum verb v = keymap_verb(where, key);
	if (key == '%') {
		count_percent(ui, n);
	} else if (v == VERB_LAST) {
		struct subject on = { 0 };
		struct view *top = ui_top(ui);
		if (top->ops->subject)
			top->ops->subject(top->self, ui, &on);
		jump_to(ui, on.source, n);
	} else if (count_moves(v)) {
		for (unsigned i = 0; i < n && i < TIMES_MOST; i++)
			ui_do(ui, v);
	} else {
		return key == K_ESC;
	}
	return true;
}
