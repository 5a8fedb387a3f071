/* WebSocket as a client against a peer that keeps to the rules or breaks them: a thread with plain
 * sockets, one connection each. */
#include "http/websock.h"

#include "ws_peer.h"

/* --- what the client saw ------------------------------------------------------------------------------------------ */

struct saw {
	struct websock *w;
	struct buf log, text, body;
	int opens, messages, ends;
	enum http_how how;
	int status, code;
	bool echo, pause; /* each message goes back; paused in each */
	int leave;        /* freed where */
};
enum { KEEP, FREE_IN_OPEN, FREE_IN_MESSAGE, FREE_IN_END };

static void on_open(void *self, const char *protocol)
{
	struct saw *s = self;
	s->opens++;
	buf_printf(&s->log, "open %s;", protocol);
	if (s->leave == FREE_IN_OPEN)
		websock_free(&s->w);
}

static void on_message(void *self, bool text, const void *bytes, size_t len)
{
	struct saw *s = self;
	s->messages++;
	if (len > 60)
		buf_printf(&s->log, "%c%zu;", text ? 't' : 'b', len);
	else
		buf_printf(&s->log, "%c:%.*s;", text ? 't' : 'b', (int)len, (const char *)bytes);
	if (s->echo)
		websock_send(s->w, text, bytes, len);
	if (s->pause)
		websock_pause(s->w, true);
	if (s->leave == FREE_IN_MESSAGE)
		websock_free(&s->w);
}

static void on_end(void *self, const struct websock_end *e)
{
	struct saw *s = self;
	s->ends++;
	s->how = e->how;
	s->status = e->status;
	s->code = e->code;
	buf_puts(&s->text, e->text);
	buf_append(&s->body, e->body, e->body_len);
	if (s->leave == FREE_IN_END)
		websock_free(&s->w);
}

static void open_url(struct saw *s, const char *url, struct websock_request r)
{
	const struct websock_handler on = { on_open, on_message, on_end, s };
	CLEANUP(free_ptr) char *copy = mem_strdup(url);
	r.url = copy;
	s->w = websock_open(http, &r, &on); /* all is copied */
}

static void until_end(const struct saw *s)
{
	TURN_WHILE(loop, !s->ends);
}

static void saw_release(struct saw *s)
{
	websock_free(&s->w);
	buf_release(&s->log);
	buf_release(&s->text);
	buf_release(&s->body);
}

/* One connection from its beginning to its end. Release both. */
static void meet(struct peer *p, struct saw *s, void (*play)(struct peer *p), const void *play_self)
{
	start(p, play, play_self);
	open_url(s, p->url, (struct websock_request){ 0 });
	until_end(s);
	websock_free(&s->w);
	join(p);
}

static void done(struct peer *p, struct saw *s)
{
	saw_release(s);
	peer_release(p);
}

/* --- the handshake ------------------------------------------------------------------------------------------------ */

static void play_hello(struct peer *p)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	put_frame(&b, 0x81, "first", 5);
	put_frame(&b, 0x81, "", 0);
	welcome(p, "Sec-WebSocket-Protocol: v5.two\r\n", b.data, b.len);
	say_close(p, 1000, "bye");
	hear(p);
}

