/* Part of egress_parse.c: bodies in chunks. */
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "proxy/egress_parse_priv.h"
#include "proxy/egress_parse.h"

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
