/* Blame works in slices. Each slice adds at least one version and ends after its time budget, so keys are answered in
 * between. The result equals one long run. BLAME_LINES enlarges the file and prints how long a slice took. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_session.h"
#include "tap.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"
#include "ui/views/blame.h"
#include "ui/views/tree.h"

enum { VERSIONS = 20 };

static size_t lines = 400;

/* Version @k of the file: each @k'th of its first 400 lines is as that version has left it. */
static void put_tree(struct buf *out, int k)
{
	buf_printf(out, "{\"tree\": \"t%d\", \"files\": {\"big\": \"", k);
	for (size_t i = 0; i < lines; i++)
		buf_printf(out, "%zu %d\\n", i, i < 400 && (int)i % VERSIONS < k ? (int)i % VERSIONS + 1 : 0);
	buf_puts(out, "\"}}\n");
}

static void put_fixture(struct buf *out)
{
	for (int k = 0; k <= VERSIONS; k++)
		put_tree(out, k);
	buf_puts(out, "{\"at\": \"0\", \"kind\": \"session.start\", \"body\": {\"id\": \"s-0b1ame\", \"name\": \"b\"}}\n"
		      "{\"at\": \"1\", \"kind\": \"agent.start\", \"body\": {\"name\": \"a\", \"task\": \"t\"}}\n"
		      "{\"at\": \"2\", \"kind\": \"box.open\", \"body\": {\"name\": \"b\", \"driver\": \"process\"}}\n"
		      "{\"at\": \"3\", \"kind\": \"box.ready\", \"box\": 3, \"body\": {\"profile\": \"enforced\"}}\n");
	for (int k = 1; k <= VERSIONS; k++) /* the action is event 3 + 2k, its snapshot the next */
		buf_printf(out,
			   "{\"at\": \"%d\", \"kind\": \"action.requested\", \"agent\": 2, \"box\": 3, \"body\": {\"kind\": \"exec\", \"cmd\": \"v%d\"}}\n"
			   "{\"at\": \"%d\", \"kind\": \"snapshot.taken\", \"agent\": 2, \"box\": 3, \"body\": {\"repo\": \"\", \"n\": %d, \"prev\": 1, "
			   "\"why\": \"action\", \"by\": [%d], \"tree\": \"@t%d\", \"under\": \"@t0\", \"changes\": [{\"op\": \"M\", \"path\": \"big\"}]}}\n",
			   3 + k, k, 3 + k, k, 3 + 2 * k, k);
	/* a copy of the box; one in its place after a resume, which begins with the base and is given the files then */
	buf_printf(out,
		   "{\"at\": \"50\", \"kind\": \"box.open\", \"body\": {\"name\": \"f\", \"driver\": \"process\", \"fork\": {\"box\": 3, \"n\": 44}}}\n"
		   "{\"at\": \"50\", \"kind\": \"snapshot.taken\", \"box\": 45, \"body\": {\"repo\": \"\", \"n\": 1, \"prev\": 0, "
		   "\"why\": \"fork\", \"by\": [], \"tree\": \"@t%d\", \"under\": \"@t0\", \"changes\": [{\"op\": \"M\", \"path\": \"big\"}]}}\n"
		   "{\"at\": \"51\", \"kind\": \"box.open\", \"body\": {\"name\": \"b\", \"driver\": \"process\", \"was\": 3}}\n"
		   "{\"at\": \"51\", \"kind\": \"snapshot.taken\", \"box\": 47, \"body\": {\"repo\": \"\", \"n\": 1, \"prev\": 0, "
		   "\"why\": \"open\", \"by\": [], \"tree\": \"@t0\", \"under\": \"@t0\", \"changes\": [{\"op\": \"M\", \"path\": \"big\"}]}}\n"
		   "{\"at\": \"51\", \"kind\": \"snapshot.taken\", \"box\": 47, \"body\": {\"repo\": \"\", \"n\": 2, \"prev\": 48, "
		   "\"why\": \"resume\", \"by\": [], \"tree\": \"@t%d\", \"under\": \"@t0\", \"changes\": [{\"op\": \"M\", \"path\": \"big\"}]}}\n",
		   VERSIONS, VERSIONS);
}

