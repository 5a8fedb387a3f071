/* Shared by box_verbs.c, box_cp.c, and box_cp_tree.c. */
#ifndef CLI_BOX_VERBS_PRIV_H
#define CLI_BOX_VERBS_PRIV_H

#include "cli/lib/cmd.h"
#include "control/client.h"

/* "[SESSION:]BOX" or "[SESSION:]BOX:PATH". */
struct box_place {
	char *session, *box, *path; /* session, path: NULL = not said */
};
void box_place_release(struct box_place *p);

/* Opens the session that @p is in; it must know @command. @out is the caller's. */
NODISCARD int box_reach(struct cmd_ctx *ctx, const struct box_place *p, const char *command,
			struct control_client **out, struct err *err);
/* Sends @nr words. @reply is the caller's, with the session put into it. */
NODISCARD int box_order(struct control_client *c, const char *const *word, size_t nr,
			json_t **reply, struct err *err);
/* Prints a line for the user, except with --quiet. */
void box_say(struct cmd_ctx *ctx, const char *line);
/* If a rule requires a typed confirmation, prints this and sets *status. */
bool box_waits(struct cmd_ctx *ctx, const json_t *reply, int *status);

enum { BOX_CP_FLIGHT = 32 };

/* One cp, of one file or of many. */
struct box_cp {
	struct cmd_ctx *ctx;
	struct control_client *c;
	const char *box;
	bool put, gone;		    /* gone: the session has stopped answering */
	uint64_t files, bytes, out; /* copied; out: stayed out */
	int status;		    /* of the first that failed */
	struct cp_flight {
		uint64_t id;
		char *path, *host;
	} flight[BOX_CP_FLIGHT]; /* files of a directory that are on their way out of the box */
	size_t nr_flight;
	int64_t shown_us; /* when a line last said how far it is; 0: none has */
};
/* @path of the sandbox and @host, absolute, one file. Exit status; a failure has been reported. */
int box_cp_file(struct box_cp *cp, const char *path, const char *host);
/* Reports and counts the result of one copy. Exit status. */
int box_cp_came(struct box_cp *cp, json_t *reply, const char *path, const char *host);
/* The file at @path: the answer of box_look. Returns owned or NULL. */
json_t *box_cp_look(struct box_cp *cp, const char *path, struct err *err);
/* Copies the directory @path of the sandbox into the directory @host, which is made if needed,
 * or the other way round. Continues after a failure; cp->status reports whether one occurred. */
void box_cp_tree(struct box_cp *cp, const char *path, const char *host);

#endif
