/* The model plugins in the real Lua host, against streams byte by byte (tests/models/NAME.txt): every kind of event
 * of a dialect, the same whatever the pieces that they come in, cut anywhere, and the body that goes back in the
 * next turn.
 *
 * Format of a fixture: a line "=== what [argument]" and its content up to the next such line.
 *   stream TITLE   the bytes of the answer (an empty line ends an event)
 *   whole TITLE    a body without a stream
 *   reply          JSON of the reply, or of the error: {"wrong":{..}}
 *   request TITLE  JSON of the request
 *   body           JSON of the body that the plugin makes of it */
#include "http/sse.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "luahost/library.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "wire/frame.h"
#include "wire/host.h"

#include "../tap.h"

/* --- the host ----------------------------------------------------------------------------------------------------- */

static int sock = -1, pid, pidfd = -1;
static uint64_t ticket, call_nr;
static struct err err;

static void stop_on(const char *what)
{
	ok(false, "%s: %s", what, err.text);
	exit(done_testing());
}

static void say(uint16_t type, uint64_t id, json_t *body)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	json_put_int(body, "t", 1700000000000000);
	json_dump_buf(body, &b);
	json_decref(body);
	if (frame_send(sock, type, id, b.data, b.len, NULL, 0, &err) < 0)
		stop_on("send");
}

static void give_module(uint64_t id, const json_t *call)
{
	size_t len;
	const char *name = json_str(json_object_get(call, "args"), "name", ""), *text = library_find(name, &len);
	json_t *body = json_object(), *v = json_object();
	json_put_bytes(v, "text", text ? text : "", text ? len : 0);
	json_put_str(v, "path", name);
	json_put(body, "value", v);
	say(HOST_ANSWER, id, body);
}

/* The next frame of @type; modules are given on the way. */
static json_t *next(uint16_t type)
{
	for (;;) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		struct frame f;
		if (frame_recv(sock, HOST_BODY_MAX, &f, &b, NULL, NULL, &err) < 0)
			stop_on("the host ended");
		json_t *j = json_parse(f.len ? f.body : "{}", f.len ? f.len : 2, "frame", &err);
		if (!j)
			stop_on("a frame");
		if (f.type == type)
			return j;
		if (f.type == HOST_END) {
			char *text = json_dump_str(j);
			err_set(&err, ERR_SCRIPT, "%s", text);
			stop_on("the plugin ended");
		}
		if (f.type == HOST_CALL)
			give_module(f.id, j);
		json_decref(j);
	}
}

static void start(const char *plugin)
{
	int sp[2];
	size_t len;
	CLEANUP(free_ptr) char *path = mem_printf("%s/sandglass-host", getenv("B") ? getenv("B") : "build");
	CLEANUP(free_ptr) char *file = mem_printf("plugins/models/%s.lua", plugin);
	char name[] = "sandglass-host", *argv[] = { name, NULL }, *env[] = { NULL };
	const char *text = library_file(file, &len);
	if (!text || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sp) < 0)
		stop_on(file);
	int fds[HOST_FD + 1] = { -1, -1, -1, sp[1] };
	if (proc_spawn(path, argv, env, fds, ARRAY_LEN(fds), &pid, &pidfd, &err) < 0)
		stop_on(path);
	close(sp[1]);
	sock = sp[0];
	json_t *body = json_object();
	json_put_str(body, "mode", "plugin");
	json_put_str(body, "script", file);
	json_put_bytes(body, "text", text, len);
	json_put(body, "args", json_array());
	json_put_str(body, "seed", "0000000000000001");
	json_put_int(body, "mem_bytes", 256 << 20);
	json_put(body, "env", json_object());
	say(HOST_START, 0, body);
	json_decref(next(HOST_RESULT));
}

static void stop(void)
{
	int status;
	kill(pid, SIGKILL);
	(void)!proc_reap(pidfd, &status, &err);
	fd_close(&pidfd);
	fd_close(&sock);
}

/* Takes @args; the value, owned. */
static json_t *ask(const char *fn, json_t *args)
{
	json_t *body = json_object();
	json_put_str(body, "fn", fn);
	json_put_int(body, "call", (int64_t)call_nr);
	json_put(body, "args", args);
	say(HOST_ASK, ++ticket, body);
	CLEANUP(json_release) json_t *j = next(HOST_VALUE);
	json_t *v = json_object_get(j, "value");
	if (!v) {
		err_set(&err, ERR_SCRIPT, "%s", json_str(json_object_get(j, "err"), "msg", "no value"));
		stop_on(fn);
	}
	return json_incref(v);
}

/* --- one answer --------------------------------------------------------------------------------------------------- */

static void on_event(void *self, const struct sse_event *ev)
{
	json_t *e = json_object();
	json_put_str(e, "type", ev->type);
	json_put_bytes(e, "data", ev->data, ev->len);
	json_array_append_new(self, e);
}

