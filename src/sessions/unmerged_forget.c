/* Before a recording goes: what its merges left in your repositories. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/workspace/merge.h"
#include "sessions/merge_recover.h"
#include "sessions/unmerged.h"

/* Temporary files beside those of the user go. */
static void settle_interrupted(struct cmd_ctx *ctx, const json_t *one)
{
	CLEANUP(free_ptr) char *undo = paths_state("undo");
	const struct merge_opts o = { .id = json_str(one, "merge", ""), .undo_dir = undo };
	CLEANUP(json_release) json_t *list = NULL;
	struct err err = ERR_INIT;
	if (merge_settle(&o, &list, &err) < 0)
		fprintf(ctx->err, "sandglass: prune: can't look for its temporary files: %s\n",
			err.text);
	for (size_t i = 0; i < json_array_size(list) && !ctx->quiet; i++) {
		const json_t *left = json_array_get(list, i);
		CLEANUP(buf_release) struct buf path = BUF_INIT, safe = BUF_INIT;
		json_get_bytes(json_object_get(left, "path"), &path);
		cmd_safe(&safe, buf_cstr(&path), path.len, false);
		fprintf(ctx->err, "sandglass: prune: '%s' of that merge was %s\n", buf_cstr(&safe),
			json_str(left, "what", ""));
	}
}

/* They can't be undone without the recording. Their changes may be all that is left of the work, so
 * they stay. */
static void forget_interrupted(struct cmd_ctx *ctx, struct session *s)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT, safe = BUF_INIT;
	CLEANUP(json_release) json_t *left = merge_recover_look(s);
	merge_recover_names(left, &names);
	cmd_safe(&safe, buf_cstr(&names), names.len, false);
	if (names.len && !ctx->quiet)
		fprintf(ctx->err,
			"sandglass: prune: the changes of an interrupted merge stay: %s\n",
			buf_cstr(&safe));
	for (size_t i = 0; i < json_array_size(left); i++)
		settle_interrupted(ctx, json_array_get(left, i));
	merge_recover_forget(s);
}

static void forget_target(struct cmd_ctx *ctx, const json_t *target)
{
	CLEANUP(buf_release) struct buf dir = BUF_INIT, safe = BUF_INIT;
	const char *ref = json_str(target, "ref", "");
	struct merge_opts o = { .id = "" };
	struct err err = ERR_INIT;
	if (strncmp(ref, "refs/sandglass/", 15) != 0 ||
	    !json_get_bytes(json_object_get(target, "dir"), &dir) ||
	    access(buf_cstr(&dir), F_OK) < 0)
		return;
	json_t *refs = json_array();
	json_array_append_new(refs, json_string(ref));
	if (merge_forget(&o, buf_cstr(&dir), refs, &err) < 0) {
		cmd_safe(&safe, buf_cstr(&dir), dir.len, false);
		fprintf(ctx->err, "sandglass: prune: can't remove '%s' in '%s': %s\n", ref,
			buf_cstr(&safe), err.text);
	}
	json_decref(refs);
}

void unmerged_forget(struct cmd_ctx *ctx, const char *path)
{
	struct session *s;
	struct unmerged u = UNMERGED_INIT;
	struct err err = ERR_INIT;
	if (session_open(&s, path, &err) < 0)
		return;
	forget_interrupted(ctx, s);
	if (unmerged_read(&u, s, &err) == 0) {
		for (size_t i = 0; i < u.nr_merges; i++) {
			const json_t *list = json_object_get(u.merges[i].body, "targets");
			for (size_t k = 0; k < json_array_size(list); k++)
				forget_target(ctx, json_array_get(list, k));
		}
		unmerged_release(&u);
	}
	session_close(&s);
}
