#include "mcp/known.h"

#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

enum { FILE_MAX = 1 << 20, NAME_LONGEST = 40 };

bool mcp_name_ok(const char *name)
{
	size_t n = strlen(name);
	return n && n <= NAME_LONGEST && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       n;
}

json_t *mcp_known(struct err *err)
{
	CLEANUP(free_ptr) char *path = paths_config("mcp.json");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (file_read(path, &text, FILE_MAX, err) < 0) {
		if (err->code != ERR_NOENT)
			return NULL;
		*err = ERR_INIT;
		return json_object();
	}
	CLEANUP(json_release) json_t *j = json_parse(text.data, text.len, path, err);
	if (!j)
		return NULL;
	json_t *servers = json_object_get(j, "servers");
	if (servers && !json_is_object(servers)) {
		err_set(err, ERR_PARSE, "'%s': \"servers\": expected an object", path);
		return NULL;
	}
	return servers ? json_incref(servers) : json_object();
}

static void names_of(const json_t *all, struct buf *out)
{
	const char *key;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)all, key, v)
		buf_printf(out, "%s%s", out->len ? ", " : "", key);
}

json_t *mcp_known_find(const char *name, struct err *err)
{
	CLEANUP(json_release) json_t *all = mcp_known(err);
	CLEANUP(buf_release) struct buf names = BUF_INIT;
	if (!all)
		return NULL;
	json_t *server = json_object_get(all, name);
	if (json_is_object(server))
		return json_incref(server);
	names_of(all, &names);
	err_set(err, ERR_NOENT, "MCP server '%.60s' not found; %s%.200s", name,
		names.len ? "known: " : "add it with 'sandglass mcp add NAME -- COMMAND'",
		buf_cstr(&names));
	return NULL;
}

int mcp_known_set(const char *name, json_t *server, struct err *err)
{
	CLEANUP(free_ptr) char *path = paths_config("mcp.json");
	CLEANUP(free_ptr) char *dir = paths_config("");
	CLEANUP(json_release) json_t *mine = server;
	CLEANUP(json_release) json_t *all = mcp_known(err);
	if (!all)
		return -1;
	if (!mine && !json_object_get(all, name)) {
		json_decref(mcp_known_find(name, err));
		return -1;
	}
	if (mine)
		json_put(all, name, json_incref(mine));
	else
		json_object_del(all, name);
	CLEANUP(json_release) json_t *whole = json_object();
	json_put(whole, "servers", json_incref(all));
	CLEANUP(free_ptr) char *text = json_dumps(whole, JSON_INDENT(2));
	if (dir_make(dir, 0700, err) < 0)
		return -1;
	return file_write_atomic(path, text, strlen(text), 0600, err);
}

static bool is_everyday(const char *variable)
{
	static const char *const names[] = {
		"HOME",
		"LOGNAME",
		"USER",
		"SHELL",
		"PATH",
		"TERM",
		"COLORTERM",
		"LANG",
		"LANGUAGE",
		"LC_*",
		"TZ",
		"TMPDIR",
		"XDG_*",
		"DISPLAY",
		"WAYLAND_DISPLAY",
		"XAUTHORITY",
		"http_proxy",
		"https_proxy",
		"all_proxy",
		"no_proxy",
		"HTTP_PROXY",
		"HTTPS_PROXY",
		"ALL_PROXY",
		"NO_PROXY",
		"SSL_CERT_FILE",
		"SSL_CERT_DIR",
		"CURL_CA_BUNDLE",
		"REQUESTS_CA_BUNDLE",
		"NODE_EXTRA_CA_CERTS",
		"LD_LIBRARY_PATH",
		"NIX_PATH",
		"NVM_DIR",
	};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t n = strlen(names[i]);
		bool any = names[i][n - 1] == '*';
		if (any ? !strncmp(variable, names[i], n - 1)
			: !strncmp(variable, names[i], n) && variable[n] == '=')
			return true;
	}
	return false;
}

static bool known_is_there(const struct strv *all, const char *variable)
{
	size_t n = strcspn(variable, "=") + 1;
	for (size_t i = 0; i < all->nr; i++)
		if (!strncmp(all->item[i], variable, n))
			return true;
	return false;
}

void mcp_env(struct strv *out)
{
	for (char **e = environ; *e; e++)
		if (is_everyday(*e) && !known_is_there(out, *e))
			strv_push(out, *e);
}
