/* The contents that earlier merges of a sandbox have brought to a directory, read from the
 * recording. */
#ifndef SUPERVISOR_BOX_TREE_HAD_H
#define SUPERVISOR_BOX_TREE_HAD_H

#include "supervisor/box/tree_priv.h"
#include "sandbox/workspace/merged.h"
#include "sessions/sandbox_refs.h"

struct tree_had {
	struct ws_merged merged;
	/* tree of the directory as it was when the box was opened; null = not known */
	struct object_id opening;
	json_t *refs; /* branches that were brought (sandbox_refs_see); owned */
};

/* Worker: of layer @i, for a merge into @dir. */
NODISCARD int tree_had_read(struct trees *t, size_t i, const char *dir, struct tree_had *out,
			    struct err *err);
void tree_had_release(struct tree_had *h);

#endif
