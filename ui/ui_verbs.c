/* The default meaning of verbs if the view has none of its own; the ":" line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/finder.h"
#include "ui/frame/transport.h"
#include "ui/views/repeat.h"

static const struct model_agent *agent_on(const struct ui *ui, const struct subject *on)
{
	const struct source *s = ui_source(ui, on->source);
	return s ? model_agent(&s->model, on->agent) : NULL;
}

static void ui_verbs_send1(struct ui *ui, const struct subject *on, const char *word,
			   const char *arg)
{
	const char *words[] = { word, arg, NULL };
	ui_send(ui, on->source, words, NULL);
}

static void ui_verbs_kill_chosen(struct ui *ui, const char *key)
{
	const struct subject on = ui->prompt.on;
	const struct model_agent *a = agent_on(ui, &on);
	char id[32];
	if (!key)
		return;
	if (*key == '1' && a && a->current) {
		/* an agent may be called like the number */
		snprintf(id, sizeof(id), "#%" PRIu64, a->current);
		ui_verbs_send1(ui, &on, "kill", id);
	} else if (*key == '2' && a) {
		ui_verbs_send1(ui, &on, "kill", a->name);
	} else if (*key == '3') {
		ui_verbs_send1(ui, &on, "stop", NULL);
	}
}

static void ask_kill(struct ui *ui, const struct subject *on)
{
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	const struct model_agent *a = agent_on(ui, on);
	char label[400];
	if (!a)
		return;
	const char *name = ui_short_name(ui, &ar, a->name);
	if (a->current)
		snprintf(label, sizeof(label),
			 "kill: 1 action #%" PRIu64
			 "  2 agent %s  3 the whole session   Esc nothing",
			 a->current, name);
	else
		snprintf(label, sizeof(label),
			 "kill: 2 agent %s  3 the whole session   Esc nothing", name);
	if (a->script)
		snprintf(label, sizeof(label), "kill: %s3 the whole session   Esc nothing",
			 a->current ? "1 the action  " : "");
	ui_choose(ui, label,
		  a->script    ? (a->current ? "13" : "3")
		  : a->current ? "123"
			       : "23",
		  on, ui_verbs_kill_chosen);
}

static void ui_verbs_said(struct ui *ui, const char *text)
{
	const struct subject on = ui->prompt.on;
	const struct model_agent *a = agent_on(ui, &on);
	if (!text || !*text || !a)
		return;
	const char *words[] = { "say", a->name, text, NULL };
	ui_send(ui, on.source, words, NULL);
}

static void ask_say(struct ui *ui, const struct subject *on)
{
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	const struct model_agent *a = agent_on(ui, on);
	if (!a || a->script) {
		ui_say(ui, ROLE_DIM, "a message needs an agent");
		return;
	}
	ui_ask(ui, arena_printf(&ar, "to %s:", ui_short_name(ui, &ar, a->name)), on, ui_verbs_said);
}

static void rolled_back(struct ui *ui, const char *key)
{
	const struct subject on = ui->prompt.on;
	const struct source *s = ui_source(ui, on.source);
	const struct model_action *act = s ? model_action(&s->model, on.action) : NULL;
	const struct model_box *b = act ? model_box(&s->model, act->box) : NULL;
	char id[32];
	if (!b || !key || !strchr("yt", *key))
		return;
	json_t *opts = json_object();
	json_put_str(opts, "box", b->name);
	if (*key == 't')
		json_put_flag(opts, "tell", true);
	snprintf(id, sizeof(id), "%" PRIu64,
		 act->snapshot ? act->snapshot
		 : act->ended  ? act->ended
			       : act->id);
	ui_send(ui, on.source, (const char *[]){ "rollback", id, NULL }, opts);
}

