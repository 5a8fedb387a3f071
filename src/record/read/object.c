#include "record/read/object.h"

#include <stdio.h>
#include <string.h>

#include "base/sha1.h"

size_t object_header(enum object_type type, size_t len, char out[32])
{
	return (size_t)snprintf(out, 32, "%s %zu", type == OBJECT_TREE ? "tree" : "blob", len) + 1;
}

void object_name(enum object_type type, const void *bytes, size_t len, struct object_id *out)
{
	struct sha1 s;
	char head[32];
	sha1_begin(&s);
	sha1_add(&s, head, object_header(type, len, head));
	sha1_add(&s, bytes, len);
	sha1_end(&s, out->b);
}

void object_hex(const struct object_id *id, char out[41])
{
	static const char digit[] = "0123456789abcdef";
	for (size_t i = 0; i < sizeof(id->b); i++) {
		out[i * 2] = digit[id->b[i] >> 4];
		out[i * 2 + 1] = digit[id->b[i] & 15];
	}
	out[40] = 0;
}

bool object_parse(const char *hex, struct object_id *out)
{
	return hex_parse(hex, strlen(hex), out->b, sizeof(out->b));
}

bool object_is_null(const struct object_id *id)
{
	static const struct object_id null_id;
	return memcmp(id, &null_id, sizeof(null_id)) == 0;
}
