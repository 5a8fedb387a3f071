#include "web/web.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "supervisor/core/call.h"
#include "supervisor/core/parts.h"
#include "secrets/vault.h"
#include "web/web_priv.h"

enum { HEADERS_MAX = 50, BODY_MAX = 1 << 20 };

/* One call of a script, over all its redirects. */
struct fetch {
	struct url url;
	const char *method; /* static, or of the call's args */
	json_t *headers;    /* as given; NULL past another origin */
	struct buf body, text;
	bool raw;
	unsigned hops;
};

static struct web *web_part(const struct super *s)
{
	static const struct super_part part = { sizeof(struct web), NULL };
	return super_part(s, &part);
}

static struct web *web_of(struct super *s, struct err *err)
{
	struct web *w = web_part(s);
	if (w->http)
		return w;
	w->super = s;
	w->effector = (struct effector){
		.name = "web", .start = web_start, .cancel = web_cancel, .self = w
	};
	return http_new(&w->http, s->loop, NULL, err) < 0 ? NULL : w;
}

void web_free(struct super *s)
{
	struct web *w = web_part(s);
	web_jobs_free(w);
	http_free(&w->http);
}

static void fetch_free(void *data)
{
	struct fetch *f = data;
	url_release(&f->url);
	json_decref(f->headers);
	buf_release(&f->body);
	buf_release(&f->text);
	free(f);
}

/* --- what came back --------------------------------------------------------------------------- */

static void web_taint(struct call *c)
{
	struct agent *a = super_agent(c->super, c->agent);
	if (a)
		a->tainted = true;
}

static void web_collect(struct call *c, enum record_stream s, const void *bytes, size_t len)
{
	struct fetch *f = c->data;
	if (s == STREAM_OUT)
		buf_append(&f->text, bytes, len);
}

/* A failed connection is the network's error, not the script's. */
static bool went_well(struct call *c, const struct action_result *res)
{
	if (res->end != END_FAILED)
		return call_outcome(c, res);
	const char *why = res->why ? res->why : json_str(res->body, "why", "failed");
	call_fail(c, "net", NULL, NULL, res->id, "%s", why);
	return false;
}

static void web_submit(struct call *c, uint64_t cause);

/* As browsers do: 303, and 301 and 302 after a POST, become a GET. */
static bool web_follow(struct call *c, struct fetch *f, const struct action_result *res,
		       const char *location)
{
	struct url to = { 0 };
	struct err err = ERR_INIT;
	int64_t status = json_int(res->body, "status", 0);
	if (++f->hops > REDIRECTS_MAX) {
		call_fail(c, "net", NULL, NULL, res->id, "%s: more than %d redirects", f->url.host,
			  REDIRECTS_MAX);
		return false;
	}
	if (url_parse(&to, &f->url, location, &err) < 0) {
		call_fail(c, "net", NULL, NULL, res->id,
			  "%s redirects to an address that can't be fetched: %s", f->url.host,
			  err.text);
		return false;
	}
	if (!url_same_origin(&f->url, &to)) {
		json_decref(f->headers);
		f->headers = NULL;
	}
	if (status == 303 || (status <= 302 && !strcmp(f->method, "POST"))) {
		f->method = !strcmp(f->method, "HEAD") ? "HEAD" : "GET";
		buf_reset(&f->body);
	}
	url_release(&f->url);
	f->url = to;
	return true;
}

static void web_fetched(struct call *c, const struct action_result *res)
{
	struct fetch *f = c->data;
	if (!went_well(c, res))
		return;
	CLEANUP(buf_release) struct buf location = BUF_INIT;
	web_taint(c);
	if (json_get_bytes(json_object_get(res->body, "location"), &location)) {
		if (web_follow(c, f, res, buf_cstr(&location)))
			web_submit(c, res->id);
		return;
	}
	static const char *const same[] = { "status", "type", "title", "bytes", "cut", "unseen" };
	json_t *v = json_object();
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		json_put(v, same[i], json_incref(json_object_get(res->body, same[i])));
	json_put_str(v, "url", f->url.text);
	json_put_int(v, "event", (int64_t)res->id);
	json_put_bytes(v, f->raw ? "data" : "text", buf_cstr(&f->text), f->text.len);
	call_answer(c, v);
}

