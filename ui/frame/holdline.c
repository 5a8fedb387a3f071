/* Part of filterline.c: the line for breakpoints, which are filters, too. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ui/frame/finder_priv.h"
#include "ui/model/facts.h"

/* --- holds are filters, too ------------------------------------------------------------------- */

static void hold_changed(struct ui *ui)
{
	struct finder *f = ui->find;
	filterline_changed(ui);
	if (f->draft[0] && filter_known_before(pick_filter(f->draft[0]), &f->wrong) < 0)
		f->wrong_column = 1;
}

static void hold_hint(const struct ui *ui, struct area a, int row)
{
	hint_saying(ui, a, row,
		    ui->prompt.text.len
			    ? "Enter sets the breakpoint  Esc cancels  Up history  Ctrl-t SQL"
			    : "Enter removes the breakpoint  Esc cancels");
}

static const struct prompt_ops hold_ops = {
	.history = 'f',
	.key = filterline_key,
	.changed = hold_changed,
	.hint = hold_hint,
	.part = filterline_part,
};

static void hold_done(struct ui *ui, const char *text)
{
	const struct subject on = ui->prompt.on;
	ui->stale = true;
	filterline_drop(ui->find->draft);
	choices_clear(ui->find);
	ui->find->wrong_column = 0;
	if (!text)
		return;
	if (*text) {
		ui_send(ui, on.source, (const char *[]){ "hold", text, NULL }, NULL);
	} else {
		json_t *opts = json_object();
		json_put_flag(opts, "clear", true);
		ui_send(ui, on.source, (const char *[]){ "hold", NULL }, opts);
	}
}

void hold_ask(struct ui *ui)
{
	struct subject on = { 0 };
	struct view *top = ui_top(ui);
	if (top->ops->subject)
		top->ops->subject(top->self, ui, &on);
	const struct source *s = ui_source(ui, on.source);
	prompt_ask(ui, "hold:", s && s->model.hold ? s->model.hold : "", &hold_ops, &on, hold_done);
}

/* Nothing in it that the language, a glob or a shell takes apart. */
static bool filterline_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("_./+-@", text[i]))
			return false;
	return len > 0;
}

/* By its first word, and the second where that is a word of the program's ("git push"). */
static void like_command(const char *cmd, struct buf *out)
{
	size_t end = strcspn(cmd, " ");
	if (!filterline_plain(cmd, end))
		return;
	size_t second = cmd[end] ? strcspn(cmd + end + 1, " ") : 0;
	if (filterline_plain(cmd + end + 1, second) && isalpha((unsigned char)cmd[end + 1]) &&
	    !memchr(cmd + end + 1, '/', second))
		end += 1 + second;
	buf_printf(out, " cmd:\"%.*s%s\"", (int)end, cmd, cmd[end] ? " *" : "*");
}

static void filterline_like(struct source *s, const struct model_action *act, struct buf *out)
{
	static const char *const fields[] = { "path", "host", "tool" };
	CLEANUP(json_release) json_t *row = facts_row(s, act->id);
	buf_printf(out, "kind:%s", act->kind);
	const size_t bare = out->len; /* the tool is needed if no other field identifies it */
	like_command(json_str(row, "cmd", ""), out);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const char *value = json_str(row, fields[i], "");
		if (filterline_plain(value, strlen(value)) &&
		    (strcmp(fields[i], "tool") != 0 || out->len == bare))
			buf_printf(out, " %s:\"%s\"", fields[i], value);
	}
}

void hold_like(struct ui *ui, const struct subject *on)
{
	struct source *s = ui_source(ui, on->source);
	const struct model_action *act = s ? model_action(&s->model, on->action) : NULL;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!act) {
		ui_say(ui, ROLE_DIM, "choose an action: a breakpoint on similar ones is set");
		return;
	}
	if (s->model.hold && *s->model.hold)
		buf_printf(&text, "%s or ", s->model.hold);
	filterline_like(s, act, &text);
	prompt_ask(ui, "hold:", buf_cstr(&text), &hold_ops, on, hold_done);
}

void hold_toggle(struct ui *ui)
{
	struct subject on = { 0 };
	struct view *top = ui_top(ui);
	json_t *opts = json_object();
	if (top->ops->subject)
		top->ops->subject(top->self, ui, &on);
	const struct source *s = ui_source(ui, on.source);
	json_put_flag(opts, s && s->model.hold && *s->model.hold ? "off" : "on", true);
	ui_send(ui, on.source, (const char *[]){ "hold", NULL }, opts);
}
