/* Redaction: the removed data is gone from the file, its WAL, and its index, and the file still verifies. */
#include <unistd.h>

#include "record_help.h"

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void sync_to(struct loop *l, struct record *r)
{
	bool done = false;
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
}

/* Counts @what in all files of the session. */
static int copies(const char *path, const char *what)
{
	static const char *const tail[] = { "", "-wal", "-shm" };
	int nr = 0;
	for (size_t i = 0; i < ARRAY_LEN(tail); i++) {
		struct err err;
		CLEANUP(free_ptr) char *name = mem_printf("%s%s", path, tail[i]);
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		if (access(name, F_OK) < 0 || file_read(name, &b, 256 << 20, &err) < 0)
			continue;
		for (const char *p = b.data; (p = memmem(p, (size_t)(b.data + b.len - p), what, strlen(what))); p++)
			nr++;
	}
	return nr;
}

static void wait_index(struct loop *l, const char *path, const char *word)
{
	struct err err;
	int64_t until = clock_mono_us() + 20000000;
	for (bool there = false; !there && clock_mono_us() < until;) {
		struct session *s = NULL;
		uint64_t seq[4];
		size_t nr = 0;
		loop_turn(l, 50);
		if (session_open(&s, path, &err) < 0)
			continue;
		there = session_search(s, word, 0, 4, seq, &nr, &err) == 0 && nr > 0;
		session_close(&s);
	}
}

int main(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *s = NULL;
	help_init();
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "red", NULL, NULL, NULL, &err) == 0, "a session");
	char *path = mem_strdup(record_path(r));
	json_t *b = json_object();
	json_put_str(b, "text", "the password is Zwetschgenkuchen, said somebody");
	uint64_t body = record_append_json(r, 420, 0, 0, 0, 0, b);
	uint64_t action = 77;
	record_output(r, action, STREAM_OUT, "out Mirabellenkompott out\n", 26); /* short: stored as it is */
	record_output_end(r, action);
	struct objects *o = objects_new();
	struct object_id blob;
	objects_add(o, OBJECT_BLOB, "obj Reineclaude obj", 19, &blob);
	struct event ev = { .kind = 210, .body = "{}", .len = 2 };
	record_objects(r, o, &ev);
	struct hash message;
	record_message(r, "{\"m\":\"Quittengelee\"}", 20, &message);
	for (int i = 0; i < 200; i++) {
		json_t *n = json_object();
		json_put_int(n, "n", i);
		record_append_json(r, 420, 0, 0, 0, 0, n);
	}
	sync_to(l, r);
	wait_index(l, path, "Zwetschgenkuchen");
	for (int i = 0; i < 30; i++) /* the index takes its turn after a while of silence */
		loop_turn(l, 20);
	ok(copies(path, "Zwetschgenkuchen") && copies(path, "Mirabellenkompott") && copies(path, "Reineclaude") &&
		   copies(path, "Quittengelee"), "everything is there before");
	ok(record_redact(r, "event", 9999, NULL, "me", "why", NULL, NULL, &err) < 0 && err.code == ERR_NOENT, "no such: %s",
	   err.text);
	ok(record_redact(r, "thing", 1, NULL, "me", "why", NULL, NULL, &err) < 0, "no such thing: %s", err.text);
	ok(record_redact(r, "event", 1, NULL, "me", "why", NULL, NULL, &err) < 0, "not the first: %s", err.text);
	bool done[4] = { false };
	ok(record_redact(r, "event", body, NULL, "uid 0", "a password", set_flag, &done[0], &err) == 0, "event: %s", err.text);
	ok(record_redact(r, "segment", 1, NULL, "uid 0", "a password", set_flag, &done[1], &err) == 0, "segment");
	ok(record_redact(r, "object", 0, &blob, "uid 0", "a password", set_flag, &done[2], &err) == 0, "object");
	ok(record_redact(r, "message", 1, NULL, "uid 0", "a password", set_flag, &done[3], &err) == 0, "message");
	for (int i = 0; i < 4; i++)
		help_wait(l, &done[i]);
	ok(done[0] && done[1] && done[2] && done[3], "each callback reports the end");
	is_int(copies(path, "Zwetschgenkuchen"), 0, "no copy of the body");
	is_int(copies(path, "wetschge"), 0, "nor of a part of it");
	is_int(copies(path, "Mirabellenkompott"), 0, "no copy of the segment");
	is_int(copies(path, "Reineclaude"), 0, "no copy of the object");
	is_int(copies(path, "Quittengelee"), 0, "no copy of the message");
	is_int(copies(path, "zwe"), 0, "no trigram in the index");

	ok(session_open(&s, path, &err) == 0, "opened");
	struct arena arena = ARENA_INIT;
	struct event got;
	ok(session_event(s, body, &got, &arena, &err) == 0 && !got.body && got.kind == 420, "the event is there without a body");
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	err = ERR_INIT;
	ok(session_output(s, action, 1, 0, 100, &out, &err) == 0 && err.code == ERR_NONE, "output, without an error");
	is_str(buf_cstr(&out), "<redacted 26 bytes>       ", "shows the redaction");
	enum object_type type;
	ok(session_object(s, &blob, &type, &out, &err) < 0 && err.code == ERR_CANCELLED, "object: %s", err.text);
	ok(session_message(s, &message, &out, &err) < 0 && err.code == ERR_CANCELLED, "message: %s", err.text);
	uint64_t seq[4];
	size_t nr = 9;
	ok(session_search(s, "Mirabellen", 0, 4, seq, &nr, &err) == 0 && nr == 0, "not found after the redaction");
	session_close(&s);
	ok(record_close(&r, NULL, &err) == 0, "closed: %s", err.text);
	is_int(copies(path, "Zwetschgenkuchen"), 0, "still none");
	ok(session_open(&s, path, &err) == 0, "opened");
	struct verify_totals t = help_verify(s, 0, "it verifies");
	is_int((int64_t)t.redacted, 4, "four bodies redacted");
	session_close(&s);
	arena_release(&arena);
	free(path);
	loop_free(l);
	return help_done();
}
