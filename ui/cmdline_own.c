/* The words of the ":" line that are the console's own: one function and one row each. */
#include "ui/frame/cmdline_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/named.h"
#include "ui/frame/ruler.h"
#include "ui/frame/transport.h"
#include "ui/views/repeat.h"
#include "ui/views/table.h"
#include "ui/views/tree.h"

static void own_quit(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	const struct subject on = cmdline_subject(ui);
	(void)words, (void)nr, (void)rest;
	ui_leave(ui, &on);
}

static void own_set(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	(void)words, (void)nr;
	ui_set(ui, rest);
}

static void own_goto(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = cmdline_subject(ui);
	struct source *s = ui_source(ui, on.source);
	const char *id = nr > 1 ? words[1] + (words[1][0] == '#') : "";
	char *end;
	uint64_t seq = strtoull(id, &end, 10);
	(void)rest;
	if (!s || !*id || *end) {
		ui_say(ui, ROLE_ERROR, "goto needs the number of an event: :goto 405");
	} else if (ui->replay) {
		transport_seek(ui, id);
	} else {
		jump_to(ui, on.source, seq);
	}
}

/* :out 405, :show 405: the action's own screen; other events are found in the log. */
static void own_event(struct ui *ui, const char *const *words, size_t nr, enum verb tab)
{
	struct subject on = cmdline_subject(ui);
	struct source *s = ui_source(ui, on.source);
	const char *id = nr > 1 ? words[1] + (words[1][0] == '#') : "";
	const struct model_action *act = s && *id && strspn(id, "0123456789") == strlen(id)
						 ? model_action(&s->model, strtoull(id, NULL, 10))
						 : NULL;
	if (act) {
		on.agent = act->agent ? act->agent : on.agent;
		on.action = act->id;
		ui_open(ui, "agent", &on);
		jump_to(ui, on.source, act->id);
		ui_do(ui, tab);
	} else if (tab == VERB_OUTPUT || !*id) {
		ui_say(ui, ROLE_ERROR, "%s needs the number of %s: :%s 405", words[0],
		       tab == VERB_OUTPUT ? "an action" : "an event", words[0]);
	} else {
		own_goto(ui, words, nr, "");
	}
}

static void own_out(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	(void)rest;
	own_event(ui, words, nr, VERB_OUTPUT);
}

static void own_show(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	(void)rest;
	own_event(ui, words, nr, VERB_DETAILS);
}

/* The screens that show what these print in a shell. */
static void own_events(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	(void)words, (void)nr, (void)rest;
	ui_do(ui, VERB_LOG);
}

static void own_ls(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	(void)words, (void)nr, (void)rest;
	ui_do(ui, VERB_FLEET);
}

static void own_seek(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	(void)words, (void)nr;
	if (ui->replay)
		transport_seek(ui, rest);
	else
		ui_say(ui, ROLE_ERROR,
		       "seek moves the cursor of a replay ('sandglass replay'); here :goto 405 selects an event");
}

static void own_plot(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	static const char *const names[] = { [TRACK_COST] = "cost",
					     [TRACK_TOKENS] = "tokens",
					     [TRACK_OUTPUT] = "output",
					     [TRACK_ACTIONS] = "actions" };
	struct subject on = cmdline_subject(ui);
	(void)rest;
	on.action = nr == 1; /* to this view: which curve, from 1 */
	for (size_t i = 0; i < ARRAY_LEN(names) && nr > 1; i++)
		if (strcmp(words[1], names[i]) == 0)
			on.action = i + 1;
	if (on.action)
		ui_open(ui, "plot", &on);
	else
		ui_say(ui, ROLE_ERROR, "plot cost, tokens, output or actions");
}

