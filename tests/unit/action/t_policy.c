#include "tap.h"

#include "action/glob.h"
#include "action/judge.h"

/* The policy file of the manual, as its Lua host hands it over. */
static const char manual[] =
	"{\"name\":\"look\",\"verdict\":\"allow\",\"line\":5,\"cmd\":[\"ls *\",\"cat *\",\"rg *\",\"git status\",\"git diff *\",\"git log *\"]},"
	"{\"name\":\"tests\",\"verdict\":\"allow\",\"line\":6,\"cmd\":[\"make test\",\"make -j* test\",\"npm test *\"],\"limit\":{\"time_us\":300000000}},"
	"{\"name\":\"edits\",\"verdict\":\"allow\",\"line\":7,\"kind\":[\"write\",\"edit\"],\"path\":[\"src/**\",\"test/**\",\"docs/**\"]},"
	"{\"name\":\"no-push\",\"verdict\":\"ask\",\"line\":8,\"cmd\":\"git push *\",\"why\":\"publishing requires approval\",\"timeout_us\":600000000},"
	"{\"name\":\"ci-files\",\"verdict\":\"ask\",\"line\":9,\"kind\":[\"write\",\"edit\"],\"path\":[\".github/**\",\"**/Makefile\"],\"why\":\"runs elsewhere later\"},"
	"{\"name\":\"net.egress\",\"verdict\":\"ask\",\"line\":10,\"kind\":\"connect\",\"host\":[\"!packages.example.org\",\"!*.example.net\"],\"risk\":\"high\"},"
	"{\"name\":\"packages\",\"verdict\":\"allow\",\"line\":10,\"kind\":\"connect\",\"host\":[\"packages.example.org\",\"*.example.net\"]},"
	"{\"name\":\"host-tools\",\"verdict\":\"ask\",\"line\":11,\"where\":\"host\",\"tool\":[\"!web_search\"]},"
	"{\"name\":\"secrets\",\"verdict\":\"deny\",\"line\":12,\"path\":[\"**/.env*\",\"**/id_*\",\"~/.aws/**\"],\"say\":\"Secrets are off limits; ask for what you need.\"},"
	"{\"name\":\"force\",\"verdict\":\"deny\",\"line\":13,\"cmd\":[\"git push ... --force*\",\"git push ... -f\",\"git push ... +*\"]},"
	"{\"name\":\"big-delete\",\"verdict\":\"ask\",\"line\":14,\"kind\":\"exec\",\"risk\":\"high\",\"confirm\":\"type\",\"when\":true}";

static const struct {
	const char *kind, *text, *verdict, *rule;
} cases[] = {
	{ "write", "src/a.c", "allow", "edits" },
	{ "write", "/workspace/src/x/y.c", "allow", "edits" },
	{ "write", "src/../../etc/passwd", "ask", NULL },
	{ "write", "/etc/src/a.c", "ask", NULL },
	{ "edit", "Makefile", "ask", "ci-files" },
	{ "edit", "src/sub/Makefile", "ask", "ci-files" },
	{ "edit", ".github/workflows/x.yml", "ask", "ci-files" },
	{ "read", "src/.env", "deny", "secrets" },
	{ "read", ".env.local", "deny", "secrets" },
	{ "read", "/home/agent/.aws/credentials", "deny", "secrets" },
	{ "read", "~/.aws/credentials", "deny", "secrets" },
	{ "read", "~/.awsome", "ask", NULL },
	{ "write", "src/id_rsa", "deny", "secrets" },
	{ "read", "src/a.c", "ask", NULL },
	{ "connect", "packages.example.org:443", "allow", "packages" },
	{ "connect", "PACKAGES.example.org.:443", "allow", "packages" },
	{ "connect", "a.b.example.net:80", "allow", "packages" },
	{ "connect", "example.net:80", "ask", "net.egress" },
	{ "connect", "evilexample.net:80", "ask", "net.egress" },
	{ "connect", "packages.example.org.evil.com:443", "ask", "net.egress" },
	{ "host", "sg.host.push", "ask", "host-tools" },
	{ "host", "web_search", "ask", NULL },
	{ "model", "any", "allow", NULL },
	{ "put", "/etc/x", "ask", NULL },
	{ "get", "/home/me/.env", "deny", "secrets" },
};

