/* Frames to a Lua host, recorded and made again: the same bytes, with output that the record holds kept only once. */
#include "luahost/luahost_record.h"

#include "supervisor/core/output_excerpt.h"
#include "record/record_help.h"
#include "wire/host.h"

enum { MAX = 24 };

static struct loop *L;
static struct record *R;
static uint64_t start_seq, ordinal;
static struct {
	const char *what;
	uint16_t type;
	uint64_t id, seq;
	char *text;
} sent[MAX];
static size_t nr_sent;

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void send(const char *what, uint16_t type, uint64_t id, json_t *body)
{
	json_put_int(body, "t", 1700000000000000 + (int64_t)ordinal);
	sent[nr_sent].what = what;
	sent[nr_sent].type = type;
	sent[nr_sent].id = id;
	sent[nr_sent].text = json_dump_str(body);
	luahost_record_frame(R, start_seq, ++ordinal, type, id, body);
	CLEANUP(free_ptr) char *after = json_dump_str(body);
	is_str(after, sent[nr_sent].text, what);
	sent[nr_sent++].seq = record_head(R);
	json_decref(body);
}

/* An action that has written @out and @err; its answer as a call gets it. */
static json_t *answer(const char *out, size_t len, const char *err, size_t err_len, bool pty)
{
	json_t *wanted = json_object(), *res = json_object(), *body = json_object();
	json_put_str(wanted, "kind", "exec");
	uint64_t action = record_append_json(R, EV_ACTION_REQUESTED, start_seq, 0, 0, 0, wanted);
	struct shown o = { 0 }, e = { 0 };
	for (size_t at = 0; at < len; at += 5000) {
		size_t n = len - at < 5000 ? len - at : 5000;
		record_output(R, action, pty ? STREAM_PTY : STREAM_OUT, out + at, n);
		output_excerpt_add(&o, out + at, n);
	}
	record_output(R, action, STREAM_ERR, err, err_len);
	output_excerpt_add(&e, err, err_len);
	record_output_end(R, action);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	output_excerpt_text(&o, &text);
	json_put_int(res, "code", 0);
	json_put_bytes(res, "out", buf_cstr(&text), text.len);
	buf_reset(&text);
	output_excerpt_text(&e, &text);
	json_put_bytes(res, "err", buf_cstr(&text), text.len);
	json_put_int(res, "event", (int64_t)action);
	json_put_int(res, "out_bytes", (int64_t)len);
	json_put_int(res, "err_bytes", (int64_t)err_len);
	if (pty)
		json_put_flag(res, "pty", true);
	json_put(body, "value", res);
	output_excerpt_release(&o);
	output_excerpt_release(&e);
	return body;
}

static char *lines(size_t len)
{
	char *text = mem_alloc(len + 1);
	for (size_t i = 0; i < len; i++)
		text[i] = i % 40 == 39 ? '\n' : (char)('a' + (char)(i * 7 % 26));
	text[len] = 0;
	return text;
}

static void record_all(void)
{
	CLEANUP(free_ptr) char *big = lines(200000);
	char bytes[300], umlauts[40001];
	memset(bytes, 0xff, sizeof(bytes));
	for (size_t i = 0; i + 1 < sizeof(umlauts); i += 2)
		memcpy(umlauts + i, "\xc3\xa4", 2);
	memmove(umlauts + 1, umlauts, sizeof(umlauts) - 1);
	umlauts[0] = 'x'; /* a cut at an even place falls into a letter */
	send("start", HOST_START, 0,
	     json_pack("{s:s,s:s,s:[s],s:s}", "mode", "script", "text", "print(1)\n", "args", "-x", "seed", "0123456789abcdef"));
	send("a short output", HOST_ANSWER, 1, answer("hi\n", 3, "", 0, false));
	send("one long enough to be left out", HOST_ANSWER, 2, answer(big, 500, big, 100, false));
	send("one that is cut in the middle", HOST_ANSWER, 3, answer(big, 200000, "e", 1, false));
	send("one of just two pieces", HOST_ANSWER, 4, answer(big, 2 * HOST_OUTPUT_SHOWN, "", 0, false));
	send("one byte more", HOST_ANSWER, 5, answer(big, 2 * HOST_OUTPUT_SHOWN + 1, "", 0, false));
	send("bytes that are no text", HOST_ANSWER, 6, answer(bytes, sizeof(bytes), "", 0, false));
	send("a letter across the cut", HOST_ANSWER, 7, answer(umlauts, sizeof(umlauts), "", 0, false));
	send("of a terminal", HOST_ANSWER, 8, answer(big, 3000, "", 0, true));
	send("an error", HOST_ANSWER, 9, json_pack("{s:{s:s,s:s}}", "err", "code", "denied", "msg", "no"));
	send("a value that is not an object", HOST_ANSWER, 10, json_pack("{s:i}", "value", 7));
	send("a value that only looks so", HOST_ANSWER, 11, json_pack("{s:{s:s,s:i}}", "value", "out", "text of a script's own", "out_bytes", 22));
	send("output while it runs", HOST_CHUNK, 12, json_pack("{s:s,s:s,s:i}", "stream", "out", "data", "a\nb", "off", 0));
	send("the user's text", HOST_MESSAGE, 0, json_pack("{s:i,s:s,s:{s:s}}", "agent", 3, "text", "gr\xc3\xbc\xc3\x9f dich", "who", "name", "ann"));
	send("a stop", HOST_STOP, 0, json_pack("{s:s}", "why", "enough"));
	send("an event", HOST_EVENT, 0, json_pack("{s:s,s:{}}", "event", "held", "body"));
}

