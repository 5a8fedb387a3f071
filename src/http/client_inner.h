/* What client.c and wire.c share: one multi handle of libcurl, driven by the loop. */
#ifndef HTTP_CLIENT_INNER_H
#define HTTP_CLIENT_INNER_H

#include <curl/curl.h>

#include "http/client.h"

struct http {
	struct loop *loop;
	CURLM *multi;
	struct loop_timer *timer;
	struct http_call *calls; /* under way, and those not swept yet */
	size_t nr_open;
	struct loop_timer *later; /* what may not happen inside a caller or libcurl */
	bool inside;              /* libcurl is on the stack */
	char *ca_file, *proxy, *agent;
	bool http1;
};

/* What CURLOPT_PRIVATE of an easy handle is; done is called outside of libcurl's own callbacks. */
struct http_transfer {
	void (*done)(struct http_transfer *t, CURLcode code);
};

#endif
