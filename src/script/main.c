/* sandglass-host: runs scripts for a supervisor that holds the other end of descriptor 3. Not for
 * users to start. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "script/host.h"
#include "script/lockdown.h"

enum { TURN_CPU_S = 12, LOST = 1, MISUSED = 2 };

/* The supervisor kills for wall time; this memory is beside the script's own: frames on their way,
 * the stack. */
static const size_t MEM_LIMIT = (size_t)4 << 30;

static int script_main_send_all(const struct buf *out)
{
	struct err err = ERR_INIT;
	return fd_write_all(HOST_FD, out->data, out->len, &err);
}

static NORETURN void on_exhausted(void *self, const struct buf *out)
{
	(void)self;
	if (script_main_send_all(out) < 0)
		_exit(LOST);
	_exit(3);
}

static int script_main_serve(struct host *h)
{
	struct err err = ERR_INIT;
	struct frame f;
	struct buf body = BUF_INIT, out = BUF_INIT;
	for (;;) {
		size_t no_fds = 0;
		if (frame_recv(HOST_FD, HOST_BODY_MAX, &f, &body, NULL, &no_fds, &err) < 0)
			return LOST;
		lockdown_turn(TURN_CPU_S);
		buf_reset(&out);
		bool more = host_feed(h, &f, &out);
		lockdown_turn(0);
		if (script_main_send_all(&out) < 0)
			return LOST;
		if (!more)
			return host_code(h);
	}
}

int main(void)
{
	struct err err = ERR_INIT;
	struct stat st;
	if (fstat(HOST_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		fprintf(stderr,
			"sandglass-host is started by sandglass, with a socket on descriptor 3\n");
		return MISUSED;
	}
	/* poll is not among what is left */
	if (fcntl(HOST_FD, F_SETFL, fcntl(HOST_FD, F_GETFL) & ~O_NONBLOCK) < 0)
		return MISUSED;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* a user's Ctrl-C is the supervisor's business */
	json_object_seed(0);	 /* reads the random device: now or never */
	struct host *h = script_host_new(on_exhausted, NULL);
	if (lockdown_enter(MEM_LIMIT, &err) < 0) {
		fprintf(stderr, "sandglass-host: %s\n", err.text);
		return LOST;
	}
	/* No exit handlers, no closing of the state: no script code runs after this. */
	_exit(script_main_serve(h));
}
