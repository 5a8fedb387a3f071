/* Segments, secrets, objects, and messages: each is read back as written, without secrets. */
#include <git2.h>
#include <unistd.h>

#include "record/read/odb.h"
#include "record_help.h"

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void put(struct record *r, uint64_t action, enum record_stream s, const char *text)
{
	record_output(r, action, s, text, strlen(text));
}

static uint64_t request(struct record *r)
{
	json_t *b = json_object();
	json_put_str(b, "kind", "exec");
	return record_append_json(r, 100, 1, 5, 6, 0, b);
}

static void end(struct record *r, uint64_t action)
{
	record_output_end(r, action);
	json_t *b = json_object();
	json_put_str(b, "end", "ok");
	record_append_json(r, 105, action, 5, 6, action, b);
}

static void sync_to(struct loop *l, struct record *r)
{
	bool done = false;
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
}

static void on_clean(void *self, uint64_t action, enum record_stream s, const void *bytes, size_t len)
{
	(void)action;
	(void)s;
	buf_append(self, bytes, len);
}

struct seen {
	struct buf text;
};
static bool on_each(void *self, int stream, int64_t ts_us, const void *bytes, size_t len)
{
	struct seen *seen = self;
	(void)ts_us;
	buf_printf(&seen->text, "%d:%.*s|", stream, (int)len, (const char *)bytes);
	return true;
}

