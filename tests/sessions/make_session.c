/* Writes a believable session of any size: agents that think, run commands, ask, are denied, edit, are approved.
 *
 *     make_session DIR NAME EVENTS [AGENTS [SEED]] [--live] [--crash]
 *
 * The same arguments give the same events, times and id; salts and signatures differ. Prints the path of the file.
 * --crash leaves it as a killed supervisor does, --live holds it open until standard input ends; each line that comes
 * there is a line of output of a command that runs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/record.h"

enum { AGENTS_MOST = 2000, NAMES_AGAIN = 64, TURN_EVENTS = 400 };

static uint64_t chance_state;
static int64_t now_us = 1763735527000000; /* 2025-11-21 14:32:07 UTC */

static uint64_t chance(uint64_t below)
{
	chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
	return (chance_state >> 33) % below;
}

static int64_t wall(void)
{
	return now_us;
}

static int64_t mono(void)
{
	return now_us - 1763700000000000;
}

static void pass(uint64_t us)
{
	now_us += (int64_t)(us / 2 + chance(us));
}

struct agent {
	uint64_t id, box;
	char name[16];
	int turn, snapshots;
	uint64_t snapshot;
};

struct maker {
	struct record *r;
	struct loop *l;
	struct agent *agent; /* owned */
	size_t agents;
	uint64_t want;
	struct hash system;
};

static const char *const names[] = { "ada", "brook", "chen", "dara", "eno", "fumi", "gil", "hana" };
static const char *const files[] = { "src/lexer.c", "src/parser.c", "src/main.c", "include/lexer.h", "tests/t_lexer.c",
				     "README.md", "docs/使い方.md", "Makefile" };
static const struct {
	const char *cmd;
	const char *out;
	const char *err;
	int code;
} commands[] = {
	{ "make -j2 test", "cc -O2 -c src/lexer.c -o build/lexer.o\ncc -O2 -c src/parser.c -o build/parser.o\nrunning 42 tests\n",
	  "tests/t_lexer.c:57: assertion failed: next(lx) == TOKEN_NUMBER\nmake: *** [Makefile:31: test] Error 1\n", 2 },
	{ "make -j2 test", "cc -O2 -c src/lexer.c -o build/lexer.o\nrunning 42 tests\n\x1b[32mall 42 passed\x1b[0m\n", "", 0 },
	{ "ls -la src", "total 48\n-rw-r--r-- 1 agent agent 9120 Nov 21 14:31 lexer.c\n"
	  "-rw-r--r-- 1 agent agent 15044 Nov 21 14:31 parser.c\n", "", 0 },
	{ "git diff --stat", " src/lexer.c | 4 ++--\n 1 file changed, 2 insertions(+), 2 deletions(-)\n", "", 0 },
	{ "grep -rn isdigit src", "src/lexer.c:57:\tif (isdigit(c))\nsrc/lexer.c:91:\twhile (isdigit(peek(lx)))\n", "", 0 },
	{ "python3 tools/check.py", "検査中...\n失敗: 2 件\n", "警告: 古い形式です\n", 1 },
	{ "sleep 1 && date", "Fri Nov 21 14:35:00 UTC 2025\n", "", 0 },
};
static const char *const thoughts[] = {
	"The test at t_lexer.c:57 fails because a leading zero is read as octal. I will look at the lexer.",
	"I have found it: the loop stops one character early. I change the condition and run the tests again.",
	"All tests pass now. Before I publish I show the difference.",
	"テストが失敗しています。字句解析器を確認します。",
};

static json_t *hash_of_intent(uint64_t n)
{
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	struct hash h;
	hash_of(&n, sizeof(n), &h);
	hex_append(&hex, h.b, HASH_LEN);
	return json_string(hex.data);
}

static uint64_t put(struct maker *m, uint16_t kind, uint64_t cause, const struct agent *a, uint64_t action, json_t *body)
{
	return record_append_json(m->r, kind, cause, a ? a->id : 0, a ? a->box : 0, action, body);
}

static void note(struct maker *m, const struct agent *a, const char *level, const char *text)
{
	json_t *b = json_object();
	json_put_str(b, "level", level);
	json_put_str(b, "text", text);
	put(m, 420, a->id, a, 0, b);
}

