/* Pages of a search for words: the same rows whether they are asked for one by one or all at once. */
#include "by_hand.h"
#include "tap.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "query/filter.h"
#include "record/deferred_index.h"
#include "record/read/session.h"
#include "record/read/steps.h"
#include "record/record.h"

enum { ACTIONS = 300, ROWS = 4000 };

static struct record *R;
static uint64_t early, agent;

static uint64_t add(uint16_t kind, uint64_t action, json_t *body)
{
	return record_append_json(R, kind, 1, agent, 0, action, body);
}

static uint64_t raw(uint16_t kind, uint64_t action, const char *body)
{
	const struct event ev = { .cause = 1, .agent = agent, .action = action, .kind = kind, .body = body, .len = strlen(body) };
	return record_append(R, &ev);
}

static uint64_t request(const char *cmd)
{
	json_t *b = json_object();
	json_put_str(b, "kind", "exec");
	json_put_str(b, "cmd", cmd);
	if (!strcmp(cmd, "make"))
		json_put_str(b, "path", "/workspace/src/lexer.c");
	return add(EV_ACTION_REQUESTED, 0, b);
}

static void end(uint64_t action, int code)
{
	json_t *b = json_object();
	json_put_str(b, "end", "ok");
	json_put_int(b, "code", code);
	add(EV_ACTION_ENDED, action, b);
}

static void note(uint64_t on, const char *body)
{
	const struct event ev = { .cause = on, .agent = agent, .kind = EV_NOTE, .body = body, .len = strlen(body) };
	record_append(R, &ev);
}

/* Blocks of the index in which nothing stands. */
static void notes(struct loop *l, int nr)
{
	for (int i = 0; i < nr; i++) {
		add(420, 0, json_object());
		if (i % 500 == 0)
			loop_turn(l, 0);
	}
}

/* A long one begins first and says last what the others say all the time. */
static void fill(struct loop *l)
{
	early = request("tail -f log");
	raw(EV_ACTION_JUDGED, early, "{\"verdict\":\"ask\",\"rules\":[{\"name\":\"no-push\"}]}");
	raw(EV_ACTION_DECIDED, early, "{\"decision\":\"approve\",\"by\":\"person\",\"who\":{\"name\":\"rita\"}}");
	raw(EV_ACTION_REQUESTED, 0, "{\"kind\":\"connect\",\"tool\":\"\\u0065scaped\"}");
	raw(EV_ACTION_REQUESTED, 0, "{\"kind\":\"\\u0066etch\"}");
	for (int i = 0; i < ACTIONS; i++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT;
		uint64_t id = request(i % 3 ? "make" : "make check");
		buf_printf(&out, "needle number%d%s\n", i, i % 7 ? "" : " seventh");
		record_output(R, id, STREAM_OUT, out.data, out.len);
		record_output_end(R, id);
		end(id, i % 2);
		loop_turn(l, 0);
	}
	notes(l, 2 * STEPS_BLOCK);
	record_output(R, early, STREAM_OUT, "the needle at last\n", 19);
	record_output_end(R, early);
	end(early, 0);
	raw(EV_ACTION_DECIDED, early + 3, "{\"decision\":\"\\u0065dit\"}");
	note(early, "{\"level\":\"mark\",\"text\":\"here\"}");
	note(early + 3, "{\"level\":\"\\u006dark\"}");
	note(early + 4, "{\"level\":\"note\",\"text\":\"not a \\\"level\\\":\\\"mark\\\"\"}");
	raw(EV_ACTION_REQUESTED, 0, "{\"kind\":\"agent.end\"}");
	raw(EV_AGENT_END, 0, "{\"stop\":\"done\"}");
	notes(l, STEPS_BLOCK);
}

static bool on_step(void *self, uint64_t at, uint64_t head)
{
	(void)self, (void)at, (void)head;
	return true;
}

