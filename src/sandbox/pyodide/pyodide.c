/* The box around the interpreters: a box of the process driver, which has all verbs but those of
 * commands. */
#include "sandbox/pyodide/pyodide.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/common/driver_options.h"
#include "sandbox/pyodide/pyodide_priv.h"

enum { IMAGE_MAX = 256 << 20, LATE_MS = 60000 };

static struct pyodide *pyodide_of(struct box *b)
{
	return CONTAINER_OF(b, struct pyodide, b);
}

/* --- the end --- */

static void pyodide_release(struct pyodide *p)
{
	pyodide_place_release(&p->place);
	loop_timer_free(&p->late);
	strv_release(&p->env);
	json_release(&p->result);
	buf_release(&p->image);
	buf_release(&p->said);
	free(p->name);
	free(p);
}

static void pyodide_on_closed(void *self, json_t *result, const struct err *err)
{
	struct pyodide *p = self;
	box_done_fn *opened = take(&p->opened), *closed = take(&p->closed);
	if (opened)
		opened(p->opened_self, NULL, &p->failed);
	if (closed)
		closed(p->closed_self, result, err);
	pyodide_release(p);
}

static void pyodide_close_bare(void *self)
{
	CLEANUP(json_release) json_t *empty = json_object();
	pyodide_on_closed(self, empty, NULL);
}

static void pyodide_leave(struct pyodide *p)
{
	p->closing = true;
	if (p->busy || p->leaving)
		/* the worker comes back first; who closes it while a failure is on its way comes
		 * here twice */
		return;
	p->leaving = true;
	loop_timer_free(&p->late);
	pyodide_spare_end(p);
	if (p->making)
		driver_process.run_free(take(&p->making));
	if (p->in)
		driver_process.close(p->in, pyodide_on_closed, p);
	else
		loop_defer(p->loop, pyodide_close_bare, p);
}

static void pyodide_box_close(struct box *b, box_done_fn *done, void *self)
{
	struct pyodide *p = pyodide_of(b);
	p->closed = done;
	p->closed_self = self;
	pyodide_leave(p);
}

/* --- opening --- */

static void later_leave(void *self)
{
	pyodide_leave(self);
}

static void pyodide_fail(struct pyodide *p, const struct err *err)
{
	if (p->open || p->closing)
		return;
	p->closing = true;
	p->failed = *err;
	loop_defer(p->loop, later_leave, p); /* not from inside a run's own callback */
}

static void pyodide_begin(void *self);

/* The line that names the error, among those that node prints around it; else the last one. */
static void telling_line(const char *said, char *out, size_t cap)
{
	const char *best = "";
	int len = 0;
	for (const char *p = said, *end; *p; p = *end ? end + 1 : end) {
		end = p + strcspn(p, "\r\n");
		if (end == p)
			continue;
		best = p;
		len = (int)(end - p);
		if (memmem(p, (size_t)len, "Error: ", 7))
			break;
	}
	snprintf(out, cap, "%.*s", len, best);
}

void pyodide_failed(struct pyodide *p, const char *said)
{
	char line[240];
	struct err err = ERR_INIT;
	if (!p->open && !p->closing && !p->made && access(p->place.memory, F_OK) == 0) {
		unlink(p->place.memory); /* it may be that: made anew, once */
		loop_defer(p->loop, pyodide_begin, p);
		return;
	}
	/* it walks the machine's own paths */
	bool reduced = p->in && strcmp(p->in->profile, "reduced") == 0;
	telling_line(said, line, sizeof(line));
	err_set(&err, ERR_UNSUPPORTED, "backend pyodide: %.80s can't start %.120s: %s%s",
		p->place.node, p->place.package, *line ? line : "it ended without output",
		reduced ? "; with isolation level reduced, every user must be able to read both"
			: "");
	pyodide_fail(p, &err);
}

void pyodide_ready(struct pyodide *p)
{
	box_done_fn *done = take(&p->opened);
	if (p->open || !done)
		return;
	json_t *lacks = json_object_get(p->result, "lacks");
	json_array_append_new(
		lacks,
		json_string(
			"Python alone: no shell, no other programs, no processes, no threads, no sockets"));
	json_array_append_new(lacks,
			      json_string("Python can't open files whose names are not UTF-8"));
	json_put_str(p->result, "pyodide", p->place.version);
	json_put_str(p->result, "package", p->place.package);
	p->open = true;
	loop_timer_free(&p->late);
	done(p->opened_self, p->result, NULL);
}

static void pyodide_too_late(void *self)
{
	CLEANUP(free_ptr) char *said = mem_printf("no output for %d s", LATE_MS / 1000);
	struct pyodide *p = self;
	pyodide_spare_end(p);
	if (p->making)
		driver_process.run_free(take(&p->making));
	pyodide_failed(p, said);
}

static void pyodide_limit(struct pyodide *p)
{
	if (!p->late)
		p->late = loop_timer_new(p->loop, pyodide_too_late, p);
	loop_timer_set(p->late, LATE_MS, 0);
}