static void web_submit(struct call *c, uint64_t cause)
{
	struct fetch *f = c->data;
	struct err err = ERR_INIT;
	struct web *w = web_of(c->super, &err);
	if (!w) {
		call_fail_err(c, &err);
		return;
	}
	CLEANUP(json_release) json_t *args = json_object();
	json_put_str(args, "url", f->url.text);
	json_put_str(args, "method", f->method);
	json_put(args, "headers", json_incref(f->headers));
	json_put(args, "max_bytes", json_incref(json_object_get(c->args, "max_bytes")));
	if (f->raw)
		json_put_flag(args, "raw", true);
	if (f->hops)
		json_put_int(args, "redirect", f->hops);
	struct action_spec spec = {
		.kind = ACT_FETCH,
		.tool = "web_fetch",
		.leaves_box = true,
		.parallel = true,
		.args = args,
		.host = f->url.host,
		.port = f->url.port,
		.cause = cause,
		.data = f->body.len ? f->body.data : NULL,
		.data_len = f->body.len,
		.timeout_us = json_int(c->args, "timeout_us", 0),
	};
	c->tool = "web_fetch"; /* for any caller: rules know it by one name */
	buf_reset(&f->text);
	call_action(c, &spec, &w->effector, web_fetched);
}

/* --- host.fetch ------------------------------------------------------------------------------- */

static bool web_token(const char *s)
{
	size_t n = strspn(
		s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~");
	return n && !s[n] && n <= 100;
}

static int check_headers(const json_t *headers, struct err *err)
{
	static const char *const ours[] = { "host",
					    "content-length",
					    "transfer-encoding",
					    "connection",
					    "te",
					    "trailer",
					    "upgrade",
					    "expect",
					    "accept-encoding",
					    "proxy-authorization",
					    "proxy-connection" };
	const char *key;
	json_t *v;
	if (json_object_size(headers) > HEADERS_MAX)
		return err_set(err, ERR_USAGE, "host.fetch: at most %d headers", HEADERS_MAX);
	json_object_foreach((json_t *)(uintptr_t)headers, key, v)
	{
		if (!web_token(key))
			return err_set(err, ERR_USAGE, "host.fetch: invalid header name '%.40s'",
				       key);
		for (size_t i = 0; i < ARRAY_LEN(ours); i++)
			if (!strcasecmp(key, ours[i]))
				return err_set(err, ERR_USAGE,
					       "host.fetch: scripts can't set the header '%s'",
					       key);
		bool text = json_is_string(v) && !strpbrk(json_string_value(v), "\r\n") &&
			    strlen(json_string_value(v)) == json_string_length(v);
		if (!text && !json_str(v, "$secret", NULL))
			return err_set(
				err, ERR_USAGE,
				"host.fetch: header '%s': expected one line of text or a secret",
				key);
	}
	return 0;
}

static const char *web_method_of(const json_t *args, struct err *err)
{
	static const char *const known[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE" };
	const char *m = json_str(args, "method", json_object_get(args, "body") ? "POST" : "GET");
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i], m))
			return known[i];
	err_set(err, ERR_USAGE,
		"host.fetch: unknown method '%.20s'; known: GET, HEAD, POST, PUT, PATCH, DELETE",
		m);
	return NULL;
}

