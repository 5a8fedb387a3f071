/* Lists of messages. A chat's request adds only its new messages, yet its list is read back intact: in a fork, after a
 * resume, and when an event that named an earlier list is removed. */
#include <sqlite3.h>
#include <string.h>

#include "base/json.h"
#include "record/store_pack.h"
#include "record/vfs.h"
#include "record/read/list.h"
#include "record/record_help.h"

enum { TURNS = 200 };

static json_t *message(struct record *r, const char *chat, int i)
{
	char text[80];
	struct hash h;
	struct buf hex = BUF_INIT;
	int n = snprintf(text, sizeof(text), "{\"role\":\"user\",\"text\":\"%s, message %d\"}", chat, i);
	record_message(r, text, (size_t)n, &h);
	hex_append(&hex, h.b, HASH_LEN);
	json_t *name = json_string(buf_cstr(&hex));
	buf_release(&hex);
	return name;
}

static uint64_t call(struct record *r, json_t *list, json_t *whole)
{
	json_t *body = json_object();
	json_array_extend(whole, list); /* kept aside by the test */
	json_put(body, "messages", record_list(r, json_incref(list)));
	return record_append_json(r, EV_MODEL_CALL, 0, 0, 0, 0, body);
}

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void settle(struct loop *l, struct record *r)
{
	bool there = false;
	record_barrier(r, record_head(r), set_flag, &there);
	help_wait(l, &there);
}

static json_t *list_of(struct session *s, uint64_t seq, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	if (session_event(s, seq, &ev, &a, err) < 0 || !ev.body)
		return NULL;
	CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "event", err);
	return session_list(s, json_object_get(body, "messages"), err);
}

static void reads(const char *path, uint64_t seq, const json_t *want, const char *what)
{
	struct err err = ERR_INIT;
	struct session *s;
	if (!ok(session_open(&s, path, &err) == 0, "%s: opens %s", what, err.text))
		return;
	json_t *got = list_of(s, seq, &err);
	ok(got && json_equal(got, want), "%s: the list of event %d is whole, %d messages %s", what, (int)seq,
	   (int)json_array_size(want), err.text);
	struct hash h;
	struct buf text = BUF_INIT;
	size_t i, held = 0;
	json_t *v;
	json_array_foreach((json_t *)(uintptr_t)want, i, v)
		held += hex_parse(json_string_value(v), json_string_length(v), h.b, HASH_LEN) &&
			session_message(s, &h, &text, &err) == 0;
	ok(held == json_array_size(want), "%s: and so are its messages (%d) %s", what, (int)held, err.text);
	buf_release(&text);
	json_decref(got);
	session_close(&s);
}

static void unknown(const char *path, uint64_t seq, enum err_code code, const char *what)
{
	struct err err = ERR_INIT;
	struct session *s;
	if (!ok(session_open(&s, path, &err) == 0, "%s: opens", what))
		return;
	json_t *got = list_of(s, seq, &err);
	ok(!got && err.code == code, "%s: the list of event %d is not guessed: %s", what, (int)seq, err.text);
	json_decref(got);
	session_close(&s);
}

static void verified(const char *path, unsigned failures, const char *what)
{
	struct err err = ERR_INIT;
	struct session *s;
	if (ok(session_open(&s, path, &err) == 0, "%s: opens", what)) {
		help_verify(s, failures, what);
		session_close(&s);
	}
}

