#include "ui/frame/transport.h"
#include "ui/frame/claimed.h"
#include "ui/rows/outcome.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ui/frame/finder_priv.h"
#include "ui/frame/ruler.h"
#include "ui/rows/draw.h"
#include "ui/term/fmt.h"

enum { BY_EVENT_US = 300000, FRAME_US = 50000 };

static const struct {
	const char *name;
	int num, den;
} transport_speeds[] = { { "0.25x", 1, 4 }, { "0.5x", 1, 2 }, { "1x", 1, 1 },
			 { "2x", 2, 1 },    { "4x", 4, 1 },   { "8x", 8, 1 },
			 { "16x", 16, 1 },  { "32x", 32, 1 }, { "64x", 64, 1 } };
enum { SPEED_ONE = 2 }; /* ui->transport.speed counts from it */

bool transport_speed(const char *name, int *index_out)
{
	for (size_t i = 0; i < ARRAY_LEN(transport_speeds); i++) {
		size_t n = strlen(transport_speeds[i].name) - 1;
		if (strncmp(name, transport_speeds[i].name, n) == 0 &&
		    (name[n] == 0 || strcmp(name + n, "x") == 0)) {
			*index_out = (int)i - SPEED_ONE;
			return true;
		}
	}
	return false;
}

void transport_ratio(int index, int *num, int *den)
{
	*num = transport_speeds[index + SPEED_ONE].num;
	*den = transport_speeds[index + SPEED_ONE].den;
}

/* --- moving ----------------------------------------------------------------------------------- */

static struct source *record_of(const struct ui *ui)
{
	return ui_source(ui, 0);
}

static uint64_t transport_cursor_seq(const struct ui *ui)
{
	const struct source *s = record_of(ui);
	return ui->limit ? ui->limit : s ? session_head(s->session) : 0;
}

static void transport_go_to(struct ui *ui, uint64_t seq)
{
	struct source *s = record_of(ui);
	uint64_t head = s ? session_head(s->session) : 0;
	if (!s || head == 0)
		return;
	ui->limit = seq < 1 ? 1 : seq > head ? head : seq;
	ui->transport.left_us = 0;
	ui_sync(ui);
}

/* Headers around a place: enough to find the next one of a kind without folding. */
static uint64_t next_row(struct source *s, uint64_t seq)
{
	struct event ev[64];
	struct err err = ERR_INIT;
	for (size_t nr = ARRAY_LEN(ev); nr == ARRAY_LEN(ev); seq = ev[nr - 1].seq) {
		if (session_headers(s->session, seq, ev, ARRAY_LEN(ev), &nr, &err) < 0)
			return 0;
		for (size_t i = 0; i < nr; i++)
			if (model_is_row(ev[i].kind))
				return ev[i].seq;
		if (nr == 0)
			break;
	}
	return 0;
}

static uint64_t row_before(const struct model *m, uint64_t seq)
{
	size_t i = rows_find(&m->rows, seq);
	return i > 0 ? m->rows.row[i - 1].seq : 0;
}

static void step_row(struct ui *ui, int by)
{
	struct source *s = record_of(ui);
	uint64_t at = transport_cursor_seq(ui), to = !s	      ? 0
						     : by > 0 ? next_row(s, at)
							      : row_before(&s->model, at);
	if (to)
		transport_go_to(ui, to);
	else
		ui_say(ui, ROLE_DIM, by > 0 ? "that is the end" : "that is the beginning");
}

static unsigned flags_for(char kind)
{
	switch (kind) {
	case 'e':
		return TRACK_ERROR;
	case 'd':
		return TRACK_DIFF;
	case 'a':
		return TRACK_APPROVED | TRACK_DENIED;
	case 'h':
		return TRACK_HELD;
	case 'm':
		return TRACK_MARK;
	case 's':
		return TRACK_SNAPSHOT;
	default:
		return TRACK_TURN;
	}
}

/* Of a long session that is still being read nobody knows yet what stands where; a place that is
 * further off would be taken for the next one. */
static bool not_read(const struct source *s, uint64_t at, uint64_t found, int by)
{
	return s && source_reading(s) && (by > 0 ? !found : s->track.nr < at);
}

void transport_jump(struct ui *ui, char kind, const char *word, int by)
{
	struct source *s = record_of(ui);
	uint64_t at = transport_cursor_seq(ui),
		 to = s ? track_find(&s->track, at, flags_for(kind), by) : 0;
	uint64_t own = s && kind == 'm' ? own_marks_next(&ui->find->own[0], at, by) : 0;
	if (own && (!to || (by > 0 ? own < to : own > to)))
		to = own;
	ui->playing = false;
	if (not_read(s, at, to, by)) {
		ui_say(ui, ROLE_WARN, "still reading the session: the %s %s this is not known yet",
		       word, by > 0 ? "after" : "before");
		return;
	}
	if (!to) {
		ui_say(ui, ROLE_DIM, "no more %s %s",
		       by > 0 ? "after this:" : "before this:", word);
		return;
	}
	transport_go_to(ui, to);
	ui_say(ui, ROLE_DIM, "%s #%" PRIu64, word, to);
}

