/* The guest against a supervisor that breaks the protocol: it ends, with everything below it, and never does what it
 * was not asked. Well-behaved use is tests/unit/sandbox/t_guest_client.c. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "guest/guest_priv.h"
#include "tap.h"

#include "../sandbox/guest_box.h"

static int sock;
static pid_t pid;
static struct buf body;
static struct frame got;

static void send_frame(enum guest_frame type, uint64_t id, const struct buf *b, const int *fds, size_t nr)
{
	struct err err = ERR_INIT;
	if (frame_send(sock, (uint16_t)type, id, b ? b->data : NULL, b ? b->len : 0, fds, nr, &err) < 0)
		printf("# %s\n", err.text);
}

/* The next frame; false at the end or after 10 s. */
static bool next(void)
{
	struct err err = ERR_INIT;
	struct pollfd p = { .fd = sock, .events = POLLIN };
	int fds[FD_PASS_MAX];
	size_t nr = 0;
	if (poll(&p, 1, 10000) != 1 || frame_recv(sock, GUEST_MAX_OUT, &got, &body, fds, &nr, &err) < 0)
		return false;
	for (size_t i = 0; i < nr; i++)
		close(fds[i]);
	return true;
}

static bool next_is(enum guest_frame type, uint64_t id)
{
	return next() && got.type == type && got.id == id;
}

static void start(void)
{
	struct buf b = BUF_INIT;
	sock = guest_box_start(false, &pid);
	if (sock < 0 || !next_is(GF_READY, 0)) {
		printf("Bail out! no guest\n");
		exit(1);
	}
	pack_u8(&b, GUEST_UNCONFINED_OK);
	buf_u64le(&b, 0);
	buf_u64le(&b, 0);
	buf_u32le(&b, 0);
	buf_u16le(&b, 1);
	pack_u8(&b, GUEST_READ | GUEST_WRITE | GUEST_EXEC);
	pack_str(&b, "/");
	buf_u16le(&b, 0);
	pack_u8(&b, 0);
	send_frame(GF_ATTACH, 1, &b, NULL, 0);
	next_is(GF_ANSWER, 1);
	buf_release(&b);
}

static void stop(void)
{
	close(sock);
	waitpid(pid, NULL, 0);
}

static void ends(const char *what)
{
	int status = -1;
	while (next())
		;
	ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "%s: the guest ends (%d)", what, status);
	close(sock);
}

static void prepare_body(struct buf *b, unsigned flags, const char *command)
{
	buf_u16le(b, (uint16_t)flags);
	buf_u32le(b, 0); /* columns, rows */
	buf_u32le(b, 0); /* pixels */
	pack_str(b, "/");
	buf_u32le(b, 3);
	pack_str(b, "/bin/sh");
	pack_str(b, "-c");
	pack_str(b, command);
	buf_u32le(b, 0);
}

static void test_run(void)
{
	struct buf b = BUF_INIT;
	struct guest_ended_body e = { 0 };
	struct err err = ERR_INIT;
	prepare_body(&b, GUEST_GO, "printf out; printf err >&2; exit 3");
	start();
	send_frame(GF_PREPARE, 7, &b, NULL, 0);
	ok(next_is(GF_PREPARED, 7), "a run is prepared");
	bool out = false, err_seen = false;
	while (next() && got.type == GF_DATA && got.id == 7) {
		out |= got.len == 4 && memcmp(got.body, "\1out", 4) == 0;
		err_seen |= got.len == 4 && memcmp(got.body, "\2err", 4) == 0;
	}
	ok(out && err_seen, "its output is framed by stream");
	ok(got.type == GF_ENDED && guest_ended_unpack(got.body, got.len, &e, &err) == 0 && e.code == 3 && e.step == 0,
	   "and its end");
	stop();
	buf_release(&b);
}

static void test_credit(void)
{
	struct buf b = BUF_INIT;
	size_t bytes = 0;
	prepare_body(&b, GUEST_GO, "exec cat /dev/zero");
	start();
	send_frame(GF_PREPARE, 7, &b, NULL, 0);
	next_is(GF_PREPARED, 7);
	while (bytes < GUEST_WINDOW && next() && got.type == GF_DATA)
		bytes += got.len - 1;
	is_int(bytes, GUEST_WINDOW, "a flood fills its window");
	send_frame(GF_PING, 8, NULL, NULL, 0);
	ok(next_is(GF_ANSWER, 8), "and then nothing but answers comes");
	buf_reset(&b);
	pack_u8(&b, GUEST_OUT);
	buf_u32le(&b, 1000);
	send_frame(GF_CREDIT, 7, &b, NULL, 0);
	bytes = 0;
	while (bytes < 1000 && next() && got.type == GF_DATA)
		bytes += got.len - 1;
	is_int(bytes, 1000, "credit is taken to the byte");
	buf_reset(&b);
	pack_u8(&b, GUEST_OUT);
	buf_u32le(&b, GUEST_WINDOW);
	send_frame(GF_CREDIT, 7, &b, NULL, 0);
	send_frame(GF_CREDIT, 7, &b, NULL, 0);
	send_frame(GF_CREDIT, 7, &b, NULL, 0);
	ends("more credit than a window");
	buf_release(&b);
}

