/* The bookmarks of a session: those of its recording, by any user, and the reader's own. Enter
 * goes there, D removes an own one. Reads: the track (the places of recorded bookmarks), the
 * bookmarks' events, own_marks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/finder_priv.h"
#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/views/listed.h"
#include "ui/rows/row.h"

enum { SEEN_MOST = 2000 };

struct marked {
	uint64_t seq, action; /* what is marked; the action that it is of */
	int64_t ts_us;
	char key;
	bool own;
	const char *text, *by;
	const char *what; /* for a mark without a text: the event in words */
	uint16_t kind;
};

struct marks {
	size_t source;
	struct arena *arena;
	struct marked *mark;
	struct listed l;
};

static void view_marks_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct marks *v = self;
	v->source = ui->replay ? 0 : on->source;
}

/* --- recalc ----------------------------------------------------------------------------------- */

static void view_marks_look_up(struct source *s, struct marked *m)
{
	struct event ev[1];
	struct err err = ERR_INIT;
	size_t nr = 0;
	if (session_headers(s->session, m->seq - 1, ev, 1, &nr, &err) == 0 && nr &&
	    ev[0].seq == m->seq) {
		m->ts_us = ev[0].ts_us;
		m->kind = ev[0].kind;
		m->action = ev[0].action;
	}
}

static void add_recorded(struct marks *v, struct source *s, uint64_t seq)
{
	struct event ev;
	struct err err = ERR_INIT;
	struct marked *m = &v->mark[v->l.nr];
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	if (session_event(s->session, seq, &ev, &a, &err) < 0 || !ev.body)
		return;
	CLEANUP(json_release) json_t *o = json_parse(ev.body, ev.len, "event", &err);
	const json_t *who = json_object_get(o, "who");
	*m = (struct marked){ .seq = ev.cause ? ev.cause : seq, .key = *json_str(o, "key", "") };
	m->text = arena_strdup(v->arena, json_str(o, "text", ""));
	m->by = arena_strdup(v->arena, who ? json_str(who, "name", "a reviewer") : "the script");
	view_marks_look_up(s, m);
	v->l.nr++;
}

/* A bookmark without a text shows its event. */
static void view_marks_name(struct marks *v, struct source *s, struct marked *m)
{
	struct row_info r;
	const char *kind = m->kind ? event_kind_name(m->kind) : "not in this file";
	m->what = kind ? kind : "";
	bool of_one = m->action && m->action != m->seq;
	if (*m->text || !m->kind || !(of_one || model_is_row(m->kind)))
		return;
	row_load(&r, s,
		 of_one ? &(struct row){ m->action, EV_ACTION_REQUESTED }
			: &(struct row){ m->seq, m->kind },
		 v->arena);
	if (*r.what)
		m->what = arena_printf(v->arena, "%s%s%s  %s", of_one ? m->what : "",
				       of_one ? " of " : "", r.word, one_line(r.what, v->arena));
}

static int by_seq(const void *x, const void *y)
{
	const struct marked *a = x, *b = y;
	return a->seq != b->seq ? (a->seq > b->seq) - (a->seq < b->seq) : a->own - b->own;
}

static void view_marks_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct marks *v = self;
	struct source *s = ui_source(ui, v->source);
	(void)cols;
	v->arena = ar;
	v->l.nr = 0;
	if (!s)
		return;
	const struct own_marks *own = &ui->find->own[v->source];
	v->mark = arena_alloc(ar, (SEEN_MOST + own->nr) * sizeof(*v->mark));
	for (uint64_t at = 0;
	     v->l.nr < SEEN_MOST && (at = track_find(&s->track, at, TRACK_MARK, 1));)
		add_recorded(v, s, at);
	for (size_t i = 0; i < own->nr; i++, v->l.nr++) {
		const struct own_mark *o = &own->mark[i];
		v->mark[v->l.nr] = (struct marked){
			.seq = o->seq, .own = true, .key = o->key, .text = o->text, .by = "you"
		};
		view_marks_look_up(s, &v->mark[v->l.nr]);
	}
	for (size_t i = 0; i < v->l.nr; i++)
		view_marks_name(v, s, &v->mark[i]);
	if (v->l.nr > 1)
		qsort(v->mark, v->l.nr, sizeof(*v->mark), by_seq);
	list_settle(&v->l, rows);
}

/* --- paint ------------------------------------------------------------------------------------ */

enum { COL_KEY, COL_EVENT, COL_TIME, COL_BY, COL_TEXT, COL_NR };

