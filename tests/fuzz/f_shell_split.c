/* The splitter: whatever the text, it ends, stays within its limits, is the same each time, and every part can be matched
 * and printed. */
#include <stdlib.h>
#include <string.h>

#include "action/glob.h"
#include "action/shell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_word(const struct shell_word *w)
{
	if (!w->text || strlen(w->text) != w->len || w->prefix > w->len || w->suffix > w->len)
		abort();
	if (!w->dynamic && (w->splits || w->prefix != w->len))
		abort();
}

static void check(const struct shell *s)
{
	if (s->nr > SHELL_PARTS_MAX || (s->opaque && !s->why))
		abort();
	for (size_t i = 0; i < s->nr; i++) {
		const struct shell_part *p = &s->part[i];
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		for (size_t k = 0; k < p->nr_words; k++)
			check_word(&p->word[k]);
		if (p->flags & SHELL_TARGET && p->nr_words != 2)
			abort();
		shell_part_text(p, &b);
		enum glob_answer sure = words_match("git push *", p, true), may = words_match("git push *", p, false);
		if (sure == GLOB_YES && may != GLOB_YES)
			abort(); /* what an allow takes for certain, a deny must see as well */
		if (p->nr_words && words_match("... x ... *y*", p, false) > GLOB_YES)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shell *a = shell_split((const char *)data, size), *b = shell_split((const char *)data, size);
	check(a);
	if (a->nr != b->nr || a->opaque != b->opaque)
		abort();
	struct strv argv = STRV_INIT;
	for (size_t i = 0; i < a->nr && !a->opaque; i++)
		for (size_t k = 0; k < a->part[i].nr_words; k++)
			strv_push_bytes(&argv, a->part[i].word[k].text, a->part[i].word[k].len);
	shell_free(&b);
	b = shell_split_argv(&argv);
	check(b);
	strv_release(&argv);
	shell_free(&a);
	shell_free(&b);
	return 0;
}
