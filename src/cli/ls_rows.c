#include "cli/ls_rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "action/gate.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "base/text/width.h"
#include "sessions/ask_all.h"
#include "cli/lib/cmd_priv.h"

/* --- which ------------------------------------------------------------------------------------ */

static bool ls_rows_too_old(const struct ls_rows *rows, const struct session_file *f)
{
	return rows->nr == rows->max && f->mtime_us < rows->item[rows->nr - 1].d.begun_us;
}

static int ls_row_newer(const void *a, const void *b)
{
	const struct ls_row *x = a, *y = b;
	int by_time = (x->d.begun_us < y->d.begun_us) - (x->d.begun_us > y->d.begun_us);
	return by_time ? by_time : (x->file > y->file) - (x->file < y->file);
}

static void ls_rows_sort(struct ls_rows *rows)
{
	if (rows->nr)
		qsort(rows->item, rows->nr, sizeof(*rows->item), ls_row_newer);
}

/* In order only once they are @max. */
static void ls_rows_insert(struct ls_rows *rows, const struct ls_row *row)
{
	if (rows->nr < rows->max) {
		GROW(rows->item, rows->nr, rows->cap);
		rows->item[rows->nr++] = *row;
		if (rows->nr == rows->max)
			ls_rows_sort(rows);
		return;
	}
	size_t at = rows->nr - 1;
	digest_release(&rows->item[at].d);
	for (; at > 0 && rows->item[at - 1].d.begun_us < row->d.begun_us; at--)
		rows->item[at] = rows->item[at - 1];
	rows->item[at] = *row;
}

void ls_rows_take(struct ls_rows *rows, const struct session_file *f)
{
	struct ls_row row = { .file = f };
	if (ls_rows_too_old(rows, f))
		return;
	int64_t begun_us = rows->nr == rows->max ? digest_begun(rows->catalog, f) : INT64_MAX;
	if (rows->nr == rows->max && begun_us <= rows->item[rows->nr - 1].d.begun_us)
		return;
	digest_of(&row.d, rows->catalog, f);
	if (row.d.unreadable) /* its place is where its file puts it */
		row.d.begun_us = f->mtime_us;
	row.state = row.d.state;
	row.verdict = verdicts_find(rows->verdicts, f);
	if (rows->live && !row.d.live)
		digest_release(&row.d);
	else
		ls_rows_insert(rows, &row);
}

static void ls_row_answered(struct ls_row *row, const json_t *welcome)
{
	const json_t *state = json_object_get(welcome, "state");
	row->silent = !welcome;
	row->held = gate_state_waits(state);
	row->asks = json_array_size(json_object_get(state, "asks"));
	row->watch = !strcmp(json_str(welcome, "role", ""), "watch");
	row->state = row->held + row->asks ? "waiting" : row->state;
	/* nothing continues there, whatever is pending */
	if (*json_str(state, "record", "")) {
		free(row->d.why);
		row->d.why =
			mem_strdup(json_str(state, "record_why", "its recording can't be written"));
		row->state = "stalled";
	}
}

void ls_rows_ask(struct ls_rows *rows)
{
	ls_rows_sort(rows);
	struct asked *a = mem_calloc(rows->nr + 1, sizeof(*a));
	size_t live = 0;
	for (size_t i = 0; i < rows->nr; i++)
		if (rows->item[i].d.live)
			a[live++].file = rows->item[i].file;
	ask_all(a, live);
	for (size_t i = 0, k = 0; i < rows->nr; i++) {
		if (!rows->item[i].d.live)
			continue;
		json_t *welcome = a[k++].welcome;
		ls_row_answered(&rows->item[i], welcome);
		json_decref(welcome);
	}
	free(a);
}

void ls_rows_release(struct ls_rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++)
		digest_release(&rows->item[i].d);
	free(rows->item);
	*rows = (struct ls_rows){ 0 };
}

/* --- printing --------------------------------------------------------------------------------- */

