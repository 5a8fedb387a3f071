/* One request: the effect of a fetch action. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "secrets/vault.h"
#include "web/web_priv.h"
#include "base/hash.h"
#include "base/text/charset.h"
#include "base/text/html.h"

enum { REQUEST_US = 30 * 1000000, TYPE_MAX = 120 };

struct web_job {
	struct web_job *next;
	struct web *web;
	struct action *action; /* NULL: cancelled; a worker still holds the job */
	struct http_call *call;
	struct url url;
	bool raw, private_ok, no_check, cut, working;
	const char *turned_down; /* why no connection was made; static */
	size_t max;
	int status;
	char *type, *location, *charset;
	struct buf body, text;
	struct html_found found;
	bool html, search;
};

static void web_get_job_free(struct web_job *j)
{
	for (struct web_job **p = j->web ? &j->web->jobs : NULL; p && *p; p = &(*p)->next)
		if (*p == j) {
			*p = j->next;
			break;
		}
	http_cancel(&j->call);
	url_release(&j->url);
	buf_release(&j->body);
	buf_release(&j->text);
	html_found_release(&j->found);
	free(j->type);
	free(j->location);
	free(j->charset);
	free(j);
}

void web_jobs_free(struct web *w)
{
	while (w->jobs) {
		struct web_job *j = w->jobs;
		w->jobs = j->next;
		j->web = NULL;
		j->action = NULL;
		if (!j->working) /* else its worker has it, and frees it */
			web_get_job_free(j);
	}
}