/* Events of @len bytes that come in two pieces. */
static json_t *events_of(const char *bytes, size_t len, size_t split)
{
	struct sse s;
	json_t *list = json_array();
	sse_init(&s, 0, on_event, list);
	if (sse_feed(&s, bytes, split, &err) < 0 || sse_feed(&s, bytes + split, len - split, &err) < 0)
		stop_on("sse");
	sse_end(&s);
	sse_release(&s);
	return list;
}

static void begin(void)
{
	static const char usual[] = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"text\":\"hi\"}],\"tools\":[],\"caps\":{}}";
	call_nr++;
	json_t *args = json_object();
	json_put(args, "req", json_parse(usual, sizeof(usual) - 1, "request", &err));
	json_decref(ask("request", args));
}

/* @events in portions of @portion. */
static json_t *answer_of(const json_t *events, size_t nr, size_t portion, const char *whole)
{
	begin();
	for (size_t i = 0; i < nr; i += portion) {
		json_t *args = json_object(), *some = json_array();
		for (size_t k = i; k < nr && k < i + portion; k++)
			json_array_append(some, json_array_get(events, k));
		json_put(args, "events", some);
		json_decref(ask("events", args));
	}
	json_t *args = json_object();
	if (whole)
		json_put_str(args, "whole", whole);
	return ask("finish", args);
}

/* The reply with its raw blocks as JSON, so that they can be read in a fixture. */
static json_t *readable(const json_t *answer)
{
	json_t *wrong = json_object_get(answer, "wrong");
	if (wrong) {
		json_t *o = json_object();
		json_put(o, "wrong", json_incref(wrong));
		return o;
	}
	json_t *r = json_deep_copy(json_object_get(answer, "reply"));
	const char *raw = json_str(r, "raw", NULL);
	if (raw)
		json_put(r, "raw", json_parse(raw, strlen(raw), "raw", &err));
	return r;
}

static void same(const json_t *got, const json_t *want, const char *what)
{
	if (ok(json_equal(got, want), "%s", what))
		return;
	CLEANUP(free_ptr) char *a = json_dump_str(got);
	CLEANUP(free_ptr) char *b = json_dump_str(want);
	printf("#   got  %s\n#   want %s\n", a, b);
}

/* --- a fixture ---------------------------------------------------------------------------------------------------- */

/* As some servers and relays write: CRLF, comments, names of events left away. */
static void rewritten(const char *in, size_t len, bool crlf, bool comments, bool names, struct buf *out)
{
	for (const char *p = in, *end = in + len; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl ? nl : end) - p);
		if (names || strncmp(p, "event:", 6) != 0) {
			buf_append(out, p, n);
			buf_puts(out, crlf ? "\r\n" : "\n");
			if (comments && n == 0)
				buf_puts(out, crlf ? ": keep-alive\r\n\r\n" : ": keep-alive\n\n");
		}
		p = nl ? nl + 1 : end;
	}
}

static void test_forms(const char *title, const char *bytes, size_t len, const json_t *events, const json_t *answer)
{
	bool all = true;
	for (size_t i = 0; i <= len && all; i++) {
		CLEANUP(json_release) json_t *e = events_of(bytes, len, i);
		all = json_equal(e, events);
	}
	ok(all, "%s: the same events, wherever the bytes are split", title);
	for (int form = 0; form < 3; form++) {
		CLEANUP(buf_release) struct buf other = BUF_INIT;
		rewritten(bytes, len, form == 0, form == 1, form != 2, &other);
		CLEANUP(json_release) json_t *e = events_of(other.data, other.len, other.len / 2);
		CLEANUP(json_release) json_t *a = answer_of(e, json_array_size(e), 3, NULL);
		same(a, answer, form == 0 ? "with CRLF" : form == 1 ? "with comments" : "without names of events");
	}
	CLEANUP(json_release) json_t *one = answer_of(events, json_array_size(events), 1, NULL);
	same(one, answer, "an event at a time");
}

/* Cuts an answer at each byte: the error can be retried, and half an answer never makes a call. */
static void test_cuts(const char *title, const char *bytes, size_t len, const json_t *answer)
{
	size_t halves = 0, tried = 0;
	const json_t *whole = json_object_get(json_object_get(answer, "reply"), "calls");
	size_t before = 0;
	for (size_t cut = 0; cut < len; cut++) {
		CLEANUP(json_release) json_t *e = events_of(bytes, cut, cut / 2);
		if (cut && json_array_size(e) == before && bytes[cut] != '\n')
			continue; /* the same events as a byte before, or one that is not whole yet: looked at at its end */
		before = json_array_size(e);
		CLEANUP(json_release) json_t *a = answer_of(e, before, 64, NULL);
		const json_t *reply = json_object_get(a, "reply");
		tried++;
		if (reply)
			halves += !json_equal(json_object_get(reply, "calls"), whole);
		else if (!json_object_get(answer, "wrong"))
			halves += !json_flag(json_object_get(a, "wrong"), "cut", false);
	}
	is_int(halves, 0, title);
	ok(tried > 1, "%s: cut at %zu places", title, tried);
}

