/* mcp: servers that the user has added, and sandglass as a server. */
#include <string.h>

#include "app/cmd/cmd_inner.h"
#include "app/config.h"
#include "app/front/front.h"
#include "app/host/library.h"
#include "app/mcp/serve.h"

static int serve(struct cmd_ctx *ctx)
{
	json_t *o = json_object(), *args = json_array();
	struct err err = ERR_INIT;
	size_t len;
	const char *text = library_file("agents/mcp.lua", &len), *name = cmd_opt(ctx, "name");
	if (!text || run_common(ctx, o, &err) < 0) {
		json_decref(o);
		json_decref(args);
		return text ? cmd_fail(ctx, &err) : cmd_fail_with(ctx, EXIT_UNSUCCESSFUL, "'agents/mcp.lua' is missing from this build");
	}
	if (cmd_opt(ctx, "repo")) {
		json_array_append_new(args, json_string("--repo"));
		json_array_append_new(args, json_bytes_z(cmd_opt(ctx, "repo")));
	}
	json_put_str(o, "name", name ? name : "mcp");
	json_put_bytes(o, "script", text, len);
	json_put(o, "args", args);
	config_user(ctx);
	return mcp_serve_stdio(o);
}

int cmd_mcp(struct cmd_ctx *ctx)
{
	const char *verb = cmd_word(ctx, 0);
	if (!strcmp(verb, "serve"))
		return serve(ctx);
	return cmd_usage(ctx, "'%s' is not there yet", verb);
}
