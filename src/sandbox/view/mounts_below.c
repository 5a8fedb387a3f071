#include "sandbox/view/mounts_below.h"

#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "sandbox/view/git_place.h"

enum { FILES_MAX = 200000, MOUNTS_MAX = 256 };
static const int64_t mounts_below_bytes_max = INT64_C(2) << 30;

/* The kernel writes space, tab, newline and backslash as \ooo. */
static void mounts_below_unescape(char *s)
{
	char *to = s;
	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = 0;
}

static bool is_small(const char *path)
{
	CLEANUP(free_ptr) char *top = mem_strdup(path);
	char *const paths[] = { top, NULL };
	FTS *f = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *e;
	int64_t files = 0, bytes = 0;
	while (f && files <= FILES_MAX && bytes <= mounts_below_bytes_max && (e = fts_read(f))) {
		files++;
		if (e->fts_info == FTS_F)
			bytes += e->fts_statp->st_size;
	}
	if (f)
		fts_close(f);
	return f && files <= FILES_MAX && bytes <= mounts_below_bytes_max;
}

static bool known_above(const struct strv *v, const char *path)
{
	for (size_t i = 0; i < v->nr; i++)
		if (git_below(path, v->item[i]))
			return true;
	return false;
}

/* Whichever lies above comes first. */
static int cmp_mounts(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	return strcmp(*x, *y);
}

void mounts_below(const char *dir, struct strv *copied, struct strv *left)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	CLEANUP(free_ptr) char *line = NULL;
	size_t cap = 0, n = strlen(dir);
	struct strv all = STRV_INIT, seen = STRV_INIT;
	while (f && all.nr < MOUNTS_MAX && getline(&line, &cap, f) > 0) {
		char *at = line;
		for (int field = 0; field < 4 && at; field++) {
			at = strchr(at, ' ');
			at += at != NULL;
		}
		char *end = at ? strchr(at, ' ') : NULL;
		if (!end)
			continue;
		*end = 0;
		mounts_below_unescape(at);
		if (!strncmp(at, dir, n) && at[n] == '/' && at[n + 1])
			strv_push(&all, at + n + 1);
	}
	if (f)
		fclose(f);
	if (all.nr)
		qsort(all.item, all.nr, sizeof(*all.item), cmp_mounts);
	for (size_t i = 0; i < all.nr; i++) {
		CLEANUP(free_ptr) char *path = mem_printf("%s/%s", dir, all.item[i]);
		struct stat st;
		if (known_above(&seen, all.item[i]) || stat(path, &st) < 0)
			continue;
		strv_push(&seen, all.item[i]);
		strv_push((S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) && is_small(path) ? copied
											 : left,
			  all.item[i]);
	}
	strv_release(&all);
	strv_release(&seen);
}
