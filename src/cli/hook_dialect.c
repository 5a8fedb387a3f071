#include "cli/hook_dialect.h"

#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "luahost/library.h"

/* A reviewer may take long; at the end of a session nobody does. */
enum { HOOK_WAIT_S = 86400, HOOK_END_S = 3 };

/* An event: the agent's name and Claude Code's. */
struct hook_name {
	const char *theirs, *ours;
};

struct hook_dialect {
	const char *agent, *place;
	json_t *(*entry)(const struct hook_name *n, const char *command);
	void (*read)(json_t *event); /* renames the fields in place; NULL: nothing to do */
	json_t *(*decide)(const char *decision, const char *why, const json_t *input);
	bool numbered; /* the settings have "version": 1 */
	bool asks;     /* "ask" makes it ask; else its own settings decide, which may allow */
	struct hook_name name[8];
};

static bool hook_is_tool(const struct hook_name *n)
{
	return strstr(n->ours, "ToolUse") != NULL;
}

static int hook_patience(const struct hook_name *n)
{
	return strcmp(n->ours, "SessionEnd") ? HOOK_WAIT_S : HOOK_END_S;
}

/* These agents continue after every status but 2, and Codex also after a 2 without a text on standard
 * error. Neither a missing program nor a signal, which an agent that ends sends to its hooks, must
 * let a tool run unchecked. */
static char *hook_closed(const struct hook_name *n, const char *command)
{
	if (strcmp(n->ours, "PreToolUse") != 0)
		return mem_strdup(command);
	return mem_printf(
		"trap 'echo sandglass: hook interrupted >&2; exit 2' HUP INT TERM; %s || exit 2",
		command);
}

/* {"matcher","hooks":[{"type","command","timeout"}]} of Claude Code, Codex, and Gemini CLI */
static json_t *hook_entry_matched(const struct hook_name *n, const char *command,
				  const char *matcher, int timeout)
{
	json_t *one = json_object(), *row = json_object();
	json_put_str(one, "type", "command");
	json_put_str(one, "command", command);
	json_put_int(one, "timeout", timeout);
	if (hook_is_tool(n))
		json_put_str(row, "matcher", matcher);
	json_put(row, "hooks", json_pack("[o]", one));
	return row;
}

static json_t *claude_entry(const struct hook_name *n, const char *command)
{
	CLEANUP(free_ptr) char *closed = hook_closed(n, command);
	return hook_entry_matched(n, closed, "*", hook_patience(n));
}

static json_t *codex_entry(const struct hook_name *n, const char *command)
{
	CLEANUP(free_ptr) char *closed = hook_closed(n, command);
	return hook_entry_matched(n, closed, ".*", hook_patience(n));
}

static json_t *gemini_entry(const struct hook_name *n, const char *command)
{
	CLEANUP(free_ptr) char *closed = hook_closed(n, command);
	return hook_entry_matched(n, closed, ".*", hook_patience(n) * 1000); /* ms */
}

static json_t *copilot_entry(const struct hook_name *n, const char *command)
{
	json_t *one = json_object();
	CLEANUP(free_ptr) char *named = mem_printf("%s --event %s", command, n->theirs);
	CLEANUP(free_ptr) char *closed = hook_closed(n, named);
	json_put_str(one, "type", "command");
	json_put_str(one, "bash", closed);
	json_put_int(one, "timeoutSec", hook_patience(n));
	return one;
}

static json_t *cursor_entry(const struct hook_name *n, const char *command)
{
	json_t *one = json_object();
	CLEANUP(free_ptr) char *closed = hook_closed(n, command);
	json_put_str(one, "command", closed);
	json_put_int(one, "timeout", hook_patience(n));
	if (!strcmp(n->ours, "PreToolUse"))
		json_put_flag(one, "failClosed", true);
	return one;
}

/* --- events --- */

static void hook_rename(json_t *event, const char *from, const char *to)
{
	json_t *v = json_object_get(event, from);
	if (v && !json_object_get(event, to))
		json_put(event, to, json_incref(v));
}

static void gemini_read(json_t *event)
{
	json_t *answer = json_object_get(event, "tool_response");
	hook_rename(event, "prompt_response", "last_assistant_message");
	hook_rename(event, "trigger", "source");
	if (json_is_string(json_object_get(answer, "llmContent")))
		json_put(event, "tool_response",
			 json_incref(json_object_get(answer, "llmContent")));
}

/* Arguments that come as JSON in a string. */
static void hook_unwrap(json_t *event, const char *key)
{
	struct err ignored = ERR_INIT;
	const char *text = json_str(event, key, NULL);
	json_t *v = text ? json_parse(text, strlen(text), key, &ignored) : NULL;
	if (v)
		json_put(event, key, v);
}

