/* Addresses: one spelling per place, and the refusals. */
#include "http/url.h"

#include "base/buf.h"

#include "../tap.h"

static const struct {
	const char *base, *text, *want, *host;
	int port;
} good[] = {
	{ NULL, "http://example.org", "http://example.org/", "example.org", 80 },
	{ NULL, "HTTPS://EXAMPLE.org:443/a/../b?q=1#part", "https://example.org/b?q=1", "example.org", 443 },
	{ NULL, "https://example.org:8443/", "https://example.org:8443/", "example.org", 8443 },
	{ NULL, "https://example.org./x", "https://example.org/x", "example.org", 443 },
	{ NULL, "http://0x7f.1/", "http://127.0.0.1/", "127.0.0.1", 80 },
	{ NULL, "http://0x7F.1./", "http://127.0.0.1/", "127.0.0.1", 80 },
	{ NULL, "http://evil.example../x", "http://evil.example/x", "evil.example", 80 },
	{ NULL, "http://[2001:DB8::0:1]/", "http://[2001:db8::1]/", "2001:db8::1", 80 },
	{ NULL, "http://2130706433/", "http://127.0.0.1/", "127.0.0.1", 80 },
	{ NULL, "http://0177.0.0.1/", "http://127.0.0.1/", "127.0.0.1", 80 },
	{ NULL, "http://[::1]:8080/x", "http://[::1]:8080/x", "::1", 8080 },
	{ "https://a.example/x/y?z", "../w", "https://a.example/w", "a.example", 443 },
	{ "https://a.example/x/y?z", "//b.example/", "https://b.example/", "b.example", 443 },
	{ "https://a.example/x/y?z", "?k=v", "https://a.example/x/y?k=v", "a.example", 443 },
	{ "https://a.example/x", "http://c.example", "http://c.example/", "c.example", 80 },
};

static const struct {
	const char *base, *text, *says;
} bad[] = {
	{ NULL, "", "not an http or https" },
	{ NULL, "example.org", "not an http or https" },
	{ NULL, "ftp://example.org/", "not an http or https" },
	{ NULL, "file:///etc/passwd", "not an http or https" },
	{ NULL, "http://", "" },
	{ NULL, "http://../", "" },
	{ NULL, "http://me:pw@example.org/", "user or password" },
	{ NULL, "http://good.example@evil.example/", "user or password" },
	{ NULL, "http://exa mple.org/", "blanks" },
	{ NULL, "http://example.org/\r\nHost: x", "blanks" },
	{ NULL, "http://good.example\\@evil.example/", "backslashes" },
	{ NULL, "http://example.org:99999/", "" },
	{ NULL, "http://[fe80::1%25eth0]/", "" },
	{ "https://a.example/", "javascript:alert(1)", "" },
	{ "https://a.example/", "file:///etc/passwd", "only http" },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct url base = { 0 }, u = { 0 };
		struct err err = ERR_INIT;
		int rc = good[i].base ? url_parse(&base, NULL, good[i].base, &err) : 0;
		rc = rc ? rc : url_parse(&u, good[i].base ? &base : NULL, good[i].text, &err);
		is_str(rc ? err.text : u.text, good[i].want, good[i].text);
		is_str(rc ? "" : u.host, good[i].host, good[i].want);
		is_int(u.port, good[i].port, good[i].host);
		url_release(&u);
		url_release(&base);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct url base = { 0 }, u = { 0 };
		struct err err = ERR_INIT;
		if (bad[i].base)
			ok(url_parse(&base, NULL, bad[i].base, &err) == 0, "%s", bad[i].base);
		ok(url_parse(&u, bad[i].base ? &base : NULL, bad[i].text, &err) < 0 && strstr(err.text, bad[i].says),
		   "refused: %s", err.text);
		url_release(&u);
		url_release(&base);
	}
	char big[URL_MAX + 40] = "http://example.org/";
	memset(big + 19, 'a', URL_MAX);
	struct url u = { 0 };
	struct err err = ERR_INIT;
	ok(url_parse(&u, NULL, big, &err) < 0 && strstr(err.text, "longer"), "one that is too long");
	struct buf b = BUF_INIT;
	url_escape("a b&c=ü/~", 10, &b);
	is_str(buf_cstr(&b), "a%20b%26c%3D%C3%BC%2F~", "a value of a query");
	buf_release(&b);
	return done_testing();
}
