/* Decides whether a measurement reaches its target, or is undecided on this host: a difference
 * below its own noise, or a floor that varies more than the compared value. An undecided line
 * ends with neither PASS nor FAIL. */
#ifndef TESTS_BENCH_VERDICT_H
#define TESTS_BENCH_VERDICT_H

#include <stdbool.h>

/* A slower fdatasync belongs to a disk that others use; the rest after subtracting it is their
 * noise. */
enum { BENCH_SYNC_MAX_US = 1000 };

/* Fewer pairs than these do not say whether they agree. */
enum { BENCH_PAIRS_MIN = 3 };

/* The middle half of a series lies within half of its median. */
static inline bool bench_steady(double quarter, double median, double three_quarters)
{
	return median > 0 && three_quarters - quarter <= median / 2;
}

/* Ratios of pairs, of which each has a floor of its own. */
static inline bool bench_pairs_agree(int nr, double quarter, double median, double three_quarters)
{
	return nr >= BENCH_PAIRS_MIN && quarter > 0 &&
	       bench_steady(quarter, median, three_quarters);
}

static inline const char *bench_verdict(bool good, bool measurable)
{
	return !measurable ? "not measurable here" : good ? "PASS" : "FAIL";
}

#endif
