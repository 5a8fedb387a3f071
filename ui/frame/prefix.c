#include "ui/frame/prefix.h"

#include <string.h>

#include "ui/frame/finder_priv.h"

enum { WAIT_US = 500000 };

struct choice_row {
	char key;
	const char *doc;
	enum verb verb; /* VERB_NONE: a jump */
};
static const struct choice_row prefix_jumps[] = {
	{ 'e', "error", VERB_NONE }, { 'd', "diff", VERB_NONE }, { 'a', "approval", VERB_NONE },
	{ 'h', "hold", VERB_NONE },  { 'm', "mark", VERB_NONE }, { 's', "snapshot", VERB_NONE },
	{ 't', "turn", VERB_NONE },  { 0, NULL, VERB_NONE },
};
static const struct choice_row prefix_goes[] = {
	{ 'g', "first", VERB_FIRST }, { 'e', "end", VERB_LAST },
	{ 'f', "fleet", VERB_FLEET }, { 'l', "log", VERB_LOG },
	{ 'q', "queue", VERB_QUEUE }, { 'd', "diff", VERB_DIFF },
	{ 'a', "agent", VERB_AGENT }, { 'b', "sandboxes", VERB_BOXES },
	{ 'j', "jobs", VERB_JOBS },   { 'h', "handoff", VERB_HANDOVER },
	{ 0, NULL, VERB_NONE },
};

static const struct choice_row *prefix_rows_of(uint32_t prefix)
{
	return prefix == ']' || prefix == '[' ? prefix_jumps : prefix == 'g' ? prefix_goes : NULL;
}

void prefix_begin(struct ui *ui, uint32_t key)
{
	ui->find->prefix = key;
	ui->find->prefix_us = ui->mono_us;
}

static bool prefix_begins(const struct ui *ui, uint32_t key)
{
	unsigned where = ui_where(ui);
	if (key == ']' || key == '[')
		return where & (IN_AGENT | IN_LOG | IN_REPLAY);
	return key == 'g' && (where & IN_COPY);
}

/* What a lone "]", "[" or "g" meant before its second key made no sense. */
static enum verb prefix_alone(uint32_t prefix)
{
	return prefix == ']'   ? VERB_NEXT
	       : prefix == '[' ? VERB_PREV
	       : prefix == 'g' ? VERB_FIRST
			       : VERB_NONE;
}

bool prefix_key(struct ui *ui, uint32_t key)
{
	uint32_t prefix = ui->find->prefix;
	const struct choice_row *r = prefix_rows_of(prefix);
	ui->find->prefix = 0;
	if (!prefix) {
		if (!prefix_begins(ui, key))
			return false;
		prefix_begin(ui, key);
		return true;
	}
	if (key == K_ESC || key == K_CTRL('c'))
		return true;
	if (prefix == 'm' || prefix == '\'') {
		prefix == 'm' ? mark_ask(ui, key) : mark_go(ui, key);
		return true;
	}
	for (; r && r->key; r++)
		if (key == (uint32_t)r->key) {
			if (r->verb != VERB_NONE)
				ui_do(ui, r->verb);
			else
				jump_kind(ui, r->key, prefix == ']' ? 1 : -1);
			return true;
		}
	if (key == prefix) {
		ui_do(ui, prefix_alone(prefix));
		return true;
	}
	ui_do(ui, prefix_alone(prefix));
	return prefix_key(ui, key); /* the second key begins anew, or means what it always does */
}

/* --- which-key -------------------------------------------------------------------------------- */

static int put_choice(struct area a, int row, int col, const char *key, const char *doc)
{
	if (col + text_cells(key, false) + text_cells(doc, a.g->ascii) + 3 > a.cols)
		return col;
	col = grid_put(a, row, col, ROLE_KEY, key);
	return grid_put(a, row, col + 1, ROLE_TEXT, doc) + 2;
}

static void prefix_paint_marks(const struct ui *ui, struct area a, int row, int col)
{
	const struct finder *f = ui->find;
	for (size_t i = 0; i < ui->nr_src; i++)
		for (size_t k = 0; k < f->own[i].nr; k++) {
			char key[2] = { f->own[i].mark[k].key, 0 }, doc[32];
			snprintf(doc, sizeof(doc), "#%llu",
				 (unsigned long long)f->own[i].mark[k].seq);
			if (*key)
				col = put_choice(a, row, col, key, doc);
		}
	for (size_t i = 0; i < ui->nr_src; i++)
		for (size_t k = 0; k < ui->src[i]->model.nr_marks; k++) {
			const struct model_mark *m = &ui->src[i]->model.mark[k];
			char doc[80];
			snprintf(doc, sizeof(doc), "#%llu %.40s", (unsigned long long)m->on,
				 m->text);
			if (*m->key)
				col = put_choice(a, row, col, m->key, doc);
		}
	put_choice(a, row, col, "'", "back");
}

void prefix_paint(const struct ui *ui, struct area all)
{
	const struct finder *f = ui->find;
	char head[3] = { (char)f->prefix, ' ', 0 };
	int row = all.rows - 2;
	if (!f->prefix || ui->prompt.active || ui->mono_us < f->prefix_us + WAIT_US ||
	    all.rows < UI_MIN_ROWS)
		return;
	for (int c = 0; c < all.cols; c++)
		grid_put(all, row, c, ROLE_TEXT, " ");
	int col = grid_put(all, row, 1, ROLE_TITLE, head) + 1;
	if (f->prefix == '\'') {
		prefix_paint_marks(ui, all, row, col);
	} else if (f->prefix == 'm') {
		grid_put(
			all, row, col, ROLE_TEXT,
			ui->replay
				? "a letter bookmarks the event under the cursor;  Enter adds a bookmark with a text"
				: "a letter bookmarks this event;  Enter adds a bookmark with a text");
	} else {
		for (const struct choice_row *r = prefix_rows_of(f->prefix); r && r->key; r++) {
			char key[2] = { r->key, 0 };
			col = put_choice(all, row, col, key, r->doc);
		}
	}
}

int64_t prefix_next(const struct ui *ui)
{
	int64_t at = ui->find->prefix_us + WAIT_US;
	return ui->find->prefix && at > ui->mono_us ? at : INT64_MAX;
}
