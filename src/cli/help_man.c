/* The manual pages, from the tables that 'sandglass help' prints: sandglass(1) and
 * sandglass-filter(7); the two about Lua stand beside this (help_man_lua.c). */
#include <ctype.h>
#include <string.h>

#include "cli/help.h"
#include "cli/lib/roff.h"
#include "base/mem.h"

static void help_man_topic(struct buf *out, const char *name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (help_topic(name, &text))
		roff_layout(out, buf_cstr(&text));
}

/* Without its first paragraph, which says what the topic is: the section does that. */
static void topic_below(struct buf *out, const char *name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	const char *gap = help_topic(name, &text) ? strstr(buf_cstr(&text), "\n\n") : NULL;
	if (gap)
		roff_layout(out, gap + 2);
}

/* A whole sentence of what begins small and ends without a stop. */
static void help_man_sentence(struct buf *out, const char *text)
{
	CLEANUP(free_ptr) char *line = mem_printf("%s.", text);
	*line = (char)toupper((unsigned char)*line);
	roff_line(out, line, strlen(line));
}

static void help_man_command(struct buf *out, const struct command *c)
{
	const char *text = c->usage, *form;
	size_t len;
	roff_heading(out, c->name, strlen(c->name));
	for (bool first = true; usage_next(&text, &form, &len); first = false) {
		buf_puts(out, first ? "" : ".br\n");
		buf_printf(out, "\\fBsandglass %s\\fR%s", c->name, len ? " " : "");
		roff_usage(out, form, len);
		buf_putc(out, '\n');
	}
	buf_puts(out, ".PP\n");
	help_man_sentence(out, c->summary);
	roff_options(out, c->options);
	roff_layout(out, c->help);
}

static void help_man_commands(struct buf *out)
{
	const char *names;
	for (size_t g = 0; command_group(g, &names); g++) {
		roff_section(out, command_group(g, &names));
		for (; *names; names += strspn(names, " ")) {
			CLEANUP(free_ptr) char *one = mem_strndup(names, strcspn(names, " "));
			const struct command *c = command_find(one);
			names += strlen(one);
			if (c && !(c->flags & COMMAND_HIDDEN))
				help_man_command(out, c);
		}
	}
}

/* The overview, a line for each section. */
static void help_man_overview(struct buf *out)
{
	const char *names, *title;
	for (size_t g = 0; (title = command_group(g, &names)); g++) {
		buf_puts(out, ".TP\n");
		roff_line(out, title, strlen(title));
		roff_usage(out, names, strlen(names));
		buf_putc(out, '\n');
	}
}

static const char about_sandglass[] =
	"sandglass runs AI agents in supervised sandboxes. Agents are Lua scripts that use a sandbox, or third-party agents that run\n"
	"inside one. Each action is checked against your policy, recorded, and shown. You watch, pause, approve, deny, roll back, fork,\n"
	"and replay, in the console or with the commands below.\n"
	"\n"
	"Each run is a session with its own supervisor and one recording file, which 'verify' checks. Leaving the console doesn't\n"
	"stop agents; 'attach' returns to it. Without a command, sandglass shows the running sessions.\n"
	"\n"
	"Options can follow arguments, and unique beginnings of long options work. A command without a session uses the running one,\n"
	"else the newest. With --json, each line is an object with a 'schema' number.\n";

static const char examples_sandglass[] =
	"  $ sandglass demo\n"
	"  $ sandglass new my --from coding\n"
	"  $ sandglass run my.lua\n"
	"  $ sandglass run -e 'make the tests pass' --repo .\n"
	"  $ sandglass run --agent claude -e 'make the tests pass' --repo .\n"
	"  $ sandglass approve 405\n"
	"  $ sandglass diff s-7k --stat\n"
	"  $ sandglass verify s-7k\n";

