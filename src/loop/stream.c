#include "loop/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

enum { KEPT_MAX = 256 << 10 };

/* Descriptors go out with the first byte of their frame: the queue is cut at each frame that
 * carries some. */
struct parcel {
	size_t at; /* offset in the queue's life (bytes ever queued) where the frame begins */
	int fds[FD_PASS_MAX];
	size_t nr;
};

struct stream {
	struct loop *loop;
	int sock;
	struct loop_fd *watch;
	size_t max_body;
	const struct stream_ops *ops;
	void *self;
	struct buf in, out;
	/* of the bytes in out: these are gone, and dropped later, so that a long queue is not moved
	 * for each piece */
	size_t out_sent;
	size_t out_start; /* bytes ever sent */
	struct parcel *parcel;
	size_t nr_parcels, cap_parcels;
	int in_fds[4 * FD_PASS_MAX]; /* arrived, their frame not yet whole */
	size_t nr_in_fds;
	bool closing, dead, want_write, was_full;
	int depth;     /* callbacks running: the memory must outlive them */
	bool released; /* stream_free was called inside one */
};

static void stream_watch(struct stream *s)
{
	if (s->watch)
		loop_fd_events(s->watch,
			       (unsigned)LOOP_READ | (s->want_write ? (unsigned)LOOP_WRITE : 0U));
}

static void close_fds(int *fds, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		fd_close(&fds[i]);
}

/* Ends the stream and tells the owner, once. */
static void stream_die(struct stream *s, const struct err *err)
{
	if (s->dead)
		return;
	s->dead = true;
	loop_fd_free(&s->watch);
	s->ops->on_close(s->self, err);
}

static size_t stream_queued_bytes(const struct stream *s)
{
	return s->out.len - s->out_sent;
}

/* Frees a buffer that has become much larger than its contents. */
static void stream_let_go(struct buf *b)
{
	if (!b->len && b->cap > KEPT_MAX)
		buf_release(b);
}

static void has_gone(struct stream *s, size_t n)
{
	s->out_start += n;
	s->out_sent += n;
	if (s->out_sent * 2 >= s->out.len) {
		buf_drop(&s->out, s->out_sent);
		s->out_sent = 0;
	}
	stream_let_go(&s->out);
}

