/* Progress output of programs, and text that only looks like it. */
#include <string.h>

#include "tap.h"
#include "ui/model/progress.h"

static const struct {
	const char *text;
	int64_t done, total; /* total 0: nothing */
} cases[] = {
	{ "[12/47] Compiling C object", 12, 47 },
	{ "[ 45%] Building C object src/a.o", 45, 100 },
	{ "Receiving objects:  63% (630/1000)", 630, 1000 },
	{ "test 12 of 47: lexer", 12, 47 },
	{ "....   [ 38%]", 38, 100 },
	{ "first\n[1/9] a\n[2/9] b\n", 2, 9 },
	{ " 10%\r 20%\r 30%", 30, 100 },
	{ "[  3/ 12] step", 3, 12 },
	{ "[47/47]", 47, 47 },
	{ "2026/11/22 all is well", 0, 0 },
	{ "see (1/2", 0, 0 },
	{ "wrote 3/4 of it", 0, 0 },
	{ "line 6 of work", 0, 0 },
	{ "[9/3] backwards", 0, 0 },
	{ "250% more", 0, 0 },
	{ "a 1 of 1 thing", 0, 0 },
	{ "99999999999999999999 of 99999999999999999999", 0, 0 },
	{ "12 of", 0, 0 },
	{ "[", 0, 0 },
	{ "", 0, 0 },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t done = 0, total = 0;
		bool is = progress_parse(cases[i].text, strlen(cases[i].text), &done, &total);
		ok(is == (cases[i].total > 0) && (!is || (done == cases[i].done && total == cases[i].total)), "case %zu: %ld/%ld", i, is ? (long)done : 0, is ? (long)total : 0);
	}
	return done_testing();
}
