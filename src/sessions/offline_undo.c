/* undo of a session that has ended: of its merges; its sandboxes have gone. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sessions/merge_intent.h"
#include "sessions/merge_recover.h"
#include "sessions/merge_text.h"
#include "sessions/offline_priv.h"
#include "sessions/undo_choice.h"

static int offline_undo_id(const char *word, uint64_t *id_out, struct err *err)
{
	const char *hash = word ? strrchr(word, '#') : NULL, *digits = hash ? hash + 1 : word;
	*id_out = 0;
	if (!word || (!hash && strspn(word, "0123456789") != strlen(word)))
		return 0; /* a session */
	char *end;
	*id_out = strtoull(digits, &end, 10);
	return *end || !*id_out
		       ? err_set(err, ERR_USAGE, "expected an event number, got '%s'", word)
		       : 0;
}

/* The sandboxes are gone, so changes of their files can't be undone. */
static int offline_undo_why(const struct again *g, uint64_t id, struct err *err)
{
	uint64_t merge = undo_newest_merge(&g->u);
	CLEANUP(free_ptr)
	char *other = merge ? mem_printf("undo merge #%" PRIu64 ", or ", merge) : mem_strdup("");
	if (err->code != ERR_NOENT)
		return -1;
	if (id > session_head(g->read))
		err_set(err, ERR_NOENT, "event #%" PRIu64 " not found", id);
	else if (id && !undo_is_undone(&g->u, id))
		err_set(err, ERR_NOENT, "#%" PRIu64 " can't be undone %s: %s%s the session", id,
			g->u.end ? "after the session ended" : "while the session doesn't run",
			other, g->u.end ? "fork" : "resume");
	else if (!id && !g->u.nr_merges)
		err_set(err, ERR_NOENT,
			"session %s has no merge to undo, and its sandboxes are closed",
			session_id(g->read));
	return -1;
}

static void offline_undo_line(struct cmd_ctx *ctx, const json_t *body)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	merge_undone_text(body, &b);
	fprintf(ctx->out, "%s\n", buf_cstr(&b));
}

static void offline_undo_say(struct again *g, json_t *list)
{
	struct cmd_ctx *ctx = g->ctx;
	for (size_t i = 0; i < json_array_size(list) && !ctx->quiet && !ctx->json; i++)
		offline_undo_line(ctx, json_array_get(list, i));
	if (!ctx->json || !json_array_size(list))
		return;
	json_t *o = json_object();
	json_put_str(o, "session", session_id(g->read));
	json_put(o, "result", undo_result(json_incref(list)));
	cmd_json(ctx, o);
}

/* Takes back what killed merges have left; of several commands, undo alone is enough for that. */
static int offline_undo_recover(struct again *g, bool *done_out, struct err *err)
{
	/* a process of a killed merge may be writing still: else an older merge would be undone */
	int rc = merge_intents_wait(session_id(g->read), err);
	json_t *left = rc == 0 ? merge_recover_look(g->read) : NULL, *list = NULL;
	*done_out = json_array_size(left) > 0;
	json_decref(left);
	if (!*done_out)
		return rc;
	rc = again_write(g, err);
	if (rc == 0)
		rc = merge_recover(g->read, &list, err);
	again_recovered(g, list);
	offline_undo_say(g, list);
	json_decref(list);
	return rc;
}

int offline_edit_undo(struct cmd_ctx *ctx, const char *path)
{
	struct again g;
	struct err err = ERR_INIT;
	struct undo_choice c = { 0 };
	uint64_t id = 0;
	bool recovered = false;
	int rc = again_open(&g, ctx, path, &err);
	if (rc == 0)
		rc = offline_undo_id(cmd_word(ctx, 0), &id, &err);
	if (rc == 0)
		rc = offline_undo_recover(&g, &recovered, &err);
	if (rc == 0 && recovered && !id)
		return again_finish(&g, 0, &err);
	if (rc == 0 && undo_choose(&c, &g.u, id, &(struct undo_other){ 0 }, &err) < 0)
		rc = offline_undo_why(&g, id, &err);
	if (rc == 0 && !recovered)
		rc = again_write(&g, &err);
	if (rc == 0) {
		json_t *list = undo_merges(&c, &g.u, &err);
		for (size_t i = 0; i < json_array_size(list); i++)
			record_append_json(g.record, EV_MERGE_UNDONE, g.cause, 0, 0, 0,
					   json_deep_copy(json_array_get(list, i)));
		offline_undo_say(&g, list);
		json_decref(list);
		rc = err.code == ERR_NONE ? 0 : -1;
	}
	undo_choice_release(&c);
	return again_finish(&g, rc, &err);
}
