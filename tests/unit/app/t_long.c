/* Statistics over all actions of a session read each event a few times, not once per action. Counted in rows. */
#include <sqlite3.h>
#include <unistd.h>

#include "check/past.h"
#include "check/summary.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "record/record.h"
#include "tap.h"

enum { ACTIONS = 400, HELD_EACH = 10, READINGS = 8 };

static uint64_t add(struct record *r, uint16_t kind, uint64_t action, const char *body)
{
	struct event ev = { .cause = 1, .action = action, .kind = kind, .body = body, .len = strlen(body) };
	return record_append(r, &ev);
}

static void act(struct record *r, int nr)
{
	uint64_t a = add(r, EV_ACTION_REQUESTED, 0, nr % 4 ? "{\"kind\":\"exec\",\"cmd\":\"true\"}" : "{\"kind\":\"model\"}");
	add(r, EV_ACTION_JUDGED, a, "{\"verdict\":\"ask\",\"rules\":[{\"name\":\"asks\"}]}");
	if (nr % HELD_EACH == 0) {
		add(r, EV_ACTION_HELD, a, "{}");
		add(r, EV_ACTION_DECIDED, a, nr % (2 * HELD_EACH) ? "{\"decision\":\"deny\",\"by\":\"human\"}" :
								   "{\"decision\":\"approve\",\"by\":\"human\"}");
	}
	add(r, EV_ACTION_STARTED, a, "{}");
	add(r, EV_ACTION_ENDED, a, nr % 5 ? "{\"end\":\"ok\",\"code\":0,\"dur_us\":10}" : "{\"end\":\"ok\",\"code\":1,\"dur_us\":10}");
}

static int on_done(unsigned event, void *self, void *stmt, void *ns)
{
	(void)event, (void)ns;
	*(uint64_t *)self += (uint64_t)sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
	return 0;
}

static int count(void *self, const struct past_action *a, struct err *err)
{
	(void)err;
	*(size_t *)self += json_flag(a->row, "held", false) ? 1000000 : 1;
	return 0;
}

static void figures(const struct summary *m)
{
	const struct {
		uint64_t got, want;
		const char *of;
	} n[] = { { m->actions, ACTIONS, "actions" },
		  { m->execs, ACTIONS - ACTIONS / 4, "commands" },
		  { m->failed, ACTIONS / 5, "that failed" },
		  { m->asked, ACTIONS / HELD_EACH, "asked" },
		  { m->approved, ACTIONS / HELD_EACH / 2, "approved" },
		  { m->denied, ACTIONS / HELD_EACH / 2, "denied" },
		  { (uint64_t)m->model_us, 10 * ACTIONS / 4, "time of models" },
		  { (uint64_t)m->box_us, 10 * (ACTIONS - ACTIONS / 4), "time of boxes" },
		  { m->honeytokens, 1, "honeytokens" } };
	for (size_t i = 0; i < ARRAY_LEN(n); i++)
		is_int(n[i].got, n[i].want, n[i].of);
	ok(m->people_us > 0, "time of people");
	is_str(m->state, "ok", "its end");
}

static void reads_few_rows(struct session *s)
{
	struct cmd_ctx ctx = { .err = stderr, .quiet = true };
	struct working w = { .ctx = &ctx };
	struct summary m = { 0 };
	struct err err = ERR_INIT;
	uint64_t rows = 0, events = session_head(s);
	size_t nr = 0;
	sqlite3_trace_v2(session_handle(s), SQLITE_TRACE_PROFILE, on_done, &rows);
	ok(summary_of(s, &m, &err) == 0, "a session in figures %s", err.text);
	ok(rows && rows <= events * READINGS, "%llu rows of %llu events are read for them", (unsigned long long)rows, (unsigned long long)events);
	figures(&m);
	summary_release(&m);
	rows = 0;
	ok(past_each(s, "kind:*", &w, count, &nr, &err) == 0, "each action %s", err.text);
	is_int(nr, (ACTIONS - ACTIONS / HELD_EACH) + (ACTIONS / HELD_EACH) * 1000000, "all, with those that were held");
	ok(rows <= events * READINGS, "%llu rows are read for it", (unsigned long long)rows);
	nr = rows = 0;
	ok(past_held(s, &w, count, &nr, &err) == 0, "those that were held %s", err.text);
	is_int(nr, (ACTIONS / HELD_EACH) * 1000000, "and no others");
	ok(rows <= events * READINGS, "%llu rows are read for it", (unsigned long long)rows);
	sqlite3_trace_v2(session_handle(s), 0, NULL, NULL);
}

int main(void)
{
	char dir[] = "/tmp/t_long.XXXXXX", path[300];
	const struct record_ops none = { 0 };
	struct err err = ERR_INIT;
	struct session *s = NULL;
	struct record *r;
	struct loop *l;
	hash_init();
	if (!mkdtemp(dir) || loop_new(&l, &err) < 0)
		return 1;
	CLEANUP(json_release) json_t *start = json_object();
	json_t *end = json_object(); /* it takes that one */
	if (record_create(&r, l, dir, "long", start, &none, NULL, &err) < 0)
		return 1;
	for (int i = 0; i < ACTIONS; i++)
		act(r, i);
	add(r, EV_HONEYTOKEN_SEEN, 0, "{}");
	snprintf(path, sizeof(path), "%s", record_path(r));
	json_put_flag(end, "ok", true);
	ok(record_close(&r, end, &err) == 0, "a session is made %s", err.text);
	if (session_open(&s, path, &err) < 0)
		return 1;
	reads_few_rows(s);
	session_close(&s);
	loop_turn(l, 0);
	loop_free(l);
	if (dir_remove(dir, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}
