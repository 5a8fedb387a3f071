/* merge of a session that has ended. */
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "base/mem.h"
#include "sessions/merge_choose.h"
#include "sessions/merge_recover.h"
#include "sessions/merge_several.h"
#include "sessions/merge_text.h"
#include "sessions/merge_trust.h"
#include "sessions/offline_priv.h"

static uint64_t offline_merge_record(struct again *g, struct box_merge *b, bool dry)
{
	CLEANUP(free_ptr) char *text = json_dump_str(b->body);
	struct event ev = { .cause = g->cause,
			    .box = b->box->id,
			    .kind = (uint16_t)box_merge_kind(b, dry),
			    .body = text,
			    .len = strlen(text) };
	struct objects *o = b->objects ? b->objects : objects_new();
	b->objects = NULL;
	return record_objects(g->record, o, &ev);
}

static void offline_merge_say(struct again *g, const struct merge_several *m, const uint64_t *event)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT, safe = BUF_INIT;
	const struct box_merge *first = &m->merge[0];
	CLEANUP(json_release) json_t *result = merge_several_result(m, event);
	if (g->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", session_id(g->read));
		if (m->nr == 1)
			json_put_str(o, "box", first->box->name);
		json_t *one = json_copy(first->body);
		json_put_int(one, "event", (int64_t)event[0]); /* names it for undo */
		json_put(o, "result", m->nr == 1 ? json_incref(one) : json_incref(result));
		json_decref(one);
		cmd_json(g->ctx, o);
		return;
	}
	if (m->nr == 1)
		merge_text(first->body, first->box->name, m->dry, &text);
	else
		merge_several_text(result, m->dry, &text);
	cmd_safe(&safe, text.data, text.len, true);
	fprintf(g->ctx->out, "%s\n", buf_cstr(&safe));
}

/* A dry run takes nothing back. */
static void offline_merge_left(struct again *g, const struct merge_several *m)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT, safe = BUF_INIT;
	CLEANUP(json_release) json_t *o = json_object();
	json_put(o, "interrupted", json_incref(m->interrupted));
	merge_interrupted_text(o, session_id(g->read), &text);
	cmd_safe(&safe, buf_cstr(&text), text.len, true);
	if (text.len)
		fprintf(g->ctx->err, "sandglass: merge: %s\n", buf_cstr(&safe));
}

/* What an interrupted merge had left beside the files of the user. */
static void offline_merge_beside(struct again *g, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list) && !g->ctx->quiet; i++) {
		CLEANUP(buf_release) struct buf left = BUF_INIT, line = BUF_INIT;
		merge_leftover_text(json_array_get(list, i), &left);
		cmd_safe(&line, buf_cstr(&left), left.len, false);
		if (left.len)
			fprintf(g->ctx->err, "sandglass: %s\n", buf_cstr(&line));
	}
}

static int offline_merge_run(struct again *g, const struct strv *boxes, const json_t *opts,
			     struct err *err)
{
	struct merge_several m;
	int rc = merge_several_run(&m, g->read, boxes, opts, err);
	uint64_t *event = mem_calloc(m.nr + 1, sizeof(*event));
	again_recovered(g, m.recovered);
	offline_merge_beside(g, m.recovered);
	failpoint_hit("merge-several-done");
	for (size_t i = 0; i < m.nr; i++)
		if (m.merge[i].body)
			event[i] = offline_merge_record(g, &m.merge[i], m.dry);
	struct err late = ERR_INIT;
	if (again_settle(g, rc == 0 ? err : &late) == 0)
		merge_several_settled(&m);
	else
		rc = -1;
	if (rc == 0)
		offline_merge_say(g, &m, event);
	if (m.interrupted)
		offline_merge_left(g, &m);
	free(event);
	merge_several_release(&m);
	return rc;
}

/* Checks before the file is opened for writing. */
static int offline_merge_chosen(struct again *g, const struct strv *boxes, const json_t *opts,
				struct err *err)
{
	const struct unmerged_box **box = mem_calloc(g->u.nr + 1, sizeof(*box));
	bool again = json_object_get(opts, "patch") || json_object_get(opts, "ignored");
	size_t nr;
	int rc = merge_choose(&g->u, session_id(g->read), boxes, cmd_has(g->ctx, "all"), again, box,
			      &nr, err);
	free(box);
	return rc;
}

int offline_edit_merge(struct cmd_ctx *ctx, const char *path, const struct strv *boxes)
{
	struct again g;
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *opts = command_line_opts(ctx->line);
	int rc = again_open(&g, ctx, path, &err);
	if (rc == 0)
		rc = offline_merge_chosen(&g, boxes, opts, &err);
	if (rc == 0)
		rc = merge_trust(ctx, g.read, &err);
	if (rc == 0)
		rc = again_write(&g, &err);
	if (rc == 0)
		rc = offline_merge_run(&g, boxes, opts, &err);
	if (rc < 0 && err.code == ERR_DAMAGED && !strstr(err.text, "sandglass verify")) {
		const struct err why = err;
		err_set(&err, why.code, "%.300s\n'sandglass verify %.160s' shows where.", why.text,
			path);
	}
	return again_finish(&g, rc, &err);
}
