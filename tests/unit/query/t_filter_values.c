/* Blocks of values never change the results: on a random session with missing and odd numbers, missing ends, a clock
 * that goes back, and damaged blocks. */
#include "by_hand.h"
#include "tap.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "query/filter.h"
#include "record/deferred_index.h"
#include "record/read/session.h"
#include "record/read/values.h"
#include "record/record.h"

enum { AFTERWARDS = 11, EVENTS = 4 * VALUES_BLOCK + 1000, AGENTS = 5, OPEN = 40, ROWS = 2 * EVENTS };

static struct record *R;
static struct loop *L;
static uint64_t chance_state = 11;
static int64_t now_us = INT64_C(1767225600000000); /* 2026-01-01 */
static uint64_t agents[AGENTS], open_actions[OPEN];
static int turn[AGENTS];
static size_t nr_open;

static uint64_t chance(uint64_t below)
{
	chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
	return (chance_state >> 33) % below;
}

/* Now and then it goes back, by more than it went on since. */
static int64_t wall(void)
{
	static uint64_t calls;
	if (++calls % 9000 == 0)
		now_us -= INT64_C(3600) * 1000000;
	return now_us += (int64_t)chance(2000000);
}

static int64_t mono(void)
{
	static int64_t us;
	return us += 1000;
}

static uint64_t raw(uint16_t kind, uint64_t cause, uint64_t agent, uint64_t action, const char *body)
{
	const struct event ev = { .cause = cause, .agent = agent, .action = action, .kind = kind, .body = body, .len = strlen(body) };
	return record_append(R, &ev);
}

/* Mostly a number; sometimes nothing, or another kind of value. */
static void put_value(struct buf *out, const char *key, uint64_t below)
{
	static const char *const odd[] = { "null", "1.5", "\"7\"", "\"x\"", "true", "[7]", "-3", "9007199254740993", "1e3" };
	if (chance(4) == 0)
		return;
	if (chance(150) == 0)
		buf_printf(out, ",\"%s\":%s", key, odd[chance(ARRAY_LEN(odd))]);
	else
		buf_printf(out, ",\"%s\":%" PRIu64, key, chance(100) ? chance(below) : below * chance(50));
}

static void end_one(uint64_t agent)
{
	static const char *const ends[] = { "ok", "ok", "ok", "ok", "failed", "denied", "killed" };
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	size_t i = chance(nr_open);
	uint64_t action = open_actions[i];
	buf_printf(&b, "{\"end\":\"%s\"", ends[chance(ARRAY_LEN(ends))]);
	put_value(&b, "code", 3);
	put_value(&b, "dur_us", 5000000);
	put_value(&b, "cost_uusd", 9000);
	put_value(&b, "tokens", 4000);
	put_value(&b, "lines", 40);
	if (chance(50) == 0)
		buf_puts(&b, ",\"signal\":9");
	buf_putc(&b, '}');
	raw(EV_ACTION_ENDED, action, agent, action, b.data);
	if (chance(60)) /* the others end twice or stay open */
		open_actions[i] = open_actions[--nr_open];
}

/* False: nobody decides. */
static bool judge(uint64_t agent, uint64_t action)
{
	static const char *const bodies[] = { "{\"verdict\":\"ask\",\"risk\":\"high\"}", "{\"verdict\":\"deny\",\"risk\":\"low\"}", "{\"verdict\":\"ALLOW\"}",
					      "{\"verdict\":\"Ask\",\"risk\":\"odd\"}", "{\"verdict\":7,\"risk\":\"none\"}",
					      "{\"verdict\":\"allow\",\"risk\":\"medium\",\"rules\":[{\"verdict\":\"ask\",\"name\":\"r\"}]}" };
	raw(EV_ACTION_JUDGED, action, agent, action, chance(30) ? "{\"verdict\":\"allow\",\"rules\":[]}" : bodies[chance(ARRAY_LEN(bodies))]);
	if (chance(40) == 0) {
		static const char *const decisions[] = { "approve", "edit", "promote", "deny", "kill", "\\u0065dit" };
		CLEANUP(free_ptr) char *body = mem_printf("{\"decision\":\"%s\",\"by\":\"human\"}", decisions[chance(ARRAY_LEN(decisions))]);
		raw(EV_ACTION_HELD, action, agent, action, "{}");
		if (chance(3) == 0)
			return false;
		raw(EV_ACTION_DECIDED, action, agent, action, body);
	}
	if (chance(8))
		raw(EV_ACTION_STARTED, action, agent, action, "{}");
	return true;
}