/* A request; returns the action's id. */
static uint64_t request(struct maker *m, struct agent *a, uint64_t cause, const char *kind, json_t *more)
{
	json_t *b = json_object();
	json_put_str(b, "kind", kind);
	json_object_update(b, more);
	json_decref(more);
	json_put_str(b, "cwd", "/workspace");
	json_put_int(b, "timeout_us", 120000000);
	json_put_str(b, "profile", "enforced");
	json_put(b, "intent", hash_of_intent(record_head(m->r) + 1));
	pass(2000);
	return put(m, 100, cause, a, 0, b);
}

static uint64_t judge(struct maker *m, struct agent *a, uint64_t action, const char *verdict, const char *rule)
{
	json_t *b = json_object();
	json_put_str(b, "verdict", verdict);
	json_t *rules = json_array();
	if (rule) {
		json_t *one = json_object();
		json_put_str(one, "verdict", verdict);
		json_put_str(one, "name", rule);
		json_put_str(one, "file", "policy.lua");
		json_put_int(one, "line", 12);
		json_array_append_new(rules, one);
	}
	json_put(b, "rules", rules);
	json_put(b, "intent", hash_of_intent(action));
	pass(300);
	return put(m, 101, action, a, action, b);
}

static json_t *person(void)
{
	json_t *who = json_object();
	json_put_int(who, "uid", 1000);
	json_put_str(who, "name", "kim");
	json_put_str(who, "tty", "pts/3");
	return who;
}

/* Held, looked at, decided. True if it may run. */
static bool decide(struct maker *m, struct agent *a, uint64_t action, const char *rule)
{
	json_t *b = json_object();
	json_t *reasons = json_array();
	json_array_append_new(reasons, json_string("ask"));
	json_put(b, "reasons", reasons);
	json_put_str(b, "verdict", "ask");
	json_put_str(b, "rule", rule);
	json_put(b, "intent", hash_of_intent(action));
	uint64_t held = put(m, 102, action, a, action, b);
	pass(9000000);
	bool yes = chance(4) != 0;
	b = json_object();
	json_put_str(b, "decision", yes ? "approve" : "deny");
	json_put_str(b, "by", "human");
	json_put(b, "who", person());
	if (!yes)
		json_put_str(b, "message", "not on this branch, please");
	json_put(b, "intent", hash_of_intent(action));
	put(m, 103, held, a, action, b);
	return yes;
}

static void start(struct maker *m, struct agent *a, uint64_t action)
{
	json_t *b = json_object();
	json_put(b, "intent", hash_of_intent(action));
	pass(500);
	put(m, 104, action, a, action, b);
}

static void finish(struct maker *m, struct agent *a, uint64_t action, const char *end, int code, uint64_t dur_us)
{
	json_t *b = json_object();
	record_output_end(m->r, action);
	json_put_str(b, "end", end);
	if (!strcmp(end, "ok"))
		json_put_int(b, "code", code);
	else
		json_put_str(b, "why", "not on this branch, please");
	json_put_int(b, "dur_us", (int64_t)dur_us);
	put(m, 105, action, a, action, b);
}

static void snapshot(struct maker *m, struct agent *a, uint64_t action, const char *path)
{
	struct objects *o = objects_new();
	struct object_id blob, tree;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf entry = BUF_INIT;
	char hex[41];
	for (uint64_t i = 0, n = 20 + chance(60); i < n; i++)
		buf_printf(&text, "line %" PRIu64 " of %s, changed %d times\n", i, path, a->snapshots);
	objects_add(o, OBJECT_BLOB, text.data, text.len, &blob);
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	buf_printf(&entry, "100644 %s", base);
	buf_append(&entry, "", 1);
	buf_append(&entry, blob.b, sizeof(blob.b));
	objects_add(o, OBJECT_TREE, entry.data, entry.len, &tree);
	json_t *b = json_object();
	json_put_int(b, "n", ++a->snapshots);
	json_put_int(b, "prev", (int64_t)a->snapshot);
	json_put_str(b, "why", "action");
	json_t *by = json_array();
	json_array_append_new(by, json_integer((json_int_t)action));
	json_put(b, "by", by);
	object_hex(&tree, hex);
	json_put_str(b, "tree", hex);
	json_put_int(b, "touched", a->snapshots);
	json_put_int(b, "changed", 1);
	json_t *change = json_object();
	json_put_str(change, "op", chance(3) ? "M" : "A");
	json_put_bytes(change, "path", path, strlen(path));
	json_put_str(change, "mode", "100644");
	json_put_int(change, "size", (int64_t)text.len);
	object_hex(&blob, hex);
	json_put_str(change, "oid", hex);
	json_t *changes = json_array();
	json_array_append_new(changes, change);
	json_put(b, "changes", changes);
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	json_dump_buf(b, &body);
	json_decref(b);
	struct event ev = { .cause = action, .agent = a->id, .box = a->box, .action = action, .kind = 210,
			    .body = body.data, .len = body.len };
	pass(1000);
	a->snapshot = record_objects(m->r, o, &ev);
}

