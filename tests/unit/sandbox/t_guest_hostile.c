/* The guest client against a guest that lies: a box is never trusted, so every lie ends the connection or is bounded,
 * and no descriptor of the box's choosing is kept. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/guest/guest_client.h"
#include "tap.h"

static struct loop *loop;
static struct guest *guest;
static int fake; /* the guest's end */
static bool ready, gone;
static struct err gone_err;

static struct {
	bool done, lost;
	int code, signal, left;
	size_t bytes;
} run_end;

static struct {
	bool done;
	struct err err;
	json_t *result;
} answer;

static void on_ready(void *self, const struct guest_info *i)
{
	(void)self;
	(void)i;
	ready = true;
}

static void on_gone(void *self, const struct err *err)
{
	(void)self;
	gone = true;
	gone_err = *err;
}

static const struct guest_ops guest_ops = { .on_ready = on_ready, .on_gone = on_gone };

static void on_output(void *self, int stream, const void *bytes, size_t len)
{
	(void)self;
	(void)stream;
	(void)bytes;
	run_end.bytes += len;
}

static void on_end(void *self, int code, int signal, bool lost, int left)
{
	(void)self;
	run_end.done = true;
	run_end.lost = lost;
	run_end.code = code;
	run_end.signal = signal;
	run_end.left = left;
}

static const struct run_ops run_ops = { .on_output = on_output, .on_exit = on_end };

static void on_answer(void *self, json_t *result, const struct err *err)
{
	(void)self;
	answer.done = true;
	answer.result = json_incref(result);
	if (err)
		answer.err = *err;
}

static void turns(void)
{
	for (int i = 0; i < 8; i++)
		loop_turn(loop, 1);
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int nr = 0;
	while (readdir(d))
		nr++;
	closedir(d);
	return nr;
}

static void tell(enum guest_frame type, uint64_t id, const void *bytes, size_t len, const int *fds, size_t nr)
{
	struct err err = ERR_INIT;
	if (frame_send(fake, (uint16_t)type, id, bytes, len, fds, nr, &err) < 0)
		printf("# %s\n", err.text);
	turns();
}

static void greet(unsigned version)
{
	struct buf b = BUF_INIT;
	buf_u32le(&b, version);
	pack_u8(&b, 1);
	pack_u8(&b, 7);
	buf_u32le(&b, 1000);
	tell(GF_READY, 0, b.data, b.len, NULL, 0);
	buf_release(&b);
}

static void start(bool framed, bool greeting)
{
	int pair[2];
	struct guest_opts o = { .framed = framed };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	ready = gone = false;
	memset(&run_end, 0, sizeof run_end);
	memset(&answer, 0, sizeof answer);
	fake = pair[1];
	guest = guest_new(loop, pair[0], &o, &guest_ops, NULL);
	if (greeting)
		greet(GUEST_VERSION);
}

static void stop(void)
{
	guest_free(&guest);
	fd_close(&fake);
	json_release(&answer.result);
	turns();
}

static void caught(const char *what)
{
	turns();
	ok(gone && gone_err.code == ERR_PARSE, "%s: the guest has lost its trust", what);
	stop();
}

static struct guest_run *start_run(bool pty)
{
	static char name[] = "true";
	static char *argv[] = { name, NULL };
	struct run_opts o = { .argv = argv, .nr_argv = 1, .pty = pty, .stdin_open = true };
	struct guest_run *r = guest_prepare(guest, &o, &run_ops, NULL);
	guest_go(r);
	return r;
}

static void test_greeting(void)
{
	start(false, false);
	tell(GF_ANSWER, 1, "\0\0\0\0\0", 5, NULL, 0);
	caught("an answer before the greeting");
	start(false, false);
	greet(GUEST_VERSION + 1);
	caught("another version");
	start(false, true);
	ok(ready, "a good greeting");
	greet(GUEST_VERSION);
	caught("a second greeting");
	start(false, false);
	tell(GF_READY, 0, "\1\0", 2, NULL, 0);
	caught("half a greeting");
	start(false, false);
	fd_close(&fake);
	turns();
	ok(gone && gone_err.code == ERR_CLOSED, "no greeting at all: closed");
	stop();
}

