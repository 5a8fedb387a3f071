/* mcp: servers that the user has added, and sandglass as a server. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "cli/lib/config.h"
#include "cli/front/front.h"
#include "luahost/library.h"
#include "mcp/conn.h"
#include "mcp/known.h"
#include "serve/mcp_serve.h"
#include "secrets/secret_source.h"
#include "base/mem.h"

static int cmd_mcp_serve(struct cmd_ctx *ctx)
{
	json_t *o = json_object(), *args = json_array();
	struct err err = ERR_INIT;
	size_t len;
	const char *text = library_file("agents/mcp.lua", &len), *name = cmd_opt(ctx, "name");
	if (!cmd_has(ctx, "http") && (cmd_word(ctx, 1) || cmd_has(ctx, "no-token"))) {
		json_decref(o);
		json_decref(args);
		return cmd_usage(ctx, "serve: ADDR and --no-token require --http");
	}
	if (!text || run_common(ctx, o, &err) < 0) {
		json_decref(o);
		json_decref(args);
		return text ? cmd_fail(ctx, &err)
			    : cmd_fail_with(ctx, EXIT_UNSUCCESSFUL,
					    "'agents/mcp.lua' not found in this build");
	}
	if (cmd_opt(ctx, "repo")) {
		json_array_append_new(args, json_string("--repo"));
		json_array_append_new(args, json_bytes_z(cmd_opt(ctx, "repo")));
	}
	json_put_str(o, "name", name ? name : "mcp");
	json_put_bytes(o, "script", text, len);
	json_put(o, "args", args);
	config_user(ctx);
	const struct mcp_http how = { .address = cmd_word(ctx, 1),
				      .open = cmd_has(ctx, "no-token"),
				      .quiet = ctx->quiet,
				      .json = ctx->json };
	return cmd_has(ctx, "http") ? mcp_serve_http(o, &how) : mcp_serve_stdio(o);
}

/* --- servers by name -------------------------------------------------------------------------- */

/* "text", or for "before $NAME" the secret of that name with "before " in front. */
static json_t *cmd_mcp_value_of(const char *text)
{
	const char *dollar = strchr(text, '$');
	if (!dollar || !secret_name_ok(dollar + 1))
		return json_bytes_z(text);
	json_t *o = json_object();
	CLEANUP(free_ptr) char *before = mem_strndup(text, (size_t)(dollar - text));
	json_put_str(o, "$secret", dollar + 1);
	if (*before)
		json_put_str(o, "prefix", before);
	return o;
}

static json_t *cmd_mcp_pairs(struct cmd_ctx *ctx, const char *option, char between, struct err *err)
{
	const char *v;
	json_t *o = NULL;
	for (size_t i = 0; (v = command_opt_nth(ctx->line, option, i)); i++) {
		const char *at = strchr(v, between);
		if (!at || at == v) {
			json_decref(o);
			err_set(err, ERR_USAGE, "--%s: expected NAME%cVALUE, got '%s'", option,
				between, v);
			return NULL;
		}
		CLEANUP(free_ptr) char *name = mem_strndup(v, (size_t)(at - v));
		if (!o)
			o = json_object();
		json_put(o, name,
			 cmd_mcp_value_of(at + 1 + strspn(at + 1, between == ':' ? " " : "")));
	}
	return o;
}

/* The server that the options describe; NULL without error: none. */
static json_t *cmd_mcp_described(struct cmd_ctx *ctx, struct err *err)
{
	const char *url = cmd_opt(ctx, "url"), *where = cmd_opt(ctx, "where");
	const struct strv *rest = &ctx->line->rest;
	if (where && strcmp(where, "host") != 0 && strcmp(where, "box") != 0) {
		err_set(err, ERR_USAGE, "--where: expected host or box, got '%s'", where);
		return NULL;
	}
	if (url && rest->nr) {
		err_set(err, ERR_USAGE, "expected a command or --url, got both");
		return NULL;
	}
	if (url && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
		err_set(err, ERR_USAGE, "--url: expected a URL of http or https, got '%s'", url);
		return NULL;
	}
	if (!url && !rest->nr)
		return NULL;
	json_t *o = json_object(), *env = cmd_mcp_pairs(ctx, "env", '=', err),
	       *headers = cmd_mcp_pairs(ctx, "header", ':', err);
	json_put_str(o, "url", url);
	if (!url)
		json_put(o, "command", json_argv(rest->item, rest->nr));
	json_put_str(o, "where", where);
	json_put(o, "env", env);
	json_put(o, "headers", headers);
	if (err->code == ERR_NONE)
		return o;
	json_decref(o);
	return NULL;
}

