/* merge, undo and redact after a session's end: the record holds all that they need. It is opened
 * once more for writing, so that what is done stands in it before it is done. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sessions/agent_steps.h"
#include "sessions/merge_text.h"
#include "sessions/merge_trust.h"
#include "sessions/sessions.h"
#include "sessions/unmerged.h"
#include "sessions/redact_request.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "control/share.h"
#include "record/record.h"
#include "sandbox/workspace/diff.h"
#include "sandbox/workspace/merge.h"
#include "sandbox/workspace/pick.h"
#include "sandbox/meant.h"

struct again { /* a session that is written once more */
	struct cmd_ctx *ctx;
	struct loop *loop;
	struct record *record;
	struct session *read;
	struct unmerged u;
	uint64_t cause;
	json_t *who;
	struct objects *objects; /* made by a merge */
	size_t removed;
	char *catalog_left; /* record_catalog_left; owned */
	bool done;
};

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

/* Waits until everything up to now is durable. */
static int offline_edit_settle(struct again *g, struct err *err)
{
	bool done = false;
	record_barrier(g->record, record_head(g->record), offline_edit_reached, &done);
	while (!done && record_state(g->record) == RECORD_OK)
		loop_turn(g->loop, 50);
	return done ? 0
		    : err_set(err, ERR_FULL,
			      "the session file cannot be written: nothing was done");
}

static int open_again(struct again *g, struct cmd_ctx *ctx, const char *path, struct err *err)
{
	*g = (struct again){ .ctx = ctx };
	if (session_open(&g->read, path, err) < 0 || unmerged_read(&g->u, g->read, err) < 0)
		return -1;
	return 0;
}

/* Is there another file of this session among the sessions, so that @path is a copy of it? The
 * anchors are that one's: with those of what is added here it would end before them, as if it had
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

static int write_again(struct again *g, struct err *err)
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
	return offline_edit_settle(g, err);
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
	objects_free(&g->objects);
	unmerged_release(&g->u);
	return rc;
}

static int offline_edit_finish(struct again *g, int rc, struct err *err)
{
	struct err late = ERR_INIT;
	struct cmd_ctx *ctx = g->ctx;
	if (close_again(g, &late) < 0 && rc == 0) {
		*err = late;
		rc = -1;
	}
	return rc < 0 ? cmd_fail(ctx, err) : EXIT_DONE;
}

/* --- merge --- */

static bool has_changes(const struct unmerged_box *b)
{
	for (size_t i = 0; i < b->nr; i++)
		if (json_int(b->layer[i].snap, "touched", 0) > 0)
			return true;
	return false;
}

static bool offline_edit_has_repository(const struct again *g)
{
	for (size_t i = 0; i < g->u.nr; i++)
		for (size_t k = 0; k < g->u.box[i].nr; k++)
			if (g->u.box[i].layer[k].dir)
				return true;
	return false;
}

static struct unmerged_box *offline_edit_choose(struct again *g, const char *name, struct err *err)
{
	/* a patch shows all changes; ignored files are not counted among what is not merged */
	bool merged_too = (cmd_opt(g->ctx, "patch") || cmd_has(g->ctx, "ignored")) &&
			  unmerged_files(&g->u) == 0;
	struct unmerged_box *found = NULL;
	CLEANUP(buf_release) struct buf names = BUF_INIT;
	size_t nr = 0;
	for (size_t i = 0; i < g->u.nr; i++) {
		struct unmerged_box *b = &g->u.box[i];
		bool meant = name ? meant_box(name, b->id, b->name)
				  : b->files > 0 || (merged_too && has_changes(b));
		if (!meant)
			continue;
		buf_printf(&names, "%s%s (#%" PRIu64 ")", nr++ ? ", " : "", b->name, b->id);
		found = b;
	}
	if (nr == 1)
		return found;
	if (nr)
		err_set(err, ERR_USAGE, "%s; name one by its id (%s/#ID): %s",
			name ? "several sandboxes have this name"
			     : "several sandboxes have work that is not merged",
			session_id(g->read), buf_cstr(&names));
	else if (name)
		err_set(err, ERR_NOENT, "session %s has no box '%s'", session_id(g->read), name);
	else if (!offline_edit_has_repository(g))
		err_set(err, ERR_INVALID,
			"session %s has no repository to merge into; 'sandglass export %s -F patch' prints its changes",
			session_id(g->read), session_id(g->read));
	else
		err_set(err, ERR_NOENT,
			"session %s has nothing that is not merged; name a sandbox to merge it again: %s/NAME",
			session_id(g->read), session_id(g->read));
	return NULL;
}

