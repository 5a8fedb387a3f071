/* A tree object of a foreign recording, as the console reads it: entries inside its bytes, in the order of their
 * names, each found by its name. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ui/rows/gittree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tree_entries e = { 0 };
	buf_append(&e.raw, size ? (const char *)data : "", size);
	tree_parse(&e);
	const char *end = e.raw.data + e.raw.len;
	if (e.nr * 22 > size) /* blank, NUL and the id */
		abort();
	for (size_t i = 0; i < e.nr; i++) {
		const struct tree_entry *en = &e.entry[i], *found = tree_named(&e, en->name, en->len);
		if (en->name < e.raw.data || en->name + en->len + 21 > end || en->name[en->len])
			abort();
		if ((i && tree_entry_cmp(&e.entry[i - 1], en) > 0) || !found || tree_entry_cmp(found, en) != 0)
			abort();
	}
	tree_entries_release(&e);
	return 0;
}
