/* The requests of plugins that rent out boxes: to hosts that they declare, with credentials that
 * they never see. */
#include <stdlib.h>
#include <string.h>

#include "hosted/hosted_plugin_priv.h"
#include "supervisor/core/core.h"
#include "secrets/vault.h"
#include "base/clock.h"
#include "base/hash.h"
#include "http/grpc.h"
#include "http/retry.h"
#include "http/url.h"
#include "record/record_event.h"

enum {
	WHOLE_MAX = 80 << 20,
	ERROR_MAX = 64 << 10,
	TRIES = 3,
	WAIT_MAX_US = 20000000,
	FIRST_US = 120000000
};

struct request {
	struct request *next;
	struct remote_op *op;
	int64_t id;
	json_t *todo;
	char *url;
	struct http_call *call;
	struct loop_timer *again;
	struct retry_hint hint;
	json_t *headers; /* of the answer, then what comes after it */
	struct buf whole;
	int status;
	unsigned tries;
	bool stream, good, spoke, too_large;
};

static void request_free(struct request *q)
{
	for (struct request **p = &q->op->requests; *p; p = &(*p)->next)
		if (*p == q) {
			*p = q->next;
			break;
		}
	http_cancel(&q->call);
	loop_timer_free(&q->again);
	json_decref(q->todo);
	json_decref(q->headers);
	buf_release(&q->whole);
	free(q->url);
	free(q);
}

void requests_end(struct remote_op *op)
{
	while (op->requests)
		request_free(op->requests);
}

void requests_pause(struct remote_op *op, bool paused)
{
	for (struct request *q = op->requests; q; q = q->next)
		if (q->call && q->stream)
			http_pause(q->call, paused);
}

/* --- credentials --- */

static const char *hosted_request_value_of(const struct lessor *l, const char *name, size_t *len)
{
	if (!strncmp(name, "hidden:", 7)) {
		size_t i = strtoul(name + 7, NULL, 10);
		*len = i < l->hidden.nr ? l->hidden.len[i] : 0;
		return i < l->hidden.nr ? l->hidden.item[i] : NULL;
	}
	const char *variable = json_str(json_object_get(l->face, "env"), name, NULL);
	return variable ? vault_value(l->rent->super->vault, variable, len) : NULL;
}

bool lessor_fill(const struct lessor *l, const char *template, struct buf *out)
{
	for (const char *p = template; *p;) {
		const char *shut = *p == '{' ? strchr(p, '}') : NULL;
		size_t len = 0;
		if (!shut) {
			buf_putc(out, *p++);
			continue;
		}
		CLEANUP(free_ptr) char *name = mem_strndup(p + 1, (size_t)(shut - p - 1));
		const char *value = hosted_request_value_of(l, name, &len);
		if (!value)
			return false;
		buf_append(out, value, len);
		p = shut + 1;
	}
	return !memchr(out->data, '\n', out->len) && !memchr(out->data, '\r', out->len);
}

/* The number that it has, one for each value. Nor may the record hold it, if something says it back
 * to us. */
static size_t keep_hidden(struct lessor *l, const char *field, const char *value, size_t len)
{
	struct err short_one = ERR_INIT;
	for (size_t i = 0; i < l->hidden.nr; i++)
		if (l->hidden.len[i] == len && !memcmp(l->hidden.item[i], value, len))
			return i;
	CLEANUP(free_ptr) char *name = mem_printf("%s.%s", l->name, field);
	strv_push_bytes(&l->hidden, value, len);
	(void)!record_secret(l->rent->super->record, name, value, len, &short_one);
	return l->hidden.nr - 1;
}

