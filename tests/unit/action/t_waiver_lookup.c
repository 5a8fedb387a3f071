/* A lookup never leaves out a subject that a pattern matches: every proposal of every subject, and the patterns that lead
 * nowhere, against all subjects. */
#include "tap.h"

#include "action/judge.h"
#include "action/waiver_lookup.h"

static const struct {
	const char *kind, *text;
} subjects[] = {
	{ "exec", "ls" },
	{ "exec", "ls src" },
	{ "exec", "ls src/a" },
	{ "exec", "cat src/a" },
	{ "exec", "cat src/b/c" },
	{ "exec", "cat src/$X" },
	{ "exec", "cat $X" },
	{ "exec", "cat $X src/a" },
	{ "exec", "cat 'a b' c" },
	{ "exec", "cat * c" },
	{ "exec", "/usr/bin/cat src/a" },
	{ "exec", "./cat src/a" },
	{ "exec", "git push origin main" },
	{ "exec", "git push origin fix/a" },
	{ "exec", "git push origin fix/b && rm -rf x" },
	{ "exec", "sudo rm -rf x" },
	{ "exec", "sh -c 'rm -rf x'" },
	{ "exec", "echo a > src/a" },
	{ "exec", "echo \"$(cat src/a)\"" },
	{ "exec", "PATH=/x git push" },
	{ "exec", "find . -exec rm {} +" },
	{ "exec", "" },
	{ "write", "src/a" },
	{ "write", "src/b/c" },
	{ "write", "/etc/passwd" },
	{ "write", "~/x" },
	{ "write", "../workspace/src/a" },
	{ "read", "src/a" },
	{ "put", "/tmp/a/b" },
	{ "get", "~/a" },
	{ "connect", "a.example:443" },
	{ "connect", "b.A.Example.:443" },
	{ "connect", "a.example:80" },
	{ "connect", "10.0.0.1:80" },
	{ "connect", "::1:80" },
	{ "host", "sg.host.push" },
	{ "mcp", "a.b" },
	{ "mcp", "a.c" },
};
static const char *const others[] = { "ls ...", "ls *", "cat * c", "cat src/*", "git ... main", "src/**", "**/a", "~/**", "./src/a",
				      "*.example", "*.example:443", "a.example.", "[::1]:80", "::1", "10.0.0.*", "sg.*", "a.?",
				      "git push origin fix/*", "rm -rf *", "> src/*" };

enum { SUBJECTS = ARRAY_LEN(subjects) };
static struct action_spec specs[SUBJECTS];
static char scratch[SUBJECTS][300];
static size_t matched, lost, looked;

static bool is_found(const struct waiver_lookup *l, const struct waiver *w, uint32_t number)
{
	size_t nr;
	const uint32_t *at = waiver_lookup_find(l, w, &nr);
	looked += nr;
	for (size_t i = 0; i < nr; i++)
		if (at[i] == number)
			return true;
	return false;
}

static void try_pattern(const struct waiver_lookup *l, enum action_kind kind, const char *pattern)
{
	struct waiver w = { .kind = kind, .pattern = (char *)(uintptr_t)pattern };
	for (uint32_t i = 0; i < SUBJECTS; i++) {
		struct policy_subject s = { .spec = &specs[i], .wall = WALL_NONE };
		if (!waiver_touches(&w, 0, &s))
			continue;
		matched++;
		if (is_found(l, &w, i))
			continue;
		lost++;
		printf("# %s '%s' does not lead to '%s'\n", action_kind_name(kind), pattern, subjects[i].text);
	}
}

int main(void)
{
	struct waiver_lookup *l = waiver_lookup_new();
	for (uint32_t i = 0; i < SUBJECTS; i++) {
		spec_from(&specs[i], subjects[i].kind, subjects[i].text, scratch[i]);
		waiver_lookup_add(l, &(struct policy_subject){ .spec = &specs[i], .wall = WALL_NONE }, i);
	}
	for (uint32_t i = 0; i < SUBJECTS; i++) {
		struct policy_subject s = { .spec = &specs[i], .wall = WALL_NONE };
		struct judgement j;
		policy_judge(NULL, 0, NULL, 0, 0, &s, &j);
		json_t *list = policy_proposals(&j, &s);
		for (size_t k = 0; k < json_array_size(list); k++)
			try_pattern(l, specs[i].kind, json_str(json_array_get(list, k), "pattern", ""));
		for (size_t k = 0; k < ARRAY_LEN(others); k++)
			try_pattern(l, specs[i].kind, others[k]);
		json_decref(list);
		judgement_release(&j);
	}
	ok(matched > 100, "patterns match subjects (%zu times)", matched);
	ok(!lost, "each of these subjects is looked at");
	size_t nr;
	waiver_lookup_find(l, &(struct waiver){ .kind = ACT_EXEC, .pattern = (char *)(uintptr_t)"git push *" }, &nr);
	ok(nr && nr < 8, "and not every other one (%zu of %d)", nr, SUBJECTS);
	waiver_lookup_free(&l);
	for (uint32_t i = 0; i < SUBJECTS; i++)
		strv_release(&specs[i].argv);
	return done_testing();
}
