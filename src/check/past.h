/* The actions of recorded sessions, one after another: for policies over the past, reports and
 * comparisons. */
#ifndef CHECK_PAST_H
#define CHECK_PAST_H

#include "cli/lib/cmd.h"
#include "cli/lib/progress.h"
#include "sessions/sessions.h"
#include "record/read/session.h"

/* Did `test --suite` run it? What says "human" there is a line of the suite's list. */
bool session_of_suite(struct session *s);

struct past_action {
	struct session *s;
	uint64_t id;
	const json_t *requested; /* body of action.requested; NULL: it was redacted */
	const json_t *row;	 /* query/row.h */
	bool suite;		 /* session_of_suite */
};
/* Returns 0 to continue, -1 with @err to stop. */
typedef int past_fn(void *self, const struct past_action *a, struct err *err);

struct past {
	struct strv paths;	   /* of session files, oldest first */
	struct session_file *file; /* the same, where no session was named; owned */
	size_t nr_files;	   /* 0: sessions were named */
	/* Called before a session is opened, if none was named, with the @self of past_all or
	 * past_decided. True: it is counted already and is not opened. May be NULL. */
	bool (*known)(void *self, const struct session_file *f);
	size_t unread;		/* files that could not be read; each was named on ctx->err */
	struct working working; /* how far it is; who prints meanwhile clears it before */
};
/* The sessions that words @from... of the command line name; none: all in the directory. */
NODISCARD int past_sessions(struct cmd_ctx *ctx, size_t from, struct past *out, struct err *err);
void past_release(struct past *p);

/* Every action that matches @filter (text of the filter language; NULL = all) of one session,
 * oldest first. @w shows how far. */
NODISCARD int past_each(struct session *s, const char *filter, struct working *w, past_fn *fn,
			void *self, struct err *err);
/* The same over all sessions of @p; one that cannot be read is named, counted and left out. */
NODISCARD int past_all(struct past *p, const char *filter, past_fn *fn, void *self,
		       struct err *err);
/* The same for the actions that a reviewer decided; with @filter, those of them that match. */
NODISCARD int past_decided(struct past *p, const char *filter, past_fn *fn, void *self,
			   struct err *err);
NODISCARD int past_decided_in(struct session *s, past_fn *fn, void *self, struct err *err);
/* The actions @ids of one session. */
NODISCARD int past_some(struct session *s, const uint64_t *ids, size_t nr, past_fn *fn, void *self,
			struct err *err);
/* Names a session that is left out, and counts it. */
void past_left_out(struct past *p, const struct err *why);
/* Those of one session that were held for a reviewer, oldest first: few rows of a long session are
 * made. */
NODISCARD int past_held(struct session *s, struct working *w, past_fn *fn, void *self,
			struct err *err);

#endif