/* Values of fields that the plugin calls credentials become a name. */
static void hosted_request_hide(struct lessor *l, json_t *j, const json_t *fields)
{
	const char *key;
	json_t *v;
	void *tmp;
	size_t i;
	if (json_is_array(j))
		json_array_foreach(j, i, v) hosted_request_hide(l, v, fields);
	if (!json_is_object(j))
		return;
	json_object_foreach_safe(j, tmp, key, v)
	{
		bool secret = false;
		for (size_t k = 0; k < json_array_size(fields); k++)
			secret |= !strcmp(json_string_value(json_array_get(fields, k)), key);
		if (secret && json_is_string(v)) {
			CLEANUP(free_ptr)
			char *name =
				mem_printf("{hidden:%zu}", keep_hidden(l, key, json_string_value(v),
								       json_string_length(v)));
			json_put_str(j, key, name);
		} else {
			hosted_request_hide(l, v, fields);
		}
	}
}

/* Bytes of a message become a name that is as long, so that all else stays where it is. */
struct hiding {
	struct lessor *l;
	const char *path;
};

static void hide_bytes(void *self, uint8_t *bytes, size_t len)
{
	const struct hiding *h = self;
	CLEANUP(free_ptr)
	char *name =
		mem_printf("{hidden:%zu", keep_hidden(h->l, h->path, (const char *)bytes, len));
	size_t n = strlen(name);
	memset(bytes, ' ', len);
	if (n < len) {
		memcpy(bytes, name, n);
		bytes[len - 1] = '}';
	}
}

/* Of an answer of gRPC: todo.hide has the places. One that cannot be looked through is not handed
 * on. */
static void hide_fields(struct request *q)
{
	const json_t *paths = json_object_get(q->todo, "hide");
	struct hiding h = { .l = q->op->lessor };
	bool good = true;
	if (!json_array_size(paths) || !q->whole.len)
		return;
	if (strncmp(json_str(q->headers, "content-type", ""), "application/grpc", 16) != 0) {
		buf_reset(&q->whole);
		buf_puts(&q->whole, "no gRPC; it may hold a credential, so it is not shown");
		return;
	}
	for (size_t i = 0; i < json_array_size(paths); i++) {
		h.path = json_string_value(json_array_get(paths, i));
		good = good && grpc_each_field((uint8_t *)q->whole.data, q->whole.len, h.path,
					       hide_bytes, &h);
	}
	if (!good)
		buf_reset(&q->whole);
}

/* The error in todo.hide; NULL: none. */
static const char *hide_wrong(const json_t *todo)
{
	const json_t *paths = json_object_get(todo, "hide");
	bool good = json_is_array(paths);
	if (!paths)
		return NULL;
	for (size_t i = 0; i < json_array_size(paths); i++)
		good = good && json_is_string(json_array_get(paths, i));
	if (!good)
		return "'hide' of a request is to be a list of numbers of fields, as texts (\"5.1\")";
	return json_array_size(paths) && json_flag(todo, "stream", false)
		       ? "'hide' is not for an answer that is streamed"
		       : NULL;
}

/* Can the JSON in @text have one of @fields? Parsing a large answer would hold the loop. */
static bool hosted_request_may_hide(const struct buf *text, const json_t *fields)
{
	size_t i;
	json_t *field;
	size_t at = 0;
	while (at < text->len && strchr(" \t\r\n", text->data[at]))
		at++;
	if (!json_array_size(fields) || at == text->len || !strchr("{[", text->data[at]))
		return false;
	if (memmem(text->data, text->len, "\\u", 2)) /* the name may be spelled so */
		return true;
	json_array_foreach(fields, i, field)
	{
		CLEANUP(free_ptr) char *key = json_dump_str(field);
		if (strpbrk(json_string_value(field), "/\\\"") ||
		    memmem(text->data, text->len, key, strlen(key)))
			return true;
	}
	return false;
}

