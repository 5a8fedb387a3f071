#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/mcp_serve_priv.h"
#include "serve/mcp_tools.h"

void mcp_serve_put_cache(json_t *o)
{
	json_put_int(o, "ttlMs", 3600000);
	json_put_str(o, "cacheScope", "public");
}

/* The lists. Sandboxes are tools. Prompts and resources are empty lists, not errors: clients
 * request them whatever capabilities a server declares. */
static const struct list {
	const char *method, *field;
	json_t *(*make)(void); /* NULL: it is empty */
} mcp_serve_lists[] = {
	{ "tools/list", "tools", mcp_tools_list },
	{ "prompts/list", "prompts", NULL },
	{ "resources/list", "resources", NULL },
	{ "resources/templates/list", "resourceTemplates", NULL },
};

bool mcp_serve_list(struct mcp_peer *p, const struct rpc_msg *m, bool modern)
{
	const struct list *l = NULL;
	for (size_t i = 0; i < ARRAY_LEN(mcp_serve_lists); i++)
		if (!strcmp(mcp_serve_lists[i].method, m->method))
			l = &mcp_serve_lists[i];
	if (!l)
		return false;
	if (json_object_get(m->params, "cursor")) {
		CLEANUP(free_ptr) char *text = mem_printf("%s: there is only one page", l->method);
		mcp_serve_refuse(p, m->id, RPC_PARAMS, NULL, text);
		return true;
	}
	json_t *o = json_object();
	json_put(o, l->field, l->make ? l->make() : json_array());
	if (modern)
		mcp_serve_put_cache(o);
	mcp_serve_finish(p, m->id, o, modern);
	return true;
}

bool mcp_serve_item(struct mcp_peer *p, const struct rpc_msg *m, bool modern)
{
	bool resource = !strcmp(m->method, "resources/read");
	if (!resource && strcmp(m->method, "prompts/get") != 0)
		return false;
	const char *name = json_str(m->params, resource ? "uri" : "name", "");
	CLEANUP(free_ptr)
	char *text = mem_printf("%s '%.200s' not found", resource ? "resource" : "prompt", name);
	json_t *data = json_object();
	json_put_str(data, resource ? "uri" : "name", name);
	mcp_serve_refuse(p, m->id, resource && !modern ? RPC_NO_RESOURCE : RPC_PARAMS, data, text);
	return true;
}