/* The same without the rule that has a `when`. */
static const struct {
	const char *text, *verdict, *rule;
} lines[] = {
	{ "ls", "allow", "look" },
	{ "ls -la /tmp", "allow", "look" },
	{ "git status", "allow", "look" },
	{ "git status -s", "ask", NULL },
	{ "make -j4 test", "allow", "tests" },
	{ "make -j4 clean test", "ask", NULL },
	{ "make test && ls", "allow", "look" },
	{ "make test; rm -rf /", "ask", NULL },
	{ "ls $(rm x)", "ask", NULL },
	{ "ls $X", "allow", "look" },
	{ "cat *.c", "allow", "look" },
	{ "git push", "ask", "no-push" },
	{ "git push origin main", "ask", "no-push" },
	{ "ls && git push origin main", "ask", "no-push" },
	{ "env A=1 git push", "ask", "no-push" },
	{ "g'i't push", "ask", "no-push" },
	{ "git -C sub push", "ask", "no-push" },
	{ "/usr/bin/git push", "ask", "no-push" },
	{ "git push -f", "deny", "force" },
	{ "git push origin -f", "deny", "force" },
	{ "git push --force-with-lease origin main", "deny", "force" },
	{ "git push origin +main", "deny", "force" },
	{ "sh -c 'ls; git push --force'", "deny", "force" },
	{ "echo x | xargs git push origin --force", "deny", "force" },
	{ "nice -n 3 timeout 5 git push -f", "deny", "force" },
	{ "true $(git push -f)", "deny", "force" },
	{ "sudo git push -f", "deny", "force" },
	{ "git push $FLAGS", "ask", "no-push" },
	{ "git $VERB", "ask", "no-push" },
	{ "$X -f", "ask", "no-push" },
	{ "ls > src/out.txt", "allow", "look" },
	{ "ls > out.txt", "ask", NULL },
	{ "ls > Makefile", "ask", "ci-files" },
	{ "ls > .env", "deny", "secrets" },
	{ "cat .env", "deny", "secrets" },
	{ "cat src/../.env", "deny", "secrets" },
	{ "cd sub && cat ./.env", "deny", "secrets" },
	{ "cat < ~/.aws/config", "deny", "secrets" },
	{ "cat --file=./.env", "deny", "secrets" },
	{ "ls 2>/dev/null", "allow", "look" },
	{ "./ls", "ask", NULL },
	{ "/bin/ls", "allow", "look" },
	{ "/tmp/ls", "ask", NULL },
	{ "PATH=/tmp ls", "ask", NULL },
	{ "CFLAGS=-g make test", "allow", "tests" },
	{ "export LD_PRELOAD=/tmp/x; ls", "ask", NULL },
	{ "sudo ls", "ask", NULL },
	{ "nohup ls", "allow", "look" },
	{ "eval \"$X\"", "ask", "no-push" },
	{ "ls <(ls)", "allow", "look" },
	{ "", "ask", NULL },
	{ "cat <<E\nx\nE", "allow", "look" },
};

static void manual_policy(void)
{
	CLEANUP(free_ptr) char *plain = mem_strdup(manual);
	*strstr(plain, ",{\"name\":\"big-delete\"") = 0;
	struct policy *all = rules("./policy.lua", "ask", plain);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct judgement j;
		judge_in(&all, 1, WALL_BOXED, cases[i].kind, cases[i].text, &j);
		const struct match *m = judgement_winner(&j);
		ok(!strcmp(verdict_name(j.verdict), cases[i].verdict) &&
			   (cases[i].rule ? m && !strcmp(m->rule->name, cases[i].rule) : !m),
		   "%s %s: %s by %s", cases[i].kind, cases[i].text, verdict_name(j.verdict), m ? m->rule->name : "default");
		judgement_release(&j);
	}
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct judgement j;
		judge_in(&all, 1, WALL_BOXED, "exec", lines[i].text, &j);
		const struct match *m = judgement_winner(&j);
		ok(!strcmp(verdict_name(j.verdict), lines[i].verdict) &&
			   (lines[i].rule ? m && !strcmp(m->rule->name, lines[i].rule) : !m),
		   "exec %s: %s by %s", lines[i].text[0] == 'c' && strchr(lines[i].text, '\n') ? "cat <<E" : lines[i].text,
		   verdict_name(j.verdict), m ? m->rule->name : "default");
		judgement_release(&j);
	}
	struct judgement j;
	judge_in(&all, 1, WALL_BOXED, "exec", "make test", &j);
	is_int(j.limit_us, 300000000, "a limit is handed on");
	judgement_release(&j);
	judge_in(&all, 1, WALL_BOXED, "exec", "git push x", &j);
	is_int(j.timeout_us, 600000000, "and a timeout");
	judgement_release(&j);
	policy_free(&all);
	all = rules("./policy.lua", "ask", manual);
	judge_in(&all, 1, WALL_BOXED, "exec", "ls", &j);
	is_int(j.pending, 1, "a when waits for its answer");
	is_str(verdict_name(j.verdict), "ask", "and asks until it has come");
	is_int(j.match[0].rule->when, 11, "true is the rule's place in the list");
	judgement_release(&j);
	judge_in(&all, 1, WALL_BOXED, "exec", "git push -f", &j);
	is_int(j.pending, 0, "not behind a plain deny");
	judgement_release(&j);
	policy_free(&all);
}