static void test_stream(const char *title, const struct buf *bytes, const json_t *want)
{
	CLEANUP(json_release) json_t *events = events_of(buf_cstr(bytes), bytes->len, 0);
	CLEANUP(json_release) json_t *answer = answer_of(events, json_array_size(events), 1000, NULL);
	CLEANUP(json_release) json_t *seen = readable(answer);
	same(seen, want, title);
	test_forms(title, buf_cstr(bytes), bytes->len, events, answer);
	test_cuts(title, buf_cstr(bytes), bytes->len, answer);
}

static void test_whole(const char *title, const struct buf *text, const json_t *want)
{
	CLEANUP(json_release) json_t *none = json_array();
	CLEANUP(json_release) json_t *answer = answer_of(none, 0, 1, buf_cstr(text));
	CLEANUP(json_release) json_t *seen = readable(answer);
	same(seen, want, title);
}

/* The next turn's request as JSON, and its raw messages byte by byte: they are sent back unchanged. */
static void test_request(const char *plugin, const char *title, const struct buf *text, const json_t *want)
{
	json_t *args = json_object();
	json_t *req = json_parse(text->data, text->len, title, &err);
	if (!req)
		stop_on(title);
	json_put(args, "req", req);
	call_nr++;
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	size_t i;
	json_t *m, *piece;
	CLEANUP(json_release) json_t *keep = json_incref(req);
	CLEANUP(json_release) json_t *made = ask("request", args);
	json_array_foreach(json_object_get(made, "body"), i, piece)
		buf_append(&body, json_string_value(piece), json_string_length(piece));
	CLEANUP(json_release) json_t *got = json_parse(body.data, body.len, "body", &err);
	json_t *all = json_object();
	json_put_str(all, "path", json_str(made, "path", ""));
	json_put(all, "body", got ? json_incref(got) : json_null());
	same(all, want, title);
	json_decref(all);
	json_array_foreach(json_object_get(keep, "messages"), i, m) {
		const char *raw = json_str(m, "raw", NULL);
		size_t len = raw ? strlen(raw) : 0;
		if (raw && !strcmp(json_str(m, "dialect", ""), plugin)) /* the brackets belong to the list around it */
			ok(memmem(body.data, body.len, raw + 1, len - 2) != NULL, "%s: a raw message is sent back byte for byte", title);
	}
}

/* A section has ended: @kind is its head's, @first the section before it. */
static void section(const char *plugin, const char *kind, const struct buf *first, const char *first_kind,
		    const char *first_title, const struct buf *text)
{
	if (strcmp(kind, "reply") != 0 && strcmp(kind, "body") != 0)
		return;
	CLEANUP(json_release) json_t *want = json_parse(text->data, text->len, first_title, &err);
	if (!want)
		stop_on(first_title);
	if (!strcmp(first_kind, "stream"))
		test_stream(first_title, first, want);
	else if (!strcmp(first_kind, "whole"))
		test_whole(first_title, first, want);
	else
		test_request(plugin, first_title, first, want);
}

static void fixture(const char *plugin)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf part = BUF_INIT;
	CLEANUP(buf_release) struct buf first = BUF_INIT;
	CLEANUP(free_ptr) char *path = mem_printf("tests/models/%s.txt", plugin);
	char kind[16] = "", title[100] = "", first_kind[16] = "", first_title[140] = "";
	if (file_read(path, &text, 1 << 20, &err) < 0)
		stop_on(path);
	start(plugin);
	buf_puts(&text, "=== end\n");
	for (const char *p = buf_cstr(&text), *nl; (nl = strchr(p, '\n')); p = nl + 1) {
		if (strncmp(p, "=== ", 4) != 0) {
			buf_append(&part, p, (size_t)(nl + 1 - p));
			continue;
		}
		section(plugin, kind, &first, first_kind, first_title, &part);
		if (*kind && strcmp(kind, "reply") != 0 && strcmp(kind, "body") != 0) {
			buf_reset(&first);
			buf_append(&first, part.data, part.len);
			memcpy(first_kind, kind, sizeof(kind));
			snprintf(first_title, sizeof(first_title), "%s: %s", plugin, title);
		}
		buf_reset(&part);
		title[0] = 0;
		if (sscanf(p, "=== %15s %99[^\n]", kind, title) < 1)
			stop_on(path);
	}
	stop();
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	static const char *const plugins[] = { "anthropic", "openai", "openai_chat", "gemini" };
	for (size_t i = 0; i < ARRAY_LEN(plugins); i++)
		fixture(plugins[i]);
	return done_testing();
}
