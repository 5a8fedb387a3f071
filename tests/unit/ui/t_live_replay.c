/* Live == replay over screens: a session that grows under a console shows, event by event, byte for byte what its
 * record shows with the cursor there. (Over real files and the real recorder: t_file.) */
#include <unistd.h>

#include "fake_session.h"
#include "tap.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"
#include "ui/views/tree.h"

static const char *const views[] = { "fleet", "agent", "approval", "queue", "diff", "log" };

static void dump(struct ui *ui, FILE *to)
{
	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		const struct source *s = ui->src[0];
		ui_open(ui, views[i], &(struct subject){ .agent = s->model.nr_agents ? s->model.agent[0].id : 0 });
		ui_draw(ui);
		term_dump(&ui->grid, to);
		if (ui->depth > 1)
			ui_back(ui);
	}
}

/* One console that follows; events come in steps. Its clock is that of the newest event, as replay's is. */
static char *live(const char *path, uint64_t step, size_t *len)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct ui ui;
	char *text = NULL;
	FILE *to = open_memstream(&text, len);
	if (source_open(&s, path, &err) < 0)
		exit(99);
	uint64_t all = session_head(s->session);
	ui_init(&ui, &s, NULL, 1, 36, 120, false);
	for (uint64_t at = step; at <= all; at += step) {
		s->session->committed = at;
		ui_sync(&ui);
		ui.message[0] = 0;
		dump(&ui, to);
	}
	ui_release(&ui);
	source_close(&s);
	fclose(to);
	return text;
}

/* A new reader for each point, with the cursor set there in the whole record. */
static char *replay(const char *path, uint64_t step, size_t *len)
{
	struct err err = ERR_INIT;
	char *text = NULL;
	FILE *to = open_memstream(&text, len);
	for (uint64_t at = step;; at += step) {
		struct source *s = NULL;
		struct ui ui;
		if (source_open(&s, path, &err) < 0)
			exit(99);
		bool more = at <= session_head(s->session);
		if (more) {
			ui_init(&ui, &s, NULL, 1, 36, 120, false);
			ui.limit = at;
			ui_sync(&ui);
			dump(&ui, to);
			ui_release(&ui);
		}
		source_close(&s);
		if (!more)
			break;
	}
	fclose(to);
	return text;
}

static void same(const char *path, uint64_t step)
{
	size_t live_len, replay_len, i = 0;
	char *a = live(path, step, &live_len), *b = replay(path, step, &replay_len);
	ok(live_len > 0 && live_len == replay_len && memcmp(a, b, live_len) == 0,
	   "%s, every %lu events: %zu bytes of screens", path, (unsigned long)step, live_len);
	while (i < live_len && i < replay_len && a[i] == b[i])
		i++;
	if (i < live_len)
		printf("# differs at %zu: live \"%.120s\" replay \"%.120s\"\n", i, a + (i > 40 ? i - 40 : 0),
		       b + (i > 40 ? i - 40 : 0));
	free(a);
	free(b);
}

/* The files of the box at each event: @live on one screen that stays open, else each on a new one. */
static char *files(const char *path, const char *file, bool live, size_t *len)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct ui ui;
	char *text = NULL;
	FILE *to = open_memstream(&text, len);
	uint64_t all = 1;
	for (uint64_t at = 1; at <= all; at++) {
		int frames = 0;
		bool anew = at == 1 || !live;
		if (anew && source_open(&s, path, &err) < 0)
			exit(99);
		all = at == 1 ? session_head(s->session) : all;
		s->session->committed = at;
		if (anew)
			ui_init(&ui, &s, NULL, 1, 36, 120, false);
		ui_sync(&ui);
		if (anew)
			tree_open(&ui, &(struct subject){ 0 }, 0, file);
		ui_draw(&ui);
		if (anew && *file)
			ui_key(&ui, 'B');
		ui.message[0] = 0;
		do /* who brought the lines comes in slices */
			ui_draw(&ui);
		while (ui.wake_us > ui.mono_us && frames++ < 100);
		term_dump(&ui.grid, to);
		if (!live || at == all) {
			ui_release(&ui);
			source_close(&s);
		}
	}
	fclose(to);
	return text;
}

static void files_follow(void)
{
	static const char record[] =
		"{\"tree\":\"t1\",\"files\":{\"a\":\"one\\n\"}}\n"
		"{\"tree\":\"t2\",\"files\":{\"a\":\"one\\ntwo\\n\",\"b\":\"new\\n\"}}\n"
		"{\"tree\":\"t3\",\"files\":{\"a\":\"one\\n\",\"c\":\"late\\n\"}}\n"
		"{\"at\":\"0\",\"kind\":\"session.start\",\"body\":{}}\n"
		"{\"at\":\"1\",\"kind\":\"box.open\",\"body\":{\"name\":\"b\"}}\n"
		"{\"at\":\"2\",\"kind\":\"action.requested\",\"box\":2,\"body\":{\"kind\":\"exec\",\"cmd\":\"x\"}}\n"
		"{\"at\":\"3\",\"kind\":\"snapshot.taken\",\"box\":2,\"body\":{\"repo\":\"\",\"by\":[3],\"tree\":\"@t1\"}}\n"
		"{\"at\":\"4\",\"kind\":\"action.requested\",\"box\":2,\"body\":{\"kind\":\"exec\",\"cmd\":\"y\"}}\n"
		"{\"at\":\"5\",\"kind\":\"snapshot.taken\",\"box\":2,\"body\":{\"repo\":\"\",\"by\":[5],\"tree\":\"@t2\"}}\n"
		"{\"at\":\"6\",\"kind\":\"action.requested\",\"box\":2,\"body\":{\"kind\":\"exec\",\"cmd\":\"z\"}}\n"
		"{\"at\":\"7\",\"kind\":\"snapshot.taken\",\"box\":2,\"body\":{\"repo\":\"\",\"by\":[7],\"tree\":\"@t3\"}}\n";
	static const char *const file[] = { "", "a" };
	struct err err = ERR_INIT;
	char path[] = "/tmp/sandglass-ui-XXXXXX";
	CLEANUP(fd_close) int fd = mkstemp(path);
	if (fd_write_all(fd, record, sizeof(record) - 1, &err) < 0)
		exit(99);
	for (size_t i = 0; i < ARRAY_LEN(file); i++) {
		size_t one_len, other_len;
		CLEANUP(free_ptr) char *one = files(path, file[i], true, &one_len), *other = files(path, file[i], false, &other_len);
		ok(strstr(one, i ? "two" : " c ") && strcmp(one, other) == 0, "%s that stays open follows its snapshots",
		   i ? "a file and who brought its lines" : "a folder");
		if (strcmp(one, other) != 0)
			printf("# %s\n# %s\n", one, other);
	}
	unlink(path);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	same("tests/screens/wide.jsonl", 1);
	same("tests/screens/fleet.jsonl", 11);
	files_follow();
	return done_testing();
}
