/* Several sessions on one screen: broadcast commands, commands to one session, and leaving. Also scripts' questions,
 * numbers before keys, and a queue longer than the screen. */
#include <unistd.h>

#include "fake_session.h"
#include "tap.h"
#include "ui/frame/coach.h"
#include "ui/frame/finder.h"
#include "ui/rows/handoff.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"

enum { SESSIONS = 3, HELD = 40 };

static struct buf sent; /* "1:freeze 2:.." : the source, the words, the options */
static act_done_fn *done_last;
static void *done_self_last;
static size_t where[SESSIONS] = { 0, 1, 2 };

static void command(void *self, const char *const *words, size_t nr, json_t *opts,
		    act_done_fn *done, void *done_self)
{
	buf_printf(&sent, "%s%zu:", sent.len ? " " : "", *(size_t *)self);
	for (size_t i = 0; i < nr; i++)
		buf_printf(&sent, "%s%s", i ? "," : "", words[i]);
	if (opts && json_object_size(opts) > 0)
		json_dump_buf(opts, &sent);
	done_last = done;
	done_self_last = done_self;
}

static struct source *src[SESSIONS];
static struct act act[SESSIONS];
static struct ui ui;

static void line(FILE *f, uint64_t at, const char *kind, uint64_t agent, uint64_t action,
		 const char *body)
{
	fprintf(f,
		"{\"at\":\"%lu.000\",\"kind\":\"%s\",\"agent\":%lu,\"action\":%lu,\"body\":%s}\n",
		(unsigned long)at, kind, (unsigned long)agent, (unsigned long)action, body);
}

/* A session of one agent with @held actions that wait, and @asks questions of it; the k-th session's wait since
 * second k. */
static void make(const char *path, size_t k, size_t held, size_t asks, bool ended)
{
	FILE *f = fopen(path, "w");
	char body[200];
	uint64_t seq = 2;
	snprintf(body, sizeof(body), "{\"id\":\"s-00000%zu\",\"name\":\"n%zu\"}", k, k);
	line(f, 0, "session.start", 0, 0, body);
	line(f, 0, "agent.start", 0, 0, "{\"name\":\"fix\",\"task\":\"t\"}");
	for (size_t i = 0; i < held; i++) {
		snprintf(body, sizeof(body),
			 "{\"kind\":\"exec\",\"cmd\":\"rm %zu\",\"intent\":\"ab\"}", i);
		line(f, 10 * i + k, "action.requested", 2, 0, body);
		line(f, 10 * i + k, "action.held", 2, ++seq,
		     "{\"reasons\":[\"ask\"],\"rule\":\"r\",\"intent\":\"ab\"}");
		seq++;
	}
	for (size_t i = 0; i < asks; i++)
		line(f, 500, "ask", 2, 0,
		     i ? "{\"text\":\"which?\",\"choices\":[\"red\",\"blue\"]}"
		       : "{\"text\":\"what?\"}");
	if (ended)
		line(f, 600, "session.end", 0, 0, "{\"status\":\"done\"}");
	fclose(f);
}

static char dir[] = "/tmp/t_everywhere-XXXXXX";

static void begin(size_t held, size_t asks, bool first_ended)
{
	struct err err = ERR_INIT;
	for (size_t i = 0; i < SESSIONS; i++) {
		CLEANUP(free_ptr) char *path = mem_printf("%s/%zu.jsonl", dir, i);
		make(path, i, i == 1 ? held : 1, i == 2 ? asks : 0, first_ended && i == 0);
		if (source_open(&src[i], path, &err) < 0)
			exit(99);
		act[i] = (struct act){ .command = command, .self = &where[i] };
	}
	ui_init(&ui, src, act, SESSIONS, 24, 80, false);
	ui_sync(&ui);
	ui.mono_us = 1000000;
	ui_draw(&ui);
	buf_reset(&sent);
}

static void end(void)
{
	ui_release(&ui);
	for (size_t i = 0; i < SESSIONS; i++)
		source_close(&src[i]);
}

static void press(const char *keys)
{
	for (; *keys; keys++) {
		ui_key(&ui, (uint32_t)(unsigned char)*keys);
		ui_draw(&ui);
	}
}

static const char *took(void)
{
	static char text[600];
	snprintf(text, sizeof(text), "%s", buf_cstr(&sent));
	buf_reset(&sent);
	return text;
}

static struct subject subject(void)
{
	struct subject on = { 0 };
	ui_top(&ui)->ops->subject(ui_top(&ui)->self, &ui, &on);
	return on;
}

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

