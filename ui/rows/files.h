/* The files of a sandbox at any event of the recording: a directory at a time, and the content of a
 * file.
 *
 * The recording holds the base below the sandbox as a tree of names and hashes (base.hashed).
 * Each snapshot holds the touched paths: as they are, and as in the base. Contents are recorded
 * for changed files only; an unchanged file has its name and hash. */
#ifndef UI_ROWS_FILES_H
#define UI_ROWS_FILES_H

#include "ui/rows/gittree.h"

struct file_entry {
	const char *name; /* bytes */
	bool dir;
	/* ' ' as in the base, A, M, D, m (its mode), T (its kind); a directory: ' ', A, D, or M:
	 * something below */
	char op;
	uint32_t mode;
	struct object_id id, was; /* was: in the base; null not there */
	uint32_t was_mode;
};

struct files {
	struct file_entry *entry; /* directories first */
	size_t nr;
	bool base;  /* all of them; else only what was touched */
	bool there; /* there is such a directory */
};

/* Directory @dir ("" the workspace, else without slashes at its ends) of @box as of event @at
 * (0: the cursor). */
void files_list(struct source *s, uint64_t box, uint64_t at, const char *dir, struct arena *a,
		struct files *out);
/* The result of files_list at the cursor is unchanged as long as this number is. */
uint64_t files_state(const struct source *s, uint64_t box);
/* One path of it; false: nothing of that name. */
bool files_find(struct source *s, uint64_t box, uint64_t at, const char *path, struct arena *a,
		struct file_entry *out);
enum { FILES_READ_MAX = 4 << 20 };

/* Its bytes. False: the record does not hold them (a file of the base that nobody has changed, by
 * hash only, redacted), or they are more than FILES_READ_MAX: then nothing is read. */
bool files_read(struct source *s, const struct object_id *id, struct buf *out);

/* The file @path of the tree named @hex (of a snapshot); null: there is none. */
struct object_id files_blob(struct source *s, const char *hex, const char *path);
/* The repository (as snapshots name it) that holds @path, and the path's name in it; both owned.
 * False: in none. */
bool files_repo(struct source *s, uint64_t box, uint64_t at, const char *path, char **repo_out,
		char **below_out);

#endif
