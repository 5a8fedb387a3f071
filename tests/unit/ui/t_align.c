/* Two lists of steps beside each other: the rows that users expect, and for any two lists every step once, in its order. */
#include <stdlib.h>

#include "base/buf.h"
#include "tap.h"
#include "ui/views/align.h"

/* "abc": the steps a, b and c. */
static const char **steps(const char *word, struct arena *a)
{
	size_t n = strlen(word);
	const char **s = arena_alloc(a, (n + 1) * sizeof(*s));
	for (size_t i = 0; i < n; i++)
		s[i] = arena_strndup(a, word + i, 1);
	return s;
}

static void check(const char *x, const char *y, const char *want)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct align_row *row;
	size_t nr = align_steps(steps(x, &a), strlen(x), steps(y, &a), strlen(y), &a, &row);
	for (size_t i = 0; i < nr; i++)
		buf_printf(&out, "%c%c%c ", row[i].a < 0 ? '-' : x[row[i].a], row[i].same ? '=' : '!', row[i].b < 0 ? '-' : y[row[i].b]);
	is_str(buf_cstr(&out), want, want);
}

/* Every index of both, once and in order; equal only what is equal. Returns how many are. */
static bool holds(const char *x, size_t nr_x, const char *y, size_t nr_y, size_t *same)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct align_row *row;
	size_t nr = align_steps(steps(x, &a), nr_x, steps(y, &a), nr_y, &a, &row), i = 0, k = 0;
	*same = 0;
	for (size_t r = 0; r < nr; r++) {
		if ((row[r].a >= 0 && (size_t)row[r].a != i) || (row[r].b >= 0 && (size_t)row[r].b != k) || (row[r].a < 0 && row[r].b < 0))
			return false;
		if (row[r].same && (row[r].a < 0 || row[r].b < 0 || x[i] != y[k]))
			return false;
		*same += row[r].same;
		i += row[r].a >= 0;
		k += row[r].b >= 0;
	}
	return i == nr_x && k == nr_y;
}

static void fill(char *s, size_t nr, unsigned kinds)
{
	for (size_t i = 0; i < nr; i++)
		s[i] = (char)('a' + (unsigned)rand() % kinds);
	s[nr] = 0;
}

static void random_lists(void)
{
	bool good = true;
	char x[64], y[64];
	size_t same;
	srand(7);
	for (int i = 0; i < 2000; i++) {
		fill(x, (size_t)rand() % 60, 4);
		fill(y, (size_t)rand() % 60, 4);
		good = good && holds(x, strlen(x), y, strlen(y), &same);
	}
	ok(good, "any two lists: every step once, in its order, equal only what is");
}

/* Too much lies between the equal beginning and the equal end: it is not matched, and nothing is lost. */
static void long_lists(void)
{
	size_t nr = ALIGN_MOST + 200, same;
	CLEANUP(free_ptr) char *x = mem_calloc(nr + 1, 1), *y = mem_calloc(nr + 1, 1);
	fill(x, nr, 3);
	fill(y, nr, 3);
	x[0] = y[0] = 'k';
	x[1] = 'm', y[1] = 'n';
	x[nr - 2] = 'm', y[nr - 2] = 'n';
	x[nr - 1] = y[nr - 1] = 'k';
	ok(holds(x, nr, y, nr, &same), "long lists are whole");
	is_int((long long)same, 2, "their equal ends stand beside each other");
}

int main(void)
{
	check("abc", "abc", "a=a b=b c=c ");
	check("", "", "");
	check("", "ab", "-!a -!b ");
	check("abc", "axc", "a=a b!x c=c ");
	check("abc", "ac", "a=a b!- c=c ");
	check("ac", "abbc", "a=a -!b -!b c=c ");
	check("abcd", "bcde", "a!- b=b c=c d=d -!e ");
	check("xab", "yzab", "x!y -!z a=a b=b ");
	random_lists();
	long_lists();
	return done_testing();
}
