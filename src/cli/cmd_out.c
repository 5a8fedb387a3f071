/* sandglass out: the full output of an action. Exact bytes to files and pipes, harmless text to a
 * terminal. */
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "sessions/follow.h"
#include "sessions/sessions.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/sanitize.h"
#include "record/record.h"

struct pipe_end {
	FILE *to;
	bool safe; /* a terminal: only text */
	struct sanitizer san;
	uint64_t off;
	bool wanted;
};

struct out {
	struct cmd_ctx *ctx;
	struct session *s;
	uint64_t action;
	bool any; /* there was output, wanted or not */
	struct pipe_end end[STREAM_TEXT + 1];
};

static const char *stream_name(int stream)
{
	return stream == STREAM_OUT   ? "stdout"
	       : stream == STREAM_ERR ? "stderr"
	       : stream == STREAM_PTY ? "pty"
				      : "text";
}

static bool cmd_out_put_glyph(void *self, const struct glyph *g)
{
	struct pipe_end *e = self;
	if (g->flags & GLYPH_NEWLINE)
		fputc('\n', e->to);
	else
		fwrite(g->s, 1, g->len, e->to);
	return true;
}

static bool cmd_out_put(void *self, int stream, int64_t ts_us, const void *bytes, size_t len)
{
	struct out *o = self;
	o->any = o->any || len;
	if (stream < STREAM_OUT || stream > STREAM_TEXT || !o->end[stream].wanted)
		return true;
	struct pipe_end *e = &o->end[stream];
	e->off += len;
	if (o->ctx->json) {
		json_t *j = json_object();
		json_put_int(j, "action", (int64_t)o->action);
		json_put_str(j, "stream", stream_name(stream));
		if (ts_us)
			cmd_json_time(j, "time", ts_us);
		json_put_bytes(j, "data", bytes, len);
		cmd_json(o->ctx, j);
	} else if (e->safe) {
		sanitizer_feed(&e->san, bytes, len);
	} else {
		fwrite(bytes, 1, len, e->to);
	}
	return !ferror(e->to);
}

static void cmd_out_set_up(struct out *o)
{
	bool only_out = cmd_has(o->ctx, "stdout"), only_err = cmd_has(o->ctx, "stderr");
	for (int s = STREAM_OUT; s <= STREAM_TEXT; s++) {
		struct pipe_end *e = &o->end[s];
		/* asked for alone it is what is asked for: then it goes where results go */
		e->to = s == STREAM_ERR && !only_err ? o->ctx->err : o->ctx->out;
		e->safe = isatty(fileno(e->to)) && !cmd_has(o->ctx, "raw");
		e->wanted = s != STREAM_REQUEST && s != STREAM_RESPONSE &&
			    (only_out == only_err || (s == STREAM_ERR) == only_err);
		sanitizer_init(&e->san, 0, cmd_out_put_glyph, e);
	}
}

/* Whether the action has ended, as far as the record says now. */
static int cmd_out_has_ended(struct out *o, bool *ended, struct err *err)
{
	struct feed *feed;
	struct arena arena = ARENA_INIT;
	struct event ev;
	int rc;
	*ended = false;
	if (feed_new(&feed, o->s, FEED_ACTION, o->action, err) < 0)
		return -1;
	feed_seek(feed, INT64_MAX); /* past the last one, whichever it is */
	while (!*ended && (rc = feed_prev(feed, &ev, &arena, err)) > 0) {
		*ended = ev.kind == EV_ACTION_ENDED;
		if (ev.kind == EV_ACTION_STARTED)
			break;
		arena_reset(&arena);
	}
	arena_release(&arena);
	feed_free(&feed);
	return 0;
}

static int cmd_out_put_more(struct out *o, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	for (int s = STREAM_OUT; s <= STREAM_TEXT; s++) {
		do {
			buf_reset(&b);
			if (session_output(o->s, o->action, s, o->end[s].off, 1 << 20, &b, err) < 0)
				return -1;
			if (b.len)
				cmd_out_put(o, s, 0, b.data, b.len);
			if (b.len && !o->end[s].wanted)
				o->end[s].off += b.len;
		} while (b.len);
	}
	fflush(o->ctx->out);
	return 0;
}

/* The text of the model's answer, for recordings without its stream: an imported answer did not
 * arrive piece by piece. */
static int reply_text(struct out *o, struct buf *b, struct err *err)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct feed *feed;
	struct event ev;
	int rc;
	if (feed_new(&feed, o->s, FEED_ACTION, o->action, err) < 0)
		return -1;
	while ((rc = feed_next(feed, &ev, &arena, 0, err)) > 0) {
		CLEANUP(json_release)
		json_t *body = ev.kind == EV_MODEL_REPLY && ev.body
				       ? json_parse(ev.body, ev.len, "event", err)
				       : NULL;
		if (body && json_get_bytes(json_object_get(body, "text"), b))
			break;
		arena_reset(&arena);
	}
	feed_free(&feed);
	return rc < 0 ? -1 : 0;
}

