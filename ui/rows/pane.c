#include "ui/rows/pane.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query/aim.h"
#include "ui/term/fmt.h"
#include "ui/rows/pty.h"
#include "ui/rows/row.h"

/* --- output ----------------------------------------------------------------------------------- */

/* Lines of one stream that are shown at first: each takes memory, an empty one too. A text that
 * grows may have twice as many. */
enum { LINES_MAX = 1 << 15 };

/* Bytes of the first @max lines. */
static size_t pane_head_lines(const char *p, size_t len, size_t max)
{
	const char *end = p + len, *nl = p;
	while (max > 0 && nl < end && (nl = memchr(nl, '\n', (size_t)(end - nl)))) {
		nl++;
		max--;
	}
	return nl && max == 0 ? (size_t)(nl - p) : len;
}

/* Bytes of the last @max lines. */
static size_t pane_tail_lines(const char *p, size_t len, size_t max)
{
	const char *nl = p + len;
	while (nl && max > 0) {
		nl = memrchr(p, '\n', (size_t)(nl - p));
		max--;
	}
	return nl ? (size_t)(p + len - nl) - 1 : len;
}

static size_t pane_count_lines(const char *p, size_t len)
{
	size_t n = 0;
	for (const char *end = p + len; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		n++;
	return n;
}

struct feeding {
	struct text *t;
	uint64_t left[3]; /* bytes of each stream that had come by the cursor */
	uint64_t room;	  /* bytes that are shown still */
	size_t lines;	  /* lines that are shown still */
	int stream;
	unsigned flags;
	bool begun;
};

static bool feed_run(void *self, int stream, int64_t ts_us, const void *bytes, size_t len)
{
	struct feeding *f = self;
	int which = stream == 2 ? 2 : 1;
	(void)ts_us;
	if (f->left[which] < len)
		len = (size_t)f->left[which];
	if (f->room < len)
		len = (size_t)f->room;
	size_t fit = pane_head_lines(bytes, len, f->lines);
	f->lines -= pane_count_lines(bytes, fit);
	f->left[which] -= fit;
	f->room = f->lines ? f->room - fit : 0;
	len = fit;
	if (len == 0)
		return f->room > 0 && f->left[1] + f->left[2] > 0;
	if (f->begun && f->stream != which)
		text_end(f->t);
	if (!f->begun || f->stream != which)
		text_begin(f->t, ROLE_TEXT, which == 2 ? "2" : NULL, f->flags);
	f->begun = true;
	f->stream = which;
	text_feed(f->t, bytes, len);
	return true;
}

static void say_more(struct text *t, uint64_t n, const char *one, const char *many)
{
	if (n > 0)
		text_putf(t, ROLE_WARN, "(%s new %s below: G jumps to the end)",
			  fmt_count(t->arena, (int64_t)n), n == 1 ? one : many);
}

static void output_part(struct text *t, struct source *s, uint64_t action, int stream,
			uint64_t from, uint64_t room, unsigned flags)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	uint64_t size = source_output(s, action, stream, from, room, &b);
	const char *p = buf_cstr(&b);
	size_t len = pane_head_lines(p, b.len, 2 * (size_t)LINES_MAX);
	uint64_t more = size > from + len ? size - from - len : 0;
	if (from > 0) { /* begin at a line */
		const char *nl = len ? memchr(p, '\n', len) : NULL;
		if (nl && (size_t)(nl - p) + 1 < len) {
			from += (uint64_t)(nl + 1 - p);
			len -= (size_t)(nl + 1 - p);
			p = nl + 1;
		}
		text_putf(t, ROLE_DIM, "(%s %s before this: 'out %" PRIu64 "' prints all of it)",
			  fmt_count(t->arena, (int64_t)from), from == 1 ? "byte" : "bytes", action);
	}
	text_add(t, ROLE_TEXT, stream == 2 ? "2" : NULL, p, len, flags);
	say_more(t, more, "byte", "bytes");
}