static void questions(void)
{
	begin(1, 2, false);
	uint64_t what = src[2]->model.ask[0].seq, which = src[2]->model.ask[1].seq;
	is_int(src[2]->model.nr_asks, 2, "two questions of one agent");
	press("AG\n");
	is_str(ui_top(&ui)->ops->name, "question",
	       "Enter on a question opens it, not another's dialog");
	is_int((int64_t)subject().action, (int64_t)which, "that one");
	press("2");
	ok(*took() == 0, "keys are dead for a moment");
	ui.mono_us += 500000;
	press("\n9");
	ok(*took() == 0 && !ui.prompt.active, "Enter and an unknown number answer nothing");
	press("2");
	CLEANUP(free_ptr) char *want = mem_printf("2:answer,%lu,2", (unsigned long)which);
	is_str(took(), want, "the number of a choice answers");
	struct event ev = { .seq = 100,
			    .cause = which,
			    .agent = 2,
			    .kind = EV_ASK_ANSWERED,
			    .body = "{}",
			    .len = 2 };
	model_apply(&src[2]->model, &ev);
	ok(src[2]->model.nr_asks == 1 && src[2]->model.ask[0].seq == what,
	   "the answer takes away its own question");
	is_int((int64_t)model_agent(&src[2]->model, 2)->ask, (int64_t)what, "the agent asks still");
	ui_sync(&ui);
	ui_draw(&ui);
	is_str(ui_top(&ui)->ops->name, "queue", "answered: back");
	press("G\n");
	ui.mono_us += 500000;
	press("\nsome words\n");
	CLEANUP(free_ptr) char *words = mem_printf("2:answer,%lu,some words", (unsigned long)what);
	is_str(took(), words, "a text is typed");
	end();
}

/* Of the script itself, by no agent. */
static void script_asks(void)
{
	begin(1, 0, false);
	struct model *m = &src[0]->model;
	struct event ev = { .seq = m->head + 1,
			    .kind = EV_ASK,
			    .body = "{\"text\":\"ready?\"}",
			    .len = 17,
			    .ts_us = m->last_us };
	model_apply(m, &ev);
	const struct model_agent *a = model_agent(m, m->start);
	ok(a && model_agent_state(m, a) == AGENT_ASK,
	   "a question of the script is its row's state");
	struct event done = { .seq = m->head + 1,
			      .cause = ev.seq,
			      .kind = EV_ASK_ANSWERED,
			      .body = "{}",
			      .len = 2,
			      .ts_us = m->last_us };
	model_apply(m, &done);
	ok(m->nr_asks == 0 && model_agent(m, m->start)->ask == 0, "until it is answered");
	end();
}

static const char *shot(void)
{
	static char *text;
	size_t len = 0;
	free(text);
	FILE *to = open_memstream(&text, &len);
	ui_draw(&ui);
	term_dump(&ui.grid, to);
	fclose(to);
	return text;
}

static void event(size_t source, uint16_t kind, uint64_t action, const char *body)
{
	struct model *m = &src[source]->model;
	struct event ev = { .seq = m->head + 1,
			    .agent = 2,
			    .action = action,
			    .kind = kind,
			    .body = body,
			    .len = strlen(body),
			    .ts_us = m->last_us + 1000000 };
	model_apply(m, &ev);
}

