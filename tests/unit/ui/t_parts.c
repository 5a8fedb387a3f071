/* Parts of changes: what an editor gives back, and the words that mean a part. */
#include "tap.h"
#include "ui/rows/parts.h"

static const char old_text[] = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
static const char new_text[] = "one\ntwo\nthree\nFOUR\nfive\nsix\nseven\n";

static void edits(void)
{
	static const struct {
		const char *name, *text, *want, *why; /* want NULL: refused */
	} c[] = {
		{ "as it was", "@ one\n two\n three\n-four\n+FOUR\n five\n six\n seven\n", "one\ntwo\nthree\nFOUR\nfive\nsix\nseven\n", NULL },
		{ "other words", " one\n two\n three\n-four\n+vier\n+fuenf\n five\n six\n seven\n", "one\ntwo\nthree\nvier\nfuenf\nfive\nsix\nseven\n", NULL },
		{ "a line is kept", " one\n two\n three\n four\n five\n six\n seven\n", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n", NULL },
		{ "another one goes", "-one\n two\n three\n-four\n five\n six\n seven\n", "two\nthree\nfive\nsix\nseven\n", NULL },
		{ "comments", "# x\n one\n two\n three\n-four\n# y\n five\n six\n seven\n", "one\ntwo\nthree\nfive\nsix\nseven\n", NULL },
		{ "no newline at the end of the editor's file", " one\n two\n three\n-four\n five\n six\n seven", "one\ntwo\nthree\nfive\nsix\nseven\n", NULL },
		{ "an end without a newline", " one\n two\n three\n four\n five\n six\n-seven\n+end\n\\ No newline", "one\ntwo\nthree\nfour\nfive\nsix\nend", NULL },
		{ "a line that is there was changed", " one\n TWO\n three\n-four\n five\n six\n seven\n", NULL, "a line of the current file changed: edit only lines that start with +" },
		{ "a line is missing", " one\n two\n three\n-four\n five\n six\n", NULL, "lines of the current file are missing: to remove one, start it with -" },
		{ "a line too many", " one\n two\n three\n-four\n five\n six\n seven\n eight\n", NULL, "a line of the current file changed: edit only lines that start with +" },
		{ "no mark", " one\n two\nthree\n", NULL, "a line must start with a blank, - or +" },
		{ "nothing", "# all gone\n", NULL, "the edited hunk is empty" },
	};
	struct arena a = ARENA_INIT;
	struct text_diff d, own;
	diff_texts(old_text, strlen(old_text), new_text, strlen(new_text), 3, &a, &d);
	struct part p = { .hunk = 1, .line = 0, .nr = d.nr - 1, .range = { 0, 7, 0, 7 } };
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT;
		const char *why = NULL;
		bool good = part_edited(&d, &p, c[i].text + (c[i].text[0] == '@'), &out, &why);
		ok(good == (c[i].want != NULL), "%s: %s", c[i].name, c[i].want ? "taken over" : "refused");
		is_str(good ? buf_cstr(&out) : why, c[i].want ? c[i].want : c[i].why, c[i].name);
	}
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf back = BUF_INIT;
	const char *why;
	part_edit_text(&d, &p, &text);
	ok(part_edited(&d, &p, buf_cstr(&text), &back, &why), "what the editor is given can be given back");
	is_str(buf_cstr(&back), new_text, "and is the change itself");
	p.text = "one\ntwo\nthree\nvier\nfive\nsix\nseven\n";
	p.text_len = strlen(p.text);
	ok(part_own_diff(&d, &p, &a, &own), "a person's lines are shown");
	is_int(own.added, 1, "one added");
	is_int(own.removed, 1, "one removed");
	arena_release(&a);
}

static void words(void)
{
	struct change c = { .op = 'M', .path = "src/a.c" };
	memset(c.new_.b, 0xab, sizeof(c.new_.b));
	struct part p = { .hunk = 2, .range = { 4, 7, 5, 8 } };
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	part_word(&p, &c, &b);
	is_str(buf_cstr(&b), "src/a.c:abababababababababababababababababababab@4,7+5,8", "a hunk");
	buf_reset(&b);
	p.text = "x\n";
	p.text_len = 2;
	part_word(&p, &c, &b);
	is_str(buf_cstr(&b), "src/a.c:abababababababababababababababababababab@4,7+5,8=eAo=", "with a person's own lines");
	buf_reset(&b);
	p = (struct part){ .hunk = PART_WHOLE, .alone = true };
	part_word(&p, &c, &b);
	is_str(buf_cstr(&b), "src/a.c:abababababababababababababababababababab", "a whole file");
}

int main(void)
{
	edits();
	words();
	return done_testing();
}