/* Without a number: how the newest compares. */
static void own_repeat(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = cmdline_subject(ui);
	const char *id = nr > 1 ? words[1] + (words[1][0] == '#') : "";
	char *end;
	(void)rest;
	if (nr == 1) {
		ui_open(ui, "repeat", &on);
		return;
	}
	on.action = strtoull(id, &end, 10);
	if (*end)
		ui_say(ui, ROLE_ERROR,
		       "repeat needs the number of a finished command: :repeat 403");
	else if (!ui_may_act(ui, on.source) && ui_source(ui, on.source) &&
		 model_repeat(&ui_source(ui, on.source)->model, on.action))
		ui_open(ui, "repeat", &on); /* how it went then */
	else if (!ui_may_act(ui, on.source))
		ui_say(ui, ROLE_DIM, "repeat: read only; nothing runs here");
	else
		repeat_ask(ui, &on);
}

static void own_repeat_apply(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = cmdline_subject(ui);
	const char *id = nr > 1 ? words[1] + (words[1][0] == '#') : "";
	char *end = NULL;
	(void)rest;
	if (nr > 1)
		on.action = strtoull(id, &end, 10);
	if (nr > 1 && (*end || !on.action))
		ui_say(ui, ROLE_ERROR,
		       "repeat! needs the number of a repeated command: :repeat! 403");
	else
		repeat_apply_ask(ui, &on);
}

/* "a", "#188", "188": an own or a recorded mark, or an event; 0 there is none. */
uint64_t place_named(const struct ui *ui, size_t source, const char *word)
{
	char *end;
	const struct model *m = &ui->src[source]->model;
	const struct own_mark *own =
		word[0] && !word[1] ? own_marks_find(&ui->find->own[source], *word) : NULL;
	if (own)
		return own->seq;
	for (size_t i = m->nr_marks; i > 0; i--)
		if (*m->mark[i - 1].key && strcmp(m->mark[i - 1].key, word) == 0)
			return m->mark[i - 1].on;
	uint64_t seq = strtoull(word + (*word == '#'), &end, 10);
	return *end || seq > session_head(ui->src[source]->session) ? 0 : seq;
}

static void own_diff(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = cmdline_subject(ui);
	uint64_t *to[] = { &on.since, &on.until };
	(void)rest;
	if (nr > 3 || !ui_source(ui, on.source)) {
		ui_say(ui, ROLE_ERROR, "diff, diff FROM, diff FROM TO: bookmarks or events");
		return;
	}
	for (size_t i = 1; i < nr; i++)
		if (!(*to[i - 1] = place_named(ui, on.source, words[i]))) {
			ui_say(ui, ROLE_ERROR,
			       "bookmark or event '%s' not found; :bookmarks lists them", words[i]);
			return;
		}
	ui_open(ui, "diff", &on);
}

static void own_tree(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = cmdline_subject(ui);
	uint64_t box = nr > 1 ? box_named(ui, words[1], &on) : 0;
	const char *path = box ? rest + strlen(words[1]) : rest;
	CLEANUP(buf_release) struct buf known = BUF_INIT;
	path += strspn(path, " ");
	if (tree_has(ui, &on, box, path)) {
		tree_open(ui, &on, box, path);
		return;
	}
	names_of_boxes(ui, &known);
	if (box)
		ui_say(ui, ROLE_ERROR, "sandbox '%s' has no file '%s' here", words[1], path);
	else
		ui_say(ui, ROLE_ERROR, "sandbox or file '%s' not found here; sandboxes: %s", rest,
		       known.len ? buf_cstr(&known) : "none");
}

/* What it prints in a shell is here the log, filtered. */
static void own_search(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	if (nr == 1) {
		ui_say(ui, ROLE_ERROR,
		       "search needs text or a filter: :search kind:exec \"permission denied\"; / searches what is shown");
		return;
	}
	(void)words;
	ui_do(ui, VERB_LOG);
	filter_set(ui, rest);
}

static void own_blame(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = cmdline_subject(ui);
	(void)words;
	if (nr == 1)
		ui_say(ui, ROLE_ERROR, "blame needs a file of the sandbox: :blame src/parse.c");
	else if (!tree_has(ui, &on, 0, rest))
		ui_say(ui, ROLE_ERROR, "file '%s' not found here; :tree lists the files", rest);
	else {
		tree_open(ui, &on, 0, rest);
		ui_do(ui, VERB_BLAME);
	}
}

