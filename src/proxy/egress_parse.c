#include "proxy/egress_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "base/mem.h"
#include "proxy/one_path.h"
#include "proxy/egress_parse_priv.h"

/* --- request head --- */

static bool is_token(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* host[:port] without user, brackets or anything else that egress_name would refuse anyway. */
static bool parse_authority(const char *s, size_t len, uint16_t port, struct egress_head *h)
{
	const char *colon = memchr(s, ':', len);
	size_t host = colon ? (size_t)(colon - s) : len;
	h->port = port;
	if (host == 0 || host > EGRESS_HOST_MAX ||
	    (colon && !parse_port(colon + 1, len - host - 1, &h->port)))
		return false;
	memcpy(h->host, s, host);
	h->host[host] = '\0';
	return h->port != 0;
}

static const char *parse_target(const char *s, size_t len, struct egress_head *h)
{
	if (h->connect)
		return parse_authority(s, len, 0, h) ? NULL : "CONNECT: expected host:port";
	if (len < 8 || strncasecmp(s, "http://", 7) != 0)
		return "this is a proxy: the target must be CONNECT host:port or http://host/path";
	s += 7;
	len -= 7;
	size_t authority = 0;
	while (authority < len && s[authority] != '/' && s[authority] != '?' && s[authority] != '#')
		authority++;
	if (!parse_authority(s, authority, 80, h))
		return "the host of the target is not one";
	if (memchr(s, '#', len))
		return "a target has no fragment";
	bool slash = authority < len && s[authority] == '/';
	CLEANUP(free_ptr)
	char *given = mem_printf("%s%.*s", slash ? "" : "/", (int)(len - authority), s + authority);
	size_t path = strcspn(given, "?");
	CLEANUP(buf_release) struct buf one = BUF_INIT;
	const char *odd = one_path(given, path, &one);
	if (odd)
		return odd;
	buf_puts(&one, given + path);
	h->path = buf_take(&one);
	return NULL;
}

static const char *parse_line(const char *s, size_t len, struct egress_head *h)
{
	const char *sp = memchr(s, ' ', len), *end = s + len;
	if (!sp || sp == s || (size_t)(sp - s) >= sizeof h->method)
		return "the request line has no method";
	for (const char *p = s; p < sp; p++)
		if (!is_token(*p))
			return "the method is not a token";
	memcpy(h->method, s, (size_t)(sp - s));
	h->connect = strcmp(h->method, "CONNECT") == 0;
	const char *target = sp + 1;
	sp = memchr(target, ' ', (size_t)(end - target));
	if (!sp || sp == target)
		return "the request line has no target";
	if (end - sp != 9 || (memcmp(sp, " HTTP/1.1", 9) != 0 && memcmp(sp, " HTTP/1.0", 9) != 0))
		return "the request is not HTTP/1.1";
	return parse_target(target, (size_t)(sp - target), h);
}

static bool egress_parse_is_name(const char *s, size_t len, const char *name)
{
	return len == strlen(name) && strncasecmp(s, name, len) == 0;
}

static bool parse_length(const char *s, size_t len, uint64_t *out)
{
	uint64_t n = 0;
	if (len == 0 || len > 15)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!egress_parse_is_digit(s[i]))
			return false;
		n = n * 10 + (unsigned)(s[i] - '0');
	}
	*out = n;
	return true;
}

struct seen {
	bool host, length, encoding;
};

