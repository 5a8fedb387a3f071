#include "cli/search_hit.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/screen_words.h"
#include "base/mem.h"
#include "phrase/describe.h"
#include "query/row.h"
#include "record/read/list.h"
#include "record/read/text.h"
#include "wire/event.h"

enum { HIT_LINE_BYTES = 400, HIT_OUTPUT_BYTES = 8 << 20, HIT_CHUNK = 1 << 20 };

/* --- what is looked for ----------------------------------------------------------------------- */

static void search_texts_need(void *self, const struct strv *any, size_t nr)
{
	struct search_texts *t = self;
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < any[i].nr; k++) {
			CLEANUP(buf_release) struct buf folded = BUF_INIT;
			/* names of fields, and how a body escapes bytes */
			if (strpbrk(any[i].item[k], "\"\\") || any[i].len[k] < 2)
				continue;
			text_fold(any[i].item[k], any[i].len[k], &folded);
			strv_push(&t->item, buf_cstr(&folded));
		}
}

static int search_text_longer(const void *a, const void *b)
{
	size_t x = strlen(*(char *const *)a), y = strlen(*(char *const *)b);
	return (x < y) - (x > y);
}

void search_texts_of(const struct filter *f, struct search_texts *out)
{
	*out = (struct search_texts){ 0 };
	filter_needs(f, search_texts_need, out);
	if (out->item.nr)
		qsort(out->item.item, out->item.nr, sizeof(*out->item.item), search_text_longer);
}

void search_texts_release(struct search_texts *t)
{
	strv_release(&t->item);
}

/* --- one text --------------------------------------------------------------------------------- */

/* A line can be 1 MB long: keeps only the part around the hit. */
static void search_hit_line(struct search_hit *h, const char *line, size_t len, size_t from,
			    size_t hit)
{
	size_t skip = 0;
	if (len > HIT_LINE_BYTES && from > HIT_LINE_BYTES / 4)
		skip = from - HIT_LINE_BYTES / 4;
	while (skip && skip < from && ((unsigned char)line[skip] & 0xc0) == 0x80)
		skip++;
	size_t most = len - skip < HIT_LINE_BYTES ? len - skip : HIT_LINE_BYTES;
	while (skip + most < len && most && ((unsigned char)line[skip + most] & 0xc0) == 0x80)
		most--;
	buf_reset(&h->line);
	buf_append(&h->line, line + skip, most);
	h->cut_before = skip > 0;
	h->cut_after = skip + most < len;
	h->from = from - skip;
	h->len = h->from + hit <= most ? hit : 0;
}

static void search_hit_around(struct search_hit *h, const char *text, size_t len, size_t begin,
			      size_t end, size_t context)
{
	size_t from = begin;
	for (size_t n = 0; n < context && from > 0; n++)
		for (from--; from > 0 && text[from - 1] != '\n';)
			from--;
	while (from < begin) {
		const char *stop = memchr(text + from, '\n', begin - from);
		size_t to = stop ? (size_t)(stop - text) : begin;
		strv_push_bytes(&h->before, text + from, to - from);
		from = to + 1;
	}
	for (size_t n = 0; n < context && end + 1 < len; n++) {
		const char *stop = memchr(text + end + 1, '\n', len - end - 1);
		size_t to = stop ? (size_t)(stop - text) : len;
		strv_push_bytes(&h->after, text + end + 1, to - end - 1);
		end = to;
	}
}

static bool search_hit_in(struct search_hit *h, const struct search_texts *t, const char *stream,
			  const char *text, size_t len, size_t context)
{
	CLEANUP(buf_release) struct buf folded = BUF_INIT;
	const char *at = NULL;
	size_t i = 0;
	text_fold(text, len, &folded);
	for (; i < t->item.nr && !at; i++)
		at = memmem(folded.data, folded.len, t->item.item[i], t->item.len[i]);
	if (!at || folded.len != len) /* positions are those of the text only then */
		return false;
	size_t from = (size_t)(at - folded.data), begin = from, end = from;
	while (begin > 0 && text[begin - 1] != '\n')
		begin--;
	while (end < len && text[end] != '\n')
		end++;
	search_hit_line(h, text + begin, end - begin, from - begin, t->item.len[i - 1]);
	search_hit_around(h, text, len, begin, end, context);
	h->stream = stream;
	return true;
}

/* --- the texts of an event -------------------------------------------------------------------- */

struct hit_search {
	struct session *s;
	const struct search_texts *t;
	size_t context;
	struct search_hit *h;
};

/* Keys with a text of their own stream. */
static bool search_hit_leaves(const char *key)
{
	return strcmp(key, "script_text") == 0 || strcmp(key, "said") == 0;
}

