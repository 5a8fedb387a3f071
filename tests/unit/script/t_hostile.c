/* Attacks of an untrusted script inside the host, row by row. */
#include "fake_super.c" /* NOLINT: tests are one file each */
#include "tap.h"

/* Scripts that must end with this text printed, or (want NULL) with this reason. */
static const struct {
	const char *name, *text, *want, *why;
} cases[] = {
	{ "no hands",
	  "for _, n in ipairs { 'package', 'debug', 'dofile', 'loadfile', 'collectgarbage', 'warn' } do assert(_G[n] "
	  "== nil, n) end\n"
	  "for _, n in ipairs { 'execute', 'getenv', 'remove', 'rename', 'tmpname', 'exit', 'setlocale' } do "
	  "assert(os[n] == nil or not pcall(os[n], '/etc/passwd'), n) end\n"
	  "for _, n in ipairs { 'open', 'popen', 'read', 'lines', 'stdout' } do "
	  "assert(io[n] == nil or not pcall(io[n], '/etc/passwd'), n) end\n"
	  "assert(string.dump == nil) print 'none'",
	  "none\n", NULL },
	{ "byte code", "local f, e = load('\\27Lua', 'x', 'b') print(f, e)",
	  "nil\tattempt to load a binary chunk (mode is 't')\n", NULL },
	{ "a chunk that calls itself the library", "print(pcall(load, 'x', '@sandglass/boot.lua'))",
	  "false\tload: the name '@sandglass/boot.lua' is the library's\n", NULL },
	{ "exponential pattern", "print(pcall(string.find, ('a'):rep(40), ('a?'):rep(40) .. ('a'):rep(40)))",
	  "false\tpattern takes too long on this text (it backtracks too much; say more exactly what to match)\n",
	  NULL },
	{ "polynomial pattern", "print(pcall(string.match, ('x'):rep(3000), '.-.-.-.-b'))",
	  "false\tpattern takes too long on this text (it backtracks too much; say more exactly what to match)\n",
	  NULL },
	{ "gsub and gmatch too",
	  "print((pcall(string.gsub, ('a'):rep(40), ('a?'):rep(40) .. ('a'):rep(40), ''))) "
	  "print((pcall(function() for _ in (('a'):rep(40)):gmatch(('a?'):rep(40) .. ('a'):rep(40)) do end end)))",
	  "false\nfalse\n", NULL },
	{ "long pattern", "print(pcall(string.find, 'x', ('(x'):rep(1000)))",
	  "false\tpattern is longer than 1024 bytes\n", NULL },
	{ "table.move", "print(pcall(table.move, {}, 1, 1 << 62, 2))", "false\trange of more than 10000000 items\n",
	  NULL },
	{ "table.concat", "print(pcall(table.concat, {}, '', 1, 1 << 62))",
	  "false\trange of more than 10000000 items\n", NULL },
	{ "table.unpack", "print(pcall(table.unpack, {}, 1, 1 << 62))", "false\trange of more than 10000000 items\n",
	  NULL },
	{ "table.insert with a length that is a lie",
	  "print(pcall(table.insert, setmetatable({}, { __len = function() return 1 << 60 end }), 1, 'x'))",
	  "false\ttable has more than 10000000 items\n", NULL },
	{ "table.sort with a length that is a lie",
	  "print(pcall(table.sort, setmetatable({}, { __len = function() return 1 << 60 end })))",
	  "false\ttable.sort: too many elements at test.lua:1\n", NULL },
	{ "string.rep of nothing", "print(#string.rep('', 1e9))", "0\n", NULL },
	{ "string.rep of much", "print(pcall(string.rep, 'x', 1 << 40))",
	  "false\tresulting string too large (the limit is 67108864 bytes)\n", NULL },
	{ "finaliser", "print(pcall(setmetatable, {}, { __gc = print }))",
	  "false\tsetmetatable: no '__gc' here: when memory is freed differs in each run\n", NULL },
	{ "weak table", "print(pcall(setmetatable, {}, { __mode = 'k' }))",
	  "false\tsetmetatable: no '__mode' here: when memory is freed differs in each run\n", NULL },
	{ "methods of strings", "print(getmetatable('')) string.upper = nil print(('x'):upper())", "false\nX\n", NULL },
	{ "addresses", "print({}, print, coroutine.create(print), string.format('%s %s', {}, function() end))",
	  "table\tfunction\tthread\ttable function test.lua:1\n", NULL },
	{ "%p", "print(pcall(string.format, '%-20p', {}))",
	  "false\tstring.format: no '%p' here: addresses differ in each run\n", NULL },
	{ "%%p", "print(string.format('100%%p %d', 3))", "100%p 3\n", NULL },
	{ "recursion", "local function f() return 1 + f() end local ok, e = pcall(f) print(ok, #e < 200)",
	  "false\ttrue\n", NULL },
	{ "recursion in a pattern callback", "local function f() return (('x'):gsub('x', f)) end print((pcall(f)))",
	  "false\n", NULL },
	{ "an error object that fights back", "error(setmetatable({}, { __tostring = function() error 'again' end }))",
	  NULL, "(error object is a table) at test.lua:1" },
	{ "error without a value", "error()", NULL, "(error object is a nil) at test.lua:1" },
	{ "an uncaught error has its line", "local x\n\nprint(x.y)", NULL,
	  "test.lua:3: attempt to index a nil value (local 'x')" },
	{ "numbers at the edge",
	  "local sg = require 'sandglass' print(pcall(sg.sleep, 0/0)) print(pcall(sg.sleep, -1)) "
	  "print((pcall(sg.sleep, 1e300)))",
	  "false\tsleep: the time: expected a time (seconds or \"5m\"), got not a number at test.lua:1\n"
	  "false\tsleep: the time: expected a time (seconds or \"5m\"), got -1 at test.lua:1\nfalse\n",
	  NULL },
	{ "NUL in a path", "local sg = require 'sandglass' print(pcall(function() sg.sandbox {}:read 'a\\0b' end))",
	  "false\tread: 'a\0b' is not a path at test.lua:1\n", NULL },
	{ "a table that holds itself, to the store",
	  "local sg = require 'sandglass' local t = {} t.t = t print(pcall(function() sg.store():set('x', t) end))",
	  "false\tstore.set: can't encode a table more than 64 levels deep as JSON (does it contain itself?) at "
	  "test.lua:1\n",
	  NULL },
	{ "a __index that lies is not asked",
	  "local sg = require 'sandglass' sg.store():set('x', setmetatable({}, { __index = function() error 'asked' "
	  "end, __pairs = error })) "
	  "print(#sg.store():get 'x')",
	  "0\n", NULL },
	{ "exit cannot be swallowed",
	  "local sg = require 'sandglass'\n"
	  "local guard <close> = setmetatable({}, { __close = function() print 'closed' end })\n"
	  "pcall(sg.exit, 3, 'no %s', 'more') pcall(sg.sleep, 1) pcall(sg.sleep, 1) sg.sleep(1) print 'not here'",
	  "closed\n", "no more" },
	{ "exit from a task ends the script",
	  "local sg = require 'sandglass' sg.spawn(function() sg.exit(5, 'from a task') end) sg.sleep(9)", NULL,
	  "from a task" },
	{ "waiting for each other", "local sg = require 'sandglass'\nsg.channel():recv()", NULL,
	  "deadlock: every task waits for another task: test.lua:2 at test.lua:2" },
	{ "require of an unknown module", "require 'no.such'", NULL,
	  "require: can't find 'no.such': no file tests/lua/no.such.lua at test.lua:1" },
	{ "globals of the library are not poisoned",
	  "pairs, ipairs, type, pcall, error, tostring, setmetatable, string.format, table.concat = nil\n"
	  "local sg = require 'sandglass' local box = sg.sandbox {} print(box:run('echo ok').out, ('%d'):format(3))",
	  "ok\n\t3\n", NULL },
	{ "random is seeded from outside", "print(math.random(1000000), math.random(1000000))", "", NULL },
};

