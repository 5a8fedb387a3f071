#include "proxy/egress_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "base/mem.h"
#include "proxy/one_path.h"

/* --- names --- */

static bool egress_parse_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_ldh(char c)
{
	return egress_parse_is_digit(c) || (c >= 'a' && c <= 'z') || c == '-';
}

static char egress_parse_fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* A last label that begins with a digit is how every spelling of an IPv4 address looks (127.1,
 * 0x7f.1, 2130706433). */
bool egress_name(const char *name, char *out)
{
	size_t len = strlen(name), label = 0, last = 0;
	char folded[EGRESS_HOST_MAX + 1];
	if (len && name[len - 1] == '.')
		len--;
	if (len == 0 || len > EGRESS_HOST_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = folded[i] = egress_parse_fold(name[i]);
		if (c == '.') {
			if (label == 0 || folded[i - 1] == '-')
				return false;
			label = 0;
			last = i + 1;
			continue;
		}
		if (!is_ldh(c) || (c == '-' && label == 0) || ++label > 63)
			return false;
	}
	if (label == 0 || folded[len - 1] == '-' || egress_parse_is_digit(folded[last]))
		return false;
	folded[len] = '\0';
	memcpy(out, folded, len + 1);
	return true;
}

static bool egress_parse_matches(const char *pattern, size_t len, const char *host)
{
	size_t host_len = strlen(host);
	if (len > 2 && pattern[0] == '*' && pattern[1] == '.') {
		pattern++;
		len--;
		return host_len > len && strncasecmp(host + host_len - len, pattern, len) == 0;
	}
	return host_len == len && strncasecmp(host, pattern, len) == 0;
}

/* 1 to 65535 in plain digits. */
static bool parse_port(const char *s, size_t len, uint16_t *out)
{
	unsigned n = 0;
	if (len == 0 || len > 5)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!egress_parse_is_digit(s[i]))
			return false;
		n = n * 10 + (unsigned)(s[i] - '0');
	}
	*out = (uint16_t)n;
	return n > 0 && n < 65536;
}

/* Rule 2 turns addresses away, and rule 5 names that lead to this host. */
static const char *entry_name_fault(const char *name)
{
	char host[EGRESS_HOST_MAX + 1];
	if (strspn(name, "0123456789.") == strlen(name) && *name)
		return "an address can't be reached from a sandbox; write the host's name";
	if (!egress_name(name, host))
		return "expected a host name, as in 'example.org:443' or '*.example.org'";
	const char *last = strrchr(host, '.');
	if (!strcmp(last ? last + 1 : host, "localhost"))
		return "the host's loopback can't be reached from a sandbox; start the server in the "
		       "sandbox";
	return NULL;
}

const char *egress_entry_fault(const char *entry)
{
	const char *start = !strncmp(entry, "*.", 2) ? entry + 2 : entry;
	const char *colon = strchr(start, ':');
	uint16_t port;
	if (*start == '[' || (colon && strchr(colon + 1, ':')))
		return "an address can't be reached from a sandbox; write the host's name";
	if (colon && !parse_port(colon + 1, strlen(colon + 1), &port))
		return "expected a port from 1 to 65535";
	CLEANUP(free_ptr)
	char *name = colon ? mem_strndup(start, (size_t)(colon - start)) : mem_strdup(start);
	return entry_name_fault(name);
}

bool egress_listed(const char *const *list, size_t nr, const char *host, uint16_t port)
{
	for (size_t i = 0; i < nr; i++) {
		const char *colon = strchr(list[i], ':');
		size_t len = colon ? (size_t)(colon - list[i]) : strlen(list[i]);
		if (len && list[i][len - 1] == '.')
			len--;
		if ((!colon || strtoul(colon + 1, NULL, 10) == port) &&
		    egress_parse_matches(list[i], len, host))
			return true;
	}
	return false;
}

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

/* --- chunks --- */

enum {
	CHUNK_SIZE,
	CHUNK_EXT,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_CR,
	CHUNK_LF,
	CHUNK_TRAILER,
	CHUNK_TRAILER_LF
};

static int hex_value(char c)
{
	return egress_parse_is_digit(c) ? c - '0'
	       : c >= 'a' && c <= 'f'	? c - 'a' + 10
	       : c >= 'A' && c <= 'F'	? c - 'A' + 10
					: -1;
}

static bool chunk_char(struct egress_chunks *c, char ch)
{
	switch (c->state) {
	case CHUNK_SIZE:
		if (hex_value(ch) >= 0 && c->digits < 12) {
			c->left = c->left * 16 + (unsigned)hex_value(ch);
			c->digits++;
			return true;
		}
		c->state = ch == '\r' ? CHUNK_SIZE_LF : CHUNK_EXT;
		return c->digits && (ch == '\r' || ch == ';');
	case CHUNK_EXT:
		if (ch == '\r')
			c->state = CHUNK_SIZE_LF;
		return ch != '\n' && ++c->line < 1024;
	case CHUNK_SIZE_LF:
		c->state = c->left ? CHUNK_DATA : CHUNK_TRAILER;
		c->digits = c->line = 0;
		return ch == '\n';
	case CHUNK_CR:
		c->state = CHUNK_LF;
		return ch == '\r';
	case CHUNK_LF:
		c->state = CHUNK_SIZE;
		return ch == '\n';
	case CHUNK_TRAILER: /* @digits counts the line's characters, @line all of them */
		if (ch == '\r')
			c->state = CHUNK_TRAILER_LF;
		else
			c->digits++;
		return ch != '\n' && ++c->line < 4096;
	case CHUNK_TRAILER_LF:
		c->done = c->digits == 0;
		c->digits = 0;
		c->state = CHUNK_TRAILER;
		return ch == '\n';
	default:
		return false;
	}
}

