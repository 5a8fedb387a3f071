/* Codex: rollout files, {timestamp, type, payload} on each line, and what `codex exec --json`
 * prints.
 *
 * Rollout: an answer of the model is the run of its items (message, function_call, ...) up to the
 * token_count that follows; results of calls that come before that wait for it. A token_count
 * without an answer counts as spent by nobody in particular. The rollout of a fork or of a spawned
 * thread begins with a copy of its parent's history, which was written at once when it began: that
 * is kept, and counts nothing. exec: one turn.started ... turn.completed (or turn.failed) is one
 * answer; its items are its calls; there are no times. An item that was started and never completed
 * is a call without a result. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exchange/import.h"
#include "base/mem.h"

struct result {
	char *id, *text;
	int code;
	bool failed;
};

struct codex {
	bool open;     /* an answer is under way */
	bool answered; /* ... and results of its calls have come */
	struct buf text;
	json_t *calls;
	struct result *result;
	size_t nr, cap;
	struct usage usage;
	char *model;
	int64_t last_total;
	size_t history; /* the last line that is a copy of the parent's history; 0: none is */
	json_t *begun;	/* exec: id -> item that was started */
};

static void import_codex_add_call(struct codex *c, const char *id, const char *name, json_t *args)
{
	json_t *call = json_object();
	json_put(call, "id", json_string(id));
	json_put(call, "name", json_string(name));
	json_put(call, "args", args ? args : json_object());
	json_array_append_new(c->calls, call);
}

static void add_result(struct codex *c, const char *id, char *text, bool failed, int code)
{
	GROW(c->result, c->nr, c->cap);
	c->result[c->nr++] = (struct result){ mem_strdup(id), text, code, failed };
	c->answered = true;
}

static void import_codex_begin(struct codex *c)
{
	if (!c->open)
		c->calls = json_array();
	c->open = true;
}

static void import_codex_give(struct codex *c, struct import *im)
{
	size_t i;
	json_t *call;
	if (c->open) {
		import_reply(im, c->model, buf_cstr(&c->text), c->calls, &c->usage,
			     json_array_size(c->calls) ? "calls" : "end");
		c->usage = USAGE_INIT;
	}
	json_array_foreach(c->calls, i, call)
		import_call(im, json_str(call, "id", ""), json_str(call, "name", "?"),
			    json_object_get(call, "args"));
	for (i = 0; i < c->nr; i++) {
		struct result *r = &c->result[i];
		import_result(im, r->id, r->text, strlen(r->text), r->failed, r->code);
		free(r->id);
		free(r->text);
	}
	json_decref(c->calls);
	c->calls = NULL;
	c->nr = 0;
	c->open = c->answered = false;
	buf_reset(&c->text);
}

static void import_codex_release(struct codex *c, struct import *im)
{
	import_codex_give(c, im);
	if (c->usage.in || c->usage.out)
		import_spent(im, &c->usage);
	free(c->result);
	free(c->model);
	buf_release(&c->text);
}

/* --- rollout --- */

/* "Wall time: ...\nProcess exited with code N\n...Output:\n" in front is the tool's, not the
 * command's. */
static void import_codex_take_head(char *text, int *code)
{
	char *output = strstr(text, "Output:\n"),
	     *exited = strstr(text, "Process exited with code ");
	if (!exited)
		exited = !strncmp(text, "Exit code: ", 11) ? text : NULL;
	if (!output || !exited || exited > output || output - text > 400)
		return;
	*code = atoi(exited + strcspn(exited, "0123456789"));
	output += strlen("Output:\n");
	memmove(text, output, strlen(output) + 1);
}

