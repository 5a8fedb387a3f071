#include "inside/inside_priv.h"
#include "inside/login_flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "proxy/one_path.h"

enum { QUEUE_MAX = 256 << 10 };

const char *route_name(const struct flow *f)
{
	return json_str(f->route, "name", "?");
}

bool proxy_is_model(const json_t *route)
{
	return !strcmp(json_str(route, "kind", ""), "model");
}

/* --- answers to the box ----------------------------------------------------------------------- */

void flow_refuse(struct flow *f, int status, const char *why)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT, line = BUF_INIT;
	struct http_visit *v = f->visit;
	f->visit = NULL;
	if (!v)
		return;
	http_visit_set_tag(v, NULL);
	buf_printf(&line, "sandglass: %s", why);
	if (http_begun(v)) {
		speak_stream_error(f->speak, buf_cstr(&line), &body);
		http_write(v, body.data, body.len);
		http_finish(v);
		return;
	}
	/* once it runs, refs may have moved */
	if (!f->running && push_refusal(&f->push, buf_cstr(&line), &body)) {
		http_reply(v, 200, "application/x-git-receive-pack-result", NULL, body.data,
			   body.len);
		return;
	}
	/* the one kind of text that git shows */
	if (f->route && !strcmp(json_str(f->route, "kind", ""), "git")) {
		buf_puts(&line, "\n");
		http_reply(v, status, "text/plain", NULL, line.data, line.len);
		return;
	}
	speak_error(status == 403 ? "permission_error" : "api_error", buf_cstr(&line), &body);
	http_reply(v, status, "application/json", NULL, body.data, body.len);
}

void flow_end_action(struct flow *f, enum action_end end, json_t *body)
{
	struct action *a = take(&f->running);
	f->handled = true;
	if (a)
		action_ended(a, end, body);
	else
		json_decref(body);
}

void flow_fail(struct flow *f, int status, const char *why)
{
	json_t *body = json_object();
	json_put_str(body, "why", why);
	flow_refuse(f, status, why);
	flow_end_action(f, END_FAILED, body);
	flow_free(f);
}

static bool passes_back(const char *name)
{
	static const char *const not [] = { "connection",
					    "keep-alive",
					    "transfer-encoding",
					    "te",
					    "trailer",
					    "upgrade",
					    "content-length",
					    "content-encoding",
					    "set-cookie",
					    "alt-svc",
					    "strict-transport-security",
					    "proxy-authenticate",
					    "content-type",
					    "proxy-authorization" };
	for (size_t i = 0; i < ARRAY_LEN(not ); i++)
		if (!strcmp(name, not [i]))
			return false;
	return true;
}

void flow_hides(struct flow *f, const char *name, const char *value, size_t len)
{
	struct err none = ERR_INIT; /* too short to differ from other text */
	f->sent = f->sent ? f->sent : secrets_new();
	if (secrets_add(f->sent, name, value, len, &none) < 0)
		return;
}

/* Of an answer, to pass on: but a line that gives a credential back. */
static void flow_headers(const struct flow *f, const struct http_head *head, struct strv *out)
{
	for (size_t i = 0; i < head->nr; i++)
		if (passes_back(head->header[i].name) &&
		    !(f->sent && secrets_within(f->sent, head->header[i].value,
						strlen(head->header[i].value)))) {
			CLEANUP(free_ptr)
			char *line =
				mem_printf("%s: %s", head->header[i].name, head->header[i].value);
			strv_push(out, line);
		}
}

static bool is_coded(const struct http_head *head)
{
	const char *coding = http_header(head, "content-encoding");
	return coding && *coding && strcasecmp(coding, "identity") != 0;
}

const char *flow_content_type(const struct flow *f, const struct http_head *head)
{
	const char *type = http_header(head, "content-type");
	return type && f->sent && secrets_within(f->sent, type, strlen(type)) ? NULL : type;
}