static void request(uint64_t agent)
{
	static const char *const bodies[] = { "{\"kind\":\"exec\",\"cmd\":\"make test\"}", "{\"kind\":\"exec\",\"argv\":[\"sh\",\"-c\",\"pip3 install x\"]}",
					      "{\"kind\":\"connect\",\"host\":\"Evil.example\"}", "{\"kind\":\"connect\",\"host\":\"good.example\"}",
					      "{\"kind\":\"write\",\"data\":\"a\\nb\\nc\"}", "{\"kind\":\"snapshot\",\"\\u0068ost\":\"hidden.example\"}",
					      "{\"kind\":\"connect\",\"host\":443}", "{\"kind\":\"agent.end\",\"cost_uusd\":77}", "{\"kind\":\"write\",\"data\":7}" };
	uint64_t action = raw(EV_ACTION_REQUESTED, 1, agent, 0, bodies[chance(3) ? 0 : chance(ARRAY_LEN(bodies))]);
	if (!judge(agent, action) && chance(2))
		return;
	while (nr_open == OPEN)
		end_one(agent);
	open_actions[nr_open++] = action;
}

static void one(size_t a)
{
	static const char *const changes[] = { "{\"changes\":[]}", "{\"changes\":[{\"path\":\"x\"}]}", "{\"changes\":7}", "{}" };
	static const char *const notes[] = { "{\"level\":\"note\",\"text\":\"sea\"}", "{\"level\":\"mark\"}", "{\"level\":\"\\u006dark\"}" };
	uint64_t agent = agents[a], on = nr_open ? open_actions[chance(nr_open)] : 1;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	switch (chance(12)) {
	case 0:
		buf_printf(&b, chance(60) ? "{\"n\":%d}" : "{\"n\":\"%d\"}", ++turn[a]);
		raw(EV_AGENT_TURN, 1, agent, 0, b.data);
		break;
	case 1:
		raw(EV_SNAPSHOT_TAKEN, 1, agent, chance(9) ? on : 0, changes[chance(ARRAY_LEN(changes))]);
		break;
	case 2:
		raw(EV_NOTE, chance(3) ? agent : on, agent, 0, notes[chance(30) ? 0 : chance(ARRAY_LEN(notes))]);
		break;
	case 3:
		raw((uint16_t)(chance(50) ? 431 : 600 + chance(3)), 1, agent, on, "{\"cost_uusd\":4321,\"text\":\"while (isdigit(peek))\"}");
		break;
	case 4:
		if (nr_open) /* of an action that ends its output with it */
			record_output(R, on, STREAM_OUT, "segment of output\n", 18);
		break;
	case 5:
		if (chance(400) == 0)
			raw(EV_OUTPUT, on, agent, on, "{\"stream\":9,\"said\":\"no recorder's xylophone\"}");
		break;
	case 6:
	case 7:
	case 8:
		if (nr_open)
			end_one(agent);
		break;
	default:
		request(agent);
		break;
	}
}

static void fill(void)
{
	for (size_t a = 0; a < AGENTS; a++) {
		CLEANUP(free_ptr) char *body = mem_printf("{\"name\":\"agent%zu\"}", a);
		agents[a] = raw(EV_AGENT_START, 1, 0, 0, body);
	}
	while (record_head(R) < EVENTS) {
		one(chance(AGENTS));
		if (record_head(R) % 64 == 0)
			loop_turn(L, 0);
	}
}

