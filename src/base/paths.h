/* Where things lie (XDG base directories). All return owned strings, never NULL. */
#ifndef BASE_PATHS_H
#define BASE_PATHS_H

#include "base/err.h"

char *paths_config(const char *tail); /* $XDG_CONFIG_HOME/sandglass/TAIL */
char *paths_data(const char *tail);   /* $XDG_DATA_HOME/sandglass/TAIL */
char *paths_state(const char *tail);  /* $XDG_STATE_HOME/sandglass/TAIL */
char *paths_cache(const char *tail);  /* $XDG_CACHE_HOME/sandglass/TAIL */
/* $XDG_RUNTIME_DIR/sandglass/TAIL, else /tmp/sandglass-UID/TAIL */
char *paths_runtime(const char *tail);
char *paths_sessions(void); /* SANDGLASS_SESSIONS, else data "sessions" */
/* A program or file that belongs to us: beside the running binary (a build tree), else the
 * installed libexec directory. */
char *paths_libexec(const char *name);
char *path_join(const char *a, const char *b);
/* A path as a user types it where no shell reads it: "~" and "~/" are $HOME. */
char *path_typed(const char *path);
/* The directory with .git that @dir is in, else @dir, without links; NULL: there is no @dir. */
char *path_project(const char *dir);
/* Adds @dir and the directories above it, up to that of its project, without links. */
struct strv;
void path_project_levels(const char *dir, struct strv *out);
/* Does @dir, absolute and without links, contain @path, or is it that? One that is not there (or
 * NULL) is in "/" alone. */
bool path_holds(const char *dir, const char *path);

#endif
