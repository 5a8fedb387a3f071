#include "sessions/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/lib/cmd.h"
#include "supervisor/super.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

enum { OPTS_FD = 3, READY_FD = 4, READY_MAX = 64 << 10, OPTS_MAX = 64 << 20 };

void spawned_release(struct spawned *s)
{
	free(s->id);
	free(s->path);
	free(s->socket);
	*s = (struct spawned){ 0 };
}

/* Where its own words go: the terminal belongs to whoever looks. */
static int open_log(void)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *dir = paths_state("");
	CLEANUP(free_ptr) char *path = paths_state("supervisor.log");
	if (dir_make(dir, 0700, &err) < 0)
		return open("/dev/null", O_WRONLY | O_CLOEXEC);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd >= 0 ? fd : open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static NORETURN void become_supervisor(int opts, int ready)
{
	int null = open("/dev/null", O_RDWR), log = open_log();
	setsid();
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	/* above all fixed numbers first: they may be in each other's place */
	opts = fcntl(opts, F_DUPFD, 10);
	ready = fcntl(ready, F_DUPFD, 10);
	log = fcntl(log, F_DUPFD, 10);
	dup2(null, 0);
	dup2(log, 1);
	dup2(log, 2);
	dup2(opts, OPTS_FD);
	dup2(ready, READY_FD);
	close_range(5, ~0U, 0);
	execl("/proc/self/exe", "sandglass", "supervise", (char *)NULL);
	_exit(127);
}

static int read_ready(int fd, int pid, struct spawned *out, struct err *err)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	if (fd_read_all(fd, &line, READY_MAX, err) < 0 || !line.len) {
		waitpid(pid, NULL, 0);
		CLEANUP(free_ptr) char *log = paths_state("supervisor.log");
		err_set(err, ERR_CLOSED,
			"the supervisor ended before it was ready; its last words are in '%s'",
			log);
		return EXIT_UNSUCCESSFUL;
	}
	CLEANUP(json_release)
	json_t *j = json_parse(line.data, line.len, "answer of the supervisor", err);
	if (!j)
		return EXIT_UNSUCCESSFUL;
	const char *why = json_str(j, "error", NULL);
	if (why) {
		waitpid(pid, NULL, 0);
		err_set(err, ERR_INVALID, "%s", why);
		return (int)json_int(j, "status", EXIT_UNSUCCESSFUL);
	}
	out->id = mem_strdup(json_str(j, "id", ""));
	out->path = mem_strdup(json_str(j, "path", ""));
	out->socket = mem_strdup(json_str(j, "socket", ""));
	out->pid = pid;
	return 0;
}

int spawn_supervisor(const json_t *opts, struct spawned *out, struct err *err)
{
	int to[2], from[2];
	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0) {
		err_sys(err, "cannot make a pipe");
		return EXIT_UNSUCCESSFUL;
	}
	int pid = fork();
	if (pid < 0) {
		err_sys(err, "cannot start the supervisor");
		return EXIT_UNSUCCESSFUL;
	}
	if (pid == 0)
		become_supervisor(to[0], from[1]);
	close(to[0]);
	close(from[1]);
	CLEANUP(free_ptr) char *text = json_dump_str(opts);
	signal(SIGPIPE, SIG_IGN);
	if (fd_write_all(to[1], text, strlen(text), err) < 0)
		*err = ERR_INIT; /* it has died: what it said comes below */
	close(to[1]);
	int status = read_ready(from[0], pid, out, err);
	close(from[0]);
	return status;
}

/* --- the other side --- */

static char **spawn_strings(const json_t *list)
{
	size_t n = json_array_size(list);
	char **v = mem_calloc(n + 1, sizeof(*v));
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < n; i++) {
		json_get_bytes(json_array_get(list, i), &b);
		v[i] = mem_strdup(buf_cstr(&b));
	}
	buf_release(&b);
	return v;
}

static void free_strings(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

int cmd_supervise(struct cmd_ctx *ctx)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf script = BUF_INIT;
	struct err err = ERR_INIT;
	if (fcntl(OPTS_FD, F_GETFD) < 0)
		return cmd_usage(ctx, "'run' starts this by itself");
	fcntl(READY_FD, F_SETFD, FD_CLOEXEC);
	if (fd_read_all(OPTS_FD, &text, OPTS_MAX, &err) < 0)
		return cmd_fail(ctx, &err);
	close(OPTS_FD);
	CLEANUP(json_release)
	json_t *j = json_parse(text.data, text.len, "options of the supervisor", &err);
	if (!j)
		return cmd_fail(ctx, &err);
	json_get_bytes(json_object_get(j, "script"), &script);
	char **args = spawn_strings(json_object_get(j, "args")),
	     **policy = spawn_strings(json_object_get(j, "policy")),
	     **hash_only = json_array_size(json_object_get(j, "hash_only"))
				   ? spawn_strings(json_object_get(j, "hash_only"))
				   : NULL;
	struct super_opts o = {
		.name = json_str(j, "name", "session"),
		.script_path = json_str(j, "script_path", NULL),
		.script = buf_cstr(&script),
		.script_len = script.len,
		.args = args,
		.sessions_dir = json_str(j, "sessions_dir", NULL),
		.resume = json_str(j, "resume", NULL),
		.fork_model = json_str(j, "fork_model", NULL),
		.model = json_str(j, "model", NULL),
		.backend = json_str(j, "backend", NULL),
		.hold = json_str(j, "hold", NULL),
		.policy = (const char *const *)policy,
		.notify = json_str(j, "notify", NULL),
		.notify_when = json_str(j, "notify_when", NULL),
		.share = json_str(j, "share", NULL),
		.budget = json_object_get(j, "budget"),
		.roots = json_object_get(j, "roots"),
		.box = json_object_get(j, "box"),
		.hash_only = (const char *const *)hash_only,
		.nr_hash_only = json_array_size(json_object_get(j, "hash_only")),
		.pool = (int)json_int(j, "pool", -1),
		.secrets = json_object_get(j, "secrets"),
		.saved_us = json_int(j, "saved_us", 0),
		.cassette = json_str(j, "cassette", NULL),
		.cassette_add = json_flag(j, "cassette_add", false),
		.cassette_speed = (unsigned)json_int(j, "cassette_speed", 0),
		.models = json_object_get(j, "models"),
		.prices = json_object_get(j, "prices"),
		.search = json_object_get(j, "search"),
		.otlp = json_object_get(j, "otlp"),
		.step = json_flag(j, "step", false),
		.no_input = json_flag(j, "no_input", false),
		.accept_reduced = json_flag(j, "accept_reduced", false),
		.stand = json_flag(j, "stand", false),
		.ask_timeout_us = json_int(j, "ask_timeout_us", 0),
		.box_uid = (unsigned)json_int(j, "box_uid", 0),
		.keep_file_bytes = (uint64_t)json_int(j, "keep_file_bytes", 0),
		.ready_fd = READY_FD,
	};
	int status = super_run(&o);
	free_strings(args);
	free_strings(policy);
	free_strings(hash_only);
	return status;
}
