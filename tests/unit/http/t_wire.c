/* The transport below a WebSocket: bytes in both directions, and the queue before the connection is up. */
#include "http/wire.h"

#include "ws_peer.h"

struct line {
	struct wire *wire;
	struct buf got;
	int ups, rooms, ends;
	enum http_how how;
};

static void line_up(void *self)
{
	((struct line *)self)->ups++;
}

static void line_room(void *self)
{
	((struct line *)self)->rooms++;
}

static void line_data(void *self, const void *bytes, size_t len)
{
	buf_append(&((struct line *)self)->got, bytes, len);
}

static void line_end(void *self, enum http_how how, const char *text)
{
	struct line *l = self;
	(void)text;
	l->ends++;
	l->how = how;
}

enum { MUCH = 32 << 20 }; /* more than the kernel holds of it on the way */

/* Sends back all that comes after the head. */
static void play_mirror(struct peer *p)
{
	char b[32 << 10];
	const char *rest = strstr(buf_cstr(&p->ask), "\r\n\r\n") + 4;
	size_t early = p->ask.len - (size_t)(rest - p->ask.data);
	if (!say(p, rest, early))
		return;
	for (size_t left = MUCH - early; left;) {
		ssize_t n = recv(p->sock, b, sizeof b, 0);
		if (n <= 0 || !say(p, b, (size_t)n))
			return;
		left -= (size_t)n;
	}
}

static void wires(void)
{
	struct peer p;
	struct line l = { 0 };
	const struct wire_handler on = { line_up, line_room, line_data, line_end, &l };
	CLEANUP(free_ptr) char *much = pattern(MUCH);
	start(&p, play_mirror, NULL);
	l.wire = wire_new(http, p.url, NULL, &on);
	wire_send(l.wire, "hello\r\n\r\n", 9);
	ok(!l.ups && wire_unsent(l.wire) == 9, "bytes sent before the connection is up are kept");
	TURN_WHILE(loop, !l.ups);
	wire_send(l.wire, much, MUCH);
	int rooms = l.rooms;
	ok(wire_unsent(l.wire) > 0, "more is sent than it takes at once");
	TURN_WHILE(loop, !l.ends);
	join(&p);
	ok(l.ups == 1 && l.ends == 1 && l.how == HTTP_OK && wire_unsent(l.wire) == 0, "the other side closes when it has all");
	ok(l.got.len == MUCH && !memcmp(l.got.data, much, MUCH), "32 MB go there and come back at once");
	ok(rooms == 1 && l.rooms > rooms, "free space is reported");
	wire_send(l.wire, "x", 1);
	is_int(wire_unsent(l.wire), 0, "after the end nothing is queued");
	wire_free(&l.wire);
	buf_release(&l.got);
	peer_release(&p);
}

int main(void)
{
	if (!begin())
		return 1;
	wires();
	return end();
}