static int cmd_mcp_add(struct cmd_ctx *ctx, struct err *err)
{
	const char *name = cmd_word(ctx, 1);
	if (!name || !mcp_name_ok(name))
		return err_set(err, ERR_USAGE,
			       "add: expected a NAME of letters, digits, '_', and '-'");
	json_t *o = cmd_mcp_described(ctx, err);
	if (!o)
		return err->code
			       ? -1
			       : err_set(err, ERR_USAGE,
					 "add: missing server\nRun 'sandglass mcp add %s -- COMMAND', or give --url URL.",
					 name);
	if (mcp_known_set(name, o, err) < 0)
		return -1;
	if (!ctx->quiet && !ctx->json)
		fprintf(ctx->out, "added: %s; look at its tools with: sandglass mcp test %s\n",
			name, name);
	return 0;
}

static int cmd_mcp_ls(struct cmd_ctx *ctx, struct err *err)
{
	CLEANUP(json_release) json_t *all = mcp_known(err);
	const char *name;
	json_t *v;
	if (!all)
		return -1;
	json_object_foreach(all, name, v)
	{
		if (ctx->json) {
			json_t *o = json_copy(v);
			json_put_str(o, "name", name);
			cmd_json(ctx, o);
			continue;
		}
		CLEANUP(buf_release) struct buf words = BUF_INIT;
		struct strv argv = STRV_INIT;
		json_get_argv(json_object_get(v, "command"), &argv);
		for (size_t i = 0; i < argv.nr; i++)
			buf_printf(&words, "%s%s", i ? " " : "", argv.item[i]);
		strv_release(&argv);
		buf_puts(&words, json_str(v, "url", ""));
		fprintf(ctx->out, "%-20s %-4s ", name, json_str(v, "where", "host"));
		cmd_print_safe(ctx->out, buf_cstr(&words), words.len, false);
		fputc('\n', ctx->out);
	}
	if (!json_object_size(all) && !ctx->json && !ctx->quiet)
		fprintf(ctx->err,
			"sandglass: mcp: no servers\nAdd one with 'sandglass mcp add NAME -- COMMAND'.\n");
	return 0;
}

/* --- one server by hand ----------------------------------------------------------------------- */

struct visit {
	struct cmd_ctx *ctx;
	struct loop *loop;
	struct mcp_conn *conn;
	const char *name, *tool;
	json_t *args;
	int64_t timeout_us; /* 0: not given */
	int status;
};

static void visit_fail(struct visit *v, const struct err *err)
{
	v->status = cmd_fail_with(v->ctx, EXIT_UNSUCCESSFUL, "server '%s': %s\n%s", v->name,
				  err->text, err->hint);
	loop_stop(v->loop);
}

static void cmd_mcp_on_answer(void *self, const json_t *result, const struct err *err)
{
	struct visit *v = self;
	if (!result) {
		visit_fail(v, err);
		return;
	}
	if (v->tool && v->ctx->json) {
		cmd_json(v->ctx, json_copy((json_t *)(uintptr_t)result));
	} else if (v->tool) {
		const char *text = json_str(result, "text", "");
		cmd_print_safe(v->ctx->out, text, strlen(text), true);
		if (*text && text[strlen(text) - 1] != '\n')
			fputc('\n', v->ctx->out);
	} else if (!v->ctx->json) {
		fprintf(v->ctx->out, "it answers\n");
	}
	if (v->tool && json_flag(result, "is_error", false))
		v->status = EXIT_UNSUCCESSFUL;
	loop_stop(v->loop);
}

static void on_progress(void *self, int64_t done, int64_t total, const char *text)
{
	struct visit *v = self;
	if (v->ctx->quiet || v->ctx->json)
		return;
	fprintf(v->ctx->err, "progress %lld%s", (long long)done, total ? " of " : "");
	if (total)
		fprintf(v->ctx->err, "%lld", (long long)total);
	fputs(*text ? ": " : "", v->ctx->err);
	cmd_print_safe(v->ctx->err, text, strlen(text), false);
	fputc('\n', v->ctx->err);
}

