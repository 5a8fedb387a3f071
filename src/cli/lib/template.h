/* Files that are begun for a person: lua/templates with a name put in. */
#ifndef CLI_LIB_TEMPLATE_H
#define CLI_LIB_TEMPLATE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Can a file be begun under this name? Letters, digits, _ and -, at most 64. */
bool template_good_name(const char *name);
/* Appends lua/templates/@template.lua: @NAME@ in it becomes @name, @CAPS@ the same as the name of a
 * variable. */
NODISCARD int template_fill(struct buf *out, const char *template, const char *name,
			    struct err *err);
/* A file that is there is written over only with @force; else ERR_EXISTS. */
NODISCARD int template_write(const char *path, const struct buf *text, bool force, struct err *err);

#endif
