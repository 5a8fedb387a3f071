/* Files of a repository that are kept out of a sandbox: those named like secrets (unless they are
 * tracked and hold no text shaped like a live token), those with any other name that hold such text
 * or a secret of the session (masks_look.h), and credentials in git's configuration, which is shown
 * cleaned. The same walk counts the files of other owners than the tree's (in the sandbox they are
 * read only or unreadable).
 *
 * Any thread; never the loop's: it reads. */
#ifndef SANDBOX_VIEW_MASKS_H
#define SANDBOX_VIEW_MASKS_H

#include "base/buf.h"
#include "base/err.h"

struct mask {
	char *path; /* relative to the repository */
	size_t len;
	const char *why; /* a few words */
	bool clean;	 /* shown with @text instead of being hidden */
	bool tracked;	 /* git tracks it: its content is among git's objects */
	bool deep;	 /* a directory that is not looked through: too many above it */
	/* nothing is kept out: git in the sandbox needs another text, without a notice */
	bool quiet;
	struct buf text;
};
struct masks {
	struct mask *item;
	size_t nr, cap;
	struct strv exposed; /* would have been hidden */
	int64_t files;	     /* seen */
	int64_t foreign;     /* of another owner */
	/* files looked into; of those not known from before; not looked into */
	int64_t looked, reread, unread;
	struct strv foreign_path; /* the first MASKS_FOREIGN_SHOWN of them */
	/* not masked, and its mode keeps the sandbox's user out; the first
	 * MASKS_UNREADABLE_SHOWN */
	struct strv unreadable;
	/* directories that have a .git of any kind, "" for the repository itself */
	struct strv git_at;
};
enum { MASKS_FOREIGN_SHOWN = 50, MASKS_UNREADABLE_SHOWN = 200 };

/* @expose: paths relative to the repository that stay visible; "*" exposes all. */
NODISCARD int masks_scan(const char *dir, const struct strv *expose, struct masks *out,
			 struct err *err);
/* The same with how git's configuration is shown (git_config.h; git_dir is filled in here). NULL:
 * without credentials. */
struct git_shown;
NODISCARD int masks_scan_as(const char *dir, const struct strv *expose,
			    const struct git_shown *shown, struct masks *out, struct err *err);
/* Git's own files in directory @at of @dir that is a git directory under another name. */
NODISCARD int masks_git_dir(const char *dir, const char *at, const struct strv *expose,
			    const struct git_shown *shown, struct masks *out, struct err *err);
/* @path is shown with @text, which is taken, unless something is masked there already. */
void masks_show(struct masks *m, const char *path, const char *why, struct buf *text);
/* @path is not there, for a reason that another part reports. */
void masks_hide(struct masks *m, const char *path);
void masks_release(struct masks *m);
bool masks_exposed(const struct strv *expose, const char *path);

/* The rule for names alone. @dir: it is a directory. */
bool masks_name_suspect(const char *name, bool dir);
/* It holds certificates in PEM form and nothing beside them that could be secret. */
bool masks_certificates_only(const char *text, size_t len);
/* The form of a live token (a private key's head, a provider's prefix) is somewhere in the text. */
bool masks_text_suspect(const char *text, size_t len);
/* The stricter rule for files with a harmless name: the kind of a whole token that looks random
 * ("GitHub token"), or NULL. */
const char *masks_token_form(const char *text, size_t len);
/* Values that must not be in a box: scans that begin later look for them, too. Takes @s; NULL =
 * none. */
struct secrets;
void masks_values(struct secrets *s);
/* Appends @text without credentials; returns whether there were any. */
bool masks_clean_config(const char *text, size_t len, struct buf *out);

#endif
