/* A user's own shell in a box, and more money, time or steps for an agent: from a screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ui/frame/ui.h"
#include "ui/views/approve.h"

static void shell_chosen(struct ui *ui, const char *key)
{
	const struct source *s = ui_source(ui, ui->prompt.on.source);
	const struct model_box *box = s ? model_box(&s->model, ui->prompt.on.action) : NULL;
	if (!key || *key != 'y' || !box)
		return;
	ui->wish = WISH_SHELL;
	buf_reset(&ui->wish_text);
	buf_printf(&ui->wish_text, "%s %s", s->model.id, box->name);
}

void ui_shell(struct ui *ui, size_t source, const struct model_box *box)
{
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	const struct source *s = ui_source(ui, source);
	if (!ui_may_act(ui, source) || !s)
		ui_say(ui, ROLE_DIM, "read only: a shell needs a running session");
	else if (!box || box->closed || !box->ready)
		ui_say(ui, ROLE_DIM, box ? "this sandbox is not open" : "it has no sandbox");
	else
		ui_choose(ui,
			  arena_printf(&ar, "open your own shell in sandbox %s?  (y/n)",
				       ui_short_name(ui, &ar, box->name)),
			  "yn", &(struct subject){ .source = source, .action = box->id },
			  shell_chosen);
}

bool ui_terminal(struct ui *ui, size_t source, uint64_t agent)
{
	const struct source *s = ui_source(ui, source);
	const struct model_agent *a = s ? model_agent(&s->model, agent) : NULL;
	if (!a || !a->interactive || a->ended || !ui_may_act(ui, source))
		return false;
	ui->wish = WISH_TERMINAL;
	buf_reset(&ui->wish_text);
	buf_printf(&ui->wish_text, "%s %llu", s->model.id, (unsigned long long)agent);
	return true;
}

static const struct model_action *newest_shell(const struct model *m, const char *box,
					       uint64_t since)
{
	for (size_t i = m->nr_actions; i > 0 && m->action[i - 1].id > since; i--) {
		const struct model_box *b = model_box(m, m->action[i - 1].box);
		if (strcmp(m->action[i - 1].kind, "shell") == 0 && b && strcmp(b->name, box) == 0)
			return &m->action[i - 1];
	}
	return NULL;
}

void ui_shell_ended(struct ui *ui, const char *session, const char *box, uint64_t since, int status)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct approval_info info;
	struct source *s = NULL;
	for (size_t i = 0; i < ui->nr_src && !s; i++)
		s = strcmp(session_id(ui->src[i]->session), session) == 0 ? ui->src[i] : NULL;
	if (s)
		source_sync(s, 0, 0);
	const struct model_action *act = s ? newest_shell(&s->model, box, since) : NULL;
	if (!act) {
		ui_say(ui, status ? ROLE_ERROR : ROLE_DIM,
		       status ? "no shell began in %s" : "the shell in %s has ended", box);
		return;
	}
	CLEANUP(json_release) json_t *ended = source_body(s, act->ended);
	const char *end = json_str(ended, "end", ""), *why = json_str(ended, "why", "");
	approval_load(&info, s, act->id, &a);
	if (strcmp(end, "denied") == 0)
		ui_say(ui, ROLE_WARN, "the shell in %s was %s", box,
		       info.decided ? info.decided : "denied");
	else if (json_object_get(ended, "code") && !*why)
		ui_say(ui, ROLE_DIM,
		       act->code ? "the shell in %s has ended, exit %d"
				 : "the shell in %s has ended",
		       box, act->code);
	else
		ui_say(ui, ROLE_ERROR, "the shell in %s %s%s%s%s", box,
		       *end ? "was lost: " : "continues without you", end, *why ? ", " : "", why);
}

static const struct {
	const char *name, *of, *example;
} agent_actions_kinds[] = {
	{ "usd", "dollars", "0.50" }, { "tokens", "tokens", "50000" }, { "time", "time", "20m" },
	{ "steps", "steps", "20" },   { "actions", "actions", "10" },
};

static size_t agent_actions_kind_of(const char *name)
{
	size_t i = 0;
	while (i < ARRAY_LEN(agent_actions_kinds) && strcmp(agent_actions_kinds[i].name, name) != 0)
		i++;
	return i;
}

static bool is_amount(size_t kind, const char *value)
{
	int64_t us;
	if (kind == 0 && value[strspn(value, "0123456789.")])
		return false;
	if (kind == 0 || strcmp(agent_actions_kinds[kind].name, "time") == 0)
		return clock_parse_span(value, &us) && us > 0;
	return strlen(value) < 19 && value[strspn(value, "0123456789")] == 0 &&
	       value[strspn(value, "0")] != 0;
}

/* "usd=1 time=20m", or an amount alone: of @alone. NULL: it is not that, and @wrong is what it is
 * none of (names, or a kind). */