static void table(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fake_run r;
		fake_run(&(struct fake_opts){ .text = cases[i].text }, &r);
		if (!ok(r.end != NULL && json_int(r.end, "code", 0) != 70, "%s: ends in order", cases[i].name))
			printf("# %s\n", fake_why(&r));
		if (cases[i].want && *cases[i].want) {
			size_t len = strlen(cases[i].want);
			if (strcmp(cases[i].name, "NUL in a path") == 0)
				len = r.printed.len; /* strlen stops at the NUL; the ending is compared below */
			if (!ok(r.printed.len == len && memcmp(buf_cstr(&r.printed), cases[i].want, len) == 0,
				"%s: prints", cases[i].name))
				printf("#  got %s#  want %s# why %s\n", buf_cstr(&r.printed), cases[i].want,
				       fake_why(&r));
		}
		if (cases[i].why)
			is_str(fake_why(&r), cases[i].why, cases[i].name);
		fake_release(&r);
	}
}

static void seeds(void)
{
	static const char *const seeds[] = { "0123456789abcdef", "0123456789abcdef", "fedcba9876543210" };
	struct fake_run r[3];
	for (size_t i = 0; i < 3; i++)
		fake_run(
			&(struct fake_opts){
				.seed = seeds[i],
				.text = "math.randomseed() print(math.random(1 << 40), os.time(), os.clock(), "
					"os.date('%Y-%m-%d', 0))" },
			&r[i]);
	is_str(buf_cstr(&r[0].printed), buf_cstr(&r[1].printed), "the same seed: the same numbers and times");
	ok(strcmp(buf_cstr(&r[0].printed), buf_cstr(&r[2].printed)) != 0, "another seed: other numbers");
	ok(strstr(buf_cstr(&r[0].printed), "1970-01-01") != NULL, "dates are UTC");
	for (size_t i = 0; i < 3; i++)
		fake_release(&r[i]);
}

/* Out of memory: the host reports it and exits, in its own process. */
static void memory(void)
{
	static const char *const bombs[] = {
		"local s = 'x' while true do s = s .. s end",
		"local t = {} for i = 1, 1e9 do t[i] = {} end",
		"pcall(function() local s = 'x' while true do s = s .. s end end) while true do end",
		"local t = {} for i = 1, 1e9 do t[i] = coroutine.create(print) end",
	};
	for (size_t i = 0; i < ARRAY_LEN(bombs); i++) {
		struct fake_run r;
		fake_run(&(struct fake_opts){ .process = true, .mem_bytes = 32 << 20, .text = bombs[i] }, &r);
		is_str(fake_why(&r), "the script needs more than its 32 MB of memory",
		       "a bomb ends the host with its reason");
		is_str(json_str(json_object_get(r.end, "err"), "code", ""), "limit", "code limit");
		is_int(r.status, 3, "status 3");
		fake_release(&r);
	}
}

int main(void)
{
	table();
	seeds();
	memory();
	return done_testing();
}
