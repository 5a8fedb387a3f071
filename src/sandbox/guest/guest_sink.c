/* Output of a process that its run left behind. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/guest/guest_priv.h"

enum { READ_MAX = 64 << 10, SINKS_MAX = 128 };

struct guest_sink {
	struct guest *g;
	int fd;
	struct loop_fd *watch;
};

static void sink_free(struct guest_sink *s)
{
	struct guest *g = s->g;
	for (size_t i = 0; i < g->nr_sinks; i++)
		if (g->sink[i] == s) {
			memmove(&g->sink[i], &g->sink[i + 1],
				(--g->nr_sinks - i) * sizeof *g->sink);
			break;
		}
	loop_fd_free(&s->watch);
	fd_close(&s->fd);
	free(s);
}

static void on_sink(void *self, int fd, unsigned events)
{
	UNSET char bytes[READ_MAX];
	(void)events;
	ssize_t n = read(fd, bytes, sizeof bytes);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		sink_free(self);
}

void guest_sink_new(struct guest *g, int fd)
{
	if (g->nr_sinks == SINKS_MAX)
		sink_free(g->sink[0]);
	struct guest_sink *s = NEW(struct guest_sink);
	s->g = g;
	s->fd = fd;
	s->watch = loop_fd_new(g->loop, fd, LOOP_READ, on_sink, s);
	GROW(g->sink, g->nr_sinks, g->cap_sinks);
	g->sink[g->nr_sinks++] = s;
}

void guest_sinks_free(struct guest *g)
{
	while (g->nr_sinks)
		sink_free(g->sink[g->nr_sinks - 1]);
}
