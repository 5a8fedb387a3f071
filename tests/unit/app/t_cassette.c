/* The key of a request, and how a cassette keeps and gives answers. */
#include "models/cassette.h"

#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"

#include "../tap.h"

static bool same(const char *a, const char *b)
{
	struct buf x = BUF_INIT, y = BUF_INIT;
	cassette_canonical("/p", a, strlen(a), &x);
	cassette_canonical("/p", b, strlen(b), &y);
	bool eq = strcmp(buf_cstr(&x), buf_cstr(&y)) == 0;
	buf_release(&x);
	buf_release(&y);
	return eq;
}

static void canonical(void)
{
	ok(same("{\"a\":1,\"b\":[2,{\"c\":3,\"d\":4}]}", "{\"b\":[2,{\"d\":4,\"c\":3}],\"a\":1}"), "the order of keys does not count");
	ok(!same("{\"a\":[1,2]}", "{\"a\":[2,1]}"), "that of a list does");
	ok(same("{\"a\":1,\"metadata\":{\"user_id\":\"x\"},\"stream_options\":{}}", "{\"a\":1}"), "metadata is left out");
	ok(same("{\"m\":{\"text\":\"x\",\"cache_control\":{\"type\":\"ephemeral\"}}}", "{\"m\":{\"text\":\"x\"}}"), "marks of caches, too");
	ok(same("{\"t\":\"0d8f5c2e-9a57-4b64-8a14-000000000001\"}", "{\"t\":\"11111111-2222-3333-4444-555555555555\"}"), "UUIDs are alike");
	ok(same("{\"t\":\"at 2026-11-21T08:50:00Z\"}", "{\"t\":\"at 2025-01-01 00:00:00.123+01:00\"}"), "times are alike");
	ok(same("{\"t\":\"2026-11-21\"}", "{\"t\":\"2026-11-22\"}"), "days are alike");
	ok(same("{\"t\":\"/tmp/a.b-c/x\"}", "{\"t\":\"/tmp/q9/x\"}"), "names below /tmp are alike");
	ok(!same("{\"t\":\"/tmp/a/x\"}", "{\"t\":\"/tmp/a/y\"}"), "names in them differ");
	ok(same("{\"id\":\"toolu_01ABCDEF\"}", "{\"id\":\"toolu_99ZZ\"}"), "ids of calls are alike");
	ok(same("{\"t\":\"in 0.31s\"}", "{\"t\":\"in 12.5 s\"}"), "seconds are alike");
	ok(!same("{\"t\":\"exit 1\"}", "{\"t\":\"exit 2\"}"), "other numbers are not");
	ok(!same("{\"t\":\"a\"}", "{\"t\":\"b\"}"), "nor other words");
	ok(same("not json", "not json") && !same("not json", "no json"), "text outside JSON is compared as it is");
}

static json_t *answer(const char *text)
{
	json_t *o = json_object(), *chunks = json_array(), *pair = json_array();
	json_array_append_new(pair, json_integer(5));
	json_array_append_new(pair, json_string(text));
	json_array_append_new(chunks, pair);
	json_put_int(o, "status", 200);
	json_put(o, "chunks", chunks);
	return o;
}

static const char *text_of(const json_t *e)
{
	return e ? json_string_value(json_array_get(json_array_get(json_object_get(e, "chunks"), 0), 1)) : "(none)";
}

static const char *ask(struct cassette *c, const char *body)
{
	struct err err = ERR_INIT;
	return text_of(cassette_find(c, "/p", body, strlen(body), &err));
}

