/* The effect preview: what would a held action do? Its box is frozen, the action runs in a second
 * box whose files are a throw-away layer above the live ones (where the workspace is a copy: a copy
 * of it), without network, for at most 30 s; then the box goes on as it was. Of a box that lies
 * elsewhere the second one is opened there, too, on a copy of its workspace; what is on a network
 * there runs without sockets. A box without walls (profile none) is refused.
 *
 * Laws: preview.started is durable before anything of it begins. The live upper is a lower of the
 * second box only while its own box is frozen and locked at the gate. Nothing of a preview is the
 * action: no event of an action's life is written, budgets and policy do not see it. A promote
 * applies the recorded difference, as a decision on the action; it is refused when intent or files
 * are not what the preview began with. Loop thread only. */
#ifndef SUPERVISOR_TRIAL_PREVIEW_H
#define SUPERVISOR_TRIAL_PREVIEW_H

#include "supervisor/box/super_tree.h"

/* @rq: ticket (answered when it is over), cause, who; its box is found. -1: @err, nothing begun. */
NODISCARD int preview_begin(const struct tree_request *rq, uint64_t action, struct err *err);
/* Answers the ticket once the decision is taken or refused. @message and @intent as in struct
 * decide. */
NODISCARD int preview_promote(const struct tree_request *rq, uint64_t action, const char *message,
			      const struct hash *intent, struct err *err);
/* Hosts that a preview of it has asked for, [{host, port, why}]; borrows. NULL: none is known. */
const json_t *preview_hosts(const struct super *s, uint64_t action);
/* The action is no longer held: its preview is cut off or thrown away (not one that is being
 * promoted). */
void preview_unheld(struct super *s, uint64_t action);
void preview_box_gone(struct super *s, uint64_t box);
/* Those under way end as soon as they can; s->background falls when they have. */
void previews_stop(struct super *s);
void previews_free(struct super *s);
/* What a supervisor that was killed left behind: its previews, and folders of boxes that were made
 * ahead. */
void previews_clear(const char *state_dir);

#endif
