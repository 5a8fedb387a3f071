/* After a sandbox has opened: looks in the background for names of secrets that only earlier
 * commits of its repositories have, and records the notice. A repository is looked at once in
 * PAST_AGAIN_US; sandboxes opened meanwhile get what was found. */
#ifndef SUPERVISOR_BOX_PAST_SECRETS_H
#define SUPERVISOR_BOX_PAST_SECRETS_H

#include "supervisor/core/core.h"

/* Loop. */
void past_secrets_begin(struct super *s, uint64_t box, const struct box_opts *o);
void past_secrets_release(struct super *s);

#endif
