/* The server over streamable HTTP, both eras at one address. A request needs the token (a file
 * of the user's), a Host that is this host, and no Origin of a web page. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/exit.h"
#include "http/http_auth.h"
#include "mcp/said.h"
#include "serve/mcp_serve_web.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"

enum {
	BODY_MAX = 4 << 20,
	PORT = 8747,
	TOKEN_BYTES = 32,
	TOKEN_SHORTEST = 20,
	TOKEN_LONGEST = 4096
};

#define VERSION_KEY "io.modelcontextprotocol/protocolVersion"

struct front {
	struct loop *loop;
	struct web web;
	struct http_server *http;
	char *host;
	struct buf token; /* empty: no token is required */
	int status;
};

/* --- refusals --------------------------------------------------------------------------------- */

static void serve_http_say(struct http_visit *v, int status, const char *const *headers,
			   const char *text)
{
	CLEANUP(free_ptr) char *line = mem_printf("%s\n", text);
	http_reply(v, status, "text/plain; charset=utf-8", headers, line, strlen(line));
}

/* As JSON-RPC. @id may be NULL. */
static void serve_http_refuse(struct http_visit *v, int status, json_t *id, enum rpc_code code,
			      const char *text)
{
	CLEANUP(json_release) json_t *msg = rpc_error(id, code, NULL, "%s", text);
	CLEANUP(free_ptr) char *dump = json_dump_str(msg);
	http_reply(v, status, "application/json", NULL, dump, strlen(dump));
}

/* --- who asks --------------------------------------------------------------------------------- */

static bool serve_http_has_token(const struct front *f, const struct http_ask *a)
{
	return !f->token.len || http_auth_same(&f->token, http_auth_bearer(a));
}

/* --- the new era ------------------------------------------------------------------------------ */

/* "=?base64?...?=" encodes a value that is not plain text. Returns owned; NULL: neither. */
static char *header_value(const char *s)
{
	size_t n = strlen(s);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (n < 11 || strncmp(s, "=?base64?", 9) != 0)
		return mem_strdup(s);
	if (strcmp(s + n - 2, "?=") != 0 || !base64_parse(s + 9, n - 11, &b) ||
	    memchr(buf_cstr(&b), 0, b.len))
		return NULL;
	return mem_strdup(buf_cstr(&b));
}

static const char *wanted_name(const struct rpc_msg *m)
{
	if (!strcmp(m->method, "tools/call") || !strcmp(m->method, "prompts/get"))
		return json_str(m->params, "name", NULL);
	if (!strcmp(m->method, "tasks/get") || !strcmp(m->method, "tasks/update") ||
	    !strcmp(m->method, "tasks/cancel"))
		return json_str(m->params, "taskId", NULL);
	return !strcmp(m->method, "resources/read") ? json_str(m->params, "uri", NULL) : NULL;
}

/* The headers must agree with the message, because proxies read the headers. NULL: they do. */
static const char *headers_differ(const struct http_ask *a, const struct rpc_msg *m,
				  const char *version)
{
	const char *said = http_ask_field(a, "mcp-protocol-version"),
		   *method = http_ask_field(a, "mcp-method"),
		   *named = http_ask_field(a, "mcp-name"), *name = wanted_name(m);
	if (!said || (version && strcmp(said, version) != 0))
		return "MCP-Protocol-Version is missing or not that of _meta";
	if (!method || strcmp(method, m->method) != 0)
		return "Mcp-Method is missing or not the method";
	if (!name)
		return NULL;
	CLEANUP(free_ptr) char *given = named ? header_value(named) : NULL;
	return !given || strcmp(given, name) != 0 ? "Mcp-Name is missing or not the name" : NULL;
}

