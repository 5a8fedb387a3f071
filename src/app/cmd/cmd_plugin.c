/* sandglass plugin: which plugins for boxes there are, and does a kind of box do what one must do. */
#include <string.h>

#include "app/cmd/cmd_inner.h"
#include "app/host/library.h"
#include "app/rent/rent.h"
#include "base/mem.h"

static int list(struct cmd_ctx *ctx)
{
	for (size_t i = 0; rent_name(i); i++) {
		CLEANUP(free_ptr) char *path = xasprintf("plugins/sandboxes/%s.lua", rent_name(i));
		size_t len;
		const char *text = library_file(path, &len), *dash = text ? strstr(text, "-- ") : NULL;
		CLEANUP(free_ptr) char *about = dash == text && dash ? xstrndup(dash + 3, strcspn(dash + 3, "\n")) : xstrdup("");
		if (ctx->json) {
			json_t *o = json_object();
			json_put_str(o, "name", rent_name(i));
			json_put_str(o, "kind", "sandbox");
			json_put_str(o, "about", about);
			cmd_json(ctx, o);
		} else {
			fprintf(ctx->out, "%-10s sandbox  %s\n", rent_name(i), about);
		}
	}
	return 0;
}

int cmd_plugin(struct cmd_ctx *ctx)
{
	const char *what = cmd_word(ctx, 0);
	if (!what || !strcmp(what, "ls"))
		return list(ctx);
	if (!strcmp(what, "test"))
		return plugin_test(ctx);
	return cmd_usage(ctx, "plugin ls, or plugin test FILE");
}
