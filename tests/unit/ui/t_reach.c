/* At most two keys lead from each screen to the dialog of a pending action. No key of the help reaches the decisions
 * below it. A read-only review explains how to continue. */
#include "fake_session.h"
#include "tap.h"
#include "ui/frame/ui.h"
#include "ui/term/term.h"

static bool leads_to(const char *view, const char *keys, const char *where)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct ui ui;
	if (source_open(&s, "tests/screens/fleet.jsonl", &err) < 0)
		exit(99);
	ui_init(&ui, &s, NULL, 1, 36, 120, false);
	ui_sync(&ui);
	ui_draw(&ui);
	ui_open(&ui, view, &(struct subject){ .agent = s->model.agent[0].id });
	ui_draw(&ui);
	for (; *keys; keys++) {
		ui.mono_us += 1000000;
		ui_key(&ui, (uint32_t)(unsigned char)*keys);
		ui_draw(&ui);
	}
	bool there = strcmp(ui_top(&ui)->ops->name, where) == 0;
	ui_release(&ui);
	source_close(&s);
	return there;
}

static bool reaches(const char *view, const char *keys)
{
	return leads_to(view, keys, "approval");
}

/* Every key but those that move, search and leave, on the help over a screen where users decide. */
static void help_keeps_keys(const char *view)
{
	char keys[] = "? ";
	bool kept = true;
	for (char c = ' '; c <= '~'; c++) {
		keys[1] = c;
		if (!strchr("q?/nN", c))
			kept = leads_to(view, keys, "help") && kept;
	}
	ok(kept, "%s: keys of its help stay there", view);
}

/* The message of "a" in a review without possible decisions. */
static void says(bool replay, const char *want)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct ui ui;
	if (source_open(&s, "tests/screens/review.jsonl", &err) < 0)
		exit(99);
	ui_init(&ui, &s, NULL, 1, 24, 80, false);
	ui.replay = replay;
	ui_sync(&ui);
	ui_draw(&ui);
	ui_open(&ui, "review", &(struct subject){ .agent = s->model.agent[0].id });
	ui_draw(&ui);
	ui_key(&ui, 'a');
	ok(strstr(ui.message, want), "%s: %s", replay ? "a record" : "elsewhere", ui.message);
	ui_release(&ui);
	source_close(&s);
}

/* The diff of a pending action is of its own sandbox: scripts open several. */
static void shows_box_of_action(uint64_t action, const char *box)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct ui ui;
	char *screen = NULL;
	size_t len = 0;
	if (source_open(&s, "tests/screens/several.jsonl", &err) < 0)
		exit(99);
	ui_init(&ui, &s, NULL, 1, 24, 80, false);
	ui_sync(&ui);
	ui_draw(&ui);
	ui_open(&ui, "queue", &(struct subject){ .action = action });
	ui_draw(&ui);
	ui_open(&ui, "approval", &(struct subject){ .action = action });
	ui_draw(&ui);
	ui.mono_us += 1000000;
	ui_key(&ui, 'd');
	ui_draw(&ui);
	FILE *to = open_memstream(&screen, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	ok(strstr(screen, box), "#%llu: diff of %s", (unsigned long long)action, box);
	free(screen);
	ui_release(&ui);
	source_close(&s);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < view_count(); i++) {
		const char *view = view_at(i)->name;
		ok(reaches(view, "a") || reaches(view, "A\n") || reaches(view, "Aa") || reaches(view, "\x1b""a"), "%s: two keys", view);
	}
	help_keeps_keys("queue");
	help_keeps_keys("approval");
	help_keeps_keys("review");
	says(false, "'sandglass approve s-0rev1e#7' lets the script merge it");
	says(true, "nothing runs in replay");
	shows_box_of_action(8, "process:first");
	shows_box_of_action(11, "process:second");
	return done_testing();
}
