#include "ui/console.h"

#include <string.h>

#include "ui/frame/ui.h"

static void close_all(struct source **src, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		source_close(&src[i]);
}

int console_screen(const struct screen_opts *o, FILE *to, struct err *err)
{
	struct source *src[CONSOLE_SOURCES] = { NULL };
	size_t nr = 0;
	struct ui ui;
	if (o->view && !view_find(o->view))
		return err_set(
			err, ERR_USAGE,
			"unknown screen '%s'; screens: fleet, agent, approval, queue, diff, log, help",
			o->view);
	for (; nr < o->nr_beside + 1 && nr < CONSOLE_SOURCES; nr++)
		if (source_open(&src[nr], nr == 0 ? o->path : o->beside[nr - 1], err) < 0) {
			close_all(src, nr);
			return -1;
		}
	const struct source *s = src[0];
	ui_init(&ui, src, NULL, nr, o->rows, o->cols, o->ascii);
	ui.replay = true;
	ui.limit = o->seq;
	ui_sync(&ui);
	struct subject on = { .action = o->action };
	const struct model_action *act = model_action(&s->model, o->action);
	on.agent = act ? act->agent : s->model.nr_agents > 0 ? s->model.agent[0].id : 0;
	if (o->view && strcmp(o->view, "fleet") != 0)
		ui_open(&ui, o->view, &on);
	ui_draw(&ui);
	term_text(&ui.grid, to);
	ui_release(&ui);
	close_all(src, nr);
	return 0;
}