/* A paused action is not pending approval: no decision is open. */
static void paused(void)
{
	begin(1, 0, false);
	struct model *m = &src[2]->model;
	ok(strstr(shot(), " held #3 fix: rm 0"), "the pending action is shown");
	event(2, EV_ACTION_DECIDED, 3, "{\"decision\":\"approve\",\"by\":\"human\"}");
	ok(!strstr(shot(), " held #3 fix: rm 0") || strstr(shot(), "2 HELD"),
	   "and disappears after the decision");
	size_t waits = m->nr_held;
	event(2, EV_LATCH_PAUSE, 0, "{\"agent\":2}");
	for (size_t i = 0; i < m->nr_agents; i++)
		m->agent[i].spark = (struct spark){ 0 };
	event(2, EV_ACTION_HELD, 3, "{\"reasons\":[\"pause\"]}");
	bool marked = false;
	for (size_t i = 0; i < SPARK_SLOTS; i++)
		marked = marked || model_agent(m, 2)->spark.held[i];
	ok(!marked, "nor is it marked so where it is seen how busy the agent was");
	is_int((int)m->nr_held, (int)waits,
	       "an action paused before its start is not pending approval");
	is_int(model_agent_state(m, model_agent(m, 2)), AGENT_PAUSED, "the agent is paused");
	CLEANUP(json_release) json_t *page = handoff_make(src[2], true, 0);
	is_str(json_str(json_array_get(json_object_get(page, "waits"),
				       json_array_size(json_object_get(page, "waits")) - 1 -
					       m->nr_asks),
			"why", ""),
	       "paused by a user", "the handoff summary names the pause");
	ok(strstr(shot(), "before exec  rm 0"), "the row names the next command");
	ui_open(&ui, "agent", &(struct subject){ .source = 2, .agent = 2 });
	ok(strstr(shot(), "= PAUSED before #3"), "so does the agent's own screen");
	ui_open(&ui, "plot", &(struct subject){ .source = 2 });
	ok(strstr(shot(), "= paused  ! held"), "the plot has a sign of its own for it");
	const char *lane = strstr(shot(), "\n fix ");
	ok(lane && memchr(lane + 1, '=', strcspn(lane + 1, "\n")) &&
		   !memchr(lane + 1, '!', strcspn(lane + 1, "\n")),
	   "and shows it by that");
	ui_back(&ui);
	event(2, EV_ACTION_HELD, 3, "{\"reasons\":[\"ask\",\"pause\"]}");
	is_int((int)m->nr_held, (int)waits + 1, "what a rule stopped as well waits");
	ok(strstr(shot(), "! HELD, paused"), "held, and paused besides");
	end();
}

/* A line is true of the screen that it stands on. */
static void said_where(void)
{
	begin(1, 0, false);
	ui.coach = coach_new(NULL);
	ok(strstr(shot(), "a opens it"), "a hint names a key");
	ui_open(&ui, "sandboxes", &(struct subject){ .source = 2 });
	ok(!strstr(shot(), "a shows it and asks you"), "not where the key means nothing");
	press("Lv");
	ok(seen("1 line selected"), "lines are chosen in the log");
	ui_open(&ui, "sandboxes", &(struct subject){ .source = 2 });
	ok(!strstr(shot(), "1 line selected"), "which the next screen does not say");
	struct model *m = &src[2]->model;
	struct event ev = { .seq = m->head + 1,
			    .kind = EV_BOX_OPEN,
			    .body = "{\"name\":\"stall\",\"driver\":\"process\"}",
			    .ts_us = m->last_us };
	ev.len = strlen(ev.body);
	struct session *s = src[2]->session;
	GROW(s->event, s->nr, s->cap);
	s->event[s->nr++] = (ev.body = mem_strdup(ev.body), ev);
	GROW(s->event, s->nr, s->cap);
	s->event[s->nr++] = (struct event){ .seq = ev.seq + 1,
					    .box = ev.seq,
					    .kind = EV_SNAPSHOT_TAKEN,
					    .ts_us = ev.ts_us,
					    .body = mem_strdup("{\"nr\":1,\"changed\":[]}"),
					    .len = 22 };
	ui_sync(&ui);
	ui_open(&ui, "log", &(struct subject){ .source = 2 });
	ok(strstr(shot(), " stall "), "an agent that changed files shows 'stall' in the log");
	end();
}

static void frozen(void)
{
	begin(1, 0, false);
	struct model *m = &src[0]->model;
	struct event box = { .seq = m->head + 1,
			     .kind = EV_BOX_OPEN,
			     .body = "{\"name\":\"b\"}",
			     .len = 12,
			     .ts_us = m->last_us };
	model_apply(m, &box);
	m->action[0].box = box.seq;
	event(0, EV_ACTION_DECIDED, 3, "{\"decision\":\"approve\",\"by\":\"human\"}");
	event(0, EV_ACTION_STARTED, 3, "{}");
	is_int(model_agent_state(m, model_agent(m, 2)), AGENT_RUN, "it runs");
	struct event freeze = { .seq = m->head + 1,
				.kind = EV_BOX_FROZEN,
				.box = box.seq,
				.body = "{\"frozen\":true}",
				.len = 15,
				.ts_us = m->last_us };
	model_apply(m, &freeze);
	is_int(model_agent_state(m, model_agent(m, 2)), AGENT_PAUSED,
	       "an action in a frozen sandbox does not count as running");
	ok(strstr(shot(), "FROZEN in exec  rm 0"), "the row reports the freeze");
	end();
}

