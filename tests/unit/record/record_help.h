/* Shared by the recorder's tests: a private scratch directory (key and anchor too), waiting,
 * verifying. */
#ifndef RECORD_HELP_H
#define RECORD_HELP_H

#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/read/verify.h"
#include "record/record.h"
#include "tap.h"

static char help_root[] = "/tmp/sandglass-test-XXXXXX";

__attribute__((unused)) static const char *help_dir(void)
{
	static char dir[64];
	snprintf(dir, sizeof(dir), "%s/sessions", help_root);
	return dir;
}

__attribute__((unused)) static void help_init(void)
{
	if (!mkdtemp(help_root))
		exit(99);
	unsetenv("EVENT_CHECK"); /* the recorder keeps any body; these tests have their own */
	setenv("XDG_STATE_HOME", help_root, 1);
	setenv("HOME", help_root, 1);
	hash_init();
}

__attribute__((unused)) static int help_done(void)
{
	struct err err;
	if (dir_remove(help_root, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}

/* Turns the loop until @flag is set; gives up after a minute, which fails whatever the test
 * looks at next. */
__attribute__((unused)) static void help_wait(struct loop *l, const bool *flag)
{
	int64_t until = clock_mono_us() + 60000000;
	while (!*flag && clock_mono_us() < until)
		loop_turn(l, 10);
}

__attribute__((unused)) static void
help_report(void *self, const char *name, enum verify_result result, const char *text, uint64_t seq)
{
	static const char *const word[] = { "ok", "FAIL", "skip" };
	(void)self;
	printf("#   %-10s %-4s %s (%" PRIu64 ")\n", name, word[result], text, seq);
}

/* Verifies and expects @failures failed checks. */
__attribute__((unused)) static struct verify_totals help_verify(struct session *s,
								unsigned failures, const char *what)
{
	struct verify_totals t;
	struct err err = ERR_INIT;
	int rc = verify_session(s, NULL, help_report, NULL, &t, &err);
	ok(rc == 0 && t.failed == failures, "%s: %u failed, want %u %s", what, t.failed, failures,
	   rc ? err.text : "");
	return t;
}

#endif
