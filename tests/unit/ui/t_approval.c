/* Drives the approval screen by its keys. Checks which commands it sends and, above all, which ones it doesn't. */
#include <unistd.h>

#include "approval_screen.h"
#include "ui/frame/finder.h"

/* "approve 767 {"intent":"abab..."}" */
static const char *expect(const char *word, const char *rest)
{
	static char text[512];
	char intent[65];
	memset(intent, 0, sizeof(intent));
	for (int i = 0; i < 32; i++)
		memcpy(intent + 2 * i, "ab", 2);
	snprintf(text, sizeof(text), "%s %lu {%s\"intent\":\"%s\"}", word, (unsigned long)action,
		 rest, intent);
	return text;
}

static void never_by_itself(void)
{
	struct err err = ERR_INIT;
	if (source_open(&src, "tests/screens/fleet.jsonl", &err) < 0)
		exit(99);
	src->session->committed = 700;
	ui_init(&ui, &src, &act, 1, 36, 120, false);
	ui_sync(&ui);
	ui_draw(&ui);
	ok(src->model.nr_held == 0 && !ui.bell, "nothing held yet");
	src->session->committed = 0;
	ui_sync(&ui);
	ui_draw(&ui);
	is_int((int)src->model.nr_held, 1, "now something is");
	is_str(view(), "fleet", "and the screen stays where it was");
	ok(ui.bell, "the bell rings");
	end();
}

/* y, a click anywhere, y: two first ones. */
static void clicks_between(void)
{
	for (int row = 0; row < 36; row++) {
		begin("tests/screens/fleet.jsonl", &act, 36);
		later(500000);
		press("y");
		ui_mouse(&ui, (struct mouse){ MOUSE_PRESS, row, 119 });
		press("y");
		if (nr_sent > 0)
			ok(false, "y, a click on row %d, y", row);
		end();
	}
	ok(true, "a click between takes the first y back");
}

static void taken_back(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	later(500000);
	press("y");
	ok(strstr(ui.message, "y again") != NULL, "a second y is asked for: %s", ui.message);
	ui_key(&ui, K_ESC);
	ui_draw(&ui);
	ok(nr_sent == 0 && strcmp(view(), "fleet") == 0, "Esc leaves it as it is");
	is_str(ui.message, "not decided: it is still pending",
	       "no second y is needed");
	end();
}

static void dead_keys(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	is_str(view(), "approval", "a opens it");
	ok(ui.flush, "the screen discards keys typed before it opened");
	press("yynxe");
	is_int(nr_sent, 0, "keys within 0.4 s decide nothing");
	ok(!ui.prompt.active && !ui.edit, "and ask nothing");
	later(399000);
	press("y");
	is_int(nr_sent, 0, "nor just before");
	later(2000);
	press("\n\n");
	is_int(nr_sent, 0, "Enter does nothing");
	press("y");
	is_int(nr_sent, 0, "high risk: one y is not enough");
	press("j");
	press("y");
	is_int(nr_sent, 0, "another key between takes it back");
	press("y");
	is_str(sent, expect("approve", ""), "y y approves the intent on the screen");
	ok(strstr(ui.message, " approved once"), "the status line reports the approval: %s", ui.message);
	end();
}

static void denials(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	later(1000000);
	press("nopen a branch\n");
	is_str(sent, expect("deny", "\"message\":\"open a branch\","), "n takes one line");
	sent[0] = 0;
	press("n\x1b");
	is_str(sent, "", "Esc in it sends nothing");
	press("n\n");
	is_str(sent, expect("deny", ""), "an empty message is allowed");
	ok(strstr(ui.message, " denied; agent continues"), "the result is reported: %s",
	   ui.message);
	press("x");
	is_str(sent, expect("deny", "\"pause\":true,"), "x denies and pauses");
	ok(strstr(ui.message, "pauses: c continues it"), "with the key that continues the agent: %s",
	   ui.message);
	press("Xn");
	is_str(sent, expect("deny", "\"pause\":true,"), "X asks first");
	press("Xy");
	is_str(sent, expect("deny", "\"kill\":true,"), "X y kills");
	end();
}

