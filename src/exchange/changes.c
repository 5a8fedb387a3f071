#include "exchange/changes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exchange/states.h"
#include "base/mem.h"
#include "record/read/settled.h"
#include "sandbox/workspace/change_json.h"
#include "sandbox/workspace/tree.h"
#include "sandbox/workspace/view.h"

/* --- of boxes that were opened in the place of others --- */

/* Is the next snapshot of this layer the one that gave the box the files of the other? */
static bool adopted_next(struct session *s, const struct event *ev, const json_t *body)
{
	struct arena arena = ARENA_INIT;
	struct event next;
	struct err none = ERR_INIT;
	bool found = false, adopted = false;
	for (uint64_t seq = ev->seq; !found && (seq = session_next_snapshot(s, ev->box, seq));
	     arena_reset(&arena)) {
		if (session_event(s, seq, &next, &arena, &none) < 0 || !next.body)
			break;
		CLEANUP(json_release)
		json_t *b = json_parse(next.body, next.len, "snapshot", &none);
		found = !strcmp(json_str(b, "repo", ""), json_str(body, "repo", ""));
		adopted = found && !strcmp(json_str(b, "why", ""), "resume");
	}
	arena_release(&arena);
	return adopted;
}

json_t *snapshot_in_history(struct session *s, const struct event *ev, struct err *err)
{
	if (!ev->body) {
		err_set(err, ERR_NOENT,
			"event #%" PRIu64 " was redacted: the files after it are unknown", ev->seq);
		return NULL;
	}
	json_t *body = json_parse(ev->body, ev->len, "snapshot", err);
	bool adopting = !strcmp(json_str(body, "why", ""), "resume");
	uint64_t upto = 0, was = body && (adopting || !json_int(body, "prev", 0))
					 ? session_box_before(s, ev->box, &upto)
					 : 0;
	uint64_t before = was && upto == ev->box
				  ? session_snapshot_at(s, was, json_str(body, "repo", ""), upto)
				  : 0;
	if (!before)
		return body;
	json_put_int(body, "prev", (int64_t)before);
	json_put(body, "changes", json_array());
	json_put_int(body, "more",
		     !adopting && adopted_next(s, ev, body) ? 0 : 1 + json_int(body, "touched", 0));
	return body;
}

/* --- the snapshot before --- */

/* The body of the snapshot before this one; *out NULL: the base. */
static int body_before(struct session *s, const json_t *body, json_t **out, struct err *err)
{
	struct event ev;
	uint64_t prev = (uint64_t)json_int(body, "prev", 0);
	*out = NULL;
	if (!prev)
		return 0;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	if (session_event(s, prev, &ev, &arena, err) < 0)
		return -1;
	if (!ev.body)
		return err_set(err, ERR_NOENT,
			       "event #%" PRIu64
			       " was redacted: the changes of the next snapshot are unknown",
			       prev);
	*out = json_parse(ev.body, ev.len, "event", err);
	return *out ? 0 : -1;
}

/* --- all of them --- */

static void exchange_changes_add_change(json_t *list, const struct ws_path *at,
					const struct ws_state *was, const struct ws_state *now)
{
	if (ws_state_eq(was, now))
		return;
	json_array_append_new(list, ws_change_json(at->path, at->len, was, now, false));
}

/* Both are sorted; a path that one of them does not hold is there as in the base, which the other
 * one tells. */
static void exchange_changes_compare(const struct ws_view *was, const struct ws_view *now,
				     json_t *list)
{
	for (size_t i = 0, k = 0; i < was->nr || k < now->nr;) {
		const struct ws_path *a = i < was->nr ? &was->item[i] : NULL,
				     *b = k < now->nr ? &now->item[k] : NULL;
		int order = !a ? 1 : !b ? -1 : ws_path_cmp(a->path, a->len, b->path, b->len);
		const struct ws_path *at = order <= 0 ? a : b;
		if (!at) /* cannot be: one of them has an item */
			break;
		exchange_changes_add_change(list, at, order <= 0 && a ? &a->now : &at->base,
					    order >= 0 && b ? &b->now : &at->base);
		i += order <= 0;
		k += order >= 0;
	}
}

int snapshot_changes(struct session *s, const json_t *body, json_t **out, struct err *err)
{
	json_t *listed = json_object_get(body, "changes");
	if (json_int(body, "more", 0) <= 0) {
		*out = listed ? json_incref(listed) : json_array();
		return 0;
	}
	struct ws_store st = states_store(s);
	struct ws_view was = WS_VIEW_INIT, now = WS_VIEW_INIT;
	CLEANUP(json_release) json_t *before = NULL;
	int rc = body_before(s, body, &before, err);
	if (rc == 0)
		rc = ws_view_load(&was, &st, before, err);
	if (rc == 0)
		rc = ws_view_load(&now, &st, body, err);
	if (rc == 0) {
		*out = json_array();
		exchange_changes_compare(&was, &now, *out);
	}
	ws_view_release(&was);
	ws_view_release(&now);
	return rc;
}

/* --- one of them --- */

struct side { /* of one path */
	unsigned mode;
	struct object_id oid; /* null: missing, or not in the tree */
	bool told;	      /* one of the two trees speaks of it: it differs from the base */
	struct object_id under;
	unsigned under_mode;
};

static int exchange_changes_look(struct session *s, const json_t *body, const char *path,
				 struct side *out, struct err *err)
{
	struct ws_store st = states_store(s);
	bool git = ws_path_is_git(path, strlen(path));
	struct object_id root;
	int rc = 0;
	*out = (struct side){ 0 };
	if (object_parse(json_str(body, git ? "git" : "tree", ""), &root))
		rc = tree_find(&st, &root, path, strlen(path), &out->mode, &out->oid, err);
	out->told = rc > 0;
	if (rc >= 0 && object_parse(json_str(body, git ? "git_under" : "under", ""), &root))
		rc = tree_find(&st, &root, path, strlen(path), &out->under_mode, &out->under, err);
	out->told |= rc > 0;
	return rc < 0 ? -1 : 0;
}

int snapshot_changed(struct session *s, const json_t *body, const char *path, unsigned *mode,
		     struct object_id *oid, struct err *err)
{
	struct side was, now;
	CLEANUP(json_release) json_t *before = NULL;
	if (exchange_changes_look(s, body, path, &now, err) < 0 ||
	    body_before(s, body, &before, err) < 0 ||
	    exchange_changes_look(s, before, path, &was, err) < 0)
		return -1;
	if (!now.told && was.told) { /* as in the base again, which may be: not there */
		now.oid = was.under;
		now.mode = was.under_mode;
	} else if (now.told && !was.told) {
		was.oid = now.under;
		was.mode = now.under_mode;
	}
	*mode = now.mode;
	*oid = now.oid;
	return now.mode != was.mode || memcmp(&now.oid, &was.oid, sizeof(now.oid)) != 0;
}
