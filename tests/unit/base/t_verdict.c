/* When a measurement passes, fails, or says nothing: tests/bench/verdict.h, with series that are made here. */
#include "tests/bench/verdict.h"

#include <stdlib.h>

#include "tap.h"

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double at(const double *v, int nr, int percent)
{
	double sorted[16];
	for (int i = 0; i < nr; i++)
		sorted[i] = v[i];
	qsort(sorted, (size_t)nr, sizeof(*sorted), by_size);
	return sorted[(nr - 1) * percent / 100];
}

static bool steady(const double *v, int nr)
{
	return bench_steady(at(v, nr, 25), at(v, nr, 50), at(v, nr, 75));
}

static bool agree(const double *v, int nr)
{
	return bench_pairs_agree(nr, at(v, nr, 25), at(v, nr, 50), at(v, nr, 75));
}

static void floors(void)
{
	const double quiet[] = { 500, 510, 490, 505, 495, 500, 520, 480 };
	const double one_off[] = { 500, 510, 490, 505, 9000, 500, 520, 480 };
	const double restless[] = { 500, 2000, 450, 3000, 600, 2500, 550, 1800 };
	const double nothing[] = { 0, 0, 0, 0 };
	ok(steady(quiet, 8), "a floor that holds still");
	ok(steady(one_off, 8), "one neighbour's moment does not count");
	ok(!steady(restless, 8), "a floor that moves by more than half of itself");
	ok(!steady(nothing, 4), "nothing measured is not steady");
	ok(bench_steady(75, 100, 125) && !bench_steady(74, 100, 125), "half of the median is the limit");
	is_str(bench_verdict(true, steady(restless, 8)), "not measurable here", "good over a restless floor says nothing");
	is_str(bench_verdict(false, steady(restless, 8)), "not measurable here", "nor does bad");
	is_str(bench_verdict(true, steady(quiet, 8)), "PASS", "good over a quiet one passes");
	is_str(bench_verdict(false, steady(quiet, 8)), "FAIL", "bad over a quiet one fails");
}

static void pairs(void)
{
	const double close[] = { 1.2, 1.3, 1.25, 1.28 }, apart[] = { 0.6, 1.3, 2.9, 4.1 }, below[] = { -0.4, -0.3, 1.0 };
	ok(agree(close, 4) && agree(close, 3), "three pairs that agree");
	ok(!agree(close, 2) && !agree(close, 1), "two are not enough, even if close");
	ok(!agree(apart, 4), "pairs that do not agree");
	ok(!agree(below, 3), "a negative difference is noise of the disk");
}

int main(void)
{
	floors();
	pairs();
	return done_testing();
}
