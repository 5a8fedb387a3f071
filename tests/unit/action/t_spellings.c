/* A denied command in all its spellings, and ordinary commands outside the rules. One row per spelling. A row that runs
 * `git push` is never allowed: most are denied, the rest ask. At most one harmless row in twenty asks. */
#include "tap.h"

#include "judge.h"

static const char *const runs[] = {
#include "spellings_runs.def"
#include "spellings_attacks.def"
};

static const char *const harmless[] = {
#include "spellings_harmless.def"
};

static const char *const daily[] = {
#include "spellings_daily.def"
};

static const char policy_text[] =
	"{\"name\":\"no-push\",\"verdict\":\"deny\",\"line\":1,\"cmd\":\"git push *\"},"
	"{\"name\":\"publish\",\"verdict\":\"ask\",\"line\":2,\"cmd\":[\"npm publish *\",\"docker push *\"]},"
	"{\"name\":\"apply\",\"verdict\":\"deny\",\"line\":3,\"cmd\":[\"terraform apply *\",\"rm -rf / *\"]}";

static void test_spellings(void)
{
	struct policy *p = rules("policy.lua", "allow", policy_text);
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		CLEANUP(free_ptr) char *name = mem_strdup(runs[i]);
		for (char *c = name; *c; c++)
			*c = *c == '\n' ? ' ' : *c == '#' ? '_' : *c;
		ok(strcmp(verdict_of(&p, 1, WALL_BOXED, "exec", runs[i]), "allow") != 0,
		   "not allowed: %s", name);
	}
	policy_free(&p);
}

static void test_harmless(const char *const *list, size_t nr)
{
	struct policy *p = rules("policy.lua", "allow", policy_text);
	size_t asked = 0;
	for (size_t i = 0; i < nr; i++)
		if (strcmp(verdict_of(&p, 1, WALL_BOXED, "exec", list[i]), "allow") != 0) {
			asked++;
			printf("# needless: %.60s\n", list[i]);
		}
	ok(asked * 20 <= nr, "%zu of %zu harmless commands are asked about", asked, nr);
	policy_free(&p);
}

/* A rule "git push*" is for what follows, too; an allow stays as narrow as it is written. */
static void test_open_end(void)
{
	struct policy *p =
		rules("f", "allow",
		      "{\"name\":\"a\",\"verdict\":\"deny\",\"line\":1,\"cmd\":\"git push*\"}");
	is_str(verdict_of(&p, 1, WALL_BOXED, "exec", "git push"), "deny",
	       "git push* denies git push");
	is_str(verdict_of(&p, 1, WALL_BOXED, "exec", "git push origin main"), "deny",
	       "with arguments");
	is_str(verdict_of(&p, 1, WALL_BOXED, "exec", "git status"), "allow", "and nothing else");
	policy_free(&p);
	p = rules("f", "ask",
		  "{\"name\":\"a\",\"verdict\":\"allow\",\"line\":1,\"cmd\":\"git push*\"}");
	is_str(verdict_of(&p, 1, WALL_BOXED, "exec", "git push origin"), "ask",
	       "an allow does not grow");
	policy_free(&p);
}

static const char *with_variable(struct policy **p, const char *cmd, const char *variable)
{
	struct judgement j;
	struct action_spec s;
	spec_from(&s, "exec", cmd, NULL);
	strv_push(&s.env, variable);
	const struct policy_subject subject = {
		.spec = &s, .wall = WALL_BOXED, .agent = "fix", .box = "b1"
	};
	policy_judge(p, 1, NULL, 0, 2, &subject, &j);
	const char *v = verdict_name(j.verdict);
	judgement_release(&j);
	strv_release(&s.argv);
	strv_release(&s.env);
	return v;
}

/* Variables that come with the action, not in its text. */
static void test_variables(void)
{
	struct policy *p = rules("policy.lua", "allow", policy_text);
	is_str(with_variable(&p, "git fetch", "GIT_SSH_COMMAND=git push"), "ask",
	       "a variable that git runs");
	is_str(with_variable(&p, "x", "ANY=cd a; git 'push' b"), "ask", "or any other program");
	is_str(with_variable(&p, "bash -c :", "BASH_ENV=/dev/stdin"), "ask",
	       "commands from standard input");
	is_str(with_variable(&p, "make", "CFLAGS=-O2"), "allow", "others don't matter");
	is_str(with_variable(&p, "git push", "CFLAGS=-O2"), "deny", "nor help");
	policy_free(&p);
}

int main(void)
{
	test_spellings();
	test_harmless(harmless, ARRAY_LEN(harmless));
	test_harmless(daily, ARRAY_LEN(daily));
	test_open_end();
	test_variables();
	return done_testing();
}