static size_t all(struct session *s, const char *text, size_t page, uint64_t *out)
{
	struct err err = ERR_INIT;
	struct filter *f = NULL;
	size_t total = 0, nr = page;
	if (filter_parse(&f, text, NULL, NULL, &err) < 0)
		printf("# %s\n", err.text);
	while (f && nr == page && total + page <= ROWS) {
		uint64_t after = total ? out[total - 1] : 0;
		if (filter_search(f, s, clock_wall_us(), after, page, out + total, &nr, &err) < 0) {
			printf("# %s\n", err.text);
			break;
		}
		total += nr;
	}
	filter_free(&f);
	return total;
}

static void same(struct session *s, const char *text, size_t want)
{
	static uint64_t whole[ROWS], paged[ROWS];
	static const size_t pages[] = { 1, 7, 256 };
	const size_t few = getenv("LONG") ? ACTIONS / 2 : 45;
	size_t nr = all(s, text, 2000, whole);
	ok(nr == want, "%s: %zu, want %zu", text, nr, want);
	for (size_t i = nr > few; i < ARRAY_LEN(pages); i++) { /* one by one only if they are few */
		size_t n = all(s, text, pages[i], paged);
		ok(n == nr && !memcmp(whole, paged, nr * sizeof(*whole)), "%s, %zu at a time: %zu", text, pages[i], n);
	}
}

static void queries(struct session *s)
{
	uint64_t first = 0;
	same(s, "needle", ACTIONS + 1);
	struct filter *f = NULL;
	struct err err = ERR_INIT;
	size_t nr = 0;
	ok(filter_parse(&f, "needle", NULL, NULL, &err) == 0 && filter_search(f, s, 0, 0, 1, &first, &nr, &err) == 0 && nr == 1 &&
		   first == early, "the one that says it last began first: %" PRIu64, first);
	filter_free(&f);
	same(s, "needle seventh", (ACTIONS + 6) / 7);
	same(s, "needle exit:1", ACTIONS / 2);
	same(s, "make needle", ACTIONS);
	same(s, "check needle not seventh", (ACTIONS + 2) / 3 - (ACTIONS + 20) / 21);
	same(s, "seventh or \"at last\"", (ACTIONS + 6) / 7 + 1);
	same(s, "needle nowhere", 0);
	same(s, "\"make check\" \"tail -f\"", 0); /* both are there, never together */
	same(s, "\"make check\" nowhere or \"at last\"", 1);
	same(s, "not needle kind:exec", 0);
	same(s, "\"tail -f\" \"at last\"", 1);
	same(s, "cmd:make", ACTIONS - (ACTIONS + 2) / 3);
	same(s, "cmd:\"MAKE check\"", (ACTIONS + 2) / 3);
	same(s, "cmd:make,\"tail -f log\" not exit:1", (ACTIONS - (ACTIONS + 2) / 3) / 2 + 1);
	same(s, "cmd:\"tail*\"", 1);
	same(s, "cmd=nowhere or cmd:\"* -f log\"", 1);
	same(s, "cmd:ma*", ACTIONS); /* too short for the index */
	same(s, "path:src/lexer.c", ACTIONS - (ACTIONS + 2) / 3);
	same(s, "path:/workspace/src/lexer.c cmd!=nothing", ACTIONS - (ACTIONS + 2) / 3);
	same(s, "path:nowhere", 0);
	same(s, "agent:fix kind:exec", ACTIONS + 1);
	same(s, "agent:nobody", 0);
	same(s, "not agent:nobody kind:exec", ACTIONS + 1);
	same(s, "agent:nobody or cmd:\"tail*\"", 1);
	same(s, "box:nowhere", 0);
	same(s, "by:per*", 1);
	same(s, "rule:no-push", 1);
	same(s, "rule:no-push by:rita", 1);
	same(s, "exit:0", ACTIONS / 2 + 1);
	same(s, "exit:7", 0);
	same(s, "exit:-1..1", ACTIONS + 1);
	same(s, "exit=1,137 needle", ACTIONS / 2);
	same(s, "kind:connect", 1);
	same(s, "kind:connect,exec", ACTIONS + 2);
	same(s, "kind:con* not kind:exec", 1);
	same(s, "verdict:ask", 1);
	same(s, "verdict:allow", 2); /* by users */
	same(s, "verdict:deny", 0);
	same(s, "risk:high", 0);
	same(s, "risk:none", ACTIONS + 4);
	same(s, "is:edited", 1); /* its body writes it as \u0065 */
	same(s, "is:marked", 2);
	same(s, "has:note", 4); /* and the session itself */
	same(s, "is:marked,edited", 2);
	same(s, "is:marked is:edited", 1);
	same(s, "is:marked or kind:fetch", 3);
	same(s, "not is:marked kind:connect,exec", ACTIONS);
	same(s, "has:note not is:marked", 2);
	same(s, "kind:agent.end", 2); /* an action may be called so, too */
	same(s, "kind:AGENT.end,agent.start", 3);
	same(s, "kind:agent.end,connect", 3);
	same(s, "kind:session.* or kind:agent.end", 4);
	same(s, "kind:honeytoken.seen", 0);
	same(s, "kind:fetch", 1); /* its body writes it as \u0066 */
	same(s, "tool:escaped", 1); /* its body writes it as \u0065 */
}

