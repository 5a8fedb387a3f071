/* asciicast 2 and 3 (docs of asciinema: "asciicast v2", "asciicast v3"): a session as a terminal
 * recording. An action starts with a line like a prompt and a marker "#405 exec make test", so that
 * a player stops at actions. Its output follows with its own times, and a line for an end other
 * than plain success.
 *
 * Output is recorded in segments that are closed a little after their last byte, so pieces of
 * several actions come slightly out of order. They wait in a heap until no earlier piece can
 * come (HORIZON) or the heap is full (HEAP_BYTES). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "phrase/describe.h"
#include "exchange/act.h"
#include "exchange/export.h"
#include "exchange/vetted.h"
#include "base/clock.h"
#include "base/mem.h"
#include "record/record.h"

enum { HORIZON_US = 2000000, HEAP_BYTES = 8 << 20, COLS = 120, ROWS = 36 };

struct piece {
	int64_t ts_us;
	uint64_t order; /* of pieces with the same time */
	uint64_t action;
	/* 0: text of ours, ready for the terminal; -1: a marker; -2: the end of an action; -3: a
	 * new size */
	int stream;
	char *bytes;
	size_t len;
};

struct open_stream {
	uint64_t action;
	int stream;
	struct vetted vetted;
};

struct cast {
	struct export *x;
	int version;
	struct agent_names names;
	struct piece *heap;
	size_t nr, cap, bytes;
	uint64_t order;
	struct open_stream *open;
	size_t nr_open, cap_open;
	uint64_t segment_action;   /* whose segment is being read */
	int64_t begin_us, last_us; /* wall time of the beginning, and of the last event written */
	int64_t carry_us;	   /* version 3: what rounding has left over */
	bool mid_line;		   /* the cursor does not stand at the beginning of a line */
	/* One action that had a terminal: only its own bytes, so that the player's screen is the
	 * program's. */
	bool own_screen;
	int cols, rows;
};

/* --- the heap --- */

static bool export_cast_before(const struct piece *a, const struct piece *b)
{
	return a->ts_us != b->ts_us ? a->ts_us < b->ts_us : a->order < b->order;
}

static void export_cast_push(struct cast *c, struct piece p)
{
	p.order = c->order++;
	GROW(c->heap, c->nr, c->cap);
	size_t i = c->nr++;
	for (; i && export_cast_before(&p, &c->heap[(i - 1) / 2]); i = (i - 1) / 2)
		c->heap[i] = c->heap[(i - 1) / 2];
	c->heap[i] = p;
	c->bytes += p.len + sizeof(p);
}

static struct piece export_cast_pop(struct cast *c)
{
	struct piece top = c->heap[0], last = c->heap[--c->nr];
	size_t i = 0;
	for (size_t kid; (kid = 2 * i + 1) < c->nr; i = kid) {
		kid += kid + 1 < c->nr && export_cast_before(&c->heap[kid + 1], &c->heap[kid]);
		if (!export_cast_before(&c->heap[kid], &last))
			break;
		c->heap[i] = c->heap[kid];
	}
	if (c->nr)
		c->heap[i] = last;
	c->bytes -= top.len + sizeof(top);
	return top;
}

/* --- lines of the cast --- */

static void put_time(struct cast *c, int64_t ts_us)
{
	if (ts_us < c->last_us)
		ts_us = c->last_us;
	if (c->version == 2) {
		int64_t at = ts_us - c->begin_us;
		fprintf(c->x->out, "%" PRId64 ".%06" PRId64, at / 1000000, at % 1000000);
	} else {
		int64_t us = ts_us - c->last_us + c->carry_us, ms = (us + 500) / 1000;
		c->carry_us = us - ms * 1000;
		fprintf(c->x->out, "%" PRId64 ".%03" PRId64, ms / 1000, ms % 1000);
	}
	c->last_us = ts_us;
}

static void export_cast_put_event(struct cast *c, int64_t ts_us, const char *code, const char *text,
				  size_t len)
{
	fputc('[', c->x->out);
	put_time(c, ts_us);
	fprintf(c->x->out, ", \"%s\", ", code);
	export_json_text(c->x->out, text, len);
	fputs("]\n", c->x->out);
}

static struct vetted *vetted_of(struct cast *c, uint64_t action, int stream)
{
	for (size_t i = 0; i < c->nr_open; i++)
		if (c->open[i].action == action && c->open[i].stream == stream)
			return &c->open[i].vetted;
	GROW(c->open, c->nr_open, c->cap_open);
	struct open_stream *o = &c->open[c->nr_open++];
	*o = (struct open_stream){ .action = action, .stream = stream };
	vetted_init(&o->vetted, stream == STREAM_PTY);
	return &o->vetted;
}

