#include "base/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#ifndef SANDGLASS_PREFIX
#define SANDGLASS_PREFIX "/usr/local"
#endif

char *path_typed(const char *path)
{
	const char *home = getenv("HOME");
	bool at_home = path[0] == '~' && (path[1] == '/' || !path[1]);
	if (!at_home || !home || !*home)
		return mem_strdup(path);
	return path[1] ? path_join(home, path + 2) : mem_strdup(home);
}

char *path_join(const char *a, const char *b)
{
	size_t n = strlen(a);
	return mem_printf("%s%s%s", a, n && a[n - 1] == '/' ? "" : "/", b);
}

/* The specification says that a relative value is to be ignored. */
static char *paths_xdg(const char *variable, const char *fallback, const char *tail)
{
	const char *base = getenv(variable);
	if (base && base[0] == '/')
		return mem_printf("%s/sandglass%s%s", base, *tail ? "/" : "", tail);
	const char *home = getenv("HOME");
	return mem_printf("%s/%s/sandglass%s%s", home && home[0] == '/' ? home : "/", fallback,
			  *tail ? "/" : "", tail);
}

char *paths_config(const char *tail)
{
	return paths_xdg("XDG_CONFIG_HOME", ".config", tail);
}

char *paths_data(const char *tail)
{
	return paths_xdg("XDG_DATA_HOME", ".local/share", tail);
}

char *paths_state(const char *tail)
{
	return paths_xdg("XDG_STATE_HOME", ".local/state", tail);
}

char *paths_cache(const char *tail)
{
	return paths_xdg("XDG_CACHE_HOME", ".cache", tail);
}

char *paths_runtime(const char *tail)
{
	const char *base = getenv("XDG_RUNTIME_DIR");
	if (base && base[0] == '/')
		return mem_printf("%s/sandglass%s%s", base, *tail ? "/" : "", tail);
	return mem_printf("/tmp/sandglass-%u%s%s", (unsigned)getuid(), *tail ? "/" : "", tail);
}

char *paths_sessions(void)
{
	const char *dir = getenv("SANDGLASS_SESSIONS");
	return dir && *dir ? mem_strdup(dir) : paths_data("sessions");
}

char *paths_libexec(const char *name)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0) {
		self[n] = 0;
		char *slash = strrchr(self, '/');
		if (slash) {
			*slash = 0;
			char *beside = path_join(self, name);
			if (access(beside, X_OK) == 0)
				return beside;
			free(beside);
			/* installed: PREFIX/bin/sandglass, PREFIX/libexec/sandglass/NAME, wherever
			 * PREFIX was moved to */
			char *moved = mem_printf("%s/../libexec/sandglass/%s", self, name);
			if (access(moved, X_OK) == 0)
				return moved;
			free(moved);
		}
	}
	return mem_printf("%s/libexec/sandglass/%s", SANDGLASS_PREFIX, name);
}

bool path_holds(const char *dir, const char *path)
{
	CLEANUP(free_ptr) char *full = path ? realpath(path, NULL) : NULL;
	size_t len = strlen(dir);
	return !strcmp(dir, "/") ||
	       (full && !strncmp(full, dir, len) && (full[len] == '/' || !full[len]));
}

char *path_project(const char *dir)
{
	char *at = realpath(dir, NULL);
	CLEANUP(free_ptr) char *up = at ? mem_strdup(at) : NULL;
	while (up && *up) {
		CLEANUP(free_ptr) char *git = path_join(up, ".git");
		if (access(git, F_OK) == 0) {
			free(at);
			return mem_strdup(up);
		}
		char *slash = strrchr(up, '/');
		if (!slash)
			break;
		*slash = 0;
	}
	return at;
}

void path_project_levels(const char *dir, struct strv *out)
{
	CLEANUP(free_ptr) char *at = realpath(dir, NULL);
	CLEANUP(free_ptr) char *root = path_project(dir);
	while (at && root && path_holds(root, at)) {
		strv_push(out, at);
		char *slash = strrchr(at, '/');
		if (!slash || slash == at)
			break;
		*slash = 0;
	}
}
