/* Between super.c, super_options.c, super_cmd.c and super_share.c. */
#ifndef SUPERVISOR_SUPER_PRIV_H
#define SUPERVISOR_SUPER_PRIV_H

#include "luahost/luahost.h"

/* What only these files know of the session. */
struct super_own {
	struct rent *rent;	    /* src/hosted: plugins that rent out sandboxes */
	struct filter *notify_when; /* NULL: of everything that is held */
	char *hold;		    /* the filter that `hold --on` brings back; may be NULL */
	struct loop_signal *sig[3];
	struct loop_timer *end_timer, *unwind_timer;
	enum record_state record_state;
	char *record_why; /* may be NULL */
	int signalled;	  /* the signal that asked for the end */
	bool stopped;	  /* a user asked for the end */
};
struct super_own *super_own(const struct super *s); /* super.c */

/* --- super_options.c --- */
json_t *super_options_event(const struct super_opts *o); /* of session.start; returns owned */
void super_options_apply(struct super *s);		 /* ends the session if one is wrong */

/* --- super_cmd.c, super_share.c --- */
NODISCARD int super_listen(struct super *s, struct err *err); /* opens the control socket */
NODISCARD int super_share(struct super *s, struct err *err);  /* --share; after super_listen */

#endif
