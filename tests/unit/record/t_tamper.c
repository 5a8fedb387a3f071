/* Each kind of change to a finished file is detected, with the first bad event. */
#include <sqlite3.h>
#include <unistd.h>

#include "record/store.h"
#include "record_help.h"

static char *original;

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void add(struct record *r, uint16_t kind, uint64_t action, const char *field, const char *value)
{
	json_t *b = json_object();
	json_put_str(b, field, value);
	json_put_str(b, "intent", "aa");
	record_append_json(r, kind, action, 2, 3, action, b);
}

/* start 1, then ten actions of 7 events: requested judged started output ended note objects; end. */
static void make_original(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "whole", NULL, NULL, NULL, &err) == 0, "a session");
	original = mem_strdup(record_path(r));
	for (int i = 0; i < 10; i++) {
		uint64_t a = record_head(r) + 1;
		add(r, 100, 0, "kind", "exec");
		add(r, 101, a, "verdict", "allow");
		add(r, 104, a, "x", "y");
		struct hash m;
		char text[64];
		int n = snprintf(text, sizeof(text), "line %d of the output, said again and again\n", i);
		for (int k = 0; k < 40; k++)
			record_output(r, a, STREAM_OUT, text, (size_t)n);
		record_output_end(r, a);
		add(r, 105, a, "end", "ok");
		record_message(r, text, (size_t)n, &m);
		add(r, 420, a, "text", "note");
		struct objects *o = objects_new();
		struct object_id id;
		objects_add(o, OBJECT_BLOB, text, (size_t)n, &id);
		struct event ev = { .kind = 210, .action = a, .box = 3, .body = "{}", .len = 2 };
		record_objects(r, o, &ev);
		if (i == 4)
			record_checkpoint(r);
		bool done = false;
		record_barrier(r, record_head(r), set_flag, &done);
		help_wait(l, &done);
	}
	ok(record_close(&r, NULL, &err) == 0, "closed: %s", err.text);
	loop_free(l);
}

static char *copy_original(void)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	char *copy = mem_printf("%s/tampered.glass", help_root);
	if (file_read(original, &b, 64 << 20, &err) < 0 || file_write_atomic(copy, b.data, b.len, 0600, &err) < 0)
		ok(false, "copied: %s", err.text);
	return copy;
}

static void change(const char *path, const char *sql)
{
	sqlite3 *db;
	char *why = NULL;
	static const char *const triggers =
		"DROP TRIGGER event_kept; DROP TRIGGER event_stays; DROP TRIGGER segment_kept; DROP TRIGGER segment_stays;"
		"DROP TRIGGER object_kept; DROP TRIGGER object_stays; DROP TRIGGER checkpoint_kept; DROP TRIGGER checkpoint_stays;"
		"DROP TRIGGER message_kept; DROP TRIGGER message_stays; DROP TRIGGER session_kept; DROP TRIGGER redaction_kept;";
	bool good = sqlite3_open(path, &db) == SQLITE_OK && sqlite3_exec(db, triggers, NULL, NULL, &why) == SQLITE_OK &&
		    sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK;
	ok(good, "%.60s %s", sql, why ? why : "");
	sqlite3_free(why);
	sqlite3_close(db);
}

struct wanted {
	const char *check;
	bool failed;
	uint64_t seq;
	char text[300];
};

static void on_report(void *self, const char *name, enum verify_result result, const char *text, uint64_t seq)
{
	struct wanted *w = self;
	if (result == VERIFY_FAIL) {
		printf("#   %s: %s\n", name, text);
		if (!strcmp(name, w->check)) {
			w->failed = true;
			w->seq = seq;
			snprintf(w->text, sizeof(w->text), "%s", text);
		}
	}
}

