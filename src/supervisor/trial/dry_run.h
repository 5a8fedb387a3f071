/* The dry run: what would a pending action do? Its sandbox is frozen and the action runs in a
 * second sandbox without network, for at most 30 s. The second sandbox has a throw-away layer
 * above the live files, or a copy of a copied workspace. Then the first sandbox continues. For a
 * remote sandbox the second one is opened remotely, on a copy of the workspace. If it has a
 * network, the command runs without sockets. A sandbox without isolation (level none) is
 * refused.
 *
 * Invariants: preview.started is durable before the dry run starts. The live upper layer is a
 * lower layer of the second sandbox only while its own sandbox is frozen and locked in the
 * policy check. A dry run is not the action: no event of the action's life is written, and
 * budgets and policy ignore it. Applying it applies the recorded difference, as a decision on
 * the action. This is refused if the intent or the files have changed since the start. Loop
 * thread only. */
#ifndef SUPERVISOR_TRIAL_DRY_RUN_H
#define SUPERVISOR_TRIAL_DRY_RUN_H

#include "supervisor/box/super_tree.h"

/* @rq: ticket (answered when it is over), cause, who; its box is found. -1: @err, nothing
 * started. */
NODISCARD int dry_run_begin(const struct tree_request *rq, uint64_t action, struct err *err);
/* Answers the ticket once the decision is taken or refused. @message and @intent as in struct
 * decide. */
NODISCARD int dry_run_apply(const struct tree_request *rq, uint64_t action, const char *message,
			    const struct hash *intent, struct err *err);
/* Hosts that a dry run of @action requested, [{host, port, why}]; borrows. NULL: none is known. */
const json_t *dry_run_hosts(const struct super *s, uint64_t action);
/* The action was decided: its dry run is stopped or dropped, except while it is being applied. */
void dry_run_unheld(struct super *s, uint64_t action);
void dry_run_box_gone(struct super *s, uint64_t box);
/* Those under way end as soon as they can; s->background falls when they have. */
void dry_runs_stop(struct super *s);
void dry_runs_free(struct super *s);
/* Removes the remains of a killed supervisor: its dry runs, and directories of sandboxes that
 * were made ahead. */
void dry_runs_clear(const char *state_dir);

#endif
