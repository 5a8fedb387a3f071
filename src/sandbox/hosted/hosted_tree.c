/* The workspace of a rented box: a directory of ours that mirrors it (mirror.h), so that its
 * trees are looked at here. Our guest program goes over once and does there what the mirror asks
 * for. */
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/common/launcher_client.h"
#include "sandbox/hosted/hosted_priv.h"
#include "wire/tool.h"

/* A transferred file is in memory some times, so a hundred sandboxes do not transfer at once. */
enum { TOOL_FILE_MAX = 64 << 20, FILLED_AT_ONCE = 8 };

/* --- our program there --- */

struct tool_run {
	struct remote *remote;
	struct run *run;
	struct buf out, err;
	mirror_done_fn *done;
	void *done_self;
};

static void hosted_tree_on_output(void *self, int stream, const void *bytes, size_t len)
{
	struct tool_run *t = self;
	buf_append(stream == 2 ? &t->err : &t->out, bytes, len);
}

static void free_later(void *self)
{
	struct tool_run *t = self;
	hosted_run_free(t->run);
	buf_release(&t->out);
	buf_release(&t->err);
	free(t);
}

static void hosted_tree_on_exit_(void *self, int code, int signal, bool lost, int left)
{
	struct tool_run *t = self;
	struct err err = ERR_INIT;
	(void)left;
	if (lost) {
		err_set(&err, ERR_CLOSED, "can't reach the files of the sandbox%s%.300s",
			t->err.len ? ": " : "", buf_cstr(&t->err));
		t->done(t->done_self, NULL, 0, &err);
	} else {
		mirror_answer(buf_cstr(&t->out), t->out.len, code, signal, buf_cstr(&t->err),
			      t->done, t->done_self);
	}
	loop_defer(t->remote->loop, free_later, t);
}

static void hosted_tree_tool(void *self, char *const *arg, const void *in, size_t len,
			     mirror_done_fn *done, void *done_self)
{
	static const struct run_ops ops = { .on_output = hosted_tree_on_output,
					    .on_exit = hosted_tree_on_exit_ };
	struct remote *r = self;
	struct tool_run *t = NEW(struct tool_run);
	CLEANUP(free_ptr) char *program = mem_printf("%s/tool", r->base);
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	*t = (struct tool_run){ .remote = r, .done = done, .done_self = done_self };
	strv_push(&argv, program);
	strv_push(&argv, TOOL_OPTION);
	for (; *arg; arg++)
		strv_push(&argv, *arg);
	const struct run_opts o = {
		.argv = argv.item, .nr_argv = argv.nr, .cwd = "/", .stdin_open = len > 0
	};
	t->run = hosted_run_prepare(&r->b, &o, &ops, t);
	hosted_run_quiet(t->run);
	hosted_run_go(t->run);
	if (len)
		hosted_run_stdin(t->run, in, len, true);
}

/* --- opening --- */

int hosted_tree_take(struct remote *r, const struct box_opts *o, struct err *err)
{
	struct launcher *la = launcher_current();
	if (layers_check(o, err) < 0)
		return -1;
	layers_take(&r->layers, o);
	const struct folder_opts f = {
		.loop = r->loop,
		.state_dir = o->state_dir,
		.name = "files",
		.uid = geteuid() == 0 && la ? launcher_info(la)->uid : geteuid(),
		.gid = geteuid() == 0 && la ? launcher_info(la)->gid : getegid()
	};
	r->folder = folder_new(&f);
	const struct mirror_opts m = { .loop = r->loop,
				       .folder = r->folder,
				       .far_root = REMOTE_WORKSPACE,
				       .run = hosted_tree_tool,
				       .self = r };
	r->mirror = mirror_new(&m);
	return dir_make(o->state_dir, 0700, err);
}

static void hosted_tree_make_files(void *self)
{
	struct remote *r = self;
	r->layers.copy = true;
	if (layers_scan(&r->layers, &r->why) == 0) {
		if (folder_fill(r->folder, &r->layers, &r->why) < 0)
			err_wrap(&r->why, "can't copy the workspace for the sandbox");
	}
}

static void hosted_tree_files_made(void *self)
{
	struct remote *r = self;
	take (&r->tree_done)(r);
}

/* --- its turn --- */

static bool list_drop(struct remote **list, const struct remote *r)
{
	while (*list && *list != r)
		list = &(*list)->next_filled;
	if (!*list)
		return false;
	*list = r->next_filled;
	return true;
}

static void send_tool(void *self);

/* The first of those that wait, while there is room; from the loop, so that nobody is answered from
 * inside a call. */
static void fill_next(struct remote_provider *of)
{
	size_t nr = 0;
	for (const struct remote *r = of->filling; r; r = r->next_filled)
		nr++;
	for (struct remote *r; nr < FILLED_AT_ONCE && (r = of->to_fill); nr++) {
		of->to_fill = r->next_filled;
		r->next_filled = of->filling;
		of->filling = r;
		r->turn = loop_timer_new(r->loop, send_tool, r);
		loop_timer_set(r->turn, 0, 0);
	}
}

