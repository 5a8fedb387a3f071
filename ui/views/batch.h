/* Pending actions that were marked in the queue, to be decided together. They can be approved
 * together only if all share one rule and none is of high risk, requires typing a name, or hides
 * a part of itself. One question confirms the approval. All can be denied with one message. Each
 * decision is sent on its own, bound to the content on the screen at its marking. */
#ifndef UI_BATCH_H
#define UI_BATCH_H

#include "ui/views/approve.h"
#include "ui/frame/ui.h"

enum { BATCH_MAX = 64 };

struct batch {
	struct batch_item {
		size_t source;
		uint64_t action;
		char intent[80];
		char rule[64];
		char what[160];	   /* as it stood in its line */
		const char * not ; /* why it cannot be approved with others; NULL it can */
	} item[BATCH_MAX];
	size_t nr;
};

/* Marks or unmarks an action. @whole: its line shows the whole action. Reports why an action
 * can't be marked. */
void batch_pick(struct batch *b, struct ui *ui, size_t source, uint64_t action, bool whole);
bool batch_has(const struct batch *b, size_t source, uint64_t action);
/* Removes actions that are decided. */
void batch_refresh(struct batch *b, const struct ui *ui);
/* Why those that are marked cannot be approved together; NULL they can. */
const char *batch_why_not(const struct batch *b);
/* Ask, and send what is answered. The queue must be on top then. */
void batch_approve(struct batch *b, struct ui *ui);
void batch_deny(struct batch *b, struct ui *ui);
/* The marks of the queue on top, or its one row that is being denied; NULL: the queue is gone. */
struct batch *batch_on_top(struct ui *ui);

#endif
