/* The search index of sessions that have ended, finished by a program of its own while nobody
 * waits. */
#ifndef SESSIONS_INDEX_BACKGROUND_H
#define SESSIONS_INDEX_BACKGROUND_H

#include <stddef.h>

/* Starts `sandglass index PATH...`. It inherits nothing from us, not even the environment, has
 * the lowest priority on the host, and outlives us. If it can't be started, a search keeps
 * reading the events that the index lacks. */
void index_background(const char *const *path, size_t nr);
/* The same for the catalog of @dir (catalog/catalog.h). */
void catalog_background(const char *dir);

#endif