/* --- seeking ---------------------------------------------------------------------------------- */

static int64_t transport_time_of(struct source *s, uint64_t seq)
{
	struct event ev[1];
	struct err err = ERR_INIT;
	size_t nr = 0;
	if (seq == 0 || session_headers(s->session, seq - 1, ev, 1, &nr, &err) < 0 || nr == 0)
		return 0;
	return ev[0].ts_us;
}

/* The last event that is not later than @ts_us; times go up but for small steps of the clock. */
static uint64_t seq_at(struct source *s, int64_t ts_us)
{
	uint64_t low = 1, high = session_head(s->session);
	while (low < high) {
		uint64_t mid = low + (high - low + 1) / 2;
		if (transport_time_of(s, mid) <= ts_us)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* The same, and in a pause that is longer the event that ends it. */
static uint64_t seq_after(struct source *s, uint64_t at, int64_t ts_us)
{
	uint64_t to = seq_at(s, ts_us);
	return to > at ? to : at + 1;
}

uint64_t transport_limit(const struct ui *ui, size_t source)
{
	struct source *first = record_of(ui), *s = ui_source(ui, source);
	if (!ui->replay || source == 0 || ui->limit == 0 || !first || !s)
		return ui->limit;
	return seq_at(s, transport_time_of(s, 1) + transport_time_of(first, ui->limit) -
				 transport_time_of(first, 1));
}

/* "14:32:07" or "14:32" on the day where the cursor is; -1 it is not one. */
static int64_t clock_time(const char *text, int64_t near_us)
{
	int h, m, sec = 0, n = 0;
	time_t t = (time_t)(near_us / 1000000);
	struct tm tm;
	if ((sscanf(text, "%2d:%2d:%2d%n", &h, &m, &sec, &n) != 3 || text[n]) &&
	    ((sec = 0), sscanf(text, "%2d:%2d%n", &h, &m, &n) != 2 || text[n]))
		return -1;
	if (h < 0 || h > 23 || m < 0 || m > 59 || sec < 0 || sec > 60 || !localtime_r(&t, &tm))
		return -1;
	tm.tm_hour = h;
	tm.tm_min = m;
	tm.tm_sec = sec;
	return (int64_t)mktime(&tm) * 1000000 + 999999;
}

/* "0:02" or "1:02:33" as times from the start of the ruler, in a session of that length; -1 for
 * other text. */
static int64_t time_into(const char *text, int64_t begin_us, int64_t end_us)
{
	int a, b, c = 0, n = 0;
	bool three = sscanf(text, "%3d:%2d:%2d%n", &a, &b, &c, &n) == 3 && !text[n];
	if (!three && (sscanf(text, "%4d:%2d%n", &a, &b, &n) != 2 || text[n]))
		return -1;
	int64_t into = ((three ? (int64_t)a * 3600 : 0) + (three ? b : a) * 60 + (three ? c : b)) *
		       1000000;
	bool fits = a >= 0 && b >= 0 && b < 60 && c >= 0 && c < 60;
	return fits && into <= end_us - begin_us ? begin_us + into : -1;
}

/* A time of day in the session, or else a time from its beginning; -1 neither. */
static int64_t time_named(const char *text, struct source *s, int64_t now)
{
	int64_t begin = transport_time_of(s, 1),
		end = transport_time_of(s, session_head(s->session)), clock = clock_time(text, now);
	int64_t into = clock >= begin && clock - 999999 <= end ? -1 : time_into(text, begin, end);
	return into >= 0 ? into : clock;
}

/* The end of a session that runs is a moment, not a place. */
static void transport_follow(struct ui *ui)
{
	struct source *s = record_of(ui);
	bool live = s && session_live(s->session);
	ui->playing = false;
	ui->limit = 0;
	ui_sync(ui);
	ui_say(ui, ROLE_DIM,
	       live ? "follows the end; any step or seek stands still again" : "that is the end");
}

void transport_seek(struct ui *ui, const char *to)
{
	struct source *s = record_of(ui);
	char *end = NULL;
	if (!s)
		return;
	uint64_t head = session_head(s->session), at = transport_cursor_seq(ui),
		 n = strtoull(to + (*to == '#'), &end, 10);
	int64_t span = 0, now = transport_time_of(s, at), clock;
	ui->playing = false;
	if (strcmp(to, "start") == 0)
		transport_go_to(ui, 1);
	else if (strcmp(to, "end") == 0)
		transport_follow(ui);
	else if ((*to == '+' || *to == '-') && clock_parse_span(to + 1, &span))
		transport_go_to(ui,
				*to == '+' ? seq_after(s, at, now + span) : seq_at(s, now - span));
	else if (*to >= '0' && *to <= '9' && strcmp(end, "%") == 0 && n <= 100)
		transport_go_to(ui,
				seq_at(s, transport_time_of(s, 1) + (transport_time_of(s, head) -
								     transport_time_of(s, 1)) /
									    100 * (int64_t)n));
	else if ((clock = time_named(to, s, now)) >= 0)
		transport_go_to(ui, seq_at(s, clock));
	else if (end != to + (*to == '#') && *end == 0 && *to != '-' && *to != '+') {
		if (has_event(ui, s, n))
			transport_go_to(ui, n);
	} else
		ui_say(ui, ROLE_ERROR,
		       "seek: expected 50%%, an event number, +5m, -30s, 14:32:07, 0:45, start, or end");
}

bool transport_key(struct ui *ui, uint32_t key)
{
	char *d = ui->transport.digits;
	size_t n = strlen(d);
	if (ui->find && key >= '0' && key <= '9' && !(ui_where(ui) & IN_PALETTE) &&
	    !finder_waits(ui)) {
		if (n + 1 < sizeof(ui->transport.digits))
			d[n] = (char)key, d[n + 1] = 0;
		ui_say(ui, ROLE_DIM, "%s   then %% of the time, G event", d);
		return true;
	}
	if (n == 0)
		return false;
	char text[12];
	snprintf(text, sizeof(text), "%s%s", d, key == '%' ? "%" : "");
	d[0] = 0;
	ui_say(ui, ROLE_TEXT, "%s", "");
	if (key != '%' && key != 'G')
		return key == K_ESC;
	transport_seek(ui, text);
	return true;
}

/* --- playing ---------------------------------------------------------------------------------- */

static void transport_play(struct ui *ui, bool on)
{
	struct source *s = record_of(ui);
	if (on && s && transport_cursor_seq(ui) >= session_head(s->session))
		transport_go_to(ui, 1); /* from the end: again */
	ui->playing = on;
	ui->transport.tick_us = ui->transport.next_us = ui->mono_us;
	ui->transport.left_us = 0;
}

void transport_summary(struct ui *ui)
{
	const struct source *s = record_of(ui);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!s || session_live(s->session))
		return;
	const struct outcome o = { .model = &s->model,
				   .claims = claimed_list(ui, 0),
				   .unmerged = claimed_unmerged(ui, 0) };
	outcome_short(&o, &text);
	ui_say(ui, ROLE_TEXT, "%s", buf_cstr(&text));
}

static bool end_of_play(struct ui *ui)
{
	transport_follow(ui);
	transport_summary(ui);
	return true;
}

static bool tick_by_event(struct ui *ui, struct source *s)
{
	uint64_t to = next_row(s, transport_cursor_seq(ui));
	if (!to)
		return end_of_play(ui);
	ui->limit = to;
	ui->transport.next_us = ui->mono_us + BY_EVENT_US;
	return true;
}

bool transport_tick(struct ui *ui)
{
	struct transport *t = &ui->transport;
	struct source *s = record_of(ui);
	struct event ev[256];
	struct err err = ERR_INIT;
	size_t nr = 0, i = 0;
	int num, den;
	if (!ui->playing || !s || ui->mono_us < t->next_us)
		return false;
	if (t->by_event)
		return tick_by_event(ui, s);
	transport_ratio(t->speed, &num, &den);
	t->left_us += (ui->mono_us - t->tick_us) * num / den;
	t->tick_us = ui->mono_us;
	uint64_t at = transport_cursor_seq(ui), before = at;
	int64_t last = transport_time_of(s, at), gap = 0;
	for (;; i++) {
		if (i == nr) {
			i = 0;
			if (session_headers(s->session, at, ev, ARRAY_LEN(ev), &nr, &err) < 0 ||
			    nr == 0)
				return end_of_play(ui);
		}
		gap = ev[i].ts_us - last;
		gap = gap < 0 ? 0 : gap > TRACK_IDLE_US ? TRACK_IDLE_US : gap;
		if (gap > t->left_us)
			break;
		t->left_us -= gap;
		last = ev[i].ts_us;
		ui->limit = at = ev[i].seq;
	}
	int64_t wait = (gap - t->left_us) * den / num;
	t->next_us = ui->mono_us + (wait < FRAME_US ? FRAME_US : wait);
	return at != before;
}

bool transport_verb(struct ui *ui, enum verb v, const struct subject *on)
{
	struct transport *t = &ui->transport;
	struct source *s = record_of(ui);
	(void)on;
	if (!ui->replay || !s)
		return false;
	switch ((int)v) {
	case VERB_REPLAY_PLAY:
		transport_play(ui, !ui->playing);
		return true;
	case VERB_REPLAY_NEXT:
	case VERB_REPLAY_PREV:
		ui->playing = false;
		step_row(ui, v == VERB_REPLAY_NEXT ? 1 : -1);
		return true;
	case VERB_REPLAY_EVENT:
	case VERB_REPLAY_EVENT_BACK:
		ui->playing = false;
		transport_go_to(ui, v == VERB_REPLAY_EVENT
					    ? transport_cursor_seq(ui) + 1
					    : transport_cursor_seq(ui) -
						      (transport_cursor_seq(ui) > 1));
		return true;
	case VERB_REPLAY_TURN:
	case VERB_REPLAY_TURN_BACK:
		transport_jump(ui, 't', "turn", v == VERB_REPLAY_TURN ? 1 : -1);
		return true;
	case VERB_REPLAY_FASTER:
	case VERB_REPLAY_SLOWER:
		t->speed += v == VERB_REPLAY_FASTER ? 1 : -1;
		t->speed = t->speed < -SPEED_ONE ? -SPEED_ONE
			   : t->speed >= (int)ARRAY_LEN(transport_speeds) - SPEED_ONE
				   ? (int)ARRAY_LEN(transport_speeds) - SPEED_ONE - 1
				   : t->speed;
		t->by_event = false;
		t->tick_us = t->next_us = ui->mono_us;
		return true;
	case VERB_REPLAY_BY_EVENT:
		t->by_event = !t->by_event;
		t->tick_us = t->next_us = ui->mono_us;
		return true;
	case VERB_REPLAY_START:
		transport_go_to(ui, 1);
		return true;
	case VERB_REPLAY_END:
	case VERB_FOLLOW:
		transport_follow(ui);
		return true;
	default:
		return false;
	}
}

/* --- its rows --------------------------------------------------------------------------------- */

int transport_rows(const struct ui *ui)
{
	return ui->replay ? ruler_rows(ui) + 1 : 0;
}

void transport_go(struct ui *ui, uint64_t seq)
{
	ui->playing = false;
	transport_go_to(ui, seq);
}

uint64_t transport_cursor(const struct ui *ui)
{
	return transport_cursor_seq(ui);
}

bool transport_click(struct ui *ui, int row, int col)
{
	int from = ui->grid.rows - ui_frame_rows(ui);
	struct source *s = record_of(ui);
	uint64_t to = s && ui->replay && row >= from && row < from + ruler_rows(ui)
			      ? ruler_seq(ui, 0, col)
			      : 0;
	if (!to)
		return false;
	ui->playing = false;
	transport_go_to(ui, to);
	return true;
}

static void paint_status(const struct ui *ui, struct source *s, struct area a, int row,
			 struct arena *ar)
{
	const struct model *m = &s->model;
	uint64_t head = session_head(s->session), at = transport_cursor_seq(ui);
	const struct transport *t = &ui->transport;
	int64_t begin = transport_time_of(s, 1), end = transport_time_of(s, head);
	uint32_t turn = 0;
	for (size_t i = 0; i < m->nr_agents; i++)
		turn += m->agent[i].turn;
	const char *how = t->by_event ? "by event" : transport_speeds[t->speed + SPEED_ONE].name;
	bool wide = a.cols >= 100,
	     moves = ui->playing || (ui->limit == 0 && !m->ended && session_live(s->session));
	struct piece p[] = {
		{ moves ? ROLE_RUN : ROLE_PAUSED, ui->playing ? "> PLAY"
						  : moves     ? "> FOLLOW"
							      : "= STOP" },
		{ ROLE_TITLE,
		  arena_printf(ar, "%s / %s", fmt_age(ar, transport_time_of(s, at) - begin),
			       fmt_age(ar, end - begin)) },
		{ ROLE_TEXT, arena_printf(ar, "event %" PRIu64 " / %" PRIu64, at, head) },
		{ ROLE_TEXT, how },
		{ ROLE_TEXT, arena_printf(ar, "%s%s", wide ? "cost so far " : "",
					  fmt_cost(ar, m->uusd, m->cost_unknown)) },
		{ ROLE_DIM, turn ? arena_printf(ar, "turns %u", turn) : "" },
		{ ROLE_DIM, wide ? "50%  188G  :seek +5m  ]e error" : "" },
	};
	draw_pieces(a, row, 1, p, ARRAY_LEN(p));
}

void transport_paint(const struct ui *ui, struct area a)
{
	struct arena ar = ARENA_INIT;
	struct source *s = record_of(ui);
	if (!s || a.rows < 1)
		return;
	ruler_paint(ui, 0, transport_cursor_seq(ui), area_sub(a, 0, 0, a.rows - 1, a.cols));
	paint_status(ui, s, a, a.rows - 1, &ar);
	arena_release(&ar);
}