static void fill_over(struct remote *r)
{
	loop_timer_free(&r->turn);
	if (list_drop(&r->of->filling, r) || list_drop(&r->of->to_fill, r))
		fill_next(r->of);
	if (!r->of->filling)
		malloc_trim(0);
}

static void hosted_tree_files_there(void *self)
{
	struct remote *r = self;
	fill_over(r);
	take (&r->tree_done)(r);
}

void hosted_tree_fill(struct remote *r, loop_fn *done)
{
	r->tree_done = done;
	loop_job_run(r->loop, hosted_tree_make_files, hosted_tree_files_made, r);
}

static void hosted_tree_push(void *self)
{
	struct remote *r = self;
	if (mirror_push(r->mirror, &r->why) < 0)
		err_wrap(&r->why, "can't send the workspace to the sandbox");
}

static void on_tool_there(void *self, json_t *result, const struct err *err)
{
	struct remote *r = self;
	(void)result;
	if (err) {
		r->why = *err;
		err_wrap(&r->why, "can't copy the guest program into the sandbox");
		hosted_tree_files_there(r);
		return;
	}
	loop_job_run(r->loop, hosted_tree_push, hosted_tree_files_there, r);
}

static void send_tool(void *self)
{
	struct remote *r = self;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	CLEANUP(free_ptr)
	char *guest = paths_libexec("sandglass-guest"), *packed = mem_printf("%s.gz", guest);
	CLEANUP(free_ptr) char *there = mem_printf("%s/tool", r->base);
	struct err err = ERR_INIT;
	loop_timer_free(&r->turn);
	/* half as much to send */
	if (r->has_gzip && file_read(packed, &bytes, TOOL_FILE_MAX, &err) == 0) {
		hosted_put_packed(r, there, bytes.data, bytes.len, 0755, on_tool_there, r);
		return;
	}
	if (file_read(guest, &bytes, TOOL_FILE_MAX, &err) < 0)
		bytes.len = 0; /* sends an invalid program then, as its first use reports */
	r->b.driver->write(&r->b, there, bytes.data, bytes.len, 0755, on_tool_there, r);
}

void hosted_tree_send(struct remote *r, loop_fn *done)
{
	struct remote **last = &r->of->to_fill;
	r->tree_done = done;
	while (*last)
		last = &(*last)->next_filled;
	r->next_filled = NULL;
	*last = r;
	fill_next(r->of);
}

void hosted_tree_over(struct remote *r)
{
	mirror_over(r->mirror);
}

void hosted_tree_free(struct remote *r)
{
	fill_over(r);
	mirror_free(&r->mirror);
	folder_free(&r->folder);
	layers_release(&r->layers);
}

/* --- as box_tree_ops has them --- */

static struct remote *hosted_tree_of(struct box *b)
{
	return CONTAINER_OF(b, struct remote, b);
}

/* Before files are read: brings changes over there here. */
static int hosted_tree_fresh(struct box *b, bool ended, struct err *err)
{
	struct remote *r = hosted_tree_of(b);
	unsigned changes = __atomic_load_n(&r->changes, __ATOMIC_ACQUIRE);
	bool same = r->pulled == changes && !__atomic_load_n(&r->running, __ATOMIC_ACQUIRE);
	if (same)
		return 0;
	if (mirror_pull(r->mirror, ended, err) < 0)
		return err_wrap(err, "files of the sandbox");
	r->pulled = changes;
	return 0;
}

static int hosted_tree_root(struct box *b, size_t i, const char *which, struct err *err)
{
	size_t layer;
	struct remote *r = hosted_tree_of(b);
	const char *name = layers_name(&r->layers, i, &layer, err);
	return name ? folder_tree(r->folder, layer, name, which, err) : -1;
}

static int hosted_tree_open(struct box *b, size_t i, const char *which, const char *path,
			    struct err *err)
{
	size_t layer;
	const char *name = layers_name(&hosted_tree_of(b)->layers, i, &layer, err);
	return name ? folder_tree_open(hosted_tree_of(b)->folder, layer, name, which, path, err)
		    : -1;
}

static int hosted_tree_apply(struct box *b, size_t i, const char *plan, size_t len, const int *fds,
			     size_t nr_fds, struct err *err)
{
	size_t layer;
	struct remote *r = hosted_tree_of(b);
	const char *name = layers_name(&r->layers, i, &layer, err);
	if (!name)
		return -1;
	if (*name == ':') /* the home directory has no mirror */
		return folder_tree_apply(r->folder, layer, name, plan, len, fds, nr_fds, err);
	return mirror_apply(r->mirror, name, plan, len, fds, nr_fds, err);
}

static json_t *hosted_tree_seed(struct box *b)
{
	return folder_tree_seed(hosted_tree_of(b)->folder, &hosted_tree_of(b)->layers);
}

const struct box_tree_ops hosted_tree = {
	.root = hosted_tree_root,
	.open = hosted_tree_open,
	.apply = hosted_tree_apply,
	.overlay = folder_tree_overlay,
	.list = folder_tree_list,
	.seed = hosted_tree_seed,
	.fresh = hosted_tree_fresh,
};
