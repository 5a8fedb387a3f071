/* What Tab offers on the ":" line: after each key the choices are made anew. */
#include "ui/frame/cmdline_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/cmdtable.h"

static void cmdline_complete_add_if(struct finder *f, const char *text, const char *begin)
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
			cmdline_complete_add_if(f, cmd_at(i)->name, begin);
	for (size_t i = 0; cmdline_word(i); i++)
		cmdline_complete_add_if(f, cmdline_word(i)->name, begin);
	for (size_t i = 0; i < view_count(); i++)
		cmdline_complete_add_if(f, view_at(i)->name, begin);
	for (int v = 1; v < VERB_NR && *begin; v++)
		if (!verb_acts((enum verb)v))
			cmdline_complete_add_if(f, verb_name((enum verb)v), begin);
}

static bool cmdline_complete_is_one_of(const char *word, const char *const *list, size_t nr)
{
	size_t i = 0;
	while (i < nr && strcmp(word, list[i]) != 0)
		i++;
	return i < nr;
}

/* An event of another session than the selected one is named with it, as the line is sent to the
 * selected one else. */
static void add_event(struct ui *ui, size_t source, uint64_t seq, const char *begin)
{
	char id[64];
	bool here = source == cmdline_subject(ui).source;
	snprintf(id, sizeof(id), "%s%s%" PRIu64, here ? "" : ui->src[source]->model.id,
		 here ? "" : "#", seq);
	cmdline_complete_add_if(ui->find, id, begin);
}

/* What the command can be about: of a decision what waits for one, of "kill" what has not ended, of
 * others the newest. */
static void complete_event(struct ui *ui, const char *command, const char *begin)
{
	static const char *const decide[] = { "approve", "deny", "defer", "dry-run", "apply" };
	bool held = cmdline_complete_is_one_of(command, decide, ARRAY_LEN(decide)),
	     ask = strcmp(command, "answer") == 0, kill = strcmp(command, "kill") == 0;
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		if (strcmp(command, "goto") == 0 && i != cmdline_subject(ui).source)
			continue;
		for (size_t k = 0; k < m->nr_held && !ask; k++)
			add_event(ui, i, m->held[k], begin);
		for (size_t k = 0; k < m->nr_asks && ask; k++)
			add_event(ui, i, m->ask[k].seq, begin);
		for (size_t k = m->nr_actions; k > 0 && m->nr_actions - k < 8 && !held && !ask; k--)
			if (m->action[k - 1].state != ACT_WAITS &&
			    !(kill && m->action[k - 1].ended))
				add_event(ui, i, m->action[k - 1].id, begin);
	}
}

static void complete_named(struct ui *ui, const char *begin, bool agents)
{
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		for (size_t k = 0; agents && k < m->nr_agents; k++)
			cmdline_complete_add_if(ui->find, m->agent[k].name, begin);
		for (size_t k = 0; !agents && k < m->nr_boxes; k++)
			cmdline_complete_add_if(ui->find, m->box[k].name, begin);
	}
}

static void complete_option(struct finder *f, const char *table, const char *begin)
{
	for (const char *l = table; *l; l += strcspn(l, "\n"), l += *l != 0) {
		const char *at = strstr(l, "--");
		if (!at || at > l + strcspn(l, "\n"))
			continue;
		CLEANUP(free_ptr) char *name = mem_strndup(at, strcspn(at, " \n."));
		cmdline_complete_add_if(f, name, begin);
	}
}

/* "set the" and, as in other programs, "set theme li". */
static void complete_setting(struct finder *f, const char *text, const char *begin)
{
	const char *name = text + strspn(text, " ");
	size_t n = strcspn(name, " ");
	bool value = name + n < text + strlen(text) - strlen(begin);
	for (size_t i = 0; ui_setting(i); i++)
		if (!value)
			cmdline_complete_add_if(f, ui_setting(i), begin);
		else if (strncmp(ui_setting(i), name, n) == 0 && ui_setting(i)[n] == '=')
			cmdline_complete_add_if(f, ui_setting(i) + n + 1, begin);
}

static void complete_word(struct ui *ui, const char *command, const char *begin)
{
	struct finder *f = ui->find;
	const struct cmd_row *c = cmd_find(command);
	if (strcmp(command, "set") == 0) {
		CLEANUP(free_ptr)
		char *text = mem_strndup(buf_cstr(&ui->prompt.text) + strlen(command),
					 ui->prompt.at - strlen(command));
		complete_setting(f, text, begin);
		return;
	}
	if (strcmp(command, "goto") == 0) {
		f->choice_doc = "<event>";
		complete_event(ui, command, begin);
		return;
	}
	bool own_one = false;
	for (size_t i = 0; cmdline_word(i); i++)
		if (strcmp(cmdline_word(i)->name, command) == 0) {
			f->choice_doc = cmdline_word(i)->usage;
			own_one = true;
		}
	if (strcmp(command, "tree") == 0)
		complete_named(ui, begin, false);
	if (strcmp(command, "filter") == 0 || strcmp(command, "hold") == 0)
		for (size_t i = 0; filter_field_name(i); i++) {
			CLEANUP(free_ptr) char *name = mem_printf("%s:", filter_field_name(i));
			cmdline_complete_add_if(f, name, begin);
		}
	if (view_find(command) && !own_one && !(c && c->supervisor)) {
		f->choice_doc = "[AGENT | SANDBOX]";
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
	if (strstr(c->usage, "SANDBOX"))
		complete_named(ui, begin, false);
}

void cmdline_complete(struct ui *ui)
{
	struct finder *f = ui->find;
	const struct prompt *p = &ui->prompt;
	const char *text = buf_cstr(&p->text);
	size_t from = p->at, command = strcspn(text, " ");
	choices_clear(f);
	while (from > 0 && text[from - 1] != ' ')
		from--;
	CLEANUP(free_ptr) char *begin = mem_strndup(text + from, p->at - from);
	f->choice_from = from;
	if (from == 0) {
		complete_name(ui, begin);
		return;
	}
	CLEANUP(free_ptr) char *name = mem_strndup(text, command);
	complete_word(ui, name, begin);
}
