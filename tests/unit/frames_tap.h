/* Frames between two real ends of a protocol, compared with tests/corpus/frames/NAME.txt
 * (frames_golden.h). A thread hands every frame on and keeps the first of each direction, type, and
 * id. One file each includes it. */
#ifndef FRAMES_TAP_H
#define FRAMES_TAP_H

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "frames_golden.h"
#include "wire/frame.h"

enum { TAP_FRAMES = 256, TAP_BODY_MAX = 64 << 20 };

struct tap_frame {
	bool back; /* from the second end */
	uint16_t type;
	uint64_t id;
	char *text;
};

struct frames_tap {
	int end[2];
	/* Appends the body without what differs between runs. */
	void (*render)(const struct frame *f, bool back, struct buf *out);
	struct tap_frame frame[TAP_FRAMES];
	size_t nr;
	pthread_t thread;
};

static void frames_tap_keep(struct frames_tap *t, const struct frame *f, bool back)
{
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < t->nr; i++)
		if (t->frame[i].back == back && t->frame[i].type == f->type &&
		    t->frame[i].id == f->id)
			return;
	if (t->nr == TAP_FRAMES)
		return;
	t->render(f, back, &text);
	t->frame[t->nr++] = (struct tap_frame){
		.back = back, .type = f->type, .id = f->id, .text = mem_strdup(buf_cstr(&text))
	};
	buf_release(&text);
}

/* Frames that came whole are handed on; false at the end. */
static bool frames_tap_pass(struct frames_tap *t, bool back, struct buf *in)
{
	char bytes[8192];
	struct frame f;
	size_t used;
	struct err err = ERR_INIT;
	ssize_t n = read(t->end[back], bytes, sizeof(bytes));
	if (n <= 0)
		return false;
	buf_append(in, bytes, (size_t)n);
	while (frame_parse(in->data, in->len, TAP_BODY_MAX, &f, &used, &err) == 1) {
		frames_tap_keep(t, &f, back);
		if (fd_write_all(t->end[!back], in->data, used, &err) < 0)
			return false;
		buf_drop(in, used);
	}
	return true;
}

static void *frames_tap_relay(void *self)
{
	struct frames_tap *t = self;
	struct buf in[2] = { BUF_INIT, BUF_INIT };
	for (bool more = true; more;) {
		struct pollfd p[2] = { { .fd = t->end[0], .events = POLLIN },
				       { .fd = t->end[1], .events = POLLIN } };
		if (poll(p, 2, 60000) <= 0)
			break;
		for (int i = 0; i < 2; i++)
			more = more && (!p[i].revents || frames_tap_pass(t, i, &in[i]));
	}
	for (int i = 0; i < 2; i++) {
		shutdown(t->end[i], SHUT_RDWR);
		buf_release(&in[i]);
	}
	return NULL;
}

/* Begins between the sockets @a and @b, which it takes. */
UNUSED static bool frames_tap_begin(struct frames_tap *t, int a, int b)
{
	t->end[0] = a;
	t->end[1] = b;
	return pthread_create(&t->thread, NULL, frames_tap_relay, t) == 0;
}

static int frames_tap_order(const void *a, const void *b)
{
	const struct tap_frame *x = a, *y = b;
	if (x->back != y->back)
		return x->back ? 1 : -1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Waits until one end has closed, and compares. */
UNUSED static void frames_tap_end(struct frames_tap *t, const char *name)
{
	struct buf got = BUF_INIT;
	pthread_join(t->thread, NULL);
	qsort(t->frame, t->nr, sizeof(t->frame[0]), frames_tap_order);
	for (size_t i = 0; i < t->nr; i++) {
		buf_printf(&got, "%s %u %llx %s\n", t->frame[i].back ? "<" : ">", t->frame[i].type,
			   (unsigned long long)t->frame[i].id, t->frame[i].text);
		free(t->frame[i].text);
	}
	frames_golden(name, &got);
	for (int i = 0; i < 2; i++)
		fd_close(&t->end[i]);
	buf_release(&got);
}

#endif
