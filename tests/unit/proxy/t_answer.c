/* Answers of models on their way to an agent: the same whatever the pieces in which they come; requests in their
 * parts; the refs of a push. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/answer.h"
#include "proxy/push.h"
#include "tap.h"

static const char *const stream[] = {
	[SPEAK_ANTHROPIC] =
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n"
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
		"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"
		"data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
		"data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{}}}\n\n"
		"data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"command\\\":\"}}\n\n"
		"data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"ls\\\"}\"}}\n\n"
		"data: {\"type\":\"content_block_stop\",\"index\":1}\n\n"
		"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":5}}\n\n"
		"data: {\"type\":\"message_stop\"}\n\n",
	[SPEAK_CHAT] =
		"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"}}]}\r\n\r\n"
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\"function\":{\"name\":\"Bash\",\"arguments\":\"{\\\"command\\\":\"}}]}}]}\r\n\r\n"
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"ls\\\"}\"}}]}}]}\r\n\r\n"
		"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\r\n\r\n"
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5}}\r\n\r\n"
		"data: [DONE]\r\n\r\n",
	[SPEAK_RESPONSES] =
		"data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n"
		"data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\"}}\n\n"
		"data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"call_id\":\"t1\",\"name\":\"Bash\",\"arguments\":\"{\\\"command\\\":\\\"ls\\\"}\"}}\n\n"
		"data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"usage\":{\"input_tokens\":7,\"output_tokens\":5}}}\n\n",
	[SPEAK_GEMINI] =
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]}}]}\r\n\r\n"
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"t1\",\"name\":\"Bash\",\"args\":{\"command\":\"ls\"}}}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":5}}\r\n\r\n",
	[SPEAK_CODE_ASSIST] =
		"data: {\"response\":{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]}}]},\"traceId\":\"t\"}\r\n\r\n"
		"data: {\"response\":{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"t1\",\"name\":\"Bash\",\"args\":{\"command\":\"ls\"}}}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":5}}}\r\n\r\n",
};

static void collect(void *self, const void *bytes, size_t len)
{
	buf_append(self, bytes, len);
}

/* One answer in two pieces, split at @at: as it should be? */
static bool split_ok(enum speak s, size_t at, bool gate)
{
	const char *text = stream[s];
	size_t len = strlen(text);
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct answer a;
	answer_init(&a, s, true, gate, NULL);
	a.pass = collect;
	a.self = &out;
	answer_feed(&a, text, at);
	answer_feed(&a, text + at, len - at);
	answer_end(&a);
	bool ok = a.nr_calls == 1 && !strcmp(a.call[0].id, "t1") && !strcmp(a.call[0].name, "Bash") && a.usage.in == 7 && a.usage.out == 5 &&
		  a.complete && !strcmp(buf_cstr(&a.said), "Hi") && !strcmp(answer_stop(&a), "calls");
	json_t *args = ok ? answer_call_args(&a.call[0]) : NULL;
	ok = ok && !strcmp(json_str(args, "command", ""), "ls");
	json_decref(args);
	ok = ok && (gate ? a.holding && !memmem(buf_cstr(&out), out.len, "Bash", 4) : out.len == len);
	answer_pass(&a);
	ok = ok && out.len == len && !memcmp(out.data, text, len);
	answer_release(&a);
	return ok;
}

/* --- many events at once ------------------------------------------------------------------------------------------ */

struct seen {
	struct buf passed, said;
	size_t passes, tells;
};

static void seen_pass(void *self, const void *bytes, size_t len)
{
	struct seen *s = self;
	s->passes++;
	buf_append(&s->passed, bytes, len);
}

static void seen_text(void *self, const char *bytes, size_t len)
{
	struct seen *s = self;
	s->tells++;
	buf_append(&s->said, bytes, len);
}

