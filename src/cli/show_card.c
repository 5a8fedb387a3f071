/* Cards of actions on the command line: the lines that the approval screen shows. */
#include "cli/show.h"

#include "cli/lib/cmd_priv.h"
#include "base/mem.h"
#include "ui/model/source.h"
#include "ui/views/merge_card.h"

enum { CARD_WIDTH = 100 };

bool show_card(struct cmd_ctx *ctx, const char *path, uint64_t action)
{
	struct source *s;
	struct err err = ERR_INIT;
	struct text text = { 0 };
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(buf_release) struct buf lines = BUF_INIT;
	if (source_open(&s, path, &err) < 0)
		return false;
	text_init(&text, &arena, CARD_WIDTH, 2, false);
	bool is = source_sync(s, 0, 0) >= 0 && action_card(&text, s, action);
	if (is) {
		text_plain(&text, true, &lines);
		cmd_print_safe(ctx->out, buf_cstr(&lines), lines.len, true);
	}
	source_close(&s);
	return is;
}
