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
		buf_printf(out, "%s sandglass %s%s%.*s\n", first ? "usage:" : "   or:", c->name,
			   n ? " " : "", (int)n, form);
	buf_printf(out, "\n%s\n", c->summary);
	if (*c->options)
		buf_printf(out, "\n%s", c->options);
}

/* Every listed command is in one group. 'help' gives the first @common of each a line of their
 * own. */
static const struct {
	const char *title;
	size_t common;
	const char *names;
} help_groups[] = {
	{ "Get started", 5,
	  "demo new run claude attach codex opencode gemini pi copilot init resume fork" },
	{ "Inspect", 6, "ls show replay search events out state watch" },
	{ "Control", 7,
	  "approve deny say pause continue budget stop answer defer dry-run apply step hold freeze "
	  "thaw kill close mark" },
	{ "Workspace", 4, "diff merge undo rollback review tree cat blame when sandbox shell" },
	{ "Verify", 4, "verify claims compare repeat simulate report test" },
	{ "Policy and settings", 3, "policy secret doctor trust login config" },
	{ "Integrations", 3, "serve mcp hook plugin" },
	{ "Export and clean up", 3, "export redact prune archive label import index" },
	{ "More", 0, "help completion version" },
};

const char *command_group(size_t i, const char **names)
{
	if (i >= ARRAY_LEN(help_groups))
		return NULL;
	*names = help_groups[i].names;
	return help_groups[i].title;
}

static bool help_has_word(const char *names, const char *word)
{
	size_t len = strlen(word);
	for (const char *p = names; (p = strstr(p, word)); p += len)
		if ((p == names || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
			return true;
	return false;
}

/* The commands near it in the list, separated by commas; nothing for a command that is not listed.
 * */
enum { HELP_COLUMNS = 100 };

/* Breaks lines at HELP_COLUMNS; the first one follows "See also: ". */
static void help_see_also(const struct command *c, struct buf *out)
{
	size_t column = strlen("See also: ");
	for (size_t g = 0; g < ARRAY_LEN(help_groups); g++)
		for (const char *p = help_groups[g].names;
		     help_has_word(help_groups[g].names, c->name) && *p; p += strspn(p, " ")) {
			size_t len = strcspn(p, " ");
			if (len != strlen(c->name) || strncmp(p, c->name, len) != 0) {
				bool full = column + strlen(" ,") + len > HELP_COLUMNS;
				const char *gap = full ? ",\n  " : ", ";
				buf_printf(out, "%s%.*s", out->len ? gap : "", (int)len, p);
				column = full ? 2 + len : column + 2 + len;
			}
			p += len;
		}
}

void command_help_long(const struct command *c, struct buf *out)
{
	CLEANUP(buf_release) struct buf others = BUF_INIT;
	command_help_short(c, out);
	if (*c->help)
		buf_printf(out, "\n%s%s", c->help,
			   c->help[strlen(c->help) - 1] == '\n' ? "" : "\n");
	buf_puts(out, "\nCommon options:\n");
	for (const char *line = common_options; *line; line = strchr(line, '\n') + 1)
		if (!(c->flags & COMMAND_NO_JSON) || strncmp(line, "    --json ", 11) != 0)
			buf_printf(out, "%.*s", (int)(strchr(line, '\n') + 1 - line), line);
	help_see_also(c, &others);
	if (others.len)
		buf_printf(out, "\nSee also: %s.\n", buf_cstr(&others));
}

static void list_one(const struct command *c, struct buf *out)
{
	buf_printf(out, "  %-10s %s %s\n", c->name, c->where == COMMAND_SUPERVISOR ? "*" : " ",
		   c->summary);
}

/* One group: its common commands with their summaries, the others by name. */
static void list_group(size_t g, struct buf *out)
{
	size_t nr = 0, column = 0;
	for (const char *name = help_groups[g].names; *name; name += strspn(name, " ")) {
		CLEANUP(free_ptr) char *one = mem_strndup(name, strcspn(name, " "));
		const struct command *c = command_find(one);
		name += strlen(one);
		if (!c || (c->flags & COMMAND_HIDDEN))
			continue;
		if (nr++ < help_groups[g].common) {
			list_one(c, out);
			continue;
		}
		if (!column || column + strlen(one) > 76) {
			buf_printf(out, "%s%s", column ? "\n       " : "  ",
				   column || !help_groups[g].common ? "" : "also:");
			column = 8;
		}
		buf_printf(out, " %s", one);
		column += strlen(one) + 1;
	}
	if (column)
		buf_puts(out, "\n");
}

void command_help_list(struct buf *out)
{
	buf_puts(out, "usage: sandglass COMMAND [ARGUMENTS] [OPTIONS]\n");
	for (size_t g = 0; g < ARRAY_LEN(help_groups); g++) {
		buf_printf(out, "%s%s\n", g ? "" : "\n", help_groups[g].title);
		list_group(g, out);
	}
	buf_puts(
		out,
		"\n* needs a running session (-S ID if several run); merge, undo, and redact also work later.\n"
		"'sandglass help COMMAND' shows options and examples. Topics: keys, console, lua, filter,\n"
		"rules, plugins, ids, exit, files, variables.\n");
}
