/* Owners of the other end of a connection: this process, another user, and a process that has exited. */
#include "base/tcp_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static int listener, port;

static bool listen_here(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&at, len) < 0 || listen(listener, 8) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &len) < 0)
		return false;
	port = ntohs(at.sin_port);
	return true;
}

static int connect_four(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	return connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -1 : fd;
}

static int connect_six(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &at.sin6_addr);
	return fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -1 : fd;
}

/* The uid, or -1. */
static int64_t whose(int sock)
{
	struct err err = ERR_INIT;
	uid_t uid;
	return tcp_peer_uid(sock, &uid, &err) < 0 ? -1 : (int64_t)uid;
}

static void others(void)
{
	int ready[2], over[2];
	char byte = 0;
	if (geteuid() != 0 || pipe(ready) < 0 || pipe(over) < 0) {
		skip(2, "another user: only root can be one");
		return;
	}
	pid_t pid = fork();
	if (pid == 0) {
		bool good = setuid(12345) == 0 && connect_four() >= 0 && write(ready[1], "1", 1) == 1;
		close(over[1]);
		_exit(!good || read(over[0], &byte, 1) < 0);
	}
	close(over[0]);
	bool there = read(ready[0], &byte, 1) == 1;
	int sock = there ? accept(listener, NULL, NULL) : -1;
	is_int(whose(sock), 12345, "another user's");
	close(over[1]);
	waitpid(pid, NULL, 0);
	is_int(whose(sock), -1, "another user's who has gone: nobody's, not root's");
	close(sock);
}

int main(void)
{
	if (!listen_here()) {
		skip(1, "no listener on the loopback");
		return done_testing();
	}
	int mine = connect_four(), sock = accept(listener, NULL, NULL);
	is_int(whose(sock), (int64_t)geteuid(), "ours");
	is_int(whose(mine), (int64_t)geteuid(), "the listener's side as well");
	shutdown(mine, SHUT_WR);
	is_int(whose(sock), (int64_t)geteuid(), "ours that sends no more");
	close(mine);
	is_int(whose(sock), -1, "closed: nobody's");
	close(sock);
	int six = connect_six();
	if (six < 0) {
		skip(1, "no IPv6 here");
	} else {
		sock = accept(listener, NULL, NULL);
		is_int(whose(sock), (int64_t)geteuid(), "ours by a socket of IPv6");
		close(sock);
	}
	others();
	is_int(whose(listener), -1, "an unconnected socket has no owner");
	return done_testing();
}
