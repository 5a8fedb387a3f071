#include "serve/serve_priv.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "http/http_auth.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"

/* UNDER_WAY_MAX: leaves room for the session's calls about open requests and about leaving
 * clients. */
enum {
	BODY_MAX = 64 << 20,
	UPLOADS_MAX = 128 << 20,
	PIECE = 256 << 10,
	TOKEN_BYTES = 20,
	UNDER_WAY_MAX = 512
};

void serve_ask_free(struct ask *a)
{
	websock_server_free(&a->door);
	a->s->sockets -= a->socket;
	json_decref(a->heard);
	for (struct ask **at = &a->s->asks; *at; at = &(*at)->next)
		if (*at == a) {
			*at = a->next;
			break;
		}
	a->s->uploading -= a->upload ? a->size : 0;
	free(a->way);
	free(a);
}

/* {"statusCode","code","message"}: what the SDKs of both providers read. */
static void serve_refuse(struct http_visit *v, int status, const char *text)
{
	CLEANUP(json_release) json_t *o = json_object();
	json_put_int(o, "statusCode", status);
	json_put_int(o, "code", status);
	json_put_str(o, "message", text);
	CLEANUP(free_ptr) char *body = json_dump_str(o);
	http_reply(v, status, "application/json", NULL, body, strlen(body));
}

/* Takes @args. false: the client has got the error and @a is gone. */
static bool serve_call(struct ask *a, const char *tool, json_t *args)
{
	struct err err = ERR_INIT;
	a->call = mcp_session_call(a->s->session, tool, args, "serve", &err);
	json_decref(args);
	if (a->call)
		return true;
	if (a->visit && http_begun(a->visit))
		http_break(a->visit);
	else if (a->visit)
		serve_refuse(a->visit, 503, err.text);
	serve_ask_free(a);
	return false;
}

/* --- requests --------------------------------------------------------------------------------- */

static json_t *serve_headers_of(const struct http_ask *ask)
{
	static const char *const told[] = { "content-type",	  "user-agent",
					    "connect-timeout-ms", "e2b-sandbox-id",
					    "e2b-sandbox-port",	  "sec-websocket-protocol" };
	json_t *o = json_object();
	for (size_t i = 0; i < ARRAY_LEN(told); i++)
		json_put_str(o, told[i], http_ask_field(ask, told[i]));
	return o;
}

/* The next piece of the body, the last with the request itself. */
static void serve_hand_on(struct ask *a)
{
	const struct http_ask *ask = http_visit_ask(a->visit);
	const struct buf *body = http_visit_body(a->visit);
	size_t left = body->len - a->sent, n = left < PIECE ? left : PIECE;
	json_t *args = json_object();
	if (a->upload)
		json_put_int(args, "upload", (int64_t)a->upload);
	json_put_bytes(args, "body", n ? body->data + a->sent : "", n);
	a->sent += n;
	if (a->sent < body->len) {
		serve_call(a, "part", args);
		return;
	}
	const char *target = a->way ? a->way : ask->target;
	size_t path = strcspn(target, "?");
	CLEANUP(free_ptr) char *plain = mem_strndup(target, path);
	json_put_str(args, "method", a->way ? "GET" : ask->method);
	json_put_str(args, "path", plain);
	json_put_str(args, "query", target[path] ? target + path + 1 : "");
	json_put(args, "headers", serve_headers_of(ask));
	json_put_flag(args, "socket", a->socket);
	json_put_str(args, "target", ask->target);
	serve_call(a, "http", args);
}

/* "dtn_TOKEN", "e2b_TOKEN" or "TOKEN". */
static bool serve_has_token(const struct serve *s, const struct http_ask *ask)
{
	const char *const given[] = { http_auth_bearer(ask), http_ask_field(ask, "x-api-key"),
				      http_ask_field(ask, "x-access-token"),
				      http_ask_field(ask, "e2b-traffic-access-token") };
	for (size_t i = 0; i < ARRAY_LEN(given); i++) {
		const char *bar = given[i] ? strrchr(given[i], '_') : NULL;
		if (http_auth_same(&s->token, bar ? bar + 1 : given[i]))
			return true;
	}
	return false;
}

