/* A verdict covers the events at its start. After new events the screen reports this, and reopening it verifies
 * again. */
#include <dirent.h>

#include "base/clock.h"
#include "fake_session.h"
#include "tap.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"
#include "ui/frame/verifying.h"

static struct ui ui;

static uint64_t verified(void)
{
	struct verify_seen seen = { 0 };
	while (ui.verifying && !seen.over) { /* it runs beside us */
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		verifying_look(ui.verifying, &seen, &a);
	}
	return seen.head;
}

static bool says(const char *what)
{
	char *text = NULL;
	size_t len = 0;
	ui_draw(&ui);
	FILE *to = open_memstream(&text, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	bool yes = strstr(text, what);
	free(text);
	return yes;
}

static int threads(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/task");
	for (const struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* A thread that was joined is in the list for a moment still. */
static int threads_after(int want)
{
	int64_t until = clock_mono_us() + 30000000;
	while (threads() != want && clock_mono_us() < until)
		sched_yield();
	return threads();
}

/* Closing the screen stops an endless verification, which then reports no verdict. */
static void stopping(int before)
{
	is_int(threads_after(before), before, "a finished verification has no thread");
	atomic_store(&fake_endless, true);
	for (int i = 0; i < 3; i++) {
		ui_open(&ui, "verify", &(struct subject){ 0 });
		ui_key(&ui, 'r');
		is_int(threads_after(before + 1), before + 1, "it runs");
		ui_key(&ui, K_ESC);
		is_int(threads_after(before), before, "and leaving the screen stops it");
		ok(strstr(ui.message, "stopped before its end"), "the message reports the stop");
	}
	ui_open(&ui, "verify", &(struct subject){ 0 });
	ui_key(&ui, K_CTRL('c'));
	is_int(threads_after(before), before, "Ctrl-c ends it");
	ok(says("STOPPED") && !says("VERIFIED") && says("no verdict"), "a stopped verification gives no verdict");
	atomic_store(&fake_endless, false);
	ui_key(&ui, 'r');
	is_int((int64_t)verified(), 770, "r starts again");
	ok(says("FAILED  8 passed"), "and finishes");
}

/* Opened once more while it runs, it runs on. */
static void opened_twice(void)
{
	struct verify_seen was = { 0 }, is;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	atomic_store(&fake_endless, true);
	ui_key(&ui, 'r');
	for (int64_t until = clock_mono_us() + 30000000; was.nr < 7 && clock_mono_us() < until; sched_yield())
		verifying_look(ui.verifying, &was, &a);
	ui_say(&ui, ROLE_TEXT, "%s", "");
	unsigned depth = (unsigned)ui.depth;
	ui_open(&ui, "verify", &(struct subject){ 0 });
	verifying_look(ui.verifying, &is, &a);
	ok(!is.over && is.nr == 7 && is.since_us == was.since_us, "reopening does not restart a running verification");
	is_str(ui.message, "", "nor stops it");
	is_int((int64_t)ui.depth, depth, "and opens no second screen");
	ui_back(&ui);
	atomic_store(&fake_endless, false);
}

/* One session at a time: a screen that comes back after another was verified has no verdict. */
static void of_another(void)
{
	struct err err = ERR_INIT;
	struct source *s[2];
	for (int i = 0; i < 2; i++)
		if (source_open(&s[i], "tests/screens/fleet.jsonl", &err) < 0)
			exit(99);
	ui_init(&ui, s, NULL, 2, 24, 80, false);
	ui_sync(&ui);
	for (size_t i = 0; i < 2; i++) {
		ui_open(&ui, "verify", &(struct subject){ .source = i });
		verified();
		ok(says("8 passed"), "session %zu is verified", i);
		if (i == 0)
			ui_open(&ui, "log", &(struct subject){ .source = 1 });
	}
	ui_back(&ui);
	ui_back(&ui);
	ok(says("NOT VERIFIED") && !says("passed") && says("r runs the checks"), "the first session has no verdict now");
	ui_key(&ui, 'r');
	verified();
	ok(says("FAILED  8 passed"), "until it is verified again");
	ui_release(&ui);
	for (int i = 0; i < 2; i++)
		source_close(&s[i]);
}

int main(void)
{
	int alone = threads();
	struct err err = ERR_INIT;
	struct source *s = NULL;
	if (source_open(&s, "tests/screens/fleet.jsonl", &err) < 0)
		return 99;
	fake_last->committed = 700;
	ui_init(&ui, &s, NULL, 1, 24, 80, false);
	ui_sync(&ui);
	ui_draw(&ui);
	ui_open(&ui, "verify", &(struct subject){ 0 });
	is_int((int64_t)verified(), 700, "verified as far as it goes");
	ok(!says("as of event"), "that is all of it");
	ui_back(&ui);
	ui_open(&ui, "verify", &(struct subject){ 0 });
	struct verifying *first = ui.verifying;
	is_int((int64_t)verified(), 700, "who comes back sees the same");
	fake_last->committed = 0;
	ui_sync(&ui);
	ok(says("as of event 700"), "more has come: it says as of which event");
	ok(ui.verifying == first, "and stands");
	ui_back(&ui);
	ui_open(&ui, "verify", &(struct subject){ 0 });
	is_int((int64_t)verified(), 770, "who comes back then gets a new one");
	ok(!says("as of event"), "of all that is there");
	stopping(alone);
	opened_twice();
	ui_release(&ui);
	source_close(&s);
	of_another();
	return done_testing();
}