/* Files come back; what left the box does not. */
static void ask_rollback(struct ui *ui, const struct subject *on)
{
	const struct source *s = ui_source(ui, on->source);
	const struct model_action *act = s ? model_action(&s->model, on->action) : NULL;
	const struct model_box *b = act ? model_box(&s->model, act->box) : NULL;
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	size_t out = 0;
	if (!b || act->state != ACT_OVER) {
		ui_say(ui, ROLE_DIM, "choose an action of a sandbox that has ended");
		return;
	}
	for (size_t i = 0; i < s->model.nr_actions; i++) {
		const struct model_action *later = &s->model.action[i];
		out += later->id > act->id && later->box == b->id && later->started &&
		       (strcmp(later->kind, "connect") == 0 || strcmp(later->kind, "merge") == 0);
	}
	const char *label = arena_printf(
		&ar, "files of %s back to after #%" PRIu64 "%s?  y yes  t and tell the agent  n no",
		ui_short_name(ui, &ar, b->name), act->id,
		out ? "; effects outside the sandbox since then can't be undone" : "");
	ui_choose(ui, label, "ytn", on, rolled_back);
}

/* The new session is begun from a shell: it may want a terminal, keys, another directory. */
static void put_fork(const struct ui *ui, const struct subject *on, struct buf *out)
{
	buf_printf(out, "sandglass fork %s#%" PRIu64, ui->src[on->source]->model.id, on->until);
}

static void fork_copied(struct ui *ui, const char *key)
{
	const struct subject on = ui->prompt.on;
	if (!key || !ui_source(ui, on.source))
		return;
	ui->wish = WISH_COPY;
	buf_reset(&ui->wish_text);
	put_fork(ui, &on, &ui->wish_text);
}

/* After the action under the cursor; of a record: after where its cursor is. */
static void ask_fork(struct ui *ui, const struct subject *on)
{
	const struct source *s = ui_source(ui, on->source);
	const struct model_action *act = s ? model_action(&s->model, on->action) : NULL;
	CLEANUP(buf_release) struct buf label = BUF_INIT;
	struct subject at = *on;
	if (!s || !s->model.id)
		return;
	if (ui->replay && on->source == 0)
		at.until = transport_cursor(ui);
	else if (act && act->state == ACT_WAITS)
		at.until = act->id - 1; /* the new session comes to it anew */
	else
		at.until = !act					      ? on->action
			   : act->ended && act->snapshot > act->ended ? act->snapshot
								      : act->ended;
	if (!at.until) {
		ui_say(ui, ROLE_DIM,
		       "choose a finished action: a new session continues from there");
		return;
	}
	buf_puts(&label, "y copies: ");
	put_fork(ui, &at, &label);
	buf_puts(&label, "  (continues from there in a new session)");
	ui_choose(ui, buf_cstr(&label), "y", &at, fork_copied);
}

static void pause_agent(struct ui *ui, const struct subject *on)
{
	const struct model_agent *a = agent_on(ui, on);
	if (a)
		ui_verbs_send1(ui, on, a->paused ? "continue" : "pause",
			       a->script ? NULL : a->name);
}

static void send_for_agent(struct ui *ui, const struct subject *on, const char *word)
{
	const struct model_agent *a = agent_on(ui, on);
	if (a)
		ui_verbs_send1(ui, on, word, a->script ? NULL : a->name);
}

/* Opens a question of the script: of the selected agent, else the first. */
static bool open_question(struct ui *ui, const struct subject *on)
{
	const struct model_agent *a = agent_on(ui, on);
	struct subject to = { .source = on->source, .action = a ? a->ask : 0 };
	for (size_t i = 0; i < ui->nr_src && !to.action; i++) {
		const struct model *m = &ui->src[(on->source + i) % ui->nr_src]->model;
		to.source = (on->source + i) % ui->nr_src;
		to.action = m->nr_asks ? m->ask[0].seq : 0;
	}
	if (to.action)
		ui_open(ui, "question", &to);
	return to.action != 0;
}

/* Held actions first; with none held, what the user is looking at. */
static void open_approval(struct ui *ui, const struct subject *on)
{
	const struct model_agent *at = agent_on(ui, on);
	struct subject to = *on;
	if (at && at->ask && !at->held && open_question(ui, on))
		return;
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[(on->source + i) % ui->nr_src]->model;
		const struct model_agent *a = i == 0 ? agent_on(ui, on) : NULL;
		for (size_t k = 0; k < m->nr_held; k++) {
			const struct model_action *act = model_action(m, m->held[k]);
			if (a && a->held && act && act->agent != a->id)
				continue;
			to.source = (on->source + i) % ui->nr_src;
			to.action = m->held[k];
			ui_open(ui, "approval", &to);
			return;
		}
	}
	if (!open_question(ui, on))
		ui_say(ui, ROLE_DIM, "no approval is pending");
}

