/* A verdict is about the events that were there: where more have come it says so, and who comes back gets a new one. */
#include <dirent.h>

#include "base/clock.h"
#include "fake_session.h"
#include "tap.h"
#include "ui/term/term.h"
#include "ui/ui.h"
#include "ui/verifying.h"

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

/* One that would go on for ever ends with its screen, and says nothing about what it did not look at. */
static void stopping(void)
{
	int before = threads();
	atomic_store(&fake_endless, true);
	for (int i = 0; i < 3; i++) {
		ui_open(&ui, "verify", &(struct subject){ 0 });
		ui_key(&ui, 'r');
		is_int(threads(), before + 1, "it runs");
		ui_key(&ui, K_ESC);
		is_int(threads_after(before), before, "and ends when one leaves");
		ok(strstr(ui.message, "stopped before its end"), "which is said");
	}
	ui_open(&ui, "verify", &(struct subject){ 0 });
	ui_key(&ui, K_CTRL('c'));
	is_int(threads_after(before), before, "Ctrl-c ends it");
	ok(says("STOPPED") && !says("VERIFIED") && says("no verdict"), "that is no verdict");
	atomic_store(&fake_endless, false);
	ui_key(&ui, 'r');
	is_int((int64_t)verified(), 770, "r begins anew");
	ok(says("FAILED  8 passed"), "and comes to its end");
}

int main(void)
{
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
	stopping();
	ui_release(&ui);
	source_close(&s);
	return done_testing();
}
