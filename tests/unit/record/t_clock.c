/* A machine that slept: one event says how long, and only once. */
#include "record_help.h"

static int64_t at_us = 1700000000000000, asleep;

static int64_t wall(void)
{
	return at_us;
}

static int64_t slept(void)
{
	return asleep;
}

static unsigned count(const char *path, uint16_t kind, int64_t *us_out)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct session *s;
	struct feed *f;
	struct event ev;
	struct err err = ERR_INIT;
	unsigned nr = 0;
	if (session_open(&s, path, &err) < 0 || feed_new(&f, s, FEED_ALL, 0, &err) < 0)
		return 99;
	while (feed_next(f, &ev, &a, 0, &err) == 1)
		if (ev.kind == kind) {
			nr++;
			CLEANUP(json_release) json_t *b = json_parse(ev.body, ev.len, "event", &err);
			*us_out = json_int(b, "us", 0);
		}
	feed_free(&f);
	session_close(&s);
	return nr;
}

int main(void)
{
	static const struct record_fixed fixed = { .wall_us = wall, .mono_us = wall, .asleep_us = slept };
	struct loop *l;
	struct record *r;
	struct err err = ERR_INIT;
	int64_t us = 0;
	help_init();
	record_fix(&fixed);
	if (loop_new(&l, &err) < 0 || record_create(&r, l, help_dir(), "clock", NULL, NULL, NULL, &err) < 0)
		return 1;
	record_append_json(r, EV_REDACTED, 0, 0, 0, 0, json_object());
	asleep = 3600000000;
	at_us += 3600000000;
	record_append_json(r, EV_REDACTED, 0, 0, 0, 0, json_object());
	record_append_json(r, EV_REDACTED, 0, 0, 0, 0, json_object());
	char *path = mem_strdup(record_path(r));
	ok(record_close(&r, NULL, &err) == 0, "recorded: %s", err.text);
	is_int(count(path, EV_CLOCK_SUSPEND, &us), 1, "one event of it");
	is_int(us, 3600000000, "with how long it was");
	is_int(count(path, EV_CLOCK_JUMP, &us), 0, "and no jump of the clock");
	free(path);
	loop_free(l);
	return help_done();
}
