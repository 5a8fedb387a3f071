/* The host's abilities for sandboxes, as `doctor` prints them. Blocking, some milliseconds;
 * makes and removes its test objects. Abilities are tested, not derived from version numbers. */
#ifndef SANDBOX_PROCESS_PROBE_H
#define SANDBOX_PROCESS_PROBE_H

#include "base/json.h"

/* {"ok":bool,"profile":..,"why":..,"fix":..,
 * "checks":[{"name","ok":bool,"value":text,"why":text,"fix":text}]}; "ok": a sandbox of some
 * isolation level can be opened. Returns owned. */
json_t *probe_process(void);
/* Tool directories outside /usr that a project may need read only: [{"path","what"}]. Returns
 * owned. */
json_t *probe_tool_roots(void);

#endif