/* {"output": text, "metadata": {"exit_code": N}}, as text or as it is; else the text itself. */
static char *import_codex_output_of(const json_t *out, int *code)
{
	struct err none = ERR_INIT;
	json_t *inner = json_is_string(out) && json_string_value(out)[0] == '{'
				? json_parse(json_string_value(out), json_string_length(out),
					     "output", &none)
				: NULL;
	const json_t *o = inner ? inner : out;
	char *text = json_is_object(o) && json_object_get(o, "output")
			     ? import_text(json_object_get(o, "output"))
			     : import_text(out);
	*code = (int)json_int(json_object_get(o, "metadata"), "exit_code", -1);
	if (*code < 0)
		import_codex_take_head(text, code);
	json_decref(inner);
	return text;
}

static json_t *arguments_of(const json_t *p)
{
	struct err none = ERR_INIT;
	const char *text = json_str(p, "arguments", NULL);
	json_t *args = text ? json_parse(text, strlen(text), "arguments", &none) : NULL;
	if (!args && (text || json_object_get(p, "input"))) {
		args = json_object();
		json_put(args, "input", json_string(text ? text : json_str(p, "input", "")));
	}
	return args ? args : json_deep_copy(json_object_get(p, "action"));
}

static bool on_item(struct codex *c, struct import *im, const json_t *p)
{
	const char *type = json_str(p, "type", ""),
		   *id = json_str(p, "call_id", json_str(p, "id", ""));
	if (!strcmp(type, "message")) {
		const char *role = json_str(p, "role", "user");
		CLEANUP(free_ptr) char *text = import_text(json_object_get(p, "content"));
		if (strcmp(role, "assistant") != 0) {
			import_codex_give(c, im);
			import_say(im, strcmp(role, "user") ? "system" : "user", text,
				   !strcmp(role, "user") && text[0] != '<');
			return true;
		}
		if (c->answered)
			import_codex_give(c, im);
		import_codex_begin(c);
		buf_printf(&c->text, "%s%s", c->text.len ? "\n" : "", text);
	} else if (!strcmp(type, "function_call") || !strcmp(type, "custom_tool_call") ||
		   !strcmp(type, "local_shell_call")) {
		if (c->answered)
			import_codex_give(c, im);
		import_codex_begin(c);
		import_codex_add_call(
			c, id,
			json_str(p, "name",
				 !strcmp(type, "local_shell_call") ? "local_shell" : "?"),
			arguments_of(p));
	} else if (!strcmp(type, "function_call_output") ||
		   !strcmp(type, "custom_tool_call_output")) {
		int code;
		char *text = import_codex_output_of(json_object_get(p, "output"), &code);
		add_result(c, id, text, false, code);
	} else {
		return false;
	}
	return true;
}

static void on_tokens(struct codex *c, struct import *im, const json_t *p)
{
	const json_t *info = json_object_get(p, "info"),
		     *u = json_object_get(info, "last_token_usage");
	int64_t total = json_int(json_object_get(info, "total_token_usage"), "total_tokens", -1);
	if (!u || (total >= 0 && total == c->last_total)) /* limits only, or said again */
		return;
	c->last_total = total;
	c->usage.in += import_tokens(u, "input_tokens");
	c->usage.out += import_tokens(u, "output_tokens");
	c->usage.cached += import_tokens(u, "cached_input_tokens");
	if (c->open) {
		import_codex_give(c, im);
	} else {
		import_spent(im, &c->usage);
		c->usage = USAGE_INIT;
	}
}

/* Seconds of an RFC 3339 time, with fractions; -1: it is none. */
static double seconds_of(const char *ts)
{
	struct tm tm = { 0 };
	double s = 0;
	if (!ts || sscanf(ts, "%4d-%2d-%2dT%2d:%2d:%lf", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
			  &tm.tm_hour, &tm.tm_min, &s) < 6)
		return -1;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	return (double)timegm(&tm) + s;
}

/* The start of a rollout, which shows where its own part starts. */
struct copied {
	double began, last; /* times of the first line and of the newest that may be a copy */
	char *id;
	/* forked: it claims to continue another session; other: that session's own head is in it */
	bool forked, other;
	/* lines: the newest that ends an answer; the first of a turn behind that */
	size_t answered, turn;
};

