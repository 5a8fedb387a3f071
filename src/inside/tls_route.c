/* CONNECT requests at a proxy: TLS for a host of its routes ends here (tls_end.h), so that its
 * requests are like those over plain HTTP; others leave through the sandbox's own way out. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "inside/inside_priv.h"
#include "inside/tls_end.h"
#include "supervisor/core/call.h"
#include "supervisor/net/super_net.h"

/* PROXY_MAX: connections of one proxy, so that no sandbox has all those of the session
 * (TLS_CONNS_MAX). */
enum { TLS_PORT = 443, PROXY_MAX = 64 };

/* "HOST:PORT": a lower-case copy of HOST. 0: no port. */
static char *tls_route_host(const struct http_ask *ask, unsigned *port_out)
{
	char *host = mem_strndup(ask->authority, ask->authority_len), *colon = strrchr(host, ':');
	char *end = NULL;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
	*port_out = colon && end > colon + 1 && !*end && port < 65536 ? (unsigned)port : 0;
	if (colon)
		*colon = 0;
	for (char *c = host; *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
	return host;
}

static bool tls_route_named(const struct proxy *p, const char *host)
{
	const json_t *r;
	size_t i;
	json_array_foreach(json_object_get(p->spec, "routes"), i, r)
	{
		if (json_flag(r, "tls", false) && !strcmp(json_str(r, "name", ""), host))
			return true;
	}
	return false;
}

static void tls_route_refuse(struct proxy *p, struct http_visit *v, const char *host, unsigned port,
			     const char *why)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(json_release) json_t *body = json_object();
	CLEANUP(free_ptr) char *target = mem_printf("%s:%u", host, port);
	json_put_str(body, "error", "net.egress");
	json_put_str(body, "host", host);
	json_put_int(body, "port", port);
	json_put_str(body, "why", why);
	json_dump_buf(body, &text);
	buf_putc(&text, '\n');
	proxy_incident(p, "CONNECT", target, why);
	http_reply(
		v, 403, "application/json",
		(const char *const[]){ "Proxy-Status: sandglass; error=http_request_denied", NULL },
		text.data, text.len);
}

/* The client waits for this before it begins TLS. */
static bool tls_route_greet(int fd)
{
	static const char line[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	return send(fd, line, sizeof(line) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(line) - 1;
}

/* -1: the client has gone, or sent bytes that nobody would read. */
static int tls_route_socket(struct proxy *p, struct http_visit *v, const char *host)
{
	CLEANUP(buf_release) struct buf early = BUF_INIT;
	int fd = http_take(v, &early);
	if (fd >= 0 && early.len) {
		proxy_incident(p, "CONNECT", host, "the client didn't wait for the answer");
		fd_close(&fd);
	}
	return fd;
}

static void tls_route_take(struct proxy *p, struct http_visit *v, const char *host)
{
	struct err err = ERR_INIT;
	int plain, fd = tls_route_socket(p, v, host);
	if (fd < 0)
		return;
	if (!tls_route_greet(fd)) {
		close(fd);
		return;
	}
	if (tls_end_connect(p->all->s, fd, host, &plain, &err) == 0)
		http_server_add(p->server, plain, host);
	else
		super_warn(p->all->s, NULL, "TLS for %s: %s", host, err.text);
}

void proxy_on_connect(void *self, struct http_visit *v)
{
	struct proxy *p = self;
	unsigned port;
	CLEANUP(free_ptr) char *host = tls_route_host(http_visit_ask(v), &port);
	if (port == TLS_PORT && tls_route_named(p, host)) {
		if (http_server_added(p->server) < PROXY_MAX)
			tls_route_take(p, v, host);
		else
			tls_route_refuse(p, v, host, port, "too many connections at once");
		return;
	}
	if (!p->all->net) {
		tls_route_refuse(p, v, host, port,
				 "the sandbox has no network, and no route has this name");
		return;
	}
	CLEANUP(free_ptr) char *name = mem_printf("%s:%u", host, port);
	int fd = tls_route_socket(p, v, name);
	if (fd >= 0)
		net_connect(p->all->net, fd, name);
}

void op_proxy_certificate(struct call *c)
{
	struct err err = ERR_INIT;
	const char *pem = tls_end_certificate(c->super, &err);
	json_t *v = json_object();
	if (!pem) {
		json_decref(v);
		call_fail_err(c, &err);
		return;
	}
	json_put_str(v, "pem", pem);
	call_answer(c, v);
}
