/* ":": a screen, a verb, one of the console's own commands, or a command of the registry; the
 * typed line is run. */
#include "ui/frame/cmdline_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/cmdtable.h"
#include "ui/frame/named.h"

struct subject cmdline_subject(struct ui *ui)
{
	struct subject on = { 0 };
	struct view *top = ui_top(ui);
	if (top->ops->subject)
		top->ops->subject(top->self, ui, &on);
	return on;
}

static const char *cmdline_nearest(const char *word)
{
	const char *names[256] = { NULL };
	size_t nr = 0;
	for (size_t i = 0; cmdline_word(i); i++)
		names[nr++] = cmdline_word(i)->name;
	for (size_t i = 0; i < view_count(); i++)
		names[nr++] = view_at(i)->name;
	for (size_t i = 0; i < cmd_count() && nr < ARRAY_LEN(names) - VERB_NR - 1; i++)
		if (!cmd_at(i)->hidden)
			names[nr++] = cmd_at(i)->name;
	for (int v = 1; v < VERB_NR; v++)
		names[nr++] = verb_name((enum verb)v);
	return nearest_name(word, names);
}

/* The one session on the screen that has this id, or whose id begins so; SIZE_MAX, and says why:
 * none, or several. */
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
	ui_say(ui, ROLE_ERROR,
	       nr ? "session '%.*s' may be one of several on this screen: type more of its id"
		  : "session '%.*s' is not on this screen",
	       (int)len, id);
	return SIZE_MAX;
}

/* The # of "s-7k2m9q#405" where a command wants the number of an event first; else NULL. Words
 * behind it are text. The supervisor looks at the number alone: a session that is not here must not
 * get that far. */
static char *hash_of_session(const struct cmd_line *l)
{
	const struct cmd_row *c = cmd_find(l->words.item[0]);
	char *word = l->words.nr > 1 ? l->words.item[1] : NULL,
	     *hash = word ? strchr(word, '#') : NULL;
	const char *first = c ? c->usage + (c->usage[0] == '[') : "";
	if (!hash || hash == word ||
	    (strncmp(first, "ID", 2) != 0 && strncmp(first, "SESSION]#", 9) != 0))
		return NULL;
	/* an agent's name may have one */
	return strstr(first, "AGENT") && strncmp(word, "s-", 2) != 0 ? NULL : hash;
}

/* Which session a line is for: "-S s-7k2m9q", "s-7k2m9q#405" (the number stays), else the one that
 * is selected. SIZE_MAX, and says why, where that is not one session. */
static size_t cmdline_route(struct ui *ui, struct cmd_line *l)
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
	return at == SIZE_MAX ? cmdline_subject(ui).source : at;
}

static void cmdline_send(struct ui *ui, const char *text)
{
	struct cmd_line l;
	struct err err = ERR_INIT;
	size_t to;
	if (cmd_parse(&l, text, &err) < 0)
		ui_say_error(ui, &err);
	else if (l.words.nr > 0 && (to = cmdline_route(ui, &l)) != SIZE_MAX) {
		const char **words = mem_calloc(l.words.nr + 1, sizeof(*words));
		for (size_t i = 0; i < l.words.nr; i++)
			words[i] = l.words.item[i];
		ui_send(ui, to, words, json_incref(l.opts));
		free(words);
	}
	cmd_line_release(&l);
}

/* The whole command line for a shell, about the session on the screen unless the user named
 * another. */
static char *for_shell(struct ui *ui, const struct cmd_row *c, const char *rest)
{
	const struct source *s = ui_source(ui, cmdline_subject(ui).source);
	const char *id = s ? s->model.id : NULL;
	if (id && !*rest && strncmp(c->usage, "[SESSION", 8) == 0)
		return mem_printf("sandglass %s %s", c->name, id);
	const char *in = strstr(c->options, "--in SESSION") ? " -S "
			 : strstr(c->options, "--at ID")    ? " --at "
							    : "";
	bool said = !*in || !id || strncmp(rest, "-S", 2) == 0 || strstr(rest, "--at") ||
		    strstr(rest, "--in");
	return mem_printf("sandglass %s%s%s%s%s", c->name, said ? "" : in, said ? "" : id,
			  *rest || *c->usage ? " " : "", *rest ? rest : c->usage);
}

static const struct {
	const char *old, *hint;
} cmdline_former[] = {
#define FORMER(name, hint) { name, hint },
#include "wire/former.def"
	FORMER("boxes", "Use 'sandboxes'.") FORMER("marks", "Use 'bookmarks'.")
};

/* How to say what had the name @word before, of commands and screens; NULL: there is none. */
static const char *current_name(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(cmdline_former); i++)
		if (strcmp(cmdline_former[i].old, word) == 0)
			return cmdline_former[i].hint;
	return NULL;
}