/* A pause of a second, or the first line of a turn behind one, ends what was written at once. */
static bool still_copied(struct copied *k, size_t line, const json_t *j)
{
	const json_t *p = json_object_get(j, "payload");
	const char *type = json_str(j, "type", ""), *what = json_str(p, "type", ""),
		   *id = json_str(p, "id", "");
	double now = seconds_of(json_str(j, "timestamp", NULL));
	if (line == 1) {
		k->began = k->last = now;
		k->id = mem_strdup(id);
		k->forked = *json_str(p, "forked_from_id", "") != 0;
		return !strcmp(type, "session_meta");
	}
	if (now >= k->began && now - k->last >= 1)
		return false;
	k->last = now > k->last ? now : k->last;
	if (!strcmp(type, "session_meta") && strcmp(id, k->id) != 0)
		k->other = true;
	if (!strcmp(what, "token_count") || !strcmp(what, "task_complete") ||
	    !strcmp(what, "turn_aborted")) {
		k->answered = line;
		k->turn = 0;
	} else if (!k->turn && (!strcmp(type, "turn_context") || !strcmp(what, "task_started"))) {
		k->turn = line;
	}
	return true;
}

/* The last line of the copied history at the beginning of @in, which is then where it was; 0: there
 * is none. */
static size_t history_of(FILE *in)
{
	struct copied k = { 0 };
	char *line = NULL;
	size_t cap = 0, nr = 0;
	ssize_t n;
	long at = ftell(in);
	bool copied = true;
	while (copied && (n = getline(&line, &cap, in)) >= 0) {
		struct err none = ERR_INIT;
		CLEANUP(json_release) json_t *j = json_parse(line, (size_t)n, "line", &none);
		nr++;
		copied = (j && still_copied(&k, nr, j)) || (!j && nr > 1);
	}
	if (copied)
		nr++; /* the file ended */
	free(line);
	free(k.id);
	if (at >= 0)
		fseek(in, at, SEEK_SET);
	if (!k.other && !(k.forked && k.answered))
		return 0;
	return k.turn ? k.turn - 1 : nr - 1;
}

static void on_rollout(void *self, struct import *im, size_t line, const json_t *j,
		       const char *text, size_t len)
{
	struct codex *c = self;
	const char *type = json_str(j, "type", "");
	const json_t *p = json_object_get(j, "payload");
	if (!strcmp(type, "session_meta"))
		import_origin(im, json_str(p, "id", ""));
	import_time(im, json_str(j, "timestamp", NULL));
	if (line > 1 && line <= c->history) {
		CLEANUP(free_ptr)
		char *of = mem_printf("history %s %s", type, json_str(p, "type", ""));
		int64_t total =
			json_int(json_object_get(json_object_get(p, "info"), "total_token_usage"),
				 "total_tokens", -1);
		c->last_total = total >= 0 ? total : c->last_total;
		import_keep(im, line, of, text, len);
		return;
	}
	if (!strcmp(type, "turn_context") && json_str(p, "model", NULL)) {
		free(c->model);
		c->model = mem_strdup(json_str(p, "model", ""));
		import_agent(im, "codex", c->model);
	}
	if (!strcmp(type, "response_item")) {
		import_agent(im, "codex", c->model);
		if (on_item(c, im, p))
			return;
	}
	if (!strcmp(type, "event_msg") && !strcmp(json_str(p, "type", ""), "token_count")) {
		on_tokens(c, im, p);
		return;
	}
	CLEANUP(free_ptr)
	char *name = mem_printf("%s %s", *type ? type : "unknown", json_str(p, "type", ""));
	import_keep(im, line, name, text, len);
}

int sniff_codex(const char *head, size_t len)
{
	(void)len;
	return head[0] == '{' && strstr(head, "\"payload\"") &&
			       (strstr(head, "\"session_meta\"") ||
				strstr(head, "\"response_item\""))
		       ? 90
		       : 0;
}

