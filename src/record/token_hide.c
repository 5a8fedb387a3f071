/* Live tokens of output that a session does not keep (a part of the recorder): the token is replaced
 * before it is recorded, and becomes a secret of the recording, so that later events don't have it
 * either. */
#include <stdlib.h>
#include <string.h>

#include "record/record_priv.h"

enum {
	LEARNED_MAX = 256,	/* a hostile program could print any number */
	PENDING_MAX = 16 << 10, /* of a private key whose end does not come */
	LEAST_PTY = 3,		/* a terminal's echo must not wait for the next key */
};

void record_hide_tokens(struct record *r)
{
	r->hide_tokens = true;
}

/* "<secret:token-github-1>"; owned. */
static char *token_hide_name(struct record *r, const char *shape, const char *value, size_t len)
{
	struct err none = ERR_INIT;
	const char *known = secrets_within(r->secrets, value, len);
	if (known)
		return mem_strdup(known);
	char *name = mem_printf("token-%s-%zu", shape, ++r->tokens_hidden);
	for (char *c = name; *c; c++)
		*c = *c == ' ' ? '-' : *c;
	char *instead = mem_printf("<secret:%s>", name);
	if (r->tokens_hidden <= LEARNED_MAX)
		(void)!secrets_add(r->secrets, name, value, len, &none);
	free(name);
	return instead;
}

void token_hide_learn(struct record *r, const char *shape, const char *value, size_t len)
{
	free(token_hide_name(r, shape, value, len));
}

/* Bytes of @held that need not wait for others. */
static size_t token_hide_ready(const struct buf *held, int stream, bool end)
{
	size_t wait =
		live_token_pending(held->data, held->len, stream == STREAM_PTY ? LEAST_PTY : 1);
	return end || wait > PENDING_MAX ? held->len : held->len - wait;
}

void token_hide_stream(struct record *r, struct buf *held, const void *bytes, size_t len, bool end,
		       const struct token_place *at, struct buf *out)
{
	struct live_token t;
	size_t from = 0;
	buf_append(held, bytes, len);
	if (!held->len)
		return;
	size_t ready = token_hide_ready(held, at->stream, end);
	while (from < ready && live_token_find(held->data, held->len, from, &t) && t.off < ready) {
		size_t whole = live_token_whole(held->data, held->len, &t);
		t.len = whole ? whole : ready - t.off;
		CLEANUP(free_ptr)
		char *instead = token_hide_name(r, t.shape, held->data + t.off, t.len);
		buf_append(out, held->data + from, t.off - from);
		honeytoken_seen_note_token(r, held->data + t.off, &t,
					   &(struct token_place){ .stream = at->stream,
								  .off = at->off + out->len,
								  .shown = strlen(instead),
								  .event = at->event });
		buf_puts(out, instead);
		from = t.off + t.len;
	}
	if (from < ready)
		buf_append(out, held->data + from, ready - from);
	buf_drop(held, from > ready ? from : ready);
}
