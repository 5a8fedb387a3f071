/* Test Anything Protocol, as small as it can be: ok(), is_int(), is_str(), is_mem(), skip(),
 * done_testing(). */
#ifndef TAP_H
#define TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_nr, tap_failed;

__attribute__((format(printf, 4, 5), unused)) static bool tap_ok(bool good, const char *file,
								 int line, const char *fmt, ...)
{
	va_list ap;
	printf("%sok %d - ", good ? "" : "not ", ++tap_nr);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	if (!good) {
		tap_failed++;
		printf("#   at %s:%d\n", file, line);
	}
	fflush(stdout);
	return good;
}

__attribute__((unused)) static bool tap_is_str(const char *got, const char *want, const char *what,
					       const char *file, int line)
{
	bool good = got && want ? strcmp(got, want) == 0 : got == want;
	tap_ok(good, file, line, "%s", what);
	if (!good)
		printf("#   got  \"%s\"\n#   want \"%s\"\n", got ? got : "(null)",
		       want ? want : "(null)");
	return good;
}

__attribute__((unused)) static bool tap_is_int(int64_t got, int64_t want, const char *what,
					       const char *file, int line)
{
	tap_ok(got == want, file, line, "%s", what);
	if (got != want)
		printf("#   got  %" PRId64 "\n#   want %" PRId64 "\n", got, want);
	return got == want;
}

#define ok(cond, ...)		tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, what) tap_is_str((got), (want), (what), __FILE__, __LINE__)
#define is_int(got, want, what)                                                                    \
	tap_is_int((int64_t)(got), (int64_t)(want), (what), __FILE__, __LINE__)
/* A test that cannot run here: @nr results, each with the reason. */
#define skip(nr, ...)                                                                              \
	do {                                                                                       \
		for (int skip_i_ = 0; skip_i_ < (nr); skip_i_++) {                                 \
			printf("ok %d # skip ", ++tap_nr);                                         \
			printf(__VA_ARGS__);                                                       \
			printf("\n");                                                              \
		}                                                                                  \
	} while (0)
#define skip_all(...)                                                                              \
	do {                                                                                       \
		printf("1..0 # skip ");                                                            \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
		exit(0);                                                                           \
	} while (0)
#define done_testing() (printf("1..%d\n", tap_nr), fflush(stdout), tap_failed ? 1 : 0)

#endif
