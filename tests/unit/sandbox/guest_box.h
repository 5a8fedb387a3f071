/* A guest for tests: a forked copy of this program that runs inner_main, as PID 1 of namespaces
 * of its own or as an ordinary child. Include once per test program. */
#ifndef GUEST_BOX_H
#define GUEST_BOX_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/guest_priv.h"

static bool put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return good;
}

static bool own_namespaces(void)
{
	char map[64];
	unsigned uid = getuid(), gid = getgid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC) < 0)
		return false;
	put_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof map, "0 %u 1", uid);
	if (!put_file("/proc/self/uid_map", map))
		return false;
	snprintf(map, sizeof map, "0 %u 1", gid);
	return put_file("/proc/self/gid_map", map);
}

/* Starts one; returns our end of the channel, -1 if the host cannot. */
UNUSED static int guest_box_start(bool init, pid_t *pid_out)
{
	int pair[2], told[2];
	char good = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    pipe2(told, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (init) {
			if (!own_namespaces())
				_exit(77);
			pid_t inside = fork();
			if (inside) {
				int status;
				close(pair[1]);
				close(told[1]);
				waitpid(inside, &status, 0);
				_exit(0);
			}
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
			    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) <
				    0)
				_exit(77);
		}
		if (write(told[1], "y", 1) != 1)
			_exit(77);
		close(told[1]);
		_exit(inner_main(pair[1], -1, init, false));
	}
	close(pair[1]);
	close(told[1]);
	ssize_t n = read(told[0], &good, 1);
	close(told[0]);
	if (n != 1) {
		close(pair[0]);
		waitpid(pid, NULL, 0);
		return -1;
	}
	*pid_out = pid;
	return pair[0];
}

#endif
