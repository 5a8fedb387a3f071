/* Turns parts of a file into events: agents, messages, answers, calls, gaps. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exchange/import.h"
#include "exchange/import_priv.h"
#include "exchange/export.h"
#include "base/hash.h"
#include "base/mem.h"
#include "models/price.h"
#include "record/record.h"

/* --- numbers --- */

int64_t import_tokens(const json_t *usage, const char *key)
{
	int64_t n = json_int(usage, key, 0);
	return n < 0 || n > INT64_C(1000000000000) ? 0 : n;
}

/* --- events --- */

uint64_t import_put(struct import *im, enum event_kind kind, uint64_t cause, uint64_t action,
		    json_t *body)
{
	if (!im->r) {
		json_decref(body);
		return ++im->dry_seq;
	}
	uint64_t seq = record_append_json(im->r, kind, cause,
					  kind == EV_AGENT_START ? 0 : im->agent, 0, action, body);
	if (++im->since_drain >= DRAIN_EVERY) {
		im->since_drain = 0;
		do
			loop_turn(im->l, 0);
		while (record_backlog(im->r) > RECORD_FLOOD / 2 && (usleep(1000), true));
	}
	return seq;
}

void put_any(json_t *o, const char *key, const char *text)
{
	if (text)
		json_put(o, key, json_text(text, strlen(text)));
}

const char *import_path(const struct import *im)
{
	return im->path;
}

void import_also(struct import *im, const char *path)
{
	im->sums->files++;
	strv_push(&im->also, path);
}

void import_origin(struct import *im, const char *id)
{
	if (!im->origin && id && *id)
		im->origin = mem_strdup(id);
}

void import_agent(struct import *im, const char *name, const char *model)
{
	import_subagent(im, name, model, NULL);
}

void import_subagent(struct import *im, const char *name, const char *model, const char *parent)
{
	if (parent && !json_object_get(im->agents, name))
		import_agent(im, parent, NULL);
	json_t *had = json_object_get(im->agents, name);
	if (model && *model) {
		free(im->model);
		im->model = mem_strdup(model);
	}
	if (had) {
		im->agent = (uint64_t)json_integer_value(had);
		return;
	}
	json_t *b = json_object();
	put_any(b, "name", name);
	put_any(b, "model", model ? model : "unknown");
	if (parent)
		json_put_int(b, "parent", json_integer_value(json_object_get(im->agents, parent)));
	json_put_flag(b, "imported", true);
	im->agent = import_put(im, EV_AGENT_START, 1, 0, b);
	json_put_int(im->agents, name, (int64_t)im->agent);
}

/* Of the agent that speaks. */
static json_t *news_of(struct import *im)
{
	char key[24];
	snprintf(key, sizeof(key), "%llu", (unsigned long long)im->agent);
	json_t *list = json_object_get(im->news, key);
	if (!list) {
		list = json_array();
		json_put(im->news, key, list);
	}
	return list;
}

/* Its new messages go into @call. */
static void import_take_news(struct import *im, json_t *call)
{
	char key[24];
	snprintf(key, sizeof(key), "%llu", (unsigned long long)im->agent);
	json_t *list = json_incref(news_of(im));
	int64_t before = json_int(im->named, key, 0);
	json_put_int(call, "before", before);
	json_put_int(im->named, key, before + (int64_t)json_array_size(list));
	json_put(call, "messages", list);
	json_object_del(im->news, key);
}

/* A message that the next request will name. */
static void import_message(struct import *im, const char *role, const char *text, const char *call,
			   const char *name)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT, hex = BUF_INIT;
	struct hash id;
	json_t *m = json_object();
	json_put_str(m, "role", role);
	put_any(m, "call", call);
	put_any(m, "name", name);
	put_any(m, "text", text);
	json_dump_buf(m, &bytes);
	json_decref(m);
	if (im->r)
		record_message(im->r, bytes.data, bytes.len, &id);
	else
		hash_of(bytes.data, bytes.len, &id);
	hex_append(&hex, id.b, HASH_LEN);
	json_array_append_new(news_of(im), json_string(buf_cstr(&hex)));
}