static void body_sandglass(struct buf *out)
{
	roff_section(out, "Synopsis");
	roff_usage(out, "sandglass [COMMAND] [ARGUMENTS] [OPTIONS]",
		   strlen("sandglass [COMMAND] [ARGUMENTS] [OPTIONS]"));
	buf_putc(out, '\n');
	roff_section(out, "Description");
	roff_layout(out, about_sandglass);
	roff_section(out, "Commands");
	help_man_overview(out);
	roff_section(out, "Options of every command");
	roff_options(out, common_options);
	help_man_commands(out);
	roff_section(out, "Names of sessions, events, and sandboxes");
	topic_below(out, "ids");
	roff_section(out, "Exit status");
	topic_below(out, "exit");
	roff_section(out, "Environment");
	topic_below(out, "variables");
	roff_section(out, "Files");
	topic_below(out, "files");
	roff_section(out, "Configuration");
	help_man_fields(out, "config.d.lua", "sg.Config");
	roff_section(out, "Examples");
	roff_layout(out, examples_sandglass);
}

static void body_filter(struct buf *out)
{
	roff_section(out, "Description");
	help_man_topic(out, "filter");
}

static void body_tutorial(struct buf *out)
{
	help_man_guide(out, "README.md");
}

static void body_console(struct buf *out)
{
	help_man_guide(out, "ui/README.md");
	roff_section(out, "Keys");
	help_man_topic(out, "keys");
}

static void body_backends(struct buf *out)
{
	help_man_guide(out, "plugins/README.md");
}

/* --- pages ------------------------------------------------------------------------------------ */

static const struct page {
	const char *name;
	int section;
	const char *title, *about, *see;
	void (*body)(struct buf *out);
} help_man_pages[] = {
	{ "sandglass", 1, "User Commands", "supervision console for AI agents",
	  "sandglass-lua(3), sandglass-policy(5), sandglass-filter(7)", body_sandglass },
	{ "sandglass-lua", 3, "Lua Library",
	  "the library of agent scripts, check files, and suites",
	  "sandglass(1), sandglass-policy(5), sandglass-filter(7)", help_man_lua },
	{ "sandglass-policy", 5, "File Formats", "rules for what agents may do",
	  "sandglass(1), sandglass-lua(3), sandglass-filter(7)", help_man_policy },
	{ "sandglass-filter", 7, "Miscellanea", "the filter language of sandglass",
	  "sandglass(1), sandglass-policy(5), sandglass-events(7)", body_filter },
	{ "sandglass-tutorial", 7, "Miscellanea", "write agent scripts and use models",
	  "sandglass(1), sandglass-lua(3), sandglass-backends(7)", body_tutorial },
	{ "sandglass-console", 7, "Miscellanea", "the screens and keys of sandglass",
	  "sandglass(1), sandglass-filter(7)", body_console },
	{ "sandglass-backends", 7, "Miscellanea", "backends, agents, and plugins of sandglass",
	  "sandglass(1), sandglass-lua(3), sandglass-tutorial(7)", body_backends },
	{ "sandglass-events", 7, "Miscellanea", "the events of a sandglass recording",
	  "sandglass(1), sandglass-filter(7)", help_man_events },
};

const char *help_man_name(size_t i)
{
	return i < ARRAY_LEN(help_man_pages) ? help_man_pages[i].name : NULL;
}

/* "sandglass(1), sandglass-lua(3)": names in bold. */
static void help_man_see_also(struct buf *out, const char *list)
{
	roff_section(out, "See also");
	for (const char *p = list; *p;) {
		size_t name = strcspn(p, "("), all = strcspn(p, " ");
		buf_puts(out, ".BR ");
		roff_literal(out, p, name);
		buf_printf(out, " %.*s\n", (int)(all - name), p + name);
		p += all;
		p += strspn(p, " ");
	}
}

bool help_man(const char *name, struct buf *out)
{
	const struct page *p = help_man_pages;
	while (p < help_man_pages + ARRAY_LEN(help_man_pages) && strcmp(p->name, name) != 0)
		p++;
	if (p == help_man_pages + ARRAY_LEN(help_man_pages))
		return false;
	roff_page(out, p->name, p->section, p->title, SANDGLASS_VERSION, p->about);
	p->body(out);
	help_man_see_also(out, p->see);
	return true;
}