static void test_cases(void)
{
	static const struct {
		const char *name, *sql, *check;
		uint64_t first;
	} cases[] = {
		{ "edit a body", "UPDATE event SET body = '{\"text\":\"nicer\"}' WHERE seq = 20", "chain", 20 },
		{ "edit a header", "UPDATE event SET ts_us = ts_us + 1 WHERE seq = 21", "chain", 21 },
		{ "edit a body and its hash", "UPDATE event SET body_hash = zeroblob(32) WHERE seq = 20", "chain", 20 },
		{ "swap two", "UPDATE event SET seq = 1000 WHERE seq = 20; UPDATE event SET seq = 20 WHERE seq = 21;"
			      "UPDATE event SET seq = 21 WHERE seq = 1000", "chain", 20 },
		{ "delete in the middle", "DELETE FROM event WHERE seq = 30", "chain", 30 },
		{ "delete the tail", "DELETE FROM event WHERE seq > 60", "anchor", 61 },
		{ "delete the tail and its checkpoint", "DELETE FROM event WHERE seq > 40; DELETE FROM segment WHERE seq > 40;"
			"DELETE FROM object WHERE seq > 40; DELETE FROM checkpoint WHERE seq > 40", "anchor", 41 },
		{ "renumber", "DELETE FROM event WHERE seq = 30; UPDATE event SET seq = seq - 1 WHERE seq > 30", "chain", 30 },
		{ "change a segment", "UPDATE segment SET data = CAST(substr(data, 1, length(data) - 1) || x'00' AS BLOB) WHERE segment = 3",
		  "segments", 0 },
		{ "move a segment", "UPDATE segment SET off = 7 WHERE segment = 3", "segments", 0 },
		{ "take a segment away", "DELETE FROM segment WHERE segment = 3", "segments", 0 },
		{ "change an object", "UPDATE object SET data = x'6f74686572', size = 5, codec = 0 WHERE object = 2", "objects", 0 },
		{ "change an object and its hash", "UPDATE object SET hash = zeroblob(32) WHERE object = 2", "objects", 0 },
		{ "take an object away", "DELETE FROM object WHERE object = 2", "objects", 0 },
		{ "change a message", "UPDATE message SET data = x'78', size = 1, codec = 0 WHERE message = 2", "messages", 0 },
		{ "forge a checkpoint", "INSERT INTO checkpoint SELECT 10, ts_us, (SELECT chain FROM event WHERE seq = 10), key, sig"
					" FROM checkpoint LIMIT 1", "signatures", 10 },
		{ "another key", "UPDATE checkpoint SET key = randomblob(32)", "signatures", 0 },
		{ "another session's name", "UPDATE session SET uuid = randomblob(16)", "chain", 1 },
		{ "erase without saying so", "UPDATE event SET body = NULL, salt = NULL WHERE seq = 20", "redactions", 0 },
		{ "erase the body alone", "UPDATE event SET body = NULL WHERE seq = 20", "chain", 20 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = ERR_INIT;
		struct session *s = NULL;
		struct verify_totals t;
		struct wanted w = { .check = cases[i].check };
		char *path = copy_original();
		change(path, cases[i].sql);
		if (ok(session_open(&s, path, &err) == 0, "%s: opens", cases[i].name)) {
			ok(verify_session(s, NULL, on_report, &w, &t, &err) == 0, "%s: is looked at %s", cases[i].name, err.text);
			ok(w.failed, "%s: %s finds it", cases[i].name, cases[i].check);
			if (cases[i].first)
				is_int((int64_t)w.seq, (int64_t)cases[i].first, "the first bad event");
			session_close(&s);
		}
		unlink(path);
		free(path);
	}
}

/* --- damage that no hash covers: what only queries walk through --------------------------------------------------- */

static int64_t ask(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *st = NULL;
	int64_t n = -1;
	if (sqlite3_open(path, &db) == SQLITE_OK && sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

/* Turns @bit of the byte that lies @at into the cells of page @page. */
static void damage(const char *path, int64_t page, size_t at, uint8_t bit)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	int64_t size = ask(path, "PRAGMA page_size");
	ok(file_read(path, &b, 64 << 20, &err) == 0 && page > 0 && (size_t)(page * size) <= b.len, "page %lld", (long long)page);
	uint8_t *p = (uint8_t *)b.data + (page - 1) * size;
	size_t content = (size_t)p[5] << 8 | p[6];
	p[content + at % ((size_t)size - content)] ^= bit;
	ok(file_write_atomic(path, b.data, b.len, 0600, &err) == 0, "damaged");
}

static void found_by_pages(const char *path, const char *what)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	struct verify_totals t;
	struct wanted w = { .check = "pages" };
	if (session_open(&s, path, &err) < 0) {
		ok(err.code == ERR_DAMAGED, "%s: is not opened: %s", what, err.text);
		return;
	}
	int rc = verify_session(s, NULL, on_report, &w, &t, &err);
	ok(w.failed, "%s: pages finds it (%d %s)", what, rc, err.text);
	session_close(&s);
}

static void test_pages(void)
{
	static const char *const indexes[] = { "event_action", "event_box", "segment_place", "segment_seq", "object_seq" };
	for (size_t i = 0; i < ARRAY_LEN(indexes); i++)
		for (unsigned k = 0; k < 8; k++) { /* bytes of the cells: lengths, types, values, rowids */
			char *path = copy_original();
			CLEANUP(free_ptr)
			char *sql = mem_printf("SELECT rootpage FROM sqlite_schema WHERE name = '%s'", indexes[i]);
			damage(path, ask(path, sql), k * 7, (uint8_t)(1U << k % 6));
			found_by_pages(path, indexes[i]);
			unlink(path);
			free(path);
		}
	static const char *const lost[] = {
		"UPDATE search_data SET block = zeroblob(length(block)) WHERE id = (SELECT max(id) FROM search_data)",
		"UPDATE search_data SET block = CAST(substr(block, 1, length(block) / 2) AS BLOB) WHERE id > 10",
		"DELETE FROM search_data WHERE id = (SELECT max(id) FROM search_data)",
		"UPDATE search_data SET block = x'00' WHERE id = 10",
		"UPDATE search_data SET block = x'00000000' WHERE id = 10", /* no segments: every search finds nothing */
		"DELETE FROM search_config",
	};
	for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
		char *path = copy_original();
		change(path, lost[i]);
		found_by_pages(path, "search or index");
		unlink(path);
		free(path);
	}
}