PRINTF(2, 3) static void web_get_fail(struct web_job *j, const char *fmt, ...)
{
	struct action *a = j->action;
	struct err err = ERR_INIT;
	char what[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	err_set(&err, ERR_IO, "%.100s: %s", j->url.host, what);
	action_set_tag(a, NULL);
	web_get_job_free(j);
	action_fail(a, &err);
}

/* --- the answer ------------------------------------------------------------------------------- */

static bool web_get_begins(const char *s, const char *with)
{
	return !strncasecmp(s, with, strlen(with));
}

static bool is_text(const char *type)
{
	static const char *const fine[] = { "text/",
					    "application/json",
					    "application/xml",
					    "application/xhtml",
					    "application/javascript",
					    "application/ld+json",
					    "application/rss",
					    "application/atom",
					    "application/yaml",
					    "application/toml",
					    "application/x-yaml",
					    "application/x-ndjson",
					    "application/problem",
					    "message/" };
	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		if (web_get_begins(type, fine[i]))
			return true;
	return strstr(type, "+json") || strstr(type, "+xml");
}

/* "text/html; charset=utf-8" */
static void take_type(struct web_job *j, const char *value)
{
	size_t n = strcspn(value, "; \t");
	const char *c = strcasestr(value, "charset=");
	j->type = mem_strndup(value, n < TYPE_MAX ? n : TYPE_MAX);
	for (char *p = j->type; *p; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p < ' ' || *p > '~' ? '?' : *p);
	if (c) {
		c += 8 + (c[8] == '"');
		j->charset = mem_strndup(c, strcspn(c, "\"; \t"));
	}
}

static void web_get_on_head(void *self, const struct http_head *head)
{
	struct web_job *j = self;
	const char *type = http_header(head, "content-type"), *to = http_header(head, "location");
	j->status = head->status;
	if (type)
		take_type(j, type);
	if (to && head->status >= 301 && head->status <= 308 && head->status != 304)
		j->location = mem_strdup(to);
}

static char *web_get_absolute(void *self, const char *href)
{
	const struct web_job *j = self;
	struct url u = { 0 };
	struct err none = ERR_INIT;
	if (url_parse(&u, &j->url, href, &none) < 0)
		return NULL;
	char *text = u.text;
	u.text = NULL;
	url_release(&u);
	return text;
}

/* On a worker: nothing but the job's own bytes is touched. */
static void web_get_convert(void *self)
{
	struct web_job *j = self;
	CLEANUP(buf_release) struct buf utf8 = BUF_INIT;
	char *meta = j->html && !j->charset ? html_charset(buf_cstr(&j->body), j->body.len) : NULL;
	text_to_utf8(buf_cstr(&j->body), j->body.len, j->charset ? j->charset : meta, &utf8);
	free(meta);
	const struct html_opts o = { .link = web_get_absolute, .self = j, .max = WEB_TEXT };
	if (j->html) {
		html_to_text(buf_cstr(&utf8), utf8.len, &o, &j->text, &j->found);
		return;
	}
	size_t n = utf8.len;
	if (n > WEB_TEXT) {
		for (n = WEB_TEXT; n > 0 && ((unsigned char)utf8.data[n] & 0xc0) == 0x80;)
			n--;
		j->found.cut = true;
	}
	buf_append(&j->text, buf_cstr(&utf8), n);
}

static json_t *answer_body(const struct web_job *j)
{
	json_t *b = json_object();
	json_put_int(b, "status", j->status);
	json_put_str(b, "type", j->type);
	json_put_int(b, "bytes", (int64_t)j->body.len);
	json_put_flag(b, "cut", j->cut || j->found.cut);
	if (j->found.unseen)
		json_put_int(b, "unseen", j->found.unseen);
	if (j->found.title.len)
		json_put_bytes(b, "title", buf_cstr(&j->found.title), j->found.title.len);
	return b;
}

static void web_get_converted(void *self)
{
	struct web_job *j = self;
	struct action *a = j->action;
	j->working = false;
	if (!a) {
		web_get_job_free(j);
		return;
	}
	json_t *body = answer_body(j);
	if (j->text.len)
		action_output(a, STREAM_OUT, j->text.data, j->text.len);
	action_set_tag(a, NULL);
	web_get_job_free(j);
	action_ended(a, END_OK, body);
}

static void found_results(struct web_job *j)
{
	struct action *a = j->action;
	const json_t *args = action_spec(a)->args;
	struct err err = ERR_INIT;
	if (j->status != 200) {
		web_get_fail(j, "the search service answers with status %d", j->status);
		return;
	}
	json_t *list = search_results(json_object_get(args, "_conf"), buf_cstr(&j->body),
				      j->body.len, (size_t)json_int(args, "count", 8), &err);
	if (!list) {
		web_get_fail(j, "the search service: %s", err.text);
		return;
	}
	json_t *body = answer_body(j);
	search_text(list, &j->text);
	json_put(body, "results", list);
	if (j->text.len)
		action_output(a, STREAM_OUT, j->text.data, j->text.len);
	action_set_tag(a, NULL);
	web_get_job_free(j);
	action_ended(a, END_OK, body);
}

static void web_get_redirected(struct web_job *j)
{
	struct action *a = j->action;
	json_t *body = answer_body(j);
	json_put_bytes(body, "location", j->location, strlen(j->location));
	action_set_tag(a, NULL);
	web_get_job_free(j);
	action_ended(a, END_OK, body);
}

static void web_get_whole(struct web_job *j)
{
	struct action *a = j->action;
	const char *type = j->type ? j->type : "text/html";
	if (j->location && !j->search) {
		web_get_redirected(j);
		return;
	}
	if (j->location) {
		web_get_fail(j, "the search service redirects to %.200s; name that in the settings",
			     j->location);
		return;
	}
	if (j->search) {
		found_results(j);
		return;
	}
	if (j->raw) {
		json_t *body = answer_body(j);
		action_set_tag(a, NULL);
		web_get_job_free(j);
		action_ended(a, END_OK, body); /* its bytes have been put out as they came */
		return;
	}
	if (j->body.len && !is_text(type)) {
		web_get_fail(
			j,
			"it sends %s, which is not text (%zu bytes%s); sg.host.fetch{ raw = true } returns "
			"its bytes",
			type, j->body.len, j->cut ? " and more" : "");
		return;
	}
	j->html = web_get_begins(type, "text/html") || web_get_begins(type, "application/xhtml");
	j->working = true;
	loop_job_run(j->web->super->loop, web_get_convert, web_get_converted, j);
}

static void web_get_on_data(void *self, const void *bytes, size_t len)
{
	struct web_job *j = self;
	size_t room = j->max - j->body.len;
	if (j->location || j->working)
		return; /* what a redirect says besides is of no use */
	if (len > room)
		j->cut = true;
	len = len < room ? len : room;
	buf_append(&j->body, bytes, len);
	if (len)
		action_output(j->action, j->raw ? STREAM_OUT : STREAM_RESPONSE, bytes, len);
	if (j->cut) {
		http_cancel(&j->call);
		web_get_whole(j);
	}
}

static void web_get_on_end(void *self, const struct http_end *end)
{
	struct web_job *j = self;
	struct action *a = j->action;
	j->call = NULL;
	if (end->how == HTTP_OK) {
		web_get_whole(j);
	} else if (j->turned_down) {
		web_get_fail(j, "%s", j->turned_down);
	} else if (end->how == HTTP_SLOW) {
		json_t *body = answer_body(j);
		CLEANUP(free_ptr) char *why = mem_printf("%s: %s", j->url.host, end->text);
		json_put_str(body, "why", why);
		action_set_tag(a, NULL);
		web_get_job_free(j);
		action_ended(a, END_TIMEOUT, body);
	} else {
		web_get_fail(j, "%s", end->text);
	}
}

/* --- the request ------------------------------------------------------------------------------ */

static const char web_get_refused[] =
	"not a public internet address (this host or its networks); a rule that names the "
	"host allows it";

static bool address_ok(void *self, const struct sockaddr *addr)
{
	struct web_job *j = self;
	if (j->private_ok || j->no_check || place_is_open(addr))
		return true;
	j->turned_down = web_get_refused;
	return false;
}

static void web_get_put_header(const struct super *s, struct strv *out, const char *name,
			       const json_t *v)
{
	struct buf b = BUF_INIT;
	const char *secret = json_str(v, "$secret", NULL);
	size_t len = 0;
	const char *value = secret ? vault_value(s->vault, secret, &len) : json_string_value(v);
	buf_printf(&b, "%s: %s", name, json_str(v, "prefix", ""));
	if (value)
		buf_append(&b, value, secret ? len : strlen(value));
	if (!strpbrk(buf_cstr(&b), "\r\n"))
		strv_push_bytes(out, b.data, b.len);
	secret_wipe(b.data, b.len);
	buf_release(&b);
}

static void put_headers(const struct web_job *j, struct strv *out)
{
	const json_t *headers = json_object_get(action_spec(j->action)->args, "headers");
	const char *key;
	json_t *v;
	if (!json_object_get(headers, "accept"))
		strv_push(
			out,
			j->search
				? "Accept: application/json"
				: "Accept: text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5");
	json_object_foreach((json_t *)(uintptr_t)headers, key, v)
		web_get_put_header(j->web->super, out, key, v);
}

static void web_get_send_it(struct web_job *j)
{
	const struct action_spec *spec = action_spec(j->action);
	struct strv headers = STRV_INIT;
	const char *proxy = place_proxy(&j->url);
	/* the proxy looks the name up: the reachable addresses are its own responsibility */
	j->no_check = *proxy != 0;
	put_headers(j, &headers);
	const struct http_request req = {
		.method = action_method(spec),
		.url = j->url.text,
		.headers = (const char *const *)headers.item,
		.body = spec->data,
		.body_len = spec->data_len,
		.proxy = proxy,
		.address_ok = address_ok,
		.first_us = REQUEST_US,
		.idle_us = REQUEST_US,
		.total_us = spec->timeout_us ? spec->timeout_us : 2 * (int64_t)REQUEST_US,
	};
	const struct http_handler on = {
		.head = web_get_on_head, .data = web_get_on_data, .end = web_get_on_end, .self = j
	};
	j->call = http_send(j->web->http, &req, &on);
	for (size_t i = 0; i < headers.nr; i++)
		secret_wipe(headers.item[i], headers.len[i]);
	strv_release(&headers);
}

void web_start(void *self, struct action *a)
{
	struct web *w = self;
	const struct action_spec *spec = action_spec(a);
	struct web_job *j = NEW(struct web_job);
	struct err err = ERR_INIT;
	*j = (struct web_job){ .next = w->jobs,
			       .web = w,
			       .action = a,
			       .raw = json_flag(spec->args, "raw", false),
			       .search = json_object_get(spec->args, "_conf") != NULL };
	w->jobs = j;
	action_set_tag(a, j);
	j->max = (size_t)json_int(spec->args, "max_bytes", WEB_BYTES);
	if (url_parse(&j->url, NULL, json_str(spec->args, "url", ""), &err) < 0) {
		action_set_tag(a, NULL);
		web_get_job_free(j);
		action_fail(a, &err);
		return;
	}
	j->private_ok = j->search || place_allowed(a, j->url.host);
	if (!j->private_ok && place_is_private(j->url.host))
		web_get_fail(j, "%s", web_get_refused);
	else
		web_get_send_it(j);
}

void web_cancel(void *self, struct action *a, const char *how)
{
	struct web_job *j = action_tag(a);
	(void)self;
	if (!j)
		return;
	action_set_tag(a, NULL);
	if (j->working)
		j->action = NULL;
	else
		web_get_job_free(j);
	action_ended(a, !strcmp(how, "kill") ? END_KILLED : END_CANCELLED, NULL);
}
