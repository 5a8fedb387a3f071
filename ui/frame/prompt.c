#include "ui/frame/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "ui/frame/finder.h"

void prompt_clear(struct prompt *p)
{
	free(p->label);
	free(p->keys);
	free(p->draft);
	buf_release(&p->text);
	*p = (struct prompt){ 0 };
}

void prompt_ask(struct ui *ui, const char *label, const char *text, const struct prompt_ops *ops,
		const struct subject *on, void (*done)(struct ui *, const char *))
{
	prompt_clear(&ui->prompt);
	ui->prompt = (struct prompt){
		.active = true, .label = mem_strdup(label), .done = done, .on = *on, .ops = ops
	};
	buf_puts(&ui->prompt.text, text);
	ui->prompt.at = ui->prompt.text.len;
	if (ops && ops->changed)
		ops->changed(ui);
}

void ui_ask(struct ui *ui, const char *label, const struct subject *on,
	    void (*done)(struct ui *, const char *))
{
	prompt_ask(ui, label, "", NULL, on, done);
}

void ui_choose(struct ui *ui, const char *label, const char *keys, const struct subject *on,
	       void (*done)(struct ui *, const char *))
{
	ui_ask(ui, label, on, done);
	ui->prompt.choice = true;
	ui->prompt.keys = mem_strdup(keys);
}

void prompt_sure(struct ui *ui, const char *label, const char *keys, const struct subject *on,
		 void (*done)(struct ui *, const char *))
{
	ui_choose(ui, label, keys, on, done);
	ui->prompt.dead_until_us = ui->mono_us + ui->dead_us;
	ui->flush = true;
}

/* The prompt is closed before its callback, which may open the next. */
static void prompt_end(struct ui *ui, const char *text)
{
	struct prompt *p = &ui->prompt;
	void (*done)(struct ui *, const char *) = p->done;
	CLEANUP(free_ptr) char *copy = text ? mem_strdup(text) : NULL;
	if (text && *text && p->ops && p->ops->history)
		history_add(ui, p->ops->history, text);
	p->active = false;
	done(ui, copy);
	if (!p->active)
		prompt_clear(p);
}

/* --- a text in the editor --------------------------------------------------------------------- */

static void text_edited(struct ui *ui, const char *text)
{
	struct prompt *p = &ui->prompt;
	if (!p->away)
		return;
	p->active = true; /* as it was, with what came back: Enter takes it */
	p->away = false;
	if (text)
		prompt_set(ui, text);
}

static bool to_editor(struct ui *ui, uint32_t key)
{
	struct prompt *p = &ui->prompt;
	if (key != K_CTRL('e') || p->ops || p->choice || p->by_hand || p->at != p->text.len)
		return false;
	free(ui->edit);
	ui->edit = mem_strdup(buf_cstr(&p->text));
	ui->edited = text_edited;
	p->active = false;
	p->away = true;
	return true;
}

void prompt_hint(const struct ui *ui, struct area a, int row)
{
	const struct prompt *p = &ui->prompt;
	if (p->ops && p->ops->hint)
		p->ops->hint(ui, a, row);
	else if (p->choice || p->by_hand)
		grid_put(a, row, 1, ROLE_DIM,
			 p->choice ? "Esc cancels" : "Enter takes it  Esc cancels");
	else
		grid_put(
			a, row, 1, ROLE_DIM,
			p->ops ? "Enter takes it  Esc cancels  Ctrl-u empties it"
			       : "Enter takes it  Esc cancels  Ctrl-e opens $EDITOR  Ctrl-u empties it");
}

/* --- editing ---------------------------------------------------------------------------------- */

static size_t left_of(const struct buf *b, size_t at)
{
	while (at > 0 && ((unsigned char)b->data[at - 1] & 0xc0) == 0x80)
		at--;
	return at > 0 ? at - 1 : 0;
}

