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

/* Where the first component ".git" of @path begins; its length if it has none. */
static size_t git_part(const struct buf *path)
{
	for (size_t i = 0; i + 5 <= path->len; i++)
		if ((!i || path->data[i - 1] == '/') && !memcmp(path->data + i, ".git/", 5))
			return i;
	return path->len;
}

static void nested_put(json_t *found, const char *path, size_t len, const char *kind)
{
	json_t *o = json_object();
	json_put_bytes(o, "path", path, len);
	json_put_str(o, "kind", kind);
	json_array_append_new(found, o);
}

static bool nested_has(const json_t *found, const char *path, size_t len)
{
	CLEANUP(buf_release) struct buf had = BUF_INIT;
	for (size_t i = 0; i < json_array_size(found); i++)
		if (json_get_bytes(json_object_get(json_array_get(found, i), "path"), &had) &&
		    had.len <= len && !memcmp(buf_cstr(&had), path, had.len) &&
		    (had.len == len || path[had.len] == '/'))
			return true;
	return false;
}

/* The submodule of which git's own directory holds @path (".git/modules/NAME/..."). */
static void nested_module(const struct target *t, const struct buf *path, json_t *found)
{
	for (size_t i = 0; t->index && i < git_index_entrycount(t->index); i++) {
		const git_index_entry *e = git_index_get_byindex(t->index, i);
		size_t skip = t->prefix_len ? t->prefix_len + 1 : 0;
		if (e->mode != GIT_FILEMODE_COMMIT || strlen(e->path) <= skip ||
		    strncmp(e->path, t->prefix, t->prefix_len) != 0)
			continue;
		const char *at = e->path + skip;
		CLEANUP(free_ptr) char *file = mem_printf("%s/.git", at);
		struct hostfile f = { 0 };
		hostfile_read(&f, t->root, file, strlen(file));
		const char *modules =
			f.state.kind == WS_FILE ? strstr(buf_cstr(&f.bytes), "/modules/") : NULL;
		size_t len = modules ? strcspn(modules, "\r\n") : 0;
		if (len && path->len > 4 + len && !memcmp(path->data + 4, modules, len) &&
		    path->data[4 + len] == '/' && !nested_has(found, at, strlen(at)))
			nested_put(found, at, strlen(at), "submodule");
		hostfile_release(&f);
	}
}

/* Refs of a repository within: it has work even if none of its files has changed. */
static bool is_ref_of_nested(const struct buf *path, size_t git)
{
	const char *rest = buf_cstr(path) + git;
	return git < path->len && (strstr(rest, "/refs/") || strstr(rest, "/logs/HEAD"));
}

json_t *target_nested(const struct target *t, const json_t *paths)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT, last = BUF_INIT;
	json_t *found = json_array();
	size_t within = 0; /* bytes of @last that are such a repository */
	for (size_t i = 0; i < json_array_size(paths); i++) {
		const char *kind = NULL;
		if (!json_get_bytes(json_array_get(paths, i), &path))
			continue;
		size_t git = git_part(&path);
		if (git == path.len ? ws_path_is_git(path.data, path.len)
				    : !is_ref_of_nested(&path, git))
			continue;
		if (!git) {
			if (path.len > 13 && !memcmp(path.data, ".git/modules/", 13))
				nested_module(t, &path, found);
			continue;
		}
		size_t shared = shared_above(&path, &last);
		if (within && shared > within)
			continue;
		within = nested_above(t, buf_cstr(&path), git < path.len ? git : path.len, shared,
				      &kind);
		if (within && !nested_has(found, path.data, within))
			nested_put(found, path.data, within, kind);
		buf_reset(&last);
		buf_append(&last, buf_cstr(&path), path.len);
	}
	return found;
}
