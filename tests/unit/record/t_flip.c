/* Turns one bit, or cuts the end off, anywhere in a session file or in the write-ahead log of a killed session. Verify
 * reports the damage and its place. Tries some hundreds of places (LONG=1: 10,000 bits, 1,000 ends). */
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/buf.h"
#include "record/read/lease.h"
#include "record/read/session.h"
#include "record_help.h"

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void add(struct record *r, uint16_t kind, uint64_t action, const char *field, const char *value)
{
	json_t *b = json_object();
	json_put_str(b, field, value);
	record_append_json(r, kind, 2, 2, 3, action, b);
}

static void act(struct record *r, struct loop *l, int i)
{
	char text[80];
	struct hash m;
	struct object_id id;
	bool done = false;
	uint64_t a = record_head(r) + 1;
	add(r, 100, 0, "kind", "exec");
	add(r, 101, a, "verdict", "allow");
	add(r, 104, a, "x", "y");
	int n = snprintf(text, sizeof(text), "line %d of the output, %x, said again and again\n", i, (unsigned)i * 2654435761U);
	for (int k = 0; k < 30; k++)
		record_output(r, a, STREAM_OUT, text, (size_t)n);
	record_output_end(r, a);
	add(r, 105, a, "end", "ok");
	record_message(r, text, (size_t)n, &m);
	struct objects *o = objects_new();
	objects_add(o, OBJECT_BLOB, text, (size_t)n, &id);
	struct event ev = { .kind = 210, .action = a, .box = 3, .body = "{}", .len = 2 };
	record_objects(r, o, &ev);
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
}

/* A session of @nr actions, its event 20 redacted if @end; not ended but left as by a kill if not. Owned. */
static char *make(const char *name, int nr, bool end)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	bool gone = false;
	if (!ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), name, NULL, NULL, NULL, &err) == 0, "%s: begun %s", name, err.text))
		exit(1);
	char *path = mem_strdup(record_path(r));
	for (int i = 0; i < nr; i++)
		act(r, l, i);
	if (end) {
		ok(record_redact(r, "event", 20, NULL, "ann", "a test", set_flag, &gone, &err) == 0, "redacted");
		help_wait(l, &gone);
		ok(record_close(&r, NULL, &err) == 0, "%s: ended %s", name, err.text);
	} else {
		record_abandon(&r);
	}
	loop_free(l);
	return path;
}

/* --- one damage --------------------------------------------------------------------------------------------------- */

struct told {
	bool failed, placed;
	char text[400];
};

/* Does it say where? */
static bool names_a_place(const char *text)
{
	static const char *const word[] = { "page ", "byte", "event ", "frame ", "is empty" };
	for (size_t i = 0; i < ARRAY_LEN(word); i++)
		if (strstr(text, word[i]))
			return true;
	return false;
}

static void on_report(void *self, const char *name, enum verify_result result, const char *text, uint64_t seq)
{
	struct told *t = self;
	if (result != VERIFY_FAIL)
		return;
	if (!t->text[0] || (!t->placed && names_a_place(text)))
		snprintf(t->text, sizeof(t->text), "%s: %s", name, text);
	t->failed = true;
	t->placed |= seq || names_a_place(text);
}

static struct told look(const char *path)
{
	struct told t = { 0 };
	struct err err = ERR_INIT;
	struct session *s = NULL;
	struct verify_totals totals;
	if (session_open(&s, path, &err) < 0 || verify_session(s, NULL, on_report, &t, &totals, &err) < 0) {
		t.failed = true;
		t.placed |= names_a_place(err.text);
		snprintf(t.text + strlen(t.text), sizeof(t.text) - strlen(t.text), "%s%s", t.text[0] ? "; " : "", err.text);
	}
	session_close(&s);
	return t;
}

static uint64_t state = 88172645463325252ULL;

