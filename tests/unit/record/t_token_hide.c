/* A session that records no live tokens: at every split of the output a name stands for the token, and the rest is as it
 * was written. */
#include "record/live_token.h"
#include "record_help.h"

static const char token[] = "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";
static const char key[] =
	"-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END RSA PRIVATE KEY-----";

static struct loop *help_loop;

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void gather(void *self, uint64_t action, enum record_stream s, const void *bytes, size_t len)
{
	(void)action;
	(void)s;
	buf_append(self, bytes, len);
}

/* The text that is recorded when <text> comes in two pieces, or byte by byte (@at past its end). */
static void write_split(struct record *r, uint64_t action, enum record_stream s, const char *text,
			size_t at)
{
	size_t len = strlen(text);
	if (at <= len) {
		record_output(r, action, s, text, at);
		record_output(r, action, s, text + at, len - at);
	} else {
		for (size_t i = 0; i < len; i++)
			record_output(r, action, s, text + i, 1);
	}
	record_output_end(r, action);
}

static size_t wrong_splits(struct record *r, struct buf *tapped, const char *text, const char *want)
{
	size_t wrong = 0;
	for (size_t at = 0; at <= strlen(text) + 1; at++) {
		json_t *b = json_object();
		json_put_str(b, "kind", "exec");
		uint64_t action = record_append_json(r, 100, 1, 5, 6, 0, b);
		buf_reset(tapped);
		write_split(r, action, STREAM_OUT, text, at);
		if (strcmp(buf_cstr(tapped), want) != 0 && !wrong++)
			printf("# split at %zu: %s\n", at, buf_cstr(tapped));
	}
	return wrong;
}

/* How much of <text> is recorded while its action runs. */
static size_t shown_at_once(struct record *r, struct buf *tapped, const char *text)
{
	json_t *b = json_object();
	json_put_str(b, "kind", "exec");
	uint64_t action = record_append_json(r, 100, 1, 5, 6, 0, b);
	buf_reset(tapped);
	record_output(r, action, STREAM_PTY, text, strlen(text));
	size_t len = tapped->len;
	record_output_end(r, action);
	return len;
}

/* A beginning of a token, and sequences without an end between it and the next key. */
static void test_endless_sequences(struct record *r, struct buf *tapped)
{
	enum { PIECES = 4000 };
	static const char piece[] = "\033[1m\033[0m";
	size_t most = 0, len = strlen("ghp_zQWB");
	json_t *b = json_object();
	json_put_str(b, "kind", "shell");
	uint64_t action = record_append_json(r, 100, 1, 5, 6, 0, b);
	buf_reset(tapped);
	record_output(r, action, STREAM_PTY, "ghp_zQWB", len);
	for (size_t i = 0; i < PIECES; i++) {
		record_output(r, action, STREAM_PTY, piece, strlen(piece));
		len += strlen(piece);
		most = len - tapped->len > most ? len - tapped->len : most;
	}
	record_output_end(r, action);
	is_int((int64_t)tapped->len, (int64_t)len, "endless sequences after a beginning are kept");
	ok(most <= 17 << 10, "and at most %zu bytes of them wait", most);
}

/* The echo of <keys>, which come one by one. */
static void type_keys(struct record *r, struct buf *tapped, const char *const *keys, size_t nr)
{
	json_t *b = json_object();
	json_put_str(b, "kind", "shell");
	uint64_t action = record_append_json(r, 100, 1, 5, 6, 0, b);
	buf_reset(tapped);
	for (size_t i = 0; i < nr; i++)
		record_output(r, action, STREAM_PTY, keys[i], strlen(keys[i]));
	record_output_end(r, action);
}

static void test_typed_echo(struct record *r, struct buf *tapped)
{
	char one[64][2] = { "" };
	const char *keys[64];
	size_t nr = strlen(token);
	for (size_t i = 0; i < nr; i++) {
		one[i][0] = token[i];
		keys[i] = one[i];
	}
	keys[nr++] = "\r\n";
	type_keys(r, tapped, keys, nr);
	ok(!strstr(buf_cstr(tapped), token + 4) &&
		   strstr(buf_cstr(tapped), "<secret:token-github-1>\r\n"),
	   "its echo: %s", buf_cstr(tapped));
	static char wrapped[4];
	snprintf(wrapped, sizeof wrapped, "%c \r", token[20]);
	keys[20] = wrapped; /* the right margin, as readline writes it */
	char colored[16];
	snprintf(colored, sizeof colored, "\033[27m%c", token[30]);
	keys[30] = colored;
	type_keys(r, tapped, keys, nr);
	ok(!strstr(buf_cstr(tapped), "uTSO") && !strstr(buf_cstr(tapped), "ncns") &&
		   strstr(buf_cstr(tapped), "<secret:token-github-1>\r\n"),
	   "over a margin and with colors: %s", buf_cstr(tapped));
	char titled[32];
	snprintf(titled, sizeof titled, "\033]0;title\033\\%c", token[30]);
	keys[30] = titled;
	type_keys(r, tapped, keys, nr);
	ok(!strstr(buf_cstr(tapped), "uTSO") && !strstr(buf_cstr(tapped), "ncns"),
	   "and with a title: %s", buf_cstr(tapped));
}

