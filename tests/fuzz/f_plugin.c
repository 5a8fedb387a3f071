/* Answers of a provider, as the shipped Lua plugins read them: models (request, events, finish), and hosted
 * sandboxes (an op over HTTP, streams, and WebSockets: the channels of a pod's exec, envelopes, events). For any
 * answer the host lives, each request has its answer in order, a reply has the types that the program reads, and an
 * error is one line. First byte: the plugin and the op; the rest: pieces between bytes 0x1e, in the order of the
 * requests. A piece "404 ..." has that status. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "luahost/library.h"
#include "base/json.h"
#include "base/mem.h"
#include "script/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIECE_END = 0x1e, OPS_MAX = 40, LIVES = 20000 /* calls; then a new host, so that what one keeps does not count */ };

static const char *const plugins[] = { "sandboxes/kubernetes", "sandboxes/daytona", "sandboxes/e2b", "sandboxes/mcp", "sandboxes/modal",
				       "sandboxes/runloop", "models/anthropic", "models/gemini", "models/openai", "models/openai_chat" };
enum { SANDBOXES = 6, PLUGINS = ARRAY_LEN(plugins) };

static const struct {
	const char *fn, *args;
} ops[] = {
	{ "exec", "[{\"id\":\"b\",\"namespace\":\"n\",\"token\":\"t\",\"domain\":\"d.example\",\"toolbox\":\"https://t\",\"piece\":40000},\"true\"]" },
	{ "open", "[{\"name\":\"n\",\"tag\":\"t\",\"tags\":{\"k\":\"v\"},\"env\":{},\"secrets\":{},\"hosts\":[],\"ttl\":60,\"options\":{},"
		  "\"limits\":{\"cpu_milli\":0,\"mem_bytes\":0,\"disk_bytes\":0,\"pids\":0}}]" },
	{ "list", "[{\"k\":\"v\"}]" },
	{ "write", "[{\"id\":\"b\",\"namespace\":\"n\",\"token\":\"t\"},\"/workspace/f\",\"bytes\"]" },
	{ "wake", "[{\"id\":\"b\",\"namespace\":\"n\",\"token\":\"t\"}]" },
	{ "close", "[{\"id\":\"b\",\"namespace\":\"n\",\"token\":\"t\"}]" },
	{ "address", "[{\"id\":\"b\",\"namespace\":\"n\",\"token\":\"t\"},80]" },
};

static struct {
	struct host *host;
	uint64_t ticket, calls;
} lives[PLUGINS];

struct pieces {
	const char *at, *end;
};

static NORETURN void exhausted(void *self, const struct buf *out)
{
	(void)self, (void)out;
	abort();
}

static bool next_piece(struct pieces *p, const char **out, size_t *len)
{
	if (!p->at)
		return false;
	const char *stop = memchr(p->at, PIECE_END, (size_t)(p->end - p->at));
	*out = p->at;
	*len = (size_t)((stop ? stop : p->end) - p->at);
	p->at = stop ? stop + 1 : NULL;
	return true;
}

/* --- the host --- */

static json_t *turn(struct host *h, uint16_t type, uint64_t id, json_t *body);

static void give_module(struct host *h, const struct frame *f, json_t **said)
{
	struct err err = ERR_INIT;
	size_t len;
	CLEANUP(json_release) json_t *call = json_parse(f->body, f->len, "call", &err);
	const char *name = json_str(json_object_get(call, "args"), "name", ""), *text = library_find(name, &len);
	if (strcmp(json_str(call, "op", ""), "module") != 0 || !text)
		abort();
	json_t *body = json_object(), *v = json_object();
	json_put_bytes(v, "text", text, len);
	json_put_str(v, "path", name);
	json_put(body, "value", v);
	json_t *more = turn(h, HOST_ANSWER, f->id, body);
	if (more)
		*said = more;
}

