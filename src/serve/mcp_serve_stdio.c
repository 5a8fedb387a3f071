/* The server over standard input and output. Standard output carries only the protocol. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/exit.h"
#include "mcp/lines.h"
#include "serve/mcp_serve.h"
#include "base/fd.h"

enum { LAST_MS = 30000 }; /* for what still runs when the input has ended */

struct stdio {
	struct loop *loop;
	struct mcp_server *server;
	struct lines *lines;
	struct mcp_peer peer;
	struct loop_timer *timer;
	bool ended;
	int status;
};

static void serve_stdio_stop(void *self)
{
	struct stdio *d = self;
	loop_stop(d->loop);
}

static void serve_stdio_send_msg(void *self, json_t *msg, bool last)
{
	struct stdio *d = self;
	lines_send(d->lines, msg);
	if (last && d->ended && !mcp_server_open(d->server))
		loop_stop(d->loop);
}

static void serve_stdio_on_line(void *self, const char *text, size_t len)
{
	struct stdio *d = self;
	mcp_server_take(d->server, &d->peer, text, len);
}

static void serve_stdio_on_end(void *self, const struct err *err)
{
	struct stdio *d = self;
	d->ended = true;
	if (err) {
		mcp_serve_fail(err);
		d->status = EXIT_UNSUCCESSFUL;
	}
	if (err || !mcp_server_open(d->server))
		loop_stop(d->loop);
	else
		loop_timer_set(d->timer, LAST_MS, 0);
}

static void serve_stdio_on_signal(void *self, int signo)
{
	struct stdio *d = self;
	d->status = signo == SIGINT ? EXIT_INT : EXIT_TERM;
	loop_stop(d->loop);
}

int mcp_serve_stdio(json_t *opts)
{
	static const struct lines_ops ops = { .on_line = serve_stdio_on_line,
					      .on_end = serve_stdio_on_end };
	struct stdio d = { .status = EXIT_DONE };
	struct err err = ERR_INIT;
	if (loop_new(&d.loop, &err) < 0) {
		mcp_serve_fail(&err);
		json_decref(opts);
		return EXIT_UNSUCCESSFUL;
	}
	signal(SIGPIPE, SIG_IGN);
	int in = fcntl(0, F_DUPFD_CLOEXEC, 3), out = fcntl(1, F_DUPFD_CLOEXEC, 3),
	    null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, 0); /* nothing but the protocol is to come near them */
	dup2(2, 1);
	fd_close(&null);
	struct loop_signal *sig[] = { loop_signal_new(d.loop, SIGINT, serve_stdio_on_signal, &d),
				      loop_signal_new(d.loop, SIGTERM, serve_stdio_on_signal, &d),
				      loop_signal_new(d.loop, SIGHUP, serve_stdio_on_signal, &d) };
	d.peer = (struct mcp_peer){ .send = serve_stdio_send_msg, .self = &d };
	d.timer = loop_timer_new(d.loop, serve_stdio_stop, &d);
	d.server = mcp_server_new(d.loop, opts);
	d.lines = lines_new(d.loop, in, out, &ops, &d);
	loop_run(d.loop);
	lines_flush(d.lines);
	mcp_server_gone(d.server, &d.peer);
	mcp_server_free(&d.server);
	lines_free(&d.lines);
	loop_timer_free(&d.timer);
	for (size_t i = 0; i < 3; i++)
		loop_signal_free(&sig[i]);
	free(d.peer.client);
	loop_free(d.loop);
	return d.status;
}
