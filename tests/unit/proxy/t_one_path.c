#include "proxy/one_path.h"

#include <string.h>

#include "tap.h"

static void test_paths(void)
{
	static const struct {
		const char *in, *out; /* NULL: refused */
	} cases[] = {
		{ "/", "/" },
		{ "/a/b", "/a/b" },
		{ "/a/b/", "/a/b/" },
		{ "/a/../b", "/b" },
		{ "/a/%2e%2E/b", "/b" },
		{ "/a/.%2e/b/.", "/b/" },
		{ "/../../etc", "/etc" },
		{ "/a/b/..", "/a/" },
		{ "//a///b", "/a/b" },
		{ "/%61dmin", "/admin" },
		{ "/a%20b%c3%a4", "/a%20b%C3%A4" },
		{ "/100%25", "/100%25" },
		{ "/...", "/..." },
		{ "/a:b@c+d,e", "/a:b@c+d,e" },
		{ "/@types%2fnode", "/@types/node" },
		{ "/@types%2fnode/-/n.tgz", "/@types/node/-/n.tgz" },
		{ "/@a%2f..%2fb", NULL },
		{ "/@%2fb", NULL },
		{ "/a%2fb", NULL },
		{ "/a%2Fb", NULL },
		{ "/a%5cb", NULL },
		{ "/a\\b", NULL },
		{ "/a%252fb", NULL },
		{ "/a%00", NULL },
		{ "/a%0d%0ab", NULL },
		{ "/a\x7f", NULL },
		{ "/%zz", NULL },
		{ "/%4", NULL },
		{ "/%u002f", NULL },
		{ "/a/..;/b", NULL },
		{ "/a/.;x/b", NULL },
		{ "/a/..%3b/b", NULL },
		{ "/a/..%3Bx/b", NULL },
		{ "/a/..%20/b", NULL },
		{ "/a/%20../b", NULL },
		{ "/a/%20..%20/b", NULL },
		{ "/a/%ef%bc%8e%ef%bc%8e/b", NULL },
		{ "/a/.%ef%bc%8e/b", NULL },
		{ "/a/%e2%80%a5/b", NULL },
		{ "/a/%ef%bc%8e%ef%bc%8e%ef%bc%8fb", NULL },
		{ "/main...topic", "/main...topic" },
		{ "/a/.%20b", "/a/.%20b" },
		{ "/..a/b", "/..a/b" },
		{ "/a/%e3%80%82", "/a/%E3%80%82" },
		{ "/%c0%af", NULL },
		{ "/%ff", NULL },
		{ "/a#b", NULL },
		{ "/a%23b", NULL },
		{ "a", NULL },
		{ "", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT, again = BUF_INIT;
		const char *why = one_path(cases[i].in, strlen(cases[i].in), &out);
		ok(cases[i].out ? !why && !strcmp(buf_cstr(&out), cases[i].out) : why != NULL, "%s becomes %s (%s)", cases[i].in,
		   cases[i].out ? cases[i].out : "nothing", why ? why : buf_cstr(&out));
		if (cases[i].out && !why)
			ok(!one_path(out.data, out.len, &again) && !strcmp(buf_cstr(&again), buf_cstr(&out)), "and stays so");
	}
}

static void test_overrides(void)
{
	ok(one_path_override_field("x-http-method-override") && one_path_override_field("x-original-url") &&
		   one_path_override_field("x_http_method_override") && one_path_override_field("x-http_method-override"),
	   "fields");
	ok(!one_path_override_field("accept") && !one_path_override_field("x-method"), "other fields");
	static const char *const bad[] = { "_method=DELETE", "?a=b&_method=put", "%5fmethod=x", "?a;_METHOD=x", "$httpMethod=DELETE", "_HttpMethod=DELETE" };
	static const char *const fine[] = { "", "?", "method=x", "?a=_method", "?my_method=x", "service=git-upload-pack" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(one_path_override_query(bad[i], strlen(bad[i])), "%s", bad[i]);
	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		ok(!one_path_override_query(fine[i], strlen(fine[i])), "'%s' is fine", fine[i]);
}

int main(void)
{
	test_paths();
	test_overrides();
	return done_testing();
}
