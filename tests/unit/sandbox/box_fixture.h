/* For tests that open real boxes: a launcher, a loop that is turned until something has
 * happened, temporary directories. */
#ifndef BOX_FIXTURE_H
#define BOX_FIXTURE_H

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/driver.h"
#include "sandbox/common/launcher_client.h"
#include "sandbox/process/process.h"
#include "tap.h"

static struct loop *fx_loop;
static struct launcher *fx_launcher;
static char fx_dir[4096]; /* of this run; removed at the end */

struct answer {
	bool here;
	json_t *result; /* owned */
	struct err err;
};

__attribute__((unused)) static void fx_done(void *self, json_t *result, const struct err *err)
{
	struct answer *a = self;
	a->here = true;
	a->result = json_incref(result);
	if (err)
		a->err = *err;
}

__attribute__((unused)) static void fx_wait(const bool *here)
{
	int64_t until = clock_mono_us() + 30 * 1000000LL;
	while (!*here && clock_mono_us() < until)
		loop_turn(fx_loop, 200);
	if (!*here) {
		printf("Bail out! nothing happened for 30 s\n");
		exit(1);
	}
}

/* The program beside the tests' directory, as the build makes it. */
__attribute__((unused)) static char *fx_program(const char *name)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = 0;
	for (int i = 0; i < 3 && strrchr(self, '/'); i++)
		*strrchr(self, '/') = 0;
	return path_join(self, name);
}

__attribute__((unused)) static void fx_start(void)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *program = fx_program("sandglass-launcher");
	struct launcher_opts o = { .program = program };
	hash_init();
	if (access(program, X_OK) < 0)
		skip_all("sandglass-launcher is not built");
	snprintf(fx_dir, sizeof(fx_dir), "/tmp/sandglass-test-%d", (int)getpid());
	if (mkdir(fx_dir, 0755) < 0 || loop_new(&fx_loop, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
	fx_launcher = launcher_start(fx_loop, &o, NULL, NULL, &err);
	if (!fx_launcher) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
}

__attribute__((unused)) static void fx_drained(void *self)
{
	*(bool *)self = true;
}

__attribute__((unused)) static int fx_end(void)
{
	struct err err = ERR_INIT;
	bool drained = false;
	process_pool_drain(fx_loop, fx_drained, &drained);
	fx_wait(&drained);
	launcher_stop(&fx_launcher);
	loop_free(fx_loop);
	if (dir_remove(fx_dir, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}

__attribute__((unused)) static char *fx_path(const char *name)
{
	return path_join(fx_dir, name);
}

__attribute__((unused)) static void fx_file(const char *dir, const char *name, const char *text,
					    mode_t mode)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = path_join(dir, name);
	CLEANUP(free_ptr) char *parent = mem_strndup(path, (size_t)(strrchr(path, '/') - path));
	CLEANUP(fd_close) int fd = -1;
	if (dir_make(parent, 0755, &err) == 0)
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, text, strlen(text), &err) < 0 || fchmod(fd, mode) < 0)
		printf("# cannot write %s: %s\n", path, err.text);
}

/* Opens; NULL with @err_out set where it cannot be done. */
__attribute__((unused)) static struct box *fx_open(const struct box_opts *o, json_t **result_out,
						   struct err *err_out)
{
	struct answer a = { 0 };
	struct box *b = driver_process.open(fx_loop, o, fx_done, &a);
	fx_wait(&a.here);
	if (!a.result) {
		*err_out = a.err;
		return NULL;
	}
	if (result_out)
		*result_out = a.result;
	else
		json_release(&a.result);
	return b;
}

/* The simplest one: one repository (or none) at /workspace. */
__attribute__((unused)) static struct box *fx_box(const char *name, const char *repo,
						  json_t **result_out)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *tail = mem_printf("state-%s", name);
	CLEANUP(free_ptr) char *state = fx_path(tail);
	struct box_repo r = { .name = "", .host_dir = repo };
	struct box_opts o = {
		.name = name, .state_dir = state, .repo = &r, .nr_repos = repo ? 1 : 0
	};
	struct box *b = fx_open(&o, result_out, &err);
	if (!b)
		printf("# cannot open a box: %s\n", err.text);
	return b;
}

__attribute__((unused)) static bool fx_close(struct box *b)
{
	struct answer a = { 0 };
	b->driver->close(b, fx_done, &a);
	fx_wait(&a.here);
	bool empty = json_flag(a.result, "empty", true);
	json_release(&a.result);
	return empty;
}

/* For tests of boxes with namespaces: where none can be opened (a plain container) there is
 * nothing to test. */
__attribute__((unused)) static void fx_need_namespaces(void)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *state = fx_path("state-try");
	struct box_opts o = { .name = "try", .state_dir = state };
	struct box *b = fx_open(&o, NULL, &err);
	if (b) {
		fx_close(b);
		return;
	}
	if (!strstr(err.text, "reduced is possible"))
		return; /* no missing feature explains this: let the test fail */
	launcher_stop(&fx_launcher);
	if (dir_remove(fx_dir, &(struct err){ 0 }) < 0)
		printf("# %s is left\n", fx_dir);
	skip_all("boxes with namespaces cannot be opened here: %s", err.text);
}

struct ran {
	bool here, lost;
	int code, signal, left;
	struct buf out, err;
};

__attribute__((unused)) static void fx_output(void *self, int stream, const void *bytes, size_t len)
{
	struct ran *r = self;
	buf_append(stream == 2 ? &r->err : &r->out, bytes, len);
}

__attribute__((unused)) static void fx_exit(void *self, int code, int signal, bool lost, int left)
{
	struct ran *r = self;
	r->here = true;
	r->code = code;
	r->signal = signal;
	r->lost = lost;
	r->left = left;
}

static const struct run_ops fx_run_ops = { .on_output = fx_output, .on_exit = fx_exit };

/* Runs a shell command to its end. */
__attribute__((unused)) static struct ran fx_sh(struct box *b, const char *command)
{
	struct ran r = { 0 };
	char sh[] = "sh", c[] = "-c";
	char *argv[] = { sh, c, mem_strdup(command), NULL };
	struct run_opts o = { .argv = argv, .nr_argv = 3 };
	struct run *run = b->driver->run_prepare(b, &o, &fx_run_ops, &r);
	b->driver->run_go(run);
	fx_wait(&r.here);
	b->driver->run_free(run);
	free(argv[2]);
	if (r.err.len)
		printf("# stderr: %.400s\n", buf_cstr(&r.err));
	return r;
}

__attribute__((unused)) static void fx_ran_release(struct ran *r)
{
	buf_release(&r->out);
	buf_release(&r->err);
}

/* Standard output of a shell command without its last newline; returns owned. */
__attribute__((unused)) static char *fx_out(struct box *b, const char *command)
{
	struct ran r = fx_sh(b, command);
	while (r.out.len && r.out.data[r.out.len - 1] == '\n')
		r.out.data[--r.out.len] = 0;
	char *s = mem_strdup(buf_cstr(&r.out));
	fx_ran_release(&r);
	return s;
}

#define out_is(box, command, want, what)                                                           \
	do {                                                                                       \
		char *got_ = fx_out((box), (command));                                             \
		is_str(got_, (want), (what));                                                      \
		free(got_);                                                                        \
	} while (0)

#endif
