/* Live tokens of output that a session does not keep (a part of the recorder): the token is replaced
 * before it is recorded, and becomes a secret of the recording, so that later events don't have it
 * either. */
#include <stdlib.h>
#include <string.h>

#include "record/record_priv.h"

enum {
	LEARNED_MAX = 256,	/* a hostile program could print any number */
	PENDING_MAX = 16 << 10, /* of a private key whose end does not come */
	/* a terminal's echo must not wait for the next key, unless a whole beginning was typed */
	LEAST_PTY = 3,
	LEAST_TYPED = LIVE_TOKEN_MAX,
	PAST_MAX = 80, /* no fixed beginning is longer, with its escape sequences */
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

/* --- terminals ---
 * An editor of lines writes a blank and a carriage return at the right margin, and a terminal gets
 * colors between the keys: a token is looked for in the text without them. */

struct flat_text {
	struct buf text;
	size_t *at; /* of each byte: its place in the bytes with them; one more for the end */
};

static void flat_release(struct flat_text *f)
{
	buf_release(&f->text);
	free(f->at);
}

/* Bytes of the control sequence or margin at the beginning of <p, len>; 0: there is none. */
static size_t between_keys(const char *p, size_t len)
{
	size_t n = 2;
	if (p[0] == ' ' && len > 1 && p[1] == '\r')
		return 2;
	if (p[0] != '\033')
		return 0;
	if (len > 1 && p[1] == '[')
		while (n < len && p[n] >= ' ' && p[n] < '@')
			n++;
	else if (len > 1 && p[1] == ']')
		while (n < len && p[n] != '\a' && p[n] != '\033')
			n++;
	else
		return len > 1 ? 2 : 1;
	bool two = n + 1 < len && p[1] == ']' && p[n] == '\033' && p[n + 1] == '\\';
	return n < len ? n + 1 + two : len;
}

static void flat_make(struct flat_text *f, const struct buf *b, bool pty)
{
	f->at = mem_alloc((b->len + 1) * sizeof(*f->at));
	for (size_t i = 0; i < b->len;) {
		size_t skip = pty ? between_keys(b->data + i, b->len - i) : 0;
		if (skip) {
			i += skip;
			continue;
		}
		f->at[f->text.len] = i;
		buf_putc(&f->text, b->data[i++]);
	}
	f->at[f->text.len] = b->len;
}

/* --- streams --- */

void token_hold_release(struct token_hold *h)
{
	buf_release(&h->held);
	buf_release(&h->past);
}

/* Bytes of @f that need not wait for others; of those, @past are given out already. */
static size_t token_hide_ready(const struct flat_text *f, size_t past, int stream, bool end)
{
	const char *text = f->text.data;
	size_t len = f->text.len, wait = 0, typed = 0;
	if (end || !len)
		return len;
	wait = live_token_pending(text + past, len - past, stream == STREAM_PTY ? LEAST_PTY : 1);
	if (stream == STREAM_PTY && past)
		typed = live_token_pending(text, len, LEAST_TYPED);
	wait = typed > wait ? typed : wait;
	wait = wait > len - past ? len - past : wait;
	/* with the sequences between its bytes */
	return f->at[len] - f->at[len - wait] > PENDING_MAX ? len : len - wait;
}

/* Keeps the last bytes that a terminal was given. */
static void keep_past(struct buf *past, const char *bytes, size_t len)
{
	buf_append(past, bytes, len);
	if (past->len > PAST_MAX)
		buf_drop(past, past->len - PAST_MAX);
}

void token_hide_stream(struct record *r, struct token_hold *h, const void *bytes, size_t len,
		       bool end, const struct token_place *at, struct buf *out)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	CLEANUP(flat_release) struct flat_text f = { 0 };
	struct live_token t;
	bool pty = at->stream == STREAM_PTY;
	if (!h->held.len && !len)
		return;
	buf_append(&all, h->past.data, h->past.len);
	buf_append(&all, h->held.data, h->held.len);
	buf_append(&all, bytes, len);
	flat_make(&f, &all, pty);
	size_t given = h->past.len, from = 0, past = 0;
	while (past < f.text.len && f.at[past] < given)
		past++;
	size_t ready = token_hide_ready(&f, past, at->stream, end);
	while (from < ready && live_token_find(f.text.data, f.text.len, from, &t) &&
	       t.off < ready) {
		size_t whole = live_token_whole(f.text.data, f.text.len, &t);
		t.len = whole ? whole : ready - t.off;
		from = t.off + t.len;
		if (from <= past) /* it was there before, as text */
			continue;
		CLEANUP(free_ptr)
		char *instead = token_hide_name(r, t.shape, f.text.data + t.off, t.len);
		size_t begin = f.at[t.off] > given ? f.at[t.off] : given;
		buf_append(out, all.data + given, begin - given);
		honeytoken_seen_note_token(r, f.text.data + t.off, &t,
					   &(struct token_place){ .stream = at->stream,
								  .off = at->off + out->len,
								  .shown = strlen(instead),
								  .event = at->event });
		buf_puts(out, instead);
		given = f.at[from - 1] + 1;
		buf_reset(&h->past);
	}
	size_t until = ready < f.text.len ? f.at[ready] : all.len;
	if (until < given)
		until = given;
	buf_append(out, all.data + given, until - given);
	if (pty)
		keep_past(&h->past, all.data + given, until - given);
	buf_reset(&h->held);
	buf_append(&h->held, all.data + until, all.len - until);
}

/* --- input --- */

static void hide_in_text(struct record *r, const struct buf *text, struct buf *out)
{
	struct live_token t;
	size_t from = 0;
	while (from < text->len && live_token_find(text->data, text->len, from, &t)) {
		size_t whole = live_token_whole(text->data, text->len, &t);
		t.len = whole ? whole : text->len - t.off;
		CLEANUP(free_ptr)
		char *instead = token_hide_name(r, t.shape, text->data + t.off, t.len);
		buf_append(out, text->data + from, t.off - from);
		buf_puts(out, instead);
		from = t.off + t.len;
	}
	buf_append(out, text->data + from, text->len - from);
}

void record_clean_input(struct record *r, struct buf *held, const void *bytes, size_t len, bool end,
			struct buf *out)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT, rest = BUF_INIT, text = BUF_INIT;
	buf_append(&all, held->data, held->len);
	buf_append(&all, bytes, len);
	buf_reset(held);
	size_t wait =
		r->hide_tokens && !end && all.len ? live_token_pending(all.data, all.len, 1) : 0;
	wait = wait > PENDING_MAX ? 0 : wait;
	buf_append(&rest, all.data + all.len - wait, wait);
	all.len -= wait;
	if (r->hide_tokens && all.len)
		hide_in_text(r, &all, &text);
	else
		buf_append(&text, all.data, all.len);
	record_clean_piece(r, held, text.data, text.len, end, out);
	buf_append(held, rest.data, rest.len);
}
