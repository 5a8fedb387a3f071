/* Finds the credential in an answer of gRPC. */
#include "http/grpc.h"

#include <string.h>

#include "../tap.h"

static char found[64];

static void on_field(void *self, uint8_t *bytes, size_t len)
{
	(void)self;
	snprintf(found + strlen(found), sizeof found - strlen(found), "%.*s;", (int)len, (const char *)bytes);
	memset(bytes, '*', len);
}

static void look(const char *body, size_t len, const char *path, const char *want, bool good, const char *name)
{
	uint8_t copy[64];
	memcpy(copy, body, len);
	found[0] = 0;
	ok(grpc_each_field(copy, len, path, on_field, NULL) == good, "%s: %s", name, good ? "is searched" : "is refused");
	is_str(found, want, name);
}
#define LOOK(body, ...) look(body, sizeof(body) - 1, __VA_ARGS__)

int main(void)
{
	LOOK("\0\0\0\0\5\012\3abc", "1", "abc;", true, "a field");
	LOOK("\0\0\0\0\5\022\3abc", "1", "", true, "not another one");
	LOOK("\0\0\0\0\014\020\226\1\035abcd\012\2xy", "1", "xy;", true, "behind numbers of every kind");
	LOOK("\0\0\0\0\7\052\5\012\3abc", "5.1", "abc;", true, "in a message in a message");
	LOOK("\0\0\0\0\3\012\1a\0\0\0\0\3\012\1b", "1", "a;b;", true, "of every frame");
	LOOK("", "1", "", true, "nothing");
	LOOK("\0\0\0\0\5\012\4abc", "1", "", false, "a field that is longer than its message");
	LOOK("\0\0\0\0\6\012\3abc", "1", "", false, "a message that is longer than its frame");
	LOOK("\1\0\0\0\5\012\3abc", "1", "", false, "a compressed one");
	LOOK("\0\0\0\0\2\013\014", "1", "", false, "a group");
	LOOK("\0\0\0\0\014\377\377\377\377\377\377\377\377\377\377\377\377", "1", "", false, "a number without end");
	LOOK("\0\0\0\0\5\012\3abc", "", "", false, "no path");
	LOOK("\0\0\0\0\5\012\3abc", "1x", "", false, "an invalid path");
	LOOK("\0\0\0\0\7\012\5\012\3abc", "1..1", "", false, "a path with a hole");
	return done_testing();
}
