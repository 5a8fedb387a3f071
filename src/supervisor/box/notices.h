/* Files left out of a sandbox or its recording are recorded as box.notice, once per cause, and
 * kept for the script. */
#ifndef SUPERVISOR_BOX_NOTICES_H
#define SUPERVISOR_BOX_NOTICES_H

#include "supervisor/core/core.h"
#include "sandbox/notice.h"

/* Takes @list (sandbox/notice.h). */
void notices_tell(struct super *s, uint64_t box, uint64_t cause, json_t *list);
/* For a script: their texts, an array; NULL: no notices. Returns owned. */
json_t *notices_texts(struct super *s, uint64_t box);
void op_box_notices(struct call *c);

#endif