/* An answer whose events have @head, words and @tail; fed in pieces of @piece bytes. */
static void feed_words(enum speak speak, bool gate, const char *head, const char *tail, const char *const *words, size_t nr, size_t piece,
		       struct seen *seen, struct answer *a)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	for (size_t i = 0; i < nr; i++)
		buf_printf(&text, "data: %s%s%s\n\n", head, words[i], tail);
	answer_init(a, speak, true, gate, NULL);
	a->pass = seen_pass;
	a->text = seen_text;
	a->self = seen;
	for (size_t at = 0; at < text.len; at += piece)
		answer_feed(a, text.data + at, piece < text.len - at ? piece : text.len - at);
	answer_end(a);
	ok(seen->passed.len == text.len && !memcmp(seen->passed.data, text.data, text.len), "%s: all bytes pass, as they are", speak_name(speak));
}

static void t_alike(void)
{
	static const char *const words[] = { "one ", "two", "", "one ", "t\\u0065n", "\\\"q\\\"", "\xc3\xa4", "text", "delta", "x\\\\", "three", "\xff", "a\tb", "four" };
	static const char said[] = "one twoone ten\"q\"\xc3\xa4textdeltax\\threefour"; /* invalid JSON gives no text */
	static const struct {
		enum speak speak;
		const char *head, *tail;
	} form[] = {
		{ SPEAK_ANTHROPIC, "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"", "\"}}" },
		{ SPEAK_CHAT, "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"", "\"},\"finish_reason\":null}]}" },
		{ SPEAK_RESPONSES, "{\"type\":\"response.output_text.delta\",\"delta\":\"", "\",\"sequence_number\":4,\"obfuscation\":\"Xy\"}" },
		{ SPEAK_GEMINI, "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"", "\"}]}}]}" },
	};
	static const size_t piece[] = { 1, 7, 200, 1 << 20 };
	for (size_t i = 0; i < ARRAY_LEN(form); i++)
		for (size_t k = 0; k < ARRAY_LEN(piece); k++)
			for (int gate = 0; gate < 2; gate++) {
				struct seen seen = { 0 };
				struct answer a;
				feed_words(form[i].speak, gate, form[i].head, form[i].tail, words, ARRAY_LEN(words), piece[k], &seen, &a);
				ok(!strcmp(buf_cstr(&seen.said), said), "%s: the text equals the parsed text", speak_name(form[i].speak));
				if (piece[k] == 1 << 20)
					ok(seen.passes == 1 && seen.tells == 1, "%s%s: events that arrive together pass together (%zu, %zu)", speak_name(form[i].speak), gate ? ", gated" : "", seen.passes, seen.tells);
				ok(form[i].speak != SPEAK_ANTHROPIC || !strcmp(buf_cstr(&a.part), said), "and is in the block that is sent back");
				answer_release(&a);
				buf_release(&seen.passed);
				buf_release(&seen.said);
			}
}

static bool alike(struct alike *k, const char *raw, const char *words)
{
	const char *at = NULL;
	size_t n = 0;
	bool yes = sse_template_words(k, raw, strlen(raw), &at, &n);
	return words ? yes && n == strlen(words) && !memcmp(at, words, n) : !yes;
}

static void learn(struct alike *k, const char *raw, const char *words)
{
	sse_template_learn(k, raw, strlen(raw), words, strlen(words));
}