static void strictest(void)
{
	struct policy *p[3] = { rules("system", "", "{\"name\":\"a\",\"verdict\":\"deny\",\"line\":3,\"cmd\":\"dd *\"}"),
				rules("user", "allow", "{\"name\":\"b\",\"verdict\":\"ask\",\"line\":2,\"cmd\":\"dd *\"},"
						       "{\"name\":\"c\",\"verdict\":\"ask\",\"line\":1,\"cmd\":\"* x\"}"),
				rules("project", "careful", "{\"name\":\"d\",\"verdict\":\"allow\",\"line\":9,\"kind\":\"exec\"}") };
	struct judgement j;
	judge_in(p, 3, WALL_BOXED, "exec", "dd x", &j);
	is_str(verdict_name(j.verdict), "deny", "strictest wins over files");
	is_int(j.nr_matches, 4, "every matching rule is in the answer");
	ok(!strcmp(j.match[0].rule->name, "a") && !strcmp(j.match[3].rule->name, "d"), "the strictest first, the overruled last");
	json_t *o = judgement_json(&j);
	json_t *first = json_array_get(json_object_get(o, "rules"), 0);
	is_str(json_str(first, "file", ""), "system", "with file");
	is_int(json_int(first, "line", 0), 3, "and line");
	is_str(json_str(first, "text", ""), "dd x", "and the matched text");
	json_decref(o);
	judgement_release(&j);
	judge_in(p, 3, WALL_BOXED, "exec", "dd y", &j);
	is_str(verdict_name(j.verdict), "deny", "in any order");
	judgement_release(&j);
	is_str(verdict_of(p, 3, WALL_BOXED, "exec", "ls"), "allow", "an allow of any file is enough where nothing else matches");
	is_str(verdict_of(p, 3, WALL_BOXED, "write", "a"), "ask", "the strictest default counts");
	is_str(verdict_of(p, 3, WALL_BOXED, "read", "a"), "allow", "careful lets reads through");
	judge_in(p, 3, WALL_BOXED, "write", "a", &j);
	ok(j.by_default && j.def == DEFAULT_CAREFUL && !strcmp(j.def_file, "project"), "and is named");
	judgement_release(&j);
	for (int i = 0; i < 3; i++)
		policy_free(&p[i]);
}

static void walls(void)
{
	static const struct {
		const char *kind, *text;
		enum gate_wall wall;
		const char *want;
	} c[] = {
		{ "exec", "rm -rf .", WALL_BOXED, "allow" },	  { "write", "a", WALL_BOXED, "allow" },
		{ "exec", "eval \"$x\"", WALL_BOXED, "allow" },	  { "connect", "a.example:1", WALL_BOXED, "ask" },
		{ "host", "web_fetch", WALL_BOXED, "ask" },	  { "put", "/x", WALL_BOXED, "ask" },
		{ "get", "/x", WALL_BOXED, "ask" },		  { "merge", "x", WALL_BOXED, "ask" },
		{ "mcp", "t", WALL_BOXED, "allow" },		  { "model", "m", WALL_BOXED, "allow" },
		{ "exec", "ls", WALL_CAREFUL, "ask" },		  { "read", "a", WALL_CAREFUL, "allow" },
		{ "model", "m", WALL_CAREFUL, "allow" },	  { "read", "a", WALL_NONE, "ask" },
		{ "exec", "ls", WALL_NONE, "ask" },		  { "snapshot", "", WALL_NONE, "allow" },
	};
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		is_str(verdict_of(NULL, 0, c[i].wall, c[i].kind, c[i].text), c[i].want, "the default follows the wall");
	struct policy *p = rules("p", "deny", "");
	is_str(verdict_of(&p, 1, WALL_BOXED, "exec", "ls"), "deny", "default deny");
	is_str(verdict_of(&p, 1, WALL_BOXED, "model", "m"), "allow", "which does not concern model calls");
	policy_free(&p);
	p = rules("p", "allow", "{\"name\":\"a\",\"verdict\":\"deny\",\"line\":1,\"cmd\":\"dd *\"}");
	is_str(verdict_of(&p, 1, WALL_BOXED, "exec", "eval \"$x\""), "ask", "opaque asks when a deny could hide in it");
	is_str(verdict_of(&p, 1, WALL_BOXED, "exec", "ls"), "allow", "a plain command does not");
	policy_free(&p);
}