/* A name as E2B gives it to what a sandbox serves on a port, "3000-ID.localhost:8000":
 * "/port/ID/3000", owned; NULL: no such name. Who knows it knows the sandbox; more is asked of
 * nobody there, either. */
static char *serve_port_of(const struct http_ask *ask)
{
	static const char name[] = ".localhost";
	const char *host = http_ask_field(ask, "host");
	size_t port = host ? strspn(host, "0123456789") : 0;
	if (!port || port > 5 || host[port] != '-')
		return NULL;
	const char *id = host + port + 1;
	size_t len = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789");
	if (!len || strncasecmp(id + len, name, sizeof(name) - 1) != 0 ||
	    !strchr(":", id[len + sizeof(name) - 1]))
		return NULL;
	return mem_printf("/port/%.*s/%.*s", (int)len, id, (int)port, host);
}

static void serve_on_request(void *self, struct http_visit *v)
{
	struct serve *s = self;
	const struct http_ask *ask = http_visit_ask(v);
	size_t size = http_visit_body(v)->len;
	CLEANUP(free_ptr) char *way = serve_port_of(ask);
	const char *strange = way ? NULL : http_auth_foreign(s->http, s->host, ask),
		   *coding = http_ask_field(ask, "content-encoding");
	bool socket = !way && websock_server_asked(ask);
	if (strange) {
		serve_refuse(v, 403, strange);
	} else if (!way && !serve_has_token(s, ask)) {
		serve_refuse(v, 401,
			     "wrong key; 'sandglass serve' printed the key when it started");
	} else if (socket && websock_server_wrong(ask)) {
		serve_refuse(v, 426, websock_server_wrong(ask));
	} else if (socket && s->sockets >= SOCKETS_MAX) {
		serve_refuse(v, 503, "too many WebSockets are open here already");
	} else if (mcp_session_under_way(s->session) >= UNDER_WAY_MAX) {
		serve_refuse(
			v, 503,
			"too many requests are under way here; send it again when some have had their answer");
	} else if (coding && strcmp(coding, "identity") != 0) {
		serve_refuse(v, 415, "a compressed body is not read here; send it plain");
	} else if (size > PIECE && s->uploading + size > UPLOADS_MAX) {
		serve_refuse(
			v, 503,
			"too much is being sent here at once; send it again when the other uploads are done");
	} else {
		struct ask *a = NEW(struct ask);
		*a = (struct ask){ .next = s->asks,
				   .s = s,
				   .visit = v,
				   .size = size,
				   .way = take(&way),
				   .socket = socket };
		s->asks = a;
		s->sockets += a->socket;
		http_visit_set_tag(v, a);
		if (size > PIECE) {
			a->upload = ++s->uploads;
			s->uploading += size;
		}
		serve_hand_on(a);
	}
}

void serve_leave(struct ask *a)
{
	json_t *args = json_object();
	a->call = 0;
	json_put_int(args, "stream", a->stream);
	json_put_int(args, "upload", (int64_t)a->upload);
	if (!a->stream && !a->upload)
		json_decref(args);
	else if (!serve_call(a, "leave", args)) /* it is freed */
		return;
	serve_ask_free(a); /* the answer finds nobody */
}

