#include "query/aim.h"

#include <inttypes.h>
#include <string.h>

/* "sandboxes a, b " of a merge of several. */
static void aim_boxes(const json_t *boxes, struct buf *out)
{
	for (size_t i = 0; i < json_array_size(boxes); i++)
		buf_printf(out, "%s%s", i ? ", " : "sandboxes ",
			   json_str(json_array_get(boxes, i), "name", ""));
	if (json_array_size(boxes))
		buf_putc(out, ' ');
}

static bool among_dirs(const json_t *seen, const json_t *dir)
{
	for (size_t i = 0; i < json_array_size(seen); i++)
		if (json_equal(json_array_get(seen, i), dir))
			return true;
	return false;
}

/* "/a, /b": the directories of several sandboxes, each once. */
static void aim_dirs(const json_t *boxes, struct buf *out)
{
	CLEANUP(json_release) json_t *seen = json_array();
	for (size_t i = 0; i < json_array_size(boxes); i++) {
		const json_t *dirs = json_object_get(json_array_get(boxes, i), "dirs");
		for (size_t k = 0; k < json_array_size(dirs); k++) {
			CLEANUP(buf_release) struct buf dir = BUF_INIT;
			json_t *one = json_array_get(dirs, k);
			if (among_dirs(seen, one) || !json_get_bytes(one, &dir))
				continue;
			buf_printf(out, "%s%s", out->len ? ", " : "", buf_cstr(&dir));
			json_array_append(seen, one);
		}
	}
}

static void aim_merge(const json_t *o, struct buf *out)
{
	const json_t *args = json_object_get(o, "args");
	const char *mode = json_str(args, "mode", "branch"),
		   *branch = json_str(args, "branch", NULL);
	CLEANUP(buf_release) struct buf where = BUF_INIT;
	if (!json_get_bytes(json_object_get(o, "host_path"), &where) || !where.len)
		aim_dirs(json_object_get(o, "boxes"), &where);
	if (!where.len)
		buf_puts(&where, json_str(args, "into", "its repository"));
	aim_boxes(json_object_get(o, "boxes"), out);
	if (!strcmp(mode, "branch") && branch)
		buf_printf(out, "to branch %s of %s", branch, buf_cstr(&where));
	else if (!strcmp(mode, "branch"))
		buf_printf(out, "to a new branch of %s", buf_cstr(&where));
	else if (!strcmp(mode, "patch"))
		buf_printf(out, "as the patch %s", buf_cstr(&where));
	else
		buf_printf(out, "%s %s%s%s",
			   !strcmp(mode, "commits") ? "as commits into" : "into the files of",
			   buf_cstr(&where), branch ? ", branch " : "", branch ? branch : "");
	if (json_flag(args, "review", false) && !json_object_get(o, "boxes"))
		buf_puts(out, ", hunk by hunk");
}

/* Files are put back to a point, or what a second run changed is taken over. */
static bool aim_point(const json_t *o, struct buf *out)
{
	const json_t *args = json_object_get(o, "args"), *to = json_object_get(args, "to");
	int64_t second = json_int(args, "redo", 0);
	if (second)
		buf_printf(out, "applies the changes of #%" PRId64, second);
	else if (json_is_integer(to))
		buf_printf(out, "to #%" PRId64, (int64_t)json_integer_value(to));
	else if (json_is_string(to))
		buf_printf(out, "to '%s'", json_string_value(to));
	return second || json_is_integer(to) || json_is_string(to);
}

/* A script's own tool that works on the host: its name and arguments. */
static bool aim_tool(const json_t *o, struct buf *out)
{
	const json_t *args = json_object_get(o, "args");
	const char *tool = json_str(o, "tool", "");
	if (!*tool || !json_object_size(args))
		return false;
	buf_printf(out, "%s ", tool);
	json_dump_buf(args, out);
	return true;
}

bool action_aim(const json_t *requested, struct buf *out)
{
	const char *kind = json_str(requested, "kind", "");
	if (!strcmp(kind, "rollback"))
		return aim_point(requested, out);
	if (!strcmp(kind, "host"))
		return aim_tool(requested, out);
	if (strcmp(kind, "merge") != 0)
		return false;
	aim_merge(requested, out);
	return true;
}

void tool_call_words(const json_t *call, struct buf *out)
{
	const json_t *args = json_object_get(call, "args");
	buf_puts(out, json_str(call, "name", "a tool"));
	if (!args || json_is_null(args))
		return;
	buf_putc(out, ' ');
	json_dump_buf(args, out);
}

void tool_end_words(const json_t *end, size_t max, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	buf_puts(out, json_flag(end, "ok", false) ? "done" : "failed");
	if (!json_get_bytes(json_object_get(end, "text"), &text) || !text.len)
		return;
	buf_puts(out, ": ");
	buf_append(out, text.data, text.len < max ? text.len : max);
	if (text.len > max)
		buf_puts(out, " ...");
}
