/* A fork: the beginning of another session, unchanged, then its own way; both verify, and so does a fork of a fork. */
#include <sqlite3.h>
#include <unistd.h>

#include "record_help.h"

static char *number(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *st = NULL;
	char *v = NULL;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		v = mem_strdup(sqlite3_column_text(st, 0) ? (const char *)sqlite3_column_text(st, 0) : "");
	sqlite3_finalize(st);
	sqlite3_close(db);
	return v ? v : mem_strdup("(nothing)");
}

static void same(const char *path, const char *sql, const char *want, const char *what)
{
	char *got = number(path, sql);
	is_str(got, want, what);
	free(got);
}

static void rows_alike(const char *a, const char *b, uint64_t seq)
{
	static const char *const tables[] = { "event", "segment", "object", "checkpoint" };
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		char *attach = mem_printf("ATTACH '%s' AS b", b), *err = NULL;
		sqlite3 *db;
		sqlite3_stmt *st = NULL;
		char *sql = mem_printf("SELECT (SELECT count(*) FROM (SELECT * FROM main.%s WHERE seq <= %d EXCEPT SELECT * FROM b.%s)) +"
				      " (SELECT count(*) FROM (SELECT * FROM b.%s WHERE seq <= %d EXCEPT SELECT * FROM main.%s))",
				      tables[i], (int)seq, tables[i], tables[i], (int)seq, tables[i]);
		int n = -1;
		if (sqlite3_open(a, &db) == SQLITE_OK && sqlite3_exec(db, attach, NULL, NULL, &err) == SQLITE_OK &&
		    sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
			n = sqlite3_column_int(st, 0);
		ok(n == 0, "table %s: the rows up to #%d are the same, %d differ", tables[i], (int)seq, n);
		sqlite3_finalize(st);
		sqlite3_close(db);
		free(sql);
		free(attach);
	}
}

static void add(struct record *r, const char *text, struct hash *message)
{
	json_t *body = json_object(), *call = json_object(), *list = json_array();
	record_message(r, text, strlen(text), message);
	struct buf hex = BUF_INIT;
	hex_append(&hex, message->b, HASH_LEN);
	json_array_append_new(list, json_string(hex.data));
	json_put(call, "messages", list);
	json_put_str(body, "kind", "exec");
	uint64_t action = record_append_json(r, EV_ACTION_REQUESTED, 0, 0, 0, 0, body);
	record_append_json(r, EV_MODEL_CALL, action, 0, 0, action, call);
	record_output(r, action, STREAM_OUT, text, strlen(text));
	record_output_end(r, action);
	struct objects *o = objects_new();
	struct object_id id;
	objects_add(o, OBJECT_BLOB, text, strlen(text), &id);
	struct event ev = { .kind = EV_SNAPSHOT_TAKEN, .cause = action, .body = "{}", .len = 2 };
	record_objects(r, o, &ev);
	json_t *end = json_object();
	json_put_str(end, "end", "ok");
	record_append_json(r, EV_ACTION_ENDED, action, 0, 0, action, end);
	buf_release(&hex);
}

static void reached(void *self)
{
	*(bool *)self = true;
}

static void settle(struct loop *l, struct record *r)
{
	bool there = false;
	record_barrier(r, record_head(r), reached, &there);
	help_wait(l, &there);
}

static char *origin(struct loop *l, struct hash message[3])
{
	struct record *r;
	struct err err = ERR_INIT;
	if (record_create(&r, l, help_dir(), "first", NULL, NULL, NULL, &err) < 0)
		exit(1);
	add(r, "one", &message[0]);
	settle(l, r);
	record_checkpoint(r);
	add(r, "two", &message[1]);
	settle(l, r);
	add(r, "three", &message[2]);
	char *path = mem_strdup(record_path(r));
	ok(record_close(&r, NULL, &err) == 0, "the origin ends");
	return path;
}

static void go_on(struct loop *l, const char *path, const char *word)
{
	struct record *r;
	struct err err = ERR_INIT;
	struct hash h;
	ok(record_resume(&r, l, path, NULL, NULL, &err) == 0, "resumes: %s", err.text);
	add(r, word, &h);
	settle(l, r);
	ok(record_close(&r, NULL, &err) == 0, "and ends: %s", err.text);
}

static void verified(const char *path, const char *what)
{
	struct session *s;
	struct err err = ERR_INIT;
	if (!ok(session_open(&s, path, &err) == 0, "%s opens: %s", what, err.text))
		return;
	help_verify(s, 0, what);
	session_close(&s);
}

static bool has_message(const char *path, const struct hash *h)
{
	struct session *s;
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	bool found = session_open(&s, path, &err) == 0 && session_message(s, h, &b, &err) == 0;
	session_close(&s);
	buf_release(&b);
	return found;
}

struct wanted {
	const char *check;
	bool failed;
};

static void on_report(void *self, const char *name, enum verify_result result, const char *text, uint64_t seq)
{
	struct wanted *w = self;
	(void)seq;
	if (result == VERIFY_FAIL)
		printf("#   %s: %s\n", name, text);
	w->failed |= result == VERIFY_FAIL && !strcmp(name, w->check);
}