static void fields(void)
{
	struct action_spec s = { .kind = ACT_MCP, .tool = "jira.create", .leaves_box = true, .tainted = true };
	struct policy_subject subject = { .spec = &s, .wall = WALL_BOXED, .agent = "fix-parser", .box = "b1" };
	static const struct {
		const char *rule;
		bool matches;
	} c[] = {
		{ "\"kind\":\"mcp\"", true },		   { "\"kind\":\"!mcp\"", false },
		{ "\"kind\":[\"exec\",\"mcp\"]", true },   { "\"tool\":\"jira.*\"", true },
		{ "\"tool\":\"!jira.*\"", false },	   { "\"tool\":[\"jira.*\",\"!jira.create\"]", false },
		{ "\"where\":\"host\"", true },		   { "\"where\":\"box\"", false },
		{ "\"tainted\":true", true },		   { "\"agent\":\"fix-*\"", true },
		{ "\"agent\":\"doc\"", false },		   { "\"box\":\"b1\"", true },
		{ "\"cmd\":\"ls *\"", false },		   { "\"host\":\"*\"", false },
		{ "\"path\":\"**\"", false },		   { "\"match\":\"tool:jira.* or kind:exec\"", true },
		{ "\"match\":\"not tool:jira.*\"", false }, { "\"kind\":\"mcp\",\"tool\":\"other\"", false },
	};
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		CLEANUP(free_ptr) char *rule = mem_printf("{\"name\":\"x\",\"verdict\":\"deny\",\"line\":1,%s}", c[i].rule);
		struct policy *p = rules("f", "allow", rule);
		struct judgement j;
		policy_judge(&p, 1, NULL, 0, 0, &subject, &j);
		ok((j.verdict == VERDICT_DENY) == c[i].matches, "%s", c[i].rule);
		judgement_release(&j);
		policy_free(&p);
	}
}

/* Of an action on several sandboxes an allow must match all of them, an ask or deny one. */
static void of_several(void)
{
	static const struct {
		const char *rule, *verdict, *want;
	} c[] = {
		{ "\"match\":\"box:a\"", "allow", "ask" },
		{ "\"match\":\"box:b\"", "allow", "ask" },
		{ "\"match\":\"box:a or box:b\"", "allow", "allow" },
		{ "\"match\":\"not box:b\"", "allow", "ask" },
		{ "\"match\":\"box:b\"", "deny", "deny" },
		{ "\"match\":\"not box:a\"", "deny", "deny" },
		{ "\"match\":\"box:c\"", "deny", "ask" },
		{ "\"box\":\"b\"", "deny", "deny" },
		{ "\"path\":\"/h/two/**\"", "deny", "deny" },
		{ "\"match\":\"path:/h/two*\"", "deny", "deny" },
		{ "\"path\":\"/h/one\"", "allow", "ask" },
		{ "\"path\":[\"/h/one\",\"/h/two/**\"]", "allow", "allow" },
	};
	CLEANUP(json_release) json_t *boxes = json_pack("[{sisss[s]}{sisss[s]}]", "box", 2, "name", "a", "dirs", "/h/one", "box", 3,
							"name", "b", "dirs", "/h/two/x");
	struct action_spec s = { .kind = ACT_MERGE, .tool = "merge", .leaves_box = true, .box = 2, .boxes = boxes };
	struct policy_subject subject = { .spec = &s, .wall = WALL_BOXED, .box = "a" };
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		CLEANUP(free_ptr)
		char *rule = mem_printf("{\"name\":\"x\",\"verdict\":\"%s\",\"line\":1,%s}", c[i].verdict, c[i].rule);
		struct policy *p = rules("f", "boxed", rule);
		struct judgement j;
		policy_judge(&p, 1, NULL, 0, 0, &subject, &j);
		is_str(verdict_name(j.verdict), c[i].want, c[i].rule);
		judgement_release(&j);
		policy_free(&p);
	}
}

