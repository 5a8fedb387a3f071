/* Live == replay over screens: a session that grows under a console shows, event by event, byte for byte what its
 * record shows with the cursor there. (Over real files and the real recorder: t_file.) */
#include "fake_session.h"
#include "tap.h"
#include "ui/term/term.h"
#include "ui/ui.h"

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

int main(void)
{
	setenv("TZ", "UTC", 1);
	same("tests/screens/wide.jsonl", 1);
	same("tests/screens/fleet.jsonl", 11);
	return done_testing();
}