static void check_frame(struct session *s, size_t i, struct arena *a)
{
	struct err err = ERR_INIT;
	struct event ev;
	uint16_t type = 0;
	uint64_t id = 0;
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	bool good = session_event(s, sent[i].seq, &ev, a, &err) == 0 && luahost_rebuild_frame(s, &ev, &type, &id, &body, &err) == 0;
	ok(good && type == sent[i].type && id == sent[i].id, "made again: %s %s", sent[i].what, err.text);
	ok(!strcmp(buf_cstr(&body), sent[i].text), "  the same %zu bytes", strlen(sent[i].text));
	if (i == 2 || i == 3 || i == 4 || i == 8)
		ok(ev.len < 400, "  which take %zu in the file beside the output", ev.len);
}

/* References to output that is not there: nothing is made up, nothing is read outside. */
static void check_refs(struct session *s)
{
	static const char *const refs[] = { "[-1,1]", "[0,0]", "[9223372036854775807,1]", "[1,-5]", "[1,2147483648]", "[\"x\",[]]", "[]" };
	for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
		char *text = mem_printf("{\"type\":\"answer\",\"id\":1,\"body\":{\"value\":{\"out\":{\"$out\":%s}}}}", refs[i]);
		struct event ev = { .seq = 9, .kind = EV_HOST_FRAME, .body = text, .len = (uint32_t)strlen(text) };
		struct err err = ERR_INIT;
		uint16_t type;
		uint64_t id;
		CLEANUP(buf_release) struct buf body = BUF_INIT;
		ok(luahost_rebuild_frame(s, &ev, &type, &id, &body, &err) < 0 || strstr(buf_cstr(&body), "\"out\":\"\""),
		   "output that is not there (%s): %s%s", refs[i], buf_cstr(&body), err.text);
		free(text);
	}
}

static void check_bad(struct session *s)
{
	static const char *const bad[] = { "", "{", "[]", "{\"type\":\"idle\",\"body\":{}}", "{\"type\":7}",
					   "{\"type\":\"answer\"}", "{\"type\":\"answer\",\"body\":[]}",
					   "{\"type\":\"answer\",\"body\":null}", NULL };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct event ev = { .seq = 9, .kind = EV_HOST_FRAME, .body = (char *)(uintptr_t)bad[i], .len = bad[i] ? (uint32_t)strlen(bad[i]) : 0 };
		struct err err = ERR_INIT;
		uint16_t type;
		uint64_t id;
		CLEANUP(buf_release) struct buf body = BUF_INIT;
		ok(luahost_rebuild_frame(s, &ev, &type, &id, &body, &err) < 0 && err.text[0], "an invalid body: %s", err.text);
	}
}

int main(void)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	help_init();
	if (loop_new(&L, &err) < 0 || record_create(&R, L, help_dir(), "frames", NULL, NULL, NULL, &err) < 0) {
		ok(false, "a session: %s", err.text);
		return help_done();
	}
	start_seq = record_append_json(R, EV_HOST_START, 0, 0, 0, 0, json_object());
	record_all();
	bool done = false;
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(R));
	record_barrier(R, record_head(R), set_flag, &done);
	help_wait(L, &done);
	ok(session_open(&s, path, &err) == 0, "read while it is written: %s", err.text);
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	for (size_t i = 0; s && i < nr_sent; i++)
		check_frame(s, i, &a);
	session_close(&s);
	ok(record_close(&R, NULL, &err) == 0 && session_open(&s, path, &err) == 0, "and when it has ended");
	for (size_t i = 0; s && i < nr_sent; i++)
		check_frame(s, i, &a);
	check_bad(s);
	check_refs(s);
	session_close(&s);
	loop_free(L);
	for (size_t i = 0; i < nr_sent; i++)
		free(sent[i].text);
	return help_done();
}
