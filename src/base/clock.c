#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mem.h"

static int64_t clock_now(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
	return clock_now(CLOCK_REALTIME);
}

int64_t clock_mono_us(void)
{
	return clock_now(CLOCK_BOOTTIME);
}

int64_t clock_awake_us(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

static void clock_split(int64_t us, time_t *s, int64_t *rest)
{
	*s = (time_t)(us / 1000000);
	*rest = us % 1000000;
	if (*rest < 0) {
		*rest += 1000000;
		*s -= 1;
	}
}

void clock_rfc3339(int64_t wall_us, struct buf *out)
{
	time_t s;
	int64_t rest;
	struct tm tm;
	clock_split(wall_us, &s, &rest);
	gmtime_r(&s, &tm);
	buf_printf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", tm.tm_year + 1900, tm.tm_mon + 1,
		   tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)rest);
}

void clock_local_hms(int64_t wall_us, bool zone, struct buf *out)
{
	time_t s;
	int64_t rest;
	struct tm tm;
	clock_split(wall_us, &s, &rest);
	tzset();
	localtime_r(&s, &tm);
	buf_printf(out, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
	if (zone)
		buf_printf(out, " %s", tm.tm_zone ? tm.tm_zone : "UTC");
}

void clock_zone_look(void)
{
	static struct timespec changed;
	static ino_t ino;
	static int64_t next_us;
	const char *tz = getenv("TZ"), *path = !tz ? "/etc/localtime" : tz + (*tz == ':');
	struct stat st;
	if (*path != '/' || clock_mono_us() < next_us)
		return;
	next_us = clock_mono_us() + 1000000;
	if (stat(path, &st) < 0)
		return;
	bool new = ino && (ino != st.st_ino || changed.tv_sec != st.st_mtim.tv_sec ||
			   changed.tv_nsec != st.st_mtim.tv_nsec);
	ino = st.st_ino;
	changed = st.st_mtim;
	if (!new)
		return;
	char *keep = tz ? mem_strdup(tz) : NULL;
	setenv("TZ", "UTC0", 1);
	tzset();
	if (keep)
		setenv("TZ", keep, 1);
	else
		unsetenv("TZ");
	tzset();
	free(keep);
}

void clock_span(int64_t us, struct buf *out)
{
	if (us < 0)
		us = 0;
	int64_t ms = us / 1000, s = us / 1000000;
	if (ms < 100)
		buf_printf(out, "%dms", (int)ms);
	else if (s < 60)
		buf_printf(out, "%d.%ds", (int)s, (int)(ms / 100 % 10));
	else if (s < 3600)
		buf_printf(out, "%d:%02d", (int)(s / 60), (int)(s % 60));
	else
		buf_printf(out, "%lldh%02dm", (long long)(s / 3600), (int)(s / 60 % 60));
}

bool clock_parse_span(const char *s, int64_t *us_out)
{
	static const struct {
		const char *suffix;
		int64_t us;
	} unit[] = { { "", 1000000 },	{ "ms", 1000 },	     { "s", 1000000 },
		     { "m", 60000000 }, { "h", 3600000000 }, { "d", 86400000000 } };
	/* own digits: strtod would follow the locale's decimal point */
	int64_t whole = 0, frac = 0, scale = 1;
	const char *p = s;
	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (whole > 1000000000)
			return false;
		whole = whole * 10 + (*p - '0');
	}
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++)
			if (scale < 1000000) {
				frac = frac * 10 + (*p - '0');
				scale *= 10;
			}
	for (size_t i = 0; i < ARRAY_LEN(unit); i++)
		if (!strcmp(p, unit[i].suffix)) {
			int64_t us;
			if (__builtin_mul_overflow(whole, unit[i].us, &us) ||
			    __builtin_add_overflow(us, frac * unit[i].us / scale, &us))
				return false;
			*us_out = us;
			return true;
		}
	return false;
}
