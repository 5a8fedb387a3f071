#include "query/aim.h"

#include <string.h>

static void merge(const json_t *o, struct buf *out)
{
	const json_t *args = json_object_get(o, "args");
	const char *mode = json_str(args, "mode", "branch"), *branch = json_str(args, "branch", NULL);
	CLEANUP(buf_release) struct buf where = BUF_INIT;
	if (!json_get_bytes(json_object_get(o, "host_path"), &where) || !where.len)
		buf_puts(&where, json_str(args, "into", "its repository"));
	if (!strcmp(mode, "branch"))
		buf_printf(out, "to branch %s of %s", branch ? branch : "(a new one)", buf_cstr(&where));
	else if (!strcmp(mode, "patch"))
		buf_printf(out, "as the patch %s", buf_cstr(&where));
	else
		buf_printf(out, "%s %s%s%s", !strcmp(mode, "commits") ? "as commits into" : "into the files of", buf_cstr(&where),
			   branch ? ", branch " : "", branch ? branch : "");
	if (json_flag(args, "review", false))
		buf_puts(out, ", hunk by hunk");
}

bool action_aim(const json_t *requested, struct buf *out)
{
	if (strcmp(json_str(requested, "kind", ""), "merge") != 0)
		return false;
	merge(requested, out);
	return true;
}
