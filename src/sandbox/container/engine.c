#include "sandbox/container/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/client.h"

enum { MAX_ANSWER = 16 << 20, TOTAL_US = 120 * 1000000 };

struct engine {
	struct engine *next; /* of all */
	unsigned users;
	struct loop *loop;
	struct http *http;
	char *socket, version[16];
	json_t *about;
	struct ask *asks;
	bool asking; /* for the version */
};

/* One request. Those made before the version is known wait for it. */
struct ask {
	struct ask *next;
	struct engine *e;
	char *method, *path, *bad; /* bad: what a line said */
	struct buf body, answer;
	const void *tar; /* borrowed */
	size_t tar_len;
	int64_t total_us;
	void (*on_line)(void *self, const json_t *line);
	struct http_call *call;
	int status;
	bool sent, over;
	box_done_fn *done;
	void *self;
};

static struct engine *engine_engines;

/* --- where --- */

static char *of_url(const char *url)
{
	if (!url || !*url)
		return NULL;
	if (strncmp(url, "unix:", 5) == 0) {
		for (url += 5; url[0] == '/' && url[1] == '/'; url++)
			;
		return mem_strdup(url);
	}
	return *url == '/' ? mem_strdup(url) : NULL;
}

char *engine_socket(const char *want, struct err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR"),
		   *named = want ? want : getenv("DOCKER_HOST");
	if (!named || !*named)
		named = getenv("CONTAINER_HOST");
	if (named && *named) {
		char *path = of_url(named);
		if (!path)
			err_set(err, ERR_UNSUPPORTED,
				"'%s' is not the Unix socket of a container engine", named);
		else if (access(path, F_OK) == 0)
			return path;
		else
			err_set(err, ERR_UNSUPPORTED,
				"no container engine at '%s'; start it, or name another one with the option 'engine'",
				path);
		free(path);
		return NULL;
	}
	static const char *const usual[] = { "/run/docker.sock", "/var/run/docker.sock",
					     "/run/podman/podman.sock" },
				 *const own[] = { "docker.sock", "podman/podman.sock" };
	for (size_t i = 0; i < ARRAY_LEN(own) && runtime; i++) {
		char *path = mem_printf("%s/%s", runtime, own[i]);
		if (access(path, F_OK) == 0)
			return path;
		free(path);
	}
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if (access(usual[i], F_OK) == 0)
			return mem_strdup(usual[i]);
	err_set(err, ERR_UNSUPPORTED,
		"container engine not found: DOCKER_HOST is not set, and /run/docker.sock and "
		"/run/podman/podman.sock don't exist; install docker.io or podman, and start its "
		"service");
	return NULL;
}

/* --- one request --- */

static void unlink_ask(struct ask *a)
{
	for (struct ask **at = &a->e->asks; *at; at = &(*at)->next)
		if (*at == a) {
			*at = a->next;
			return;
		}
}

static void engine_ask_free(struct ask *a)
{
	unlink_ask(a);
	http_cancel(&a->call);
	free(a->method);
	free(a->path);
	free(a->bad);
	buf_release(&a->body);
	buf_release(&a->answer);
	free(a);
}

static void engine_finish(struct ask *a, json_t *result, const struct err *err)
{
	box_done_fn *done = a->done;
	void *self = a->self;
	engine_ask_free(a);
	if (done)
		done(self, result, err);
	json_decref(result);
}

static bool engine_blank(const struct buf *b)
{
	return strspn(buf_cstr(b), " \r\n\t") == b->len;
}

static json_t *parse_answer(const struct ask *a, struct err *err)
{
	if (a->bad && a->status < 400) {
		err_set(err, ERR_IO, "the container engine reports: %.400s", a->bad);
		return NULL;
	}
	json_t *one = engine_blank(&a->answer)
			      ? json_object()
			      : json_loadb(a->answer.data, a->answer.len, JSON_ALLOW_NUL, NULL);
	if (!one)
		err_set(err, ERR_PARSE, "the container engine at '%s' didn't answer with JSON",
			a->e->socket);
	return one;
}

