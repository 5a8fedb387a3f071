/* Taking along what a screen shows: clipboard, plain screen, pager, editor, file. All of it is
 * sanitized text: an escape of an agent must not reach a shell through the clipboard either. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/paths.h"
#include "ui/frame/select.h"
#include "ui/term/fmt.h"
#include "ui/frame/ui.h"

enum { OUTPUT_MAX = 1 << 20 };

/* For a view without its own text: the text on the screen, without the lines at the bottom. */
static void screen_text(struct ui *ui, struct buf *out)
{
	const struct grid *g = &ui->grid;
	ui_draw(ui);
	for (int row = 0; row < g->rows - ui_frame_rows(ui); row++) {
		size_t from = out->len;
		for (int col = 0; col < g->cols; col++) {
			const struct cell *c =
				&g->cell[(size_t)row * (size_t)g->cols + (size_t)col];
			if (c->width > 0)
				buf_append(out, c->s, c->len);
		}
		while (out->len > from && out->data[out->len - 1] == ' ')
			out->len--;
		buf_putc(out, '\n');
	}
}

static void pane_text(struct ui *ui, struct buf *out)
{
	const struct view *v = ui_top(ui);
	select_text(ui, out);
	if (out->len == 0 && v->ops->text)
		v->ops->text(v->self, ui, out);
	if (out->len == 0)
		screen_text(ui, out);
}

static void ui_copy_wish(struct ui *ui, enum ui_wish w, struct buf *text)
{
	buf_release(&ui->wish_text);
	ui->wish = w;
	ui->wish_text = *text;
	*text = BUF_INIT;
}

/* --- what "y" copies -------------------------------------------------------------------------- */

static void command_text(struct ui *ui, const struct subject *on, struct buf *out)
{
	struct source *s = ui_source(ui, on->source);
	CLEANUP(json_release) json_t *o = s ? source_body(s, on->action) : NULL;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	if (json_get_bytes(json_object_get(o, "cmd"), &b) && b.len > 0) {
		sanitize_text(b.data, b.len, 0, out);
		return;
	}
	json_get_argv(json_object_get(o, "argv"), &argv);
	fmt_argv(&argv, &b);
	sanitize_text(buf_cstr(&b), b.len, 0, out);
}

/* The end of each stream; the text itself names a beginning that is left out, or a stream that can't
 * be read. */
static void output_text(struct ui *ui, const struct subject *on, struct buf *out)
{
	struct source *s = ui_source(ui, on->source);
	const struct model_action *act = s ? model_action(&s->model, on->action) : NULL;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	for (int stream = 1; act && stream <= 3; stream++) {
		uint64_t size = session_output_size(s->session, on->action, stream),
			 from = size > OUTPUT_MAX ? size - OUTPUT_MAX : 0;
		struct err err = ERR_INIT;
		buf_reset(&b);
		if (size == 0)
			continue;
		if (from > 0)
			buf_printf(out,
				   "(%" PRIu64 " bytes before this: 'out %" PRIu64
				   "' prints all of it)\n",
				   from, on->action);
		if (session_output(s->session, on->action, stream, from, OUTPUT_MAX, &b, &err) == 0)
			sanitize_text(b.data, b.len, SANITIZE_RENDER, out);
		else
			buf_printf(out, "(%s)\n", err.text);
	}
}

static void path_text(struct ui *ui, const struct subject *on, struct buf *out)
{
	struct source *s = ui_source(ui, on->source);
	CLEANUP(json_release) json_t *o = s ? source_body(s, on->action) : NULL;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if ((json_get_bytes(json_object_get(o, "path"), &b) && b.len > 0) ||
	    (json_get_bytes(json_object_get(o, "cwd"), &b) && b.len > 0))
		sanitize_line(b.data, b.len, 0, out);
}

static void copy_chosen(struct ui *ui, const char *key)
{
	const struct subject on = ui->prompt.on;
	const struct source *s = ui_source(ui, on.source);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	switch (key ? *key : 0) {
	case 'c':
		command_text(ui, &on, &b);
		break;
	case 'o':
		output_text(ui, &on, &b);
		break;
	case 'p':
		path_text(ui, &on, &b);
		break;
	case 'l':
		if (s)
			buf_printf(&b, "%s#%" PRIu64, s->model.id,
				   on.action ? on.action : on.agent);
		break;
	case 's':
		pane_text(ui, &b);
		break;
	default:
		return;
	}
	if (b.len == 0)
		ui_say(ui, ROLE_DIM, "there is nothing of that here");
	else
		ui_copy_wish(ui, WISH_COPY, &b);
}

/* --- a file ----------------------------------------------------------------------------------- */

static void save_named(struct ui *ui, const char *typed)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!typed || !*typed)
		return;
	CLEANUP(free_ptr) char *name = path_typed(typed);
	CLEANUP(fd_close)
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		if (errno == EEXIST)
			ui_say(ui, ROLE_ERROR, "'%s' exists already; nothing is written", name);
		else
			ui_say(ui, ROLE_ERROR, "can't write '%s': %s", name, strerror(errno));
		return;
	}
	pane_text(ui, &b);
	if (fd_write_all(fd, buf_cstr(&b), b.len, &err) < 0)
		ui_say_error(ui, &err);
	else
		ui_say(ui, ROLE_DIM, "%zu bytes in '%s'", b.len, name);
}

bool ui_copy_verb(struct ui *ui, enum verb v, const struct subject *on)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	switch ((int)v) {
	case VERB_COPY:
		ui_choose(ui,
			  "copy: c command  o output  p path  l link  s this screen   Esc cancels",
			  "copls", on, copy_chosen);
		return true;
	case VERB_SAVE:
		ui_ask(ui, "write to:", on, save_named);
		return true;
	case VERB_PLAIN:
	case VERB_PAGER:
	case VERB_EDITOR:
		pane_text(ui, &b);
		ui_copy_wish(ui,
			     v == VERB_PLAIN   ? WISH_PLAIN
			     : v == VERB_PAGER ? WISH_PAGE
					       : WISH_LOOK,
			     &b);
		return true;
	default:
		return false;
	}
}