static void test_frames(void)
{
	static const struct {
		const char *what;
		unsigned type;
		const char *bytes;
		size_t len;
		bool framed;
	} cases[] = {
		{ "an unknown frame", 77, "", 0, false },
		{ "a frame of the other direction", GF_PREPARE, "", 0, false },
		{ "an answer to nothing", GF_ANSWER, "\0\0\0\0\0", 5, false },
		{ "a stream frame without stream", GF_DATA, "", 0, true },
		{ "a short credit", GF_CREDIT, "\0\1", 2, true },
		{ "credit of four thousand million", GF_CREDIT, "\0\xff\xff\xff\xff", 5, true },
		{ "a connection with a number of ours", GF_ACCEPTED, "\1\0\0\0\0\0\0\0", 8, true },
		{ "a connection that is not framed", GF_ACCEPTED, "\1\0\0\0\0\0\0\x80", 8, false },
		{ "a short end", GF_ENDED, "\0", 1, false },
		{ "a short preparation", GF_PREPARED, "\0", 1, false },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		start(cases[i].framed, true);
		tell((enum guest_frame)cases[i].type, 5, cases[i].bytes, cases[i].len, NULL, 0);
		caught(cases[i].what);
	}
	struct err err = ERR_INIT;
	start(true, true);
	ok(fd_write_all(fake, "\xff\xff\xff\x0f\x04\0\0\0\0\0\0\0\0\0\0\0", 16, &err) == 0, "a frame of 256 MB");
	caught("too long");

	start(true, true);
	tell(GF_DATA, 99, "\1abc", 4, NULL, 0);
	tell(GF_EOF, 99, "\4", 1, NULL, 0);
	tell(GF_ENDED, 99, (char[32]){ 0 }, 32, NULL, 0);
	ok(!gone, "frames about what has gone are no lie");
	stop();
}

static void test_run(void)
{
	struct buf b = BUF_INIT;
	struct guest_ended_body e = { .code = 65535, .signal = 255, .left = UINT32_MAX, .cpu_us = UINT64_MAX };
	guest_ended_pack(&b, &e);
	start(false, true);
	struct guest_run *r = start_run(false);
	tell(GF_ENDED, 1, b.data, b.len, NULL, 0);
	ok(run_end.done && !run_end.lost, "an end is an end");
	ok(run_end.code == 255 && run_end.signal <= SIGRTMAX && run_end.left >= 0 && run_end.left <= 1 << 22,
	   "its numbers are bounded");
	memset(&run_end, 0, sizeof run_end);
	tell(GF_ENDED, 1, b.data, b.len, NULL, 0);
	ok(!run_end.done && !gone, "told once");
	guest_run_free(r);
	stop();

	start(false, true);
	r = start_run(false);
	tell(GF_DATA, 1, "\1words", 6, NULL, 0);
	ok(run_end.lost && run_end.bytes == 0, "output of a run that has descriptors is a lie, and the run is lost");
	guest_run_free(r);
	caught("output where none can be");

	start(true, true);
	r = start_run(false);
	tell(GF_DATA, 1, "\0words", 6, NULL, 0);
	guest_run_free(r);
	caught("output on stdin");

	start(true, true);
	r = start_run(false);
	tell(GF_CREDIT, 1, "\0\1\0\0\0", 5, NULL, 0);
	guest_run_free(r);
	caught("credit over the window");

	/* the owner pauses: a flood may fill the window and no more */
	static char chunk[1 + 16384] = { GUEST_OUT };
	start(true, true);
	r = start_run(false);
	guest_pause(r, true);
	for (int i = 0; i < GUEST_WINDOW / 16384; i++)
		tell(GF_DATA, 1, chunk, sizeof chunk, NULL, 0);
	ok(!gone && run_end.bytes == 0, "a window of output is kept while paused");
	tell(GF_DATA, 1, chunk, 2, NULL, 0);
	ok(run_end.lost && run_end.bytes == GUEST_WINDOW, "one byte more is a violation; the valid bytes are delivered");
	guest_run_free(r);
	caught("a flood");

	int p[2];
	if (pipe2(p, O_CLOEXEC) < 0)
		exit(1);
	start(false, true);
	r = start_run(true);
	tell(GF_PREPARED, 1, "\5\0\0\0", 4, &p[0], 1);
	guest_run_free(r);
	caught("a terminal that is a pipe");
	start(false, true);
	r = start_run(true);
	tell(GF_PREPARED, 1, "\5\0\0\0", 4, NULL, 0);
	guest_run_free(r);
	caught("a terminal that is not there");
	close(p[0]);
	close(p[1]);
	buf_release(&b);
}

