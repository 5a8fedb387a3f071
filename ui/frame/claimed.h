/* What agents said at their end, checked against the recording. The checks are not the console's:
 * who starts it hands out a descriptor from which they come as JSON lines (`claims --json`; a line
 * with "unmerged" counts files, one with "failed" ends claims that couldn't be checked). Call from
 * the console's thread; nothing here blocks. */
#ifndef UI_FRAME_CLAIMED_H
#define UI_FRAME_CLAIMED_H

#include "base/json.h"
#include "ui/model/model.h"

struct ui;
struct claimed;

/* Returns a descriptor without blocking, owned by the caller; -1: there is none. */
typedef int claimed_open_fn(void *self, const char *path);

/* @at_once: does not wait until an agent has ended (a recording). */
struct claimed *claimed_new(claimed_open_fn *fn, void *self, bool at_once) NODISCARD;
void claimed_free(struct claimed **c);
/* Asks for sessions where another agent has ended, and reads what has come. True if that is new. */
bool claimed_look(struct ui *ui);
bool claimed_comes(const struct ui *ui); /* an answer is on its way */
bool claimed_can(const struct ui *ui,
		 size_t source); /* false: claims of it can't be checked here */

/* [{agent_id, event, text, verdict, why?, evidence: [seq]}]; NULL: not known (yet). Borrowed. */
const json_t *claimed_list(const struct ui *ui, size_t source);
/* How many of the agent's claims don't hold; @a NULL: of all agents. */
size_t claimed_failing(const struct ui *ui, size_t source, const struct model_agent *a);
/* For line mode: reads @fd to its end, which may take as long as the checks do, and closes it. */
void claimed_wait(int fd, json_t **list_out, int64_t *unmerged_out);
int64_t claimed_unmerged(const struct ui *ui, size_t source); /* files; -1: not known */

#endif
