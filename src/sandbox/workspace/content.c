#include "sandbox/workspace/content.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/sha1.h"

enum { PIECE = 256 << 10, TRIES = 2 };

static ssize_t read_at(int fd, void *to, size_t len, uint64_t off)
{
	ssize_t n;
	do
		n = pread(fd, to, len, (off_t)off);
	while (n < 0 && errno == EINTR);
	return n;
}

/* The first byte from @off on that is not in a hole, at most @size. */
static uint64_t content_hole_end(int fd, uint64_t off, uint64_t size)
{
	off_t at = lseek(fd, (off_t)off, SEEK_DATA);
	if (at < 0)
		return errno == ENXIO ? size : off;
	return (uint64_t)at < size ? (uint64_t)at : size;
}

static void add_zeros(struct sha1 *s, uint64_t nr)
{
	static const char zeros[64 << 10];
	for (; nr > sizeof(zeros); nr -= sizeof(zeros))
		sha1_add(s, zeros, sizeof(zeros));
	sha1_add(s, zeros, (size_t)nr);
}

/* Reads exactly @st->st_size bytes into the hash and, if @keep, into @bytes. False when there is
 * less or it cannot be read. Holes are hashed, not read: the kernel would make a page of zeros for
 * each 4 KiB of them. */
static bool content_read_all(int fd, const struct stat *st, bool keep, struct buf *bytes,
			     struct object_id *oid)
{
	uint64_t size = (uint64_t)st->st_size;
	bool sparse = !keep && size > PIECE && (uint64_t)st->st_blocks < size / 512;
	struct sha1 s;
	char head[32];
	sha1_begin(&s);
	sha1_add(&s, head, object_header(OBJECT_BLOB, size, head));
	buf_reset(bytes);
	buf_reserve(bytes, keep && size > PIECE ? (size_t)size
			   : size < PIECE	? (size_t)size
						: PIECE);
	for (uint64_t off = 0; off < size;) {
		uint64_t left = size - off;
		size_t at = keep ? bytes->len : 0;
		uint64_t data = sparse ? content_hole_end(fd, off, size) : off;
		if (data > off) {
			add_zeros(&s, data - off);
			off = data;
			continue;
		}
		ssize_t n = read_at(fd, bytes->data + at, left < PIECE ? (size_t)left : PIECE, off);
		if (n <= 0)
			return false;
		sha1_add(&s, bytes->data + at, (size_t)n);
		off += (uint64_t)n;
		bytes->len = at + (size_t)n;
	}
	if (!keep)
		bytes->len = 0;
	if (bytes->data)
		bytes->data[bytes->len] = 0;
	sha1_end(&s, oid->b);
	return true;
}

static bool same_moment(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

void content_file(int fd, struct content_rule rule, struct ws_state *out, struct buf *bytes,
		  struct stat *st_out)
{
	struct stat st, after;
	memset(&st, 0, sizeof(st));
	*out = (struct ws_state){ .kind = WS_FILE, .nlink = 1 };
	buf_reset(bytes);
	bool good = false, still = false;
	for (int i = 0; i < TRIES && !still; i++) {
		if (fstat(fd, &st) < 0)
			break;
		bool keep = !rule.hash_only && (uint64_t)st.st_size <= rule.keep_max;
		out->flags = keep ? 0 : WS_HASH_ONLY;
		good = content_read_all(fd, &st, keep, bytes, &out->oid);
		still = good && fstat(fd, &after) == 0 && same_moment(&st, &after);
	}
	out->mode = (uint16_t)(st.st_mode & 07777);
	out->nlink = (uint32_t)st.st_nlink;
	out->size = (uint64_t)st.st_size;
	if (!good) {
		out->flags = WS_UNREADABLE;
		out->oid = (struct object_id){ 0 };
		buf_reset(bytes);
	} else if (!still) {
		out->flags |= WS_TORN;
	}
	*st_out = st;
}

void content_link(int dir, const char *name, struct ws_state *out, struct buf *bytes)
{
	*out = (struct ws_state){ .kind = WS_LINK, .nlink = 1, .mode = 0777 };
	buf_reset(bytes);
	buf_reserve(bytes, PATH_MAX);
	ssize_t n = readlinkat(dir, name, bytes->data, PATH_MAX);
	if (n < 0) {
		out->flags = WS_UNREADABLE;
		return;
	}
	bytes->len = (size_t)n;
	bytes->data[n] = 0;
	out->size = (uint64_t)n;
	object_name(OBJECT_BLOB, bytes->data, bytes->len, &out->oid);
}

void content_other(const struct stat *st, struct ws_state *out)
{
	*out = (struct ws_state){ .kind = (uint8_t)ws_kind_of(st->st_mode),
				  .nlink = 1,
				  .mode = (uint16_t)(st->st_mode & 07777) };
}
