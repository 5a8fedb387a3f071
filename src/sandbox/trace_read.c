/* Reads what a process wants out of its own memory, from outside of its box. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#include <linux/seccomp.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/trace.h"

/* --- memory --- */

static ssize_t trace_read_peek(pid_t pid, uint64_t at, void *to, size_t len)
{
	struct iovec mine = { .iov_base = to, .iov_len = len };
	struct iovec its = { .iov_base = (void *)(uintptr_t)at, .iov_len = len };
	return process_vm_readv(pid, &mine, 1, &its, 1, 0);
}

/* A string of at most @max bytes; *cut_out: there is more. -1 with errno. Never reads over a page
 * that may not be there. */
static int peek_string(pid_t pid, uint64_t at, size_t max, struct buf *out, bool *cut_out)
{
	char piece[4096];
	*cut_out = false;
	buf_reset(out);
	while (out->len < max) {
		size_t room = sizeof piece - (at & (sizeof piece - 1)), want = max - out->len;
		ssize_t n = trace_read_peek(pid, at, piece, want < room ? want : room);
		if (n <= 0)
			return -1;
		const char *end = memchr(piece, 0, (size_t)n);
		buf_append(out, piece, end ? (size_t)(end - piece) : (size_t)n);
		if (end)
			return 0;
		at += (size_t)n;
	}
	*cut_out = true;
	return 0;
}

/* -1 with errno: some of them cannot be read from here, though perhaps by the kernel. */
static int trace_read_words(pid_t pid, uint64_t at, json_t *body)
{
	CLEANUP(buf_release) struct buf one = BUF_INIT;
	json_t *argv = json_array();
	uint64_t pointer = 0;
	size_t nr = 0, bytes = 0;
	bool cut, any_cut = false;
	int why = 0;
	for (; at; nr++, at += sizeof pointer) {
		errno = EFAULT; /* of a part */
		if (trace_read_peek(pid, at, &pointer, sizeof pointer) != sizeof pointer) {
			why = errno;
			break;
		}
		any_cut |= pointer && nr == TRACE_ARGS * 16; /* no real command has more */
		if (!pointer || nr == TRACE_ARGS * 16)
			break;
		if (nr >= TRACE_ARGS || bytes >= TRACE_ALL_BYTES)
			continue;
		if (peek_string(pid, pointer, TRACE_ARG_BYTES, &one, &cut) < 0) {
			why = errno;
			break;
		}
		bytes += one.len + 1;
		any_cut |= cut;
		json_array_append_new(argv, json_bytes(one.data, one.len));
	}
	if (any_cut || why || nr > json_array_size(argv))
		json_put_int(body, "argc", (int64_t)nr);
	json_put(body, "argv", argv);
	errno = why;
	return why ? -1 : 0;
}

/* --- /proc --- */

static ssize_t link_of(pid_t pid, const char *what, char *to, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
	ssize_t n = readlink(path, to, size - 1);
	if (n >= 0)
		to[n] = 0;
	return n;
}

struct status {
	int tgid, parent, inside;
};

/* The last number of NSpid is the one that the process itself sees. */
static bool trace_read_status_of(pid_t pid, struct status *out)
{
	char path[64], text[4096];
	*out = (struct status){ 0 };
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return false;
	text[n] = 0;
	const char *at = strstr(text, "\nTgid:");
	out->tgid = at ? atoi(at + 6) : 0;
	at = strstr(text, "\nPPid:");
	out->parent = at ? atoi(at + 6) : 0;
	at = strstr(text, "\nNStgid:");
	const char *end = at ? strchr(at + 1, '\n') : NULL;
	while (end && end > at && end[-1] >= '0' && end[-1] <= '9')
		end--;
	out->inside = end ? atoi(end) : 0;
	return out->tgid != 0;
}

int trace_parent(int pid)
{
	struct status s;
	return trace_read_status_of(pid, &s) ? s.parent : 0;
}

