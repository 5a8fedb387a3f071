/* Frames and descriptors over a socket pair: order, ties of descriptors to frames, big bodies, the end. */
#include <fcntl.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "loop/stream.h"
#include "tap.h"

static struct loop *loop;
static int nr_frames, nr_closed;
static size_t total_fds, fds_of[4096], len_of[4096];
static bool order = true;

static void on_frame(void *self, const struct frame *f, int *fds, size_t nr_fds)
{
	(void)self;
	if (f->id != (uint64_t)nr_frames + 1)
		order = false;
	if (nr_frames < 4096) {
		fds_of[nr_frames] = nr_fds;
		len_of[nr_frames] = f->len;
	}
	nr_frames++;
	for (size_t i = 0; i < nr_fds; i++)
		fd_close(&fds[i]);
	total_fds += nr_fds;
}

static void on_close(void *self, const struct err *err)
{
	nr_closed++;
	(void)self;
	(void)err;
}

static const struct stream_ops ops = { .on_frame = on_frame, .on_close = on_close };

int main(void)
{
	struct err err = ERR_INIT;
	int sp[2];
	if (loop_new(&loop, &err) < 0)
		return 1;
	ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sp) == 0, "socket pair");
	struct stream *a = stream_new(loop, sp[0], 8 << 20, &ops, NULL);
	struct stream *b = stream_new(loop, sp[1], 8 << 20, &ops, NULL);

	enum { N = 300 };
	char *big = mem_calloc(1, 6 << 20);
	int sent = N + 1;
	for (int i = 0; i < N; i++) {
		int fd = i % 3 == 1 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
		stream_send_fds(a, 7, (uint64_t)i + 1, "hello", (size_t)(i % 6), &fd, fd >= 0 ? 1 : 0);
	}
	stream_send(a, 8, N + 1, big, 6 << 20);
	ok(stream_full(a), "a queue above the limit reports that it is full");
	while (nr_frames < N + 1)
		loop_turn(loop, 100);
	is_int(nr_frames, N + 1, "every frame arrives");
	ok(order, "in order");
	is_int((int64_t)total_fds, N / 3, "every descriptor arrives");
	bool tied = true;
	for (int i = 0; i < N; i++)
		if (fds_of[i] != (i % 3 == 1 ? 1U : 0U) || len_of[i] != (size_t)(i % 6))
			tied = false;
	ok(tied, "each with its own frame");
	is_int((int64_t)len_of[N], 6 << 20, "a big body is whole");
	ok(!stream_full(a), "and the queue is empty again");

	struct mallinfo2 before = mallinfo2();
	for (int i = 0; i < 8; i++)
		stream_send(a, 8, (uint64_t)++sent, big, 6 << 20);
	is_int((int64_t)stream_queued(a) / (6 << 20), 7, "a queue says how long it is");
	while (nr_frames < sent)
		loop_turn(loop, 100);
	ok(order && len_of[sent - 1] == 6 << 20 && !stream_queued(a), "a long one goes out in order");
	struct mallinfo2 after = mallinfo2();
	ok(after.uordblks + after.hblkhd < before.uordblks + before.hblkhd + (2 << 20), "and its memory is given back");

	stream_close_after_flush(a);
	while (nr_closed < 1)
		loop_turn(loop, 100);
	stream_free(&a);
	while (nr_closed < 2)
		loop_turn(loop, 100);
	ok(nr_closed == 2, "both sides learn of the end");
	stream_free(&b);
	free(big);

	nr_frames = 0;
	ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sp) == 0, "socket pair");
	b = stream_new(loop, sp[1], 64, &ops, NULL);
	nr_closed = 0;
	ok(frame_send(sp[0], 1, 1, big = mem_calloc(1, 65), 65, NULL, 0, &err) == 0, "a frame above the limit is sent");
	while (!nr_closed)
		loop_turn(loop, 100);
	is_int(nr_frames, 0, "and refused");
	free(big);
	close(sp[0]);
	stream_free(&b);
	loop_free(loop);
	return done_testing();
}
