#include "http/retry.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

enum { BASE_US = 500000, CAP_US = 60 * 1000000, WAIT_MAX_S = 600, FAR_S = 1000000000 };

/* Thousandths of a plain decimal number, whatever the locale; -1: it is none, or past 10^9. */
static int64_t retry_number(const char *s)
{
	int64_t n = 0, unit = 1000;
	const char *digits = s;
	for (; *s >= '0' && *s <= '9'; s++)
		if ((n = n * 10 + (*s - '0')) > 1000000000)
			return -1;
	if (s == digits)
		return -1;
	n *= 1000;
	if (*s == '.')
		for (s++; *s >= '0' && *s <= '9'; s++) {
			unit /= 10;
			n += unit * (*s - '0');
		}
	while (*s == ' ' || *s == '\t')
		s++;
	return *s ? -1 : n;
}

struct retry_hint retry_hint(const struct http_head *head, int64_t now_s)
{
	struct retry_hint h = { .should = -1, .after_us = -1 };
	const char *v = http_header(head, "x-should-retry");
	if (v)
		h.should = strcmp(v, "true") == 0 ? 1 : strcmp(v, "false") == 0 ? 0 : -1;
	v = http_header(head, "retry-after-ms");
	int64_t ms = v ? retry_number(v) : -1; /* in thousandths of the unit: microseconds */
	if (ms > 0) {
		h.after_us = ms;
		return h;
	}
	v = http_header(head, "retry-after");
	if (!v)
		return h;
	ms = retry_number(v);
	if (ms > 0)
		h.after_us = ms * 1000;
	else if (ms < 0) {
		/* by the same clock, which need not be ours */
		const char *sent = http_header(head, "date");
		int64_t at = (int64_t)curl_getdate(v, NULL),
			theirs = sent ? (int64_t)curl_getdate(sent, NULL) : -1;
		int64_t now = theirs >= 0 ? theirs : now_s;
		if (at > now)
			h.after_us = (at - now > FAR_S ? FAR_S : at - now) * 1000000;
	}
	return h;
}

static bool out_of_money(const char *body)
{
	static const char *const code[] = {
		"insufficient_quota",		"enforced_spend_limit_reached",
		"contract_spend_limit_reached", "linked_organization_spend_limit_reached",
		"billing_hard_limit_reached",
	};
	for (size_t i = 0; body && i < sizeof code / sizeof *code; i++)
		if (strstr(body, code[i]))
			return true;
	return false;
}

static bool worth_it(const struct retry_case *c)
{
	if (c->tries >= (c->most ? c->most : RETRY_MAX) || c->had_effect)
		return false;
	if (c->how == HTTP_REFUSED || c->how == HTTP_TLS)
		return false;
	if (c->how != HTTP_OK)
		return true;
	if (c->status == 429 && out_of_money(c->body))
		return false;
	if (c->hint.should >= 0)
		return c->hint.should;
	return c->status == 408 || c->status == 409 || c->status == 429 || c->status >= 500;
}

int64_t retry_after_us(const struct retry_case *c, uint32_t random)
{
	if (!worth_it(c))
		return -1;
	if (c->hint.after_us > 0)
		return c->hint.after_us > (int64_t)WAIT_MAX_S * 1000000 ? -1 : c->hint.after_us;
	unsigned n = c->tries ? c->tries - 1 : 0;
	int64_t us = (int64_t)BASE_US << (n > 10 ? 10 : n);
	if (us > CAP_US)
		us = CAP_US;
	return us / 2 + us / 2 * (int64_t)(random >> 16) / 65536;
}
