/* Text of a sandbox in a pane: no row is wider than the pane, whatever the text. Also the progress that a command
 * prints. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ui/model/progress.h"
#include "ui/term/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct text *t)
{
	for (size_t i = 0; i < t->nr; i++) {
		int width = t->row[i].flush ? 0 : t->gutter;
		struct text_walk w = text_walk_row(&t->row[i]);
		struct glyph g;
		while (text_walk_next(&w, &g))
			width += g.width;
		if (width > t->width)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text t;
	int64_t done = -1, total = -1;
	if (size < 5 || size > 1 << 14)
		return 0;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	int gutter = data[0] % 12, width = gutter + 2 + data[1] % 120;
	size_t cut = (size_t)data[2] % (size - 4);
	text_init(&t, &a, width, gutter, data[3] & 1);
	text_begin(&t, 0, "+", data[3] & 2 ? TEXT_SOFT : SANITIZE_EXACT);
	text_feed(&t, data + 4, cut);
	text_feed(&t, data + 4 + cut, size - 4 - cut);
	text_end(&t);
	check(&t);
	size_t keep = data[3] >> 4;
	if (keep && keep < t.nr) {
		text_cut(&t, keep);
		if (t.nr != keep)
			abort();
		check(&t);
	}
	if (text_clamp(&t, (int64_t)data[0] * 100 - 50, 10) > t.nr)
		abort();
	CLEANUP(free_ptr) char *exact = mem_dup(data + 4, size - 4);
	if (progress_parse(exact, size - 4, &done, &total) && (done < 0 || total <= 0 || done > total))
		abort();
	return 0;
}
