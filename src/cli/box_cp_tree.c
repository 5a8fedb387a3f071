/* sandbox cp of a directory. It walks the tree entry by entry, and each file is one action: a
 * rule for a path applies to every way of copying. Links in a directory are not followed on
 * either side, so that no outside file is copied. FROM itself may be a link and is followed. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/box_verbs_priv.h"
#include "cli/lib/cmd_priv.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/view/masks.h"
#include "sandbox/workspace/state.h"

enum { DEPTH_MAX = 100, SHOW_US = 200000, OUT_SHOWN = 20 };

/* --- how far it is --- */

static void clear_progress(struct box_cp *cp)
{
	if (cp->shown_us > 0)
		fputs("\r\033[K", cp->ctx->err);
}

static void box_cp_tree_progress(struct box_cp *cp)
{
	int64_t now = clock_mono_us();
	if (cp->ctx->quiet || cp->ctx->json || !isatty(fileno(cp->ctx->err)) ||
	    now - cp->shown_us < SHOW_US)
		return;
	CLEANUP(buf_release) struct buf size = BUF_INIT;
	cmd_size(cp->bytes, &size);
	fprintf(cp->ctx->err, "\r\033[K%llu file%s, %s", (unsigned long long)cp->files,
		cp->files == 1 ? "" : "s", buf_cstr(&size));
	fflush(cp->ctx->err);
	cp->shown_us = now;
}

static void box_cp_tree_failed(struct box_cp *cp, int status)
{
	if (cp->status == EXIT_DONE)
		cp->status = status;
}

/* It stays out, on purpose. */
static void box_cp_tree_stays(struct box_cp *cp, const char *path, const char *why)
{
	CLEANUP(buf_release) struct buf safe = BUF_INIT;
	cp->out++;
	if (cp->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "done", "left out");
		json_put(o, "path", json_bytes_z(path));
		json_put_str(o, "why", why);
		cmd_json(cp->ctx, o);
	} else if (!cp->ctx->quiet && cp->out <= OUT_SHOWN) {
		clear_progress(cp);
		cmd_safe(&safe, path, strlen(path), false);
		fprintf(cp->ctx->err, "left out: %s, %s\n", buf_cstr(&safe), why);
	}
}

/* --- many at once --- */

static void box_cp_tree_landed(struct box_cp *cp, size_t i)
{
	free(cp->flight[i].path);
	free(cp->flight[i].host);
	cp->flight[i] = cp->flight[--cp->nr_flight];
}

static void box_cp_tree_on_reply(void *self, uint64_t id, const json_t *result,
				 const struct err *err)
{
	struct box_cp *cp = self;
	for (size_t i = 0; i < cp->nr_flight; i++)
		if (cp->flight[i].id == id) {
			CLEANUP(json_release)
			json_t *reply =
				result ? json_copy((json_t *)(uintptr_t)result) : json_object();
			json_put_str(reply, "session",
				     json_str(control_client_welcome(cp->c), "session", ""));
			box_cp_tree_failed(cp, err ? cmd_fail(cp->ctx, err)
						   : box_cp_came(cp, reply, cp->flight[i].path,
								 cp->flight[i].host));
			box_cp_tree_landed(cp, i);
			return;
		}
}

static void box_cp_tree_on_closed(void *self, const struct err *err)
{
	struct box_cp *cp = self;
	cp->gone = true;
	if (cp->nr_flight)
		box_cp_tree_failed(cp, cmd_fail(cp->ctx, err));
	while (cp->nr_flight)
		box_cp_tree_landed(cp, 0);
}

/* Until no more than @most are on their way. */
static void box_cp_tree_await(struct box_cp *cp, size_t most)
{
	while (cp->nr_flight > most && !cp->gone) {
		struct pollfd p = {
			.fd = control_client_fd(cp->c),
			.events =
				(short)(POLLIN | (control_client_wants_write(cp->c) ? POLLOUT : 0))
		};
		poll(&p, 1, -1);
		control_client_pump(cp->c);
	}
}

