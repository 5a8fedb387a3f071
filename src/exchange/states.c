#include "exchange/states.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/changes.h"
#include "base/mem.h"
#include "query/sql.h"
#include "record/read/settled.h"
#include "sandbox/workspace/tree.h"
#include "sandbox/meant.h"

/* --- layers --- */

static void states_layer_release(struct layer_at *l)
{
	free(l->box_name);
	free(l->repo);
	json_decref(l->body);
}

void layers_at_release(struct layers_at *l)
{
	for (size_t i = 0; i < l->nr; i++)
		states_layer_release(&l->item[i]);
	free(l->item);
	*l = LAYERS_AT_INIT;
}

static bool has_layer(const struct layers_at *l, uint64_t box, const char *repo)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->item[i].box == box && !strcmp(l->item[i].repo, repo))
			return true;
	return false;
}

static void states_add_layer(struct layers_at *l, uint64_t box, const char *name, json_t *body,
			     uint64_t snapshot)
{
	GROW(l->item, l->nr, l->cap);
	l->item[l->nr++] = (struct layer_at){ .box = box,
					      .snapshot = snapshot,
					      .box_name = mem_strdup(name),
					      .repo = mem_strdup(json_str(body, "repo", "")),
					      .body = json_incref(body) };
}

/* The newest snapshot of each layer of one box up to @limit. */
static int box_at(struct layers_at *l, struct session *s, uint64_t box, const char *name,
		  size_t layers, uint64_t limit, struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct feed *feed = NULL;
	struct event ev;
	size_t found = 0;
	if (feed_new(&feed, s, FEED_BOX, box, err) < 0)
		return -1;
	feed_seek(feed, limit >= INT64_MAX ? INT64_MAX : limit + 1);
	int rc = 0;
	while (found < layers && (rc = feed_prev(feed, &ev, &arena, err)) > 0) {
		if (ev.kind == EV_SNAPSHOT_TAKEN && ev.body) {
			CLEANUP(json_release)
			json_t *body = json_parse(ev.body, ev.len, "snapshot", err);
			if (body && !has_layer(l, box, json_str(body, "repo", ""))) {
				states_add_layer(l, box, name, body, ev.seq);
				found++;
			}
		}
		arena_reset(&arena);
	}
	feed_free(&feed);
	arena_release(&arena);
	return rc < 0 ? -1 : 0;
}

static bool is_meant(const char *want, uint64_t box, const char *name)
{
	return !want || meant_box(want, box, name);
}

static int one_box(struct layers_at *l, struct session *s, uint64_t box, uint64_t seq,
		   const char *want, struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	json_t *open = session_event(s, box, &ev, &arena, &none) == 0 && ev.body
			       ? json_parse(ev.body, ev.len, "box.open", &none)
			       : NULL;
	const char *name = json_str(open, "name", "");
	size_t repos = json_array_size(json_object_get(open, "repos"));
	int rc = is_meant(want, box, name) ? box_at(l, s, box, name, repos > 1 ? repos : 1,
						    session_settled(s, box, seq), err)
					   : 0;
	json_decref(open);
	arena_release(&arena);
	return rc;
}

/* The sandbox that @box replaced; 0 = none. */
static uint64_t box_before(struct session *s, uint64_t box)
{
	uint64_t upto = 0, before = session_box_before(s, box, &upto);
	return upto == box ? before : 0;
}

uint64_t states_first_box(struct session *s, uint64_t box)
{
	uint64_t was;
	while ((was = box_before(s, box)))
		box = was;
	return box;
}

static void drop_replaced(struct layers_at *l, struct session *s)
{
	CLEANUP(free_ptr) uint64_t *was = mem_calloc(l->nr + 1, sizeof(*was));
	size_t nr = l->nr;
	l->nr = 0;
	for (size_t i = 0; i < nr; i++)
		was[i] = box_before(s, l->item[i].box);
	for (size_t i = 0; i < nr; i++) {
		bool replaced = false;
		for (size_t k = 0; k < nr; k++)
			replaced |= was[k] && was[k] == l->item[i].box;
		struct layer_at one = l->item[i];
		if (replaced)
			states_layer_release(&one);
		else
			l->item[l->nr++] = one;
	}
}

