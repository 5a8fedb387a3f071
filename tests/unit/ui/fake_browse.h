/* For "sessions-" and "found-": a directory of a few sessions, and a search that finds three
 * lines. */
#ifndef FAKE_BROWSE_H
#define FAKE_BROWSE_H

#include <string.h>

#include "ui/frame/browse.h"

#define FAKE_NOW_US INT64_C(1763735527000000)

static const struct browsed fake_sessions[] = {
	{ .id = "s-7k2m9q", .name = "fix-parser", .state = "running", .agents = "fix, docs",
	  .nr_agents = 2, .waits = 2, .live = true, .counted = true, .cost_uusd = 410000,
	  .failed = 3, .begun_us = FAKE_NOW_US - 125000000 },
	{ .id = "s-0193ab", .name = "nightly", .state = "running", .agents = "", .nr_agents = 0,
	  .live = true, .counted = true, .begun_us = FAKE_NOW_US - 7300000000 },
	{ .id = "s-0192cd", .name = "race of three models with a long name", .state = "ended",
	  .agents = "a, b, c", .nr_agents = 3, .counted = true, .cost_unknown = true,
	  .cost_uusd = 1840000, .denied = 1, .unmerged = 12, .verdict = "verified",
	  .begun_us = FAKE_NOW_US - INT64_C(90000000000) },
	{ .id = "s-0191ef", .name = "日本語の仕事", .state = "failed", .agents = "fix",
	  .nr_agents = 1, .counted = true, .cost_unknown = true, .failed = 118, .denied = 40,
	  .verdict = "damaged", .begun_us = FAKE_NOW_US - INT64_C(864000000000) },
	{ .id = "s-0190gh", .name = "torn", .state = "interrupted", .agents = "x", .nr_agents = 1,
	  .counted = true, .begun_us = FAKE_NOW_US - INT64_C(70000000000000) },
	{ .id = "s-0189ij", .name = "no-file", .state = "unreadable", .agents = "" },
};
static size_t fake_sessions_nr = sizeof(fake_sessions) / sizeof(*fake_sessions), fake_line;

static size_t fake_list(void *self)
{
	(void)self;
	return fake_sessions_nr;
}

static void fake_at(void *self, size_t i, struct browsed *out)
{
	(void)self;
	*out = fake_sessions[i];
}

static int fake_start(void *self, enum browse_job job, const char *text, struct err *err)
{
	(void)self, (void)job, (void)text, (void)err;
	fake_line = 0;
	return 0;
}

static int fake_read(void *self, struct buf *out, int *status)
{
	static const char *const hits[] = {
		"{\"session\":\"s-7k2m9q\",\"seq\":405,\"time\":\"2026-11-21T14:31:26Z\","
		"\"agent_name\":\"fix\",\"match\":{\"stream\":\"stdout\","
		"\"line\":\"src/parse.c:88:9: warning: unused variable 'n' [-Wunused-variable]\","
		"\"from\":16,\"len\":7}}",
		"{\"session\":\"s-0192cd\",\"seq\":17,\"time\":\"2026-11-20T02:00:00Z\","
		"\"agent_name\":\"a\",\"match\":{\"stream\":\"args\","
		"\"line\":\"exec: make CFLAGS='-Wall -Wextra -Wpedantic -Wconversion -Wshadow "
		"-Wformat=2 -Wvla' warning\",\"from\":84,\"len\":7}}",
		"{\"session\":\"s-0191ef\",\"seq\":9,\"time\":\"2026-11-11T10:00:00Z\",\"match\":"
		"{\"stream\":\"message\",\"line\":\"警告 warning\",\"from\":7,\"len\":7}}",
	};
	(void)self;
	*status = 0;
	if (fake_line >= sizeof(hits) / sizeof(*hits))
		return -1;
	buf_puts(out, hits[fake_line++]);
	return 1;
}

static void fake_stop(void *self)
{
	(void)self;
}

static const struct browse fake_browse = {
	.list = fake_list, .at = fake_at, .start = fake_start, .read = fake_read, .stop = fake_stop
};

#endif
