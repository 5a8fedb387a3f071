#include "inside/tool_spec.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

static const struct row {
	const char *name;
	enum action_kind kind;
} tool_spec_rows[] = {
	{ "bash", ACT_EXEC },
	{ "shell", ACT_EXEC },
	{ "exec_command", ACT_EXEC },
	{ "shell_command", ACT_EXEC },
	{ "local_shell_call", ACT_EXEC },
	{ "run_shell_command", ACT_EXEC },
	{ "execute", ACT_EXEC },
	{ "execute_command", ACT_EXEC },
	{ "exec", ACT_EXEC },
	{ "terminal", ACT_EXEC },
	{ "write", ACT_WRITE },
	{ "write_file", ACT_WRITE },
	{ "create_file", ACT_WRITE },
	{ "edit", ACT_EDIT },
	{ "edit_file", ACT_EDIT },
	{ "multiedit", ACT_EDIT },
	{ "replace", ACT_EDIT },
	{ "apply_patch", ACT_EDIT },
	{ "str_replace", ACT_EDIT },
	{ "notebookedit", ACT_EDIT },
	{ "read", ACT_READ },
	{ "read_file", ACT_READ },
	{ "view", ACT_READ },
	{ "cat", ACT_READ },
};

static const char *tool_spec_first_of(const json_t *args, const char *const *keys)
{
	for (; *keys; keys++) {
		const char *v = json_str(args, *keys, NULL);
		if (v && *v)
			return v;
	}
	return NULL;
}

/* {"command":["bash","-lc","make"]} says what it means: the words themselves. */
static void tool_spec_command(struct action_spec *out, const json_t *args, const char *text)
{
	static const char *const keys[] = { "command", "cmd", "script", "input", NULL };
	const json_t *list = json_object_get(args, "command");
	if (json_is_array(list) && json_get_argv(list, &out->argv) && out->argv.nr) {
		if (out->argv.nr == 3 &&
		    (!strcmp(out->argv.item[1], "-c") || !strcmp(out->argv.item[1], "-lc")))
			out->cmdline = json_string_value(json_array_get(list, 2));
		return;
	}
	const char *cmd = tool_spec_first_of(args, keys);
	cmd = cmd ? cmd : text ? text : "";
	strv_push(&out->argv, "sh");
	strv_push(&out->argv, "-c");
	strv_push(&out->argv, cmd);
	out->cmdline = cmd;
}

/* A patch names its first file in its second line: "*** Update File: src/a.c". */
static const char *path_in_patch(const char *text, struct buf *out)
{
	const char *at = text ? strstr(text, " File: ") : NULL;
	if (!at)
		return NULL;
	buf_append(out, at + 7, strcspn(at + 7, "\r\n"));
	return buf_cstr(out);
}

void tool_spec(struct action_spec *out, const char *name, json_t *args, const char *text)
{
	static const char *const paths[] = { "file_path",     "filePath", "path", "absolute_path",
					     "notebook_path", "filename", NULL };
	static const char *const datas[] = { "content", "contents", "data", "file_text", NULL };
	static const char *const dirs[] = { "workdir", "cwd", "directory", NULL };
	*out = (struct action_spec){ .kind = ACT_MCP, .tool = name, .args = args };
	for (size_t i = 0; i < ARRAY_LEN(tool_spec_rows); i++)
		if (!strcasecmp(tool_spec_rows[i].name, name))
			out->kind = tool_spec_rows[i].kind;
	if (out->kind == ACT_EXEC) {
		tool_spec_command(out, args, text);
		out->cwd = tool_spec_first_of(args, dirs);
		return;
	}
	if (out->kind == ACT_MCP)
		return;
	out->path = tool_spec_first_of(args, paths);
	if (out->kind == ACT_WRITE && (out->data = tool_spec_first_of(args, datas)))
		out->data_len = strlen(out->data);
	if (!out->path && text) {
		/* borrowed until the next call, as the header says of all of it */
		static _Thread_local struct buf path;
		buf_reset(&path);
		out->path = path_in_patch(text, &path);
	}
	if (!out->path || !*out->path)
		out->path = "?";
}

void permission_start(void *self, struct action *a)
{
	json_t *body = json_object();
	(void)self;
	json_put_flag(body, "permitted", true);
	action_ended(a, END_OK, body);
}

void permission_cancel(void *self, struct action *a, const char *how)
{
	(void)self;
	(void)a;
	(void)how; /* it has ended before anybody could ask */
}
