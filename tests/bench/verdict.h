/* Whether a figure reaches what it should, or says nothing on this machine: a difference below its own noise, a floor
 * that moves more than what is held against it. Then the line ends with neither PASS nor FAIL. */
#ifndef TESTS_BENCH_VERDICT_H
#define TESTS_BENCH_VERDICT_H

#include <stdbool.h>

/* fdatasync beyond this belongs to a disk that others use; what is left after it is taken off is their noise. */
enum { BENCH_SYNC_MAX_US = 1000 };

/* The middle half of a series lies within half of its median. */
static inline bool bench_steady(double quarter, double median, double three_quarters)
{
	return median > 0 && three_quarters - quarter <= median / 2;
}

static inline const char *bench_verdict(bool good, bool measurable)
{
	return !measurable ? "not measurable here" : good ? "PASS" : "FAIL";
}

#endif
