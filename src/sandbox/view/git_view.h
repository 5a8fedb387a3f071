/* Makes git work in a sandbox, wherever on the host the repository of its workspace lies. A
 * repository whose .git is an ordinary directory is shown as it is. For every other one (linked
 * worktrees, worktrees of bare repositories, separate git directories, symbolic links, submodules
 * opened alone, a subdirectory of a repository) a .git of its own is put together from small files:
 * HEAD, index, refs, logs, what an operation in progress needs, and the configuration as
 * git_config.h shows it. The objects stay on the host and are read there: mounted read only below
 * GIT_VIEW_STORES, or copied for backends with a copy of the workspace. What git writes lands in
 * the sandbox's layer; nothing on the host changes.
 *
 * git_view_look after masks_scan; git_view_write where the files go. Worker threads. */
#ifndef SANDBOX_VIEW_GIT_VIEW_H
#define SANDBOX_VIEW_GIT_VIEW_H

#include <sys/types.h>

#include "sandbox/view/git_config.h"
#include "sandbox/view/git_place.h"
#include "sandbox/view/masks.h"

/* in a sandbox with mounts: one directory for each directory of objects */
#define GIT_VIEW_STORES "/run/sandglass/git"

/* The environment of commands where /etc/gitconfig is not ours (wire/etc.def has the same for the
 * others). */
#define GIT_VIEW_ENV                                                                               \
	"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",           \
		"GIT_CONFIG_KEY_1=user.name", "GIT_CONFIG_VALUE_1=agent",                          \
		"GIT_CONFIG_KEY_2=user.email", "GIT_CONFIG_VALUE_2=agent@sandbox.invalid"

/* in a .git: what core.attributesFile names */
#define GIT_VIEW_ATTRIBUTES "info/attributes-of-user"

/* One .git that is put together, or (whole false) one of which only the objects of others are
 * elsewhere. */
struct git_made {
	char *at; /* its directory, relative to the workspace; "" */
	struct git_place place;
	char *prefix; /* of the workspace in the repository; NULL: the workspace is its top */
	bool whole;
	size_t first; /* its stores begin here in git_view.stores */
};
struct git_view {
	struct git_made *item;
	size_t nr, cap, nr_whole;
	struct strv stores; /* directories of objects that are shown, absolute on the host */
	struct strv notes;  /* what does not work, one line each, for users */
	/* mounts below the workspace that are copied, and that are left out (mounts_below.h) */
	struct strv mounts, no_mount;
};

struct git_view_how {
	const char *workspace; /* its path in the sandbox */
	size_t layer;	       /* names the stores: "LAYER.N" */
	bool copy;	       /* objects are copied, not mounted */
	const struct strv *expose;
};

/* Your settings and how configurations are shown; for masks_scan_as, too. */
void git_view_shown(const char *dir, const struct git_view_how *how, const struct git_own *own,
		    struct git_shown *out);
/* @shown as it was for @masks, which gets what git in the sandbox needs. */
NODISCARD int git_view_look(const char *dir, const struct git_view_how *how,
			    const struct git_shown *shown, struct masks *masks,
			    struct git_view *out, struct err *err);
/* Puts together below @root (a directory that is there), as @uid and @gid. */
struct git_owner {
	uid_t uid;
	gid_t gid;
};
NODISCARD int git_view_write(const struct git_view *v, const char *dir, const char *root,
			     const struct git_view_how *how, const struct git_shown *shown,
			     const struct masks *masks, const struct git_owner *owner,
			     struct err *err);
void git_view_release(struct git_view *v);
/* Is there something to write? */
bool git_view_any(const struct git_view *v, bool copy);

/* git_compose.c: the files of one place below @to (".../.git", must not exist). */
NODISCARD int git_compose(const struct git_made *m, const char *to, const struct git_shown *shown,
			  struct err *err);

/* git_sub.c: a subdirectory. Is something in it tracked? Patterns of the directories above that say
 * something about what is in it. Makes of @to, where the files of the whole repository are, the
 * subdirectory's. */
bool git_sub_tracked(const struct git_place *p, const char *prefix);
void git_sub_patterns(const struct git_made *m, struct buf *excludes, struct buf *attributes);
NODISCARD int git_sub_finish(const struct git_made *m, const char *to, struct err *err);

#endif
