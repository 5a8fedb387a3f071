/* Completion: the candidates for the word under way, and what Tab makes of them. */
#include <stdlib.h>
#include <string.h>

#include "ui/frame/finder_priv.h"

void choices_clear(struct finder *f)
{
	for (size_t i = 0; i < f->nr_choices; i++)
		free(f->choice[i]);
	f->nr_choices = f->choice_at = 0;
	f->choosing = false;
	f->choice_doc = NULL;
}

void choice_add(struct finder *f, const char *text)
{
	for (size_t i = 0; i < f->nr_choices; i++)
		if (strcmp(f->choice[i], text) == 0)
			return;
	if (f->nr_choices < FINDER_CHOICES)
		f->choice[f->nr_choices++] = mem_strdup(text);
}

static size_t choice_shared(const struct finder *f)
{
	size_t n = strlen(f->choice[0]);
	for (size_t i = 1; i < f->nr_choices; i++) {
		size_t k = 0;
		while (k < n && f->choice[i][k] == f->choice[0][k])
			k++;
		n = k;
	}
	while (n > 0 && ((unsigned char)f->choice[0][n] & 0xc0) == 0x80)
		n--;
	return n;
}

void choice_tab(struct ui *ui, const char *after)
{
	struct finder *f = ui->find;
	struct prompt *p = &ui->prompt;
	if (f->nr_choices == 0)
		return;
	if (f->nr_choices == 1) {
		CLEANUP(free_ptr) char *text = mem_printf("%s%s", f->choice[0], after);
		prompt_replace(ui, f->choice_from, text);
		if (p->ops->changed)
			p->ops->changed(ui);
		return;
	}
	size_t n = choice_shared(f), typed = p->at - f->choice_from;
	if (!f->choosing && n > typed) {
		CLEANUP(free_ptr) char *text = mem_strndup(f->choice[0], n);
		prompt_replace(ui, f->choice_from, text);
		if (p->ops->changed)
			p->ops->changed(ui);
		return;
	}
	f->choice_at = f->choosing ? (f->choice_at + 1) % f->nr_choices : 0;
	f->choosing = true;
	prompt_replace(ui, f->choice_from, f->choice[f->choice_at]);
}

void choices_paint(const struct finder *f, struct area a, int row)
{
	int col = 1;
	if (f->choice_doc)
		col = grid_put(a, row, col, ROLE_DIM, f->choice_doc) + 2;
	for (size_t i = f->choosing && f->choice_at > 6 ? f->choice_at - 6 : 0; i < f->nr_choices;
	     i++) {
		int n = text_cells(f->choice[i], a.g->ascii);
		if (col + n > a.cols - 4) {
			grid_put(a, row, col, ROLE_DIM, "..");
			return;
		}
		bool on = f->choosing && i == f->choice_at;
		put_bytes(a, row, col, n, on ? ROLE_TITLE : ROLE_TEXT, f->choice[i],
			  strlen(f->choice[i]), on ? GLYPH_REVERSE : 0);
		col += n + 2;
	}
}