/* A pull or a build: an error comes in the middle of a status 200. */
static void take_lines(struct ask *a)
{
	char *end;
	size_t used = 0;
	while ((end = a->answer.len > used
			      ? memchr(a->answer.data + used, '\n', a->answer.len - used)
			      : NULL)) {
		size_t len = (size_t)(end - (a->answer.data + used));
		CLEANUP(json_release)
		json_t *line = json_loadb(a->answer.data + used, len, JSON_ALLOW_NUL, NULL);
		const char *bad = json_str(line, "error", NULL);
		if (bad && !a->bad)
			a->bad = mem_strndup(bad, strcspn(bad, "\r\n"));
		if (line && a->done)
			a->on_line(a->self, line);
		used += len + 1;
	}
	buf_drop(&a->answer, used);
}

static void engine_on_head(void *self, const struct http_head *head)
{
	struct ask *a = self;
	a->status = head->status;
}

static void engine_on_data(void *self, const void *bytes, size_t len)
{
	struct ask *a = self;
	if (a->answer.len + len <= MAX_ANSWER)
		buf_append(&a->answer, bytes, len);
	else
		a->over = true;
	if (a->on_line && a->status < 400)
		take_lines(a);
}

static void engine_unreached(const struct ask *a, const struct http_end *end, struct err *err)
{
	if (access(a->e->socket, R_OK | W_OK) < 0 && errno == EACCES)
		err_set(err, ERR_DENIED,
			"can't open '%s': permission denied; join the socket's group, or name another engine",
			a->e->socket);
	else if (end->how == HTTP_UNREACHED)
		err_set(err, ERR_CLOSED, "no container engine answers at '%s'; start its service",
			a->e->socket);
	else
		err_set(err, ERR_IO, "the container engine at '%s': %s", a->e->socket, end->text);
}

static void engine_on_end(void *self, const struct http_end *end)
{
	struct ask *a = self;
	struct err err = ERR_INIT;
	a->call = NULL;
	if (end->how != HTTP_OK) {
		engine_unreached(a, end, &err);
		engine_finish(a, NULL, &err);
		return;
	}
	if (a->over) {
		err_set(&err, ERR_FULL,
			"the container engine at '%s' answered with more than 16 MiB",
			a->e->socket);
		engine_finish(a, NULL, &err);
		return;
	}
	json_t *result = parse_answer(a, &err);
	if (a->status >= 400) {
		const char *text = json_str(result, "message", NULL);
		err_set(&err,
			a->status == 404   ? ERR_NOENT
			: a->status == 409 ? ERR_BUSY
					   : ERR_IO,
			"the container engine reports: %.600s", text && *text ? text : "no reason");
		json_release(&result);
	}
	engine_finish(a, result, &err);
}

static void send_ask(struct ask *a)
{
	static const char *const json[] = { "Content-Type: application/json", "Expect:", NULL },
				 *const tar[] = { "Content-Type: application/x-tar",
						  "Expect:", NULL };
	CLEANUP(free_ptr)
	char *url = *a->e->version ? mem_printf("http://localhost/v%s%s", a->e->version, a->path)
				   : mem_printf("http://localhost%s", a->path);
	const struct http_request req = { .method = a->method,
					  .url = url,
					  .unix_socket = a->e->socket,
					  .headers = a->tar ? tar : json,
					  .body = a->tar	? a->tar
						  : a->body.len ? a->body.data
								: NULL,
					  .body_len = a->tar ? a->tar_len : a->body.len,
					  .first_us = a->total_us,
					  .idle_us = a->total_us,
					  .total_us = a->total_us,
					  .proxy = "" };
	const struct http_handler h = {
		.head = engine_on_head, .data = engine_on_data, .end = engine_on_end, .self = a
	};
	a->sent = true;
	a->call = http_send(a->e->http, &req, &h);
}

/* --- the version --- */

static int engine_number(const char *version)
{
	const char *dot = version ? strchr(version, '.') : NULL;
	return dot ? atoi(version) * 1000 + atoi(dot + 1) : 0;
}

static void send_waiting(struct engine *e)
{
	for (struct ask *a = e->asks; a; a = a->next)
		if (!a->sent)
			send_ask(a);
}

static void fail_waiting(struct engine *e, const struct err *err)
{
	struct err copy = *err;
	e->users++; /* the last who waits may give it back */
	for (struct ask *a = e->asks; a;) {
		if (a->sent) {
			a = a->next;
			continue;
		}
		engine_finish(a, NULL, &copy);
		a = e->asks;
	}
	engine_put(&(struct engine *){ e });
}

