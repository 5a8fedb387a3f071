#include "action/action.h"

#include <string.h>

static const char *const action_kind_names[ACT_KIND_NR] = {
	[ACT_EXEC] = "exec",	     [ACT_READ] = "read",	  [ACT_WRITE] = "write",
	[ACT_EDIT] = "edit",	     [ACT_CONNECT] = "connect",	  [ACT_MODEL] = "model",
	[ACT_HOST] = "host",	     [ACT_MCP] = "mcp",		  [ACT_ASK] = "ask",
	[ACT_SNAPSHOT] = "snapshot", [ACT_ROLLBACK] = "rollback", [ACT_MERGE] = "merge",
	[ACT_PUT] = "put",	     [ACT_GET] = "get",		  [ACT_SHELL] = "shell",
	[ACT_FETCH] = "fetch",	     [ACT_PORT] = "port",
};

const char *action_kind_name(enum action_kind k)
{
	assert((unsigned)k < ACT_KIND_NR);
	return action_kind_names[k];
}

bool action_kind_find(const char *name, enum action_kind *out)
{
	for (unsigned k = 0; k < ACT_KIND_NR; k++)
		if (!strcmp(action_kind_names[k], name)) {
			*out = (enum action_kind)k;
			return true;
		}
	return false;
}

bool action_on_host(const struct action_spec *s)
{
	return s->kind == ACT_HOST || s->kind == ACT_FETCH || (s->kind == ACT_MCP && s->leaves_box);
}

const char *action_url(const struct action_spec *s)
{
	return s->kind == ACT_FETCH ? json_str(s->args, "url", NULL) : NULL;
}

const char *action_method(const struct action_spec *s)
{
	return s->kind == ACT_FETCH ? json_str(s->args, "method", "GET") : NULL;
}

const char *action_end_name(enum action_end e)
{
	switch (e) {
	case END_OK:
		return "ok";
	case END_DENIED:
		return "denied";
	case END_FAILED:
		return "failed";
	case END_TIMEOUT:
		return "timeout";
	case END_CANCELLED:
		return "cancelled";
	case END_KILLED:
		return "killed";
	case END_INTERRUPTED:
		return "interrupted";
	case END_BUDGET:
		return "budget";
	}
	return "failed";
}

void action_denied_err(const struct action_result *res, struct err *err)
{
	err_set(err, ERR_DENIED, "denied: %s",
		res->why    ? res->why
		: res->rule ? res->rule
			    : "by a rule");
}