static void offline_edit_add_object(void *self, enum object_type type, const void *bytes,
				    size_t len, struct object_id *id_out)
{
	struct again *g = self; /* the trees of what was merged go into the file with the event */
	if (!g->objects)
		g->objects = objects_new();
	objects_add(g->objects, type, bytes, len, id_out);
}

static int offline_edit_get_object(void *self, const struct object_id *id,
				   enum object_type *type_out, struct buf *out, struct err *err)
{
	struct again *g = self;
	return session_object(g->read, id, type_out, out, err);
}

static void offline_edit_record_merge(struct again *g, uint16_t kind, uint64_t box, json_t *body)
{
	CLEANUP(free_ptr) char *text = json_dump_str(body);
	struct event ev = {
		.cause = g->cause, .box = box, .kind = kind, .body = text, .len = strlen(text)
	};
	record_objects(g->record, g->objects ? g->objects : objects_new(), &ev);
	g->objects = NULL;
	json_decref(body);
}

/* The same state of the same box has the same id: a second try finds what the first one did. */
static void offline_edit_merge_id(const struct again *g, const struct unmerged_box *b, char out[33])
{
	struct hash h;
	CLEANUP(buf_release) struct buf hex = BUF_INIT, text = BUF_INIT;
	buf_printf(&text, "%s/%" PRIu64, session_id(g->read), b->id);
	for (size_t i = 0; i < b->nr; i++)
		buf_printf(&text, "#%" PRIu64, b->layer[i].seq);
	/* each has a record of its own to be undone from */
	buf_printf(&text, "/%zu", g->u.nr_merges);
	hash_of(text.data, text.len, &h);
	hex_append(&hex, h.b, 8);
	memcpy(out, hex.data, 16);
	out[16] = 0;
}

struct plan { /* what merge_run is given, and what it borrows */
	struct ws_view *view;
	struct merge_step *step;
	struct agent_steps *agent; /* the agent's own commits */
	struct merge_choices *choice;
	struct pick pick;
	json_t *taken;
	struct merge_target *target;
	size_t nr, left;
	char *message;
};

static void offline_edit_say(struct again *g, const struct unmerged_box *b, const json_t *body,
			     bool dry)
{
	if (g->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", session_id(g->read));
		json_put_str(o, "box", b->name);
		json_put(o, "result", json_copy((json_t *)(uintptr_t)body));
		cmd_json(g->ctx, o);
		return;
	}
	CLEANUP(buf_release) struct buf text = BUF_INIT, safe = BUF_INIT;
	merge_text(body, b->name, dry, &text);
	cmd_safe(&safe, text.data, text.len, true);
	fprintf(g->ctx->out, "%s\n", buf_cstr(&safe));
}

static int offline_edit_conflicts(const json_t *body, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	merge_conflicts(body, &text);
	return err_set(err, ERR_INVALID, "nothing was merged, there are conflicts:%s",
		       buf_cstr(&text));
}

