/* sandglass-lua(3) and sandglass-policy(5), from the types that editors read. */
#include <string.h>

#include "cli/help.h"
#include "cli/lib/roff.h"
#include "base/mem.h"

static bool help_man_lua_tagged(const struct meta_line *l, const char *tag)
{
	return l->tag_len == strlen(tag) && !strncmp(l->tag, tag, l->tag_len);
}

/* A long one may be broken behind its bars. */
static void put_type(struct buf *out, const struct meta_line *l)
{
	size_t from = 0;
	buf_puts(out, "\\fI");
	for (size_t i = 0; i < l->type_len; i++)
		if (l->type[i] == '|' || i + 1 == l->type_len) {
			roff_literal(out, l->type + from, i + 1 - from);
			buf_puts(out, i + 1 < l->type_len ? "\\:" : "");
			from = i + 1;
		}
	buf_puts(out, "\\fR");
}

static void type_and_about(struct buf *out, const struct meta_line *l)
{
	put_type(out, l);
	buf_puts(out, l->about_len ? "  " : "");
	roff_prose(out, l->about, l->about_len);
	buf_putc(out, '\n');
}

static void help_man_lua_named(struct buf *out, const struct meta_line *l, const char *width)
{
	buf_printf(out, ".TP %s\n\\fB", width);
	roff_literal(out, l->name, l->name_len);
	buf_printf(out, "\\fR%s\n", l->optional ? "?" : "");
	type_and_about(out, l);
}

/* The text above its tags. */
static void help_man_lua_text_of(struct buf *out, const struct meta_block *b)
{
	struct meta_line l;
	bool any = false;
	for (const char *at = b->at; meta_line_next(&at, b->end, &l);)
		if (!l.tag_len && l.about_len) {
			buf_puts(out, any ? " " : "");
			roff_prose(out, l.about, l.about_len);
			any = true;
		}
	buf_puts(out, any ? "\n" : "");
}

static void help_man_lua_rows_of(struct buf *out, const struct meta_block *b, const char *tag,
				 const char *width)
{
	struct meta_line l;
	size_t nr = 0;
	for (const char *at = b->at; meta_line_next(&at, b->end, &l);) {
		if (!help_man_lua_tagged(&l, tag) || !strncmp(l.name, "...", 3))
			continue;
		help_man_lua_named(out, &l, width);
		buf_puts(out, nr++ ? "" : ".PD 0\n");
	}
	buf_puts(out, nr ? ".PD\n" : "");
}

/* "Returns sg.Result? result, sg.Error? err" */
static void help_man_lua_returns(struct buf *out, const struct meta_block *b)
{
	struct meta_line l;
	size_t nr = 0;
	for (const char *at = b->at; meta_line_next(&at, b->end, &l);) {
		if (!help_man_lua_tagged(&l, "return"))
			continue;
		if (!nr)
			roff_paragraph(out);
		buf_puts(out, nr++ ? ",\n" : "Returns ");
		put_type(out, &l);
		buf_puts(out, l.name_len ? " " : "");
		roff_prose(out, l.name, l.name_len);
		buf_puts(out, l.about_len ? " (" : "");
		roff_prose(out, l.about, l.about_len);
		buf_puts(out, l.about_len ? ")" : "");
	}
	buf_puts(out, nr ? "\n" : "");
}

static void help_man_lua_function(struct buf *out, const struct meta_block *b)
{
	CLEANUP(free_ptr) char *call = mem_printf("%s%s", b->name, b->args);
	roff_heading(out, call, strlen(call));
	help_man_lua_text_of(out, b);
	help_man_lua_rows_of(out, b, "param", "10");
	help_man_lua_returns(out, b);
}

/* Is there something to say of it? Some classes are only there to have functions. */
static bool help_man_lua_says(const struct meta_block *b)
{
	struct meta_line l;
	for (const char *at = b->at; meta_line_next(&at, b->end, &l);)
		if (!l.tag_len || help_man_lua_tagged(&l, "field") ||
		    help_man_lua_tagged(&l, "alias"))
			return true;
	return false;
}

static void help_man_lua_class(struct buf *out, const struct meta_block *b)
{
	struct meta_line l;
	help_man_lua_text_of(out, b);
	help_man_lua_rows_of(out, b, "field", "16");
	for (const char *at = b->at; meta_line_next(&at, b->end, &l);)
		if (help_man_lua_tagged(&l, "alias"))
			type_and_about(out, &l);
}

static void help_man_lua_functions(struct buf *out, const char *file)
{
	CLEANUP(free_ptr) char *text = meta_text(file);
	struct meta_block b;
	for (const char *at = text ? text : ""; meta_next(&at, &b); meta_release(&b))
		if (b.args)
			help_man_lua_function(out, &b);
}