static void good(void)
{
	struct peer p;
	struct saw s = { 0 };
	const char *const headers[] = { "Authorization: Bearer k123", NULL };
	char sample[32];
	accept_of("dGhlIHNhbXBsZSBub25jZQ==", sample);
	is_str(sample, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "the peer answers as the standard's example does");
	start(&p, play_hello, NULL);
	open_url(&s, p.url, (struct websock_request){ .headers = headers, .protocols = "v5.one, v5.two" });
	ok(!s.opens && !s.ends, "nothing is called inside open");
	until_end(&s);
	join(&p);
	const char *ask = buf_cstr(&p.ask), *key = strstr(ask, "\r\nSec-WebSocket-Key: ");
	CLEANUP(free_ptr) char *host = mem_printf("\r\nHost: %.*s\r\n", (int)strcspn(p.url + 7, "/"), p.url + 7);
	ok(!strncmp(ask, "GET /a/b?c=d HTTP/1.1\r\n", 23) && strstr(ask, host), "the path, its query and the host with its port are asked for");
	ok(strstr(ask, "\r\nUpgrade: websocket\r\n") && strstr(ask, "\r\nConnection: Upgrade\r\n") &&
		   strstr(ask, "\r\nSec-WebSocket-Version: 13\r\n") && strstr(ask, "\r\nSec-WebSocket-Protocol: v5.one, v5.two\r\n") &&
		   strstr(ask, "\r\nAuthorization: Bearer k123\r\n"),
	   "with everything that belongs to it");
	is_int(key ? strcspn(key + 21, "\r") : 0, 24, "and a key of 16 bytes");
	is_str(buf_cstr(&s.log), "open v5.two;t:first;t:;", "what came with the answer comes after the opening, once");
	ok(s.how == HTTP_OK && s.status == 101 && s.code == 1000 && s.ends == 1, "a close is an end");
	is_str(buf_cstr(&s.text), "bye", "with its reason");
	ok(heard_code(&p) == 1000 && !p.unmasked, "it is answered, masked");
	done(&p, &s);
}

struct answer {
	const char *text; /* @: the right key */
	enum http_how how;
	int status;
	const char *why, *body, *what;
	bool stays; /* the peer leaves it to the client to close */
};

static void play_answer(struct peer *p)
{
	const struct answer *a = p->play_self;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	for (const char *t = a->text; *t; t++) {
		if (*t == '@')
			buf_puts(&b, p->accept);
		else
			buf_putc(&b, *t);
	}
	say(p, b.data, b.len);
	if (a->stays)
		until_closed(p);
	else
		shutdown(p->sock, SHUT_WR);
}

#define OPENS "HTTP/1.1 101 Switching Protocols\r\n"
#define UP OPENS "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define KEY "Sec-WebSocket-Accept: @\r\n"

static void bad(void)
{
	static const struct answer answers[] = {
		{ UP "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", HTTP_CUT, 101, "doesn't match the request", "", "the answer to another key", true },
		{ UP "\r\n", HTTP_CUT, 101, "doesn't match the request", "", "no key in the answer", true },
		{ OPENS "Connection: Upgrade\r\n" KEY "\r\n", HTTP_CUT, 101, "does not upgrade", "", "no Upgrade", true },
		{ OPENS "Upgrade: h2c\r\nConnection: Upgrade\r\n" KEY "\r\n", HTTP_CUT, 101, "does not upgrade", "", "an upgrade to something else", true },
		{ OPENS "Upgrade: websocket\r\nConnection: close\r\n" KEY "\r\n", HTTP_CUT, 101, "does not upgrade", "", "no Connection: Upgrade", true },
		{ UP KEY "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", HTTP_CUT, 101, "extension", "", "an extension that nobody offered", true },
		{ UP KEY "Sec-WebSocket-Protocol: chat\r\n\r\n", HTTP_CUT, 101, "none of the protocols", "", "a protocol that nobody offered", true },
		{ "HTTP/1.0 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" KEY "\r\n", HTTP_CUT, 0, "does not speak HTTP", "", "an upgrade by HTTP/1.0", true },
		{ "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>", HTTP_OK, 200, "", "<html></html>", "a page", true },
		{ "HTTP/1.1 200 OK\r\n\r\n<p>\nContent-Length: 1\n</p>", HTTP_OK, 200, "", "<p>\nContent-Length: 1\n</p>", "a page that ends with the connection", false },
		{ "HTTP/1.1 401 Unauthorized\r\nContent-Length: 7\r\n\r\nno key!", HTTP_OK, 401, "", "no key!", "401", true },
		{ "HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nno \r\n4\r\nkey!\r\n0\r\n\r\n", HTTP_OK, 401, "", "no key!", "401 in chunks, the connection stays", true },
		{ "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", HTTP_OK, 403, "", "", "403 without a word", true },
		{ "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 50\r\n\r\nhalf", HTTP_OK, 502, "", "half", "a refusal that is cut", false },
		{ "HTTP/1.0 404 Not Found\r\nConnection: close\r\n\r\nnothing here", HTTP_OK, 404, "", "nothing here", "404 of an old server", false },
		{ "220 mail.example.org ready\r\n\r\n", HTTP_CUT, 0, "does not speak HTTP", "", "a mail server", true },
		{ "SSH-2.0-OpenSSH_9.2\r\n", HTTP_CUT, 0, "was closed", "", "an ssh server that hangs up", false },
		{ "", HTTP_CUT, 0, "was closed", "", "no answer at all", false },
		{ OPENS "Upgr", HTTP_CUT, 0, "was closed", "", "cut in the head", false },
	};
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		const struct answer *a = &answers[i];
		struct peer p;
		struct saw s = { 0 };
		meet(&p, &s, play_answer, a);
		if (!ok(s.ends == 1 && !s.opens && s.how == a->how && s.status == a->status && strstr(buf_cstr(&s.text), a->why) &&
				!strcmp(buf_cstr(&s.body), a->body),
			"%s: %d %s", a->what, s.status, buf_cstr(&s.text)))
			printf("# ends %d opens %d how %d body '%s'\n", s.ends, s.opens, (int)s.how, buf_cstr(&s.body));
		done(&p, &s);
	}
}

