/* The keys of the screen below, made from the key table; pressing one does it there. Esc goes back. */
#include <stdio.h>
#include <string.h>

#include "ui/term/draw.h"
#include "ui/ui.h"

enum { MAX_LINES = 64, COLUMN = 40 };

struct help_line {
	enum verb verb;
	char keys[40];
	const char *off;
};

struct help {
	unsigned where;
	const struct view_ops *below;
	struct help_line line[GROUP_NR][MAX_LINES];
	size_t nr[GROUP_NR];
	int top;
	bool replay;
};

static void open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct help *h = self;
	(void)on;
	h->below = ui->depth > 1 ? ui->stack[ui->depth - 2].ops : view_find("fleet");
	h->where = h->below->where | (ui->replay ? IN_REPLAY : 0u);
	h->replay = ui->replay;
}

static struct help_line *line_for(struct help *h, enum verb v)
{
	enum verb_group g = verb_group(v);
	for (size_t i = 0; i < h->nr[g]; i++)
		if (h->line[g][i].verb == v)
			return &h->line[g][i];
	if (h->nr[g] == MAX_LINES)
		return NULL;
	h->line[g][h->nr[g]] = (struct help_line){ .verb = v };
	return &h->line[g][h->nr[g]++];
}

static void recalc(void *self, struct ui *ui, struct arena *a, int rows, int cols)
{
	struct help *h = self;
	(void)ui;
	(void)a;
	(void)rows;
	(void)cols;
	memset(h->nr, 0, sizeof(h->nr));
	for (size_t i = 0; i < keymap_count(); i++) {
		const struct key_row *k = keymap_row(i);
		char name[16];
		if (!(k->where & h->where) || keymap_verb(h->where, k->key) != k->verb)
			continue;
		struct help_line *l = line_for(h, k->verb);
		key_name(k->key, name);
		if (!l || strstr(l->keys, name) || strlen(l->keys) + strlen(name) + 2 > sizeof(l->keys))
			continue;
		if (*l->keys)
			strcat(l->keys, " ");
		strcat(l->keys, name);
		l->off = verb_acts(k->verb) && h->replay ? "not in replay" : NULL;
	}
}

static int paint_group(const struct help *h, struct area a, int row, int col, enum verb_group g)
{
	if (h->nr[g] == 0)
		return row;
	put(a, row++, col, ROLE_TITLE, verb_group_title(g));
	for (size_t i = 0; i < h->nr[g]; i++, row++) {
		const struct help_line *l = &h->line[g][i];
		put_field(a, row, col, 12, l->off ? ROLE_OFF : ROLE_KEY, l->keys);
		put_bytes(a, row, col + 13, COLUMN - 14, l->off ? ROLE_OFF : ROLE_TEXT, verb_doc(l->verb),
			  strlen(verb_doc(l->verb)), 0);
	}
	return row + 1;
}

static void paint(const void *self, const struct ui *ui, struct area a)
{
	static const enum verb_group order[] = { GROUP_DECIDE, GROUP_MOVE, GROUP_REPLAY,
						 GROUP_ACT,    GROUP_LOOK, GROUP_ALL };
	const struct help *h = self;
	char title[64];
	(void)ui;
	snprintf(title, sizeof(title), "help: %s", h->below->name);
	put_rule(a, 0, title, ROLE_TITLE, a.cols >= 90 ? "press the key to do it, Esc back" : "Esc back");
	int col = 2, row = 2 - h->top, deepest = a.rows;
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		enum verb_group g = order[i];
		if (h->nr[g] == 0)
			continue;
		if (row > 2 - h->top && row + (int)h->nr[g] + 1 > deepest && col + 2 * COLUMN - 2 <= a.cols) {
			col += COLUMN;
			row = 2 - h->top;
		}
		row = paint_group(h, area_sub(a, 1, 0, a.rows - 1, a.cols), row - 1, col, g) + 1;
	}
}

/* A key of the screen below is done there. */
static bool key(void *self, struct ui *ui, uint32_t key)
{
	struct help *h = self;
	enum verb v = keymap_verb(h->where, key);
	if (key == K_ESC || key == 'q' || key == '?' || key == K_F1) {
		ui_back(ui);
	} else if (v == VERB_DOWN || v == VERB_PAGE_DOWN) {
		h->top += v == VERB_DOWN ? 1 : 8;
	} else if (v == VERB_UP || v == VERB_PAGE_UP) {
		h->top -= v == VERB_UP ? 1 : 8;
		h->top = h->top < 0 ? 0 : h->top;
	} else if (v != VERB_NONE && verb_group(v) != GROUP_DECIDE) {
		ui_back(ui);
		ui_do(ui, v);
	}
	return true;
}

const struct view_ops view_help = {
	.name = "help", .where = IN_HELP, .size = sizeof(struct help),
	.open = open_view, .recalc = recalc, .paint = paint, .key = key,
};
