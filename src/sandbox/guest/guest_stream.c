/* How the bytes of a run move: its output, its input, credit and pauses, by descriptors or by
 * frames. */
#include <errno.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/guest/guest_run_priv.h"

enum { READ_MAX = 64 << 10 };

static void guest_stream_on_events(void *self, int fd, unsigned events);

/* --- output --- */

void run_deliver(struct guest_run *r, unsigned stream, const void *bytes, size_t len)
{
	if (len && r->ops->on_output)
		r->ops->on_output(r->self, (int)stream, bytes, len);
}

/* As read. A terminal hands out at most 4 KiB at once: takes all that is there, so that its readers
 * are called once for it. */
static ssize_t read_gathered(const struct guest_run *r, int fd, char *bytes, size_t want)
{
	size_t got = 0;
	ssize_t n;
	do {
		n = read(fd, bytes + got, want - got);
		got += n > 0 ? (size_t)n : 0;
	} while (r->pty && n > 0 && got < want);
	return got ? (ssize_t)got : n;
}

/* Reads once; true if there may be more. The run may be freed inside; the caller holds it by
 * busy. */
static bool read_end(struct guest_run *r, struct end *e)
{
	UNSET char bytes[READ_MAX];
	size_t want = r->ended && e->drain < sizeof bytes ? e->drain : sizeof bytes;
	ssize_t n = read_gathered(r, e->fd, bytes, want);
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN) {
		e->drain = 0;
		return false;
	}
	if (n <= 0) { /* a terminal whose other side has closed says EIO */
		e->over = true;
		e->drain = 0;
		return false;
	}
	if (r->ended)
		e->drain -= (size_t)n;
	run_deliver(r, e->nr, bytes, (size_t)n);
	return !r->freed && r->g && !r->paused && (!r->ended || e->drain) && (size_t)n == want;
}

void run_read_some(struct guest_run *r, struct end *e)
{
	for (int round = 0; round < 16 && e->fd >= 0 && !e->over; round++)
		if (!read_end(r, e))
			return;
}

/* --- input --- */

struct end *run_in_end(struct guest_run *r)
{
	return &r->end[r->pty ? GUEST_TTY : GUEST_IN];
}

static void in_closed(struct guest_run *r)
{
	buf_reset(&r->in);
	r->in_over = true;
	if (!r->pty)
		run_end_close(run_in_end(r));
}

static void send_in_framed(struct guest_run *r, struct end *e)
{
	size_t at = 0;
	while (at < r->in.len && e->credit) {
		size_t n = r->in.len - at;
		if (n > GUEST_CHUNK - 1)
			n = GUEST_CHUNK - 1;
		if (n > e->credit)
			n = e->credit;
		guest_send_stream(r->g, GF_DATA, r->id, e->nr, r->in.data + at, n);
		e->credit -= n;
		at += n;
	}
	buf_drop(&r->in, at);
	if (!r->in.len && r->in_eof && !r->pty) {
		guest_send_stream(r->g, GF_EOF, r->id, e->nr, NULL, 0);
		r->in_over = true;
	}
}

void run_write_in(struct guest_run *r)
{
	struct end *e = run_in_end(r);
	if (!r->g || r->in_over)
		return;
	if (r->framed) {
		send_in_framed(r, e);
		return;
	}
	while (r->in.len && e->fd >= 0) {
		ssize_t n = write(e->fd, r->in.data, r->in.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			in_closed(r); /* the command does not read: that is its right */
			return;
		}
		buf_drop(&r->in, (size_t)n);
	}
	if (!r->in.len && r->in_eof && !r->pty)
		in_closed(r);
}

void guest_stdin(struct guest_run *r, const void *bytes, size_t len, bool eof)
{
	if (!r->g || r->in_over || r->in_eof)
		return;
	buf_append(&r->in, bytes, len);
	if (eof && r->pty)
		/* a terminal has no end of input; ^D at the start of a line stands for it */
		buf_putc(&r->in, 4);
	else if (eof)
		r->in_eof = true;
	run_write_in(r);
	run_update(r);
}

size_t guest_stdin_queued(const struct guest_run *r)
{
	return r->in.len;
}

/* --- watching --- */

static void guest_stream_watch(struct guest_run *r, struct end *e, unsigned events)
{
	if (e->fd < 0 || e->over)
		events = 0;
	if (events && !e->watch)
		e->watch = loop_fd_new(r->g->loop, e->fd, events, guest_stream_on_events, e);
	else if (e->watch && events != e->events)
		loop_fd_events(e->watch, events);
	e->events = events;
}

void run_update(struct guest_run *r)
{
	if (!r->g || r->framed)
		return;
	for (int i = 0; i < 4; i++) {
		struct end *e = &r->end[i];
		unsigned events = i > 0 && !r->paused && (!r->ended || e->drain) ? LOOP_READ : 0;
		if (e == run_in_end(r) && r->in.len)
			events |= LOOP_WRITE;
		guest_stream_watch(r, e, events);
	}
}

static void guest_stream_on_events(void *self, int fd, unsigned events)
{
	struct end *e = self;
	struct guest_run *r = e->run;
	(void)fd;
	r->busy++;
	if (events & LOOP_WRITE)
		run_write_in(r);
	if (r->g && events & (LOOP_READ | LOOP_HUP) && !r->paused && e->nr != GUEST_IN)
		run_read_some(r, e);
	if (r->g) {
		run_check_end(r);
		run_update(r);
	}
	run_leave(r);
}

/* --- frames --- */

static void guest_stream_give_back(struct guest_run *r, struct end *e)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (e->got < GUEST_WINDOW / 4 || !r->g)
		return;
	pack_u8(&b, (uint8_t)e->nr);
	buf_u32le(&b, (uint32_t)e->got);
	e->got = 0;
	guest_send(r->g, GF_CREDIT, r->id, &b);
}

bool guest_run_data(struct guest *g, uint64_t id, unsigned stream, const char *bytes, size_t len)
{
	struct guest_run *r = run_find(g, id);
	if (!r)
		return false;
	struct end *e = &r->end[stream & 3];
	if (!r->framed || stream == GUEST_IN || stream > GUEST_TTY ||
	    (stream == GUEST_TTY) != r->pty || e->got + len > GUEST_WINDOW) {
		guest_broken(g, "more output than there was room for");
		return true;
	}
	e->got += len;
	if (r->paused) {
		buf_append(&e->held, bytes, len);
		return true;
	}
	r->busy++;
	run_deliver(r, stream, bytes, len);
	if (!r->freed)
		guest_stream_give_back(r, e);
	run_leave(r);
	return true;
}

bool guest_run_credit(struct guest *g, uint64_t id, unsigned stream, uint32_t more)
{
	struct guest_run *r = run_find(g, id);
	if (!r)
		return false;
	struct end *e = run_in_end(r);
	if (!r->framed || stream != e->nr || e->credit + more > GUEST_WINDOW) {
		guest_broken(g, "credit out of bounds");
		return true;
	}
	e->credit += more;
	run_write_in(r);
	return true;
}

void guest_pause(struct guest_run *r, bool paused)
{
	if (!r->g || r->paused == paused)
		return;
	r->paused = paused;
	r->busy++;
	for (int i = 1; i < 4 && r->framed && !r->paused && !r->freed; i++) {
		struct buf held = r->end[i].held;
		r->end[i].held = BUF_INIT;
		run_deliver(r, (unsigned)i, held.data, held.len);
		buf_release(&held);
		if (!r->freed)
			guest_stream_give_back(r, &r->end[i]);
	}
	if (!r->freed) {
		run_check_end(r);
		run_update(r);
	}
	run_leave(r);
}
