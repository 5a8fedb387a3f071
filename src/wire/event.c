#include "wire/event.h"

#include <string.h>

static const struct {
	uint16_t kind;
	const char *name, *doc;
} kind_table[] = {
#define KIND(number, NAME, name, doc) { (number), (name), (doc) },
#include "event_names.inc"
#undef KIND
};

const char *event_kind_name(uint16_t kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kind_table); i++)
		if (kind_table[i].kind == kind)
			return kind_table[i].name;
	return NULL;
}

const char *event_kind_doc(uint16_t kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kind_table); i++)
		if (kind_table[i].kind == kind)
			return kind_table[i].doc;
	return NULL;
}

bool event_kind_find(const char *name, uint16_t *out)
{
	for (size_t i = 0; i < ARRAY_LEN(kind_table); i++)
		if (!strcmp(kind_table[i].name, name)) {
			*out = kind_table[i].kind;
			return true;
		}
	return false;
}

size_t event_kind_count(void)
{
	return ARRAY_LEN(kind_table);
}

uint16_t event_kind_at(size_t i)
{
	return kind_table[i].kind;
}