struct asks {
	const char *what; /* of a statement's text */
	int nr;
};

static int on_ask(unsigned event, void *self, void *stmt, void *sql)
{
	struct asks *a = self;
	(void)event, (void)sql;
	a->nr += strstr(sqlite3_sql(stmt), a->what) != NULL;
	return 0;
}

/* How many statements with @what a search up to @to makes. */
static int asked(struct session *s, const char *what, const char *text, uint64_t to, size_t want)
{
	static uint64_t found[ROWS];
	struct err err = ERR_INIT;
	struct filter *f = NULL;
	struct asks a = { what, 0 };
	size_t nr = 0;
	sqlite3_trace_v2(session_handle(s), SQLITE_TRACE_STMT, on_ask, &a);
	if (filter_parse(&f, text, NULL, NULL, &err) == 0)
		(void)!filter_search_to(f, s, 0, 0, to, ROWS, found, &nr, &err);
	sqlite3_trace_v2(session_handle(s), 0, NULL, NULL);
	filter_free(&f);
	ok(!err.text[0] && nr == want, "%s, up to %" PRIu64 ": %zu, want %zu %s", text, to, nr, want, err.text);
	return a.nr;
}

/* Below a "not" the index excludes no row. It is asked for text only, which saves reading the text of each row. */
static void below_not(struct session *s)
{
	const size_t make = ACTIONS - (ACTIONS + 2) / 3, seventh = (ACTIONS + 6) / 7;
	static const char index[] = "search MATCH";
	ok(asked(s, "min(agent)", "kind:exec not agent:nobody", STEPS_BLOCK, ACTIONS + 1) == 0, "a negated agent is not looked up");
	ok(asked(s, index, "has:output not cmd:make", STEPS_BLOCK, ACTIONS + 1 - make) == 0, "nor is a negated command");
	ok(asked(s, index, "has:output not (not cmd:make)", STEPS_BLOCK, make) == 0, "nor a double negation");
	ok(asked(s, index, "kind:exec not seventh", STEPS_BLOCK, ACTIONS + 1 - seventh) > 0, "text is");
}

/* Values listed by the blocks are not searched for. */
static void listed(struct session *s, uint64_t head, bool has)
{
	static const struct {
		const char *filter, *asks;
		size_t want;
	} q[] = { { "is:edited", "'$.decision')='edit'", 1 }, { "kind:agent.start", "glass_is", 1 } };
	for (size_t i = 0; i < ARRAY_LEN(q); i++) {
		int nr = asked(s, q[i].asks, q[i].filter, head, q[i].want);
		ok(has ? nr <= 3 : nr > 3, "%s reads the rows of %d stretches", q[i].filter, nr);
	}
	ok(asked(s, "glass_noted(r", "is:marked", head, 2) == 1, "notes are listed once, in any file");
}

