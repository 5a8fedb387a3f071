/* Frames of a Lua host that a thread converts: in their order, in both directions, and given up at any time. */
#include "luahost/frame_worker.h"

#include "base/mem.h"
#include "tap.h"

enum { JOBS = 12, LONG = 200000 };

static struct frame_worker *worker;
static uint64_t seen[JOBS];
static size_t nr_seen, nr_good;
static size_t free_after; /* 0: never */

static void on_done(void *self, struct frame_job *job)
{
	bool *wrong = self;
	if (nr_seen < JOBS)
		seen[nr_seen++] = job->id;
	*wrong |= !job->out && !job->json && !job->err.code;
	nr_good += job->json && job->text.len > 0;
	if (nr_seen == free_after)
		frame_worker_free(&worker);
}

static void add(uint64_t id, bool out, size_t len)
{
	struct frame_job *job = NEW(struct frame_job);
	CLEANUP(free_ptr) char *text = mem_calloc(len + 1, 1);
	memset(text, 'x', len);
	*job = (struct frame_job){ .out = out, .id = id };
	if (out) {
		job->json = json_object();
		json_put_str(job->json, "data", text);
	} else {
		buf_printf(&job->text, "{\"data\":\"%s\"}", text);
	}
	frame_worker_add(worker, job);
}

static void begin(struct loop *l, bool *wrong)
{
	struct err err = ERR_INIT;
	nr_seen = nr_good = 0;
	if (frame_worker_new(&worker, l, on_done, wrong, &err) < 0)
		ok(0, "%s", err.text);
}

int main(void)
{
	struct err err = ERR_INIT;
	struct loop *l;
	bool wrong = false, in_order = true;
	if (loop_new(&l, &err) < 0)
		return 1;
	begin(l, &wrong);
	for (uint64_t i = 0; i < JOBS; i++)
		add(i, i % 2, i % 3 ? 5 : LONG);
	is_int(frame_worker_pending(worker, true) + frame_worker_pending(worker, false), JOBS, "all are pending");
	while (nr_seen < JOBS)
		loop_turn(l, 100);
	for (uint64_t i = 0; i < JOBS; i++)
		in_order &= seen[i] == i;
	ok(in_order, "long and short frames of both directions come in their order");
	is_int(nr_good, JOBS, "each as text and as JSON");
	ok(!wrong && !frame_worker_pending(worker, true) && !frame_worker_pending(worker, false), "none is pending");

	struct frame_job *bad = NEW(struct frame_job);
	buf_puts(&bad->text, "{\"data\":");
	nr_seen = 0;
	frame_worker_add(worker, bad);
	while (!nr_seen)
		loop_turn(l, 100);
	ok(!wrong, "a frame that is not JSON has its error");
	frame_worker_free(&worker);

	begin(l, &wrong);
	free_after = 2;
	for (uint64_t i = 0; i < JOBS; i++)
		add(i, true, LONG);
	while (worker)
		loop_turn(l, 100);
	is_int(nr_seen, 2, "freed inside a callback, it calls no more");
	begin(l, &wrong);
	add(1, false, LONG);
	frame_worker_free(&worker);
	loop_turn(l, 0);
	is_int(nr_seen, 0, "nor when it is freed with a frame in work");
	loop_free(l);

	CLEANUP(json_release) json_t *deep = json_pack("{s:[{s:s},{s:{s:s}}]}", "events", "a", "0123456789", "b", "b64", "0123456789");
	ok(frame_is_long(deep, 19) && !frame_is_long(deep, 20), "the texts of a frame are added up");
	return done_testing();
}