static void copilot_read(json_t *event)
{
	json_t *answer = json_object_get(event, "toolResult");
	hook_rename(event, "sessionId", "session_id");
	hook_rename(event, "toolName", "tool_name");
	hook_rename(event, "toolArgs", "tool_input");
	hook_rename(event, "initialPrompt", "prompt");
	hook_unwrap(event, "tool_input");
	if (json_object_get(answer, "textResultForLlm"))
		json_put(event, "tool_response",
			 json_incref(json_object_get(answer, "textResultForLlm")));
}

static void cursor_read(json_t *event)
{
	json_t *roots = json_object_get(event, "workspace_roots");
	hook_rename(event, "conversation_id", "session_id");
	hook_rename(event, "tool_output", "tool_response");
	if (json_is_string(json_array_get(roots, 0)) && !*json_str(event, "cwd", ""))
		json_put(event, "cwd", json_incref(json_array_get(roots, 0)));
}

/* Without an id, a call and its result belong together by tool and arguments. */
static void hook_number_call(json_t *event)
{
	struct hash h;
	CLEANUP(buf_release) struct buf b = BUF_INIT, id = BUF_INIT;
	if (json_str(event, "tool_use_id", NULL) || !json_str(event, "tool_name", NULL))
		return;
	buf_puts(&b, json_str(event, "tool_name", ""));
	if (json_object_get(event, "tool_input"))
		json_dump_buf(json_object_get(event, "tool_input"), &b);
	hash_of(b.data, b.len, &h);
	hex_append(&id, h.b, 8);
	json_put_str(event, "tool_use_id", buf_cstr(&id));
}

/* --- decisions --- */

static json_t *claude_decide(const char *decision, const char *why, const json_t *input)
{
	json_t *out = json_object(), *all = json_object();
	json_put_str(out, "hookEventName", "PreToolUse");
	json_put_str(out, "permissionDecision", decision);
	json_put_str(out, "permissionDecisionReason", why);
	json_put(out, "updatedInput", json_incref((json_t *)(uintptr_t)input));
	json_put(all, "hookSpecificOutput", out);
	return all;
}

/* Without a decision its own prompt asks. */
static json_t *gemini_decide(const char *decision, const char *why, const json_t *input)
{
	json_t *all = json_object();
	if (strcmp(decision, "ask") != 0) {
		json_put_str(all, "decision", decision);
		json_put_str(all, "reason", why);
	}
	if (input) {
		json_t *out = json_object();
		json_put_str(out, "hookEventName", "BeforeTool");
		json_put(out, "tool_input", json_incref((json_t *)(uintptr_t)input));
		json_put(all, "hookSpecificOutput", out);
	}
	return all;
}

static json_t *copilot_decide(const char *decision, const char *why, const json_t *input)
{
	json_t *all = json_object();
	json_put_str(all, "permissionDecision", decision);
	json_put_str(all, "permissionDecisionReason", why);
	json_put(all, "modifiedArgs", json_incref((json_t *)(uintptr_t)input));
	return all;
}

static json_t *cursor_decide(const char *decision, const char *why, const json_t *input)
{
	json_t *all = json_object();
	json_put_str(all, "permission", decision);
	json_put_str(all, "user_message", why);
	json_put_str(all, "agent_message", why);
	json_put(all, "updated_input", json_incref((json_t *)(uintptr_t)input));
	return all;
}

/* --- the table --- */

