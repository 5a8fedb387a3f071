/* The replay by commands, for screen readers, pipes, and dumb terminals. Commands move the
 * cursor, new rows are printed as lines of line mode, and a screen is printed on request.
 * Cursor, bookmarks, and views are those of the console. */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "ui/frame/finder.h"
#include "ui/line_priv.h"
#include "ui/term/fmt.h"
#include "ui/frame/transport.h"

enum { ROWS = 40, COLS = 100, OUT_MOST = 64 << 10, LINE_MOST = 4096, STEP_MS = 50 };

static const char help_text[] =
	"  Enter, next, prev          one step forward, back\n"
	"  event, event-back          exactly one event\n"
	"  turn, turn-back            next turn, previous turn\n"
	"  next KIND, prev KIND       error, diff, approval, hold, mark, snapshot\n"
	"  50%, 188, +5m, -30s, 14:32:07, start, end\n"
	"  play [SPEED]               0.25x to 64x; Enter stops; by-event: one event per 0.3 s\n"
	"  follow                     the end, and new events as they arrive\n"
	"  where                      the current position\n"
	"  mark [LETTER] [TEXT], go LETTER, bookmarks\n"
	"  fleet, agent, log, files, sandboxes, plot WHAT, sql SELECT ..: print that screen; screen: the open one\n"
	"  timeline, ruler WHAT       lanes and bookmarks\n"
	"  out [ID]                   output of a command, up to this event\n"
	"  q\n";

struct talk {
	struct ui ui;
	struct source *s;
	struct line *line;
	struct buf in; /* bytes of an incomplete line */
	bool ended;    /* the input has ended */
	FILE *out;
};

/* --- input ------------------------------------------------------------------------------------ */

/* Returns owned: the next line without its end; NULL if none comes within @ms (-1: no limit) or
 * at the end. */
static char *line_replay_typed(struct talk *t, int ms)
{
	for (;;) {
		char *end = t->in.len ? memchr(t->in.data, '\n', t->in.len) : NULL;
		if (end || (t->ended && t->in.len)) {
			size_t n = end ? (size_t)(end - t->in.data) : t->in.len,
			       used = n + (end != NULL);
			char *line = mem_strndup(t->in.data, n);
			memmove(t->in.data, t->in.data + used, t->in.len - used);
			t->in.len -= used;
			return line;
		}
		struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
		char bytes[LINE_MOST];
		if (t->ended || poll(&p, 1, ms) <= 0)
			return NULL;
		ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
		t->ended = n <= 0;
		if (n > 0)
			buf_append(&t->in, bytes, (size_t)n);
	}
}

/* --- output ----------------------------------------------------------------------------------- */

static void say_message(struct talk *t)
{
	if (*t->ui.message) {
		line_print_safe(t->out, t->ui.message);
		fputc('\n', t->out);
	}
	ui_say(&t->ui, ROLE_TEXT, "%s", "");
}

static void say_event(struct talk *t, uint64_t seq)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	struct err err = ERR_INIT;
	if (session_event(t->s->session, seq, &ev, &a, &err) < 0)
		return;
	if (!line_event(t->line, &ev) && seq == transport_cursor(&t->ui))
		fprintf(t->out, "event %" PRIu64 " %s\n", seq,
			event_kind_name(ev.kind) ? event_kind_name(ev.kind) : "(unknown kind)");
}

static int64_t line_replay_time_of(struct talk *t, uint64_t seq)
{
	struct event ev[1];
	struct err err = ERR_INIT;
	size_t nr = 0;
	return seq && session_headers(t->s->session, seq - 1, ev, 1, &nr, &err) == 0 && nr
		       ? ev[0].ts_us
		       : 0;
}

static void say_where(struct talk *t)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	const struct model *m = &t->s->model;
	uint64_t at = transport_cursor(&t->ui), head = session_head(t->s->session);
	int64_t begin = line_replay_time_of(t, 1);
	fprintf(t->out,
		"event %" PRIu64 " of %" PRIu64
		", %s of %s, %s, cost so far %s, %zu pending, %zu running%s\n",
		at, head, fmt_age(&a, line_replay_time_of(t, at) - begin),
		fmt_age(&a, line_replay_time_of(t, head) - begin),
		fmt_hms_zone(&a, line_replay_time_of(t, at)),
		fmt_cost(&a, m->uusd, m->cost_unknown), m->nr_held,
		model_count(m, AGENT_RUN) + model_count(m, AGENT_THINK),
		t->ui.limit == 0 && session_live(t->s->session) ? ", following the end" : "");
}

