/* Small texts from users, files, and sandboxes: spans of time, hexadecimal, base64, names of objects, groups to
 * share with, and errors from another of our processes. Each is refused, or gives a value in its bounds. Hexadecimal
 * and base64 are written again as they were. First byte: the kind. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "control/share.h"
#include "record/read/object.h"
#include "wire/launch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void span(const char *text)
{
	int64_t us = -1;
	if (clock_parse_span(text, &us) && (us < 0 || !isdigit((unsigned char)*text)))
		abort();
}

static void hex(const char *text, size_t len)
{
	CLEANUP(buf_release) struct buf again = BUF_INIT;
	CLEANUP(free_ptr) uint8_t *out = mem_alloc(len / 2 + 1);
	if (!hex_parse(text, len, out, len / 2))
		return;
	hex_append(&again, out, len / 2);
	if (again.len != len)
		abort();
	for (size_t i = 0; i < len; i++)
		if (again.data[i] != tolower((unsigned char)text[i]))
			abort();
}

/* Written again it reads the same; with whole groups it is the same text. */
static void base64(const char *text, size_t len)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT, again = BUF_INIT, twice = BUF_INIT;
	if (!base64_parse(text, len, &bytes)) {
		if (bytes.len)
			abort(); /* half of a value is none */
		return;
	}
	base64_append(&again, bytes.len ? bytes.data : "", bytes.len);
	if (!base64_parse(buf_cstr(&again), again.len, &twice) || twice.len != bytes.len ||
	    (bytes.len && memcmp(twice.data, bytes.data, bytes.len) != 0))
		abort();
}

static void object(const char *text)
{
	struct object_id id;
	char again[41];
	if (!object_parse(text, &id))
		return;
	object_hex(&id, again);
	if (strcasecmp(again, text) != 0)
		abort();
}

static void share(const char *text)
{
	struct share s = { .group = "" };
	struct err err = ERR_INIT;
	if (share_parse(text, &s, &err) == 0 ? !*s.group || !memchr(s.group, 0, sizeof(s.group)) : err.code != ERR_USAGE || !*err.text)
		abort();
}

/* An error whatever was said; said again it is the same. */
static void error_frame(const char *body, size_t len)
{
	struct err a = ERR_INIT, b = ERR_INIT;
	CLEANUP(buf_release) struct buf again = BUF_INIT;
	wire_err_parse(body, len, &a);
	if (a.code <= ERR_NONE || a.code > ERR_SCRIPT || !*a.text)
		abort();
	wire_err_body(&a, &again);
	wire_err_parse(again.data, again.len, &b);
	if (a.code != b.code || a.sys != b.sys || strcmp(a.text, b.text) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 1 << 14)
		return 0;
	CLEANUP(free_ptr) char *text = mem_strndup((const char *)data + 1, size - 1);
	CLEANUP(free_ptr) char *exact = mem_dup(size > 1 ? (const char *)data + 1 : "", size - 1); /* not terminated */
	switch (data[0]) {
	case 't':
		span(text);
		break;
	case 'x':
		hex(exact, size - 1);
		break;
	case 'b':
		base64(exact, size - 1);
		break;
	case 'o':
		object(text);
		break;
	case 'g':
		share(text);
		break;
	case 'e':
		error_frame(exact, size - 1);
		break;
	default:
		break;
	}
	return 0;
}
