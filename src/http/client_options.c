/* The libcurl options of one request: address, contents, and forbidden behavior. */
#include <string.h>
#include <sys/socket.h>

#include "http/client_priv.h"

/* One connection for each: libcurl 7.88 breaks off what goes out second on a kept one
 * (CURLE_HTTP2). */
static void set_plain_h2(struct http_call *c)
{
	curl_easy_setopt(c->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	curl_easy_setopt(c->easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(c->easy, CURLOPT_FORBID_REUSE, 1L);
}

static void set_url(struct http_call *c, const struct http_request *r)
{
	curl_easy_setopt(c->easy, CURLOPT_URL, r->url);
	curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c->easy, CURLOPT_FOLLOWLOCATION, 0L);
	if (r->unix_socket)
		curl_easy_setopt(c->easy, CURLOPT_UNIX_SOCKET_PATH, r->unix_socket);
	if (c->http->ca_file)
		curl_easy_setopt(c->easy, CURLOPT_CAINFO, c->http->ca_file);
	const char *proxy = r->proxy ? r->proxy : c->http->proxy;
	if (proxy)
		curl_easy_setopt(c->easy, CURLOPT_PROXY, proxy);
	curl_easy_setopt(c->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	if (c->http->http1)
		curl_easy_setopt(c->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	else {
		bool tls = strncmp(r->url, "https:", 6) == 0;
		curl_easy_setopt(c->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
		/* a connection on which several streams may run is worth waiting for; plain HTTP
		 * has none such */
		curl_easy_setopt(c->easy, CURLOPT_PIPEWAIT, tls ? 1L : 0L);
		if (!tls && r->h2)
			set_plain_h2(c);
	}
}

static void set_method(struct http_call *c, const struct http_request *r)
{
	const char *method = r->method ? r->method : r->body ? "POST" : "GET";
	if (r->body) {
		buf_append(&c->body, r->body, r->body_len);
		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, buf_cstr(&c->body));
	} else if (strcmp(method, "POST") == 0) {
		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, "");
	}
	if (strcmp(method, "HEAD") == 0)
		curl_easy_setopt(c->easy, CURLOPT_NOBODY, 1L);
	curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, method);
	/* no waiting for "100 Continue" with a large prompt */
	c->headers = curl_slist_append(NULL, "Expect:");
	for (size_t i = 0; r->headers && r->headers[i]; i++)
		c->headers = curl_slist_append(c->headers, r->headers[i]);
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
	curl_easy_setopt(c->easy, CURLOPT_USERAGENT, c->http->agent);
}

/* The last moment at which an address is known and nothing was sent to it. */
static curl_socket_t client_options_on_open(void *self, curlsocktype purpose,
					    struct curl_sockaddr *a)
{
	struct http_call *c = self;
	(void)purpose;
	if (c->dead || !c->address_ok(c->handler.self, &a->addr)) {
		c->turned_down = true;
		return CURL_SOCKET_BAD;
	}
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static void set_address_check(struct http_call *c, const struct http_request *r)
{
	c->address_ok = r->address_ok;
	if (!c->address_ok)
		return;
	curl_easy_setopt(c->easy, CURLOPT_OPENSOCKETFUNCTION, client_options_on_open);
	curl_easy_setopt(c->easy, CURLOPT_OPENSOCKETDATA, c);
	curl_easy_setopt(c->easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(c->easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(c->easy, CURLOPT_PIPEWAIT, 0L);
}

/* Called each time before the request is written to a connection. */
static int on_going_out(void *self, char *to, char *from, int to_port, int from_port)
{
	struct http_call *c = self;
	(void)to, (void)from, (void)to_port, (void)from_port;
	if (c->went_out) {
		c->held_back = true;
		return CURL_PREREQFUNC_ABORT;
	}
	c->went_out = true;
	return CURL_PREREQFUNC_OK;
}

static void set_once(struct http_call *c)
{
	curl_easy_setopt(c->easy, CURLOPT_PREREQFUNCTION, on_going_out);
	curl_easy_setopt(c->easy, CURLOPT_PREREQDATA, c);
}

void http_call_options(struct http_call *c, const struct http_request *r)
{
	set_url(c, r);
	set_method(c, r);
	set_address_check(c, r);
	if (r->once)
		set_once(c);
}
