/* Our pattern matching against the stock library's: fixed cases, then random patterns on random texts. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>

#include "base/buf.h"
#include "script/env.h"
#include "tap.h"

static lua_State *ours, *stock;

/* Runs a chunk with the arguments p, s, r; returns what it says as one line (static per state). */
static const char *say(lua_State *L, const char *chunk, const char *p, const char *s, const char *r)
{
	lua_settop(L, 0);
	if (luaL_loadstring(L, chunk) != LUA_OK)
		return lua_tostring(L, -1);
	lua_pushstring(L, p);
	lua_pushstring(L, s);
	lua_pushstring(L, r);
	lua_pcall(L, 3, 1, 0);
	return lua_tostring(L, -1);
}

static const char *const chunks[] = {
	"local p, s = ... local t = table.pack(pcall(string.find, s, p)) for i = 1, t.n do t[i] = tostring(t[i]) end "
	"return table.concat(t, '|')",
	"local p, s = ... local t = table.pack(pcall(string.match, s, p, 2)) for i = 1, t.n do t[i] = tostring(t[i]) "
	"end return table.concat(t, '|')",
	"local p, s, r = ... local t = table.pack(pcall(string.gsub, s, p, r)) for i = 1, t.n do t[i] = tostring(t[i]) "
	"end return table.concat(t, '|')",
	"local p, s = ... local t = table.pack(pcall(string.gsub, s, p, function(...) return select('#', ...) .. ':' "
	".. tostring((...)) end, 3)) "
	"for i = 1, t.n do t[i] = tostring(t[i]) end return table.concat(t, '|')",
	"local p, s = ... local t = {} local ok, e = pcall(function() for a, b in string.gmatch(s, p) do t[#t + 1] = "
	"tostring(a) .. ',' .. tostring(b) end end) "
	"t[#t + 1] = tostring(e) return table.concat(t, '|')",
	"local p, s = ... local t = table.pack(pcall(string.find, s, p, -3, true)) for i = 1, t.n do t[i] = "
	"tostring(t[i]) end return table.concat(t, '|')",
};

/* The two agree; errors may differ in words (and in when a malformed pattern is noticed). */
static bool agree(const char *p, const char *s, const char *r, bool loud)
{
	for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
		const char *a = say(ours, chunks[i], p, s, r), *b = say(stock, chunks[i], p, s, r);
		bool wrong_a = strstr(a, "pattern") || strstr(a, "capture") || strstr(a, "replacement");
		bool wrong_b = strstr(b, "pattern") || strstr(b, "capture") || strstr(b, "replacement");
		if (strcmp(a, b) == 0 || wrong_b || (wrong_a && strstr(a, "malformed")))
			continue;
		if (loud)
			printf("# pattern \"%s\" text \"%s\" repl \"%s\" form %zu\n#  ours  %s\n#  stock %s\n", p, s, r,
			       i, a, b);
		return false;
	}
	return true;
}

static void fixed(void)
{
	static const char *const rows[][3] = {
		{ "hello", "say hello", "x" },
		{ "(%w+) (%w+)", "one two three", "%2 %1" },
		{ "()ll()", "hello", "%1" },
		{ "%b()", "a(b(c)d)e", "<%0>" },
		{ "%f[%w]%w+", "THE (quick) fox", "_" },
		{ "^%s*(.-)%s*$", "  trim  ", "%1" },
		{ "[%a_][%w_]*", "x1 = y_2", "v" },
		{ "[^%d]", "a1b2", "." },
		{ "[]]", "a]b", "x" },
		{ "[^]]", "a]b", "x" },
		{ "[a-]", "a-b", "x" },
		{ "[%]]", "]", "x" },
		{ "(a*(.)%w(%s*))", "aab b", "%1" },
		{ "%1", "x", "y" },
		{ "(%w)%1", "hello", "%0%0" },
		{ "x*", "abc", "-" },
		{ "", "abc", "-" },
		{ "$", "abc", "!" },
		{ "a$b", "a$b", "x" },
		{ "%", "x", "y" },
		{ "[a", "a", "x" },
		{ "(a", "a", "x" },
		{ "a)", "a", "x" },
		{ "%b", "x", "y" },
		{ "%f", "x", "y" },
		{ "a-b", "aaab", "x" },
		{ "a?b+c*", "abbb", "x" },
		{ ".", "abc", "%%" },
		{ "b", "abc", "%9" },
		{ "[%z%c]", "a\tb", "x" },
		{ "^a", "aaa", "x" },
		{ "%g+", "a b", "x" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ok(agree(rows[i][0], rows[i][1], rows[i][2], true), "\"%s\" on \"%s\"", rows[i][0], rows[i][1]);
}

static uint64_t state = 88172645463325252u;

static unsigned dice(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}

static void random_text(char *out, const char *const *parts, unsigned nr, unsigned most)
{
	*out = 0;
	for (unsigned i = dice(most); i > 0; i--)
		strcat(out, parts[dice(nr)]);
}

static void random_cases(void)
{
	static const char *const pattern[] = { "a",    "b",	 "c", ".", "%a", "%d",	 "%s",	 "*",	  "+",
					       "-",    "?",	 "(", ")", "()", "[ab]", "[^a]", "[a-c]", "%1",
					       "%b()", "%f[%a]", "^", "$", "x",	 "%w",	 "%S",	 "%z",	  "%Z" };
	static const char *const text[] = { "a", "b", "c", " ", "1", "(", ")", "x", "ab", "\n", "z" };
	static const char *const repl[] = { "a", "%0", "%1", "%%", "-", "%2" };
	char p[200], s[200], r[100];
	const unsigned patterns = getenv("LONG") ? 30000 : 8000;
	unsigned bad = 0;
	for (unsigned i = 0; i < patterns; i++) {
		random_text(p, pattern, ARRAY_LEN(pattern), 9);
		random_text(s, text, ARRAY_LEN(text), 12);
		random_text(r, repl, ARRAY_LEN(repl), 4);
		if (!agree(p, s, r, bad < 5))
			bad++;
	}
	is_int(bad, 0, "random patterns agree");
}

int main(void)
{
	ours = luaL_newstate();
	stock = luaL_newstate();
	luaL_openlibs(stock);
	env_open(ours);
	fixed();
	random_cases();
	lua_close(ours);
	lua_close(stock);
	return done_testing();
}
