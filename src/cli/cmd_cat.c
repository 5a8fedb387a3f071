/* sandglass cat: one file as it was. */
#include <inttypes.h>
#include <unistd.h>

#include "cli/files_at.h"
#include "base/mem.h"

static int print_file(struct cmd_ctx *ctx, struct files_at *f, struct err *err)
{
	struct file_versions v;
	const struct layer_at *layer;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(free_ptr) char *path = states_path(cmd_word(ctx, 0));
	if (files_at_path(f, path, &layer, &v, err) < 0)
		return -1;
	const struct file_version *last = &v.item[v.nr - 1];
	int rc = 0;
	if (object_is_null(&last->oid))
		rc = err_set(err, ERR_NOENT, "'%s' not found: #%" PRIu64 " removed it", path,
			     last->action ? last->action : last->snapshot);
	else if (session_object(f->s, &last->oid, NULL, &text, err) < 0)
		rc = err_wrap(err, "the content of '%s' is not in the recording", path);
	else if (isatty(fileno(ctx->out)))
		cmd_print_safe(ctx->out, buf_cstr(&text), text.len, true);
	else
		fwrite(buf_cstr(&text), 1, text.len, ctx->out);
	file_versions_release(&v);
	return rc;
}

int cmd_cat(struct cmd_ctx *ctx)
{
	struct files_at f;
	struct err err = ERR_INIT;
	int rc = files_at_open(&f, ctx, cmd_opt(ctx, "at"), &err);
	if (rc == 0)
		rc = print_file(ctx, &f, &err);
	files_at_release(&f);
	return rc < 0 ? cmd_fail(ctx, &err) : EXIT_DONE;
}
