/* Undo of one action on the current files. The changes of its snapshot are reverted, by lines if
 * a file has changed since. If this is impossible, no file is touched. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/box/super_box.h"
#include "supervisor/box/tree_op.h"
#include "record/read/settled.h"
#include "record/record_event.h"
#include "sandbox/workspace/memstore.h"

struct undo_one {
	struct tree_op op;	 /* first: freed with it */
	uint64_t action, ran_in; /* ran_in: a box of which this one may be a copy */
	struct strv conflicts;
	json_t *paths; /* what was put back */
	size_t changes;
	bool shared;
};

/* The snapshot @seq if it is one of the action's work: returns owned, else NULL. */
static json_t *its_snapshot(struct undo_one *u, uint64_t seq)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	struct err err;
	if (session_event(u->op.t->read, seq, &ev, &a, &err) < 0 || !ev.body)
		return NULL;
	json_t *body = json_parse(ev.body, ev.len, "snapshot", &err);
	const json_t *by = json_object_get(body, "by");
	for (size_t i = 0; i < json_array_size(by); i++)
		if ((uint64_t)json_integer_value(json_array_get(by, i)) == u->action) {
			u->shared |= json_flag(body, "shared", false) || json_array_size(by) > 1;
			return body;
		}
	json_decref(body);
	return NULL;
}

/* Is what stood in box @from at @seq what the box of @t began with: is it this very box, the one
 * whose place it took when the session was resumed, or one that it is a copy of? */
static bool comes_from(struct trees *t, uint64_t from, uint64_t seq)
{
	uint64_t at = t->id, upto;
	while (at > from) {
		at = session_box_before(t->read, at, &upto);
		if (seq > upto)
			return false;
	}
	return at == from;
}

int tree_change(struct tree_op *o, size_t layer, uint64_t from, uint64_t to,
		const struct ws_store *st, struct ws_diff *d, struct strv *conflicts)
{
	struct trees *t = o->t;
	struct err *err = &o->err;
	struct ws_view was = WS_VIEW_INIT, wanted = WS_VIEW_INIT, now = WS_VIEW_INIT;
	int rc = tree_view_of(t, from, &was, err);
	if (rc == 0)
		rc = tree_view_of(t, to, &wanted, err);
	if (rc == 0)
		rc = tree_view(t, layer, UINT64_MAX, &now, err);
	if (rc == 0)
		rc = ws_diff_undo(d, &wanted, &was, &now, st, conflicts, err);
	ws_view_release(&was);
	ws_view_release(&wanted);
	ws_view_release(&now);
	return rc;
}

/* Reverts the snapshot @seq on the current files. */
static int tree_undo_one_snapshot(struct undo_one *u, uint64_t seq, const json_t *body,
				  const struct ws_store *st, bool apply)
{
	struct trees *t = u->op.t;
	struct ws_diff d = WS_DIFF_INIT;
	size_t i = 0;
	while (i < t->nr_layers && strcmp(t->layer[i].name, json_str(body, "repo", "")) != 0)
		i++;
	if (i == t->nr_layers || !comes_from(t, u->ran_in, seq))
		return err_set(&u->op.err, ERR_NOENT,
			       "#%" PRIu64 " didn't run in sandbox '%s' or in the one it copies",
			       u->action, t->name);
	int rc = tree_change(&u->op, i, seq, (uint64_t)json_int(body, "prev", 0), st, &d,
			     &u->conflicts);
	u->changes += d.nr;
	if (rc == 0 && apply)
		rc = tree_apply(&u->op, i, &d, st, -1, 0);
	if (rc == 0 && apply)
		tree_change_paths(t, i, &d, u->paths);
	ws_diff_release(&d);
	return rc;
}

void tree_change_paths(const struct trees *t, size_t layer, const struct ws_diff *d, json_t *paths)
{
	const char *repo = t->layer[layer].name;
	for (size_t i = 0; i < d->nr; i++) {
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		if (*repo)
			buf_printf(&path, "%s/", repo);
		buf_append(&path, d->item[i].path, d->item[i].len);
		json_array_append_new(paths, json_bytes(buf_cstr(&path), path.len));
	}
}

void tree_change_names(const struct strv *conflicts, struct buf *out)
{
	for (size_t i = 0; i < conflicts->nr && i < 5; i++)
		buf_printf(out, "%s%s", i ? ", " : "", conflicts->item[i]);
	if (conflicts->nr > 5)
		buf_printf(out, " and %zu more", conflicts->nr - 5);
}

static json_t *tree_undo_event(struct session *read, uint64_t seq)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	if (session_event(read, seq, &ev, &a, &none) < 0 || !ev.body)
		return NULL; /* redacted */
	return json_parse(ev.body, ev.len, "event", &none);
}

/* Returns the undo of the action that still applies in this sandbox, 0: none. A later undo may have
 * reverted it, and a further one that. */
static uint64_t tree_undo_standing(const struct undo_one *u)
{
	struct session *read = u->op.t->read;
	uint64_t last = 0, by = 0, to = 0;
	for (uint64_t seq = 0; (seq = session_next_of(read, EV_ROLLBACK_DONE, u->op.t->id, seq));) {
		CLEANUP(json_release) json_t *body = tree_undo_event(read, seq);
		if (!body || json_object_get(body, "why"))
			continue;
		if (strcmp(json_str(body, "how", ""), "undo") != 0)
			last = by = 0; /* it may have brought the action's work back */
		else if ((uint64_t)json_int(body, "of", 0) == u->action) {
			last = by = seq;
		} else if (last && (uint64_t)json_int(body, "takes", 0) == last) {
			last = seq;
			by = by ? 0 : seq;
		} else {
			continue;
		}
		to = (uint64_t)json_int(body, "to", 0);
	}
	if (!by)
		return 0;
	uint64_t named = by; /* its snapshot, as blame names it */
	for (uint64_t seq = to; (seq = session_next_snapshot(read, u->op.t->id, seq)) && seq < by;)
		named = seq;
	return named;
}