static void fetches(void)
{
	CLEANUP(json_release) json_t *args = json_object();
	json_put_str(args, "url", "https://docs.example.org/guide?x=1");
	json_put_str(args, "method", "POST");
	struct action_spec s = { .kind = ACT_FETCH, .tool = "web_fetch", .leaves_box = true, .host = "docs.example.org",
				 .port = 443, .args = args };
	struct policy_subject subject = { .spec = &s, .wall = WALL_BOXED };
	static const struct {
		const char *rule;
		bool matches;
	} c[] = {
		{ "\"kind\":\"fetch\"", true },
		{ "\"kind\":\"host\"", false },
		{ "\"where\":\"host\"", true },
		{ "\"host\":\"*.example.org\"", true },
		{ "\"host\":\"docs.example.org:80\"", false },
		{ "\"url\":\"https://docs.example.org/*\"", true },
		{ "\"url\":\"http://*\"", false },
		{ "\"url\":[\"https://*\",\"!https://docs.example.org/*\"]", false },
		{ "\"method\":\"POST\"", true },
		{ "\"method\":[\"GET\",\"HEAD\"]", false },
		{ "\"method\":[\"!GET\"]", true },
		{ "\"match\":\"kind:fetch host:docs.example.org\"", true },
	};
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		CLEANUP(free_ptr) char *rule = mem_printf("{\"name\":\"x\",\"verdict\":\"deny\",\"line\":1,%s}", c[i].rule);
		struct policy *p = rules("f", "allow", rule);
		struct judgement j;
		policy_judge(&p, 1, NULL, 0, 0, &subject, &j);
		ok((j.verdict == VERDICT_DENY) == c[i].matches, "fetch: %s", c[i].rule);
		judgement_release(&j);
		policy_free(&p);
	}
	struct judgement j;
	policy_judge(NULL, 0, NULL, 0, 0, &subject, &j);
	is_str(verdict_name(j.verdict), "ask", "a fetch leaves the box: it is asked for");
	judgement_release(&j);
	ok(waiver_covers(&(struct waiver){ .kind = ACT_FETCH, .pattern = (char[]){ "*.example.org" } }, 0, &subject),
	   "and waived by host");
	s.kind = ACT_HOST;
	struct policy *p = rules("f", "allow", "{\"name\":\"x\",\"verdict\":\"deny\",\"line\":1,\"url\":\"*\"}");
	policy_judge(&p, 1, NULL, 0, 0, &subject, &j);
	is_str(verdict_name(j.verdict), "allow", "only a fetch has an address");
	judgement_release(&j);
	policy_free(&p);
}

static const struct {
	const char *json, *says;
} wrong[] = {
	{ "[]", "file" },
	{ "{\"file\":\"p\"}", "p: \"rules\" must be a list" },
	{ "{\"file\":\"p\",\"rules\":[],\"defualt\":\"ask\"}", "did you mean \"default\"" },
	{ "{\"file\":\"p\",\"rules\":[],\"default\":\"alow\"}", "did you mean \"allow\"" },
	{ "{\"file\":\"p\",\"rules\":[{}]}", "rule 1 has no line" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4}]}", "p:4: rule 1 has no name" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\"}]}", "p:4: rule 1 has no verdict" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"dney\"}]}", "did you mean \"deny\"" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"deny\",\"comand\":\"x\"}]}", "p:4: a rule has no \"comand\"" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"deny\",\"kind\":\"exce\"}]}", "did you mean \"exec\"" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"deny\",\"cmd\":3}]}", "\"cmd\" must be a text" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"deny\",\"cmd\":[]}]}", "empty list" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"deny\",\"cmd\":\"!\"}]}", "needs a pattern" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"deny\",\"timeout_us\":3}]}", "only an ask" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"ask\",\"confirm\":\"yes\"}]}", "type" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"ask\",\"risk\":\"hihg\"}]}", "did you mean \"high\"" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"ask\",\"when\":\"x\"}]}", "\"when\"" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"ask\",\"match\":\"exit:1\"}]}", "known only after" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"ask\",\"match\":\"knd:exec\"}]}", "did you mean \"kind\"" },
	{ "{\"file\":\"p\",\"rules\":[{\"line\":4,\"name\":\"n\",\"verdict\":\"allow\",\"limit\":{\"tme\":1}}]}", "no \"tme\"" },
	{ "{\"file\":\"p\",\"rules\":[", "JSON" },
};