static void widening(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	later(1000000);
	press("s");
	is_int(nr_sent, 0, "s opens a second screen");
	press("y");
	is_int(nr_sent, 0, "where y is not yes");
	press("\x1b");
	is_str(view(), "approval", "Esc goes back to the first");
	later(1000000);
	press("sj\n");
	is_int(nr_sent, 0, "its Enter is dead for a moment");
	later(1000000);
	press("\n");
	is_str(sent, expect("approve", "\"session\":\"git push origin fix/*\","),
	       "j and Enter choose the wider pattern");
	sent[0] = 0;
	press("sjjua");
	later(1000000);
	press("\n");
	is_str(sent, "", "a wide one warns first");
	press("\n");
	is_str(sent,
	       expect("approve", "\"session\":\"git push *\",\"for\":\"30m\",\"all-agents\":true,"),
	       "Enter again saves it, for 30 minutes and all agents");
	press("se\x15* push");
	ok(strstr(ui_top(&ui)->ops->name, "approval") && ui.prompt.active, "e edits a pattern");
	later(1000000);
	sent[0] = 0;
	press("\n\n");
	is_str(sent, "", "an empty pattern is not saved");
	press("e\x15git push origin *\n");
	press("\n");
	is_str(sent, expect("approve", "\"session\":\"git push origin *\","), "a pattern of your own is saved");
	end();
}

