/* A text search in a session: the index finds the same events as reading everything. The session has each letter
 * with upper and lower case, and bytes that are not text. */
#include <string.h>

#include "base/text/utf8.h"
#include "base/text/width.h"
#include "session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EVENTS_MAX = 400, PER_EVENT = 16 };

static void note(struct record *r, const char *bytes, size_t len)
{
	json_t *b = json_object();
	json_put_bytes(b, "text", bytes, len);
	record_append_json(r, EV_NOTE, 0, 1, 0, 0, b);
}

/* "xAyBy...": each letter between others that it is found with. */
static void all_letters(struct record *r)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	char utf8[4];
	unsigned nr = 0;
	for (uint32_t cp = 0x80; cp < 0x1f000; cp++) {
		if ((cp >= 0xd800 && cp < 0xe000) || text_lower(cp) == cp)
			continue;
		buf_puts(&text, "xz");
		buf_append(&text, utf8, utf8_put(cp, utf8));
		buf_puts(&text, "yw ");
		if (++nr % PER_EVENT == 0) {
			note(r, text.data, text.len);
			buf_reset(&text);
		}
	}
	note(r, buf_cstr(&text), text.len);
}

static void fill(struct record *r)
{
	static const char *const texts[] = { "The quick BROWN fox", "\"a phrase\" and 'another' * (one) AND OR NOT NEAR", "テストが失敗しています。test",
					     "\xc3\x9c" "ber \xc3\xbc" "ber \xce\xa3\xcf\x83\xcf\x82", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
					     "line one\nline two\ttabbed\x1b[31mred\x1b[0m" };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		note(r, texts[i], strlen(texts[i]));
	note(r, "broken \xff\xfe bytes \xe3\x83 here", 24);
	all_letters(r);
}

static void compare(struct session *s, const char *match)
{
	struct err err = ERR_INIT;
	uint64_t found[EVENTS_MAX], head = session_head(s);
	size_t nr = 0, at = 0;
	if (head > EVENTS_MAX || session_indexed(s) < head || session_search(s, match, 0, EVENTS_MAX, found, &nr, &err) < 0)
		abort();
	struct look *l = look_new(s, match);
	for (uint64_t seq = 1; seq <= head; seq++)
		if (look_holds(l, seq) && (at >= nr || found[at++] != seq)) {
			fprintf(stderr, "'%s': event %llu is not found with the index\n", match, (unsigned long long)seq);
			abort();
		}
	look_free(&l);
	if (at != nr)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct session *s;
	if (size > 512)
		return 0;
	if (!s)
		s = fuzz_session(fill);
	CLEANUP(free_ptr) char *match = mem_strndup((const char *)data, size);
	compare(s, match);
	return 0;
}