static const char *const asks[] = {
	"dur>4900ms", "dur<1ms", "dur>1h", "dur>=3s dur<3100ms", "dur:2s..2010ms", "dur:0", "cost>$0.2", "cost:$0.004321", "cost<$0.0001", "tokens>100k",
	"tokens:5,17", "tokens<=1", "lines>100", "lines:3", "exit:2", "exit>2", "exit:-3", "exit:1,7", "exit!=0 dur>4990ms", "exit<0", "turn:1", "turn:250",
	"turn:3..5", "turn>200", "turn<3", "turn>3", "turn>3 dur>4s", "turn>3 turn<200 is:error", "turn:100000", "turn:7,300 dur>4s", "agent:agent2 turn:100..110", "is:pending", "is:live", "is:error",
	"is:edited", "is:marked", "has:note", "has:diff", "has:diff kind:exec", "kind:snapshot", "kind:snapshot has:diff", "kind:note", "kind:end",
	"kind:model.reply", "kind:agent.end", "kind:agent.*", "kind:sna*", "kind:*t", "kind:exec,note dur>4990ms", "kind:write lines>2", "kind!=exec dur>4900ms",
	"kind~^agent", "host:evil.example", "host=evil.example", "host=Evil.example", "host:nowhere", "host:*.example", "host:hidden.example", "host:443",
	"host~^E", "host!=good.example kind:connect", "verdict:ask", "verdict:deny", "verdict:allow", "verdict:held", "verdict:ask risk:high", "risk:high",
	"risk:medium,low", "risk:none dur>4990ms", "verdict:held or dur>4990ms", "not dur<4990ms kind:exec", "not (is:error or kind:exec)",
	"since:2026-01-01T03:00", "until:2026-01-01T01:00", "since:2026-01-01T02:00 until:2026-01-01T02:10", "since:2027-01-01", "until:2020-01-01",
	"since:2026-01-01T02:00 until:2026-01-01T02:30 is:error", "text:isdigit", "text:\"make test\" exit:1", "text~isdigit.*peek", "text~xyl[a-z]+phone",
	"text:xylophone", "text~segment", "text:hash", "text~x*kind", "text~(made|make).test", "text~(xylo(ph|f)one|Evil)", "text~(nowhere|Evil)?x", "text~((evil|Evil)+|pip3).*e", "text~(sea){2}|(Evil){1}", "text~nowhere|Evil", "text~nowhere|E?v?i?l", "text~pip3?",
	"text:\"*make*test*\"", "text~\"evil\"", "cmd~^pip3", "cmd:\"make*\"", "cmd~pip[0-9].install", "cmd~(a|b)", "sea dur>1s", "sea is:marked",
	"make exit:2 dur>4900ms", "id:1000..9000 is:error dur>4s", "is:marked,edited", "is:pending,error host:*", "has:note,diff kind:exec",
};

static size_t all(struct session *s, const char *text, size_t page, uint64_t *out)
{
	struct err err = ERR_INIT;
	struct filter *f = NULL;
	size_t total = 0, nr = page;
	if (filter_parse(&f, text, NULL, NULL, &err) < 0)
		printf("# %s\n", err.text);
	while (f && nr == page && total + page <= ROWS) {
		if (filter_search(f, s, 0, total ? out[total - 1] : 0, page, out + total, &nr, &err) < 0) {
			ok(false, "%s: %s", text, err.text);
			break;
		}
		total += nr;
	}
	filter_free(&f);
	return total;
}

/* As they come: never one too many, never one left out. */
static size_t all_soon(struct session *s, const char *text, uint64_t *out)
{
	struct err err = ERR_INIT;
	struct filter *f = NULL;
	size_t total = 0, nr = 0;
	uint64_t at = 0;
	if (filter_parse(&f, text, NULL, NULL, &err) < 0)
		return ROWS;
	while (at < INT64_MAX && filter_search_soon(f, s, 0, at, 0, 50, out + total, &nr, &at, &err) == 0)
		total += nr;
	filter_free(&f);
	return total;
}

static uint64_t want[ARRAY_LEN(asks)][ROWS], got[ROWS];
/* Without LONG, one of each few filters, and pages of short lists only. */
static size_t one_of = 3, paged_rows = 120;
static size_t nr_want[ARRAY_LEN(asks)];

