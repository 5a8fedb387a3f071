#include "proxy/egress_parse.h"

#include <arpa/inet.h>
#include <string.h>

#include "tap.h"

static void test_names(void)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "example.com", "example.com" },
		{ "EXAMPLE.Com.", "example.com" },
		{ "a-b.c1.de", "a-b.c1.de" },
		{ "localhost", "localhost" },
		{ "xn--bcher-kva.example", "xn--bcher-kva.example" },
		{ "1.example", "1.example" },
		{ "", NULL },
		{ ".", NULL },
		{ "..", NULL },
		{ "a..b", NULL },
		{ ".a", NULL },
		{ "a.b..", NULL },
		{ "127.0.0.1", NULL },
		{ "127.1", NULL },
		{ "2130706433", NULL },
		{ "0x7f000001", NULL },
		{ "0x7f.1", NULL },
		{ "017700000001", NULL },
		{ "[::1]", NULL },
		{ "::1", NULL },
		{ "user@host", NULL },
		{ "ex%61mple.com", NULL },
		{ "under_score.com", NULL },
		{ "-a.com", NULL },
		{ "a-.com", NULL },
		{ "a b", NULL },
		{ "caf\xc3\xa9.com", NULL },
		{ "1e100.4a", NULL },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.com",
		  NULL }, /* 64 */
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char out[EGRESS_HOST_MAX + 1] = "";
		bool good = egress_name(cases[i].in, out);
		ok(good == (cases[i].out != NULL) && (!good || strcmp(out, cases[i].out) == 0),
		   "name '%s'", cases[i].in);
	}
}

