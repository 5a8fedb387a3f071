/* The files of the host that a script may name. Everything else is a user's to give: named
 * on the command line or in the configuration, or allowed by policy. Loop thread only. */
#ifndef OPS_SCRIPT_TREE_H
#define OPS_SCRIPT_TREE_H

#include "supervisor/core/core.h"

/* @path, without links, lies below the directory of the call's script, or the user has named it
 * (--model scripted:FILE, an argument of the script). */
bool script_tree_file(const struct call *c, const char *path);
/* True if @path is in the project of the script or of the working directory (up to the .git),
 * the user has named it, or the script is one of ours. */
bool script_tree_dir(const struct call *c, const char *path);

#endif
