/* The approval screen where others decide, too, where only a budget holds, and for whom only looks. */
#include "approval_screen.h"
#include "held_anew.h"
#include "ui/rows/draw.h"
#include "ui/rows/row.h"

static void others(void)
{
	begin("tests/screens/fleet.jsonl", NULL, 36);
	later(1000000);
	press("yyx");
	is_int(nr_sent, 0, "read-only: nothing can be sent");
	end();
	static const struct act looks = {
		.why_not = "read only: this session is shared with you to watch"
	};
	begin("tests/screens/fleet.jsonl", &looks, 36);
	later(1000000);
	press("y");
	ok(nr_sent == 0 && strstr(ui.message, "shared with you to watch"),
	   "a read-only viewer gets the reason: %s", ui.message);
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
	s->event[s->nr] = (struct event){ .seq = s->nr + 1,
					  .action = action,
					  .kind = kind,
					  .body = body,
					  .len = strlen(body),
					  .ts_us = s->event[s->nr - 1].ts_us };
	s->nr++;
	ui_sync(&ui);
	ui_draw(&ui);
}

static void decision_comes(const char *who)
{
	event_comes(
		EV_ACTION_DECIDED,
		mem_printf("{\"decision\":\"approve\",\"by\":\"human\",\"who\":{\"name\":\"%s\"}}",
			   who));
}

/* A viewer who has the screen open sees the edited command. */
static void edited_elsewhere(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	later(1000000);
	event_comes(
		EV_ACTION_DECIDED,
		mem_strdup("{\"decision\":\"edit\",\"by\":\"human\",\"who\":{\"name\":\"ann\"}}"));
	event_comes(EV_ACTION_STARTED,
		    mem_strdup("{\"edited\":true,\"argv\":[\"git\",\"push\",\"-n\"]}"));
	ok(seen("edited by ann at ") && seen("it ran as: git push -n"),
	   "an edited one says as what it ran");
	end();
}

static void decided_elsewhere(void)
{
	begin("tests/screens/fleet.jsonl", &act, 36);
	later(1000000);
	decision_comes("ann");
	is_str(view(), "approval",
	       "another reviewer's decision keeps the screen open with a notice");
	press("y");
	is_int(nr_sent, 0, "y decides nothing after that");
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
	ok(src->model.nr_held > 0 && on.action == 25,
	   "the chosen action stays on the screen while others are pending");
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
	is_str(view(), "fleet", "the screen closes after the decision");
	end();
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
		buf_printf(&text, "{\"at\":\"%zu\",\"kind\":\"action.requested\",\"body\":{%s}}\n",
			   i + 1, bodies[i]);
	buf_printf(
		&text,
		"{\"at\":\"9\",\"kind\":\"action.held\",\"action\":%zu,\"body\":{\"reasons\":[\"ask\"]}}\n",
		nr + 1);
	if (fd_write_all(fd, text.data, text.len, &err) < 0)
		exit(99);
	begin(path, &act, 36);
	ok(seen(want), "%s: %s", what, want);
	end();
	unlink(path);
}

/* Only an action with the same content counts as asked before; a similar one doesn't. */
static void the_same(void)
{
	static const char *const writes[] = {
		"\"kind\":\"write\",\"path\":\"a\",\"data\":\"one\",\"data_bytes\":3,\"intent\":\"aa\"",
		"\"kind\":\"write\",\"path\":\"a\",\"data\":\"two\",\"data_bytes\":3,\"intent\":\"bb\"",
		"\"kind\":\"write\",\"path\":\"a\",\"data\":\"two\",\"data_bytes\":3,\"intent\":\"bb\"",
	};
	static const char *const old[] = {
		"\"kind\":\"exec\",\"argv\":[\"rm\",\"a b\"],\"cwd\":\"/x\"",
		"\"kind\":\"exec\",\"argv\":[\"rm\",\"a b\"],\"cwd\":\"/y\"",
		"\"kind\":\"exec\",\"argv\":[\"rm\",\"a b\"],\"cwd\":\"/y\"",
	};
	asked_before(writes, 2, "seen before: never", "other contents of the same size");
	asked_before(writes, 3, "seen before: 1 time", "one of two has this intent");
	asked_before(old, 2, "seen before: never", "without intents: another directory");
	asked_before(old, 3, "seen before: 1 time", "without intents: all that is known");
}

