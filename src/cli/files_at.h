/* Shared by tree, cat, when, and blame: finding the session, the event, and the sandbox, and
 * names of paths. */
#ifndef CLI_FILES_AT_H
#define CLI_FILES_AT_H

#include "cli/lib/cmd_priv.h"
#include "exchange/states.h"

struct files_at {
	struct session *s;
	uint64_t seq; /* 0 = the end */
	struct layers_at layers;
};
/* @ref: as users give it; NULL = the newest session. */
NODISCARD int files_at_open(struct files_at *f, struct cmd_ctx *ctx, const char *ref,
			    struct err *err);
void files_at_release(struct files_at *f);

/* The one layer that mentions @path: ERR_USAGE names the boxes when there are several
 * with different files, ERR_NOENT when there is none. With "NAME/..." the layer of the repository
 * NAME. @versions is filled. */
NODISCARD int files_at_path(struct files_at *f, const char *path, const struct layer_at **layer_out,
			    struct file_versions *versions, struct err *err);
/* --path PATTERN... of the command: all when there is none. */
bool files_wanted(const struct cmd_ctx *ctx, const char *path);

/* "#352 fix edit words.c" of an action; "#12 undo of #7 by ann", "#12 background" of a snapshot
 * without one. */
void files_who(struct session *s, const struct file_version *v, struct buf *out);
/* {"action","agent","kind","what","verdict","decision","by","said"} of it; of files that were put
 * back {"kind","what","by"}. New reference. */
json_t *files_who_json(struct session *s, const struct file_version *v);

#endif