static void ls_row_figures(json_t *o, const struct ls_row *r)
{
	json_put(o, "labels", r->d.labels ? json_incref(r->d.labels) : json_object());
	json_put(o, "agents", r->d.agents ? json_incref(r->d.agents) : json_array());
	if (r->d.cost_unknown && !r->d.cost_uusd)
		json_put(o, "cost_uusd", json_null());
	else
		json_put_int(o, "cost_uusd", r->d.cost_uusd);
	json_put_flag(o, "cost_unknown", r->d.cost_unknown);
	json_put_int(o, "failed", (int64_t)r->d.failed);
	json_put_int(o, "denied", (int64_t)r->d.denied);
	json_put_int(o, "unmerged", (int64_t)r->d.unmerged);
}

static void ls_row_json(struct cmd_ctx *ctx, const struct ls_row *r)
{
	json_t *o = json_object();
	json_put_str(o, "session", r->file->id);
	json_put_str(o, "name", r->file->name);
	json_put_str(o, "state", r->state);
	json_put(o, "path", json_bytes_z(r->file->path));
	json_put_int(o, "size_bytes", r->file->size);
	if (r->d.why)
		json_put_str(o, "why", r->d.why);
	json_put_str(o, "shared_by", r->file->shared_by);
	if (r->file->shared_by && r->d.live)
		json_put_str(o, "role", r->watch ? "watch" : "decide");
	if (!r->d.unreadable) {
		json_put_int(o, "events", (int64_t)r->d.events);
		cmd_json_time(o, "begun", r->d.begun_us);
		json_put_int(o, "dur_us", r->d.last_us - r->d.begun_us);
		json_put_flag(o, "live", r->d.live);
		json_put_int(o, "held", (int64_t)r->held);
		json_put_int(o, "asks", (int64_t)r->asks);
		if (r->d.counted)
			ls_row_figures(o, r);
		json_put(o, "verified", r->verdict ? json_string(r->verdict) : json_null());
		if (r->d.broken_off)
			json_put(o, "resume",
				 json_pack("[sss]", "sandglass", "resume", r->file->id));
	}
	cmd_json(ctx, o);
}

static void ls_row_notes(const struct ls_row *r, struct buf *b)
{
	if (r->d.why) {
		buf_puts(b, ": ");
		cmd_safe(b, r->d.why, strlen(r->d.why), false);
	}
	if (r->held)
		buf_printf(b, "  (%zu held)", r->held);
	if (r->asks)
		buf_printf(b, "  (%zu %s)", r->asks, r->asks == 1 ? "question" : "questions");
	if (r->silent)
		buf_puts(b, "  (does not answer)");
	if (r->file->shared_by)
		buf_printf(b, "  (shared by %s%s)", r->file->shared_by,
			   r->watch ? ", to watch" : "");
	if (r->d.broken_off)
		buf_printf(b, "  (continue it with 'sandglass resume %s')", r->file->id);
}

/* What fits a terminal: programs and wide terminals get all columns with the whole date. */
enum ls_width { LS_WHOLE, LS_SHORT_DATE, LS_FEW_COLUMNS };

/* Columns of the terminal, asked once for all rows; 0: output goes elsewhere, where lines are not
 * cut. */
static size_t ls_columns(const struct cmd_ctx *ctx)
{
	static int columns = -1;
	struct winsize size;
	int fd = fileno(ctx->out);
	if (columns < 0)
		columns = !isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
	return (size_t)columns;
}

static enum ls_width ls_row_width(const struct cmd_ctx *ctx)
{
	size_t columns = ls_columns(ctx);
	if (!columns || columns >= 112)
		return LS_WHOLE;
	return columns >= 100 ? LS_SHORT_DATE : LS_FEW_COLUMNS;
}