static void export_cast_put_text(struct cast *c, int64_t ts_us, const struct buf *text)
{
	if (!text->len)
		return;
	export_cast_put_event(c, ts_us, "o", text->data, text->len);
	c->mid_line = text->data[text->len - 1] != '\n';
}

static void close_streams(struct cast *c, uint64_t action, int64_t ts_us)
{
	for (size_t i = 0; i < c->nr_open;)
		if (c->open[i].action == action) {
			CLEANUP(buf_release) struct buf text = BUF_INIT;
			vetted_end(&c->open[i].vetted, &text);
			export_cast_put_text(c, ts_us, &text);
			c->open[i] = c->open[--c->nr_open];
		} else {
			i++;
		}
}

static void write_piece(struct cast *c, const struct piece *p)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (p->stream == -1) {
		export_cast_put_event(c, p->ts_us, "m", p->bytes, p->len);
		return;
	}
	if (p->stream == -3) {
		export_cast_put_event(c, p->ts_us, "r", p->bytes, p->len);
		return;
	}
	if (p->stream == -2)
		close_streams(c, p->action, p->ts_us);
	if (p->stream <= 0 && c->mid_line && p->len)
		buf_puts(&text, "\r\n");
	if (p->stream <= 0)
		buf_append(&text, p->bytes, p->len);
	else
		vetted_feed(vetted_of(c, p->action, p->stream), p->bytes, p->len, &text);
	export_cast_put_text(c, p->ts_us, &text);
}

static void export_cast_flush(struct cast *c, int64_t until_us)
{
	while (c->nr && (c->heap[0].ts_us <= until_us || c->bytes > HEAP_BYTES)) {
		struct piece p = export_cast_pop(c);
		write_piece(c, &p);
		free(p.bytes);
	}
}

/* --- events --- */

static void push_text(struct cast *c, const struct event *ev, uint64_t action, int stream,
		      const struct buf *text)
{
	export_cast_push(c, (struct piece){ .ts_us = ev->ts_us,
					    .action = action,
					    .stream = stream,
					    .bytes = mem_dup(buf_cstr(text), text->len + 1),
					    .len = text->len });
}

static bool export_cast_on_chunk(void *self, int stream, int64_t ts_us, const void *bytes,
				 size_t len)
{
	struct cast *c = self;
	export_cast_push(c, (struct piece){ .ts_us = ts_us,
					    .action = c->segment_action,
					    .stream = stream,
					    .bytes = mem_dup(bytes, len),
					    .len = len });
	return true;
}

static void on_requested(struct cast *c, const struct event *ev, const json_t *body)
{
	CLEANUP(buf_release)
	struct buf what = BUF_INIT, vet = BUF_INIT, line = BUF_INIT, mark = BUF_INIT;
	const char *kind = json_str(body, "kind", "action");
	if (!strcmp(kind, "model")) /* its answer is shown */
		return;
	describe_action(body, &what);
	if (what.len > 500)
		what.len = 500;
	sanitize_line(buf_cstr(&what), what.len, 0, &vet);
	const char *agent = agent_name(&c->names, c->x->s, ev->agent);
	CLEANUP(buf_release) struct buf who = BUF_INIT;
	sanitize_line(agent, strlen(agent), 0, &who);
	buf_printf(&line, "\033[36m#%" PRIu64 " %s%s\033[0m\033[1m%s %s\033[0m\r\n", ev->seq,
		   buf_cstr(&who), who.len ? " " : "",
		   strcmp(kind, "exec") && strcmp(kind, "shell") ? kind : "$", buf_cstr(&vet));
	if (!c->own_screen)
		push_text(c, ev, ev->seq, 0, &line);
	buf_printf(&mark, "#%" PRIu64 " %s %.60s", ev->seq, kind, buf_cstr(&vet));
	push_text(c, ev, ev->seq, -1, &mark);
}

