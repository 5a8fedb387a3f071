#include "control/peer_place.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "wire/groups.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum { PROC_TEXT_MAX = 1 << 20 };

/* Tied to the process that connected where the kernel can do that (6.5); else to the process that
 * has its number now. */
static int peer_pidfd(int sock, pid_t pid)
{
	int fd = -1;
	socklen_t len = sizeof(fd);
	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool proc_text(pid_t pid, const char *file, struct buf *out)
{
	char path[64];
	struct err none = ERR_INIT;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return file_read(path, out, PROC_TEXT_MAX, &none) == 0;
}

/* The kernel shows the link only to who may trace the process. */
static bool same_link(pid_t pid, const char *file, bool *same_out)
{
	char path[64];
	struct stat ours, theirs;
	snprintf(path, sizeof(path), "/proc/self/ns/%s", file);
	if (stat(path, &ours) < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, file);
	if (stat(path, &theirs) < 0)
		return false;
	*same_out = ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
	return true;
}

/* The number of PID namespaces that a process has a number in, counted from the one that /proc
 * shows. */
static int pid_depth(pid_t pid)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	const char *line =
		proc_text(pid, "status", &text) ? strstr(buf_cstr(&text), "\nNSpid:") : NULL;
	int nr = 0;
	if (!line)
		return -1;
	for (const char *p = line + strlen("\nNSpid:"); *p && *p != '\n'; p++)
		nr += *p == '\t';
	return nr;
}

static bool same_pid_space(pid_t pid)
{
	bool same;
	if (same_link(pid, "pid", &same))
		return same;
	int depth = pid_depth(pid);
	return depth > 0 && depth == pid_depth(getpid());
}

static bool same_user_space(pid_t pid)
{
	bool same;
	CLEANUP(buf_release) struct buf ours = BUF_INIT;
	CLEANUP(buf_release) struct buf theirs = BUF_INIT;
	if (same_link(pid, "user", &same))
		return same;
	return proc_text(getpid(), "uid_map", &ours) && proc_text(pid, "uid_map", &theirs) &&
	       ours.len == theirs.len && memcmp(ours.data, theirs.data, ours.len) == 0;
}

static bool in_sandbox_group(pid_t pid)
{
	CLEANUP(buf_release) struct buf ours = BUF_INIT;
	CLEANUP(buf_release) struct buf theirs = BUF_INIT;
	if (!proc_text(pid, "cgroup", &theirs) || !proc_text(getpid(), "cgroup", &ours))
		return false; /* no cgroups here: then no sandbox has one */
	char *rest = theirs.data;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (groups_of_box(line) && !strstr(buf_cstr(&ours), line))
			return true;
	return false;
}

int peer_place_check(int sock, pid_t pid, struct err *err)
{
	CLEANUP(fd_close) int pidfd = pid > 0 ? peer_pidfd(sock, pid) : -1;
	if (pid <= 0)
		return err_set(err, ERR_DENIED,
			       "connection refused: from a process of another PID namespace");
	const char *where = !same_pid_space(pid)    ? "of another PID namespace"
			    : !same_user_space(pid) ? "of another user namespace"
			    : in_sandbox_group(pid) ? "of a sandbox"
						    : NULL;
	if (where)
		return err_set(err, ERR_DENIED, "connection refused: from process %d, %s", (int)pid,
			       where);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	if (pidfd < 0 || poll(&p, 1, 0) != 0) /* its number may be another's already */
		return err_set(err, ERR_DENIED, "connection refused: process %d has ended",
			       (int)pid);
	return 0;
}