/* The first page of each table becomes unreadable: no check takes this for the end of its rows. */
static void test_unreadable(void)
{
	static const struct {
		const char *table, *check;
	} cases[] = { { "segment", "segments" }, { "object", "objects" }, { "message", "messages" },
		      { "checkpoint", "signatures" }, { "redaction", "redactions" }, { "search_row", "pages" },
		      { "search_value", "pages" } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = ERR_INIT;
		struct session *s = NULL;
		struct verify_totals t;
		struct wanted w = { .check = cases[i].check };
		char *path = copy_original();
		CLEANUP(free_ptr) char *sql = mem_printf("SELECT rootpage FROM sqlite_schema WHERE name = '%s'", cases[i].table);
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		size_t at = (size_t)((ask(path, sql) - 1) * ask(path, "PRAGMA page_size"));
		ok(at && file_read(path, &b, 64 << 20, &err) == 0 && at < b.len, "%s has a page", cases[i].table);
		b.data[at] = 0;
		ok(file_write_atomic(path, b.data, b.len, 0600, &err) == 0, "its first page is damaged");
		if (ok(session_open(&s, path, &err) == 0, "%s: opens %s", cases[i].table, err.text)) {
			ok(verify_session(s, NULL, on_report, &w, &t, &err) == 0, "%s: is verified %s", cases[i].table, err.text);
			ok(w.failed, "%s: %s fails", cases[i].table, cases[i].check);
			if (strcmp(cases[i].check, "pages") != 0)
				ok(strstr(w.text, "unreadable after") != NULL, "and the report names the place: %s", w.text);
			session_close(&s);
		}
		unlink(path);
		free(path);
	}
}

/* The triggers stop accidents, without any of our code. */
static void test_triggers(void)
{
	static const char *const refused[] = {
		"UPDATE event SET body = '{}' WHERE seq = 5", "DELETE FROM event WHERE seq = 5",
		"UPDATE event SET body = NULL, salt = NULL WHERE seq = 5", "DELETE FROM segment", "DELETE FROM object",
		"UPDATE segment SET len = 1", "DELETE FROM checkpoint", "UPDATE session SET name = 'x'",
		"INSERT OR REPLACE INTO event SELECT * FROM event WHERE seq = 5",
	};
	char *path = copy_original();
	sqlite3 *db;
	ok(sqlite3_open(path, &db) == SQLITE_OK, "opened by hand");
	sqlite3_exec(db, "PRAGMA recursive_triggers=ON", NULL, NULL, NULL);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		ok(sqlite3_exec(db, refused[i], NULL, NULL, NULL) == SQLITE_CONSTRAINT, "refused: %s", refused[i]);
	sqlite3_stmt *st;
	static const char *const views[] = { "v_event", "v_action", "v_output", "v_diff", "v_agent", "v_redaction" };
	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		CLEANUP(free_ptr) char *sql = mem_printf("SELECT * FROM %s", views[i]);
		ok(sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) != SQLITE_ERROR, "%s", views[i]);
		sqlite3_finalize(st);
	}
	sqlite3_close(db);
	unlink(path);
	free(path);
}

