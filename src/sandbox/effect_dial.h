/* Connections into a box: a server that listens on the box's own loopback, spoken with as an action
 * of kind connect, tool "dial", @port. What it says is output stream 1, what is said to it comes
 * through boxes_stdin. It ends when the server closes it and has taken what was said before
 * (END_OK: {"in_bytes","out_bytes"}), when nobody listens there (failed), by cancel. While
 * spec.timeout_us lasts it is tried again and again, for a server that is about to start; what is
 * said meanwhile waits. Loop thread only. */
#ifndef SANDBOX_EFFECT_DIAL_H
#define SANDBOX_EFFECT_DIAL_H

#include "sandbox/effect_priv.h"

bool is_dial(const struct action_spec *spec);
void dial_start(struct slot *s, struct action *a);
void dial_cancel(struct slot *s, struct action *a, const char *how);
/* The box begins to close: what is not connected yet ends as cancelled; what is may still say its
 * last words. */
void dials_stop(struct slot *s);
/* The box is gone: what is still open ends as @end. */
void dials_end(struct slot *s, enum action_end end);

/* Of a running action; NULL: it is no connection. */
struct dialled *dial_find(struct boxes *b, uint64_t id);
void dial_send(struct dialled *d, const void *bytes, size_t len, bool eof);
int dial_room(const struct dialled *d, struct err *err); /* ERR_BUSY: too much waits to be sent */
void dial_close(struct dialled *d);
void dial_hold(struct dialled *d, bool held); /* nobody takes what it says */

#endif
