/* Bodies of events as structs: valid and invalid ones, and that jansson reads the same. */
#include "base/hash.h"
#include "decoded.h"
#include "tap.h"

static struct arena arena;

static struct ev_action_ended ended(const char *body)
{
	struct event ev = { .kind = EV_ACTION_ENDED, .body = body, .len = body ? strlen(body) : 0 };
	struct ev_action_ended e;
	event_decode(&desc_ev_action_ended, &ev, &arena, &e);
	return e;
}

static bool text_is(struct ev_text t, const char *want)
{
	return t.s ? want && t.n == strlen(want) && !memcmp(t.s, want, t.n) : !want;
}

static void fields(void)
{
	struct ev_action_ended e = ended("{\"end\":\"ok\",\"code\":0,\"dur_us\":-12,\"started\":true,\"times\":{\"gate_us\":7},"
					 "\"refused\":[{\"host\":\"a\\u00e9\",\"port\":1},{\"port\":2}],\"args\":{},\"result\":{\"a\": [1]}}");
	is_int(e.decoded.reading, BODY_READ, "a body is read");
	is_int(e.decoded.unknown, 1, "with one unknown field");
	is_int(e.decoded.odd, 0, "and no odd one");
	ok(text_is(e.end, "ok") && text_is(e.why, NULL), "texts are there or absent");
	ok(e.has_code && !e.code && !e.has_bytes && e.dur_us == -12 && e.started, "numbers and flags, too");
	ok(e.times.there && e.times.gate_us == 7 && !e.counts.there, "and objects");
	ok(e.refused.nr == 2 && text_is(e.refused.item[0].host, "a\303\251") && e.refused.item[1].port == 2, "a list of objects");
	ok(text_is(e.result, "{\"a\": [1]}"), "free JSON is kept as it is");
}

static void odd(void)
{
	struct ev_action_ended e = ended("{\"end\":1,\"code\":\"x\",\"dur_us\":1.5,\"times\":[],\"refused\":[{\"port\":1},2],\"why\":\"w\"}");
	is_int(e.decoded.reading, BODY_READ, "fields of other types do not harm the others");
	is_int(e.decoded.odd, 5, "they are counted");
	ok(!e.end.s && !e.has_code && !e.dur_us && !e.times.there && text_is(e.why, "w"), "they are as if absent");
	ok(e.refused.nr == 2 && e.refused.item[0].there && !e.refused.item[1].there, "a list keeps its length");
	e = ended("{\"refused\":{}}");
	ok(!e.decoded.odd && !e.refused.nr, "Lua's empty table is an empty list");
}

static void not_read(void)
{
	static const struct {
		const char *body;
		enum ev_reading reading;
	} cases[] = {
		{ NULL, BODY_REDACTED },
		{ "", BODY_MALFORMED },
		{ "[]", BODY_MALFORMED },
		{ "{\"end\":\"ok\"", BODY_MALFORMED },
		{ "{\"end\":\"ok\"}x", BODY_MALFORMED },
		{ "{\"end\":\"ok\",\"end\":\"failed\"}", BODY_DUPLICATE },
		{ "{\"end\":\"ok\",\"\\u0065nd\":\"failed\"}", BODY_DUPLICATE },
		{ "{\"end\":\"ok\",\"dur_us\":99999999999999999999}", BODY_MALFORMED },
		{ "{\"end\":\"ok\",\"why\":\"\377\"}", BODY_MALFORMED },
		{ "{\"end\":\"ok\",\"why\":\"\\ud800\"}", BODY_MALFORMED },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ev_action_ended e = ended(cases[i].body);
		is_int(e.decoded.reading, cases[i].reading, cases[i].body ? cases[i].body : "NULL");
		ok(!e.end.s && !e.dur_us, "leaves the struct empty");
	}
}

static void as_jansson(void)
{
	static const char *const bodies[] = {
		"{}", " { } ", "{,}", "{\"a\":}", "{\"a\" 1}", "{\"end\":\"\\ud83d\\ude00\\n\\/\"}", "{\"end\":\"\\q\"}", "{\"end\":\"a\tb\"}",
		"{\"why\":{\"b64\":\"/w==\"}}", "{\"why\":{\"b64\":\"!\"}}", "{\"why\":{\"b64\":\"/w==\",\"a\":1}}", "{\"dur_us\":-0}",
		"{\"dur_us\":01}", "{\"dur_us\":-9223372036854775808}", "{\"dur_us\":9223372036854775807}", "{\"dur_us\":9223372036854775808}",
		"{\"dur_us\":1e400}", "{\"dur_us\":1e5}", "{\"dur_us\":-}", "{\"started\":truex}", "{\"started\":null}", "{\"result\":nul}",
		"{\"result\":[1,2,]}", "{\"result\":{\"a\\u0000\":1}}", "{\"result\":\"\\u0000\"}", "{\"why\":\"\\u0000\"}", "{\"why\":\"\355\240\200\"}",
		"{\"why\":\"\364\220\200\200\"}", "{\"why\":\"\300\200\"}", "{\"times\":{\"gate_us\":1,\"gate_us\":2}}",
		"{\"batch\":[{\"out\":[0,5],\"code\":0},{\"out\":[5,\"x\"]}]}", "{\"paths\":{\"merged\":[\"a\"]}}",
	};
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		const char *why = decoded_differs(EV_ACTION_ENDED, bodies[i], strlen(bodies[i]));
		ok(!why, "jansson agrees: %s%s%s", bodies[i], why ? ": " : "", why ? why : "");
	}
}

static void deep(void)
{
	for (int levels = 2046; levels < 2050; levels++) {
		struct buf b = BUF_INIT;
		buf_puts(&b, "{\"result\":");
		for (int i = 0; i < levels; i++)
			buf_putc(&b, '[');
		for (int i = 0; i < levels; i++)
			buf_putc(&b, ']');
		buf_putc(&b, '}');
		ok(!decoded_differs(EV_ACTION_ENDED, b.data, b.len), "jansson agrees: %d lists deep", levels);
		buf_release(&b);
	}
}

int main(void)
{
	hash_init();
	fields();
	odd();
	not_read();
	as_jansson();
	deep();
	arena_release(&arena);
	return done_testing();
}