/* A copy of @path with @sql done to it: the check @check finds it. */
static void tampered(const char *path, const char *check, const char *what, const char *sql)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	struct session *s;
	struct wanted w = { .check = check };
	struct verify_totals t;
	sqlite3 *db;
	char *copy = mem_printf("%s/tampered.glass", help_root), *why = NULL;
	if (file_read(path, &b, 64 << 20, &err) < 0 || file_write_atomic(copy, b.data, b.len, 0600, &err) < 0)
		exit(1);
	sqlite3_open(copy, &db);
	ok(sqlite3_exec(db, "DROP TRIGGER origin_kept; DROP TRIGGER origin_stays; DROP TRIGGER session_kept;"
			    "DROP TRIGGER checkpoint_kept; DROP TRIGGER checkpoint_stays", NULL, NULL, &why) == SQLITE_OK &&
	   sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK, "%s: changed %s", what, why ? why : "");
	sqlite3_free(why);
	sqlite3_close(db);
	if (session_open(&s, copy, &err) == 0) {
		ok(verify_session(s, NULL, on_report, &w, &t, &err) == 0 && w.failed, "%s is found", what);
		session_close(&s);
	} else {
		ok(err.code != ERR_NONE, "%s: does not open: %s", what, err.text);
	}
	free(copy);
}

/* @first has no origin, @again two. */
static void tampering(const char *first, const char *again)
{
	tampered(first, "chain", "an origin without a signature", "INSERT INTO origin VALUES(2, 's-aaaaaa', randomblob(16), randomblob(32))");
	tampered(first, "signatures", "an origin after the end, with a foreign key",
		 "INSERT INTO origin SELECT 1000, id, uuid, key FROM session;"
		 "INSERT INTO origin SELECT 2000, id, uuid, randomblob(32) FROM session");
	tampered(first, "signatures", "an origin of its own", "INSERT INTO origin SELECT 2, id, uuid, key FROM session");
	tampered(first, "signatures", "an origin before the first event", "INSERT INTO origin SELECT 0, id, uuid, key FROM session");
	tampered(first, "signatures", "an origin at an invalid number", "INSERT INTO origin SELECT -3, id, uuid, key FROM session");
	tampered(again, "chain", "a fork without an origin", "DELETE FROM origin");
	tampered(again, "chain", "a fork that has lost its first origin",
		 "DELETE FROM origin WHERE seq = (SELECT min(seq) FROM origin)");
	tampered(again, "signatures", "a fork that has lost its last origin",
		 "DELETE FROM origin WHERE seq = (SELECT max(seq) FROM origin)");
	tampered(again, "signatures", "a fork with another name", "UPDATE session SET uuid = randomblob(16)");
	tampered(again, "signatures", "an origin with another name",
		 "UPDATE origin SET uuid = randomblob(16) WHERE seq = (SELECT max(seq) FROM origin)");
	tampered(again, "signatures", "an origin one event earlier",
		 "UPDATE origin SET seq = seq - 1 WHERE seq = (SELECT max(seq) FROM origin)");
	tampered(again, "signatures", "checkpoints of a key that only the tables name",
		 "UPDATE checkpoint SET key = zeroblob(32); UPDATE session SET key = zeroblob(32);"
		 "UPDATE origin SET key = zeroblob(32) WHERE seq = (SELECT max(seq) FROM origin)");
}

static void on_anchor(void *self, const char *name, enum verify_result result, const char *text, uint64_t seq)
{
	(void)text;
	(void)seq;
	if (!strcmp(name, "anchor"))
		*(enum verify_result *)self = result;
}

/* A fork that has not gone on has no anchor of its own: those of its origin hold it. */
static void anchored(const char *fork)
{
	struct session *s;
	struct err err = ERR_INIT;
	struct verify_totals t;
	enum verify_result anchor = VERIFY_SKIP;
	if (!ok(session_open(&s, fork, &err) == 0, "opens: %s", err.text))
		return;
	ok(verify_session(s, NULL, on_anchor, &anchor, &t, &err) == 0 && anchor == VERIFY_OK, "its origin's anchors hold it");
	session_close(&s);
}

int main(void)
{
	struct loop *l;
	struct err err = ERR_INIT;
	struct hash m[3];
	char *fork = NULL, *again = NULL, *no = NULL;
	help_init();
	if (loop_new(&l, &err) < 0)
		return 1;
	char *first = origin(l, m);
	char *at_text = number(first, "SELECT seq FROM event WHERE kind = (SELECT number FROM kind WHERE name = 'action.ended') "
				      "ORDER BY seq LIMIT 1 OFFSET 1");
	uint64_t at = strtoull(at_text, NULL, 10);
	ok(record_fork(first, at, NULL, "second", &fork, &err) == 0, "forked at #%d: %s", (int)at, err.text);
	rows_alike(first, fork, at);
	same(fork, "SELECT max(seq) FROM event", at_text, "and nothing after it");
	same(fork, "SELECT name FROM session", "second", "it has its own name");
	ok(has_message(fork, &m[1]) && !has_message(fork, &m[2]), "the fork has the messages of its events and no later ones");
	verified(fork, "a fork without new events");
	anchored(fork);
	go_on(l, fork, "four");
	verified(fork, "a fork that went on");
	verified(first, "the origin");
	same(fork, "SELECT count(*) FROM origin", "1", "it says where it comes from");
	char *later = number(fork, "SELECT seq - 1 FROM event WHERE kind = (SELECT number FROM kind WHERE name = 'session.end')");
	ok(record_fork(fork, strtoull(later, NULL, 10), NULL, NULL, &again, &err) == 0, "a fork of the fork: %s", err.text);
	go_on(l, again, "five");
	verified(again, "a fork of a fork that went on");
	same(again, "SELECT count(*) FROM origin", "2", "both origins are named");
	ok(record_fork(first, 9999, NULL, NULL, &no, &err) < 0 && err.code == ERR_NOENT && !no, "no such event: %s", err.text);
	ok(record_fork("/nowhere.glass", 1, NULL, NULL, &no, &err) < 0 && !no, "no such session: %s", err.text);
	tampering(first, again);
	free(first);
	free(fork);
	free(again);
	free(later);
	free(at_text);
	loop_free(l);
	return help_done();
}
