/* The directories that hold sandglass's own state: configuration, data (with the sessions), state
 * (with the signing key and other sandboxes), cache, and runtime (with the control sockets). A
 * sandbox never sees them: they are compared by device and inode, so no link, bind mount or other
 * spelling leads to them. Any thread; reads. */
#ifndef SANDBOX_VIEW_OWN_PLACES_H
#define SANDBOX_VIEW_OWN_PLACES_H

#include <sys/stat.h>

#include "base/err.h"

enum { OWN_PLACES_MAX = 8 };
struct own_place {
	dev_t dev;
	ino_t ino;
	const char *what; /* "configuration", "data", .. */
};
struct own_places {
	struct own_place item[OWN_PLACES_MAX];
	size_t nr;
};

/* Makes those that are missing: a directory that came to be later would be seen. */
void own_places_find(struct own_places *out);
/* Which of them a directory is ("data"), or NULL. */
const char *own_places_at(const struct own_places *o, const struct stat *st);
/* ERR_DENIED if @path is one of them, is inside one, or would be made in one. */
NODISCARD int own_places_refuse(const char *path, struct err *err);
/* A session file, or one of the files that SQLite keeps beside it. */
bool own_places_session_name(const char *name);

#endif
