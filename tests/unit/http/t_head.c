/* Request heads and chunked bodies: valid and invalid ones, in chunks of any size. */
#include "http/head.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "../tap.h"

#define GOOD "POST /mcp HTTP/1.1\r\nHost: a\r\n"

static void accepted(void)
{
	static const char text[] = "POST /mcp?x=1 HTTP/1.1\r\nHOST:  localhost:80 \r\nContent-Length: 12\r\nX-Empty:\r\nX: a\tb\r\n\r\nrest";
	struct http_ask a;
	const char *why = NULL;
	int status = 0;
	for (size_t n = 0; n < sizeof text - 5; n++)
		if (http_ask_parse(text, n, &a, &status, &why) != 0)
			ok(false, "%zu bytes are taken for a head", n);
	if (!ok(http_ask_parse(text, sizeof text - 1, &a, &status, &why) == 1, "a head: %s", why ? why : ""))
		return;
	is_int(a.len, sizeof text - 5, "its length");
	is_str(a.method, "POST", "method");
	is_str(a.target, "/mcp?x=1", "target");
	is_str(http_ask_field(&a, "host"), "localhost:80", "a value without the blanks round it");
	is_str(http_ask_field(&a, "x-empty"), "", "an empty one");
	is_str(http_ask_field(&a, "x"), "a\tb", "one with a tab");
	ok(!http_ask_field(&a, "y") && a.length == 12 && !a.chunked && a.keep && !a.old && !a.waits, "and the rest");
	http_ask_release(&a);
	static const struct {
		const char *text;
		bool keep, old, waits, chunked;
	} more[] = {
		{ GOOD "\r\n", true, false, false, false },
		{ GOOD "Connection: Close\r\n\r\n", false, false, false, false },
		{ "GET / HTTP/1.0\r\n\r\n", false, true, false, false },
		{ "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true, true, false, false },
		{ GOOD "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n", true, false, true, false },
		{ GOOD "Transfer-Encoding: Chunked\r\n\r\n", true, false, false, true },
	};
	for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
		int rc = http_ask_parse(more[i].text, strlen(more[i].text), &a, &status, &why);
		ok(rc == 1 && a.keep == more[i].keep && a.old == more[i].old && a.waits == more[i].waits && a.chunked == more[i].chunked,
		   "what follows the head, %zu", i);
		if (rc == 1)
			http_ask_release(&a);
	}
}

static void connects(void)
{
	struct http_ask a;
	const char *why = NULL;
	int status = 0;
	static const char text[] = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n";
	if (ok(http_ask_parse(text, sizeof text - 1, &a, &status, &why) == 1, "CONNECT: %s", why ? why : "")) {
		ok(a.connect && a.authority_len == 13 && !memcmp(a.authority, "a.example:443", 13), "its host and port");
		is_str(a.target, "", "and no path");
		http_ask_release(&a);
	}
	static const char *const bad[] = { "/a:1", "http://a:1/", "a", "me@a:1", "a:1/b", "a%2e:1" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		CLEANUP(free_ptr) char *ask = mem_printf("CONNECT %s HTTP/1.1\r\nHost: a\r\n\r\n", bad[i]);
		ok(http_ask_parse(ask, strlen(ask), &a, &status, &why) == -1, "no target of CONNECT: %s", bad[i]);
	}
}