/* --- the calls --- */

static void trace_read_unread(json_t *body)
{
	json_put_str(body, "unread", strerror(errno));
}

static bool read_exec(const struct seccomp_notif *n, json_t *body)
{
	pid_t pid = (pid_t)n->pid;
	bool at = n->data.nr == SYS_execveat, cut;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	char cwd[PATH_MAX] = "", fd[32], target[PATH_MAX];
	ssize_t n_cwd = link_of(pid, "cwd", cwd, sizeof cwd);
	if (peek_string(pid, n->data.args[at], PATH_MAX, &path, &cut) < 0) {
		trace_read_unread(body);
		return true;
	}
	int dir = at ? (int)n->data.args[0] : AT_FDCWD;
	if (dir != AT_FDCWD && (!path.len || path.data[0] != '/')) {
		snprintf(fd, sizeof fd, "fd/%d", dir);
		if (link_of(pid, fd, target, sizeof target) >= 0) {
			CLEANUP(buf_release) struct buf below = path;
			path = BUF_INIT;
			buf_puts(&path, target);
			if (below.len)
				buf_printf(&path, "/%s", buf_cstr(&below));
		}
	} else if (!trace_there(pid, buf_cstr(&path))) {
		return false;
	}
	json_put_bytes(body, "path", path.data, path.len);
	if (trace_read_words(pid, n->data.args[at ? 2 : 1], body) < 0)
		trace_read_unread(body);
	if (n_cwd > 0)
		json_put_bytes(body, "cwd", cwd, (size_t)n_cwd);
	return true;
}

static bool read_connect(const struct seccomp_notif *n, json_t *body)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		char room[128];
	} a = { 0 };
	char text[INET6_ADDRSTRLEN] = "";
	size_t want =
		n->data.args[2] < sizeof a.room - 1 ? (size_t)n->data.args[2] : sizeof a.room - 1;
	ssize_t len = trace_read_peek((pid_t)n->pid, n->data.args[1], a.room, want);
	if (len < (ssize_t)sizeof a.any.sa_family) {
		trace_read_unread(body);
		return true;
	}
	switch (a.any.sa_family) {
	case AF_UNSPEC:
		return false; /* takes a connection back */
	case AF_INET:
		json_put_str(body, "address",
			     inet_ntop(AF_INET, &a.in.sin_addr, text, sizeof text));
		json_put_int(body, "port", ntohs(a.in.sin_port));
		return true;
	case AF_INET6:
		json_put_str(body, "address",
			     inet_ntop(AF_INET6, &a.in6.sin6_addr, text, sizeof text));
		json_put_int(body, "port", ntohs(a.in6.sin6_port));
		return true;
	case AF_UNIX:
		if (a.un.sun_path[0])
			json_put_bytes(body, "path", a.un.sun_path, strlen(a.un.sun_path));
		else
			json_put_bytes(body, "path", a.un.sun_path,
				       (size_t)len - offsetof(struct sockaddr_un, sun_path));
		/* what every look at a name of a user begins with, and which no box has */
		return strcmp(a.un.sun_path, "/var/run/nscd/socket") != 0;
	default:
		json_put_int(body, "family", a.any.sa_family);
		return true;
	}
}

bool trace_read(const struct seccomp_notif *n, struct trace_call *out)
{
	struct status me, up;
	json_t *body = json_object();
	bool known = trace_read_status_of((pid_t)n->pid, &me);
	*out = (struct trace_call){ .connect = n->data.nr == SYS_connect,
				    .body = body,
				    .pid = (int)n->pid };
	if (known) {
		out->pid = me.tgid;
		out->parent = me.parent;
		json_put_int(body, "pid", me.inside);
		if (me.parent && trace_read_status_of(me.parent, &up) && up.inside &&
		    up.inside != up.tgid)
			json_put_int(body, "parent", up.inside);
	}
	return out->connect ? read_connect(n, body) : read_exec(n, body);
}
