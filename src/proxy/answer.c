#include "proxy/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/answer_priv.h"

void answer_init(struct answer *a, enum speak speak, bool stream, bool gate,
		 const struct answer *after)
{
	*a = (struct answer){
		.speak = speak, .stream = stream, .gate = gate, .blocks = json_array(), .open = -1
	};
	if (!after)
		return;
	a->headless = after->begun;
	a->begun = after->begun;
	a->shift = a->items = after->items;
}

void answer_release(struct answer *a)
{
	for (size_t i = 0; i < a->nr_calls; i++) {
		free(a->call[i].id);
		free(a->call[i].name);
		buf_release(&a->call[i].args);
		json_decref(a->call[i].item);
	}
	free(a->call);
	free(a->id);
	free(a->model);
	free(a->stop);
	json_decref(a->blocks);
	buf_release(&a->said);
	buf_release(&a->held);
	buf_release(&a->event);
	buf_release(&a->part);
	buf_release(&a->sign);
	sse_template_release(&a->alike);
	*a = (struct answer){ 0 };
}

/* Reports the text so far and passes the allowed events: once for all the events that came
 * together. */
static void answer_tell(struct answer *a)
{
	size_t from = a->told, len = a->run_len;
	a->told = a->said.len;
	if (a->text && a->said.len > from)
		a->text(a->self, a->said.data + from, a->said.len - from);
	a->run_len = 0;
	if (len)
		a->pass(a->self, a->run, len);
}

/* Does a call begin here? */
static bool begins_call(const struct answer *a, const json_t *e)
{
	if (a->speak == SPEAK_RESPONSES &&
	    !strcmp(json_str(e, "type", ""), "response.output_item.added"))
		return agents_call(json_object_get(e, "item"));
	return a->nr_calls > 0;
}

static void note_passed(struct answer *a, const json_t *e)
{
	const char *type = json_str(e, "type", "");
	a->begun = true;
	if (!strcmp(type, "content_block_stop") || !strcmp(type, "response.output_item.done"))
		a->items++;
}

/* Rule 3: an event of an answer that continues another one. false: it is left out. */
static bool answer_shifted(const struct answer *a, json_t *e, struct buf *out)
{
	const char *type = json_str(e, "type", NULL);
	if (type && a->headless &&
	    (!strcmp(type, "message_start") || !strcmp(type, "response.created") ||
	     !strcmp(type, "response.in_progress")))
		return false;
	const char *key = a->speak == SPEAK_ANTHROPIC ? "index" : "output_index";
	if (json_is_integer(json_object_get(e, key)))
		json_object_set_new(e, key,
				    json_integer(json_int(e, key, 0) + (json_int_t)a->shift));
	if (type)
		buf_printf(out, "event: %s\n", type);
	buf_puts(out, "data: ");
	json_dump_buf(e, out);
	buf_puts(out, "\n\n");
	return true;
}

static void answer_give(struct answer *a, const char *bytes, size_t len)
{
	if (!a->holding) {
		if (a->run_len && a->run + a->run_len != bytes)
			answer_tell(a);
		a->run = a->run_len ? a->run : bytes;
		a->run_len += len;
	} else if (a->held.len + len > ANSWER_HELD_MAX) {
		a->over = true;
	} else {
		buf_append(&a->held, bytes, len);
	}
}

/* The data of an event: all its data lines. */
static void data_of(const char *p, size_t len, struct buf *out)
{
	const char *end = p + len;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
		size_t n = (size_t)(stop - p);
		if (n && p[n - 1] == '\r')
			n--;
		if (n >= 5 && !memcmp(p, "data:", 5)) {
			size_t skip = n > 5 && p[5] == ' ' ? 6 : 5;
			if (out->len)
				buf_putc(out, '\n');
			buf_append(out, p + skip, n - skip);
		}
		p = nl ? nl + 1 : end;
	}
}

/* Does the event only continue a text? */
static bool only_words(const struct answer *a, const json_t *e)
{
	const char *type = json_str(e, "type", "");
	const json_t *choice = json_array_get(json_object_get(e, "choices"), 0);
	if (a->speak == SPEAK_CHAT)
		return choice && !json_object_get(choice, "message");
	return a->speak != SPEAK_GEMINI && a->speak != SPEAK_CODE_ASSIST &&
	       (!strcmp(type, "content_block_delta") ||
		!strcmp(type, "response.output_text.delta"));
}

/* Most events of a stream are the one before with other words: of a text, a thought or the
 * arguments of one call. @said, @part: how much there was before it. */
static void answer_learn(struct answer *a, const char *raw, size_t len, size_t said, size_t part)
{
	if (a->nr_grown > 1 || (a->nr_grown && a->grown == NO_CALL))
		return;
	bool says = a->said.len > said, call = a->nr_grown, more = a->part.len > part;
	const struct buf *to = says ? &a->said : call ? &a->call[a->grown].args : &a->part;
	size_t from = says ? said : call ? a->from : part;
	if ((says && call) || to->len <= from)
		return;
	a->to_said = says;
	a->to_part = more;
	a->to_call = call ? a->grown : NO_CALL;
	sse_template_learn(&a->alike, raw, len, to->data + from, to->len - from);
}

