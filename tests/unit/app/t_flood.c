/* A bound on events that a program in a loop causes: none is lost, few are recorded. */
#include "supervisor/core/flood.h"
#include "tap.h"

struct told {
	uint64_t times, all;
	json_int_t newest;
	struct loop *loop;
};

static void tell(void *self, const json_t *body, uint64_t count)
{
	struct told *t = self;
	t->times++;
	t->all += count;
	t->newest = json_int(body, "n", 0);
	if (t->all == 500)
		loop_stop(t->loop);
}

static void add(struct flood *f, int n)
{
	json_t *body = json_object();
	json_put_int(body, "n", n);
	flood_add(f, body);
}

int main(void)
{
	struct err err = ERR_INIT;
	struct told t = { 0 };
	ok(loop_new(&t.loop, &err) == 0, "a loop");
	struct flood *f = flood_new(t.loop, tell, &t);
	for (int n = 1; n <= FLOOD_FREE; n++)
		add(f, n);
	is_int(t.times, FLOOD_FREE, "the first ones one by one");
	for (int n = FLOOD_FREE + 1; n <= 500; n++)
		add(f, n);
	is_int(t.times, FLOOD_FREE, "the others wait");
	loop_run(t.loop);
	is_int(t.times, FLOOD_FREE + 1, "for one that stands for all");
	is_int(t.newest, 500, "and shows the last");
	add(f, 501);
	flood_free(&f);
	is_int(t.all, 501, "the end tells what was held back");
	loop_free(t.loop);
	return done_testing();
}
