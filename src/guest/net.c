/* Sockets on the sandbox's own loopback: a socket belongs to the network namespace it was made in,
 * so the supervisor uses sockets opened here and passed out. */
#include <errno.h>
#include <netinet/in.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/guest_priv.h"

/* The creator of the namespace has mostly done it; without the right to, nothing changes. */
void inner_loopback_up(void)
{
	struct ifreq req = { .ifr_name = "lo" };
	CLEANUP(fd_close) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &req) < 0 || req.ifr_flags & IFF_UP)
		return;
	req.ifr_flags = (short)(req.ifr_flags | IFF_UP);
	(void)ioctl(fd, SIOCSIFFLAGS, &req);
}

static struct sockaddr_in net_local(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static bool net_ask(struct inner *g, const struct frame *f, uint16_t *port_out, bool *pass_out)
{
	struct unpack u = { .p = f->body, .left = f->len };
	*port_out = unpack_u16(&u);
	*pass_out = unpack_u8(&u) & GUEST_FDS;
	if (!unpack_done(&u) || (*pass_out && !g->socket)) {
		g->over = true;
		return false;
	}
	return true;
}

static int tcp_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void inner_listen(struct inner *g, const struct frame *f)
{
	uint16_t port;
	bool pass;
	if (!net_ask(g, f, &port, &pass))
		return;
	CLEANUP(fd_close) int fd = tcp_socket();
	if (fd < 0) {
		inner_answer(g, f->id, GS_SOCKET, errno, NULL, -1);
		return;
	}
	struct sockaddr_in at = net_local(port);
	socklen_t len = sizeof at;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0) {
		inner_answer(g, f->id, GS_BIND, errno, NULL, -1);
		return;
	}
	struct buf b = BUF_INIT;
	buf_u16le(&b, ntohs(at.sin_port));
	inner_answer(g, f->id, GS_NONE, 0, &b, pass ? fd : -1);
	buf_release(&b);
	if (!pass) {
		inner_pump_new(g, PUMP_LISTEN, f->id, GUEST_CONN, fd, NULL);
		fd = -1;
	}
}

void inner_dialled(struct inner *g, uint64_t id, int fd, bool pass, int sys)
{
	inner_answer(g, id, sys ? GS_CONNECT : GS_NONE, sys, NULL, !sys && pass ? fd : -1);
	if (!sys && !pass)
		inner_pump_new(g, PUMP_CONN, id, GUEST_CONN, fd, NULL);
	else
		close(fd);
}

void inner_dial(struct inner *g, const struct frame *f)
{
	uint16_t port;
	bool pass;
	if (!net_ask(g, f, &port, &pass))
		return;
	int fd = tcp_socket();
	if (fd < 0) {
		inner_answer(g, f->id, GS_SOCKET, errno, NULL, -1);
		return;
	}
	struct sockaddr_in at = net_local(port);
	if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
		inner_dialled(g, f->id, fd, pass, 0);
	else if (errno == EINPROGRESS)
		inner_pump_connecting(
			inner_pump_new(g, PUMP_CONNECTING, f->id, GUEST_CONN, fd, NULL), pass);
	else
		inner_dialled(g, f->id, fd, pass, errno);
}
