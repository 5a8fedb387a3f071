#include "sandbox/view/masks_git.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/view/git_config.h"
#include "sandbox/view/git_index.h"
#include "sandbox/view/masks.h"

enum { INDEX_MAX = 512 << 20 };

struct tracked {
	struct strv path;   /* sorted by bytes, as the index is */
	const char *prefix; /* while it is read: those below it are kept, without it */
};

static int cmp_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A split index has no order. */
static void sort_paths(struct strv *v)
{
	struct strv sorted = STRV_INIT;
	bool good = true;
	for (size_t i = 1; i < v->nr && good; i++)
		good = strcmp(v->item[i - 1], v->item[i]) <= 0;
	if (good)
		return;
	qsort(v->item, v->nr, sizeof(*v->item), cmp_paths);
	for (size_t i = 0; i < v->nr; i++)
		strv_push(&sorted, v->item[i]);
	strv_release(v);
	*v = sorted;
}

static void keep_path(void *self, const struct git_entry *e)
{
	struct tracked *t = self;
	size_t n = strlen(t->prefix), skip = n ? n + 1 : 0;
	if (e->len <= skip || (n && (memcmp(e->path, t->prefix, n) != 0 || e->path[n] != '/')))
		return;
	strv_push_bytes(&t->path, e->path + skip, e->len - skip);
}

struct tracked *tracked_of(const struct git_place *p, const char *prefix)
{
	struct tracked *t = NEW(struct tracked);
	t->prefix = prefix;
	if (!git_index_of(p, keep_path, t)) {
		/* half an index would call tracked what it is not sure of */
		strv_release(&t->path);
		t->path = STRV_INIT;
	}
	sort_paths(&t->path);
	return t;
}

struct tracked *tracked_read(int dir)
{
	struct tracked *t = NEW(struct tracked);
	struct err ignored = ERR_INIT;
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	CLEANUP(fd_close)
	int fd = openat(dir, ".git/index", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	t->prefix = "";
	if (fd < 0 || fd_read_all(fd, &in, INDEX_MAX, &ignored) < 0 ||
	    !git_index_each(in.data, in.len, GIT_SHA1, keep_path, t, NULL)) {
		strv_release(&t->path);
		t->path = STRV_INIT;
	}
	return t;
}

struct tracked *tracked_none(void)
{
	return NEW(struct tracked);
}

void tracked_free(struct tracked **t)
{
	if (!*t)
		return;
	strv_release(&(*t)->path);
	free_ptr(t);
}

/* The first path that does not come before @key. */
static size_t lower_bound(const struct tracked *t, const char *key)
{
	size_t lo = 0, hi = t->path.nr;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (strcmp(t->path.item[mid], key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool tracked_has(const struct tracked *t, const char *path)
{
	size_t i = lower_bound(t, path);
	return i < t->path.nr && strcmp(t->path.item[i], path) == 0;
}

bool tracked_below(const struct tracked *t, const char *folder)
{
	CLEANUP(free_ptr) char *key = mem_printf("%s/", folder);
	size_t i = lower_bound(t, key), n = strlen(key);
	return i < t->path.nr && strncmp(t->path.item[i], key, n) == 0;
}

/* --- credentials in configuration and logs --- */

static bool secret_key(const char *line, size_t len)
{
	static const char *const keys[] = { "extraheader", "password",	      "passwd",
					    "token",	   "oauthtoken",      "secret",
					    "cookiefile",  "proxyauthmethod", "sslkey",
					    "smtppass" };
	size_t i = 0, n = 0;
	while (i < len && (line[i] == ' ' || line[i] == '\t'))
		i++;
	while (i + n < len && line[i + n] != '=' && line[i + n] != ' ' && line[i + n] != '\t')
		n++;
	for (size_t k = 0; k < ARRAY_LEN(keys); k++)
		if (n == strlen(keys[k]) && strncasecmp(line + i, keys[k], n) == 0)
			return true;
	return false;
}

bool masks_clean_config(const char *text, size_t len, struct buf *out)
{
	bool changed = false;
	for (size_t at = 0; at < len;) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t n = nl ? (size_t)(nl - text) - at + 1 : len - at;
		if (secret_key(text + at, n))
			changed = true;
		else
			changed |= git_clean_urls(text + at, n, out);
		at += n;
	}
	return changed;
}
