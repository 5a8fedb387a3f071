/* A policy file's JSON: refused with a reason, or judged without a hitch; one more deny never allows more. */
#include <stdlib.h>
#include <string.h>

#include "action/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct policy *deny;

static enum verdict judge(struct policy *const *p, size_t nr, const struct action_spec *s)
{
	const struct policy_subject subject = { .spec = s, .wall = WALL_BOXED, .agent = "fix", .box = "b1" };
	struct judgement j;
	policy_judge(p, nr, NULL, 0, 1, &subject, &j);
	json_t *body = judgement_json(&j), *list = policy_proposals(&j, &subject);
	char *text = json_dump_str(body);
	if (!*text)
		abort();
	free(text);
	json_decref(body);
	json_decref(list);
	enum verdict v = j.verdict;
	judgement_release(&j);
	return v;
}

static void judge_all(struct policy *p)
{
	static const char *const lines[] = { "git push -f origin", "ls $(rm x) > src/a | sudo $X", "eval \"$x\"" };
	struct policy *both[2] = { p, deny };
	for (size_t i = 0; i < ARRAY_LEN(lines) + 2; i++) {
		struct action_spec s = { .kind = ACT_EXEC, .tool = "shell" };
		if (i < ARRAY_LEN(lines)) {
			strv_push(&s.argv, "sh");
			strv_push(&s.argv, "-c");
			strv_push(&s.argv, lines[i]);
		} else if (i == ARRAY_LEN(lines)) {
			s = (struct action_spec){ .kind = ACT_WRITE, .path = "src/../.env" };
		} else {
			s = (struct action_spec){ .kind = ACT_CONNECT, .host = "a.example.org", .port = 443 };
		}
		if (judge(both, 2, &s) < judge(both, 1, &s))
			abort();
		strv_release(&s.argv);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char more[] = "{\"file\":\"d\",\"rules\":[{\"name\":\"d\",\"verdict\":\"deny\",\"line\":1,\"cmd\":\"git push *\"}]}";
	struct err err = ERR_INIT;
	struct policy *p = NULL;
	if (!deny) {
		hash_init();
		if (policy_parse(&deny, more, strlen(more), &err) < 0)
			abort();
	}
	if (policy_parse(&p, (const char *)data, size, &err) < 0) {
		if (p || !err.text[0])
			abort();
		return 0;
	}
	judge_all(p);
	policy_free(&p);
	return 0;
}