int import_codex(struct import *im, FILE *in, struct err *err)
{
	struct codex c = { .usage = USAGE_INIT, .last_total = -1, .history = history_of(in) };
	int rc = import_lines(im, in, on_rollout, &c, err);
	import_codex_release(&c, im);
	return rc;
}

/* --- exec --json --- */

static bool on_exec_item(struct codex *c, const json_t *item, bool completed)
{
	const char *type = json_str(item, "type", ""), *id = json_str(item, "id", "");
	import_codex_begin(c);
	if (!strcmp(type, "agent_message")) {
		buf_printf(&c->text, "%s%s", c->text.len ? "\n" : "", json_str(item, "text", ""));
	} else if (!strcmp(type, "command_execution")) {
		json_t *args = json_object();
		json_put(args, "command", json_string(json_str(item, "command", "")));
		import_codex_add_call(c, id, "shell", args);
		if (completed)
			add_result(c, id, mem_strdup(json_str(item, "aggregated_output", "")),
				   false, (int)json_int(item, "exit_code", -1));
	} else if (!strcmp(type, "file_change") || !strcmp(type, "mcp_tool_call") ||
		   !strcmp(type, "web_search")) {
		CLEANUP(free_ptr)
		char *name = !strcmp(type, "mcp_tool_call")
				     ? mem_printf("mcp:%s:%s", json_str(item, "server", "?"),
						  json_str(item, "tool", "?"))
				     : mem_strdup(type);
		import_codex_add_call(c, id, name, json_deep_copy(item));
		if (completed)
			add_result(c, id, import_text(json_object_get(item, "result")),
				   !strcmp(json_str(item, "status", ""), "failed"), -1);
	} else {
		return false;
	}
	return true;
}

static void import_codex_end_turn(struct codex *c, struct import *im)
{
	const char *id;
	json_t *item;
	json_object_foreach(c->begun, id, item) on_exec_item(c, item, false);
	json_object_clear(c->begun);
	import_codex_give(c, im);
}

static void on_exec(void *self, struct import *im, size_t line, const json_t *j, const char *text,
		    size_t len)
{
	struct codex *c = self;
	const char *type = json_str(j, "type", "");
	const json_t *u = json_object_get(j, "usage");
	const json_t *item = json_object_get(j, "item");
	if (!strcmp(type, "item.completed")) {
		json_object_del(c->begun, json_str(item, "id", ""));
		if (on_exec_item(c, item, true))
			return;
	}
	if (!strcmp(type, "item.started") && item)
		json_put(c->begun, json_str(item, "id", ""), json_deep_copy(item));
	if (!strcmp(type, "turn.failed")) {
		import_agent(im, "codex", c->model);
		import_stop(im, "error",
			    json_str(json_object_get(j, "error"), "message", "the turn failed"));
		import_codex_end_turn(c, im);
		return;
	}
	if (!strcmp(type, "turn.completed")) {
		import_codex_begin(c);
		c->usage = (struct usage){ .in = import_tokens(u, "input_tokens"),
					   .out = import_tokens(u, "output_tokens"),
					   .cached = import_tokens(u, "cached_input_tokens"),
					   .cost_uusd = -1 };
		import_agent(im, "codex", c->model);
		import_codex_end_turn(c, im);
		return;
	}
	if (!strcmp(type, "item.started") || !strcmp(type, "item.updated") ||
	    !strcmp(type, "turn.started"))
		return; /* item.completed says the same and more */
	import_keep(im, line, *type ? type : "unknown", text, len);
}

int sniff_codex_exec(const char *head, size_t len)
{
	(void)len;
	return head[0] == '{' && (strstr(head, "\"thread.started\"") ||
				  strstr(head, "\"turn.started\""))
		       ? 90
		       : 0;
}

int import_codex_exec(struct import *im, FILE *in, struct err *err)
{
	struct codex c = { .usage = USAGE_INIT, .last_total = -1, .begun = json_object() };
	int rc = import_lines(im, in, on_exec, &c, err);
	import_codex_end_turn(&c, im);
	import_codex_release(&c, im);
	json_decref(c.begun);
	return rc;
}