static bool search_hit_json(const struct hit_search *q, const json_t *o, const char *stream)
{
	const char *key;
	json_t *v;
	size_t i;
	if (json_is_string(o))
		return search_hit_in(q->h, q->t, stream, json_string_value(o),
				     json_string_length(o), q->context);
	json_array_foreach(o, i, v) if (search_hit_json(q, v, stream)) return true;
	json_object_foreach((json_t *)(uintptr_t)o, key, v)
	{
		if (!search_hit_leaves(key) && search_hit_json(q, v, stream))
			return true;
	}
	return false;
}

static json_t *search_hit_body(const struct event *ev)
{
	struct err none = ERR_INIT;
	return ev->body ? json_parse(ev->body, ev->len, "event", &none) : NULL;
}

static bool search_hit_args(const struct hit_search *q, const struct event *ev)
{
	CLEANUP(json_release) json_t *row = NULL;
	CLEANUP(buf_release) struct buf what = BUF_INIT;
	struct err none = ERR_INIT;
	if (row_of(q->s, ev->seq, &row, &none) == 0)
		row_what(row, &what);
	return search_hit_in(q->h, q->t, "args", buf_cstr(&what), what.len, q->context);
}

static bool search_hit_output(const struct hit_search *q, const struct event *ev)
{
	static const char *const name[] = { NULL, "stdout", "stderr", "stdout" };
	for (int stream = 1; stream <= 3; stream++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct err none = ERR_INIT;
		uint64_t size = session_output_size(q->s, ev->seq, stream);
		size_t want = size < HIT_OUTPUT_BYTES ? (size_t)size : HIT_OUTPUT_BYTES;
		if (!want || session_output(q->s, ev->seq, stream, 0, want, &text, &none) < 0)
			continue;
		CLEANUP(buf_release) struct buf words = BUF_INIT;
		if (stream == 3)
			screen_words(text.data, text.len, &words);
		if (search_hit_in(q->h, q->t, name[stream], buf_cstr(&words), words.len,
				  q->context) ||
		    search_hit_in(q->h, q->t, name[stream], buf_cstr(&text), text.len, q->context))
			return true;
	}
	return false;
}

/* The other events of an action: verdict, answer, end. */
static bool search_hit_steps(const struct hit_search *q, const struct event *ev)
{
	struct feed *feed;
	struct event one;
	struct arena arena = ARENA_INIT;
	struct err none = ERR_INIT;
	bool found = false;
	if (feed_new(&feed, q->s, FEED_ACTION, ev->seq, &none) < 0)
		return false;
	while (!found && feed_next(feed, &one, &arena, 0, &none) > 0) {
		CLEANUP(json_release)
		json_t *body = one.kind == EV_OUTPUT ? NULL : search_hit_body(&one);
		found = body && search_hit_json(q, body, "message");
		arena_reset(&arena);
	}
	arena_release(&arena);
	feed_free(&feed);
	return found;
}

static bool search_hit_look(const struct hit_search *q, const struct event *ev)
{
	CLEANUP(json_release) json_t *body = search_hit_body(ev);
	bool action = ev->kind == EV_ACTION_REQUESTED;
	if (action && search_hit_args(q, ev))
		return true;
	if (search_hit_json(q, body, action ? "args" : "message") ||
	    search_hit_json(q, json_object_get(body, "said"), "message"))
		return true;
	if (action)
		return search_hit_output(q, ev) || search_hit_steps(q, ev);
	return search_hit_json(q, json_object_get(body, "script_text"), "script");
}

void search_hit_find(struct session *s, const struct event *ev, const struct search_texts *t,
		     size_t context, struct search_hit *out)
{
	*out = (struct search_hit){ .stream = "message", .line = BUF_INIT };
	const struct hit_search q = { s, t, context, out };
	CLEANUP(buf_release) struct buf words = BUF_INIT;
	bool found = t->item.nr && search_hit_look(&q, ev);
	bool args = ev->kind == EV_ACTION_REQUESTED && (!found || strcmp(out->stream, "args") == 0);
	if (found && !args)
		return;
	describe_event(ev, &words);
	if (found && search_hit_in(out, t, "args", buf_cstr(&words), words.len, 0))
		return; /* the description also names the kind: "exec: make test" */
	if (!found) {
		search_hit_line(out, buf_cstr(&words), words.len, 0, 0);
		out->stream = args ? "args" : "message";
	}
}

void search_hit_release(struct search_hit *h)
{
	buf_release(&h->line);
	strv_release(&h->before);
	strv_release(&h->after);
}
