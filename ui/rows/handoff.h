/* The handoff summary: goal, state, pending approvals with reasons, the last decisions with
 * their notes, breakpoints and session approvals in force, changes in the sandboxes, and
 * remaining money. It is made from the folded state and the recording alone. So it is the same
 * on the screen and on the command line, while the session runs and afterwards. */
#ifndef UI_ROWS_HANDOFF_H
#define UI_ROWS_HANDOFF_H

#include "ui/model/source.h"

enum { HANDOVER_DECISIONS = 10, HANDOVER_FILES = 20 };

/* Fields: session, name, state, script, begun (wall clock, us), dur_us,
 * agents[{agent,name,task,state,turn,tokens,uusd, limits}],
 * waits[{event,agent,kind,what,why,since_us,until_us,paused (by a person: there is nothing to
 * decide)}], decisions[{event,action,what,decision,by,who,note,ts_us}] newest first, hold,
 * waivers[{event,kind,pattern,who}], boxes[{box,name,state,changed_files,unmerged_files,merged (seq
 * of the merge back that stands; 0 none), unmerged[{path (bytes),op,lines}] (the first
 * HANDOVER_FILES)}], spent{uusd,tokens,time_us}, limits{uusd,tokens,time_us,steps, actions} (0 =
 * none), warning. @live: its supervisor runs. Returns owned. */
json_t *handoff_make(struct source *s, bool live, int64_t now_us);
/* The same as lines of text, for users; texts of agents are sanitized. */
void handoff_text(const json_t *h, struct buf *out);

#endif
