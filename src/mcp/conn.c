#include "mcp/conn.h"

#include <stdlib.h>
#include <string.h>

#include "mcp/transport.h"
#include "base/mem.h"

enum { LOG_LINE = 200 };
#define OPEN_US INT64_C(30000000)

struct mcp_conn {
	struct loop *loop;
	const struct mcp_conn_ops *ops;
	void *self;
	struct mcp_client *client;
	struct mcp_child *child;
	struct mcp_web *web;
	struct strv argv, env;
	char *cwd;
	void (*write)(void *self, const void *bytes, size_t len);
	struct buf got; /* of another owner's pipes */
	size_t looked;	/* bytes of it without a line end */
};

static void conn_on_line(void *self, const char *text, size_t len)
{
	struct mcp_conn *c = self;
	mcp_client_take(c->client, text, len);
}

static void conn_on_log(void *self, const char *bytes, size_t len)
{
	struct mcp_conn *c = self;
	if (c->ops->log)
		c->ops->log(c->self, bytes, len);
}

static void conn_lost(struct mcp_conn *c, const struct err *why)
{
	bool was = mcp_client_is_ready(c->client);
	mcp_client_lost(c->client, why);
	if (was)
		c->ops->gone(c->self, why);
}

static void conn_on_ended(void *self, const struct err *why)
{
	struct mcp_conn *c = self;
	const struct err copy = *why;
	conn_lost(c, &copy);
}

static const struct mcp_child_ops child_ops = { .line = conn_on_line,
						.log = conn_on_log,
						.ended = conn_on_ended };

static void conn_send_msg(void *self, const struct mcp_send *m)
{
	struct mcp_conn *c = self;
	if (c->child) {
		mcp_child_send(c->child, m->msg);
	} else if (c->web) {
		mcp_web_send(c->web, m);
	} else if (c->write) {
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		rpc_line(&line, json_incref(m->msg));
		c->write(c->self, line.data, line.len);
	}
}

static void drop_request(void *self, uint64_t id)
{
	struct mcp_conn *c = self;
	if (c->web)
		mcp_web_drop(c->web, id);
}

/* It died of the first question: the same program again, for the older one. */
static bool conn_again(void *self)
{
	struct mcp_conn *c = self;
	struct err err = ERR_INIT;
	if (!c->child)
		return false;
	mcp_child_free(&c->child);
	return mcp_child_new(&c->child, c->loop, &c->argv, &c->env, c->cwd, &child_ops, c, &err) ==
	       0;
}

static void conn_on_ready(void *self, const struct err *err)
{
	struct mcp_conn *c = self;
	c->ops->ready(c->self, err);
}

static void conn_on_changed(void *self)
{
	struct mcp_conn *c = self;
	if (c->ops->changed)
		c->ops->changed(c->self);
}

static void on_odd(void *self, const char *text)
{
	struct mcp_conn *c = self;
	CLEANUP(free_ptr) char *line = mem_printf("(%.*s)\n", LOG_LINE, text);
	conn_on_log(c, line, strlen(line));
}

static const struct mcp_client_ops client_ops = { .send = conn_send_msg,
						  .drop = drop_request,
						  .again = conn_again,
						  .ready = conn_on_ready,
						  .changed = conn_on_changed,
						  .log = on_odd };

static void on_web_message(void *self, const char *text, size_t len)
{
	conn_on_line(self, text, len);
}

static void on_web_refused(void *self, uint64_t id, int status, const char *text)
{
	struct mcp_conn *c = self;
	struct err err = ERR_INIT;
	bool forgotten = status == 404 && mcp_client_is_ready(c->client);
	mcp_client_refused(c->client, id, status, text);
	if (!forgotten)
		return;
	err_set(&err, ERR_CLOSED, "%s", text);
	conn_lost(c, &err);
}

int mcp_conn_open(struct mcp_conn **out, struct loop *l, const struct mcp_conn_spec *spec,
		  const struct mcp_conn_ops *ops, void *self, struct err *err)
{
	struct mcp_conn *c = NEW(struct mcp_conn);
	*c = (struct mcp_conn){ .loop = l, .ops = ops, .self = self, .write = spec->write };
	c->client = mcp_client_new(l, &client_ops, c, spec->open_us ? spec->open_us : OPEN_US);
	if (spec->argv) {
		strv_copy(&c->argv, spec->argv);
		strv_copy(&c->env, spec->env);
		c->cwd = spec->cwd ? mem_strdup(spec->cwd) : NULL;
		if (mcp_child_new(&c->child, l, &c->argv, &c->env, c->cwd, &child_ops, c, err) <
		    0) {
			mcp_conn_close(&c);
			return -1;
		}
	} else if (spec->url) {
		const struct mcp_web_ops web = { .message = on_web_message,
						 .refused = on_web_refused,
						 .self = c };
		c->web = mcp_web_new(l, spec->http, spec->url, spec->headers, &web);
	}
	*out = c;
	mcp_client_begin(c->client);
	return 0;
}

void mcp_conn_close(struct mcp_conn **cp)
{
	struct mcp_conn *c = *cp;
	*cp = NULL;
	if (!c)
		return;
	mcp_child_free(&c->child);
	mcp_web_free(&c->web);
	mcp_client_free(&c->client);
	for (size_t i = 0; i < c->env.nr; i++)
		explicit_bzero(c->env.item[i], strlen(c->env.item[i]));
	strv_release(&c->argv);
	strv_release(&c->env);
	buf_release(&c->got);
	free(c->cwd);
	free(c);
}

struct mcp_client *mcp_conn_client(struct mcp_conn *c)
{
	return c->client;
}

void mcp_conn_feed(struct mcp_conn *c, const void *bytes, size_t len)
{
	char *end;
	size_t at = 0;
	buf_append(&c->got, bytes, len);
	while (c->got.len > at &&
	       (end = memchr(c->got.data + at + c->looked, '\n', c->got.len - at - c->looked))) {
		size_t n = (size_t)(end - c->got.data) - at;
		c->looked = 0;
		if (n)
			mcp_client_take(c->client, c->got.data + at, n);
		at += n + 1;
	}
	buf_drop(&c->got, at);
	c->looked = c->got.len;
	if (c->got.len > RPC_LINE_MAX)
		mcp_conn_ended(c, "a message of it is longer than 67108864 bytes");
}

void mcp_conn_ended(struct mcp_conn *c, const char *why)
{
	struct err err = ERR_INIT;
	err_set(&err, ERR_CLOSED, "%s", why);
	conn_lost(c, &err);
}