static void command(struct maker *m, struct agent *a, uint64_t cause)
{
	size_t c = chance(ARRAY_LEN(commands));
	json_t *more = json_object(), *argv = json_array();
	json_put_str(more, "tool", "shell");
	json_array_append_new(argv, json_string("sh"));
	json_array_append_new(argv, json_string("-c"));
	json_array_append_new(argv, json_string(commands[c].cmd));
	json_put(more, "argv", argv);
	json_put_str(more, "cmd", commands[c].cmd);
	uint64_t action = request(m, a, cause, "exec", more);
	judge(m, a, action, "allow", NULL);
	start(m, a, action);
	const char *out = commands[c].out, *line;
	while ((line = strchr(out, '\n'))) {
		pass(40000);
		record_output(m->r, action, STREAM_OUT, out, (size_t)(line + 1 - out));
		out = line + 1;
	}
	if (chance(20) == 0) /* now and then much of it */
		for (int i = 0; i < 3000; i++) {
			char text[96];
			int n = snprintf(text, sizeof(text), "[%4d/3000] compiling unit_%03d.c with %d warnings\n", i, i,
					 (int)chance(9));
			pass(100);
			record_output(m->r, action, STREAM_OUT, text, (size_t)n);
		}
	if (*commands[c].err)
		record_output(m->r, action, STREAM_ERR, commands[c].err, strlen(commands[c].err));
	pass(30000);
	finish(m, a, action, "ok", commands[c].code, 90000 + chance(900000));
}

static void edit(struct maker *m, struct agent *a, uint64_t cause)
{
	const char *path = files[chance(ARRAY_LEN(files))];
	json_t *more = json_object(), *args = json_object();
	json_put_str(more, "tool", "edit");
	json_put_str(more, "path", path);
	json_put_str(args, "old", "while (isdigit(c))");
	json_put_str(args, "new", "while (isdigit(peek(lx)))");
	json_put(more, "args", args);
	json_put_flag(more, "may_write", true);
	uint64_t action = request(m, a, cause, "edit", more);
	judge(m, a, action, "allow", NULL);
	start(m, a, action);
	finish(m, a, action, "ok", 0, 3000 + chance(2000));
	snapshot(m, a, action, path);
}

static void asks_first(struct maker *m, struct agent *a, uint64_t cause)
{
	json_t *more = json_object(), *argv = json_array();
	json_put_str(more, "tool", "sg.host.push");
	json_array_append_new(argv, json_string("git"));
	json_array_append_new(argv, json_string("push"));
	json_array_append_new(argv, json_string("origin"));
	json_array_append_new(argv, json_string("fix/lexer"));
	json_put(more, "argv", argv);
	json_put_flag(more, "leaves_box", true);
	json_put_str(more, "where", "host");
	uint64_t action = request(m, a, cause, "host", more);
	judge(m, a, action, "ask", "publishing asks");
	if (!decide(m, a, action, "publishing asks")) {
		finish(m, a, action, "denied", 0, 0);
		return;
	}
	start(m, a, action);
	static const char said[] = "To example.org:team/lexer\n * [new branch] fix/lexer\n";
	record_output(m->r, action, STREAM_ERR, said, sizeof(said) - 1);
	finish(m, a, action, "ok", 0, 1200000);
}

static void denied(struct maker *m, struct agent *a, uint64_t cause)
{
	json_t *more = json_object();
	json_put_str(more, "host", "evil.example");
	json_put_int(more, "port", 443);
	uint64_t action = request(m, a, cause, "connect", more);
	judge(m, a, action, "deny", "no network");
	finish(m, a, action, "denied", 0, 0);
}