static uint64_t any(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

struct score {
	unsigned nr, silent, placeless;
};

static void judge(struct score *s, const struct told *t, const char *what, uint64_t at, unsigned bit)
{
	s->nr++;
	if (t->failed && t->placed)
		return;
	s->silent += !t->failed;
	s->placeless += t->failed;
	if (s->silent + s->placeless <= 8)
		printf("#   %s at %" PRIu64 " bit %u: %s\n", what, at, bit, t->failed ? t->text : "no report");
}

/* Turns one bit of @file, verifies the session at @path, and turns the bit back. */
static void flip(const char *path, const char *file, uint64_t at, unsigned bit, struct score *s)
{
	uint8_t byte = 0;
	int fd = open(file, O_RDWR | O_CLOEXEC);
	bool good = pread(fd, &byte, 1, (off_t)at) == 1;
	byte ^= (uint8_t)(1U << bit);
	good = good && pwrite(fd, &byte, 1, (off_t)at) == 1;
	close(fd);
	struct told t = look(path);
	judge(s, &t, file, at, bit);
	byte ^= (uint8_t)(1U << bit);
	fd = open(file, O_RDWR | O_CLOEXEC);
	if (!good || pwrite(fd, &byte, 1, (off_t)at) != 1)
		ok(false, "byte %" PRIu64 " of %s is turned and turned back", at, file);
	close(fd);
}

static void cut(const char *path, const char *file, uint64_t at, const struct buf *whole, struct score *s)
{
	if (truncate(file, (off_t)at) < 0)
		ok(false, "%s is cut", file);
	struct told t = look(path);
	judge(s, &t, "cut", at, 0);
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	if (pwrite(fd, whole->data + at, whole->len - at, (off_t)at) != (ssize_t)(whole->len - at))
		ok(false, "%s is whole again", file);
	close(fd);
}

/* Within the first @len bytes of @file; 0 = all. */
static void damage(const char *path, const char *file, uint64_t len, unsigned flips, unsigned cuts, const char *what)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf whole = BUF_INIT;
	struct score bits = { 0 }, ends = { 0 };
	bool read = file_read(file, &whole, 64 << 20, &err) == 0 && whole.len > 0;
	if (!ok(read, "%s: %zu bytes %s", what, whole.len, err.text))
		return;
	len = len ? len : whole.len;
	for (unsigned i = 0; i < flips; i++)
		flip(path, file, any(len), (unsigned)any(8), &bits);
	for (unsigned i = 0; i < cuts; i++)
		cut(path, file, any(len), &whole, &ends);
	ok(!bits.silent && !bits.placeless, "%s: %u bits turned: %u not told, %u without a place", what, bits.nr, bits.silent, bits.placeless);
	if (cuts)
		ok(!ends.silent && !ends.placeless, "%s: %u times cut off: %u not told, %u without a place", what, ends.nr, ends.silent, ends.placeless);
}

static bool turn(int fd, uint64_t at, unsigned bit)
{
	uint8_t byte = 0;
	bool good = pread(fd, &byte, 1, (off_t)at) == 1;
	byte ^= (uint8_t)(1U << bit);
	return good && pwrite(fd, &byte, 1, (off_t)at) == 1;
}

/* Two bits of one frame of the log, of which nobody knows how far it was synced: not a write that was under way. */
static void two_bits(const char *path, const char *file, uint64_t len)
{
	enum { LOG_HEAD = 32, ONE_FRAME = 24 + 4096, TIMES = 40 };
	unsigned told = 0;
	int fd = open(file, O_RDWR | O_CLOEXEC);
	bool good = fd >= 0;
	for (int i = 0; i < TIMES; i++) {
		uint64_t frame = LOG_HEAD + any((len - LOG_HEAD) / ONE_FRAME) * ONE_FRAME;
		uint64_t at[2] = { frame + any(ONE_FRAME), frame + any(ONE_FRAME / 2) };
		unsigned bit[2] = { (unsigned)any(8), (unsigned)any(8) };
		if (at[0] == at[1])
			at[1]++;
		good = good && turn(fd, at[0], bit[0]) && turn(fd, at[1], bit[1]);
		struct told t = look(path);
		if (!strncmp(t.text, "bytes: ", 7) && strstr(t.text, "a bit of byte"))
			told++;
		else
			printf("#   bytes %" PRIu64 " and %" PRIu64 ": %s\n", at[0], at[1], t.text);
		good = good && turn(fd, at[0], bit[0]) && turn(fd, at[1], bit[1]);
	}
	close(fd);
	ok(good && told == TIMES, "two bits of a frame turned: %u of %d reported as such", told, TIMES);
}

/* --- harmless changes --------------------------------------------------------------------------------------------- */

static void whole(const char *path, const char *what, uint64_t redacted)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	if (!ok(session_open(&s, path, &err) == 0, "%s: opens %s", what, err.text))
		return;
	struct verify_totals t = help_verify(s, 0, what);
	is_int((int64_t)t.redacted, (int64_t)redacted, what);
	session_close(&s);
}