/* A value leads to the rows where all its pieces stand, not only the longest. */
static void pieces(struct session *s)
{
	ok(asked(s, "glass_is", "cmd:\"tail xyz\"", early + 2, 0) == 0, "no row is read for pieces that never meet");
	ok(asked(s, "glass_is", "cmd:\"tail* log\"", early + 2, 1) > 0, "where they meet it is");
	ok(asked(s, "ifnull", "exit:77", early + 2, 0) == 0, "nor for an exit status that is nowhere");
	ok(asked(s, "glass_is", "kind:read", early + 2, 0) == 0 && asked(s, "glass_is", "verdict:deny", early + 2, 0) == 0,
	   "or a kind, or a verdict");
	ok(asked(s, "glass_is", "kind:note", early + 2, 0) == 0, "or the name of an event kind");
	ok(asked(s, "glass_is", "kind:*e*", early + 2, 3) > 0, "rows are read for a kind with wildcards");
}

/* Events that the end of the session left out of the index are added to it; results stay the same. */
static void indexed(const char *path)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	struct steps t;
	uint64_t wrong = 1;
	ok(deferred_index_build(path, on_step, NULL, &err) == 1 && session_open(&s, path, &err) == 0, "the index is made whole %s", err.text);
	steps_init(&t, session_handle(s));
	ok(t.covered >= 3 * STEPS_BLOCK && steps_reach(&t, 0, STEPS_BLOCK) > 2 * STEPS_BLOCK,
	   "blocks up to %" PRIu64 "; the early action's last step is in a late one", t.covered);
	steps_release(&t);
	ok(steps_check(session_handle(s), &wrong) == 0 && !wrong, "they say what the events say");
	queries(s);
	below_not(s);
	pieces(s);
	ok(session_valued(s), "blocks of values reach as far");
	listed(s, session_head(s), true);
	session_close(&s);
}

/* A file from before there were blocks of values; its next writer makes them. */
static void before_values(const char *path)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	sqlite3 *db = open_rw(path);
	run(db, "DROP TABLE search_value");
	sqlite3_close(db);
	ok(session_open(&s, path, &err) == 0 && !session_valued(s), "a file without blocks %s", err.text);
	queries(s);
	listed(s, session_head(s), false);
	session_close(&s);
	ok(deferred_index_build(path, on_step, NULL, &err) == 1 && session_open(&s, path, &err) == 0 && session_valued(s), "they are made %s", err.text);
	queries(s);
	session_close(&s);
}

struct beside {
	sqlite3 *db;
	uint64_t upto;
	int statements, rc;
	bool left;
};

/* The writer adds its next block between two statements of a reader. */
static int on_statement(unsigned what, void *self, void *stmt, void *sql)
{
	struct beside *b = self;
	(void)what, (void)stmt, (void)sql;
	if (++b->statements == 3)
		b->rc = steps_add(b->db, b->upto, &b->left);
	return 0;
}

/* Blocks are added step by step. A block that arrives during a check and extends the first one is not damage. */
static void added_meanwhile(const char *path)
{
	sqlite3 *looks = open_rw(path);
	struct beside b = { .db = open_rw(path), .upto = 3 * STEPS_BLOCK, .rc = -1 };
	struct steps t;
	uint64_t wrong = 1;
	run(b.db, "PRAGMA journal_mode = WAL; DELETE FROM search_row");
	ok(steps_add(b.db, b.upto, &b.left) == SQLITE_OK && b.left, "not all blocks come at once");
	steps_init(&t, b.db);
	ok(t.covered == 2 * STEPS_BLOCK && steps_check(looks, &wrong) == SQLITE_OK && !wrong, "blocks up to %" PRIu64 " are whole", t.covered);
	sqlite3_trace_v2(looks, SQLITE_TRACE_STMT, on_statement, &b);
	ok(steps_check(looks, &wrong) == SQLITE_OK && !wrong, "nor does one that comes meanwhile make them wrong: %" PRIu64, wrong);
	ok(b.rc == SQLITE_OK && !b.left, "it came, and was the last: %d", b.rc);
	sqlite3_trace_v2(looks, 0, NULL, NULL);
	ok(steps_check(looks, &wrong) == SQLITE_OK && !wrong, "all of them are whole");
	sqlite3_close(looks);
	run(b.db, "PRAGMA journal_mode = DELETE");
	sqlite3_close(b.db);
}