static void errors(void)
{
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct policy *p = NULL;
		struct err err = ERR_INIT;
		ok(policy_parse(&p, wrong[i].json, strlen(wrong[i].json), &err) < 0 && !p && strstr(err.text, wrong[i].says), "%s",
		   err.text);
		policy_free(&p);
	}
}

static void patterns(void)
{
	static const struct {
		enum glob_kind kind;
		const char *pattern, *text;
		bool want;
	} g[] = {
		{ GLOB_PATH, "/a/*", "/a/b", true },	      { GLOB_PATH, "/a/*", "/a/b/c", false },
		{ GLOB_PATH, "/a/**", "/a/b/c", true },	      { GLOB_PATH, "/a/**", "/a", false },
		{ GLOB_PATH, "/a/**/c", "/a/c", true },	      { GLOB_PATH, "/a/**/c", "/a/x/y/c", true },
		{ GLOB_PATH, "/a/**/c", "/a/xc", false },     { GLOB_PATH, "**/c", "/a/c", true },
		{ GLOB_PATH, "**/.env*", "/a/.env.x", true }, { GLOB_PATH, "**/.env*", "/a/.envs/x", false },
		{ GLOB_PATH, "/a?c", "/abc", true },	      { GLOB_PATH, "/a?c", "/a/c", false },
		{ GLOB_PATH, "/a**b", "/a/x/b", true },	      { GLOB_HOST, "*.ex.org", "a.b.EX.org", true },
		{ GLOB_HOST, "*.ex.org", "ex.org", false },   { GLOB_HOST, "a*.ex.org", "ab.ex.org", true },
		{ GLOB_HOST, "a*.ex.org", "a.b.ex.org", false }, { GLOB_HOST, "*", "a.b", true },
		{ GLOB_HOST, "*", "", false },		      { GLOB_WORD, "a*b*", "axxbyy", true },
		{ GLOB_WORD, "", "", true },		      { GLOB_WORD, "*", "", true },
	};
	for (size_t i = 0; i < ARRAY_LEN(g); i++)
		ok(glob_match(g[i].kind, g[i].pattern, g[i].text, strlen(g[i].text)) == g[i].want, "%s on %s", g[i].pattern,
		   g[i].text);
	ok(pattern_host("github.com:443", "github.com", 443) && !pattern_host("github.com:443", "github.com", 80), "ports");
	ok(pattern_host("[::1]:80", "::1", 80) && pattern_host("::1", "::1", 5), "IPv6");
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	path_resolve("sub", "../../../etc/./x//y", "/h", &b);
	is_str(buf_cstr(&b), "/etc/x/y", "paths are resolved");
	buf_reset(&b);
	path_resolve(NULL, "~", "/h", &b);
	is_str(buf_cstr(&b), "/h", "home");
	buf_reset(&b);
	path_resolve("/run/sandglass/clone/workspace", "a", "/h", &b);
	is_str(buf_cstr(&b), "/workspace/a", "the second mount of the workspace");
	buf_reset(&b);
	path_resolve(NULL, "/run/sandglass/clone/workspaces", "/h", &b);
	is_str(buf_cstr(&b), "/run/sandglass/clone/workspaces", "another path beside it");
	CLEANUP(buf_release) struct buf hostile = BUF_INIT;
	for (int i = 0; i < 100000; i++)
		buf_putc(&hostile, 'a');
	ok(!glob_match(GLOB_WORD, "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", hostile.data, hostile.len), "a hostile text ends soon");
}

int main(void)
{
	setenv("HOME", "/home/me", 1);
	hash_init();
	manual_policy();
	strictest();
	walls();
	fields();
	of_several();
	fetches();
	errors();
	patterns();
	return done_testing();
}