static bool on_alike(struct answer *a, const char *raw, size_t len)
{
	const char *words;
	size_t n;
	if (a->shift || a->headless || !sse_template_words(&a->alike, raw, len, &words, &n))
		return false;
	if (a->to_said)
		buf_append(&a->said, words, n);
	if (a->to_part)
		buf_append(&a->part, words, n);
	if (a->to_call != NO_CALL)
		buf_append(&a->call[a->to_call].args, words, n);
	if (a->gate)
		answer_give(a, raw, len);
	return true;
}

static void answer_on_event(struct answer *a, const char *raw, size_t len)
{
	if (on_alike(a, raw, len))
		return;
	size_t said = a->said.len, part = a->part.len, calls = a->nr_calls;
	CLEANUP(buf_release) struct buf data = BUF_INIT, again = BUF_INIT;
	struct err none = ERR_INIT;
	data_of(raw, len, &data);
	CLEANUP(json_release)
	json_t *e = data.len ? json_parse(data.data, data.len, "event", &none) : NULL;
	sse_template_forget(&a->alike); /* it may have changed where words go */
	a->nr_grown = 0;
	if (e)
		answer_understand(a, e);
	if (e && a->nr_calls == calls && only_words(a, e))
		answer_learn(a, raw, len, said, part);
	if (!a->gate)
		return; /* it has passed already */
	if (!a->holding && e && begins_call(a, e))
		a->holding = true;
	if (e && !a->holding)
		note_passed(a, e);
	if (!a->shift && !a->headless)
		answer_give(a, raw, len);
	else if (!e)
		answer_give(a, raw, len);
	else if (answer_shifted(a, e, &again))
		answer_give(a, again.data, again.len);
	if (a->shift || a->headless)
		answer_tell(a); /* these bytes end here */
}

/* An event ends with an empty line. */
static void answer_split(struct answer *a)
{
	size_t from = 0, at = a->scanned;
	const char *p = buf_cstr(&a->event);
	for (const char *nl; (nl = memchr(p + at, '\n', a->event.len - at)); at++) {
		at = (size_t)(nl - p);
		size_t prev = at && p[at - 1] == '\r' ? at - 1 : at;
		bool empty = prev == from || (prev > from && p[prev - 1] == '\n');
		if (!empty)
			continue;
		answer_on_event(a, p + from, at + 1 - from);
		from = at + 1;
	}
	answer_tell(a);
	buf_drop(&a->event, from);
	a->scanned = a->event.len;
}

void answer_feed(struct answer *a, const void *bytes, size_t len)
{
	if (!a->gate) {
		a->pass(a->self, bytes, len);
		a->begun = true;
	}
	if (a->event.len + len > ANSWER_HELD_MAX) {
		a->over = true;
		return;
	}
	buf_append(&a->event, bytes, len);
	if (a->stream)
		answer_split(a);
}

void answer_end(struct answer *a)
{
	CLEANUP(buf_release) struct buf rest = a->event;
	struct err none = ERR_INIT;
	a->event = BUF_INIT;
	if (a->stream && rest.len) {
		answer_on_event(a, rest.data, rest.len);
	} else if (!a->stream) {
		CLEANUP(json_release)
		json_t *e = rest.len ? json_parse(rest.data, rest.len, "answer", &none) : NULL;
		if (e)
			answer_understand(a, e);
		a->holding = a->gate && a->nr_calls;
		if (a->gate)
			answer_give(a, buf_cstr(&rest), rest.len);
	}
	answer_tell(a);
	if (a->holding && !a->nr_calls && !a->over)
		answer_pass(a);
}

void answer_pass(struct answer *a)
{
	a->holding = false;
	if (a->held.len)
		a->pass(a->self, a->held.data, a->held.len);
	a->begun = true;
	buf_release(&a->held);
}

json_t *answer_call_args(const struct answer_call *c)
{
	struct err none = ERR_INIT;
	json_t *j = c->args.len && !c->custom
			    ? json_parse(c->args.data, c->args.len, "arguments", &none)
			    : NULL;
	if (json_is_object(j))
		return j;
	json_decref(j);
	return NULL;
}

const char *answer_stop(const struct answer *a)
{
	const char *s = a->stop ? a->stop : "";
	if (a->nr_calls)
		return "calls";
	if (!strcmp(s, "max_tokens") || !strcmp(s, "length") || !strcmp(s, "max_output_tokens") ||
	    !strcmp(s, "MAX_TOKENS"))
		return "length";
	if (!strcmp(s, "refusal") || !strcmp(s, "content_filter") || !strcmp(s, "SAFETY"))
		return "refused";
	return "end";
}