static void files(void)
{
	char dir[] = "/tmp/t_cassette.XXXXXX";
	struct cassette *c;
	struct err err = ERR_INIT;
	if (!mkdtemp(dir))
		exit(1);
	char *path = mem_printf("%s/c.jsonl", dir);
	ok(cassette_open(&c, path, false, &err) < 0 && err.code == ERR_NOENT, "none is there: %s", err.text);
	ok(cassette_open(&c, path, true, &err) == 0 && cassette_adds(c), "one is made");
	is_str(ask(c, "{\"q\":1}"), "(none)", "it is empty");
	ok(cassette_add(c, "/p", "{\"q\":1}", 7, answer("one"), &err) == 0, "an answer");
	ok(cassette_add(c, "/p", "{\"q\":1}", 7, answer("two"), &err) == 0, "another one to the same");
	ok(cassette_add(c, "/p", "{\"q\":2}", 7, answer("three"), &err) == 0, "and to another request");
	cassette_free(&c);
	ok(cassette_open(&c, path, false, &err) == 0, "it opens again: %s", err.text);
	is_str(ask(c, "{\"q\":1}"), "one", "the first time");
	is_str(ask(c, "{\"q\":2}"), "three", "another request between");
	is_str(ask(c, "{\"q\":1}"), "two", "the second time");
	is_str(ask(c, "{\"q\":1}"), "two", "then the last one stays");
	err = (struct err){ .code = ERR_NONE };
	ok(!cassette_find(c, "/p", "{\"q\":3}", 7, &err) && strstr(err.text, "{\"q\":3}"), "a miss: %s", err.text);
	ok(!cassette_find(c, "/other", "{\"q\":1}", 7, &err), "another path is another request");
	cassette_free(&c);
	ok(dir_remove(dir, &err) == 0, "gone");
	free(path);
}

static int opens(const char *path, const char *text, bool add, struct cassette **c, struct err *err)
{
	*c = NULL;
	*err = (struct err){ .code = ERR_NONE };
	if (file_write_atomic(path, text, strlen(text), 0600, err) < 0)
		exit(1);
	return cassette_open(c, path, add, err);
}

#define FIRST "{\"cassette\":1,\"match\":1}\n"
#define LINE "{\"path\":\"/p\",\"request\":{\"q\":1},\"chunks\":[[0,\"one\"]]}\n"

/* Files of other programs, damaged or hostile. */
static void hostile(void)
{
	static const char *const bad[] = {
		"", "\n", "[]\n", "{}\n", "{\"cassette\":2}\n", "{\"cassette\":1", FIRST "{}\n", FIRST "[]\n", FIRST "1\n", FIRST "null\n",
		FIRST "{\"path\":\"/p\"}\n", FIRST "{\"path\":\"/p\",\"request\":{}}\n",
		FIRST "{\"path\":\"/p\",\"request\":{},\"chunks\":7}\n", FIRST "{\"path\":\"/p\",\"request\":{},\"chunks\":[7]}\n",
		FIRST "{\"path\":\"/p\",\"request\":{},\"chunks\":[[\"x\",\"y\"]]}\n", FIRST "{\"cut\n" LINE,
	};
	char dir[] = "/tmp/t_cassette.XXXXXX";
	struct cassette *c;
	struct err err;
	if (!mkdtemp(dir))
		exit(1);
	char *path = mem_printf("%s/c.jsonl", dir);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ok(opens(path, bad[i], false, &c, &err) < 0 && err.code == ERR_PARSE, "refused: %s", err.text);
		cassette_free(&c);
	}
	ok(opens(path, FIRST LINE, false, &c, &err) == 0, "a good one: %s", err.text);
	cassette_free(&c);
	ok(opens(path, FIRST LINE "{\"path\":\"/p\",\"requ", false, &c, &err) == 0, "its writer died in a line: %s", err.text);
	is_str(ask(c, "{\"q\":1}"), "one", "the complete line is there");
	cassette_free(&c);
	ok(opens(path, FIRST LINE "{\"path\":\"/p\",\"requ", true, &c, &err) == 0, "to be added to: %s", err.text);
	ok(cassette_add(c, "/p", "{\"q\":2}", 7, answer("two"), &err) == 0, "added");
	cassette_free(&c);
	ok(cassette_open(&c, path, false, &err) == 0, "complete again: %s", err.text);
	is_str(ask(c, "{\"q\":2}"), "two", "the added answer");
	is_str(ask(c, "{\"q\":1}"), "one", "and the earlier one");
	cassette_free(&c);
	ok(opens(path, "{\"cassette\":1}\n{\"path\":\"/p\",\"request\":{\"q\":1},\"chunks\":[]}", true, &c, &err) == 0,
	   "a last line without its end: %s", err.text);
	ok(cassette_add(c, "/p", "{\"q\":2}", 7, answer("two"), &err) == 0, "added");
	cassette_free(&c);
	ok(cassette_open(&c, path, false, &err) == 0, "and still lines: %s", err.text);
	is_str(ask(c, "{\"q\":2}"), "two", "both are there");
	cassette_free(&c);
	ok(dir_remove(dir, &err) == 0, "gone");
	free(path);
}

int main(void)
{
	hash_init();
	canonical();
	files();
	hostile();
	return done_testing();
}