/* A model's text as it streams, and then its tool calls; the bytes on the wire are in the
 * provider's format. */
static void output_model(struct text *t, struct source *s, const struct model_action *act,
			 uint64_t from, uint64_t room)
{
	CLEANUP(json_release) json_t *o = source_body(s, act->reply);
	json_t *calls = json_object_get(o, "calls"), *call;
	size_t i, before = t->nr;
	CLEANUP(buf_release) struct buf said = BUF_INIT;
	if (act->out_bytes > 0)
		output_part(t, s, act->id, 6, from, room, TEXT_SOFT);
	else if (json_get_bytes(json_object_get(o, "text"), &said) &&
		 said.len > 0) /* brought in from elsewhere: it did not come bit by bit */
		text_add(t, ROLE_TEXT, NULL, said.data, said.len, TEXT_SOFT);
	json_array_foreach(calls, i, call)
	{
		const json_t *args = json_object_get(call, "args");
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		if (args)
			json_dump_buf(args, &b);
		else if (!json_get_bytes(json_object_get(call, "bad"),
					 &b)) /* as the model wrote it */
			buf_reset(&b);
		text_head(t, ROLE_WHO, args ? " calls %s" : " calls %s with invalid JSON",
			  json_str(call, "name", "a tool"));
		text_add(t, ROLE_CMD, NULL, buf_cstr(&b), b.len, 0);
	}
	if (t->nr == before)
		text_puts(t, ROLE_DIM, act->state == ACT_OVER ? "(no text)" : "(no text yet)");
}

/* Both as they came. */
static void output_mixed(struct text *t, struct source *s, const struct model_action *act,
			 uint64_t room, unsigned flags)
{
	struct err err = ERR_INIT;
	struct feeding f = {
		.t = t,
		.left = { 0, act->out_bytes, act->err_bytes },
		.room = room,
		.lines = 2 * (size_t)LINES_MAX,
		.flags = flags,
	};
	if (session_output_each(s->session, act->id, feed_run, &f, &err) < 0)
		text_puts(t, ROLE_ERROR, err.text);
	if (f.begun)
		text_end(t);
	say_more(t, f.room ? 0 : f.left[1] + f.left[2], "byte", "bytes");
}

/* Where the last @max bytes of a stream begin that have at most LINES_MAX lines. */
static uint64_t stream_from(struct source *s, const struct model_action *act, int stream,
			    uint64_t size, size_t max)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	uint64_t from = size > max ? size - max : 0;
	if (size - from <= LINES_MAX)
		return from;
	source_output(s, act->id, stream, from, max, &b);
	return size - pane_tail_lines(buf_cstr(&b), b.len, LINES_MAX);
}

/* From where on; as before, if there is a before. */
static struct pane_hold output_from(struct source *s, const struct pane_hold *hold,
				    const struct model_action *act, size_t max)
{
	bool model = strcmp(act->kind, "model") == 0;
	uint64_t out = act->out_bytes, err = act->err_bytes;
	if (hold && hold->of == act->id && hold->from[1] <= out && hold->from[2] <= err)
		return *hold;
	struct pane_hold at = { .of = act->id };
	at.from[1] = stream_from(s, act, model ? 6 : 1, out, max);
	at.from[2] = stream_from(s, act, 2, err, model ? max : max / 4);
	at.mixed = !model && out + err <= max && at.from[1] + at.from[2] == 0;
	return at;
}

