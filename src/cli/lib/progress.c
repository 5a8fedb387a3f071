#include "cli/lib/progress.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "base/clock.h"

enum { PATIENCE_US = 1000000, AGAIN_US = 200000 };

void progress_at(struct working *w, const char *what, uint64_t done, uint64_t all, const char *of)
{
	int64_t now = clock_mono_us();
	if (!w->since_us)
		w->since_us = now;
	if (w->ctx->quiet || !all || now - w->since_us < PATIENCE_US ||
	    now - w->shown_us < AGAIN_US || !isatty(fileno(w->ctx->err)))
		return;
	w->shown_us = now;
	w->there = true;
	fputs("\r", w->ctx->err);
	cmd_print_safe(w->ctx->err, what, strlen(what), false);
	fprintf(w->ctx->err, ": %" PRIu64 " %% of %" PRIu64 " %s\x1b[K", done * 100 / all, all, of);
	fflush(w->ctx->err);
}

void progress_clear(struct working *w)
{
	if (!w->there)
		return;
	w->there = false;
	fputs("\r\x1b[K", w->ctx->err);
	fflush(w->ctx->err);
}
