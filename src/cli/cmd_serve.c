/* serve: the API of a sandbox provider with boxes of ours behind it. */
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "cli/lib/config.h"
#include "cli/front/front.h"
#include "luahost/library.h"
#include "serve/serve.h"
#include "base/mem.h"

static int cmd_serve_options(struct cmd_ctx *ctx, const char *kind, json_t *o, struct err *err)
{
	size_t len;
	const char *text = library_file("agents/serve.lua", &len), *repo = cmd_opt(ctx, "repo"),
		   *name = cmd_opt(ctx, "name");
	json_t *args = json_array();
	json_array_append_new(args, json_string(kind));
	if (repo) {
		json_array_append_new(args, json_string("--repo"));
		json_array_append_new(args, json_bytes_z(repo));
	}
	json_put(o, "args", args);
	json_put_str(o, "name", name ? name : kind);
	json_put_str(o, "served_as", "serve");
	if (!text)
		return err_set(err, ERR_NOENT, "'agents/serve.lua' not found in this build");
	json_put_bytes(o, "script", text, len);
	return run_common(ctx, o, err);
}

int cmd_serve(struct cmd_ctx *ctx)
{
	const char *kind = cmd_word(ctx, 0);
	struct err err = ERR_INIT;
	json_t *o = json_object();
	CLEANUP(free_ptr) char *file = mem_printf("sandglass/serve/%s.lua", kind);
	size_t len;
	if (strchr(kind, '/') || !library_file(file, &len)) {
		json_decref(o);
		return cmd_usage(ctx, "expected daytona or e2b, got '%s'", kind);
	}
	if (cmd_serve_options(ctx, kind, o, &err) < 0) {
		json_decref(o);
		return cmd_fail(ctx, &err);
	}
	config_user(ctx);
	const struct serve_how how = { .address = cmd_word(ctx, 1),
				       .quiet = ctx->quiet,
				       .json = ctx->json,
				       .models = cmd_has(ctx, "models"),
				       .program = &ctx->line->rest };
	return serve_run(o, &how);
}