void import_say(struct import *im, const char *role, const char *text, bool people)
{
	if (!im->agent)
		import_agent(im, "agent", NULL);
	import_message(im, role, text, NULL, NULL);
	if (!people)
		return;
	json_t *b = json_object(), *who = json_object();
	im->sums->people++;
	json_put_str(who, "name", "imported");
	put_any(b, "text", text);
	json_put(b, "who", who);
	json_put_flag(b, "imported", true);
	import_put(im, EV_AGENT_SAY, im->agent, 0, b);
}

/* The name of the agent that speaks. */
static const char *import_speaker(struct import *im)
{
	const char *name;
	json_t *seq;
	json_object_foreach(im->agents, name,
			    seq) if ((uint64_t)json_integer_value(seq) == im->agent) return name;
	return NULL;
}

void import_stop(struct import *im, const char *stop, const char *why)
{
	const char *name = import_speaker(im);
	json_t *b = json_object();
	json_put_str(b, "stop", stop);
	put_any(b, "why", why);
	if (name)
		json_put(im->stop, name, b);
	else
		json_decref(b);
}

static json_t *import_usage_json(const struct usage *u)
{
	json_t *o = json_object();
	json_put_int(o, "in", u->in);
	json_put_int(o, "out", u->out);
	json_put_int(o, "cached", u->cached);
	json_put_int(o, "written", u->written);
	if (u->written_1h)
		json_put_int(o, "written_1h", u->written_1h);
	return o;
}

static void import_count(struct import *im, const struct usage *u)
{
	im->sums->tokens_in += u->in;
	im->sums->tokens_out += u->out;
}

void import_put_ended(struct import *im, uint64_t action, const char *end, const char *why,
		      int code)
{
	json_t *b = json_object();
	json_put_str(b, "end", end);
	put_any(b, "why", why);
	if (code >= 0)
		json_put_int(b, "code", code);
	json_put_flag(b, "imported", true);
	import_put(im, EV_ACTION_ENDED, action, action, b);
}

static bool import_listed_price(void *self, const char *name)
{
	return price_listed(name, self);
}

/* What the file says, or else by list price; -1: unknown. */
static int64_t import_cost(const struct usage *u, const char *model)
{
	struct price price;
	if (u->cost_uusd >= 0 || (!u->in && !u->out) || !model ||
	    !price_names(model, import_listed_price, &price))
		return u->cost_uusd;
	json_t *usage = import_usage_json(u);
	int64_t uusd = price_cost(&price, usage);
	json_decref(usage);
	return uusd;
}

static void put_cost(json_t *o, int64_t uusd)
{
	if (uusd < 0)
		json_put_flag(o, "cost_unknown", true);
	else
		json_put_int(o, "cost_uusd", uusd);
}

void import_reply(struct import *im, const char *model, const char *text, const json_t *calls,
		  const struct usage *u, const char *stop)
{
	if (!im->agent)
		import_agent(im, "agent", model);
	if (!model || !*model)
		model = im->model ? im->model : "unknown";
	json_t *turn = json_object(), *want = json_object(), *call = json_object(),
	       *reply = json_object();
	int64_t uusd = import_cost(u, model);
	im->sums->turns++;
	import_count(im, u);
	json_put_int(turn, "n", (int64_t)im->sums->turns);
	uint64_t cause = import_put(im, EV_AGENT_TURN, im->agent, 0, turn);
	json_put_str(want, "kind", "model");
	put_any(want, "tool", model);
	json_put_flag(want, "imported", true);
	uint64_t action = import_put(im, EV_ACTION_REQUESTED, cause, 0, want);
	put_any(call, "model", model);
	import_take_news(im, call);
	import_put(im, EV_MODEL_CALL, action, action, call);
	put_any(reply, "model", model);
	put_any(reply, "text", text);
	json_put(reply, "calls", calls ? json_deep_copy(calls) : json_array());
	put_any(reply, "stop", stop && *stop ? stop : "end");
	json_put(reply, "usage", import_usage_json(u));
	put_cost(reply, uusd);
	json_put_flag(reply, "cost_unknown", uusd < 0);
	json_put_flag(reply, "imported", true);
	import_put(im, EV_MODEL_REPLY, action, action, reply);
	import_message(im, "assistant", text, NULL, NULL);
	json_t *over = json_object();
	json_put_str(over, "end", "ok");
	json_put_int(over, "tokens", u->in + u->out);
	put_cost(over, uusd);
	json_put_flag(over, "imported", true);
	import_put(im, EV_ACTION_ENDED, action, action, over);
	const char *name = import_speaker(im);
	if (name && text && *text)
		put_any(im->said, name, text);
}

