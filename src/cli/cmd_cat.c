/* sandglass cat: one file as it was. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/files_at.h"
#include "base/mem.h"

static void cmd_cat_json(struct cmd_ctx *ctx, const struct files_at *f, const char *path,
			 const struct layer_at *layer, const struct file_version *v,
			 const struct buf *text)
{
	json_t *o = json_object();
	json_put_str(o, "session", session_id(f->s));
	json_put_int(o, "box", (int64_t)layer->box);
	json_put_str(o, "box_name", layer->box_name);
	json_put_bytes(o, "path", path, strlen(path));
	json_put(o, "mode", json_sprintf("%04o", v->mode & 07777));
	json_put_int(o, "snapshot", (int64_t)v->snapshot);
	if (v->action)
		json_put_int(o, "action", (int64_t)v->action);
	json_put_int(o, "size_bytes", (int64_t)text->len);
	json_put_bytes(o, "data", text->data ? text->data : "", text->len);
	cmd_json(ctx, o);
}

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
	else if (ctx->json)
		cmd_cat_json(ctx, f, path, layer, last, &text);
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
