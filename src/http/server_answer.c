/* Part of server.c: answers, whole and as streams. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "http/server_priv.h"
#include "http/server.h"
#include "loop/loop.h"

/* --- answers ---------------------------------------------------------------------------------- */

static const char *http_server_reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} table[] = { { 200, "OK" },
		      { 202, "Accepted" },
		      { 204, "No Content" },
		      { 400, "Bad Request" },
		      { 401, "Unauthorized" },
		      { 403, "Forbidden" },
		      { 404, "Not Found" },
		      { 405, "Method Not Allowed" },
		      { 406, "Not Acceptable" },
		      { 409, "Conflict" },
		      { 413, "Content Too Large" },
		      { 415, "Unsupported Media Type" },
		      { 426, "Upgrade Required" },
		      { 429, "Too Many Requests" },
		      { 431, "Request Header Fields Too Large" },
		      { 500, "Internal Server Error" },
		      { 502, "Bad Gateway" },
		      { 503, "Service Unavailable" },
		      { 504, "Gateway Timeout" },
		      { 529, "Overloaded" } };
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].status == status)
			return table[i].text;
	return "Unknown";
}

static void http_server_put_head(struct http_visit *v, int status, const char *type,
				 const char *const *headers)
{
	buf_printf(&v->out, "HTTP/1.1 %d %s\r\n", status, http_server_reason(status));
	if (type)
		buf_printf(&v->out, "Content-Type: %s\r\n", type);
	for (size_t i = 0; headers && headers[i]; i++)
		buf_printf(&v->out, "%s\r\n", headers[i]);
	if (v->last)
		buf_puts(&v->out, "Connection: close\r\n");
}

/* The answer is whole: on to the next request, outside of the owner's call. */
static void http_server_answered(struct http_visit *v)
{
	http_ask_release(&v->ask);
	visit_drop_body(v);
	v->tag = NULL;
	v->begun = v->drained = false;
	v->state = v->last ? LINGER : HEAD;
	http_server_send_some(v);
	if (v->state == HEAD && v->in.len && !v->inside)
		loop_timer_set(v->kick, 0, 0);
}

void http_reply(struct http_visit *v, int status, const char *type, const char *const *headers,
		const void *body, size_t len)
{
	v->tell = false;
	if (v->state == DEAD)
		return;
	bool head = v->ask.method && !strcmp(v->ask.method, "HEAD");
	http_server_put_head(v, status, type, headers);
	if (status == 204)
		buf_puts(&v->out, "\r\n");
	else
		buf_printf(&v->out, "Content-Length: %zu\r\n\r\n", len);
	if (!head)
		buf_append(&v->out, body, len);
	http_server_answered(v);
}

void http_begin(struct http_visit *v, int status, const char *type, const char *const *headers)
{
	if (v->state == DEAD)
		return;
	v->begun = true;
	v->last |= v->ask.old; /* the end of the connection is that of the stream */
	http_server_put_head(v, status, type, headers);
	buf_puts(&v->out, v->ask.old ? "\r\n" : "Transfer-Encoding: chunked\r\n\r\n");
	http_server_send_some(v);
}

void http_write(struct http_visit *v, const void *bytes, size_t len)
{
	if (v->state == DEAD || !len)
		return;
	if (!v->ask.old)
		buf_printf(&v->out, "%zx\r\n", len);
	buf_append(&v->out, bytes, len);
	if (!v->ask.old)
		buf_puts(&v->out, "\r\n");
	http_server_send_some(v);
}

void http_finish(struct http_visit *v)
{
	v->tell = false;
	if (v->state == DEAD)
		return;
	if (!v->ask.old)
		buf_puts(&v->out, "0\r\n\r\n");
	http_server_answered(v);
}

size_t http_queued(const struct http_visit *v)
{
	return v->out.len - v->sent;
}

bool http_begun(const struct http_visit *v)
{
	return v->begun;
}

void http_break(struct http_visit *v)
{
	if (v->state != DEAD)
		http_server_die(v);
	v->tell = false;
}

int http_take(struct http_visit *v, struct buf *rest)
{
	int sock = v->sock;
	if (v->state != BUSY || v->begun || v->out.len > v->sent) {
		http_break(v); /* the owner has no other answer to this request */
		return -1;
	}
	buf_append(rest, v->in.data, v->in.len);
	http_server_die(v);
	v->tell = false;
	v->sock = -1;
	return sock;
}
