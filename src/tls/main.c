/* sandglass-tls: ends TLS for the named hosts of a session, for a supervisor that holds the other
 * end of descriptor 3 (wire/tls.h). Not for users to start. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tls/authority.h"
#include "tls/pump.h"
#include "tls/tls_lockdown.h"
#include "wire/frame.h"
#include "wire/tls.h"

enum { LOST = 1, MISUSED = 2, LIMIT_MS = 1000 };

struct tls_server {
	struct authority *authority;
	SSL_CTX *ctx;
	struct pump *pump[TLS_CONNS_MAX];
	size_t nr;
};

static int tls_say(enum tls_frame type, uint64_t id, const char *text, size_t len)
{
	struct err none = ERR_INIT;
	return frame_send(TLS_FD, (uint16_t)type, id, text, len, NULL, 0, &none);
}

static int tls_failed(uint64_t id, const struct err *err)
{
	return tls_say(TLS_FAILED, id, err->text, strlen(err->text));
}

/* -1: the supervisor has gone. */
static int tls_accept(struct tls_server *s)
{
	struct err err = ERR_INIT;
	struct frame f;
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	int fd[FD_PASS_MAX] = { -1, -1 };
	size_t nr = 0;
	if (frame_recv(TLS_FD, TLS_BODY_MAX, &f, &body, fd, &nr, &err) < 0)
		return -1;
	if (f.type == TLS_CONNECTION && nr == 2 && s->nr < TLS_CONNS_MAX) {
		CLEANUP(free_ptr) char *host = mem_strndup(f.body, f.len);
		if (pump_new(&s->pump[s->nr], s->ctx, s->authority, f.id, host, fd[0], fd[1],
			     &err) == 0) {
			s->nr++;
			return 0;
		}
		return tls_failed(f.id, &err);
	}
	for (size_t i = 0; i < nr; i++)
		fd_close(&fd[i]);
	err_set(&err, ERR_FULL, "TLS: more than %d connections at once", TLS_CONNS_MAX);
	return tls_failed(f.id, &err);
}

static int tls_move(struct tls_server *s, size_t i)
{
	struct err err = ERR_INIT;
	if (pump_move(s->pump[i], &err))
		return 0;
	int rc = err.code ? tls_failed(pump_id(s->pump[i]), &err) : 0;
	pump_free(&s->pump[i]);
	return rc;
}

static void tls_forget_ended(struct tls_server *s)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->nr; i++)
		if (s->pump[i])
			s->pump[kept++] = s->pump[i];
	s->nr = kept;
}

/* Until the supervisor closes its end. */
static void tls_serve(struct tls_server *s)
{
	for (;;) {
		struct pollfd wants[1 + 2 * TLS_CONNS_MAX];
		size_t nr = s->nr;
		int timeout = -1;
		wants[0] = (struct pollfd){ .fd = TLS_FD, .events = POLLIN };
		for (size_t i = 0; i < nr; i++) {
			pump_wants(s->pump[i], &wants[1 + 2 * i], &wants[2 + 2 * i]);
			if (pump_limited(s->pump[i]))
				timeout = LIMIT_MS;
		}
		if (poll(wants, 1 + 2 * nr, timeout) < 0)
			continue;
		for (size_t i = 0; i < nr; i++)
			if ((wants[1 + 2 * i].revents || wants[2 + 2 * i].revents ||
			     pump_is_late(s->pump[i])) &&
			    tls_move(s, i) < 0)
				return;
		tls_forget_ended(s);
		if (wants[0].revents && tls_accept(s) < 0)
			return;
	}
}

static int tls_start(struct tls_server *s, struct err *err)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT;
	if (authority_new(&s->authority, err) < 0 || pump_context(&s->ctx, err) < 0 ||
	    authority_pem(s->authority, &pem, err) < 0 || tls_lockdown_enter(err) < 0)
		return -1;
	return tls_say(TLS_AUTHORITY, 0, pem.data, pem.len);
}

int main(void)
{
	static struct tls_server server;
	struct err err = ERR_INIT;
	struct stat st;
	if (fstat(TLS_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		fprintf(stderr,
			"sandglass-tls is started by sandglass, with a socket on descriptor 3\n");
		return MISUSED;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* a user's Ctrl-C is the supervisor's business */
	if (tls_start(&server, &err) < 0) {
		fprintf(stderr, "sandglass-tls: %s\n", err.text);
		return LOST;
	}
	tls_serve(&server);
	_exit(0);
}
