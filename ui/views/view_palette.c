/* The palette: commands, screens, verbs, agents, sessions, events, settings and saved filters by a
 * few letters. Enter does it, Tab puts it on the command line, Ctrl-o shows its help. Drawn over
 * the screen it was opened on. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "ui/frame/cmdtable.h"
#include "ui/frame/finder.h"
#include "ui/rows/draw.h"
#include "ui/rows/row.h"

enum { EDGE = 8, MOST = 400, EVENTS = 12, WIDTH = 78, HEIGHT = 16 };
enum what { IS_VERB, IS_SCREEN, IS_COMMAND, IS_AGENT, IS_SESSION, IS_EVENT, IS_SETTING, IS_FILTER };

struct entry {
	enum what what;
	const char *text, *right, *command; /* command: as on the ":" line */
	size_t source;
	uint64_t id;
	enum verb verb;
	int score;
	int near; /* how much it has to do with the screen below */
	size_t place;
};

struct palette {
	struct buf text;
	struct entry entry[MOST];
	size_t nr, at, top;
	struct subject on;
	struct arena *arena;
};

static void view_palette_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct palette *v = self;
	(void)ui;
	v->on = *on;
}

static void view_palette_close_view(void *self)
{
	struct palette *v = self;
	buf_release(&v->text);
}

/* Letters in their order, anywhere; -1 = not. Beginnings of words and neighbors count more. */
static int view_palette_fuzzy(const char *text, const char *want)
{
	int score = 0, letters = 0;
	const char *last = NULL;
	for (const char *t = text; *want; want++) {
		if (*want == ' ')
			continue;
		const char *p = t;
		while (*p && tolower((unsigned char)*p) != tolower((unsigned char)*want))
			p++;
		/* a beginning of a word further on is better than a letter in the middle of one */
		for (const char *q = p; *q && !(last && p == last + 1); q++)
			if (tolower((unsigned char)*q) == tolower((unsigned char)*want) &&
			    (q == text || !isalnum((unsigned char)q[-1]))) {
				p = q;
				break;
			}
		if (!*p)
			return -1;
		score += p == text			  ? 12
			 : !isalnum((unsigned char)p[-1]) ? 8
			 : last && p == last + 1	  ? 6
							  : 1;
		last = p;
		t = p + 1;
		letters++;
	}
	/* letters that happen to be there mean nothing */
	return letters > 2 && score < 4 * letters ? -1 : score;
}

/* Something is pending: that first. Then the keys of the screen, as its key line has them. */
static int view_palette_near(const struct ui *ui, unsigned where, enum verb verb)
{
	const struct view *below = ui->depth > 1 ? &ui->stack[ui->depth - 2] : NULL;
	size_t waits = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		waits += ui_waits(ui, i);
	if (!ui->replay && waits && (verb == VERB_APPROVE || verb == VERB_QUEUE))
		return 4;
	if (below && below->ops->off && below->ops->off(below->self, ui, verb))
		return -1;
	for (size_t i = 0; i < keymap_count(); i++) {
		const struct key_row *k = keymap_row(i);
		bool here =
			k->verb == verb && k->where & where && keymap_verb(where, k->key) == verb;
		if (here)
			return k->hint ? 3 : (k->where & IN_ALL) == IN_ALL ? 1 : 2;
	}
	return 0;
}

static void view_palette_add(struct palette *v, struct entry e)
{
	const char *want = buf_cstr(&v->text);
	int a = view_palette_fuzzy(e.text, want),
	    b = e.command ? view_palette_fuzzy(e.command, want) : -1;
	e.score = a > b ? a : b;
	e.place = v->nr;
	if (e.score >= 0 && v->nr < MOST)
		v->entry[v->nr++] = e;
}

static const char *view_palette_key_of(struct arena *ar, unsigned where, enum verb verb)
{
	for (size_t i = 0; i < keymap_count(); i++) {
		const struct key_row *k = keymap_row(i);
		char name[16];
		if (k->verb != verb || !(k->where & where) || keymap_verb(where, k->key) != verb)
			continue;
		key_name(k->key, name);
		return arena_strdup(ar, name);
	}
	return "";
}