static uint64_t think(struct maker *m, struct agent *a)
{
	const char *text = thoughts[chance(ARRAY_LEN(thoughts))];
	CLEANUP(buf_release) struct buf message = BUF_INIT, hex = BUF_INIT;
	struct hash id;
	json_t *b = json_object();
	json_put_int(b, "n", ++a->turn);
	uint64_t turn = put(m, 401, a->id, a, 0, b);
	json_t *more = json_object();
	json_put_str(more, "tool", "model");
	uint64_t action = request(m, a, turn, "model", more);
	judge(m, a, action, "allow", NULL);
	start(m, a, action);
	buf_printf(&message, "{\"role\":\"user\",\"content\":\"turn %d of %s: go on\"}", a->turn, a->name);
	record_message(m->r, message.data, message.len, &id);
	json_t *messages = json_array();
	hex_append(&hex, m->system.b, HASH_LEN);
	json_array_append_new(messages, json_string(hex.data));
	buf_reset(&hex);
	hex_append(&hex, id.b, HASH_LEN);
	json_array_append_new(messages, json_string(hex.data));
	b = json_object();
	json_put_str(b, "model", "scripted");
	json_put(b, "messages", messages);
	put(m, 430, action, a, action, b);
	record_output(m->r, action, STREAM_REQUEST, message.data, message.len);
	pass(2500000);
	record_output(m->r, action, STREAM_RESPONSE, text, strlen(text));
	b = json_object();
	json_put_str(b, "model", "scripted");
	json_put_str(b, "text", text);
	json_put_str(b, "stop", "tool_use");
	json_t *usage = json_object();
	json_put_int(usage, "in", 900 + (int64_t)chance(3000));
	json_put_int(usage, "out", 40 + (int64_t)chance(400));
	json_put_int(usage, "cached", 800);
	json_put(b, "usage", usage);
	json_put_int(b, "cost_uusd", 400 + (int64_t)chance(9000));
	uint64_t reply = put(m, 431, action, a, action, b);
	finish(m, a, action, "ok", 0, 2400000);
	return reply;
}

static void turn(struct maker *m, struct agent *a)
{
	uint64_t cause = think(m, a);
	for (uint64_t i = 0, n = 1 + chance(3); i < n; i++)
		switch (chance(9)) {
		case 0:
			asks_first(m, a, cause);
			break;
		case 1:
			denied(m, a, cause);
			break;
		case 2:
		case 3:
			edit(m, a, cause);
			break;
		case 4:
			note(m, a, "note", "looking at the lexer");
			FALLTHROUGH;
		default:
			command(m, a, cause);
			break;
		}
}

static void begin_agent(struct maker *m, struct agent *a, size_t n)
{
	snprintf(a->name, sizeof(a->name), "%s", names[n % ARRAY_LEN(names)]);
	if (m->agents > NAMES_AGAIN) /* a fleet: each has its own */
		snprintf(a->name, sizeof(a->name), "%s-%zu", names[n % ARRAY_LEN(names)], n / ARRAY_LEN(names));
	json_t *b = json_object();
	json_put_str(b, "name", a->name);
	json_put_str(b, "task", "repair the failing test and publish the fix");
	json_put_str(b, "model", "scripted");
	a->id = record_append_json(m->r, 400, 1, 0, 0, 0, b);
	b = json_object();
	json_put_str(b, "name", a->name);
	json_put_str(b, "driver", "process");
	json_put(b, "net", json_array());
	a->box = record_append_json(m->r, 200, a->id, a->id, 0, 0, b);
	b = json_object();
	json_put_str(b, "profile", "enforced");
	json_put_int(b, "uid", 524288);
	put(m, 201, a->box, a, 0, b);
}

static void end_agent(struct maker *m, struct agent *a)
{
	json_t *b = json_object();
	put(m, 202, a->box, a, 0, b);
	b = json_object();
	json_put_str(b, "stop", "done");
	json_put_str(b, "text", "The test passes; the fix is on fix/lexer.");
	json_put_flag(b, "ok", true);
	put(m, 403, a->id, a, 0, b);
}

static void drain(struct maker *m)
{
	do {
		loop_turn(m->l, 0);
	} while (record_backlog(m->r) > RECORD_FLOOD / 2 && (usleep(1000), true));
}

