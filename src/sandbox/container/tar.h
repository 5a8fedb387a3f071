/* A directory as a tar archive (pax where ustar is too small; libarchive inside, seen in tar.c
 * only). Entries are sorted by their bytes, times are 0: equal files give equal archives, so
 * that the hash of one names its content. Sockets are left out. Nothing outside the directory is
 * read: links are stored as links. Any thread. */
#ifndef SANDBOX_CONTAINER_TAR_H
#define SANDBOX_CONTAINER_TAR_H

#include "base/buf.h"
#include "base/err.h"

struct tar_opts {
	/* May be NULL: true leaves @path (relative, without "./") out, and a directory with all
	 * that is in it. */
	bool (*leave_out)(void *self, const char *path, bool folder);
	void *self;
	bool owners; /* keep uid and gid; else 0 */
	size_t max;  /* bytes of the archive */
};

NODISCARD int tar_folder(const char *dir, const struct tar_opts *o, struct buf *out,
			 struct err *err);

#endif