/* Takes @body; what the turn has said as VALUE or RESULT, owned. */
static json_t *turn(struct host *h, uint16_t type, uint64_t id, json_t *body)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT, out = BUF_INIT;
	struct err err = ERR_INIT;
	json_t *said = NULL;
	json_put_int(body, "t", 1700000000000000);
	json_dump_buf(body, &in);
	json_decref(body);
	struct frame f = { .type = type, .id = id, .body = in.data, .len = in.len };
	if (!host_feed(h, &f, &out))
		abort();
	for (size_t at = 0, used = 0; frame_parse(out.data + at, out.len - at, HOST_BODY_MAX, &f, &used, &err) == 1; at += used) {
		if (f.type == HOST_CALL) {
			give_module(h, &f, &said);
		} else if (f.type == HOST_VALUE || f.type == HOST_RESULT) {
			json_decref(said);
			said = json_parse(f.body, f.len, "value", &err);
		}
	}
	return said;
}

static struct host *host_of(size_t i)
{
	if (lives[i].calls++ % LIVES == 0) {
		size_t len;
		CLEANUP(free_ptr) char *file = mem_printf("plugins/%s.lua", plugins[i]);
		const char *text = library_file(file, &len);
		script_host_free(&lives[i].host);
		lives[i].host = script_host_new(exhausted, NULL);
		json_t *body = json_object();
		json_put_str(body, "mode", "plugin");
		json_put_str(body, "script", file);
		json_put_bytes(body, "text", text ? text : "", text ? len : 0);
		json_put(body, "args", json_array());
		json_put_str(body, "seed", "0000000000000001");
		json_put_int(body, "mem_bytes", 256 << 20);
		json_put(body, "env", json_object());
		json_t *face = turn(lives[i].host, HOST_START, 0, body);
		if (!face)
			abort();
		json_decref(face);
	}
	return lives[i].host;
}

static void one_line(const json_t *v)
{
	const char *s = json_string_value(v);
	if (!s || !*s || strchr(s, '\n') || !strncmp(s, "plugins/", 8)) /* a place in Lua alone does not explain an error */
		abort();
}

/* Takes @args. The value, owned; NULL when it said what is wrong. */
static json_t *ask(size_t i, const char *fn, json_t *args)
{
	json_t *body = json_object();
	json_put_str(body, "fn", fn);
	json_put_int(body, "call", (int64_t)lives[i].calls);
	json_put(body, "args", args);
	CLEANUP(json_release) json_t *said = turn(lives[i].host, HOST_ASK, ++lives[i].ticket, body);
	json_t *v = json_object_get(said, "value"), *e = json_object_get(said, "err");
	if (!v && !e)
		abort();
	if (e)
		one_line(json_object_get(e, "msg"));
	return json_incref(v);
}

/* --- models --- */

static bool text_or_none(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	return !v || json_is_string(v) || json_is_object(v); /* an object: bytes that JSON cannot hold */
}

static void check_reply(const json_t *v)
{
	const json_t *reply = json_object_get(v, "reply"), *calls = json_object_get(reply, "calls");
	if (!reply) {
		one_line(json_object_get(json_object_get(v, "wrong"), "msg"));
		return;
	}
	if (!text_or_none(reply, "text") || !text_or_none(reply, "stop") || !text_or_none(reply, "raw"))
		abort();
	for (size_t i = 0; i < json_array_size(calls); i++)
		if (!json_is_string(json_object_get(json_array_get(calls, i), "id")) || !json_is_string(json_object_get(json_array_get(calls, i), "name")))
			abort();
}

static void model(size_t i, struct pieces *p)
{
	static const char usual[] = "{\"req\":{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"text\":\"hi\"}],\"tools\":[],\"caps\":{}}}";
	struct err err = ERR_INIT;
	const char *piece;
	size_t len;
	json_decref(ask(i, "request", json_parse(usual, sizeof(usual) - 1, "request", &err)));
	json_t *args = json_object();
	while (next_piece(p, &piece, &len)) {
		if (len && *piece == 'W') { /* a body without a stream */
			json_put_bytes(args, "whole", piece + 1, len - 1);
			continue;
		}
		json_t *list = json_array(), *ev = json_object(), *some = json_object();
		json_put_str(ev, "type", "message");
		json_put_bytes(ev, "data", piece, len);
		json_array_append_new(list, ev);
		json_put(some, "events", list);
		CLEANUP(json_release) json_t *seen = ask(i, "events", some);
		if (!text_or_none(seen, "text") || !text_or_none(seen, "thinking"))
			abort();
	}
	CLEANUP(json_release) json_t *end = ask(i, "finish", args);
	if (end)
		check_reply(end);
	else
		json_decref(ask(i, "drop", json_object()));
}