void import_spent(struct import *im, const struct usage *u)
{
	json_t *b = json_object(), *used = json_object();
	int64_t uusd = import_cost(u, im->model);
	import_count(im, u);
	json_put_int(used, "tokens", u->in + u->out);
	if (uusd >= 0)
		json_put_int(used, "uusd", uusd);
	json_put(b, "used", used);
	json_put(b, "usage", import_usage_json(u));
	json_put_flag(b, "imported", true);
	import_put(im, EV_BUDGET_SPENT, im->agent, 0, b);
}

/* --- calls --- */

static bool import_is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcasecmp(name, *list))
			return true;
	return false;
}

/* The kind of action for a tool's name in the agents that we know. */
static const char *import_kind_of(const char *name)
{
	static const char *const exec[] = { "bash",
					    "shell",
					    "exec_command",
					    "local_shell",
					    "execute_bash",
					    "container.exec",
					    "exec",
					    "terminal",
					    "shell_command",
					    "unified_exec",
					    NULL };
	static const char *const read[] = {
		"read", "read_file", "view", "cat", "notebookread", NULL
	};
	static const char *const write[] = { "write", "write_file", "create_file", "create", NULL };
	static const char *const edit[] = { "edit",
					    "multiedit",
					    "apply_patch",
					    "str_replace_editor",
					    "str_replace_based_edit_tool",
					    "notebookedit",
					    "edit_file",
					    "file_change",
					    NULL };
	if (!strncmp(name, "mcp__", 5) || !strncmp(name, "mcp:", 4))
		return "mcp";
	return import_is_one_of(name, exec)    ? "exec"
	       : import_is_one_of(name, read)  ? "read"
	       : import_is_one_of(name, write) ? "write"
	       : import_is_one_of(name, edit)  ? "edit"
					       : "host";
}

/* The searchable fields: the command line and the path, whatever their names in the tool. */
static void import_put_what(json_t *b, const json_t *args)
{
	static const char *const cmd[] = { "command", "cmd", "script", NULL }, *const path[] = {
		"file_path", "path", "notebook_path", "filename", NULL
	};
	for (size_t i = 0; cmd[i]; i++) {
		json_t *v = json_object_get(args, cmd[i]);
		if (json_is_string(v) && !json_object_get(b, "cmd"))
			json_put(b, "cmd", json_incref(v));
		else if (json_is_array(v) && json_array_size(v) && !json_object_get(b, "argv"))
			json_put(b, "argv", json_deep_copy(v));
	}
	for (size_t i = 0; path[i]; i++)
		if (json_is_string(json_object_get(args, path[i])) && !json_object_get(b, "path"))
			json_put(b, "path", json_incref(json_object_get(args, path[i])));
}