/* Rows from outside the recorder are reported, and searches give the results without them. */
static void foreign(const char *path)
{
	static const char *const rows[] = {
		"INSERT INTO search_row VALUES(1 << 40, 5, x'00')",
		"INSERT INTO search_row VALUES(9223372036854775807, 9223372036854775807, x'00')",
		"INSERT INTO search_row VALUES(-1, 4096, x'00')",
		"UPDATE search_row SET reach = 1 << 62",
		"UPDATE search_row SET rows = x'ff'",
		"UPDATE search_row SET rows = zeroblob(50000000) WHERE block = 0",
		"DELETE FROM search_row WHERE block = 1",
	};
	sqlite3 *db = open_rw(path);
	bool left = true;
	run(db, "CREATE TEMP TABLE kept AS SELECT * FROM search_row");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct session *s = NULL;
		struct err err = ERR_INIT;
		uint64_t wrong = 0;
		run(db, rows[i]);
		ok(session_open(&s, path, &err) == 0 && steps_check(session_handle(s), &wrong) == SQLITE_OK && wrong, "%s: told, event %" PRIu64,
		   rows[i], wrong);
		same(s, "needle seventh", (ACTIONS + 6) / 7);
		same(s, "\"tail -f\" \"at last\"", 1);
		session_close(&s);
		run(db, "DELETE FROM search_row; INSERT INTO search_row SELECT * FROM kept");
	}
	uint64_t wrong = 1;
	run(db, "DELETE FROM search_row; INSERT INTO search_row VALUES(-1, 4096, x'00'), (1 << 40, 5, x'00')");
	ok(steps_add(db, STEPS_BLOCK, &left) == SQLITE_OK && !left && steps_check(db, &wrong) == SQLITE_OK && !wrong,
	   "who writes puts its blocks in their place");
	run(db, "DELETE FROM search_row; INSERT INTO search_row SELECT * FROM kept; DROP TABLE kept");
	sqlite3_close(db);
}

/* An altered block is reported. */
static void altered(const char *path)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	uint64_t wrong = 0;
	sqlite3 *db = NULL;
	ok(sqlite3_open(path, &db) == SQLITE_OK && sqlite3_exec(db, "UPDATE search_row SET reach = reach + 1 WHERE block = 1", NULL, NULL, NULL) == SQLITE_OK,
	   "a block is altered");
	sqlite3_close(db);
	ok(session_open(&s, path, &err) == 0 && steps_check(session_handle(s), &wrong) == 0 && wrong == STEPS_BLOCK + 1,
	   "the second block is named: %" PRIu64, wrong);
	session_close(&s);
}

/* An output that cannot be unpacked may hold the words: nothing is found without saying so. */
static void unreadable(const char *path)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	struct filter *f = NULL;
	uint64_t seqs[8];
	size_t nr = 0;
	sqlite3 *db = open_rw(path);
	run(db, "DROP TRIGGER segment_kept");
	run(db, "UPDATE segment SET codec = 99 WHERE action IN (SELECT action FROM segment LIMIT 20)");
	sqlite3_close(db);
	ok(session_open(&s, path, &err) == 0 && filter_parse(&f, "needle", NULL, NULL, &err) == 0, "opened %s", err.text);
	ok(filter_search(f, s, 0, 0, 8, seqs, &nr, &err) < 0 || session_search(s, "needle", 0, 8, seqs, &nr, &err) < 0,
	   "a search says what it cannot read: %s", err.text);
	filter_free(&f);
	session_close(&s);
}

