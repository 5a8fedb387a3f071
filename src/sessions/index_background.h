/* The search index of sessions that have ended, finished by a program of its own while nobody
 * waits. */
#ifndef SESSIONS_INDEX_BACKGROUND_H
#define SESSIONS_INDEX_BACKGROUND_H

#include <stddef.h>

/* Starts `sandglass index PATH...`, which has nothing of ours, not even the environment, stands
 * behind everything else on the machine and outlives us. If it cannot be started, a search goes on
 * reading through what the index lacks. */
void index_background(const char *const *path, size_t nr);
/* The same for the catalog of @dir (catalog/catalog.h). */
void catalog_background(const char *dir);

#endif