/* A model's text. */
static int model_text(struct out *o, struct buf *b, struct err *err)
{
	if (session_output(o->s, o->action, STREAM_TEXT, 0, SIZE_MAX, b, err) < 0)
		return -1;
	return b->len || session_output_size(o->s, o->action, STREAM_OUT) ? 0
									  : reply_text(o, b, err);
}

/* All of it: as it came, and what a model said. */
static int cmd_out_put_all(struct out *o, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (session_output_each(o->s, o->action, cmd_out_put, o, err) < 0 ||
	    model_text(o, &b, err) < 0)
		return -1;
	if (b.len)
		cmd_out_put(o, STREAM_TEXT, 0, b.data, b.len);
	return 0;
}

static int cmd_out_follow(struct out *o, struct err *err)
{
	struct follow *f = follow_new(o->s);
	bool ended = false;
	int rc = 0;
	for (;;) {
		uint64_t head = session_head(o->s);
		/* in this order: all output is committed before its end */
		rc = cmd_out_has_ended(o, &ended, err);
		if (rc == 0)
			rc = cmd_out_put_more(o, err);
		if (rc < 0 || ended || ferror(o->ctx->out) || !follow_wait(f, head))
			break;
	}
	follow_free(&f);
	return rc;
}

static int find_action(struct out *o, uint64_t seq, struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	if (!seq)
		return err_set(err, ERR_USAGE,
			       "missing action number\nAdd it to the session: %s#405.",
			       session_id(o->s));
	int rc = session_event(o->s, seq, &ev, &arena, err);
	if (rc == 0) {
		bool own = ev.kind == EV_ACTION_REQUESTED || ev.kind == EV_PREVIEW_STARTED;
		bool tried = ev.kind == EV_PREVIEW_TREE || ev.kind == EV_PREVIEW_ENDED;
		/* a dry run's output goes by its own number */
		o->action = own ? ev.seq : tried ? ev.cause : ev.action;
		if (!o->action)
			rc = err_set(err, ERR_USAGE, "#%llu has no output: it is %s",
				     (unsigned long long)seq,
				     event_kind_name(ev.kind) ? event_kind_name(ev.kind)
							      : "an event of a newer version");
	}
	arena_release(&arena);
	return rc;
}

/* Every action of the session that matches, each under its number where users read it. */
static int put_matching(struct out *o, const struct filter *f, struct err *err)
{
	uint64_t seqs[256], at = 0;
	size_t nr = ARRAY_LEN(seqs);
	while (nr == ARRAY_LEN(seqs) && !ferror(o->ctx->out)) {
		if (filter_search(f, o->s, clock_wall_us(), at, ARRAY_LEN(seqs), seqs, &nr, err) <
		    0)
			return -1;
		for (size_t i = 0; i < nr; i++) {
			CLEANUP(buf_release) struct buf said = BUF_INIT;
			at = o->action = seqs[i];
			if (model_text(o, &said, err) < 0)
				return -1;
			uint64_t size = o->end[STREAM_TEXT].wanted ? said.len : 0;
			for (int s = STREAM_OUT; s <= STREAM_PTY; s++)
				size += o->end[s].wanted ? session_output_size(o->s, at, s) : 0;
			if (size > 0 && !o->ctx->json && o->end[STREAM_OUT].safe)
				fprintf(o->ctx->out, "-- #%llu\n", (unsigned long long)at);
			if (session_output_each(o->s, at, cmd_out_put, o, err) < 0)
				return -1;
			if (said.len)
				cmd_out_put(o, STREAM_TEXT, 0, said.data, said.len);
			if (said.len && o->end[STREAM_TEXT].safe && said.data[said.len - 1] != '\n')
				fputc('\n', o->ctx->out);
		}
	}
	return 0;
}

int cmd_out(struct cmd_ctx *ctx)
{
	struct out o = { .ctx = ctx };
	struct err err = ERR_INIT;
	struct filter *filter;
	uint64_t seq;
	if (cmd_filter(ctx, &filter, &err) < 0 ||
	    session_open_ref(ctx, cmd_word(ctx, 0), &o.s, &seq, &err) < 0) {
		filter_free(&filter);
		return cmd_fail(ctx, &err);
	}
	cmd_out_set_up(&o);
	int rc = filter ? put_matching(&o, filter, &err) : find_action(&o, seq, &err);
	if (rc == 0 && !filter)
		rc = cmd_has(ctx, "follow") ? cmd_out_follow(&o, &err) : cmd_out_put_all(&o, &err);
	for (int s = STREAM_OUT; s <= STREAM_TEXT; s++)
		if (o.end[s].safe)
			sanitizer_end(&o.end[s].san);
	if (rc == 0 && !filter && !o.any && !ctx->json)
		fprintf(ctx->err, "sandglass: out: #%llu has no output\n",
			(unsigned long long)o.action);
	session_close(&o.s);
	filter_free(&filter);
	return rc < 0 ? cmd_fail(ctx, &err) : EXIT_DONE;
}
