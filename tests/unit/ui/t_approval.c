/* The rules of the approval screen, by its keys: what is sent, and above all what is not. */
#include <unistd.h>

#include "fake_session.h"
#include "fake_waivers.h"
#include "held_anew.h"
#include "tap.h"
#include "ui/term/draw.h"
#include "ui/term/term.h"
#include "ui/ui.h"

static char sent[512];
static int nr_sent;

static void command(void *self, const char *const *words, size_t nr, json_t *opts, act_done_fn *done, void *done_self)
{
	size_t at = 0;
	(void)self;
	if (fake_waivers(words, nr, opts, done, done_self))
		return;
	nr_sent++;
	for (size_t i = 0; i < nr; i++)
		at += (size_t)snprintf(sent + at, sizeof(sent) - at, "%s%s", i ? " " : "", words[i]);
	CLEANUP(free_ptr) char *text = opts ? json_dump_str(opts) : xstrdup("");
	snprintf(sent + at, sizeof(sent) - at, " %s", text);
}

static struct source *src;
static struct ui ui;
static const struct act act = { .command = command };
static uint64_t action;

static void begin(const char *fixture, const struct act *with, int rows)
{
	struct err err = ERR_INIT;
	if (source_open(&src, fixture, &err) < 0)
		exit(99);
	ui_init(&ui, &src, with, 1, rows, 120, false);
	ui_sync(&ui);
	action = src->model.held[0];
	ui.mono_us = 1000000;
	sent[0] = 0;
	nr_sent = 0;
	ui_draw(&ui);
	ui_do(&ui, VERB_APPROVE);
	ui_draw(&ui);
}

static void end(void)
{
	ui_release(&ui);
	source_close(&src);
}

static void later(int64_t us)
{
	ui.mono_us += us;
}

static void press(const char *keys)
{
	for (; *keys; keys++) {
		ui_key(&ui, (uint32_t)(unsigned char)*keys);
		ui_draw(&ui);
	}
}

static const char *view(void)
{
	return ui_top(&ui)->ops->name;
}

/* "approve 767 {"intent":"abab..."}" */
static const char *expect(const char *word, const char *rest)
{
	static char text[512];
	char intent[65];
	memset(intent, 0, sizeof(intent));
	for (int i = 0; i < 32; i++)
		memcpy(intent + 2 * i, "ab", 2);
	snprintf(text, sizeof(text), "%s %lu {%s\"intent\":\"%s\"}", word, (unsigned long)action, rest, intent);
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
	ok(strstr(ui.message, "y once more") != NULL, "a second y is asked for: %s", ui.message);
	ui_key(&ui, K_ESC);
	ui_draw(&ui);
	ok(nr_sent == 0 && strcmp(view(), "fleet") == 0, "Esc leaves it as it is");
	is_str(ui.message, "not decided: it is still held", "and nothing asks for a second y any more");
	end();
}

static void dead_keys(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	is_str(view(), "approval", "a opens it");
	ok(ui.flush, "what was typed ahead is thrown away");
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
	is_str(sent, expect("approve", ""), "y y approves, bound to what was shown");
	ok(strstr(ui.message, " is approved once"), "and it is said in words: %s", ui.message);
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
	ok(strstr(ui.message, " is denied; its agent goes on"), "what it comes to is said: %s", ui.message);
	press("x");
	is_str(sent, expect("deny", "\"pause\":true,"), "x denies and pauses");
	ok(strstr(ui.message, "pauses: c lets it go on"), "and what lets its agent go on: %s", ui.message);
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
	is_str(sent, expect("approve", "\"session\":\"git push origin fix/*\","), "j and Enter choose the wider pattern");
	sent[0] = 0;
	press("sjjua");
	later(1000000);
	press("\n");
	is_str(sent, "", "a wide one warns first");
	press("\n");
	is_str(sent, expect("approve", "\"session\":\"git push *\",\"for\":\"30m\",\"all-agents\":true,"),
	       "Enter again saves it, for 30 minutes and all agents");
	press("se\x15* push");
	ok(strstr(ui_top(&ui)->ops->name, "approval") && ui.prompt.active, "e edits a pattern");
	later(1000000);
	sent[0] = 0;
	press("\n\n");
	is_str(sent, "", "one that is none is not saved");
	press("e\x15git push origin *\n");
	press("\n");
	is_str(sent, expect("approve", "\"session\":\"git push origin *\","), "one's own is");
	end();
}

