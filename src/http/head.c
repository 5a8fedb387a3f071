#include "http/head.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char head_token[] =
	"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

enum { METHOD_MAX = 16, TARGET_MAX = 4096, CHUNK_LINE_MAX = 256 };

void http_ask_release(struct http_ask *a)
{
	free(a->text);
	*a = (struct http_ask){ 0 };
}

const char *http_ask_field(const struct http_ask *a, const char *name)
{
	for (size_t i = 0; i < a->nr; i++)
		if (!strcmp(a->field[i].name, name))
			return a->field[i].value;
	return NULL;
}

/* Takes the request line apart, in place. A static sentence when it is none. */
static const char *head_first_line(char *line, struct http_ask *a)
{
	char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;
	if (!version)
		return "the request line has not three words";
	*target++ = 0;
	*version++ = 0;
	if (!*line || strlen(line) > METHOD_MAX || strspn(line, head_token) != strlen(line))
		return "the method is none";
	a->connect = !strcmp(line, "CONNECT");
	if (a->connect) {
		a->authority = target;
		a->authority_len = strlen(target);
		if (!strchr(target, ':') || strpbrk(target, "/?#@%"))
			return "the target is not a host and a port";
		target += a->authority_len;
	} else if (!strncmp(target, "http://", 7)) {
		a->authority = target + 7;
		a->authority_len = strcspn(a->authority, "/");
		target += 7 + a->authority_len;
	}
	if ((*target != '/' && !a->connect) || strlen(target) > TARGET_MAX)
		return "the target is not a path";
	for (const char *c = a->connect ? a->authority : target; *c; c++)
		if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
			return "the target is not a path";
	a->old = !strcmp(version, "HTTP/1.0");
	if (!a->old && strcmp(version, "HTTP/1.1") != 0)
		return "the version is not HTTP/1.0 or HTTP/1.1";
	a->method = line;
	a->target = target;
	return NULL;
}

static const char *one_field(char *line, struct http_ask *a)
{
	size_t n = strspn(line, head_token);
	if (!n || line[n] != ':')
		return "a header line has no name";
	line[n] = 0;
	for (char *c = line; *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
	char *value = line + n + 1;
	value += strspn(value, " \t");
	size_t len = strlen(value);
	while (len && (value[len - 1] == ' ' || value[len - 1] == '\t'))
		value[--len] = 0;
	for (const char *c = value; *c; c++)
		if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f)
			return "a header holds a control";
	if (a->nr == HTTP_FIELDS_MAX)
		return "there are too many headers";
	a->field[a->nr++] = (struct http_header){ line, value };
	return NULL;
}

static size_t head_count(const struct http_ask *a, const char *name)
{
	size_t n = 0;
	for (size_t i = 0; i < a->nr; i++)
		n += !strcmp(a->field[i].name, name);
	return n;
}

/* The length of the body, and whether the connection stays open. */
static const char *head_framing(struct http_ask *a)
{
	bool old = a->old;
	const char *length = http_ask_field(a, "content-length"),
		   *coding = http_ask_field(a, "transfer-encoding"),
		   *connection = http_ask_field(a, "connection"),
		   *expect = http_ask_field(a, "expect");
	if (head_count(a, "host") > 1 || (!old && head_count(a, "host") != 1))
		return "there is not exactly one Host";
	if (head_count(a, "content-length") + head_count(a, "transfer-encoding") > 1)
		return "the length of the body appears twice";
	if (coding && (old || strcasecmp(coding, "chunked") != 0))
		return "the body is coded in a way that is not known here";
	if (length) {
		size_t n = strlen(length);
		if (!n || n > 18 || strspn(length, "0123456789") != n)
			return "the length of the body is not a number";
		a->length = strtoull(length, NULL, 10);
	}
	a->chunked = coding != NULL;
	a->keep = old ? connection && !strcasecmp(connection, "keep-alive")
		      : !connection || strcasecmp(connection, "close") != 0;
	a->waits = !old && expect && !strcasecmp(expect, "100-continue");
	return NULL;
}

