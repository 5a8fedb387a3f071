/* The tool as a way out for programs that know no proxy (wire/tool.h 13). */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "guest/tool.h"
#include "wire/tool.h"

enum { HEAD_MAX = 16 << 10, PIECE = 64 << 10 };

static int proxy_reach(struct err *err)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(TOOL_PROXY_PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
		return fd;
	err_sys(err, "can't reach the proxy of this sandbox");
	fd_close(&fd);
	return -1;
}

/* Reads the head of the answer into @head, and what came after it. 0: the connection is open. */
static int proxy_answer(int fd, struct buf *head, struct err *err)
{
	char *end = NULL;
	while (!end && head->len < HEAD_MAX) {
		buf_reserve(head, PIECE);
		ssize_t n = read(fd, head->data + head->len, PIECE - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		head->len += (size_t)n;
		head->data[head->len] = '\0';
		end = strstr(head->data, "\r\n\r\n");
	}
	if (!end)
		return err_set(err, ERR_CLOSED, "the proxy of this sandbox gave no answer");
	const char *status = strchr(head->data, ' ');
	if (!status || strncmp(status, " 200", 4) != 0)
		return err_set(err, ERR_DENIED, "%.*s", (int)strcspn(head->data, "\r"), head->data);
	buf_drop(head, (size_t)(end + 4 - head->data));
	return 0;
}

/* Passes on the bytes available now. false: that direction has ended. */
static bool pass_on(int from, int to, struct err *err)
{
	static char bytes[PIECE];
	ssize_t n = read(from, bytes, sizeof bytes);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	return n > 0 && fd_write_all(to, bytes, (size_t)n, err) == 0;
}

/* Until the server has ended; the end of our input is passed on. */
static void pump_both(int fd, struct err *err)
{
	struct pollfd p[2] = { { .fd = 0, .events = POLLIN }, { .fd = fd, .events = POLLIN } };
	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return;
		if (p[0].revents && !pass_on(0, fd, err)) {
			p[0].fd = -1;
			shutdown(fd, SHUT_WR);
		}
		if (p[1].revents && !pass_on(fd, 1, err))
			return;
	}
}

int tool_connect(const char *host, const char *port)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf head = BUF_INIT;
	CLEANUP(fd_close) int fd = proxy_reach(&err);
	buf_printf(&head, "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", host, port, host, port);
	bool open = fd >= 0 && fd_write_all(fd, head.data, head.len, &err) == 0;
	buf_reset(&head);
	if (!open || proxy_answer(fd, &head, &err) < 0 ||
	    fd_write_all(1, buf_cstr(&head), head.len, &err) < 0) {
		fprintf(stderr, "%s:%s: %s\n", host, port, err.text);
		return 1;
	}
	pump_both(fd, &err);
	return 0;
}
