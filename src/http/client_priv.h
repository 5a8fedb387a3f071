/* Shared by client.c, client_options.c, and wire.c: one multi handle of libcurl, driven by the
 * loop. */
#ifndef HTTP_CLIENT_PRIV_H
#define HTTP_CLIENT_PRIV_H

#include <curl/curl.h>

#include "base/buf.h"
#include "http/client.h"

struct http {
	struct loop *loop;
	CURLM *multi;
	struct loop_timer *timer;
	struct http_call *calls; /* under way, and those not swept yet */
	size_t nr_open;
	struct loop_timer *later; /* what may not happen inside a caller or libcurl */
	bool inside;		  /* libcurl is on the stack */
	char *ca_file, *proxy, *agent;
	bool http1;
};

/* CURLOPT_PRIVATE of an easy handle; done is called outside of libcurl's own callbacks. */
struct http_transfer {
	void (*done)(struct http_transfer *t, CURLcode code);
};

struct http_call {
	struct http_transfer transfer; /* first */
	struct http *http;
	struct http_call *next;
	struct http_handler handler;
	CURL *easy;
	struct curl_slist *headers;
	struct loop_timer *timer;
	struct buf body, head_text;
	struct http_header *header;
	size_t nr_header;
	int64_t sent_us, first_at_us, last_us;
	int64_t first_us, idle_us, total_us;
	size_t crumbs; /* of a line that has not ended */
	bool lines;
	uint64_t bytes;
	char fail[CURL_ERROR_SIZE];
	char *slow; /* which limit ran out */
	int status;
	bool head_told, paused, dead, over;
	bool refused, turned_down;
	bool went_out, held_back; /* of a call that goes out once */
	bool (*address_ok)(void *self, const struct sockaddr *addr);
};

/* client_options.c: all that can be said to libcurl before @c goes out, but our callbacks for the
 * answer. */
void http_call_options(struct http_call *c, const struct http_request *r);

#endif
