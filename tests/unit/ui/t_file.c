/* Live == replay over a real session file: screens are dumped at each commit while the recorder writes, and again from
 * the finished file with the cursor at the same events. The two series must be the same bytes. */
#include <stdlib.h>

#include "base/fd.h"
#include "record/record.h"
#include "tap.h"
#include "ui/line.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"

enum { MAX_HEADS = 4096 };

struct watcher {
	struct source *s;
	struct ui ui;
	FILE *to;
	uint64_t head[MAX_HEADS];
	size_t nr;
};

static void dump(struct ui *ui, FILE *to)
{
	static const char *const views[] = { "fleet", "agent", "log" };
	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		const struct model *m = &ui->src[0]->model;
		ui_open(ui, views[i], &(struct subject){ .agent = m->nr_agents ? m->agent[0].id : 0 });
		ui_draw(ui);
		term_dump(&ui->grid, to);
		if (ui->depth > 1)
			ui_back(ui);
	}
}

static void on_head(void *self, uint64_t seq)
{
	struct watcher *w = self;
	if (!w->s || w->nr == MAX_HEADS)
		return;
	w->ui.limit = seq; /* a commit may have followed already: this screen is of that one */
	ui_sync(&w->ui);
	w->head[w->nr++] = w->s->model.head;
	dump(&w->ui, w->to);
}

static void turns(struct loop *l, int nr)
{
	while (nr-- > 0)
		loop_turn(l, 5);
}

static uint64_t add(struct record *r, uint16_t kind, uint64_t agent, uint64_t box, uint64_t action, const char *json)
{
	struct err err = ERR_INIT;
	json_t *o = json_parse(json, strlen(json), "test", &err);
	return record_append_json(r, kind, 0, agent, box, action, o);
}

static void one_action(struct record *r, struct loop *l, uint64_t agent, uint64_t box, int i)
{
	uint64_t x = add(r, EV_ACTION_REQUESTED, agent, box, 0,
			 "{\"kind\":\"exec\",\"cmd\":\"make test\",\"cwd\":\"/workspace\"}");
	add(r, EV_ACTION_JUDGED, agent, box, x, "{\"verdict\":\"allow\",\"rules\":[]}");
	if (i % 3 == 1) {
		add(r, EV_ACTION_HELD, agent, box, x, "{\"reasons\":[\"ask\"],\"rule\":\"no-push\",\"until_us\":0}");
		turns(l, 2);
		add(r, EV_ACTION_DECIDED, agent, box, x,
		    "{\"decision\":\"approve\",\"by\":\"human\",\"who\":{\"name\":\"ann\"}}");
	}
	add(r, EV_ACTION_STARTED, agent, box, x, "{}");
	turns(l, 1);
	for (int k = 0; k < 5; k++) {
		record_output(r, x, k % 2 ? STREAM_ERR : STREAM_OUT, "one line of output \xe4\xb8\xad\n", 23);
		turns(l, 5);
	}
	record_output_end(r, x);
	add(r, EV_ACTION_ENDED, agent, box, x, i % 4 ? "{\"end\":\"ok\",\"code\":0,\"dur_us\":40000}" :
	    "{\"end\":\"ok\",\"code\":2,\"dur_us\":90000}");
	turns(l, 1);
}

static void session(struct record *r, struct loop *l)
{
	uint64_t box = add(r, EV_BOX_OPEN, 0, 0, 0, "{\"name\":\"b1\",\"driver\":\"process\"}");
	add(r, EV_BOX_READY, 0, box, 0, "{\"profile\":\"enforced\"}");
	uint64_t a = add(r, EV_AGENT_START, 0, 0, 0, "{\"name\":\"fix\",\"task\":\"make it pass\"}");
	turns(l, 2);
	for (int i = 0; i < 8; i++) {
		add(r, EV_AGENT_TURN, a, 0, 0, "{\"n\":1}");
		one_action(r, l, a, box, i);
	}
	add(r, EV_AGENT_END, a, 0, 0, "{\"stop\":\"done\",\"ok\":true,\"text\":\"it passes\"}");
	turns(l, 4);
}

static void replay(const char *path, const struct watcher *w, FILE *to)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct ui ui;
	if (source_open(&s, path, &err) < 0) {
		printf("# %s\n", err.text);
		return;
	}
	ui_init(&ui, &s, NULL, 1, 36, 120, false);
	for (size_t i = 0; i < w->nr; i++) {
		ui.limit = w->head[i];
		ui_sync(&ui);
		dump(&ui, to);
	}
	ui_release(&ui);
	source_close(&s);
}

static bool same_screens(const char *a, const char *b, size_t *nr)
{
	*nr = 0;
	for (; *a && *b; ++*nr) {
		size_t la = strcspn(a, "\n"), lb = strcspn(b, "\n");
		if (la != lb || memcmp(a, b, la) != 0) {
			printf("# live   %.*s\n# replay %.*s\n", (int)la, a, (int)lb, b);
			return false;
		}
		a += la + (a[la] != 0);
		b += lb + (b[lb] != 0);
	}
	return *a == *b;
}

static void lines_of_a_record(const char *path)
{
	struct err err = ERR_INIT;
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	struct line_opts o = { .path = path, .out = to };
	ok(line_print(&o, &err) == 0, "line mode reads it");
	fflush(to);
	ok(strstr(text, "exec approved by ann: make test") || strstr(text, "approved by ann"), "the line names who decided");
	ok(strstr(text, "FAILED: exit 2 in 0.0s"), "an exit status other than 0 is FAILED, in words");
	rewind(to);
	o.json = true;
	ok(line_print(&o, &err) == 0, "and as JSON lines");
	fclose(to);
	ok(strncmp(text, "{\"schema\":1,\"seq\":1,\"time\":\"", 28) == 0 && strstr(text, "\"kind\":\"session.start\","), "with a schema number");
	free(text);
}

int main(void)
{
	char dir[] = "/tmp/sandglass-ui-XXXXXX";
	struct err err = ERR_INIT;
	struct loop *l;
	struct record *r = NULL;
	struct watcher *w = NEW(struct watcher);
	const struct record_ops ops = { .on_head = on_head };
	char *live = NULL, *again = NULL;
	size_t live_len = 0, again_len = 0, lines = 0;
	if (!mkdtemp(dir))
		return 99;
	setenv("XDG_STATE_HOME", dir, 1);
	setenv("HOME", dir, 1);
	hash_init();
	json_t *start = json_object();
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, dir, "live", start, &ops, w, &err) == 0,
	   "a session is recorded: %s", err.text);
	json_decref(start);
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(r));
	w->to = open_memstream(&live, &live_len);
	turns(l, 4);
	ok(source_open(&w->s, path, &err) == 0, "and watched: %s", err.text);
	ui_init(&w->ui, &w->s, NULL, 1, 36, 120, false);
	session(r, l);
	fclose(w->to);
	ui_release(&w->ui);
	source_close(&w->s);
	ok(w->nr > 20, "%zu commits were seen", w->nr);
	ok(record_close(&r, json_object(), &err) == 0, "it ends cleanly");
	FILE *to = open_memstream(&again, &again_len);
	replay(path, w, to);
	fclose(to);
	bool same = same_screens(live, again, &lines);
	ok(same, "live == replay over %zu lines", lines);
	ok(lines > 1000, "which is a lot");
	lines_of_a_record(path);
	free(live);
	free(again);
	free(w);
	loop_free(l);
	ok(dir_remove(dir, &err) == 0, "cleaned up");
	return done_testing();
}
