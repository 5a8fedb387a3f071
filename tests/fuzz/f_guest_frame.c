/* Both ends of the guest's protocol. The first byte chooses: even, the bodies as the guest unpacks them; odd, the bytes
 * as frames from a guest that lies to the client (bit 1: framed streams). */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/guest/guest_client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void unpack_all(const char *bytes, size_t size)
{
	struct err err = ERR_INIT;
	struct guest_prepare_body p;
	struct guest_attach_body a;
	struct guest_ended_body e;
	if (guest_prepare_unpack(bytes, size, &p, &err) == 0) {
		if (!p.nr_argv || !p.argv[0] || p.argv[p.nr_argv] || p.env[p.nr_env])
			abort();
		guest_prepare_release(&p);
	}
	if (guest_attach_unpack(bytes, size, &a, &err) == 0) {
		for (size_t i = 0; i < a.nr_rules; i++)
			if (strlen(a.rules[i].path) > size)
				abort();
		size_t sum = 0;
		for (size_t i = 0; i < a.nr_filters; i++)
			for (size_t at = 0; at < a.filters[i].steps; at++)
				sum += (unsigned char)a.filters[i].code[at * GUEST_FILTER_STEP];
		if (sum > size * 255)
			abort();
		guest_attach_release(&a);
	}
	if (guest_ended_unpack(bytes, size, &e, &err) < 0 && !err.code)
		abort();
}

static int ends;

static void on_gone(void *self, const struct err *err)
{
	(void)self;
	(void)err;
}

static void on_output(void *self, int stream, const void *bytes, size_t len)
{
	(void)self;
	(void)bytes;
	if (stream < 1 || stream > 3 || len > GUEST_WINDOW)
		abort();
}

static void on_end(void *self, int code, int signal, bool lost, int left)
{
	(void)self;
	(void)lost;
	ends++;
	if (code < 0 || code > 255 || signal < 0 || signal > 64 || left < 0)
		abort();
}

static void on_answer(void *self, json_t *result, const struct err *err)
{
	(void)self;
	if (!result == !err)
		abort();
	if (result && json_int(result, "fd", -1) >= 0)
		close((int)json_int(result, "fd", -1));
}

static void lie(const char *bytes, size_t size, bool framed)
{
	static const struct guest_ops guest_ops = { .on_gone = on_gone };
	static const struct run_ops run_ops = { .on_output = on_output, .on_exit = on_end };
	static struct loop *loop;
	static char name[] = "x";
	char *argv[] = { name, NULL };
	struct run_opts ro = { .argv = argv, .nr_argv = 1, .stdin_open = true };
	struct guest_opts o = { .framed = framed };
	struct err err = ERR_INIT;
	int pair[2];
	if ((!loop && loop_new(&loop, &err) < 0) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	struct guest *g = guest_new(loop, pair[0], &o, &guest_ops, NULL);
	struct guest_run *r = guest_prepare(g, &ro, &run_ops, NULL); /* number 1 */
	guest_attach(g, &(struct guest_attach){ 0 }, on_answer, NULL);
	guest_ps(g, on_answer, NULL);
	guest_freeze(g, true, on_answer, NULL);
	guest_kill_all(g, on_answer, NULL);
	if (framed)
		guest_dial(g, 80, on_answer, NULL);
	guest_go(r);
	guest_stdin(r, "abc", 3, false);
	static const char hello[] = "\x0a\0\0\0\x20\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1\7\0\0\0\0";
	if (fd_write_all(pair[1], hello, sizeof hello - 1, &err) < 0 || fd_write_all(pair[1], bytes, size, &err) < 0)
		abort();
	close(pair[1]);
	ends = 0;
	for (int i = 0; i < 20 && !ends; i++)
		loop_turn(loop, 0);
	guest_run_free(r);
	guest_free(&g);
	loop_turn(loop, 0);
	if (ends > 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 60000)
		return 0;
	char *bytes = malloc(size); /* exactly, so that a read past the end is seen */
	memcpy(bytes, data + 1, size - 1);
	if (data[0] & 1)
		lie(bytes, size - 1, data[0] & 2);
	else
		unpack_all(bytes, size - 1);
	free(bytes);
	return 0;
}
