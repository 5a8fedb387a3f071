#include "cli/front/tool_roots.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"

enum { FILE_MAX = 1 << 20 };

static char *tool_roots_project(void)
{
	char here[PATH_MAX];
	if (!getcwd(here, sizeof(here)))
		return mem_strdup("/");
	CLEANUP(free_ptr) char *at = mem_strdup(here);
	for (;;) {
		CLEANUP(free_ptr) char *git = path_join(at, ".git");
		if (access(git, F_OK) == 0)
			return mem_strdup(at);
		char *slash = strrchr(at, '/');
		if (!slash || slash == at)
			return mem_strdup(here);
		*slash = 0;
	}
}

static char *tool_roots_file_of(const char *dir)
{
	struct hash h;
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	hash_of(dir, strlen(dir), &h);
	hex_append(&hex, h.b, 16);
	CLEANUP(free_ptr) char *tail = mem_printf("roots/%s.json", buf_cstr(&hex));
	return paths_state(tail);
}

json_t *tool_roots_here(void)
{
	struct err none = ERR_INIT;
	CLEANUP(free_ptr) char *dir = tool_roots_project();
	CLEANUP(free_ptr) char *file = tool_roots_file_of(dir);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (file_read(file, &text, FILE_MAX, &none) < 0)
		return json_array();
	CLEANUP(json_release) json_t *o = json_parse(buf_cstr(&text), text.len, file, &none);
	json_t *roots = json_object_get(o, "roots");
	return json_is_array(roots) ? json_incref(roots) : json_array();
}

static int tool_roots_keep(json_t *roots, struct err *err)
{
	CLEANUP(free_ptr) char *dir = tool_roots_project();
	CLEANUP(free_ptr) char *file = tool_roots_file_of(dir);
	CLEANUP(free_ptr) char *folder = paths_state("roots");
	CLEANUP(json_release) json_t *o = json_object();
	json_put(o, "project", json_bytes_z(dir));
	json_put(o, "roots", json_incref(roots));
	CLEANUP(free_ptr) char *text = json_dump_str(o);
	if (dir_make(folder, 0700, err) < 0)
		return -1;
	return file_write_atomic(file, text, strlen(text), 0600, err);
}

int tool_roots_remember(struct cmd_ctx *ctx, json_t *roots, struct err *err)
{
	char full[PATH_MAX];
	struct stat st;
	CLEANUP(json_release) json_t *old = tool_roots_here();
	if (json_array_size(roots) == 1 &&
	    !strcmp(json_string_value(json_array_get(roots, 0)), "none")) {
		json_array_clear(roots);
		return json_array_size(old) ? tool_roots_keep(roots, err) : 0;
	}
	for (size_t i = 0; i < json_array_size(roots); i++) {
		const char *path = json_string_value(json_array_get(roots, i));
		if (!path || !realpath(path, full) || stat(full, &st) < 0 || !S_ISDIR(st.st_mode))
			return err_set(err, ERR_USAGE, "--root: '%s' is not a directory",
				       path ? path : "?");
		json_array_set_new(roots, i, json_bytes_z(full));
	}
	if (json_array_size(roots))
		return json_equal(roots, old) ? 0 : tool_roots_keep(roots, err);
	for (size_t i = 0; i < json_array_size(old); i++) {
		const char *path = json_string_value(json_array_get(old, i));
		if (!path || access(path, X_OK) != 0)
			continue; /* it was taken off the host */
		json_array_append(roots, json_array_get(old, i));
		if (!ctx->quiet && !ctx->json)
			fprintf(ctx->err,
				"sandglass: host directories for this project's sandboxes: %s (clear with --root none)\n",
				path);
	}
	return 0;
}
