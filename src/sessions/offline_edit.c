/* A session that has ended, written once more: the recording holds all that merge, undo, and redact
 * need. The command is recorded before it runs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sessions/offline_priv.h"
#include "sessions/merge_recover.h"
#include "sessions/redact_request.h"
#include "sessions/sessions.h"
#include "base/fd.h"
#include "base/mem.h"
#include "control/share.h"

static void nothing_head(void *self, uint64_t seq)
{
	(void)self;
	(void)seq;
}

static void nothing_state(void *self, enum record_state state, const char *why)
{
	(void)self;
	(void)state;
	(void)why;
}

static void offline_edit_reached(void *self)
{
	*(bool *)self = true;
}

int again_settle(struct again *g, struct err *err)
{
	bool done = false;
	record_barrier(g->record, record_head(g->record), offline_edit_reached, &done);
	while (!done && record_state(g->record) == RECORD_OK)
		loop_turn(g->loop, 50);
	return done ? 0 : err_set(err, ERR_FULL, "can't write the session file; nothing done");
}

int again_open(struct again *g, struct cmd_ctx *ctx, const char *path, struct err *err)
{
	*g = (struct again){ .ctx = ctx };
	if (session_open(&g->read, path, err) < 0 || unmerged_read(&g->u, g->read, err) < 0)
		return -1;
	return 0;
}

/* Is there another file of this session among the sessions, so that @path is a copy of it? The
 * anchors are that one's: events added here would make it end before them, as if it had
 * been cut. */
static bool is_copy(const struct again *g, const char *path)
{
	struct session_files all = SESSION_FILES_INIT;
	struct stat here, there;
	struct err none = ERR_INIT;
	bool copy = false;
	if (stat(path, &here) < 0 || session_files_list(&all, g->ctx->sessions, &none) < 0)
		return false;
	for (size_t i = 0; i < all.nr && !copy; i++)
		copy = !strcmp(all.item[i].id, session_id(g->read)) &&
		       stat(all.item[i].path, &there) == 0 &&
		       (here.st_dev != there.st_dev || here.st_ino != there.st_ino);
	session_files_release(&all);
	return copy;
}

int again_write(struct again *g, struct err *err)
{
	CLEANUP(free_ptr) char *path = mem_strdup(session_path(g->read)), *name = share_own_name();
	const struct record_ops ops = { .on_head = nothing_head,
					.on_state = nothing_state,
					.copy = is_copy(g, path) };
	if (ops.copy && !g->ctx->quiet)
		fprintf(g->ctx->err,
			"sandglass: this file is a copy of session %s: the session itself stays as it is\n",
			session_id(g->read));
	json_t *body = json_object(), *who = json_object();
	/* the file changes its journal when it is opened for writing: nobody may look then */
	session_close(&g->read);
	if (loop_new(&g->loop, err) < 0 ||
	    record_resume(&g->record, g->loop, path, &ops, g, err) < 0 ||
	    session_open(&g->read, path, err) < 0) {
		json_decref(body);
		json_decref(who);
		return -1;
	}
	json_put_int(who, "uid", getuid());
	json_put_int(who, "pid", getpid());
	json_put_str(who, "name", name);
	json_put_int(body, "client", 0);
	json_put(body, "words", command_line_words(g->ctx->line));
	json_put(body, "opts", command_line_opts(g->ctx->line));
	g->who = json_incref(who);
	json_put(body, "who", who);
	g->cause = record_append_json(g->record, EV_CONTROL_COMMAND, 0, 0, 0, 0, body);
	return again_settle(g, err);
}

void again_recovered(struct again *g, const json_t *list)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT, safe = BUF_INIT;
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *body = json_array_get(list, i);
		record_append_json(g->record, EV_MERGE_UNDONE, g->cause, 0,
				   (uint64_t)json_int(body, "box", 0), 0, json_deep_copy(body));
	}
	merge_recover_names(list, &names);
	cmd_safe(&safe, buf_cstr(&names), names.len, false);
	if (names.len && !g->ctx->quiet)
		fprintf(g->ctx->err, "sandglass: took back the interrupted merge of: %s\n",
			buf_cstr(&safe));
}

/* A session that had ended ends again as it had; one that broke off can still be resumed. */
static int close_again(struct again *g, struct err *err)
{
	int rc = 0;
	session_close(&g->read);
	if (g->record && g->u.end)
		rc = record_close(&g->record, json_incref(g->u.end), err);
	else if (g->record)
		record_abandon(&g->record);
	if (g->loop)
		loop_free(g->loop);
	json_decref(g->who);
	unmerged_release(&g->u);
	return rc;
}

int again_finish(struct again *g, int rc, struct err *err)
{
	struct err late = ERR_INIT;
	struct cmd_ctx *ctx = g->ctx;
	if (close_again(g, &late) < 0 && rc == 0) {
		*err = late;
		rc = -1;
	}
	return rc < 0 ? cmd_fail(ctx, err) : EXIT_DONE;
}

/* --- redact --- */

static void offline_edit_removed(void *self, size_t nr)
{
	struct again *g = self;
	g->removed = nr;
	if (record_catalog_left(g->record))
		g->catalog_left = mem_strdup(record_catalog_left(g->record));
	g->done = true;
}

int offline_edit_redact(struct cmd_ctx *ctx, const char *path)
{
	struct again g;
	struct err err = ERR_INIT;
	struct removal_wish w = { .why = cmd_opt(ctx, "why"),
				  .object = cmd_opt(ctx, "object"),
				  .messages = cmd_opt(ctx, "messages"),
				  .output = cmd_has(ctx, "output") };
	const char *word = cmd_word(ctx, 0), *hash = word ? strrchr(word, '#') : NULL;
	if (!w.why || !*w.why)
		return cmd_usage(
			ctx,
			"missing option: --why TEXT\nThe reason is recorded with your name and the time.");
	w.seq = hash ? strtoull(hash + 1, NULL, 10) : word ? strtoull(word, NULL, 10) : 0;
	int rc = again_open(&g, ctx, path, &err);
	if (rc == 0 && !w.object && !w.messages && !session_row_of(g.read, "event", w.seq, NULL))
		rc = err_set(&err, ERR_NOENT, "session %s: event '%s' not found",
			     session_id(g.read), word ? word : "");
	if (rc == 0)
		rc = again_write(&g, &err);
	w.who = g.who;
	if (rc == 0)
		rc = redact_request_begin(g.record, &w, offline_edit_removed, &g, &err);
	while (rc == 0 && !g.done && record_state(g.record) == RECORD_OK)
		loop_turn(g.loop, 50);
	if (rc == 0 && !g.done)
		rc = err_set(&err, ERR_FULL,
			     "can't write the session file; the data may not be removed");
	if (rc == 0 && ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", session_id(g.read));
		json_put_int(o, "removed", (int64_t)g.removed);
		json_put_str(o, "catalog_left", g.catalog_left);
		cmd_json(ctx, o);
	} else if (rc == 0 && !ctx->quiet) {
		fprintf(ctx->out, "removed permanently: %zu\n", g.removed);
	}
	if (rc == 0)
		rc = redact_request_result(g.catalog_left, &err);
	free(g.catalog_left);
	return again_finish(&g, rc, &err);
}
