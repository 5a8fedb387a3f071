#include <string.h>

#include "phrase/describe.h"
#include "base/mem.h"
#include "phrase/repeat_lines.h"

void describe_redo(const json_t *o, struct buf *out)
{
	const json_t *origin = json_object_get(o, "origin");
	CLEANUP(buf_release) struct buf lines = BUF_INIT;
	buf_printf(out, "%s#%lld repeated%s as #%lld: ", json_str(origin, "session", ""),
		   (long long)json_int(origin, "action", 0),
		   json_flag(o, "now", false) ? " on the current files" : "",
		   (long long)json_int(o, "action", 0));
	if (*json_str(o, "why", "")) {
		buf_printf(out, "not compared: %s", json_str(o, "why", ""));
		return;
	}
	buf_puts(out, json_flag(o, "same", false) ? "same result" : "DIFFERS");
	repeat_lines(o, &lines);
	for (const char *l = buf_cstr(&lines), *nl; (nl = strchr(l, '\n')); l = nl + 1)
		buf_printf(out, "\n  %.*s", (int)(nl - l), l);
}
