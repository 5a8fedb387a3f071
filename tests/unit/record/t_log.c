/* The write-ahead log of a session that runs for long: readers that are attached, and hold no transaction open, do not make it
 * grow. A log without a bound is a second copy of the session, and each read looks through it. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <unistd.h>

#include "record_help.h"

enum {
	TOTAL = 64 << 20,
	TOTAL_LONG = 1 << 30, /* with LONG */
	CHUNK = 64 << 10,
	ROUND = 4 << 20,
	BOUND = 32 << 20, /* record/store.c moves 4000 pages at the latest; a turn of RECORD_FLOOD may be on top */
};

static const char *file;
static atomic_bool over;
static uint64_t seen;

/* Follows the end, as a console does: each look is a transaction of its own. */
static void *follow(void *unused)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct session *s;
	struct feed *f;
	struct event ev;
	struct err err = ERR_INIT;
	(void)unused;
	if (session_open(&s, file, &err) < 0)
		return NULL;
	if (feed_new(&f, s, FEED_ALL, 0, &err) == 0) {
		for (;;) {
			bool last = atomic_load(&over);
			int got = feed_next(f, &ev, &a, 0, &err);
			arena_reset(&a);
			seen += got > 0;
			if (got <= 0 && last)
				break;
			if (got <= 0)
				usleep(2000);
		}
		feed_free(&f);
	}
	session_close(&s);
	return NULL;
}

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void settle(struct loop *l, struct record *r)
{
	bool done = false;
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
}

static void on_each(struct record *r, uint64_t action, int64_t *written)
{
	static char bytes[CHUNK];
	CLEANUP(json_release) json_t *body = json_object();
	for (size_t at = 0; at < CHUNK; at += 256) /* nothing that zstd makes smaller */
		if (getrandom(bytes + at, 256, 0) != 256)
			exit(99);
	record_output(r, action, STREAM_OUT, bytes, CHUNK);
	json_put_int(body, "n", *written);
	record_append_json(r, 420, action, 0, 0, action, json_incref(body));
	*written += CHUNK;
}

int main(void)
{
	const int64_t total = getenv("LONG") ? TOTAL_LONG : TOTAL;
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *idle = NULL;
	struct stat st = { 0 };
	pthread_t t;
	int64_t written = 0, most = 0;
	help_init();
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "long", NULL, NULL, NULL, &err) == 0, "a session: %s", err.text);
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(r)), *wal = mem_printf("%s-wal", path);
	file = path;
	settle(l, r);
	ok(session_open(&idle, path, &err) == 0 && session_head(idle) > 0, "a reader that has looked once and stays: %s", err.text);
	ok(pthread_create(&t, NULL, follow, NULL) == 0, "one that follows the end");
	uint64_t action = record_append_json(r, 100, 1, 0, 0, 0, json_object());
	while (written < total) {
		for (int64_t until = written + ROUND; written < until;)
			on_each(r, action, &written);
		settle(l, r);
		most = stat(wal, &st) == 0 && st.st_size > most ? st.st_size : most;
	}
	atomic_store(&over, true);
	pthread_join(t, NULL);
	bool there = stat(path, &st) == 0 && st.st_size > total / 4 * 3;
	ok(there, "%lld MiB were recorded: the file has %lld bytes", (long long)total >> 20, (long long)st.st_size);
	ok(most > 0 && most < BOUND, "its log never had more than %d MiB: %lld bytes", BOUND >> 20, (long long)most);
	is_int((int64_t)seen, (int64_t)record_head(r), "and the reader has seen every event");
	session_close(&idle);
	record_output_end(r, action);
	ok(record_close(&r, NULL, &err) == 0, "a clean end: %s", err.text);
	loop_free(l);
	return help_done();
}