static void find_wanted(struct session *s, size_t nr)
{
	size_t none = 0;
	for (size_t i = 0; i < nr; i++) {
		nr_want[i] = all(s, asks[i], ROWS / 2, want[i]);
		none += nr_want[i] == 0;
		if (i < AFTERWARDS)
			ok(all_soon(s, asks[i], got) == nr_want[i], "%s, as they come", asks[i]);
	}
	ok(none < nr / 5, "most find something: %zu of %zu do not", none, nr);
}

static bool as_wanted(size_t i, size_t nr)
{
	return nr == nr_want[i] && !memcmp(got, want[i], nr * sizeof(*got));
}

/* One of each @of filters, or each of them. */
static void same(struct session *s, const char *what, bool paged, size_t of, size_t from)
{
	for (size_t i = from % of; i < ARRAY_LEN(asks); i += of) {
		size_t nr = all(s, asks[i], ROWS / 2, got);
		ok(as_wanted(i, nr), "%s, %s: %zu, want %zu", what, asks[i], nr, nr_want[i]);
		if (!paged || nr > paged_rows)
			continue;
		nr = all(s, asks[i], 7, got);
		ok(as_wanted(i, nr), "%s, seven at a time: %zu", asks[i], nr);
		nr = all_soon(s, asks[i], got);
		ok(as_wanted(i, nr), "%s, as they come: %zu", asks[i], nr);
	}
}

static void on_reading(void *self, uint64_t at, uint64_t head)
{
	uint64_t *last = self;
	*last = at <= head && at >= *last ? at : UINT64_MAX;
}

/* A caller is notified of the progress while every event is read. */
static void told(const char *path)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	uint64_t last = 0;
	ok(session_open(&s, path, &err) == 0, "opened %s", err.text);
	session_on_reading(s, on_reading, &last);
	all(s, "text~[0-9]z", ROWS / 2, got);
	ok(last == session_head(s), "read up to %" PRIu64, last);
	session_close(&s);
}

static uint64_t wrong_of(sqlite3 *db)
{
	uint64_t wrong = 0;
	ok(values_check(db, &wrong) == SQLITE_OK, "they are checked");
	return wrong;
}

static void with(const char *path, const char *what, bool paged, size_t of, size_t from)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	if (ok(session_open(&s, path, &err) == 0, "%s: opened %s", what, err.text))
		same(s, what, paged, of, from);
	session_close(&s);
}

/* Rows that no recorder has written: the events are asked, and verify tells. */
static void spoilt(const char *path, sqlite3 *db)
{
	static const char *const how[] = {
		"DELETE FROM search_value WHERE place >> 20 = 2",
		"UPDATE search_value SET rows = x'ffffff' WHERE length(rows) > 0",
		"UPDATE search_value SET rows = zeroblob(90000000) WHERE place = (1 << 20) + 3",
		"UPDATE search_value SET rows = x'' WHERE place & 0xfffff > 0",
		"INSERT INTO search_value VALUES(-5, 0, 0, x''), (1 << 60, 0, 0, x'')",
		"INSERT INTO search_value VALUES((4000 << 20) + 3, 0, 0, x'00')",
	};
	run(db, "CREATE TEMP TABLE kept AS SELECT * FROM search_value");
	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		run(db, how[i]);
		ok(wrong_of(db), "told: %s", how[i]);
		with(path, how[i], false, ARRAY_LEN(how), i);
		run(db, "DELETE FROM search_value; INSERT INTO search_value SELECT * FROM kept");
		ok(!wrong_of(db), "all is well again");
	}
	static const char *const lies[] = {
		"UPDATE search_value SET high = high - 1 WHERE place = (1 << 20) + 2",
		"UPDATE search_value SET low = low + 1 WHERE place = (1 << 20)",
		"UPDATE search_value SET rows = substr(rows, 1, length(rows) - 1) WHERE place = (3 << 20) + 35",
		"DELETE FROM search_value WHERE place = (SELECT min(place) FROM search_value WHERE place & 0xfffff = 34)",
	};
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		run(db, lies[i]);
		uint64_t wrong = wrong_of(db);
		ok(i == 3 ? wrong > 0 : wrong == VALUES_BLOCK * (i == 2 ? 3 : 1) + 1, "the block is named: %" PRIu64 ", %s", wrong, lies[i]);
		run(db, "DELETE FROM search_value; INSERT INTO search_value SELECT * FROM kept");
	}
	run(db, "INSERT OR REPLACE INTO search_value VALUES((1 << 20) + 34, 0, 0, x'000101')");
	run(db, "DELETE FROM search_value WHERE place = (1 << 20) + 34 AND EXISTS (SELECT 1 FROM kept WHERE place = (1 << 20) + 34)");
	run(db, "INSERT OR IGNORE INTO search_value SELECT * FROM kept; DROP TABLE kept");
	ok(!wrong_of(db), "actions that have ended since may be listed as open");
}