static void on_version(void *self, json_t *body, const struct err *err)
{
	struct engine *e = self;
	const char *api = json_str(body, "ApiVersion", ""),
		   *min = json_str(body, "MinAPIVersion", "");
	const json_t *part = json_array_get(json_object_get(body, "Components"), 0);
	struct err why = ERR_INIT;
	e->asking = false;
	if (!body) {
		fail_waiting(e, err);
		return;
	}
	if (engine_number(api) < engine_number(ENGINE_OLDEST)) {
		err_set(&why, ERR_UNSUPPORTED,
			"the container engine at '%s' has API version '%.20s': expected %s or later",
			e->socket, api, ENGINE_OLDEST);
		fail_waiting(e, &why);
		return;
	}
	const char *use = engine_number(api) < engine_number(ENGINE_NEWEST)   ? api
			  : engine_number(min) > engine_number(ENGINE_NEWEST) ? min
									      : ENGINE_NEWEST;
	snprintf(e->version, sizeof(e->version), "%s", use);
	e->about = json_object();
	json_put_str(e->about, "name", json_str(part, "Name", "engine"));
	json_put_str(e->about, "version", json_str(part, "Version", json_str(body, "Version", "")));
	json_put_str(e->about, "api", e->version);
	send_waiting(e);
}

static struct ask *engine_ask_new(struct engine *e, const struct engine_request *r,
				  box_done_fn *done, void *self)
{
	struct ask *a = NEW(struct ask);
	*a = (struct ask){ .e = e,
			   .method = mem_strdup(r->method),
			   .path = mem_strdup(r->path),
			   .body = BUF_INIT,
			   .answer = BUF_INIT,
			   .tar = r->tar,
			   .tar_len = r->tar_len,
			   .total_us = r->total_us ? r->total_us : TOTAL_US,
			   .on_line = r->on_line,
			   .done = done,
			   .self = self };
	if (r->body)
		json_dump_buf(r->body, &a->body);
	struct ask **at = &e->asks; /* in the order in which they were asked */
	while (*at)
		at = &(*at)->next;
	*at = a;
	return a;
}

void engine_send(struct engine *e, const struct engine_request *r, box_done_fn *done, void *self)
{
	static const struct engine_request version = { .method = "GET",
						       .path = "/version",
						       .total_us = 10 * 1000000 };
	struct ask *a = engine_ask_new(e, r, done, self);
	if (*e->version) {
		send_ask(a);
	} else if (!e->asking) {
		e->asking = true;
		send_ask(engine_ask_new(e, &version, on_version, e));
	}
}

void engine_call(struct engine *e, const char *method, const char *path, const json_t *body,
		 box_done_fn *done, void *self)
{
	const struct engine_request r = { .method = method, .path = path, .body = body };
	engine_send(e, &r, done, self);
}

void engine_forget(struct engine *e, void *self)
{
	for (struct ask *a = e ? e->asks : NULL; a; a = a->next)
		if (a->self == self)
			a->done = NULL;
}

const char *engine_path(const struct engine *e)
{
	return e->socket;
}

const json_t *engine_about(const struct engine *e)
{
	return e->about;
}

/* --- sharing --- */

int engine_get(struct engine **out, struct loop *l, const char *socket, struct err *err)
{
	for (struct engine *e = engine_engines; e; e = e->next)
		if (e->loop == l && strcmp(e->socket, socket) == 0) {
			e->users++;
			*out = e;
			return 0;
		}
	struct engine *e = NEW(struct engine);
	*e = (struct engine){
		.next = engine_engines, .users = 1, .loop = l, .socket = mem_strdup(socket)
	};
	if (http_new(&e->http, l, NULL, err) < 0) {
		free(e->socket);
		free(e);
		return -1;
	}
	*out = engine_engines = e;
	return 0;
}

/* Later: the last one may give it back in one of its answers. */
static void end_unused(void *self)
{
	struct engine *e = self;
	if (e->users)
		return;
	for (struct engine **at = &engine_engines; *at; at = &(*at)->next)
		if (*at == e) {
			*at = e->next;
			break;
		}
	while (e->asks)
		engine_ask_free(e->asks);
	http_free(&e->http);
	json_release(&e->about);
	free(e->socket);
	free(e);
}

void engine_put(struct engine **ep)
{
	struct engine *e = take(ep);
	if (e && --e->users == 0)
		loop_defer(e->loop, end_unused, e);
}
