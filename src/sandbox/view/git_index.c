#include "sandbox/view/git_index.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/view/git_config.h"

enum {
	INDEX_MAX = 512 << 20,
	FLAG_EXTENDED = 0x4000,
	STAT_LEN = 40,
	SHA1_BYTES = 20,
	SHA256_BYTES = 32
};

static uint32_t git_index_be32(const char *p)
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

static size_t name_len(enum git_format format)
{
	return format == GIT_SHA256 ? SHA256_BYTES : SHA1_BYTES;
}

/* The extension that names the shared index. */
static void git_index_find_shared(const char *in, size_t len, size_t pos, enum git_format format,
				  struct buf *out)
{
	while (len - pos >= 8 + name_len(format)) {
		size_t n = git_index_be32(in + pos + 4);
		if (!memcmp(in + pos, "link", 4) && n >= name_len(format))
			hex_append(out, (const uint8_t *)in + pos + 8, name_len(format));
		pos += 8;
		if (n > len - pos)
			return;
		pos += n;
	}
}

bool git_index_each(const char *in, size_t len, enum git_format format,
		    void (*fn)(void *self, const struct git_entry *e), void *self,
		    struct buf *shared)
{
	if (len < 12 || memcmp(in, "DIRC", 4) != 0)
		return false;
	uint32_t version = git_index_be32(in + 4), nr = git_index_be32(in + 8);
	size_t pos = 12, flags_at = STAT_LEN + name_len(format);
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	if (version < 2 || version > 4)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		size_t start = pos, drop = path.len;
		if (len - pos < flags_at + 2)
			return false;
		unsigned flags = (unsigned)(unsigned char)in[pos + flags_at] << 8 |
				 (unsigned char)in[pos + flags_at + 1];
		size_t head = flags_at + 2 + (flags & FLAG_EXTENDED ? 2U : 0U);
		pos += head;
		if (pos > len ||
		    (version == 4 && (!drop_count(in, len, &pos, &drop) || drop > path.len)))
			return false;
		const char *end = memchr(in + pos, 0, len - pos);
		if (!end)
			return false;
		path.len -= drop;
		buf_append(&path, in + pos, (size_t)(end - in) - pos);
		const struct git_entry e = { .head = in + start,
					     .head_len = head,
					     .path = buf_cstr(&path),
					     .len = path.len };
		fn(self, &e);
		pos = (size_t)(end - in) + 1;
		if (version < 4) /* entries are padded to eight bytes with one to eight zeros */
			pos = start + ((pos - 1 - start + 8) & ~(size_t)7);
		if (pos > len)
			return false;
	}
	if (shared)
		git_index_find_shared(in, len, pos, format, shared);
	return true;
}

bool git_index_of(const struct git_place *p, void (*fn)(void *self, const struct git_entry *e),
		  void *self)
{
	CLEANUP(free_ptr) char *path = path_join(p->dir, "index");
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	CLEANUP(buf_release) struct buf shared = BUF_INIT;
	if (!git_read_file(path, &in, INDEX_MAX) ||
	    !git_index_each(in.data, in.len, p->format, fn, self, &shared))
		return false;
	if (!shared.len)
		return true;
	CLEANUP(free_ptr) char *other = mem_printf("%s/sharedindex.%s", p->dir, shared.data);
	return git_read_file(other, &in, INDEX_MAX) &&
	       git_index_each(in.data, in.len, p->format, fn, self, NULL);
}

static void no_entry(void *self, const struct git_entry *e)
{
	(void)self;
	(void)e;
}

bool git_index_split(const struct git_place *p)
{
	CLEANUP(free_ptr) char *path = path_join(p->dir, "index");
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	CLEANUP(buf_release) struct buf shared = BUF_INIT;
	return git_read_file(path, &in, INDEX_MAX) &&
	       git_index_each(in.data, in.len, p->format, no_entry, NULL, &shared) && shared.len;
}
