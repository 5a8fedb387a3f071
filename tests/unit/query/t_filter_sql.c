/* The SQL of a filter on a real session file. */
#include "tap.h"

#include <sqlite3.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "query/filter.h"
#include "query/rows.h"
#include "record/read/session.h"
#include "record/record.h"

static struct record *R;
static struct loop *L;

static uint64_t add(uint16_t kind, uint64_t cause, uint64_t agent, uint64_t box, uint64_t action, const char *json)
{
	struct err err = ERR_INIT;
	json_t *body = json_parse(json, strlen(json), "body", &err);
	return record_append_json(R, kind, cause, agent, box, action, body);
}

enum { EXEC_OK, EXEC_BAD, WGET, RMRF, WRITE, DENIED, PENDING, MODEL, EDITED, SLOW, NOTED, READ, NR };
static uint64_t id[NR], agent, box, note;

static void life(int i, const char *requested, const char *judged, const char *held, const char *decided, const char *ended)
{
	id[i] = add(EV_ACTION_REQUESTED, agent, agent, box, 0, requested);
	add(EV_ACTION_JUDGED, id[i], agent, box, id[i], judged);
	if (held)
		add(EV_ACTION_HELD, id[i], agent, box, id[i], held);
	if (decided)
		add(EV_ACTION_DECIDED, id[i], agent, box, id[i], decided);
	if (ended && strstr(ended, "\"ok\""))
		add(EV_ACTION_STARTED, id[i], agent, box, id[i], "{}");
	if (ended)
		add(EV_ACTION_ENDED, id[i], agent, box, id[i], ended);
}

static void fill(void)
{
	static const char allow[] = "{\"verdict\":\"allow\",\"rules\":[]}";
	agent = add(EV_AGENT_START, 1, 0, 0, 0, "{\"name\":\"fix\"}");
	box = add(EV_BOX_OPEN, agent, agent, 0, 0, "{\"name\":\"b1\"}");
	add(EV_AGENT_TURN, agent, agent, 0, 0, "{\"n\":4}");
	life(EXEC_OK, "{\"kind\":\"exec\",\"tool\":\"shell\",\"argv\":[\"ls\",\"-l\"]}", allow, NULL, NULL,
	     "{\"end\":\"ok\",\"code\":0,\"dur_us\":1000}");
	record_output(R, id[EXEC_OK], STREAM_OUT, "ls: x: Permission denied\n", 25);
	life(EXEC_BAD, "{\"kind\":\"exec\",\"tool\":\"browser\",\"argv\":[\"sh\",\"-c\",\"make test\"],\"cmd\":\"make test\"}", allow,
	     NULL, NULL, "{\"end\":\"ok\",\"code\":2,\"dur_us\":5000000}");
	record_output(R, id[EXEC_BAD], STREAM_ERR, "permission denied too\n", 22);
	life(WGET, "{\"kind\":\"exec\",\"argv\":[\"sh\",\"-c\",\"cd x && wget e\"]}", allow, NULL, NULL,
	     "{\"end\":\"ok\",\"code\":0,\"dur_us\":1000}");
	life(RMRF, "{\"kind\":\"exec\",\"argv\":[\"rm\",\"-rf\",\"build\"]}",
	     "{\"verdict\":\"ask\",\"risk\":\"high\",\"rules\":[{\"name\":\"big-delete\"}]}", "{\"reasons\":[\"ask\"]}",
	     "{\"decision\":\"approve\",\"by\":\"human\",\"who\":{\"name\":\"ann\"}}", "{\"end\":\"ok\",\"code\":0,\"dur_us\":9}");
	life(WRITE, "{\"kind\":\"write\",\"path\":\"/workspace/src/lex.c\",\"data\":\"1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n11\\n\"}",
	     allow, NULL, NULL, "{\"end\":\"ok\",\"dur_us\":1}");
	life(DENIED, "{\"kind\":\"connect\",\"host\":\"evil.example\"}",
	     "{\"verdict\":\"deny\",\"rules\":[{\"name\":\"net.egress\",\"verdict\":\"deny\"}]}", NULL, NULL,
	     "{\"end\":\"denied\",\"dur_us\":0}");
	life(PENDING, "{\"kind\":\"exec\",\"argv\":[\"git\",\"push\"]}", "{\"verdict\":\"ask\",\"rules\":[{\"name\":\"no-push\"}]}",
	     "{\"reasons\":[\"ask\"]}", NULL, NULL);
	life(MODEL, "{\"kind\":\"model\",\"tool\":\"model\"}", allow, NULL, NULL,
	     "{\"end\":\"ok\",\"dur_us\":2000000,\"cost_uusd\":150000,\"tokens\":3000}");
	life(EDITED, "{\"kind\":\"exec\",\"argv\":[\"git\",\"push\",\"-f\"]}",
	     "{\"verdict\":\"ask\",\"risk\":\"high\",\"rules\":[{\"name\":\"no-push\"}]}", "{\"reasons\":[\"ask\"]}",
	     "{\"decision\":\"edit\",\"by\":\"human\",\"who\":{\"name\":\"bo\"}}", "{\"end\":\"ok\",\"code\":0,\"dur_us\":9}");
	add(EV_ACTION_STARTED, id[EDITED], agent, box, id[EDITED], "{\"edited\":true,\"argv\":[\"git\",\"push\",\"--dry-run\"]}");
	life(SLOW, "{\"kind\":\"exec\",\"argv\":[\"sleep\",\"40\"]}", allow, NULL, NULL,
	     "{\"end\":\"ok\",\"code\":0,\"dur_us\":40000000}");
	life(NOTED, "{\"kind\":\"exec\",\"argv\":[\"true\"]}", allow, NULL, NULL, "{\"end\":\"ok\",\"code\":0,\"dur_us\":9}");
	note = add(EV_NOTE, id[NOTED], agent, 0, 0, "{\"level\":\"mark\",\"text\":\"here it is \\u00fcber\"}");
	life(READ, "{\"kind\":\"read\",\"path\":\"/workspace/README\"}", allow, NULL, NULL, NULL);
	add(EV_ACTION_STARTED, id[READ], agent, box, id[READ], "{}");
}

