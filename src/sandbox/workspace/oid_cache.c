/* The cache of names of host files. The file: 16 bytes "sandglass-oids 1", then records of 68
 * bytes: five numbers of 8 bytes little-endian (device, inode, size, mtime, ctime), 20 bytes name,
 * 8 bytes check (the beginning of H over the 60 before). A torn last record is cut off; a record
 * with a wrong check ends what is read. Two processes that append at once write whole records
 * (O_APPEND, one write). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/workspace/base.h"

enum { HEAD = 16, RECORD = 68, KEPT = 60, BATCH = 256, FILE_MAX = 512 << 20 };
static const char oid_cache_magic[] = "sandglass-oids 1";

struct known {
	struct oid_key key;
	struct object_id id;
};

struct oid_cache {
	struct known *item;
	size_t nr, cap, slots;
	uint32_t *slot; /* index + 1 */
	int fd;
	struct buf out; /* records not yet written */
};

static size_t oid_cache_place(const struct oid_cache *c, const struct oid_key *k)
{
	uint64_t h = (k->ino ^ k->dev << 32 ^ (uint64_t)k->mtime_ns) * 0x9e3779b97f4a7c15u;
	size_t at = (size_t)(h >> 20) & (c->slots - 1);
	while (c->slot[at] && memcmp(&c->item[c->slot[at] - 1].key, k, sizeof(*k)) != 0)
		at = (at + 1) & (c->slots - 1);
	return at;
}

static void oid_cache_insert(struct oid_cache *c, const struct oid_key *k,
			     const struct object_id *id)
{
	size_t at = oid_cache_place(c, k);
	if (c->slot[at]) {
		c->item[c->slot[at] - 1].id = *id;
		return;
	}
	GROW(c->item, c->nr, c->cap);
	c->item[c->nr] = (struct known){ *k, *id };
	c->slot[at] = (uint32_t)++c->nr;
	if (c->nr * 2 <= c->slots)
		return;
	free(c->slot);
	c->slots *= 2;
	c->slot = mem_calloc(c->slots, sizeof(*c->slot));
	for (size_t i = 0; i < c->nr; i++)
		c->slot[oid_cache_place(c, &c->item[i].key)] = (uint32_t)i + 1;
}

static void oid_cache_pack(struct buf *out, const struct oid_key *k, const struct object_id *id)
{
	struct hash h;
	size_t at = out->len;
	buf_u64le(out, k->dev);
	buf_u64le(out, k->ino);
	buf_u64le(out, k->size);
	buf_u64le(out, (uint64_t)k->mtime_ns);
	buf_u64le(out, (uint64_t)k->ctime_ns);
	buf_append(out, id->b, sizeof(id->b));
	hash_of(out->data + at, KEPT, &h);
	buf_append(out, h.b, RECORD - KEPT);
}

static bool oid_cache_unpack(const char *p, struct oid_key *k, struct object_id *id)
{
	struct hash h;
	hash_of(p, KEPT, &h);
	if (memcmp(h.b, p + KEPT, RECORD - KEPT) != 0)
		return false;
	*k = (struct oid_key){ get_u64le(p), get_u64le(p + 8), get_u64le(p + 16),
			       (int64_t)get_u64le(p + 24), (int64_t)get_u64le(p + 32) };
	memcpy(id->b, p + 40, sizeof(id->b));
	return true;
}

static void oid_cache_load(struct oid_cache *c)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	size_t good = 0;
	if (fd_read_all(c->fd, &b, FILE_MAX, &err) == 0 && b.len >= HEAD &&
	    !memcmp(b.data, oid_cache_magic, HEAD)) {
		struct oid_key k;
		struct object_id id;
		for (good = HEAD;
		     b.len - good >= RECORD && oid_cache_unpack(b.data + good, &k, &id);
		     good += RECORD)
			oid_cache_insert(c, &k, &id);
	}
	if (good == b.len && good)
		return;
	bool begun = ftruncate(c->fd, (off_t)good) == 0 &&
		     (good || fd_write_all(c->fd, oid_cache_magic, HEAD, &err) == 0);
	if (!begun)
		fd_close(&c->fd); /* serves from memory */
}

struct oid_cache *oid_cache_open(const char *path)
{
	struct oid_cache *c = NEW(struct oid_cache);
	c->slots = 1024;
	c->slot = mem_calloc(c->slots, sizeof(*c->slot));
	c->fd = -1;
	if (path)
		c->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;
	if (c->fd >= 0 && (fstat(c->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()))
		fd_close(&c->fd);
	if (c->fd >= 0)
		oid_cache_load(c);
	return c;
}

static void oid_cache_flush(struct oid_cache *c)
{
	struct err err = ERR_INIT;
	if (c->fd >= 0 && c->out.len && fd_write_all(c->fd, c->out.data, c->out.len, &err) < 0)
		fd_close(&c->fd);
	buf_reset(&c->out);
}

void oid_cache_close(struct oid_cache **cp)
{
	struct oid_cache *c = *cp;
	if (!c)
		return;
	oid_cache_flush(c);
	fd_close(&c->fd);
	free(c->item);
	free(c->slot);
	buf_release(&c->out);
	free(c);
	*cp = NULL;
}

bool oid_cache_get(const struct oid_cache *c, const struct oid_key *k, struct object_id *out)
{
	size_t at = oid_cache_place(c, k);
	if (!c->slot[at])
		return false;
	*out = c->item[c->slot[at] - 1].id;
	return true;
}

void oid_cache_put(struct oid_cache *c, const struct oid_key *k, const struct object_id *id)
{
	oid_cache_insert(c, k, id);
	oid_cache_pack(&c->out, k, id);
	if (c->out.len >= (size_t)BATCH * RECORD)
		oid_cache_flush(c);
}

size_t oid_cache_count(const struct oid_cache *c)
{
	return c->nr;
}