bool states_trial(struct session *s, uint64_t box)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	return session_event(s, box, &ev, &arena, &none) == 0 && ev.cause &&
	       session_event(s, ev.cause, &ev, &arena, &none) == 0 && ev.kind == EV_REDO_STARTED;
}

/* @keep: the box that is meant even so. */
static void states_drop_trials(struct layers_at *l, struct session *s, uint64_t keep)
{
	CLEANUP(free_ptr) bool *trial = mem_calloc(l->nr + 1, sizeof(*trial));
	size_t nr = l->nr, trials = 0;
	for (size_t i = 0; i < nr; i++)
		trials += trial[i] = states_trial(s, l->item[i].box);
	if (trials == nr)
		return;
	l->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct layer_at one = l->item[i];
		if (trial[i] && one.box != keep)
			states_layer_release(&one);
		else
			l->item[l->nr++] = one;
	}
}

int layers_at(struct layers_at *out, struct session *s, uint64_t seq, const char *box,
	      struct err *err)
{
	static const char boxes[] =
		"WITH RECURSIVE b(x) AS (SELECT min(box) FROM event WHERE box > 0 UNION ALL"
		" SELECT (SELECT min(box) FROM event WHERE box > b.x AND box > 0) FROM b WHERE x IS NOT NULL)"
		" SELECT x FROM b WHERE x IS NOT NULL";
	struct sql_table t = { 0 };
	struct arena arena = ARENA_INIT;
	struct event ev = { 0 };
	int rc = seq ? session_event(s, seq, &ev, &arena, err) : 0;
	arena_release(&arena);
	if (rc == 0)
		rc = sql_select(s, boxes, 100000, &t, err);
	*out = LAYERS_AT_INIT;
	for (size_t i = 0; rc == 0 && i < t.rows; i++)
		if (t.cell[i])
			rc = one_box(out, s, strtoull(t.cell[i], NULL, 10), seq ? seq : UINT64_MAX,
				     box, err);
	sql_table_release(&t);
	drop_replaced(out, s);
	if (!box)
		states_drop_trials(out, s, ev.box);
	if (rc == 0 && box && !out->nr)
		rc = err_set(err, ERR_NOENT,
			     "session %s has no sandbox '%s' with files at that event",
			     session_id(s), box);
	if (rc < 0)
		layers_at_release(out);
	return rc;
}

/* --- the chain --- */

/* Of a box that was copied: the newest snapshot of the same layer in the box it comes from, as of
 * then; 0 = none. */
static int before_fork(struct session *s, const struct event *ev, const json_t *body, uint64_t *out,
		       struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct feed *feed = NULL;
	struct event one;
	uint64_t from = 0, n = 0;
	*out = 0;
	if (feed_new(&feed, s, FEED_BOX, ev->box, err) < 0)
		return -1;
	int rc = 0;
	while (!from && (rc = feed_next(feed, &one, &arena, 0, err)) > 0) {
		if (one.kind == EV_FORK_DONE && one.body) {
			CLEANUP(json_release)
			json_t *fork = json_parse(one.body, one.len, "fork.done", err);
			from = (uint64_t)json_int(fork, "to", 0) == ev->box
				       ? (uint64_t)json_int(fork, "from", 0)
				       : 0;
			n = (uint64_t)json_int(fork, "n", 0);
		}
		arena_reset(&arena);
	}
	feed_free(&feed);
	arena_release(&arena);
	if (rc >= 0 && from && from < ev->box)
		*out = session_snapshot_at(s, from, json_str(body, "repo", ""), n);
	return rc < 0 ? -1 : 0;
}