static void play_long_head(struct peer *p)
{
	static const char line[] = "X-Filler: 0123456789012345678901234567890123456789012345678901234567890\r\n";
	say(p, OPENS, strlen(OPENS));
	for (int i = 0; i < 2000; i++)
		if (!say(p, line, sizeof line - 1))
			return;
	until_closed(p);
}

static void play_zero(struct peer *p)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n";
	say(p, answer, sizeof answer - 1);
	until_closed(p);
}

static void play_much(struct peer *p)
{
	char piece[4096];
	memset(piece, 'x', sizeof piece);
	static const char head[] = "HTTP/1.1 500 Oh\r\nContent-Length: 100000000\r\n\r\n";
	for (bool on = say(p, head, sizeof head - 1); on;)
		on = say(p, piece, sizeof piece);
}

static void large(void)
{
	struct peer p[3];
	struct saw a = { 0 }, b = { 0 }, c = { 0 };
	meet(&p[0], &a, play_long_head, NULL);
	ok(a.how == HTTP_CUT && a.ends == 1 && strstr(buf_cstr(&a.text), "too long"), "a head without end: %s", buf_cstr(&a.text));
	meet(&p[1], &b, play_zero, NULL);
	ok(b.how == HTTP_CUT && b.status == 0 && strstr(buf_cstr(&b.text), "does not speak HTTP"), "a NUL in the head: %s", buf_cstr(&b.text));
	meet(&p[2], &c, play_much, NULL);
	ok(c.how == HTTP_OK && c.status == 500 && c.body.len >= 65536 && c.body.len < 200000, "of a body of 100 MB the beginning is taken");
	done(&p[0], &a);
	done(&p[1], &b);
	done(&p[2], &c);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static const size_t lengths[] = { 0, 1, 125, 126, 127, 65535, 65536, 200000 };

/* Each goes out as it is and comes back the same; the last word says how many did. */
static void play_lengths(struct peer *p)
{
	int same = 0;
	char word[32];
	welcome(p, "", "", 0);
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		CLEANUP(free_ptr) char *want = pattern(lengths[i]);
		say_frame(p, 0x82, want, lengths[i]);
		same += hear(p) && p->op == WS_BYTES && p->frame.len == lengths[i] && !memcmp(p->frame.data, want, lengths[i]);
	}
	snprintf(word, sizeof word, "%d same", same);
	say_close(p, 1001, word);
	hear(p);
}