static int offline_edit_plan_make(struct plan *p, struct again *g, const struct unmerged_box *b,
				  const struct ws_store *st, struct err *err)
{
	const char *word;
	p->pick = PICK_INIT;
	p->taken = json_array();
	for (size_t i = 0; (word = command_opt_nth(g->ctx->line, "path", i)); i++)
		strv_push(&p->pick.paths, word);
	for (size_t i = 0; (word = command_opt_nth(g->ctx->line, "hunks", i)); i++)
		if (pick_hunks(&p->pick, word, err) < 0)
			return -1;
	p->view = mem_calloc(b->nr, sizeof(*p->view));
	p->step = mem_calloc(b->nr, sizeof(*p->step));
	p->agent = mem_calloc(b->nr, sizeof(*p->agent));
	p->choice = mem_calloc(b->nr, sizeof(*p->choice));
	p->target = mem_calloc(b->nr, sizeof(*p->target));
	p->message = merge_message(b->name, 0, session_id(g->read));
	for (size_t i = 0; i < b->nr; i++) {
		const struct unmerged_layer *l = &b->layer[i];
		if (!l->dir || !l->snap)
			continue;
		size_t k = p->nr++;
		if (ws_view_load(&p->view[k], st, l->snap, err) < 0)
			return -1;
		if (pick_choices(&p->pick, l->repo, &p->view[k], st, &p->choice[k], err) < 0)
			return -1;
		size_t left = p->choice[k].left;
		if (p->choice[k].taken)
			json_array_extend(p->taken, p->choice[k].taken);
		p->left += left + p->choice[k].partly;
		p->step[k] = (struct merge_step){ .view = &p->view[k], .message = p->message };
		if ((cmd_has(g->ctx, "commits") ||
		     (!cmd_has(g->ctx, "apply") && !cmd_opt(g->ctx, "patch"))) &&
		    agent_steps_read(&p->agent[k], g->read, st, l->snaps, l->nr_snaps, p->message,
				     err) < 0)
			return -1;
		p->target[k] =
			(struct merge_target){ .repo = l->repo,
					       .had = &l->had,
					       .opening = l->opening,
					       .asked = &p->pick.paths,
					       .dir = l->dir,
					       .step = p->agent[k].nr ? p->agent[k].step
								      : &p->step[k],
					       .nr_steps = p->agent[k].nr ? p->agent[k].nr : 1,
					       .choice = p->choice[k].item,
					       .nr_choices = p->choice[k].nr };
	}
	if (pick_check(&p->pick, err) < 0)
		return -1;
	return p->nr ? 0
		     : err_set(err, ERR_INVALID, "box '%s' has no folder of yours to merge into",
			       b->name);
}

static void offline_edit_plan_release(struct plan *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		ws_view_release(&p->view[i]);
		merge_choices_release(&p->choice[i]);
		agent_steps_release(&p->agent[i]);
	}
	free(p->agent);
	pick_release(&p->pick);
	json_decref(p->taken);
	free(p->view);
	free(p->step);
	free(p->choice);
	free(p->target);
	free(p->message);
}

static int merge_box(struct again *g, const struct unmerged_box *b, struct err *err)
{
	struct ws_store st = { .add = offline_edit_add_object,
			       .get = offline_edit_get_object,
			       .self = g };
	struct plan p = { 0 };
	struct merge_result r = { 0 };
	char id[33];
	CLEANUP(free_ptr) char *undo = paths_state("undo");
	bool dry = cmd_has(g->ctx, "dry-run");
	offline_edit_merge_id(g, b, id);
	int rc = dir_make(undo, 0700, err);
	if (rc == 0)
		rc = offline_edit_plan_make(&p, g, b, &st, err);
	struct merge_opts o = {
		.id = id,
		.mode = cmd_opt(g->ctx, "patch")     ? MERGE_PATCH
			: cmd_has(g->ctx, "apply")   ? MERGE_APPLY
			: cmd_has(g->ctx, "commits") ? MERGE_COMMITS
						     : MERGE_BRANCH,
		.patch = cmd_opt(g->ctx, "patch"),
		.branch = cmd_opt(g->ctx, "to"),
		.session = session_id(g->read),
		.ignored = cmd_has(g->ctx, "ignored"),
		.author = "sandglass",
		.email = "sandglass@localhost",
		.ts_us = clock_wall_us(),
		.undo_dir = undo,
		.dry = dry,
		.store = &st,
		.target = p.target,
		.nr_targets = p.nr,
	};
	if (rc == 0)
		rc = merge_run(&o, &r, err);
	if (rc == 0 && !r.clean && !dry)
		rc = offline_edit_conflicts(r.body, err);
	json_t *body = r.body ? json_copy(r.body) : json_object();
	json_put_str(body, "merge", id);
	if (p.left)
		json_put_int(body, "left", (int64_t)p.left);
	if (json_array_size(p.taken))
		json_put(body, "taken", json_incref(p.taken));
	if (b->notices)
		json_put(body, "notices", json_incref(b->notices));
	if (rc < 0) {
		json_put_str(body, "why", err->text);
		json_put_str(body, "code", err_code_name(err->code));
	} else {
		offline_edit_say(g, b, body, dry);
	}
	uint16_t kind = dry ? EV_MERGE_PLANNED : rc == 0 ? EV_MERGE_DONE : EV_MERGE_FAILED;
	offline_edit_record_merge(g, kind, b->id, body);
	merge_result_release(&r);
	offline_edit_plan_release(&p);
	return rc;
}

