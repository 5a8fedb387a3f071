/* ":": a screen, a verb, one of the console's own words, or a command of the registry. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/cmdtable.h"
#include "ui/finder_inner.h"
#include "ui/named.h"
#include "ui/ruler.h"
#include "ui/transport.h"
#include "ui/views/redo.h"
#include "ui/views/table.h"
#include "ui/views/tree.h"

struct own {
	const char *name, *usage, *summary;
	void (*run)(struct ui *ui, const char *const *words, size_t nr, const char *rest);
};

static struct subject subject_of(struct ui *ui)
{
	struct subject on = { 0 };
	struct view *top = ui_top(ui);
	if (top->ops->subject)
		top->ops->subject(top->self, ui, &on);
	return on;
}

/* --- the console's own words -------------------------------------------------------------------------------------- */

static void own_quit(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	const struct subject on = subject_of(ui);
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
	struct subject on = subject_of(ui);
	struct source *s = ui_source(ui, on.source);
	const char *id = nr > 1 ? words[1] + (words[1][0] == '#') : "";
	char *end;
	uint64_t seq = strtoull(id, &end, 10);
	(void)rest;
	if (!s || !*id || *end) {
		ui_say(ui, ROLE_ERROR, "goto wants the number of an event: :goto 405");
	} else if (ui->replay) {
		transport_seek(ui, id);
	} else {
		jump_to(ui, on.source, seq);
	}
}