static void post_modern(struct front *f, struct http_visit *v, const struct rpc_msg *m, bool events)
{
	const struct http_ask *a = http_visit_ask(v);
	const json_t *version = json_object_get(json_object_get(m->params, "_meta"), VERSION_KEY);
	/* closing its stream cancels a request; other notifications are ignored */
	if (m->kind != RPC_REQUEST) {
		http_reply(v, 202, NULL, NULL, NULL, 0);
		return;
	}
	const char *wrong =
		headers_differ(a, m, json_is_string(version) ? json_string_value(version) : NULL);
	if (wrong) {
		serve_http_refuse(v, 400, m->id, RPC_HEADERS, wrong);
		return;
	}
	if (!version) {
		serve_http_refuse(v, 400, m->id, RPC_PARAMS, "_meta: '" VERSION_KEY "' is missing");
		return;
	}
	const struct web_how how = { .version = MCP_MODERN,
				     .modern = true,
				     .takes_events = events };
	mcp_server_take_msg(f->web.server, &web_stream_new(&f->web, v, NULL, m, &how)->peer, m);
}

/* --- the old era ------------------------------------------------------------------------------ */

/* The session that a request names; NULL: it has been refused. */
static struct web_session *session_for(struct front *f, struct http_visit *v)
{
	const char *id = http_ask_field(http_visit_ask(v), "mcp-session-id");
	struct web_session *s = id ? web_session_of(&f->web, id) : NULL;
	if (!id)
		serve_http_refuse(
			v, 400, NULL, RPC_INVALID,
			"Mcp-Session-Id is missing; it comes with the answer to initialize");
	else if (!s)
		serve_http_refuse(v, 404, NULL, RPC_INVALID, "session not found; initialize again");
	return s;
}

static const char *serve_http_version_of(const struct http_ask *a)
{
	const char *said = http_ask_field(a, "mcp-protocol-version");
	return said ? said : "2025-03-26";
}

static bool version_known(const char *version)
{
	for (size_t i = 1; mcp_versions[i]; i++)
		if (!strcmp(mcp_versions[i], version))
			return true;
	return false;
}

static void post_legacy(struct front *f, struct http_visit *v, const struct rpc_msg *m, bool events)
{
	struct web_how how = { .version = serve_http_version_of(http_visit_ask(v)),
			       .takes_events = events };
	how.initialize = m->kind == RPC_REQUEST && !strcmp(m->method, "initialize");
	struct web_session *s = how.initialize ? NULL : session_for(f, v);
	if (!s && !how.initialize)
		return;
	if (m->kind != RPC_REQUEST) {
		if (m->kind == RPC_NOTE)
			web_note(&f->web, s, m);
		http_reply(v, 202, NULL, NULL, NULL, 0);
	} else if (web_stream_open(&f->web, s, m->id)) {
		serve_http_refuse(v, 400, m->id, RPC_INVALID,
				  "a request with this id is not answered yet");
	} else {
		mcp_server_take_msg(f->web.server, &web_stream_new(&f->web, v, s, m, &how)->peer,
				    m);
	}
}

static void serve_http_get(struct front *f, struct http_visit *v)
{
	const struct http_ask *a = http_visit_ask(v);
	const char *accept = http_ask_field(a, "accept"),
		   *last = http_ask_field(a, "last-event-id");
	static const char *const allow[] = { "Allow: POST", NULL };
	if (!http_ask_field(a, "mcp-session-id")) {
		serve_http_say(v, 405, allow, "GET is for the streams of a session");
		return;
	}
	struct web_session *s = session_for(f, v);
	if (!s)
		return;
	if (!accept || !strstr(accept, "text/event-stream"))
		serve_http_say(v, 406, NULL, "expected Accept: text/event-stream");
	else if (last && !web_stream_again(&f->web, v, s, last))
		serve_http_say(v, 404, NULL, "event not found");
	else if (!last && web_stream_listens(&f->web, s))
		serve_http_say(v, 409, NULL, "this session has its stream already");
	else if (!last)
		web_stream_listen(&f->web, v, s, serve_http_version_of(a));
}

/* --- all -------------------------------------------------------------------------------------- */