static void test_list(void)
{
	static const char *const list[] = { "api.example.com", "*.test.org", "db.local:5432",
					    "Upper.Case." };
	static const struct {
		const char *host;
		uint16_t port;
		bool on;
	} cases[] = {
		{ "api.example.com", 443, true },
		{ "xapi.example.com", 443, false },
		{ "example.com", 443, false },
		{ "a.test.org", 443, true },
		{ "a.b.test.org", 443, true },
		{ "test.org", 443, false },
		{ "atest.org", 443, false },
		{ "db.local", 5432, true },
		{ "db.local", 443, false },
		{ "upper.case", 443, true },
		{ "api.example.com.evil.org", 443, false },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ok(egress_listed(list, ARRAY_LEN(list), cases[i].host, cases[i].port) ==
			   cases[i].on,
		   "list: %s:%u", cases[i].host, cases[i].port);
	static const char *const good[] = { "example.org", "example.org:443", "*.example.org:8443",
					    "a-b.example.org.", "localhost.example.org" };
	static const char *const bad[] = { "localhost",	    "localhost:80",	"a.localhost:80",
					   "127.0.0.1",	    "127.0.0.1:80",	"10.0.0.1:443",
					   "2130706433",    "0x7f.1:80",	"[::1]:80",
					   "::1",	    "fd00::1",		"*",
					   "*:443",	    "api.*.org",	"example.org:0",
					   "example.org:",  "example.org:http", "example.org:65536",
					   "LOCALHOST.:80", "a_b.example.org" };
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ok(!egress_entry_fault(good[i]), "an entry that can match: %s", good[i]);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(egress_entry_fault(bad[i]) != NULL, "an entry that can't match: %s", bad[i]);
	ok(!egress_listed(NULL, 0, "api.example.com", 443), "an empty list allows nothing");
}

static void test_heads(void)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
		{ "CONNECT a.com:443 HTTP/1.1\r\nHost: a.com:443\r\n\r\n", 1 },
		{ "CONNECT a.com:443 HTTP/1.1\r\n\r\n", 1 },
		{ "CONNECT a.com:443 HTTP/1.1\r\nHost: b.com\r\n\r\n", -1 },
		{ "CONNECT a.com HTTP/1.1\r\n\r\n", -1 },
		{ "CONNECT a.com:0 HTTP/1.1\r\n\r\n", -1 },
		{ "CONNECT a.com:65536 HTTP/1.1\r\n\r\n", -1 },
		{ "CONNECT a.com:+1 HTTP/1.1\r\n\r\n", -1 },
		{ "CONNECT a.com:443 HTTP/2\r\n\r\n", -1 },
		{ "CONNECT  a.com:443 HTTP/1.1\r\n\r\n", -1 },
		{ "CONNECT a.com:443 HTTP/1.1\r\nX: y\r\n folded\r\n\r\n", -1 },
		{ "CONNECT a.com:443 HTTP/1.1\r\nX : y\r\n\r\n", -1 },
		{ "CONNECT a.com:443 HTTP/1.1\r\nX: a\rb\r\n\r\n", -1 },
		{ "CONNECT a.com:443 HTTP/1.1\nX: a\r\n\r\n", -1 },
		{ "CONNECT a.com:443 HTTP/1.1\r\nHost: a.com\r\nHost: a.com\r\n\r\n", -1 },
		{ "GET /path HTTP/1.1\r\nHost: a.com\r\n\r\n", -1 },
		{ "GET http://a.com/path?q HTTP/1.1\r\nHost: a.com\r\n\r\n", 1 },
		{ "GET http://a.com HTTP/1.0\r\n\r\n", 1 },
		{ "GET http://a.com:81/ HTTP/1.1\r\nHost: a.com\r\n\r\n", -1 },
		{ "GET http://a.com/ HTTP/1.1\r\nHost: b.com\r\n\r\n", -1 },
		{ "GET http://a.com/#x HTTP/1.1\r\n\r\n", -1 },
		{ "GET https://a.com/ HTTP/1.1\r\n\r\n", -1 },
		{ "POST http://a.com/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 1 },
		{ "POST http://a.com/ HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
		  -1 },
		{ "POST http://a.com/ HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n", -1 },
		{ "POST http://a.com/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n", -1 },
		{ "POST http://a.com/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
		  -1 },
		{ "POST http://a.com/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", -1 },
		{ "POST http://a.com/ HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n", 1 },
		{ "CONNECT a.com:443 HTT", 0 },
		{ "\x05\x01", -1 },	/* SOCKS */
		{ "\x16\x03\x01", -1 }, /* TLS */
		{ "", 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct egress_head h;
		const char *why = "";
		int rc = egress_head_parse(cases[i].text, strlen(cases[i].text), &h, &why);
		ok(rc == cases[i].rc, "head %zu: %.*s%s%s", i,
		   (int)strcspn(cases[i].text, "\r\n\x05\x16"), cases[i].text, rc < 0 ? ": " : "",
		   rc < 0 ? why : "");
		if (rc == 1)
			egress_head_release(&h);
	}

	struct egress_head h;
	const char *why;
	static const char text[] =
		"POST http://A.com:8080/x?y HTTP/1.1\r\nHost: a.com:8080\r\nProxy-Authorization: z\r\n"
		"Connection: keep-alive\r\nAccept:  */* \r\nContent-Length: 3\r\n\r\nabc";
	is_int(egress_head_parse(text, sizeof text - 1, &h, &why), 1, "a whole request");
	is_str(h.host, "A.com", "host");
	is_int(h.port, 8080, "port");
	is_str(h.path, "/x?y", "path");
	is_str(buf_cstr(&h.fields), "Accept: */*\r\nContent-Length: 3\r\n", "the forwarded fields");
	ok(h.length == 3 && h.len == sizeof text - 1 - 3 && !h.connect, "length of head and body");
	egress_head_release(&h);

	static char big[EGRESS_HEAD_MAX + 100];
	memset(big, 'a', sizeof big);
	memcpy(big, "CONNECT a.com:443 HTTP/1.1\r\nX: ", 31);
	is_int(egress_head_parse(big, EGRESS_HEAD_MAX - 1, &h, &why), 0,
	       "a long head may still end");
	is_int(egress_head_parse(big, sizeof big, &h, &why), -1, "a longer one may not");
}

static void test_chunks(void)
{
	static const struct {
		const char *text;
		int used; /* -1 bad */
		bool done;
	} cases[] = {
		{ "5\r\nhello\r\n0\r\n\r\n", 15, true },
		{ "5\r\nhello\r\n0\r\n\r\nGET", 15, true },
		{ "A;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n", 30, true },
		{ "5\r\nhel", 6, false },
		{ "\r\n", -1, false },
		{ "g\r\n", -1, false },
		{ "5\nhello", -1, false },
		{ "5 \r\nhello\r\n", -1, false },
		{ "5\r\nhelloX\r\n", -1, false },
		{ "0x5\r\nhello\r\n", -1, false },
		{ "1234567890123\r\n", -1, false },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct egress_chunks c = { 0 }, d = { 0 };
		ssize_t n = egress_chunks_feed(&c, cases[i].text, strlen(cases[i].text)), m = 0;
		for (const char *p = cases[i].text; *p && m >= 0 && !d.done; p++) {
			ssize_t one = egress_chunks_feed(&d, p, 1);
			m = one < 0 ? -1 : m + one;
		}
		ok(n == cases[i].used && c.done == cases[i].done, "chunks %zu: %zd", i, n);
		ok(m == n && d.done == c.done, "the same byte by byte");
	}
}

/* A ClientHello with one extension: server_name. */
static size_t hello(char *out, const char *name, bool split)
{
	unsigned char b[600];
	size_t n = 0, len = strlen(name);
	b[n++] = 1;
	n += 3; /* length */
	b[n++] = 3;
	b[n++] = 3;
	memset(b + n, 7, 32);
	n += 32;
	b[n++] = 0;
	memcpy(b + n, "\0\2\x13\x01\1\0", 6);
	n += 6;
	size_t ext = len + 9;
	b[n++] = (unsigned char)(ext >> 8);
	b[n++] = (unsigned char)ext;
	b[n++] = 0;
	b[n++] = 0;
	b[n++] = (unsigned char)((len + 5) >> 8);
	b[n++] = (unsigned char)(len + 5);
	b[n++] = (unsigned char)((len + 3) >> 8);
	b[n++] = (unsigned char)(len + 3);
	b[n++] = 0;
	b[n++] = (unsigned char)(len >> 8);
	b[n++] = (unsigned char)len;
	memcpy(b + n, name, len);
	n += len;
	b[1] = 0;
	b[2] = (unsigned char)((n - 4) >> 8);
	b[3] = (unsigned char)(n - 4);
	size_t at = 0, first = split ? 10 : n;
	for (size_t from = 0; from < n; from += first, first = n - from) {
		size_t part = first < n - from ? first : n - from;
		out[at++] = 22;
		out[at++] = 3;
		out[at++] = 1;
		out[at++] = (char)(part >> 8);
		out[at++] = (char)part;
		memcpy(out + at, b + from, part);
		at += part;
		first = part;
	}
	return at;
}

static void test_sni(void)
{
	char bytes[700], name[EGRESS_HOST_MAX + 1] = "";
	size_t n = hello(bytes, "Api.Example.com", false);
	is_int(egress_sni(bytes, n, name), 1, "a hello");
	is_str(name, "api.example.com", "its name");
	size_t early = 0;
	for (size_t i = 0; i < n; i++)
		early += egress_sni(bytes, i, name) != 0;
	is_int(early, 0, "every shorter one wants more");
	n = hello(bytes, "split.example.com", true);
	is_int(egress_sni(bytes, n, name), 1, "a hello in two records");
	is_str(name, "split.example.com", "its name");
	n = hello(bytes, "10.0.0.1", false);
	is_int(egress_sni(bytes, n, name), -1, "an address is not a name");
	is_int(egress_sni("GET / HTTP/1.1", 14, name), -1, "not TLS");
	is_int(egress_sni("\x16\x03\x01\0\0", 5, name), -1, "an empty record");
}

static void test_addresses(void)
{
	static const struct {
		const char *text;
		bool open;
	} cases[] = {
		{ "1.1.1.1", true },
		{ "93.184.216.34", true },
		{ "10.0.0.1", false },
		{ "127.0.0.1", false },
		{ "169.254.169.254", false },
		{ "172.16.0.1", false },
		{ "172.32.0.1", true },
		{ "192.168.1.1", false },
		{ "100.64.0.1", false },
		{ "100.128.0.1", true },
		{ "0.0.0.0", false },
		{ "224.0.0.1", false },
		{ "255.255.255.255", false },
		{ "198.18.0.1", false },
		{ "198.20.0.1", true },
		{ "203.0.113.5", false },
		{ "2606:4700::1111", true },
		{ "::1", false },
		{ "::", false },
		{ "::ffff:1.1.1.1", false },
		{ "fe80::1", false },
		{ "fd00::1", false },
		{ "ff02::1", false },
		{ "64:ff9b::a00:1", false },
		{ "2002:a00:1::", false },
		{ "2001:db8::1", false },
		{ "2001::1", false },
		{ "2001:4860:4860::8888", true },
		{ "fec0::1", false },
		{ "3fff:0fff::1", false },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct in_addr a4;
		struct in6_addr a6;
		bool open = inet_pton(AF_INET, cases[i].text, &a4) == 1
				    ? egress_public4(ntohl(a4.s_addr))
			    : inet_pton(AF_INET6, cases[i].text, &a6) == 1
				    ? egress_public6(a6.s6_addr)
				    : !cases[i].open;
		ok(open == cases[i].open, "%s is %s", cases[i].text,
		   cases[i].open ? "open" : "closed");
	}
}

int main(void)
{
	test_names();
	test_list();
	test_heads();
	test_chunks();
	test_sni();
	test_addresses();
	return done_testing();
}