/* A model's answer is text of ours on the terminal: the agent, then its text. */
static void export_cast_on_reply(struct cast *c, const struct event *ev)
{
	struct vetted v;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct ev_model_reply reply;
	event_decode(&desc_ev_model_reply, ev, &mem, &reply);
	const char *said = exchange_text(&mem, reply.text, ""),
		   *agent = agent_name(&c->names, c->x->s, ev->agent);
	if (!*said)
		return;
	CLEANUP(buf_release) struct buf who = BUF_INIT;
	sanitize_line(agent, strlen(agent), 0, &who);
	buf_printf(&text, "\033[36m#%" PRIu64 " %s%ssays\033[0m ", ev->seq, buf_cstr(&who),
		   who.len ? " " : "");
	vetted_init(&v, false);
	vetted_feed(&v, said, strlen(said), &text);
	vetted_end(&v, &text);
	buf_puts(&text, "\r\n");
	push_text(c, ev, ev->action, 0, &text);
}

static void export_cast_on_ended(struct cast *c, const struct event *ev)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT, why = BUF_INIT, how = BUF_INIT;
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct ev_action_ended e;
	event_decode(&desc_ev_action_ended, ev, &mem, &e);
	const char *text = exchange_text(&mem, e.why, "");
	sanitize_line(text, strlen(text), 0, &why);
	ended_how(&e, &how);
	if (strcmp(buf_cstr(&how), "ok") != 0 && !c->own_screen)
		buf_printf(&line, "\033[31m#%" PRIu64 " %s%s%s\033[0m\r\n", ev->action,
			   buf_cstr(&how), why.len ? ": " : "", buf_cstr(&why));
	push_text(c, ev, ev->action, -2, &line);
}

static void on_decided(struct cast *c, const struct event *ev)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT, raw = BUF_INIT, vet = BUF_INIT;
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct ev_action_decided d;
	event_decode(&desc_ev_action_decided, ev, &mem, &d);
	const char *by = exchange_text(&mem, d.by, "nobody");
	const char *message = exchange_text(&mem, d.message, "");
	if (c->own_screen)
		return;
	buf_printf(&raw, "%s by %s", exchange_text(&mem, d.decision, "decided"),
		   exchange_text(&mem, d.who.name, by));
	if (*message)
		buf_printf(&raw, ": %s", message);
	sanitize_line(buf_cstr(&raw), raw.len, 0, &vet);
	buf_printf(&line, "\033[33m#%" PRIu64 " %s\033[0m\r\n", ev->action, buf_cstr(&vet));
	push_text(c, ev, ev->action, 0, &line);
}

/* The command that runs after a user's edit, instead of the one above. */
static void export_cast_on_started(struct cast *c, const struct event *ev, const json_t *body)
{
	CLEANUP(buf_release) struct buf what = BUF_INIT, vet = BUF_INIT, line = BUF_INIT;
	if (!json_flag(body, "edited", false))
		return;
	describe_action(body, &what);
	sanitize_line(buf_cstr(&what), what.len > 500 ? 500 : what.len, 0, &vet);
	buf_printf(&line, "\033[33m#%" PRIu64 " runs as edited:\033[0m\033[1m %s\033[0m\r\n",
		   ev->action, buf_cstr(&vet));
	push_text(c, ev, ev->action, 0, &line);
}

static void export_cast_put_size(struct cast *c, const struct event *ev, int64_t cols, int64_t rows)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	buf_printf(&text, "%dx%d", cols > 0 ? (int)cols : COLS, rows > 0 ? (int)rows : ROWS);
	push_text(c, ev, ev->action, -3, &text);
}

static void export_cast_on_resize(struct cast *c, const struct event *ev)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct ev_proc_resize r;
	event_decode(&desc_ev_proc_resize, ev, &mem, &r);
	export_cast_put_size(c, ev, r.cols, r.rows);
}

static void export_cast_on_attached(struct cast *c, const struct event *ev)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct ev_terminal_attached at;
	event_decode(&desc_ev_terminal_attached, ev, &mem, &at);
	export_cast_put_size(c, ev, at.cols, at.rows);
}

static void export_cast_on_gap(struct cast *c, const struct event *ev)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct ev_output_gap gap;
	event_decode(&desc_ev_output_gap, ev, &mem, &gap);
	buf_printf(&text,
		   "\033[31m#%" PRIu64 " %" PRId64 " bytes of output were not kept\033[0m\r\n",
		   ev->action, gap.bytes);
	push_text(c, ev, ev->action, 0, &text);
}

static int export_cast_on_output(struct cast *c, const struct event *ev, struct err *err)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct ev_output o;
	event_decode(&desc_ev_output, ev, &mem, &o);
	c->segment_action = ev->action;
	if (o.stream < STREAM_OUT || o.stream > STREAM_PTY)
		return 0;
	return session_segment_each(c->x->s, (uint64_t)o.segment, export_cast_on_chunk, c, err);
}

