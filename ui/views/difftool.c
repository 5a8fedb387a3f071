#include "ui/views/difftool.h"

#include <string.h>

#include "ui/frame/suspend_screen.h"

void difftool_wish(struct ui *ui, struct source *s, const struct change *c)
{
	CLEANUP(buf_release) struct buf old = BUF_INIT, now = BUF_INIT;
	if (!s || !change_contents(s, c, &old, &now)) {
		ui_say(ui, ROLE_DIM,
		       "can't compare: the recording lacks contents of this file, or they exceed 64 MB");
		return;
	}
	const char *name = strrchr(c->path, '/');
	buf_reset(&ui->wish_text);
	compare_text(name ? name + 1 : c->path, &old, &now, &ui->wish_text);
	ui->wish = WISH_COMPARE;
}
