/* Is each byte of the file what was put there? What the chain proves is what is read through SQL;
 * this is about all the rest too: free pages, the space between rows, indexes, and what of the
 * write-ahead log is not in the main file yet.
 *
 * 1. The last 8 bytes of each page (SQLite keeps them free: byte 20 of the file is 8) are a sum
 *    over those before them, that of SQLite's own checksum extension (cksumvfs): two words s1, s2,
 *    little-endian; for each pair of words a, b of the page s1 += a + s2, s2 += b + s1. A page of
 *    zeros has the sum 0. It finds accidents; the chain finds tampering.
 * 2. Only the recorder writes sums. Another program that moves pages out of the log does not. Of a
 *    running session the recorder puts them in when its log begins anew (record/checksum_queue.h);
 *    until then such a page is what the log still has. Where the log of a killed session was
 *    emptied nobody does: pages are held against their sums if the file was ended (byte 18 is 1),
 *    if its writer lives or if its log holds something.
 * 3. A frame of the log is proven by SQLite's own sums. What stands behind the newest ones, left
 *    over from before or zeros (room for more), means nothing; where the newest ones end says
 *    FILE-lease (lease.h), which the recorder keeps beside a file it writes.
 * Reading only, any thread; a live file is read again where its writer may have been in between. */
#ifndef RECORD_READ_PAGE_CHECKSUM_H
#define RECORD_READ_PAGE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { SUMS_PAGE = 4096, SUMS_SMALL = 1024 /* of short ended files */, SUMS_TAIL = 8 };

void page_checksum_make(uint8_t page[SUMS_PAGE]);
void page_checksum_make_of(uint8_t *page, size_t len); /* of another size: a multiple of 8 */
bool page_checksum_hold(const uint8_t page[SUMS_PAGE]);

/* Reads @len bytes at @at; false: the file has fewer (missing bytes read as zeros). */
typedef bool sums_read_fn(void *self, uint64_t at, void *buf, size_t len);

struct sums {
	bool kept;		 /* its pages have sums */
	uint32_t page;		 /* bytes of each */
	bool ended;		 /* the header is that of a file after a clean end */
	uint64_t pages;		 /* that the header names */
	uint64_t bad, first_bad; /* pages whose sum does not hold; the first, from 1 */
	bool cut;		 /* the file is shorter than its header says */
	bool more;		 /* ... or longer */
};

/* @size: of the main file, in bytes. @again: a writer may be at it. @excused (may be NULL) with
 * @read's self: that page, whose sum does not hold, is right all the same. */
typedef bool sums_excused_fn(void *self, uint64_t page, const uint8_t bytes[SUMS_PAGE]);
void page_checksum_look(sums_read_fn *read, sums_excused_fn *excused, void *self, uint64_t size,
			bool again, struct sums *out);
/* The same for a file that nobody has open in this process. */
NODISCARD int page_checksum_look_file(const char *path, struct sums *out, uint64_t *size_out,
				      struct err *err);

/* A page of the log. */
struct log_page {
	uint32_t nr;
	uint64_t at; /* of its bytes */
};
struct log_pages {
	struct log_page *page;
	size_t nr, cap;
};

struct log_end {
	bool there;	 /* it holds something */
	uint64_t frames; /* that count */
	uint64_t end;	 /* offset behind them */
	uint32_t salt;	 /* of this run through the log */
	uint64_t bad_at; /* offset of the first thing that is damaged, 0 = none (1 = the header) */
	const char *why; /* what is wrong there; NULL = nothing */
	/* offset of a byte of it that has a bit turned, of one or two that are all that is wrong; 0
	 * = it is not that */
	uint64_t turned_at;
	/* it is the header, with frames behind it, which are not written before it is on the
	 * disk */
	bool was_synced;
	uint64_t left; /* bytes behind, of an earlier run */
};

/* The write-ahead log of the session file at @path. */
NODISCARD int page_checksum_look_log(const char *path, struct log_end *out, struct err *err);
/* The pages of complete transactions in the log; release it. Is @bytes, without its sum, such a
 * page @nr? */
NODISCARD int page_checksum_log_pages(const char *path, struct log_pages *out, struct err *err);
bool page_checksum_in_log(const char *path, const struct log_pages *in, uint64_t nr,
			  const uint8_t bytes[SUMS_PAGE]);
void log_pages_release(struct log_pages *p);

#endif
