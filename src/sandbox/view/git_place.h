/* Where the git repository of a directory lies: its git directory, the common directory of linked
 * worktrees, and the directories of objects that it takes from others (alternates). Found from
 * files, as git does (gitrepository-layout(5)); no repository is opened. Any thread. */
#ifndef SANDBOX_VIEW_GIT_PLACE_H
#define SANDBOX_VIEW_GIT_PLACE_H

#include "base/buf.h"
#include "base/err.h"

enum git_format { GIT_SHA1, GIT_SHA256 };

struct git_place {
	char *top;    /* the directory that has .git, absolute, without links */
	char *dir;    /* HEAD, index: absolute, without links */
	char *common; /* refs, objects, configuration; the same as dir but for linked worktrees */
	bool file;    /* .git is a file that names dir */
	bool link;    /* .git, or something in dir that git needs, is a symbolic link */
	bool reftable, worktree;
	enum git_format format;
	/* directories of objects, absolute: its own first, then alternates and theirs */
	struct strv stores;
	/* alternates that are not there, or do not look like a directory of objects */
	struct strv no_store;
};

/* 1: found, 0: @top has no .git, -1: its .git leads nowhere, or to another owner's (@err names
 * it). */
int git_place_at(const char *top, struct git_place *out, struct err *err);
/* The same for the nearest directory above (or @dir itself), on the same file system. */
int git_place_above(const char *dir, struct git_place *out, struct err *err);
void git_place_release(struct git_place *p);
/* The name of HEAD's branch without refs/heads/; NULL: detached or unreadable. Returns owned. */
char *git_place_branch(const struct git_place *p);
/* Is @path that directory or below it? Bytes; both without links. */
bool git_below(const char *path, const char *folder);

#endif
