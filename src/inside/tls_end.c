#include "inside/tls_end.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/paths.h"
#include "loop/stream.h"
#include "supervisor/core/flood.h"
#include "supervisor/core/parts.h"
#include "wire/tls.h"

/* QUEUE_MAX: bytes of frames that the process hasn't taken. Each holds two descriptors of ours. */
enum { START_MS = 10000, QUEUE_MAX = 4 << 10 };

struct tls_end {
	struct super *s;
	pid_t pid;
	int pidfd;
	struct stream *stream; /* NULL: the process has gone */
	struct buf pem;
	uint64_t last_id;
	struct flood *failures; /* handshakes that failed */
};

static void tell_failure(void *self, const json_t *failure, uint64_t count)
{
	const struct tls_end *t = self;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_get_bytes(json_object_get(failure, "text"), &text);
	if (count > 1)
		buf_printf(&text, " (one of %llu such failures)", (unsigned long long)count);
	super_warn(t->s, NULL, "%s", buf_cstr(&text));
}

static void tls_end_stop(struct tls_end *t)
{
	struct err none = ERR_INIT;
	int status;
	stream_free(&t->stream);
	if (t->pidfd >= 0) {
		kill(t->pid, SIGKILL); /* it keeps nothing */
		(void)!proc_reap(t->pidfd, &status, &none);
		fd_close(&t->pidfd);
	}
}

static struct tls_end *tls_end_part(const struct super *s)
{
	static const struct super_part part = { sizeof(struct tls_end), NULL };
	return super_part(s, &part);
}

static void tls_end_clear(struct tls_end *t)
{
	if (!t->s)
		return;
	tls_end_stop(t);
	flood_free(&t->failures);
	buf_release(&t->pem);
	*t = (struct tls_end){ 0 };
}

void tls_end_free(struct super *s)
{
	tls_end_clear(tls_end_part(s));
}

static void tls_end_on_frame(void *self, const struct frame *f, int *fds, size_t nr_fds)
{
	struct tls_end *t = self;
	for (size_t i = 0; i < nr_fds; i++)
		fd_close(&fds[i]);
	if (f->type == TLS_FAILED) {
		json_t *failure = json_object();
		json_put_bytes(failure, "text", f->body, f->len);
		flood_add(t->failures, failure);
	}
}

static void tls_end_on_close(void *self, const struct err *err)
{
	struct tls_end *t = self;
	super_warn(
		t->s, NULL,
		"TLS for named hosts: sandglass-tls ended%s%s; agents that use it have to start again",
		err ? ": " : "", err ? err->text : "");
	tls_end_stop(t);
}

static const struct stream_ops tls_end_ops = { .on_frame = tls_end_on_frame,
					       .on_close = tls_end_on_close };

/* The first frame has the certificate. */
static int tls_end_greeting(struct tls_end *t, int sock, struct err *err)
{
	struct frame f;
	struct pollfd wait = { .fd = sock, .events = POLLIN };
	int rc;
	while ((rc = poll(&wait, 1, START_MS)) < 0 && errno == EINTR)
		;
	if (rc <= 0)
		return err_set(err, ERR_TIMEOUT, "sandglass-tls doesn't answer");
	if (frame_recv(sock, TLS_BODY_MAX, &f, &t->pem, NULL, NULL, err) < 0)
		return err_wrap(err, "sandglass-tls ended");
	return f.type == TLS_AUTHORITY ? 0 : err_set(err, ERR_PARSE, "sandglass-tls: bad greeting");
}

static int tls_end_start(struct tls_end *t, struct err *err)
{
	int sp[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sp) < 0)
		return err_sys(err, "can't make a socket pair");
	CLEANUP(free_ptr) char *path = paths_libexec("sandglass-tls");
	char *argv[] = { (char[]){ "sandglass-tls" }, NULL }, *env[] = { NULL };
	int fds[TLS_FD + 1] = { -1, -1, STDERR_FILENO, sp[1] };
	int rc = proc_spawn(path, argv, env, fds, ARRAY_LEN(fds), &t->pid, &t->pidfd, err);
	close(sp[1]);
	if (rc < 0)
		err_wrap(err, "can't start '%s'", path);
	if (rc < 0 || tls_end_greeting(t, sp[0], err) < 0 || fd_nonblock(sp[0], err) < 0) {
		close(sp[0]);
		return -1;
	}
	t->stream = stream_new(t->s->loop, sp[0], TLS_BODY_MAX, &tls_end_ops, t);
	return 0;
}

/* NULL with @err. */
static struct tls_end *tls_end_of(struct super *s, struct err *err)
{
	struct tls_end *t = tls_end_part(s);
	if (t->stream)
		return t;
	tls_end_clear(t);
	*t = (struct tls_end){ .s = s, .pidfd = -1 };
	t->failures = flood_new(s->loop, tell_failure, t);
	if (tls_end_start(t, err) == 0)
		return t;
	tls_end_clear(t);
	return NULL;
}

const char *tls_end_certificate(struct super *s, struct err *err)
{
	const struct tls_end *t = tls_end_of(s, err);
	return t ? buf_cstr(&t->pem) : NULL;
}

int tls_end_connect(struct super *s, int fd, const char *host, int *plain_out, struct err *err)
{
	int sp[2];
	struct tls_end *t = tls_end_of(s, err);
	if (t && stream_queued(t->stream) > QUEUE_MAX) {
		err_set(err, ERR_FULL, "too many connections at once");
		t = NULL;
	}
	if (t && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sp) < 0) {
		err_sys(err, "can't make a socket pair");
		t = NULL;
	}
	if (!t) {
		close(fd);
		return -1;
	}
	stream_send_fds(t->stream, TLS_CONNECTION, ++t->last_id, host, strlen(host),
			(int[]){ fd, sp[1] }, 2);
	*plain_out = sp[0];
	return 0;
}
