/* Hits of a search over all sessions, as they are found; Enter opens the session there. Reads:
 * ui->browse. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "ui/frame/browse.h"
#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/views/listed.h"

enum { FOUND_AGAIN_US = 100000 };

struct found_row {
	char *session, *stream, *agent, *line; /* owned */
	char time[20];			       /* "2026-11-28 11:50" */
	uint64_t seq;
	size_t from, len; /* the hit in line; len 0: none */
};

struct found_view {
	struct listed l;
	struct arena *arena;
	struct found_row *row;
	size_t cap;
	char *query; /* owned */
	char *note;  /* the first that the search says beside its hits; owned */
	size_t notes;
	bool works;
	struct ui *ui;
};

static void view_found_start(struct found_view *v, struct ui *ui)
{
	struct err err = ERR_INIT;
	v->works = ui->browse &&
		   ui->browse->start(ui->browse->self, BROWSE_SEARCH, v->query, &err) == 0;
	if (err.code != ERR_NONE)
		ui_say(ui, ROLE_ERROR, "%s", err.text);
}

static void view_found_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct found_view *v = self;
	(void)on;
	v->ui = ui;
	v->query = mem_strdup(buf_cstr(&ui->wish_text));
	buf_reset(&ui->wish_text);
	view_found_start(v, ui);
}

static void view_found_close(void *self)
{
	struct found_view *v = self;
	if (v->works)
		v->ui->browse->stop(v->ui->browse->self);
	for (size_t i = 0; i < v->l.nr; i++) {
		free(v->row[i].session);
		free(v->row[i].stream);
		free(v->row[i].agent);
		free(v->row[i].line);
	}
	free(v->row);
	free(v->query);
	free(v->note);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* "2026-11-21T14:31:26Z" in the local zone, to the minute. */
static void view_found_time(char out[20], const char *utc)
{
	struct tm tm = { 0 };
	time_t t = strptime(utc, "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : 0;
	if (!t || !localtime_r(&t, &tm) || !strftime(out, 20, "%Y-%m-%d %H:%M", &tm))
		snprintf(out, 20, "%16s", "");
}

static void view_found_add(struct found_view *v, const json_t *o)
{
	const json_t *m = json_object_get(o, "match");
	GROW(v->row, v->l.nr, v->cap);
	struct found_row *r = &v->row[v->l.nr++];
	*r = (struct found_row){ .session = mem_strdup(json_str(o, "session", "")),
				 .stream = mem_strdup(json_str(m, "stream", "")),
				 .agent = mem_strdup(json_str(o, "agent_name", "")),
				 .line = mem_strdup(json_str(m, "line", "")),
				 .seq = (uint64_t)json_int(o, "seq", 0),
				 .from = (size_t)json_int(m, "from", 0),
				 .len = (size_t)json_int(m, "len", 0) };
	view_found_time(r->time, json_str(o, "time", ""));
	if (r->from + r->len > strlen(r->line))
		r->len = 0;
}

/* Errors, sessions that were not searched, a limit; not the progress nor hints. */
static void view_found_take_note(struct found_view *v, const char *line)
{
	static const char prefix[] = "sandglass: search: ";
	if (strncmp(line, prefix, sizeof(prefix) - 1) != 0)
		return;
	if (!v->notes++)
		v->note = mem_strdup(line + sizeof(prefix) - 1);
}

static void view_found_read(struct found_view *v, struct ui *ui)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	int status = 0, rc = 0;
	while (v->works && (rc = ui->browse->read(ui->browse->self, &line, &status)) > 0) {
		struct err none = ERR_INIT;
		CLEANUP(json_release)
		json_t *o = json_parse(line.data, line.len, "hit", &none);
		if (json_object_get(o, "seq"))
			view_found_add(v, o);
		else if (!o)
			view_found_take_note(v, buf_cstr(&line));
		buf_reset(&line);
	}
	if (rc < 0)
		v->works = false;
	if (v->works)
		ui->wake_us = ui->mono_us + FOUND_AGAIN_US;
}

static void view_found_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct found_view *v = self;
	(void)cols;
	v->arena = ar;
	view_found_read(v, ui);
	list_settle(&v->l, rows);
}

/* --- paint ------------------------------------------------------------------------------------ */

enum { COL_SESSION, COL_TIME, COL_STREAM, COL_AGENT, COL_LINE, COL_NR };

static const struct column view_found_columns[COL_NR] = {
	{ "SESSION", { 8, 15 }, { 0, 0 }, false }, { "TIME", { 11, 16 }, { 1, 2 }, false },
	{ "STREAM", { 7, 7 }, { 1, 2 }, false },   { "AGENT", { 0, 12 }, { 0, 1 }, false },
	{ "LINE", { 0, 0 }, { 1, 2 }, false },
};

