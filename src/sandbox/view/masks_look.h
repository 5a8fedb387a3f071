/* Scans files with harmless names: does one hold text shaped like a live token, or a secret of the
 * session? Results are cached per user by (device, inode, size, mtime, ctime), so that an unchanged
 * tree costs no reading.
 *
 * Bounded: only text, only files up to 1 MiB, at most 1 GiB of new reading a scan, and below
 * directories that tools fill (node_modules, target, ...) only tracked files. Skipped files are
 * counted. Any thread; one scan each. */
#ifndef SANDBOX_VIEW_MASKS_LOOK_H
#define SANDBOX_VIEW_MASKS_LOOK_H

#include <sys/stat.h>

#include "sandbox/view/masks.h"

struct look;
/* @dir: the repository's directory, open; its cache is named after it. */
struct look *look_begin(int dir);
void look_end(struct look **l, struct masks *counts); /* fills looked, reread, unread */
/* Words for why it is to be hidden (static), or NULL. */
const char *look_into(struct look *l, int dir, const char *name, const struct stat *st,
		      bool tracked, bool filled);
/* A directory that tools fill. */
bool look_filled(const char *name);

#endif