/* A message in parts with controls between them, a byte at a time. */
static void play_parts(struct peer *p)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, pongs = BUF_INIT;
	char full[125];
	memset(full, 'p', sizeof full);
	put_frame(&b, 0x01, "H\xc3", 2); /* in the middle of a letter */
	put_frame(&b, 0x89, "between", 7);
	put_frame(&b, 0x00, "\xa9", 1);
	put_frame(&b, 0x8a, "nobody asked", 12);
	put_frame(&b, 0x00, "", 0);
	put_frame(&b, 0x80, "llo", 3);
	put_frame(&b, 0x89, full, sizeof full);
	put_frame(&b, 0x89, "", 0);
	put_frame(&b, 0x02, "", 0);
	put_frame(&b, 0x80, "", 0);
	welcome(p, "", b.data, 1);
	for (size_t i = 1; i < b.len; i++) {
		say(p, b.data + i, 1);
		if (i % 16 == 0)
			usleep(500);
	}
	for (int i = 0; i < 3 && hear(p); i++)
		buf_printf(&pongs, "%x%zu%c", p->op, p->frame.len, p->frame.len ? p->frame.data[0] : '-');
	say_close(p, 4000, buf_cstr(&pongs));
	hear(p);
}

static void messages(void)
{
	struct peer p[2];
	struct saw a = { .echo = true }, b = { 0 };
	meet(&p[0], &a, play_lengths, NULL);
	is_str(buf_cstr(&a.log), "open ;b:;b:\x01;b125;b126;b127;b65535;b65536;b200000;", "messages of every form of length");
	is_str(buf_cstr(&a.text), "8 same", "there and back");
	ok(a.code == 1001 && heard_code(&p[0]) == 1001 && !p[0].unmasked, "every frame of ours was masked");
	meet(&p[1], &b, play_parts, NULL);
	is_str(buf_cstr(&b.log), "open ;t:H\xc3\xa9llo;b:;", "parts are put together, a byte at a time, with controls between them");
	is_str(buf_cstr(&b.text), "a7ba125pa0-", "a ping is answered with its text");
	is_int(b.code, 4000, "a custom code");
	done(&p[0], &a);
	done(&p[1], &b);
}

/* --- who breaks the rules ----------------------------------------------------------------------------------------- */

struct wrong {
	const char *bytes;
	size_t len;
	const char *why;
};
#define BYTES(s) (s), sizeof(s) - 1

static void play_wrong(struct peer *p)
{
	const struct wrong *w = p->play_self;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	put_frame(&b, 0x81, "fine", 4);
	buf_append(&b, w->bytes, w->len);
	put_frame(&b, 0x81, "late", 4);
	welcome(p, "", b.data, b.len);
	hear(p);
}

