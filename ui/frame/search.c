#include "ui/frame/search.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/finder_priv.h"
#include "ui/frame/select.h"
#include "ui/term/text.h"
#include "ui/rows/row.h"

enum { LOOKED_MAX = 4000, HITS_MAX = 4096 };

void search_clear(struct ui *ui)
{
	free(ui->find->needle);
	ui->find->needle = NULL;
}

static const char *ui_search_hit(const struct finder *f, const char *text)
{
	return f->needle_case ? strstr(text, f->needle) : strcasestr(text, f->needle);
}

const char *row_words(struct source *s, const struct row *r, struct arena *a)
{
	struct row_info i;
	row_load(&i, s, r, a);
	const struct model_agent *agent = model_agent(&s->model, i.agent);
	return arena_printf(a, "#%llu %s %s %s %s %s %s %s", (unsigned long long)i.seq, i.word,
			    i.what, i.verdict, i.by, i.outcome, i.why, agent ? agent->name : "");
}

/* Places of the hits, ascending; at most HITS_MAX. */
struct hits {
	uint64_t at[HITS_MAX];
	size_t nr;
	bool cut;
};

static void ui_search_add(struct hits *h, uint64_t at)
{
	if (h->nr < HITS_MAX)
		h->at[h->nr++] = at;
	else
		h->cut = true;
}

/* A long list is queried through the search index, and each result is checked. */
static void hits_indexed(struct hits *h, struct ui *ui, const struct looked *l)
{
	struct source *s = ui->src[l->source];
	struct err err = ERR_INIT;
	struct arena a = ARENA_INIT;
	uint64_t seqs[256], after = 0;
	size_t nr = ARRAY_LEN(seqs), looked = 0;
	CLEANUP(buf_release) struct buf match = BUF_INIT;
	buf_putc(&match, '"');
	for (const char *c = ui->find->needle; *c; c++)
		if (*c != '"')
			buf_putc(&match, *c);
	buf_putc(&match, '"');
	while (nr == ARRAY_LEN(seqs) && looked < LOOKED_MAX) {
		if (session_search(s->session, buf_cstr(&match), after, ARRAY_LEN(seqs), seqs, &nr,
				   &err) < 0) {
			ui_say(ui, ROLE_ERROR, "%s", err.text);
			break;
		}
		for (size_t i = 0; i < nr; i++, looked++) {
			struct event ev;
			after = seqs[i];
			if (session_event(s->session, seqs[i], &ev, &a, &err) < 0)
				continue;
			uint64_t row = ev.action ? ev.action : ev.seq;
			size_t k = rows_find(l->rows, row);
			bool is = k < l->rows->nr && l->rows->row[k].seq == row &&
				  (h->nr == 0 || h->at[h->nr - 1] != row);
			if (is && ui_search_hit(ui->find, row_words(s, &l->rows->row[k], &a)))
				ui_search_add(h, row);
			arena_reset(&a);
		}
	}
	arena_release(&a);
	h->cut = h->cut || looked >= LOOKED_MAX;
}

static void hits_rows(struct hits *h, struct ui *ui, const struct looked *l)
{
	struct arena a = ARENA_INIT;
	if (l->rows->nr > LOOKED_MAX) {
		hits_indexed(h, ui, l);
		return;
	}
	for (size_t i = 0; i < l->rows->nr; i++) {
		if (ui_search_hit(ui->find, row_words(ui->src[l->source], &l->rows->row[i], &a)))
			ui_search_add(h, l->rows->row[i].seq);
		arena_reset(&a);
	}
	arena_release(&a);
}

static void hits_text(struct hits *h, struct ui *ui, const struct looked *l)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	for (size_t i = 0; i < l->text->nr; i++) {
		const struct text_row *r = &l->text->row[i];
		buf_reset(&line);
		text_row_plain(r, &line);
		if (ui_search_hit(ui->find, buf_cstr(&line)))
			ui_search_add(h, i);
	}
}

static void hits_lines(struct hits *h, struct ui *ui, const struct looked *l, const void *self)
{
	struct arena a = ARENA_INIT;
	for (size_t i = 0; i < l->nr; i++)
		if (ui_search_hit(ui->find, l->line(self, ui, i, &a)))
			ui_search_add(h, i);
	arena_release(&a);
}

