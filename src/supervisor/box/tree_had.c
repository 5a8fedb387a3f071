#include "supervisor/box/tree_had.h"

#include <stdlib.h>
#include <string.h>

#include "record/read/settled.h"

enum { LINEAGE_MAX = 1000 };

static json_t *had_body(struct trees *t, uint64_t seq)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	if (session_event(t->read, seq, &ev, &a, &none) < 0 || !ev.body)
		return NULL; /* redacted */
	return json_parse(ev.body, ev.len, "event", &none);
}

/* Ids of the merges that were undone; one id for each undo. */
static void had_undone(struct trees *t, struct strv *out)
{
	for (uint64_t seq = 0; (seq = session_next_of(t->read, EV_MERGE_UNDONE, 0, seq));) {
		CLEANUP(json_release) json_t *body = had_body(t, seq);
		strv_push(out, json_str(body, "merge", ""));
	}
}

static bool had_stands(struct strv *undone, const char *id)
{
	for (size_t i = 0; i < undone->nr; i++)
		if (!strcmp(undone->item[i], id))
			return false;
	return true;
}

static int had_merges(struct trees *t, size_t i, uint64_t box, uint64_t upto, const char *dir,
		      struct strv *undone, struct tree_had *out, struct err *err)
{
	struct ws_store st;
	tree_store(t, &st);
	for (uint64_t seq = 0;
	     (seq = session_next_of(t->read, EV_MERGE_DONE, box, seq)) && seq <= upto;) {
		CLEANUP(json_release) json_t *body = had_body(t, seq);
		if (!body || !had_stands(undone, json_str(body, "merge", "")))
			continue;
		if (ws_merged_event(&out->merged, &st, body, t->layer[i].name, dir, err) < 0)
			return -1;
		sandbox_refs_see(&out->refs, body, t->layer[i].name, dir);
	}
	return 0;
}

static void had_opening(struct trees *t, size_t i, uint64_t box, struct tree_had *out)
{
	for (uint64_t seq = 0; (seq = session_next_of(t->read, EV_BASE_HASHED, box, seq));) {
		CLEANUP(json_release) json_t *body = had_body(t, seq);
		if (body && !strcmp(json_str(body, "repo", ""), t->layer[i].name) &&
		    object_parse(json_str(body, "tree", ""), &out->opening))
			return;
	}
}

int tree_had_read(struct trees *t, size_t i, const char *dir, struct tree_had *out, struct err *err)
{
	CLEANUP(strv_release) struct strv undone = STRV_INIT;
	uint64_t box[LINEAGE_MAX], until[LINEAGE_MAX], upto = UINT64_MAX, at = t->id;
	size_t nr = 0;
	int rc = 0;
	*out = (struct tree_had){ .merged = WS_MERGED_INIT };
	if (!t->read && session_open(&t->read, record_path(t->s->record), err) < 0)
		return -1;
	/* the box it was before a resume or a fork had merges, too */
	for (; at && nr < LINEAGE_MAX; nr++) {
		uint64_t before = 0;
		box[nr] = at;
		until[nr] = upto;
		at = session_box_before(t->read, at, &before);
		upto = before < upto ? before : upto;
	}
	had_undone(t, &undone);
	while (rc == 0 && nr-- > 0) {
		rc = had_merges(t, i, box[nr], until[nr], dir, &undone, out, err);
		if (object_is_null(&out->opening))
			had_opening(t, i, box[nr], out);
	}
	if (rc < 0)
		tree_had_release(out);
	return rc;
}

void tree_had_release(struct tree_had *h)
{
	ws_merged_release(&h->merged);
	json_decref(h->refs);
	h->refs = NULL;
}
