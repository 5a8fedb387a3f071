#include <string.h>

#include "app/cmd/describe.h"
#include "base/mem.h"

static void status(const json_t *s, struct buf *out)
{
	const char *end = json_str(s, "end", "");
	if (json_object_get(s, "signal"))
		buf_printf(out, "signal %lld", (long long)json_int(s, "signal", 0));
	else if (json_object_get(s, "code"))
		buf_printf(out, "exit %lld", (long long)json_int(s, "code", 0));
	if (strcmp(end, "ok") != 0)
		buf_printf(out, "%s%s", out->len && json_object_size(s) > 1 ? ", " : "", *end ? end : "no end in the record");
}

static void stream(const json_t *o, const char *name, struct buf *out)
{
	const json_t *s = json_object_get(o, name);
	if (!s)
		return;
	buf_printf(out, "\n  %-8s", name);
	if (json_flag(s, "same", false))
		buf_printf(out, "same, %lld bytes", (long long)json_int(s, "now_bytes", 0));
	else
		buf_printf(out, "differs from line %lld on (byte %lld of %lld, now of %lld)", (long long)json_int(s, "line", 0),
			   (long long)json_int(s, "offset", 0), (long long)json_int(s, "was_bytes", 0),
			   (long long)json_int(s, "now_bytes", 0));
}

static void tree(const json_t *o, struct buf *out)
{
	const json_t *t = json_object_get(o, "tree"), *files = json_object_get(t, "files");
	if (!t)
		return;
	if (json_flag(t, "same", false)) {
		buf_printf(out, "\n  files   same%s%s", json_flag(t, "git_same", true) ? "" : ", but for what git keeps for itself",
			   json_flag(t, "shared", false) ? " (the record shares them with others)" : "");
		return;
	}
	buf_printf(out, "\n  files   differ: %lld", (long long)json_array_size(files) + (long long)json_int(t, "more", 0));
	for (size_t i = 0; i < json_array_size(files) && i < 10; i++) {
		const json_t *f = json_array_get(files, i);
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		json_get_bytes(json_object_get(f, "path"), &path);
		buf_printf(out, "\n    %s%s%s: was %s, now %s", json_str(f, "repo", ""), *json_str(f, "repo", "") ? "/" : "",
			   buf_cstr(&path), json_str(f, "was", "?"), json_str(f, "now", "?"));
	}
}

void describe_redo(const json_t *o, struct buf *out)
{
	const json_t *origin = json_object_get(o, "origin"), *s = json_object_get(o, "status");
	buf_printf(out, "%s#%lld run again as #%lld: ", json_str(origin, "session", ""), (long long)json_int(origin, "action", 0),
		   (long long)json_int(o, "action", 0));
	if (*json_str(o, "why", "")) {
		buf_printf(out, "not compared: %s", json_str(o, "why", ""));
		return;
	}
	buf_puts(out, json_flag(o, "same", false) ? "the same" : "DIFFERS");
	if (s) {
		buf_puts(out, "\n  status  ");
		buf_puts(out, json_flag(s, "same", false) ? "same, " : "was ");
		status(json_object_get(s, "was"), out);
		if (!json_flag(s, "same", false)) {
			buf_puts(out, ", now ");
			status(json_object_get(s, "now"), out);
		}
	}
	stream(o, "stdout", out);
	stream(o, "stderr", out);
	stream(o, "pty", out);
	tree(o, out);
	if (json_flag(o, "files_missing", false))
		buf_puts(out, "\n  some files of then are kept by hash only and were not at hand");
}
