/* plugin new: a file to begin with, in the directory that one is in. It is whole: against an API
 * as it is written for, it works. */
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "cli/lib/template.h"
#include "base/mem.h"

static const struct {
	const char *kind, *template, *then;
} plugin_new_starts[] = {
	{ "sandbox", "plugin_sandbox", "test" },
	{ "model", "plugin_model", "add" },
};

int plugin_new(struct cmd_ctx *ctx)
{
	const char *kind = cmd_word(ctx, 1), *name = cmd_word(ctx, 2);
	size_t i = 0, n = name ? strlen(name) : 0;
	struct err err = ERR_INIT;
	if (!name)
		return cmd_usage(ctx, "new: missing arguments: sandbox NAME or model NAME");
	while (i < ARRAY_LEN(plugin_new_starts) && strcmp(plugin_new_starts[i].kind, kind) != 0)
		i++;
	if (i == ARRAY_LEN(plugin_new_starts))
		return cmd_usage(ctx, "new: expected sandbox or model, got '%s'", kind);
	CLEANUP(free_ptr)
	char *stem = mem_strndup(name, n > 4 && !strcmp(name + n - 4, ".lua") ? n - 4 : n);
	CLEANUP(free_ptr) char *path = mem_printf("%s.lua", stem);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!template_good_name(stem))
		return cmd_usage(
			ctx, "expected a name of up to 64 letters, digits, '_', and '-', got '%s'",
			stem);
	if (template_fill(&text, plugin_new_starts[i].template, stem, &err) < 0 ||
	    template_write(path, &text, cmd_has(ctx, "force"), &err) < 0)
		return cmd_fail(ctx, &err);
	if (ctx->json)
		cmd_json(ctx, json_pack("{s:s,s:s}", "wrote", path, "kind", kind));
	else if (!ctx->quiet)
		fprintf(ctx->out,
			"wrote %s; its comments say what to change ('help plugins': all fields)\ntest it: sandglass plugin %s %s\n",
			path, plugin_new_starts[i].then, path);
	return EXIT_DONE;
}