/* --- rented boxes --- */

static void put_answer(json_t *ev, const char *piece, size_t len)
{
	bool status = len >= 4 && piece[0] >= '1' && piece[0] <= '5' && isdigit((unsigned char)piece[1]) && isdigit((unsigned char)piece[2]) && piece[3] == ' ';
	json_put_int(ev, "status", status ? (piece[0] - '0') * 100 + (piece[1] - '0') * 10 + piece[2] - '0' : 200);
	json_put(ev, "headers", json_object());
	json_put_bytes(ev, "body", status ? piece + 4 : piece, status ? len - 4 : len);
	json_put_flag(ev, "over", true);
}

static json_t *event_of(int64_t id, json_t *events)
{
	json_t *ev = json_object();
	json_put_int(ev, "id", id);
	json_array_append_new(events, ev);
	return ev;
}

/* A stream's or a socket's: all that is left, then its end. */
static void all_pieces(int64_t id, const char *key, struct pieces *p, json_t *events)
{
	const char *piece;
	size_t len;
	for (unsigned n = 0; n < OPS_MAX && next_piece(p, &piece, &len); n++)
		json_put_bytes(event_of(id, events), key, piece, len);
	json_put_flag(event_of(id, events), "over", true);
}

static void do_one(const json_t *todo, struct pieces *p, json_t *events)
{
	const char *what = json_str(todo, "do", ""), *piece;
	int64_t id = json_int(todo, "id", 0);
	size_t len;
	if (!strcmp(what, "sleep")) {
		json_put_flag(event_of(id, events), "over", true);
	} else if (!strcmp(what, "socket")) {
		json_put_str(event_of(id, events), "open", "v5.channel.k8s.io");
		all_pieces(id, "message", p, events);
	} else if (!strcmp(what, "http") && json_flag(todo, "stream", false)) {
		json_put_int(event_of(id, events), "status", 200);
		all_pieces(id, "chunk", p, events);
	} else if (!strcmp(what, "http")) {
		json_t *ev = event_of(id, events);
		if (next_piece(p, &piece, &len)) {
			put_answer(ev, piece, len);
		} else {
			json_put_flag(ev, "over", true);
			json_put_str(ev, "wrong", "the connection broke off");
		}
	}
}

static void sandbox(size_t i, size_t op, struct pieces *p)
{
	struct err err = ERR_INIT;
	json_t *args = json_object();
	json_put_str(args, "fn", ops[op].fn);
	json_put(args, "args", json_parse(ops[op].args, strlen(ops[op].args), "args", &err));
	json_put(args, "options", json_object());
	json_put(args, "urls", json_object());
	json_t *v = ask(i, "begin", args);
	for (unsigned n = 0; v && !json_flag(v, "over", false) && n < OPS_MAX; n++) {
		json_t *events = json_array(), *todo = json_object_get(v, "todo");
		for (size_t k = 0; k < json_array_size(todo); k++)
			do_one(json_array_get(todo, k), p, events);
		args = json_object();
		json_put(args, "events", events);
		json_decref(v);
		v = ask(i, "resume", args);
	}
	const json_t *wrong = json_object_get(v, "wrong");
	if (!v || (wrong && !json_is_string(json_object_get(wrong, "code"))))
		abort();
	if (wrong)
		one_line(json_object_get(wrong, "msg"));
	if (!json_flag(v, "over", false))
		json_decref(ask(i, "drop", json_object()));
	json_decref(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 1 << 14)
		return 0;
	size_t which = data[0] % (SANDBOXES * ARRAY_LEN(ops) + PLUGINS - SANDBOXES);
	struct pieces p = { .at = (const char *)data + 1, .end = (const char *)data + size };
	size_t boxes = SANDBOXES * ARRAY_LEN(ops);
	size_t i = which < boxes ? which % SANDBOXES : SANDBOXES + which - boxes;
	host_of(i);
	if (which < boxes)
		sandbox(i, which / SANDBOXES, &p);
	else
		model(i, &p);
	return 0;
}