void flow_begin(struct flow *f, const struct http_head *head)
{
	struct strv lines = STRV_INIT;
	f->passing = true;
	f->coded = f->sent && is_coded(head);
	if (!f->visit || http_begun(f->visit))
		return;
	flow_headers(f, head, &lines);
	http_begin(f->visit, head->status, flow_content_type(f, head),
		   (const char *const *)lines.item);
	strv_release(&lines);
}

void flow_write(struct flow *f, const void *bytes, size_t len)
{
	if (!f->visit || f->coded)
		return;
	if (f->sent) {
		CLEANUP(buf_release) struct buf clean = BUF_INIT;
		secrets_stream(f->sent, &f->held, bytes, len, false, &clean);
		if (clean.len)
			http_write(f->visit, clean.data, clean.len);
	} else {
		http_write(f->visit, bytes, len);
	}
	if (f->call && http_queued(f->visit) > QUEUE_MAX)
		tape_pause(f->call, true);
}

void flow_end(struct flow *f, bool whole)
{
	struct http_visit *v = f->visit;
	f->visit = NULL;
	if (!v)
		return;
	http_visit_set_tag(v, NULL);
	CLEANUP(buf_release) struct buf rest = BUF_INIT;
	if (f->held.len)
		secrets_stream(f->sent, &f->held, "", 0, true, &rest);
	if (rest.len)
		http_write(v, rest.data, rest.len);
	if (whole && !f->coded)
		http_finish(v);
	else
		http_break(v);
}

/* --- requests --------------------------------------------------------------------------------- */

static struct flow *flow_new(struct proxy *p, struct http_visit *v)
{
	struct flow *f = NEW(struct flow);
	f->proxy = p;
	f->visit = v;
	f->next = p->all->flows;
	p->all->flows = f;
	http_visit_set_tag(v, f);
	return f;
}

void flow_drop_headers(struct flow *f)
{
	for (size_t i = f->nr_plain_headers; i < f->headers.nr; i++) {
		explicit_bzero(f->headers.item[i], f->headers.len[i]);
		free(f->headers.item[i]);
	}
	f->headers.nr = f->nr_plain_headers;
	if (f->headers.item)
		f->headers.item[f->headers.nr] = NULL;
}

void flow_free(struct flow *f)
{
	for (struct flow **at = &f->proxy->all->flows; *at; at = &(*at)->next)
		if (*at == f) {
			*at = f->next;
			break;
		}
	if (f->visit)
		http_visit_set_tag(f->visit, NULL);
	flow_forget(f);
	login_ask_free(&f->login);
	if (f->token)
		explicit_bzero(f->token, strlen(f->token));
	free(f->token);
	tape_cancel(&f->call);
	loop_timer_free(&f->alive);
	free(f->method);
	free(f->path);
	free(f->query);
	free(f->url);
	free(f->model);
	free(f->type);
	for (size_t i = 0; f->why && i < f->nr_why; i++)
		free(f->why[i]);
	free(f->why);
	json_decref(f->req);
	json_decref(f->face);
	flow_drop_headers(f);
	strv_release(&f->headers);
	buf_release(&f->body);
	buf_release(&f->packed);
	flow_room_end(f);
	buf_release(&f->whole);
	buf_release(&f->held);
	secrets_free(&f->sent);
	push_release(&f->push);
	answer_release(&f->answer);
	f->zombie = true;
	f->visit = NULL;
	if (!f->action)
		free(f);
}

bool flow_action_over(struct flow *f)
{
	f->action = 0;
	f->running = NULL;
	if (!f->zombie)
		return false;
	free(f);
	return true;
}

static void turn_down(struct flow *f, int status, const char *why)
{
	proxy_incident(f->proxy, f->method, f->path, why);
	flow_refuse(f, status, why);
	flow_free(f);
}

/* Rule 1. @path_out: the rest after the route's name. */
static const json_t *find_route(const struct proxy *p, const char *path, const char **path_out)
{
	const json_t *only = NULL, *r;
	size_t i;
	*path_out = path;
	json_array_foreach(json_object_get(p->spec, "routes"), i, r)
	{
		const char *name = json_str(r, "name", "");
		size_t n = strlen(name);
		if (!strncmp(path + 1, name, n) && (path[n + 1] == '/' || !path[n + 1])) {
			*path_out = path[n + 1] ? path + n + 1 : "/";
			return r;
		}
		if (proxy_is_model(r) || json_array_size(json_object_get(p->spec, "routes")) == 1)
			only = r;
	}
	return only;
}

