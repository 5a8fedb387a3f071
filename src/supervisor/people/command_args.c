/* Whom and what the words of a command name. */
#include <stdlib.h>
#include <string.h>

#include "supervisor/people/super_cmd.h"
#include "sandbox/meant.h"

enum { NAMES_MAX = 8 };

const char *command_args_word(const struct ask_for *a, size_t i)
{
	return i < a->line->words.nr ? a->line->words.item[i] : NULL;
}

int command_args_id(const char *text, uint64_t *out, struct err *err)
{
	if (!text)
		return err_set(err, ERR_USAGE, "missing argument: ID");
	const char *hash = strchr(text, '#');
	char *end;
	uint64_t v = strtoull(hash ? hash + 1 : text, &end, 10);
	if (*end || !v)
		return err_set(err, ERR_USAGE, "expected an action number, got '%s'", text);
	*out = v;
	return 0;
}

int command_args_nobody(const struct super *s, const char *what, const char *name, struct err *err)
{
	CLEANUP(buf_release) struct buf known = BUF_INIT;
	const char **names = mem_calloc(s->nr_agents + 1, sizeof(*names));
	size_t nr = 0;
	for (size_t i = 0; i < s->nr_agents; i++) {
		if (s->agent[i].ended)
			continue;
		if (nr < NAMES_MAX)
			buf_printf(&known, "%s%s", nr ? ", " : "", s->agent[i].name);
		names[nr++] = s->agent[i].name;
	}
	const char *near = word_nearest(name, names, nr);
	err_set(err, ERR_NOENT, "%s '%s' not found in this session%s%s%s; %s%s%s", what, name,
		near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "",
		nr ? "agents: " : "no agent works in it now", buf_cstr(&known),
		nr > NAMES_MAX ? ", .." : "");
	free(names);
	return -1;
}

int command_args_agent(struct ask_for *a, uint64_t *out, struct err *err)
{
	const char *name = command_args_word(a, 0);
	*out = 0;
	if (!name)
		return 0;
	struct agent *ag = super_agent_named(a->s, name);
	if (!ag && strtoull(name[0] == '#' ? name + 1 : name, NULL, 10))
		ag = super_agent(a->s, strtoull(name[0] == '#' ? name + 1 : name, NULL, 10));
	if (!ag)
		return command_args_nobody(a->s, "agent", name, err);
	*out = ag->id;
	return 0;
}

/* "fix-1, fix-2", for a command that names none of them. */
static void known_boxes(const struct super *s, struct buf *out)
{
	size_t nr = boxes_count(s->boxes);
	for (size_t i = 0; i < nr && i < NAMES_MAX; i++)
		buf_printf(out, "%s%s", i ? ", " : "", boxes_name(s->boxes, boxes_at(s->boxes, i)));
	buf_puts(out, nr > NAMES_MAX ? ", .." : "");
}

/* Some commands take the sandbox as an argument, others as an option: the error shows the right
 * syntax. */
static int command_args_several(const struct ask_for *a, struct err *err)
{
	CLEANUP(buf_release) struct buf known = BUF_INIT;
	const struct command *c = a->line->command;
	known_boxes(a->s, &known);
	return err_set(err, ERR_USAGE, "several sandboxes are open (%s): %s", buf_cstr(&known),
		       c && strstr(c->options, "--box ") ? "name one with --box NAME"
		       : c && strstr(c->options, "--all ")
			       ? "name one after the command, or use --all"
			       : "name one after the command");
}

int command_args_box(struct ask_for *a, const char *name, uint64_t *out, struct err *err)
{
	*out = 0;
	if (!name)
		return 0;
	*out = boxes_find(a->s->boxes, name);
	if (!*out && boxes_get(a->s->boxes, meant_id(name)))
		*out = meant_id(name);
	if (*out)
		return 0;
	CLEANUP(buf_release) struct buf known = BUF_INIT;
	known_boxes(a->s, &known);
	return err_set(err, ERR_NOENT, "sandbox '%s' not found; %s%s", name,
		       known.len ? "sandboxes: " : "none is open now", buf_cstr(&known));
}

int command_args_one_box(struct ask_for *a, const char *name, uint64_t *out, struct err *err)
{
	if (command_args_box(a, name, out, err) < 0)
		return -1;
	if (*out)
		return 0;
	if (boxes_count(a->s->boxes) == 0)
		return err_set(err, ERR_USAGE, "no sandbox is open");
	if (boxes_count(a->s->boxes) > 1)
		return command_args_several(a, err);
	*out = boxes_at(a->s->boxes, 0);
	return 0;
}
