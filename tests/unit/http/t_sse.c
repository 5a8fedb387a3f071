/* Server-sent events: the standard's rules, each fixture cut at every byte. */
#include "http/sse.h"

#include "../tap.h"

struct seen {
	struct buf text;
};

static void note_event(void *self, const struct sse_event *ev)
{
	struct seen *s = self;
	buf_printf(&s->text, "[%s|%s|", ev->type, ev->id);
	buf_append(&s->text, ev->data, ev->len);
	buf_printf(&s->text, "%s]", ev->last ? "|last" : "");
}

static char *run(const char *in, size_t len, size_t cut)
{
	struct seen s = { 0 };
	struct sse p;
	struct err err = ERR_INIT;
	sse_init(&p, 0, note_event, &s);
	int rc = sse_feed(&p, in, cut, &err);
	if (rc == 0)
		rc = sse_feed(&p, in + cut, len - cut, &err);
	sse_end(&p);
	sse_release(&p);
	return rc == 0 ? buf_take(&s.text) : NULL;
}

static void check(const char *what, const char *in, size_t len, const char *want)
{
	size_t wrong = 0;
	for (size_t cut = 0; cut <= len; cut++) {
		char *got = run(in, len, cut);
		if (!got || strcmp(got, want) != 0) {
			if (!wrong++)
				printf("# cut at %zu: \"%s\"\n", cut, got ? got : "(failed)");
		}
		free(got);
	}
	ok(wrong == 0, "%s, however it is cut", what);
}
#define CHECK(what, in, want) check(what, in, sizeof in - 1, want)

static void limits(void)
{
	struct seen s = { 0 };
	struct sse p;
	struct err err = ERR_INIT;
	sse_init(&p, 100, note_event, &s);
	ok(sse_feed(&p, "data: 1\n\n", 9, &err) == 0, "a small event fits");
	char big[200];
	memset(big, 'x', sizeof big);
	ok(sse_feed(&p, big, sizeof big, &err) < 0 && err.code == ERR_FULL, "a large one does not: %s", err.text);
	ok(sse_feed(&p, "\n\ndata: 2\n\n", 11, &err) < 0, "and nothing comes after it");
	sse_end(&p);
	is_str(buf_cstr(&s.text), "[message||1]", "what came before is kept");
	buf_release(&s.text);
	sse_release(&p);

	sse_init(&p, 0, note_event, &s);
	struct buf line = BUF_INIT;
	buf_puts(&line, "data: ");
	for (size_t i = 0; i < 10 << 20; i++)
		buf_putc(&line, 'y');
	buf_puts(&line, "\n\n");
	ok(sse_feed(&p, line.data, line.len, &err) == 0, "a line of 10 MB");
	is_int(s.text.len, (10 << 20) + 11, "comes whole");
	buf_release(&line);
	buf_release(&s.text);
	sse_release(&p);
}

static void retry(void)
{
	struct seen s = { 0 };
	struct sse p;
	struct err err = ERR_INIT;
	sse_init(&p, 0, note_event, &s);
	ok(sse_feed(&p, "retry: 1500\n\n", 13, &err) == 0 && p.retry_ms == 1500, "retry is kept");
	ok(sse_feed(&p, "retry: 15x\n\n", 12, &err) == 0 && p.retry_ms == 1500, "an invalid number is ignored");
	ok(s.text.len == 0, "and nothing is dispatched for it");
	sse_release(&p);
}

int main(void)
{
	CHECK("plain", "data: a\n\n", "[message||a]");
	CHECK("named", "event: ping\ndata: {}\n\ndata: b\n\n", "[ping||{}][message||b]");
	CHECK("CRLF", "event: x\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", "[x||a\nb][message||c]");
	CHECK("CR", "data: a\r\rdata: b\r\r", "[message||a][message||b]");
	CHECK("mixed ends", "data: a\r\n\ndata: b\n\r\n", "[message||a][message||b]");
	CHECK("BOM", "\xef\xbb\xbf" "data: a\n\n", "[message||a]");
	CHECK("a second BOM is text", "\xef\xbb\xbf\xef\xbb\xbf" "data: a\n\ndata: b\n\n", "[message||b]");
	CHECK("half a BOM is text", "\xef\xbb" "data: a\n\ndata: b\n\n", "[message||b]");
	CHECK("comments", ": keep-alive\n:\ndata: a\n: x\n\n", "[message||a]");
	CHECK("one space goes", "data:  a\n\ndata:a\n\n", "[message|| a][message||a]");
	CHECK("no colon", "data\ndata\n\n", "[message||\n]");
	CHECK("empty data is an event", "id: 7\ndata:\n\n", "[message|7|]");
	CHECK("no data is none", "event: x\n\ndata: a\n\n", "[message||a]");
	CHECK("id stays", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "[message|1|a][message|1|b][message||c]");
	check("id with NUL is ignored", "id: 1\0 2\ndata: a\n\n", 18, "[message||a]");
	CHECK("unknown fields", "foo: bar\nDATA: no\ndata: a\nerror: x\n\n", "[message||a]");
	CHECK("the end without an empty line", "data: a\n\ndata: b", "[message||a][message||b|last]");
	CHECK("the end after a line", "event: z\ndata: b\n", "[z||b|last]");
	CHECK("utf-8", "data: \xe6\x97\xa5\xe6\x9c\xac\n\n", "[message||\xe6\x97\xa5\xe6\x9c\xac]");
	CHECK("nothing", "", "");
	limits();
	retry();
	return done_testing();
}
