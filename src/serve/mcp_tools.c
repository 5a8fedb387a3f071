#include "serve/mcp_tools.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text/utf8.h"

#define ID                                                                                         \
	"\"sandbox_id\":{\"type\":\"string\",\"description\":\"Which sandbox; left out: the default one\"}"
#define PATH                                                                                       \
	"\"path\":{\"type\":\"string\",\"description\":\"Path in the sandbox; relative ones begin at /workspace\"}"
#define OBJECT(required, properties)                                                               \
	"{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required             \
	"],\"additionalProperties\":false}"

enum { READS = 1, DESTROYS = 2, IDEMPOTENT = 4 };

static const struct tool {
	const char *name, *title, *about, *input, *output;
	unsigned hints;
} tools_tool[] = {
	{ "sandbox_create", "Open a sandbox",
	  "Opens a Linux sandbox of its own with a copy of the project in /workspace and returns its sandbox_id. The other "
	  "tools use a default sandbox if no id is given, so this is needed only for a second one.",
	  OBJECT("",
		 "\"name\":{\"type\":\"string\",\"description\":\"Short name\"},"
		 "\"empty\":{\"type\":\"boolean\",\"description\":\"true: /workspace is empty\"}"),
	  OBJECT("\"sandbox_id\"",
		 "\"sandbox_id\":{\"type\":\"string\"},\"workspace\":{\"type\":\"string\"},"
		 "\"profile\":{\"type\":\"string\"}"),
	  0 },
	{ "sandbox_exec", "Run a command",
	  "Runs a command in the sandbox: cmd is a line for sh, argv is a list of arguments "
	  "without a shell. Returns exit code, stdout, and stderr. The user may have to "
	  "approve it first.",
	  OBJECT("", ID
		 ",\"cmd\":{\"type\":\"string\",\"description\":\"Command line for sh -c\"},"
		 "\"argv\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Words, instead of cmd\"},"
		 "\"cwd\":{\"type\":\"string\"},\"timeout_ms\":{\"type\":\"integer\",\"minimum\":1},"
		 "\"stdin\":{\"type\":\"string\"},"
		 "\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}"),
	  OBJECT("\"stdout\",\"stderr\",\"truncated\",\"duration_ms\"",
		 "\"exit_code\":{\"type\":[\"integer\",\"null\"]},\"signal\":{\"type\":\"string\"},\"stdout\":{\"type\":\"string\"},"
		 "\"stderr\":{\"type\":\"string\"},\"truncated\":{\"type\":\"boolean\"},\"duration_ms\":{\"type\":\"integer\"},"
		 "\"event\":{\"type\":\"integer\"},\"note\":{\"type\":\"string\"}"),
	  DESTROYS },
	{ "sandbox_read", "Read a file",
	  "Reads a file of the sandbox, or a part of it (offset and limit in bytes).",
	  OBJECT("\"path\"", ID "," PATH ",\"offset\":{\"type\":\"integer\",\"minimum\":0},"
				"\"limit\":{\"type\":\"integer\",\"minimum\":1}"),
	  NULL, READS },
	{ "sandbox_write", "Write a file",
	  "Writes a whole file in the sandbox; creates missing directories.",
	  OBJECT("\"path\",\"content\"",
		 ID "," PATH ",\"content\":{\"type\":\"string\"},"
		    "\"encoding\":{\"type\":\"string\",\"enum\":[\"utf8\",\"base64\"]}"),
	  NULL, DESTROYS | IDEMPOTENT },
	{ "sandbox_edit", "Edit a file",
	  "Replaces text in a file of the sandbox. old must occur exactly once, unless all is true.",
	  OBJECT("\"path\",\"old\",\"new\"",
		 ID "," PATH ",\"old\":{\"type\":\"string\"},\"new\":{\"type\":\"string\"},"
		    "\"all\":{\"type\":\"boolean\"}"),
	  NULL, DESTROYS },
	{ "sandbox_list", "List files",
	  "Lists files of the sandbox by pattern (**/*.c), and the sandboxes that are open.",
	  OBJECT("", ID ",\"pattern\":{\"type\":\"string\",\"description\":\"default: *\"}"),
	  OBJECT("\"paths\",\"sandboxes\"",
		 "\"paths\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
		 "\"more\":{\"type\":\"integer\"},\"sandboxes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
	  READS },
	{ "sandbox_diff", "Changes",
	  "Shows the changes of the sandbox's files since it was opened, or since a snapshot, as a unified diff.",
	  OBJECT("", ID
		 ",\"base\":{\"type\":[\"string\",\"integer\"],\"description\":\"Label or number of a snapshot\"}"),
	  OBJECT("\"files\",\"patch\"",
		 "\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
		 "\"patch\":{\"type\":\"string\"}"),
	  READS },
	{ "sandbox_snapshot", "Take a snapshot",
	  "Keeps the sandbox's files as they are now, to come back to or compare with.",
	  OBJECT("", ID ",\"label\":{\"type\":\"string\"}"),
	  OBJECT("\"snapshot\"",
		 "\"snapshot\":{\"type\":\"integer\"},\"tree\":{\"type\":\"string\"},"
		 "\"label\":{\"type\":\"string\"}"),
	  0 },
	{ "sandbox_rollback", "Roll back",
	  "Puts the sandbox's files back to a snapshot (its label or number).",
	  OBJECT("\"to\"", ID ",\"to\":{\"type\":[\"string\",\"integer\"]}"), NULL,
	  DESTROYS | IDEMPOTENT },
	{ "sandbox_close", "Close a sandbox",
	  "Closes the sandbox; its files stay in the recording.", OBJECT("", ID), NULL,
	  DESTROYS | IDEMPOTENT },
};

static json_t *tools_parsed(const char *text)
{
	struct err err = ERR_INIT;
	return json_parse(text, strlen(text), "schema", &err);
}

static const struct tool *tools_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(tools_tool); i++)
		if (!strcmp(tools_tool[i].name, name))
			return &tools_tool[i];
	return NULL;
}