static void t_learned(void)
{
	struct alike k = { 0 };
	ok(alike(&k, "", NULL), "nothing is like nothing");
	learn(&k, "data: {\"sequence_number\":7,\"delta\":\"ab\",\"n\":7,\"obfuscation\":\"\"}\n\n", "ab");
	ok(alike(&k, "data: {\"sequence_number\":10,\"delta\":\"other\",\"n\":7,\"obfuscation\":\"zz\"}\n\n", "other"), "other text, number, and padding");
	ok(alike(&k, "data: {\"sequence_number\":10,\"delta\":\"other\",\"n\":8,\"obfuscation\":\"zz\"}\n\n", NULL), "another number elsewhere is another event");
	ok(alike(&k, "data: {\"sequence_number\":010,\"delta\":\"o\",\"n\":7,\"obfuscation\":\"\"}\n\n", NULL), "an invalid number is not skipped");
	ok(alike(&k, "data: {\"sequence_number\":1,\"delta\":\"o\",\"x\":\"\",\"n\":7,\"obfuscation\":\"\"}\n\n", NULL), "nor is one more member");
	ok(alike(&k, "data: {\"sequence_number\":1,\"delta\":\"o\\n\\\"\\\\p\",\"n\":7,\"obfuscation\":\"\"}\n\n", "o\n\"\\p"), "escapes of one letter");
	ok(alike(&k, "data: {\"sequence_number\":1,\"delta\":\"o\\u006e\",\"n\":7,\"obfuscation\":\"\"}\n\n", NULL), "no others");
	ok(alike(&k, "data: {\"sequence_number\":1,\"delta\":\"o\\x\",\"n\":7,\"obfuscation\":\"\"}\n\n", NULL), "and none that there are not");
	ok(alike(&k, "data: {\"sequence_number\":1,\"delta\":\"o\\", NULL), "nor half of one");
	ok(alike(&k, "data: {\"sequence_number\":1,\"delta\":\"o\",\"n\":7,\"obfuscation\":\"\\n\"}\n\n", NULL), "nor one in what says nothing");
	ok(alike(&k, "data: {\"sequence_number\":1,\"delta\":\"o\",\"n\":7,\"obfuscation\":\"\"}\n", NULL), "nor an event that lacks its end");
	learn(&k, "data: {\"type\":\"text\",\"text\":\"ab\"}\n\n", "text");
	ok(alike(&k, "data: {\"type\":\"text\",\"text\":\"ab\"}\n\n", NULL), "words that stand there twice are not learned");
	learn(&k, "data: {\"ab\":1,\"text\":\"\\u0061b\"}\n\n", "ab");
	ok(alike(&k, "data: {\"xx\":1,\"text\":\"\\u0061b\"}\n\n", NULL), "nor an event with an escape");
	sse_template_release(&k);
}

/* Arguments of calls and thoughts, in many events that are alike and some that are not. */
static void t_goes_on(void)
{
	static const struct {
		enum speak speak;
		const char *text, *args[2], *part;
	} way[] = {
		{ SPEAK_ANTHROPIC,
		  "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n"
		  "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"so \"}}\n"
		  "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"it\\n\"}}\n"
		  "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"is\"}}\n"
		  "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"x\",\"input\":{}}}\n"
		  "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\"}}\n"
		  "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"[1,\"}}\n"
		  "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\" \\\"b\\\"\"}}\n"
		  "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"]\"}}\n"
		  "{\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"x\",\"input\":{}}}\n"
		  "{\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"[2\"}}\n"
		  "{\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"]\"}}\n",
		  { "[1, \"b\"]", "[2]" }, "[2]" },
		{ SPEAK_CHAT,
		  "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"\"}}]}}]}\n"
		  "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"[1,\"}}]}}]}\n"
		  "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\" \\\"b\\\"\"}}]}}]}\n"
		  "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"]\"}}]}}]}\n"
		  "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"x\",\"arguments\":\"[\"}}]}}]}\n"
		  "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"2\"}}]}}]}\n"
		  "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"]\"}}]}}]}\n",
		  { "[1, \"b\"]", "[2]" }, "" },
		{ SPEAK_CHAT, /* arguments that are no string: the same characters elsewhere are not them */
		  "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"5\",\"function\":{\"name\":\"x\",\"arguments\":5}}]}}]}\n"
		  "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"5\",\"function\":{\"name\":\"x\",\"arguments\":5}}]}}]}\n"
		  "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"7\",\"function\":{\"name\":\"x\",\"arguments\":5}}]}}]}\n",
		  { "55", "5" }, "" },
	};
	for (size_t i = 0; i < ARRAY_LEN(way); i++)
		for (int gate = 0; gate < 2; gate++) {
			struct answer a;
			struct seen seen = { 0 };
			answer_init(&a, way[i].speak, true, gate, NULL);
			a.pass = seen_pass;
			a.self = &seen;
			size_t all = 0;
			for (const char *p = way[i].text, *nl; (nl = strchr(p, '\n')); p = nl + 1) {
				CLEANUP(buf_release) struct buf event = BUF_INIT;
				buf_printf(&event, "data: %.*s\n\n", (int)(nl - p), p);
				answer_feed(&a, event.data, event.len);
				all += event.len;
			}
			ok(a.nr_calls == 2 && !strcmp(buf_cstr(&a.call[0].args), way[i].args[0]) && !strcmp(buf_cstr(&a.call[1].args), way[i].args[1]),
			   "%s: each call has its own arguments", speak_name(way[i].speak));
			ok(!strcmp(buf_cstr(&a.part), way[i].part), "and the block that is open is what it is");
			ok(way[i].speak != SPEAK_ANTHROPIC ||
				   !strcmp(json_str(json_array_get(a.blocks, 0), "thinking", ""), "so it\nis"),
			   "thoughts go back as they came");
			answer_pass(&a);
			ok(seen.passed.len == all, "and all of it passes");
			answer_release(&a);
			buf_release(&seen.passed);
		}
}