static void put_body(struct request *q, json_t *ev)
{
	struct lessor *l = q->op->lessor;
	const json_t *fields = json_object_get(l->face, "hide");
	struct err none = ERR_INIT;
	hide_fields(q);
	CLEANUP(json_release)
	json_t *j = hosted_request_may_hide(&q->whole, fields)
			    ? json_parse(buf_cstr(&q->whole), q->whole.len, "answer", &none)
			    : NULL;
	if (!j) {
		json_put_bytes(ev, "body", buf_cstr(&q->whole), q->whole.len);
		return;
	}
	hosted_request_hide(l, j, fields);
	CLEANUP(free_ptr) char *text = json_dump_str(j);
	json_put_str(ev, "body", text);
}

/* --- hosts --- */

static char *hosted_request_host_of(const char *url)
{
	const char *p = strstr(url, "://");
	p = p ? p + 3 : url;
	size_t len = *p == '[' ? strcspn(p, "]") + 1 : strcspn(p, ":/?#");
	return mem_strndup(p, len);
}

static bool host_matches(const char *pattern, const char *host)
{
	size_t n = strlen(pattern), h = strlen(host);
	if (!strncmp(pattern, "*.", 2))
		return h > n - 1 && !strcasecmp(host + h - (n - 1), pattern + 1);
	return !strcasecmp(pattern, host);
}

int lessor_may(const struct lessor *l, const char *url, struct err *err)
{
	CLEANUP(free_ptr) char *host = hosted_request_host_of(url);
	CLEANUP(free_ptr) char *own = hosted_request_host_of(l->url);
	const json_t *hosts = json_object_get(l->face, "hosts");
	CLEANUP(buf_release) struct buf known = BUF_INIT;
	if (strpbrk(url, "@ \r\n\t"))
		return err_set(err, ERR_DENIED, "expected a plain URL, got '%s'", url);
	if (!strcmp(host, own) || login_socket(l, url))
		return 0;
	for (size_t i = 0; i < json_array_size(hosts); i++) {
		const char *h = json_string_value(json_array_get(hosts, i));
		if (h && host_matches(h, host) && !strncmp(url, "https://", 8))
			return 0;
		buf_printf(&known, "%s%s", i ? ", " : "", h ? h : "?");
	}
	return err_set(err, ERR_DENIED,
		       "plugin '%s' requested '%s', which it doesn't declare; declared hosts: %s",
		       l->name, host, buf_cstr(&known));
}

/* --- the record --- */

void hosted_plugin_note(struct lessor *l, uint64_t box, const struct call_note *n)
{
	struct super *s = l->rent->super;
	CLEANUP(free_ptr) char *host = hosted_request_host_of(n->url);
	const char *path = strstr(n->url, "://");
	path = path ? strchr(path + 3, '/') : NULL;
	size_t len = path ? strcspn(path, "?") : 0; /* what follows may hold a token */
	CLEANUP(free_ptr) char *plain = mem_strndup(path ? path : "", len);
	record_ev_box_call(
		s->record, &(struct event){ .cause = box ? box : s->start_seq, .box = box },
		&(struct ev_box_call){ .provider = ev_text_of(l->name),
				       .fn = ev_text_of(n->fn),
				       .method = ev_text_of(n->method),
				       .host = ev_text_of(host),
				       .path = ev_text_of(plain),
				       EV_SET(status, n->status),
				       .why = ev_text_of(n->why && *n->why ? n->why : NULL),
				       EV_SET(bytes, n->bytes),
				       EV_SET(took_us, n->took_us),
				       EV_SET(tries, n->tries) });
}

static void hosted_request_note(struct request *q, const struct http_end *end, const char *why)
{
	const struct call_note n = { .fn = q->op->fn,
				     .method = json_str(q->todo, "method", "GET"),
				     .url = q->url,
				     .why = why,
				     .status = end ? end->status : 0,
				     .bytes = end ? (int64_t)end->bytes : 0,
				     .took_us = end ? end->total_us : 0,
				     .tries = q->tries };
	hosted_plugin_note(q->op->lessor, q->op->box, &n);
}

/* --- what comes --- */

static void hosted_request_send(struct request *q);

