/* sandglass plugin: which plugins for boxes and models there are, which of the user's own, and does
 * a kind of box do what one must do. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "luahost/library.h"
#include "luahost/lua_file.h"
#include "luahost/plugin_own.h"
#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/driver.h"

enum { FILE_MAX = 1 << 20 };

static const struct kind {
	const char *name, *folder, *use; /* as a file says what it is; how it is named then */
} cmd_plugin_kinds[] = {
	{ "sandbox", "sandboxes", "sg.sandbox { backend = \"%s\" }, or --backend %s" },
	{ "model", "models", "c.models = { %s = { plugin = \"%s\" } } in config.lua" },
};

/* --- ls --------------------------------------------------------------------------------------- */

/* A plugin's summary: the first line of its file. */
static char *cmd_plugin_about(const char *text)
{
	return !strncmp(text, "-- ", 3) ? mem_strndup(text + 3, strcspn(text + 3, "\n"))
					: mem_strdup("");
}

static void cmd_plugin_print_row(struct cmd_ctx *ctx, const struct kind *k, const char *name,
				 const char *text, const char *path)
{
	CLEANUP(free_ptr) char *says = cmd_plugin_about(text);
	if (ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "name", name);
		json_put_str(o, "kind", k->name);
		json_put_str(o, "about", says);
		json_put_str(o, "path", path);
		cmd_json(ctx, o);
		return;
	}
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	buf_printf(&line, "%-11s %-7s  ", name, k->name);
	cmd_safe(&line, says, strlen(says), false);
	buf_puts(&line, path ? "  (yours)" : "");
	fprintf(ctx->out, "%s\n", buf_cstr(&line));
}

static void list_shipped(struct cmd_ctx *ctx, const struct kind *k)
{
	CLEANUP(free_ptr) char *folder = mem_printf("plugins/%s/", k->folder);
	const char *path;
	for (size_t i = 0; (path = library_path(i)); i++) {
		size_t len;
		if (strncmp(path, folder, strlen(folder)) != 0)
			continue;
		CLEANUP(free_ptr)
		char *name = mem_strndup(path + strlen(folder),
					 strlen(path + strlen(folder)) - strlen(".lua"));
		const char *text = library_file(path, &len);
		cmd_plugin_print_row(ctx, k, name, text ? text : "", NULL);
	}
}

static void list_own(struct cmd_ctx *ctx, const struct kind *k)
{
	CLEANUP(strv_release) struct strv names = STRV_INIT;
	plugin_own_names(k->folder, &names);
	for (size_t i = 0; i < names.nr; i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		CLEANUP(free_ptr) char *path = plugin_own_path(k->folder, names.item[i]);
		struct err none = ERR_INIT;
		if (file_read(path, &text, FILE_MAX, &none) == 0)
			cmd_plugin_print_row(ctx, k, names.item[i], buf_cstr(&text), path);
	}
}

static int cmd_plugin_list(struct cmd_ctx *ctx)
{
	for (size_t i = 0; i < ARRAY_LEN(cmd_plugin_kinds); i++) {
		list_shipped(ctx, &cmd_plugin_kinds[i]);
		list_own(ctx, &cmd_plugin_kinds[i]);
	}
	return EXIT_DONE;
}

/* --- add, rm ---------------------------------------------------------------------------------- */

static bool cmd_plugin_is_ours(const struct kind *k, const char *name)
{
	size_t len;
	for (size_t i = 0; k == &cmd_plugin_kinds[0] && driver_at(i); i++)
		if (!strcmp(driver_at(i)->name, name))
			return true;
	CLEANUP(free_ptr) char *path = mem_printf("plugins/%s/%s.lua", k->folder, name);
	return library_file(path, &len) != NULL;
}

/* "my/mine.lua" -> "mine". Return owned. */
static char *cmd_plugin_name_of(const char *file)
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
	size_t len = strlen(base);
	return mem_strndup(base, len > 4 && !strcmp(base + len - 4, ".lua") ? len - 4 : len);
}

static const struct kind *cmd_plugin_kind_of(const json_t *face)
{
	for (size_t i = 0; i < ARRAY_LEN(cmd_plugin_kinds); i++)
		if (!strcmp(json_str(face, "kind", ""), cmd_plugin_kinds[i].name))
			return &cmd_plugin_kinds[i];
	return NULL;
}

/* Prints the plugin's requirements before it is added. */
static void print_wants(struct cmd_ctx *ctx, const struct kind *k, const char *name,
			const json_t *face)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	const json_t *hosts = json_object_get(face, "hosts");
	const char *key = json_str(json_object_get(face, "env"), "key", NULL);
	buf_puts(&line, "it may ask to reach ");
	for (size_t i = 0; i < json_array_size(hosts); i++) {
		const char *host = json_string_value(json_array_get(hosts, i));
		buf_puts(&line, i ? ", " : "");
		cmd_safe(&line, host ? host : "?", strlen(host ? host : "?"), false);
	}
	buf_puts(&line, json_array_size(hosts) ? "" : "no fixed host");
	if (key) {
		buf_puts(&line, "; its key is ");
		cmd_safe(&line, key, strlen(key), false);
	}
	fprintf(ctx->out, "added %s, %s; ", name, k->name);
	fprintf(ctx->out, "%s\nuse it as ", buf_cstr(&line));
	line.len = 0;
	for (const char *p = k->use; *p; p++)
		if (!strncmp(p, "%s", 2) && p++)
			buf_puts(&line, name);
		else
			buf_putc(&line, *p);
	fprintf(ctx->out, "%s\n", buf_cstr(&line));
}

