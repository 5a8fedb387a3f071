/* The policy files of a session. Each is run once in a Lua host and becomes data of the gate; hosts
 * of files with a `when` stay. Project files count only as trusted (secrets/trust.h). Loop thread
 * only. */
#ifndef SUPERVISOR_PEOPLE_POLICY_FILES_H
#define SUPERVISOR_PEOPLE_POLICY_FILES_H

#include "supervisor/core/core.h"

/* Reads the files of the host, the user, the working directory, and --policy, and those that the
 * resumed session had from its repositories; then calls @ready once. A wrong file ends the session
 * with status 3. */
void policy_load(struct super *s, loop_fn *ready);
/* Begins to read the files of the project that directory @dir of the host is in (up to its .git),
 * unless they were read. A wrong file ends the session. */
void policy_load_repo(struct super *s, const char *dir);
/* Calls @then once all begun files are read, at once if they are. @self is the key of
 * policy_forget. */
void policy_when_read(struct super *s, void (*then)(void *self), void *self);
void policy_forget(struct super *s, const void *self);
void policy_hosts_free(struct super *s);

#endif
