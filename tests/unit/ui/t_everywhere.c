/* Several sessions on one screen: broadcast commands, commands to one session, and leaving. Also
 * numbers before keys, and a queue longer than the screen. */
#include "several_sessions.h"

enum { HELD = 40 };

/* M where no agent can hear it, and then words: they are no keys until there was a rest. */
static void words_for_nobody(void)
{
	begin(0, 0, false);
	((struct model_agent *)(uintptr_t)model_agent(&src[0]->model, subject().agent))->script =
		true;
	ui.flush = false;
	press("M");
	ok(!ui.prompt.active && ui.flush,
	   "no line opens, and the screen discards keys typed ahead");
	press("hi ");
	ui_key(&ui, K_ENTER);
	ok(!ui.prompt.active && ui.depth == 1, "keys typed right after it are ignored");
	ui.mono_us += 390000;
	press("p");
	ui.mono_us += 390000;
	press(":");
	ok(!ui.prompt.active, "keys without a pause stay ignored");
	is_str(took(), "", "nothing is sent");
	ui.mono_us += 410000;
	press(":");
	ok(ui.prompt.active, "after a pause, keys work again");
	end();
}

static void key_without_action(void)
{
	begin(0, 0, false);
	press("Z");
	ok(strstr(ui.message, "'Z'") != NULL, "a key without an action is named");
	is_str(took(), "", "and nothing is sent");
	end();
}

static void everything(void)
{
	begin(2, 0, false);
	press("!");
	is_str(took(), "0:freeze 1:freeze 2:freeze", "! freezes every session");
	press("P");
	is_str(took(), "0:pause 1:pause 2:pause", "P pauses every session");
	for (size_t i = 0; i < SESSIONS; i++)
		src[i]->model.paused_all = i != 1;
	press("P");
	is_str(took(), "0:pause 1:pause 2:pause", "also when some are paused already");
	src[1]->model.paused_all = true;
	press("P");
	is_str(took(), "0:continue 1:continue 2:continue",
	       "P continues all sessions when all are paused");
	press("a!");
	is_str(took(), "0:freeze 1:freeze 2:freeze", "! works in the dialog, too");
	end();
	begin(1, 0, true);
	press("G");
	for (size_t i = 0; i < 4 && subject().source != 0; i++)
		press("k");
	is_int((int)subject().source, 0, "a session that has ended is chosen");
	press("!");
	is_str(took(), "1:freeze 2:freeze", "! reaches those that run");
	end();
}

/* Steps through pending approvals of all sessions: the oldest comes first, as in the queue. */
static void one_after_the_other(void)
{
	static const struct {
		size_t source;
		uint64_t action;
		const char *place;
	} want[] = {
		{ 0, 3, "1 of 4" }, { 1, 3, "2 of 4" }, { 2, 3, "3 of 4" }, { 1, 5, "4 of 4" }
	};
	begin(2, 0, false);
	press("A\n");
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		is_int((int)subject().source, (int)want[i].source, "its session");
		is_int((int64_t)subject().action, (int64_t)want[i].action, "its action");
		ok(seen(want[i].place), "%s", want[i].place);
		press("]");
	}
	is_int((int)subject().source, 0, "and round");
	end();
}