/* Nothing of ordinary words waits for the next key. */
static void test_echo_at_once(struct record *r, struct buf *tapped)
{
	static const char line[] = "npm run x; sk hf eyJx \033[K dapi ok";
	size_t late = 0;
	json_t *b = json_object();
	json_put_str(b, "kind", "shell");
	uint64_t action = record_append_json(r, 100, 1, 5, 6, 0, b);
	buf_reset(tapped);
	for (size_t i = 0; i < strlen(line); i++) {
		record_output(r, action, STREAM_PTY, line + i, 1);
		late += tapped->len != i + 1;
	}
	record_output_end(r, action);
	is_str(buf_cstr(tapped), line, "ordinary words are echoed as they are");
	ok(late <= 3, "and %zu keys wait for the next one", late);
}

static void record_typed_json(struct record *r, uint64_t action, const char *bytes, size_t len,
			      json_t *body)
{
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	int64_t held = record_typed_input(r, action, bytes, len, &clean);
	json_put_bytes(body, "data", buf_cstr(&clean), clean.len);
	if (held)
		json_put_int(body, "held_bytes", held);
}

/* The events of text that is typed in pieces of @step bytes, joined. */
static size_t typed_events(struct record *r, struct session **s, const char *text, size_t step,
			   struct buf *out)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event ev;
	bool done = false;
	json_t *b = json_object();
	json_put_str(b, "kind", "shell");
	uint64_t action = record_append_json(r, 100, 1, 5, 6, 0, b), last = action;
	for (size_t i = 0; i < strlen(text); i += step) {
		json_t *body = json_object();
		record_typed_json(r, action, text + i,
				  strlen(text + i) < step ? strlen(text + i) : step, body);
		record_append_json(r, EV_PROC_STDIN, action, 1, 5, action, body);
	}
	record_output_end(r, action);
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(help_loop, &done);
	if (session_open(s, record_path(r), &err) < 0)
		exit(97);
	size_t nr = 0;
	while (++last <= session_head(*s)) {
		if (session_event(*s, last, &ev, &a, &err) < 0 || ev.kind != EV_PROC_STDIN)
			continue;
		CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "event", &err);
		CLEANUP(buf_release) struct buf data = BUF_INIT;
		json_get_bytes(json_object_get(body, "data"), &data);
		buf_append(out, data.data, data.len);
		nr++;
	}
	session_close(s);
	return nr;
}

static void test_typed_input(struct record *r)
{
	struct session *s = NULL;
	CLEANUP(free_ptr) char *line = mem_printf("x=%s\r", token);
	for (size_t step = 1; step < 50; step += 24) {
		CLEANUP(buf_release) struct buf got = BUF_INIT;
		size_t events = typed_events(r, &s, line, step, &got);
		ok(strcmp(buf_cstr(&got), "x=<secret:token-github-1>\r") == 0,
		   "typed by %zu bytes: no event has it: %s", step, buf_cstr(&got));
		ok(events >= strlen(line) / step, "each piece has its event (%zu)", events);
	}
	CLEANUP(buf_release) struct buf got = BUF_INIT;
	typed_events(r, &s, "echo ghp_zQWB", 1, &got);
	is_str(buf_cstr(&got), "echo ghp_zQWB",
	       "a beginning without an end is recorded at the end");
}

static size_t count_seen(struct session *s)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event ev;
	size_t nr = 0;
	for (uint64_t seq = 1; seq <= session_head(s); seq++) {
		if (session_event(s, seq, &ev, &a, &err) < 0)
			exit(99);
		nr += strstr(ev.body ? ev.body : "", "\"redacted\":true") != NULL;
		if (ev.body && (strstr(ev.body, token + 4) || strstr(ev.body, "MIIEvQ")))
			exit(98);
	}
	return nr;
}

int main(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *s = NULL;
	CLEANUP(buf_release) struct buf tapped = BUF_INIT;
	help_init();
	ok(loop_new(&l, &err) == 0 &&
		   record_create(&r, l, help_dir(), "hide", NULL, NULL, NULL, &err) == 0,
	   "a session");
	record_on_output(r, gather, &tapped);
	record_hide_tokens(r);
	test_echo_at_once(r, &tapped); /* first: beginnings of known tokens wait, too */
	CLEANUP(free_ptr)
	char *line = mem_printf("x=%s and more\n", token),
	     *block = mem_printf("a\n%s\nb\n", key);
	is_int((int64_t)wrong_splits(r, &tapped, line, "x=<secret:token-github-1> and more\n"), 0,
	       "a token at every split");
	is_int((int64_t)wrong_splits(r, &tapped, block, "a\n<secret:token-private-key-2>\nb\n"), 0,
	       "a private key at every split");
	is_int((int64_t)wrong_splits(r, &tapped, "ghp_short sk-ant- $ ", "ghp_short sk-ant- $ "), 0,
	       "beginnings that are none stay");
	is_int((int64_t)wrong_splits(r, &tapped, "ends with sk-ant-api03-aK3p",
				     "ends with sk-ant-api03-aK3p"),
	       0, "also at the end of the action");
	is_int((int64_t)shown_at_once(r, &tapped, block),
	       (int64_t)strlen("a\n<secret:token-private-key-2>\nb\n"),
	       "text after a private key does not wait for more");
	help_loop = l;
	test_typed_echo(r, &tapped);
	test_endless_sequences(r, &tapped);
	test_typed_input(r);
	json_t *b = json_object();
	json_put_str(b, "text", line);
	bool done = false;
	record_barrier(r, record_append_json(r, 420, 0, 0, 0, 0, b), set_flag, &done);
	help_wait(l, &done);
	ok(session_open(&s, record_path(r), &err) == 0, "it is read: %s", err.text);
	ok(count_seen(s) > strlen(line), "each action has its event, and no event the value");
	session_close(&s);
	ok(record_close(&r, NULL, &err) == 0, "closed: %s", err.text);
	loop_free(l);
	return help_done();
}