void pane_output(struct text *t, struct source *s, uint64_t action, size_t max, bool render,
		 struct pane_hold *hold)
{
	const struct model_action *act = model_action(&s->model, action);
	unsigned flags = render ? SANITIZE_RENDER : 0;
	if (!act)
		return;
	bool model = strcmp(act->kind, "model") == 0;
	if (act->out_bytes + act->err_bytes + act->wire_bytes == 0 &&
	    !(model && act->state != ACT_WAITS)) {
		text_puts(t, act->state == ACT_WAITS ? ROLE_HELD : ROLE_DIM,
			  act->state == ACT_OVER ? "(no output)"
			  : act->state == ACT_WAITS && act->latched
				  ? "paused: . runs one action, c continues"
			  : act->state == ACT_WAITS ? "pending approval: a opens it"
						    : "(no output yet)");
		return;
	}
	if (act->pty_bytes > 0 && !render) { /* the screen; "o" once more: the bytes */
		pane_pty(t, s, action);
		return;
	}
	struct pane_hold at = output_from(s, hold, act, max);
	if (hold)
		*hold = at;
	if (model) {
		output_model(t, s, act, at.from[1], 2 * (uint64_t)max);
	} else if (at.mixed && act->out_bytes + act->err_bytes > 0) {
		output_mixed(t, s, act, 2 * (uint64_t)max, flags);
	} else if (act->out_bytes + act->err_bytes == 0) {
		output_part(t, s, action, 5, 0, 2 * (uint64_t)max, flags);
	} else {
		if (act->out_bytes > 0)
			output_part(t, s, action, 1, at.from[1], 2 * (uint64_t)max, flags);
		if (act->err_bytes > 0)
			output_part(t, s, action, 2, at.from[2], max, flags);
	}
}

/* --- transcript ------------------------------------------------------------------------------- */

static void pane_say(struct text *t, const char *who, const char *text, size_t len)
{
	text_head(t, ROLE_WHO, " %s", who);
	text_add(t, ROLE_TEXT, NULL, text, len, TEXT_SOFT);
	text_blank(t);
}

static void transcript_action(struct text *t, struct source *s, const struct row *row)
{
	const struct model_action *act = model_action(&s->model, row->seq);
	struct row_info r;
	row_load(&r, s, row, t->arena);
	if (act && strcmp(act->kind, "model") == 0) {
		CLEANUP(json_release) json_t *o = source_body(s, act->reply);
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		if (json_get_bytes(json_object_get(o, "text"), &b) && b.len > 0)
			pane_say(t, "model:", b.data, b.len);
		return;
	}
	text_head(t, ROLE_WHO, " tool: %s", r.word);
	text_add(t, ROLE_CMD, "$", r.what, strlen(r.what), 0);
	if (*r.verdict && strcmp(r.verdict, "allow") != 0)
		text_putf(t, r.role, "%s %s %s", r.verdict, r.by, r.why);
	if (*r.outcome)
		text_putf(t, r.role, "%s%s%s", r.outcome, r.out_bytes ? ", " : "",
			  r.out_bytes ? arena_printf(t->arena, "%s %s of output",
						     fmt_count(t->arena, (int64_t)r.out_bytes),
						     r.out_bytes == 1 ? "byte" : "bytes")
				      : "");
	text_blank(t);
}

/* A script's own tool: the call with its arguments, later its result. */
static void transcript_tool(struct text *t, struct source *s, const struct row *row)
{
	CLEANUP(json_release) json_t *o = source_body(s, row->seq);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (row->kind == EV_TOOL_CALL) {
		tool_call_words(o, &b);
		text_head(t, ROLE_WHO, " tool: %s", json_str(o, "name", ""));
		text_add(t, ROLE_CMD, NULL, b.data, b.len, TEXT_SOFT);
		text_blank(t);
	} else {
		tool_end_words(o, SIZE_MAX, &b);
		text_add(t, json_flag(o, "ok", false) ? ROLE_TEXT : ROLE_FAILED, NULL, b.data,
			 b.len, TEXT_SOFT);
		text_blank(t);
	}
}

