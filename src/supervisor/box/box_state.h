/* Where the states of a session's sandboxes lie on disk, and when they go.
 *
 * A state (layers, home, notes of what lies elsewhere) belongs to the id of a sandbox, never to its
 * name: FOLDER/#ID. The id is that of the sandbox that began it; one that stands for it after a
 * resume continues there ("state" of its box.open). A state is removed once its sandbox has gone
 * and everything recorded of it is on the disk, one after the other on a worker. It stays, also
 * beyond the end of the session, if the sandbox is kept, if its files could not be recorded, or
 * while it names what lies elsewhere.
 *
 * Sessions recorded before had FOLDER/NAME. Those that are found so continue there: the link
 * FOLDER/.ids says from which event on ids hold. */
#ifndef SUPERVISOR_BOX_BOX_STATE_H
#define SUPERVISOR_BOX_BOX_STATE_H

#include "supervisor/core/core.h"

/* The directory of the session, whose supervisor this is. */
NODISCARD int box_state_init(struct super *s, struct err *err);
/* The directory of all states of the session. Borrowed. */
const char *box_state_root(const struct super *s);
/* The state of the sandbox @id, which had @name. Returns owned. */
char *box_state_dir(const struct super *s, uint64_t id, const char *name);
/* The owner of the state of a sandbox with this box.open, the event @seq. */
uint64_t box_state_owner(uint64_t seq, const json_t *open);
/* The state of @id may be continued by a sandbox that is opened later; may it? */
void box_state_stays(struct super *s, uint64_t id);
bool box_state_may_continue(const struct super *s, uint64_t id);
/* Its sandbox has gone: takes @dir, which is removed once what was appended so far is on the
 * disk. */
void box_state_leave(struct super *s, char *dir);
/* The sandbox that had the state of @id had been closed before the session was resumed. */
void box_state_clear(struct super *s, uint64_t id);
/* A sandbox is kept, or its files are in no snapshot: the directory on disk stays when the session
 * ends. */
void box_state_keep(struct super *s);
/* Everything up to @seq is on the disk, and no sandbox is being opened. */
void box_state_sweep(struct super *s, uint64_t seq);
/* The end: removes the directories that no sandbox keeps. */
void box_state_end(struct super *s);

#endif
