/* Many agents in one fleet: groups, folding, the row under the cursor, decisions of several sessions; and how long a
 * key takes to be painted with 1,000 agents (printed, not judged). */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_session.h"
#include "tap.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"
#include "ui/views/fleet.h"

enum { AGENTS = 1000 };

static void add(FILE *f, uint64_t agent, uint64_t action, const char *kind, const char *body)
{
	fprintf(f, "{\"at\":\"1.0\",\"kind\":\"%s\"", kind);
	if (agent)
		fprintf(f, ",\"agent\":%llu", (unsigned long long)agent);
	if (action)
		fprintf(f, ",\"action\":%llu", (unsigned long long)action);
	fprintf(f, ",\"body\":%s}\n", body);
}

/* A session of @nr agents, each with a command that runs; every hundredth one is held. */
static void make(const char *path, const char *id, size_t nr)
{
	FILE *f = fopen(path, "w");
	char body[256];
	uint64_t seq = 1;
	snprintf(body, sizeof(body), "{\"session\":\"%s\",\"name\":\"%s\"}", id, id);
	add(f, 0, 0, "session.start", body);
	for (size_t i = 0; i < nr; i++) {
		uint64_t agent = ++seq, action;
		snprintf(body, sizeof(body), "{\"name\":\"a%04zu\",\"task\":\"t\"}", i);
		add(f, 0, 0, "agent.start", body);
		action = ++seq;
		add(f, agent, 0, "action.requested", "{\"kind\":\"exec\",\"cmd\":\"make test\"}");
		++seq;
		if (i % 100 == 7)
			add(f, agent, action, "action.held", "{\"rules\":[]}");
		else
			add(f, agent, action, "action.started", "{}");
	}
	fclose(f);
}

static struct fleet *fleet(struct ui *ui)
{
	return ui->stack[0].self;
}

static const char *selected(struct ui *ui)
{
	const struct fleet *f = fleet(ui);
	return f->line[f->at].agent ? f->line[f->at].agent->name : "";
}

static void press(struct ui *ui, const char *keys)
{
	for (; *keys; keys++) {
		ui_key(ui, (uint32_t)(unsigned char)*keys);
		ui_draw(ui);
	}
}

static void groups(struct ui *ui)
{
	struct fleet *f = fleet(ui);
	is_int(f->total, 2 * AGENTS + 3, "all agents are counted");
	ok(f->grouped, "over 100 agents are grouped by session");
	is_int(f->nr, 3 + 20, "folded: headings, and what waits for a person");
	ok(f->line[0].agent == NULL, "a heading comes first");
	press(ui, "k");
	is_int(f->agent, 0, "the cursor goes to a heading");
	press(ui, "\n");
	ok(f->nr > AGENTS, "Enter unfolds it");
	press(ui, " ");
	is_int(f->nr, 3 + 20, "Space folds it");
}

/* Without the list of sessions, its screen would wrongly be empty. */
static void listed(struct ui *ui)
{
	size_t depth = ui->depth;
	ui_command_line(ui, "sessions");
	ok(ui->depth == depth, ":sessions opens no empty list where sessions can't be listed");
	ok(*ui->message, "but names the command that lists them: %s", ui->message);
}

/* The agent under the cursor is held meanwhile; it would go to the top. */
static void stays(struct ui *ui, struct source *s)
{
	struct fleet *f = fleet(ui);
	ui_command_line(ui, "group");
	ui_draw(ui);
	ok(!f->grouped, ":group takes the groups away");
	for (int i = 0; i < 40; i++)
		press(ui, "j");
	char name[32];
	snprintf(name, sizeof(name), "%s", selected(ui));
	int row = (int)f->at - f->top;
	size_t index = f->at;
	struct model_agent *a = (struct model_agent *)(uintptr_t)f->line[f->at].agent;
	a->held = 1;
	(void)s;
	ui_draw(ui);
	is_str(selected(ui), name, "the cursor stays on its agent");
	is_int((int)f->at - f->top, row, "the row does not move on the screen");
	is_int(f->at, (long long)index, "nor in the list");
	ok(f->line[f->at].moved, "it is marked as one that would move");
	press(ui, "j");
	ok(strcmp(f->line[f->at].agent->name, name) != 0, "the cursor leaves it");
	size_t at = 0;
	while (at < f->nr && f->line[at].agent != a)
		at++;
	ok(at < index, "then it goes up to the others that wait");
}

/* Sorting shows the requested order: the selected row moves to its place, and the cursor with it. */
static void sorted(struct ui *ui)
{
	struct fleet *f = fleet(ui);
	for (int i = 0; i < 40; i++)
		press(ui, "j");
	char name[32];
	snprintf(name, sizeof(name), "%s", selected(ui));
	size_t index = f->at;
	((struct model_agent *)(uintptr_t)f->line[f->at].agent)->held = 1;
	ui_draw(ui);
	ok(f->line[f->at].moved && f->at == index, "held, and where it was");
	press(ui, "SSSS");
	is_str(selected(ui), name, "sorted once round by state again: the cursor is on its agent");
	ok(f->at < index && !f->line[f->at].moved, "which is up with the others that wait");
}

static void mouse(struct ui *ui, enum mouse_kind kind, int row)
{
	ui_mouse(ui, (struct mouse){ kind, row, 10 });
	ui_sync(ui);
	ui_draw(ui);
}

