/* Policy and configuration files: run once, plain data out, `when` answered; mistakes are one line with their place. */
#include "fake_super.c" /* NOLINT: tests are one file each */
#include "tap.h"

static void example(void)
{
	static const struct fake_frame judge[] = {
		{ HOST_JUDGE, 7,
		  "{\"when\":1,\"line\":14,\"act\":{\"commands\":[{\"words\":[\"rm\",\"-rf\",\"a\",\"b\",\"c\",\"d\","
		  "\"e\",\"f\"]}]}}" },
		{ HOST_JUDGE, 8, "{\"when\":1,\"act\":{\"commands\":[{\"words\":[\"rm\",\"a\"]}]}}" },
		{ HOST_JUDGE, 9, "{\"line\":14,\"act\":{\"commands\":[]}}" },
		{ HOST_JUDGE, 10, "{\"when\":3,\"act\":{}}" },
		{ 0, 0, NULL },
	};
	struct fake_run r;
	char *text = fake_source("lua/examples/policy.lua");
	fake_run(&(struct fake_opts){ .mode = "policy", .name = "policy.lua", .text = text, .after_result = judge },
		 &r);
	ok(r.result != NULL, "policy.lua gives a result (%s)", fake_why(&r));
	is_str(json_str(r.result, "file", ""), "policy.lua", "its file");
	is_str(json_str(r.result, "default", ""), "ask", "its default");
	const json_t *rules = json_object_get(r.result, "rules"), *rule = json_array_get(rules, 3);
	is_int(json_array_size(rules), 10, "all rules");
	is_str(json_str(rule, "name", ""), "no-push", "a rule's name");
	is_str(json_str(rule, "verdict", ""), "ask", "its verdict");
	is_int(json_int(rule, "line", 0), 8, "the line its name stands on");
	is_int(json_int(rule, "timeout_us", 0), 600000000, "its time-out");
	is_int(json_int(json_object_get(json_array_get(rules, 1), "limit"), "time_us", 0), 300000000, "a limit");
	is_int(json_int(json_array_get(rules, 9), "when", 0), 1, "the number of its function");
	is_int(json_array_size(r.verdicts), 4, "each judge frame is answered");
	const json_t *v = json_array_get(r.verdicts, 0);
	ok(json_flag(v, "match", false), "many targets match");
	is_str(json_str(v, "why", ""), "removes 6 paths", "and say why");
	ok(!json_flag(json_array_get(r.verdicts, 1), "match", true), "few do not");
	ok(!json_flag(json_array_get(r.verdicts, 2), "match", true), "found by its line");
	is_str(json_str(json_object_get(json_array_get(r.verdicts, 3), "err"), "msg", ""), "no such rule",
	       "an unknown function");
	ok(r.end == NULL, "the host keeps serving");
	fake_release(&r);
	free(text);
}

static void whens(void)
{
	static const struct fake_frame judge[] = { { HOST_JUDGE, 1, "{\"when\":1,\"act\":{}}" },
						   { HOST_JUDGE, 2, "{\"when\":2,\"act\":{}}" },
						   { 0, 0, NULL } };
	struct fake_run r;
	fake_run(&(struct fake_opts){ .mode = "policy",
				      .name = "p.lua",
				      .after_result = judge,
				      .text = "local p, sg = require 'sandglass.policy', require 'sandglass'\n"
					      "return p.rules {\n"
					      "p.ask 'a' { when = function(act) return act.nothing.here end },\n"
					      "p.ask 'b' { when = function() sg.sleep(1) end } }" },
		 &r);
	is_str(json_str(json_object_get(json_array_get(r.verdicts, 0), "err"), "msg", ""),
	       "p.lua:3: attempt to index a nil value (field 'nothing')", "a when that fails says where");
	ok(strstr(json_str(json_object_get(json_array_get(r.verdicts, 1), "err"), "msg", ""), "no task is running") !=
		   NULL,
	   "a when cannot wait");
	fake_release(&r);
}

static void mistakes(void)
{
	static const struct {
		const char *mode, *text, *why;
	} cases[] = {
		{ "policy", "local p = require 'sandglass.policy'\nreturn p.rules { p.ask 'x' { knd = 'exec' } }",
		  "rule 'x': unknown option 'knd'; did you mean 'kind'? at p.lua:2" },
		{ "policy", "local p = require 'sandglass.policy'\nreturn p.rules { p.ask 'x' { kind = 'exce' } }",
		  "rule 'x': no kind 'exce'; did you mean 'exec'? at p.lua:2" },
		{ "policy", "local p = require 'sandglass.policy'\nreturn p.rules { p.allw 'x' {} }",
		  "policy has no 'allw'; did you mean 'allow'? at p.lua:2" },
		{ "policy", "local p = require 'sandglass.policy'\nreturn p.rules { default = 'alow' }",
		  "rules: no default 'alow'; did you mean 'allow'? at p.lua" },
		{ "policy", "local p = require 'sandglass.policy'\nreturn p.rules { p.ask 'x' }",
		  "rules: element 1 is not a rule (p.allow \"name\" { ... }; are the braces missing?) at p.lua" },
		{ "policy", "return {}", "p.lua: a policy file returns p.rules { ... }, not a table" },
		{ "policy", "return p.rules {", "p.lua:1: unexpected symbol near <eof>" },
		{ "policy", "local p = require 'sandglass.policy'\nreturn p.rules { p.allow 'x' { timeout = '5m' } }",
		  "rule 'x': only an ask waits, so it alone has a time-out at p.lua:2" },
		{ "config", "local c = require 'sandglass.config'\n\nc.backnd = 'process'\nreturn c",
		  "config: unknown name 'backnd'; did you mean 'backend'? at p.lua:3" },
		{ "config", "local c = require 'sandglass.config'\nc.keep = { fil = '1G' }\nreturn c",
		  "config: unknown name 'keep.fil'; did you mean 'file'? at p.lua:2" },
		{ "config", "local c = require 'sandglass.config'\nc.ascii = 'yes'\nreturn c",
		  "config: ascii: expected boolean, got string at p.lua:2" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fake_run r;
		fake_run(&(struct fake_opts){ .mode = cases[i].mode, .name = "p.lua", .text = cases[i].text }, &r);
		is_str(fake_why(&r), cases[i].why, cases[i].why);
		ok(!r.result && json_int(r.end, "code", 0) == 3, "without a result, status 3");
		fake_release(&r);
	}
}

static void config(void)
{
	struct fake_run r;
	fake_run(&(struct fake_opts){ .mode = "config",
				      .name = "config.lua",
				      .text = "local c = require 'sandglass.config'\n"
					      "c.backend = 'container'\n"
					      "c.keep = { file = '64M', hash_only = { 'target/**' } }\n"
					      "c.approvals = { arm_ms = 250, timeout = '10m' }\n"
					      "assert(c.backend == 'container')\n"
					      "return c" },
		 &r);
	char *got = r.result ? json_dump_str(r.result) : NULL;
	is_str(got,
	       "{\"approvals\":{\"arm_ms\":250,\"timeout_us\":600000000},\"backend\":\"container\","
	       "\"keep\":{\"file_bytes\":67108864,\"hash_only\":[\"target/**\"]}}",
	       "a configuration becomes plain data");
	ok(r.end && json_flag(r.end, "ok", false), "and the host ends");
	free(got);
	fake_release(&r);
}

int main(void)
{
	example();
	whens();
	mistakes();
	config();
	return done_testing();
}
