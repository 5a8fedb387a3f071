/* The keys of the screen below, from the key table. Pressing a key runs its verb there, except
 * in decision dialogs, where users must see the screen. Esc goes back. */
#include <stdio.h>
#include <string.h>

#include "ui/rows/draw.h"
#include "ui/frame/ui.h"

enum { MAX_LINES = 64, COLUMN = 39, KEYS = 12 };

struct help_line {
	enum verb verb; /* VERB_NONE: a key of the screen's own */
	const char *doc;
	char keys[KEYS + 1];
	const char *off;
};

struct help {
	unsigned where;
	const struct view_ops *below;
	struct {
		int row, col;
	} at[GROUP_NR];		/* where each group stands, from the top of the text */
	int deepest, page, hit; /* hit: the line that a search went to */
	struct help_line line[GROUP_NR][MAX_LINES];
	size_t nr[GROUP_NR];
	int top;
	size_t other; /* which screen after this one's; 0: this one */
	bool replay;
};

/* The screen whose keys are shown: the one below, or, with Tab, another. */
static void choose_screen(struct help *h, const struct ui *ui)
{
	h->below = ui->depth > 1 ? ui->stack[ui->depth - 2].ops : view_find("fleet");
	size_t at = 0;
	while (view_at(at) != h->below)
		at++;
	h->below = view_at((at + h->other) % view_count());
	h->top = 0;
	h->where = h->below->where | (ui->replay ? IN_REPLAY : 0u);
	h->replay = ui->replay;
}

static void view_help_open_view(void *self, struct ui *ui, const struct subject *on)
{
	(void)on;
	choose_screen(self, ui);
}

/* To the next screen that has keys of its own. */
static void other_screen(struct help *h, const struct ui *ui, bool next)
{
	unsigned was = h->where;
	for (size_t i = 0;
	     i < view_count() && (h->where == was || h->below->where & (IN_HELP | IN_PALETTE));
	     i++) {
		h->other = (h->other + (next ? 1 : view_count() - 1)) % view_count();
		choose_screen(h, ui);
	}
}

/* One of the names in @keys, "h l". */
static bool view_help_names(const char *keys, const char *name)
{
	size_t len = strlen(name);
	for (const char *at = keys; (at = strstr(at, name)); at++)
		if ((at == keys || at[-1] == ' ') && (at[len] == ' ' || at[len] == 0))
			return true;
	return false;
}

/* Where this key of @v goes: to the line of that verb, else to a new one, below it if it has no
 * room. NULL: it is there. */
static struct help_line *view_help_line_for(struct help *h, enum verb v, const char *name)
{
	enum verb_group g = verb_group(v);
	struct help_line *line = h->line[g], *room = NULL;
	size_t at = h->nr[g];
	bool first = true;
	for (size_t i = 0; i < h->nr[g]; i++) {
		if (line[i].verb != v)
			continue;
		if (view_help_names(line[i].keys, name))
			return NULL;
		room = strlen(line[i].keys) + 1 + strlen(name) <= KEYS ? &line[i] : NULL;
		at = i + 1;
		first = false;
	}
	if (room || h->nr[g] == MAX_LINES)
		return room;
	memmove(&line[at + 1], &line[at], (h->nr[g]++ - at) * sizeof(*line));
	line[at] = (struct help_line){ .verb = v, .doc = first ? verb_doc(v) : "" };
	return &line[at];
}

/* The screen takes it before the key table sees it. */
static bool is_own(const struct help *h, const char *name)
{
	for (const char *const *o = h->below->own; o && *o; o += 2)
		if (view_help_names(*o, name))
			return true;
	return false;
}

static void own_lines(struct help *h)
{
	for (const char *const *o = h->below->own; o && *o; o += 2) {
		struct help_line *l = &h->line[GROUP_HERE][h->nr[GROUP_HERE]++];
		*l = (struct help_line){ .doc = o[1] };
		snprintf(l->keys, sizeof(l->keys), "%s", o[0]);
	}
}

