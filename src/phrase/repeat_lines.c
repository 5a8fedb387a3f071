#include "phrase/repeat_lines.h"

#include <string.h>

static void repeat_put_status(const json_t *s, struct buf *out)
{
	const char *end = json_str(s, "end", "");
	if (json_object_get(s, "signal"))
		buf_printf(out, "signal %lld", (long long)json_int(s, "signal", 0));
	else if (json_object_get(s, "code"))
		buf_printf(out, "exit %lld", (long long)json_int(s, "code", 0));
	if (strcmp(end, "ok") != 0)
		buf_printf(out, "%s%s", out->len && json_object_size(s) > 1 ? ", " : "",
			   *end ? end : "no end in the recording");
}

static void repeat_put_stream(const json_t *o, const char *name, struct buf *out)
{
	const json_t *s = json_object_get(o, name);
	if (!s)
		return;
	buf_printf(out, "%-8s", name);
	if (json_flag(s, "same", false))
		buf_printf(out, "same, %lld bytes\n", (long long)json_int(s, "now_bytes", 0));
	else
		buf_printf(out, "differs from line %lld on (byte %lld of %lld, now of %lld)\n",
			   (long long)json_int(s, "line", 0), (long long)json_int(s, "offset", 0),
			   (long long)json_int(s, "was_bytes", 0),
			   (long long)json_int(s, "now_bytes", 0));
}

/* A name may hold line breaks: it must not look like a line of ours. */
static void repeat_put_path(const json_t *file, struct buf *out)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	json_get_bytes(json_object_get(file, "path"), &path);
	for (size_t i = 0; i < path.len; i++)
		if ((unsigned char)path.data[i] < 0x20)
			buf_printf(out, "<%02X>", (unsigned)path.data[i]);
		else
			buf_append(out, path.data + i, 1);
}

static void repeat_put_tree(const json_t *o, struct buf *out)
{
	const json_t *t = json_object_get(o, "tree"), *files = json_object_get(t, "files");
	if (!t)
		return;
	if (json_flag(t, "same", false)) {
		buf_printf(out, "files   same%s%s\n",
			   json_flag(t, "git_same", true) ? "" : ", apart from git's own files",
			   json_flag(t, "shared", false) ? " (other actions share these changes)"
							 : "");
		return;
	}
	buf_printf(out, "files   differ: %lld\n",
		   (long long)json_array_size(files) + (long long)json_int(t, "more", 0));
	for (size_t i = 0; i < json_array_size(files) && i < 10; i++) {
		const json_t *f = json_array_get(files, i);
		buf_printf(out, "  %s%s", json_str(f, "repo", ""),
			   *json_str(f, "repo", "") ? "/" : "");
		repeat_put_path(f, out);
		buf_printf(out, ": was %s, now %s\n", json_str(f, "was", "?"),
			   json_str(f, "now", "?"));
	}
}

void repeat_lines(const json_t *o, struct buf *out)
{
	const json_t *s = json_object_get(o, "status");
	if (s) {
		buf_puts(out, json_flag(s, "same", false) ? "status  same, " : "status  was ");
		repeat_put_status(json_object_get(s, "was"), out);
		if (!json_flag(s, "same", false)) {
			buf_puts(out, ", now ");
			repeat_put_status(json_object_get(s, "now"), out);
		}
		buf_puts(out, "\n");
	}
	repeat_put_stream(o, "stdout", out);
	repeat_put_stream(o, "stderr", out);
	repeat_put_stream(o, "pty", out);
	repeat_put_tree(o, out);
	if (json_flag(o, "files_missing", false))
		buf_puts(out,
			 "some original files are recorded as hash only and were not available\n");
}

void repeat_lines_lacks(const json_t *started, struct buf *out)
{
	static const struct {
		const char *word, *text;
	} known[] = {
		{ "env", "environment values" },
		{ "stdin", "standard input" },
		{ "end", "the way it ended" },
	};
	const json_t *list = json_object_get(started, "lacks");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i)), *text = word;
		for (size_t k = 0; word && k < ARRAY_LEN(known); k++)
			if (strcmp(known[k].word, word) == 0)
				text = known[k].text;
		if (text)
			buf_printf(out, "%s%s", out->len ? ", " : "", text);
	}
}
