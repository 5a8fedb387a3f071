/* Between fork and exec: a copy of the guest that turns itself into the command. What fails is said in the slot. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/futex.h>

#include "guest/inner.h"

static _Noreturn void fail(const struct inner_child *c, unsigned step)
{
	int sys = errno;
	c->slot->sys = (uint32_t)sys;
	__atomic_store_n(&c->slot->step, step, __ATOMIC_RELEASE);
	_exit(step == GS_EXEC && (sys == ENOENT || sys == ENOTDIR) ? 127 : 126);
}

/* A child that waits has everybody's death to fear: nobody would wake it. */
static void wait_for_go(struct inner_slot *s)
{
	while (!__atomic_load_n(&s->go, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &s->go, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static int take_streams(const struct inner *g, const struct inner_child *c)
{
	for (int i = 0; i < 3; i++)
		if (dup2(c->tty >= 0 ? c->tty : c->fd[i] >= 0 ? c->fd[i] : g->null_fd, i) < 0)
			return -1;
	return 0;
}

static int enter_dir(const char *cwd)
{
	if (cwd[0] == '/')
		return chdir(cwd);
	if (chdir("/workspace") < 0 && (cwd[0] || chdir("/") < 0))
		return -1;
	return cwd[0] ? chdir(cwd) : 0;
}

static const char *search_path(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

/* execvp without its habit to hand a file that is no program to a shell. Returns on failure only. */
static void exec_command(const char *const *argv, char *const *env)
{
	char *const *args = (char *const *)(uintptr_t)argv;
	char path[PATH_MAX];
	int worst = ENOENT;
	if (strchr(argv[0], '/')) {
		execve(argv[0], args, env);
		return;
	}
	size_t name = strlen(argv[0]);
	for (const char *dir = search_path(env), *end; *dir; dir = *end ? end + 1 : end) {
		end = strchrnul(dir, ':');
		size_t len = (size_t)(end - dir);
		if (len == 0 || name == 0 || len + 1 + name >= sizeof path)
			continue; /* an empty entry would mean the working directory */
		memcpy(path, dir, len);
		path[len] = '/';
		memcpy(path + len + 1, argv[0], name + 1);
		execve(path, args, env);
		if (errno != ENOENT && errno != ENOTDIR)
			worst = errno;
	}
	errno = worst;
}

_Noreturn void inner_child_main(const struct inner *g, const struct inner_child *c)
{
	sigset_t none;
	unsigned step;
	if (!g->init && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		fail(c, GS_SESSION);
	if (setsid() < 0 || (c->tty >= 0 && ioctl(c->tty, TIOCSCTTY, 0) < 0))
		fail(c, GS_SESSION);
	if (take_streams(g, c) < 0)
		fail(c, GS_STDIO);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if ((step = inner_rules_enter(g)))
		fail(c, step);
	if (enter_dir(c->body->cwd) < 0)
		fail(c, GS_CWD);
	wait_for_go(c->slot);
	exec_command(c->body->argv, c->env);
	fail(c, GS_EXEC);
}
