#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/paths.h"
#include "query/saved.h"

void cmd_time(int64_t wall_us, struct buf *out)
{
	time_t t = (time_t)(wall_us / 1000000);
	struct tm tm;
	localtime_r(&t, &tm);
	/* not strftime with %b or %c: nothing follows the locale */
	buf_printf(out, "%04d-%02d-%02d %02d:%02d %s", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		   tm.tm_hour, tm.tm_min, tm.tm_zone);
}

void cmd_json_time(json_t *o, const char *key, int64_t wall_us)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	clock_rfc3339(wall_us, &b);
	json_put_str(o, key, buf_cstr(&b));
}

static _Thread_local int64_t walked_bytes;

static int add_size(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path;
	(void)at;
	if (type == FTW_F || type == FTW_SL)
		walked_bytes += st->st_blocks * 512;
	return 0;
}

int64_t cmd_disk_usage(const char *path)
{
	walked_bytes = 0;
	nftw(path, add_size, 32, FTW_PHYS | FTW_MOUNT);
	return walked_bytes;
}

void cmd_size(uint64_t bytes, struct buf *out)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB" };
	if (bytes < 1024) {
		buf_printf(out, "%d B", (int)bytes);
		return;
	}
	size_t u = 0;
	uint64_t tenths = bytes * 10 / 1024;
	for (; tenths >= 10240 && u + 1 < ARRAY_LEN(unit); u++)
		tenths /= 1024;
	buf_printf(out, "%llu.%llu %s", (unsigned long long)(tenths / 10),
		   (unsigned long long)(tenths % 10), unit[u]);
}

bool cmd_ask(struct cmd_ctx *ctx, const char *question, struct buf *answer)
{
	int c;
	buf_reset(answer);
	fputs(question, ctx->err);
	fflush(ctx->err);
	while ((c = getchar()) != EOF && c != '\n')
		if (answer->len < 4096)
			buf_putc(answer, (char)c);
	return c != EOF || answer->len > 0;
}

int cmd_filter_text(const char *text, struct filter **out, struct err *err)
{
	struct saved_filters saved = { 0 };
	CLEANUP(free_ptr) char *path = paths_state("filters");
	saved_load(&saved, path);
	const struct filter_saved names = saved_lookup(&saved);
	int rc = filter_parse(out, text, &names, NULL, err);
	saved_release(&saved);
	if (rc < 0 && err->code == ERR_PARSE && !*err->hint)
		snprintf(err->hint, sizeof(err->hint), "Try 'sandglass help filter'.");
	return rc;
}

int cmd_filter(const struct cmd_ctx *ctx, struct filter **out, struct err *err)
{
	const char *text = cmd_opt(ctx, "filter");
	*out = NULL;
	return text ? cmd_filter_text(text, out, err) : 0;
}
