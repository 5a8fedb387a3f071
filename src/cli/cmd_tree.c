/* sandglass tree: the files of a box as they were, listed or written into a directory. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files_at.h"
#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/workspace/view.h"

struct lister {
	struct cmd_ctx *ctx;
	struct session *s;
	const struct layer_at *layer;
	int dir; /* to write below; -1 = list */
	size_t written, left_out;
};

static char cmd_tree_mark_of(const struct ws_path *p)
{
	if (ws_state_eq(&p->base, &p->now))
		return ' ';
	return p->base.kind == WS_NONE ? 'A' : p->now.kind == WS_NONE ? 'D' : 'M';
}

static void cmd_tree_print_path(struct lister *l, const struct ws_path *p)
{
	const struct ws_state *st = p->now.kind ? &p->now : &p->base;
	char mark[2] = { cmd_tree_mark_of(p), 0 }, hex[41];
	if (l->ctx->json) {
		json_t *o = json_object();
		json_put_int(o, "box", (int64_t)l->layer->box);
		json_put_str(o, "box_name", l->layer->box_name);
		json_put_str(o, "repo", l->layer->repo);
		json_put_str(o, "mark", mark);
		json_put_bytes(o, "path", p->path, p->len);
		json_put_str(o, "kind", ws_kind_name((enum ws_kind)p->now.kind));
		json_put(o, "mode", json_sprintf("%04o", (unsigned)st->mode));
		object_hex(&st->oid, hex);
		if (!object_is_null(&p->now.oid))
			json_put_str(o, "oid", hex);
		json_put_flag(o, "hash_only", (p->now.flags & WS_HASH_ONLY) != 0);
		cmd_json(l->ctx, o);
		return;
	}
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	buf_printf(&line, "%s %-4s %04o  ", mark,
		   p->now.kind ? ws_kind_name((enum ws_kind)p->now.kind) : "-", (unsigned)st->mode);
	if (*l->layer->repo)
		buf_printf(&line, "%s/", l->layer->repo);
	buf_append(&line, p->path, p->len);
	cmd_print_safe(l->ctx->out, buf_cstr(&line), line.len, false);
	fputs(p->now.flags & WS_HASH_ONLY ? "  (hash only)\n" : "\n", l->ctx->out);
}

/* Opens the parent of @path below @dir, making what is missing; never through a link. *name_out:
 * the last component. */
static int cmd_tree_open_parent(int dir, const char *path, const char **name_out, struct err *err)
{
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	const char *slash;
	while (at >= 0 && (slash = strchr(path, '/'))) {
		CLEANUP(free_ptr) char *one = mem_strndup(path, (size_t)(slash - path));
		if (!*one || !strcmp(one, ".") || !strcmp(one, "..")) {
			fd_close(&at);
			return err_set(err, ERR_DAMAGED,
				       "a recorded path leads outside the directory");
		}
		if (mkdirat(at, one, 0755) < 0 && errno != EEXIST) {
			fd_close(&at);
			return err_sys(err, "can't create directory '%s'", one);
		}
		int next = openat(at, one, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd_close(&at);
		at = next;
		path = slash + 1;
	}
	if (at < 0)
		return err_sys(err, "can't write in the directory");
	*name_out = path;
	if (!*path || !strcmp(path, ".") || !strcmp(path, "..")) {
		fd_close(&at);
		return err_set(err, ERR_DAMAGED, "a recorded path leads outside the directory");
	}
	return at;
}

static int write_path(struct lister *l, const struct ws_path *p, struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	const char *name = NULL;
	struct err none = ERR_INIT;
	if (session_object(l->s, &p->now.oid, NULL, &bytes, &none) < 0) {
		l->left_out++;
		return 0;
	}
	CLEANUP(fd_close) int at = cmd_tree_open_parent(l->dir, p->path, &name, err);
	if (at < 0)
		return -1;
	l->written++;
	if (p->now.kind == WS_LINK)
		return symlinkat(buf_cstr(&bytes), at, name) < 0
			       ? err_sys(err, "can't write '%s'", p->path)
			       : 0;
	CLEANUP(fd_close)
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			p->now.mode & 0777);
	if (fd < 0)
		return err_sys(err, "can't write '%s'", p->path);
	return fd_write_all(fd, buf_cstr(&bytes), bytes.len, err);
}