/* The screen's text for a host that is @middle characters longer than its start and its end. */
static void long_host(int rows, int cols, int middle)
{
	char *text = NULL;
	size_t len = 0;
	CLEANUP(buf_release) struct buf host = BUF_INIT;
	buf_puts(&host, "github.com.");
	for (int i = 0; i < middle; i++)
		buf_putc(&host, 'a');
	buf_puts(&host, ".evil.example:443");
	fake_host = buf_cstr(&host);
	begin("tests/screens/fleet.jsonl", &act, rows);
	ui_resize(&ui, rows, cols);
	later(1000000);
	press("sh");
	ui_draw(&ui);
	FILE *to = open_memstream(&text, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	ok(strstr(text, ".evil.example:443"),
	   "%d x %d: the end of a host of %zu characters is seen", cols, rows, host.len);
	free(text);
	end();
	fake_host = "github.com:443";
}

static void long_hosts(void)
{
	long_host(24, 80, 60);
	long_host(24, 80, 250);
	long_host(36, 120, 60);
	long_host(36, 120, 40);
}

/* The decisive part of a pattern may be at either end, or in the middle. */
static void long_patterns(void)
{
	CLEANUP(buf_release) struct buf keys = BUF_INIT;
	buf_puts(&keys, "se\x15git push FIRST-");
	for (int i = 0; i < 80; i++)
		buf_putc(&keys, 'a');
	buf_puts(&keys, "MIDDLE");
	for (int i = 0; i < 80; i++)
		buf_putc(&keys, 'b');
	buf_puts(&keys, "-LAST.evil.example\n");
	begin("tests/screens/fleet.jsonl", &act, 24);
	ui_resize(&ui, 24, 80);
	later(1000000);
	press(buf_cstr(&keys));
	ok(seen("FIRST-") && seen("MIDDLE") && seen("-LAST.evil.example"),
	   "under the cursor all of it");
	press("k");
	ok(seen("FIRST-") && !seen("MIDDLE") && seen("evil.example"), "elsewhere both ends");
	end();
	buf_reset(&keys);
	buf_puts(&keys, "se\x15git push ");
	for (int i = 0; i < 900; i++)
		buf_putc(&keys, 'a');
	buf_puts(&keys, "-LAST\n");
	begin("tests/screens/fleet.jsonl", &act, 24);
	ui_resize(&ui, 24, 80);
	later(1000000);
	press(buf_cstr(&keys));
	ok(seen("rows 1-") && !seen("-LAST"), "a pattern longer than its area shows its row numbers");
	for (int i = 0; i < 40; i++)
		ui_key(&ui, K_PGDN);
	ok(seen("-LAST"), "Page Down scrolls it");
	for (int i = 0; i < 14; i++)
		ui_key(&ui, K_CTRL('u'));
	ok(seen("rows 1-"), "and back");
	end();
}

static void adding(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	later(1000000);
	press("p");
	is_int(nr_sent, 0, "p opens a second screen");
	press("j\n");
	is_int(nr_sent, 0, "its Enter is dead for a moment");
	later(1000000);
	press("\n");
	is_str(sent, expect("approve", "\"rule\":\"git push origin fix/*\","),
	       "Enter adds the rule and approves");
	press("Nbecause\npd");
	later(1000000);
	press("\n");
	is_str(sent,
	       "deny 767 {\"rule\":\"git push origin fix/parser\",\"intent\":\"abababababababababababababababababababab"
	       "ababababababababababab"
	       "ab\",\"note\":\"because\"}",
	       "d: it denies, with the note as its reason");
	end();
}

static void choosing(void)
{
	begin_at(25);
	press("\n");
	is_int(nr_sent, 0, "nothing is chosen: Enter does nothing");
	for (int i = 0; i < 12; i++) {
		press("j\n");
		press("\x1b");
		if (strcmp(view(), "approval") != 0)
			break;
		ok(nr_sent == 0, "line %d: Enter lets nothing run", i + 1);
		if (ui.prompt.active)
			press("\x1b");
		if (strcmp(view(), "approval") != 0)
			break;
		ui_do(&ui, VERB_APPROVE);
	}
	end();
	begin_at(25);
	press("jjjjjj\n");
	ok(ui.prompt.active, "on 'deny with message' it asks for the message");
	press("not now\n");
	ok(strstr(sent, "deny 25 {\"message\":\"not now\"") != NULL, "which denies");
	end();
}

static void notes(void)
{
	begin_at(25);
	press("Nred CI\n");
	is_int(nr_sent, 0, "a note is kept");
	press("y");
	ok(strstr(sent, "\"note\":\"red CI\"") != NULL, "and goes with the decision");
	end();
	begin_at(25);
	press("Nask bea\n\x1b");
	is_str(view(), "fleet", "later, with a note");
	ok(strncmp(sent, "defer 25 ", 9) == 0 && strstr(sent, "\"note\":\"ask bea\""),
	   "is recorded");
	end();
}

static void typed(void)
{
	begin_at(35);
	press("yy");
	is_int(nr_sent, 0, "a rule wants the name typed: y y does not do");
	ok(ui.prompt.active, "it is asked for");
	press("stagg\n");
	is_int(nr_sent, 0, "another word is not it");
	press("yy");
	for (const char *p = "stage"; *p; p++)
		ui_key(&ui, (uint32_t)(unsigned char)*p | K_PASTED);
	press("\n");
	is_int(nr_sent, 0, "pasted it is not typed");
	press("yystage\n");
	ok(strncmp(sent, "approve 35 {\"confirm\":\"stage\"", 29) == 0, "typed it is");
	end();
}

static void pasted_reason(void)
{
	begin_at(25);
	press("n");
	for (const char *p = "two\nlines\tlong"; *p; p++)
		ui_key(&ui, (uint32_t)(unsigned char)*p | K_PASTED);
	is_int(nr_sent, 0, "a pasted line break does not send the reason");
	press("\n");
	ok(strstr(sent, "two\\nlines long"), "it stays in the reason: %s", sent);
	end();
}

/* The recording shows the first pending approval as denied. */
static void first_is_over(void)
{
	for (size_t i = 0; i < src->model.nr_actions; i++)
		if (src->model.action[i].id == src->model.held[0])
			src->model.action[i].state = ACT_OVER;
	src->model.nr_held--;
	memmove(src->model.held, src->model.held + 1, src->model.nr_held * sizeof(uint64_t));
	ui_sync(&ui);
	ui_draw(&ui);
}

static void next_opens(void)
{
	struct subject on = { 0 };
	begin_at(25);
	later(1000000);
	press("x");
	is_int(nr_sent, 1, "one is denied");
	first_is_over();
	is_str(view(), "approval", "approvals.next: the next one opens");
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
	is_int((int)on.action, 29, "in the order of the queue");
	ok(seen("#25 denied"), "the decision before is named");
	press("x");
	is_int(nr_sent, 1, "its keys are dead for 0.4 s");
	later(1000000);
	ui_set(&ui, "approvals.next=false");
	press("x");
	is_int(nr_sent, 2, "then they decide");
	first_is_over();
	is_str(view(), "fleet", "without the setting the screen closes");
	end();
}

/* A filter of the queue holds for what opens next, too. */
static void next_of_filter(void)
{
	struct subject on = { 0 };
	begin_at(25);
	press("\x1b");
	ui_do(&ui, VERB_QUEUE);
	ui_draw(&ui);
	filter_set(&ui, "id:25 or id:35");
	ui_draw(&ui);
	press("\n");
	is_str(view(), "approval", "opened from the queue");
	later(1000000);
	press("x");
	is_int(nr_sent, 1, "it is denied");
	first_is_over();
	is_str(view(), "approval", "the next one opens");
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
	is_int((int)on.action, 35, "of those that the filter shows");
	end();
	begin_at(25);
	press("\x1b");
	ui_do(&ui, VERB_QUEUE);
	ui_draw(&ui);
	filter_set(&ui, "id:25");
	ui_draw(&ui);
	press("\n");
	later(1000000);
	press("x");
	first_is_over();
	ui_sync(&ui);
	ui_draw(&ui);
	is_str(view(), "queue", "and none if it hides all others");
	filter_set(&ui, NULL);
	end();
}

static void batch(void)
{
	begin_at(25);
	ui_do(&ui, VERB_QUEUE);
	ui_draw(&ui);
	later(1000000);
	is_str(view(), "queue", "the queue");
	filter_set(&ui, "id:25");
	ui_draw(&ui);
	ok(seen("1 of 4 HELD"), "a filtered queue says how many there are");
	filter_set(&ui, NULL);
	ui_draw(&ui);
	press("gy");
	is_str(view(), "approval", "y opens the approval of the row");
	is_int(nr_sent, 0, "and decides nothing");
	press("\x1b");
	later(1000000);
	press("gnno\n");
	is_int(nr_sent, 1, "n denies the row");
	ok(strncmp(sent, "deny 25 {\"intent\":\"5555", 23) == 0, "bound to the shown intent");
	nr_sent = 0;
	later(1000000);
	press("g  y");
	ok(ui.prompt.active, "two of one rule: asked once");
	press("y");
	is_int(nr_sent, 0, "a y right after the question does not answer it");
	later(1000000);
	press("y");
	is_int(nr_sent, 2, "y approves both");
	ok(strncmp(sent, "approve 29 {\"intent\":\"6666", 25) == 0, "each approval carries the intent on the screen");
	press("g j y");
	ok(!ui.prompt.active, "another rule among them: not together");
	press("G y");
	ok(!ui.prompt.active, "high risk: never together");
	nr_sent = 0;
	press("n");
	ok(ui.prompt.active, "but they can be denied");
	press("all of it\n");
	is_int(nr_sent, 3, "with one message");
	ok(strstr(sent, "\"message\":\"all of it\"") != NULL, "said to each");
	end();
}

static void editing(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	later(1000000);
	press("e");
	is_str(ui.edit, "git push origin fix/parser", "the editor gets the command");
	ui_edited(&ui, "git push origin fix/parser");
	is_int(nr_sent, 0, "unchanged: nothing is sent");
	later(1000000);
	press("e");
	ui_edited(&ui, "");
	is_str(ui.message, "nothing was changed; it is still pending", "emptied: as unchanged");
	later(1000000);
	press("e");
	ui_edited(&ui, "git push --dry-run origin fix/parser");
	is_int(nr_sent, 0, "changed: nothing is sent, it comes back to the screen");
	ui_draw(&ui);
	ok(seen("git push --dry-run origin fix/parser") && seen("edited by you") && seen("was"),
	   "which shows both");
	press("y");
	is_int(nr_sent, 0, "keys are off for a moment there");
	later(1000000);
	press("s");
	is_int(nr_sent, 0, "no pattern can be made of it");
	press("e");
	is_str(ui.edit, "git push --dry-run origin fix/parser", "e continues the earlier edit");
	ui_edited(&ui, NULL);
	ui_draw(&ui);
	later(1000000);
	press("y");
	is_int(nr_sent, 0, "the risk is high: one y is not enough for it either");
	press("y");
	is_str(sent, expect("approve", "\"cmd\":\"git push --dry-run origin fix/parser\","),
	       "changed: to be judged again");
	end();
}

/* y waits until the end of the bytes has been seen. */
static void long_command(void)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	char path[] = "/tmp/sandglass-ui-XXXXXX";
	CLEANUP(fd_close) int fd = mkstemp(path);
	buf_puts(
		&text,
		"{\"at\":\"0\",\"kind\":\"session.start\",\"body\":{}}\n{\"at\":\"1\",\"kind\":\"action."
		"requested\",\"body\":"
		"{\"kind\":\"exec\",\"cmd\":\"");
	for (int i = 0; i < 60; i++)
		buf_printf(&text, "echo %d\\n", i);
	buf_puts(
		&text,
		"rm -rf "
		".\"}}\n{\"at\":\"2\",\"kind\":\"action.held\",\"action\":2,\"body\":{\"reasons\":[\"ask\"]}}\n");
	if (fd_write_all(fd, text.data, text.len, &err) < 0)
		exit(99);
	begin(path, &act, 36);
	later(1000000);
	press("y");
	is_int(nr_sent, 0, "a command longer than the screen: y is off");
	press("G");
	press("y");
	is_int(nr_sent, 1, "at its end y is on");
	end();
	unlink(path);
}

