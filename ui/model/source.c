#include "ui/model/source.h"

#include <stdlib.h>

#include "ui/views/changes.h"
#include "ui/views/pty.h"

int source_open(struct source **out, const char *path, struct err *err)
{
	struct source *s = NEW(struct source);
	model_init(&s->model);
	if (session_open(&s->session, path, err) < 0 || feed_new(&s->feed, s->session, FEED_ALL, 0, err) < 0) {
		source_close(&s);
		return -1;
	}
	*out = s;
	return 0;
}

void source_close(struct source **sp)
{
	struct source *s = *sp;
	if (!s)
		return;
	if (s->feed)
		feed_free(&s->feed);
	if (s->session)
		session_close(&s->session);
	changes_release(s);
	pty_release(s);
	model_release(&s->model);
	arena_release(&s->arena);
	free(s);
	*sp = NULL;
}

int source_sync(struct source *s, uint64_t limit_seq, int max)
{
	struct event ev;
	int n = 0, rc = 0;
	while ((max == 0 || n < max) && (rc = feed_next(s->feed, &ev, &s->arena, limit_seq, &s->why)) == 1) {
		model_apply(&s->model, &ev);
		n++;
		if (n % 256 == 0)
			arena_reset(&s->arena);
	}
	arena_reset(&s->arena);
	s->failed = rc < 0;
	return s->failed ? -1 : n;
}

void source_seek(struct source *s, uint64_t seq)
{
	if (seq < s->model.head) {
		model_release(&s->model);
		model_init(&s->model);
		feed_seek(s->feed, 0);
	}
	if (seq > s->model.head)
		source_sync(s, seq, 0);
}

json_t *source_body(struct source *s, uint64_t seq)
{
	struct err err = ERR_INIT;
	struct event ev;
	json_t *o = NULL;
	if (seq > 0 && session_event(s->session, seq, &ev, &s->arena, &err) == 0 && ev.body)
		o = json_parse(ev.body, ev.len, "event", &err);
	arena_reset(&s->arena);
	return o;
}

uint64_t source_tail(struct source *s, uint64_t action, int stream, size_t max, struct buf *out)
{
	struct err err = ERR_INIT;
	const struct model_action *act = model_action(&s->model, action);
	if (!act)
		return 0;
	uint64_t size = stream == 2 ? act->err_bytes : act->out_bytes;
	uint64_t from = size > max ? size - max : 0;
	buf_reset(out);
	if (session_output(s->session, action, stream, from, (size_t)(size - from), out, &err) < 0)
		buf_printf(out, "(%s)", err.text);
	return from;
}
