#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record_help.h"

static uint64_t told_head;
static void on_head(void *self, uint64_t seq)
{
	(void)self;
	told_head = seq;
}

static void set_flag(void *self)
{
	*(bool *)self = true;
}

/* An event that fills a turn goes to the writer inside record_append. The writer may write and free it before
 * record_append returns, so its number must not be read after that. Only the address sanitizer sees such a read. */
static void test_large(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	enum { LARGE = RECORD_FLOOD / 8 + 1024, NR = 12 };
	static char text[LARGE];
	uint64_t wrong = 0, last = 0;
	memset(text, 'x', sizeof(text) - 1);
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "large", NULL, NULL, NULL, &err) == 0, "a session: %s", err.text);
	for (int i = 0; i < NR; i++) {
		json_t *b = json_object();
		json_put_str(b, "text", text);
		last = record_append_json(r, 420, 0, 0, 0, 0, b);
		wrong += last != record_head(r);
	}
	is_int(wrong, 0, "events that fill a turn each have their number");
	is_int(last, 1 + NR, "one after the other");
	ok(record_close(&r, NULL, &err) == 0, "closed: %s", err.text);
	loop_free(l);
}

static void test_life(void)
{
	struct err err = ERR_INIT;
	struct loop *l;
	struct record *r;
	struct session *s = NULL;
	struct record_ops ops = { .on_head = on_head };
	ok(loop_new(&l, &err) == 0, "a loop");
	json_t *start = json_object();
	json_put_str(start, "script", "fix.lua");
	ok(record_create(&r, l, help_dir(), "fix it / now", start, &ops, NULL, &err) == 0, "a session is made: %s", err.text);
	json_decref(start);
	struct stat st;
	ok(stat(record_path(r), &st) == 0 && (st.st_mode & 0777) == 0600, "its file is 0600");
	ok(strstr(record_path(r), "-fix-it-now-") && strstr(record_path(r), ".glass"), "its name says what it is: %s",
	   record_path(r));
	is_int(record_head(r), 1, "session.start is event 1");

	struct event ev = { .cause = 1, .agent = 7, .kind = 420, .body = "{\"text\":\"hello\"}", .len = 16 };
	uint64_t a = record_append(r, &ev);
	is_int(a, 2, "the seq is given at once");
	bool done = false, early;
	record_barrier(r, a, set_flag, &done);
	early = done;
	help_wait(l, &done);
	ok(!early && done, "a barrier runs later, on the loop");
	ok(told_head >= a || (loop_turn(l, 50), told_head >= a), "the committed head is reported");
	is_int(record_committed(r), (int64_t)told_head, "committed follows");

	ok(session_open(&s, record_path(r), &err) == 0, "a reader opens the live file: %s", err.text);
	ok(session_live(s), "it is live");
	is_str(session_id(s), record_id(r), "the id");
	struct arena arena = ARENA_INIT;
	struct event got;
	ok(session_event(s, a, &got, &arena, &err) == 0, "the event is there");
	is_str(got.body, "{\"text\":\"hello\"}", "its body");
	is_int(got.agent, 7, "its agent");
	is_int(got.cause, 1, "its cause");
	ok(session_event(s, 99, &got, &arena, &err) < 0 && err.code == ERR_NOENT, "no event 99: %s", err.text);

	struct feed *f;
	ok(feed_new(&f, s, FEED_ALL, 0, &err) == 0, "a feed");
	is_int(feed_next(f, &got, &arena, 0, &err), 1, "first");
	is_int(got.seq, 1, "is 1");
	is_int(feed_next(f, &got, &arena, 1, &err), 0, "never past the limit");
	is_int(feed_next(f, &got, &arena, 0, &err), 1, "second");
	is_int(feed_next(f, &got, &arena, 0, &err), 0, "none now");
	ev.body = "{}";
	ev.len = 2;
	done = false;
	record_barrier(r, record_append(r, &ev), set_flag, &done);
	help_wait(l, &done);
	is_int(feed_next(f, &got, &arena, 0, &err), 1, "the cursor follows the end");
	is_int(got.seq, 3, "is 3");
	is_int(feed_prev(f, &got, &arena, &err), 1, "backwards");
	is_int(got.seq, 2, "is 2");
	feed_seek(f, UINT64_MAX);
	is_int(feed_next(f, &got, &arena, 0, &err), 0, "nothing after the end");
	feed_free(&f);
	ok(feed_new(&f, s, FEED_AGENT, 7, &err) == 0, "a feed of one agent");
	is_int(feed_next(f, &got, &arena, 0, &err), 1, "its first");
	is_int(got.seq, 2, "is 2");
	feed_free(&f);

	char *path = mem_strdup(record_path(r));
	char *wal = mem_printf("%s-wal", path), *lease = mem_printf("%s-lease", path);
	ok(record_close(&r, NULL, &err) == 0, "a clean end: %s", err.text);
	ok(access(wal, F_OK) < 0 && access(lease, F_OK) < 0, "one file is left, although a reader has it open");
	is_int(session_head(s), 4, "the reader sees the end");
	session_close(&s);
	ok(session_open(&s, path, &err) == 0, "it opens again");
	ok(!session_live(s), "it is not live");
	is_int(session_head(s), 4, "session.end is the last one");
	help_verify(s, 0, "the file verifies");
	session_close(&s);
	arena_release(&arena);
	loop_free(l);
	free(path);
	free(wal);
	free(lease);
}

