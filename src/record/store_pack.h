/* The page size of session files that nobody has open. Each copy is synced before it takes the
 * place of the file, so a crash leaves one of both, intact, and perhaps FILE-pack. */
#ifndef RECORD_STORE_PACK_H
#define RECORD_STORE_PACK_H

#include <sqlite3.h>

#include "base/err.h"

/* Of an ended file; 0: it is none. Closes a descriptor of it, so this process must have no
 * connection to @path. */
int store_page_size(const char *path);
/* What an ended file of @bytes should have. */
int store_page_size_for(int64_t bytes);
/* Copies the ended file @from to @to (replaced), without free space, with pages of @page_size
 * bytes and their checksums, and syncs it. */
NODISCARD int store_pack_copy(const char *from, const char *to, int page_size, struct err *err);
/* Gives a short ended file small pages. If that fails the file stays as it is. Readers keep the
 * file that they have open, which has the same events, until they ask session_left. */
void store_pack(const char *path);
/* Gives it the pages that the recorder writes. */
NODISCARD int store_unpack(const char *path, struct err *err);

#endif