static void add_commands(struct palette *v, struct ui *ui, struct arena *ar)
{
	unsigned where = ui->depth > 1 ? ui->stack[ui->depth - 2].ops->where : IN_FLEET;
	for (int i = 1; i < VERB_NR; i++) {
		enum verb verb = (enum verb)i;
		if (verb_group(verb) == GROUP_DECIDE || verb_group(verb) == GROUP_MOVE ||
		    (verb_acts(verb) && ui->replay) || verb == VERB_PALETTE ||
		    (verb_group(verb) == GROUP_REPLAY && !ui->replay))
			continue;
		view_palette_add(v, (struct entry){ .what = IS_VERB,
						    .text = verb_doc(verb),
						    .right = view_palette_key_of(ar, where, verb),
						    .command = verb_name(verb),
						    .near = view_palette_near(ui, where, verb),
						    .verb = verb });
	}
	for (size_t i = 0; i < view_count(); i++)
		if (verb_find(view_at(i)->name) == VERB_NONE &&
		    strcmp(view_at(i)->name, "palette") != 0 &&
		    strcmp(view_at(i)->name, "table") != 0)
			view_palette_add(v, (struct entry){ .what = IS_SCREEN,
							    .text = arena_printf(ar, "screen %s",
										 view_at(i)->name),
							    .right = "",
							    .command = view_at(i)->name });
	for (size_t i = 0; i < cmd_count() && !ui->replay; i++) {
		const struct cmd_row *c = cmd_at(i);
		if (c->supervisor && !c->hidden)
			view_palette_add(
				v, (struct entry){ .what = IS_COMMAND,
						   .text = c->summary,
						   .command = c->name,
						   .right = arena_printf(ar, ":%s %s", c->name,
									 c->usage) });
	}
}

static void add_things(struct palette *v, struct ui *ui, struct arena *ar)
{
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		for (size_t k = 0; k < m->nr_agents; k++)
			view_palette_add(
				v, (struct entry){
					   .what = IS_AGENT,
					   .text = arena_printf(ar, "agent %s", m->agent[k].name),
					   .right = agent_state_word(
						   source_agent_state(ui->src[i], &m->agent[k])),
					   .source = i,
					   .id = m->agent[k].id });
		view_palette_add(v, (struct entry){ .what = IS_SESSION,
						    .text = arena_printf(ar, "session %s %s", m->id,
									 m->name),
						    .right = m->ended ? "ended" : "running",
						    .source = i });
	}
	for (size_t i = 0; i < filter_saved_count(ui); i++) {
		const char *name, *text;
		filter_saved_at(ui, i, &name, &text);
		view_palette_add(
			v, (struct entry){ .what = IS_FILTER,
					   .text = arena_printf(ar, "filter @%s  %s", name, text),
					   .right = "",
					   .command = arena_printf(ar, "filter @%s", name) });
	}
	for (size_t i = 0; ui_setting(i); i++)
		view_palette_add(
			v, (struct entry){ .what = IS_SETTING,
					   .text = arena_printf(ar, "set %s", ui_setting(i)),
					   .right = "",
					   .command = arena_printf(ar, "set %s", ui_setting(i)) });
}

/* Events by the search index: whole words of the typed text, not single letters. */
static void add_events(struct palette *v, struct ui *ui, struct arena *ar)
{
	struct err err = ERR_INIT;
	uint64_t seqs[64], last = 0;
	size_t nr, found = 0;
	if (v->text.len < 3 || strchr(buf_cstr(&v->text), '"'))
		return;
	const char *match = arena_printf(ar, "\"%s\"", buf_cstr(&v->text));
	for (size_t i = 0; i < ui->nr_src; i++) {
		struct source *s = ui->src[i];
		if (session_search(s->session, match, 0, ARRAY_LEN(seqs), seqs, &nr, &err) < 0)
			return;
		for (size_t k = nr; k > 0 && found < EVENTS && v->nr < MOST; k--) {
			struct event ev;
			if (session_event(s->session, seqs[k - 1], &ev, ar, &err) < 0)
				continue;
			uint64_t row = ev.action ? ev.action : ev.seq;
			const struct rows *r = &s->model.rows;
			size_t at = rows_find(r, row);
			if (row == last || at == r->nr || r->row[at].seq != row)
				continue;
			struct row_info info;
			row_load(&info, s, &r->row[at], ar);
			last = row;
			found++;
			v->entry[v->nr++] = (struct entry){
				.what = IS_EVENT,
				.right = "Enter jumps to it",
				.source = i,
				.id = row,
				.place = v->nr - 1,
				.text = arena_printf(ar, "event #%" PRIu64 "  %s  %s", row,
						     info.word, one_line(info.what, ar)),
			};
		}
	}
}