/* The rule below the list follows the mouse, as far as both sides keep some rows, on a wide screen and a narrow one. */
static void dragged(struct ui *ui)
{
	static const struct { int rows, cols, below; } screens[] = { { 36, 120, 3 }, { 24, 80, 2 } };
	const struct fleet *f = fleet(ui);
	for (size_t i = 0; i < ARRAY_LEN(screens); i++) {
		ui_resize(ui, screens[i].rows, screens[i].cols);
		ui_sync(ui);
		ui_draw(ui);
		int rows = f->list_rows, below = screens[i].below;
		size_t at = f->at;
		mouse(ui, MOUSE_DRAG, rows + below - 2);
		ok(f->list_rows == rows, "nothing is dragged that was not pressed");
		mouse(ui, MOUSE_PRESS, rows + below);
		mouse(ui, MOUSE_DRAG, rows + below - 2);
		ok(f->list_rows == rows - 2, "%d rows: two rows up: %d, was %d", screens[i].rows, f->list_rows, rows);
		mouse(ui, MOUSE_DRAG, 0);
		ok(f->list_rows == 3, "not past the heads and two agents: %d", f->list_rows);
		mouse(ui, MOUSE_DRAG, 200);
		ok(f->list_rows > 3 && f->list_rows + below < screens[i].rows - 5, "nor over the panes: %d", f->list_rows);
		mouse(ui, MOUSE_DRAG, rows + below);
		mouse(ui, MOUSE_RELEASE, rows + below);
		mouse(ui, MOUSE_DRAG, rows + below - 1);
		ok(f->list_rows == rows && f->at == at, "let go it stays, and the cursor has not moved");
	}
}

static void names(void)
{
	static const char *const in_order[] = { "", "a", "A-1", "a-2", "a-02b", "a-10", "a-10b", "B", "b1x2", "b01x10", "c", "é" };
	for (size_t i = 0; i < ARRAY_LEN(in_order); i++)
		for (size_t k = 0; k < ARRAY_LEN(in_order); k++) {
			int d = fleet_name_cmp(in_order[i], in_order[k]);
			ok((d > 0) - (d < 0) == (i > k) - (i < k), "'%s' and '%s'", in_order[i], in_order[k]);
		}
}

static void speed(struct ui *ui)
{
	enum { KEYS = 200 };
	int64_t worst = 0, begin = clock_mono_us();
	for (int i = 0; i < KEYS; i++) {
		int64_t t = clock_mono_us();
		press(ui, i % 2 ? "k" : "j");
		t = clock_mono_us() - t;
		worst = t > worst ? t : worst;
	}
	printf("# %d agents: a key is drawn in %lld us, the slowest of %d in %lld us\n", 2 * AGENTS + 3,
	       (long long)((clock_mono_us() - begin) / KEYS), KEYS, (long long)worst);
}

/* The content of the column SANDBOX at each width. */
static void boxes(void)
{
	struct source *src;
	struct err err = ERR_INIT;
	struct ui ui;
	char path[64], *text = NULL;
	size_t len = 0;
	snprintf(path, sizeof(path), "/tmp/t_fleet-%d.jsonl", (int)getpid());
	FILE *f = fopen(path, "w");
	add(f, 0, 0, "session.start", "{\"session\":\"s-dddddd\",\"name\":\"d\"}");
	add(f, 0, 0, "box.open", "{\"name\":\"front-lint-a\",\"driver\":\"process\"}");
	add(f, 0, 0, "box.open", "{\"name\":\"front-lint-host\",\"driver\":\"host\"}");
	fprintf(f, "{\"at\":\"1.0\",\"kind\":\"box.ready\",\"box\":3,\"body\":{\"profile\":\"none\"}}\n");
	for (int i = 0; i < 2; i++) {
		add(f, 0, 0, "agent.start", "{\"name\":\"lint\",\"task\":\"t\"}");
		fprintf(f, "{\"at\":\"1.0\",\"kind\":\"action.requested\",\"agent\":%d,\"box\":%d,\"body\":{\"kind\":\"exec\",\"cmd\":\"make\"}}\n", 5 + 2 * i, 2 + i);
	}
	fclose(f);
	ok(source_open(&src, path, &err) == 0, "boxes with long names");
	unlink(path);
	ui_init(&ui, &src, NULL, 1, 36, 120, false);
	while (ui_sync(&ui))
		ui_draw(&ui);
	ui_draw(&ui);
	FILE *to = open_memstream(&text, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	ok(strstr(text, " front-lint-a "), "in a narrow column the name is complete and the backend is left out");
	ok(strstr(text, " host:front-lin"), "for a sandbox without isolation the backend stays");
	free(text);
	ui_release(&ui);
	source_close(&src);
}

int main(void)
{
	static const char *const ids[] = { "s-aaaaaa", "s-bbbbbb", "s-cccccc" };
	const size_t nr[] = { AGENTS, AGENTS, 3 };
	struct source *src[3];
	struct err err = ERR_INIT;
	struct ui ui;
	char path[64];
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/tmp/t_fleet-%d-%zu.jsonl", (int)getpid(), i);
		make(path, ids[i], nr[i]);
		ok(source_open(&src[i], path, &err) == 0, "a session of %zu agents", nr[i]);
		unlink(path);
	}
	ui_init(&ui, src, NULL, 3, 36, 120, false);
	while (ui_sync(&ui))
		ui_draw(&ui);
	ui_draw(&ui);
	names();
	boxes();
	groups(&ui);
	listed(&ui);
	stays(&ui, src[0]);
	sorted(&ui);
	dragged(&ui);
	speed(&ui);
	ui_release(&ui);
	for (size_t i = 0; i < 3; i++)
		source_close(&src[i]);
	return done_testing();
}
