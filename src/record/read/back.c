#include "record/read/back.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "record/read/session.h"

enum { LOOK_AHEAD = 64, CHAIN = 1000 };

static json_t *body_at(struct session *s, uint64_t seq, struct event *ev, struct arena *a)
{
	struct err none = ERR_INIT;
	return session_event(s, seq, ev, a, &none) == 0 && ev->body
		       ? json_parse(ev->body, ev->len, "event", &none)
		       : NULL;
}

/* The text recorded after the snapshots of the same cause. Returns owned. */
static json_t *said_behind(struct session *s, const struct event *snapshot)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct feed *feed = NULL;
	struct event ev;
	struct err none = ERR_INIT;
	json_t *found = NULL;
	if (feed_new(&feed, s, FEED_BOX, snapshot->box, &none) < 0)
		return NULL;
	feed_seek(feed, snapshot->seq);
	for (int i = 0; !found && i < LOOK_AHEAD && feed_next(feed, &ev, &a, 0, &none) > 0; i++)
		if (ev.kind == EV_ROLLBACK_DONE && ev.cause == snapshot->cause && ev.body)
			found = json_parse(ev.body, ev.len, "rollback.done", &none);
	feed_free(&feed);
	return found;
}

/* An undo of an undo brings back what that had taken: of a row of them only whether they are odd
 * counts. Returns owned what stands at its beginning; takes @done. */
static json_t *back_first_of(struct session *s, json_t *done, int *undos)
{
	int64_t takes;
	for (*undos = 0; *undos < CHAIN && (takes = json_int(done, "takes", 0)) > 0; ++*undos) {
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		struct event ev;
		json_t *taken = body_at(s, (uint64_t)takes, &ev, &a);
		if (!taken || ev.kind != EV_ROLLBACK_DONE) { /* redacted */
			json_decref(taken);
			break;
		}
		json_decref(done);
		done = taken;
	}
	return done;
}

static void back_put_what(const json_t *first, int undos, struct buf *out)
{
	const char *how = json_str(first, "how", "rollback");
	int64_t of = json_int(first, "of", 0);
	buf_puts(out, undos % 2 ? "undo of the " : "");
	if (!strcmp(how, "redo") || !strcmp(how, "promote"))
		buf_puts(out, "promote");
	else
		buf_puts(out, how);
	if (of)
		buf_printf(out, " of #%" PRId64, of);
	else if (!strcmp(how, "rollback"))
		buf_printf(out, " to #%" PRId64, json_int(first, "to", 0));
	if (undos && undos % 2 == 0)
		buf_puts(out, " again");
}

bool session_put_back(struct session *s, uint64_t seq, struct buf *what, struct buf *who)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev, cause;
	CLEANUP(json_release) json_t *body = body_at(s, seq, &ev, &a);
	json_t *done = NULL;
	if (body && ev.kind == EV_ROLLBACK_DONE)
		done = json_incref(body);
	else if (body && ev.kind == EV_SNAPSHOT_TAKEN &&
		 !strcmp(json_str(body, "why", ""), "rollback"))
		done = said_behind(s, &ev);
	if (!done)
		return false;
	int undos;
	CLEANUP(json_release) json_t *first = back_first_of(s, done, &undos);
	CLEANUP(json_release) json_t *by = body_at(s, ev.cause, &cause, &a);
	back_put_what(first, undos, what);
	/* a promote goes through the gate */
	const json_t *from =
		by && cause.kind == EV_ACTION_REQUESTED ? json_object_get(by, "args") : by;
	buf_puts(who, json_str(json_object_get(from, "who"), "name", ""));
	return true;
}