static ssize_t stream_send_some(struct stream *s)
{
	char *from = s->out.data + s->out_sent;
	size_t len = stream_queued_bytes(s);
	if (s->nr_parcels) {
		struct parcel *p = &s->parcel[0];
		if (p->at > s->out_start) {
			len = p->at - s->out_start; /* up to the frame that carries descriptors */
		} else {
			if (s->nr_parcels > 1)
				len = s->parcel[1].at - s->out_start;
			struct iovec iov = { .iov_base = from, .iov_len = len };
			union {
				struct cmsghdr align;
				char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
			} ctl = { 0 };
			struct msghdr m = { .msg_iov = &iov,
					    .msg_iovlen = 1,
					    .msg_control = ctl.space,
					    .msg_controllen = CMSG_SPACE(sizeof(int) * p->nr) };
			struct cmsghdr *c = &ctl.align;
			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_RIGHTS;
			c->cmsg_len = CMSG_LEN(sizeof(int) * p->nr);
			memcpy(CMSG_DATA(c), p->fds, sizeof(int) * p->nr);
			ssize_t n = sendmsg(s->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
			if (n > 0) {
				close_fds(p->fds, p->nr);
				memmove(p, p + 1, --s->nr_parcels * sizeof(*p));
			}
			return n;
		}
	}
	return send(s->sock, from, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* false when the stream has ended. */
static bool stream_flush(struct stream *s)
{
	while (stream_queued_bytes(s)) {
		ssize_t n = stream_send_some(s);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0) {
			struct err err = ERR_INIT;
			err_sys(&err, "can't send");
			stream_die(s, &err);
			return false;
		}
		has_gone(s, (size_t)n);
	}
	bool want = stream_queued_bytes(s) > 0;
	if (want != s->want_write) {
		s->want_write = want;
		stream_watch(s);
	}
	if (!want && s->closing) {
		stream_die(s, NULL);
		return false;
	}
	return true;
}

static void stream_deliver(struct stream *s)
{
	size_t at = 0;
	while (!s->released && !s->dead) {
		struct frame f;
		struct err err = ERR_INIT;
		size_t used;
		int rc = frame_parse(s->in.data + at, s->in.len - at, s->max_body, &f, &used, &err);
		if (rc < 0) {
			stream_die(s, &err);
			return;
		}
		if (rc == 0)
			break;
		at += used;
		int fds[FD_PASS_MAX];
		size_t nr = f.nr_fds;
		if (nr > s->nr_in_fds) {
			err_set(&err, ERR_PARSE, "expected a frame with %zu descriptors, got %zu",
				nr, s->nr_in_fds);
			stream_die(s, &err);
			return;
		}
		memcpy(fds, s->in_fds, nr * sizeof(*fds));
		s->nr_in_fds -= nr;
		memmove(s->in_fds, s->in_fds + nr, s->nr_in_fds * sizeof(*fds));
		s->ops->on_frame(s->self, &f, fds, nr);
	}
	if (!s->released) {
		buf_drop(&s->in, at);
		stream_let_go(&s->in);
	}
}

static void stream_on_readable(struct stream *s)
{
	/* bounded, so that one chatty peer cannot keep the loop */
	for (int round = 0; round < 16 && !s->released && !s->dead; round++) {
		size_t room = 65536;
		size_t nr = 0;
		int fds[FD_PASS_MAX];
		struct err err = ERR_INIT;
		buf_reserve(&s->in, room);
		ssize_t n = fd_recv(s->sock, s->in.data + s->in.len, room, fds, &nr, &err);
		if (n < 0) {
			if (err.sys != EAGAIN)
				stream_die(s, &err);
			return;
		}
		for (size_t i = 0; i < nr; i++)
			if (s->nr_in_fds < ARRAY_LEN(s->in_fds))
				s->in_fds[s->nr_in_fds++] = fds[i];
			else
				close(fds[i]);
		if (n == 0) {
			stream_die(s, NULL);
			return;
		}
		s->in.len += (size_t)n;
		s->in.data[s->in.len] = 0;
		stream_deliver(s);
	}
}

static void stream_leave(struct stream *s)
{
	if (--s->depth == 0 && s->released)
		free(s);
}

static void stream_on_events(void *self, int fd, unsigned events)
{
	struct stream *s = self;
	(void)fd;
	s->depth++;
	if (events & LOOP_WRITE) {
		bool was = s->was_full;
		if (stream_flush(s) && !s->released && was && !stream_full(s)) {
			s->was_full = false;
			if (s->ops->on_drain)
				s->ops->on_drain(s->self);
		}
	}
	if (!s->released && !s->dead && (events & (LOOP_READ | LOOP_HUP)))
		stream_on_readable(s);
	stream_leave(s);
}

struct stream *stream_new(struct loop *l, int sock, size_t max_body, const struct stream_ops *ops,
			  void *self)
{
	struct stream *s = NEW(struct stream);
	struct err err = ERR_INIT;
	s->loop = l;
	s->sock = sock;
	s->max_body = max_body;
	s->ops = ops;
	s->self = self;
	if (fd_nonblock(sock, &err) < 0)
		assert(0 && "a stream needs a socket");
	s->watch = loop_fd_new(l, sock, LOOP_READ, stream_on_events, s);
	assert(s->watch);
	return s;
}

void stream_free(struct stream **sp)
{
	struct stream *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	loop_fd_free(&s->watch);
	fd_close(&s->sock);
	for (size_t i = 0; i < s->nr_parcels; i++)
		close_fds(s->parcel[i].fds, s->parcel[i].nr);
	close_fds(s->in_fds, s->nr_in_fds);
	free(s->parcel);
	buf_release(&s->in);
	buf_release(&s->out);
	s->released = true;
	if (!s->depth)
		free(s);
}

void stream_send_fds(struct stream *s, uint16_t type, uint64_t id, const void *body, size_t len,
		     const int *fds, size_t nr_fds)
{
	assert(nr_fds <= FD_PASS_MAX);
	if (s->dead || s->closing) {
		for (size_t i = 0; i < nr_fds; i++)
			close(fds[i]);
		return;
	}
	if (nr_fds) {
		GROW(s->parcel, s->nr_parcels, s->cap_parcels);
		struct parcel *p = &s->parcel[s->nr_parcels++];
		p->at = s->out_start + stream_queued_bytes(s);
		p->nr = nr_fds;
		memcpy(p->fds, fds, nr_fds * sizeof(*fds));
	}
	bool idle = !stream_queued_bytes(s);
	frame_append_fds(&s->out, type, id, body, len, nr_fds);
	if (stream_full(s))
		s->was_full = true;
	/* The first frame of an idle stream goes out at once (a round trip must not wait for a loop
	 * turn). The loop reports failures, never a send. */
	if (idle) {
		ssize_t n;
		while (stream_queued_bytes(s) && (n = stream_send_some(s)) > 0)
			has_gone(s, (size_t)n);
	}
	if (stream_queued_bytes(s) && !s->want_write) {
		s->want_write = true;
		stream_watch(s);
	}
}

void stream_send(struct stream *s, uint16_t type, uint64_t id, const void *body, size_t len)
{
	stream_send_fds(s, type, id, body, len, NULL, 0);
}

bool stream_full(const struct stream *s)
{
	return stream_queued_bytes(s) > STREAM_HIGH;
}

size_t stream_queued(const struct stream *s)
{
	return stream_queued_bytes(s);
}

void stream_close_after_flush(struct stream *s)
{
	s->closing = true;
	if (!s->want_write) {
		s->want_write = true; /* the loop reports the end */
		stream_watch(s);
	}
}
