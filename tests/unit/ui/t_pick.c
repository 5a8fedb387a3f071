/* One filter, two implementations: SQL over a session file, and the predicate over the console's model. Both give
 * the same rows for each field and at each point of the session. */
#include <stdlib.h>

#include "base/fd.h"
#include "record/record.h"
#include "tap.h"
#include "ui/model/facts.h"
#include "ui/model/pick.h"

static struct record *R;
static struct loop *L;
static uint64_t agent, box, other;

static uint64_t add(uint16_t kind, uint64_t cause, uint64_t who, uint64_t in, uint64_t action, const char *json)
{
	struct err err = ERR_INIT;
	json_t *body = json_parse(json, strlen(json), "body", &err);
	return record_append_json(R, kind, cause, who, in, action, body);
}

static uint64_t life(uint64_t who, const char *requested, const char *judged, bool held, const char *decided, const char *ended)
{
	uint64_t id = add(EV_ACTION_REQUESTED, who, who, box, 0, requested);
	add(EV_ACTION_JUDGED, id, who, box, id, judged);
	if (held)
		add(EV_ACTION_HELD, id, who, box, id, "{\"reasons\":[\"ask\"]}");
	if (decided)
		add(EV_ACTION_DECIDED, id, who, box, id, decided);
	if (ended && !strstr(ended, "denied"))
		add(EV_ACTION_STARTED, id, who, box, id,
		    decided && strstr(decided, "edit") ? "{\"edited\":true,\"argv\":[\"git\",\"push\",\"--dry-run\"]}" : "{}");
	if (ended && *ended)
		add(EV_ACTION_ENDED, id, who, box, id, ended);
	return id;
}

static void fill(void)
{
	static const char allow[] = "{\"verdict\":\"allow\",\"rules\":[{\"name\":\"tests\"}]}";
	static const char ask[] = "{\"verdict\":\"ask\",\"risk\":\"high\",\"rules\":[{\"name\":\"no-push\"},{\"name\":\"net.x\"}]}";
	agent = add(EV_AGENT_START, 1, 0, 0, 0, "{\"name\":\"fix\"}");
	other = add(EV_AGENT_START, 1, 0, 0, 0, "{\"name\":\"docs\"}");
	box = add(EV_BOX_OPEN, agent, agent, 0, 0, "{\"name\":\"b1\"}");
	add(EV_AGENT_TURN, agent, agent, 0, 0, "{\"n\":1}");
	uint64_t ok_id = life(agent, "{\"kind\":\"exec\",\"tool\":\"shell\",\"argv\":[\"ls\",\"-l\"]}", allow, false, NULL,
			      "{\"end\":\"ok\",\"code\":0,\"dur_us\":1000}");
	record_output(R, ok_id, STREAM_OUT, "one\ntwo\n", 8);
	life(agent, "{\"kind\":\"exec\",\"argv\":[\"sh\",\"-c\",\"make test\"],\"cmd\":\"make test\"}", allow, false, NULL,
	     "{\"end\":\"ok\",\"code\":2,\"dur_us\":5000000}");
	life(other, "{\"kind\":\"exec\",\"argv\":[\"sh\",\"-c\",\"cd x && wget e\"]}", allow, false, NULL,
	     "{\"end\":\"killed\",\"signal\":9,\"dur_us\":1000}");
	add(EV_AGENT_TURN, agent, agent, 0, 0, "{\"n\":2}");
	life(agent, "{\"kind\":\"write\",\"path\":\"/workspace/src/lex.c\",\"data\":\"1\\n2\\n3\\n\"}", allow, false, NULL,
	     "{\"end\":\"ok\",\"dur_us\":1}");
	life(other, "{\"kind\":\"connect\",\"host\":\"evil.example\"}", "{\"verdict\":\"deny\",\"rules\":[{\"name\":\"net.x\"}]}",
	     false, NULL, "{\"end\":\"denied\",\"dur_us\":0}");
	life(agent, "{\"kind\":\"exec\",\"argv\":[\"git\",\"push\"]}", ask, true, NULL, NULL);
	life(agent, "{\"kind\":\"exec\",\"argv\":[\"git\",\"push\",\"-f\"]}", ask, true,
	     "{\"decision\":\"edit\",\"by\":\"human\",\"who\":{\"name\":\"bo\"}}", "{\"end\":\"ok\",\"code\":0,\"dur_us\":9}");
	life(agent, "{\"kind\":\"exec\",\"argv\":[\"rm\",\"-rf\",\"/\"]}", ask, true,
	     "{\"decision\":\"deny\",\"by\":\"human\",\"who\":{\"name\":\"ann\"}}", "{\"end\":\"denied\",\"dur_us\":9}");
	life(other, "{\"kind\":\"model\",\"tool\":\"model\"}", allow, false, NULL,
	     "{\"end\":\"ok\",\"dur_us\":2000000,\"cost_uusd\":150000,\"tokens\":3000}");
	life(agent, "{\"kind\":\"read\",\"path\":\"/workspace/README\"}", allow, false, NULL, "");
	add(EV_NOTE, ok_id, agent, 0, 0, "{\"level\":\"mark\",\"text\":\"here\"}");
	add(EV_AGENT_END, other, other, 0, 0, "{\"stop\":\"done\",\"ok\":true}");
}

