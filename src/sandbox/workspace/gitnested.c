/* Repositories within the target: submodules, and repositories in its working tree. The sandbox's
 * changes there belong to them, not to the one around. Runs in the merge child only. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/workspace/gitchild.h"

static bool has_repository(const struct target *t, const char *path, size_t len)
{
	struct stat st;
	CLEANUP(fd_close) int dir = beneath_open(t->root, path, len, O_PATH | O_DIRECTORY);
	return dir >= 0 && fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static const char *nested_kind(const struct target *t, const char *path, size_t len)
{
	unsigned mode = 0;
	struct object_id id;
	bool there = has_repository(t, path, len);
	if (t->repo)
		target_staged(t, path, len, &mode, &id);
	if (mode == GIT_FILEMODE_COMMIT)
		return there ? "submodule" : "missing";
	return there ? "repository" : NULL;
}

/* The outermost directory of @path that is a repository of its own; those up to @known have been
 * looked at. 0: none. */
static size_t nested_above(const struct target *t, const char *path, size_t len, size_t known,
			   const char **kind_out)
{
	for (size_t i = known ? known : 1; i < len; i++)
		if (path[i] == '/' && (*kind_out = nested_kind(t, path, i)))
			return i;
	return 0;
}

/* How many bytes of directories two paths share. */
static size_t shared_above(const struct buf *a, const struct buf *b)
{
	size_t shared = 0;
	for (size_t i = 0; i < a->len && i < b->len && buf_cstr(a)[i] == buf_cstr(b)[i]; i++)
		if (buf_cstr(a)[i] == '/')
			shared = i + 1;
	return shared;
}

json_t *target_nested(const struct target *t, const json_t *paths)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT, last = BUF_INIT;
	json_t *found = json_array();
	size_t within = 0; /* bytes of @last that are such a repository */
	for (size_t i = 0; i < json_array_size(paths); i++) {
		const char *kind = NULL;
		if (!json_get_bytes(json_array_get(paths, i), &path) ||
		    ws_path_is_git(path.data, path.len))
			continue;
		size_t shared = shared_above(&path, &last);
		if (within && shared > within)
			continue;
		within = nested_above(t, buf_cstr(&path), path.len, shared, &kind);
		if (within) {
			json_t *o = json_object();
			json_put_bytes(o, "path", path.data, within);
			json_put_str(o, "kind", kind);
			json_array_append_new(found, o);
		}
		buf_reset(&last);
		buf_append(&last, buf_cstr(&path), path.len);
	}
	return found;
}