static void leaving(void)
{
	struct err err = ERR_INIT;
	begin(1, 0, false);
	press("\x1b");
	ok(!ui.prompt.active && !ui.quit && seen("q leaves the console"),
	   "Esc once too often asks nothing");
	press("q");
	ok(ui.prompt.active && seen("Esc cancels"), "q asks first");
	press("\x1b");
	ok(!ui.prompt.active && !ui.quit, "and stays when it is not answered");
	press("Q1");
	ok(ui.quit && *took() == 0, "Q 1 leaves; nothing is sent");
	end();
	begin(1, 0, false);
	press("Q2");
	is_str(took(), "0:pause 1:pause 2:pause", "Q 2 pauses all");
	ok(!ui.quit, "and stays until they have it");
	for (int i = 0; i < SESSIONS; i++)
		done_last(done_self_last, NULL, NULL);
	ok(ui.quit, "then it leaves");
	end();
	begin(1, 0, false);
	press("Q2");
	took();
	done_last(done_self_last, NULL, NULL);
	(void)!err_set(&err, ERR_IO, "no answer");
	done_last(done_self_last, NULL, &err);
	done_last(done_self_last, NULL, NULL);
	ok(!ui.quit && strstr(ui.message, "no answer"),
	   "one that has not got it keeps the console");
	press("Q3n");
	ok(!ui.quit && *took() == 0, "Q 3 asks once more");
	press("Q3y");
	is_str(took(), "0:stop 1:stop 2:stop", "and stops all");
	press("Q\033");
	ok(!ui.quit, "Esc stays");
	end();
	begin(1, 0, false);
	press("Q2");
	act_done_fn *first = done_last;
	void *first_self = done_self_last;
	first(first_self, NULL, &err);
	press("Q3y");
	for (int i = 1; i < SESSIONS; i++)
		first(first_self, NULL, NULL);
	done_last(done_self_last, NULL, NULL);
	first(first_self, NULL, &err);
	ok(!ui.quit, "late answers of an earlier leaving count for nothing");
	for (int i = 1; i < SESSIONS; i++)
		done_last(done_self_last, NULL, NULL);
	ok(ui.quit, "its own do");
	end();
}

static void refused(const char *typed, const char *why)
{
	press(typed);
	ok(*took() == 0 && strstr(ui.message, why), "%.*s: %s", (int)strlen(typed) - 1, typed,
	   ui.message);
}

/* Nothing is decided in a session that was not meant. */
static void which_session(void)
{
	static char longer[] = "s-0000012";
	begin(2, 0, false);
	refused(":deny s-000#5\n", "one of several");
	refused(":deny 3 -S s-00\n", "one of several");
	refused(":deny 3 -S s-000001 -S s-000002\n", "names one session");
	refused(":deny s-000009#5\n", "not on this screen");
	refused(":deny other#5\n", "not on this screen");
	refused(":deny s-000001#5 -S s-000002\n", "two sessions");
	press(":deny s-000001#5 -S s-000001\n");
	is_str(took(), "1:deny,5", "named twice, the same");
	press(":say fix look at s-000001#5\n");
	const char *said = took();
	ok(*said && strcmp(said + 1, ":say,fix,look,at,s-000001#5") == 0,
	   "a text names no session: %s", said);
	press(":mark s-000001#5 see s-000002#3\n");
	is_str(took(), "1:mark,5,see,s-000002#3", "nor does the text of a mark");
	press(":kill worker#2\n");
	said = took();
	ok(*said && strcmp(said + 1, ":kill,worker#2") == 0, "nor an agent's name: %s", said);
	char *was = src[2]->model.id;
	src[2]->model.id = longer;
	press(":deny s-000001#5\n");
	is_str(took(), "1:deny,5", "a whole id is that session, though another begins so");
	src[2]->model.id = was;
	end();
}

static void one_session(void)
{
	begin(2, 0, false);
	press(":deny 3 -S s-000002\n");
	is_str(took(), "2:deny,3", "-S sends it to that session");
	press(":deny s-000001#5 -m no\n");
	is_str(took(), "1:deny,5{\"message\":\"no\"}", "so does the session in an id");
	press(":deny 3 -S s-9\n");
	ok(*took() == 0 && strstr(ui.message, "not on this screen"),
	   "an action that is not on this screen is reported: %s", ui.message);
	press(":answer 4 --field a=1 --field b=2\n");
	ok(strstr(took(), "{\"field\":[\"a=1\",\"b=2\"]}"),
	   "an option that is given twice has two values");
	end();
}