static void first_spare(struct pyodide *p)
{
	pyodide_limit(p);
	pyodide_spare(p);
}

static void write_image(void *self)
{
	struct pyodide *p = self;
	struct err err = ERR_INIT;
	if (file_write_atomic(p->place.memory, p->image.data, p->image.len, 0644, &err) < 0)
		p->failed = err;
}

static void image_written(void *self)
{
	struct pyodide *p = self;
	struct err err = p->failed;
	p->busy = false;
	buf_release(&p->image);
	if (p->closing)
		pyodide_leave(p);
	else if (err.code)
		pyodide_fail(p, &err);
	else
		first_spare(p);
}

static void image_output(void *self, int stream, const void *bytes, size_t len)
{
	struct pyodide *p = self;
	struct buf *to = stream == 1 ? &p->image : &p->said;
	if (to->len + len <= IMAGE_MAX)
		buf_append(to, bytes, len);
}

static void free_making(void *self)
{
	struct pyodide *p = self;
	if (p->making)
		driver_process.run_free(take(&p->making));
	if (p->closing)
		return;
	p->busy = true;
	loop_job_run(p->loop, write_image, image_written, p);
}

static void image_end(void *self, int code, int signal, bool lost, int left)
{
	struct pyodide *p = self;
	(void)left;
	loop_timer_stop(p->late);
	if (code || signal || lost || !p->image.len)
		pyodide_failed(p, buf_cstr(&p->said));
	else
		loop_defer(p->loop, free_making, p);
}

static void pyodide_begin(void *self)
{
	static const struct run_ops ops = { .on_output = image_output, .on_exit = image_end };
	static const char line[] = "making the memory image that interpreters begin from (once)";
	struct pyodide *p = self;
	if (p->closing)
		return;
	if (access(p->place.memory, R_OK) == 0) {
		first_spare(p);
		return;
	}
	if (p->progress)
		p->progress(p->progress_self, line, sizeof(line) - 1);
	p->made = true;
	pyodide_limit(p);
	p->making = pyodide_engine(p, "make", NULL, false, 0, 0, &ops, p);
	driver_process.run_go(p->making);
}

static void on_box(void *self, json_t *result, const struct err *err)
{
	struct pyodide *p = self;
	if (!result) {
		p->in = NULL;
		pyodide_fail(p, err);
		return;
	}
	p->result = json_deep_copy(result);
	p->b.profile = p->in->profile;
	if (p->closing)
		pyodide_leave(p);
	else
		pyodide_begin(p);
}

static int pyodide_take_opts(struct pyodide *p, const struct box_opts *o, struct err *err)
{
	if (driver_options_check(o, "pyodide", "package, node", "lowers, copy_of", err) < 0)
		return -1;
	if (o->net || o->nr_hosts || json_array_size(o->proxies))
		return err_set(err, ERR_UNSUPPORTED,
			       "backend pyodide has no sockets; remove 'net' and 'proxies'");
	if (o->nr_roots)
		return err_set(
			err, ERR_UNSUPPORTED,
			"backend pyodide: option 'roots' is not supported, since it runs no programs");
	for (size_t i = 0; o->env && o->env[i]; i++)
		strv_push(&p->env, o->env[i]);
	return pyodide_find(o->driver, &p->place, err) < 0 ? -1 : pyodide_store(&p->place, err);
}

static char *pyodide_folder_of(const char *program)
{
	size_t len = (size_t)(strrchr(program, '/') - program);
	return mem_strndup(program, len ? len : 1);
}

/* The box sees all that lies beside node. */
static int check_node(const char *folder, struct err *err)
{
	if (!path_holds(folder, getenv("HOME")))
		return 0;
	return err_set(
		err, ERR_INVALID,
		"backend pyodide: node in '%.200s' would show your home directory to the sandbox; "
		"put node in a directory of its own",
		folder);
}

/* Directories that a process box sees anyway need no root. */
static void pyodide_add_root(struct strv *roots, const char *folder)
{
	if (strncmp(folder, "/usr/", 5) != 0)
		strv_push(roots, folder);
}

static struct box *pyodide_box_open(struct loop *l, const struct box_opts *o, box_done_fn *done,
				    void *self)
{
	struct pyodide *p = NEW(struct pyodide);
	struct err err = ERR_INIT;
	*p = (struct pyodide){ .loop = l,
			       .opened = done,
			       .opened_self = self,
			       .name = mem_strdup(o->name ? o->name : "box"),
			       .progress = o->progress,
			       .progress_self = o->progress_self };
	p->b = (struct box){ .driver = &driver_pyodide, .name = p->name, .profile = "none" };
	CLEANUP(free_ptr)
	char *node = pyodide_take_opts(p, o, &err) < 0 ? NULL : pyodide_folder_of(p->place.node);
	if (!node || check_node(node, &err) < 0) {
		pyodide_fail(p, &err);
		return &p->b;
	}
	CLEANUP(strv_release) struct strv roots = STRV_INIT;
	pyodide_add_root(&roots, p->place.store);
	pyodide_add_root(&roots, p->place.package);
	pyodide_add_root(&roots, node);
	struct box_opts in = *o;
	in.roots = (const char *const *)roots.item;
	in.nr_roots = roots.nr;
	in.roots_as_are = true;
	in.env = NULL; /* node is ours: what the box's variables say is for Python */
	in.trace = NULL;
	p->in = driver_process.open(l, &in, on_box, p);
	return &p->b;
}