static const enum verb_group view_help_order[] = { GROUP_DECIDE, GROUP_HERE, GROUP_MOVE,
						   GROUP_REPLAY, GROUP_ACT,  GROUP_LOOK,
						   GROUP_ALL };

/* Groups below each other, a new column when the next would not fit. */
static void lay_out(struct help *h, int rows, int cols)
{
	int col = 2, row = 0;
	h->page = rows - 2;
	h->deepest = 0;
	for (size_t i = 0; i < ARRAY_LEN(view_help_order); i++) {
		enum verb_group g = view_help_order[i];
		if (h->nr[g] == 0)
			continue;
		if (row > 0 && row + (int)h->nr[g] + 1 > h->page && col + 2 * COLUMN - 2 <= cols) {
			col += COLUMN;
			row = 0;
		}
		h->at[g].row = row;
		h->at[g].col = col;
		row += (int)h->nr[g] + 2;
		h->deepest = row - 1 > h->deepest ? row - 1 : h->deepest;
	}
}

static void view_help_scroll(struct help *h, int to)
{
	int most = h->deepest > h->page ? h->deepest - h->page : 0;
	h->top = to < 0 ? 0 : to > most ? most : to;
}

static void view_help_recalc(void *self, struct ui *ui, struct arena *a, int rows, int cols)
{
	struct help *h = self;
	const struct view *below = ui->depth > 1 ? &ui->stack[ui->depth - 2] : NULL;
	(void)a;
	memset(h->nr, 0, sizeof(h->nr));
	own_lines(h);
	for (size_t i = 0; i < keymap_count(); i++) {
		const struct key_row *k = keymap_row(i);
		char name[16];
		if (!(k->where & h->where) || keymap_verb(h->where, k->key) != k->verb)
			continue;
		key_name(k->key, name);
		if (k->key == 'g' && h->where & IN_COPY) /* there it begins a pair */
			strcpy(name, "gg");
		struct help_line *l = is_own(h, name) ? NULL : view_help_line_for(h, k->verb, name);
		if (!l)
			continue;
		if (*l->keys)
			strcat(l->keys, " ");
		strcat(l->keys, name);
		l->off = verb_acts(k->verb) && h->replay ? "not in replay"
			 : h->other || !below || !below->ops->off
				 ? NULL
				 : below->ops->off(below->self, ui, k->verb);
	}
	lay_out(h, rows, cols);
	view_help_scroll(h, h->top);
}

static void view_help_paint_group(const struct help *h, struct area a, int row, int col,
				  enum verb_group g)
{
	grid_put(a, row++, col, ROLE_TITLE, verb_group_title(g));
	for (size_t i = 0; i < h->nr[g]; i++, row++) {
		const struct help_line *l = &h->line[g][i];
		put_field(a, row, col, KEYS, l->off ? ROLE_OFF : ROLE_KEY, l->keys);
		put_bytes(a, row, col + KEYS + 1, COLUMN - KEYS - 2, l->off ? ROLE_OFF : ROLE_TEXT,
			  l->doc, strlen(l->doc), 0);
	}
}

static void view_help_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct help *h = self;
	char title[64], note[80];
	bool more = h->deepest > h->page;
	(void)ui;
	snprintf(title, sizeof(title), "help: %s", h->below->name);
	bool reads = h->where & (IN_DECIDE | IN_QUESTION) || h->other;
	snprintf(note, sizeof(note), "%s%sTab other screens, / search, Esc back",
		 a.cols >= 90 && !reads ? "press the key to do it, " : "",
		 !more				 ? ""
		 : h->top + h->page < h->deepest ? "j more, "
						 : "k back up, ");
	put_rule(a, 0, title, ROLE_TITLE, note);
	for (size_t i = 0; i < ARRAY_LEN(view_help_order); i++)
		if (h->nr[view_help_order[i]] > 0)
			view_help_paint_group(h, area_sub(a, 2, 0, a.rows - 2, a.cols),
					      h->at[view_help_order[i]].row - h->top,
					      h->at[view_help_order[i]].col, view_help_order[i]);
}