/* "key=" of a query carries a credential: out it goes. @key_out: its value, if there was one. */
static char *query_without_key(const char *query, char **key_out)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	*key_out = NULL;
	for (const char *p = query; *p;) {
		size_t n = strcspn(p, "&");
		if (n > 4 && !strncmp(p, "key=", 4))
			*key_out = mem_strndup(p + 4, n - 4);
		else if (n)
			buf_printf(&out, "%c%.*s", out.len ? '&' : '?', (int)n, p);
		p += n + (p[n] == '&');
	}
	return mem_strdup(buf_cstr(&out));
}

static bool proxy_is_key(const struct proxy *p, const char *value)
{
	const char *hex = json_str(p->spec, "key_hash", NULL);
	struct hash want, got;
	if (!hex)
		return !strcmp(value, p->key);
	hash_of(value, strlen(value), &got);
	return hex_parse(hex, strlen(hex), &want, sizeof(want)) && hash_eq(&want, &got);
}

/* Rule 2. NULL: it is fine. */
static const char *wrong_key(const struct proxy *p, const struct http_ask *ask,
			     const char *in_query)
{
	bool seen = false;
	for (size_t i = 0; i < ask->nr; i++) {
		const char *value = ask->field[i].value;
		if (!speak_credential(ask->field[i].name) ||
		    !strcmp(ask->field[i].name, "openai-organization"))
			continue;
		if (!strncasecmp(value, "bearer ", 7))
			value += 7;
		if (strstr(value, ".sk-sg-")) /* the form of a JWT, with it as the signature */
			value = strrchr(value, '.') + 1;
		if (!proxy_is_key(p, value))
			return !strncmp(value, "sk-sg-", 6)
				       ? "the placeholder of another sandbox"
				       : "a credential other than this sandbox's placeholder";
		seen = true;
	}
	if (in_query && !proxy_is_key(p, in_query))
		return "a credential other than this sandbox's placeholder";
	return seen || in_query ? NULL : "no placeholder";
}

static bool passes_on(const char *name)
{
	static const char *const not [] = {
		"host",	  "connection", "keep-alive", "proxy-connection", "transfer-encoding",
		"te",	  "trailer",	"upgrade",    "content-length",	  "accept-encoding",
		"expect", "via",	"forwarded"
	};
	for (size_t i = 0; i < ARRAY_LEN(not ); i++)
		if (!strcmp(name, not [i]))
			return false;
	return !speak_credential(name) && strncmp(name, "x-forwarded-", 12) != 0;
}

static void take_fields(struct flow *f, const struct http_ask *ask)
{
	for (size_t i = 0; i < ask->nr; i++)
		if (passes_on(ask->field[i].name)) {
			CLEANUP(free_ptr)
			char *line = mem_printf("%s: %s", ask->field[i].name, ask->field[i].value);
			strv_push(&f->headers, line);
		}
	f->nr_plain_headers = f->headers.nr;
}

static void begin_model(struct flow *f, const struct http_ask *ask, const char *in_query)
{
	struct err none = ERR_INIT;
	const char *why = wrong_key(f->proxy, ask, in_query),
		   *coding = http_ask_field(ask, "content-encoding");
	if (http_ask_field(ask, "upgrade") && !strcmp(f->method, "GET")) {
		turn_down(f, 426, "only plain HTTP requests pass here");
		return;
	}
	bool model = speak_path(json_str(f->route, "dialect", ""), f->method, f->path, &f->speak);
	bool listed = !model && json_object_get(f->route, "allow") && plain_allowed(f);
	if (!model && !listed) {
		turn_down(f, 403, "no path that this proxy serves");
		return;
	}
	if (why) {
		turn_down(f, 403, why);
		return;
	}
	if (listed) {
		plain_begin(f);
		return;
	}
	why = packed_body_open(f, coding, BODY_MAX);
	if (why) {
		turn_down(f, 415, why);
		return;
	}
	int status;
	why = flow_room_json(f, &status);
	if (why) {
		turn_down(f, status, why);
		return;
	}
	f->req = f->body.len ? json_parse(f->body.data, f->body.len, "request", &none) : NULL;
	if (f->speak && !json_is_object(f->req)) {
		turn_down(f, 400, "the body is not a JSON object");
		return;
	}
	if (model_again(f->proxy->all, f))
		return;
	model_begin(f);
}

