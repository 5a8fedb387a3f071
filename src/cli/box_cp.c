/* sandbox cp: which path is where, and a single file. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/box_verbs.h"
#include "cli/box_verbs_priv.h"
#include "cli/lib/cmd_priv.h"
#include "sessions/live.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/workspace/state.h"

/* Is it a path in a box? "./a:b" and "/a:b" are of the host. With @session_said two colons are
 * a path with one. */
static bool place_of_file(const char *text, bool session_said, struct box_place *out)
{
	const char *end = text + strcspn(text, "/"),
		   *colon = memchr(text, ':', (size_t)(end - text));
	if (!colon)
		return false;
	const char *second =
		session_said ? NULL : memchr(colon + 1, ':', (size_t)(end - colon - 1));
	const char *box = second ? colon + 1 : text;
	if (second)
		out->session = mem_strndup(text, (size_t)(colon - text));
	colon = second ? second : colon;
	out->box = mem_strndup(box, (size_t)(colon - box));
	/* no option of the command sent */
	out->path = colon[1] == '-' ? mem_printf("./%s", colon + 1) : mem_strdup(colon + 1);
	return true;
}

static const char *box_cp_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The path without slashes at its end; "/" stays. Returns owned. */
static char *box_cp_trimmed(const char *path)
{
	size_t n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	return mem_strndup(path, n);
}

/* --- one file --- */

static void box_cp_copied(struct box_cp *cp, const json_t *reply, const char *path,
			  const char *host)
{
	int64_t bytes = json_int(reply, "bytes", 0);
	cp->files++;
	cp->bytes += (uint64_t)bytes;
	if (!cp->ctx->json)
		return;
	json_t *o = json_object();
	json_put_str(o, "session", json_str(reply, "session", ""));
	json_put_int(o, "action", json_int(reply, "action", 0));
	json_put_str(o, "done", cp->put ? "put" : "get");
	json_put_str(o, "box", cp->box);
	json_put(o, "path", json_bytes_z(path));
	json_put(o, "host", json_bytes_z(host));
	json_put_int(o, "bytes", bytes);
	cmd_json(cp->ctx, o);
}

int box_cp_file(struct box_cp *cp, const char *path, const char *host)
{
	const char *const words[] = { "box_copy", cp->put ? "put" : "get", cp->box, path, host };
	struct err err = ERR_INIT;
	json_t *reply = NULL;
	if (box_order(cp->c, words, ARRAY_LEN(words), &reply, &err) < 0) {
		cp->gone = err.code == ERR_CLOSED;
		return cmd_fail(cp->ctx, &err);
	}
	int status = box_cp_came(cp, reply, path, host);
	json_decref(reply);
	return status;
}

int box_cp_came(struct box_cp *cp, json_t *reply, const char *path, const char *host)
{
	int status = EXIT_DONE;
	if (!box_waits(cp->ctx, reply, &status))
		box_cp_copied(cp, reply, path, host);
	return status;
}

json_t *box_cp_look(struct box_cp *cp, const char *path, struct err *err)
{
	const char *const words[] = { "box_look", cp->box, *path ? path : "." };
	json_t *reply = NULL;
	return box_order(cp->c, words, ARRAY_LEN(words), &reply, err) < 0 ? NULL : reply;
}

/* --- from where to where --- */

/* "dir", "file", ..., "" where nothing is. Returns owned. */
static char *kind_there(struct box_cp *cp, const char *path)
{
	struct err none = ERR_INIT;
	/* a session of an older program: files only */
	if (live_knows(cp->c, "box_look", &none) < 0)
		return mem_strdup("");
	CLEANUP(json_release) json_t *what = box_cp_look(cp, path, &none);
	return mem_strdup(json_str(what, "kind", ""));
}

