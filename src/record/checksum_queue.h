/* Pages of the write-ahead log and the checksums that they must have in the main file
 * (read/page_checksum.h).
 *
 * The recorder's own checkpoints write the checksum with the page. But any program that opens a
 * running session, your sqlite3 for one, may move pages from the log to the main file, and writes
 * no checksums. This queue remembers the content of each page in the log. When the log restarts,
 * each page of the main file that equals its copy in the log gets its checksum. The newest frame of
 * a page may never have been committed: then the log itself is asked (page_checksum_in_log). Any
 * other page keeps its checksum, so that verification reports it. One thread. */
#ifndef RECORD_CHECKSUM_QUEUE_H
#define RECORD_CHECKSUM_QUEUE_H

#include <stddef.h>

#include "record/read/page_checksum.h"

struct due_page {
	uint32_t nr; /* from 1; 0 = free */
	bool done;   /* it has its sum */
	uint8_t sum[SUMS_TAIL];
};
struct due {
	struct due_page *page; /* by number, open addressing */
	size_t nr, cap;
};

/* @page was written to the log, maybe by a transaction that is taken back then. NULL: its frame was
 * written, not what it is. */
void checksum_queue_logged(struct due *d, uint32_t nr, const uint8_t page[SUMS_PAGE]);
/* @page was written to the main file with its sum. */
void checksum_queue_summed(struct due *d, uint32_t nr, const uint8_t page[SUMS_PAGE]);
/* The next one behind @at (0 at first) without its sum; NULL: none. */
const struct due_page *checksum_queue_next(const struct due *d, size_t *at);
void checksum_queue_reset(struct due *d);
void checksum_queue_release(struct due *d);

#endif