static void serve_on_gone(void *self, struct http_visit *v)
{
	struct ask *a = http_visit_tag(v);
	(void)self;
	if (!a)
		return;
	a->visit = NULL;
	if (a->call && !a->stream && a->sent == a->size) { /* its answer may bring a stream */
		mcp_session_break(a->s->session, a->call);
		return;
	}
	if (a->call)
		mcp_session_cancel(a->s->session, a->call);
	serve_leave(a);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* "{token}" becomes the token. */
static void serve_fill(const struct serve *s, struct buf *text)
{
	static const char mark[] = "{token}";
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	const char *from = buf_cstr(text), *at;
	for (; (at = strstr(from, mark)); from = at + sizeof(mark) - 1) {
		buf_append(&out, from, (size_t)(at - from));
		buf_append(&out, s->token.data, s->token.len);
	}
	buf_puts(&out, from);
	buf_reset(text);
	buf_append(text, out.data, out.len);
}

static size_t serve_queued(const struct ask *a)
{
	return a->door ? websock_server_queued(a->door) : http_queued(a->visit);
}

void serve_want_more(struct ask *a)
{
	if (a->call || serve_queued(a) > AHEAD_MAX)
		return;
	json_t *args = json_object();
	json_put_int(args, "stream", a->stream);
	serve_call(a, "more", args);
}

static void serve_on_drained(void *self, struct http_visit *v)
{
	struct ask *a = http_visit_tag(v);
	(void)self;
	if (a && a->stream)
		serve_want_more(a);
}

static void serve_on_piece(struct ask *a, const json_t *answer)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	if (json_get_bytes(json_object_get(answer, "body"), &body) && body.len)
		http_write(a->visit, body.data, body.len);
	if (!json_flag(answer, "over", false)) {
		serve_want_more(a);
		return;
	}
	if (json_flag(answer, "broken", false))
		http_break(a->visit);
	else
		http_finish(a->visit);
	serve_ask_free(a);
}

static void on_whole(struct ask *a, const json_t *answer)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	const char *type = json_str(answer, "type", NULL);
	int status = (int)json_int(answer, "status", 500);
	a->stream = json_int(answer, "stream", 0);
	if (a->stream && status == 101) {
		serve_socket_open(a, answer);
		return;
	}
	if (a->stream) {
		http_begin(a->visit, status, type, NULL);
		serve_want_more(a);
		return;
	}
	if (json_get_bytes(json_object_get(answer, "body"), &body) &&
	    json_flag(answer, "fill", false))
		serve_fill(a->s, &body);
	const char *location = json_str(answer, "location", NULL);
	CLEANUP(free_ptr) char *line = location ? mem_printf("Location: %s", location) : NULL;
	http_reply(a->visit, status, type, (const char *const[]){ line, NULL }, buf_cstr(&body),
		   body.len);
	serve_ask_free(a);
}

static void serve_print_error(const struct err *err)
{
	fprintf(stderr, "sandglass: serve: %s\n%s%s", err->text, err->hint, *err->hint ? "\n" : "");
}

static void on_hello(struct serve *s, const json_t *answer, const struct err *err);

static void serve_on_answer(void *self, uint64_t nr, const json_t *answer, const struct err *err)
{
	struct serve *s = self;
	struct ask *a = s->asks;
	if (nr == s->hello) {
		on_hello(s, answer, err);
		return;
	}
	while (a && a->call != nr && a->saying != nr)
		a = a->next;
	if (!a)
		return;
	if (a->door) {
		serve_socket_answer(a, nr, answer);
		return;
	}
	a->call = 0;
	if (!a->visit) {
		a->stream = json_int(answer, "stream", 0);
		serve_leave(a);
		return;
	}
	if (!answer && http_begun(a->visit))
		http_break(a->visit);
	else if (!answer)
		serve_refuse(a->visit, 503, err->text);
	else if (a->sent < a->size)
		serve_hand_on(a);
	else if (a->stream)
		serve_on_piece(a, answer);
	else
		on_whole(a, answer);
	if (!answer)
		serve_ask_free(a);
}

/* Its sandboxes are gone, and another session would not have them. */
static void serve_on_lost(void *self, const struct err *why)
{
	struct serve *s = self;
	if (!s->told)
		return;
	fprintf(stderr, "sandglass: serve: %s\n", why->text);
	s->lost = true;
	s->status = EXIT_UNSUCCESSFUL;
	if (s->pid > 0 && s->pidfd >= 0)
		kill(s->pid, SIGTERM); /* its end is ours */
	else
		loop_stop(s->loop);
}