/* The same for a program. Return owned. */
static json_t *wants_json(const struct kind *k, const char *name, const char *path,
			  const json_t *face)
{
	json_t *o = json_object();
	const json_t *hosts = json_object_get(face, "hosts");
	json_put_str(o, "added", name);
	json_put_str(o, "kind", k->name);
	json_put_str(o, "path", path);
	json_put(o, "hosts", json_is_array(hosts) ? json_deep_copy(hosts) : json_array());
	json_put_str(o, "key", json_str(json_object_get(face, "env"), "key", NULL));
	return o;
}

static int cmd_plugin_add(struct cmd_ctx *ctx, const char *file)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(json_release) json_t *face = NULL;
	CLEANUP(free_ptr) char *name = cmd_plugin_name_of(file);
	if (file_read(file, &text, FILE_MAX, &err) < 0)
		return cmd_fail(ctx, &err);
	if (lua_file_run(&(struct lua_file_run){ .mode = "plugin",
						 .path = file,
						 .text = buf_cstr(&text) },
			 &face, &err) < 0)
		return cmd_fail(ctx, &err);
	const struct kind *k = cmd_plugin_kind_of(face);
	if (!k)
		return cmd_fail_with(ctx, EXIT_SCRIPT,
				     "'%s': not a plugin: expected kind \"sandbox\" or \"model\"",
				     file);
	CLEANUP(free_ptr) char *path = plugin_own_path(k->folder, name);
	if (!path)
		return cmd_usage(
			ctx, "expected a plugin name of letters, digits, '-', and '_', got '%s'",
			name);
	if (cmd_plugin_is_ours(k, name))
		return cmd_usage(ctx, "'%s' is built in\nRename the file.", name);
	if (access(path, F_OK) == 0 && !cmd_has(ctx, "force"))
		return cmd_fail_with(ctx, EXIT_UNSUCCESSFUL,
				     "plugin '%s' already exists\nReplace it with --force.", name);
	CLEANUP(free_ptr) char *folder = mem_strndup(path, (size_t)(strrchr(path, '/') - path));
	if (dir_make(folder, 0755, &err) < 0 ||
	    file_write_renamed(path, text.data, text.len, 0644, &err) < 0)
		return cmd_fail(ctx, &err);
	if (ctx->json)
		cmd_json(ctx, wants_json(k, name, path, face));
	else if (!ctx->quiet)
		print_wants(ctx, k, name, face);
	return EXIT_DONE;
}

static int cmd_plugin_removed(struct cmd_ctx *ctx, const char *name)
{
	size_t nr = 0;
	for (size_t i = 0; i < ARRAY_LEN(cmd_plugin_kinds); i++) {
		struct err err = ERR_INIT;
		CLEANUP(free_ptr) char *path = plugin_own_path(cmd_plugin_kinds[i].folder, name);
		if (!path || access(path, F_OK) != 0)
			continue;
		if (unlink(path) < 0) {
			err_sys(&err, "can't remove '%s'", path);
			return cmd_fail(ctx, &err);
		}
		nr++;
		if (ctx->json)
			cmd_json(ctx, json_pack("{s:s,s:s,s:s}", "removed", name, "kind",
						cmd_plugin_kinds[i].name, "path", path));
		else if (!ctx->quiet)
			fprintf(ctx->out, "removed %s, %s\n", name, cmd_plugin_kinds[i].name);
	}
	return nr ? EXIT_DONE
		  : cmd_usage(ctx,
			      "plugin '%s' not found\n'sandglass plugin ls' names the plugins.",
			      name);
}

int cmd_plugin(struct cmd_ctx *ctx)
{
	const char *what = cmd_word(ctx, 0), *which = cmd_word(ctx, 1);
	if (!what || !strcmp(what, "ls"))
		return cmd_plugin_list(ctx);
	if (!strcmp(what, "test"))
		return plugin_test(ctx);
	if (!strcmp(what, "new"))
		return plugin_new(ctx);
	bool adds = !strcmp(what, "add");
	if (!adds && strcmp(what, "rm") != 0)
		return cmd_usage(ctx, "expected ls, new, add, rm, or test, got '%s'", what);
	if (!which)
		return cmd_usage(ctx, "%s: missing argument", what);
	return adds ? cmd_plugin_add(ctx, which) : cmd_plugin_removed(ctx, which);
}
