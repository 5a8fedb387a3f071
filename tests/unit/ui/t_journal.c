/* Going back gives what folding anew gives, byte for byte, from anywhere to anywhere; so does reading in slices with a
 * first picture before it. */
#include <unistd.h>

#include "fake_session.h"
#include "model_text.h"
#include "tap.h"
#include "ui/model/source.h"
#include "ui/frame/ui.h"

static char *text_of(const struct model *m)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	model_print(to, m);
	fclose(to);
	return text;
}

static char *anew(const char *path, uint64_t seq)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	if (source_open(&s, path, &err) < 0)
		exit(99);
	source_take(s, seq, 0);
	char *text = text_of(&s->model);
	source_close(&s);
	return text;
}

/* The fixture over and over, so that there are many stretches; ids move along. */
static void longer(const char *path, const char *to, int times)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT, out = BUF_INIT;
	struct err err = ERR_INIT;
	int64_t shift = 0, events = 0;
	if (file_read(path, &in, 16 << 20, &err) < 0)
		exit(99);
	for (int i = 0; i < times; i++, shift += events, events = 0) {
		for (char *p = in.data, *nl; *p && (nl = strchr(p, '\n')); p = nl + 1) {
			CLEANUP(json_release) json_t *o = json_parse(p, (size_t)(nl - p), path, &err);
			static const char *const ids[] = { "agent", "box", "action", "cause" };
			if (!o || (json_object_get(o, "tree") && i > 0))
				continue;
			for (size_t k = 0; k < ARRAY_LEN(ids); k++)
				if (json_object_get(o, ids[k]))
					json_put_int(o, ids[k], json_int(o, ids[k], 0) + shift);
			events += json_object_get(o, "kind") != NULL;
			json_dump_buf(o, &out);
			buf_putc(&out, '\n');
		}
	}
	if (file_write_atomic(to, out.data, out.len, 0600, &err) < 0)
		exit(99);
}

static void wander(const char *path, int steps, size_t copies)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	uint64_t chance = 7, wrong = 0;
	if (source_open(&s, path, &err) < 0)
		exit(99);
	source_keep_way(s);
	if (copies)
		journal_keep_most(s->journal, copies);
	uint64_t all = session_head(s->session);
	for (int i = 0; i < steps; i++) {
		chance = chance * 6364136223846793005u + 1442695040888963407u;
		uint64_t to = i == 0 ? all : i == 1 ? 1 : i % 3 ? (chance >> 33) % all + 1 : s->model.head > 1 ? s->model.head - 1 : 1;
		source_seek(s, to);
		char *a = text_of(&s->model), *b = anew(path, to);
		if (strcmp(a, b) != 0 && wrong++ == 0)
			printf("# to %" PRIu64 "\n# %.300s\n# %.300s\n", to, a, b);
		free(a);
		free(b);
	}
	ok(wrong == 0, "%d moves over %" PRIu64 " events%s", steps, all, copies ? ", few copies" : "");
	source_close(&s);
}

static void slices(const char *path)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	int turns = 0, early = 0;
	if (source_open(&s, path, &err) < 0)
		exit(99);
	uint64_t all = session_head(s->session);
	do {
		source_sync(s, 0, 1);
		early += s->early && s->model.head == all;
		turns++;
	} while (s->early && turns < 100000);
	char *a = text_of(&s->model), *b = anew(path, 0);
	ok(early > 0 && turns == early + 1, "%d slices, at each of them the newest is there", turns);
	ok(strcmp(a, b) == 0, "at the end it is what one fold gives");
	free(a);
	free(b);
	source_close(&s);
}

/* The cursor moves while it is still being read. */
static void moves_while_reading(const char *path)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	if (source_open(&s, path, &err) < 0)
		exit(99);
	source_keep_way(s);
	uint64_t all = session_head(s->session), to = all / 3;
	source_sync(s, 0, 1);
	source_sync(s, 0, 1);
	source_sync(s, to, 1);
	is_int((int64_t)s->model.head, (int64_t)to, "the view back in time ends there");
	source_sync(s, 5, 1);
	is_int((int64_t)s->model.head, 5, "to the beginning");
	for (int i = 0; i < 100000 && (i == 0 || s->early); i++)
		source_sync(s, to, 1);
	char *a = text_of(&s->model), *b = anew(path, to);
	ok(strcmp(a, b) == 0, "and there it is whole");
	free(a);
	free(b);
	source_close(&s);
}

static const char *said(struct ui *ui, uint32_t bracket, uint32_t what)
{
	ui_key(ui, bracket);
	ui_key(ui, what);
	return ui->message ? ui->message : "";
}

/* An unread row is reported neither as the next one nor as missing. */
static void jumps_while_reading(const char *path)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct ui ui;
	if (source_open(&s, path, &err) < 0)
		exit(99);
	source_keep_way(s);
	ui_init(&ui, &s, NULL, 1, 36, 120, false);
	ui.replay = true;
	ui.slice_us = 1;
	ui.limit = session_head(s->session) / 2;
	ui_sync(&ui);
	ui_draw(&ui);
	ok(source_reading(s) && s->track.nr < ui.limit, "read up to %zu of it", s->track.nr);
	is_str(said(&ui, ']', 'e'), "still reading the session: the error after this is not known yet", "forward");
	is_str(said(&ui, '[', 'e'), "still reading the session: the error before this is not known yet", "backward");
	uint64_t stays = ui.limit;
	ui.slice_us = 0;
	ui_sync(&ui);
	ok(!source_reading(s) && ui.limit == stays, "then all has been read");
	const char *now = said(&ui, '[', 'e');
	ok(!strncmp(now, "error #", 7), "and it is: %s", now);
	ui_release(&ui);
	source_close(&s);
}

#ifdef __SANITIZE_ADDRESS__ /* ten times as slow: the same moves, fewer of them */
enum { MOVES = 15, LONG_MOVES = 10, TIMES = 8 };
#else
enum { MOVES = 60, LONG_MOVES = 80, TIMES = 25 };
#endif

int main(void)
{
	char path[] = "/tmp/t_journal.XXXXXX";
	int fd = mkstemp(path);
	wander("tests/screens/fleet.jsonl", MOVES, 0);
	wander("tests/screens/wide.jsonl", MOVES, 0);
	wander("tests/screens/redo.jsonl", MOVES, 0);
	longer("tests/screens/fleet.jsonl", path, TIMES);
	wander(path, LONG_MOVES, 0);
	wander(path, LONG_MOVES / 4, 20);
	slices(path);
	moves_while_reading(path);
	jumps_while_reading(path);
	close(fd);
	unlink(path);
	return done_testing();
}