/* What the screen says of a host that is @middle characters longer than its beginning and its end. */
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
	ok(strstr(text, ".evil.example:443"), "%d x %d: the end of a host of %zu characters is seen",
	   cols, rows, host.len);
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

static bool seen(const char *what)
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

/* What decides may stand at either end of a pattern, and in the middle. */
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
	ok(seen("FIRST-") && seen("MIDDLE") && seen("-LAST.evil.example"), "under the cursor all of it");
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
	ok(seen("rows 1-") && !seen("-LAST"), "one that is longer than its room says so");
	for (int i = 0; i < 40; i++)
		ui_key(&ui, K_PGDN);
	ok(seen("-LAST"), "it is scrolled");
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
	is_str(sent, expect("approve", "\"rule\":\"git push origin fix/*\","), "Enter adds the rule and approves");
	press("Nbecause\npd");
	later(1000000);
	press("\n");
	is_str(sent, "deny 767 {\"rule\":\"git push origin fix/parser\",\"intent\":\"abababababababababababababababababababab"
		     "ababababababababababab" "ab\",\"note\":\"because\"}", "d: it denies, with the note as its reason");
	end();
}

/* On the screen of the held action of steer.jsonl with the number @id. */
static void begin_at(uint64_t id)
{
	begin("tests/screens/steer.jsonl", &act, 36);
	while (src->model.held[0] != id && action != id) {
		press("]");
		for (size_t i = 0; i < src->model.nr_held; i++)
			if (src->model.held[i] == id)
				action = id;
	}
	struct subject on = { 0 };
	for (int i = 0; i < 8 && on.action != id; i++) {
		ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
		if (on.action != id)
			press("]");
	}
	later(1000000);
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
	ok(strncmp(sent, "later 25 ", 9) == 0 && strstr(sent, "\"note\":\"ask bea\""), "is recorded");
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

static void batch(void)
{
	begin_at(25);
	ui_do(&ui, VERB_QUEUE);
	ui_draw(&ui);
	later(1000000);
	is_str(view(), "queue", "the queue");
	press("gyn");
	is_int(nr_sent, 0, "nothing is marked");
	ok(!ui.prompt.active, "and nothing asked");
	press("  y");
	ok(!ui.prompt.active, "the words of who has pressed n are no keys");
	later(1000000);
	press("  y");
	ok(ui.prompt.active, "two of one rule: asked once");
	press("y");
	is_int(nr_sent, 0, "a y right behind is no answer");
	later(1000000);
	press("y");
	is_int(nr_sent, 2, "y approves both");
	ok(strncmp(sent, "approve 29 {\"intent\":\"6666", 25) == 0, "each bound to what was shown");
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
	ui_edited(&ui, "git push --dry-run origin fix/parser");
	is_int(nr_sent, 0, "changed: nothing is sent, it comes back to the screen");
	ui_draw(&ui);
	ok(seen("git push --dry-run origin fix/parser") && seen("edited by you") && seen("was"), "which shows both");
	press("y");
	is_int(nr_sent, 0, "keys are off for a moment there");
	later(1000000);
	press("s");
	is_int(nr_sent, 0, "no pattern can be made of it");
	press("e");
	is_str(ui.edit, "git push --dry-run origin fix/parser", "e goes on where it was left");
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

static void others(void)
{
	begin("tests/screens/fleet.jsonl", NULL, 36);
	later(1000000);
	press("yyx");
	is_int(nr_sent, 0, "read-only: nothing can be sent");
	end();
	static const struct act looks = { .why_not = "read only: this session is shared with you to watch" };
	begin("tests/screens/fleet.jsonl", &looks, 36);
	later(1000000);
	press("y");
	ok(nr_sent == 0 && strstr(ui.message, "shared with you to watch"), "who may only look is told why: %s", ui.message);
	press("\x1b");
	is_str(view(), "fleet", "Esc leaves it held");
	end();
	begin("tests/screens/fleet.jsonl", &act, 12);
	press("yynq");
	is_int(nr_sent, 0, "too small a window: y and n are dead");
	end();
}

/* It arrives as an event, as it does from the recorder. @body: owned by the session from here on. */
static void event_comes(uint16_t kind, char *body)
{
	struct session *s = src->session;
	GROW(s->event, s->nr, s->cap);
	s->event[s->nr] = (struct event){ .seq = s->nr + 1, .action = action, .kind = kind, .body = body,
					  .len = strlen(body), .ts_us = s->event[s->nr - 1].ts_us };
	s->nr++;
	ui_sync(&ui);
	ui_draw(&ui);
}

static void decision_comes(const char *who)
{
	event_comes(EV_ACTION_DECIDED, xasprintf("{\"decision\":\"approve\",\"by\":\"human\",\"who\":{\"name\":\"%s\"}}", who));
}

/* Whoever had it open sees what ran. */
static void edited_elsewhere(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	later(1000000);
	event_comes(EV_ACTION_DECIDED, xstrdup("{\"decision\":\"edit\",\"by\":\"human\",\"who\":{\"name\":\"ann\"}}"));
	event_comes(EV_ACTION_STARTED, xstrdup("{\"edited\":true,\"argv\":[\"git\",\"push\",\"-n\"]}"));
	ok(seen("edited by ann at ") && seen("it ran as: git push -n"), "an edited one says as what it ran");
	end();
}

static void decided_elsewhere(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	later(1000000);
	decision_comes("ann");
	is_str(view(), "approval", "somebody else was first: it stays open and says so");
	press("y");
	is_int(nr_sent, 0, "y decides nothing any more");
	is_str(view(), "fleet", "any key closes it");
	end();
}

/* Decided between the choice and the screen: another one that waits does not take its place. */
static void decided_before(void)
{
	begin_at(25);
	press("\x1b");
	decision_comes("ann");
	ui_open(&ui, "approval", &(struct subject){ .action = 25 });
	ui_draw(&ui);
	later(1000000);
	struct subject on = { 0 };
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
	ok(src->model.nr_held > 0 && on.action == 25, "what was chosen is shown, though others wait");
	press("y");
	ok(nr_sent == 0, "and y decides none of them");
	end();
}

static void decided_here(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	later(1000000);
	press("yy");
	is_str(view(), "approval", "sent, not yet done: it stays");
	decision_comes("bea");
	is_str(view(), "fleet", "done: it closes by itself");
	end();
}

/* y waits until the end of the bytes has been seen. */
static void long_command(void)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	char path[] = "/tmp/sandglass-ui-XXXXXX";
	CLEANUP(fd_close) int fd = mkstemp(path);
	buf_puts(&text, "{\"at\":\"0\",\"kind\":\"session.start\",\"body\":{}}\n{\"at\":\"1\",\"kind\":\"action."
			"requested\",\"body\":"
			"{\"kind\":\"exec\",\"cmd\":\"");
	for (int i = 0; i < 60; i++)
		buf_printf(&text, "echo %d\\n", i);
	buf_puts(&text,
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

static bool shows(const char *text)
{
	char *all = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&all, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	bool is = strstr(all, text) != NULL;
	free(all);
	return is;
}

/* Each a body of action.requested but for its braces: the last one waits. */
static void asked_before(const char *const *bodies, size_t nr, const char *want, const char *what)
{
	struct err err = ERR_INIT;
	char path[] = "/tmp/sandglass-ui-XXXXXX";
	CLEANUP(fd_close) int fd = mkstemp(path);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	buf_puts(&text, "{\"at\":\"0\",\"kind\":\"session.start\",\"body\":{}}\n");
	for (size_t i = 0; i < nr; i++)
		buf_printf(&text, "{\"at\":\"%zu\",\"kind\":\"action.requested\",\"body\":{%s}}\n", i + 1, bodies[i]);
	buf_printf(&text, "{\"at\":\"9\",\"kind\":\"action.held\",\"action\":%zu,\"body\":{\"reasons\":[\"ask\"]}}\n", nr + 1);
	if (fd_write_all(fd, text.data, text.len, &err) < 0)
		exit(99);
	begin(path, &act, 36);
	ok(shows(want), "%s: %s", what, want);
	end();
	unlink(path);
}

/* What is said to have been asked before is that, not something that looks like it. */
static void the_same(void)
{
	static const char *const writes[] = {
		"\"kind\":\"write\",\"path\":\"a\",\"data\":\"one\",\"data_bytes\":3,\"intent\":\"aa\"",
		"\"kind\":\"write\",\"path\":\"a\",\"data\":\"two\",\"data_bytes\":3,\"intent\":\"bb\"",
		"\"kind\":\"write\",\"path\":\"a\",\"data\":\"two\",\"data_bytes\":3,\"intent\":\"bb\"",
	};
	static const char *const old[] = {
		"\"kind\":\"exec\",\"argv\":[\"rm\",\"a b\"],\"cwd\":\"/x\"", "\"kind\":\"exec\",\"argv\":[\"rm\",\"a b\"],\"cwd\":\"/y\"",
		"\"kind\":\"exec\",\"argv\":[\"rm\",\"a b\"],\"cwd\":\"/y\"",
	};
	asked_before(writes, 2, "the same: never", "other contents of the same size");
	asked_before(writes, 3, "the same: 1 time", "one of two has this intent");
	asked_before(old, 2, "the same: never", "without intents: another folder");
	asked_before(old, 3, "the same: 1 time", "without intents: all that is known");
}

/* An apostrophe in a name is not the quote of a rule; where there is no room a rule is told without its place. */
static void by_whom(void)
{
	static const struct {
		const char *verdict, *by, *want;
	} c[] = {
		{ "approved", "Pat O'Brien", "approved by Pat " },
		{ "denied", "Ann 'Andy' B", "denied by Ann 'A" },
		{ "HELD", "policy.lua:22 'don't'", "HELD by 'don't'" },
		{ "HELD", "don't", "HELD by don't" },
	};
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		const struct row_info r = { .seq = 1, .sign = ' ', .word = "exec", .what = "make", .verdict = c[i].verdict, .by = c[i].by,
					    .outcome = "exit 0", .why = "", .dur_us = 1000 };
		struct grid g;
		char *text = NULL;
		size_t len = 0;
		grid_init(&g, 1, 80, true);
		draw_row(area_all(&g), 0, &r, &(struct draw_row_opts){ .verdict = true }, &a);
		FILE *to = open_memstream(&text, &len);
		term_dump(&g, to);
		fclose(to);
		ok(strstr(text, c[i].want), "%s by %s", c[i].verdict, c[i].by);
		free(text);
		grid_release(&g);
	}
}

static char *shot(void)
{
	static char *text;
	size_t len;
	free(text);
	FILE *to = open_memstream(&text, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	return text;
}

/* Held by a budget alone: more of it, or once, or not; no pattern, rule, other words or preview. */
static void of_a_budget(void)
{
	char path[] = "/tmp/t_approval-XXXXXX";
	held_anew("{\"reasons\":[\"budget\"],\"intent\":\"ab\"}", path);
	begin(path, &act, 36);
	unlink(path);
	later(500000);
	ui_draw(&ui);
	ok(strstr(shot(), " $   extend the budget..") && strstr(shot(), " y   approve once"), "what makes sense is offered");
	ok(!strstr(shot(), "approve for session") && !strstr(shot(), "add rule"), "what does not is not");
	ok(strstr(shot(), "edit and approve") && strstr(shot(), "make the preview so"), "a command line can be edited and tried");
	static const char keys[] = "sp";
	for (const char *k = keys; *k; k++) {
		char key[] = { *k, 0 };
		press(key);
		ok(nr_sent == 0 && !ui.edit && strcmp(view(), "approval") == 0 && strstr(ui.message, "budget is all that holds it"), "%s: %s", key, ui.message);
	}
	for (int i = 0; i < 7; i++) {
		press("j");
		ok(!strstr(shot(), "> s") && !strstr(shot(), "> p"), "j passes them over");
	}
	press("$");
	ok(ui.prompt.active, "$ asks how much");
	press("\x1b");
	press("y");
	ok(strncmp(sent, "approve 767", 11) == 0, "y lets it go once: %s", sent);
	end();
}

/* Who may not decide is shown no keys that decide. */
static void looking(void)
{
	static const struct act watch = { .why_not = "read only: 'watch' changes nothing, 'attach' does" };
	begin("tests/screens/fleet.jsonl", &watch, 36);
	later(500000);
	ui_draw(&ui);
	ok(strstr(shot(), "'watch' changes nothing") && strstr(shot(), "Esc back"), "it is said why");
	ok(!strstr(shot(), "approve once") && !strstr(shot(), "deny with message") && !strstr(shot(), "Esc later"), "and nothing is offered");
	press("y");
	is_str(ui.message, "approve: read only: 'watch' changes nothing, 'attach' does", "nor done");
	end();
}

int main(void)
{
	setenv("TZ", "UTC", 1);
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
	batch();
	editing();
	others();
	decided_elsewhere();
	edited_elsewhere();
	decided_before();
	decided_here();
	long_command();
	the_same();
	by_whom();
	of_a_budget();
	looking();
	return done_testing();
}