void import_call(struct import *im, const char *id, const char *name, const json_t *args)
{
	json_t *b = json_object();
	if (!im->agent)
		import_agent(im, "agent", NULL);
	im->sums->calls++;
	json_put_str(b, "kind", import_kind_of(name));
	put_any(b, "tool", name);
	import_put_what(b, args);
	json_put(b, "args", json_is_object(args) ? json_deep_copy(args) : json_object());
	if (args && !json_is_object(args))
		json_put(json_object_get(b, "args"), "value", json_deep_copy(args));
	put_any(b, "call_id", id);
	json_put_flag(b, "imported", true);
	/* the same id twice: the first one never got an answer */
	if (json_object_get(im->open, id))
		import_result(im, id, "", 0, true, -1);
	uint64_t action = import_put(im, EV_ACTION_REQUESTED, im->agent, 0, b);
	json_put_int(im->open, id, (int64_t)action);
}

json_t *import_call_of(const char *id, const char *name, const json_t *args)
{
	json_t *call = json_object();
	json_put(call, "id", json_string(id));
	json_put(call, "name", json_string(name));
	json_put(call, "args", json_is_object(args) ? json_deep_copy(args) : json_object());
	return call;
}

void import_calls(struct import *im, const json_t *calls)
{
	size_t i;
	json_t *call;
	json_array_foreach(calls, i, call)
		import_call(im, json_str(call, "id", ""), json_str(call, "name", "?"),
			    json_object_get(call, "args"));
}

int64_t import_uusd(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	double usd = json_is_number(v) ? json_number_value(v) : -1;
	return usd >= 0 && usd < 1e9 ? (int64_t)(usd * 1e6 + 0.5) : -1;
}

void import_output(struct import *im, const char *id, int stream, const char *bytes, size_t len)
{
	uint64_t action = (uint64_t)json_integer_value(json_object_get(im->open, id));
	if (im->r && action && len)
		record_output(im->r, action, (enum record_stream)stream, bytes, len);
	if (im->r && ++im->since_drain >= DRAIN_EVERY) {
		im->since_drain = 0;
		do
			loop_turn(im->l, 0);
		while (record_backlog(im->r) > RECORD_FLOOD / 2 && (usleep(1000), true));
	}
}

void import_resize(struct import *im, const char *id, int cols, int rows)
{
	uint64_t action = (uint64_t)json_integer_value(json_object_get(im->open, id));
	json_t *b = json_object();
	json_put_int(b, "cols", cols);
	json_put_int(b, "rows", rows);
	import_put(im, EV_PROC_RESIZE, action, action, b);
}

void import_mark(struct import *im, const char *text)
{
	json_t *b = json_object();
	json_put_str(b, "level", "mark");
	put_any(b, "text", text);
	import_put(im, EV_NOTE, im->agent, 0, b);
}

void import_result(struct import *im, const char *id, const char *text, size_t len, bool failed,
		   int code)
{
	uint64_t action = (uint64_t)json_integer_value(json_object_get(im->open, id));
	if (!action) {
		import_gap(im, 0, len, "the result of a call that is not in the file");
		return;
	}
	import_output(im, id, STREAM_OUT, text, len);
	if (im->r)
		record_output_end(im->r, action);
	import_put_ended(im, action, failed && code < 0 ? "failed" : "ok",
			 failed && code < 0 ? "the tool reported a failure" : NULL, code);
	import_message(im, "tool", text, id, NULL);
	json_object_del(im->open, id);
}

/* --- what cannot be said otherwise --- */

void import_gap(struct import *im, size_t line, size_t bytes, const char *why)
{
	json_t *b = json_object();
	if (!im->sums->gaps++)
		im->sums->first_gap = line;
	json_put_int(b, "line", (int64_t)line);
	json_put_int(b, "bytes", (int64_t)bytes);
	put_any(b, "why", why);
	import_put(im, EV_IMPORT_GAP, 1, 0, b);
}

void import_keep(struct import *im, size_t line, const char *type, const char *data, size_t len)
{
	json_t *b = json_object();
	im->sums->kept++;
	json_put_int(b, "line", (int64_t)line);
	put_any(b, "type", type);
	json_put(b, "data", json_text(data, len > KEEP_MAX ? KEEP_MAX : len));
	json_put_int(b, "bytes", (int64_t)len);
	import_put(im, EV_IMPORT_LINE, 1, 0, b);
}