void pane_transcript(struct text *t, struct source *s, uint64_t agent, size_t max,
		     struct pane_hold *hold)
{
	const struct model_agent *a = model_agent(&s->model, agent);
	if (!a)
		return;
	size_t first = a->rows.nr > max ? a->rows.nr - max : 0;
	if (hold && hold->of == agent && hold->from[0] < a->rows.nr)
		first = (size_t)hold->from[0];
	if (hold)
		*hold = (struct pane_hold){ .of = agent, .from = { first } };
	size_t end = (a->rows.nr - first) / 2 > max ? first + 2 * max : a->rows.nr;
	if (first > 0)
		text_putf(t, ROLE_DIM, "(%s before this)",
			  fmt_plural(t->arena, (int64_t)first, "row", "rows"));
	else
		pane_say(t, "task:", a->task, strlen(a->task));
	for (size_t i = first; i < end; i++) {
		const struct row *row = &a->rows.row[i];
		struct row_info r;
		if (row->kind == EV_ACTION_REQUESTED) {
			transcript_action(t, s, row);
		} else if (row->kind == EV_TOOL_CALL || row->kind == EV_TOOL_END) {
			transcript_tool(t, s, row);
		} else if (row->kind == EV_AGENT_SAY || row->kind == EV_NOTE ||
			   row->kind == EV_ASK || row->kind == EV_AGENT_END) {
			row_load(&r, s, row, t->arena);
			pane_say(t,
				 row->kind == EV_AGENT_END ? "end:"
				 : row->kind == EV_ASK	   ? "question:"
				 : row->kind == EV_NOTE	   ? "note:"
							   : "message:",
				 r.what, strlen(r.what));
		}
	}
	say_more(t, a->rows.nr - end, "row", "rows");
}

/* --- difference ------------------------------------------------------------------------------- */

void pane_lines(struct text *t, const struct text_diff *d)
{
	for (size_t i = 0; i < d->nr; i++) {
		const struct diff_line *l = &d->line[i];
		const char *mark = l->op == '+' ? "+" : l->op == '-' ? "-" : NULL;
		enum role r = l->op == '+'    ? ROLE_ADD
			      : l->op == '-'  ? ROLE_DEL
			      : l->op == '@'  ? ROLE_HUNK
			      : l->op == '\\' ? ROLE_DIM
					      : ROLE_TEXT;
		text_add(t, r, mark, l->text, l->len, 0);
		if (t->nr > 0)
			t->row[t->nr - 1].gutter_role = (uint8_t)r;
	}
}

void pane_change(struct text *t, struct source *s, const struct change *c, int context)
{
	struct text_diff d;
	change_diff(s, c, context, t->arena, &d);
	if (c->old_mode && c->new_mode && c->old_mode != c->new_mode)
		text_putf(t, ROLE_WARN, "mode %o -> %o", c->old_mode, c->new_mode);
	int64_t large = d.binary ? change_larger(s, c, CHANGE_READ_MAX) : 0;
	if (large)
		text_putf(t, ROLE_WARN,
			  "%s bytes: too large to compare here; 'sandglass diff' prints it",
			  fmt_count(t->arena, large));
	else if (d.binary)
		text_putf(t, ROLE_DIM, "(%s: no lines to show)",
			  c->note ? c->note : "contents not recorded");
	pane_lines(t, &d);
}

void pane_diff(struct text *t, struct source *s, uint64_t box)
{
	struct change *c;
	size_t nr = changes_list(s, box, &c, t->arena);
	if (nr == 0)
		text_puts(t, ROLE_DIM, "(no file changed)");
	for (size_t i = 0; i < nr; i++) {
		text_head(t, ROLE_TITLE, "%c %s  %s", c[i].op, c[i].path,
			  c[i].counted ? change_counts(&c[i], t->arena) : "");
		pane_change(t, s, &c[i], 3);
		text_blank(t);
	}
}

/* --- details ---------------------------------------------------------------------------------- */

static void detail_bytes(json_t *v, struct buf *out)
{
	if (json_is_string(v) || json_object_get(v, "b64"))
		json_get_bytes(v, out);
	else
		json_dump_buf(v, out);
}