int offline_edit_merge(struct cmd_ctx *ctx, const char *path, const char *box)
{
	struct again g;
	struct err err = ERR_INIT;
	int rc = open_again(&g, ctx, path, &err);
	const struct unmerged_box *b = rc == 0 ? offline_edit_choose(&g, box, &err) : NULL;
	if (rc == 0 && !b)
		rc = -1;
	if (rc == 0)
		rc = merge_trust(ctx, g.read, &err);
	if (rc == 0)
		rc = write_again(&g, &err);
	if (rc == 0)
		rc = merge_box(&g, b, &err);
	if (rc < 0 && err.code == ERR_DAMAGED && !strstr(err.text, "sandglass verify")) {
		const struct err why = err;
		err_set(&err, why.code, "%.300s; 'sandglass verify %.200s' shows where", why.text,
			path);
	}
	return offline_edit_finish(&g, rc, &err);
}

/* --- undo --- */

int offline_edit_undo(struct cmd_ctx *ctx, const char *path)
{
	struct again g;
	struct err err = ERR_INIT;
	json_t *body = NULL;
	CLEANUP(free_ptr) char *dir = paths_state("undo");
	int rc = open_again(&g, ctx, path, &err);
	const char *word = cmd_word(ctx, 0);
	if (rc == 0 && word && (strchr(word, '#') || strspn(word, "0123456789") == strlen(word)))
		rc = err_set(
			&err, ERR_UNSUPPORTED,
			"session %s does not run and has no box whose files could be changed: '%s' it, and undo there",
			session_id(g.read), g.u.end ? "fork" : "resume");
	if (rc == 0 && !g.u.merge[0])
		rc = err_set(
			&err, ERR_NOENT,
			"there is no merge of session %s that could be undone; its boxes have gone",
			session_id(g.read));
	if (rc == 0)
		rc = write_again(&g, &err);
	struct merge_opts o = { .id = g.u.merge, .undo_dir = dir, .ts_us = clock_wall_us() };
	if (rc == 0)
		rc = merge_undo(&o, &body, &err);
	if (rc == 0) {
		record_append_json(g.record, EV_MERGE_UNDONE, g.cause, 0, 0, 0, body);
		if (!ctx->quiet && !ctx->json)
			fprintf(ctx->out, "merge %s is undone\n", g.u.merge);
	}
	return offline_edit_finish(&g, rc, &err);
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
			ctx, "say why: --why TEXT (it is recorded with your name and the time)");
	w.seq = hash ? strtoull(hash + 1, NULL, 10) : word ? strtoull(word, NULL, 10) : 0;
	int rc = open_again(&g, ctx, path, &err);
	if (rc == 0 && !w.object && !w.messages && !session_row_of(g.read, "event", w.seq, NULL))
		rc = err_set(&err, ERR_NOENT, "session %s has no event '%s'", session_id(g.read),
			     word ? word : "");
	if (rc == 0)
		rc = write_again(&g, &err);
	w.who = g.who;
	if (rc == 0)
		rc = redact_request_begin(g.record, &w, offline_edit_removed, &g, &err);
	while (rc == 0 && !g.done && record_state(g.record) == RECORD_OK)
		loop_turn(g.loop, 50);
	if (rc == 0 && !g.done)
		rc = err_set(
			&err, ERR_FULL,
			"the session file cannot be written: it is not said that anything was removed");
	if (rc == 0 && ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", session_id(g.read));
		json_put_int(o, "removed", (int64_t)g.removed);
		json_put_str(o, "catalog_left", g.catalog_left);
		cmd_json(ctx, o);
	} else if (rc == 0 && !ctx->quiet) {
		fprintf(ctx->out, "removed for ever: %zu\n", g.removed);
	}
	if (rc == 0 && g.catalog_left) {
		err_set(&err, ERR_IO,
			"redacted, but the catalog may still hold words of it: %s; "
			"remove that file",
			g.catalog_left);
		rc = -1;
	}
	free(g.catalog_left);
	return offline_edit_finish(&g, rc, &err);
}