static void test_order(void)
{
	static const struct {
		const char *name;
		int nr;
		struct {
			uint16_t kind;
			const char *field, *value;
		} ev[4];
		bool good;
	} cases[] = {
		{ "asked, approved", 3, { { 101, "verdict", "ask" }, { 103, "decision", "approve" }, { 104, "x", "y" } }, true },
		{ "asked, its dry run applied", 3, { { 101, "verdict", "ask" }, { 103, "decision", "promote" }, { 104, "x", "y" } }, true },
		{ "asked, not decided", 2, { { 101, "verdict", "ask" }, { 104, "x", "y" } }, false },
		{ "never judged", 1, { { 104, "x", "y" } }, false },
		{ "denied", 2, { { 101, "verdict", "deny" }, { 104, "x", "y" } }, false },
		{ "released by a latch, but asked", 3, { { 101, "verdict", "ask" }, { 103, "decision", "release" }, { 104, "x", "y" } }, false },
		{ "judged after the start", 2, { { 104, "x", "y" }, { 101, "verdict", "allow" } }, false },
		{ "another intent", 2, { { 101, "verdict", "allow" }, { 104, "intent", "bb" } }, false },
		{ "started twice", 3, { { 101, "verdict", "allow" }, { 104, "x", "y" }, { 104, "x", "y" } }, false },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = ERR_INIT;
		struct loop *l = NULL;
		struct record *r = NULL;
		struct session *s = NULL;
		struct verify_totals t;
		struct wanted w = { .check = "order" };
		ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "order", NULL, NULL, NULL, &err) == 0, "a session");
		char *path = mem_strdup(record_path(r));
		uint64_t a = record_head(r) + 1;
		add(r, 100, 0, "kind", "exec");
		for (int k = 0; k < cases[i].nr; k++) {
			json_t *b = json_object();
			json_put_str(b, "intent", "aa");
			json_put_str(b, cases[i].ev[k].field, cases[i].ev[k].value);
			record_append_json(r, cases[i].ev[k].kind, a, 0, 0, a, b);
		}
		add(r, 105, a, "end", "ok");
		ok(record_close(&r, NULL, &err) == 0 && session_open(&s, path, &err) == 0, "closed and opened");
		ok(verify_session(s, NULL, on_report, &w, &t, &err) == 0 && w.failed != cases[i].good, "%s", cases[i].name);
		session_close(&s);
		loop_free(l);
		free(path);
	}
}

/* The same file by schema/README.md alone, with programs that know nothing of us; and a forged one. */
static void test_outside(void)
{
	static const char script[] = "tests/sessions/outside_check.sh";
	if (access(script, X_OK) < 0 ||
	    system("command -v sqlite3 xxd openssl git zstd sha256sum >/dev/null 2>&1 && openssl list -public-key-algorithms |"
		   " grep -qi ed25519") != 0) {
		skip(2, "sqlite3, xxd, openssl, git or zstd is missing");
		return;
	}
	CLEANUP(free_ptr) char *good = mem_printf("%s '%s' >&2", script, original);
	is_int(system(good), 0, "the original holds for an outsider");
	char *path = copy_original();
	change(path, "UPDATE event SET body = '{\"text\":\"nicer\"}' WHERE seq = 20");
	CLEANUP(free_ptr) char *bad = mem_printf("%s '%s' >&2", script, path);
	ok(system(bad) != 0, "a changed one does not");
	unlink(path);
	free(path);
}

int main(void)
{
	help_init();
	store_index_from(1);
	make_original();
	struct err err = ERR_INIT;
	struct session *s = NULL;
	ok(session_open(&s, original, &err) == 0, "opens");
	help_verify(s, 0, "the original verifies");
	session_close(&s);
	test_cases();
	test_pages();
	test_unreadable();
	test_triggers();
	test_order();
	test_outside();
	free(original);
	return help_done();
}
