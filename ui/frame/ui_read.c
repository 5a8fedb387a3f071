/* Part of ui.c: what the sources have that is new, what waits in them, and their time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/frame/ui.h"
#include "base/clock.h"
#include "ui/frame/claimed.h"
#include "ui/frame/finder.h"
#include "ui/term/fmt.h"
#include "ui/frame/transport.h"
#include "ui/rows/row.h"

size_t ui_waits(const struct ui *ui, size_t source)
{
	const struct source *s = ui->src[source];
	return s->lost || s->model.ended ? 0 : s->model.nr_held + s->model.nr_asks;
}

static size_t count_held(const struct ui *ui)
{
	size_t n = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		n += ui_waits(ui, i);
	return n;
}

/* One slice for all of them: who is late in the row this time comes first the next time. */
static bool read_sources(struct ui *ui)
{
	int64_t until = clock_mono_us() + ui->slice_us;
	bool news = false;
	for (size_t k = 0; k < ui->nr_src; k++) {
		size_t i = (ui->first_src + k) % ui->nr_src;
		int64_t left = until - clock_mono_us();
		struct source *s = ui->src[i];
		bool failed = s->failed;
		int n = source_sync(s, transport_limit(ui, i),
				    ui->slice_us == 0 ? 0
				    : left > 1	      ? left
						      : 1);
		if (n < 0)
			ui_say(ui, ROLE_ERROR, "%s", s->why.text);
		else if (failed && !s->failed && ui->message &&
			 strcmp(ui->message, s->why.text) == 0)
			ui_say(ui, ROLE_DIM, "%s", ""); /* it could be read again */
		news = news || n != 0;
	}
	ui->first_src = ui->nr_src ? (ui->first_src + 1) % ui->nr_src : 0;
	return news;
}

enum { WAITS_MAX = 300 };

char *ui_lost_text(const struct ui *ui, size_t source)
{
	const char *id = session_id(ui->src[source]->session);
	return mem_printf("%s lost its supervisor: 'sandglass resume %s' continues it", id, id);
}

/* "14:31:26 held #405 fix-parser: git push origin fix/parser": the newest; not where it is looked
 * at anyhow. */
char *ui_waits_text(const struct ui *ui)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	const struct model_action *newest = NULL;
	size_t source = 0;
	struct row_info r;
	for (size_t i = 0; i < ui->nr_src; i++)
		if (ui->src[i]->lost)
			return ui_lost_text(ui, i);
	for (size_t i = 0; i < ui->nr_src && !(ui_where(ui) & (IN_APPROVAL | IN_QUESTION)); i++) {
		const struct model *m = &ui->src[i]->model;
		const struct model_action *act =
			m->nr_held ? model_action(m, m->held[m->nr_held - 1]) : NULL;
		if (act && (!newest || act->held_us > newest->held_us))
			newest = act, source = i;
	}
	if (!newest)
		return NULL;
	const struct model_agent *agent = model_agent(&ui->src[source]->model, newest->agent);
	row_load(&r, ui->src[source], &(struct row){ newest->id, EV_ACTION_REQUESTED }, &a);
	const char *what = one_line(r.what, &a);
	size_t len = strnlen(what, WAITS_MAX);
	while (len > 0 && ((unsigned char)what[len] & 0xc0) == 0x80) /* not within a character */
		len--;
	bool bare = !agent || strcmp(r.word, "exec") == 0; /* a command needs no kind before it */
	return mem_printf("%s held #%" PRIu64 " %s: %s%s%.*s", fmt_hms(&a, newest->held_us),
			  newest->id,
			  agent ? ui_short_name(ui, &a, ui_agent_name(ui, source, agent)) : r.word,
			  bare ? "" : r.word, bare ? "" : " ", (int)len, what);
}

/* The status line names the pending action. A screen opens only if the user configured this, and
 * never during typing. */
static void news_waits(struct ui *ui)
{
	if (ui->met) /* else the first word, of what this is, stays */
		ui_say(ui, ROLE_TEXT, "%s", "");
	bool typing = ui->prompt.active || ui->prompt.away || ui->count || finder_waits(ui);
	if (ui->popup && !typing && (ui_where(ui) & (IN_FLEET | IN_AGENT | IN_LOG | IN_PAGE)) &&
	    ui->grid.rows >= UI_MIN_ROWS && ui->grid.cols >= UI_MIN_COLS)
		ui_do(ui, VERB_APPROVE);
}

bool ui_reading(const struct ui *ui)
{
	for (size_t i = 0; i < ui->nr_src; i++)
		if (source_reading(ui->src[i]))
			return true;
	return false;
}

bool ui_sync(struct ui *ui)
{
	bool news = read_sources(ui);
	if (claimed_look(ui)) {
		news = ui->stale = true;
		if (ui->replay && !ui->limit && !*ui->message)
			transport_summary(ui);
	}
	while (ui->depth > 1 && ui_top(ui)->ops->finished &&
	       ui_top(ui)->ops->finished(ui_top(ui)->self, ui))
		ui_back(ui);
	size_t held = count_held(ui);
	if (held > ui->nr_held_seen && !ui->replay && !(ui_where(ui) & (IN_APPROVAL | IN_QUESTION)))
		news_waits(ui);
	ui->bell = ui->bell || (held > ui->nr_held_seen && !ui->replay);
	ui->nr_held_seen = held;
	ui->met = ui->met || !ui_reading(ui);
	return news;
}

bool ui_growing(const struct ui *ui)
{
	for (size_t i = 0; i < ui->nr_src; i++)
		if (ui->src[i]->growing)
			return true;
	return false;
}

/* A record stands still where its cursor is; so do sessions that have ended. */
int64_t ui_now(const struct ui *ui)
{
	int64_t last = 0;
	bool live = false;
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		last = m->last_us > last ? m->last_us : last;
		live = live || !(m->ended || ui->src[i]->lost);
	}
	return ui->replay || !live || ui->now_us < last ? last : ui->now_us;
}

int64_t ui_now_of(const struct ui *ui, size_t source)
{
	const struct source *s = ui_source(ui, source);
	return s && s->lost && s->model.last_us < ui_now(ui) ? s->model.last_us : ui_now(ui);
}
