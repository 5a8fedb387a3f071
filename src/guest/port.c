/* The channel to the supervisor: reads without waiting, writes with. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/guest_priv.h"

static void keep_fds(struct inner *g, struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < nr; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (g->nr_in_fds < ARRAY_LEN(g->in_fds))
				g->in_fds[g->nr_in_fds++] = fd;
			else
				close(fd);
		}
	}
}

int inner_port_fill(struct inner *g)
{
	enum { ROOM = 64 << 10 };
	ssize_t n;
	buf_reserve(&g->in, ROOM);
	char *at = g->in.data + g->in.len;
	if (g->socket) {
		struct iovec iov = { .iov_base = at, .iov_len = ROOM };
		union {
			struct cmsghdr align;
			char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
		} ctl;
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = ctl.space,
				    .msg_controllen = sizeof ctl.space };
		n = recvmsg(g->channel, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		if (n > 0)
			keep_fds(g, &m);
	} else {
		n = read(g->channel, at, ROOM);
	}
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0)
		return -1;
	g->in.len += (size_t)n;
	g->in.data[g->in.len] = '\0';
	return 1;
}

/* One attempt; @fd goes with the first byte. */
static ssize_t send_once(const struct inner *g, const char *bytes, size_t len, int fd)
{
	if (!g->socket)
		return write(g->answers, bytes, len);
	if (fd < 0)
		return send(g->channel, bytes, len, MSG_NOSIGNAL);
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} ctl = { .space = { 0 } };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.space,
			    .msg_controllen = sizeof ctl.space };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	return sendmsg(g->channel, &m, MSG_NOSIGNAL);
}

void inner_send(struct inner *g, enum guest_frame type, uint64_t id, const struct buf *body, int fd)
{
	size_t at = 0;
	if (g->over)
		return;
	buf_reset(&g->out);
	frame_append_fds(&g->out, (uint16_t)type, id, body ? body->data : NULL,
			 body ? body->len : 0, fd >= 0);
	while (at < g->out.len) {
		ssize_t n = send_once(g, g->out.data + at, g->out.len - at, fd);
		if (n > 0) {
			at += (size_t)n;
			fd = -1;
		} else if (n < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){ .fd = g->answers, .events = POLLOUT }, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			g->over = true;
			return;
		}
	}
}

void inner_answer(struct inner *g, uint64_t id, unsigned step, int sys, const struct buf *more,
		  int fd)
{
	struct buf b = BUF_INIT;
	pack_u8(&b, (uint8_t)step);
	buf_u32le(&b, (uint32_t)sys);
	if (more)
		buf_append(&b, more->data, more->len);
	inner_send(g, GF_ANSWER, id, &b, fd);
	buf_release(&b);
}

bool inner_take_fds(struct inner *g, const struct frame *f, int *fds, size_t nr)
{
	size_t came = f->nr_fds;
	bool good = came == nr && came <= g->nr_in_fds;
	if (came > g->nr_in_fds)
		came = g->nr_in_fds;
	for (size_t i = 0; i < came; i++)
		if (good)
			fds[i] = g->in_fds[i];
		else
			close(g->in_fds[i]);
	g->nr_in_fds -= came;
	memmove(g->in_fds, g->in_fds + came, g->nr_in_fds * sizeof g->in_fds[0]);
	return good;
}