static void serve_http_post(struct front *f, struct http_visit *v)
{
	const struct http_ask *a = http_visit_ask(v);
	const struct buf *body = http_visit_body(v);
	const char *type = http_ask_field(a, "content-type"), *accept = http_ask_field(a, "accept");
	bool events = accept && strstr(accept, "text/event-stream");
	struct rpc_msg m;
	struct err err = ERR_INIT;
	if (!type || strncasecmp(type, "application/json", 16) != 0) {
		serve_http_say(v, 415, NULL, "expected Content-Type: application/json");
		return;
	}
	if (accept && !strstr(accept, "application/json") && !strstr(accept, "application/*") &&
	    !strstr(accept, "*/*")) {
		serve_http_say(v, 406, NULL,
			       "expected Accept: application/json, text/event-stream");
		return;
	}
	bool good = rpc_parse(&m, buf_cstr(body), body->len, &err) == 0;
	const char *said = http_ask_field(a, "mcp-protocol-version");
	bool modern = good && ((said && !strcmp(said, MCP_MODERN)) ||
			       json_object_get(json_object_get(m.params, "_meta"), VERSION_KEY));
	if (!good)
		serve_http_refuse(v, 400, m.id, err.code == ERR_INVALID ? RPC_INVALID : RPC_PARSE,
				  err.text);
	else if (modern)
		post_modern(f, v, &m, events);
	else if (said && !version_known(said))
		serve_http_refuse(v, 400, m.id, RPC_INVALID,
				  "this MCP-Protocol-Version is not spoken here");
	else
		post_legacy(f, v, &m, events);
	rpc_msg_release(&m);
}

static void serve_http_on_request(void *self, struct http_visit *v)
{
	static const char *const allow[] = { "Allow: GET, POST, DELETE", NULL };
	static const char *const bearer[] = { "WWW-Authenticate: Bearer realm=\"sandglass\"",
					      NULL };
	struct front *f = self;
	const struct http_ask *a = http_visit_ask(v);
	const char *strange = http_auth_foreign(f->http, f->host, a);
	struct web_session *s;
	if (strange)
		serve_http_refuse(v, 403, NULL, RPC_INVALID, strange);
	else if (!serve_http_has_token(f, a))
		serve_http_say(v, 401, bearer, "missing token: Authorization: Bearer TOKEN");
	else if (strcmp(a->target, "/mcp") != 0 && strcmp(a->target, "/mcp/") != 0)
		serve_http_say(v, 404, NULL, "MCP is at /mcp");
	else if (!strcmp(a->method, "POST"))
		serve_http_post(f, v);
	else if (!strcmp(a->method, "GET"))
		serve_http_get(f, v);
	else if (strcmp(a->method, "DELETE") != 0 || !http_ask_field(a, "mcp-session-id"))
		serve_http_say(v, 405, allow, "GET, POST and DELETE are served here");
	else if ((s = session_for(f, v))) {
		web_session_end(&f->web, s);
		http_reply(v, 200, NULL, NULL, NULL, 0);
	}
}

static void serve_http_on_gone(void *self, struct http_visit *v)
{
	struct front *f = self;
	web_gone(&f->web, v);
}

static void serve_http_on_signal(void *self, int signo)
{
	struct front *f = self;
	f->status = signo == SIGINT ? EXIT_INT : EXIT_TERM;
	loop_stop(f->loop);
}

/* --- the start -------------------------------------------------------------------------------- */

/* The user's token: it stays the same across starts, so that configured clients keep working. */
static int load_token(struct buf *out, const char *path, struct err *err)
{
	struct stat st;
	int rc = stat(path, &st);
	if (rc == 0 && (st.st_mode & 077))
		return err_set(
			err, ERR_DENIED,
			"'%s' is readable by other users\nRun 'chmod 600' on it, or remove it to get a new token.",
			path);
	if (rc == 0 && file_read(path, out, TOKEN_LONGEST, err) < 0)
		return -1;
	while (out->len && strchr(" \t\r\n", out->data[out->len - 1]))
		out->data[--out->len] = 0;
	if (rc == 0 && out->len < TOKEN_SHORTEST)
		return err_set(
			err, ERR_INVALID,
			"'%s': token shorter than %d characters\nRemove the file to get a new token.",
			path, TOKEN_SHORTEST);
	if (rc == 0)
		return 0;
	uint8_t raw[TOKEN_BYTES];
	CLEANUP(free_ptr) char *dir = paths_state("");
	random_bytes(raw, sizeof(raw));
	hex_append(out, raw, sizeof(raw));
	buf_putc(out, '\n');
	if (dir_make(dir, 0700, err) < 0 ||
	    file_write_atomic(path, out->data, out->len, 0600, err) < 0)
		return -1;
	out->data[--out->len] = 0;
	return 0;
}