/* Headers between us and the box, or made anew for the way on. */
static bool is_hop(const char *s, size_t len)
{
	static const char *const names[] = { "Connection",
					     "Keep-Alive",
					     "Proxy-Connection",
					     "Proxy-Authorization",
					     "Proxy-Authenticate",
					     "TE",
					     "Trailer",
					     "Upgrade",
					     "Host" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (egress_parse_is_name(s, len, names[i]))
			return true;
	return false;
}

static const char *parse_host_field(const char *v, size_t len, struct egress_head *h)
{
	struct egress_head other = { 0 };
	char a[EGRESS_HOST_MAX + 1], b[EGRESS_HOST_MAX + 1];
	if (!parse_authority(v, len, h->connect ? h->port : 80, &other) ||
	    !egress_name(other.host, a) || !egress_name(h->host, b))
		return NULL; /* rule 2 will say it better */
	return strcmp(a, b) == 0 && (h->connect || other.port == h->port)
		       ? NULL
		       : "Host and target differ";
}

static const char *parse_field(const char *s, size_t len, struct egress_head *h, struct seen *seen)
{
	const char *colon = memchr(s, ':', len);
	size_t name = colon ? (size_t)(colon - s) : 0;
	if (!name)
		return "a header line has no name";
	for (size_t i = 0; i < name; i++)
		if (!is_token(s[i]))
			return "a header name is not a token, or a line is folded";
	const char *v = colon + 1, *end = s + len;
	while (v < end && (*v == ' ' || *v == '\t'))
		v++;
	while (end > v && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	size_t n = (size_t)(end - v);
	if (egress_parse_is_name(s, name, "Host")) {
		if (seen->host)
			return "there are two Host headers";
		seen->host = true;
		return parse_host_field(v, n, h);
	}
	if (egress_parse_is_name(s, name, "Content-Length")) {
		if (seen->length || !parse_length(v, n, &h->length))
			return "Content-Length is twice there or no number";
		seen->length = h->has_length = true;
	} else if (egress_parse_is_name(s, name, "Transfer-Encoding")) {
		if (seen->encoding || !egress_parse_is_name(v, n, "chunked"))
			return "Transfer-Encoding is twice there or not chunked";
		seen->encoding = h->chunked = true;
	}
	if (!is_hop(s, name)) {
		buf_append(&h->fields, s, name);
		buf_puts(&h->fields, ": ");
		buf_append(&h->fields, v, n);
		buf_puts(&h->fields, "\r\n");
	}
	return NULL;
}

/* Control characters have no place in a head; they are how one reader is made to see another line
 * end than the next. */
static bool is_clean(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)s[i] < 0x20 && s[i] != '\t') || s[i] == 0x7f)
			return false;
	return true;
}

static const char *parse_lines(const char *bytes, size_t len, struct egress_head *h)
{
	struct seen seen = { 0 };
	const char *why = NULL;
	for (size_t at = 0; at < len && !why;) {
		const char *s = bytes + at, *end = memmem(s, len - at, "\r\n", 2);
		size_t n = (size_t)(end - s);
		if (!is_clean(s, n))
			return "the head contains control characters";
		why = at == 0 ? parse_line(s, n, h) : n ? parse_field(s, n, h, &seen) : NULL;
		at += n + 2;
	}
	if (!why && h->chunked && h->has_length)
		why = "Content-Length and Transfer-Encoding together";
	return why;
}

int egress_head_parse(const char *bytes, size_t len, struct egress_head *out, const char **why_out)
{
	struct egress_head h = { 0 };
	size_t look = len < EGRESS_HEAD_MAX ? len : EGRESS_HEAD_MAX;
	const char *end = memmem(bytes, look, "\r\n\r\n", 4);
	if (!end) {
		*why_out = "the head of the request is longer than 16 KiB";
		if (look == EGRESS_HEAD_MAX)
			return -1;
		/* do not wait for the end of bytes that cannot become a request */
		*why_out = "not an HTTP request";
		return look && !is_token(bytes[0]) ? -1 : 0;
	}
	h.len = (size_t)(end - bytes) + 4;
	const char *why = parse_lines(bytes, h.len, &h);
	if (why) {
		egress_head_release(&h);
		*why_out = why;
		return -1;
	}
	*out = h;
	return 1;
}

void egress_head_release(struct egress_head *h)
{
	free(h->path);
	h->path = NULL;
	buf_release(&h->fields);
}