static void hosted_request_send_again(void *self)
{
	hosted_request_send(self);
}

static json_t *hosted_request_event_of(const struct request *q, bool over)
{
	json_t *ev = json_object();
	json_put_int(ev, "id", q->id);
	if (q->status)
		json_put_int(ev, "status", q->status);
	if (over)
		json_put_flag(ev, "over", true);
	return ev;
}

static json_t *headers_object(const struct http_header *header, size_t nr)
{
	json_t *o = json_object();
	for (size_t i = 0; i < nr; i++)
		json_put_str(o, header[i].name, header[i].value);
	return o;
}

static void hosted_request_on_head(void *self, const struct http_head *head)
{
	struct request *q = self;
	q->status = head->status;
	q->good = head->status >= 200 && head->status < 300;
	q->hint = retry_hint(head, clock_wall_us() / 1000000);
	json_decref(q->headers);
	q->headers = headers_object(head->header, head->nr);
}

static void hosted_request_on_data(void *self, const void *bytes, size_t len)
{
	struct request *q = self;
	if (!q->stream || !q->good) {
		if (q->whole.len + len > (q->good ? (size_t)WHOLE_MAX : (size_t)ERROR_MAX))
			q->too_large = true;
		else
			buf_append(&q->whole, bytes, len);
		return;
	}
	json_t *ev = hosted_request_event_of(q, false);
	q->spoke = true;
	json_put_bytes(ev, "chunk", bytes, len);
	op_event(q->op, ev, len); /* may end us: nothing after this */
}

/* A request that changes nothing, or that was surely not taken, is sent again. */
static bool hosted_request_retry(struct request *q, const struct http_end *end)
{
	bool untouched = end->how == HTTP_UNREACHED || q->status == 429;
	if ((!json_flag(q->todo, "again", false) && !untouched) || q->spoke)
		return false;
	const struct retry_case c = { .how = end->how,
				      .status = q->status,
				      .hint = q->hint,
				      .body = buf_cstr(&q->whole),
				      .tries = q->tries,
				      .most = TRIES };
	uint32_t random;
	random_bytes(&random, sizeof(random));
	int64_t wait = retry_after_us(&c, random);
	if (wait < 0 || wait > WAIT_MAX_US)
		return false;
	q->call = NULL;
	if (!q->again)
		q->again = loop_timer_new(q->op->lessor->rent->super->loop,
					  hosted_request_send_again, q);
	loop_timer_set(q->again, (uint64_t)wait / 1000, 0);
	return true;
}

static void hosted_request_on_end(void *self, const struct http_end *end)
{
	struct request *q = self;
	q->call = NULL;
	hosted_request_note(q, end, q->too_large ? "the answer is too large" : end->text);
	if (hosted_request_retry(q, end))
		return;
	struct remote_op *op = q->op;
	json_t *ev = hosted_request_event_of(q, true);
	if (end->how != HTTP_OK || q->too_large) {
		json_put_str(ev, "wrong", q->too_large ? "the answer is too large" : end->text);
		json_put_flag(ev, "unreached", end->how == HTTP_UNREACHED);
		if (end->how == HTTP_TLS || end->how == HTTP_REFUSED || q->too_large)
			json_put_str(ev, "code", "bad");
	}
	json_put(ev, "headers", q->headers ? json_incref(q->headers) : NULL);
	if (end->nr_trailers)
		json_put(ev, "trailers", headers_object(end->trailer, end->nr_trailers));
	put_body(q, ev);
	request_free(q);
	op_event(op, ev, 0);
}

/* --- on its way --- */