static bool view_verb(struct ui *ui, enum verb v, const struct subject *on)
{
	switch ((int)v) {
	case VERB_OUTPUT:
	case VERB_TALK:
	case VERB_DETAILS:
	case VERB_AGENT:
	case VERB_OPEN:
		if (!on->agent)
			return false;
		ui_open(ui, "agent", on);
		if (v == VERB_DETAILS && on->action) /* of this event, not of the newest */
			ui_top(ui)->ops->go(ui_top(ui)->self, ui, on->action);
		if (v != VERB_OPEN && v != VERB_AGENT)
			ui_do(ui, v);
		return true;
	case VERB_DIFF:
	case VERB_TREE:
	case VERB_COMPARE:
	case VERB_QUEUE:
	case VERB_LOG:
	case VERB_BOXES:
	case VERB_JOBS:
	case VERB_HANDOVER:
	case VERB_CLAIMS:
	case VERB_VERIFY:
	case VERB_HELP:
		ui_open(ui, verb_name(v), on);
		return true;
	case VERB_FLEET:
		while (ui->depth > 1)
			ui_back(ui);
		return true;
	case VERB_SESSIONS:
		if (ui->browse)
			ui_open(ui, "sessions", on);
		else
			ui_say(ui, ROLE_DIM, "'sandglass' lists all sessions");
		return true;
	case VERB_DIFFTOOL: /* of one file, and it is there that one is chosen */
		ui_open(ui, "diff", on);
		ui_say(ui, ROLE_DIM, "] goes to the file, Ctrl-t again opens it in your diff.tool");
		return true;
	case VERB_APPROVE:
		open_approval(ui, on);
		return true;
	case VERB_BACK:
	case VERB_LAST_VIEW:
	case VERB_LATER:
		if (ui->depth > 1)
			ui_back(ui);
		else if (v == VERB_BACK)
			ui_leave(ui, on);
		return true;
	default:
		return false;
	}
}

bool ui_common_verb(struct ui *ui, enum verb v, const struct subject *on)
{
	if (transport_verb(ui, v, on) || finder_verb(ui, v, on) || view_verb(ui, v, on) ||
	    ui_copy_verb(ui, v, on))
		return true;
	switch ((int)v) {
	case VERB_QUIT:
		ui_leave_how(ui, on);
		return true;
	case VERB_LINE:
		cmdline_ask(ui, "");
		return true;
	case VERB_MOUSE:
		ui_set(ui, ui->no_mouse ? "mouse" : "nomouse");
		return true;
	case VERB_REDRAW:
		ui->redraw = true;
		return true;
	case VERB_PAUSE:
		pause_agent(ui, on);
		return true;
	case VERB_REPEAT:
		repeat_ask(ui, on);
		return true;
	case VERB_UNDO:
		ui_verbs_send1(ui, on, "undo", NULL);
		return true;
	case VERB_REPEAT_APPLY:
		repeat_apply_ask(ui, on);
		return true;
	case VERB_ROLLBACK:
		ask_rollback(ui, on);
		return true;
	case VERB_FORK:
		ask_fork(ui, on);
		return true;
	case VERB_ZOOM:
		ui_say(ui, ROLE_DIM, "this screen has one pane");
		return true;
	case VERB_PAUSE_ALL:
		ui_pause_all(ui);
		return true;
	case VERB_STEP:
	case VERB_CONTINUE:
		send_for_agent(ui, on, verb_name(v));
		return true;
	case VERB_FREEZE:
		ui_freeze_all(ui);
		return true;
	case VERB_KILL:
		ask_kill(ui, on);
		return true;
	case VERB_SHELL: {
		const struct model_agent *who = agent_on(ui, on);
		const struct model_box *b =
			who ? model_box(&ui->src[on->source]->model, who->box) : NULL;
		ui_shell(ui, on->source, b);
		return true;
	}
	case VERB_BUDGET:
		ui_more_budget(ui, on);
		return true;
	case VERB_SAY:
		ask_say(ui, on);
		return true;
	default:
		return false;
	}
}
