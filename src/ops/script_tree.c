#include "ops/script_tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "luahost/luahost.h"
#include "supervisor/core/call.h"
#include "luahost/luahost_priv.h"
#include "base/paths.h"

static bool same_place(const char *a, const char *b)
{
	CLEANUP(free_ptr) char *x = realpath(a, NULL), *y = realpath(b, NULL);
	return x && y && !strcmp(x, y);
}

/* An argument names it: as it is, or behind "--repo=". */
static bool user_gave_path(const struct super *s, const char *path)
{
	const char *model = s->opts->model;
	if (model && !strncmp(model, "scripted:", 9) && same_place(model + 9, path))
		return true;
	for (char *const *arg = s->opts->args; arg && *arg; arg++) {
		const char *value = strchr(*arg, '=');
		if (same_place(*arg, path) || (value && same_place(value + 1, path)))
			return true;
	}
	return false;
}

static bool lies_in_dir(const char *dir, const char *path)
{
	CLEANUP(free_ptr) char *full = dir ? realpath(dir, NULL) : NULL;
	return full && strcmp(full, "/") != 0 && path_holds(full, path);
}

bool script_tree_file(const struct call *c, const char *path)
{
	return lies_in_dir(luahost_dir(c->host), path) ||
	       (c->host == c->super->host && user_gave_path(c->super, path));
}

bool script_tree_dir(const struct call *c, const char *path)
{
	if (!luahost_dir(c->host) && c->host == c->super->host)
		return true;
	CLEANUP(free_ptr)
	char *mine = luahost_dir(c->host) ? path_project(luahost_dir(c->host)) : NULL;
	CLEANUP(free_ptr) char *here = path_project(".");
	return lies_in_dir(mine, path) || lies_in_dir(here, path) || user_gave_path(c->super, path);
}