bool op_headers(const struct remote_op *op, const json_t *todo, struct strv *out)
{
	const struct lessor *l = op->lessor;
	const json_t *auth = json_object_get(l->face, "auth");
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	const char *name;
	json_t *v;
	bool good = true;
	for (size_t i = 0; !l->keyless && !op->login && !json_flag(todo, "bare", false) &&
			   i < json_array_size(auth);
	     i++) {
		buf_reset(&line);
		good = good && lessor_fill(l, json_string_value(json_array_get(auth, i)), &line);
		strv_push(out, buf_cstr(&line));
	}
	json_object_foreach(json_object_get(todo, "headers"), name, v)
	{
		CLEANUP(free_ptr)
		char *text =
			mem_printf("%s: %s", name, json_is_string(v) ? json_string_value(v) : "");
		buf_reset(&line);
		good = good && lessor_fill(l, text, &line);
		strv_push(out, buf_cstr(&line));
	}
	if (line.data)
		explicit_bzero(line.data, line.cap);
	return good;
}

void headers_release(struct strv *headers)
{
	for (size_t i = 0; i < headers->nr; i++)
		explicit_bzero(headers->item[i], headers->len[i]);
	strv_release(headers);
}

char *op_url(const struct remote_op *op, const json_t *todo)
{
	const char *path = json_str(todo, "path", NULL);
	return path ? mem_printf("%s%s", op->login ? op->login : op->lessor->url, path)
		    : mem_strdup(json_str(todo, "url", ""));
}

static void hosted_request_refuse(struct request *q, const char *why)
{
	struct remote_op *op = q->op;
	json_t *ev = hosted_request_event_of(q, true);
	hosted_request_note(q, NULL, why);
	json_put_str(ev, "wrong", why);
	json_put_str(ev, "code", "bad");
	request_free(q);
	op_event(op, ev, 0);
}

static void hosted_request_send(struct request *q)
{
	static const struct http_handler handler = { .head = hosted_request_on_head,
						     .data = hosted_request_on_data,
						     .end = hosted_request_on_end };
	struct err err = ERR_INIT;
	struct strv headers = STRV_INIT;
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	struct http_handler mine = handler;
	mine.self = q;
	q->tries++;
	q->status = 0;
	buf_reset(&q->whole);
	bool has_body = json_get_bytes(json_object_get(q->todo, "body"), &body);
	bool filled = op_headers(q->op, q->todo, &headers);
	const char *by = login_socket(q->op->lessor, q->url);
	if (filled && lessor_may(q->op->lessor, q->url, &err) == 0) {
		const struct http_request r = {
			.method = json_str(q->todo, "method", "GET"),
			.url = q->url,
			.unix_socket = by,
			.proxy = by ? "" : NULL,
			.headers = (const char *const *)headers.item,
			.body = has_body ? buf_cstr(&body) : NULL,
			.body_len = body.len,
			.first_us = json_int(q->todo, "first", 0)
					    ? json_int(q->todo, "first", 0) * 1000000
					    : FIRST_US,
			/* libcurl sends anew what a kept connection swallowed; where that would do
			 * harm we look first (retry) */
			.once = !json_flag(q->todo, "again", false),
			.h2 = json_flag(q->todo, "h2", false),
			.idle_us = json_int(q->todo, "idle", 0)
					   ? json_int(q->todo, "idle", 0) * 1000000
				   : q->stream ? -1
					       : 0,
		};
		q->call = http_send(q->op->lessor->rent->http, &r, &mine);
	}
	headers_release(&headers);
	if (!q->call)
		hosted_request_refuse(q, filled ? err.text
						: "a credential that a header names is not there");
}

void request_begin(struct remote_op *op, const json_t *todo)
{
	struct request *q = NEW(struct request);
	*q = (struct request){ .next = op->requests,
			       .op = op,
			       .id = json_int(todo, "id", 0),
			       .todo = json_incref((json_t *)(uintptr_t)todo),
			       .stream = json_flag(todo, "stream", false) };
	q->url = op_url(op, todo);
	op->requests = q;
	const char *wrong = hide_wrong(todo);
	if (wrong)
		hosted_request_refuse(q, wrong);
	else
		hosted_request_send(q);
}
