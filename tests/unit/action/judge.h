/* For tests of the policy: rules from short JSON, actions from a kind and a text. */
#ifndef TEST_JUDGE_H
#define TEST_JUDGE_H

#include "action/policy.h"
#include "base/mem.h"

UNUSED static struct policy *rules(const char *file, const char *def, const char *list)
{
	CLEANUP(free_ptr)
	char *json = mem_printf("{\"file\":\"%s\"%s%s%s,\"rules\":[%s]}", file,
				*def ? ",\"default\":\"" : "", def, *def ? "\"" : "", list);
	struct policy *p = NULL;
	struct err err = ERR_INIT;
	if (policy_parse(&p, json, strlen(json), &err) < 0) {
		printf("Bail out! %s: %s\n", json, err.text);
		abort();
	}
	return p;
}

/* exec: a command line; connect: host:port; host, mcp: a tool; else a path. */
static void spec_from(struct action_spec *s, const char *kind, const char *text, char *scratch)
{
	*s = (struct action_spec){ 0 };
	if (!action_kind_find(kind, &s->kind))
		abort();
	if (s->kind == ACT_EXEC) {
		strv_push(&s->argv, "sh");
		strv_push(&s->argv, "-c");
		strv_push(&s->argv, text);
	} else if (s->kind == ACT_CONNECT) {
		char *colon;
		strcpy(scratch, text);
		colon = strrchr(scratch, ':');
		*colon = 0;
		s->host = scratch;
		s->port = (uint16_t)atoi(colon + 1);
		s->leaves_box = true;
	} else if (s->kind == ACT_HOST || s->kind == ACT_MCP || s->kind == ACT_MODEL) {
		s->tool = text;
	} else if (s->kind == ACT_PUT || s->kind == ACT_GET) {
		s->host_path = text;
		s->path = "x";
	} else {
		s->path = text;
	}
}

UNUSED static void judge_in(struct policy *const *p, size_t nr, enum gate_wall wall,
			    const char *kind, const char *text, struct judgement *j)
{
	char scratch[300];
	struct action_spec s;
	spec_from(&s, kind, text, scratch);
	const struct policy_subject subject = {
		.spec = &s, .wall = wall, .agent = "fix", .box = "b1"
	};
	policy_judge(p, nr, NULL, 0, 2, &subject, j);
	strv_release(&s.argv);
}

UNUSED static const char *verdict_of(struct policy *const *p, size_t nr, enum gate_wall wall,
				     const char *kind, const char *text)
{
	struct judgement j;
	judge_in(p, nr, wall, kind, text, &j);
	const char *v = verdict_name(j.verdict);
	judgement_release(&j);
	return v;
}

#endif