static void rules(void)
{
	static const struct wrong wrongs[] = {
		{ BYTES("\x81\x81\1\2\3\4`"), "masked" },
		{ BYTES("\xc1\x01x"), "reserved bit" },
		{ BYTES("\x83\x01x"), "unknown opcode" },
		{ BYTES("\x8b\x00"), "unknown opcode" },
		{ BYTES("\x09\x01x"), "control frame in parts" },
		{ BYTES("\x89\x7e\x00\x7e"), "too long" },
		{ BYTES("\x80\x01x"), "do not follow" },
		{ BYTES("\x01\x01x\x81\x01y"), "do not follow" },
		{ BYTES("\x82\x7e\x00\x7d"), "shortest" },
		{ BYTES("\x82\x7f\0\0\0\0\0\0\xff\xff"), "shortest" },
		{ BYTES("\x82\x7f\x80\0\0\0\0\1\0\0"), "length" },
		{ BYTES("\x82\x7f\0\0\0\0\4\0\0\1"), "a message is too long" },
		{ BYTES("\x02\x01x\x80\x7f\0\0\0\0\4\0\0\0"), "a message is too long" },
		{ BYTES("\x81\x01\xff"), "not UTF-8" },
		{ BYTES("\x81\x02\xc3("), "not UTF-8" },
		{ BYTES("\x88\x01\x03"), "half a code" },
		{ BYTES("\x88\x03\x03\xe8\xff"), "not UTF-8" },
		{ BYTES("\x88\x02\x03\xe7"), "invalid code" },
		{ BYTES("\x88\x02\x03\xed"), "invalid code" },
		{ BYTES("\x88\x02\x03\xee"), "invalid code" },
		{ BYTES("\x88\x02\x13\x88"), "invalid code" },
	};
	for (size_t i = 0; i < ARRAY_LEN(wrongs); i++) {
		struct peer p;
		struct saw s = { 0 };
		meet(&p, &s, play_wrong, &wrongs[i]);
		if (!ok(s.ends == 1 && s.how == HTTP_CUT && s.messages == 1 && strstr(buf_cstr(&s.text), wrongs[i].why) && heard_code(&p) == 1002,
			"refused, and told so: %s", buf_cstr(&s.text)))
			printf("# ends %d how %d log '%s' heard %u\n", s.ends, (int)s.how, buf_cstr(&s.log), heard_code(&p));
		done(&p, &s);
	}
}

/* --- how it ends -------------------------------------------------------------------------------------------------- */

static const struct ending {
	int code; /* 0: a close frame without one */
	int told, answered;
} endings[] = { { 1000, 1000, 1000 }, { 1011, 1011, 1011 }, { 3000, 3000, 3000 }, { 4999, 4999, 4999 }, { 0, 1005, 1000 } };

static void play_ending(struct peer *p)
{
	const struct ending *e = p->play_self;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const char code[2] = { (char)(e->code >> 8), (char)(e->code & 255) };
	put_frame(&b, 0x88, code, e->code ? 2 : 0);
	put_frame(&b, 0x81, "late", 4);
	welcome(p, "", b.data, b.len);
	hear(p);
}

static void play_cut(struct peer *p)
{
	const struct wrong *w = p->play_self; /* its beginning is right, the rest never comes */
	welcome(p, "", w->bytes, w->len);
	shutdown(p->sock, SHUT_WR);
	until_closed(p);
}

static void play_reset(struct peer *p)
{
	welcome(p, "", "\x81\x02" "a", 3);
	hear(p); /* the frame of on_open has arrived */
	reset(p);
}

static void ends(void)
{
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		struct peer p;
		struct saw s = { 0 };
		meet(&p, &s, play_ending, &endings[i]);
		ok(s.ends == 1 && s.how == HTTP_OK && !s.messages && s.code == endings[i].told && (int)heard_code(&p) == endings[i].answered,
		   "closed with %d: told %d, answered %u, and nothing after it", endings[i].code, s.code, heard_code(&p));
		done(&p, &s);
	}
	static const struct wrong cuts[] = {
		{ BYTES(""), "between two messages" },	 { BYTES("\x81"), "in a head" },
		{ BYTES("\x82\x7e\x01"), "in a length" }, { BYTES("\x81\x05hel"), "in a message" },
		{ BYTES("\x01\x03hel"), "between two parts" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		struct peer p;
		struct saw s = { 0 };
		meet(&p, &s, play_cut, &cuts[i]);
		ok(s.ends == 1 && s.how == HTTP_CUT && s.opens == 1 && !s.messages && s.code == 0 && strstr(buf_cstr(&s.text), "was closed"),
		   "cut %s: %s", cuts[i].why, buf_cstr(&s.text));
		done(&p, &s);
	}
	struct peer p;
	struct saw s = { 0 };
	start(&p, play_reset, NULL);
	open_url(&s, p.url, (struct websock_request){ 0 });
	TURN_WHILE(loop, !s.opens);
	websock_send(s.w, true, "x", 1);
	until_end(&s);
	ok(s.ends == 1 && s.how == HTTP_CUT, "reset: %s", buf_cstr(&s.text));
	join(&p);
	done(&p, &s);
}