static json_t *more_of(const char *text, const char *alone, size_t *wrong)
{
	json_t *opts = json_object();
	CLEANUP(free_ptr) char *copy = mem_strdup(text);
	char *save = NULL;
	for (char *w = strtok_r(copy, " ,", &save); w && opts; w = strtok_r(NULL, " ,", &save)) {
		char *eq = strchr(w, '=');
		const char *value = eq ? eq + 1 : w + (*w == '$');
		if (eq)
			*eq = 0;
		size_t k = *wrong = agent_actions_kind_of(eq ? w : alone);
		if (k < ARRAY_LEN(agent_actions_kinds) && is_amount(k, value)) {
			json_put_str(opts, agent_actions_kinds[k].name, value);
		} else {
			json_decref(opts);
			opts = NULL;
		}
	}
	return opts;
}

/* What is used up of the budget that @on works under, as an option of the command; @session: it is
 * the session's. */
static const char *agent_actions_used_up(const struct source *s, const struct model_agent *a,
					 bool *session)
{
	static const char *const names[][2] = { { "uusd", "usd" }, { "time_us", "time" } };
	*session = s->model.used_up != NULL || !a || a->script;
	const char *what = s->model.used_up ? s->model.used_up : a ? a->used_up : NULL;
	for (size_t i = 0; i < ARRAY_LEN(names) && what; i++)
		if (strcmp(what, names[i][0]) == 0)
			return names[i][1];
	return what;
}

static void more_said(struct ui *ui, const char *text)
{
	const struct subject on = ui->prompt.on;
	const struct source *s = ui_source(ui, on.source);
	const struct model_agent *a = s ? model_agent(&s->model, on.agent) : NULL;
	if (!text || !*text || !s)
		return;
	bool session;
	const char *what = agent_actions_used_up(s, a, &session);
	size_t wrong = ARRAY_LEN(agent_actions_kinds);
	json_t *opts = more_of(text, what ? what : "usd", &wrong);
	if (!opts && wrong < ARRAY_LEN(agent_actions_kinds))
		ui_say(ui, ROLE_ERROR, "expected an amount of %s, like %s or %s=%s",
		       agent_actions_kinds[wrong].of, agent_actions_kinds[wrong].example,
		       agent_actions_kinds[wrong].name, agent_actions_kinds[wrong].example);
	else if (!opts)
		ui_say(ui, ROLE_ERROR,
		       "not understood: usd=1 time=20m tokens=50000 steps=20 actions=10");
	if (!opts)
		return;
	ui_send(ui, on.source, (const char *[]){ "budget", session ? NULL : a->name, NULL }, opts);
}

void ui_more_budget(struct ui *ui, const struct subject *on)
{
	const struct source *s = ui_source(ui, on->source);
	const struct model_agent *a = s ? model_agent(&s->model, on->agent) : NULL;
	bool session;
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	const char *label;
	if (!s)
		return;
	const char *what = agent_actions_used_up(s, a, &session),
		   *whose = session ? "the session" : ui_short_name(ui, &ar, a->name);
	if (what)
		label = arena_printf(
			&ar, "%s has used up its %s; how much more? (as %s):", whose,
			agent_actions_kind_of(what) < ARRAY_LEN(agent_actions_kinds)
				? agent_actions_kinds[agent_actions_kind_of(what)].of
				: what,
			agent_actions_kind_of(what) < ARRAY_LEN(agent_actions_kinds)
				? agent_actions_kinds[agent_actions_kind_of(what)].example
				: "20");
	else
		label = arena_printf(
			&ar,
			"more for %s (usd=1 time=20m tokens=50000 steps=20 actions=10):", whose);
	ui_ask(ui, label, on, more_said);
}
