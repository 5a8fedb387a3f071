#include "luahost/plugin_own.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/paths.h"

static const char plugin_own_letters[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

char *plugin_own_path(const char *folder, const char *name)
{
	if (!*name || name[strspn(name, plugin_own_letters)])
		return NULL;
	CLEANUP(free_ptr) char *tail = mem_printf("plugins/%s/%s.lua", folder, name);
	return paths_data(tail);
}

bool plugin_own(const char *folder, const char *name)
{
	CLEANUP(free_ptr) char *path = plugin_own_path(folder, name);
	return path && access(path, F_OK) == 0;
}

static int plugin_own_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void plugin_own_names(const char *folder, struct strv *out)
{
	CLEANUP(free_ptr) char *tail = mem_printf("plugins/%s", folder);
	CLEANUP(free_ptr) char *path = paths_data(tail);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		size_t len = strlen(e->d_name);
		if (len <= 4 || strcmp(e->d_name + len - 4, ".lua") != 0)
			continue;
		CLEANUP(free_ptr) char *name = mem_strndup(e->d_name, len - 4);
		if (plugin_own(folder, name))
			strv_push(out, name);
	}
	if (d)
		closedir(d);
	if (out->nr)
		/* the lengths are not asked for */
		qsort(out->item, out->nr, sizeof(*out->item), plugin_own_by_name);
}