/* Where it is and how to get in. The token itself is not shown. */
static void serve_http_announce(const struct front *f, const struct mcp_http *how,
				const char *token_path)
{
	CLEANUP(free_ptr)
	char *base = http_auth_url(f->host, http_server_port(f->http)),
	     *url = mem_printf("%s/mcp", base);
	if (how->json) {
		CLEANUP(json_release) json_t *o = json_object();
		json_put_str(o, "url", url);
		json_put_str(o, "token_file", how->open ? NULL : token_path);
		CLEANUP(free_ptr) char *text = json_dump_str(o);
		printf("%s\n", text);
		fflush(stdout);
	} else if (!how->quiet) {
		fprintf(stderr, "sandglass: MCP at %s; add it to an agent, for instance:\n", url);
		if (how->open)
			fprintf(stderr, "  claude mcp add --transport http sandglass %s\n", url);
		else
			fprintf(stderr,
				"  claude mcp add --transport http sandglass %s --header \"Authorization: Bearer $(cat %s)\"\n",
				url, token_path);
	}
	if (!http_server_local(f->http))
		fprintf(stderr,
			"sandglass: warn: other machines can reach this address, and nothing encrypts what they send; "
			"put a front end with TLS before it\n");
}

static int open_front(struct front *f, const struct mcp_http *how, const char *token_path,
		      struct err *err)
{
	static const struct http_server_ops ops = { .request = serve_http_on_request,
						    .gone = serve_http_on_gone };
	uint16_t port = PORT;
	if (http_auth_address(how->address ? how->address : "127.0.0.1", &f->host, &port, err) <
		    0 ||
	    (!how->open && load_token(&f->token, token_path, err) < 0) ||
	    http_server_new(&f->http, f->loop, f->host, port, BODY_MAX, &ops, f, err) < 0)
		return -1;
	if (how->open && !http_server_local(f->http))
		return err_set(
			err, ERR_DENIED,
			"--no-token requires 127.0.0.1: '%.80s' is reachable from other hosts",
			f->host);
	return 0;
}

int mcp_serve_http(json_t *opts, const struct mcp_http *how)
{
	struct front f = { .status = EXIT_DONE };
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *token_path = paths_state("mcp-token");
	if (loop_new(&f.loop, &err) < 0) {
		mcp_serve_fail(&err);
		json_decref(opts);
		return EXIT_UNSUCCESSFUL;
	}
	signal(SIGPIPE, SIG_IGN);
	struct loop_signal *sig[] = { loop_signal_new(f.loop, SIGINT, serve_http_on_signal, &f),
				      loop_signal_new(f.loop, SIGTERM, serve_http_on_signal, &f),
				      loop_signal_new(f.loop, SIGHUP, serve_http_on_signal, &f) };
	struct mcp_server *server = mcp_server_new(f.loop, opts);
	web_init(&f.web, f.loop, server);
	if (open_front(&f, how, token_path, &err) < 0) {
		mcp_serve_fail(&err);
		f.status = err.code == ERR_USAGE ? EXIT_USAGE : EXIT_UNSUCCESSFUL;
	} else {
		serve_http_announce(&f, how, token_path);
		loop_run(f.loop);
	}
	web_release(&f.web);
	http_server_free(&f.http);
	mcp_server_free(&server);
	for (size_t i = 0; i < 3; i++)
		loop_signal_free(&sig[i]);
	loop_free(f.loop);
	secret_wipe(f.token.data, f.token.len);
	buf_release(&f.token);
	free(f.host);
	return f.status;
}
