/* Pages that stand in the write-ahead log, and the sums that they must have in the main file
 * (read/sums.h).
 *
 * The recorder's own checkpoints write the sum with the page. But any program that opens a running
 * session may move pages from the log to the main file, a person's sqlite3 for one, and that writes
 * none. So it is kept here what each page of the log is; when the log begins anew, pages that are
 * in the main file as the log had them get their sums. The newest frame of a page may be one that
 * was never committed: then the log itself is asked (page_checksum_in_log). A page that is anything
 * else keeps what it has, and is found. One thread. */
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