/* From where the view stands, or (@here) from that very place. */
static void search_go(struct ui *ui, int by, bool here)
{
	struct finder *f = ui->find;
	struct view *top = ui_top(ui);
	struct looked l = { 0 };
	if (!f->needle) {
		ui_say(ui, ROLE_DIM, "no search yet: / starts one");
		return;
	}
	if (top->ops->look)
		top->ops->look(top->self, ui, &l);
	CLEANUP(free_ptr) char *room = (char *)NEW(struct hits);
	struct hits *h = (struct hits *)(void *)room;
	if (l.what == LOOK_ROWS)
		hits_rows(h, ui, &l);
	else if (l.what == LOOK_TEXT)
		hits_text(h, ui, &l);
	else if (l.what == LOOK_LINES)
		hits_lines(h, ui, &l, top->self);
	else
		ui_say(ui, ROLE_DIM, "there is nothing to search here");
	if (l.what == LOOK_NOTHING)
		return;
	if (h->nr == 0) {
		ui_say(ui, ROLE_WARN, "not found in this view: %s", f->needle);
		return;
	}
	size_t at = 0;
	while (at < h->nr && (h->at[at] < l.at || (h->at[at] == l.at && by > 0 && !here)))
		at++;
	bool round = by > 0 ? at == h->nr : at == 0;
	at = by > 0 ? (round ? 0 : at) : (round ? h->nr - 1 : at - 1);
	top->ops->go(top->self, ui, h->at[at]);
	select_went(ui, h->at[at]);
	const char *wrapped = !round   ? ""
			      : by > 0 ? "  (continued from the top)"
				       : "  (continued from the end)";
	ui_say(ui, round ? ROLE_WARN : ROLE_DIM, "/%s  %zu/%zu%s%s", f->needle, at + 1, h->nr,
	       h->cut ? "+" : "", wrapped);
}

void search_next(struct ui *ui, int by)
{
	search_go(ui, by, false);
}

static void needle_set(struct finder *f, const char *text)
{
	free(f->needle);
	f->needle = *text ? mem_strdup(text) : NULL;
	f->needle_case = false;
	for (; *text; text++)
		f->needle_case = f->needle_case || isupper((unsigned char)*text);
}

static void ui_search_changed(struct ui *ui)
{
	needle_set(ui->find, buf_cstr(&ui->prompt.text)); /* hits light up while it is typed */
}

static void ui_search_hint(const struct ui *ui, struct area a, int row)
{
	(void)ui;
	grid_put(
		a, row, 1, ROLE_DIM,
		"Enter finds  Esc cancels  Up history   then n next, N before; a capital makes capitals count");
}

static const struct prompt_ops ui_search_ops = { .history = '/',
						 .changed = ui_search_changed,
						 .hint = ui_search_hint };

static void ui_search_done(struct ui *ui, const char *text)
{
	const char *last = history_get(ui, '/', 1);
	if (!text) {
		search_clear(ui);
		return;
	}
	if (!*text && !last)
		return;
	needle_set(ui->find, *text ? text : last);
	search_go(ui, 1, true);
}

void search_ask(struct ui *ui, const char *text)
{
	prompt_ask(ui, "/", text, &ui_search_ops, &(struct subject){ 0 }, ui_search_done);
}

/* --- on the screen ---------------------------------------------------------------------------- */

static void light_row(const struct finder *f, struct area a, int row)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	struct cell *cell = &a.g->cell[(a.row + row) * a.g->cols + a.col];
	CLEANUP(free_ptr) char *room = mem_calloc((size_t)a.cols + 1, sizeof(size_t));
	size_t *start = (size_t *)(void *)room;
	for (int c = 0; c < a.cols; c++) {
		start[c] = line.len;
		if (cell[c].width > 0)
			cell[c].len ? buf_append(&line, cell[c].s, cell[c].len)
				    : buf_putc(&line, ' ');
	}
	size_t len = strlen(f->needle);
	for (const char *p = buf_cstr(&line); (p = ui_search_hit(f, p)); p += len) {
		size_t from = (size_t)(p - line.data);
		for (int c = 0; c < a.cols; c++)
			if (start[c] >= from && start[c] < from + len)
				cell[c].flags |= GLYPH_REVERSE;
	}
}

void search_paint(struct ui *ui, struct area body)
{
	if (!ui->find->needle || (ui_where(ui) & IN_APPROVAL))
		return;
	for (int row = 2; row < body.rows; row++)
		light_row(ui->find, body, row);
}
