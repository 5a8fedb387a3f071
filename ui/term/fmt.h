/* Numbers as users read them, one form everywhere. All append to a buffer or return arena text. */
#ifndef UI_FMT_H
#define UI_FMT_H

#include "base/buf.h"
#include "base/mem.h"

const char *fmt_money(struct arena *a, int64_t uusd); /* "$0.41", "$1.84"; less than 0: "$?" */
/* The same where a price may be unknown: "$?", "$0.41+?". */
const char *fmt_cost(struct arena *a, int64_t uusd, bool unknown);
const char *fmt_count(struct arena *a, int64_t n);	/* "212", "3.1k", "61k", "1.2M" */
const char *fmt_span_fine(struct arena *a, int64_t us); /* also "40ms", "7us" */
const char *fmt_span(struct arena *a, int64_t us); /* "0.1s", "6.1s", "0:41", "3:12", "2h04m" */
/* "0:41", "12:05", "2h04m": for running times */
const char *fmt_age(struct arena *a, int64_t us);
const char *fmt_bytes(struct arena *a, int64_t n);	    /* "512", "4.0K", "16M" */
const char *fmt_hms(struct arena *a, int64_t wall_us);	    /* "14:32:07" in the local zone */
const char *fmt_hms_zone(struct arena *a, int64_t wall_us); /* "14:32:07 CET" */
const char *fmt_zone(struct arena *a, int64_t wall_us); /* "times in CET", for a screen of many */
/* "one file", "3 files": @one and @many are the nouns. */
const char *fmt_plural(struct arena *a, int64_t n, const char *one, const char *many);
/* argv as a user would type it: words that need it in single quotes, bytes unchanged. */
void fmt_argv(const struct strv *argv, struct buf *out);
/* "rows 8-14 of 1001" of a list that shows @rows from @first (0 the first) on; NULL when all are
 * seen. */
const char *fmt_seen(struct arena *a, size_t first, size_t rows, size_t nr);

#endif