static void in_slices(struct source *s)
{
	struct blaming *b = blaming_new(s, 3, 0, "big"), *whole = blaming_new(s, 3, 0, "big");
	size_t steps = 1, wrong = 0;
	int64_t worst = 0, all = clock_mono_us();
	is_int((int64_t)blaming_result(b)->nr, 0, "nothing is known before");
	for (bool over = false; !over; steps++) {
		int64_t from = clock_mono_us();
		over = blaming_step(b, 0);
		worst = clock_mono_us() - from > worst ? clock_mono_us() - from : worst;
		if (steps == VERSIONS)
			ok(!over && blaming_result(b)->nr == 0 && !blaming_over(b), "nor while it is under way");
	}
	ok(steps > 2 * VERSIONS, "a slice without time is one step: an event looked at, a version carried over");
	is_int(blaming_percent(b), 100, "all of it");
	if (getenv("BLAME_LINES"))
		printf("# %zu lines: %zu steps, the longest %lld us, all %lld us\n", lines, steps, (long long)worst,
		       (long long)(clock_mono_us() - all));
	ok(blaming_step(whole, INT64_MAX / 2), "with time it is one slice");
	const struct blame *x = blaming_result(b), *y = blaming_result(whole);
	ok(x->nr == lines && y->nr == lines && memcmp(x->by, y->by, lines * sizeof(*x->by)) == 0, "and the same");
	for (size_t i = 0; i < lines && i < x->nr; i++)
		wrong += x->by[i] != (i < 400 ? 3 + 2 * (i % VERSIONS + 1) : 0);
	is_int((int64_t)wrong, 0, "each line is of the action that wrote it");
	blaming_free(&b);
	blaming_free(&whole);
}

/* Lines of a box that was copied, or that took another's place, are of who wrote them in the one before. */
static void of_one_before(struct source *s, uint64_t box, const char *what)
{
	struct blaming *b = blaming_new(s, box, 0, "big");
	size_t wrong = 0;
	ok(blaming_step(b, INT64_MAX / 2), "%s", what);
	const struct blame *x = blaming_result(b);
	for (size_t i = 0; i < lines && i < x->nr; i++)
		wrong += x->by[i] != (i < 400 ? 3 + 2 * (i % VERSIONS + 1) : 0);
	ok(x->nr == lines && wrong == 0, "each line is of the action that wrote it before: %zu are not", wrong);
	blaming_free(&b);
}

static const char *row_of(struct ui *ui, int row)
{
	static char text[200];
	size_t len = 0;
	for (int col = 0; col < 30; col++) {
		const struct cell *c = &ui->grid.cell[row * ui->grid.cols + col];
		if (len + c->len < sizeof(text) - 1 && c->width > 0)
			memcpy(text + len, c->len ? c->s : " ", c->len ? c->len : 1), len += c->len ? c->len : 1;
	}
	text[len] = 0;
	return text;
}

static void on_screen(struct source *s)
{
	struct ui ui;
	int64_t worst = 0;
	int frames = 0;
	ui_init(&ui, &s, NULL, 1, 24, 80, false);
	ui_sync(&ui);
	tree_open(&ui, &(struct subject){ .agent = 2 }, 0, "big");
	ui_draw(&ui);
	int64_t begun = clock_mono_us();
	ui_key(&ui, 'B');
	ui_draw(&ui);
	if (getenv("BLAME_LINES"))
		printf("# the first frame: %lld us\n", (long long)(clock_mono_us() - begun));
	do {
		int64_t from = clock_mono_us();
		ui.mono_us = from;
		ui_key(&ui, 'j');
		ui_draw(&ui);
		if (frames++)
			worst = clock_mono_us() - from > worst ? clock_mono_us() - from : worst;
	} while (ui.wake_us > ui.mono_us && frames < 10000);
	ok(frames < 10000, "the screen asks to be drawn again until it is known");
	if (getenv("BLAME_LINES"))
		printf("# a key to its frame meanwhile: %lld us at most, %d frames\n", (long long)worst, frames);
	ui_key(&ui, 'g');
	ui_key(&ui, 'g');
	ui_draw(&ui);
	ok(strstr(row_of(&ui, 3), "#5") && strstr(row_of(&ui, 4), "#7"), "then each line bears its action: %s", row_of(&ui, 3));
	ui_release(&ui);
}

int main(void)
{
	char path[] = "/tmp/t_blame-XXXXXX";
	struct err err = ERR_INIT;
	struct source *s = NULL;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	setenv("TZ", "UTC", 1);
	if (getenv("BLAME_LINES"))
		lines = strtoul(getenv("BLAME_LINES"), NULL, 10);
	put_fixture(&text);
	int fd = mkstemp(path);
	if (fd < 0 || fd_write_all(fd, text.data, text.len, &err) < 0 || source_open(&s, path, &err) < 0)
		return 99;
	close(fd);
	source_sync(s, 0, 0);
	in_slices(s);
	of_one_before(s, 45, "a copied box");
	of_one_before(s, 47, "one that took its place after a resume");
	on_screen(s);
	source_close(&s);
	unlink(path);
	return done_testing();
}