static void pieces_join(void *self, const char *bytes, size_t len)
{
	buf_append(self, bytes, len);
}

static void t_pieces(void)
{
	static const char *const body[] = { "{\"model\":\"m\", \"messages\": [ {\"a\":\"]},\\\"\"} , [1,2],3 ],\"x\":{}}", "{\"messages\":[]}",
					    "{\"messages\":\"no list\"}", "[]", "", "{\"x\":[{\"messages\":1}]", "{\"messages\":[1,", "{\"messages\"" };
	bool all = true;
	for (size_t i = 0; i < ARRAY_LEN(body); i++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT;
		speak_pieces(SPEAK_ANTHROPIC, body[i], strlen(body[i]), pieces_join, &out);
		all &= !strcmp(buf_cstr(&out), body[i]);
	}
	ok(all, "the parts of a request are the request, whatever it is");
}

static void count_pieces(void *self, const char *bytes, size_t len)
{
	(void)bytes, (void)len;
	++*(size_t *)self;
}

/* Gemini with a login: the request and the answer in an envelope. */
static void t_envelope(void)
{
	static const char body[] = "{\"model\":\"g-1\",\"project\":\"p\",\"request\":{\"contents\":[{\"role\":\"user\"},{\"role\":\"user\"}],"
				   "\"tools\":[{\"functionDeclarations\":[{\"name\":\"Bash\"}]}]}}";
	enum speak s;
	ok(speak_path("gemini", "POST", "/v1internal:streamGenerateContent", &s) && s == SPEAK_CODE_ASSIST, "its path is that of a model");
	ok(!speak_path("gemini", "POST", "/v1internal:onboardUser", &s) && !speak_path("gemini", "POST", "/v1internal:a/b:generateContent", &s), "others are not");
	struct err none = ERR_INIT;
	json_t *req = json_parse(body, strlen(body), "body", &none), *tools = speak_tools(req);
	is_str(speak_model(req, "/v1internal:generateContent"), "g-1", "its model");
	is_int(json_array_size(speak_messages(SPEAK_CODE_ASSIST, req)), 2, "its messages");
	is_str(json_string_value(json_array_get(tools, 0)), "Bash", "its tools");
	json_decref(tools);
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	size_t nr = 0;
	speak_pieces(SPEAK_CODE_ASSIST, body, strlen(body), pieces_join, &out);
	speak_pieces(SPEAK_CODE_ASSIST, body, strlen(body), count_pieces, &nr);
	ok(!strcmp(buf_cstr(&out), body) && nr == 5, "a message is a piece");
	struct answer a;
	buf_reset(&out);
	answer_init(&a, SPEAK_CODE_ASSIST, true, true, NULL);
	a.pass = collect;
	a.self = &out;
	answer_feed(&a, stream[SPEAK_CODE_ASSIST], strlen(stream[SPEAK_CODE_ASSIST]));
	answer_end(&a);
	json_t *again = answer_ask_again(&a, req, (const char *const[]){ "not now" });
	is_int(json_array_size(speak_messages(SPEAK_CODE_ASSIST, again)), 4, "asked again, the call and the refusal follow inside");
	is_int(json_array_size(speak_messages(SPEAK_CODE_ASSIST, req)), 2, "the request itself stays");
	is_str(json_str(again, "project", ""), "p", "with its envelope");
	answer_release(&a);
	json_decref(again);
	buf_reset(&out);
	speak_say(SPEAK_CODE_ASSIST, true, true, 0, "g-1", "stopped", &out);
	ok(strstr(buf_cstr(&out), "{\"response\":{\"candidates\"") != NULL, "words of ours are in an envelope, too");
	json_decref(req);
}

