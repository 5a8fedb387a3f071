/* The known data of one path of a workspace at one moment. Plain values, any thread. */
#ifndef SANDBOX_WORKSPACE_STATE_H
#define SANDBOX_WORKSPACE_STATE_H

#include "base/err.h"
#include "record/read/object.h"

enum ws_kind { WS_NONE, WS_FILE, WS_LINK, WS_DIR, WS_FIFO, WS_SOCK, WS_CHR, WS_BLK };

enum ws_flags {
	WS_HASH_ONLY = 1 << 0,	/* mode, size and name are known, the bytes are not kept */
	WS_UNREADABLE = 1 << 1, /* listed, but could not be read; oid is null */
	/* it was being written while it was read: a state that may never have stood on disk */
	WS_TORN = 1 << 2,
};

struct ws_state {
	uint8_t kind;	      /* enum ws_kind; WS_NONE = there is nothing */
	uint8_t flags;	      /* enum ws_flags */
	uint16_t mode;	      /* 07777 bits; 0777 for symbolic links */
	uint32_t nlink;	      /* of regular files, else 1 */
	uint64_t size;	      /* of regular files and link targets, else 0 */
	struct object_id oid; /* files and links; else null */
};

enum ws_kind ws_kind_of(unsigned st_mode);
/* "none" "file" "link" "dir" "fifo" "socket" "chr" "blk" */
const char *ws_kind_name(enum ws_kind k);
bool ws_kind_find(const char *name, enum ws_kind *out);
/* A file or a link: the kinds whose content git keeps. */
bool ws_has_content(const struct ws_state *s);

/* The same as far as anybody can see (link counts and torn reads are not a difference; an
 * unreadable file equals nothing). */
bool ws_state_eq(const struct ws_state *a, const struct ws_state *b);
/* The change from @was to @now: 'A' added, 'D' removed, 'T' another kind, 'M' other content, 'm'
 * only another mode. */
char ws_state_op(const struct ws_state *was, const struct ws_state *now);
/* Git's mode of a file, link or directory: 0100644, 0100755, 0120000, 040000; 0 for what git cannot
 * say. */
unsigned ws_git_mode(const struct ws_state *s);
/* True if a git tree alone says all there is (no attrs line is needed). Files and links only. */
bool ws_state_plain(const struct ws_state *s);

/* Where objects go and come from: a session file, a list in memory in tests, the user's
 * repository. */
struct ws_store {
	/* Keeps the bytes; fills @id_out. Cannot fail. */
	void (*add)(void *self, enum object_type type, const void *bytes, size_t len,
		    struct object_id *id_out);
	/* Fills @out (reset first). ERR_NOENT: not held. */
	int (*get)(void *self, const struct object_id *id, enum object_type *type_out,
		   struct buf *out, struct err *err);
	/* True: a file with these bytes is kept by hash only. May be NULL: none is. */
	bool (*hide)(void *self, const struct object_id *id, const void *bytes, size_t len);
	void *self;
};

/* Paths are bytes, relative, components parted by '/': git's order of trees compares a directory as
 * "name/". */
int ws_path_cmp(const char *a, size_t a_len, const char *b, size_t b_len); /* plain bytes */
/* sorted by ws_path_cmp */
bool ws_path_in(const struct strv *sorted, const char *path, size_t len);
/* True if a component is git's administrative name in any spelling that a file system could confuse
 * with it. */
bool ws_path_is_git(const char *path, size_t len);
/* True if a component is the directory in which another version control system keeps its own files:
 * they name programs that the user's next command runs. */
bool ws_path_is_vcs(const char *path, size_t len);

#endif
