/* Between the files of the ":" line. cmdline.c runs the typed line. cmdline_own.c: the console's
 * own commands. cmdline_complete.c: completions for Tab. */
#ifndef UI_FRAME_CMDLINE_PRIV_H
#define UI_FRAME_CMDLINE_PRIV_H

#include "ui/frame/finder_priv.h"

struct cmdline_word {
	const char *name, *usage, *summary;
	/* @words: the line taken apart, its first is the name; @rest: what stands behind that, as
	 * it was typed. */
	void (*run)(struct ui *ui, const char *const *words, size_t nr, const char *rest);
};

const struct cmdline_word *cmdline_word(size_t i); /* by name; NULL after the last */
struct subject cmdline_subject(struct ui *ui);	   /* what the screen on top is about */
void cmdline_host(struct ui *ui, const char *cmd); /* "!": on the host */
void cmdline_complete(struct ui *ui);

#endif
