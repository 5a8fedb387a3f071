/* Marks of one's own are kept in a file and found again; stretches of the track say what its events say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "fake_session.h"
#include "tap.h"
#include "ui/model/source.h"
#include "ui/frame/own_marks.h"

static char folder[] = "/tmp/t_marks-XXXXXX";

static void file_names(void)
{
	static const char *const bad[] = { "", ".", "../../x", "a/b", "s 1", "s-1\n", NULL };
	char *good = own_marks_path(folder, "s-7k2m9q");
	ok(good && strstr(good, "/s-7k2m9q.jsonl"), "an id is a file's name");
	free(good);
	bool none = true;
	for (const char *const *id = bad; *id; id++)
		none = none && !own_marks_path(folder, *id);
	ok(none, "what could leave the folder has no file");
}

static void kept(void)
{
	struct own_marks m, again;
	struct err err = ERR_INIT;
	struct stat st = { 0 };
	CLEANUP(free_ptr) char *path = own_marks_path(folder, "s-1");
	own_marks_load(&m, mem_strdup(path));
	ok(m.nr == 0 && own_marks_set(&m, 300, 'b', "", &err) == 0 && own_marks_set(&m, 12, 'a', "why?\x1b[2J", &err) == 0 &&
		   own_marks_set(&m, 40, 0, "text", &err) == 0, "three marks");
	ok(m.mark[0].seq == 12 && m.mark[1].seq == 40 && m.mark[2].seq == 300, "in order");
	own_marks_load(&again, mem_strdup(path));
	ok(again.nr == 3 && again.mark[0].key == 'a' && strcmp(again.mark[0].text, "why?\x1b[2J") == 0 && again.mark[1].key == 0,
	   "another console has them");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "nobody else reads them");
	ok(own_marks_set(&again, 500, 'a', "", &err) == 0 && again.nr == 3 && again.mark[2].seq == 500, "a letter is at one place");
	ok(own_marks_set(&m, 600, 'c', "", &err) == 0 && m.nr == 4 && m.mark[2].seq == 500, "what the other wrote is not lost");
	ok(own_marks_next(&m, 40, 1) == 300 && own_marks_next(&m, 40, -1) == 0 && own_marks_next(&m, 300, -1) == 40 &&
		   own_marks_next(&m, 600, 1) == 0, "the next one, the one before");
	ok(own_marks_find(&m, 'b')->seq == 300 && !own_marks_find(&m, 'z') && !own_marks_find(&m, 0), "by letter");
	ok(own_marks_remove(&m, 40, 0, &err) == 0 && m.nr == 3 && own_marks_remove(&m, 40, 0, &err) < 0 && err.code == ERR_NOENT,
	   "removed once");
	own_marks_release(&m);
	own_marks_release(&again);
}

static void bad_lines(void)
{
	static const char text[] = "{\"seq\":7,\"key\":\"x\"}\nnonsense\n{\"seq\":-4}\n{\"seq\":9,\"key\":\"xyz\"}\n\n"
				   "{\"seq\":8,\"text\":\"kept\"}\n{\"seq\":1";
	struct own_marks m;
	struct err err = ERR_INIT;
	char *path = own_marks_path(folder, "s-2");
	bool written = file_write_atomic(path, text, strlen(text), 0600, &err) == 0;
	own_marks_load(&m, path);
	ok(written && m.nr == 2 && m.mark[0].seq == 7 && m.mark[1].seq == 8, "invalid lines are left out");
	own_marks_release(&m);
	own_marks_load(&m, mem_printf("%s/s-1.jsonl/no.jsonl", folder));
	ok(own_marks_set(&m, 5, 'a', "", &err) < 0 && m.nr == 1, "an unwritable path is an error, and the bookmark stays in memory");
	own_marks_release(&m);
}

static bool same_sum(const struct track *t, uint64_t from, uint64_t to)
{
	struct track_sum s = track_between(t, from, to);
	uint32_t exec = 0;
	unsigned flags = 0;
	int64_t tokens = 0;
	for (uint64_t i = from; i < to; i++) {
		flags |= t->flags[i];
		exec += (t->flags[i] & TRACK_EXEC) != 0;
	}
	for (size_t i = 0; i < t->nr_steps; i++)
		if (t->step[i].what == TRACK_TOKENS && t->step[i].seq > from && t->step[i].seq <= to)
			tokens += t->step[i].amount;
	return s.count[LANE_EVENTS] == to - from && s.count[LANE_EXEC] == exec && s.flags == flags &&
	       s.amount[TRACK_TOKENS] == tokens;
}

static uint64_t find_slowly(const struct track *t, uint64_t seq, unsigned flags, int by)
{
	for (uint64_t i = seq + (uint64_t)by; i > 0 && i <= t->nr; i += (uint64_t)by)
		if (t->flags[i - 1] & flags)
			return i;
	return 0;
}

static void stretches(void)
{
	static const unsigned kinds[] = { TRACK_ERROR, TRACK_TURN, TRACK_EDIT, TRACK_HELD, TRACK_MARK };
	struct source *s = NULL;
	struct err err = ERR_INIT;
	bool sums = true, finds = true;
	if (source_open(&s, "tests/screens/fleet.jsonl", &err) < 0 || source_sync(s, 0, 0) < 0) {
		ok(false, "%s", err.text);
		return;
	}
	const struct track *t = &s->track;
	for (uint64_t from = 0; from <= t->nr; from += 37)
		for (uint64_t to = from; to <= t->nr; to += 41)
			sums = sums && same_sum(t, from, to);
	ok(t->nr > 3 * (uint64_t)TRACK_STRETCH / 2 && sums, "sums of any stretch");
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (uint64_t at = 1; at <= t->nr; at++)
			finds = finds && track_find(t, at, kinds[k], 1) == find_slowly(t, at, kinds[k], 1) &&
				track_find(t, at, kinds[k], -1) == find_slowly(t, at, kinds[k], -1);
	ok(finds, "the next of a kind from any place, both ways");
	source_close(&s);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	file_names();
	kept();
	bad_lines();
	stretches();
	CLEANUP(free_ptr) char *rm = mem_printf("rm -rf %s", folder);
	ok(system(rm) == 0, "nothing is left");
	return done_testing();
}
