/* Time. Wall time is for users, monotonic time for durations, seq for order; nothing is ever
 * sorted by wall time. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/buf.h"
#include "base/compat.h"

int64_t clock_wall_us(void); /* since 1970-01-01 UTC */
int64_t clock_mono_us(void); /* CLOCK_BOOTTIME */
/* as clock_mono_us without the time that the machine was asleep: for deadlines and budgets */
int64_t clock_awake_us(void);

/* "2026-11-21T14:32:07.123456Z" */
void clock_rfc3339(int64_t wall_us, struct buf *out);
/* "14:32:07" and "14:32:07 CET" in the local zone of that instant. */
void clock_local_hms(int64_t wall_us, bool zone, struct buf *out);
/* For who shows times for long: a zone file that was replaced meanwhile (/etc/localtime, or
 * TZ=:FILE) counts from now on; libc reads it once. Looks at most once a second. Processes of one
 * thread only: it sets TZ for a moment. */
void clock_zone_look(void);
/* "850ms", "6.1s", "3:12", "2h04m": short, one form everywhere. */
void clock_span(int64_t us, struct buf *out);
/* "500ms", "30s", "5m", "2h", "1d", or seconds as "1.5": fills *us_out. false if it is not a
 * time. */
bool clock_parse_span(const char *s, int64_t *us_out);

#endif
