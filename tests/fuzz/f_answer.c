/* Bodies between an agent and its model, from either side. The forwarded bytes are the received ones: whole or in
 * two pieces, gated or not, understood or not. Events that count as alike give the same text as parsing each. First
 * byte: the dialect, a stream or not, gated or not; second: the place of the cut. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void collect(void *self, const void *bytes, size_t len)
{
	buf_append(self, bytes, len);
}

static void piece(void *self, const char *bytes, size_t len)
{
	buf_append(self, bytes, len);
}

static void result(void *self, const char *id, const char *text, bool error)
{
	(void)error;
	*(size_t *)self += strlen(id) + strlen(text);
}

static void calls_of(const struct answer *a, const json_t *req)
{
	CLEANUP(free_ptr) const char **why = mem_calloc(a->nr_calls + 1, sizeof(*why));
	for (size_t i = 0; i < a->nr_calls; i++) {
		json_decref(answer_call_args(&a->call[i]));
		why[i] = "refused";
	}
	if (req && a->nr_calls)
		json_decref(answer_ask_again(a, req, why));
	if (!*answer_stop(a))
		abort();
}

/* Returns the number of calls; @out: the forwarded bytes. */
static size_t read_it(const uint8_t *p, size_t len, size_t cut, uint8_t how, const json_t *req, struct buf *out)
{
	struct answer a;
	answer_init(&a, (enum speak)(1 + (how & 3)), how & 4, how & 8, NULL);
	a.pass = collect;
	a.self = out;
	answer_feed(&a, p, cut);
	answer_feed(&a, p + cut, len - cut);
	answer_end(&a);
	if (out->len > len)
		abort();
	size_t nr = a.nr_calls;
	if (nr > ANSWER_CALLS_MAX || (nr && (how & 8) && !a.holding))
		abort();
	answer_pass(&a);
	calls_of(&a, req);
	if (out->len != len || (len && memcmp(out->data, p, len) != 0))
		abort();
	answer_release(&a);
	return nr;
}

static bool same_words(const struct answer *a, const struct answer *b)
{
	bool same = a->nr_calls == b->nr_calls && a->said.len == b->said.len && a->part.len == b->part.len &&
		    !memcmp(buf_cstr(&a->said), buf_cstr(&b->said), a->said.len) && !memcmp(buf_cstr(&a->part), buf_cstr(&b->part), a->part.len);
	for (size_t i = 0; same && i < a->nr_calls; i++)
		same = a->call[i].args.len == b->call[i].args.len &&
		       !memcmp(buf_cstr(&a->call[i].args), buf_cstr(&b->call[i].args), a->call[i].args.len);
	return same;
}

/* Line by line; @forget: no event is like the one before. */
static void by_lines(struct answer *a, const uint8_t *p, size_t len, uint8_t how, bool forget, struct buf *out)
{
	answer_init(a, (enum speak)(1 + (how & 3)), true, false, NULL);
	a->pass = collect;
	a->self = out;
	while (len) {
		const uint8_t *nl = memchr(p, '\n', len);
		size_t n = nl ? (size_t)(nl - p) + 1 : len;
		answer_feed(a, p, n);
		if (forget)
			sse_template_forget(&a->alike);
		p += n;
		len -= n;
	}
	answer_end(a);
}

static void alike_or_parsed(const uint8_t *p, size_t len, uint8_t how)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct answer a, b;
	by_lines(&a, p, len, how, false, &out);
	by_lines(&b, p, len, how, true, &out);
	if (!same_words(&a, &b))
		abort();
	answer_release(&a);
	answer_release(&b);
}

static void as_request(enum speak s, json_t *req, const char *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	size_t nr = 0;
	speak_pieces(s, bytes, len, piece, &all);
	if (all.len != len || (len && memcmp(all.data, bytes, len) != 0))
		abort();
	if (!req)
		return;
	speak_model(req, "/v1beta/models/m:generateContent");
	speak_streams(s, req, "/v1/messages");
	json_decref(speak_tools(req));
	json_decref(speak_provider_tools(req));
	speak_results(s, req, result, &nr);
	speak_prompt(s, req, "mind");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	if (size < 2 || size > 1 << 16)
		return 0;
	const uint8_t *p = data + 2;
	size_t len = size - 2;
	CLEANUP(json_release) json_t *body = json_parse((const char *)p, len, "body", &err);
	json_t *req = json_is_object(body) ? body : NULL;
	CLEANUP(buf_release) struct buf one = BUF_INIT, two = BUF_INIT;
	if (read_it(p, len, len, data[0], req, &one) != read_it(p, len, data[1] * len / 255, data[0], req, &two))
		abort();
	alike_or_parsed(p, len, data[0]);
	as_request((enum speak)(1 + (data[0] & 3)), req, (const char *)p, len);
	return 0;
}
