/* The help texts, from the same rows. */
#include <string.h>

#include "base/mem.h"
#include "control/registry.h"

bool usage_next(const char **text, const char **form, size_t *len)
{
	const char *bar = *text;
	if (!bar)
		return false;
	for (int depth = 0; *bar && (depth || strncmp(bar, " | ", 3) != 0); bar++)
		depth += (*bar == '[') - (*bar == ']');
	*form = *text;
	*len = (size_t)(bar - *text);
	*text = *bar ? bar + 3 : NULL;
	return true;
}

void command_help_short(const struct command *c, struct buf *out)
{
	const char *text = c->usage, *form;
	size_t n;
	for (bool first = true; usage_next(&text, &form, &n); first = false)
		buf_printf(out, "%s sandglass %s%s%.*s\n", first ? "usage:" : "   or:", c->name, n ? " " : "", (int)n, form);
	buf_printf(out, "\n%s\n", c->summary);
	if (*c->options)
		buf_printf(out, "\n%s", c->options);
}

/* What people come for, in the order in which they come for it; every command that is listed stands in one of them. */
static const struct {
	const char *title, *names;
} groups[] = {
	{ "Begin", "demo new init run resume fork" },
	{ "Agents in their own interface", "claude codex opencode gemini pi copilot" },
	{ "Look", "attach watch ls show state events out search replay" },
	{ "Decide and steer", "approve deny later answer say preview promote pause continue step freeze thaw kill close stop hold budget mark" },
	{ "The files of a box", "diff merge pick rollback undo tree cat blame when" },
	{ "Prove and compare", "verify claims compare report rerun redo test" },
	{ "Rules and settings", "policy trust secret config doctor" },
	{ "Other people's agents, boxes and tools", "sandbox shell serve mcp hook plugin" },
	{ "Keep, hand on, remove", "export import index redact prune" },
	{ "And", "help completion version" },
};

const char *command_group(size_t i, const char **names)
{
	if (i >= ARRAY_LEN(groups))
		return NULL;
	*names = groups[i].names;
	return groups[i].title;
}

static bool has_word(const char *names, const char *word)
{
	size_t len = strlen(word);
	for (const char *p = names; (p = strstr(p, word)); p += len)
		if ((p == names || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
			return true;
	return false;
}

/* The commands beside which it stands in the list, with commas between; nothing for one that is not listed. */
static void see_also(const struct command *c, struct buf *out)
{
	for (size_t g = 0; g < ARRAY_LEN(groups); g++)
		for (const char *p = groups[g].names; has_word(groups[g].names, c->name) && *p; p += strspn(p, " ")) {
			size_t len = strcspn(p, " ");
			if (len != strlen(c->name) || strncmp(p, c->name, len) != 0)
				buf_printf(out, "%s%.*s", out->len ? ", " : "", (int)len, p);
			p += len;
		}
}

void command_help_long(const struct command *c, struct buf *out)
{
	CLEANUP(buf_release) struct buf others = BUF_INIT;
	command_help_short(c, out);
	if (*c->help)
		buf_printf(out, "\n%s%s", c->help, c->help[strlen(c->help) - 1] == '\n' ? "" : "\n");
	buf_printf(out, "\nEverywhere:\n%s", common_options);
	see_also(c, &others);
	if (others.len)
		buf_printf(out, "\nSee also: %s.\n", buf_cstr(&others));
}

static void list_one(const struct command *c, struct buf *out)
{
	buf_printf(out, "  %-10s %s %s\n", c->name, c->where == COMMAND_SUPERVISOR ? "*" : " ", c->summary);
}

void command_help_list(struct buf *out)
{
	buf_puts(out, "usage: sandglass COMMAND [WORDS] [OPTIONS]\n");
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		buf_printf(out, "\n%s\n", groups[g].title);
		for (const char *name = groups[g].names; *name; name += strspn(name, " ")) {
			CLEANUP(free_ptr) char *one = xstrndup(name, strcspn(name, " "));
			const struct command *c = command_find(one);
			name += strlen(one);
			if (c && !(c->flags & COMMAND_HIDDEN))
				list_one(c, out);
		}
	}
	buf_puts(out, "\n* goes to a session that runs (--in ID when there are several); merge, undo and redact also to one that has ended.\n"
		      "'sandglass help COMMAND' says more about one, with examples. Also: help lua, filter, rules, plugins, ids, exit, files,\n"
		      "variables.\n");
}
