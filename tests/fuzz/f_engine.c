/* Answers of a container engine: for any bytes the call ends once, with JSON or with a reason. Bit 0 of the first
 * byte: the answer about its version. Bit 1: an answer as a stream of objects instead of one. Second byte: the
 * status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/container/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static char dir[] = "/tmp/sandglass-fuzz-XXXXXX";
static struct sockaddr_un where = { .sun_family = AF_UNIX };
static struct peer {
	struct loop_fd *watch;
	int fd;
	struct buf in, out;
} peer[8];
static const uint8_t *bytes;
static size_t nr_bytes;
static int status;
static bool of_version;
static unsigned ended;

static void leave(struct peer *p)
{
	loop_fd_free(&p->watch);
	fd_close(&p->fd);
	buf_reset(&p->in);
}

/* One request for each connection, which closes behind the answer. */
static void on_readable(void *self, int fd, unsigned events)
{
	struct peer *p = self;
	struct err err = ERR_INIT;
	char part[4096];
	ssize_t got = read(p->fd, part, sizeof(part));
	(void)fd;
	(void)events;
	if (got > 0)
		buf_append(&p->in, part, (size_t)got);
	if (got > 0 && !memmem(p->in.data, p->in.len, "\r\n\r\n", 4))
		return;
	if (got > 0) {
		bool about = memmem(p->in.data, p->in.len, "/version", 8) != NULL, ours = about == of_version;
		static const char good[] = "{\"ApiVersion\":\"1.44\",\"MinAPIVersion\":\"1.24\"}";
		buf_reset(&p->out);
		buf_printf(&p->out, "HTTP/1.1 %d x\r\nConnection: close\r\n\r\n", ours ? status : 200);
		buf_append(&p->out, ours ? (const char *)bytes : good, ours ? nr_bytes : sizeof(good) - 1);
		if (fd_write_all(p->fd, p->out.data, p->out.len, &err) < 0)
			err = ERR_INIT; /* it may have heard enough */
	}
	leave(p);
}

static void on_connect(void *self, int at, unsigned events)
{
	int fd = accept4(at, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	(void)self;
	(void)events;
	for (size_t i = 0; fd >= 0 && i < ARRAY_LEN(peer); i++)
		if (!peer[i].watch) {
			peer[i].fd = fd;
			peer[i].watch = loop_fd_new(loop, fd, LOOP_READ, on_readable, &peer[i]);
			return;
		}
	fd_close(&fd);
}

static void gone(void)
{
	unlink(where.sun_path);
	rmdir(dir);
}

static void listen_there(void)
{
	static int fd;
	static struct loop_fd *watch;
	struct err err = ERR_INIT;
	if (watch)
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (!mkdtemp(dir) || loop_new(&loop, &err) < 0)
		abort();
	snprintf(where.sun_path, sizeof(where.sun_path), "%s/sock", dir);
	if (bind(fd, (const struct sockaddr *)&where, sizeof(where)) < 0 || listen(fd, 8) < 0)
		abort();
	atexit(gone);
	watch = loop_fd_new(loop, fd, LOOP_READ, on_connect, NULL);
}

static void on_line(void *self, const json_t *line)
{
	(void)self;
	if (!line || ended)
		abort();
}

static void done(void *self, json_t *result, const struct err *err)
{
	(void)self;
	if (ended++ || (!result && (!err || err->code == ERR_NONE || !*err->text)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	struct engine *e;
	if (size < 2 || size > 1 << 15)
		return 0;
	listen_there();
	bytes = data + 2;
	nr_bytes = size - 2;
	status = 200 + data[1] % 4 * 100;
	of_version = data[0] & 1;
	ended = 0;
	struct engine_request r = { .method = "GET", .path = "/containers/json", .on_line = data[0] & 2 ? on_line : NULL,
				    .total_us = 5000000 };
	if (engine_get(&e, loop, where.sun_path, &err) < 0)
		abort();
	engine_send(e, &r, done, NULL);
	while (!ended)
		loop_turn(loop, 100);
	engine_put(&e);
	loop_turn(loop, 0);
	for (size_t i = 0; i < ARRAY_LEN(peer); i++)
		if (peer[i].watch)
			leave(&peer[i]);
	return 0;
}
