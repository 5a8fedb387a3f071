/* The help texts, from the same rows. */
#include <string.h>

#include "control/registry.h"

void command_help_short(const struct command *c, struct buf *out)
{
	const char *text = c->usage;
	bool first = true;
	/* each form on a line of its own */
	while (*text || first) {
		const char *bar = strstr(text, " | ");
		size_t n = bar ? (size_t)(bar - text) : strlen(text);
		buf_printf(out, "%s sandglass %s%s%.*s\n", first ? "usage:" : "   or:", c->name, n ? " " : "", (int)n,
			   text);
		text += n + (bar ? 3 : 0);
		first = false;
	}
	buf_printf(out, "\n%s\n", c->summary);
	if (*c->options)
		buf_printf(out, "\n%s", c->options);
}

void command_help_long(const struct command *c, struct buf *out)
{
	command_help_short(c, out);
	if (*c->help)
		buf_printf(out, "\n%s%s", c->help, c->help[strlen(c->help) - 1] == '\n' ? "" : "\n");
	buf_printf(out, "\nEverywhere:\n%s", common_options);
}

static void list_where(enum command_where where, const char *title, struct buf *out)
{
	bool any = false;
	for (size_t i = 0; i < command_count(); i++) {
		const struct command *c = command_at(i);
		if (c->where != where || (c->flags & COMMAND_HIDDEN))
			continue;
		if (!any)
			buf_printf(out, "\n%s\n", title);
		any = true;
		buf_printf(out, "  %-11s %s\n", c->name, c->summary);
	}
}

void command_help_list(struct buf *out)
{
	buf_puts(out, "usage: sandglass COMMAND [WORDS] [OPTIONS]\n");
	list_where(COMMAND_OFFLINE, "Commands:", out);
	list_where(COMMAND_SUPERVISOR, "To a session that runs (--in ID when there are several):", out);
	list_where(COMMAND_LOCAL, "In the console only:", out);
	buf_puts(out, "\n'sandglass help COMMAND' says more about one, with examples.\n");
}
