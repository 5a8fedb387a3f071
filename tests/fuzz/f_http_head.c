/* Request heads: an accepted head is the same in chunks of any size and follows the rules; the same for chunked
 * bodies. */
#include <stdlib.h>
#include <string.h>

#include "http/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(bool good)
{
	if (!good)
		abort();
}

static void whole(const char *bytes, size_t len)
{
	struct http_ask a, b;
	const char *why;
	int status;
	int rc = http_ask_parse(bytes, len, &a, &status, &why);
	if (rc != 1) {
		check(rc == 0 || (status >= 400 && status < 500 && *why));
		return;
	}
	check(a.len <= len && a.target[0] == '/' && a.nr <= HTTP_FIELDS_MAX && !(a.chunked && a.length));
	check(!strpbrk(a.method, " \r\n") && !strpbrk(a.target, " \r\n"));
	for (size_t i = 0; i < a.nr; i++)
		check(a.field[i].name[0] && !strpbrk(a.field[i].value, "\r\n"));
	check(http_ask_parse(bytes, a.len - 1, &b, &status, &why) != 1); /* not before its end */
	rc = http_ask_parse(bytes, a.len, &b, &status, &why);
	check(rc == 1 && b.nr == a.nr && b.length == a.length && b.chunked == a.chunked && !strcmp(a.target, b.target));
	http_ask_release(&a);
	http_ask_release(&b);
}

static void chunks(const char *bytes, size_t len)
{
	struct http_chunks one = { 0 }, two = { 0 };
	struct buf a = BUF_INIT, b = BUF_INIT;
	ssize_t n = http_chunks_feed(&one, bytes, len, 1 << 16, &a), at = 0, m = 0;
	check(n <= (ssize_t)len);
	for (; !two.done && at < (ssize_t)len; at += m)
		if ((m = http_chunks_feed(&two, bytes + at, 1, 1 << 16, &b)) < 0)
			break;
	check((n < 0) == (m < 0) && one.done == two.done);
	check(n < 0 || (a.len == b.len && !memcmp(buf_cstr(&a), buf_cstr(&b), a.len) && at == n));
	buf_release(&a);
	buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!len)
		return 0;
	const char *bytes = (const char *)data + 1;
	if (data[0] == 'c')
		chunks(bytes, len - 1);
	else
		whole(bytes, len - 1);
	return 0;
}
