/* What the console shows and says while agents ask, wait, pause, freeze, continue, or are lost. */
#include <unistd.h>

#include "several_sessions.h"
#include "ui/frame/coach.h"
#include "ui/rows/handoff.h"

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
	char path[] = "/tmp/t_states-XXXXXX";
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

int main(void)
{
	struct err err = ERR_INIT;
	setenv("TZ", "UTC", 1);
	if (!mkdtemp(dir))
		return 99;
	questions();
	script_asks();
	paused();
	said_where();
	frozen();
	going_on();
	nobody_decides();
	opening_by_itself();
	ok(dir_remove(dir, &err) == 0, "tidy");
	buf_release(&sent);
	return done_testing();
}
