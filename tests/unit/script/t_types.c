/* lua/meta/sandglass.d.lua and what is really registered agree both ways; every function has its comment, and those
 * that wait are marked @async. */
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
	"for name, methods in pairs(check.classes) do list(methods, name:sub(4) .. ':') end\n";

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

int main(void)
{
	struct fake_run r;
	struct buf typed = BUF_INIT;
	fake_run(&(struct fake_opts){ .text = registered }, &r);
	ok(r.end && json_flag(r.end, "ok", false), "the library is listed (%s)", fake_why(&r));
	char *meta = fake_source("lua/meta/sandglass.d.lua"), *save = NULL;
	bool commented = false;
	buf_puts(&typed, "sg.args\n");
	for (char *line = strtok_r(meta, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char name[100];
		if (name_of(line, name, sizeof(name))) {
			buf_printf(&typed, "%s\n", name);
			ok(has_line(buf_cstr(&r.printed), name), "%s exists", name);
			ok(commented, "%s has its comment", name);
		}
		commented = strncmp(line, "---", 3) == 0;
	}
	char *names = xstrdup(buf_cstr(&r.printed));
	for (char *name = strtok_r(names, "\n", &save); name; name = strtok_r(NULL, "\n", &save))
		ok(has_line(buf_cstr(&typed), name), "%s is typed", name);
	free(names);
	free(meta);
	buf_release(&typed);
	fake_release(&r);
	return done_testing();
}
