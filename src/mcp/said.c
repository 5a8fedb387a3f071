#include "mcp/said.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* --- versions --------------------------------------------------------------------------------- */

const char *const mcp_versions[] = { MCP_MODERN,   "2025-11-25", "2025-06-18",
				     "2025-03-26", "2024-11-05", NULL };

bool mcp_is_older(const char *version)
{
	for (size_t i = 1; mcp_versions[i]; i++)
		if (!strcmp(mcp_versions[i], version))
			return true;
	return false;
}

bool mcp_names_modern(const json_t *versions)
{
	size_t i;
	const json_t *v;
	json_array_foreach(versions, i,
			   v) if (json_is_string(v) &&
				  !strcmp(json_string_value(v), MCP_MODERN)) return true;
	return false;
}

bool mcp_names_older(const json_t *versions)
{
	size_t i;
	const json_t *v;
	json_array_foreach(versions, i, v) if (json_is_string(v) &&
					       mcp_is_older(json_string_value(v))) return true;
	return false;
}

/* --- tools ------------------------------------------------------------------------------------ */

const json_t *mcp_tool_named(const json_t *tools, const char *name)
{
	size_t i;
	const json_t *t;
	json_array_foreach(tools, i,
			   t) if (name && !strcmp(json_str(t, "name", ""), name)) return t;
	return NULL;
}

/* "x-mcp-header": a token, on a plain value, each name once; a tool with another one must not be
 * used. */
static bool good_headers(const json_t *schema, json_t *seen, bool reachable)
{
	static const char token[] =
		"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	const char *key;
	json_t *p;
	if (!json_is_object(schema))
		return true;
	const json_t *named = json_object_get(schema, "x-mcp-header");
	if (named) {
		const char *name = json_is_string(named) ? json_string_value(named) : "",
			   *type = json_str(schema, "type", "");
		CLEANUP(free_ptr) char *low = mem_strdup(name);
		for (char *c = low; *c; c++)
			*c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
		if (!*name || strspn(name, token) != strlen(name) || json_object_get(seen, low) ||
		    !reachable ||
		    (strcmp(type, "string") != 0 && strcmp(type, "integer") != 0 &&
		     strcmp(type, "boolean") != 0))
			return false;
		json_put_flag(seen, low, true);
	}
	json_object_foreach((json_t *)(uintptr_t)schema, key, p)
	{
		const char *inner;
		json_t *sub;
		size_t i;
		bool properties = !strcmp(key, "properties");
		if (properties) {
			json_object_foreach(
				p, inner,
				sub) if (!good_headers(sub, seen, reachable)) return false;
		} else if (json_is_array(p)) {
			json_array_foreach(p, i,
					   sub) if (!good_headers(sub, seen, false)) return false;
		} else if (!good_headers(p, seen, false)) {
			return false;
		}
	}
	return true;
}

bool mcp_good_tool(const json_t *t, bool modern)
{
	CLEANUP(json_release) json_t *seen = json_object();
	if (modern && !good_headers(json_object_get(t, "inputSchema"), seen, true))
		return false;
	const char *name = json_str(t, "name", "");
	size_t n = strlen(name);
	return n && n <= 128 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/") ==
		       n &&
	       json_is_object(json_object_get(t, "inputSchema"));
}

/* --- results ---------------------------------------------------------------------------------- */

/* Bytes that a base64 text stands for. */
static size_t base64_bytes(const char *data)
{
	size_t n = strlen(data);
	while (n && data[n - 1] == '=')
		n--;
	return n * 3 / 4;
}

/* Why @data can't be given to a model, for the text; "": it can. A model's API refuses every later
 * request of a conversation that holds data which is not base64. */
static const char *media_lacks(const char *data, size_t total)
{
	size_t len = strlen(data);
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	if (!len)
		return ", without data";
	if (len > MCP_MEDIA_MAX || total + len > MCP_MEDIA_ALL_MAX)
		return ", left out: too large";
	return base64_parse(data, len, &bytes) ? "" : ", left out: not base64";
}

/* Keeps an image, a sound, or a file for the models that take it, and names it in the text. */
static void put_media(struct buf *text, json_t *media, size_t *total, const char *type,
		      const char *mime, const char *data, const char *uri)
{
	const char *lacks = media_lacks(data, *total);
	buf_printf(text, "[%.40s %.80s, %zu bytes%s%.300s%s]", type, mime, base64_bytes(data),
		   uri ? ", " : "", uri ? uri : "", lacks);
	if (*lacks)
		return;
	json_t *o = json_object();
	json_put_str(o, "mime", mime);
	json_put_str(o, "data", data);
	json_put_str(o, "uri", uri);
	json_array_append_new(media, o);
	*total += strlen(data);
}

/* A link: models read what it names with the tool that reads resources. */
static void put_link(struct buf *text, const json_t *item)
{
	const char *about = json_str(item, "description", NULL),
		   *mime = json_str(item, "mimeType", NULL),
		   *name = json_str(item, "title", json_str(item, "name", NULL));
	buf_printf(text, "[resource %.300s", json_str(item, "uri", ""));
	if (name)
		buf_printf(text, " \"%.200s\"", name);
	if (mime)
		buf_printf(text, ", %.80s", mime);
	if (about)
		buf_printf(text, ": %.500s", about);
	buf_putc(text, ']');
}

static void put_content(struct buf *text, json_t *media, size_t *total, const json_t *item)
{
	const char *type = json_str(item, "type", ""), *said = json_str(item, "text", NULL);
	const json_t *res = json_object_get(item, "resource");
	if (!said && res)
		said = json_str(res, "text", NULL);
	if (text->len)
		buf_putc(text, '\n');
	if (said)
		buf_puts(text, said);
	else if (res && json_str(res, "blob", NULL))
		put_media(text, media, total, "file", json_str(res, "mimeType", "unknown type"),
			  json_str(res, "blob", ""), json_str(res, "uri", NULL));
	else if (res || json_str(item, "uri", NULL))
		put_link(text, res ? res : item);
	else
		put_media(text, media, total, type, json_str(item, "mimeType", "unknown type"),
			  json_str(item, "data", ""), NULL);
}

json_t *mcp_result_text(const json_t *result)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_t *o = json_object(), *media = json_array(),
	       *structured = json_object_get(result, "structuredContent");
	size_t i, total = 0;
	const json_t *item;
	json_array_foreach(json_object_get(result, "content"), i, item)
		put_content(&text, media, &total, item);
	if (!text.len && structured) {
		CLEANUP(free_ptr) char *dump = json_dump_str(structured);
		buf_puts(&text, dump);
	}
	json_put_bytes(o, "text", buf_cstr(&text), text.len);
	json_put(o, "structured", json_incref(structured));
	json_put_flag(o, "is_error", json_flag(result, "isError", false));
	if (json_array_size(media))
		json_put(o, "media", media);
	else
		json_decref(media);
	return o;
}

json_t *mcp_resource_text(const json_t *result)
{
	CLEANUP(json_release) json_t *as_call = json_object();
	json_t *content = json_array();
	size_t i;
	json_t *one;
	json_array_foreach(json_object_get(result, "contents"), i, one)
	{
		json_t *item = json_object();
		json_put_str(item, "type", "resource");
		json_put(item, "resource", json_incref(one));
		json_array_append_new(content, item);
	}
	json_put(as_call, "content", content);
	return mcp_result_text(as_call);
}