static void tell_conflicts(struct undo_one *u)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT;
	tree_change_names(&u->conflicts, &names);
	err_set(&u->op.err, ERR_BUSY,
		"can't undo #%" PRIu64 ": later work changed the same lines of %s; nothing changed",
		u->action, buf_cstr(&names));
}

/* Its work is in the first snapshots behind its end, one of each layer. */
enum { SNAPSHOTS = 64 };

/* Two rounds over the snapshots that hold its work: all differences are known to be clean before
 * the first is applied. */
static int tree_undo_both_rounds(struct tree_op *o, const struct ws_store *st)
{
	struct undo_one *u = (struct undo_one *)o;
	struct session *read = o->t->read;
	for (int apply = 0; apply < 2; apply++) {
		bool found = false;
		uint64_t seq = session_action_end(read, u->action);
		for (int i = 0;
		     seq && i < SNAPSHOTS && (seq = session_next_snapshot(read, u->ran_in, seq));
		     i++) {
			CLEANUP(json_release) json_t *body = its_snapshot(u, seq);
			found |= body != NULL;
			if (body && tree_undo_one_snapshot(u, seq, body, st, apply) < 0)
				return -1;
		}
		if (!found)
			return err_set(&o->err, ERR_NOENT, "#%" PRIu64 " changed no recorded files",
				       u->action);
		if (u->shared)
			return err_set(
				&o->err, ERR_UNSUPPORTED,
				"changes of #%" PRIu64
				" were recorded together with other work at the same time\nTo restore the state "
				"before all of it, run 'rollback'.",
				u->action);
		uint64_t by = u->conflicts.nr || !u->changes ? tree_undo_standing(u) : 0;
		if (by)
			return err_set(&o->err, ERR_NOENT,
				       "#%" PRIu64 " is already undone by #%" PRIu64
				       "; nothing changed",
				       u->action, by);
		if (u->conflicts.nr) {
			tell_conflicts(u);
			return -1;
		}
	}
	return 0;
}

void tree_change_work(struct tree_op *o,
		      int (*rounds)(struct tree_op *o, const struct ws_store *st))
{
	struct ws_store below;
	struct err none = ERR_INIT;
	tree_store(o->t, &below);
	if (!o->t->read && session_open(&o->t->read, record_path(o->t->s->record), &o->err) < 0)
		return;
	struct memstore *merged = memstore_new(&below);
	struct ws_store st = memstore_store(merged);
	int rc = rounds(o, &st);
	memstore_free(&merged);
	o->taken = (struct taken){ .why = "rollback", .cause = o->cause };
	tree_take(o->t, &o->taken, rc == 0 ? &o->err : &none);
}

static void tree_undo_work(struct tree_op *o)
{
	tree_change_work(o, tree_undo_both_rounds);
}

static void tree_undo_done(struct tree_op *o)
{
	struct undo_one *u = (struct undo_one *)o;
	uint64_t seq = tree_record(o->t, &o->taken);
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	if (o->err.code == ERR_NONE)
		o->t->undo = o->before; /* an undo without a number takes this one back */
	uint64_t done = record_ev_rollback_done(
		o->t->s->record, &(struct event){ .cause = o->cause, .box = o->t->id },
		&(struct ev_rollback_done){
			EV_SET(to, (int64_t)o->before), .how = ev_text_of("undo"),
			EV_SET(of, (int64_t)u->action), EV_SET(ops, (int64_t)o->nr_ops),
			.paths = ev_json_of(&mem, u->paths),
			.missing = { o->missing.nr, ev_texts_of(&mem, &o->missing) },
			.why = ev_text_of(o->err.code != ERR_NONE ? o->err.text : NULL) });
	if (o->err.code == ERR_NONE) {
		o->t->undo_done = done;
		o->t->undo_seen = seq;
	}
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)seq);
	json_put_int(v, "of", (int64_t)u->action);
	json_put_int(v, "changes", (int64_t)o->nr_ops);
	json_put(v, "paths", u->paths);
	if (o->missing.nr)
		json_put(v, "missing", json_argv(o->missing.item, o->missing.nr));
	strv_release(&u->conflicts);
	tree_op_answer(o, v);
}

int trees_undo_action(const struct tree_request *rq, uint64_t action, uint64_t ran_in,
		      struct err *err)
{
	struct trees *t = super_box_trees(rq->s, rq->box);
	if (!t)
		return err_set(err, ERR_NOENT,
			       "the sandbox of #%" PRIu64
			       " has ended, or its backend gives no access to files",
			       action);
	struct undo_one *u = NEW(struct undo_one);
	u->action = action;
	u->ran_in = ran_in;
	u->paths = json_array();
	u->op = (struct tree_op){ .t = t,
				  .rq = *rq,
				  .work = tree_undo_work,
				  .done = tree_undo_done,
				  .why = "background",
				  .freeze = true,
				  .cause = rq->cause };
	tree_op_start(&u->op);
	return 0;
}
