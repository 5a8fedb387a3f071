/* A person's own shell in a box, from a screen. */
#include "ui/ui.h"

void ui_shell(struct ui *ui, size_t source, const struct model_box *box)
{
	const struct source *s = ui_source(ui, source);
	if (!ui_may_act(ui, source) || !s) {
		ui_say(ui, ROLE_DIM, "read only: a shell needs a running session");
	} else if (!box || box->closed || !box->ready) {
		ui_say(ui, ROLE_DIM, box ? "this box is not open" : "it has no box");
	} else {
		ui->wish = WISH_SHELL;
		buf_reset(&ui->wish_text);
		buf_printf(&ui->wish_text, "%s %s", s->model.id, box->name);
	}
}
