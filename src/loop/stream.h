/* Frames (wire/frame.h) over a non-blocking stream socket on a loop: queue to send, callback per
 * frame received.
 *
 * Descriptors may ride along in both directions on unix sockets. When the queue is above
 * STREAM_HIGH bytes, stream_full() is true and the caller should stop producing until on_drain. */
#ifndef LOOP_STREAM_H
#define LOOP_STREAM_H

#include "loop/loop.h"
#include "wire/frame.h"

enum { STREAM_HIGH = 4 << 20 };

struct stream;
struct stream_ops {
	/* @f->body is borrowed for the call. @fds are owned by the callee (close what is not
	 * kept). */
	void (*on_frame)(void *self, const struct frame *f, int *fds, size_t nr_fds);
	/* Called once; @err is NULL at a clean end. The stream may be freed inside. */
	void (*on_close)(void *self, const struct err *err);
	void (*on_drain)(void *self); /* optional */
};

/* Takes @sock. @max_body bounds one frame's body in bytes. */
struct stream *stream_new(struct loop *l, int sock, size_t max_body, const struct stream_ops *ops,
			  void *self);
void stream_free(struct stream **s); /* closes the socket; queued bytes are dropped */
void stream_send(struct stream *s, uint16_t type, uint64_t id, const void *body, size_t len);
/* Takes the descriptors: they are closed after they have been sent. */
void stream_send_fds(struct stream *s, uint16_t type, uint64_t id, const void *body, size_t len,
		     const int *fds, size_t nr_fds);
bool stream_full(const struct stream *s);
size_t stream_queued(const struct stream *s); /* bytes that the peer has not taken yet */
void stream_close_after_flush(struct stream *s);

#endif