/* Links last: while files are written there is none that could lead away. */
static int cmd_tree_one_layer(struct lister *l, bool links, struct err *err)
{
	struct ws_store st = states_store(l->s);
	struct ws_view v = WS_VIEW_INIT;
	int rc = ws_view_load(&v, &st, l->layer->body, err);
	for (size_t i = 0; rc == 0 && i < v.nr; i++) {
		const struct ws_path *p = &v.item[i];
		if (ws_path_is_git(p->path, p->len) || !files_wanted(l->ctx, p->path))
			continue;
		if (l->dir < 0)
			cmd_tree_print_path(l, p);
		else if ((p->now.kind == WS_FILE && !links) || (p->now.kind == WS_LINK && links))
			rc = write_path(l, p, err);
	}
	ws_view_release(&v);
	return rc;
}

/* Several repositories of one box: each in a directory of its name, as it is in the box. */
static int cmd_tree_open_layer(const struct layer_at *l, int dir, int *out, struct err *err)
{
	if (strchr(l->repo, '/') || !strcmp(l->repo, ".") || !strcmp(l->repo, ".."))
		return err_set(err, ERR_DAMAGED,
			       "a recorded repository name leads outside the directory");
	if (*l->repo && mkdirat(dir, l->repo, 0755) < 0)
		return err_sys(err, "can't create directory '%s'", l->repo);
	*out = openat(dir, *l->repo ? l->repo : ".",
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *out < 0 ? err_sys(err, "can't open directory '%s'", l->repo) : 0;
}

static int write_layer(struct lister *l, int dir, struct err *err)
{
	CLEANUP(fd_close) int at = -1;
	if (cmd_tree_open_layer(l->layer, dir, &at, err) < 0)
		return -1;
	l->dir = at;
	return cmd_tree_one_layer(l, false, err) < 0 ? -1 : cmd_tree_one_layer(l, true, err);
}

static void say_written(const struct lister *l, const char *to)
{
	struct cmd_ctx *ctx = l->ctx;
	if (ctx->json) {
		json_t *o = json_object();
		json_put_bytes(o, "dir", to, strlen(to));
		json_put_int(o, "snapshot", (int64_t)l->layer->snapshot);
		json_put_int(o, "files", (int64_t)l->written);
		json_put_int(o, "left_out", (int64_t)l->left_out);
		cmd_json(ctx, o);
	} else if (!ctx->quiet) {
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		buf_printf(&line,
			   "%s: %zu file%s as after #%" PRIu64
			   "; what never differed from the repository is not in the record",
			   to, l->written, l->written == 1 ? "" : "s", l->layer->snapshot);
		cmd_print_safe(ctx->out, buf_cstr(&line), line.len, false);
		fputc('\n', ctx->out);
	}
}

static int cmd_tree_write_all(struct cmd_ctx *ctx, struct files_at *f, const char *to,
			      struct err *err)
{
	for (size_t i = 1; i < f->layers.nr; i++)
		if (f->layers.item[i].box != f->layers.item[0].box)
			return err_set(err, ERR_USAGE,
				       "the session has several sandboxes\nName one with --box.");
	if (mkdir(to, 0755) < 0)
		return err_sys(err, "can't create directory '%s'", to);
	CLEANUP(fd_close) int dir = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct lister l = { .ctx = ctx, .s = f->s };
	int rc = dir < 0 ? err_sys(err, "can't open '%s'", to) : 0;
	for (size_t i = 0; rc == 0 && i < f->layers.nr; i++) {
		l.layer = &f->layers.item[i];
		rc = write_layer(&l, dir, err);
	}
	struct err none = ERR_INIT;
	if (rc < 0 && dir_remove(to, &none) < 0)
		return -1;
	if (rc == 0 && l.left_out && !ctx->quiet)
		fprintf(ctx->err,
			"sandglass: tree: %zu files not written: only their names and hashes are recorded\n",
			l.left_out);
	if (rc == 0)
		say_written(&l, to);
	return rc;
}

int cmd_tree(struct cmd_ctx *ctx)
{
	struct files_at f;
	struct err err = ERR_INIT;
	const char *to = cmd_opt(ctx, "output");
	int rc = files_at_open(&f, ctx, cmd_word(ctx, 0), &err);
	if (rc == 0 && to)
		rc = cmd_tree_write_all(ctx, &f, to, &err);
	for (size_t i = 0; rc == 0 && !to && i < f.layers.nr; i++) {
		struct lister l = { .ctx = ctx, .s = f.s, .layer = &f.layers.item[i], .dir = -1 };
		if (f.layers.nr > 1 && !ctx->json) {
			fputs("# sandbox ", ctx->out);
			cmd_print_safe(ctx->out, l.layer->box_name, strlen(l.layer->box_name),
				       false);
			fprintf(ctx->out, ", after #%" PRIu64 "\n", l.layer->snapshot);
		}
		rc = cmd_tree_one_layer(&l, false, &err);
	}
	files_at_release(&f);
	return rc < 0 ? cmd_fail(ctx, &err) : EXIT_DONE;
}
