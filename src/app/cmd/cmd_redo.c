/* redo: in the session that runs, else in a new one. */
#include <string.h>

#include "app/cmd/cmd_inner.h"
#include "app/cmd/describe.h"
#include "app/front/sessions.h"
#include "app/front/spawn.h"
#include "app/host/library.h"
#include "base/mem.h"
#include "control/client.h"
#include "control/socket.h"
#include "record/read/session.h"

static int ask(struct cmd_ctx *ctx, const char *socket, uint64_t action, const char *from, json_t **reply, struct err *err)
{
	struct control_client *c;
	json_t *words = json_array(), *opts = json_object();
	CLEANUP(free_ptr) char *id = xasprintf("%llu", (unsigned long long)action);
	json_array_append_new(words, json_string("redo_here"));
	json_array_append_new(words, json_string(id));
	json_put_str(opts, "from", from);
	if (from)
		json_put_flag(opts, "end", true);
	if (cmd_has(ctx, "keep"))
		json_put_flag(opts, "keep", true);
	if (control_client_open(&c, socket, NULL, NULL, NULL, err) < 0) {
		json_decref(words);
		json_decref(opts);
		return -1;
	}
	int rc = control_client_call(c, words, opts, -1, reply, err);
	control_client_free(&c);
	return rc;
}

/* A session of its own whose record names the origin. */
static int in_new_session(struct cmd_ctx *ctx, const char *path, uint64_t action, json_t **reply, struct err *err)
{
	CLEANUP(json_release) json_t *o = json_object();
	struct spawned sp = { 0 };
	size_t len;
	const char *text = library_file("agents/redo.lua", &len), *accept = cmd_opt(ctx, "accept");
	if (!text)
		return err_set(err, ERR_NOENT, "'agents/redo.lua' is missing from this build");
	if (accept && strcmp(accept, "reduced") != 0)
		return err_set(err, ERR_USAGE, "--accept '%s': only 'reduced' can be accepted", accept);
	json_put_str(o, "name", "redo");
	json_put_bytes(o, "script", text, len);
	json_put_str(o, "sessions_dir", ctx->sessions);
	json_put_flag(o, "accept_reduced", accept != NULL);
	if (spawn_supervisor(o, &sp, err))
		return -1;
	int rc = ask(ctx, sp.socket, action, path, reply, err);
	if (!ctx->quiet)
		fprintf(ctx->err, "recorded as %s\n", sp.id);
	spawned_release(&sp);
	return rc;
}

int cmd_redo(struct cmd_ctx *ctx)
{
	CLEANUP(free_ptr) char *path = NULL;
	CLEANUP(json_release) json_t *reply = NULL;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	struct session *s;
	uint64_t action;
	if (session_ref(ctx->sessions, cmd_word(ctx, 0), &path, &action, &err) < 0 || session_open(&s, path, &err) < 0)
		return cmd_fail(ctx, &err);
	bool live = session_live(s);
	CLEANUP(free_ptr) char *socket = control_path(session_id(s));
	session_close(&s);
	if (!action)
		return cmd_usage(ctx, "which action? give its number: redo s-7k2m9q#403");
	int rc = live ? ask(ctx, socket, action, NULL, &reply, &err) : in_new_session(ctx, path, action, &reply, &err);
	if (rc < 0)
		return cmd_fail(ctx, &err);
	if (ctx->json) {
		cmd_json(ctx, json_incref(reply));
	} else {
		describe_redo(reply, &text);
		buf_puts(&text, "\n");
		cmd_print_safe(ctx->out, buf_cstr(&text), text.len, true);
	}
	return json_flag(reply, "same", false) ? EXIT_DONE : EXIT_UNSUCCESSFUL;
}