static void cmdline_unknown(struct ui *ui, const char *word, const char *rest)
{
	const struct cmd_row *c = cmd_find(word);
	const char *near = cmdline_nearest(word);
	CLEANUP(buf_release) struct buf known = BUF_INIT;
	CLEANUP(free_ptr) char *line = c ? for_shell(ui, c, rest) : NULL;
	names_of_agents(ui, &known);
	if (view_find(word) && c && !c->supervisor)
		ui_say(ui, ROLE_ERROR, ":%s opens a screen; with arguments, use the shell: %s",
		       word, line);
	else if (view_find(word))
		ui_say(ui, ROLE_ERROR, ":%s takes only the name of an agent or a sandbox: %s", word,
		       known.len ? buf_cstr(&known) : "none yet");
	else if (c && !c->supervisor)
		ui_say(ui, ROLE_ERROR, "in another terminal: %s", line);
	else if (ui_is_setting(word))
		ui_say(ui, ROLE_ERROR, "'%s' is a setting: :set %s (Tab completes)", word, word);
	else if (verb_find(word) != VERB_NONE)
		ui_say(ui, ROLE_ERROR, ":%s takes no arguments", word);
	else if (current_name(word))
		ui_say(ui, ROLE_ERROR, "command '%s' was renamed. %s", word, current_name(word));
	else if (near)
		ui_say(ui, ROLE_ERROR, "unknown command '%s'; did you mean '%s'?", word, near);
	else
		ui_say(ui, ROLE_ERROR, "unknown command '%s'; Tab lists commands", word);
}

/* "hold" with an option is the registry's. */
static const struct cmdline_word *own_word(const char *word, const char *rest)
{
	for (size_t i = 0; cmdline_word(i); i++)
		if (strcmp(cmdline_word(i)->name, word) == 0)
			return strcmp(word, "hold") == 0 && *rest == '-' ? NULL : cmdline_word(i);
	return NULL;
}

void ui_command_line(struct ui *ui, const char *text)
{
	const char *words[16] = { NULL };
	size_t nr = 0;
	char *save = NULL;
	while (*text == ' ' || *text == ':')
		text++;
	CLEANUP(free_ptr) char *copy = mem_strdup(text);
	for (char *w = strtok_r(copy, " ", &save); w && nr < ARRAY_LEN(words) - 1;
	     w = strtok_r(NULL, " ", &save))
		words[nr++] = w;
	if (nr == 0)
		return;
	if (ui->message_role == ROLE_ERROR) /* it is of the command before */
		ui_say(ui, ROLE_TEXT, "%s", "");
	const char *rest = text + strlen(words[0]);
	rest += strspn(rest, " ");
	if (*text == '!') {
		cmdline_host(ui, text + 1);
		return;
	}
	const struct cmdline_word *own = own_word(words[0], rest);
	if (own) {
		own->run(ui, words, nr, rest);
		return;
	}
	struct subject on = cmdline_subject(ui);
	const struct cmd_row *c = cmd_find(words[0]);
	enum verb v = verb_find(words[0]);
	bool verb = v != VERB_NONE && nr == 1 && (!verb_acts(v) || !c || !c->supervisor);
	if (v == VERB_SESSIONS && !ui->browse) /* its screen would show an empty list */
		ui_do(ui, v);
	else if (view_find(words[0]) &&
		 (nr == 1 || (nr == 2 && !(c && c->supervisor) && agent_named(ui, words[1], &on))))
		ui_open(ui, words[0], &on);
	else if (verb && verb_group(v) != GROUP_DECIDE)
		ui_do(ui, v);
	else if (c && c->supervisor)
		cmdline_send(ui, text);
	else
		cmdline_unknown(ui, words[0], rest);
}

/* --- the line --------------------------------------------------------------------------------- */

static const struct prompt_ops cmdline_ops;
static void cmdline_done(struct ui *ui, const char *text);

static void cmdline_edited(struct ui *ui, const char *text)
{
	CLEANUP(free_ptr) char *one = mem_strdup(text ? text : "");
	for (char *c = one; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	cmdline_ask(ui, one);
}

static bool cmdline_key(struct ui *ui, uint32_t key)
{
	struct prompt *p = &ui->prompt;
	if (key == K_TAB) {
		bool own_end = ui->find->nr_choices == 1 && strpbrk(ui->find->choice[0], "=:");
		choice_tab(ui, own_end ? "" : " ");
		return true;
	}
	if (key == K_CTRL('e') && p->at == p->text.len) {
		free(ui->edit);
		ui->edit = mem_strdup(buf_cstr(&p->text));
		ui->edited = cmdline_edited;
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

static void cmdline_hint(const struct ui *ui, struct area a, int row)
{
	const struct finder *f = ui->find;
	if (f->nr_choices > 0 || f->choice_doc)
		choices_paint(f, a, row);
	else
		grid_put(a, row, 1, ROLE_DIM,
			 "Tab completes  Up history  Ctrl-e opens $EDITOR  Esc cancels");
}

static const struct prompt_ops cmdline_ops = {
	.history = ':', .key = cmdline_key, .changed = cmdline_complete, .hint = cmdline_hint
};

static void cmdline_done(struct ui *ui, const char *text)
{
	choices_clear(ui->find);
	if (text && *text)
		ui_command_line(ui, text);
}

void cmdline_ask(struct ui *ui, const char *text)
{
	struct subject on = cmdline_subject(ui);
	prompt_ask(ui, ":", text, &cmdline_ops, &on, cmdline_done);
}
