/* The commands that a model's script names, and scripts that may run others. */
#include <string.h>

#include "inside/script_commands.h"
#include "tap.h"

static void has(const char *script, const char *want, const char *name)
{
	CLEANUP(strv_release) struct strv got = STRV_INIT;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	bool good = script_commands(script, strlen(script), &got);
	for (size_t i = 0; i < got.nr; i++)
		buf_printf(&b, "%s%s", i ? " | " : "", got.item[i]);
	is_str(good ? buf_cstr(&b) : NULL, want, name);
}

int main(void)
{
	has("const r = await tools.exec_command({\"cmd\": \"touch one\"}); text(r.output);", "touch one", "one command");
	has("tools . exec_command({cmd:'a'})", NULL, "another way to write the call");
	has("const [a, b] = await Promise.all([tools.exec_command({cmd: 'ls -l', workdir: \"/x\"}), tools.exec_command({ cmd: `rm \\\"x\\\"\\n`, yield_time_ms: 10 })]);\n"
	    "text(a.output + '\\n' + b.output);",
	    "ls -l | rm \"x\"\n", "two, with other arguments");
	has("await tools.exec_command({cmd: \"a\\u0041\"})", "aA", "an escaped character");
	has("text('done')", NULL, "none");
	has("const c = 'rm'; tools.exec_command({cmd: c})", NULL, "a variable");
	has("tools.exec_command({cmd: `rm ${x}`})", NULL, "a computed text");
	has("tools.exec_command({cmd: 'rm' + x})", NULL, "a sum");
	has("tools.exec_command({cmd: 'ls', cmd: 'rm'})", NULL, "two values");
	has("tools.exec_command({cmd: 'ls', ...more})", NULL, "a spread");
	has("tools.exec_command({cmd: 'ls', ['cm' + 'd']: 'rm'})", NULL, "a computed key");
	has("tools.exec_command({cmd: 'ls'}); const t = tools; t.exec_command({cmd: 'rm'})", NULL, "another name");
	has("tools.exec_command({cmd: 'ls'}); tools['exec_command']({cmd: 'rm'})", NULL, "a computed name");
	has("tools.exec_command({cmd: 'ls'}); globalThis['to' + 'ols'].exec_command({cmd: 'rm'})", NULL, "a computed global");
	has("tools.exec_command({cmd: 'ls'}); \\u0074ools.exec_command({cmd: 'rm'})", NULL, "an escaped name");
	has("tools.exec_command({cmd: 'ls'}); eval('too' + 'ls.exec_command({cmd: x})')", NULL, "code from text");
	has("tools.exec_command({cmd: 'ls'}); tools.apply_patch('x')", NULL, "another tool");
	has("tools.exec_command({cmd: 'ls'", NULL, "an incomplete one");
	return done_testing();
}