/* :out 405, :show 405: the action's own screen; what is no action is found where events are listed. */
static void own_event(struct ui *ui, const char *const *words, size_t nr, enum verb tab)
{
	struct subject on = subject_of(ui);
	struct source *s = ui_source(ui, on.source);
	const char *id = nr > 1 ? words[1] + (words[1][0] == '#') : "";
	const struct model_action *act = s && *id && strspn(id, "0123456789") == strlen(id) ? model_action(&s->model, strtoull(id, NULL, 10)) : NULL;
	if (act) {
		on.agent = act->agent ? act->agent : on.agent;
		on.action = act->id;
		ui_open(ui, "agent", &on);
		jump_to(ui, on.source, act->id);
		ui_do(ui, tab);
	} else if (tab == VERB_OUTPUT || !*id) {
		ui_say(ui, ROLE_ERROR, "%s wants the number of %s: :%s 405", words[0], tab == VERB_OUTPUT ? "an action" : "an event", words[0]);
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
		ui_say(ui, ROLE_ERROR, "seek moves the cursor of a record: sandglass replay; here :goto 405 selects an event");
}

static void own_plot(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	static const char *const names[] = { [TRACK_COST] = "cost", [TRACK_TOKENS] = "tokens", [TRACK_OUTPUT] = "output",
					     [TRACK_ACTIONS] = "actions" };
	struct subject on = subject_of(ui);
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
static void own_redo(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = subject_of(ui);
	const char *id = nr > 1 ? words[1] + (words[1][0] == '#') : "";
	char *end;
	(void)rest;
	if (nr == 1) {
		ui_open(ui, "redo", &on);
		return;
	}
	on.action = strtoull(id, &end, 10);
	if (*end)
		ui_say(ui, ROLE_ERROR, "redo wants the number of a command that has run: :redo 403");
	else if (!ui_may_act(ui, on.source) && ui_source(ui, on.source) && model_redo(&ui_source(ui, on.source)->model, on.action))
		ui_open(ui, "redo", &on); /* how it went then */
	else if (!ui_may_act(ui, on.source))
		ui_say(ui, ROLE_DIM, "redo: read only: nothing runs here");
	else
		redo_ask(ui, &on);
}

static void own_redo_promote(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = subject_of(ui);
	const char *id = nr > 1 ? words[1] + (words[1][0] == '#') : "";
	char *end = NULL;
	(void)rest;
	if (nr > 1)
		on.action = strtoull(id, &end, 10);
	if (nr > 1 && (*end || !on.action))
		ui_say(ui, ROLE_ERROR, "redo! wants the number of a command that ran again: :redo! 403");
	else
		redo_promote_ask(ui, &on);
}

/* "a", "#188", "188": an own or a recorded mark, or an event; 0 there is none. */
uint64_t place_named(const struct ui *ui, size_t source, const char *word)
{
	char *end;
	const struct model *m = &ui->src[source]->model;
	const struct own_mark *own = word[0] && !word[1] ? own_marks_find(&ui->find->own[source], *word) : NULL;
	if (own)
		return own->seq;
	for (size_t i = m->nr_marks; i > 0; i--)
		if (*m->mark[i - 1].key && strcmp(m->mark[i - 1].key, word) == 0)
			return m->mark[i - 1].on;
	uint64_t seq = strtoull(word + (*word == '#'), &end, 10);
	return *end ? 0 : seq;
}

static void own_diff(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = subject_of(ui);
	uint64_t *to[] = { &on.since, &on.until };
	(void)rest;
	if (nr > 3 || !ui_source(ui, on.source)) {
		ui_say(ui, ROLE_ERROR, "diff, diff FROM, diff FROM TO: marks or events");
		return;
	}
	for (size_t i = 1; i < nr; i++)
		if (!(*to[i - 1] = place_named(ui, on.source, words[i]))) {
			ui_say(ui, ROLE_ERROR, "there is no mark or event '%s'; :marks lists them", words[i]);
			return;
		}
	ui_open(ui, "diff", &on);
}

static void own_tree(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = subject_of(ui);
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
		ui_say(ui, ROLE_ERROR, "box '%s' has no file '%s' here", words[1], path);
	else
		ui_say(ui, ROLE_ERROR, "there is neither a box nor here a file '%s'; boxes: %s", rest, known.len ? buf_cstr(&known) : "none");
}

/* What it prints in a shell is here the log, filtered. */
static void own_search(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	if (nr == 1) {
		ui_say(ui, ROLE_ERROR, "search wants words or a filter: :search kind:exec \"permission denied\"; / searches what is shown");
		return;
	}
	(void)words;
	ui_do(ui, VERB_LOG);
	filter_set(ui, rest);
}

static void own_blame(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = subject_of(ui);
	(void)words;
	if (nr == 1)
		ui_say(ui, ROLE_ERROR, "blame wants a file of the box: :blame src/parse.c");
	else if (!tree_has(ui, &on, 0, rest))
		ui_say(ui, ROLE_ERROR, "there is no file '%s' here; :tree lists those there are", rest);
	else {
		tree_open(ui, &on, 0, rest);
		ui_do(ui, VERB_BLAME);
	}
}

static void own_ruler(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	(void)rest;
	if (!ui->replay || nr != 2 || !ruler_choose(ui, words[1]))
		ui_say(ui, ROLE_ERROR, ui->replay ? "ruler exec, events, model, cost, tokens or output"
						  : "the ruler is that of a record: sandglass replay");
}

static void own_filter(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	filter_command(ui, words, nr, rest);
}

static void own_hold(struct ui *ui, const char *const *words, size_t nr, const char *rest)
{
	struct subject on = subject_of(ui);
	(void)words;
	if (nr > 1) {
		struct filter *f = NULL;
		const struct filter_saved saved = filter_names(ui);
		struct err err = ERR_INIT;
		if (filter_parse(&f, rest, &saved, NULL, &err) < 0 || filter_known_before(f, &err) < 0)
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
		table_open(ui, subject_of(ui).source, rest);
}

static void own_host(struct ui *ui, const char *cmd)
{
	const struct subject on = subject_of(ui);
	const struct source *s = ui_source(ui, on.source);
	cmd += strspn(cmd, " ");
	if (!ui->trust) {
		ui_say(ui, ROLE_ERROR, "!: commands of this machine run from a console begun with --trust only; s opens a shell in the box");
	} else if (!s || !ui_may_act(ui, on.source)) {
		ui_say(ui, ROLE_ERROR, "!: there is no running session here that could record it");
	} else if (!*cmd) {
		ui_say(ui, ROLE_DIM, ":!COMMAND runs it on this machine, recorded as yours");
	} else {
		ui->wish = WISH_HOST;
		buf_reset(&ui->wish_text);
		buf_printf(&ui->wish_text, "%s %s", s->model.id, cmd);
	}
}

static const struct own own[] = {
	{ "blame", "FILE", "who brought each line of a file of the box", own_blame },
	{ "detach", "", "leave; agents go on", own_quit },
	{ "diff", "[FROM [TO]]", "what changed since the start, since a mark or event, between two", own_diff },
	{ "events", "", "all of them: the log", own_events },
	{ "filter", "FILTER | save NAME | rm NAME", "filter what is listed", own_filter },
	{ "goto", "<event>", "to an event", own_goto },
	{ "hold", "FILTER", "hold what matches; without one: what is held", own_hold },
	{ "ls", "", "the sessions on this screen: the fleet", own_ls },
	{ "out", "<event>", "what an action put out", own_out },
	{ "plot", "cost | tokens | output | actions", "curves over time, who worked when", own_plot },
	{ "q", "", "leave; agents go on", own_quit },
	{ "redo", "[<event>]", "run a command again; without a number: how the newest compares", own_redo },
	{ "redo!", "[<event>]", "make what the second run of a command changed so in its box", own_redo_promote },
	{ "ruler", "exec | events | model | cost | tokens | output", "replay: what the timeline counts", own_ruler },
	{ "search", "FILTER", "find words, or whatever a filter says: in the log", own_search },
	{ "seek", "50% | 188 | +5m | -30s | 14:32:07", "replay: the cursor to a place", own_seek },
	{ "show", "<event>", "an event in full", own_show },
	{ "set", "NAME=VALUE", "a setting of this console; without a value: what it is", own_set },
	{ "tree", "[BOX] [PATH]", "the files of the box as they are here; a file is opened", own_tree },
	{ "sql", "SELECT ...", "ask the record, read-only", own_sql },
};

/* --- running ------------------------------------------------------------------------------------------------------ */

static const char *nearest(const char *word)
{
	const char *names[256] = { NULL };
	size_t nr = 0;
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		names[nr++] = own[i].name;
	for (size_t i = 0; i < view_count(); i++)
		names[nr++] = view_at(i)->name;
	for (size_t i = 0; i < cmd_count() && nr < ARRAY_LEN(names) - VERB_NR - 1; i++)
		if (!cmd_at(i)->hidden)
			names[nr++] = cmd_at(i)->name;
	for (int v = 1; v < VERB_NR; v++)
		names[nr++] = verb_name((enum verb)v);
	return nearest_name(word, names);
}

/* The one session on the screen that has this id, or whose id begins so; SIZE_MAX, and says why: none, or several. */
static size_t session_named(struct ui *ui, const char *id, size_t len)
{
	size_t at = SIZE_MAX, nr = 0;
	for (size_t i = 0; i < ui->nr_src && len > 2; i++) {
		const char *whole = ui->src[i]->model.id;
		if (!whole || strncmp(whole, id, len) != 0)
			continue;
		if (!whole[len])
			return i;
		at = i;
		nr++;
	}
	if (nr == 1)
		return at;
	ui_say(ui, ROLE_ERROR, nr ? "session '%.*s' may be one of several on this screen: type more of its id"
				  : "session '%.*s' is not on this screen", (int)len, id);
	return SIZE_MAX;
}

/* The # of "s-7k2m9q#405" where a command wants the number of an event first; else NULL. Words behind it are text. The
 * supervisor looks at the number alone: a session that is not here must not get that far. */
static char *hash_of_session(const struct cmd_line *l)
{
	const struct cmd_row *c = cmd_find(l->words.item[0]);
	char *word = l->words.nr > 1 ? l->words.item[1] : NULL, *hash = word ? strchr(word, '#') : NULL;
	const char *first = c ? c->usage + (c->usage[0] == '[') : "";
	if (!hash || hash == word || (strncmp(first, "ID", 2) != 0 && strncmp(first, "SESSION]#", 9) != 0))
		return NULL;
	return strstr(first, "AGENT") && strncmp(word, "s-", 2) != 0 ? NULL : hash; /* an agent's name may have one */
}

/* Which session a line is for: "-S s-7k2m9q", "s-7k2m9q#405" (the number stays), else the one that is selected. SIZE_MAX,
 * and says why, where that is not one session. */
static size_t route(struct ui *ui, struct cmd_line *l)
{
	const json_t *in = json_object_get(l->opts, "in");
	const char *id = json_string_value(in);
	char *hash = hash_of_session(l);
	size_t at = SIZE_MAX, by_word = SIZE_MAX;
	if (in && !id)
		ui_say(ui, ROLE_ERROR, "-S names one session");
	if (in && (!id || (at = session_named(ui, id, strlen(id))) == SIZE_MAX))
		return SIZE_MAX;
	if (hash) {
		char *word = l->words.item[1];
		if ((by_word = session_named(ui, word, (size_t)(hash - word))) == SIZE_MAX)
			return SIZE_MAX;
		if (in && by_word != at) {
			ui_say(ui, ROLE_ERROR, "-S %s and %s are two sessions", id, word);
			return SIZE_MAX;
		}
		at = by_word;
		l->words.len[1] = strlen(hash + 1);
		memmove(word, hash + 1, l->words.len[1] + 1);
	}
	json_object_del(l->opts, "in");
	return at == SIZE_MAX ? subject_of(ui).source : at;
}

static void send(struct ui *ui, const char *text)
{
	struct cmd_line l;
	struct err err = ERR_INIT;
	size_t to;
	if (cmd_parse(&l, text, &err) < 0)
		ui_say(ui, ROLE_ERROR, "%s", err.text);
	else if (l.words.nr > 0 && (to = route(ui, &l)) != SIZE_MAX) {
		const char **words = xcalloc(l.words.nr + 1, sizeof(*words));
		for (size_t i = 0; i < l.words.nr; i++)
			words[i] = l.words.item[i];
		ui_send(ui, to, words, json_incref(l.opts));
		free(words);
	}
	cmd_line_release(&l);
}

/* The whole line for a shell: of what is on the screen, unless something else was typed. */
static char *for_shell(struct ui *ui, const struct cmd_row *c, const char *rest)
{
	const struct source *s = ui_source(ui, subject_of(ui).source);
	const char *id = s ? s->model.id : NULL;
	if (id && !*rest && strncmp(c->usage, "[SESSION", 8) == 0)
		return xasprintf("sandglass %s %s", c->name, id);
	const char *in = strstr(c->options, "--in SESSION") ? " -S " : strstr(c->options, "--at ID") ? " --at " : "";
	bool said = !*in || !id || strncmp(rest, "-S", 2) == 0 || strstr(rest, "--at") || strstr(rest, "--in");
	return xasprintf("sandglass %s%s%s%s%s", c->name, said ? "" : in, said ? "" : id, *rest || *c->usage ? " " : "", *rest ? rest : c->usage);
}

static void unknown(struct ui *ui, const char *word, const char *rest)
{
	const struct cmd_row *c = cmd_find(word);
	const char *near = nearest(word);
	CLEANUP(buf_release) struct buf known = BUF_INIT;
	CLEANUP(free_ptr) char *line = c ? for_shell(ui, c, rest) : NULL;
	names_of_agents(ui, &known);
	if (view_find(word) && c && !c->supervisor)
		ui_say(ui, ROLE_ERROR, ":%s opens a screen; with words it is the shell's: %s", word, line);
	else if (view_find(word))
		ui_say(ui, ROLE_ERROR, ":%s takes no words but the name of an agent or a box: %s", word, known.len ? buf_cstr(&known) : "there is none yet");
	else if (c && !c->supervisor)
		ui_say(ui, ROLE_ERROR, "no screen shows this; in another terminal: %s", line);
	else if (ui_is_setting(word))
		ui_say(ui, ROLE_ERROR, "'%s' is a setting: :set %s (Tab completes)", word, word);
	else if (near)
		ui_say(ui, ROLE_ERROR, "there is no command '%s'; did you mean '%s'?", word, near);
	else
		ui_say(ui, ROLE_ERROR, "there is no command '%s'; Tab lists them", word);
}

void ui_command_line(struct ui *ui, const char *text)
{
	const char *words[16] = { NULL };
	size_t nr = 0;
	char *save = NULL;
	while (*text == ' ' || *text == ':')
		text++;
	CLEANUP(free_ptr) char *copy = xstrdup(text);
	for (char *w = strtok_r(copy, " ", &save); w && nr < ARRAY_LEN(words) - 1; w = strtok_r(NULL, " ", &save))
		words[nr++] = w;
	if (nr == 0)
		return;
	if (ui->message_role == ROLE_ERROR) /* it is of the command before */
		ui_say(ui, ROLE_TEXT, "%s", "");
	const char *rest = text + strlen(words[0]);
	rest += strspn(rest, " ");
	if (*text == '!') {
		own_host(ui, text + 1);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (strcmp(own[i].name, words[0]) == 0 && !(own[i].run == own_hold && *rest == '-')) {
			own[i].run(ui, words, nr, rest);
			return;
		}
	struct subject on = subject_of(ui);
	const struct cmd_row *c = cmd_find(words[0]);
	enum verb v = verb_find(words[0]);
	bool verb = v != VERB_NONE && nr == 1 && (!verb_acts(v) || !c || !c->supervisor);
	if (view_find(words[0]) && (nr == 1 || (nr == 2 && !(c && c->supervisor) && agent_named(ui, words[1], &on))))
		ui_open(ui, words[0], &on);
	else if (verb && verb_group(v) != GROUP_DECIDE)
		ui_do(ui, v);
	else if (c && c->supervisor)
		send(ui, text);
	else
		unknown(ui, words[0], rest);
}

/* --- completion --------------------------------------------------------------------------------------------------- */

static void add_if(struct finder *f, const char *text, const char *begin)
{
	if (strncmp(text, begin, strlen(begin)) == 0)
		choice_add(f, text);
}

static void complete_name(struct ui *ui, const char *begin)
{
	struct finder *f = ui->find;
	f->choice_doc = *begin ? NULL : "commands:";
	for (size_t i = 0; i < cmd_count(); i++)
		if (cmd_at(i)->supervisor && !cmd_at(i)->hidden)
			add_if(f, cmd_at(i)->name, begin);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		add_if(f, own[i].name, begin);
	for (size_t i = 0; i < view_count(); i++)
		add_if(f, view_at(i)->name, begin);
	for (int v = 1; v < VERB_NR && *begin; v++)
		if (!verb_acts((enum verb)v))
			add_if(f, verb_name((enum verb)v), begin);
}

static bool is_one_of(const char *word, const char *const *list, size_t nr)
{
	size_t i = 0;
	while (i < nr && strcmp(word, list[i]) != 0)
		i++;
	return i < nr;
}

/* An event of another session than the selected one is named with it, as the line is sent to the selected one else. */
static void add_event(struct ui *ui, size_t source, uint64_t seq, const char *begin)
{
	char id[64];
	bool here = source == subject_of(ui).source;
	snprintf(id, sizeof(id), "%s%s%" PRIu64, here ? "" : ui->src[source]->model.id, here ? "" : "#", seq);
	add_if(ui->find, id, begin);
}

/* What the command can be about: of a decision what waits for one, of "kill" what has not ended, of others the newest. */
static void complete_event(struct ui *ui, const char *command, const char *begin)
{
	static const char *const decide[] = { "approve", "deny", "later", "preview", "promote" };
	bool held = is_one_of(command, decide, ARRAY_LEN(decide)), ask = strcmp(command, "answer") == 0,
	     kill = strcmp(command, "kill") == 0;
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		if (strcmp(command, "goto") == 0 && i != subject_of(ui).source)
			continue;
		for (size_t k = 0; k < m->nr_held && !ask; k++)
			add_event(ui, i, m->held[k], begin);
		for (size_t k = 0; k < m->nr_asks && ask; k++)
			add_event(ui, i, m->ask[k].seq, begin);
		for (size_t k = m->nr_actions; k > 0 && m->nr_actions - k < 8 && !held && !ask; k--)
			if (m->action[k - 1].state != ACT_WAITS && !(kill && m->action[k - 1].ended))
				add_event(ui, i, m->action[k - 1].id, begin);
	}
}

static void complete_named(struct ui *ui, const char *begin, bool agents)
{
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		for (size_t k = 0; agents && k < m->nr_agents; k++)
			add_if(ui->find, m->agent[k].name, begin);
		for (size_t k = 0; !agents && k < m->nr_boxes; k++)
			add_if(ui->find, m->box[k].name, begin);
	}
}

static void complete_option(struct finder *f, const char *table, const char *begin)
{
	for (const char *l = table; *l; l += strcspn(l, "\n"), l += *l != 0) {
		const char *at = strstr(l, "--");
		if (!at || at > l + strcspn(l, "\n"))
			continue;
		CLEANUP(free_ptr) char *name = xstrndup(at, strcspn(at, " \n."));
		add_if(f, name, begin);
	}
}

/* "set the" and, as it is said of other programs, "set theme li". */
static void complete_setting(struct finder *f, const char *text, const char *begin)
{
	const char *name = text + strspn(text, " ");
	size_t n = strcspn(name, " ");
	bool value = name + n < text + strlen(text) - strlen(begin);
	for (size_t i = 0; ui_setting(i); i++)
		if (!value)
			add_if(f, ui_setting(i), begin);
		else if (strncmp(ui_setting(i), name, n) == 0 && ui_setting(i)[n] == '=')
			add_if(f, ui_setting(i) + n + 1, begin);
}

static void complete_word(struct ui *ui, const char *command, const char *begin)
{
	struct finder *f = ui->find;
	const struct cmd_row *c = cmd_find(command);
	if (strcmp(command, "set") == 0) {
		CLEANUP(free_ptr) char *text = xstrndup(buf_cstr(&ui->prompt.text) + strlen(command), ui->prompt.at - strlen(command));
		complete_setting(f, text, begin);
		return;
	}
	if (strcmp(command, "goto") == 0) {
		f->choice_doc = "<event>";
		complete_event(ui, command, begin);
		return;
	}
	bool own_one = false;
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (strcmp(own[i].name, command) == 0) {
			f->choice_doc = own[i].usage;
			own_one = true;
		}
	if (strcmp(command, "tree") == 0)
		complete_named(ui, begin, false);
	if (strcmp(command, "filter") == 0 || strcmp(command, "hold") == 0)
		for (size_t i = 0; filter_field_name(i); i++) {
			CLEANUP(free_ptr) char *name = xasprintf("%s:", filter_field_name(i));
			add_if(f, name, begin);
		}
	if (view_find(command) && !own_one && !(c && c->supervisor)) {
		f->choice_doc = "[AGENT | BOX]";
		complete_named(ui, begin, true);
		complete_named(ui, begin, false);
		return;
	}
	if (!c || own_one)
		return;
	if (*begin == '-') {
		complete_option(f, c->options, begin);
		return;
	}
	f->choice_doc = c->usage;
	if (strstr(c->usage, "ID"))
		complete_event(ui, command, begin);
	if (strstr(c->usage, "AGENT"))
		complete_named(ui, begin, true);
	if (strstr(c->usage, "BOX"))
		complete_named(ui, begin, false);
}

static void changed(struct ui *ui)
{
	struct finder *f = ui->find;
	const struct prompt *p = &ui->prompt;
	const char *text = buf_cstr(&p->text);
	size_t from = p->at, command = strcspn(text, " ");
	choices_clear(f);
	while (from > 0 && text[from - 1] != ' ')
		from--;
	CLEANUP(free_ptr) char *begin = xstrndup(text + from, p->at - from);
	f->choice_from = from;
	if (from == 0) {
		complete_name(ui, begin);
		return;
	}
	CLEANUP(free_ptr) char *name = xstrndup(text, command);
	complete_word(ui, name, begin);
}

/* --- the line ----------------------------------------------------------------------------------------------------- */

static const struct prompt_ops ops;
static void done(struct ui *ui, const char *text);

static void edited(struct ui *ui, const char *text)
{
	CLEANUP(free_ptr) char *one = xstrdup(text ? text : "");
	for (char *c = one; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	cmdline_ask(ui, one);
}

static bool key(struct ui *ui, uint32_t key)
{
	struct prompt *p = &ui->prompt;
	if (key == K_TAB) {
		bool own_end = ui->find->nr_choices == 1 && strpbrk(ui->find->choice[0], "=:");
		choice_tab(ui, own_end ? "" : " ");
		return true;
	}
	if (key == K_CTRL('e') && p->at == p->text.len) {
		free(ui->edit);
		ui->edit = xstrdup(buf_cstr(&p->text));
		ui->edited = edited;
		ui->wish = WISH_EDIT;
		prompt_clear(p);
		return true;
	}
	if (key == K_BACKSPACE && p->text.len == 0) {
		prompt_key(ui, K_ESC);
		return true;
	}
	return false;
}

static void hint(const struct ui *ui, struct area a, int row)
{
	const struct finder *f = ui->find;
	if (f->nr_choices > 0 || f->choice_doc)
		choices_paint(f, a, row);
	else
		put(a, row, 1, ROLE_DIM, "Tab completes  Up history  Ctrl-e opens $EDITOR  Esc leaves");
}

static const struct prompt_ops ops = { .history = ':', .key = key, .changed = changed, .hint = hint };

static void done(struct ui *ui, const char *text)
{
	choices_clear(ui->find);
	if (text && *text)
		ui_command_line(ui, text);
}

void cmdline_ask(struct ui *ui, const char *text)
{
	struct subject on = subject_of(ui);
	prompt_ask(ui, ":", text, &ops, &on, done);
}
