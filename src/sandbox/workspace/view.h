/* A recorded snapshot, read back: every path that differed from the base, with both sides. Any
 * thread; its contents live until ws_view_release. */
#ifndef SANDBOX_WORKSPACE_VIEW_H
#define SANDBOX_WORKSPACE_VIEW_H

#include "base/json.h"
#include "base/mem.h"
#include "sandbox/workspace/state.h"

struct ws_path {
	const char *path; /* bytes, terminated */
	size_t len;
	struct ws_state base, now; /* size is 0 where only a tree spoke of it */
};

struct ws_view {
	struct ws_path *item; /* sorted by bytes */
	size_t nr, cap;
	struct arena arena;
};
#define WS_VIEW_INIT ((struct ws_view){ 0 })

/* Fills @v from the body of a snapshot.taken event (NULL: the base itself, nothing differs). */
NODISCARD int ws_view_load(struct ws_view *v, const struct ws_store *st, const json_t *body,
			   struct err *err);
void ws_view_release(struct ws_view *v);
/* NULL: as in the base */
const struct ws_path *ws_view_find(const struct ws_view *v, const char *path, size_t len);

/* The parser of an attrs blob, for the fuzzer and for ws_view_load: 1 and one record, 0 at the end,
 * -1 broken. */
struct attrs_line {
	char side;	       /* 'n' or 'b' */
	struct ws_state state; /* oid null */
	const char *name;
	size_t len;
};
int attrs_next(const char *bytes, size_t len, size_t *pos, struct attrs_line *l, struct err *err);

#endif