/* Cut to the terminal, with ">" where something is missing: 'show' has all of it. */
static void ls_line_print(struct cmd_ctx *ctx, struct buf *b)
{
	size_t columns = ls_columns(ctx), fits = 0, used, wide = 0;
	uint32_t cp;
	for (size_t at = 0; columns && at < b->len; at += used) {
		bool good = utf8_next(b->data + at, b->len - at, &cp, &used) == UTF8_OK;
		wide += good ? (size_t)text_width(cp) : 1;
		if (wide < columns)
			fits = at + used;
	}
	if (wide > columns && columns) {
		b->len = fits;
		buf_putc(b, '>');
	}
	fprintf(ctx->out, "%s\n", buf_cstr(b));
}

static void ls_row_started(int64_t wall_us, enum ls_width width, struct buf *out)
{
	time_t t = (time_t)(wall_us / 1000000);
	struct tm tm;
	if (width == LS_WHOLE) {
		cmd_time(wall_us, out);
		return;
	}
	localtime_r(&t, &tm);
	buf_printf(out, "%02d-%02d %02d:%02d", tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min);
}

/* "-" for none, so that the eye finds the others. */
static void ls_row_count(struct buf *b, int width, uint64_t n, bool known)
{
	CLEANUP(free_ptr) char *text = mem_printf("%llu", (unsigned long long)n);
	buf_printf(b, " %*s", width, !known ? "?" : n ? text : "-");
}

static void ls_row_line(struct cmd_ctx *ctx, const struct ls_row *r, enum ls_width width)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, span = BUF_INIT, cost = BUF_INIT;
	buf_printf(&b, "%-8s %-11s ", r->file->id, r->state);
	if (r->d.unreadable) {
		cmd_safe(&b, r->file->name, strlen(r->file->name), false);
		ls_row_notes(r, &b);
		ls_line_print(ctx, &b);
		return;
	}
	/* of one that runs: until now */
	clock_span((r->d.live ? clock_wall_us() : r->d.last_us) - r->d.begun_us, &span);
	ls_row_started(r->d.begun_us, width, &b);
	digest_cost(&r->d, &cost);
	buf_printf(&b, " %7s", buf_cstr(&span));
	if (width != LS_FEW_COLUMNS)
		ls_row_count(&b, 6, json_array_size(r->d.agents), r->d.counted);
	buf_printf(&b, " %8s", buf_cstr(&cost));
	ls_row_count(&b, 6, r->d.failed, r->d.counted);
	ls_row_count(&b, 6, r->d.denied, r->d.counted);
	ls_row_count(&b, 8, r->d.unmerged, r->d.counted);
	if (width == LS_FEW_COLUMNS)
		buf_puts(&b, "  ");
	else
		buf_printf(&b, "  %-10s  ", r->verdict ? r->verdict : "-");
	cmd_safe(&b, r->file->name, strlen(r->file->name), false);
	ls_row_notes(r, &b);
	ls_line_print(ctx, &b);
}

static void ls_rows_head(struct cmd_ctx *ctx, int64_t wall_us, enum ls_width width)
{
	CLEANUP(buf_release) struct buf when = BUF_INIT;
	bool few = width == LS_FEW_COLUMNS;
	ls_row_started(wall_us, width, &when);
	fprintf(ctx->out, "%-8s %-11s %-*s %7s%s %8s %6s %6s %8s%s  %s\n", "SESSION", "STATE",
		(int)when.len, "STARTED", "TIME", few ? "" : " AGENTS", "COST", "FAILED", "DENIED",
		"UNMERGED", few ? "" : "  VERIFIED  ", "NAME");
}

void ls_rows_print(struct cmd_ctx *ctx, const struct ls_rows *rows)
{
	enum ls_width width = ls_row_width(ctx);
	/* programs read lines; only a reader needs the names */
	if (rows->nr && !ctx->json && !ctx->quiet && isatty(fileno(ctx->out)))
		ls_rows_head(ctx, rows->item[0].d.begun_us, width);
	for (size_t i = 0; i < rows->nr; i++)
		if (ctx->json)
			ls_row_json(ctx, &rows->item[i]);
		else
			ls_row_line(ctx, &rows->item[i], width);
}
