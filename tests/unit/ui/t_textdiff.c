/* The line difference: hunks as users expect them, and for any two texts the old one turns into the new one by it. */
#include "base/buf.h"
#include "tap.h"
#include "ui/rows/textdiff.h"

static void print_diff(const struct text_diff *d, struct buf *out)
{
	for (size_t i = 0; i < d->nr; i++) {
		if (d->line[i].op != '@')
			buf_putc(out, d->line[i].op);
		buf_append(out, d->line[i].text, d->line[i].len);
		buf_putc(out, '|');
	}
}

static void check(const char *name, const char *old, const char *new_, int context, const char *want)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct text_diff d;
	diff_texts(old, strlen(old), new_, strlen(new_), context, &a, &d);
	print_diff(&d, &out);
	is_str(buf_cstr(&out), want, name);
}

/* With context as wide as the texts, ' ' and '-' lines are the old text and ' ' and '+' lines the new one. */
static bool rebuilds(const struct text_diff *d, char skip, const char *want)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	for (size_t i = 0; i < d->nr; i++) {
		if (d->line[i].op == '@' || d->line[i].op == '\\' || d->line[i].op == skip)
			continue;
		buf_append(&out, d->line[i].text, d->line[i].len);
		buf_putc(&out, '\n');
	}
	return strcmp(buf_cstr(&out), want) == 0;
}

static void random_text(unsigned *seed, char *out, size_t lines)
{
	for (size_t i = 0; i < lines; i++) {
		*seed = *seed * 1103515245u + 12345u;
		*out++ = (char)('a' + (*seed >> 16) % 4);
		*out++ = '\n';
	}
	*out = 0;
}

static void properties(void)
{
	unsigned seed = 7;
	int bad = 0;
	for (int i = 0; i < 500; i++) {
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		char old[128], new_[128];
		struct text_diff d;
		random_text(&seed, old, 1 + (seed >> 20) % 40);
		random_text(&seed, new_, 1 + (seed >> 20) % 40);
		diff_texts(old, strlen(old), new_, strlen(new_), 1000, &a, &d);
		if (d.nr == 0)
			bad += strcmp(old, new_) != 0;
		else
			bad += !rebuilds(&d, '+', old) || !rebuilds(&d, '-', new_);
	}
	is_int(bad, 0, "500 random pairs: the lines rebuild both texts");
}

static void large(void)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	CLEANUP(buf_release) struct buf old = BUF_INIT, new_ = BUF_INIT;
	struct text_diff d;
	for (int i = 0; i < 6000; i++) {
		buf_printf(&old, "old %d\n", i);
		buf_printf(&new_, "new %d\n", i);
	}
	diff_texts(old.data, old.len, new_.data, new_.len, 3, &a, &d);
	ok(d.added == 6000 && d.removed == 6000, "past the limit everything counts as replaced");
	diff_texts("a\0b", 3, "a", 1, 3, &a, &d);
	ok(d.binary && d.nr == 0, "a NUL is binary");
}

int main(void)
{
	check("nothing", "a\nb\n", "a\nb\n", 3, "");
	check("one line changes", "a\nb\nc\n", "a\nX\nc\n", 3, "@@ -1,3 +1,3 @@| a|-b|+X| c|");
	check("a new file", "", "a\nb\n", 3, "@@ -0,0 +1,2 @@|+a|+b|");
	check("a file goes", "a\n", "", 3, "@@ -1,1 +0,0 @@|-a|");
	check("context is kept", "1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nX\n5\n6\n7\n", 1, "@@ -3,3 +3,3 @@| 3|-4|+X| 5|");
	check("two hunks", "1\n2\n3\n4\n5\n6\n7\n8\n", "X\n2\n3\n4\n5\n6\n7\nY\n", 1,
	      "@@ -1,2 +1,2 @@|-1|+X| 2|@@ -7,2 +7,2 @@| 7|-8|+Y|");
	check("near changes join", "1\n2\n3\n", "X\n2\nY\n", 1, "@@ -1,3 +1,3 @@|-1|+X| 2|-3|+Y|");
	check("no line end", "a\n", "a", 3, "@@ -1,1 +1,1 @@|-a|+a|\\No newline at end of file|");
	properties();
	large();
	return done_testing();
}