static const char *take_apart(struct http_ask *a)
{
	const char *why = NULL;
	bool first = true;
	char *line = a->text, *end;
	for (; !why && (end = strstr(line, "\r\n")) && end != line; line = end + 2) {
		*end = 0;
		if (strpbrk(line, "\r\n"))
			return "a line does not end with CRLF";
		why = first ? head_first_line(line, a) : one_field(line, a);
		first = false;
	}
	if (!why && first)
		why = "the request line is missing";
	return why ? why : head_framing(a);
}

int http_ask_parse(const char *bytes, size_t len, struct http_ask *out, int *status_out,
		   const char **why_out)
{
	size_t seen = len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX;
	const char *end = memmem(bytes, seen, "\r\n\r\n", 4),
		   *bare = memmem(bytes, seen, "\n\n", 2);
	*status_out = 400;
	if (bare && (!end || bare < end)) {
		*why_out = "a line does not end with CRLF";
		return -1;
	}
	if (!end && len >= HTTP_HEAD_MAX) {
		*status_out = 431;
		*why_out = "the head of the request is too long";
		return -1;
	}
	if (!end)
		return 0;
	*out = (struct http_ask){ .len = (size_t)(end - bytes) + 4 };
	if (memchr(bytes, 0, out->len)) {
		*why_out = "the head of the request holds a NUL";
		return -1;
	}
	out->text = mem_strndup(bytes, out->len);
	*why_out = take_apart(out);
	if (!*why_out)
		return 1;
	http_ask_release(out);
	return -1;
}

/* --- chunks ----------------------------------------------------------------------------------- */

enum { SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER, TRAILER_LF, END_LF };

static int head_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* One byte that is not data. false: it may not stand there. */
static bool head_step(struct http_chunks *c, char b)
{
	int d = head_digit(b);
	if (++c->line > CHUNK_LINE_MAX)
		return false;
	switch (c->state) {
	case SIZE:
		if (d >= 0 && c->digits < 15) {
			c->left = c->left * 16 + (unsigned)d;
			c->digits++;
			return true;
		}
		c->state = b == ';' ? EXTENSION : SIZE_LF;
		return c->digits && (b == ';' || b == '\r');
	case EXTENSION:
		if (b == '\r')
			c->state = SIZE_LF;
		return b == '\r' || b == '\t' || (unsigned char)b >= 0x20;
	case SIZE_LF:
		c->state = c->left ? DATA : TRAILER;
		c->line = c->digits = 0;
		return b == '\n';
	case DATA_CR:
		c->state = DATA_LF;
		return b == '\r';
	case DATA_LF:
		c->state = SIZE;
		c->line = 0;
		return b == '\n';
	case TRAILER:
		if (b == '\r')
			c->state = c->digits ? TRAILER_LF : END_LF;
		c->digits = 1;
		return b == '\r' || b == '\t' || (unsigned char)b >= 0x20;
	case TRAILER_LF:
		c->state = TRAILER;
		c->digits = 0;
		return b == '\n'; /* the line keeps counting: trailers are bounded together */
	case END_LF:
		c->done = true;
		return b == '\n';
	default:
		return false;
	}
}

ssize_t http_chunks_feed(struct http_chunks *c, const char *bytes, size_t len, size_t max,
			 struct buf *out)
{
	size_t at = 0;
	while (at < len && !c->done) {
		if (c->state != DATA) {
			if (!head_step(c, bytes[at++]))
				return -1;
			continue;
		}
		size_t n = len - at < c->left ? len - at : (size_t)c->left;
		buf_append(out, bytes + at, n);
		if (out->len > max)
			return -1;
		at += n;
		c->left -= n;
		if (!c->left)
			c->state = DATA_CR;
	}
	return (ssize_t)at;
}