static void add_all(sqlite3 *db, uint64_t upto)
{
	bool left = true;
	for (int i = 0; i < 50 && left; i++)
		ok(values_add(db, upto, &left) == SQLITE_OK, "blocks are added");
	ok(!left, "all of them");
}

/* An event of an action that comes later, which no recorder writes: from its block on the events are asked. */
static void foreign(const char *path, sqlite3 *db)
{
	run(db, "DROP TRIGGER event_kept; DELETE FROM search_value; DELETE FROM search_row");
	run(db, "UPDATE event SET action = seq + 9000 WHERE seq = 8200 + (SELECT min(seq) FROM event WHERE seq > 8200 AND kind = 105) - 8200");
	run(db, "UPDATE mark SET value = 0 WHERE name = 'indexed'");
	struct session *s = NULL;
	struct err err = ERR_INIT;
	if (session_open(&s, path, &err) == 0)
		find_wanted(s, AFTERWARDS);
	session_close(&s);
	run(db, "UPDATE mark SET value = (SELECT max(seq) FROM event) WHERE name = 'indexed'");
	add_all(db, EVENTS);
	ok(!wrong_of(db), "the place is marked");
	for (size_t i = 0; i < AFTERWARDS; i++) {
		ok(session_open(&s, path, &err) == 0 && session_valued(s), "nothing is left to do");
		size_t nr = all(s, asks[i], ROWS / 2, got);
		ok(as_wanted(i, nr), "%s: %zu, want %zu", asks[i], nr, nr_want[i]);
		session_close(&s);
	}
}

/* While it is recorded: blocks behind which nothing is indexed yet. */
static void while_it_runs(const char *path)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	struct values v;
	int64_t until = clock_mono_us() + 20000000;
	for (;;) {
		loop_turn(L, 20);
		if (session_open(&s, path, &err) < 0)
			continue;
		values_init(&v, session_handle(s));
		values_release(&v);
		if (v.covered || clock_mono_us() > until)
			break;
		session_close(&s);
	}
	ok(v.covered > 0 && v.covered < record_head(R), "blocks up to %" PRIu64 " of %" PRIu64, v.covered, record_head(R));
	static const char *const some[] = { "dur>4900ms", "is:pending", "is:live", "turn:3..5", "kind:agent.*", "is:marked", "exit:2" };
	for (size_t i = 0; i < ARRAY_LEN(some); i++) {
		static uint64_t twice[ROWS];
		size_t nr = all(s, some[i], ROWS / 2, got);
		CLEANUP(free_ptr) char *slowly = mem_printf("not not %s", some[i]); /* below a "not" nothing leads to rows */
		ok(nr == all(s, slowly, ROWS / 2, twice) && !memcmp(got, twice, nr * sizeof(*got)), "running, %s: %zu", some[i], nr);
	}
	session_close(&s);
}

static void set_flag(void *self)
{
	*(bool *)self = true;
}