/* Out of a box many are on their way together: they share what the record and the disk cost. Into
 * one they go one by one, so that each has a snapshot of its own, and can be undone. */
static void get_file(struct box_cp *cp, const char *path, const char *host)
{
	const char *const word[] = { "box_copy", "get", cp->box, path, host };
	box_cp_tree_await(cp, BOX_CP_FLIGHT - 1);
	if (cp->gone)
		return;
	json_t *words = json_array();
	for (size_t i = 0; i < ARRAY_LEN(word); i++)
		json_array_append_new(words, json_bytes_z(word[i]));
	cp->flight[cp->nr_flight++] = (struct cp_flight){ control_client_send(cp->c, words, NULL),
							  mem_strdup(path), mem_strdup(host) };
}

/* --- one entry --- */

static void box_cp_tree_copy_dir(struct box_cp *cp, const char *path, const char *host, int depth);

/* Copies the entry at @path of the sandbox to @host, or the other way round. */
static void box_cp_tree_copy_entry(struct box_cp *cp, const char *path, const char *host,
				   const char *kind, int depth)
{
	const char *from = cp->put ? host : path;
	const char *slash = strrchr(from, '/'), *name = slash ? slash + 1 : from;
	bool dir = !strcmp(kind, "dir");
	/* git runs files in a .git, which also holds credentials */
	if (ws_path_is_git(name, strlen(name)))
		box_cp_tree_stays(cp, from, "git's own");
	else if (cp->put && masks_name_suspect(name, dir))
		box_cp_tree_stays(cp, from, "named like a secret");
	else if (dir && depth == DEPTH_MAX)
		box_cp_tree_stays(cp, from, "too deep");
	else if (dir)
		box_cp_tree_copy_dir(cp, path, host, depth + 1);
	else if (strcmp(kind, "file") != 0)
		box_cp_tree_stays(cp, from,
				  !strcmp(kind, "symlink") ? "a link"
							   : "neither a file nor a directory");
	else if (!cp->gone) {
		if (cp->put)
			box_cp_tree_failed(cp, box_cp_file(cp, path, host));
		else
			get_file(cp, path, host);
		box_cp_tree_progress(cp);
	}
}

/* --- out of the box --- */

/* The directory is made; a link of that name is not gone through. */
static bool make_here(struct box_cp *cp, const char *host, int64_t mode)
{
	struct stat st;
	struct err err = ERR_INIT;
	if (mkdir(host, ((mode_t)mode & 0755) | 0700) == 0)
		return true;
	if (errno != EEXIST)
		err_sys(&err, "can't create '%s'", host);
	else if (lstat(host, &st) < 0 || !S_ISDIR(st.st_mode))
		err_set(&err, ERR_EXISTS, "'%s' exists and is not a directory", host);
	else
		return true;
	box_cp_tree_failed(cp, cmd_fail(cp->ctx, &err));
	return false;
}

/* Names are a claim of the box. */
static bool box_cp_tree_is_name(const struct buf *name)
{
	return name->len && !memchr(name->data, '/', name->len) &&
	       !memchr(name->data, 0, name->len) && strcmp(name->data, ".") != 0 &&
	       strcmp(name->data, "..") != 0;
}

static void get_dir(struct box_cp *cp, const char *path, const char *host, int depth)
{
	struct err err = ERR_INIT;
	size_t i;
	json_t *e;
	CLEANUP(json_release) json_t *what = box_cp_look(cp, path, &err);
	if (!what) {
		box_cp_tree_failed(cp, cmd_fail(cp->ctx, &err));
		return;
	}
	json_array_foreach(json_object_get(what, "entries"), i, e)
	{
		CLEANUP(buf_release) struct buf name = BUF_INIT;
		if (!json_get_bytes(json_object_get(e, "name"), &name) ||
		    !box_cp_tree_is_name(&name)) {
			box_cp_tree_stays(cp, path, "it contains an invalid name");
			continue;
		}
		const char *kind = json_str(e, "kind", "");
		CLEANUP(free_ptr)
		char *from = path_join(path, name.data), *to = path_join(host, name.data);
		if (!strcmp(kind, "dir") && !ws_path_is_git(name.data, name.len) &&
		    !make_here(cp, to, json_int(e, "mode", 0755)))
			continue;
		box_cp_tree_copy_entry(cp, from, to, kind, depth);
	}
}