void help_man_fields(struct buf *out, const char *file, const char *name)
{
	CLEANUP(free_ptr) char *text = meta_text(file);
	struct meta_block b;
	for (const char *at = text ? text : ""; meta_next(&at, &b); meta_release(&b)) {
		if (b.args || !*b.name || !help_man_lua_says(&b) ||
		    (name && strcmp(b.name, name) != 0))
			continue;
		if (!name)
			roff_heading(out, b.name, strlen(b.name));
		help_man_lua_class(out, &b);
	}
}

static const char about_lua[] =
	"A script runs from top to bottom. A call that waits suspends only its own coroutine: many agents of one script run in\n"
	"parallel. Failures outside the script return 'nil, err': err.code names the kind, tostring(err) is one line, and\n"
	"assert(box:run \"make\") raises the error. A mistake in the script raises an error with its line.\n"
	"\n"
	"Every effect outside the script is an action: checked against policy (sandglass-policy(5)), recorded, and shown. Resume, fork,\n"
	"and simulate run the script from its start and answer recorded actions from the recording. Sandboxes, tasks, and proxies can be\n"
	"declared <close>. Unknown options raise an error at the line of the call. A ? after a name or a type marks an optional value.\n";

static const char example_lua[] = "  local sg = require \"sandglass\"\n"
				  "  local box <close> = sg.sandbox { repo = \".\" }\n"
				  "  print(assert(box:run \"uname -s\").out)\n"
				  "  local r = assert(sg.agent.run {\n"
				  "    task = \"make the tests pass\", box = box,\n"
				  "    done = function() return box:exec(\"make test\").ok end,\n"
				  "  })\n"
				  "  assert(box:merge { branch = \"tests-pass\" })\n";

static const char example_policy[] =
	"  local p = require \"sandglass.policy\"\n"
	"  return p.rules { default = \"boxed\",\n"
	"    p.allow \"tests\"   { cmd = { \"make test\", \"make -j* test\" },\n"
	"                        limit = { time = \"10m\" } },\n"
	"    p.ask   \"no-push\" { cmd = \"git push *\", risk = \"high\",\n"
	"                        why = \"publishing requires approval\" },\n"
	"    p.deny  \"secrets\" { path = { \"**/.env*\", \"**/id_*\" },\n"
	"                        say = \"Secrets are off limits.\" },\n"
	"    p.ask   \"many\"    { kind = \"exec\", risk = \"high\", confirm = \"type\",\n"
	"      when = function(act)\n"
	"        for _, c in ipairs(act.commands) do\n"
	"          if c.words[1] == \"rm\" and #c:targets() > 5 then\n"
	"            return true, \"removes \" .. #c:targets() .. \" paths\"\n"
	"          end\n"
	"        end\n"
	"      end },\n"
	"  }\n";

/* Lines of Lua, as they stand. */
static void help_man_lua_code(struct buf *out, const char *text)
{
	buf_puts(out, ".nf\n");
	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		roff_example(out, text + 2, (size_t)(end - text) - 2);
	}
	buf_puts(out, ".fi\n");
}

void help_man_lua(struct buf *out)
{
	roff_section(out, "Synopsis");
	help_man_lua_code(out, "  local sg = require \"sandglass\"\n"
			       "  local v = require \"sandglass.verify\"    -- check files\n"
			       "  local s = require \"sandglass.suite\"     -- suites\n");
	roff_section(out, "Description");
	roff_layout(out, about_lua);
	roff_section(out, "Functions");
	help_man_lua_functions(out, "sandglass.d.lua");
	roff_section(out, "Types");
	help_man_fields(out, "sandglass.d.lua", NULL);
	roff_section(out, "Check files");
	help_man_lua_functions(out, "verify.d.lua");
	help_man_fields(out, "verify.d.lua", NULL);
	roff_section(out, "Suites");
	help_man_lua_functions(out, "suite.d.lua");
	help_man_fields(out, "suite.d.lua", NULL);
	roff_section(out, "Examples");
	help_man_lua_code(out, example_lua);
}

void help_man_policy(struct buf *out)
{
	CLEANUP(buf_release) struct buf rules = BUF_INIT;
	roff_section(out, "Synopsis");
	help_man_lua_code(out, "  local p = require \"sandglass.policy\"\n"
			       "  return p.rules { default = \"boxed\", RULE, ... }\n");
	roff_section(out, "Description");
	if (help_topic("rules", &rules))
		roff_layout(out, buf_cstr(&rules));
	roff_section(out, "Functions");
	help_man_lua_functions(out, "policy.d.lua");
	roff_section(out, "What a rule says");
	help_man_fields(out, "policy.d.lua", "sg.Rule");
	roff_section(out, "What a function of a rule is given");
	roff_heading(out, "sg.Act", 6);
	help_man_fields(out, "policy.d.lua", "sg.Act");
	roff_heading(out, "sg.Command", 10);
	help_man_fields(out, "policy.d.lua", "sg.Command");
	roff_section(out, "Example");
	help_man_lua_code(out, example_policy);
}