static void print_rows(struct talk *t, int from, int to)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	const struct grid *g = &t->ui.grid;
	int blank = 0;
	for (int row = from; row < to; row++) {
		const struct cell *c = &g->cell[(size_t)row * (size_t)g->cols];
		buf_reset(&line);
		for (int i = 0; i < g->cols; i++)
			if (c[i].width > 0)
				buf_append(&line, c[i].s, c[i].len);
		while (line.len > 0 && line.data[line.len - 1] == ' ')
			line.len--;
		if (line.len == 0) {
			blank++;
			continue;
		}
		for (; blank > 0; blank--)
			fputc('\n', t->out);
		fprintf(t->out, "%.*s\n", (int)line.len, line.data);
	}
}

static void print_screen(struct talk *t)
{
	ui_draw(&t->ui);
	print_rows(t, 0, t->ui.grid.rows - ui_frame_rows(&t->ui));
}

static void print_timeline(struct talk *t)
{
	ui_draw(&t->ui);
	int from = t->ui.grid.rows - ui_frame_rows(&t->ui);
	print_rows(t, from, from + transport_rows(&t->ui));
}

static void print_output(struct talk *t, const char *word)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT, safe = BUF_INIT;
	uint64_t id = strtoull(word + (*word == '#'), NULL, 10);
	for (size_t i = t->s->model.nr_actions; !id && i > 0; i--)
		if (t->s->model.action[i - 1].out_bytes + t->s->model.action[i - 1].err_bytes > 0)
			id = t->s->model.action[i - 1].id;
	if (!model_action(&t->s->model, id)) {
		fprintf(t->out,
			"out: expected the ID of a command that started before this event\n");
		return;
	}
	for (int stream = 1; stream <= 2; stream++) {
		uint64_t from = source_tail(t->s, id, stream, OUT_MOST, &text);
		if (text.len == 0)
			continue;
		fprintf(t->out, "%s of #%" PRIu64 "%s:\n", stream == 2 ? "stderr" : "stdout", id,
			from ? ", the end of it" : "");
		for (const char *p = text.data, *end = text.data + text.len; p < end;) {
			const char *n = memchr(p, '\n', (size_t)(end - p));
			buf_reset(&safe);
			sanitize_line(p, (size_t)((n ? n : end) - p), 0, &safe);
			fprintf(t->out, "  %s\n", buf_cstr(&safe));
			p = n ? n + 1 : end;
		}
	}
}

/* --- moving ----------------------------------------------------------------------------------- */

/* One event at a time, so that each is printed with its state at that event. */
static void line_replay_walk(struct talk *t, uint64_t from, uint64_t to)
{
	while (from < to) {
		t->ui.limit = ++from;
		ui_sync(&t->ui);
		say_event(t, from);
	}
}

static void line_replay_play(struct talk *t, const char *speed)
{
	int index = t->ui.transport.speed;
	if (*speed && !transport_speed(speed, &index)) {
		fprintf(t->out, "play: expected a speed: 0.25x, 0.5x, 1x, 2x .. 64x\n");
		return;
	}
	t->ui.transport.speed = index;
	t->ui.mono_us = clock_mono_us();
	ui_do(&t->ui, VERB_REPLAY_PLAY);
	while (t->ui.playing) {
		CLEANUP(free_ptr) char *stop = line_replay_typed(t, STEP_MS);
		uint64_t before = transport_cursor(&t->ui);
		t->ui.mono_us = clock_mono_us();
		if (stop || t->ended)
			t->ui.playing = false;
		else if (transport_tick(&t->ui))
			line_replay_walk(t, before,
					 t->ui.limit ? t->ui.limit : session_head(t->s->session));
		fflush(t->out);
	}
}

static void line_replay_follow(struct talk *t)
{
	ui_do(&t->ui, VERB_FOLLOW);
	say_message(t);
	uint64_t at = transport_cursor(&t->ui);
	while (session_live(t->s->session) && !t->ended) {
		CLEANUP(free_ptr) char *stop = line_replay_typed(t, STEP_MS);
		if (stop)
			break;
		uint64_t head = session_head(t->s->session);
		line_replay_walk(t, at, head);
		at = head;
		fflush(t->out);
	}
}

