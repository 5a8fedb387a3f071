#include "supervisor/box/hostrun.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

enum { GRACE_MS = 2000, CHUNK = 65536, DRAIN_MS = 200, FLOOD_POLL_MS = 5 };

/* One command. It has ended when its process has and both pipes are drained (or 200 ms later: a
 * grandchild in the background may keep them open). */
struct hostrun {
	struct loop *loop;
	const struct hostrun_at *at;
	struct action *action;
	int pidfd, in, out[2];
	const char *input; /* borrowed from the spec or the vault */
	size_t input_len, in_done;
	struct loop_fd *watch_pid, *watch_in, *watch_out[2];
	struct loop_timer *timer, *flood;
	enum action_end end;
	int status;
	bool exited;
};

static void close_pipe(struct loop_fd **w, int *fd)
{
	loop_fd_free(w);
	fd_close(fd);
}

static void hostrun_finish(struct hostrun *r)
{
	struct action *a = r->action;
	json_t *body = json_object();
	json_put_int(body, r->status >= 256 ? "signal" : "code",
		     r->status >= 256 ? r->status - 256 : r->status);
	close_pipe(&r->watch_in, &r->in);
	close_pipe(&r->watch_out[0], &r->out[0]);
	close_pipe(&r->watch_out[1], &r->out[1]);
	close_pipe(&r->watch_pid, &r->pidfd);
	loop_timer_free(&r->timer);
	loop_timer_free(&r->flood);
	const struct hostrun_at *at = r->at;
	enum action_end end = r->end;
	action_set_tag(a, NULL);
	free(r);
	action_ended(a, end, body);
	at->runs(at->self, -1);
}

static void maybe_finish(struct hostrun *r)
{
	if (r->exited && r->out[0] < 0 && r->out[1] < 0)
		hostrun_finish(r);
}

static void hostrun_on_drained(void *self)
{
	struct hostrun *r = self;
	if (action_flooded(r->action))
		loop_timer_set(r->timer, DRAIN_MS, 0);
	else
		hostrun_finish(r);
}

static void hostrun_on_ended(void *self, int fd, unsigned events)
{
	struct hostrun *r = self;
	struct err err = ERR_INIT;
	(void)events;
	if (proc_reap(fd, &r->status, &err) < 0)
		r->status = 255;
	r->exited = true;
	loop_fd_free(&r->watch_pid);
	loop_timer_free(&r->timer);
	r->timer = loop_timer_new(r->loop, hostrun_on_drained, r);
	loop_timer_set(r->timer, DRAIN_MS, 0);
	maybe_finish(r);
}

static void hostrun_on_output(void *self, int fd, unsigned events);

static void watch_outputs(struct hostrun *r)
{
	for (int i = 0; i < 2; i++)
		if (r->out[i] >= 0 && !r->watch_out[i])
			r->watch_out[i] =
				loop_fd_new(r->loop, r->out[i], LOOP_READ, hostrun_on_output, r);
}

static void hostrun_on_flood(void *self)
{
	struct hostrun *r = self;
	if (action_flooded(r->action))
		loop_timer_set(r->flood, FLOOD_POLL_MS, 0);
	else
		watch_outputs(r);
}

/* The recorder is behind: output stays in the pipes. */
static void stop_reading(struct hostrun *r)
{
	loop_fd_free(&r->watch_out[0]);
	loop_fd_free(&r->watch_out[1]);
	if (!r->flood)
		r->flood = loop_timer_new(r->loop, hostrun_on_flood, r);
	loop_timer_set(r->flood, FLOOD_POLL_MS, 0);
}

