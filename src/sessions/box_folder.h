/* The directory below the state directory in which the boxes of a session lie, STATE/box/ID. A
 * copy of a session file has the same id and no boxes: the directory names the file whose it is
 * (a link ".of"), so that no copy works in it or takes it away. */
#ifndef SESSIONS_BOX_FOLDER_H
#define SESSIONS_BOX_FOLDER_H

#include "base/err.h"

char *box_folder(const char *id); /* returns owned */
/* The file whose directory it is, if that is there; NULL: nobody's. Returns owned. */
char *box_folder_of(const char *folder);
/* Is it that of the session file @path, or nobody's? */
bool box_folder_is(const char *folder, const char *path);
/* The same; -1 (ERR_BUSY names the other file): it is not. */
NODISCARD int box_folder_mine(const char *folder, const char *path, struct err *err);
/* Makes it, for the session file @path. */
NODISCARD int box_folder_take(const char *folder, const char *path, struct err *err);

#endif
