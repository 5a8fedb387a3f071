/* A choice of hunks, as users and scripts write it: refused with a reason, or numbers in order, each once, and ranges that do
 * not overlap. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/workspace/pick.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pick p = PICK_INIT;
	struct err err = ERR_INIT;
	if (size > 4096)
		return 0;
	CLEANUP(free_ptr) char *word = mem_strndup((const char *)data, size);
	if (pick_hunks(&p, word, &err) < 0) {
		if (err.code != ERR_USAGE || !err.text[0])
			abort();
	} else {
		const struct pick_file *f = &p.file[0];
		if (p.nr != 1 || !*f->path || (!f->nr && !f->nr_ranges && !f->whole))
			abort();
		for (size_t i = 0; i < f->nr; i++)
			if (!f->hunk[i] || (i && f->hunk[i] <= f->hunk[i - 1]))
				abort();
	}
	pick_release(&p);
	return 0;
}