/* The line with its hit; one far to the right is moved into sight. */
static void view_found_line(struct area a, int row, int col, int width, const struct found_row *r)
{
	size_t from = r->from, skip = 0, all = strlen(r->line);
	if (width <= 0)
		return;
	if (r->len && from + r->len > (size_t)width && from > 10)
		for (skip = from - 10; skip > 0 && ((unsigned char)r->line[skip] & 0xc0) == 0x80;)
			skip--;
	const char *line = r->line + skip;
	from -= r->len ? skip : 0;
	if (!r->len) {
		put_bytes(a, row, col, width, ROLE_TEXT, line, all - skip, 0);
		return;
	}
	int end = col + width;
	col = put_bytes(a, row, col, end - col, ROLE_TEXT, line, from, 0);
	if (col < end)
		col = put_bytes(a, row, col, end - col, ROLE_HELD, line + from, r->len, 0);
	if (col < end)
		put_bytes(a, row, col, end - col, ROLE_TEXT, line + from + r->len,
			  all - skip - from - r->len, 0);
}

static void view_found_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct found_view *v = self;
	struct columns c;
	int row;
	bool wide = a.cols >= 100;
	const struct piece p[] = { { v->works ? ROLE_RUN : ROLE_TEXT,
				     arena_printf(
					     v->arena, "%s%s",
					     fmt_plural(v->arena, (int64_t)v->l.nr, "hit", "hits"),
					     v->works ? ", searching .." : "") } };
	(void)ui;
	draw_title(a, 0, arena_printf(v->arena, "search  %s", v->query), p, ARRAY_LEN(p));
	const char *more =
		v->notes > 1 ? arena_printf(v->arena, " (and %zu more)", v->notes - 1) : "";
	list_rule(&v->l, a,
		  v->l.nr && v->note ? arena_printf(v->arena, "%s%s", v->note, more)
				     : "Enter opens the session there",
		  v->arena);
	list_columns(&c, view_found_columns, COL_NR, a.cols, wide, COL_NR);
	list_heads(a, 2, &c);
	for (size_t i = v->l.top; list_sees(&v->l, i, a, &row); i++) {
		const struct found_row *r = &v->row[i];
		list_cell(a, row, &c, COL_SESSION, ROLE_NAME,
			  wide ? arena_printf(v->arena, "%s#%" PRIu64, r->session, r->seq)
			       : r->session);
		list_cell(a, row, &c, COL_TIME, ROLE_DIM, wide ? r->time : r->time + 5);
		list_cell(a, row, &c, COL_STREAM, ROLE_WHO, r->stream);
		list_cell(a, row, &c, COL_AGENT, ROLE_TEXT, r->agent);
		view_found_line(a, row, c.col[COL_LINE], c.width[COL_LINE], r);
		if (i == v->l.at)
			put_cursor_row(a, row);
	}
	if (!v->l.nr && !v->works)
		grid_put(a, 4, 3, v->note ? ROLE_ERROR : ROLE_TEXT,
			 v->note ? arena_printf(v->arena, "Nothing found: %s%s", v->note, more)
				 : "Nothing found.");
}

/* --- keys ------------------------------------------------------------------------------------- */

static bool view_found_verb(void *self, struct ui *ui, enum verb verb)
{
	struct found_view *v = self;
	if (verb != VERB_OPEN)
		return list_verb(&v->l, verb);
	if (v->l.at < v->l.nr) {
		ui->wish = WISH_SESSION;
		buf_reset(&ui->wish_text);
		buf_printf(&ui->wish_text, "%s %" PRIu64, v->row[v->l.at].session,
			   v->row[v->l.at].seq);
	}
	return true;
}

static enum click view_found_click(void *self, struct ui *ui, int row, int col)
{
	struct found_view *v = self;
	(void)ui, (void)col;
	return list_click(&v->l, row);
}

static const char *const *view_found_hints(const void *self, const struct ui *ui)
{
	static const char *const all[] = {
		"Enter open", "j down", "k up", "? help", "q back", NULL
	};
	(void)self, (void)ui;
	return all;
}

const struct view_ops view_found = {
	.name = "found",
	.where = IN_SESSIONS,
	.size = sizeof(struct found_view),
	.open = view_found_open_view,
	.close = view_found_close,
	.recalc = view_found_recalc,
	.paint = view_found_paint,
	.verb = view_found_verb,
	.click = view_found_click,
	.hints = view_found_hints,
};