static void long_queue(void)
{
	begin(HELD, 0, false);
	press("A");
	is_int((int)subject().source, 0, "what waits longest is first, whichever session");
	press("j");
	is_int((int)subject().source, 1, "then the next");
	press("jj");
	uint64_t third = subject().action;
	press("G");
	ui_draw(&ui);
	is_int((int64_t)subject().action, 3 + 2 * (HELD - 1), "G goes to the last");
	press("g4j"); /* g alone waits for its second key */
	ok(subject().action != third, "a number before a key moves by that many rows");
	press("gg2j");
	is_int((int64_t)subject().action, 3, "2j: two rows down");
	press("50%");
	ok(subject().action > 30 && subject().action < 55, "50%%: the middle (#%lu)",
	   (unsigned long)subject().action);
	bool shown = false;
	for (int row = 0; row < ui.grid.rows; row++)
		shown = shown || (ui.grid.cell[row * ui.grid.cols].flags & GRID_CURSOR);
	ok(shown, "the chosen row is on the screen");
	press("\033");
	end();
}

static void emacs(void)
{
	begin(HELD, 0, false);
	press("A:set keys=emacs\n\x0e\x0e\x0e\x0e");
	uint64_t at = subject().action;
	press("\x10\x0e");
	ok(subject().action == at && at > 3, "Ctrl-n and Ctrl-p move");
	press(":x\x07");
	ok(!ui.prompt.active, "Ctrl-g leaves a line");
	press("\x07");
	is_str(ui_top(&ui)->ops->name, "fleet", "and a screen");
	press(":set keys=own\n\x10");
	is_str(ui_top(&ui)->ops->name, "palette", "back to our own");
	end();
}

static void sorting(void)
{
	begin(1, 0, false);
	static const char *const by[] = { "name", "newest event", "cost", "state" };
	for (size_t i = 0; i < ARRAY_LEN(by); i++) {
		press("S");
		CLEANUP(free_ptr) char *want = mem_printf("sorted by %s", by[i]);
		ok(strncmp(ui.message, want, strlen(want)) == 0, "%s", ui.message);
	}
	end();
}

static void decisions_by_number(void)
{
	begin(2, 0, false);
	press("a1");
	ok(*took() == 0, "1 is dead for 0.4 s like y");
	ui.mono_us += 500000;
	press("1");
	is_str(took(), "0:approve,3{\"intent\":\"ab\"}", "then it approves once");
	press("6");
	ok(strstr(took(), "deny,3{\"pause\":true"), "6 denies and pauses, as in line mode");
	end();
}

static void editor(void)
{
	begin(1, 0, false);
	press("a");
	ui.mono_us += 500000;
	press("nno");
	ui_key(&ui, K_CTRL('e'));
	ok(ui.edit && strcmp(ui.edit, "no") == 0 && !ui.prompt.active,
	   "Ctrl-e takes a message to the editor");
	free_ptr(&ui.edit);
	void (*back)(struct ui *, const char *) = ui.edited;
	ui.edited = NULL;
	back(&ui, "no, make a branch");
	ok(ui.prompt.active && *took() == 0, "it comes back to the line; nothing is sent yet");
	press("\n");
	ok(strstr(took(), "\"message\":\"no, make a branch\""), "Enter sends it");
	end();
}

/* The key line has it as long as there is one session that hears it. */
static void offered(void)
{
	begin(1, 0, false);
	act[0].command = act[1].command = NULL;
	press("j");
	ok(seen("! FREEZE ALL"), "one of three is reached");
	act[2].command = NULL;
	press("j");
	ok(!seen("FREEZE ALL"), "none is reached: nothing to freeze");
	end();
}

/* The same number may wait in each of several sessions. */
static void whose_action(void)
{
	begin(1, 0, false);
	ui_do(&ui, VERB_APPROVE);
	ui_draw(&ui);
	struct subject on = subject();
	CLEANUP(free_ptr) char *id = mem_printf("%s#%" PRIu64, src[on.source]->model.id, on.action);
	ok(seen(id), "of several sessions the approval says which it is about: %s", id);
	end();
}

int main(void)
{
	struct err err = ERR_INIT;
	setenv("TZ", "UTC", 1);
	if (!mkdtemp(dir))
		return 99;
	words_for_nobody();
	key_without_action();
	whose_action();
	everything();
	offered();
	one_after_the_other();
	leaving();
	one_session();
	which_session();
	long_queue();
	sorting();
	emacs();
	decisions_by_number();
	editor();
	ok(dir_remove(dir, &err) == 0, "tidy");
	buf_release(&sent);
	return done_testing();
}
