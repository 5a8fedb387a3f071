/* A line that a user types: editing, history, and what else a kind of line knows (filter, search,
 * command).
 *
 * Left, Right, Home, End, Ctrl-a, Ctrl-e (where it is not the editor's), Ctrl-w, Ctrl-u, Ctrl-k,
 * Del; Up and Down go through the history of the line's kind. */
#ifndef UI_FRAME_PROMPT_H
#define UI_FRAME_PROMPT_H

#include "ui/frame/ui.h"

struct prompt_ops {
	char history;				  /* its letter in the history, 0 = none is kept */
	bool (*key)(struct ui *ui, uint32_t key); /* may be NULL; before the line sees it */
	void (*changed)(struct ui *ui);		  /* may be NULL */
	/* May be NULL. Paints in place of the key line: completions, an error, a count. */
	void (*hint)(const struct ui *ui, struct area a, int row);
	/* May be NULL. Bytes [from, from + len) of the text stand out in *role. */
	bool (*part)(const struct ui *ui, size_t *from, size_t *len, enum role *role);
};

void prompt_ask(struct ui *ui, const char *label, const char *text, const struct prompt_ops *ops,
		const struct subject *on, void (*done)(struct ui *, const char *));
/* One key of @keys, as a second thought: keys typed ahead are thrown away and it is dead for a
 * moment, but for Esc. */
void prompt_sure(struct ui *ui, const char *label, const char *keys, const struct subject *on,
		 void (*done)(struct ui *, const char *));
void prompt_key(struct ui *ui, uint32_t key);
/* A pasted control character: a line break stays one in a plain text and is a space in other lines,
 * as is a tab; others are left out. */
void prompt_pasted_control(struct ui *ui, uint32_t key);
void prompt_clear(struct prompt *p);
/* Replaces bytes [from, at) of the text by @with; the cursor stands after it. */
void prompt_replace(struct ui *ui, size_t from, const char *with);
void prompt_set(struct ui *ui, const char *text);
/* What its keys do, in the place of the key line. */
void prompt_hint(const struct ui *ui, struct area a, int row);
void prompt_paint(const struct ui *ui, struct area a, int row);

#endif
