#include "base/watched.h"

#include <string.h>

#include "base/mem.h"

static const struct {
	/* ending in '/': anything below; with '/' in front: a file of that name anywhere */
	const char *what, *name;
} watched_add[] = {
	{ "ci", ".github/workflows/" },
	{ "ci", ".gitlab-ci.yml" },
	{ "ci", ".circleci/" },
	{ "ci", "Jenkinsfile" },
	{ "ci", ".travis.yml" },
	{ "ci", "azure-pipelines.yml" },
	{ "ci", ".woodpecker/" },
	{ "ci", ".forgejo/workflows/" },
	{ "policy", ".sandglass/" },
	{ "hook", ".husky/" },
	{ "hook", ".githooks/" },
	{ "hook", ".pre-commit-config.yaml" },
	{ "hook", "/.gitattributes" },
	{ "hook", "/.gitmodules" },
	{ "hook", ".envrc" },
	{ "hook", ".vscode/" },
	{ "hook", ".devcontainer/" },
	{ "lock file", "/package-lock.json" },
	{ "lock file", "/yarn.lock" },
	{ "lock file", "/pnpm-lock.yaml" },
	{ "lock file", "/Cargo.lock" },
	{ "lock file", "/go.sum" },
	{ "lock file", "/poetry.lock" },
	{ "lock file", "/Gemfile.lock" },
	{ "lock file", "/uv.lock" },
	{ "lock file", "/composer.lock" },
};

static bool watched_watches(const char *name, const char *path, size_t len)
{
	size_t n = strlen(name);
	if (name[0] == '/')
		return (len == n - 1 && !memcmp(path, name + 1, len)) ||
		       (len >= n && !memcmp(path + len - n, name, n));
	if (name[n - 1] == '/')
		return len >= n && !memcmp(path, name, n);
	return len == n && !memcmp(path, name, n);
}

bool watched_link(const char *path, size_t len, const char *target, size_t target_len)
{
	int depth = 0;
	if (target_len && target[0] == '/')
		return true;
	for (size_t i = 0; i < len; i++)
		depth += path[i] == '/';
	for (size_t i = 0; i < target_len;) {
		const char *slash = memchr(target + i, '/', target_len - i);
		size_t end = slash ? (size_t)(slash - target) : target_len, n = end - i;
		if (n == 2 && target[i] == '.' && target[i + 1] == '.') {
			if (--depth < 0)
				return true;
		} else if (n && !(n == 1 && target[i] == '.')) {
			depth++;
		}
		i = end + 1;
	}
	return false;
}

const char *watched_path(const char *path, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(watched_add); i++)
		if (watched_watches(watched_add[i].name, path, len))
			return watched_add[i].what;
	return NULL;
}