/* An apostrophe in a name is not a rule's quote. A rule is printed without its place if space is short. */
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
		const struct row_info r = { .seq = 1,
					    .sign = ' ',
					    .word = "exec",
					    .what = "make",
					    .verdict = c[i].verdict,
					    .by = c[i].by,
					    .outcome = "exit 0",
					    .why = "",
					    .dur_us = 1000 };
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

/* Held by a budget alone: more of it, or once, or not; no pattern, rule, other words or dry run. */
static void of_a_budget(void)
{
	char path[] = "/tmp/t_approval-XXXXXX";
	held_anew("{\"reasons\":[\"budget\"],\"intent\":\"ab\"}", path);
	begin(path, &act, 36);
	unlink(path);
	later(500000);
	ui_draw(&ui);
	ok(seen(" $   extend the budget..") && seen(" y   approve once"),
	   "what makes sense is offered");
	ok(!seen("approve for session") && !seen("add rule"), "what does not is not");
	ok(seen("edit and approve") && seen("apply the dry run"),
	   "a command line can be edited and tried");
	static const char keys[] = "sp";
	for (const char *k = keys; *k; k++) {
		char key[] = { *k, 0 };
		press(key);
		ok(nr_sent == 0 && !ui.edit && strcmp(view(), "approval") == 0 &&
			   strstr(ui.message, "only the used-up budget holds it"),
		   "%s: %s", key, ui.message);
	}
	for (int i = 0; i < 7; i++) {
		press("j");
		ok(!seen("> s") && !seen("> p"), "j passes them over");
	}
	press("$");
	ok(ui.prompt.active, "$ asks how much");
	press("\x1b");
	press("y");
	ok(strncmp(sent, "approve 767", 11) == 0, "y lets it go once: %s", sent);
	end();
}

static void begin_kind(const char *kind)
{
	char path[] = "/tmp/t_approval-XXXXXX";
	held_kind(kind, path);
	begin(path, &act, 36);
	unlink(path);
	later(500000);
}

static void not_a_command(void)
{
	struct subject on = { 0 };
	begin_kind("merge");
	ok(seen("approve once") && !seen("edit and approve") && !seen("apply the dry run"),
	   "a merge offers neither an edit nor a dry run to apply");
	press("m");
	ok(nr_sent == 0 && strstr(ui.message, "only for"), "%s", ui.message);
	press("v");
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
	is_str(view(), "agent", "v opens the details");
	is_int((int64_t)on.action, (int64_t)action, "of the merge, not of a later event");
	end();
	begin_kind("put");
	press("r");
	ok(nr_sent == 0 && strstr(ui.message, "only for"), "%s", ui.message);
	end();
}

/* A read-only viewer sees no decision keys. */
static void looking(void)
{
	static const struct act watch = {
		.why_not = "read only: 'watch' changes nothing, 'attach' does"
	};
	begin("tests/screens/fleet.jsonl", &watch, 36);
	later(500000);
	ui_draw(&ui);
	ok(seen("'watch' changes nothing") && seen("Esc back"), "the screen gives the reason");
	ok(!seen("approve once") && !seen("deny with message") && !seen("Esc later"),
	   "and offers no decision");
	press("y");
	is_str(ui.message, "approve: read only: 'watch' changes nothing, 'attach' does",
	       "y decides nothing");
	end();
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	others();
	decided_elsewhere();
	edited_elsewhere();
	decided_before();
	decided_here();
	the_same();
	by_whom();
	of_a_budget();
	not_a_command();
	looking();
	return done_testing();
}