/* A header or parameter that makes the server read another request. NULL: none. */
static const char *proxy_disguise(const struct http_ask *ask)
{
	const char *query = strchr(ask->target, '?');
	for (size_t i = 0; i < ask->nr; i++)
		if (one_path_override_field(ask->field[i].name))
			return "a header that overrides the method or path";
	return query && one_path_override_query(query, strlen(query))
		       ? "a parameter that overrides the method"
		       : NULL;
}

/* The format of hooks in a path of ours, which no route has; NULL: another path. */
static const char *hook_path(const char *path)
{
	static const char ours[] = "/sandglass-hook/";
	return strncmp(path, ours, sizeof(ours) - 1) ? NULL : path + sizeof(ours) - 1;
}

static void begin_hook(struct flow *f, const struct http_ask *ask, const char *in_query,
		       const char *format)
{
	const char *why = wrong_key(f->proxy, ask, in_query);
	if (strcmp(f->method, "POST") != 0)
		why = "hooks require the method POST";
	if (why)
		turn_down(f, 403, why);
	else
		hook_begin(f, format);
}

static void proxy_on_request(void *self, struct http_visit *v)
{
	struct proxy *p = self;
	const struct http_ask *ask = http_visit_ask(v);
	struct flow *f = flow_new(p, v);
	size_t n = strcspn(ask->target, "?");
	CLEANUP(buf_release) struct buf one = BUF_INIT;
	const char *rest, *odd = one_path(ask->target, n, &one);
	CLEANUP(free_ptr)
	char *bare = odd ? mem_strndup(ask->target, n) : buf_take(&one), *key = NULL;
	/* "http://HOST/PATH", as programs ask a proxy, is the route HOST */
	CLEANUP(free_ptr)
	char *path = ask->authority
			     ? mem_printf("/%.*s%s", (int)ask->authority_len, ask->authority, bare)
			     : mem_strdup(bare);
	const char *hook = hook_path(bare);
	odd = odd ? odd : proxy_disguise(ask);
	f->method = mem_strdup(ask->method);
	f->route = find_route(p, path, &rest);
	if (ask->authority && rest == path) /* a host that no route names */
		f->route = NULL;
	f->path = mem_strdup(f->route ? rest : path);
	f->query = query_without_key(ask->target[n] ? ask->target + n + 1 : "", &key);
	flow_room_begin(f, v);
	take_fields(f, ask);
	if (p->all->s->ending)
		flow_fail(f, 503, "the session ends");
	else if (odd)
		turn_down(f, 403, odd);
	else if (hook)
		begin_hook(f, ask, key, hook);
	else if (!f->route)
		turn_down(f, 403, "no route of this name");
	else if (proxy_is_model(f->route))
		begin_model(f, ask, key);
	else
		plain_begin(f);
}

static void proxy_on_gone(void *self, struct http_visit *v)
{
	struct flow *f = http_visit_tag(v);
	(void)self;
	if (!f)
		return;
	f->visit = NULL;
	if (f->hook)
		hook_gone(f);
	else if (f->plain)
		plain_gone(f);
	else
		model_gone(f);
}

static void proxy_on_drained(void *self, struct http_visit *v)
{
	struct flow *f = http_visit_tag(v);
	(void)self;
	if (f && f->call)
		tape_pause(f->call, false);
}

const struct http_server_ops server_ops = { .request = proxy_on_request,
					    .connect = proxy_on_connect,
					    .gone = proxy_on_gone,
					    .drained = proxy_on_drained };
