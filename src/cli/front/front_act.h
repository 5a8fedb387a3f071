/* The control client of a screen (ui/frame/act.h): sends commands and passes each reply to its
 * caller. */
#ifndef CLI_FRONT_FRONT_ACT_H
#define CLI_FRONT_FRONT_ACT_H

#include "control/client.h"
#include "ui/frame/act.h"

struct hands;

/* NULL when the supervisor cannot be reached (@err says why). @watch: look only. */
struct hands *hands_new(const char *socket, bool watch, struct err *err);
void hands_free(struct hands **h);
struct act hands_act(struct hands *h); /* borrows @h; read-only for NULL and for watchers */
/* "" it is ours; "watch", "decide": shared with us. Borrows */
const char *hands_role(const struct hands *h);
const char *hands_path(const struct hands *h); /* of the session file; borrows */
int hands_fd(const struct hands *h);
bool hands_pump(void *h);		      /* false: the supervisor has gone */
const char *hands_why(const struct hands *h); /* as it said when it went; "": nothing. Borrows */
bool hands_wants_write(void *h);
/* console_source.again: once the supervisor has gone, whether another one answers at the same
 * socket by now; then these are its hands. */
bool hands_again(void *h, struct act *act_out, int *fd_out);

#endif