static void own_ruler(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	(void)rest;
	if (!ui->replay || nr != 2 || !ruler_choose(ui, words[1]))
		ui_say(ui, ROLE_ERROR,
		       ui->replay ? "ruler exec, events, model, cost, tokens or output"
				  : "the ruler belongs to a replay: sandglass replay");
}

static void own_filter(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	filter_command(ui, words, nr, rest);
}

static void own_hold(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = cmdline_subject(ui);
	(void)words;
	if (nr > 1) {
		struct filter *f = NULL;
		const struct filter_saved saved = filter_names(ui);
		struct err err = ERR_INIT;
		if (filter_parse(&f, rest, &saved, NULL, &err) < 0 ||
		    filter_known_before(f, &err) < 0)
			ui_say(ui, ROLE_ERROR, "%s", err.text);
		else
			ui_send(ui, on.source, (const char *[]){ "hold", rest, NULL }, NULL);
		filter_free(&f);
		return;
	}
	ui_open(ui, "holds", &on);
}

static void own_sql(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	(void)words, (void)nr;
	if (!*rest)
		ui_say(ui, ROLE_ERROR, "sql SELECT ...: try SELECT seq, kind FROM event");
	else
		table_open(ui, cmdline_subject(ui).source, rest);
}

void cmdline_host(struct ui *ui, const char *cmd)
{
	const struct subject on = cmdline_subject(ui);
	const struct source *s = ui_source(ui, on.source);
	cmd += strspn(cmd, " ");
	if (!ui->trust) {
		ui_say(ui, ROLE_ERROR,
		       "!: commands on the host need a console started with --trust; s opens a shell in the sandbox");
	} else if (!s || !ui_may_act(ui, on.source)) {
		ui_say(ui, ROLE_ERROR, "!: needs a running session, which records the command");
	} else if (!*cmd) {
		ui_say(ui, ROLE_DIM, ":!COMMAND runs on the host, recorded as yours");
	} else {
		ui->wish = WISH_HOST;
		buf_reset(&ui->wish_text);
		buf_printf(&ui->wish_text, "%s %s", s->model.id, cmd);
	}
}

static const struct cmdline_word words_of_ours[] = {
	{ "blame", "FILE", "which action wrote each line of a file", own_blame },
	{ "detach", "", "leave; agents continue", own_quit },
	{ "diff", "[FROM [TO]]",
	  "changes since the start, since a bookmark or event, or between two", own_diff },
	{ "events", "", "all of them: the log", own_events },
	{ "filter", "FILTER | save NAME | rm NAME", "filter the list", own_filter },
	{ "goto", "<event>", "to an event", own_goto },
	{ "hold", "FILTER", "set a breakpoint; without a filter: list them", own_hold },
	{ "ls", "", "the sessions on this screen: the fleet", own_ls },
	{ "out", "<event>", "output of an action", own_out },
	{ "plot", "cost | tokens | output | actions",
	  "curves over time, and when each agent worked", own_plot },
	{ "q", "", "leave; agents continue", own_quit },
	{ "repeat", "[<event>]", "run a command again; without a number: how the newest compares",
	  own_repeat },
	{ "repeat!", "[<event>]", "apply the changes of a repeated command", own_repeat_apply },
	{ "ruler", "exec | events | model | cost | tokens | output",
	  "replay: what the timeline counts", own_ruler },
	{ "search", "FILTER", "find text, or events that match a filter, in the log", own_search },
	{ "seek", "50% | 188 | +5m | -30s | 14:32:07", "replay: the cursor to a place", own_seek },
	{ "show", "<event>", "an event in full", own_show },
	{ "set", "NAME=VALUE", "change a setting; without a value: show it", own_set },
	{ "tree", "[SANDBOX] [PATH]", "the files of the sandbox at this event; opens a file",
	  own_tree },
	{ "sql", "SELECT ...", "query the recording, read-only", own_sql },
};

const struct cmdline_word *cmdline_word(size_t i)
{
	return i < ARRAY_LEN(words_of_ours) ? &words_of_ours[i] : NULL;
}
