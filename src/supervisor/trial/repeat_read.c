#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/trial/repeat_priv.h"

static int repeat_read_body_of(struct session *s, uint64_t seq, struct event *ev, json_t **out,
			       struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	if (session_event(s, seq, ev, &a, err) < 0)
		return -1;
	if (!ev->body)
		return err_set(err, ERR_NOENT, "#%" PRIu64 " was redacted", seq);
	*out = json_parse(ev->body, ev->len, "event", err);
	ev->body = NULL;
	return *out ? 0 : -1;
}

static struct repeat_layer *repeat_read_layer_of(struct origin *o, const char *repo)
{
	for (size_t i = 0; i < o->nr_layers; i++)
		if (!strcmp(o->layer[i].repo, repo))
			return &o->layer[i];
	if (o->nr_layers == REPEAT_REPOS_MAX)
		return NULL;
	o->layer[o->nr_layers] = (struct repeat_layer){ .repo = mem_strdup(repo) };
	return &o->layer[o->nr_layers++];
}

static bool repeat_read_names(const json_t *by, uint64_t action)
{
	for (size_t i = 0; i < json_array_size(by); i++)
		if ((uint64_t)json_integer_value(json_array_get(by, i)) == action)
			return true;
	return false;
}

/* A snapshot of its box: the newest one that the action cannot have touched is before it, the first
 * that names it after. */
static void repeat_read_snapshot(struct origin *o, const struct event *ev, const json_t *body,
				 uint64_t began)
{
	struct repeat_layer *l = repeat_read_layer_of(o, json_str(body, "repo", ""));
	const json_t *by = json_object_get(body, "by");
	if (!l)
		return;
	if (ev->seq < began) {
		l->before = ev->seq;
		o->tree_at = ev->seq;
	} else if (repeat_read_names(by, o->action) && !l->after) {
		l->after = ev->seq;
		o->shared |= json_flag(body, "shared", false);
	}
}

static int repeat_read_box(struct origin *o, uint64_t began, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct feed *f;
	struct event ev;
	int rc;
	if (feed_new(&f, o->read, FEED_BOX, o->box, err) < 0)
		return -1;
	while ((rc = feed_next(f, &ev, &a, 0, err)) == 1) {
		struct err odd = ERR_INIT;
		CLEANUP(json_release)
		json_t *body = ev.kind == EV_SNAPSHOT_TAKEN && ev.body
				       ? json_parse(ev.body, ev.len, "snapshot", &odd)
				       : NULL;
		if (body)
			repeat_read_snapshot(o, &ev, body, began);
		arena_reset(&a);
	}
	feed_free(&f);
	return rc;
}

/* Its steps; the seq of action.started through @began. */
static int read_action(struct origin *o, uint64_t *began, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct feed *f;
	struct event ev;
	int rc;
	if (feed_new(&f, o->read, FEED_ACTION, o->action, err) < 0)
		return -1;
	while ((rc = feed_next(f, &ev, &a, 0, err)) == 1) {
		if (ev.kind == EV_ACTION_STARTED && ev.body) {
			*began = ev.seq;
			o->started = json_parse(ev.body, ev.len, "event", err);
		} else if (ev.kind == EV_ACTION_ENDED && ev.body) {
			o->ended = json_parse(ev.body, ev.len, "event", err);
		}
		arena_reset(&a);
	}
	feed_free(&f);
	return rc;
}

int origin_read(struct origin *o, const char *path, uint64_t action, bool now, struct err *err)
{
	struct event ev;
	uint64_t began = 0;
	*o = (struct origin){ .path = mem_strdup(path), .action = action };
	if (session_open(&o->read, path, err) < 0 ||
	    repeat_read_body_of(o->read, action, &ev, &o->requested, err) < 0)
		return -1;
	if (ev.kind != EV_ACTION_REQUESTED ||
	    strcmp(json_str(o->requested, "kind", ""), "exec") != 0)
		return err_set(err, ERR_USAGE,
			       "can't repeat #%" PRIu64 ": not a command in a sandbox", action);
	o->box = ev.box;
	if (read_action(o, &began, err) < 0)
		return -1;
	if (!o->started)
		return err_set(err, ERR_INVALID, "can't repeat #%" PRIu64 ": it never ran", action);
	if (json_flag(o->started, "promoted", false) || json_int(o->started, "promoted", 0))
		return err_set(err, ERR_UNSUPPORTED,
			       "#%" PRIu64 " did not run itself; a dry run was applied", action);
	if (repeat_read_body_of(o->read, o->box, &ev, &o->open, err) < 0)
		return -1;
	return repeat_read_box(o, now ? UINT64_MAX : began, err);
}

void origin_release(struct origin *o)
{
	session_close(&o->read);
	json_release(&o->requested);
	json_release(&o->started);
	json_release(&o->ended);
	json_release(&o->open);
	for (size_t i = 0; i < o->nr_layers; i++)
		free(o->layer[i].repo);
	free(o->path);
}

static void no_add(void *self, enum object_type type, const void *bytes, size_t len,
		   struct object_id *id_out)
{
	(void)self; /* a record that is only read */
	(void)type;
	(void)bytes;
	(void)len;
	*id_out = (struct object_id){ 0 };
}

static int repeat_read_get(void *self, const struct object_id *id, enum object_type *type_out,
			   struct buf *out, struct err *err)
{
	struct origin *o = self;
	return session_object(o->read, id, type_out, out, err);
}

void origin_store(struct origin *o, struct ws_store *out)
{
	*out = (struct ws_store){ .add = no_add, .get = repeat_read_get, .self = o };
}

int origin_view(struct origin *o, uint64_t seq, struct ws_view *v, struct err *err)
{
	struct ws_store st;
	struct event ev;
	CLEANUP(json_release) json_t *body = NULL;
	origin_store(o, &st);
	if (seq && repeat_read_body_of(o->read, seq, &ev, &body, err) < 0)
		return -1;
	return ws_view_load(v, &st, body, err);
}
