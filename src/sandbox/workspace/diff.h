/* The difference between two recorded states of a workspace: files, then lines. Worker or reader
 * thread.
 *
 * Works on recorded bytes only; no repository is opened. Bounds: DIFF_BYTES_MAX a side and
 * DIFF_LINES_MAX lines, past which a file is shown as too big (its patch replaces it as a
 * whole). Binary: a NUL in the first 8,000 bytes. */
#ifndef SANDBOX_WORKSPACE_DIFF_H
#define SANDBOX_WORKSPACE_DIFF_H

#include "sandbox/workspace/view.h"

enum { DIFF_BYTES_MAX = 8 << 20, DIFF_LINES_MAX = 200000 };

struct ws_change {
	/* A added, D removed, M content, m mode only, T another kind, R renamed */
	char op;
	const char *path; /* bytes, terminated; of the new side (D: of the old) */
	size_t len;
	const char *from; /* R: the old path; else NULL */
	size_t from_len;
	struct ws_state was, now;
};

struct ws_diff {
	struct ws_change *item; /* sorted by path */
	size_t nr, cap;
	struct arena arena;
};
#define WS_DIFF_INIT ((struct ws_diff){ 0 })

/* Fills @d with what leads from @a to @b. @renames: removed and added files with the same bytes, or
 * (when @st is given) at least half of their lines in common, become one R. */
NODISCARD int ws_diff_views(struct ws_diff *d, const struct ws_view *a, const struct ws_view *b,
			    bool renames, const struct ws_store *st, struct err *err);
void ws_diff_release(struct ws_diff *d);

/* --- lines --- */

struct patch_line {
	char op;	  /* ' ' '+' '-' */
	bool no_eol;	  /* the file ends here without a newline; @text has none */
	const char *text; /* with its newline; any bytes */
	size_t len;
};
struct patch_hunk {
	unsigned old_start, old_lines, new_start, new_lines;
	const char *section; /* the line of context git shows after @@, "" if none; any bytes */
	size_t section_len;
	struct patch_line *line;
	size_t nr;
};
enum patch_what {
	PATCH_TEXT,
	PATCH_NONE, /* contents are the same (mode only, or nothing that has contents) */
	PATCH_BINARY,
	PATCH_TOO_BIG,
	PATCH_HASH_ONLY, /* one side's bytes were not kept */
};
struct ws_patch {
	enum patch_what what;
	struct patch_hunk *hunk;
	size_t nr;
	size_t added, removed; /* lines; too big: all of them */
	struct buf old, new;   /* the contents, as far as they are held */
	struct arena arena;
};
#define WS_PATCH_INIT ((struct ws_patch){ 0 })

/* Lines of one change, with @context lines around. */
NODISCARD int ws_patch_make(struct ws_patch *p, const struct ws_store *st,
			    const struct ws_change *c, unsigned context, struct err *err);
/* The same for bytes that are at hand (copied). */
NODISCARD int ws_patch_buffers(struct ws_patch *p, const void *old, size_t old_len, const void *new,
			       size_t new_len, unsigned context, struct err *err);
void ws_patch_release(struct ws_patch *p);

/* --- for users and programs --- */

/* "M  src/a.c  +3 -1" lines and a sum. */
NODISCARD int ws_diff_stat(const struct ws_diff *d, const struct ws_store *st, struct buf *out,
			   struct err *err);
/* A patch for `git apply`, binaries included. Paths are quoted as git does. Changes outside the
 * patch format (hash only, FIFOs, ...) become lines of comment in front. */
NODISCARD int ws_diff_patch(const struct ws_diff *d, const struct ws_store *st, struct buf *out,
			    struct err *err);
/* {"files":[{op,path,from,mode,was_mode,oid,was_oid,what,added,removed,hunks:[{old_start,old_lines,
 * new_start,new_lines,section,lines:[{op,text,no_eol}]}]}],"added","removed"}; without hunks when
 * !@hunks. New reference or NULL. */
json_t *ws_diff_json(const struct ws_diff *d, const struct ws_store *st, bool hunks,
		     struct err *err);
/* Git's quoting of a path in headers: "a\tb\377" where it needs it. */
void ws_quote_path(struct buf *out, const char *prefix, const char *path, size_t len);

#endif