/* --- into it --- */

static const char *kind_here(const char *host)
{
	struct stat st;
	if (lstat(host, &st) < 0)
		return "";
	return S_ISREG(st.st_mode)   ? "file"
	       : S_ISDIR(st.st_mode) ? "dir"
	       : S_ISLNK(st.st_mode) ? "symlink"
				     : "";
}

static int box_cp_tree_by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void put_dir(struct box_cp *cp, const char *path, const char *host, int depth)
{
	struct err err = ERR_INIT;
	struct dirent **names;
	int nr = scandir(host, &names, NULL, box_cp_tree_by_bytes);
	if (nr < 0) {
		err_sys(&err, "can't read '%s'", host);
		box_cp_tree_failed(cp, cmd_fail(cp->ctx, &err));
		return;
	}
	if (nr == 2) /* a box is given files, and the directories that they are in */
		box_cp_tree_stays(cp, host, "an empty directory");
	for (int i = 0; i < nr; i++) {
		const char *name = names[i]->d_name;
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			CLEANUP(free_ptr)
			char *from = path_join(host, name),
			     *to = *path ? path_join(path, name) : mem_printf("./%s", name);
			box_cp_tree_copy_entry(cp, to, from, kind_here(from), depth);
		}
		free(names[i]);
	}
	free(names);
}

/* --- */

static void box_cp_tree_copy_dir(struct box_cp *cp, const char *path, const char *host, int depth)
{
	if (cp->put)
		put_dir(cp, path, host, depth);
	else
		get_dir(cp, path, host, depth);
}

static void box_cp_tree_say_all(struct box_cp *cp, const char *path, const char *host)
{
	CLEANUP(buf_release) struct buf size = BUF_INIT, out = BUF_INIT;
	clear_progress(cp);
	if (cp->ctx->json)
		return;
	cmd_size(cp->bytes, &size);
	if (cp->out)
		buf_printf(&out, ", %llu left out", (unsigned long long)cp->out);
	CLEANUP(free_ptr)
	char *what = mem_printf("%llu file%s, %s", (unsigned long long)cp->files,
				cp->files == 1 ? "" : "s", buf_cstr(&size));
	CLEANUP(free_ptr)
	char *line = cp->put ? mem_printf("%s, %s, to %s:%s%s", host, what, cp->box, path,
					  buf_cstr(&out))
			     : mem_printf("%s:%s, %s, to %s%s", cp->box, path, what, host,
					  buf_cstr(&out));
	box_say(cp->ctx, line);
}

/* Something is there that answers: else each file would say that there is nothing. */
static bool box_cp_tree_answers(struct box_cp *cp)
{
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *top = box_cp_look(cp, ".", &err);
	if (!top)
		box_cp_tree_failed(cp, cmd_fail(cp->ctx, &err));
	return top != NULL;
}

void box_cp_tree(struct box_cp *cp, const char *path, const char *host)
{
	if (!box_cp_tree_answers(cp) || (!cp->put && !make_here(cp, host, 0755)))
		return;
	static const struct control_client_ops ops = { .reply = box_cp_tree_on_reply,
						       .closed = box_cp_tree_on_closed };
	control_client_hear(cp->c, &ops, cp);
	box_cp_tree_copy_dir(cp, path, host, 0);
	box_cp_tree_await(cp, 0);
	control_client_hear(cp->c, NULL, NULL);
	box_cp_tree_say_all(cp, path, host);
}
