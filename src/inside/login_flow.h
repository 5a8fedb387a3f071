/* The token of a login for one request: a helper process (sandglass login_token) reads it, and
 * refreshes it when that is due. The recorder learns the token before any caller gets it. Loop
 * thread only. */
#ifndef INSIDE_LOGIN_FLOW_H
#define INSIDE_LOGIN_FLOW_H

#include "supervisor/core/core.h"

struct login_ask;

/* @token: borrowed for the call; NULL with @why. Comes later, never from inside of
 * login_ask_new. */
typedef void login_fn(void *self, const char *token, const char *why);
/* @refused: a token that upstream did not take; NULL none. */
struct login_ask *login_ask_new(struct super *s, const char *name, const char *refused,
				login_fn *done, void *self);
void login_ask_free(struct login_ask **l); /* its callback does not come */

#endif