/* Another program without our sums reads a killed session. This raises no alarm, and the next end of the session covers
 * each byte again. */
static void test_another_reader(void)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = make("looked-at", 12, false), *wal = mem_printf("%s-wal", path);
	sqlite3 *db;
	ok(sqlite3_open(path, &db) == SQLITE_OK && sqlite3_exec(db, "SELECT count(*) FROM event", NULL, NULL, NULL) == SQLITE_OK &&
	   sqlite3_close(db) == SQLITE_OK, "read with another program");
	ok(access(wal, F_OK) < 0, "which empties the log and takes it away");
	whole(path, "read by another program", 0);
	struct loop *l = NULL;
	struct record *r = NULL;
	ok(loop_new(&l, &err) == 0 && record_resume(&r, l, path, NULL, NULL, &err) == 0, "resumes %s", err.text);
	act(r, l, 99);
	ok(record_close(&r, NULL, &err) == 0, "ends %s", err.text);
	loop_free(l);
	whole(path, "ended after that", 0);
	damage(path, path, 0, 40, 5, "ended after that");
}

/* The same while the session runs: another program makes its last checkpoint. */
static void test_checkpoint_of_others(const char *mode, bool goes_on)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *s = NULL;
	if (!ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), mode, NULL, NULL, NULL, &err) == 0, "%s: begun %s", mode, err.text))
		return;
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(r)), *sql = mem_printf("PRAGMA wal_checkpoint(%s)", mode);
	for (int i = 0; i < 24; i++) {
		sqlite3 *db = NULL;
		act(r, l, i);
		if (i % 8 != 5)
			continue;
		ok(sqlite3_open(path, &db) == SQLITE_OK && sqlite3_exec(db, "SELECT count(*) FROM event", NULL, NULL, NULL) == SQLITE_OK &&
		   sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK && sqlite3_close(db) == SQLITE_OK, "%s: another program empties the log", mode);
		ok(session_open(&s, path, &err) == 0, "%s: opens", mode);
		help_verify(s, 0, mode);
		session_close(&s);
	}
	if (goes_on) {
		ok(record_close(&r, NULL, &err) == 0, "%s: ended %s", mode, err.text);
	} else {
		record_abandon(&r);
		whole(path, mode, 0);
		ok(record_resume(&r, l, path, NULL, NULL, &err) == 0, "%s: resumes %s", mode, err.text);
		act(r, l, 99);
		ok(record_close(&r, NULL, &err) == 0, "%s: ends %s", mode, err.text);
	}
	loop_free(l);
	whole(path, mode, 0);
	damage(path, path, 0, 30, 5, mode);
}

int main(void)
{
	bool all = getenv("LONG") != NULL;
	unsigned few = getenv("SANDGLASS_SLOW") ? 20 : 60;
	help_init();
	CLEANUP(free_ptr) char *ended = make("ended", 40, true), *killed = make("killed", 12, false);
	CLEANUP(free_ptr) char *wal = mem_printf("%s-wal", killed);
	struct lease_note newest = { 0 }; /* what is behind it counts for nothing */
	ok(lease_noted(killed, &newest) && newest.end, "where its newest frame ends");
	whole(ended, "ended, one event redacted", 1);
	whole(killed, "killed", 0);
	damage(ended, ended, 0, all ? 5000 : few * 3, all ? 500 : few, "an ended session");
	damage(killed, killed, 0, all ? 1500 : few, all ? 100 : few / 3, "a killed session");
	damage(killed, wal, newest.end, all ? 3500 : few * 2, all ? 400 : few, "its write-ahead log");
	whole(ended, "ended, as before", 1);
	whole(killed, "killed, as before", 0);
	CLEANUP(free_ptr) char *lease = mem_printf("%s-lease", killed);
	ok(unlink(lease) == 0, "a copy without what was noted beside it");
	damage(killed, wal, newest.end, all ? 3500 : few * 2, 0, "the log of such a copy");
	two_bits(killed, wal, newest.end);
	test_another_reader();
	test_checkpoint_of_others("PASSIVE", true);
	test_checkpoint_of_others("TRUNCATE", true);
	test_checkpoint_of_others("RESTART", false);
	return help_done();
}