/* --- search ----------------------------------------------------------------------------------- */

/* The line with this number, counted through the groups in their order; @row is where it stands. */
static const struct help_line *line_nr(const struct help *h, size_t nr, int *row)
{
	for (size_t i = 0; i < ARRAY_LEN(view_help_order); nr -= h->nr[view_help_order[i++]])
		if (nr < h->nr[view_help_order[i]]) {
			*row = h->at[view_help_order[i]].row + 1 + (int)nr;
			return &h->line[view_help_order[i]][nr];
		}
	return NULL;
}

static const char *view_help_line(const void *self, const struct ui *ui, size_t i, struct arena *a)
{
	int row;
	const struct help_line *l = line_nr(self, i, &row);
	(void)ui;
	return l ? arena_printf(a, "%s %s", l->keys, l->doc) : "";
}

static void view_help_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct help *h = self;
	(void)ui;
	*out = (struct looked){ .what = LOOK_LINES,
				.line = view_help_line,
				.at = (uint64_t)h->hit };
	for (size_t g = 0; g < GROUP_NR; g++)
		out->nr += h->nr[g];
}

static void view_help_go(void *self, struct ui *ui, uint64_t to)
{
	struct help *h = self;
	int row;
	(void)ui;
	h->hit = (int)to;
	if (line_nr(h, (size_t)to, &row) && (row < h->top || row >= h->top + h->page))
		view_help_scroll(h, row - h->page / 2);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Moving and searching are about the help itself. */
static bool view_help_verb(void *self, struct ui *ui, enum verb v)
{
	struct help *h = self;
	(void)ui;
	switch ((int)v) {
	case VERB_UP:
	case VERB_DOWN:
		view_help_scroll(h, h->top + (v == VERB_DOWN ? 1 : -1));
		return true;
	case VERB_PAGE_UP:
	case VERB_PAGE_DOWN:
		view_help_scroll(h, h->top + (v == VERB_PAGE_DOWN ? 1 : -1) * h->page / 2);
		return true;
	case VERB_FIRST:
	case VERB_LAST:
		view_help_scroll(h, v == VERB_FIRST ? 0 : h->deepest);
		return true;
	default:
		return false;
	}
}

/* A key of the screen below is done there, where nobody decides anything. */
static bool view_help_key(void *self, struct ui *ui, uint32_t key)
{
	struct help *h = self;
	char name[16];
	key_name(key, name);
	bool own = is_own(h, name);
	enum verb v = own ? VERB_NONE : keymap_verb(h->where, key);
	if (key == K_TAB || key == K_STAB) {
		other_screen(h, ui, key == K_TAB);
	} else if (key == K_ESC || key == 'q' || key == '?' || key == K_F1) {
		ui_back(ui);
	} else if (v == VERB_SEARCH || key == '/') {
		ui_do(ui, VERB_SEARCH);
	} else if (key == 'n' ||
		   key == 'N') { /* of a search, whatever the screen below takes them for */
		ui_do(ui, key == 'n' ? VERB_AGAIN : VERB_AGAIN_UP);
	} else if (view_help_verb(h, ui, v)) {
		return true;
	} else if ((own || v != VERB_NONE) && !(h->where & (IN_DECIDE | IN_QUESTION)) &&
		   !h->other) {
		ui_back(ui);
		if (own)
			ui_top(ui)->ops->key(ui_top(ui)->self, ui, key);
		else
			ui_do(ui, v);
	}
	return true;
}

const struct view_ops view_help = {
	.name = "help",
	.where = IN_HELP,
	.size = sizeof(struct help),
	.open = view_help_open_view,
	.recalc = view_help_recalc,
	.paint = view_help_paint,
	.verb = view_help_verb,
	.key = view_help_key,
	.look = view_help_look,
	.go = view_help_go,
};
