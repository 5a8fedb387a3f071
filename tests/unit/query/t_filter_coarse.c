/* In a long session the index is asked for less than it knows. Nothing is lost by that, nothing is found that does
 * not match, and where too much would have to be read it is asked for all. */
#include "tap.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "query/filter.h"
#include "record/deferred_index.h"
#include "record/read/session.h"
#include "record/record.h"

enum { EVENTS = 200000, EVERY = 40000, DECOY = 20, DECOYS = EVENTS / 2 / DECOY, ROWS = 2 * EVENTS };

static struct record *R;

static void say(const char *text)
{
	CLEANUP(free_ptr) char *body = mem_printf("{\"text\":\"%s\"}", text);
	const struct event ev = { .cause = 1, .kind = EV_NOTE, .body = body, .len = strlen(body) };
	record_append(R, &ev);
}

/* At first nothing looks like what is looked for; later much has some of its trigrams, and more of it all of them. */
static void fill(struct loop *l)
{
	for (int i = 1; i <= EVENTS; i++) {
		if (i % EVERY == 0)
			say("an octopus in a lighthouse");
		else if (i % DECOY == 0 && i > EVENTS / 2)
			say("octal, in a house with a light");
		else if (i % DECOY == 1 && i > EVENTS / 2)
			say("octo topus ctop, opus");
		else
			say("sea");
		if (i % 500 == 0)
			loop_turn(l, 0);
	}
}

static bool on_step(void *self, uint64_t at, uint64_t head)
{
	(void)self, (void)at, (void)head;
	return true;
}

/* Of all that may hold it by the index, those that do; *may: how many that were. Asked in stretches, the way filters
 * do. */
static size_t holding(struct session *s, const char *match, bool coarsely, uint64_t stretch, size_t *may)
{
	struct look *l = look_new(s, match);
	struct err err = ERR_INIT;
	size_t nr = 0;
	uint64_t head = session_indexed(s);
	look_coarsely(l, coarsely);
	*may = 0;
	for (uint64_t at = 0; at < head; at += stretch) {
		if (look_range(l, at, at + stretch < head ? at + stretch : head, &err) < 0)
			printf("# %s\n", err.text);
		for (uint64_t seq = at; (seq = look_next(l, seq)); (*may)++)
			nr += look_holds(l, seq);
	}
	look_free(&l);
	return nr;
}

static void looks(struct session *s)
{
	static const uint64_t stretch[] = { 1 << 20, 70000, 4096, 1000 };
	static const char *const words[] = { "octopus", "lighthouse", "\"octopus in\"", "octopus lighthouse", "\"sea\\\"\"", "oc*", "nowhere", "octopuses" };
	for (size_t w = 0; w < ARRAY_LEN(words); w++) {
		size_t fine, all = holding(s, words[w], false, ROWS, &fine);
		for (size_t i = 0; i < ARRAY_LEN(stretch); i++) {
			size_t coarse, nr = holding(s, words[w], true, stretch[i], &coarse);
			ok(nr == all && coarse >= fine, "%s, %" PRIu64 " at a time: %zu of %zu, want %zu of at least %zu", words[w], stretch[i], nr,
			   coarse, all, fine);
		}
	}
	size_t fine, coarse;
	holding(s, "octopus", false, 1 << 20, &fine);
	holding(s, "octopus", true, 1 << 20, &coarse);
	ok(fine < coarse, "there is something to lose: %zu events may hold it, %zu coarsely", fine, coarse);
}

struct asks {
	int index, rows;
};

static int on_ask(unsigned event, void *self, void *stmt, void *sql)
{
	struct asks *a = self;
	(void)event, (void)sql;
	a->index += strstr(sqlite3_sql(stmt), "search MATCH") != NULL;
	a->rows += strstr(sqlite3_sql(stmt), "json_each(?3) l") != NULL;
	return 0;
}

