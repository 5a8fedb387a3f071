/* The tool as parent of a command: how it ends, and that it does not put out more than is fetched
 * (wire/tool.h 12). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "guest/tool.h"

enum { LOOK_MS = 20 };
static const int64_t AHEAD_MOST = 16 << 20, AHEAD_AGAIN = 4 << 20;

struct command {
	int dir; /* its directory */
	pid_t pid;
	int64_t fetched;
};

static int64_t size_of(const struct command *c, const char *name)
{
	struct stat st;
	return fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0;
}

static int64_t ends_fetched(struct command *c)
{
	char text[32];
	CLEANUP(fd_close) int fd = openat(c->dir, "r", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n > 0) { /* else it is being written */
		text[n] = 0;
		c->fetched = strtoll(text, NULL, 10);
	}
	return c->fetched;
}

/* All of its group, if it has one of its own. */
static void ends_tell(const struct command *c, int signo)
{
	if (kill(-c->pid, signo) < 0)
		kill(c->pid, signo);
}

/* The mark is the state: a process that signals the command removes the mark and lets the command
 * continue, so that it receives the signal. */
static void keep_back(struct command *c)
{
	bool stands = faccessat(c->dir, "z", F_OK, 0) == 0;
	int64_t there = size_of(c, "o") + size_of(c, "e"),
		ahead = there > AHEAD_AGAIN ? there - ends_fetched(c) : 0;
	if (stands && ahead < AHEAD_AGAIN) {
		unlinkat(c->dir, "z", 0);
		ends_tell(c, SIGCONT);
	} else if (!stands && ahead > AHEAD_MOST) {
		CLEANUP(fd_close)
		int fd = openat(c->dir, "z", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			ends_tell(c, SIGSTOP);
	}
}

static int say_end(const struct command *c, int code, int signo)
{
	struct err err = ERR_INIT;
	CLEANUP(fd_close)
	int fd = openat(c->dir, "s", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CLEANUP(free_ptr) char *text = mem_printf("%d %d\n", code, signo);
	if (fd < 0 || fd_write_all(fd, text, strlen(text), &err) < 0)
		/* who looks has our own status yet */
		fprintf(stderr, "can't write the exit status\n");
	return signo ? 128 + signo : code;
}

static int ends_wait_for(struct command *c, const sigset_t *child)
{
	const struct timespec a_while = { .tv_nsec = LOOK_MS * 1000000L };
	int status = 0;
	pid_t got;
	while ((got = waitpid(c->pid, &status, WNOHANG)) == 0) {
		keep_back(c);
		sigtimedwait(child, NULL, &a_while);
	}
	if (unlinkat(c->dir, "z", 0) == 0)
		kill(-c->pid, SIGCONT); /* what it has left */
	return status;
}

int tool_ends(char **argv)
{
	sigset_t child, before;
	struct command c = { .dir = open(argv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	c.pid = fork();
	if (c.pid == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		execvp(argv[1], argv + 1);
		int why = errno;
		fprintf(stderr, "%s: %s\n", argv[1], strerror(why));
		_exit(why == ENOENT ? 127 : 126);
	}
	if (c.pid < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 126;
	}
	int status = ends_wait_for(&c, &child);
	int code = say_end(&c, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
			   WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	fd_close(&c.dir);
	return code;
}