static const struct column view_marks_columns[COL_NR] = {
	{ "KEY", { 4, 4 }, { 1, 1 }, false },  { "EVENT", { 9, 9 }, { 1, 1 }, true },
	{ "TIME", { 8, 8 }, { 2, 2 }, false }, { "BY", { 10, 14 }, { 2, 2 }, false },
	{ "TEXT", { 0, 0 }, { 1, 1 }, false },
};

static void view_marks_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct marks *v = self;
	struct columns c;
	int row;
	const struct piece p[] = { { ROLE_TEXT, fmt_plural(v->arena, (int64_t)v->l.nr, "bookmark",
							   "bookmarks") } };
	draw_title(a, 0, "bookmarks", p, ARRAY_LEN(p));
	list_rule(&v->l, a, "Enter jumps to it   D removes one of your own", v->arena);
	list_columns(&c, view_marks_columns, COL_NR, a.cols, a.cols >= 110, COL_NR);
	list_heads(a, 2, &c);
	for (size_t i = v->l.top; list_sees(&v->l, i, a, &row); i++) {
		const struct marked *m = &v->mark[i];
		const char key[2] = { m->key, 0 };
		list_cell(a, row, &c, COL_KEY, ROLE_KEY, *key ? key : "-");
		list_cell(a, row, &c, COL_EVENT, ROLE_TEXT,
			  arena_printf(v->arena, "#%" PRIu64, m->seq));
		list_cell(a, row, &c, COL_TIME, ROLE_DIM,
			  m->ts_us ? fmt_hms(v->arena, m->ts_us) : "");
		list_cell(a, row, &c, COL_BY, m->own ? ROLE_WHO : ROLE_NAME, m->by);
		list_cell(a, row, &c, COL_TEXT, *m->text ? ROLE_TEXT : ROLE_DIM,
			  *m->text ? m->text : m->what);
		if (i == v->l.at)
			put_cursor_row(a, row);
	}
	if (v->l.nr == 0)
		grid_put(
			a, 4, 3, ROLE_DIM,
			ui->replay
				? "no bookmarks: m and a letter sets one at the cursor, m Enter one with a text"
				: "no bookmarks: m and a letter sets a private one, m Enter one in the recording");
}

/* --- keys ------------------------------------------------------------------------------------- */

static void remove_own(struct marks *v, struct ui *ui)
{
	struct err err = ERR_INIT;
	const struct marked *m = v->l.nr ? &v->mark[v->l.at] : NULL;
	if (!m || !m->own)
		ui_say(ui, ROLE_DIM, "%s",
		       m ? "bookmarks in the recording stay" : "no bookmark here");
	else if (own_marks_remove(&ui->find->own[v->source], m->seq, m->key, &err) < 0)
		ui_say(ui, ROLE_ERROR, "%s", err.text);
	else
		ui->stale = true;
}

static bool view_marks_verb(void *self, struct ui *ui, enum verb verb)
{
	struct marks *v = self;
	if (verb != VERB_OPEN)
		return list_verb(&v->l, verb);
	if (v->l.nr > 0) {
		size_t source = v->source;
		uint64_t seq = v->mark[v->l.at].seq;
		ui_back(ui);
		jump_to(ui, source, seq);
	}
	return true;
}

static bool view_marks_key(void *self, struct ui *ui, uint32_t key)
{
	if (key != 'D' && key != K_DEL)
		return false;
	remove_own(self, ui);
	return true;
}

static enum click view_marks_click(void *self, struct ui *ui, int row, int col)
{
	struct marks *v = self;
	(void)ui;
	(void)col;
	return list_click(&v->l, row);
}

static void view_marks_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct marks *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source,
				 .action = v->l.nr ? v->mark[v->l.at].seq : 0 };
}

static const char *const *view_marks_hints(const void *self, const struct ui *ui)
{
	static const char *const all[] = {
		"Enter jumps to it", "D remove", "/ search", ": cmd", "? help", "q back", NULL
	};
	(void)self;
	(void)ui;
	return all;
}

const struct view_ops view_marks = {
	.name = "bookmarks",
	.where = IN_TABLE,
	.hints = view_marks_hints,
	.size = sizeof(struct marks),
	.open = view_marks_open_view,
	.recalc = view_marks_recalc,
	.paint = view_marks_paint,
	.verb = view_marks_verb,
	.key = view_marks_key,
	.click = view_marks_click,
	.subject = view_marks_subject,
};