static size_t right_of(const struct buf *b, size_t at)
{
	at += at < b->len;
	while (at < b->len && ((unsigned char)b->data[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static size_t word_left(const struct buf *b, size_t at)
{
	while (at > 0 && b->data[at - 1] == ' ')
		at--;
	while (at > 0 && b->data[at - 1] != ' ')
		at--;
	return at;
}

static void ui_prompt_cut(struct prompt *p, size_t from, size_t to)
{
	if (to <= from)
		return;
	memmove(p->text.data + from, p->text.data + to, p->text.len - to + 1);
	p->text.len -= to - from;
	p->at = from;
}

static void ui_prompt_insert(struct prompt *p, const char *bytes, size_t len)
{
	buf_append(&p->text, bytes, len);
	memmove(p->text.data + p->at + len, p->text.data + p->at, p->text.len - len - p->at);
	memcpy(p->text.data + p->at, bytes, len);
	p->at += len;
}

void prompt_replace(struct ui *ui, size_t from, const char *with)
{
	struct prompt *p = &ui->prompt;
	if (p->text.len > 0)
		ui_prompt_cut(p, from, p->at);
	ui_prompt_insert(p, with, strlen(with));
}

void prompt_set(struct ui *ui, const char *text)
{
	struct prompt *p = &ui->prompt;
	buf_reset(&p->text);
	buf_puts(&p->text, text);
	p->at = p->text.len;
	if (p->ops && p->ops->changed)
		p->ops->changed(ui);
}

static void ui_prompt_recall(struct ui *ui, int by)
{
	struct prompt *p = &ui->prompt;
	if (!p->ops || !p->ops->history)
		return;
	if (p->recalled == 0) {
		free(p->draft);
		p->draft = mem_strdup(buf_cstr(&p->text));
	}
	size_t to = by > 0 ? p->recalled + 1 : p->recalled > 0 ? p->recalled - 1 : 0;
	const char *text = to == 0 ? p->draft : history_get(ui, p->ops->history, to);
	if (!text || to == p->recalled)
		return;
	p->recalled = to;
	prompt_set(ui, text);
}

/* True if the text is another now. */
static bool edit_key(struct prompt *p, uint32_t key)
{
	struct buf *b = &p->text;
	size_t len = b->len;
	char bytes[4];
	switch (key) {
	case K_BACKSPACE:
	case 0x7f:
		ui_prompt_cut(p, b->len ? left_of(b, p->at) : 0, p->at);
		break;
	case K_DEL:
		ui_prompt_cut(p, p->at, b->len ? right_of(b, p->at) : 0);
		break;
	case K_CTRL('w'):
		ui_prompt_cut(p, b->len ? word_left(b, p->at) : 0, p->at);
		break;
	case K_CTRL('u'):
		ui_prompt_cut(p, 0, p->at);
		break;
	case K_CTRL('k'):
		ui_prompt_cut(p, p->at, b->len);
		break;
	case K_LEFT:
		p->at = b->len ? left_of(b, p->at) : 0;
		break;
	case K_RIGHT:
		p->at = b->len ? right_of(b, p->at) : 0;
		break;
	case K_HOME:
	case K_CTRL('a'):
		p->at = 0;
		break;
	case K_END:
	case K_CTRL('e'):
		p->at = b->len;
		break;
	default:
		if (key >= 0x20 && key < KEY_FIRST_)
			ui_prompt_insert(p, bytes, utf8_put(key, bytes));
		break;
	}
	return b->len != len;
}

void prompt_key(struct ui *ui, uint32_t key)
{
	struct prompt *p = &ui->prompt;
	char one[2] = { 0 };
	if (key != K_ESC && ui->mono_us < p->dead_until_us)
		return;
	if (p->ops && p->ops->key && p->ops->key(ui, key))
		return;
	if (to_editor(ui, key))
		return;
	if (key == K_CTRL('g') && keymap_is_emacs())
		key = K_ESC;
	if (key == K_ESC || key == K_CTRL('c') || key == K_F10) {
		prompt_end(ui, NULL);
	} else if (p->choice) {
		if (key < 0x80 && strchr(p->keys, (int)key)) {
			one[0] = (char)key;
			prompt_end(ui, one);
		}
	} else if (key == K_ENTER) {
		prompt_end(ui, buf_cstr(&p->text));
	} else if (key == K_UP || key == K_DOWN) {
		ui_prompt_recall(ui, key == K_UP ? 1 : -1);
	} else if (edit_key(p, key)) {
		p->recalled = 0;
		if (p->ops && p->ops->changed)
			p->ops->changed(ui);
	}
}

void prompt_pasted_control(struct ui *ui, uint32_t key)
{
	struct prompt *p = &ui->prompt;
	if (key == K_ENTER && !p->ops)
		ui_prompt_insert(p, "\n", 1);
	else if (key == K_ENTER || key == K_TAB)
		prompt_key(ui, ' ');
}

/* --- on the screen ---------------------------------------------------------------------------- */

static int ui_prompt_cells_of(const char *text, size_t len, bool ascii)
{
	CLEANUP(free_ptr) char *part = mem_strndup(text, len);
	return text_cells(part, ascii);
}

enum { TYPED_LEAST = 16 }; /* cells that a label leaves for the typed text */

/* The part around the cursor is shown when not all of it fits. */
void prompt_paint(const struct ui *ui, struct area a, int row)
{
	const struct prompt *p = &ui->prompt;
	const char *text = buf_cstr(&p->text);
	size_t from = 0, bad = 0, bad_len = 0;
	enum role role = ROLE_ERROR;
	bool tight = p->ops && p->label[0] && !p->label[1]; /* ":" and "/" stand at the text */
	int least = p->choice ? 1 : TYPED_LEAST;
	int col = put_bytes(a, row, 1, a.cols - 1 - least, ROLE_KEY, p->label, strlen(p->label),
			    0) +
		  !tight,
	    room = a.cols - col - 2;
	if (p->choice)
		return;
	while (from < p->at && ui_prompt_cells_of(text + from, p->at - from, a.g->ascii) > room)
		from = right_of(&p->text, from);
	bool part = p->ops && p->ops->part && p->ops->part(ui, &bad, &bad_len, &role) &&
		    bad >= from && bad < p->text.len;
	int start = col;
	col = put_bytes(a, row, col, room, ROLE_PROMPT, text + from, p->text.len - from, 0);
	if (part) {
		int at = start + ui_prompt_cells_of(text + from, bad - from, a.g->ascii);
		put_bytes(a, row, at, a.cols - at - 1, role, text + bad,
			  bad + bad_len > p->text.len ? p->text.len - bad : bad_len,
			  GLYPH_UNDERLINE);
	}
	a.g->cursor_row = row;
	a.g->cursor_col = start + ui_prompt_cells_of(text + from, p->at - from, a.g->ascii);
}