static int export_cast_on_event(struct cast *c, const struct event *ev, struct err *err)
{
	struct err none = ERR_INIT;
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &none) : json_object();
	int rc = 0;
	switch (ev->kind) { /* kinds are numbers of a file: most are not seen on a terminal */
	case EV_ACTION_REQUESTED:
		on_requested(c, ev, body);
		break;
	case EV_MODEL_REPLY:
		export_cast_on_reply(c, ev);
		break;
	case EV_ACTION_DECIDED:
		on_decided(c, ev);
		break;
	case EV_ACTION_STARTED:
		export_cast_on_started(c, ev, body);
		break;
	case EV_ACTION_ENDED:
		export_cast_on_ended(c, ev);
		break;
	case EV_PROC_RESIZE:
		export_cast_on_resize(c, ev);
		break;
	case EV_TERMINAL_ATTACHED:
		export_cast_on_attached(c, ev);
		break;
	case EV_OUTPUT_GAP:
		export_cast_on_gap(c, ev);
		break;
	case EV_OUTPUT:
		rc = export_cast_on_output(c, ev, err);
		break;
	default:
		break;
	}
	json_decref(body);
	return rc;
}

static void export_cast_put_header(struct cast *c)
{
	CLEANUP(buf_release) struct buf title = BUF_INIT, vet = BUF_INIT;
	FILE *out = c->x->out;
	buf_printf(&title, "%s %s", session_name(c->x->s), session_id(c->x->s));
	sanitize_line(buf_cstr(&title), title.len, 0, &vet);
	if (c->version == 2)
		fprintf(out, "{\"version\": 2, \"width\": %d, \"height\": %d", c->cols, c->rows);
	else
		fprintf(out,
			"{\"version\": 3, \"term\": {\"cols\": %d, \"rows\": %d, \"type\": \"xterm-256color\"}",
			c->cols, c->rows);
	fprintf(out, ", \"timestamp\": %" PRId64 ", \"idle_time_limit\": 2.0, \"title\": ",
		c->begin_us / 1000000);
	export_json_text(out, buf_cstr(&vet), vet.len);
	fputs("}\n", out);
}

/* The size of the terminal that the exported action began with. */
static void export_cast_size(struct cast *c, const struct event *ev)
{
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &none) : NULL;
	const json_t *args = json_object_get(body, "args");
	int64_t cols = json_int(args, "cols", 0), rows = json_int(args, "rows", 0);
	c->own_screen = cols > 0 && rows > 0 && cols < 10000 && rows < 10000;
	c->cols = c->own_screen ? (int)cols : COLS;
	c->rows = c->own_screen ? (int)rows : ROWS;
}

static int write_cast(struct cast *c, struct err *err)
{
	struct export *x = c->x;
	struct arena arena = ARENA_INIT;
	struct feed *feed = NULL;
	struct event ev;
	uint64_t head = session_head(x->s);
	int rc = session_event(x->s, x->action ? x->action : 1, &ev, &arena, err);
	if (rc == 0) {
		c->begin_us = c->last_us = ev.ts_us;
		c->cols = COLS;
		c->rows = ROWS;
		if (x->action)
			export_cast_size(c, &ev);
		export_cast_put_header(c);
		if (x->action)
			rc = export_cast_on_event(c, &ev, err);
	}
	if (rc == 0)
		rc = feed_new(&feed, x->s, x->action ? FEED_ACTION : FEED_ALL, x->action, err);
	while (rc == 0 && (rc = feed_next(feed, &ev, &arena, head, err)) > 0) {
		rc = export_wanted(x, &ev) ? export_cast_on_event(c, &ev, err) : 0;
		export_cast_flush(c, ev.ts_us - HORIZON_US);
		arena_reset(&arena);
	}
	if (rc == 0)
		export_cast_flush(c, INT64_MAX);
	feed_free(&feed);
	arena_release(&arena);
	return rc;
}

static int export_cast(struct export *x, int version, struct err *err)
{
	struct cast c = { .x = x, .version = version };
	int rc = write_cast(&c, err);
	while (c.nr) {
		struct piece p = export_cast_pop(&c);
		free(p.bytes);
	}
	free(c.heap);
	free(c.open);
	agent_names_release(&c.names);
	return rc;
}

int export_cast2(struct export *x, struct err *err)
{
	return export_cast(x, 2, err);
}

int export_cast3(struct export *x, struct err *err)
{
	return export_cast(x, 3, err);
}
