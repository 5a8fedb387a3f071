/* All changes of sandboxes until the end of the session, as patches that git applies. A
 * sandbox's own .git is not part of its work. Reading only; one thread. */
#ifndef EXCHANGE_LAYER_PATCH_H
#define EXCHANGE_LAYER_PATCH_H

#include "exchange/export.h"
#include "exchange/states.h"

/* Appends the patch of @l; nothing if nothing has changed. */
NODISCARD int layer_patch(struct session *s, const struct layer_at *l, struct buf *out,
			  struct err *err);

/* One layer with changes: "NAME" or "NAME, REPO", its patch up to @max bytes (whole lines), and how
 * many bytes are left out; or @why the patch can't be made (else NULL). */
typedef void layer_patch_fn(void *self, const char *title, const char *patch, size_t len,
			    size_t left_out, const char *why);
/* Calls @fn for each layer of @x that has changes. */
NODISCARD int layer_patches(struct export *x, size_t max, layer_patch_fn *fn, void *self,
			    struct err *err);

#endif