static void serve_on_state(void *self)
{
	(void)self;
}

/* --- the start -------------------------------------------------------------------------------- */

static void on_program_end(void *self, int fd, unsigned events)
{
	struct serve *s = self;
	struct err err = ERR_INIT;
	int status = 0;
	(void)fd;
	(void)events;
	if (proc_reap(s->pidfd, &status, &err) == 0 && !s->lost)
		s->status = status < 256 ? status : 128 + status - 256;
	loop_fd_free(&s->watch);
	fd_close(&s->pidfd);
	loop_stop(s->loop);
}

static bool is_named(const char *line, const struct strv *words)
{
	size_t n = strcspn(line, "=");
	for (size_t i = 0; i < words->nr; i++)
		if (!strncmp(words->item[i], line, n + 1))
			return true;
	return false;
}

/* Found in PATH by env(1); the key is in its environment and in no command line. */
static int start_program(struct serve *s, const struct strv *words, struct err *err)
{
	const struct strv *program = s->how->program;
	static const int fds[] = { 0, 1, 2 };
	char **argv = mem_calloc(program->nr + 2, sizeof(*argv));
	struct strv env = STRV_INIT;
	argv[0] = (char *)(uintptr_t) "env";
	for (size_t i = 0; i < program->nr; i++)
		argv[i + 1] = program->item[i];
	for (char **e = environ; *e; e++)
		if (!is_named(*e, words))
			strv_push(&env, *e);
	for (size_t i = 0; i < words->nr; i++)
		strv_push(&env, words->item[i]);
	int rc = proc_spawn("/usr/bin/env", argv, env.item, fds, ARRAY_LEN(fds), &s->pid, &s->pidfd,
			    err);
	for (size_t i = 0; i < env.nr; i++)
		explicit_bzero(env.item[i], env.len[i]);
	strv_release(&env);
	free(argv);
	if (rc == 0)
		s->watch = loop_fd_new(s->loop, s->pidfd, LOOP_READ, on_program_end, s);
	return rc;
}

static void serve_announce(const struct serve *s, const json_t *answer, const struct strv *words)
{
	const char *session = mcp_session_id(s->session);
	if (s->how->json) {
		CLEANUP(json_release) json_t *o = json_object();
		json_t *env = json_object();
		json_put_str(o, "url", s->url);
		json_put_str(o, "session", session);
		for (size_t i = 0; i < words->nr; i++) {
			CLEANUP(free_ptr)
			char *name = mem_strndup(words->item[i], strcspn(words->item[i], "="));
			json_put_str(env, name, words->item[i] + strlen(name) + 1);
		}
		json_put(o, "env", env);
		CLEANUP(free_ptr) char *text = json_dump_str(o);
		printf("%s\n", text);
	} else if (!s->how->quiet) {
		fprintf(stderr, "sandglass: %s's API at %s, session %s: sandglass attach %s\n",
			json_str(answer, "name", "the provider"), s->url, session, session);
		for (size_t i = 0; i < words->nr && !s->how->program->nr; i++)
			printf("export %s\n", words->item[i]);
	}
	fflush(stdout);
}

static void on_hello(struct serve *s, const json_t *answer, const struct err *err)
{
	struct strv words = STRV_INIT;
	struct err why = ERR_INIT;
	const char *name;
	json_t *v;
	s->hello = 0;
	if (answer && json_str(answer, "wrong", NULL)) {
		err_set(&why, ERR_CLOSED, "%s", json_str(answer, "wrong", ""));
		err = &why;
		answer = NULL;
	}
	json_object_foreach(json_object_get(answer, "env"), name, v)
	{
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		const char *text = json_string_value(v), *at = strstr(text, "{url}");
		buf_printf(&line, "%s=%.*s%s%s", name, at ? (int)(at - text) : 0, text,
			   at ? s->url : "", at ? at + 5 : text);
		serve_fill(s, &line);
		strv_push(&words, buf_cstr(&line));
	}
	s->told = answer != NULL;
	if (answer)
		serve_announce(s, answer, &words);
	if (!answer || (s->how->program->nr && start_program(s, &words, &why) < 0)) {
		serve_print_error(answer ? &why : err);
		s->status = EXIT_UNSUCCESSFUL;
		loop_stop(s->loop);
	}
	strv_release(&words);
}

