/* Frames as text, a line each, compared with tests/corpus/frames/NAME.txt. GOLDEN=1 in the
 * environment writes the file anew; look at the difference. */
#ifndef FRAMES_GOLDEN_H
#define FRAMES_GOLDEN_H

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tap.h"

static void frames_golden(const char *name, const struct buf *got)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf want = BUF_INIT;
	CLEANUP(free_ptr) char *path = mem_printf("tests/corpus/frames/%s.txt", name);
	if (getenv("GOLDEN") && file_write_atomic(path, got->data, got->len, 0644, &err) < 0)
		printf("# %s\n", err.text);
	if (file_read(path, &want, 1 << 20, &err) < 0)
		printf("# %s\n", err.text);
	const char *g = buf_cstr(got), *w = buf_cstr(&want);
	if (ok(*g && !strcmp(g, w), "the frames equal %s", path))
		return;
	while (*g || *w) {
		int a = (int)strcspn(g, "\n"), b = (int)strcspn(w, "\n");
		if (a != b || strncmp(g, w, (size_t)a) != 0)
			printf("#   got  %.*s\n#   want %.*s\n", a, g, b, w);
		g += a + (g[a] != 0);
		w += b + (w[b] != 0);
	}
}

#endif