static int view_palette_compare(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	int d = b->score - a->score;
	if (d == 0)
		d = (a->what > b->what) - (a->what < b->what);
	if (d == 0)
		d = b->near - a->near;
	return d ? d : (a->place > b->place) - (a->place < b->place);
}

static void view_palette_gather(struct palette *v, struct ui *ui)
{
	struct arena *ar = v->arena;
	v->nr = 0;
	add_commands(v, ui, ar);
	add_things(v, ui, ar);
	add_events(v, ui, ar);
	if (v->nr > 0)
		qsort(v->entry, v->nr, sizeof(*v->entry), view_palette_compare);
	if (v->at >= v->nr)
		v->at = v->nr > 0 ? v->nr - 1 : 0;
}

static void view_palette_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct palette *v = self;
	v->arena = ar;
	if (ui->depth > 1) {
		struct view *below = &ui->stack[ui->depth - 2];
		arena_reset(&below->arena);
		below->ops->recalc(below->self, ui, &below->arena, rows, cols);
	}
	view_palette_gather(v, ui);
	size_t page = HEIGHT - 4;
	v->top = v->at < v->top ? v->at : v->at >= v->top + page ? v->at - page + 1 : v->top;
}

static void view_palette_blank(struct area a)
{
	for (int r = 0; r < a.rows; r++)
		for (int c = 0; c < a.cols; c++)
			grid_put(a, r, c, ROLE_TEXT, " ");
}

/* Where it lies on a body of @rows. */
static struct area view_palette_place(struct area a, int rows)
{
	int width = a.cols < WIDTH + 2 ? a.cols : WIDTH, height = rows < HEIGHT + 2 ? rows : HEIGHT;
	return area_sub(a, 2, (a.cols - width) / 2, height, width);
}

static void view_palette_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct palette *v = self;
	if (ui->depth > 1)
		ui->stack[ui->depth - 2].ops->paint(ui->stack[ui->depth - 2].self, ui, a);
	struct area box = view_palette_place(a, a.rows);
	int width = box.cols, height = box.rows;
	/* hides the crumbs of the screen below */
	view_palette_blank(width + EDGE < a.cols ? box
						 : area_sub(a, box.row - a.row, 0, height, a.cols));
	put_rule(box, 0, "palette", ROLE_TITLE, arena_printf(v->arena, "%zu found", v->nr));
	int col = grid_put(box, 1, 1, ROLE_KEY, ">") + 1;
	col = put_bytes(box, 1, col, width - 4, ROLE_PROMPT, buf_cstr(&v->text), v->text.len, 0);
	a.g->cursor_row = box.row + 1;
	a.g->cursor_col = box.col + col;
	for (size_t i = v->top; i < v->nr && (int)(i - v->top) < height - 4; i++) {
		const struct entry *e = &v->entry[i];
		int row = (int)(i - v->top) + 2, n = text_cells(e->right, a.g->ascii);
		n = n > width / 2 ? width / 2 : n;
		put_bytes(box, row, 3, width - n - 7, ROLE_TEXT, e->text, strlen(e->text), 0);
		put_bytes(box, row, width - n - 1, n, ROLE_DIM, e->right, strlen(e->right), 0);
		if (i == v->at) {
			grid_put(box, row, 1, ROLE_KEY, ">");
			put_cursor_row(box, row);
		}
	}
	if (v->nr == 0)
		grid_put(box, 3, 3, ROLE_DIM, "nothing has these letters");
	put_rule(box, height - 1, NULL, ROLE_RULE,
		 "Enter do it   Tab to the command line   Ctrl-o help   Esc");
}

static void view_palette_run(struct ui *ui, struct entry e)
{
	CLEANUP(free_ptr) char *command = e.command ? mem_strdup(e.command) : NULL;
	const struct cmd_row *c = command && e.what == IS_COMMAND ? cmd_find(command) : NULL;
	ui_back(ui);
	if (e.what == IS_VERB) {
		ui_do(ui, e.verb);
	} else if (e.what == IS_AGENT) {
		ui_open(ui, "agent", &(struct subject){ .source = e.source, .agent = e.id });
	} else if (e.what == IS_SESSION) {
		ui_open(ui, "log", &(struct subject){ .source = e.source });
	} else if (e.what == IS_EVENT) {
		jump_to(ui, e.source, e.id);
	} else if (c && (!c->looks || (*c->usage && *c->usage != '['))) {
		/* it needs words, or changes something: it is looked at once more */
		CLEANUP(free_ptr) char *text = mem_printf("%s ", command);
		cmdline_ask(ui, text);
	} else if (command) {
		ui_command_line(ui, command);
	}
}