static void test_broken(void)
{
	static const struct {
		const char *what;
		unsigned type;
		const char *bytes;
		size_t len;
	} cases[] = {
		{ "an unknown frame", 99, "", 0 },
		{ "a frame of the other direction", GF_READY, "", 0 },
		{ "an empty prepare", GF_PREPARE, "", 0 },
		{ "a prepare of rubbish", GF_PREPARE, "rubbishrubbishrubbish", 21 },
		{ "a short attach", GF_ATTACH, "\0\0", 2 },
		{ "a short freeze", GF_FREEZE, "", 0 },
		{ "a long freeze", GF_FREEZE, "\1\1", 2 },
		{ "a signal without a number", GF_SIGNAL, "\0\0", 2 },
		{ "a signal too high", GF_SIGNAL, "\xff\0", 2 },
		{ "a short listen", GF_LISTEN, "\1", 1 },
		{ "data without a stream", GF_DATA, "", 0 },
		{ "a short credit", GF_CREDIT, "\1\1", 2 },
		{ "a short resize", GF_RESIZE, "\1", 1 },
	};
	struct err err = ERR_INIT;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf b = BUF_INIT;
		buf_append(&b, cases[i].bytes, cases[i].len);
		start();
		send_frame((enum guest_frame)cases[i].type, 5, &b, NULL, 0);
		ends(cases[i].what);
		buf_release(&b);
	}

	start();
	ok(fd_write_all(sock, "\xff\xff\xff\xff\1\0\0\0\0\0\0\0\0\0\0\0", 16, &err) == 0,
	   "a frame of four thousand million bytes");
	ends("too long");

	struct buf b = BUF_INIT;
	prepare_body(&b, GUEST_FDS, "true");
	start();
	send_frame(GF_PREPARE, 7, &b, NULL, 0);
	struct guest_ended_body e = { 0 };
	ok(next_is(GF_ENDED, 7) && guest_ended_unpack(got.body, got.len, &e, &err) == 0 && e.step == GS_PROTOCOL,
	   "a run without its descriptors fails");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[] = { null, null };
	send_frame(GF_PING, 8, NULL, fds, 2);
	ends("descriptors that nobody wants");
	close(null);

	buf_reset(&b);
	prepare_body(&b, 0, "true");
	start();
	send_frame(GF_PREPARE, 7, &b, NULL, 0);
	send_frame(GF_PREPARE, 7, &b, NULL, 0);
	ends("a number used twice");
	buf_release(&b);
}

static void test_late(void)
{
	struct buf b = BUF_INIT;
	start();
	pack_u8(&b, GUEST_IN);
	buf_puts(&b, "words");
	send_frame(GF_GO, 70, NULL, NULL, 0);
	send_frame(GF_DROP, 70, NULL, NULL, 0);
	send_frame(GF_DATA, 70, &b, NULL, 0);
	send_frame(GF_PING, 71, NULL, NULL, 0);
	ok(next_is(GF_ANSWER, 71), "a frame for a finished run is not an error");
	stop();
	buf_release(&b);
}

/* The end of the channel is the end of the box. */
static void test_end(void)
{
	struct buf b = BUF_INIT;
	int p[2];
	char c;
	prepare_body(&b, GUEST_GO | GUEST_FDS, "setsid sleep 100 & sleep 100");
	start();
	if (pipe2(p, O_CLOEXEC) < 0)
		exit(1);
	int fds[] = { p[1], p[1] };
	send_frame(GF_PREPARE, 7, &b, fds, 2);
	close(p[1]);
	next_is(GF_PREPARED, 7);
	poll(NULL, 0, 100);
	stop();
	struct pollfd pf = { .fd = p[0], .events = POLLIN };
	ok(poll(&pf, 1, 10000) == 1 && read(p[0], &c, 1) == 0, "nothing that the guest started outlives the channel");
	close(p[0]);
	buf_release(&b);
}

int main(void)
{
	test_run();
	test_credit();
	test_broken();
	test_late();
	test_end();
	buf_release(&body);
	return done_testing();
}
