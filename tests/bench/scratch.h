/* Where a bench keeps what it makes: in $TMPDIR, which tests/bench/run takes away whatever
 * becomes of the bench. */
#ifndef TESTS_BENCH_SCRATCH_H
#define TESTS_BENCH_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

/* A name for mkdtemp. */
static inline void scratch_name(char *out, size_t cap)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(out, cap, "%s/sandglass-bench-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
}

#endif
