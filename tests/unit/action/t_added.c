/* Rules that users add: their text, their place in the file, and their verdicts. */
#include <stdlib.h>
#include <string.h>

#include "action/added.h"
#include "tap.h"

static json_t *rule(const char *text)
{
	struct err err = ERR_INIT;
	return json_parse(text, strlen(text), "rule", &err);
}

static void texts(void)
{
	CLEANUP(json_release) json_t *r = rule("{\"verdict\":\"allow\",\"kind\":\"exec\",\"cmd\":\"git push origin fix/*\","
					       "\"lifts\":[\"no-push\",\"net\"]}");
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	CLEANUP(free_ptr) char *name = added_name(r, NULL), *second = added_name(r, "p.allow \"added-git-push-origin-fix\" {");
	is_str(name, "added-git-push-origin-fix", "its name comes from its words");
	is_str(second, "added-git-push-origin-fix-2", "and is not taken twice");
	added_text(r, name, "a \"why\"\n\\", &b);
	is_str(buf_cstr(&b),
	       "p.allow \"added-git-push-origin-fix\" { kind = \"exec\", cmd = \"git push origin fix/*\", "
	       "lifts = { \"no-push\", \"net\" }, why = \"a \\\"why\\\"\\010\\\\\" }",
	       "what people type stays inside its string");
}

static int insert(const char *file, const char *comment, const char *text, struct buf *out, int *line)
{
	struct err err = ERR_INIT;
	buf_reset(out);
	return added_insert(file, comment, text, out, line, &err);
}

static void places(void)
{
	CLEANUP(buf_release) struct buf one = BUF_INIT, two = BUF_INIT;
	int line = 0;
	is_int(insert(NULL, "ann\nos.exit()", "RULE1", &one, &line), 0, "a new file");
	ok(strstr(buf_cstr(&one), "return p.rules {\n  -- annos.exit()\n  RULE1,\n}\n") != NULL, "a comment stays one line");
	is_int(line, 5, "the line is reported");
	is_int(insert(buf_cstr(&one), "bea", "RULE2", &two, &line), 0, "a second one");
	ok(strstr(buf_cstr(&two), "  RULE1,\n  -- bea\n  RULE2,\n}\n") != NULL, "follows the first");
	is_int(line, 7, "two lines on");
	static const char *const odd[] = {
		"return p.rules { p.allow \"x\" {} }\n", "return p.rules {\n  p.allow \"x\" {}\n}\n", "local t = {\n}\nreturn t\n",
		"return p.rules {\n--[[\n}\n", "-- nothing\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(odd); i++)
		ok(insert(odd[i], "c", "R", &two, &line) < 0, "an end that is not certain is left alone (%zu)", i);
	is_int(insert("return p.rules {\n  a,\n  -- last\n}\n\n-- end\n", "c", "R", &two, &line), 0, "comments and blank lines do not matter");
	is_str(buf_cstr(&two), "return p.rules {\n  a,\n  -- last\n  -- c\n  R,\n}\n\n-- end\n", "and stay");
}

/* --- what such a rule answers --- */

static enum verdict judged(const char *asks, const char *added, const char *cmd)
{
	struct err err = ERR_INIT;
	struct policy *p[2] = { 0 };
	struct judgement j;
	if (policy_parse(&p[0], asks, strlen(asks), &err) < 0 || policy_parse(&p[1], added, strlen(added), &err) < 0) {
		printf("# %s\n", err.text);
		exit(99);
	}
	const char *argv[] = { "sh", "-c", cmd };
	struct action_spec spec = { .kind = ACT_EXEC };
	for (size_t i = 0; i < ARRAY_LEN(argv); i++)
		strv_push(&spec.argv, argv[i]);
	const struct policy_subject subject = { .spec = &spec, .wall = WALL_BOXED };
	policy_judge(p, 2, NULL, 0, 0, &subject, &j);
	enum verdict v = j.verdict;
	judgement_release(&j);
	strv_release(&spec.argv);
	policy_free(&p[0]);
	policy_free(&p[1]);
	return v;
}

static const char asks[] = "{\"file\":\"a\",\"rules\":[{\"name\":\"no-push\",\"verdict\":\"ask\",\"line\":1,\"cmd\":\"git push *\"},"
			   "{\"name\":\"tags\",\"verdict\":\"ask\",\"line\":2,\"cmd\":\"git push ... --tags\"},"
			   "{\"name\":\"force\",\"verdict\":\"deny\",\"line\":3,\"cmd\":\"git push ... --force\"}]}";
static const char firm[] = "{\"file\":\"a\",\"firm\":true,\"rules\":[{\"name\":\"no-push\",\"verdict\":\"ask\",\"line\":1,"
			   "\"cmd\":\"git push *\"}]}";
static const char added[] = "{\"file\":\".sandglass/added.lua\",\"added\":true,\"rules\":[{\"name\":\"x\",\"verdict\":\"allow\","
			    "\"line\":1,\"kind\":\"exec\",\"cmd\":\"git push origin fix/*\",\"lifts\":\"no-push\"},"
			    "{\"name\":\"y\",\"verdict\":\"allow\",\"line\":2,\"kind\":\"exec\",\"cmd\":\"git push origin any *\","
			    "\"lifts\":\"no-push\"}]}";

static void answers(void)
{
	struct err err = ERR_INIT;
	struct policy *p = NULL;
	static const struct {
		const char *name, *asks, *cmd;
		enum verdict want;
	} cases[] = {
		{ "the ask that it names", asks, "git push origin fix/a", VERDICT_ALLOW },
		{ "not what it does not match", asks, "git push origin main", VERDICT_ASK },
		{ "in a line whose other parts are allowed", asks, "make && git push origin fix/a", VERDICT_ALLOW },
		{ "not in a line with another part that asks", asks, "git push origin fix/a; git push origin main", VERDICT_ASK },
		{ "not an ask of another name", asks, "git push origin any --tags", VERDICT_ASK },
		{ "never a deny", asks, "git push origin any --force", VERDICT_DENY },
		{ "not a word that the shell alone knows", asks, "git push origin $X", VERDICT_ASK },
		{ "not what cannot be taken apart", asks, "git push origin fix/a; eval \"$X\"", VERDICT_ASK },
		{ "never the machine's own", firm, "git push origin fix/a", VERDICT_ASK },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		is_int(judged(cases[i].asks, added, cases[i].cmd), cases[i].want, cases[i].name);
	CLEANUP(free_ptr) char *other = mem_strdup(added);
	memcpy(strstr(other, "\"added\":true"), "\"added\":null", 12);
	ok(policy_parse(&p, other, strlen(other), &err) < 0 && strstr(err.text, "added.lua"), "another file cannot do that");
}

int main(void)
{
	texts();
	places();
	answers();
	return done_testing();
}