int snapshots_back(struct session *s, uint64_t snapshot, snapshot_fn *fn, void *self,
		   struct err *err)
{
	struct arena arena = ARENA_INIT;
	int rc = 0;
	while (rc == 0 && snapshot) {
		struct event ev;
		CLEANUP(json_release)
		json_t *body = session_event(s, snapshot, &ev, &arena, err) < 0
				       ? NULL
				       : snapshot_in_history(s, &ev, err);
		uint64_t before = body ? (uint64_t)json_int(body, "prev", 0) : 0;
		if (!body || ev.kind != EV_SNAPSHOT_TAKEN || before >= snapshot) {
			rc = body ? err_set(err, ERR_DAMAGED,
					    "the chain of snapshots is damaged at #%" PRIu64,
					    snapshot)
				  : -1;
			break;
		}
		bool fork = !strcmp(json_str(body, "why", ""), "fork");
		if (fork)
			rc = before_fork(s, &ev, body, &before, err);
		if (rc == 0 && !(fork && before) && !fn(self, snapshot, &ev, body))
			break;
		snapshot = before;
		arena_reset(&arena);
	}
	arena_release(&arena);
	return rc;
}

/* --- one file --- */

static int states_get(void *self, const struct object_id *id, enum object_type *type_out,
		      struct buf *out, struct err *err)
{
	return session_object(self, id, type_out, out, err);
}

struct ws_store states_store(struct session *s)
{
	return (struct ws_store){ .get = states_get, .self = s };
}

void file_versions_release(struct file_versions *v)
{
	free(v->item);
	*v = (struct file_versions){ 0 };
}

struct finder {
	struct session *s;
	const char *path;
	char *moved;		   /* owned: @path, once it was another's name before */
	struct file_versions *out; /* newest first while it is filled */
	struct file_version under; /* what was there before the newest one that is known */
	bool has_under;
	struct err *err;
	bool failed;
};

static bool is_held(struct session *s, const struct object_id *oid)
{
	return !object_is_null(oid) && session_row_of(s, "object", 0, oid) != 0;
}

static void states_set_state(struct finder *f, struct file_version *v, const json_t *state,
			     const char *op)
{
	const char *hex = json_str(state, "oid", "");
	*v = (struct file_version){ .op = *op };
	v->mode = (unsigned)strtoul(json_str(state, "mode", "0"), NULL, 8);
	if (!object_parse(hex, &v->oid))
		v->oid = (struct object_id){ 0 };
	v->held = is_held(f->s, &v->oid);
}

static void states_add_version(struct finder *f, const struct file_version *v)
{
	GROW(f->out->item, f->out->nr, f->out->cap);
	f->out->item[f->out->nr++] = *v;
}

static const json_t *states_change_of(const json_t *body, const char *path)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	size_t i;
	json_t *c;
	json_array_foreach(json_object_get(body, "changes"), i,
			   c) if (json_get_bytes(json_object_get(c, "path"), &name) &&
				  !strcmp(buf_cstr(&name), path)) return c;
	return NULL;
}

/* The list was cut: what the trees say, if that is something new. */
static bool look_in_tree(struct finder *f, const json_t *body, struct file_version *v)
{
	*v = (struct file_version){ .op = 'M' };
	int rc = snapshot_changed(f->s, body, f->path, &v->mode, &v->oid, f->err);
	f->failed |= rc < 0;
	if (rc <= 0)
		return false;
	v->held = is_held(f->s, &v->oid);
	if (object_is_null(&v->oid))
		v->op = 'D';
	return true;
}

/* A file that goes as this one comes, with the same content, is this one by another name: from
 * there on @f looks for that. */
static void follow_move(struct finder *f, const json_t *body, const json_t *change)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	const char *oid = json_str(change, "oid", NULL);
	size_t i;
	json_t *c;
	json_array_foreach(json_object_get(body, "changes"), i, c)
	{
		const json_t *was = json_object_get(c, "was");
		if (!oid || *json_str(c, "op", "") != 'D' ||
		    strcmp(json_str(was, "oid", ""), oid) != 0 ||
		    !json_get_bytes(json_object_get(c, "path"), &name))
			continue;
		free(f->moved);
		f->path = f->moved = buf_take(&name);
		f->has_under = true;
		states_set_state(f, &f->under, was, "B");
		return;
	}
}

