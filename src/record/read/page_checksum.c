#include "record/read/page_checksum.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "record/read/bitflip.h"

enum { LOG_HEADER = 32, TRIES = 5 };

static uint32_t be32_at(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static void page_checksum_sum_of(const uint8_t *bytes, size_t len, bool big, uint32_t sum[2])
{
	for (size_t i = 0; i < len; i += 8) {
		uint32_t a, b;
		memcpy(&a, bytes + i, sizeof(a));
		memcpy(&b, bytes + i + 4, sizeof(b));
		sum[0] += (big ? be32toh(a) : le32toh(a)) + sum[1];
		sum[1] += (big ? be32toh(b) : le32toh(b)) + sum[0];
	}
}

static void page_sum(const uint8_t *page, size_t len, uint32_t out[2])
{
	out[0] = out[1] = 0;
	page_checksum_sum_of(page, len - SUMS_TAIL, false, out);
	out[0] = htole32(out[0]);
	out[1] = htole32(out[1]);
}

void page_checksum_make_of(uint8_t *page, size_t len)
{
	uint32_t sum[2];
	page_sum(page, len, sum);
	memcpy(page + len - SUMS_TAIL, sum, SUMS_TAIL);
}

static bool page_checksum_hold_of(const uint8_t *page, size_t len)
{
	uint32_t sum[2];
	page_sum(page, len, sum);
	return !memcmp(page + len - SUMS_TAIL, sum, SUMS_TAIL);
}

void page_checksum_make(uint8_t page[SUMS_PAGE])
{
	page_checksum_make_of(page, SUMS_PAGE);
}

bool page_checksum_hold(const uint8_t page[SUMS_PAGE])
{
	return page_checksum_hold_of(page, SUMS_PAGE);
}

/* --- the main file ---------------------------------------------------------------------------- */

static bool page_holds(sums_read_fn *read, void *self, uint64_t page, size_t len, bool again,
		       uint8_t buf[SUMS_PAGE])
{
	static const struct timespec while_it_is_written = { .tv_nsec = 5000000 };
	for (int tries = 0; tries < (again ? TRIES : 1); tries++) {
		if (tries)
			nanosleep(&while_it_is_written, NULL);
		if (read(self, (page - 1) * len, buf, len) && page_checksum_hold_of(buf, len))
			return true;
	}
	return false;
}

/* Pages behind the first tell whether there are sums when the first, which should, is itself in
 * doubt. */
static bool others_hold(sums_read_fn *read, void *self, size_t len)
{
	static const uint8_t none[SUMS_TAIL];
	uint8_t page[SUMS_PAGE];
	int held = 0;
	for (uint64_t n = 2; n <= 4; n++)
		held += page_holds(read, self, n, len, false, page) &&
			memcmp(page + len - SUMS_TAIL, none, SUMS_TAIL) != 0;
	return held >= 2;
}

/* The page size that the header or, where that is damaged, the sums of others tell. */
static uint32_t page_checksum_size(sums_read_fn *read, void *self, const uint8_t page[SUMS_PAGE])
{
	uint32_t told = (uint32_t)page[16] << 8 | page[17];
	if ((told == SUMS_PAGE || told == SUMS_SMALL) && page_checksum_hold_of(page, told))
		return told;
	if (others_hold(read, self, SUMS_SMALL))
		return SUMS_SMALL;
	return told == SUMS_SMALL && !others_hold(read, self, SUMS_PAGE) ? SUMS_SMALL : SUMS_PAGE;
}

void page_checksum_look(sums_read_fn *read, sums_excused_fn *excused, void *self, uint64_t size,
			bool again, struct sums *out)
{
	uint8_t page[SUMS_PAGE];
	*out = (struct sums){ 0 };
	read(self, 0, page, sizeof(page));
	uint32_t len = out->page = page_checksum_size(read, self, page);
	bool first = page_checksum_hold_of(page, len);
	out->kept = (page[20] == SUMS_TAIL && first) || others_hold(read, self, len) ||
		    (page[20] == SUMS_TAIL && !memcmp(page, "SQLite format 3", 16));
	out->ended = page[18] != 2;
	out->pages = be32_at(page + 28);
	if (first || !out->kept) {
		out->cut = size < out->pages * len;
		out->more = size > out->pages * len;
	}
	uint64_t last = size / len + (size % len ? 1 : 0);
	for (uint64_t n = 1; out->kept && n <= last; n++)
		if (!page_holds(read, self, n, len, again, page) &&
		    !(excused && len == SUMS_PAGE && excused(self, n, page))) {
			out->bad++;
			out->first_bad = out->first_bad ? out->first_bad : n;
		}
}

static bool read_fd(void *self, uint64_t at, void *buf, size_t len)
{
	ssize_t n = pread(*(int *)self, buf, len, (off_t)at);
	if (n < (ssize_t)len)
		memset((char *)buf + (n > 0 ? n : 0), 0, len - (size_t)(n > 0 ? n : 0));
	return n == (ssize_t)len;
}

int page_checksum_look_file(const char *path, struct sums *out, uint64_t *size_out, struct err *err)
{
	struct stat st;
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "can't open session file '%s'", path);
	*size_out = (uint64_t)st.st_size;
	page_checksum_look(read_fd, NULL, &fd, *size_out, false, out);
	return 0;
}

/* --- the write-ahead log (SQLite's file format, section 4) ------------------------------------ */

struct log_walk {
	int fd;
	bool big;
	uint32_t sum[2];
	uint8_t salt[8];
};