bool mcp_tools_has(const char *name)
{
	return tools_find(name) != NULL;
}

json_t *mcp_tools_list(void)
{
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_LEN(tools_tool); i++) {
		json_t *t = json_object(), *hints = json_object();
		json_put_str(t, "name", tools_tool[i].name);
		json_put_str(t, "title", tools_tool[i].title);
		json_put_str(t, "description", tools_tool[i].about);
		json_put(t, "inputSchema", tools_parsed(tools_tool[i].input));
		json_put(t, "outputSchema",
			 tools_tool[i].output ? tools_parsed(tools_tool[i].output) : NULL);
		json_put_flag(hints, "readOnlyHint", tools_tool[i].hints & READS);
		json_put_flag(hints, "destructiveHint", tools_tool[i].hints & DESTROYS);
		json_put_flag(hints, "idempotentHint", tools_tool[i].hints & (READS | IDEMPOTENT));
		json_put_flag(hints, "openWorldHint", false);
		json_put(t, "annotations", hints);
		json_array_append_new(list, t);
	}
	return list;
}

/* --- arguments -------------------------------------------------------------------------------- */

static bool is_type(const json_t *v, const char *type)
{
	return (!strcmp(type, "object") && json_is_object(v)) ||
	       (!strcmp(type, "array") && json_is_array(v)) ||
	       (!strcmp(type, "string") && json_is_string(v)) ||
	       (!strcmp(type, "boolean") && json_is_boolean(v)) ||
	       (!strcmp(type, "null") && json_is_null(v)) ||
	       (!strcmp(type, "number") && json_is_number(v)) ||
	       (!strcmp(type, "integer") && json_is_integer(v));
}

static bool has_type(const json_t *v, const json_t *type)
{
	size_t i;
	const json_t *t;
	if (!type)
		return true;
	if (json_is_string(type))
		return is_type(v, json_string_value(type));
	json_array_foreach(type, i, t) if (json_is_string(t) &&
					   is_type(v, json_string_value(t))) return true;
	return false;
}

/* A model corrects its call with the names that exist. */
static int unknown_argument(const json_t *properties, const char *at, const char *key,
			    struct err *err)
{
	CLEANUP(buf_release) struct buf known = BUF_INIT;
	const char *name;
	json_t *item;
	json_object_foreach((json_t *)(uintptr_t)properties, name, item)
		buf_printf(&known, "%s%s", known.len ? ", " : "", name);
	return err_set(err, ERR_INVALID, "%s: unknown argument '%.80s'; expected: %.300s", at, key,
		       known.len ? buf_cstr(&known) : "none");
}

static int tools_check_object(const json_t *schema, const json_t *v, const char *at,
			      struct err *err)
{
	size_t i;
	const json_t *name, *properties = json_object_get(schema, "properties");
	const json_t *more = json_object_get(schema, "additionalProperties");
	json_array_foreach(
		json_object_get(schema, "required"), i,
		name) if (json_is_string(name) &&
			  !json_object_get(
				  v, json_string_value(
					     name))) return err_set(err, ERR_INVALID,
								    "%s: missing argument '%s'", at,
								    json_string_value(name));
	const char *key;
	json_t *item;
	json_object_foreach((json_t *)(uintptr_t)v, key, item)
	{
		const json_t *known = json_object_get(properties, key);
		if (!known && json_is_false(more))
			return unknown_argument(properties, at, key, err);
		if (!known && json_is_object(more))
			known = more;
		if (known && mcp_schema_check(known, item, key, err) < 0)
			return -1;
	}
	return 0;
}

int mcp_schema_check(const json_t *schema, const json_t *v, const char *at, struct err *err)
{
	const json_t *type = json_object_get(schema, "type"),
		     *one_of = json_object_get(schema, "enum"), *item;
	const json_t *least = json_object_get(schema, "minimum");
	size_t i;
	if (!has_type(v, type)) {
		CLEANUP(free_ptr) char *want = json_dump_str(type);
		return err_set(err, ERR_INVALID, "%.80s: expected %.120s", at, want);
	}
	if (one_of) {
		bool any = false;
		json_array_foreach(one_of, i, item) any |= json_equal(item, v) != 0;
		CLEANUP(free_ptr) char *list = json_dump_str(one_of);
		if (!any)
			return err_set(err, ERR_INVALID, "%.80s: expected one of %.200s", at, list);
	}
	if (json_is_integer(least) && json_is_integer(v) &&
	    json_integer_value(v) < json_integer_value(least))
		return err_set(err, ERR_INVALID, "%.80s: expected at least %lld", at,
			       (long long)json_integer_value(least));
	const json_t *items = json_object_get(schema, "items");
	if (items && json_is_array(v))
		json_array_foreach(v, i,
				   item) if (mcp_schema_check(items, item, at, err) < 0) return -1;
	return json_is_object(v) ? tools_check_object(schema, v, at, err) : 0;
}

