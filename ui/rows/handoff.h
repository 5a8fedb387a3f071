/* One page for whoever takes a session over: goal, state, what waits and why, the last decisions
 * with their notes, holds and waivers that stand, changes in the boxes, money left. Made from the
 * folded state and the record alone, so it says the same on the screen, on the command line, while
 * the session runs and afterwards. */
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
/* The same as lines of text, for people; texts of agents are sanitised. */
void handoff_text(const json_t *h, struct buf *out);

#endif