ssize_t egress_chunks_feed(struct egress_chunks *c, const char *bytes, size_t len)
{
	size_t at = 0;
	while (at < len && !c->done) {
		if (c->state == CHUNK_DATA) {
			uint64_t n = len - at < c->left ? len - at : c->left;
			c->left -= n;
			at += n;
			if (!c->left)
				c->state = CHUNK_CR;
		} else if (!chunk_char(c, bytes[at++])) {
			return -1;
		}
	}
	return (ssize_t)at;
}

/* --- TLS --- */

struct cursor {
	const uint8_t *p;
	size_t left;
	bool bad;
};

static size_t take_number(struct cursor *c, size_t bytes)
{
	size_t n = 0;
	if (c->left < bytes) {
		c->bad = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		n = n << 8 | c->p[i];
	c->p += bytes;
	c->left -= bytes;
	return n;
}

/* A vector with a length of @bytes in front. */
static struct cursor take_vector(struct cursor *c, size_t bytes)
{
	size_t n = take_number(c, bytes);
	struct cursor v = { .p = c->p, .left = n };
	if (c->bad || c->left < n) {
		c->bad = true;
		return (struct cursor){ .bad = true };
	}
	c->p += n;
	c->left -= n;
	return v;
}

static int egress_parse_name_of(struct cursor ext, char *out)
{
	struct cursor list = take_vector(&ext, 2);
	char name[EGRESS_HOST_MAX + 1];
	if (list.bad || take_number(&list, 1) != 0)
		return -1;
	struct cursor host = take_vector(&list, 2);
	if (host.bad || list.left || host.left > EGRESS_HOST_MAX || memchr(host.p, 0, host.left))
		return -1;
	memcpy(name, host.p, host.left);
	name[host.left] = '\0';
	return egress_name(name, out) ? 1 : -1;
}

/* RFC 8446 4.1.2, RFC 6066 3. */
static int hello_name(struct cursor hello, char *out)
{
	int found = -1;
	take_number(&hello, 2);
	for (int i = 0; i < 32; i++)
		take_number(&hello, 1);
	take_vector(&hello, 1); /* session */
	take_vector(&hello, 2); /* suites */
	take_vector(&hello, 1); /* compression */
	struct cursor exts = take_vector(&hello, 2);
	while (!hello.bad && !exts.bad && exts.left) {
		size_t type = take_number(&exts, 2);
		struct cursor ext = take_vector(&exts, 2);
		if (type != 0 || exts.bad)
			continue;
		if (found == 1)
			return -1; /* twice */
		found = egress_parse_name_of(ext, out);
		if (found < 0)
			return -1;
	}
	return hello.bad || exts.bad ? -1 : found;
}

/* The hello may be spread over several records. */
int egress_sni(const void *bytes, size_t len, char *out)
{
	struct cursor in = { .p = bytes, .left = len };
	uint8_t hello[EGRESS_HEAD_MAX];
	size_t got = 0;
	for (;;) {
		if (in.left && in.p[0] != 22)
			return -1;
		if (in.left < 5)
			return 0;
		if (in.p[1] != 3)
			return -1;
		size_t n = (size_t)in.p[3] << 8 | in.p[4];
		if (n == 0 || got + n > sizeof hello)
			return -1;
		size_t there = in.left - 5 < n ? in.left - 5 : n;
		memcpy(hello + got, in.p + 5, there);
		got += there;
		if (got && hello[0] != 1)
			return -1;
		size_t want =
			got >= 4 ? ((size_t)hello[1] << 16 | (size_t)hello[2] << 8 | hello[3]) + 4
				 : SIZE_MAX;
		if (want != SIZE_MAX && want > sizeof hello)
			return -1;
		if (got >= want)
			return got > want ? -1
					  : hello_name((struct cursor){ .p = hello + 4,
									.left = want - 4 },
						       out);
		if (there < n)
			return 0;
		in.p += 5 + n;
		in.left -= 5 + n;
	}
}

/* --- addresses --- */

struct net4 {
	uint32_t net;
	unsigned bits;
};

/* IANA special-purpose registry: addresses that are not globally reachable, and multicast. */
bool egress_public4(uint32_t addr)
{
	static const struct net4 closed[] = {
		{ 0x00000000, 8 },  { 0x0a000000, 8 },	{ 0x64400000, 10 }, { 0x7f000000, 8 },
		{ 0xa9fe0000, 16 }, { 0xac100000, 12 }, { 0xc0000000, 24 }, { 0xc0000200, 24 },
		{ 0xc0586300, 24 }, { 0xc0a80000, 16 }, { 0xc6120000, 15 }, { 0xc6336400, 24 },
		{ 0xcb007100, 24 }, { 0xe0000000, 3 },
	};
	for (size_t i = 0; i < ARRAY_LEN(closed); i++)
		if ((addr ^ closed[i].net) >> (32 - closed[i].bits) == 0)
			return false;
	return true;
}

/* Only 2000::/3 is given out; of it not documentation, not ORCHID, and not what carries an IPv4
 * address inside. */
bool egress_public6(const uint8_t a[16])
{
	if ((a[0] & 0xe0) != 0x20)
		return false;
	if (a[0] == 0x20 && a[1] == 0x01 && a[2] < 0x02) /* 2001::/23: Teredo, ORCHID, benchmarks */
		return false;
	if (a[0] == 0x20 && a[1] == 0x01 && a[2] == 0x0d && a[3] == 0xb8)
		return false;
	if (a[0] == 0x20 && a[1] == 0x02) /* 6to4 */
		return false;
	return !(a[0] == 0x3f && a[1] == 0xff && a[2] < 0x10); /* 3fff::/20: documentation */
}