static void want(struct session *s, const char *text, const uint64_t *expect, size_t nr)
{
	struct err err = ERR_INIT;
	struct filter *f = NULL;
	uint64_t got[64];
	size_t nr_got = 0;
	if (filter_parse(&f, text, &saved, NULL, &err) < 0 ||
	    filter_search(f, s, clock_wall_us(), 0, ARRAY_LEN(got), got, &nr_got, &err) < 0) {
		ok(false, "%s: %s", text, err.text);
		filter_free(&f);
		return;
	}
	bool same = nr == nr_got && (!nr || !memcmp(got, expect, nr * sizeof(*got)));
	ok(same, "%s", text);
	if (!same)
		for (size_t i = 0; i < nr_got; i++)
			printf("#   got %" PRIu64 "\n", got[i]);
	filter_free(&f);
}

#define WANT(text, ...) \
	want(s, text, (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

#define NONE(text) want(s, text, NULL, 0)

static void queries(struct session *s)
{
	for (size_t i = 0; i < ARRAY_LEN(manual_rows); i++) {
		struct err err = ERR_INIT;
		struct filter *f = NULL;
		uint64_t got[64];
		size_t nr;
		ok(filter_parse(&f, manual_rows[i], &saved, NULL, &err) == 0 &&
			   filter_search(f, s, clock_wall_us(), 0, 64, got, &nr, &err) == 0,
		   "row %zu of the manual compiles and runs: %s %s", i + 1, manual_rows[i], err.text);
		filter_free(&f);
	}
	WANT("is:pending", id[PENDING]);
	WANT("kind:exec is:error since:1h", id[EXEC_BAD]);
	WANT("agent:fix cmd~\"\\bcurl\\b|\\bwget\\b\"", id[WGET]);
	WANT("rm -rf", id[RMRF]);
	WANT("\"permission denied\" and not tool:browser", id[EXEC_OK]);
	WANT("\"permission denied\"", id[EXEC_OK], id[EXEC_BAD]);
	WANT("kind:write path:src/*.c lines>10", id[WRITE]);
	NONE("kind:write path:src/*.c lines>11");
	WANT("verdict:deny,held by:human or rule:net.*", id[RMRF], id[DENIED], id[EDITED]);
	WANT("(kind:model cost>$0.10) or (kind:exec dur>30s)", id[MODEL], id[SLOW]);
	WANT("is:edited risk:high box!=b9", id[EDITED]);
	NONE("is:edited box!=b1");
	WANT("cmd:\"git push --dry-run\"", id[EDITED]); /* the command that ran, and the requested one */
	WANT("cmd~\"push -f\"", id[EDITED]);
	NONE("cmd~push not cmd:*-f not cmd:\"git push\"");
	WANT("by:ann", id[RMRF]);
	WANT("is:live", id[READ]);
	WANT("is:marked", id[NOTED]);
	WANT("has:note", id[NOTED]);
	WANT("kind:note", note);
	WANT("\xc3\xbc" "ber", note);
	WANT("has:output", id[EXEC_OK], id[EXEC_BAD]);
	WANT("cmd:\"ls -l\"", id[EXEC_OK]);
	WANT("host:EVIL.example", id[DENIED]);
	WANT("exit!=0 kind:exec dur>1s", id[EXEC_BAD]);
	WANT("turn:4 kind:read", id[READ]);
	WANT("tokens>2k", id[MODEL]);
	WANT("text:evil", id[DENIED]);
	WANT("kind:read or tool:model", id[MODEL], id[READ]);
	NONE("since:2020-01-01 until:2020-02-01");
}

int main(void)
{
	char dir[] = "/tmp/t_filter_sql.XXXXXX", path[300];
	struct err err = ERR_INIT;
	struct session *s = NULL;
	const struct record_ops none = { 0 };
	hash_init();
	if (!mkdtemp(dir) || loop_new(&L, &err) < 0)
		return 1;
	json_t *start = json_object();
	if (record_create(&R, L, dir, "filter", start, &none, NULL, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	json_decref(start);
	fill();
	snprintf(path, sizeof(path), "%s", record_path(R));
	ok(record_close(&R, json_object(), &err) == 0, "a session is made %s", err.text);
	if (session_open(&s, path, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	queries(s);
	session_close(&s);
	loop_turn(L, 0);
	loop_free(L);
	if (dir_remove(dir, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}