/* A prompt that is added outside, to requests that no program of the vendor sends. */
static void t_odd_envelope(void)
{
	static const char *const bodies[] = { "{\"request\":5}", "{\"request\":[]}", "{\"request\":\"x\"}", "{}" };
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct err none = ERR_INIT;
		CLEANUP(json_release) json_t *req = json_parse(bodies[i], strlen(bodies[i]), "body", &none);
		CLEANUP(json_release) json_t *was = json_deep_copy(req);
		speak_prompt(SPEAK_CODE_ASSIST, req, "mind");
		ok(json_equal(req, was), "an envelope without a request stays as it is: %s", bodies[i]);
	}
}

static void t_push(void)
{
	struct push p;
	char line[400], zero[41];
	memset(zero, '0', 40);
	zero[40] = 0;
	int n = snprintf(line, sizeof(line), "%04x%s 1111111111111111111111111111111111111111 refs/heads/x%c report-status\n0000PACK", 4 + 40 + 1 + 40 + 1 + 12 + 16, zero, 0);
	const char *why = push_request(&p, "POST", "/r.git/git-receive-pack", "", line, (size_t)n);
	ok(!why && p.nr == 1 && !strcmp(p.ref[0].name, "refs/heads/x") && !strcmp(p.ref[0].old, zero), "a push names the ref that it would move");
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	ok(push_refusal(&p, "not\nnow", &out) && !strcmp(buf_cstr(&out), "000eunpack ok\n001cng refs/heads/x not now\n0000"), "who pushes hears why not, in one line");
	p.bands = true;
	buf_reset(&out);
	ok(push_refusal(&p, "no", &out) && out.len == 4 + 1 + 14 + 23 + 4 + 4 && !memcmp(out.data, "002e\1" "000eunpack ok\n", 19), "on the band that its git listens to");
	char why_long[402] = "";
	memset(why_long, 'x', 399);
	memcpy(why_long + 399, "\u00e9", 2); /* its second byte would be one too many */
	p.bands = false;
	buf_reset(&out);
	ok(push_refusal(&p, why_long, &out) && strstr(buf_cstr(&out), "xx\n0000") && !strchr(buf_cstr(&out), 0xc3), "a long reason ends with a whole character");
	p.reports = false;
	ok(!push_refusal(&p, "no", &out), "a git that wants no report gets none");
	push_release(&p);
	for (size_t cut = 0; cut < 100; cut++) {
		if (cut == 4)
			continue;
		why = push_request(&p, "POST", "/r.git/git-receive-pack", "", line, cut);
		if (!why)
			ok(false, "a push that was cut passes");
		push_release(&p);
	}
	ok(push_request(&p, "POST", "/r.git/other", "", "", 0) != NULL, "what git does not ask for is refused");
	push_release(&p);
	ok(!push_request(&p, "GET", "/r.git/info/refs", "?service=git-upload-pack", "", 0), "a fetch passes");
	push_release(&p);
}

int main(void)
{
	for (enum speak s = SPEAK_ANTHROPIC; s <= SPEAK_CODE_ASSIST; s++)
		for (int gate = 0; gate < 2; gate++) {
			bool all = true;
			for (size_t at = 0; at <= strlen(stream[s]); at++)
				all &= split_ok(s, at, gate);
			ok(all, "%s, %s: the same at whatever byte it is split", speak_name(s), gate ? "gated" : "not gated");
		}
	enum speak s;
	ok(speak_path("anthropic", "POST", "/v1/messages", &s) && s == SPEAK_ANTHROPIC, "a path that is served");
	ok(!speak_path("anthropic", "POST", "/v1/files", &s) && !speak_path("gemini", "POST", "/v1beta/../x:generateContent", &s), "paths that are not");
	t_alike();
	t_learned();
	t_goes_on();
	t_pieces();
	t_envelope();
	t_odd_envelope();
	t_push();
	return done_testing();
}
