#include "inside/hook_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static const char *const hook_names[] = { [HOOK_CLAUDE] = "claude",
					  [HOOK_CODEX] = "codex",
					  [HOOK_GEMINI] = "gemini",
					  [HOOK_PLAIN] = "plain" };

enum hook_format hook_words_format(const char *name)
{
	for (size_t i = HOOK_CLAUDE; i <= HOOK_PLAIN; i++)
		if (!strcmp(hook_names[i], name))
			return (enum hook_format)i;
	return HOOK_NONE;
}

static bool event_is(const json_t *event, const char *name)
{
	return !strcmp(json_str(event, "hook_event_name", ""), name);
}

/* Its dialog is the answer: an approval from outside would close it without one. */
static bool asks_user(const json_t *event)
{
	static const char *const tools[] = { "AskUserQuestion", "ExitPlanMode", "EnterPlanMode" };
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (!strcmp(json_str(event, "tool_name", ""), tools[i]))
			return true;
	return false;
}

/* Claude Code asks twice: before each call, and again where its own dialog is shown, which stays
 * usable meanwhile. */
enum hook_event hook_words_event(enum hook_format f, const json_t *event)
{
	if (f == HOOK_CLAUDE && asks_user(event))
		return HOOK_OTHER;
	if (event_is(event, "PreToolUse"))
		return f == HOOK_CLAUDE ? HOOK_LOOKS : HOOK_ASKS;
	if (event_is(event, "PermissionRequest") || event_is(event, "BeforeTool") ||
	    event_is(event, "tool_call"))
		return HOOK_ASKS;
	if (event_is(event, "PostToolUse") || event_is(event, "PostToolUseFailure") ||
	    event_is(event, "AfterTool") || event_is(event, "tool_result"))
		return HOOK_ENDED;
	return HOOK_OTHER;
}

static const char *edited_command(const struct hook_verdict *v)
{
	return v->edited ? json_str(v->edited, "cmd", NULL) : NULL;
}

/* Most hooks cannot change a call: the agent receives your change as a reason. An edited command is
 * never cut, because the agent runs it as written. */
static void put_why(json_t *to, const char *key, const struct hook_verdict *v)
{
	const char *cmd = edited_command(v);
	CLEANUP(free_ptr)
	char *edit = v->edited ? mem_printf("The user wants this instead: %s",
					    cmd ? cmd : "another call")
			       : NULL;
	json_put_str(to, key, edit ? edit : v->why ? v->why : "Refused.");
}

static json_t *hook_specific(const json_t *event, json_t *more)
{
	json_t *all = json_object();
	json_put_str(more, "hookEventName", json_str(event, "hook_event_name", ""));
	json_put(all, "hookSpecificOutput", more);
	return all;
}

static json_t *decided_before_call(const json_t *event, const struct hook_verdict *v, bool allowed)
{
	json_t *out = json_object();
	char text[64];
	json_put_str(out, "permissionDecision", allowed ? "allow" : "deny");
	snprintf(text, sizeof(text), "allowed by sandglass, #%" PRIu64, v->action);
	if (allowed)
		json_put_str(out, "permissionDecisionReason", text);
	else
		put_why(out, "permissionDecisionReason", v);
	return hook_specific(event, out);
}

static json_t *decided_dialog(enum hook_format f, const json_t *event, const struct hook_verdict *v,
			      bool allowed)
{
	json_t *out = json_object(), *decision = json_object();
	const char *cmd = edited_command(v);
	bool changes = f == HOOK_CLAUDE && v->allowed && cmd;
	json_put_str(decision, "behavior", allowed || changes ? "allow" : "deny");
	if (changes) {
		json_t *input = json_object();
		json_object_update(input, json_object_get(event, "tool_input"));
		json_put_str(input, "command", cmd);
		json_put(decision, "updatedInput", input);
	} else if (!allowed) {
		put_why(decision, "message", v);
	}
	json_put(out, "decision", decision);
	return hook_specific(event, out);
}

json_t *hook_words_answer(enum hook_format f, const json_t *event, const struct hook_verdict *v)
{
	bool allowed = v->allowed && !v->edited;
	json_t *out;
	if (f == HOOK_PLAIN) {
		out = json_object();
		json_put_flag(out, "allowed", allowed);
		if (!allowed && !v->open)
			put_why(out, "reason", v);
		json_put_flag(out, "open", v->open);
		return out;
	}
	if (v->open)
		return json_object();
	if (f == HOOK_GEMINI) {
		out = json_object();
		if (!allowed) {
			json_put_str(out, "decision", "deny");
			put_why(out, "reason", v);
		}
		return out;
	}
	if (event_is(event, "PermissionRequest"))
		return decided_dialog(f, event, v, allowed);
	if (f == HOOK_CODEX && allowed)
		return json_object(); /* it takes a refusal only */
	return decided_before_call(event, v, allowed);
}
