#include "ui/frame/finder.h"

#include <stdlib.h>
#include <string.h>

#include "ui/frame/finder_priv.h"
#include "ui/frame/prefix.h"
#include "ui/frame/search.h"

struct finder *finder_new(void)
{
	return NEW(struct finder);
}

void finder_free(struct finder *f)
{
	for (size_t i = 0; i < FINDER_VIEWS; i++) {
		free(f->filter[i].text);
		for (size_t k = 0; k < FINDER_SOURCES; k++)
			pick_free(&f->filter[i].pick[k]);
	}
	for (size_t k = 0; k < FINDER_SOURCES; k++) {
		pick_free(&f->draft[k]);
		own_marks_release(&f->own[k]);
	}
	free(f->marks_folder);
	choices_clear(f);
	free(f->needle);
	for (size_t i = 0; i < f->history.nr; i++)
		free(f->history.line[i]);
	free(f->history.line);
	free(f->history.path);
	saved_release(&f->saved);
	free(f);
}

size_t view_index(const struct view_ops *ops)
{
	size_t i = 0;
	while (i < view_count() && i + 1 < FINDER_VIEWS && view_at(i) != ops)
		i++;
	return i;
}

bool finder_key(struct ui *ui, uint32_t key)
{
	if (prefix_key(ui, key))
		return true;
	if (key == K_ESC && (ui->find->needle || *ui_filter(ui)) && !(ui_where(ui) & IN_APPROVAL)) {
		if (ui->find->needle)
			search_clear(ui);
		else
			filter_set(ui, NULL);
		return true;
	}
	return false;
}

bool finder_verb(struct ui *ui, enum verb v, const struct subject *on)
{
	switch ((int)v) {
	case VERB_FILTER:
		filter_ask(ui, ui_filter(ui));
		return true;
	case VERB_FILTER_SAVED:
		filter_ask_saved(ui);
		return true;
	case VERB_SEARCH:
		search_ask(ui, "");
		return true;
	case VERB_AGAIN:
	case VERB_AGAIN_UP:
		search_next(ui, v == VERB_AGAIN ? 1 : -1);
		return true;
	case VERB_MARK:
	case VERB_JUMP:
		prefix_begin(ui, v == VERB_MARK ? 'm' : '\'');
		return true;
	case VERB_JUMP_BACK:
		mark_go(ui, '\'');
		return true;
	case VERB_PALETTE:
		ui_open(ui, "palette", on);
		return true;
	case VERB_HOLD:
		hold_ask(ui);
		return true;
	case VERB_HOLD_LIKE:
		hold_like(ui, on);
		return true;
	case VERB_HOLD_SWITCH:
		hold_toggle(ui);
		return true;
	default:
		return false;
	}
}

void finder_paint(struct ui *ui, struct area body)
{
	const char *filter = ui_filter(ui);
	if (*filter && body.rows > 2) {
		int col = grid_put(body, 1, 1, ROLE_WARN, " f: ");
		int room = body.cols / 2 > 20 ? body.cols / 2 : 20;
		col = put_bytes(body, 1, col, room, ROLE_TITLE, filter, strlen(filter), 0);
		if (ui->find->of)
			col = grid_putf(body, 1, col, ROLE_TEXT, "  %zu of %zu", ui->find->shown,
					ui->find->of);
		grid_put(body, 1, col, ROLE_RULE, " ");
	}
	search_paint(ui, body);
	prefix_paint(ui, area_all(&ui->grid));
}

bool finder_waits(const struct ui *ui)
{
	return ui->find->prefix != 0;
}

int64_t finder_next(const struct ui *ui)
{
	return prefix_next(ui);
}