/* --- what a process box does --- */

static struct box *pyodide_in(struct box *b)
{
	return pyodide_of(b)->in;
}

static void pyodide_box_read(struct box *b, const char *path, size_t max, box_done_fn *done,
			     void *self)
{
	driver_process.read(pyodide_in(b), path, max, done, self);
}

static void pyodide_box_write(struct box *b, const char *path, const void *data, size_t len,
			      int mode, box_done_fn *done, void *self)
{
	driver_process.write(pyodide_in(b), path, data, len, mode, done, self);
}

static void pyodide_box_list(struct box *b, const char *path, box_done_fn *done, void *self)
{
	driver_process.list(pyodide_in(b), path, done, self);
}

static void pyodide_box_stat(struct box *b, const char *path, box_done_fn *done, void *self)
{
	driver_process.stat(pyodide_in(b), path, done, self);
}

static void pyodide_box_freeze(struct box *b, bool frozen, box_done_fn *done, void *self)
{
	driver_process.freeze(pyodide_in(b), frozen, done, self);
}

static void pyodide_box_hear(struct box *b)
{
	driver_process.hear(pyodide_in(b));
}

static void pyodide_box_stats(struct box *b, box_done_fn *done, void *self)
{
	driver_process.stats(pyodide_in(b), done, self);
}

/* The interpreter that waits goes with the others; the next command starts one. */
static void pyodide_box_kill(struct box *b)
{
	driver_process.kill(pyodide_in(b));
}

struct refusal {
	box_done_fn *done;
	void *self;
};

static void pyodide_say_refusal(void *self)
{
	struct refusal *r = self;
	struct err err = ERR_INIT;
	err_set(&err, ERR_UNSUPPORTED, "backend pyodide has no sockets and no ports");
	r->done(r->self, NULL, &err);
	free(r);
}

static void no_port(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	struct refusal *r = NEW(struct refusal);
	*r = (struct refusal){ .done = done, .self = self };
	(void)port;
	loop_defer(pyodide_of(b)->loop, pyodide_say_refusal, r);
}

/* --- its trees --- */

static int pyodide_tree_root(struct box *b, size_t i, const char *which, struct err *err)
{
	return driver_process.tree->root(pyodide_in(b), i, which, err);
}

static int pyodide_tree_open(struct box *b, size_t i, const char *which, const char *path,
			     struct err *err)
{
	return driver_process.tree->open(pyodide_in(b), i, which, path, err);
}

static int pyodide_tree_apply(struct box *b, size_t i, const char *plan, size_t len, const int *fds,
			      size_t nr_fds, struct err *err)
{
	return driver_process.tree->apply(pyodide_in(b), i, plan, len, fds, nr_fds, err);
}

static bool pyodide_tree_overlay(struct box *b)
{
	return driver_process.tree->overlay(pyodide_in(b));
}

static json_t *pyodide_tree_list(struct box *b, size_t i, const char *which, const char *path,
				 struct err *err)
{
	return driver_process.tree->list(pyodide_in(b), i, which, path, err);
}

static json_t *pyodide_tree_seed(struct box *b)
{
	return driver_process.tree->seed(pyodide_in(b));
}

static const struct box_tree_ops pyodide_tree = {
	.root = pyodide_tree_root,
	.open = pyodide_tree_open,
	.apply = pyodide_tree_apply,
	.overlay = pyodide_tree_overlay,
	.list = pyodide_tree_list,
	.seed = pyodide_tree_seed,
};

const struct driver driver_pyodide = {
	.name = "pyodide",
	.about = "Python only, in WebAssembly, in a process sandbox without a network",
	.caps = CAP_STREAMS | CAP_STDIN | CAP_SIGNAL | CAP_PTY | CAP_FREEZE | CAP_SNAPSHOT |
		CAP_FORK | CAP_WATCH,
	.probe = pyodide_probe,
	.open = pyodide_box_open,
	.close = pyodide_box_close,
	.run_prepare = pyodide_run,
	.run_go = pyodide_go,
	.run_stdin = pyodide_stdin,
	.run_stdin_queued = pyodide_stdin_queued,
	.run_signal = pyodide_signal,
	.run_resize = pyodide_resize,
	.run_pause = pyodide_pause,
	.run_free = pyodide_run_free,
	.read = pyodide_box_read,
	.write = pyodide_box_write,
	.list = pyodide_box_list,
	.stat = pyodide_box_stat,
	.kill = pyodide_box_kill,
	.freeze = pyodide_box_freeze,
	.hear = pyodide_box_hear,
	.listen = no_port,
	.dial = no_port,
	.stats = pyodide_box_stats,
	.tree = &pyodide_tree,
};