/* An agent's name of any length leaves room for the agent, the question, and the typed text. */
static void long_name(void)
{
	static const char text[] =
		"{\"at\":\"0\",\"kind\":\"session.start\",\"body\":{}}\n"
		"{\"at\":\"0\",\"kind\":\"agent.start\",\"body\":{\"name\":\"looks-after-every-translation-there-is-of-the-manual\"}}\n"
		"{\"at\":\"1\",\"kind\":\"action.requested\",\"agent\":2,\"body\":{\"kind\":\"exec\",\"cmd\":\"make\"}}\n"
		"{\"at\":\"2\",\"kind\":\"action.held\",\"agent\":2,\"action\":3,\"body\":{\"reasons\":[\"ask\"]}}\n";
	struct err err = ERR_INIT;
	char path[] = "/tmp/sandglass-ui-XXXXXX";
	CLEANUP(fd_close) int fd = mkstemp(path);
	if (fd_write_all(fd, text, sizeof(text) - 1, &err) < 0)
		exit(99);
	begin(path, &act, 24);
	ui_resize(&ui, 24, 60);
	ok(seen("looks-after") && seen("held"), "a long name is cut in the title, not left out");
	ui_resize(&ui, 24, 80);
	press("\033M");
	press("in English first");
	ok(seen("to looks-after->: in English first"), "a message to it is seen while it is typed");
	press("\n");
	ok(seen("looks-after-> gets the message before its next model call"), "and what became of it");
	press("X");
	ok(seen("2 agent looks-after->  3 the whole session"), "all that can be killed is offered");
	press("1");
	ok(strncmp(sent, "kill #3 ", 8) == 0, "an action by what no agent is called");
	end();
	unlink(path);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	long_name();
	never_by_itself();
	dead_keys();
	clicks_between();
	taken_back();
	denials();
	widening();
	long_hosts();
	long_patterns();
	adding();
	choosing();
	notes();
	typed();
	pasted_reason();
	next_opens();
	next_of_filter();
	batch();
	editing();
	long_command();
	return done_testing();
}