/* The approval opens only for users who enabled this, and never while they type. */
static void opening_by_itself(void)
{
	static const char more[] = "{\"reasons\":[\"ask\"],\"intent\":\"ab\"}";
	for (int typing = 0; typing < 2; typing++) {
		begin(2, 0, false);
		event(0, EV_ACTION_DECIDED, 3, "{\"decision\":\"approve\",\"by\":\"human\"}");
		ui_sync(&ui);
		press(":set approvals.popup=true\n");
		if (typing)
			press(":den");
		event(0, EV_ACTION_HELD, 3, more);
		ui_sync(&ui);
		ui_draw(&ui);
		is_str(ui_top(&ui)->ops->name, typing ? "fleet" : "approval",
		       typing ? "typing stays on the fleet" : "the approval screen opens");
		press("y");
		ok(*took() == 0, "and decides nothing");
		end();
	}
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

/* Status lines when you continue an agent. The handoff summary does not mention a pause that has ended. */
static void going_on(void)
{
	begin(0, 0, false);
	press("p");
	is_str(ui.message, "fix pauses before its next action", "a pause");
	press("c");
	is_str(ui.message, "fix waits at #3, which is pending approval: a opens it",
	       "continue does not replace a pending decision");
	static const char *const none[][2] = {
		{ "$5x\n", "expected an amount of dollars, like 0.50 or usd=0.50" },
		{ "$steps=0\n", "expected an amount of steps, like 20 or steps=20" },
		{ "$time=soon\n", "expected an amount of time, like 20m or time=20m" },
		{ "$cents=3\n", "not understood: usd=1 time=20m tokens=50000 steps=20 actions=10" },
	};
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		press(none[i][0]);
		is_str(ui.message, none[i][1],
		       "an invalid amount is reported in the prompt's terms");
	}
	press("$1\n");
	is_str(ui.message, "budget extended; its agents continue", "a larger budget");
	src[0]->model.nr_held = 0;
	press("c");
	is_str(ui.message, "fix continues to the next breakpoint", "a paused agent continues");
	src[0]->model.paused_all = true;
	press("c");
	ok(strstr(ui.message, "P continues them"),
	   "and one that stops again at once, with what to do: %s", ui.message);
	end();
	char path[] = "/tmp/t_everywhere-XXXXXX";
	struct err err = ERR_INIT;
	struct source *s = NULL;
	CLEANUP(buf_release) struct buf page = BUF_INIT;
	close(mkstemp(path));
	make(path, 0, 2, 0, false);
	FILE *f = fopen(path, "a");
	line(f, 40, "action.decided", 2, 3, "{\"decision\":\"release\",\"by\":\"latch\"}");
	line(f, 41, "action.decided", 2, 5, "{\"decision\":\"approve\",\"by\":\"human\"}");
	fclose(f);
	if (source_open(&s, path, &err) < 0)
		exit(99);
	unlink(path);
	source_sync(s, 0, 0);
	CLEANUP(json_release) json_t *h = handoff_make(s, false, 0);
	handoff_text(h, &page);
	ok(strstr(buf_cstr(&page), "LAST DECISIONS (1)") && strstr(buf_cstr(&page), "#5 approve"),
	   "decisions are those of people and rules");
	source_close(&s);
}

/* A lost or ended session takes no decisions. Its loss or end does not announce a pending approval. */
static void nobody_decides(void)
{
	begin(1, 0, false);
	ui_sync(&ui);
	size_t waits = ui_waits(&ui, 2);
	ok(waits > 0, "something waits");
	src[2]->lost = true;
	ui_sync(&ui);
	is_int((int)ui_waits(&ui, 2), 0, "not while it is lost");
	ok(strstr(shot(), "1 LOST") || strstr(shot(), " LOST "), "its agents are lost");
	src[2]->lost = false;
	src[2]->model.ended = true;
	ui_say(&ui, ROLE_DIM, "it has ended");
	ui_sync(&ui);
	is_str(ui.message, "it has ended", "the message about the end stays");
	src[2]->model.ended = false;
	ui_sync(&ui);
	is_int((int)ui_waits(&ui, 2), (int)waits, "after the session resumes, it waits again");
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
	questions();
	script_asks();
	paused();
	said_where();
	frozen();
	going_on();
	nobody_decides();
	sorting();
	opening_by_itself();
	emacs();
	decisions_by_number();
	editor();
	ok(dir_remove(dir, &err) == 0, "tidy");
	buf_release(&sent);
	return done_testing();
}
