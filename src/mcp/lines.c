#include "mcp/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "wire/jsonrpc.h"

enum { CHUNK = 65536, KEPT = 1 << 20 };

struct lines {
	struct loop *loop;
	const struct lines_ops *ops;
	void *self;
	int in, out, out_flags;
	struct loop_fd *watch_in, *watch_out;
	struct loop_timer *poll; /* for an input that is a regular file */
	struct buf got, queue;
	size_t looked; /* bytes of got without a line end */
	size_t sent;   /* bytes of queue that are written */
	bool ended, ending, *freed;
};

static void lines_on_readable(void *self, int fd, unsigned events);
static void lines_on_poll(void *self);

/* A file, /dev/null: always readable, and nothing that can be watched. */
static bool is_file(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(fd)));
}

/* Pipes and sockets must not make us wait; a terminal is shared with other programs. */
static void set_nonblock(struct lines *l)
{
	struct stat st;
	l->out_flags = -1;
	if (fstat(l->out, &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return;
	l->out_flags = fcntl(l->out, F_GETFL);
	if (l->out_flags >= 0)
		fcntl(l->out, F_SETFL, l->out_flags | O_NONBLOCK);
}

struct lines *lines_new(struct loop *loop, int in, int out, const struct lines_ops *ops, void *self)
{
	struct lines *l = NEW(struct lines);
	*l = (struct lines){ .loop = loop, .ops = ops, .self = self, .in = in, .out = out };
	set_nonblock(l);
	if (is_file(in)) {
		l->poll = loop_timer_new(loop, lines_on_poll, l);
		loop_timer_set(l->poll, 0, 0);
	} else {
		l->watch_in = loop_fd_new(loop, in, LOOP_READ, lines_on_readable, l);
	}
	return l;
}

static void close_out(struct lines *l)
{
	loop_fd_free(&l->watch_out);
	if (l->out >= 0 && l->out_flags >= 0)
		fcntl(l->out, F_SETFL, l->out_flags);
	fd_close(&l->out);
}

void lines_free(struct lines **lp)
{
	struct lines *l = *lp;
	*lp = NULL;
	if (!l)
		return;
	if (l->freed)
		*l->freed = true;
	loop_fd_free(&l->watch_in);
	loop_timer_free(&l->poll);
	close_out(l);
	fd_close(&l->in);
	buf_release(&l->got);
	buf_release(&l->queue);
	free(l);
}

static void end_of_input(struct lines *l, const struct err *err)
{
	if (l->ended)
		return;
	l->ended = true;
	loop_fd_free(&l->watch_in);
	loop_timer_free(&l->poll);
	if (l->ops->on_end)
		l->ops->on_end(l->self, err);
}

/* Hands on all whole lines. false: the lines have been freed meanwhile. */
static bool lines_hand_on(struct lines *l)
{
	bool freed = false;
	size_t at = 0;
	char *end;
	l->freed = &freed;
	while (l->got.len > at &&
	       (end = memchr(l->got.data + at + l->looked, '\n', l->got.len - at - l->looked))) {
		size_t len = (size_t)(end - l->got.data) - at, whole = len + 1;
		l->looked = 0;
		if (len && l->got.data[at + len - 1] == '\r')
			len--;
		if (len)
			l->ops->on_line(l->self, l->got.data + at, len);
		if (freed)
			return false;
		at += whole;
	}
	l->freed = NULL;
	buf_drop(&l->got, at);
	l->looked = l->got.len;
	if (!l->got.len && l->got.cap > KEPT)
		buf_release(&l->got);
	return true;
}

/* One read. false: nothing more now, or freed. */
static bool lines_take_in(struct lines *l)
{
	struct err err = ERR_INIT;
	buf_reserve(&l->got, CHUNK);
	ssize_t n = read(l->in, l->got.data + l->got.len, CHUNK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		if (l->got.len) { /* a last line without its end */
			buf_putc(&l->got, '\n');
			if (!lines_hand_on(l))
				return false;
		}
		if (n < 0)
			err_sys(&err, "can't read messages");
		end_of_input(l, n < 0 ? &err : NULL);
		return false;
	}
	l->got.len += (size_t)n;
	l->got.data[l->got.len] = 0;
	if (!lines_hand_on(l))
		return false;
	if (l->got.len > RPC_LINE_MAX) {
		err_set(&err, ERR_FULL, "a message is longer than %d bytes", RPC_LINE_MAX);
		end_of_input(l, &err);
		return false;
	}
	return true;
}

static void lines_on_readable(void *self, int fd, unsigned events)
{
	(void)fd;
	(void)events;
	lines_take_in(self);
}

static void lines_on_poll(void *self)
{
	struct lines *l = self;
	if (lines_take_in(l) && l->poll)
		loop_timer_set(l->poll, 0, 0);
}

static void lines_write_some(struct lines *l)
{
	while (l->queue.len && l->out >= 0) {
		ssize_t n = write(l->out, l->queue.data + l->sent, l->queue.len - l->sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) { /* the reader has gone: reading will report it */
			buf_release(&l->queue);
			l->sent = 0;
			close_out(l);
			return;
		}
		l->sent += (size_t)n;
		if (l->sent == l->queue.len) {
			buf_reset(&l->queue);
			l->sent = 0;
		}
	}
	if (l->ending)
		close_out(l);
	else if (l->queue.cap > KEPT)
		buf_release(&l->queue);
}

static void on_writable(void *self, int fd, unsigned events)
{
	struct lines *l = self;
	(void)fd;
	(void)events;
	lines_write_some(l);
	if (!l->queue.len)
		loop_fd_free(&l->watch_out);
}

static void lines_send_text(struct lines *l, const char *text, size_t len)
{
	if (l->out < 0)
		return;
	bool idle = !l->queue.len;
	buf_append(&l->queue, text, len);
	if (idle)
		lines_write_some(l);
	if (l->queue.len && l->out >= 0 && !l->watch_out && !is_file(l->out))
		l->watch_out = loop_fd_new(l->loop, l->out, LOOP_WRITE, on_writable, l);
}

void lines_send(struct lines *l, json_t *msg)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	rpc_line(&b, msg);
	lines_send_text(l, b.data, b.len);
}

size_t lines_queued(const struct lines *l)
{
	return l->queue.len - l->sent;
}

void lines_end_output(struct lines *l)
{
	l->ending = true;
	if (!l->queue.len)
		close_out(l);
}

void lines_flush(struct lines *l)
{
	struct err err = ERR_INIT;
	if (l->out < 0 || !l->queue.len ||
	    fd_write_all(l->out, l->queue.data + l->sent, l->queue.len - l->sent, &err) < 0)
		return;
	buf_reset(&l->queue);
	l->sent = 0;
}
