/* Terminals of programs in sandboxes, and the clients that use them. Bytes pass unchanged in both
 * directions.
 *
 * 1. A terminal belongs to an action with pty. One client at a time types and reads; another one
 *    takes over only on explicit request. A client that leaves detaches; the program continues.
 * 2. A client receives output when it is read from the terminal, in parallel with the recording,
 *    with values of declared secrets replaced. Output that may start such a value waits RELEASE_MS
 *    at most. A client that doesn't read stops the program.
 * 3. The program starts with the size that a client gave before the start.
 * 4. Input is not recorded ("off"), is counted ("counts"), or is recorded before it is passed on
 *    ("full"; not while the terminal's echo is off). The action's args.record_input names the mode.
 * Loop thread only. */
#ifndef SUPERVISOR_PEOPLE_TERMINAL_HUB_H
#define SUPERVISOR_PEOPLE_TERMINAL_HUB_H

#include "supervisor/people/super_cmd.h"

/* Action @id has a terminal of that size; @name tells users what it is. */
void terminal_expect(struct super *s, uint64_t id, const char *name);
void terminal_ended(struct super *s, uint64_t id); /* action @id has */
void terminals_free(struct super *s);

/* For struct control_ops and the gate. */
void terminal_typed(void *super, uint64_t client, uint64_t action, const void *bytes, size_t len);
void terminals_left(struct super *s, uint64_t client);
void terminal_output(void *super, uint64_t action, enum record_stream stream, const void *bytes,
		     size_t len);
/* boxes_ops.stopped */
void terminal_stopped(void *super, uint64_t action, int signo);
/* [{action, agent, name, client (0 none), cols, rows, stopped}] for the standing state.
 * Returns owned. */
json_t *terminals_json(struct super *s);

/* Rows of super_cmd.c. */
int cmd_terminal(struct ask_for *a, json_t *out, struct err *err);
int cmd_resize(struct ask_for *a, json_t *out, struct err *err);

#endif