int main(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *s = NULL;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	CLEANUP(buf_release) struct buf tapped = BUF_INIT;
	help_init();
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "out", NULL, NULL, NULL, &err) == 0, "a session");
	record_on_output(r, on_clean, &tapped);
	ok(record_secret(r, "short", "12345", 5, &err) < 0, "a short secret is refused: %s", err.text);
	ok(record_secret(r, "TOKEN", "sk-live-0123456789", 18, &err) == 0, "a secret");
	ok(record_secret(r, "QUOTE", "quo\"te\\pass\n", 12, &err) == 0, "a secret that JSON escapes");
	char *path = mem_strdup(record_path(r));

	/* order over both streams */
	uint64_t a = request(r);
	put(r, a, STREAM_OUT, "one ");
	put(r, a, STREAM_ERR, "two ");
	put(r, a, STREAM_OUT, "three");
	end(r, a);
	/* the secret in two chunks, in three, and as the last bytes of a stream that only began like it */
	uint64_t b = request(r);
	put(r, b, STREAM_OUT, "x sk-li");
	put(r, b, STREAM_OUT, "ve-0123456789 y sk");
	put(r, b, STREAM_OUT, "-live-01");
	put(r, b, STREAM_OUT, "23456789 z sk-liv");
	end(r, b);
	/* byte by byte */
	uint64_t c = request(r);
	for (const char *p = "<sk-live-0123456789>sk-sk-live-0123456789"; *p; p++)
		record_output(r, c, STREAM_ERR, p, 1);
	end(r, c);
	/* in bodies: as it is, escaped, behind base64 */
	json_t *body = json_object();
	json_put_str(body, "plain", "a sk-live-0123456789 b");
	json_put_str(body, "quoted", "a quo\"te\\pass\n b");
	json_put_bytes(body, "bytes", "\xff sk-live-0123456789 \xff", 22);
	uint64_t d = record_append_json(r, 420, 0, 0, 0, 0, body);
	/* a message, twice */
	struct hash m, again;
	record_message(r, "{\"role\":\"user\",\"text\":\"sk-live-0123456789\"}", 43, &m);
	record_message(r, "{\"role\":\"user\",\"text\":\"sk-live-0123456789\"}", 43, &again);
	ok(hash_eq(&m, &again), "a message is pooled");
	/* big and not compressible, over many segments */
	uint64_t big = request(r);
	size_t big_len = 300000;
	char *noise = mem_alloc(big_len);
	random_bytes(noise, big_len);
	for (size_t i = 0; i < big_len; i++) /* no letters: the searches below know what they must find */
		noise[i] = (char)(noise[i] | 0x80);
	for (size_t i = 0; i < big_len; i += 7000)
		record_output(r, big, STREAM_OUT, noise + i, big_len - i < 7000 ? big_len - i : 7000);
	record_output_gap(r, big, STREAM_OUT, 1000, "flood");
	put(r, big, STREAM_OUT, "after");
	end(r, big);
	/* objects */
	struct objects *o = objects_new();
	struct object_id blob, tree, same;
	objects_add(o, OBJECT_BLOB, "hello\n", 6, &blob);
	CLEANUP(buf_release) struct buf entry = BUF_INIT;
	buf_append(&entry, "100644 .git\0", 12); /* a name that libgit2's tree builder refuses */
	buf_append(&entry, blob.b, 20);
	objects_add(o, OBJECT_TREE, entry.data, entry.len, &tree);
	objects_add(o, OBJECT_BLOB, "hello\n", 6, &same);
	char hex[41];
	object_hex(&blob, hex);
	is_str(hex, "ce013625030ba8dba906f756967f9e9ca394464a", "git's name of a blob");
	ok(!memcmp(&blob, &same, sizeof(blob)), "the same blob has the same name");
	struct event ev = { .kind = 420, .body = "{\"x\":1}", .len = 7 };
	uint64_t added = record_objects(r, o, &ev);
	sync_to(l, r);

	ok(session_open(&s, path, &err) == 0, "opened while it is live");
	struct seen seen = { BUF_INIT };
	ok(session_output_each(s, a, on_each, &seen, &err) == 0, "each");
	is_str(buf_cstr(&seen.text), "1:one |2:two |1:three|", "in the order in which it came");
	buf_release(&seen.text);
	ok(session_output(s, a, 1, 2, 4, &out, &err) == 0, "a part");
	is_str(buf_cstr(&out), "e th", "from the middle");
	is_int((int64_t)session_output_size(s, a, 1), 9, "size");
	buf_reset(&out);
	ok(session_output(s, b, 1, 0, 1000, &out, &err) == 0, "b");
	is_str(buf_cstr(&out), "x <secret:TOKEN> y <secret:TOKEN> z sk-liv", "a secret over chunk boundaries");
	buf_reset(&out);
	ok(session_output(s, c, 2, 0, 1000, &out, &err) == 0, "c");
	is_str(buf_cstr(&out), "<<secret:TOKEN>>sk-<secret:TOKEN>", "byte by byte");
	ok(strstr(tapped.data, "x <secret:TOKEN> y") && !memmem(tapped.data, tapped.len, "sk-live-0123456789", 18),
	   "the tap sees what is kept");
	struct arena arena = ARENA_INIT;
	struct event got;
	ok(session_event(s, d, &got, &arena, &err) == 0, "the body");
	CLEANUP(json_release) json_t *j = json_parse(got.body, got.len, "body", &err);
	ok(j != NULL, "is still JSON");
	is_str(json_str(j, "plain", ""), "a <secret:TOKEN> b", "plain");
	is_str(json_str(j, "quoted", ""), "a <secret:QUOTE> b", "escaped");
	buf_reset(&out);
	ok(json_get_bytes(json_object_get(j, "bytes"), &out) && memmem(out.data, out.len, "\xff <secret:TOKEN> \xff", 18),
	   "behind base64");
	ok(session_message(s, &m, &out, &err) == 0, "the message: %s", err.text);
	is_str(buf_cstr(&out), "{\"role\":\"user\",\"text\":\"<secret:TOKEN>\"}", "is kept, cleaned");
	buf_reset(&out);
	ok(session_output(s, big, 1, 0, SIZE_MAX, &out, &err) == 0 && out.len == big_len + 5 &&
		   !memcmp(out.data, noise, big_len), "300,000 bytes come back intact");
	is_int((int64_t)session_output_size(s, big, 1), (int64_t)big_len + 1005, "offsets continue after the gap");
	ok(session_event(s, added, &got, &arena, &err) == 0, "the objects' event");
	CLEANUP(json_release) json_t *oj = json_parse(got.body, got.len, "body", &err);
	is_int(json_int(oj, "objects", 0), 2, "two were added");
	is_int((int64_t)strlen(json_str(oj, "objects_hash", "")), 64, "their hash");
	enum object_type type;
	ok(session_object(s, &tree, &type, &out, &err) == 0 && type == OBJECT_TREE && out.len == entry.len, "the tree");
	is_int(session_object_size(s, &tree), (int64_t)entry.len, "its size alone");
	is_int(session_object_size(s, &(struct object_id){ { 1 } }), -1, "no size where there is none");
	ok(session_object(s, &(struct object_id){ { 1 } }, &type, &out, &err) < 0 && err.code == ERR_NOENT, "none: %s", err.text);
	is_int(session_event(s, a + 1, &got, &arena, &err), 0, "an event after the request");
	struct feed *f;
	ok(feed_new(&f, s, FEED_BOX, 6, &err) == 0, "a feed of the box");
	int outputs = 0;
	while (feed_next(f, &got, &arena, 0, &err) == 1)
		outputs += got.kind == EV_OUTPUT;
	feed_free(&f);
	ok(outputs >= 9, "output belongs to the box of its action (%d)", outputs);

	git_libgit2_init();
	git_odb *odb = NULL;
	git_odb_object *obj = NULL;
	git_oid oid;
	memcpy(oid.id, blob.b, 20);
	ok(odb_open(&odb, s, &err) == 0 && git_odb_exists(odb, &oid), "libgit2 sees the blob");
	ok(git_odb_read(&obj, odb, &oid) == 0 && git_odb_object_size(obj) == 6 &&
		   !memcmp(git_odb_object_data(obj), "hello\n", 6), "and reads it");
	git_odb_object_free(obj);
	oid.id[0] ^= 1;
	ok(!git_odb_exists(odb, &oid), "and nothing else");
	git_odb_free(odb);
	git_libgit2_shutdown();
	session_close(&s);

	ok(record_close(&r, NULL, &err) == 0, "closed: %s", err.text);
	CLEANUP(buf_release) struct buf raw = BUF_INIT;
	ok(file_read(path, &raw, 64 << 20, &err) == 0, "the whole file");
	ok(!memmem(raw.data, raw.len, "sk-live-0123456789", 18), "holds the secret nowhere");
	ok(session_open(&s, path, &err) == 0, "opened");
	struct verify_totals t = help_verify(s, 0, "it verifies");
	ok(t.segments >= 9 && t.objects == 2 && t.messages == 1, "everything was looked at");
	/* search: words, phrases, inside of words, short ones; behind the first event, whose id is chance */
	uint64_t seqs[20];
	size_t nr = 99;
	static const struct {
		const char *match;
		size_t want;
	} cases[] = { { "three", 1 }, { "THREE one", 1 }, { "\"one three\"", 1 }, { "hre", 1 }, { "nosuchword", 0 }, { "tw", 1 },
		      { "thr*", 1 }, { "", 0 } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ok(session_search(s, cases[i].match, 1, 20, seqs, &nr, &err) == 0, "search: %s", err.text);
		is_int((int64_t)nr, (int64_t)cases[i].want, cases[i].match);
	}
	session_close(&s);
	arena_release(&arena);
	free(noise);
	free(path);
	loop_free(l);
	return help_done();
}