/* Keys may come before the next draw: what Enter does is what these letters mean. */
static void view_palette_typed(struct palette *v, struct ui *ui)
{
	v->at = 0;
	view_palette_gather(v, ui);
}

static bool view_palette_key(void *self, struct ui *ui, uint32_t key)
{
	struct palette *v = self;
	char bytes[4];
	if (key == K_ESC || key == K_CTRL('c') || key == K_CTRL('p')) {
		ui_back(ui);
	} else if (key == K_ENTER && v->nr > 0) {
		view_palette_run(ui, v->entry[v->at]);
	} else if (key == K_TAB && v->nr > 0) {
		CLEANUP(free_ptr)
		char *text =
			mem_printf("%s ", v->entry[v->at].command ? v->entry[v->at].command : "");
		ui_back(ui);
		cmdline_ask(ui, text);
	} else if (key == K_CTRL('o') && v->nr > 0) {
		const struct entry *e = &v->entry[v->at];
		const struct cmd_row *c = e->what == IS_COMMAND ? cmd_find(e->command) : NULL;
		ui_say(ui, ROLE_TEXT, "%s%s%s: %s", e->command ? e->command : "", c ? " " : "",
		       c ? c->usage : "", e->text);
	} else if (key == K_UP || key == K_CTRL('k')) {
		v->at -= v->at > 0;
	} else if (key == K_DOWN || key == K_CTRL('j')) {
		v->at += v->at + 1 < v->nr;
	} else if (key == K_CTRL('u')) {
		buf_reset(&v->text);
		view_palette_typed(v, ui);
	} else if (key == K_BACKSPACE || key == 0x7f) {
		while (v->text.len > 0 &&
		       ((unsigned char)v->text.data[v->text.len - 1] & 0xc0) == 0x80)
			v->text.data[--v->text.len] = 0;
		if (v->text.len > 0)
			v->text.data[--v->text.len] = 0;
		view_palette_typed(v, ui);
	} else if (key >= 0x20 && key < KEY_FIRST_ && v->text.len < 200) {
		buf_append(&v->text, bytes, utf8_put(key, bytes));
		view_palette_typed(v, ui);
	}
	return true;
}

static enum click view_palette_click(void *self, struct ui *ui, int row, int col)
{
	struct palette *v = self;
	struct area box =
		view_palette_place(area_all(&ui->grid), ui->grid.rows - ui_frame_rows(ui));
	size_t at = v->top + (size_t)(row - box.row - 2);
	if (row < box.row + 2 || row >= box.row + box.rows - 2 || col < box.col ||
	    col >= box.col + box.cols || at >= v->nr)
		return CLICK_NONE;
	if (at == v->at)
		return CLICK_AGAIN;
	v->at = at;
	return CLICK_SELECTED;
}

static bool view_palette_verb(void *self, struct ui *ui, enum verb verb)
{
	struct palette *v = self;
	if (verb == VERB_UP || verb == VERB_DOWN)
		v->at = verb == VERB_UP ? v->at - (v->at > 0) : v->at + (v->at + 1 < v->nr);
	else if (verb == VERB_OPEN && v->nr > 0)
		view_palette_run(ui, v->entry[v->at]);
	else
		return false;
	return true;
}

static void view_palette_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct palette *v = self;
	(void)ui;
	*out = v->on;
}

/* Every other key is a letter of the search text. */
static const char *const *view_palette_hints(const void *self, const struct ui *ui)
{
	static const char *const keys[] = { "Ctrl-k up", "Ctrl-j down", "Ctrl-u empties it",
					    "Esc back", NULL };
	(void)self;
	(void)ui;
	return keys;
}

const struct view_ops view_palette = {
	.name = "palette",
	.hints = view_palette_hints,
	.where = IN_PALETTE,
	.size = sizeof(struct palette),
	.open = view_palette_open_view,
	.close = view_palette_close_view,
	.recalc = view_palette_recalc,
	.paint = view_palette_paint,
	.key = view_palette_key,
	.verb = view_palette_verb,
	.click = view_palette_click,
	.subject = view_palette_subject,
};
