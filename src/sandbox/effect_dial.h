/* Connections into a sandbox: a server that listens on the sandbox's own loopback, as an action of
 * kind connect, tool "dial", @port. The server's output is output stream 1, its input comes through
 * boxes_stdin. It ends when the server closes it and has taken all input (END_OK:
 * {"in_bytes","out_bytes"}), when nobody listens there (failed), by cancel. While spec.timeout_us
 * lasts it is tried repeatedly, for a server that is about to start; input meanwhile waits. Loop
 * thread only. */
#ifndef SANDBOX_EFFECT_DIAL_H
#define SANDBOX_EFFECT_DIAL_H

#include "sandbox/effect_priv.h"

bool is_dial(const struct action_spec *spec);
void dial_start(struct slot *s, struct action *a);
void dial_cancel(struct slot *s, struct action *a, const char *how);
/* The sandbox starts to close: unconnected ones end as cancelled; connected ones may still send
 * their input. */
void dials_stop(struct slot *s);
/* The sandbox is gone: open connections end as @end. */
void dials_end(struct slot *s, enum action_end end);

/* Of a running action; NULL: not a connection. */
struct dialled *dial_find(struct boxes *b, uint64_t id);
void dial_send(struct dialled *d, const void *bytes, size_t len, bool eof);
int dial_room(const struct dialled *d, struct err *err); /* ERR_BUSY: too much waits to be sent */
void dial_close(struct dialled *d);
void dial_hold(struct dialled *d, bool held); /* nobody takes what it says */

#endif