void op_host_fetch(struct call *c)
{
	struct fetch *f = NEW(struct fetch);
	struct err err = ERR_INIT;
	const json_t *body = json_object_get(c->args, "body");
	int64_t max = json_int(c->args, "max_bytes", WEB_BYTES);
	c->data = f;
	c->free_data = fetch_free;
	c->on_output = web_collect;
	f->raw = json_flag(c->args, "raw", false);
	f->headers = json_incref(json_object_get(c->args, "headers"));
	f->method = web_method_of(c->args, &err);
	bool get = f->method && (!strcmp(f->method, "GET") || !strcmp(f->method, "HEAD"));
	if (!f->method || check_headers(f->headers, &err) < 0) {
		call_fail_err(c, &err);
	} else if (body && (!json_get_bytes(body, &f->body) || f->body.len > BODY_MAX || get)) {
		call_fail(c, "script", NULL, NULL, 0,
			  get ? "host.fetch: a %s has no body"
			      : "host.fetch: the body of a %s is at most 1 MiB",
			  f->method);
	} else if (max < 1 || max > WEB_BYTES) {
		call_fail(c, "script", NULL, NULL, 0, "host.fetch: max is 1 byte to %d MiB",
			  WEB_BYTES >> 20);
	} else if (url_parse(&f->url, NULL, json_str(c->args, "url", ""), &err) < 0) {
		/* of a model's making, as a rule */
		call_fail(c, "net", NULL, NULL, 0, "%s", err.text);
	} else {
		web_submit(c, 0);
	}
}

/* --- host.search ------------------------------------------------------------------------------ */

static void web_searched(struct call *c, const struct action_result *res)
{
	if (!went_well(c, res))
		return;
	web_taint(c);
	json_t *v = json_object();
	json_put(v, "results", json_incref(json_object_get(res->body, "results")));
	json_put_int(v, "event", (int64_t)res->id);
	call_answer(c, v);
}

static void search_now(struct call *c)
{
	json_t *args = c->data, *conf = c->super->opts->search;
	struct err err = ERR_INIT;
	struct url u = { 0 };
	struct web *w = web_of(c->super, &err);
	const char *body = json_str(args, "_body", NULL);
	if (!w || url_parse(&u, NULL, json_str(args, "url", ""), &err) < 0) {
		call_fail_err(c, &err);
		return;
	}
	json_put_str(args, "query", json_str(c->args, "query", ""));
	json_put_int(args, "count", json_int(c->args, "count", 8));
	json_put(args, "_conf", json_incref(conf));
	struct action_spec spec = {
		.kind = ACT_FETCH,
		.tool = "web_search",
		.leaves_box = true,
		.parallel = true,
		.args = args,
		.host = u.host,
		.port = u.port,
		.data = body,
		.data_len = body ? strlen(body) : 0,
		.timeout_us = json_int(c->args, "timeout_us", 0),
	};
	c->tool = "web_search";
	call_action(c, &spec, &w->effector, web_searched);
	url_release(&u);
}

static void key_ready(void *self, const char *value, size_t len, const struct err *err)
{
	struct call *c = self;
	(void)len;
	if (!value)
		call_fail_err(c, err);
	else if (--c->secrets_left == 0)
		search_now(c);
}

static void args_free(void *data)
{
	json_decref(data);
}

void op_host_search(struct call *c)
{
	struct err err = ERR_INIT;
	int64_t count = json_int(c->args, "count", 8), page = json_int(c->args, "page", 1);
	json_t *args =
		search_request(c->super->opts->search, json_str(c->args, "query", ""), page, &err);
	if (!args || count < 1 || count > 50 || page < 1 || page > 100) {
		json_decref(args);
		call_fail(c, "script", NULL, NULL, 0, "host.search: %s",
			  args ? "count is 1 to 50, page 1 to 100" : err.text);
		return;
	}
	c->data = args;
	c->free_data = args_free;
	secret_names(args, &c->secrets);
	c->secrets_left = c->secrets.nr;
	if (!c->secrets.nr) {
		search_now(c);
		return;
	}
	struct super *s = c->super;
	for (size_t i = 0; i < c->secrets.nr; i++)
		vault_get(s->vault, c->secrets.item[i], "web search",
			  c->agent ? c->agent : s->start_seq, c->agent, key_ready, c);
}