static void ask(void (*verb)(struct guest *, box_done_fn *, void *), const void *bytes, size_t len, const char *what)
{
	start(false, true);
	verb(guest, on_answer, NULL);
	tell(GF_ANSWER, 1, bytes, len, NULL, 0);
	ok(answer.done && answer.err.code == ERR_PARSE, "%s", what);
	caught(what);
}

static void test_answers(void)
{
	struct buf b = BUF_INIT;
	ask(guest_ps, "\0\0\0\0\0", 5, "an empty list of processes");
	ask(guest_ps, "\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 13, "four thousand million processes");
	ask(guest_kill_all, "\0\0\0\0\0\1", 6, "half a count");
	ask(guest_ping, "\0\0\0\0\0x", 6, "more than was asked for");

	start(false, true);
	guest_ps(guest, on_answer, NULL);
	buf_append(&b, "\0\0\0\0\0\1\0\0\0\1\0\0\0", 13);
	buf_append(&b, (char[29]){ 0 }, 29);
	buf_u32le(&b, 2);
	buf_append(&b, "\xff\xfe", 3);
	tell(GF_ANSWER, 1, b.data, b.len, NULL, 0);
	ok(answer.done && answer.result && !gone, "a process name that is not UTF-8 is accepted");
	stop();
	buf_release(&b);

	start(false, true);
	guest_attach(guest, &(struct guest_attach){ 0 }, on_answer, NULL);
	tell(GF_ANSWER, 1, "\0\0\0\0\0\7\1\0\xff\xff", 10, NULL, 0);
	ok(answer.done && answer.err.code == ERR_PARSE, "a missing path that was never named");
	caught("a rule out of nowhere");

	start(false, true);
	guest_ping(guest, on_answer, NULL);
	tell(GF_ANSWER, 1, "\xc8\xff\xff\xff\xff", 5, NULL, 0);
	ok(answer.done && answer.err.code && answer.err.text[0], "a failure that does not exist: %s", answer.err.text);
	stop();
}

static void listen_answer(int fd, const char *what)
{
	start(false, true);
	guest_listen(guest, 80, on_answer, NULL);
	tell(GF_ANSWER, 1, "\0\0\0\0\0\x50\0", 7, &fd, 1);
	ok(answer.done && answer.err.code == ERR_PARSE, "%s is not a listening socket", what);
	caught(what);
	close(fd);
}

static void test_descriptors(void)
{
	int before, null = open("/dev/null", O_RDWR | O_CLOEXEC), many[8];
	listen_answer(open("/dev/null", O_RDWR | O_CLOEXEC), "a file");
	listen_answer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "a socket that does not listen");
	listen_answer(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "a socket of another family");
	before = open_fds();
	start(false, true);
	for (int i = 0; i < 8; i++)
		many[i] = null;
	guest_ping(guest, on_answer, NULL);
	tell(GF_ANSWER, 1, "\0\0\0\0\0", 5, many, 8);
	ok(answer.done && answer.result, "descriptors with an answer that carries none");
	tell(GF_PREPARED, 9, "\1\0\0\0", 4, many, 8);
	stop();
	is_int(open_fds(), before, "are closed");
	close(null);
}

static void on_gone_free(void *self, const struct err *err)
{
	(void)self;
	(void)err;
	gone = true;
	guest_free(&guest);
}

/* Owners let go of things whenever they like. */
static void test_freed_inside(void)
{
	static const struct guest_ops ops = { .on_gone = on_gone_free };
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	gone = false;
	memset(&answer, 0, sizeof answer);
	memset(&run_end, 0, sizeof run_end);
	guest = guest_new(loop, pair[0], NULL, &ops, NULL);
	struct guest_run *r = start_run(false);
	guest_ping(guest, on_answer, NULL);
	close(pair[1]);
	turns();
	ok(gone && run_end.lost && answer.err.code == ERR_CLOSED,
	   "freed inside on_gone, after each caller was notified");
	guest_signal(r, SIGTERM);
	guest_stdin(r, "x", 1, true);
	guest_pause(r, true);
	ok(true, "a run outlives its guest");
	guest_run_free(r);
	turns();
}

int main(void)
{
	struct err err = ERR_INIT;
	if (loop_new(&loop, &err) < 0)
		return 1;
	test_greeting();
	test_frames();
	test_run();
	test_answers();
	test_descriptors();
	test_freed_inside();
	loop_free(loop);
	return done_testing();
}