static bool log_header(struct log_walk *w, const uint8_t h[LOG_HEADER])
{
	w->big = be32_at(h) & 1;
	w->sum[0] = w->sum[1] = 0;
	memcpy(w->salt, h + 16, sizeof(w->salt));
	page_checksum_sum_of(h, 24, w->big, w->sum);
	return (be32_at(h) & ~1U) == 0x377f0682 && be32_at(h + 8) == SUMS_PAGE &&
	       be32_at(h + 24) == w->sum[0] && be32_at(h + 28) == w->sum[1];
}

/* Does any frame behind @at belong to this run? */
static bool more_of_this_run(struct log_walk *w, uint64_t at, uint64_t size)
{
	for (; at + FRAME_HEADER <= size; at += FRAME) {
		uint8_t h[FRAME_HEADER];
		if (pread(w->fd, h, sizeof(h), (off_t)at) == sizeof(h) &&
		    !memcmp(h + 8, w->salt, sizeof(w->salt)))
			return true;
	}
	return false;
}

/* The offset of a byte in the frame at @at of which one or two bits are turned and nothing else is
 * wrong; 0 = it is not that. */
static uint64_t turned_in(const struct log_walk *w, const uint8_t *frame, uint64_t at,
			  const uint32_t before[2])
{
	int byte = bitflip_byte(frame, w->big, before, w->salt);
	return byte < 0 ? 0 : at + (uint64_t)byte;
}

/* Walks over the frames that count. */
static void walk_log(struct log_walk *w, uint64_t size, struct log_end *out)
{
	uint8_t frame[FRAME];
	for (uint64_t at = LOG_HEADER; at < size; at += FRAME) {
		ssize_t n = pread(w->fd, frame, sizeof(frame), (off_t)at);
		bool ours = n >= FRAME_HEADER && !memcmp(frame + 8, w->salt, sizeof(w->salt));
		out->bad_at = at;
		if (n < (ssize_t)sizeof(frame)) {
			out->why = "is truncated";
			return;
		}
		if (!ours) {
			out->turned_at = turned_in(w, frame, at, w->sum);
			out->why = out->turned_at || more_of_this_run(w, at + FRAME, size)
					   ? "is damaged"
					   : NULL;
			out->bad_at = out->why ? at : 0;
			out->left = size - at;
			return;
		}
		const uint32_t before[2] = { w->sum[0], w->sum[1] };
		page_checksum_sum_of(frame, 8, w->big, w->sum);
		page_checksum_sum_of(frame + FRAME_HEADER, SUMS_PAGE, w->big, w->sum);
		if (be32_at(frame + 16) != w->sum[0] || be32_at(frame + 20) != w->sum[1]) {
			out->why = "is damaged";
			out->turned_at = turned_in(w, frame, at, before);
			return;
		}
		out->bad_at = 0;
		out->frames++;
		out->end = at + FRAME;
	}
}

int page_checksum_look_log(const char *path, struct log_end *out, struct err *err)
{
	CLEANUP(free_ptr) char *name = mem_printf("%s-wal", path);
	struct log_walk w = { .fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) };
	struct stat st;
	uint8_t header[LOG_HEADER];
	*out = (struct log_end){ 0 };
	if (w.fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, "can't open '%s'", name);
	out->there = fstat(w.fd, &st) == 0 && st.st_size > 0;
	if (out->there) {
		ssize_t n = pread(w.fd, header, sizeof(header), 0);
		out->salt = n >= 20 ? be32_at(header + 16) : 0;
		out->end = LOG_HEADER;
		if (n < (ssize_t)sizeof(header) || !log_header(&w, header)) {
			out->bad_at = 1;
			out->why = n < (ssize_t)sizeof(header) ? "is truncated" : "is damaged";
			out->was_synced = st.st_size >= FRAME;
		} else {
			walk_log(&w, (uint64_t)st.st_size, out);
		}
	}
	close(w.fd);
	return 0;
}

/* --- pages in the log ------------------------------------------------------------------------- */

int page_checksum_log_pages(const char *path, struct log_pages *out, struct err *err)
{
	struct log_end log;
	uint8_t h[FRAME_HEADER];
	size_t whole = 0; /* of transactions that have ended */
	*out = (struct log_pages){ 0 };
	if (page_checksum_look_log(path, &log, err) < 0)
		return -1;
	CLEANUP(free_ptr) char *name = mem_printf("%s-wal", path);
	CLEANUP(fd_close) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	for (uint64_t i = 0, at = LOG_HEADER; fd >= 0 && i < log.frames; i++, at += FRAME) {
		if (pread(fd, h, sizeof(h), (off_t)at) != sizeof(h))
			break;
		GROW(out->page, out->nr, out->cap);
		out->page[out->nr++] = (struct log_page){ be32_at(h), at + FRAME_HEADER };
		if (be32_at(h + 4)) /* it ends one */
			whole = out->nr;
	}
	out->nr = whole;
	return 0;
}

bool page_checksum_in_log(const char *path, const struct log_pages *in, uint64_t nr,
			  const uint8_t bytes[SUMS_PAGE])
{
	uint8_t page[SUMS_PAGE];
	CLEANUP(free_ptr) char *name = mem_printf("%s-wal", path);
	CLEANUP(fd_close) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	for (size_t i = in->nr; fd >= 0 && i-- > 0;)
		if (in->page[i].nr == nr &&
		    pread(fd, page, sizeof(page), (off_t)in->page[i].at) == sizeof(page) &&
		    !memcmp(page, bytes, SUMS_PAGE - SUMS_TAIL))
			return true;
	return false;
}

void log_pages_release(struct log_pages *p)
{
	free(p->page);
	*p = (struct log_pages){ 0 };
}