static void line_replay_mark(struct talk *t, const char *rest)
{
	bool key = *rest && (rest[1] == ' ' || !rest[1]);
	ui_mark(&t->ui, key ? *rest : 0, key ? rest + 1 + strspn(rest + 1, " ") : rest);
}

static bool line_replay_jump(struct talk *t, const char *kind, int by)
{
	static const struct {
		const char *word;
		char kind;
	} kinds[] = { { "error", 'e' }, { "diff", 'd' },     { "approval", 'a' }, { "hold", 'h' },
		      { "mark", 'm' },	{ "snapshot", 's' }, { "turn", 't' } };
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kind, kinds[i].word) == 0) {
			jump_kind(&t->ui, kinds[i].kind, by);
			return true;
		}
	if (*kind)
		fprintf(t->out,
			"next, prev: expected error, diff, approval, hold, mark, snapshot, or turn\n");
	else
		ui_do(&t->ui, by > 0 ? VERB_REPLAY_NEXT : VERB_REPLAY_PREV);
	return true;
}

static bool is_place(const char *word)
{
	return strchr("0123456789#+", *word) || (*word == '-' && word[1]) ||
	       strcmp(word, "start") == 0 || strcmp(word, "end") == 0;
}

/* Anything else is what the console's ":" takes; a screen that opens is printed. */
static void line_replay_other(struct talk *t, const char *text)
{
	unsigned shown = t->ui.nr_shown;
	ui_command_line(&t->ui, text);
	if (t->ui.nr_shown != shown)
		print_screen(t);
}

static void line_replay_command(struct talk *t, const char *text)
{
	size_t n = strcspn(text, " ");
	CLEANUP(free_ptr) char *word = mem_strndup(text, n);
	const char *rest = text + n + strspn(text + n, " ");
	uint64_t before = transport_cursor(&t->ui);
	if (!*word || !strcmp(word, "next") || !strcmp(word, "prev"))
		line_replay_jump(t, rest, *word == 'p' ? -1 : 1);
	else if (is_place(word))
		transport_seek(&t->ui, text);
	else if (!strcmp(word, "play"))
		line_replay_play(t, rest), before = transport_cursor(&t->ui);
	else if (!strcmp(word, "follow"))
		line_replay_follow(t), before = transport_cursor(&t->ui);
	else if (!strcmp(word, "where"))
		say_where(t);
	else if (!strcmp(word, "mark"))
		line_replay_mark(t, rest);
	else if (!strcmp(word, "go") && *rest)
		mark_go(&t->ui, (unsigned char)*rest);
	else if (!strcmp(word, "screen"))
		print_screen(t);
	else if (!strcmp(word, "timeline"))
		print_timeline(t);
	else if (!strcmp(word, "out"))
		print_output(t, rest);
	else if (!strcmp(word, "help") || !strcmp(word, "?"))
		fputs(help_text, t->out);
	else
		line_replay_other(t, strcmp(text, "files") == 0 ? "diff" : text);
	say_message(t);
	if (transport_cursor(&t->ui) != before)
		say_event(t, transport_cursor(&t->ui));
}

int line_replay(const char *path, uint64_t at, const char *marks, FILE *out, struct err *err)
{
	struct talk t = { .out = out };
	if (source_open(&t.s, path, err) < 0)
		return -1;
	source_keep_way(t.s);
	ui_init(&t.ui, &t.s, NULL, 1, ROWS, COLS, true);
	marks_folder(&t.ui, marks);
	t.ui.replay = true;
	t.ui.limit = at ? at : 1;
	ui_sync(&t.ui);
	t.line = line_new(t.s, NULL, out, false, false);
	fprintf(out, "replay of %s: nothing is executed. help lists the commands.\n",
		session_id(t.s->session));
	say_where(&t);
	for (;;) {
		fprintf(out, "%" PRIu64 "> ", transport_cursor(&t.ui));
		fflush(out);
		CLEANUP(free_ptr) char *text = line_replay_typed(&t, -1);
		if (!text || strcmp(text, "q") == 0 || strcmp(text, "quit") == 0)
			break;
		line_replay_command(&t, text);
	}
	fputc('\n', out);
	fflush(out);
	line_free(&t.line);
	ui_release(&t.ui);
	source_close(&t.s);
	buf_release(&t.in);
	return 0;
}