static const struct mcp_call_ops call_ops = { .done = cmd_mcp_on_answer, .progress = on_progress };

static void print_tools(struct visit *v)
{
	struct mcp_client *c = mcp_conn_client(v->conn);
	const json_t *tools = mcp_client_tools(c), *info = mcp_client_info(c), *t;
	FILE *out = v->ctx->out;
	size_t i;
	if (v->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "name", v->name);
		json_put_str(o, "protocol", mcp_client_version(c));
		json_put(o, "info", json_incref((json_t *)(uintptr_t)info));
		json_put(o, "tools", json_incref((json_t *)(uintptr_t)tools));
		cmd_json(v->ctx, o);
		return;
	}
	fprintf(out, "%s: ", v->name);
	cmd_print_safe(out, json_str(info, "name", "a server"),
		       strlen(json_str(info, "name", "a server")), false);
	fputc(' ', out);
	cmd_print_safe(out, json_str(info, "version", ""), strlen(json_str(info, "version", "")),
		       false);
	fprintf(out, ", protocol %s, %zu tools\n", mcp_client_version(c), json_array_size(tools));
	json_array_foreach(tools, i, t)
	{
		const char *about = json_str(t, "description", json_str(t, "title", ""));
		size_t n = strcspn(about, "\n");
		fprintf(out, "  %-28s ", json_str(t, "name", ""));
		cmd_print_safe(out, about, n > 90 ? 90 : n, false);
		fputc('\n', out);
	}
}

static void cmd_mcp_on_ready(void *self, const struct err *err)
{
	struct visit *v = self;
	if (err) {
		visit_fail(v, err);
		return;
	}
	struct mcp_client *c = mcp_conn_client(v->conn);
	if (v->tool) {
		mcp_client_call(c, v->tool, v->args, v->timeout_us, &call_ops, v);
		return;
	}
	print_tools(v);
	mcp_client_ping(c, &call_ops, v);
}

static void cmd_mcp_on_gone(void *self, const struct err *why)
{
	(void)self; /* the callers have their errors already */
	(void)why;
}

static void cmd_mcp_on_log(void *self, const char *bytes, size_t len)
{
	struct visit *v = self;
	if (v->ctx->verbose)
		cmd_print_safe(v->ctx->err, bytes, len, true);
}

/* NAME=VALUE or Name: VALUE with the values of secrets; these are the user's own, and go only to
 * this server. */
static int cmd_mcp_fill(struct strv *out, const json_t *from, const char *between,
			const json_t *secrets, struct err *err)
{
	const char *key;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)from, key, v)
	{
		CLEANUP(secret_wipe_buf) struct buf b = BUF_INIT;
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		const char *name = json_str(v, "$secret", NULL);
		buf_printf(&b, "%s%s%s", key, between, name ? json_str(v, "prefix", "") : "");
		if (name) {
			struct secret_source s = { 0 };
			if (secret_find(secrets, name, &s, err) < 0)
				return -1;
			int rc = secret_read(&s, &b, err);
			secret_source_release(&s);
			if (rc < 0)
				return -1;
		} else if (json_get_bytes(v, &text)) {
			buf_append(&b, text.data, text.len);
		}
		strv_push_bytes(out, buf_cstr(&b), b.len);
	}
	return 0;
}

