/* Waiting for more of a session that runs: told by its supervisor (control socket) or, where there
 * is none to ask, by looking again. Used by events -f, out -f and line mode. */
#ifndef SESSIONS_FOLLOW_H
#define SESSIONS_FOLLOW_H

#include <signal.h>

#include "record/read/session.h"

struct follow;

struct follow *follow_new(struct session *s); /* borrows @s; never NULL */
void follow_free(struct follow **f);
/* Waits until there may be more than @seq, or a signal was caught. false when nothing more can
 * come: it has ended and all was seen. */
bool follow_wait(struct follow *f, uint64_t seq);
/* The same, with @mask (NULL: the one there is) for as long as it waits: for who blocks signals
 * meanwhile, so that none comes between its look and the wait. */
bool follow_wait_mask(struct follow *f, uint64_t seq, const sigset_t *mask);

#endif