static void play_chatter(struct peer *p)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	for (int i = 0; i < 3; i++)
		put_frame(&b, 0x81, "x", 1);
	put_frame(&b, 0x88, "\x03\xe8", 2);
	welcome(p, "", b.data, b.len);
	while (hear(p) && p->op != WS_CLOSE)
		;
}

static void leaving(void)
{
	static const char *const name[] = { "", "open", "message", "end" };
	static const char *const seen[] = { "", "open ;", "open ;t:x;", "open ;t:x;t:x;t:x;" };
	for (int i = FREE_IN_OPEN; i <= FREE_IN_END; i++) {
		struct peer p;
		struct saw s = { .leave = i };
		start(&p, play_chatter, NULL);
		open_url(&s, p.url, (struct websock_request){ 0 });
		for (int k = 0; k < 400 && s.w; k++)
			loop_turn(loop, 50);
		loop_turn(loop, 0);
		join(&p);
		ok(!s.w && s.ends == (i == FREE_IN_END) && !strcmp(buf_cstr(&s.log), seen[i]) && heard_code(&p) == 1000,
		   "freed in %s: no more calls, and the peer gets a goodbye", name[i]);
		done(&p, &s);
	}
	struct saw s = { 0 }, gone = { 0 }, nobody = { 0 };
	open_url(&s, "file:///etc/passwd", (struct websock_request){ 0 });
	websock_send(s.w, true, "x", 1);
	websock_pause(s.w, true);
	ok(!s.ends, "nothing is called inside open, be it wrong");
	until_end(&s);
	ok(s.how == HTTP_REFUSED && s.ends == 1, "other schemes are refused: %s", buf_cstr(&s.text));
	open_url(&gone, "http://127.0.0.1:1/", (struct websock_request){ 0 });
	websock_free(&gone.w);
	loop_turn(loop, 10);
	ok(!gone.ends, "freed before it began");
	open_url(&nobody, "http://127.0.0.1:1/", (struct websock_request){ 0 });
	until_end(&nobody);
	ok(nobody.how == HTTP_UNREACHED && nobody.status == 0, "nobody listens: %s", buf_cstr(&nobody.text));
	saw_release(&s);
	saw_release(&gone);
	saw_release(&nobody);
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static void play_deaf(struct peer *p)
{
	welcome(p, "", "", 0);
	hear(p);
	until_closed(p);
}

static void play_pongs(struct peer *p)
{
	welcome(p, "", "", 0);
	for (int i = 0; i < 5 && hear(p) && p->op == WS_PING; i++)
		say_frame(p, 0x8a, p->frame.data, p->frame.len);
	say_close(p, 1000, p->op == WS_PING ? "five pings" : "");
	hear(p);
}

static void play_turns(struct peer *p)
{
	welcome(p, "", "", 0);
	for (int i = 0; i < 3; i++) {
		say_frame(p, 0x81, "x", 1);
		do
			hear(p);
		while (p->op == WS_PING);
		if (p->op != WS_TEXT)
			return;
	}
	say_close(p, 1000, "");
	do
		hear(p);
	while (p->op == WS_PING);
}

static void until_message(const struct saw *s, int nr)
{
	TURN_WHILE(loop, s->messages < nr && !s->ends);
}

static void turn_for(int64_t us)
{
	for (int64_t until = clock_mono_us() + us; clock_mono_us() < until;)
		loop_turn(loop, 20);
}

static void quiet(void)
{
	struct peer deaf, polite, turns;
	struct saw a = { 0 }, b = { 0 }, c = { .echo = true, .pause = true };
	int64_t began = clock_mono_us();
	start(&deaf, play_deaf, NULL);
	start(&polite, play_pongs, NULL);
	start(&turns, play_turns, NULL);
	open_url(&c, turns.url, (struct websock_request){ .idle_us = 500000 });
	open_url(&a, deaf.url, (struct websock_request){ .idle_us = 200000 });
	open_url(&b, polite.url, (struct websock_request){ .idle_us = 500000 });
	until_end(&a);
	ok(a.ends == 1 && a.how == HTTP_SLOW && a.opens == 1, "who answers no ping is given up: %s", buf_cstr(&a.text));
	websock_free(&a.w);
	join(&deaf);
	is_int(deaf.op, WS_PING, "he was asked");
	until_end(&b);
	join(&polite);
	ok(b.how == HTTP_OK && !strcmp(buf_cstr(&b.text), "five pings"), "who answers stays: %s", buf_cstr(&b.text));
	ok(clock_mono_us() - began > 500000, "longer than nothing may come");
	ok(c.messages == 1 && !c.ends, "paused: nothing comes, and that is not idleness");
	websock_pause(c.w, false);
	until_message(&c, 2);
	turn_for(30000);
	ok(c.messages == 2 && !c.ends, "the frames sent meanwhile are out, and one more arrives");
	c.pause = false;
	websock_pause(c.w, false);
	until_end(&c);
	ok(c.how == HTTP_OK && c.messages == 3, "then it continues from its position");
	join(&turns);
	done(&deaf, &a);
	done(&polite, &b);
	done(&turns, &c);
}

/* Reads a part, then disconnects. */
static void play_gone(struct peer *p)
{
	char b[1000];
	welcome(p, "", "\x81\x01x", 3);
	take_exactly(p, b, sizeof b);
	reset(p);
}

static void busy(void)
{
	struct peer p;
	struct saw s = { .pause = true };
	start(&p, play_gone, NULL);
	open_url(&s, p.url, (struct websock_request){ 0 });
	TURN_WHILE(loop, !s.messages);
	CLEANUP(free_ptr) char *much = mem_calloc(1, 16 << 20);
	websock_send(s.w, false, much, 16 << 20);
	pthread_join(p.thread, NULL);
	int turns = 0;
	for (int64_t until = clock_mono_us() + 60000; clock_mono_us() < until; turns++)
		loop_turn(loop, 20);
	ok(turns < 50, "who waits, paused, while the other side has gone does not turn in circles (%d)", turns);
	ok(!s.ends, "and hears of it later");
	s.pause = false;
	websock_pause(s.w, false);
	until_end(&s);
	ok(s.how == HTTP_CUT && s.ends == 1, "namely: %s", buf_cstr(&s.text));
	close(p.fd);
	done(&p, &s);
}

/* Sends many pings without reading, then reads all answers and sends one more. */
enum { PINGS = 100000 };

static void play_pings(struct peer *p)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	char full[125], word[40];
	int pongs = 0;
	memset(full, 'p', sizeof full);
	welcome(p, "", "", 0);
	for (int i = 0; i < PINGS; i++)
		put_frame(&b, 0x89, full, sizeof full);
	say(p, b.data, b.len);
	say_frame(p, 0x81, "over", 4);
	while (hear(p) && p->op == WS_PONG)
		pongs++;
	bool said = p->op == WS_TEXT;
	say_frame(p, 0x89, "still there?", 12);
	bool last = hear(p) && p->op == WS_PONG && p->frame.len == 12;
	snprintf(word, sizeof word, "%s %s %s", said ? "said" : "", last ? "answered" : "", pongs > 0 && pongs < PINGS * 3 / 4 ? "few" : "all");
	say_close(p, 1000, word);
	hear(p);
}

static void flooded(void)
{
	struct peer p;
	struct saw s = { .echo = true };
	meet(&p, &s, play_pings, NULL);
	is_str(buf_cstr(&s.text), "said answered few", "a peer that pings without reading gets few answers");
	done(&p, &s);
}

int main(void)
{
	if (!begin())
		return 1;
	good();
	bad();
	large();
	messages();
	rules();
	ends();
	leaving();
	quiet();
	busy();
	flooded();
	return end();
}
