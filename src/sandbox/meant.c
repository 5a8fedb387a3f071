#include "sandbox/meant.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 18 };

uint64_t meant_id(const char *text)
{
	text += *text == '#';
	size_t n = strspn(text, "0123456789");
	return n && !text[n] && n <= DIGITS_MAX ? strtoull(text, NULL, 10) : 0;
}

bool meant_box(const char *text, uint64_t id, const char *name)
{
	return !strcmp(text, name) || meant_id(text) == id;
}
