/* The texts of sandglass's own Lua modules, kept once beside the sessions instead of in each of
 * them: DIR/library/H.lua, where H is the SHA-256 of the text. A session names H, so a text is
 * checked before it is used. */
#ifndef LUAHOST_LIBRARY_KEPT_H
#define LUAHOST_LIBRARY_KEPT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

/* Is <text, len> the library's module @name? Then it is in the library directory beside @session
 * on return (synced), and @out is its H. False: the text must go into the session. */
bool library_keep(const char *session, const char *name, const char *text, size_t len,
		  struct hash *out);
/* Appends the text of H = @hash to @out: from this program's library, or from a library directory
 * beside @session or up to four directories above. ERR_NOENT names both. */
NODISCARD int library_kept(const char *session, const char *name, const struct hash *hash,
			   struct buf *out, struct err *err);

#endif
