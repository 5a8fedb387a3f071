/* Is a Lua host a pure function of its frames? Two uses of one program:
 *
 *   as `sandglass-host` beside a copy of sandglass: stands between the supervisor and the real host (REAL beside it, named
 *   sandglass-host.real) and keeps what each says in the files `given.PID` and `sent.PID` of the directory `tape` beside it;
 *   `refeed SESSION HOST DIR`: makes the frames again from the session file, gives them to a new host, and writes both
 *   sides to DIR/given and DIR/sent.
 *
 * The pairs of files must be the same bytes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "luahost/luahost_record.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/read/session.h"
#include "wire/frame.h"
#include "wire/host.h"

static int fail(const char *what)
{
	fprintf(stderr, "refeed: %s: %s\n", what, strerror(errno));
	return 1;
}

static pid_t start(const char *program, int *sock_out)
{
	int sp[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sp) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		char *argv[] = { (char[]){ "sandglass-host" }, NULL }, *env[] = { NULL };
		if (dup2(sp[1], HOST_FD) < 0)
			_exit(126);
		if (sp[1] == HOST_FD)
			fcntl(HOST_FD, F_SETFD, 0);
		execve(program, argv, env);
		_exit(127);
	}
	close(sp[1]);
	*sock_out = sp[0];
	return pid;
}

static int file_in(const char *dir, const char *name)
{
	CLEANUP(free_ptr) char *path = path_join(dir, name);
	return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

/* --- between the supervisor and a host --- */

static bool pass(int from, int to, int tape)
{
	char bytes[65536];
	struct err err = ERR_INIT;
	ssize_t n = read(from, bytes, sizeof(bytes));
	return n > 0 && fd_write_all(tape, bytes, (size_t)n, &err) == 0 && fd_write_all(to, bytes, (size_t)n, &err) == 0;
}

/* Frames of other kinds of hosts (policy, config) go to the same files: the test's script has none. */
static int stand_between(void)
{
	CLEANUP(free_ptr) char *real = paths_libexec("sandglass-host.real");
	CLEANUP(free_ptr) char *tape = paths_libexec("tape");
	CLEANUP(free_ptr) char *to_it = mem_printf("given.%d", (int)getpid());
	CLEANUP(free_ptr) char *from_it = mem_printf("sent.%d", (int)getpid());
	int sock, given = file_in(tape, to_it), sent = file_in(tape, from_it);
	fcntl(HOST_FD, F_SETFD, FD_CLOEXEC);
	fcntl(HOST_FD, F_SETFL, fcntl(HOST_FD, F_GETFL) & ~O_NONBLOCK);
	if (given < 0 || sent < 0 || start(real, &sock) < 0)
		return fail("cannot stand between");
	struct pollfd p[2] = { { .fd = HOST_FD, .events = POLLIN }, { .fd = sock, .events = POLLIN } };
	bool on = true;
	while (on && (poll(p, 2, -1) > 0 || errno == EINTR)) {
		if (p[1].revents)
			on = pass(sock, HOST_FD, sent);
		else if (p[0].revents)
			on = pass(HOST_FD, sock, given);
	}
	return 0;
}

/* --- from the record --- */

static int rebuild(const char *path, struct buf *given, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct session *s = NULL;
	struct feed *f = NULL;
	struct event ev;
	if (session_open(&s, path, err) < 0)
		return -1;
	int rc = feed_new(&f, s, FEED_ALL, 0, err);
	while (rc == 0 && (rc = feed_next(f, &ev, &a, 0, err)) == 1) {
		CLEANUP(buf_release) struct buf body = BUF_INIT;
		uint16_t type;
		uint64_t id;
		rc = 0;
		if (ev.kind == EV_HOST_FRAME && (rc = luahost_rebuild_frame(s, &ev, &type, &id, &body, err)) == 0)
			frame_append(given, type, id, body.data, body.len);
		arena_reset(&a);
	}
	feed_free(&f);
	session_close(&s);
	return rc;
}

/* Whole turns: the next frame goes out when the host has said that it waits. */
static void feed_host(int sock, const struct buf *given, struct buf *sent)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	for (size_t at = 0, used = 0; at < given->len; at += used) {
		struct frame f, out = { 0 };
		if (frame_parse(given->data + at, given->len - at, HOST_BODY_MAX, &f, &used, &err) != 1 ||
		    fd_write_all(sock, given->data + at, used, &err) < 0)
			return;
		while (out.type != HOST_IDLE) {
			size_t none = 0;
			if (frame_recv(sock, HOST_BODY_MAX, &out, &body, NULL, &none, &err) < 0)
				return;
			frame_append(sent, out.type, out.id, out.body, out.len);
			if (out.type == HOST_END)
				return;
		}
	}
}

static int keep(const char *dir, const char *name, const struct buf *b)
{
	struct err err = ERR_INIT;
	int fd = file_in(dir, name);
	int rc = fd < 0 || ftruncate(fd, 0) < 0 ? -1 : fd_write_all(fd, b->data, b->len, &err);
	fd_close(&fd);
	return rc;
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return stand_between();
	if (argc != 4) {
		fputs("usage: refeed SESSION HOST DIR\n", stderr);
		return 2;
	}
	CLEANUP(buf_release) struct buf given = BUF_INIT;
	CLEANUP(buf_release) struct buf sent = BUF_INIT;
	struct err err = ERR_INIT;
	int sock;
	if (rebuild(argv[1], &given, &err) < 0) {
		fprintf(stderr, "refeed: %s\n", err.text);
		return 1;
	}
	pid_t pid = start(argv[2], &sock);
	if (pid < 0)
		return fail("cannot start the host");
	feed_host(sock, &given, &sent);
	close(sock);
	waitpid(pid, NULL, 0);
	return keep(argv[3], "given", &given) < 0 || keep(argv[3], "sent", &sent) < 0 ? fail(argv[3]) : 0;
}
