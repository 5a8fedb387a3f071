/* HTTP as a client, streaming, on the event loop (libcurl's multi interface inside, seen in
 * client.c only).
 *
 * A call ends exactly once with its end callback, unless it is cancelled: then no callback follows.
 * Callbacks run on the loop's thread, never inside http_send. Redirects are not followed: a key
 * goes to the host that it was meant for or nowhere. Bytes are passed on as they come, decoded from
 * chunks, never from gzip (none is requested).
 *
 * Time: libcurl's own low-speed limit is a moving average of seconds, so idleness is measured here,
 * from the last byte of any kind. A stream has no total limit unless one is given.
 *
 * Headers hold keys. They are copied, wiped after use, and never appear in an error text. */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "base/buf.h"
#include "base/err.h"

struct sockaddr;
struct loop;
struct http;
struct http_call;

struct http_settings {
	/* PEM bundle instead of the system's; NULL: SSL_CERT_FILE, CURL_CA_BUNDLE, the system's */
	const char *ca_file;
	/* "http://host:port", "" none; NULL: http_proxy, https_proxy, all_proxy, no_proxy */
	const char *proxy;
	const char *agent;     /* User-Agent; NULL "sandglass/VERSION" */
	long host_connections; /* at once to one host; 0 = 128 */
	bool http1;	       /* never HTTP/2 */
};

struct http_request {
	const char *method; /* NULL: POST with a body, else GET */
	const char *url;    /* http or https */
	/* path; the url then names host and path only. NULL: the network */
	const char *unix_socket;
	const char *const *headers; /* "Name: value"; ends with NULL; may be NULL */
	const void *body;	    /* copied; may hold any bytes */
	size_t body_len;
	/* Limits in microseconds; 0 = the default, negative = none. */
	int64_t connect_us; /* 10 s */
	int64_t first_us;   /* to the first byte of the answer: 300 s */
	int64_t idle_us;    /* between two bytes: 90 s */
	int64_t total_us;   /* none */
	const char *proxy;  /* instead of the client's; "" none; NULL the client's */
	/* Asked for each address that a connection is about to be made to, after the name was
	 * looked up; false: it is not made (HTTP_REFUSED when no other is left). Such a call shares
	 * no connection with others. With a proxy it sees the proxy's address. May be NULL; @self
	 * is the handler's. */
	bool (*address_ok)(void *self, const struct sockaddr *addr);
	/* Sent at most once. Without this libcurl resends a request, POST or not, when a kept
	 * connection dies before the first byte of the answer; with it the call ends with
	 * HTTP_CUT, and the caller decides and records whether to try again. */
	bool once;
	/* without TLS, too, it is HTTP/2 from the first byte on; the answer may have trailers */
	bool h2;
	/* the answer is text in lines: crumbs of less than a line (or 1 KiB) do not hold off
	 * idle_us */
	bool lines;
};

struct http_header {
	const char *name, *value; /* name in lower case */
};

/* Head of the answer; borrowed for the call of head(). */
struct http_head {
	int status;
	const struct http_header *header;
	size_t nr;
};

enum http_how {
	HTTP_OK,	/* the answer is whole; its status may be anything */
	HTTP_UNREACHED, /* no connection: name, route, refused, connect time-out */
	HTTP_TLS,	/* the other side's certificate or the handshake */
	HTTP_CUT,	/* broke off, before or in the answer */
	HTTP_SLOW,	/* one of the limits; text says which */
	/* by us: not a URL, a scheme that is not http, an address that address_ok turned down */
	HTTP_REFUSED,
};

struct http_end {
	enum http_how how;
	int status;	  /* 0: no answer came */
	uint64_t bytes;	  /* of the body */
	int64_t first_us; /* from send to first byte; -1 none came */
	int64_t total_us;
	bool reused;	  /* an open connection served */
	const char *text; /* one line, what failed; "" for HTTP_OK */
	/* what came after the body; borrowed for the call of end() */
	const struct http_header *trailer;
	size_t nr_trailers;
};

struct http_handler {
	void (*head)(void *self, const struct http_head *head); /* may be NULL */
	void (*data)(void *self, const void *bytes, size_t len);
	void (*end)(void *self, const struct http_end *end);
	void *self;
};

/* @settings may be NULL; copied. */
NODISCARD int http_new(struct http **out, struct loop *loop, const struct http_settings *settings,
		       struct err *err);
/* Calls under way are cancelled. Not from a callback. */
void http_free(struct http **h);

/* Begins a request. Everything in @req is copied. Returns a call that lives until its end callback
 * has returned, or until it is cancelled. A request that cannot be made (bad URL) ends with
 * HTTP_REFUSED from the loop. */
struct http_call *http_send(struct http *h, const struct http_request *req,
			    const struct http_handler *handler);
void http_cancel(struct http_call **call); /* NULL inside is fine; allowed in callbacks */
/* No data() while paused; the other side is slowed by its window. Idle time does not count. */
void http_pause(struct http_call *call, bool paused);

/* Value of a header of the answer, NULL if absent; @name in lower case. Borrowed from @head. */
const char *http_header(const struct http_head *head, const char *name);
size_t http_open_calls(const struct http *h);
struct loop *http_loop(const struct http *h); /* that it runs on */

#endif
