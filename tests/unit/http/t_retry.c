/* When a failed call is tried again: by what the other side says, however it says it. */
#include "http/retry.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../tap.h"

enum { NOW = 1700000000 };

static int64_t after(const char *name, const char *value)
{
	const struct http_header h = { name, value };
	const struct http_head head = { .status = 429, .header = &h, .nr = 1 };
	return retry_hint(&head, NOW).after_us;
}

static void waits(void)
{
	static const struct {
		const char *value;
		int64_t us;
	} seconds[] = {
		{ "1", 1000000 },    { "1.5", 1500000 },  { "0.25", 250000 },  { "2 ", 2000000 },   { "0", -1 },
		{ "", -1 },	     { "-1", -1 },	  { "nan", -1 },       { "inf", -1 },	    { "0x10", -1 },
		{ "1e3", -1 },	     { "5s", -1 },	  { "1,5", -1 },       { ".5", -1 },	    { "1..5", -1 },
		{ "1.0000009", 1000000 }, { "99999999999999999999999999", -1 }, { "soon", -1 },
		{ "Tue, 14 Nov 2023 22:13:30 GMT", 10000000 }, { "Tue, 14 Nov 2023 22:13:10 GMT", -1 },
		{ "Tue, 14 Nov 99999 22:13:10 GMT", 1000000000 * INT64_C(1000000) },
		{ "Tue, 14 Nov 2147483647 22:13:10 GMT", 1000000000 * INT64_C(1000000) },
	};
	for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
		is_int(after("retry-after", seconds[i].value), seconds[i].us, seconds[i].value);
	is_int(after("retry-after-ms", "1500"), 1500000, "milliseconds");
	is_int(after("retry-after-ms", "0.4"), 400, "less than one");
	is_int(after("retry-after-ms", "nan"), -1, "no number");
	is_int(after("x-other", "5"), -1, "another header");
}

static int64_t wait_of(struct retry_case c, uint32_t random)
{
	return retry_after_us(&c, random);
}

static struct retry_case of(enum http_how how, int status)
{
	return (struct retry_case){ .how = how, .status = status, .hint = { -1, -1 }, .tries = 1 };
}

static void cases(void)
{
	static const int again[] = { 408, 409, 429, 500, 502, 503, 504, 529 }, final[] = { 200, 400, 401, 402, 403, 404, 413, 422 };
	for (size_t i = 0; i < sizeof again / sizeof *again; i++)
		ok(wait_of(of(HTTP_OK, again[i]), 0) > 0, "%d is tried again", again[i]);
	for (size_t i = 0; i < sizeof final / sizeof *final; i++)
		is_int(wait_of(of(HTTP_OK, final[i]), 0), -1, "this status is final");
	ok(wait_of(of(HTTP_UNREACHED, 0), 0) > 0 && wait_of(of(HTTP_CUT, 200), 0) > 0 && wait_of(of(HTTP_SLOW, 0), 0) > 0,
	   "no connection, cut, slow: again");
	ok(wait_of(of(HTTP_TLS, 0), 0) < 0 && wait_of(of(HTTP_REFUSED, 0), 0) < 0, "a wrong certificate, no URL: never");
	struct retry_case c = of(HTTP_CUT, 200);
	c.had_effect = true;
	is_int(wait_of(c, 0), -1, "a stream of which something has been acted on is not asked for again");
	c = of(HTTP_OK, 429);
	c.body = "{\"error\":{\"code\":\"insufficient_quota\"}}";
	c.hint.should = 1;
	is_int(wait_of(c, 0), -1, "no money: final, despite any hint");
	c = of(HTTP_OK, 400);
	c.hint.should = 1;
	ok(wait_of(c, 0) > 0, "x-should-retry: true");
	c = of(HTTP_OK, 529);
	c.hint.should = 0;
	is_int(wait_of(c, 0), -1, "x-should-retry: false");
	c = of(HTTP_OK, 503);
	c.hint.after_us = 601 * (int64_t)1000000;
	is_int(wait_of(c, 0), -1, "a wait over the limit: given up");
	c.hint.after_us = 7;
	is_int(wait_of(c, 12345), 7, "a given wait is used");
}

static void backoff(void)
{
	struct retry_case c = of(HTTP_OK, 503);
	int64_t most = 0;
	c.most = 1000;
	for (c.tries = 1; c.tries < 40; c.tries++) {
		int64_t least = wait_of(c, 0), longest = wait_of(c, UINT32_MAX);
		if (least < 250000 || longest < least || longest > 60000000)
			ok(false, "try %u waits %lld to %lld us", c.tries, (long long)least, (long long)longest);
		most = longest > most ? longest : most;
	}
	ok(most > 30000000 && most <= 60000000, "it grows up to a minute");
	c.most = 0;
	c.tries = RETRY_MAX;
	is_int(wait_of(c, 0), -1, "the last try was the last");
	c.tries = UINT32_MAX;
	c.most = UINT32_MAX;
	is_int(wait_of(c, 0), -1, "also with a large limit");
}

int main(void)
{
	waits();
	cases();
	backoff();
	return done_testing();
}