static void test_many(void)
{
	struct err err = ERR_INIT;
	struct loop *l;
	struct record *r;
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "many", NULL, NULL, NULL, &err) == 0, "a session");
	bool done = false;
	for (int i = 0; i < 5000; i++) {
		json_t *b = json_object();
		json_put_int(b, "n", i);
		record_append_json(r, 420, 1, (uint64_t)(1 + i % 3), 0, 0, b);
		if (i % 50 == 0)
			loop_turn(l, 0);
	}
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	char *path = mem_strdup(record_path(r));
	ok(record_close(&r, NULL, &err) == 0, "closed: %s", err.text);
	struct session *s;
	ok(session_open(&s, path, &err) == 0, "opened");
	struct verify_totals t = help_verify(s, 0, "5,000 events verify");
	is_int(t.events, 5002, "all of them");
	ok(t.checkpoints >= 1, "signed");
	session_close(&s);
	loop_free(l);
	free(path);
}

/* Events that follow each other are written several at a time: whatever comes between them keeps its place. */
static void test_rows(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *s = NULL;
	struct arena arena = ARENA_INIT;
	struct event got;
	struct hash id;
	uint64_t wrong = 0, nr = 0;
	bool done = false;
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "rows", NULL, NULL, NULL, &err) == 0, "a session: %s", err.text);
	for (uint64_t run = 1; run <= 70; run++) {
		for (uint64_t i = 0; i < run; i++, nr++) {
			json_t *b = json_object();
			json_put_int(b, "n", (int64_t)nr);
			record_append_json(r, 420, 1, 2 + nr % 5, nr % 7, nr % 3, b);
		}
		if (run % 3 == 0)
			record_message(r, &run, sizeof(run), &id);
		else if (run % 3 == 1)
			record_output(r, 5 + run / 9, STREAM_OUT, "piece\n", 6);
		if (run % 9 == 8)
			record_output_end(r, 5 + run / 9);
		if (run % 5 == 0)
			loop_turn(l, 0);
	}
	record_output_end(r, 5 + 70 / 9);
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(r));
	ok(record_close(&r, NULL, &err) == 0 && session_open(&s, path, &err) == 0, "closed and opened: %s", err.text);
	struct verify_totals t = help_verify(s, 0, "runs of 1 to 70 events with output and messages between them verify");
	nr = 0;
	for (uint64_t seq = 1; seq <= t.events; seq++) {
		if (session_event(s, seq, &got, &arena, &err) < 0 || got.kind != 420)
			continue;
		CLEANUP(free_ptr) char *body = mem_printf("{\"n\":%" PRIu64 "}", nr);
		wrong += got.cause != 1 || got.agent != 2 + nr % 5 || got.box != nr % 7 || got.action != nr % 3 || strcmp(got.body, body);
		nr++;
	}
	is_int(nr, 70 * 71 / 2, "all of them are there");
	is_int(wrong, 0, "each as it was, in its order");
	arena_release(&arena);
	session_close(&s);
	loop_free(l);
}

int main(void)
{
	help_init();
	test_life();
	test_large();
	test_many();
	test_rows();
	return help_done();
}
