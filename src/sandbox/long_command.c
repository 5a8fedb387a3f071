#include "sandbox/long_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
	/* execve takes 128 KiB a word, of which a shell elsewhere may want some for quotes */
	WORD_MAX = 64 << 10,
	WORDS_MAX = 1 << 20, /* of all words and variables it takes 2 MiB */
};

struct long_command {
	struct strv argv;
	const char *text; /* of the action; NULL: it is in argv */
	size_t len;
};

static const char by_input[] =
	"__sg_c=$(head -c \"$1\") && [ \"$__sg_c\" ] || { echo 'sh: unreadable command: program head not found' >&2; exit 126; }\n"
	"shift\neval \"$__sg_c\"";
static const char by_words[] =
	"__sg_c=\nfor __sg_p; do __sg_c=$__sg_c$__sg_p; done\nset --\neval \"$__sg_c\"";

static void push_pieces(struct strv *argv, const char *text, size_t len)
{
	for (size_t at = 0; at < len; at += WORD_MAX)
		strv_push_bytes(argv, text + at, len - at < WORD_MAX ? len - at : WORD_MAX);
}

struct long_command *long_command_new(const struct action_spec *spec, bool pty, bool input)
{
	const struct strv *words = &spec->argv;
	if (words->nr != 3 || strcmp(words->item[0], "sh") != 0 ||
	    strcmp(words->item[1], "-c") != 0)
		return NULL;
	size_t len = strlen(words->item[2]);
	if (len <= WORD_MAX)
		return NULL;
	struct long_command *lc = NEW(struct long_command);
	bool pieces = pty || (input && len <= WORDS_MAX);
	strv_push(&lc->argv, "sh");
	strv_push(&lc->argv, "-c");
	strv_push(&lc->argv, pieces ? by_words : by_input);
	strv_push(&lc->argv, "sh");
	if (pieces) {
		push_pieces(&lc->argv, words->item[2], len);
	} else {
		CLEANUP(free_ptr) char *bytes = mem_printf("%zu", len);
		strv_push(&lc->argv, bytes);
		lc->text = words->item[2];
		lc->len = len;
	}
	return lc;
}

void long_command_free(struct long_command **lc)
{
	struct long_command *old = *lc;
	*lc = NULL;
	if (!old)
		return;
	strv_release(&old->argv);
	free(old);
}

char *const *long_command_argv(const struct long_command *lc, size_t *nr_out)
{
	*nr_out = lc->argv.nr;
	return lc->argv.item;
}

const char *long_command_input(const struct long_command *lc, size_t *len_out)
{
	*len_out = lc->len;
	return lc->text;
}