static void pane_put_quoted(const char *p, size_t len, struct buf *out)
{
	buf_putc(out, '"');
	for (size_t i = 0; i < len; i++) {
		char c = p[i];
		if (c == '\n' || c == '\t' || c == '\r') {
			buf_putc(out, '\\');
			c = c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
		} else if (c == '"' || c == '\\') {
			buf_putc(out, '\\');
		}
		buf_putc(out, c);
	}
	buf_putc(out, '"');
}

static bool is_bare(const char *p, size_t len)
{
	size_t i = 0;
	while (i < len && p[i] > ' ' && p[i] < 0x7f && p[i] != '"') /* some blanks are no ASCII */
		i++;
	return len > 0 && i == len;
}

static void pane_put_word(const char *p, size_t len, struct buf *out)
{
	if (is_bare(p, len))
		buf_append(out, p, len);
	else
		pane_put_quoted(p, len, out);
}

/* A value among others in a row: as it is, or in quotes, so that what is in it passes for nothing
 * beside it. */
static void pane_put_value(json_t *v, struct buf *out)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	detail_bytes(v, &b);
	if (json_is_string(v) || json_object_get(v, "b64"))
		pane_put_word(buf_cstr(&b), b.len, out);
	else
		buf_append(out, buf_cstr(&b), b.len); /* a number, or JSON, which has its quotes */
}

/* Related fields in one row: "verdict ask  name no-push  file policy.lua  line 22". */
static void detail_parts(struct text *t, const char *key, json_t *o)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const char *name;
	json_t *v;
	json_object_foreach(o, name, v)
	{
		buf_puts(&b, b.len ? "  " : "");
		pane_put_word(name, strlen(name), &b);
		buf_putc(&b, ' ');
		pane_put_value(v, &b);
	}
	text_add(t, ROLE_TEXT, key, buf_cstr(&b), b.len, TEXT_SOFT);
}

static void detail_value(struct text *t, const char *key, json_t *v)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	size_t i, len = strlen(key);
	json_t *item;
	if (json_is_array(v) && json_array_size(v) > 0) { /* one element a row */
		json_array_foreach(v, i, item) detail_value(t, i == 0 ? key : "", item);
		return;
	}
	const char *gutter = arena_printf(t->arena, "%-12.12s", key);
	if (json_is_object(v) && json_object_size(v) > 0 && !json_object_get(v, "b64")) {
		detail_parts(t, gutter, v);
		return;
	}
	detail_bytes(v, &b);
	/* that is a time of day */
	if (json_is_integer(v) && len > 3 && strcmp(key + len - 3, "_us") == 0 &&
	    strcmp(key, "until_us") != 0)
		buf_printf(&b, "  %s", fmt_span(t->arena, json_integer_value(v)));
	text_add(t, ROLE_TEXT, gutter, buf_cstr(&b), b.len, 0);
}

static void detail_event(struct text *t, struct source *s, uint64_t seq)
{
	struct err err = ERR_INIT;
	struct event ev;
	const char *key;
	json_t *v;
	if (seq == 0 || session_event(s->session, seq, &ev, t->arena, &err) < 0)
		return;
	const char *name = event_kind_name(ev.kind);
	text_head(t, ROLE_TITLE, " #%" PRIu64 " %s  %s", seq, name ? name : "unknown kind",
		  fmt_hms(t->arena, ev.ts_us));
	CLEANUP(json_release)
	json_t *o = ev.body ? json_parse(ev.body, ev.len, "event", &err) : NULL;
	if (!o)
		text_puts(t, ROLE_DIM, "(redacted)");
	json_object_foreach(o, key, v) detail_value(t, arena_strdup(t->arena, key), v);
	text_blank(t);
}

void pane_details(struct text *t, struct source *s, uint64_t seq)
{
	const struct model_action *act = model_action(&s->model, seq);
	detail_event(t, s, seq);
	if (!act)
		return;
	const uint64_t more[] = { act->judged, act->held,  act->decided, act->started,
				  act->reply,  act->ended, act->snapshot };
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		detail_event(t, s, more[i]);
}