static void refused(void)
{
	static const struct {
		const char *what, *text;
	} bad[] = {
		{ "no Host", "GET / HTTP/1.1\r\n\r\n" },
		{ "two Hosts", GOOD "Host: b\r\n\r\n" },
		{ "bare line feeds", "GET / HTTP/1.1\nHost: a\n\n" },
		{ "a bare line feed in a value", GOOD "X: a\nY: b\r\n\r\n" },
		{ "a bare CR in a value", GOOD "X: a\rY: b\r\n\r\n" },
		{ "a continued line", GOOD "X: a\r\n b\r\n\r\n" },
		{ "a blank before the colon", GOOD "X : a\r\n\r\n" },
		{ "no colon", GOOD "X\r\n\r\n" },
		{ "no name", GOOD ": a\r\n\r\n" },
		{ "a control in a value", GOOD "X: a\001\r\n\r\n" },
		{ "two lengths", GOOD "Content-Length: 1\r\nContent-Length: 1\r\n\r\n" },
		{ "a length and chunks", GOOD "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n" },
		{ "a negative length", GOOD "Content-Length: -1\r\n\r\n" },
		{ "a length with a sign", GOOD "Content-Length: +1\r\n\r\n" },
		{ "a length in two", GOOD "Content-Length: 1, 1\r\n\r\n" },
		{ "a length that overflows", GOOD "Content-Length: 99999999999999999999\r\n\r\n" },
		{ "an empty length", GOOD "Content-Length:\r\n\r\n" },
		{ "another coding", GOOD "Transfer-Encoding: gzip, chunked\r\n\r\n" },
		{ "chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" },
		{ "another version", "GET / HTTP/2.0\r\nHost: a\r\n\r\n" },
		{ "no version", "GET /\r\nHost: a\r\n\r\n" },
		{ "an address without a path", "GET http://a HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ "an address of another scheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ "a target with a blank", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ "a target outside ASCII", "GET /\303\244 HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ "no method", " / HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ "a TLS hello", "\026\003\001\002\r\n\r\n" },
		{ "nothing", "\r\n\r\n" },
	};
	struct http_ask a = { 0 };
	const char *why = NULL;
	int status = 0;
	static const char whole[] = "GET http://api.example.org/v1?x HTTP/1.1\r\nHost: api.example.org\r\n\r\n";
	ok(http_ask_parse(whole, sizeof whole - 1, &a, &status, &why) == 1 && !strcmp(a.target, "/v1?x") && a.authority_len == 15 &&
		   !memcmp(a.authority, "api.example.org", 15), "what a proxy is asked: a host and a path");
	http_ask_release(&a);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int rc = http_ask_parse(bad[i].text, strlen(bad[i].text), &a, &status, &why);
		ok(rc == -1 && status == 400 && (!strcmp(bad[i].what, "bare line feeds") || !a.method), "%s: %s", bad[i].what, rc < 0 ? why : "taken");
		if (rc == 1)
			http_ask_release(&a);
	}
	static const char nul[] = GOOD "X: a\0b\r\n\r\n";
	ok(http_ask_parse(nul, sizeof nul - 1, &a, &status, &why) == -1, "a NUL: %s", why);
	struct buf b = BUF_INIT;
	buf_puts(&b, GOOD);
	while (b.len < HTTP_HEAD_MAX)
		buf_puts(&b, "X: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n");
	ok(http_ask_parse(b.data, b.len, &a, &status, &why) == -1 && status == 431, "a head without an end: %s", why);
	buf_reset(&b);
	buf_puts(&b, GOOD);
	for (int i = 0; i < HTTP_FIELDS_MAX; i++)
		buf_puts(&b, "X: a\r\n");
	buf_puts(&b, "\r\n");
	ok(http_ask_parse(b.data, b.len, &a, &status, &why) == -1, "too many headers: %s", why);
	buf_release(&b);
}

/* Fed in two pieces cut at every byte; "!" when it is refused, else the body and "." at its end. */
static void chunked(const char *what, const char *text, const char *want)
{
	size_t len = strlen(text);
	bool good = true;
	for (size_t cut = 0; cut <= len; cut++) {
		struct http_chunks c = { 0 };
		struct buf out = BUF_INIT;
		ssize_t n = http_chunks_feed(&c, text, cut, 20, &out);
		if (n >= 0)
			n = http_chunks_feed(&c, text + cut, len - cut, 20, &out);
		if (n < 0)
			buf_reset(&out);
		buf_putc(&out, n < 0 ? '!' : c.done ? '.' : '?');
		if (strcmp(out.data, want) != 0) {
			printf("#   cut at %zu: %s\n", cut, out.data);
			good = false;
		}
		buf_release(&out);
	}
	ok(good, "chunks: %s", what);
}

int main(void)
{
	accepted();
	connects();
	refused();
	chunked("two", "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", "abc0123456789.");
	chunked("none", "0\r\n\r\n", ".");
	chunked("trailers", "1\r\na\r\n0\r\nX: y\r\nZ: 1\r\n\r\n", "a.");
	chunked("not at the end", "3\r\nab", "ab?");
	chunked("what follows is not touched", "0\r\n\r\nGET", ".");
	chunked("no number", "x\r\n", "!");
	chunked("no number at all", "\r\n", "!");
	chunked("a number that overflows", "ffffffffffffffffff\r\n", "!");
	chunked("a wrong end of the data", "1\r\nabc", "!");
	chunked("a bare line feed", "1\na\n", "!");
	chunked("too much", "15\r\n012345678901234567890\r\n0\r\n\r\n", "!");
	return done_testing();
}