uint64_t states_author(struct session *s, const struct event *ev, const json_t *body,
		       const char *path, bool *shared_out)
{
	struct arena arena = ARENA_INIT;
	const json_t *by = json_object_get(body, "by");
	uint64_t last =
		ev->action
			? ev->action
			: (uint64_t)json_integer_value(json_array_get(by, json_array_size(by) - 1));
	*shared_out = json_flag(body, "shared", false);
	/* of several, one that said so: it wrote or edited this very path */
	for (size_t i = json_array_size(by); *shared_out && i-- > 0;) {
		struct event one;
		struct err none = ERR_INIT;
		uint64_t seq = (uint64_t)json_integer_value(json_array_get(by, i));
		if (session_event(s, seq, &one, &arena, &none) < 0 ||
		    one.kind != EV_ACTION_REQUESTED || !one.body)
			continue;
		CLEANUP(json_release) json_t *want = json_parse(one.body, one.len, "action", &none);
		CLEANUP(buf_release) struct buf name = BUF_INIT;
		if (!json_get_bytes(json_object_get(want, "path"), &name))
			continue;
		CLEANUP(free_ptr) char *plain = states_path(buf_cstr(&name));
		if (!strcmp(plain, path)) {
			*shared_out = false;
			last = seq;
		}
	}
	arena_release(&arena);
	return last;
}

static bool states_on_snapshot(void *self, uint64_t seq, const struct event *ev, const json_t *body)
{
	struct finder *f = self;
	struct file_version v;
	const json_t *change = states_change_of(body, f->path);
	if (change)
		states_set_state(f, &v, change, json_str(change, "op", "M"));
	else if (json_int(body, "more", 0) <= 0 || !look_in_tree(f, body, &v))
		return !f->failed;
	if (v.op == 'D')
		v.oid = (struct object_id){ 0 };
	v.snapshot = seq;
	v.action = states_author(f->s, ev, body, f->path, &v.shared);
	snprintf(v.why, sizeof(v.why), "%s", json_str(body, "why", ""));
	states_add_version(f, &v);
	f->has_under = change && v.op != 'A';
	if (f->has_under)
		states_set_state(f, &f->under, json_object_get(change, "was"), "B");
	if (change && v.op == 'A')
		follow_move(f, body, change);
	return true;
}

int file_versions(struct file_versions *out, struct session *s, const struct layer_at *layer,
		  const char *path, struct err *err)
{
	struct finder f = { .s = s, .path = path, .out = out, .err = err };
	*out = (struct file_versions){ 0 };
	int rc = snapshots_back(s, layer->snapshot, states_on_snapshot, &f, err);
	free(f.moved);
	if (rc == 0 && f.failed)
		rc = -1;
	if (f.has_under && !object_is_null(&f.under.oid))
		states_add_version(&f, &f.under);
	for (size_t i = 0; i < out->nr / 2; i++) {
		struct file_version t = out->item[i];
		out->item[i] = out->item[out->nr - 1 - i];
		out->item[out->nr - 1 - i] = t;
	}
	/* two that are the same are one (a cut list, seen in the tree) */
	size_t nr = out->nr ? 1 : 0;
	for (size_t i = 1; i < out->nr; i++)
		if (out->item[i].mode != out->item[nr - 1].mode ||
		    memcmp(&out->item[i].oid, &out->item[nr - 1].oid, sizeof(struct object_id)) !=
			    0)
			out->item[nr++] = out->item[i];
	out->nr = nr;
	if (rc < 0)
		file_versions_release(out);
	return rc;
}

char *states_path(const char *path)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	if (!strncmp(path, "/workspace", 10) && (path[10] == '/' || !path[10]))
		path += 10;
	while (*path) {
		size_t n = strcspn(path, "/");
		if (n && !(n == 1 && *path == '.')) {
			if (out.len)
				buf_putc(&out, '/');
			buf_append(&out, path, n);
		}
		path += n + (path[n] == '/');
	}
	return buf_take(&out);
}
