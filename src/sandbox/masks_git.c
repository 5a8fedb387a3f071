#include "sandbox/masks_git.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/masks.h"

enum { INDEX_MAX = 512 << 20, FLAG_EXTENDED = 0x4000 };
static const size_t ENTRY_HEAD = 62;

struct tracked {
	struct strv path; /* sorted by bytes, as the index is */
};

static uint32_t be32(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;
	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/* Version 4: the number of bytes to drop from the previous path, in git's variable length form. */
static bool drop_count(const char *in, size_t len, size_t *pos, size_t *out)
{
	size_t n = 0;
	for (int i = 0; i < 9 && *pos < len; i++) {
		unsigned char c = (unsigned char)in[(*pos)++];
		n = i ? ((n + 1) << 7) + (c & 127u) : (c & 127u);
		if (!(c & 128)) {
			*out = n;
			return true;
		}
	}
	return false;
}

static bool entries(struct tracked *t, const char *in, size_t len)
{
	if (len < 12 || memcmp(in, "DIRC", 4) != 0)
		return false;
	uint32_t version = be32(in + 4), nr = be32(in + 8);
	size_t pos = 12;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	if (version < 2 || version > 4)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		size_t start = pos, drop = path.len;
		if (len - pos < ENTRY_HEAD)
			return false;
		unsigned flags = (unsigned)(unsigned char)in[pos + 60] << 8 | (unsigned char)in[pos + 61];
		pos += ENTRY_HEAD + (flags & FLAG_EXTENDED ? 2U : 0U);
		if (pos > len || (version == 4 && (!drop_count(in, len, &pos, &drop) || drop > path.len)))
			return false;
		const char *end = memchr(in + pos, 0, len - pos);
		if (!end)
			return false;
		path.len -= drop;
		buf_append(&path, in + pos, (size_t)(end - in) - pos);
		strv_push_bytes(&t->path, path.data, path.len);
		pos = (size_t)(end - in) + 1;
		if (version < 4) /* entries are padded to eight bytes with one to eight zeros */
			pos = start + ((pos - 1 - start + 8) & ~(size_t)7);
		if (pos > len)
			return false;
	}
	return true;
}

struct tracked *tracked_read(int dir)
{
	struct tracked *t = NEW(struct tracked);
	struct err ignored = ERR_INIT;
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	CLEANUP(fd_close) int fd = openat(dir, ".git/index", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fd_read_all(fd, &in, INDEX_MAX, &ignored) < 0 || !entries(t, in.data, in.len)) {
		/* half an index would call tracked what it is not sure of */
		strv_release(&t->path);
		t->path = STRV_INIT;
	}
	return t;
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
	CLEANUP(free_ptr) char *key = xasprintf("%s/", folder);
	size_t i = lower_bound(t, key), n = strlen(key);
	return i < t->path.nr && strncmp(t->path.item[i], key, n) == 0;
}

/* --- credentials in configuration and logs --- */

static bool secret_key(const char *line, size_t len)
{
	static const char *const keys[] = { "extraheader", "password",	 "passwd",	    "token",  "oauthtoken",
					    "secret",	   "cookiefile", "proxyauthmethod", "sslkey", "smtppass" };
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

/* scheme://user:password@host and scheme://token@host lose what stands before the '@'; a bare ssh user stays. */
static bool clean_urls(const char *line, size_t len, struct buf *out)
{
	bool changed = false;
	size_t from = 0;
	for (;;) {
		const char *at = memmem(line + from, len - from, "://", 3);
		if (!at) {
			buf_append(out, line + from, len - from);
			return changed;
		}
		size_t host = (size_t)(at - line) + 3, end = host;
		const char *user_end = NULL;
		while (end < len && !strchr("/ \t\"'>", line[end])) {
			if (line[end] == '@')
				user_end = line + end;
			end++;
		}
		bool ssh = at - line >= 3 && strncmp(at - 3, "ssh", 3) == 0;
		buf_append(out, line + from, host - from);
		from = host;
		if (user_end && !(ssh && !memchr(line + host, ':', (size_t)(user_end - line) - host))) {
			from = (size_t)(user_end - line) + 1;
			changed = true;
		}
	}
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
			changed |= clean_urls(text + at, n, out);
		at += n;
	}
	return changed;
}