static int fill(struct maker *m, const char *dir, const char *name, struct err *err)
{
	json_t *body = json_object();
	json_put_str(body, "script", "fix.lua");
	int rc = record_create(&m->r, m->l, dir, name, body, NULL, NULL, err);
	json_decref(body);
	if (rc < 0)
		return -1;
	static const char system_text[] = "{\"role\":\"system\",\"content\":\"You repair programs. Run the tests before you say"
					  " that they pass.\"}";
	record_message(m->r, system_text, sizeof(system_text) - 1, &m->system);
	for (size_t i = 0; i < m->agents; i++)
		begin_agent(m, &m->agent[i], i);
	uint64_t next = TURN_EVENTS;
	while (record_head(m->r) < m->want) {
		turn(m, &m->agent[chance(m->agents)]);
		if (record_head(m->r) >= next) {
			next = record_head(m->r) + TURN_EVENTS;
			drain(m);
		}
	}
	return 0;
}

/* Lines of standard input as output of one command, each committed before the next is read. */
static void hold_open(struct maker *m)
{
	char line[4096];
	uint64_t action = 0;
	do
		loop_turn(m->l, 10);
	while (record_committed(m->r) < record_head(m->r));
	while (fgets(line, sizeof(line), stdin)) {
		struct agent *a = &m->agent[0];
		if (!action) {
			json_t *more = json_object();
			json_put_str(more, "cmd", "make world");
			action = request(m, a, a->id, "exec", more);
			judge(m, a, action, "allow", NULL);
			start(m, a, action);
		}
		pass(40000);
		uint64_t before = record_head(m->r);
		record_output(m->r, action, STREAM_OUT, line, strlen(line));
		do /* the recorder gathers output for a moment, by our clock */
			pass(20000), loop_turn(m->l, 10);
		while (record_head(m->r) == before || record_committed(m->r) < record_head(m->r));
	}
	if (action)
		finish(m, &m->agent[0], action, "ok", 0, 1000000);
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	bool live = false, crash = false;
	for (int i = argc - 1; i > 0 && argv[i][0] == '-'; i--, argc--) {
		live |= !strcmp(argv[i], "--live");
		crash |= !strcmp(argv[i], "--crash");
	}
	if (argc < 4) {
		fprintf(stderr, "usage: make_session DIR NAME EVENTS [AGENTS [SEED]] [--live] [--crash]\n");
		return 2;
	}
	struct maker m = { .want = strtoull(argv[3], NULL, 10), .agents = argc > 4 ? strtoul(argv[4], NULL, 10) : 3 };
	uint64_t seed = argc > 5 ? strtoull(argv[5], NULL, 10) : 1;
	if (!m.agents || m.agents > AGENTS_MOST) {
		fprintf(stderr, "make_session: 1 to %d agents\n", AGENTS_MOST);
		return 2;
	}
	m.agent = mem_calloc(m.agents, sizeof(*m.agent));
	char id[7];
	snprintf(id, sizeof(id), "f%05u", (unsigned)(seed % 100000));
	struct record_fixed fixed = { .wall_us = wall, .mono_us = mono, .id = id, .host = "fixture" };
	chance_state = seed;
	record_fix(&fixed);
	if (loop_new(&m.l, &err) < 0 || fill(&m, argv[1], argv[2], &err) < 0) {
		fprintf(stderr, "make_session: %s\n", err.text);
		return 1;
	}
	char *path = mem_strdup(record_path(m.r));
	int rc = 0;
	if (live) {
		printf("%s\n", path);
		fflush(stdout);
		hold_open(&m);
	}
	if (crash) {
		while (record_committed(m.r) < record_head(m.r))
			loop_turn(m.l, 10);
		record_abandon(&m.r);
	} else {
		for (size_t i = 0; i < m.agents; i++)
			end_agent(&m, &m.agent[i]);
		json_t *end = json_object();
		json_put_flag(end, "ok", true);
		rc = record_close(&m.r, end, &err);
		if (rc < 0)
			fprintf(stderr, "make_session: %s\n", err.text);
	}
	if (!live)
		printf("%s\n", path);
	free(path);
	free(m.agent);
	loop_free(m.l);
	return rc < 0 ? 1 : 0;
}