static int64_t number(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *st = NULL;
	int64_t n = -1;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

struct written {
	uint64_t seq;
	json_t *list;
};

static struct written add(struct record *r, json_t *list)
{
	struct written w = { .list = json_array() };
	w.seq = call(r, list, w.list);
	return w;
}

static struct record *create(struct loop *l, const char *name)
{
	struct record *r = NULL;
	struct err err = ERR_INIT;
	ok(record_create(&r, l, help_dir(), name, NULL, NULL, NULL, &err) == 0, "a session: %s", err.text);
	return r;
}

static char *close_it(struct record *r)
{
	struct err err = ERR_INIT;
	char *path = mem_strdup(record_path(r));
	ok(record_close(&r, NULL, &err) == 0, "closed: %s", err.text);
	return path;
}

/* Two chats in turn, one of them shortened in the middle, as when a window is full. */
static char *write_chats(struct loop *l, const char *name, struct written w[TURNS])
{
	struct record *r = create(l, name);
	json_t *chat[2] = { json_array(), json_array() };
	for (int i = 0; i < TURNS; i++) {
		json_t *c = chat[i & 1];
		if (i == 121) { /* all but the first and the last are left out */
			while (json_array_size(c) > 2)
				json_array_remove(c, 1);
		}
		json_array_append_new(c, message(r, i & 1 ? "b" : "a", 2 * i));
		json_array_append_new(c, message(r, i & 1 ? "b" : "a", 2 * i + 1));
		w[i] = add(r, c);
		settle(l, r);
	}
	json_decref(chat[0]);
	json_decref(chat[1]);
	return close_it(r);
}

static void free_written(struct written *w, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		json_decref(w[i].list);
}

static void test_chats(struct loop *l)
{
	struct written w[TURNS];
	char *path = write_chats(l, "chats", w);
	struct session *s;
	struct err err = ERR_INIT;
	int same = 0;
	ok(session_open(&s, path, &err) == 0, "opens");
	for (int round = 0; round < 2; round++) /* in order, then backwards: a read does not depend on earlier reads */
		for (int i = 0; i < TURNS; i++) {
			int at = round ? TURNS - 1 - i : i;
			json_t *got = list_of(s, w[at].seq, &err);
			same += got && json_equal(got, w[at].list);
			json_decref(got);
		}
	is_int(same, 2 * TURNS, "every list of two chats is read as it was written");
	session_close(&s);
	verified(path, 0, "two chats");
	int64_t lists = number(path, "SELECT sum(length(data)) FROM message WHERE CAST(data AS TEXT) LIKE '{\"%plus%'");
	ok(lists > 0 && lists < TURNS * 400, "%d lists of up to %d messages are %d bytes in the pool", TURNS,
	   (int)json_array_size(w[TURNS - 2].list), (int)lists);
	int64_t bodies = number(path, "SELECT max(length(body)) FROM event WHERE kind = 430");
	ok(bodies < 200, "no call's body has more than %d bytes", (int)bodies);
	is_int(number(path, "SELECT count(*) FROM message WHERE CAST(data AS TEXT) LIKE '{\"%plus%' AND codec != 0"), 0,
	       "lists are kept as they are");

	/* a fork has what its events name, also what an earlier list, or its origin's origin, has */
	char *fork = NULL, *again = NULL;
	ok(record_fork(path, w[150].seq, help_dir(), NULL, &fork, &err) == 0, "a fork: %s", err.text);
	struct record *r = NULL;
	ok(record_resume(&r, l, fork, NULL, NULL, &err) == 0, "resumes: %s", err.text);
	json_t *more = json_copy(w[150].list);
	json_array_append_new(more, message(r, "c", 1));
	struct written f = add(r, more);
	json_array_append_new(more, message(r, "c", 2));
	struct written g = add(r, more);
	json_decref(more);
	settle(l, r);
	free(close_it(r));
	reads(fork, w[150].seq, w[150].list, "fork");
	reads(fork, w[149].seq, w[149].list, "fork");
	reads(fork, f.seq, f.list, "fork, live");
	verified(fork, 0, "fork");
	is_int(number(fork, "SELECT count(*) FROM message WHERE CAST(data AS TEXT) LIKE '%message 302\"%'"), 0,
	       "nothing of later calls is in it");
	ok(record_fork(fork, g.seq, help_dir(), NULL, &again, &err) == 0, "a fork of the fork: %s", err.text);
	reads(again, g.seq, g.list, "fork of a fork");
	reads(again, w[3].seq, w[3].list, "fork of a fork");
	verified(again, 0, "fork of a fork");
	free_written(w, TURNS);
	json_decref(f.list);
	json_decref(g.list);
	free(path);
	free(fork);
	free(again);
}

static void redact(struct loop *l, struct record *r, const char *what, uint64_t id)
{
	bool gone = false;
	struct err err = ERR_INIT;
	ok(record_redact(r, what, id, NULL, "root", "a test", set_flag, &gone, &err) == 0, "%s %d is removed: %s", what, (int)id,
	   err.text);
	help_wait(l, &gone);
}

static void test_removed(struct loop *l)
{
	struct record *r = create(l, "removed");
	json_t *c = json_array();
	struct written w[8];
	for (int i = 0; i < 5; i++) {
		json_array_append_new(c, message(r, "r", 2 * i));
		json_array_append_new(c, message(r, "r", 2 * i + 1));
		w[i] = add(r, c);
		settle(l, r);
	}
	/* the event: nothing is taken from the lists of others */
	redact(l, r, "event", w[2].seq);
	char *path = mem_strdup(record_path(r));
	reads(path, w[1].seq, w[1].list, "the event before");
	reads(path, w[4].seq, w[4].list, "the events behind it");
	/* a message: the list still names it */
	struct err err = ERR_INIT;
	redact(l, r, "message", (uint64_t)number(path, "SELECT message FROM message WHERE CAST(data AS TEXT) LIKE '%message 2\"%'"));
	struct session *s;
	ok(session_open(&s, path, &err) == 0, "opens");
	json_t *got = list_of(s, w[4].seq, &err);
	ok(got && json_equal(got, w[4].list), "a list with a removed message is intact");
	json_decref(got);
	session_close(&s);
	/* a list is removed: lists that start with it are lost, and later lists start anew */
	char sql[200];
	snprintf(sql, sizeof(sql), "SELECT message FROM message WHERE lower(hex(hash)) ="
		 " (SELECT json_extract(body, '$.messages') FROM event WHERE seq = %d)", (int)w[3].seq);
	redact(l, r, "message", (uint64_t)number(path, sql));
	reads(path, w[0].seq, w[0].list, "an earlier list");
	unknown(path, w[3].seq, ERR_CANCELLED, "the removed list");
	unknown(path, w[4].seq, ERR_CANCELLED, "a list that begins with it");
	json_array_append_new(c, message(r, "r", 10));
	w[5] = add(r, c);
	settle(l, r);
	ok(session_open(&s, path, &err) == 0, "opens");
	got = list_of(s, w[5].seq, &err);
	ok(got && json_equal(got, w[5].list), "the next list is whole %s", err.text);
	json_decref(got);
	session_close(&s);
	free(close_it(r));
	verified(path, 0, "three removals");
	char *fork = NULL;
	ok(record_fork(path, (uint64_t)number(path, "SELECT max(seq) FROM event") - 1, help_dir(), NULL, &fork, &err) == 0,
	   "a fork behind the removals: %s", err.text);
	unknown(fork, w[4].seq, ERR_CANCELLED, "there, too");
	r = NULL;
	ok(record_resume(&r, l, fork, NULL, NULL, &err) == 0, "resumes: %s", err.text);
	free(close_it(r));
	verified(fork, 0, "its fork");
	free_written(w, 6);
	json_decref(c);
	free(path);
	free(fork);
}

/* A forged file: reading ends and trusts nothing. */
#define CHANGE(to) "UPDATE message SET data = CAST(" to " AS BLOB) WHERE CAST(data AS TEXT) LIKE '{\"as%'"
static void test_hostile(struct loop *l)
{
	static const struct {
		const char *what, *sql;
		enum err_code code;
	} cases[] = {
		{ "one of its messages is not there", "DELETE FROM message WHERE message = 2", ERR_NONE },
		{ "its beginning is not there", "DELETE FROM message WHERE message = (SELECT min(message) FROM message WHERE "
						"CAST(data AS TEXT) LIKE '{\"plus%')", ERR_NOENT },
		{ "it begins with itself", CHANGE("'{\"as\":\"' || lower(hex(hash)) || '\",\"plus\":[]}'"), ERR_DAMAGED },
		{ "it keeps more than there was", CHANGE("json_set(CAST(data AS TEXT), '$.keep', 1000)"), ERR_DAMAGED },
		{ "it keeps less than nothing", CHANGE("json_set(CAST(data AS TEXT), '$.keep', -1)"), ERR_DAMAGED },
		{ "it begins with no name", CHANGE("json_set(CAST(data AS TEXT), '$.as', 7)"), ERR_DAMAGED },
		{ "it is not a list", CHANGE("'{\"role\":1}'"), ERR_DAMAGED },
		{ "it is not JSON", CHANGE("'as'"), ERR_DAMAGED },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct record *r = create(l, "made");
		json_t *c = json_array();
		struct written w = { 0 };
		for (int k = 0; k < 8; k++) {
			json_array_append_new(c, message(r, "h", k));
			json_decref(w.list);
			w = add(r, c);
			settle(l, r);
		}
		char *path = close_it(r), *why = NULL;
		char *sql = mem_printf("DROP TRIGGER message_kept; DROP TRIGGER message_stays; %s; UPDATE message SET size = length(data) WHERE codec = 0",
				      cases[i].sql);
		sqlite3 *db;
		struct err large = ERR_INIT;
		ok(store_unpack(path, &large) == 0, "large pages %s", large.text);
		/* with the recorder's sums, so that only the content is wrong */
		ok(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, RECORD_VFS) == SQLITE_OK &&
		   sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK, "%s %s",
		   cases[i].what, why ? why : "");
		sqlite3_free(why);
		sqlite3_close(db);
		if (cases[i].code)
			unknown(path, w.seq, cases[i].code, cases[i].what);
		verified(path, 1, cases[i].what);
		free(sql);
		free(path);
		json_decref(w.list);
		json_decref(c);
	}
}

/* Files from before: arrays. */
static void test_arrays(struct loop *l)
{
	struct record *r = create(l, "arrays");
	json_t *list = json_array(), *body = json_object();
	for (int i = 0; i < 20; i++)
		json_array_append_new(list, message(r, "old", i));
	json_put(body, "messages", json_incref(list));
	uint64_t seq = record_append_json(r, EV_MODEL_CALL, 0, 0, 0, 0, body);
	char *path = close_it(r), *fork = NULL;
	struct err err = ERR_INIT;
	reads(path, seq, list, "an array");
	ok(record_fork(path, seq, help_dir(), NULL, &fork, &err) == 0, "a fork: %s", err.text);
	reads(fork, seq, list, "its fork");
	json_decref(list);
	free(path);
	free(fork);
}

int main(void)
{
	struct loop *l = NULL;
	struct err err = ERR_INIT;
	help_init();
	ok(loop_new(&l, &err) == 0, "a loop");
	test_chats(l);
	test_removed(l);
	test_hostile(l);
	test_arrays(l);
	loop_free(l);
	return help_done();
}