int mcp_tools_check(const char *name, const json_t *args, struct err *err)
{
	const struct tool *t = tools_find(name);
	if (!t)
		return err_set(err, ERR_INVALID, "unknown tool '%.80s'", name);
	CLEANUP(json_release) json_t *schema = tools_parsed(t->input);
	CLEANUP(json_release) json_t *none = json_object();
	return mcp_schema_check(schema, args ? args : none, "arguments", err);
}

json_t *mcp_tools_args(const json_t *args, struct err *err)
{
	json_t *o = args ? json_copy((json_t *)(uintptr_t)args) : json_object();
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	json_t *content = json_object_get(o, "content");
	if (strcmp(json_str(o, "encoding", ""), "base64") != 0 || !content)
		return o;
	if (!base64_parse(json_string_value(content), json_string_length(content), &bytes)) {
		json_decref(o);
		err_set(err, ERR_INVALID, "content: invalid base64");
		return NULL;
	}
	json_put_bytes(o, "content", buf_cstr(&bytes), bytes.len);
	return o;
}

/* --- results ---------------------------------------------------------------------------------- */

static json_t *text_item(const char *text, size_t len)
{
	json_t *o = json_object();
	json_put_str(o, "type", "text");
	json_put(o, "text", json_stringn(text, len));
	return o;
}

/* Bytes as text: invalid UTF-8 becomes U+FFFD. */
static json_t *tools_lossy(const char *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	for (size_t at = 0, n; at < len; at += n) {
		uint32_t cp;
		if (utf8_next(bytes + at, len - at, &cp, &n) == UTF8_OK)
			buf_append(&out, bytes + at, n);
		else
			buf_puts(&out, "\xEF\xBF\xBD");
	}
	return json_stringn(buf_cstr(&out), out.len);
}

/* The same value with every {"b64"} as text. Returns owned. */
static json_t *tools_plain(json_t *v)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	if (json_is_object(v) && json_object_size(v) == 1 && json_get_bytes(v, &bytes))
		return tools_lossy(buf_cstr(&bytes), bytes.len);
	if (json_is_object(v)) {
		json_t *o = json_object(), *item;
		const char *key;
		json_object_foreach(v, key, item) json_put(o, key, tools_plain(item));
		return o;
	}
	if (json_is_array(v)) {
		json_t *a = json_array(), *item;
		size_t i;
		json_array_foreach(v, i, item) json_array_append_new(a, tools_plain(item));
		return a;
	}
	return json_incref(v);
}

/* A file that is not text. */
static json_t *blob_item(const json_t *answer, const struct buf *bytes)
{
	json_t *o = json_object(), *r = json_object();
	CLEANUP(buf_release) struct buf b64 = BUF_INIT;
	const char *path = json_str(answer, "path", "file");
	base64_append(&b64, bytes->data, bytes->len);
	json_put_str(o, "type", "resource");
	CLEANUP(free_ptr)
	char *uri = mem_printf("sandbox://%s%s%s", json_str(answer, "sandbox", "default"),
			       *path == '/' ? "" : "/", path);
	json_put_str(r, "uri", uri);
	json_put_str(r, "mimeType", "application/octet-stream");
	json_put_str(r, "blob", buf_cstr(&b64));
	json_put(o, "resource", r);
	return o;
}

json_t *mcp_tools_result(const json_t *answer)
{
	json_t *o = json_object(), *content = json_array(),
	       *structured = json_object_get(answer, "structured");
	json_t *text = json_object_get(answer, "text");
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	if (structured) {
		json_t *p = tools_plain(structured);
		CLEANUP(free_ptr) char *dump = json_dump_str(p);
		if (!text)
			json_array_append_new(content, text_item(dump, strlen(dump)));
		json_put(o, "structuredContent", p);
	}
	if (json_is_string(text)) {
		json_array_append_new(content,
				      text_item(json_string_value(text), json_string_length(text)));
	} else if (text && json_get_bytes(text, &bytes)) {
		json_array_append_new(content, blob_item(answer, &bytes));
	}
	json_put(o, "content", content);
	json_put_flag(o, "isError", json_flag(answer, "error", false));
	return o;
}

json_t *mcp_tools_failure(const char *text)
{
	json_t *o = json_object(), *content = json_array(), *t = tools_lossy(text, strlen(text));
	json_array_append_new(content, text_item(json_string_value(t), json_string_length(t)));
	json_decref(t);
	json_put(o, "content", content);
	json_put_flag(o, "isError", true);
	return o;
}
