#include "ui/term/fmt.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"

const char *fmt_money(struct arena *a, int64_t uusd)
{
	if (uusd < 0)
		return "$?";
	int64_t cents = (uusd + 5000) / 10000;
	return arena_printf(a, "$%" PRId64 ".%02d", cents / 100, (int)(cents % 100));
}

const char *fmt_cost(struct arena *a, int64_t uusd, bool unknown)
{
	if (!unknown)
		return fmt_money(a, uusd);
	return uusd > 0 ? arena_printf(a, "%s+?", fmt_money(a, uusd)) : "$?";
}

const char *fmt_count(struct arena *a, int64_t n)
{
	if (n < 1000)
		return arena_printf(a, "%" PRId64, n);
	if (n < 10000)
		return arena_printf(a, "%" PRId64 ".%" PRId64 "k", n / 1000, n % 1000 / 100);
	if (n < 1000000)
		return arena_printf(a, "%" PRId64 "k", n / 1000);
	return arena_printf(a, "%" PRId64 ".%" PRId64 "M", n / 1000000, n % 1000000 / 100000);
}

const char *fmt_age(struct arena *a, int64_t us)
{
	int64_t s = us < 0 ? 0 : us / 1000000;
	if (s < 3600)
		return arena_printf(a, "%" PRId64 ":%02d", s / 60, (int)(s % 60));
	if (s < 48 * 3600)
		return arena_printf(a, "%" PRId64 "h%02dm", s / 3600, (int)(s / 60 % 60));
	return arena_printf(a, "%" PRId64 "d", s / 86400);
}

const char *fmt_span(struct arena *a, int64_t us)
{
	if (us < 60000000)
		return arena_printf(a, "%" PRId64 ".%ds", us / 1000000, (int)(us / 100000 % 10));
	return fmt_age(a, us);
}

const char *fmt_span_fine(struct arena *a, int64_t us)
{
	if (us < 1000)
		return arena_printf(a, "%" PRId64 "us", us);
	return us < 1000000 ? arena_printf(a, "%" PRId64 "ms", us / 1000) : fmt_span(a, us);
}

const char *fmt_bytes(struct arena *a, int64_t n)
{
	static const char units[] = "KMGT";
	if (n < 1024)
		return arena_printf(a, "%" PRId64, n);
	int u = 0;
	int64_t tenths = n * 10 / 1024;
	for (; tenths >= 10240 && units[u + 1]; u++)
		tenths /= 1024;
	if (tenths < 100)
		return arena_printf(a, "%" PRId64 ".%d%c", tenths / 10, (int)(tenths % 10),
				    units[u]);
	return arena_printf(a, "%" PRId64 "%c", tenths / 10, units[u]);
}

const char *fmt_hms(struct arena *a, int64_t wall_us)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	clock_zone_look();
	clock_local_hms(wall_us, false, &b);
	return arena_strdup(a, buf_cstr(&b));
}

const char *fmt_hms_zone(struct arena *a, int64_t wall_us)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	clock_zone_look();
	clock_local_hms(wall_us, true, &b);
	return arena_strdup(a, buf_cstr(&b));
}

const char *fmt_zone(struct arena *a, int64_t wall_us)
{
	return arena_printf(a, "times in%s", strchrnul(fmt_hms_zone(a, wall_us), ' '));
}

const char *fmt_plural(struct arena *a, int64_t n, const char *one, const char *many)
{
	return arena_printf(a, "%" PRId64 " %s", n, n == 1 ? one : many);
}

static bool plain_word(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		bool fine = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			    (c >= 'a' && c <= 'z') || c >= 0x80 || (c && strchr("_-+=:,./@%^", c));
		if (!fine)
			return false;
	}
	return len > 0;
}

void fmt_argv(const struct strv *argv, struct buf *out)
{
	for (size_t i = 0; i < argv->nr; i++) {
		if (i > 0)
			buf_putc(out, ' ');
		if (plain_word(argv->item[i], argv->len[i])) {
			buf_append(out, argv->item[i], argv->len[i]);
			continue;
		}
		buf_putc(out, '\'');
		for (size_t k = 0; k < argv->len[i]; k++)
			if (argv->item[i][k] == '\'')
				buf_puts(out, "'\\''");
			else
				buf_putc(out, argv->item[i][k]);
		buf_putc(out, '\'');
	}
}

const char *fmt_seen(struct arena *a, size_t first, size_t rows, size_t nr)
{
	size_t last = first + rows < nr ? first + rows : nr;
	return nr > rows ? arena_printf(a, "rows %zu-%zu of %zu", first + 1, last, nr) : NULL;
}
