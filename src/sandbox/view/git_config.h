/* Git's configuration as a sandbox sees it: read on the host with everything that it includes,
 * without credentials and without what works only on the host (keys, helpers, signing, ssh
 * commands, pagers), and with the settings of your own configuration that decide about content
 * (line ends, renames, how differences are shown). git-config(1) has the format.
 *
 * Nothing is run and no repository is opened. Any thread. */
#ifndef SANDBOX_VIEW_GIT_CONFIG_H
#define SANDBOX_VIEW_GIT_CONFIG_H

#include "base/buf.h"

struct git_setting {
	char *section; /* lower case */
	char *sub;     /* NULL: none; its case counts */
	char *key;     /* lower case */
	char *value;   /* NULL: the key alone, which means true */
};
struct git_settings {
	struct git_setting *item;
	size_t nr, cap;
	bool included; /* some came from another file */
	bool broken;   /* a file ended where git would report an error */
};

/* Which repository's conditions (includeIf) hold. Both may be NULL. */
struct git_config_of {
	const char *git_dir; /* absolute */
	const char *branch;  /* short name */
};

/* Appends what @text says. @dir: the directory of the file, for includes by relative path; NULL:
 * nothing is included. */
void git_settings_read(struct git_settings *s, const char *text, size_t len, const char *dir,
		       const struct git_config_of *of);
/* The same for a file; one that is not there or too large has nothing. */
void git_settings_file(struct git_settings *s, const char *path, const struct git_config_of *of);
void git_settings_release(struct git_settings *s);
/* The last value of "section.key" or "section.sub.key" (lower case but for sub); NULL: none, or a
 * key alone. */
const char *git_settings_get(const struct git_settings *s, const char *section, const char *sub,
			     const char *key);

/* Your own settings about content: those of the machine's and your files that a sandbox should
 * have, and the patterns of core.excludesFile and core.attributesFile (or of the files that git
 * takes where these say nothing). */
struct git_own {
	struct git_settings settings;
	struct buf excludes, attributes;
};
/* @repo: the configuration of the repository, which may name other files of patterns; NULL:
 * none. */
void git_own_read(struct git_own *own, const struct git_config_of *of, const char *repo);
void git_own_release(struct git_own *own);

/* How a repository's configuration is to be shown. */
struct git_shown {
	/* the directory of the file, absolute: relative paths start there */
	const char *git_dir;
	const char *workspace; /* absolute; a work tree in it stays known */
	bool moved;	       /* its work tree is the directory that it is shown in */
	/* of a subdirectory: the whole repository's sparse patterns don't apply */
	bool part;
	bool programs;		   /* programs of /usr can be run (the sandbox shares it) */
	const char *attributes;	   /* the path of core.attributesFile in the sandbox; NULL: none */
	const struct git_own *own; /* NULL: nothing of yours */
};
/* The change: none; settings were added or left out; credentials were removed. */
enum git_change { GIT_AS_IS, GIT_ADAPTED, GIT_CLEANED };
/* Appends the configuration as the sandbox is to see it, unless it may be shown as it is. */
enum git_change git_config_shown(const char *text, size_t len, const struct git_shown *how,
				 const struct git_config_of *of, struct buf *out);

/* The content of a regular file; false: there is none, or more than @max. */
bool git_read_file(const char *path, struct buf *out, size_t max);

/* Appends a line without the credentials of the URLs in it; true: there were some. */
bool git_clean_urls(const char *line, size_t len, struct buf *out);

#endif