static bool is_dir_here(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static char *box_cp_below(const char *dir, const char *name)
{
	if (!*name)
		return mem_strdup(dir);
	return *dir ? path_join(dir, name) : mem_strdup(name);
}

/* "src/." is what is in it: it has no name of its own; what "src/.." is called only the box
 * knows. */
static const char *box_cp_name_of(const char *path)
{
	const char *name = box_cp_last_part(path);
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ? "" : name;
}

/* An absolute path without "." in it and without slashes in a row; ".." stays, it may follow a
 * link. Returns owned. */
static char *box_cp_tidied(const char *path)
{
	struct buf b = BUF_INIT;
	for (const char *at = path; *at;) {
		at += strspn(at, "/");
		size_t n = strcspn(at, "/");
		if (n && !(n == 1 && *at == '.'))
			buf_printf(&b, "/%.*s", (int)n, at);
		at += n;
	}
	if (!b.len)
		buf_putc(&b, '/');
	return buf_take(&b);
}

/* Where @local is on the host: absolute, and below a directory under @name. Returns owned. */
static char *target_here(const char *local, const char *name, bool tree, struct err *err)
{
	char cwd[PATH_MAX];
	if (!getcwd(cwd, sizeof(cwd))) {
		err_sys(err, "can't read the current directory");
		return NULL;
	}
	CLEANUP(free_ptr)
	char *full = *local == '/' ? mem_strdup(local) : path_join(cwd, local),
	     *end = box_cp_tidied(full);
	if (is_dir_here(end))
		return box_cp_below(end, name);
	if (!*local || (!tree && (local[strlen(local) - 1] == '/' || !*box_cp_name_of(local)))) {
		err_set(err, ERR_NOENT, "directory '%s' not found", local);
		return NULL;
	}
	return mem_strdup(end);
}

/* Where @path is in the box. "box:" and "box:src/": under the file's own name, there or not.
 * Returns owned. */
static char *target_there(struct box_cp *cp, const char *path, const char *name, bool tree,
			  struct err *err)
{
	CLEANUP(free_ptr) char *end = box_cp_trimmed(path), *kind = kind_there(cp, end);
	bool slash = !*path || path[strlen(path) - 1] == '/';
	if (!strcmp(kind, "dir") || (slash && !tree))
		return box_cp_below(end, name);
	if (!tree || !*kind)
		return mem_strdup(end);
	err_set(err, ERR_EXISTS, "'%s' in sandbox '%s' exists and is not a directory", path,
		cp->box);
	return NULL;
}

/* Git runs files in a .git, which also holds credentials. */
static bool is_gits(struct box_cp *cp, const char *shown, const char *path)
{
	if (!ws_path_is_git(path, strlen(path)))
		return false;
	cp->status = cmd_fail_with(
		cp->ctx, EXIT_USAGE, "'%s' belongs to git and is not copied\n%s", shown,
		cp->put ? "The sandbox has its own .git."
			: "'merge' brings commits of a sandbox to your repository.");
	return true;
}

static void box_cp_put(struct box_cp *cp, const char *local, const char *path)
{
	char full[PATH_MAX];
	struct stat st;
	struct err err = ERR_INIT;
	if (!realpath(local, full) || stat(full, &st) < 0) {
		err_sys(&err, "can't read '%s'", local);
		cp->status = cmd_fail(cp->ctx, &err);
		return;
	}
	bool tree = S_ISDIR(st.st_mode);
	if (!tree && !S_ISREG(st.st_mode)) {
		cp->status = cmd_fail_with(cp->ctx, EXIT_USAGE,
					   "'%s' is neither a file nor a directory", local);
		return;
	}
	CLEANUP(free_ptr) char *from = box_cp_trimmed(local);
	if (is_gits(cp, local, box_cp_last_part(full)) ||
	    is_gits(cp, local, box_cp_last_part(from)))
		return;
	const char *name = strcmp(box_cp_last_part(from), "..") == 0 ? box_cp_last_part(full)
								     : box_cp_name_of(from);
	CLEANUP(free_ptr) char *to = target_there(cp, path, name, tree, &err);
	if (!to)
		cp->status = cmd_fail(cp->ctx, &err);
	else if (tree)
		box_cp_tree(cp, to, full);
	else if ((cp->status = box_cp_file(cp, to, full)) == EXIT_DONE && !cp->ctx->json) {
		CLEANUP(buf_release) struct buf size = BUF_INIT;
		cmd_size(cp->bytes, &size);
		CLEANUP(free_ptr)
		char *line = mem_printf("%s, %s, to %s:%s", full, buf_cstr(&size), cp->box, to);
		box_say(cp->ctx, line);
	}
}

static void box_cp_get(struct box_cp *cp, const char *path, const char *local)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *from = box_cp_trimmed(path);
	if (is_gits(cp, path, from))
		return;
	CLEANUP(free_ptr) char *kind = kind_there(cp, from);
	bool tree = !strcmp(kind, "dir");
	CLEANUP(free_ptr) char *to = target_here(local, box_cp_name_of(from), tree, &err);
	if (!to) {
		cp->status = cmd_fail(cp->ctx, &err);
		return;
	}
	if (tree)
		box_cp_tree(cp, from, to);
	else if ((cp->status = box_cp_file(cp, from, to)) == EXIT_DONE && !cp->ctx->json) {
		CLEANUP(buf_release) struct buf size = BUF_INIT;
		cmd_size(cp->bytes, &size);
		CLEANUP(free_ptr)
		char *line = mem_printf("%s:%s, %s, to %s", cp->box, from, buf_cstr(&size), to);
		box_say(cp->ctx, line);
	}
}

/* @p is in the box, @local is not. */
static int box_cp_copy(struct cmd_ctx *ctx, const struct box_place *p, const char *local,
		       bool to_box)
{
	struct box_cp cp = { .ctx = ctx, .box = p->box, .put = to_box };
	struct err err = ERR_INIT;
	if (!*p->box)
		return cmd_usage(ctx, "expected SANDBOX:PATH, got no sandbox");
	if (!to_box && (!*p->path || strcmp(p->path, ".") == 0 || strcmp(p->path, "/") == 0))
		return cmd_usage(
			ctx,
			"missing path of sandbox '%s': %s:PATH\n'merge' brings back everything that changed.",
			p->box, p->box);
	if (box_reach(ctx, p, "box_copy", &cp.c, &err) < 0)
		return cmd_fail(ctx, &err);
	if (to_box)
		box_cp_put(&cp, local, p->path);
	else
		box_cp_get(&cp, p->path, local);
	control_client_free(&cp.c);
	return cp.status;
}

int box_cp(struct cmd_ctx *ctx)
{
	struct box_place from = { 0 }, to = { 0 };
	const char *a = cmd_word(ctx, 1), *b = cmd_word(ctx, 2);
	bool said = cmd_opt(ctx, "in") != NULL, out = place_of_file(a, said, &from),
	     in = place_of_file(b, said, &to);
	int status;
	if (in == out)
		status = cmd_usage(
			ctx,
			"expected [SESSION:]SANDBOX:PATH for one argument and a path on the host for the other\nWrite a host path with a colon as ./a:b.");
	else
		status = out ? box_cp_copy(ctx, &from, b, false) : box_cp_copy(ctx, &to, a, true);
	box_place_release(&from);
	box_place_release(&to);
	return status;
}
