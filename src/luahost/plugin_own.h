/* The plugins that a user has added: $XDG_DATA_HOME/sandglass/plugins/sandboxes/NAME.lua and
 * models/NAME.lua. They go by their names as those of the program do, whose names they cannot
 * have. */
#ifndef LUAHOST_PLUGIN_OWN_H
#define LUAHOST_PLUGIN_OWN_H

#include "base/buf.h"

/* The path of a plugin, existing or not: @folder is "sandboxes" or "models". NULL: invalid
 * @name. Return owned. */
char *plugin_own_path(const char *folder, const char *name);
bool plugin_own(const char *folder, const char *name); /* is it there? */
/* Their names, sorted. */
void plugin_own_names(const char *folder, struct strv *out);

#endif
