#include "sessions/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/lib/cmd.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

void spawned_release(struct spawned *s)
{
	free(s->id);
	free(s->path);
	free(s->socket);
	*s = (struct spawned){ 0 };
}

/* The log of its messages: the terminal belongs to the console. */
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
	dup2(opts, SPAWN_OPTS_FD);
	dup2(ready, SPAWN_READY_FD);
	close_range(5, ~0U, 0);
	execl("/proc/self/exe", "sandglass", "supervise", (char *)NULL);
	_exit(127);
}

static int read_ready(int fd, int pid, struct spawned *out, struct err *err)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	if (fd_read_all(fd, &line, SPAWN_READY_MAX, err) < 0 || !line.len) {
		waitpid(pid, NULL, 0);
		CLEANUP(free_ptr) char *log = paths_state("supervisor.log");
		err_set(err, ERR_CLOSED, "the supervisor ended during its start\nIts log is '%s'.",
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
		err_set(err, ERR_INVALID, "%s\n%s", why, json_str(j, "hint", ""));
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
		err_sys(err, "can't create a pipe");
		return EXIT_UNSUCCESSFUL;
	}
	int pid = fork();
	if (pid < 0) {
		err_sys(err, "can't start the supervisor");
		return EXIT_UNSUCCESSFUL;
	}
	if (pid == 0)
		become_supervisor(to[0], from[1]);
	close(to[0]);
	close(from[1]);
	CLEANUP(free_ptr) char *text = json_dump_str(opts);
	signal(SIGPIPE, SIG_IGN);
	if (fd_write_all(to[1], text, strlen(text), err) < 0)
		*err = ERR_INIT; /* it has died: its message follows */
	close(to[1]);
	int status = read_ready(from[0], pid, out, err);
	close(from[0]);
	return status;
}

/* --- the other side --- */