static void serve_on_signal(void *self, int signo)
{
	struct serve *s = self;
	if (s->pid > 0 && s->pidfd >= 0) { /* its end is ours; ^C it has had itself */
		if (signo != SIGINT)
			kill(s->pid, signo);
		return;
	}
	s->status = signo == SIGINT ? EXIT_INT : EXIT_TERM;
	loop_stop(s->loop);
}

static int serve_begin(struct serve *s, struct err *err)
{
	static const struct http_server_ops ops = { .request = serve_on_request,
						    .gone = serve_on_gone,
						    .drained = serve_on_drained };
	uint8_t raw[TOKEN_BYTES];
	uint16_t port = 0;
	random_bytes(raw, sizeof(raw));
	hex_append(&s->token, raw, sizeof(raw));
	if (http_auth_address(s->how->address ? s->how->address : "127.0.0.1", &s->host, &port,
			      err) < 0 ||
	    http_server_new(&s->http, s->loop, s->host, port, BODY_MAX, &ops, s, err) < 0)
		return -1;
	s->url = http_auth_url(s->host, http_server_port(s->http));
	if (!http_server_local(s->http))
		fprintf(stderr,
			"sandglass: warn: other machines can reach this address, and nothing encrypts what they send; "
			"put a front end with TLS before it\n");
	CLEANUP(json_release) json_t *args = json_object();
	json_put_str(args, "url", s->url);
	if (s->how->models) {
		CLEANUP(free_ptr) char *key = mem_printf("sk-sg-%s", buf_cstr(&s->token));
		CLEANUP(buf_release) struct buf hex = BUF_INIT;
		struct hash h;
		hash_of(key, strlen(key), &h);
		hex_append(&hex, h.b, HASH_LEN);
		json_put_str(args, "models", buf_cstr(&hex));
		secret_wipe(key, strlen(key));
	}
	s->hello = mcp_session_call(s->session, "hello", args, "serve", err);
	return s->hello ? 0 : -1;
}

int serve_run(json_t *opts, const struct serve_how *how)
{
	static const struct mcp_session_ops ops = { .answer = serve_on_answer,
						    .state = serve_on_state,
						    .closed = serve_on_lost };
	struct serve s = { .how = how, .status = EXIT_DONE, .pidfd = -1 };
	struct err err = ERR_INIT;
	if (loop_new(&s.loop, &err) < 0) {
		serve_print_error(&err);
		json_decref(opts);
		return EXIT_UNSUCCESSFUL;
	}
	signal(SIGPIPE, SIG_IGN);
	struct loop_signal *sig[] = { loop_signal_new(s.loop, SIGINT, serve_on_signal, &s),
				      loop_signal_new(s.loop, SIGTERM, serve_on_signal, &s),
				      loop_signal_new(s.loop, SIGHUP, serve_on_signal, &s) };
	s.session = mcp_session_new(s.loop, opts, &ops, &s);
	if (serve_begin(&s, &err) < 0) {
		serve_print_error(&err);
		s.status = err.code == ERR_USAGE ? EXIT_USAGE : EXIT_UNSUCCESSFUL;
	} else {
		loop_run(s.loop);
	}
	http_server_free(&s.http);
	while (s.asks)
		serve_ask_free(s.asks);
	mcp_session_free(&s.session);
	loop_fd_free(&s.watch);
	fd_close(&s.pidfd);
	for (size_t i = 0; i < ARRAY_LEN(sig); i++)
		loop_signal_free(&sig[i]);
	loop_free(s.loop);
	secret_wipe(s.token.data, s.token.len);
	buf_release(&s.token);
	free(s.host);
	free(s.url);
	return s.status;
}
