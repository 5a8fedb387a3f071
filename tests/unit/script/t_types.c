/* lua/meta matches the library in both directions: functions of the library and of the modules for policies, suites,
 * and checks, each with its comment, and the fields of options tables by class. */
#include "fake_super.c" /* NOLINT: tests are one file each */
#include "tap.h"

static const char *const registered =
	"local sg, check = require 'sandglass', require 'sandglass.check'\n"
	"local function list(t, prefix)\n"
	"  for k, v in pairs(t) do\n"
	"    if type(v) == 'function' then print(prefix .. k)\n"
	"    elseif k == 'agent' or k == 'host' or k == 'json' then list(v, prefix .. k .. '.') end\n"
	"  end\n"
	"end\n"
	"list(sg, 'sg.')\n"
	"print 'sg.args'\n"
	"for name, methods in pairs(check.classes) do list(methods, name:sub(4) .. ':') end\n"
	"for _, m in ipairs { 'policy', 'suite', 'verify' } do\n"
	"  for k, v in next, require('sandglass.' .. m) do\n"
	"    if type(v) == 'function' and k ~= 'result' and k ~= 'judge' and k ~= 'run' then print(m .. '.' .. k) end\n"
	"  end\n"
	"end\n"
	"require 'sandglass.config'\n"
	"for class, spec in pairs(check.specs) do\n"
	"  for option in pairs(spec) do print(class .. ' ' .. option) end\n"
	"end\n";

/* Types beside those of the library; "M.x" in them is x of that module. */
static const char *const modules[] = { "policy", "suite", "verify", "config" };

static bool has_line(const char *text, const char *word);

/* "---@field name? type" becomes a line "CLASS name" for an option. */
static void field_of(const char *line, const char *class, const char *registered_, struct buf *typed)
{
	size_t n = strcspn(line, "? ");
	CLEANUP(free_ptr) char *name = mem_printf("%s %.*s", class, (int)n, line);
	CLEANUP(free_ptr) char *any = mem_printf("\n%s ", class);
	if (!strstr(registered_, any))
		return; /* not a class of options */
	buf_printf(typed, "%s\n", name);
	ok(has_line(registered_, name), "%s is an option", name);
}

static bool has_line(const char *text, const char *word)
{
	size_t len = strlen(word);
	for (const char *p = text; (p = strstr(p, word)) != NULL; p += len)
		if ((p == text || p[-1] == '\n') && (p[len] == '\n' || !p[len]))
			return true;
	return false;
}

/* "function Box:exec(cmd, o) end" -> "Box:exec" */
static bool name_of(const char *line, char *out, size_t cap)
{
	const char *open = strncmp(line, "function ", 9) == 0 ? strchr(line, '(') : NULL;
	if (!open || (size_t)(open - line - 9) >= cap)
		return false;
	memcpy(out, line + 9, (size_t)(open - line) - 9);
	out[open - line - 9] = 0;
	return true;
}

/* One file of types against what is there. @module: NULL for the library itself. */
static void types(const char *module, const char *registered_, struct buf *typed)
{
	CLEANUP(free_ptr) char *path = mem_printf("lua/meta/%s.d.lua", module ? module : "sandglass");
	char *meta = fake_source(path), *save = NULL, class[100] = "";
	bool commented = false;
	for (char *line = strtok_r(meta, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char name[100];
		if (sscanf(line, "---@class %99s", class) == 1 || strncmp(line, "---@field ", 10) != 0)
			;
		else
			field_of(line + 10, class, registered_, typed);
		/* a module goes by its first letter there, as in what users write */
		bool own = module && name_of(line, name, sizeof(name)) && name[0] == *module && name[1] == '.';
		if (own || (!module && name_of(line, name, sizeof(name)))) {
			CLEANUP(free_ptr) char *full = own ? mem_printf("%s.%s", module, name + 2) : mem_strdup(name);
			buf_printf(typed, "%s\n", full);
			ok(has_line(registered_, full), "%s exists", full);
			ok(commented, "%s has its comment", full);
		}
		commented = strncmp(line, "---", 3) == 0;
	}
	free(meta);
}

int main(void)
{
	struct fake_run r;
	struct buf typed = BUF_INIT;
	fake_run(&(struct fake_opts){ .text = registered }, &r);
	ok(r.end && json_flag(r.end, "ok", false), "the library is listed (%s)", fake_why(&r));
	buf_puts(&typed, "sg.args\n");
	types(NULL, buf_cstr(&r.printed), &typed);
	for (size_t i = 0; i < ARRAY_LEN(modules); i++)
		types(modules[i], buf_cstr(&r.printed), &typed);
	char *names = mem_strdup(buf_cstr(&r.printed)), *save = NULL;
	for (char *name = strtok_r(names, "\n", &save); name; name = strtok_r(NULL, "\n", &save))
		ok(has_line(buf_cstr(&typed), name), "%s is typed", name);
	free(names);
	buf_release(&typed);
	fake_release(&r);
	return done_testing();
}
