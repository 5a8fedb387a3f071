#include "ui/views/approval_inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void approval_send(struct approval *v, struct ui *ui, const char *word, json_t *opts)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, v->action);
	const char *words[] = { word, id, NULL };
	if (*v->info.intent)
		json_put_str(opts, "intent", v->info.intent);
	v->sent = ui_send(ui, v->source, words, opts);
}

static struct approval *on_top(struct ui *ui)
{
	struct view *top = ui_top(ui);
	struct approval *v = top->self;
	return strcmp(top->ops->name, "approval") == 0 && v->action == ui->prompt.on.action ? v : NULL;
}

static void denied(struct ui *ui, const char *text)
{
	struct approval *v = on_top(ui);
	json_t *opts;
	if (!v || !text)
		return;
	opts = json_object();
	if (*text)
		json_put_str(opts, "message", text);
	approval_send(v, ui, "deny", opts);
}

static void kill_chosen(struct ui *ui, const char *key)
{
	struct approval *v = on_top(ui);
	json_t *opts;
	if (!v || !key || *key != 'y')
		return;
	opts = json_object();
	json_put_flag(opts, "kill", true);
	approval_send(v, ui, "deny", opts);
}

static void edited(struct ui *ui, const char *text)
{
	struct view *top = ui_top(ui);
	struct approval *v = top->self;
	if (strcmp(top->ops->name, "approval") != 0 || !v->info.command)
		return;
	if (!text || strcmp(text, v->info.command) == 0) {
		ui_say(ui, ROLE_DIM, "nothing was changed; it is still held");
		approval_arm(v, ui);
		return;
	}
	json_t *opts = json_object();
	json_put_str(opts, "cmd", text);
	approval_send(v, ui, "approve", opts);
}

static void yes(struct approval *v, struct ui *ui)
{
	if (v->info.high && !v->armed) {
		v->armed = true;
		ui_say(ui, ROLE_HELD, "the risk is high: y once more approves #%" PRIu64, v->action);
		return;
	}
	v->armed = false;
	approval_send(v, ui, "approve", json_object());
}

void approval_try(struct approval *v, struct ui *ui)
{
	char id[32];
	snprintf(id, sizeof(id), "%" PRIu64, v->action);
	const char *words[] = { "preview", id, NULL };
	if (v->info.trying)
		ui_say(ui, ROLE_DIM, "it is being tried already");
	else if (v->info.act && !v->info.decided)
		ui_send(ui, v->source, words, NULL);
}

static void promote(struct approval *v, struct ui *ui)
{
	if (v->info.high && !v->sure) {
		v->sure = true;
		ui_say(ui, ROLE_HELD, "the risk is high: m once more makes what #%" PRIu64 " would do so", v->action);
		return;
	}
	v->sure = false;
	approval_send(v, ui, "promote", json_object());
}

bool approval_decide(struct approval *v, struct ui *ui, enum verb verb)
{
	const struct subject on = { .source = v->source, .action = v->action };
	if (verb != VERB_YES)
		v->armed = false;
	if (verb != VERB_PROMOTE)
		v->sure = false;
	switch ((int)verb) {
	case VERB_PROMOTE:
		promote(v, ui);
		return true;
	case VERB_YES:
		yes(v, ui);
		return true;
	case VERB_YES_SESSION:
		v->widening = true;
		v->pattern = 0;
		return true;
	case VERB_EDIT:
		free(ui->edit);
		ui->edit = xstrdup(v->info.command);
		ui->edited = edited;
		return true;
	case VERB_NO:
		ui_ask(ui, "deny, and tell the agent (may be empty):", &on, denied);
		return true;
	case VERB_NO_PAUSE: {
		json_t *opts = json_object();
		json_put_flag(opts, "pause", true);
		approval_send(v, ui, "deny", opts);
		return true;
	}
	case VERB_NO_KILL:
		ui_choose(ui, "deny and end this agent?  (y/n)", "yn", &on, kill_chosen);
		return true;
	default:
		return false;
	}
}