static void hostrun_on_output(void *self, int fd, unsigned events)
{
	struct hostrun *r = self;
	int i = fd == r->out[1];
	char bytes[CHUNK];
	(void)events;
	ssize_t n = read(fd, bytes, sizeof(bytes));
	if (n > 0) {
		action_output(r->action, i ? STREAM_ERR : STREAM_OUT, bytes, (size_t)n);
		if (action_flooded(r->action))
			stop_reading(r);
		return;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close_pipe(&r->watch_out[i], &r->out[i]);
	maybe_finish(r);
}

static void on_input(void *self, int fd, unsigned events)
{
	struct hostrun *r = self;
	(void)events;
	ssize_t n = write(fd, r->input + r->in_done, r->input_len - r->in_done);
	if (n > 0)
		r->in_done += (size_t)n;
	if ((n < 0 && errno != EAGAIN && errno != EINTR) || r->in_done == r->input_len)
		close_pipe(&r->watch_in, &r->in);
}

static void hostrun_send_signal(struct hostrun *r, int signo)
{
	if (!r->exited)
		syscall(SYS_pidfd_send_signal, r->pidfd, signo, NULL, 0);
}

static void hostrun_on_grace(void *self)
{
	hostrun_send_signal(self, SIGKILL);
}

static void hostrun_terminate(struct hostrun *r, enum action_end end)
{
	if (r->end == END_OK)
		r->end = end;
	if (r->exited)
		return; /* the timer that ends the wait for its pipes runs already */
	hostrun_send_signal(r, SIGTERM);
	loop_timer_free(&r->timer);
	r->timer = loop_timer_new(r->loop, hostrun_on_grace, r);
	loop_timer_set(r->timer, GRACE_MS, 0);
}

static void hostrun_on_timeout(void *self)
{
	hostrun_terminate(self, END_TIMEOUT);
}

static const char *secret_of(const struct hostrun_at *at, const json_t *value, size_t *len)
{
	const char *name = json_str(value, "$secret", NULL);
	return name && at->vault ? vault_value(at->vault, name, len) : NULL;
}

/* Ours, then the spec's: of two with one name the later one counts, so ours goes. */
static void hostrun_put_env(struct strv *env, const char *name, const char *value, size_t len)
{
	size_t n = strlen(name);
	CLEANUP(buf_release) struct buf word = BUF_INIT;
	buf_printf(&word, "%s=", name);
	buf_append(&word, value, len);
	for (size_t i = 0; i < env->nr; i++)
		if (!strncmp(env->item[i], name, n) && env->item[i][n] == '=') {
			free(env->item[i]);
			env->item[i] = mem_strndup(word.data, word.len);
			secret_wipe(word.data, word.len);
			return;
		}
	strv_push_bytes(env, word.data, word.len);
	secret_wipe(word.data, word.len);
}

static void full_env(const struct hostrun_at *at, const struct action_spec *spec, struct strv *env)
{
	const json_t *named = json_object_get(spec->args, "env");
	for (char **e = environ; *e; e++)
		strv_push(env, *e);
	for (size_t i = 0; i < spec->env.nr; i++) {
		const char *eq = strchr(spec->env.item[i], '=');
		if (!eq)
			continue;
		CLEANUP(free_ptr)
		char *name = mem_strndup(spec->env.item[i], (size_t)(eq - spec->env.item[i]));
		size_t len = strlen(eq + 1);
		const char *secret = secret_of(at, json_object_get(named, name), &len);
		hostrun_put_env(env, name, secret ? secret : eq + 1, len);
	}
}

static void wipe_env(struct strv *env)
{
	for (size_t i = 0; i < env->nr; i++)
		secret_wipe(env->item[i], strlen(env->item[i]));
	strv_release(env);
}

/* env -C DIR ARGV: coreutils changes the directory for us, after the fork that we do not do
 * ourselves. */
static void full_argv(const struct action_spec *spec, struct strv *out)
{
	const char *cwd = json_str(spec->args, "cwd", NULL);
	strv_push(out, "env");
	if (cwd) {
		strv_push(out, "-C");
		strv_push(out, cwd);
	}
	strv_push(out, "--");
	for (size_t i = 0; i < spec->argv.nr; i++)
		strv_push(out, spec->argv.item[i]);
}

static struct loop_fd *watch_pipe(struct hostrun *r, int fd, unsigned events, loop_fd_fn *fn)
{
	struct err err = ERR_INIT;
	if (fd_nonblock(fd, &err) < 0)
		return NULL;
	return loop_fd_new(r->loop, fd, events, fn, r);
}

/* env would take a first word NAME=VALUE for a variable and run the next one, which no rule has
 * seen as the program. */
static int check_program(const struct action_spec *spec, struct err *err)
{
	const char *program = spec->argv.nr ? spec->argv.item[0] : "";
	if (!*program || strchr(program, '='))
		return err_set(
			err, ERR_INVALID,
			"expected a program, got '%.100s'\nPut variables into env = { NAME = \"VALUE\" }.",
			program);
	return 0;
}

static int make_pipes(bool input, int in[2], int out[2], int errs[2], struct err *err)
{
	if ((!input || pipe2(in, O_CLOEXEC) == 0) && pipe2(out, O_CLOEXEC) == 0 &&
	    pipe2(errs, O_CLOEXEC) == 0)
		return 0;
	err_sys(err, "can't create a pipe");
	for (int i = 0; i < 2; i++) {
		fd_close(&in[i]);
		fd_close(&out[i]);
	}
	return -1;
}

static void hostrun_start(void *self, struct action *a)
{
	const struct action_spec *spec = action_spec(a);
	const struct hostrun_at *at = self;
	struct hostrun *r = NEW(struct hostrun);
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, errs[2] = { -1, -1 }, pid;
	struct err err = ERR_INIT;
	r->loop = at->loop;
	r->at = at;
	r->action = a;
	r->input = secret_of(at, json_object_get(spec->args, "stdin"), &r->input_len);
	if (!r->input) {
		r->input = spec->stdin_bytes;
		r->input_len = spec->stdin_len;
	}
	r->in = r->pidfd = -1;
	if (check_program(spec, &err) < 0 ||
	    make_pipes(r->input_len > 0, in, out, errs, &err) < 0) {
		free(r);
		action_fail(a, &err);
		return;
	}
	struct strv argv = STRV_INIT, env = STRV_INIT;
	int fds[3] = { in[0], out[1], errs[1] };
	full_argv(spec, &argv);
	full_env(at, spec, &env);
	int rc = proc_spawn("/usr/bin/env", argv.item, env.item, fds, 3, &pid, &r->pidfd, &err);
	strv_release(&argv);
	wipe_env(&env);
	fd_close(&in[0]);
	close(out[1]);
	close(errs[1]);
	r->out[0] = out[0];
	r->out[1] = errs[0];
	r->in = in[1];
	if (rc < 0) {
		close(out[0]);
		close(errs[0]);
		fd_close(&r->in);
		free(r);
		action_fail(a, &err);
		return;
	}
	action_set_tag(a, r);
	at->runs(at->self, 1);
	r->watch_pid = loop_fd_new(r->loop, r->pidfd, LOOP_READ, hostrun_on_ended, r);
	r->watch_out[0] = watch_pipe(r, r->out[0], LOOP_READ, hostrun_on_output);
	r->watch_out[1] = watch_pipe(r, r->out[1], LOOP_READ, hostrun_on_output);
	if (r->in >= 0)
		r->watch_in = watch_pipe(r, r->in, LOOP_WRITE, on_input);
	if (spec->timeout_us > 0) {
		r->timer = loop_timer_new(r->loop, hostrun_on_timeout, r);
		loop_timer_set(r->timer, (uint64_t)(spec->timeout_us + 999) / 1000, 0);
	}
}

static void hostrun_cancel(void *self, struct action *a, const char *how)
{
	struct hostrun *r = action_tag(a);
	(void)self;
	if (!r)
		return;
	if (!strcmp(how, "kill")) {
		r->end = END_KILLED;
		hostrun_send_signal(r, SIGKILL);
	} else {
		hostrun_terminate(r, END_CANCELLED);
	}
}

void hostrun_effector(const struct hostrun_at *at, struct effector *out)
{
	*out = (struct effector){ .name = "host",
				  .start = hostrun_start,
				  .cancel = hostrun_cancel,
				  .self = (void *)(uintptr_t)at };
}
