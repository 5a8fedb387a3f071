#include "base/text/json_stream.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "tap.h"

static const char text[] = "{\"a\":\"x\x7f\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xe2\x82\xac\xc3\xa4\xe2\"}";
static const char want[] = "{\"a\":\"x\\u007f\\u0080\\u009b\\u009f\xc2\xa0\\u2028\\u2029\xe2\x80\xaa\xe2\x82\xac\xc3\xa4\xe2\"}";

int main(void)
{
	size_t len = strlen(text);
	bool same = true;
	for (size_t a = 0; a <= len; a++)
		for (size_t b = a; b <= len; b++) {
			CLEANUP(buf_release) struct buf out = BUF_INIT;
			struct json_held held = { 0 };
			json_stream_escape(&held, text, a, &out);
			json_stream_escape(&held, text + a, b - a, &out);
			json_stream_escape(&held, text + b, len - b, &out);
			json_stream_rest(&held, &out);
			same = same && !strcmp(buf_cstr(&out), want);
		}
	ok(same, "the same in whatever pieces");
	char *bytes = NULL;
	size_t nr = 0;
	FILE *to = open_memstream(&bytes, &nr), *f = json_stream_new(to);
	fputs(text, f);
	ok(fclose(f) == 0 && fclose(to) == 0 && !strcmp(bytes, want), "a stream of it");
	free(bytes);
	/* each character: parsing gives the written text, and no control character is left */
	CLEANUP(json_release) json_t *all = json_array();
	for (uint32_t cp = 1; cp < 0x3000; cp++) {
		char u[4] = { 0 };
		size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : 3;
		u[0] = (char)(n == 1 ? cp : n == 2 ? 0xc0 | cp >> 6 : 0xe0 | cp >> 12);
		if (n > 1)
			u[n - 1] = (char)(0x80 | (cp & 0x3f));
		if (n > 2)
			u[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		json_array_append_new(all, json_stringn(u, n));
	}
	CLEANUP(buf_release) struct buf plain = BUF_INIT, out = BUF_INIT;
	struct json_held held = { 0 };
	struct err err = ERR_INIT;
	json_dump_buf(all, &plain);
	json_stream_escape(&held, plain.data, plain.len, &out);
	json_stream_rest(&held, &out);
	CLEANUP(json_release) json_t *back = json_parse(out.data, out.len, "test", &err);
	ok(back && json_equal(all, back), "it means the same");
	bool clean = true;
	for (size_t i = 0; i < out.len; i++) {
		unsigned char c = (unsigned char)out.data[i], next = (unsigned char)out.data[i + 1];
		clean = clean && c != 0x7f && c >= 0x20 && !(c == 0xc2 && next < 0xa0);
	}
	ok(clean, "and holds no control");
	static const char three[] = "{\"a,\\\"[{\": [1], \"b\": \"\\\\\"}";
	ok(json_count(three, strlen(three), 9) == 4 && json_count(three, strlen(three), 2) == 3, "values are counted, text is not");
	return done_testing();
}