static const struct hook_dialect hook_dialects[] = {
	{ "claude",
	  "~/.claude/settings.json, or .claude/settings.json of a project",
	  claude_entry,
	  NULL,
	  claude_decide,
	  false,
	  true,
	  { { "PreToolUse", "PreToolUse" },
	    { "PostToolUse", "PostToolUse" },
	    { "UserPromptSubmit", "UserPromptSubmit" },
	    { "SessionStart", "SessionStart" },
	    { "SessionEnd", "SessionEnd" },
	    { "Stop", "Stop" },
	    { "Notification", "Notification" } } },
	{ "codex",
	  "~/.codex/hooks.json; Codex asks once for permission to run it",
	  codex_entry,
	  NULL,
	  claude_decide,
	  false,
	  false,
	  { { "PreToolUse", "PreToolUse" },
	    { "PostToolUse", "PostToolUse" },
	    { "UserPromptSubmit", "UserPromptSubmit" },
	    { "SessionStart", "SessionStart" },
	    { "SessionEnd", "SessionEnd" },
	    { "Stop", "Stop" } } },
	{ "gemini",
	  "~/.gemini/settings.json, or .gemini/settings.json of a project",
	  gemini_entry,
	  gemini_read,
	  gemini_decide,
	  false,
	  false,
	  { { "BeforeTool", "PreToolUse" },
	    { "AfterTool", "PostToolUse" },
	    { "BeforeAgent", "UserPromptSubmit" },
	    { "SessionStart", "SessionStart" },
	    { "SessionEnd", "SessionEnd" },
	    { "AfterAgent", "Stop" },
	    { "Notification", "Notification" } } },
	/* its plugin speaks as Claude Code does */
	{ "opencode",
	  "~/.config/opencode/plugin/sandglass.js, or .opencode/plugin/ of a project",
	  NULL,
	  NULL,
	  claude_decide,
	  false,
	  false,
	  { { NULL, NULL } } },
	{ "copilot",
	  "~/.copilot/hooks/sandglass.json, or .github/hooks/ of a project",
	  copilot_entry,
	  copilot_read,
	  copilot_decide,
	  true,
	  true,
	  { { "preToolUse", "PreToolUse" },
	    { "postToolUse", "PostToolUse" },
	    { "userPromptSubmitted", "UserPromptSubmit" },
	    { "sessionStart", "SessionStart" },
	    { "sessionEnd", "SessionEnd" },
	    { "agentStop", "Stop" } } },
	{ "cursor",
	  "~/.cursor/hooks.json, or .cursor/hooks.json of a project",
	  cursor_entry,
	  cursor_read,
	  cursor_decide,
	  true,
	  true,
	  { { "preToolUse", "PreToolUse" },
	    { "postToolUse", "PostToolUse" },
	    { "beforeSubmitPrompt", "UserPromptSubmit" },
	    { "sessionStart", "SessionStart" },
	    { "sessionEnd", "SessionEnd" },
	    { "stop", "Stop" } } },
};

const struct hook_dialect *hook_dialect_find(const char *agent)
{
	for (size_t i = 0; i < ARRAY_LEN(hook_dialects); i++)
		if (!strcmp(hook_dialects[i].agent, agent))
			return &hook_dialects[i];
	return NULL;
}

const char *hook_dialect_names(void)
{
	static struct buf names;
	if (names.len)
		return buf_cstr(&names);
	for (size_t i = 0; i < ARRAY_LEN(hook_dialects); i++)
		buf_printf(&names, "%s%s", i ? ", " : "", hook_dialects[i].agent);
	return buf_cstr(&names);
}

const char *hook_dialect_place(const struct hook_dialect *d)
{
	return d->place;
}

/* The plugin of OpenCode, with the command in place of its mark. */
static char *hook_plugin_text(const char *command)
{
	static const char mark[] = "@COMMAND@";
	size_t len;
	const char *text = library_file("agents/hook_opencode.js", &len),
		   *at = text ? strstr(text, mark) : NULL;
	if (!at)
		return NULL;
	return mem_printf("%.*s%s%s", (int)(at - text), text, command, at + sizeof(mark) - 1);
}

char *hook_dialect_settings(const struct hook_dialect *d, const char *command)
{
	if (!d->entry)
		return hook_plugin_text(command);
	CLEANUP(json_release) json_t *all = json_object();
	json_t *hooks = json_object();
	for (const struct hook_name *n = d->name; n->ours; n++)
		json_put(hooks, n->theirs, json_pack("[o]", d->entry(n, command)));
	if (d->numbered)
		json_put_int(all, "version", 1);
	json_put(all, "hooks", hooks);
	CLEANUP(free_ptr) char *text = json_dumps(all, JSON_INDENT(2));
	return mem_printf("%s\n", text);
}

json_t *hook_dialect_event(const struct hook_dialect *d, const json_t *event, const char *named)
{
	json_t *mine =
		json_is_object(event) ? json_copy((json_t *)(uintptr_t)event) : json_object();
	const char *name = named ? named : json_str(event, "hook_event_name", NULL);
	if (d && d->read)
		d->read(mine);
	for (const struct hook_name *n = d ? d->name : NULL; name && n && n->ours; n++)
		if (!strcmp(n->theirs, name)) {
			json_put_str(mine, "hook_event_name", n->ours);
			break;
		}
	hook_number_call(mine);
	return mine;
}

bool hook_dialect_asks(const struct hook_dialect *d)
{
	return d->asks;
}

char *hook_dialect_decision(const struct hook_dialect *d, const char *decision, const char *why,
			    const json_t *input)
{
	CLEANUP(json_release)
	json_t *all = (d ? d->decide : claude_decide)(decision, why, input);
	return json_dump_str(all);
}
