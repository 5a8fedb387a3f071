#include "record/read/schema.h"

/* Paths are relative to the top of the tree, where make runs. */
#define EMBED(symbol, path)                                                                        \
	__asm__(".pushsection .rodata\n" #symbol ":\n.incbin \"" path                              \
		"\"\n.byte 0\n.popsection\n");                                                     \
	extern const char symbol[] __attribute__((visibility("hidden")))

EMBED(schema_0001, "schema/0001_event.sql");
EMBED(schema_view_text, "schema/views.sql");
EMBED(schema_earlier_text, "schema/earlier.sql");

const char *schema_tables(void)
{
	return schema_0001;
}

const char *schema_views(void)
{
	return schema_view_text;
}

const char *schema_earlier(void)
{
	return schema_earlier_text;
}