static const char *const filters[] = {
	"kind:exec", "kind:exec,write", "!kind:exec", "kind:note", "kind:end", "kind:agent.turn", "agent:fix", "agent:do*",
	"agent!=fix", "box:b1", "session:pick", "tool:shell", "not tool:shell", "cmd:ls*", "cmd~\"\\bwget\\b|push\"",
	"cmd=\"git push\"", "cmd~dry-run", "cmd~\"push -f\"", "cmd:\"git push --dry-run\"", "not cmd~dry", "path:src/*.c", "path:README", "host:evil.*", "exit:0", "exit!=0", "exit>0", "dur>1s", "dur<=1ms",
	"cost>$0.10", "tokens:2k..4k", "lines>2", "rule:no-push", "rule:net.*", "verdict:deny", "verdict:held", "verdict:ask,allow",
	"by:human", "by:ann", "risk:high", "risk:none", "turn:2", "turn<2", "id:4..9", "is:pending", "is:error", "is:live",
	"is:edited", "is:marked", "has:output", "has:note", "since:1h", "until:1h", "text:wget", "is:error or is:pending",
	"(kind:exec exit:0) or (kind:model cost>1)", "kind:exec !is:error !by:human",
};

static void compare(struct source *s, const char *text)
{
	struct err err = ERR_INIT;
	struct pick *p = NULL;
	CLEANUP(buf_release) struct buf sql = BUF_INIT, predicate = BUF_INIT;
	if (pick_new(&p, text, NULL, NULL, &err) < 0) {
		ok(false, "%s: %s", text, err.text);
		return;
	}
	while (pick_work(p, s, s->model.last_us, 1000000))
		;
	const struct rows *r = pick_rows(p, s, &s->model.rows, s->model.last_us);
	for (size_t i = 0; i < r->nr; i++)
		buf_printf(&sql, "%lu ", (unsigned long)r->row[i].seq);
	for (size_t i = 0; i < s->model.rows.nr; i++) {
		CLEANUP(json_release) json_t *row = facts_row(s, s->model.rows.row[i].seq);
		if (!pick_is_step(s->model.rows.row[i].kind) && filter_match(pick_filter(p), row, s->model.last_us))
			buf_printf(&predicate, "%lu ", (unsigned long)s->model.rows.row[i].seq);
	}
	if (!ok(strcmp(buf_cstr(&sql), buf_cstr(&predicate)) == 0, "%s", text))
		printf("#   sql        %s\n#   predicate  %s\n", buf_cstr(&sql), buf_cstr(&predicate));
	pick_free(&p);
}

/* A pick that was there from the first event on ends where one ends that is made at the end. */
static void grown(const char *path, const char *text)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct pick *p = NULL, *q = NULL;
	if (source_open(&s, path, &err) < 0 || pick_new(&p, text, NULL, NULL, &err) < 0 || pick_new(&q, text, NULL, NULL, &err) < 0) {
		ok(false, "%s: %s", text, err.text);
		return;
	}
	while (source_take(s, s->model.head + 1, 1) > 0) {
		pick_work(p, s, s->model.last_us, 1000000);
		pick_rows(p, s, &s->model.rows, s->model.last_us);
	}
	pick_work(q, s, s->model.last_us, 1000000);
	const struct rows *a = pick_rows(p, s, &s->model.rows, s->model.last_us);
	const struct rows *b = pick_rows(q, s, &s->model.rows, s->model.last_us);
	ok(a->nr == b->nr && (a->nr == 0 || memcmp(a->row, b->row, a->nr * sizeof(*a->row)) == 0), "%s, event by event", text);
	pick_free(&p);
	pick_free(&q);
	source_close(&s);
}

int main(void)
{
	char dir[] = "/tmp/t_pick.XXXXXX", path[300];
	struct err err = ERR_INIT;
	struct source *s = NULL;
	const struct record_ops none = { 0 };
	hash_init();
	if (!mkdtemp(dir) || loop_new(&L, &err) < 0)
		return 1;
	CLEANUP(json_release) json_t *start = json_object();
	if (record_create(&R, L, dir, "pick", start, &none, NULL, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	fill();
	snprintf(path, sizeof(path), "%s", record_path(R));
	ok(record_close(&R, json_object(), &err) == 0, "a session is made %s", err.text);
	if (source_open(&s, path, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	source_sync(s, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(filters); i++)
		compare(s, filters[i]);
	source_close(&s);
	for (size_t i = 0; i < ARRAY_LEN(filters); i++)
		grown(path, filters[i]);
	loop_turn(L, 0);
	loop_free(L);
	if (dir_remove(dir, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}