/* Up to a number that no event has. */
static void up_to_a_gap(struct session *s)
{
	static const char *const texts[] = { "needle seventh", "kind:exec agent:fix", "kind:exec", "cmd:make", "not nowhere kind:exec" };
	static const size_t want[] = { (ACTIONS + 6) / 7, ACTIONS + 1, ACTIONS + 1, ACTIONS - (ACTIONS + 2) / 3, ACTIONS + 1 };
	static uint64_t found[ROWS];
	const uint64_t gap = UINT64_C(1) << 61;
	struct err err = ERR_INIT;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct filter *f = NULL;
		size_t nr = 1;
		asked(s, "", texts[i], gap, want[i]);
		ok(filter_parse(&f, texts[i], NULL, NULL, &err) == 0 &&
			   filter_search_to(f, s, 0, gap - 9, gap, ROWS, found, &nr, &err) == 0 && nr == 0, "%s, nothing within it %s",
		   texts[i], err.text);
		nr = 1;
		ok(f && filter_search_to(f, s, 0, gap, 1, ROWS, found, &nr, &err) == 0 && nr == 0, "nor backwards %s", err.text);
		filter_free(&f);
	}
}

static uint64_t next_of(struct session *s, uint64_t after)
{
	struct err err = ERR_INIT;
	uint64_t seq = UINT64_MAX;
	return session_next(s, after, &seq, &err) == 0 ? seq : UINT64_MAX;
}

/* An event far behind the others, and an index that claims to reach it: searches skip the gap. */
static void far_off(const char *path)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	uint64_t seqs[8];
	size_t nr = 0;
	sqlite3 *db = open_rw(path);
	run(db, "INSERT INTO event SELECT 1 << 62, 0, 0, 0, 0, ts_us, mono_us, 420, salt, '{\"text\":\"behind all\"}', body_hash, chain "
		"FROM event WHERE seq = 1");
	for (int i = 0; i < 2; i++) {
		ok(session_open(&s, path, &err) == 0 && next_of(s, 1) == 2 && next_of(s, UINT64_C(1) << 62) == 0, "opened %s", err.text);
		same(s, "needle seventh", (ACTIONS + 6) / 7);
		same(s, "\"behind all\"", 1 - (size_t)i); /* the index, if it reaches there, has no such words */
		ok(session_search(s, "\"behind all\"", 0, 8, seqs, &nr, &err) == 0 && nr == 1 - (size_t)i, "words alone: %zu", nr);
		up_to_a_gap(s);
		session_close(&s);
		run(db, "UPDATE mark SET value = 1 << 62 WHERE name = 'indexed'");
	}
	/* blocks end at missing events, and building them ends */
	bool left = true;
	uint64_t wrong = 1;
	int rc = SQLITE_OK;
	run(db, "DELETE FROM search_row");
	for (int i = 0; i < 20 && rc == SQLITE_OK && left; i++)
		rc = steps_add(db, 10 * STEPS_BLOCK, &left);
	ok(rc == SQLITE_OK && !left && steps_check(db, &wrong) == SQLITE_OK && !wrong, "blocks up to the gap: %d, %" PRIu64, rc, wrong);
	sqlite3_close(db);
}

int main(void)
{
	char dir[] = "/tmp/t_filter_search.XXXXXX", path[300];
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct session *s = NULL;
	const struct record_ops none = { 0 };
	hash_init();
	if (!mkdtemp(dir) || loop_new(&l, &err) < 0 || record_create(&R, l, dir, "search", NULL, &none, NULL, &err) < 0)
		return 1;
	json_t *name = json_object();
	json_put_str(name, "name", "fix");
	agent = record_append_json(R, EV_AGENT_START, 1, 0, 0, 0, name);
	fill(l);
	snprintf(path, sizeof(path), "%s", record_path(R));
	ok(record_close(&R, json_object(), &err) == 0 && session_open(&s, path, &err) == 0, "a session is made %s", err.text);
	queries(s);
	session_close(&s);
	indexed(path);
	before_values(path);
	added_meanwhile(path);
	foreign(path);
	altered(path);
	far_off(path);
	unreadable(path);
	loop_turn(l, 0);
	loop_free(l);
	if (dir_remove(dir, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}