static int run_visit(struct visit *v, const json_t *server, const json_t *secrets, struct err *err)
{
	static const struct mcp_conn_ops ops = { .ready = cmd_mcp_on_ready,
						 .gone = cmd_mcp_on_gone,
						 .log = cmd_mcp_on_log };
	struct strv env = STRV_INIT, headers = STRV_INIT, argv = STRV_INIT;
	struct http *http = NULL;
	const char *url = json_str(server, "url", NULL);
	int64_t seconds = 0;
	if (command_opt_int(v->ctx->line, "timeout", 1, 86400, &seconds, err) < 0)
		return -1;
	v->timeout_us = seconds * 1000000;
	int rc = loop_new(&v->loop, err);
	if (rc < 0)
		return -1;
	json_get_argv(json_object_get(server, "command"), &argv);
	if (cmd_mcp_fill(&env, json_object_get(server, "env"), "=", secrets, err) < 0 ||
	    cmd_mcp_fill(&headers, json_object_get(server, "headers"), ": ", secrets, err) < 0 ||
	    (url && http_new(&http, v->loop, NULL, err) < 0))
		rc = -1;
	mcp_env(&env);
	const struct mcp_conn_spec spec = { .argv = url ? NULL : &argv,
					    .env = &env,
					    .cwd = json_str(server, "cwd", NULL),
					    .url = url,
					    .headers = &headers,
					    .http = http,
					    .open_us = v->timeout_us };
	if (rc == 0)
		rc = mcp_conn_open(&v->conn, v->loop, &spec, &ops, v, err);
	if (rc == 0)
		loop_run(v->loop);
	mcp_conn_close(&v->conn);
	strv_release(&argv);
	strv_release(&env);
	strv_release(&headers);
	http_free(&http);
	/* a server of ours may need a moment to end; it is given a limited time */
	while (loop_alive(v->loop))
		loop_turn(v->loop, 50);
	loop_free(v->loop);
	return rc;
}

static json_t *secrets_of(struct cmd_ctx *ctx)
{
	struct config *c;
	struct err err = ERR_INIT;
	if (config_open(&c, ctx, &err) < 0)
		return NULL;
	json_t *o = config_object(c, "secrets");
	config_close(&c);
	return o;
}

static int cmd_mcp_visit(struct cmd_ctx *ctx, bool call)
{
	struct err err = ERR_INIT;
	struct visit v = { .ctx = ctx };
	size_t at = 1;
	CLEANUP(json_release) json_t *server = cmd_mcp_described(ctx, &err);
	v.name = server ? "this" : cmd_word(ctx, at++);
	if (!server && err.code == ERR_NONE && !v.name)
		return cmd_usage(ctx, "expected a server: its name, --url URL, or -- COMMAND");
	if (!server && err.code == ERR_NONE)
		server = mcp_known_find(v.name, &err);
	if (!server)
		return cmd_fail(ctx, &err);
	if (!strcmp(json_str(server, "where", "host"), "box"))
		return cmd_fail_with(
			ctx, EXIT_USAGE,
			"server '%s' runs in a sandbox\nUse it in a script: sg.mcp { name = \"%s\", box = box }.",
			v.name, v.name);
	v.tool = call ? cmd_word(ctx, at) : NULL;
	const char *args = call ? cmd_word(ctx, at + 1) : NULL;
	if (call && !v.tool)
		return cmd_usage(ctx, "call: missing argument: TOOL");
	CLEANUP(json_release)
	json_t *given = args ? json_parse(args, strlen(args), "arguments", &err) : NULL;
	if (args && !json_is_object(given))
		return cmd_usage(ctx, "call: expected a JSON object, such as '{\"path\":\".\"}'");
	v.args = given;
	CLEANUP(json_release) json_t *secrets = secrets_of(ctx);
	if (run_visit(&v, server, secrets, &err) < 0)
		return cmd_fail(ctx, &err);
	return v.status;
}

int cmd_mcp(struct cmd_ctx *ctx)
{
	const char *verb = cmd_word(ctx, 0), *name = cmd_word(ctx, 1);
	struct err err = ERR_INIT;
	int rc = 0;
	if (ctx->words->nr > (strcmp(verb, "call") ? strcmp(verb, "ls") ? 2 : 1 : 4))
		return cmd_usage(ctx, "%s: unexpected argument", verb);
	if (!strcmp(verb, "serve"))
		return cmd_mcp_serve(ctx);
	if (!strcmp(verb, "test") || !strcmp(verb, "call"))
		return cmd_mcp_visit(ctx, !strcmp(verb, "call"));
	if (!strcmp(verb, "add"))
		rc = cmd_mcp_add(ctx, &err);
	else if (!strcmp(verb, "ls"))
		rc = cmd_mcp_ls(ctx, &err);
	else if (strcmp(verb, "rm") != 0)
		return cmd_usage(ctx, "expected add, ls, rm, test, call, or serve, got '%s'", verb);
	else if (!name)
		return cmd_usage(ctx,
				 "missing argument: NAME\n'sandglass mcp ls' names the servers.");
	else
		rc = mcp_known_set(name, NULL, &err);
	return rc < 0 ? cmd_fail(ctx, &err) : EXIT_DONE;
}
