/* The commands that a model's script names, and scripts that may run others. */
#include <string.h>

#include "inside/script_commands.h"
#include "tap.h"

static void has(const char *script, const char *want, const char *name)
{
	CLEANUP(strv_release) struct strv got = STRV_INIT, dirs = STRV_INIT;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	bool good = script_commands(script, strlen(script), &got, &dirs);
	for (size_t i = 0; i < got.nr; i++)
		buf_printf(&b, "%s%s%s%s", i ? " | " : "", dirs.item[i], *dirs.item[i] ? ": " : "", got.item[i]);
	is_str(good ? buf_cstr(&b) : NULL, want, name);
}

int main(void)
{
	has("const r = await tools.exec_command({\"cmd\": \"touch one\"}); text(r.output);", "touch one", "one command");
	has("tools . exec_command({cmd:'a'})", NULL, "another way to write the call");
	has("const [a, b] = await Promise.all([tools.exec_command({cmd: 'ls -l', workdir: \"/x\"}), tools.exec_command({ cmd: `rm \\\"x\\\"\\n`, yield_time_ms: 10 })]);\n"
	    "text(a.output + '\\n' + b.output);",
	    "/x: ls -l | rm \"x\"\n", "two, with other arguments");
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
	has("// all of them: don't stop\nfor (const f of ['a', 'b']) { text(`${f}: ${(await tools.exec_command({cmd: 'ls'})).output}`); } /* \" */",
	    "ls", "comments, a list, and a call in a template");
	has("'tools.exec_command({cmd:' + await run(\"rm\") + '})'", NULL, "code between two texts that look like a call");
	has("// tools.exec_command({cmd:`\nrun('rm');\n// `})", NULL, "code between two comments that look like a call");
	has("/tools.exec_command({cmd:'/; run('rm'); /'})/", NULL, "code between two expressions that look like a call");
#define LS "tools.exec_command({cmd: 'ls'}); "
	has(LS "Object.values(globalThis).find(v => v.exec_command).exec_command({cmd: 'rm'})", NULL, "all globals");
	has(LS "(function() { return Object.values(this); })()", NULL, "all globals by this");
	has(LS "const {['con' + 'structor']: F} = () => 0; F('code')()", NULL, "a computed key of a pattern");
	has(LS "const {x, ['con' + 'structor'] /**/ : F} = () => 0; F('code')()", NULL, "a computed key behind another");
	has(LS "const {'con\\structor': F} = () => 0; F('code')()", NULL, "a key with an escape");
	has(LS "(() => 0)/**/['con' + 'structor']('code')()", NULL, "a comment before a computed name");
	has(LS "(() => 0) //;\n['con' + 'structor']('code')()", NULL, "a comment's line before a computed name");
	has(LS "const of = () => 0; of['con' + 'structor']('code')()", NULL, "a variable that is named as a keyword");
	has("tools.exec_command({cmd: 'ls', shell: './any'})", NULL, "a shell of its own");
	has("tools.exec_command({cmd: 'ls', workdir: where})", NULL, "a computed directory");
	has("tools.exec_command({cmd: 'ls', workdir: '/a', workdir: '/b'})", NULL, "two directories");
	return done_testing();
}