/* Blocks lose a redacted event, too. */
static void redacted(const char *path)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	uint64_t seqs[1];
	size_t nr = 0;
	bool done = false;
	sqlite3 *db = NULL;
	struct filter *f = NULL;
	ok(session_open(&s, path, &err) == 0 && filter_parse(&f, "dur>10s", NULL, NULL, &err) == 0 && filter_search(f, s, 0, 0, 1, seqs, &nr, &err) == 0 && nr,
	   "an action that took long %s", err.text);
	filter_free(&f);
	CLEANUP(free_ptr) char *sql = mem_printf("SELECT seq FROM event WHERE action = %" PRIu64 " AND action > 0 AND kind = 105", seqs[0]);
	sqlite3_stmt *st = NULL;
	sqlite3_prepare_v2(session_handle(s), sql, -1, &st, NULL);
	for (int rc = sqlite3_step(st); rc == SQLITE_ROW; rc = sqlite3_step(st), done = false) {
		ok(record_redact(R, "event", (uint64_t)sqlite3_column_int64(st, 0), NULL, "me", "test", set_flag, &done, &err) == 0, "is redacted %s", err.text);
		for (int i = 0; i < 500 && !done; i++)
			loop_turn(L, 20);
	}
	sqlite3_finalize(st);
	session_close(&s);
	ok(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK && !wrong_of(db), "the block is made anew");
	sqlite3_close(db);
}

static bool on_step(void *self, uint64_t at, uint64_t head)
{
	(void)self, (void)at, (void)head;
	return true;
}

int main(void)
{
	static const struct record_fixed fixed = { .wall_us = wall, .mono_us = mono, .id = "values", .host = "fixture" };
	char dir[] = "/tmp/t_filter_values.XXXXXX", path[300];
	struct err err = ERR_INIT;
	if (getenv("LONG"))
		one_of = 1, paged_rows = 500;
	unsetenv("EVENT_CHECK"); /* bodies with fields of wrong types are recorded on purpose */
	struct session *s = NULL;
	const struct record_ops none = { 0 };
	hash_init();
	record_fix(&fixed);
	if (!mkdtemp(dir) || loop_new(&L, &err) < 0 || record_create(&R, L, dir, "values", NULL, &none, NULL, &err) < 0)
		return 1;
	fill();
	snprintf(path, sizeof(path), "%s", record_path(R));
	while_it_runs(path);
	redacted(path);
	ok(record_close(&R, json_object(), &err) == 0 && deferred_index_build(path, on_step, NULL, &err) == 1, "a session is made %s", err.text);
	sqlite3 *db = open_rw(path);
	run(db, "CREATE TEMP TABLE aside AS SELECT * FROM search_value; DELETE FROM search_value; UPDATE mark SET value = 0 WHERE name = 'indexed'");
	if (ok(session_open(&s, path, &err) == 0 && !session_indexed(s), "without any index %s", err.text))
		find_wanted(s, ARRAY_LEN(asks));
	session_close(&s);
	run(db, "UPDATE mark SET value = (SELECT max(seq) FROM event) WHERE name = 'indexed'");
	with(path, "without blocks", false, 2 * one_of, 0);
	run(db, "INSERT INTO search_value SELECT * FROM aside; DROP TABLE aside");
	ok(!wrong_of(db), "the recorder's blocks are right");
	with(path, "with blocks", true, 1, 0);
	run(db, "UPDATE mark SET value = 5000 WHERE name = 'indexed'");
	with(path, "with blocks, and words of some", false, one_of, 1);
	run(db, "UPDATE mark SET value = 0 WHERE name = 'indexed'");
	with(path, "with blocks, and no words", false, one_of, 0);
	run(db, "CREATE TEMP TABLE aside AS SELECT * FROM search_row; DELETE FROM search_row");
	with(path, "with blocks of values alone", false, 4, 1);
	run(db, "INSERT INTO search_row SELECT * FROM aside; DROP TABLE aside; UPDATE mark SET value = (SELECT max(seq) FROM event) WHERE name = 'indexed'");
	told(path);
	run(db, "DELETE FROM search_value");
	add_all(db, 3 * VALUES_BLOCK);
	with(path, "with some", false, one_of, 2);
	add_all(db, EVENTS);
	ok(!wrong_of(db), "those that come later, too");
	spoilt(path, db);
	foreign(path, db);
	sqlite3_close(db);
	loop_turn(L, 0);
	loop_free(L);
	if (dir_remove(dir, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}
