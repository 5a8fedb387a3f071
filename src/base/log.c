#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static const char *log_program = "sandglass";
static enum log_level log_threshold = LOG_WARN;

static const char *const level_name[] = { "debug", "info", "warn", "error" };

void log_open(const char *name)
{
	log_program = name;
	const char *want = getenv("SANDGLASS_LOG");
	for (size_t i = 0; want && i < ARRAY_LEN(level_name); i++)
		if (!strcmp(want, level_name[i]))
			log_threshold = (enum log_level)i;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	if (level < log_threshold)
		return;
	char line[1024];
	struct buf when = BUF_INIT;
	clock_rfc3339(clock_wall_us(), &when);
	int n = snprintf(line, sizeof(line), "%s %s %s: ", buf_cstr(&when), log_program,
			 level_name[level]);
	buf_release(&when);
	va_list ap;
	va_start(ap, fmt);
	int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	size_t len = strnlen(line, sizeof(line) - 1);
	(void)m;
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) < 0)
		return; /* a diary that cannot be written is not worth a failure */
}
