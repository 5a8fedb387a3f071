#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/lines.h"
#include "mcp/transport.h"
#include "base/fd.h"
#include "base/mem.h"

enum { GRACE_MS = 2000, LOG_CHUNK = 4096, QUEUE_MAX = 128 << 20 };

struct mcp_child {
	struct loop *loop;
	const struct mcp_child_ops *ops;
	void *self;
	struct lines *lines;
	int pid, pidfd, log;
	struct loop_fd *watch_pid, *watch_log;
	struct loop_timer *timer;
	int signo;   /* that comes next */
	bool orphan; /* it has no client now and ends on its own */
	bool said;   /* ended() has been called */
	char *name;
};

static void child_release(struct mcp_child *c)
{
	lines_free(&c->lines);
	loop_fd_free(&c->watch_pid);
	loop_fd_free(&c->watch_log);
	loop_timer_free(&c->timer);
	fd_close(&c->pidfd);
	fd_close(&c->log);
	free(c->name);
	free(c);
}

static void tell_ended(struct mcp_child *c, const struct err *why)
{
	if (c->said || c->orphan)
		return;
	c->said = true;
	c->ops->ended(c->self, why);
}

static void transport_stdio_on_exit_of(void *self, int fd, unsigned events)
{
	struct mcp_child *c = self;
	struct err err = ERR_INIT;
	int status = 0;
	(void)events;
	if (proc_reap(fd, &status, &err) < 0)
		status = 255;
	loop_fd_free(&c->watch_pid);
	kill(-c->pid, SIGKILL); /* what it left behind in its group */
	if (c->orphan) {
		child_release(c);
		return;
	}
	if (status >= 256)
		err_set(&err, ERR_CLOSED, "the MCP server '%s' was killed by signal %d", c->name,
			status - 256);
	else
		err_set(&err, ERR_CLOSED, "the MCP server '%s' ended with exit status %d", c->name,
			status);
	c->pid = 0;
	tell_ended(c, &err);
}

static void transport_stdio_on_log(void *self, int fd, unsigned events)
{
	struct mcp_child *c = self;
	char bytes[LOG_CHUNK];
	(void)events;
	ssize_t n = read(fd, bytes, sizeof(bytes));
	if (n > 0 && c->ops->log && !c->orphan)
		c->ops->log(c->self, bytes, (size_t)n);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		loop_fd_free(&c->watch_log);
		fd_close(&c->log);
	}
}

static void transport_stdio_on_line(void *self, const char *text, size_t len)
{
	struct mcp_child *c = self;
	if (!c->orphan)
		c->ops->line(c->self, text, len);
}

/* Its output has ended: its exit tells why, if it comes soon. */
static void transport_stdio_on_grace(void *self)
{
	struct mcp_child *c = self;
	struct err err = ERR_INIT;
	if (c->orphan) {
		if (c->pid > 0)
			kill(-c->pid, c->signo);
		c->signo = SIGKILL;
		loop_timer_set(c->timer, GRACE_MS, 0);
		return;
	}
	err_set(&err, ERR_CLOSED, "the MCP server '%s' has closed its output", c->name);
	tell_ended(c, &err);
}

static void transport_stdio_on_end(void *self, const struct err *err)
{
	struct mcp_child *c = self;
	if (c->orphan)
		return;
	if (err)
		tell_ended(c, err);
	else
		loop_timer_set(c->timer, 200, 0);
}

static const struct lines_ops lines_ops = { .on_line = transport_stdio_on_line,
					    .on_end = transport_stdio_on_end };

int mcp_child_new(struct mcp_child **out, struct loop *l, const struct strv *argv,
		  const struct strv *env, const char *cwd, const struct mcp_child_ops *ops,
		  void *self, struct err *err)
{
	int in[2] = { -1, -1 }, to[2] = { -1, -1 }, log[2] = { -1, -1 };
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(to, O_CLOEXEC) < 0 || pipe2(log, O_CLOEXEC) < 0)
		return err_sys(err, "can't create a pipe");
	struct mcp_child *c = NEW(struct mcp_child);
	*c = (struct mcp_child){ .loop = l,
				 .ops = ops,
				 .self = self,
				 .pidfd = -1,
				 .log = log[0],
				 .signo = SIGTERM,
				 .name = mem_strdup(argv->item[0]) };
	struct strv words = STRV_INIT;
	const char *const before[] = { "env", "-C", cwd, "setsid" };
	for (size_t i = 0; i < ARRAY_LEN(before); i++)
		if (cwd || i == 0 || i == 3)
			strv_push(&words, before[i]);
	for (size_t i = 0; i < argv->nr; i++)
		strv_push(&words, argv->item[i]);
	int fds[3] = { to[0], in[1], log[1] };
	int rc = proc_spawn("/usr/bin/env", words.item, env->item, fds, 3, &c->pid, &c->pidfd, err);
	strv_release(&words);
	fd_close(&to[0]);
	fd_close(&in[1]);
	fd_close(&log[1]);
	if (rc < 0) {
		fd_close(&to[1]);
		fd_close(&in[0]);
		child_release(c);
		return -1;
	}
	c->timer = loop_timer_new(l, transport_stdio_on_grace, c);
	c->watch_pid = loop_fd_new(l, c->pidfd, LOOP_READ, transport_stdio_on_exit_of, c);
	c->watch_log = loop_fd_new(l, c->log, LOOP_READ, transport_stdio_on_log, c);
	c->lines = lines_new(l, in[0], to[1], &lines_ops, c);
	*out = c;
	return 0;
}

void mcp_child_send(struct mcp_child *c, json_t *msg)
{
	if (lines_queued(c->lines) < QUEUE_MAX)
		lines_send(c->lines, json_incref(msg));
}

void mcp_child_free(struct mcp_child **cp)
{
	struct mcp_child *c = *cp;
	*cp = NULL;
	if (!c)
		return;
	c->orphan = true;
	if (!c->watch_pid) {
		child_release(c);
		return;
	}
	lines_end_output(c->lines);
	loop_timer_set(c->timer, GRACE_MS, 0);
}
