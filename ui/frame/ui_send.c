/* Part of ui.c: a command to the supervisor, and what the status line says of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/frame/ui.h"
#include "ui/term/fmt.h"

/* Of a rollback or an undo. */
static void say_back(struct ui *ui, const json_t *result)
{
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	int64_t to = json_int(result, "to", 0), of = json_int(result, "of", 0);
	const char *n = fmt_plural(&ar, json_int(result, "changes", 0), "change", "changes");
	if (to)
		ui_say(ui, ROLE_TEXT, "files are as they were at #%" PRId64 ": %s", to, n);
	else if (of)
		ui_say(ui, ROLE_TEXT, "undid #%" PRId64 ": %s", of, n);
}

void ui_say_error(struct ui *ui, const struct err *err)
{
	ui_say(ui, ROLE_ERROR, "%s%s%s", err->text, *err->hint ? ". " : "", err->hint);
}

static void ui_sent(void *self, const json_t *result, const struct err *err)
{
	struct ui *ui = self;
	const char *text = json_str(result, "text", NULL), *hold = json_str(result, "hold", NULL);
	if (err)
		ui_say_error(ui, err);
	else if (hold)
		ui_say(ui, ROLE_TEXT, *hold ? "breakpoint set: %s" : "the breakpoint is removed",
		       hold);
	else if (text)
		ui_say(ui, ROLE_TEXT, "%s", text);
	else if (json_object_get(result, "changes") && !json_object_get(result, "again"))
		say_back(ui, result);
}

/* True for an action that only a decision continues; an action at a breakpoint continues with
 * its agent. */
static bool wants_decision(struct source *s, const struct model_action *act)
{
	CLEANUP(json_release) json_t *o = source_body(s, act->held);
	const json_t *why = json_object_get(o, "reasons");
	for (size_t i = 0; i < json_array_size(why); i++) {
		const char *w = json_string_value(json_array_get(why, i));
		if (w &&
		    (strcmp(w, "ask") == 0 || strcmp(w, "budget") == 0 || strcmp(w, "price") == 0))
			return true;
	}
	return false;
}

/* The action that keeps @agent from going on whatever is continued; 0: none. */
static uint64_t waits_at(struct source *s, const char *agent)
{
	const struct model *m = &s->model;
	for (size_t i = 0; i < m->nr_agents; i++) {
		const struct model_action *act =
			strcmp(m->agent[i].name, agent) == 0 ? model_held(m, &m->agent[i]) : NULL;
		if (act && wants_decision(s, act))
			return act->id;
	}
	return 0;
}

static void say_deciding(struct ui *ui, const char *const *words, const json_t *o)
{
	const char *session = json_str(o, "session", NULL);
	const char *what = json_str(o, "rule", NULL)   ? "approved; a rule is added"
			   : json_object_get(o, "cmd") ? "approved as edited"
			   : session		       ? "approved, with later actions that match "
						       : "approved once";
	if (strcmp(words[0], "deny") == 0)
		what = json_str(o, "rule", NULL)      ? "denied; a rule is added"
		       : json_flag(o, "kill", false)  ? "denied; agent ends"
		       : json_flag(o, "pause", false) ? "denied; agent pauses: c continues it"
						      : "denied; agent continues";
	ui_say(ui, ROLE_DIM, "#%s %s%s", words[1], what,
	       session && strstr(what, "match ") ? session : "");
}

/* The status line until the answer arrives. */
static void say_sending(struct ui *ui, size_t source, const char *const *words, size_t nr,
			const json_t *opts)
{
	static const struct {
		const char *word, *of, *sign;
	} said[] = {
		{ "pause", "pauses before its next action", "" },
		{ "step", "does one action, then pauses", "" },
		{ "continue", "continues to the next breakpoint", "" },
		{ "say", "gets the message before its next model call", "" },
		{ "apply", "approved: the dry run's result is being applied", "#" },
		{ "defer", "still pending; the note is recorded", "#" },
		{ "answer", "answered", "#" },
		{ "dry-run", "dry run; its changes are discarded", "#" },
		{ "kill", "is being ended", "" },
	};
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	const struct source *s = ui_source(ui, source);
	const char *word = words[0], *whom = nr > 1 ? ui_short_name(ui, &ar, words[1]) : "";
	if (strcmp(word, "continue") == 0 && nr > 1 && s && s->model.paused_all) {
		ui_say(ui, ROLE_PAUSED,
		       "%s continues; all agents are still paused: P continues them", whom);
		return;
	}
	uint64_t at = strcmp(word, "continue") == 0 && nr > 1 && s
			      ? waits_at(ui->src[source], words[1])
			      : 0;
	if (at) {
		ui_say(ui, ROLE_HELD,
		       "%s waits at #%" PRIu64 ", which is pending approval: a opens it", whom, at);
		return;
	}
	if ((strcmp(word, "approve") == 0 || strcmp(word, "deny") == 0) && nr > 1) {
		say_deciding(ui, words, opts);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(said); i++)
		if (strcmp(word, said[i].word) == 0 && nr > 1) {
			ui_say(ui, ROLE_DIM, "%s%s %s", said[i].sign, whom, said[i].of);
			return;
		}
	if (strcmp(word, "merge") == 0 && nr > 1)
		ui_say(ui, ROLE_DIM, "%s",
		       json_flag(opts, "dry-run", false)
			       ? "dry run of the merge started; nothing is merged"
			       : arena_printf(&ar, "merge of sandbox %s started", whom));
	else if (strcmp(word, "budget") == 0)
		ui_say(ui, ROLE_DIM, "budget extended; its agents continue");
	else if (strcmp(word, "review") == 0 && nr > 1)
		ui_say(ui, ROLE_DIM, "review: %s",
		       strcmp(words[1], "accept") == 0	 ? "accepted"
		       : strcmp(words[1], "reject") == 0 ? "rejected"
		       : strcmp(words[1], "comment") == 0
			       ? "comment recorded; the agent reads it before its next turn"
			       : "undecided again");
	else
		ui_say(ui, ROLE_DIM, "%s%s%s", word, nr > 1 ? " " : "", nr > 1 ? words[1] : "");
}

bool ui_send(struct ui *ui, size_t source, const char *const *words, json_t *opts)
{
	size_t nr = 0;
	if (!ui_may_act(ui, source)) {
		json_decref(opts);
		ui_say(ui, ROLE_DIM, "%s", ui_why_not(ui, source));
		return false;
	}
	while (words[nr])
		nr++;
	say_sending(ui, source, words, nr, opts);
	ui->act[source].command(ui->act[source].self, words, nr, opts, ui_sent, ui);
	json_decref(opts);
	return true;
}