static struct asks found(struct session *s, const char *text, size_t want)
{
	static uint64_t seqs[ROWS];
	struct err err = ERR_INIT;
	struct filter *f = NULL;
	struct asks a = { 0 };
	size_t nr = 0;
	sqlite3_trace_v2(session_handle(s), SQLITE_TRACE_STMT, on_ask, &a);
	if (filter_parse(&f, text, NULL, NULL, &err) == 0)
		(void)!filter_search(f, s, clock_wall_us(), 0, ROWS, seqs, &nr, &err);
	ok(!err.text[0] && nr == want, "%s: %zu, want %zu %s", text, nr, want, err.text);
	sqlite3_trace_v2(session_handle(s), 0, NULL, NULL);
	filter_free(&f);
	ok(sqlite3_get_autocommit(session_handle(s)), "no transaction is left");
	return a;
}

static void filters(struct session *s)
{
	found(s, "octopus", EVENTS / EVERY);
	found(s, "octopus lighthouse", EVENTS / EVERY);
	found(s, "octopus not lighthouse", 0);
	found(s, "octopus or lighthouse", EVENTS / EVERY);
	found(s, "not (not octopus)", EVENTS / EVERY);
	found(s, "octopus nowhere", 0);
	found(s, "sea", EVENTS - EVENTS / EVERY - 2 * DECOYS + 3); /* three octopuses stand where a decoy would */
	struct asks a = found(s, "lighthouse", EVENTS / EVERY);
	ok(a.rows <= 2 * EVENTS / EVERY, "text outside the sample is searched for, not read: %d statements for rows", a.rows);
	a = found(s, "octopuses", 0);
	ok(!a.rows, "text that occurs nowhere costs no row");
}

/* Overwrites the page that holds event @seq. */
static bool spoil(const char *path, int seq)
{
	struct err err = ERR_INIT;
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	CLEANUP(buf_release) struct buf file = BUF_INIT;
	CLEANUP(free_ptr) char *sql = mem_printf("SELECT chain FROM event WHERE seq = %d", seq);
	bool there = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
		     sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW &&
		     file_read(path, &file, 1 << 30, &err) == 0;
	char *at = there ? memmem(file.data, file.len, sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0)) : NULL;
	sqlite3_finalize(st);
	sqlite3_close(db);
	if (!at)
		return false;
	memset(file.data + (at - file.data) / 4096 * 4096, 0xee, 4096);
	return file_write_atomic(path, file.data, file.len, 0600, &err) == 0;
}

/* An unreadable row is an error, not the end of the rows. */
static void unreadable(const char *path)
{
	struct err err = ERR_INIT;
	struct filter *f = NULL;
	struct session *s = NULL;
	uint64_t seqs[16];
	size_t nr = 0;
	ok(spoil(path, 4 * 4096 + 1) && session_open(&s, path, &err) == 0, "a page of it is overwritten, where a stretch begins");
	ok(filter_parse(&f, "octopus", NULL, NULL, &err) == 0 && filter_search(f, s, 0, 0, 16, seqs, &nr, &err) < 0 && err.code == ERR_DAMAGED, "a filter reports the damage: %s", err.text);
	ok(session_search(s, "octopus", 4 * 4096, 16, seqs, &nr, &err) < 0 && err.code == ERR_DAMAGED, "so does a text search: %s", err.text);
	filter_free(&f);
	session_close(&s);
}

int main(void)
{
	char dir[] = "/tmp/t_filter_coarse.XXXXXX", path[300];
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct session *s = NULL;
	const struct record_ops none = { 0 };
	hash_init();
	if (!mkdtemp(dir) || loop_new(&l, &err) < 0 || record_create(&R, l, dir, "coarse", NULL, &none, NULL, &err) < 0)
		return 1;
	fill(l);
	snprintf(path, sizeof(path), "%s", record_path(R));
	ok(record_close(&R, json_object(), &err) == 0 && deferred_index_build(path, on_step, NULL, &err) == 1 && session_open(&s, path, &err) == 0,
	   "a session is made %s", err.text);
	looks(s);
	filters(s);
	session_close(&s);
	unreadable(path);
	loop_turn(l, 0);
	loop_free(l);
	if (dir_remove(dir, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}
