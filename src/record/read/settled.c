#include "record/read/settled.h"

#include <string.h>

#include "record/read/read_priv.h"

/* How far after an event its snapshot is searched, in events of the sandbox. It comes next except
 * for events of concurrent work. */
enum { LOOK_AHEAD = 20000, LAYERS = 64 };

struct at {
	struct session *s;
	uint64_t box, seq, action; /* action: that ended there or is meant as a whole; 0 = none */
};

/* "action > 0" and "box > 0" let the statements use the indexes of just those. */
uint64_t session_action_end(struct session *s, uint64_t action)
{
	sqlite3_stmt *st = NULL;
	uint64_t found = 0;
	if (sqlite3_prepare_v2(
		    s->db,
		    "SELECT seq FROM event WHERE action = ?1 AND action > 0 AND kind = ?2 ORDER BY seq LIMIT 1",
		    -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (int64_t)action);
		sqlite3_bind_int64(st, 2, EV_ACTION_ENDED);
		if (sqlite3_step(st) == SQLITE_ROW)
			found = (uint64_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	return found;
}

uint64_t session_next_of(struct session *s, unsigned kind, uint64_t box, uint64_t after)
{
	static const char of_box[] =
		"SELECT seq FROM event WHERE box = ?1 AND box > 0 AND kind = ?2 AND seq > ?3 ORDER BY seq LIMIT 1";
	static const char of_any[] =
		"SELECT seq FROM event WHERE ?1 = 0 AND kind = ?2 AND seq > ?3 ORDER BY seq LIMIT 1";
	sqlite3_stmt *st = NULL;
	uint64_t found = 0;
	if (sqlite3_prepare_v2(s->db, box ? of_box : of_any, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (int64_t)box);
		sqlite3_bind_int64(st, 2, kind);
		sqlite3_bind_int64(st, 3, (int64_t)after);
		if (sqlite3_step(st) == SQLITE_ROW)
			found = (uint64_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	return found;
}

uint64_t session_next_snapshot(struct session *s, uint64_t box, uint64_t after)
{
	sqlite3_stmt *st = NULL;
	uint64_t found = 0;
	if (sqlite3_prepare_v2(
		    s->db,
		    "SELECT seq, kind FROM event WHERE box = ?1 AND box > 0 AND seq > ?2 ORDER BY seq LIMIT ?3",
		    -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (int64_t)box);
		sqlite3_bind_int64(st, 2, (int64_t)after);
		sqlite3_bind_int64(st, 3, LOOK_AHEAD);
		while (!found && sqlite3_step(st) == SQLITE_ROW)
			if (sqlite3_column_int(st, 1) == EV_SNAPSHOT_TAKEN)
				found = (uint64_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	return found;
}

static bool settled_counts(const struct at *at, const json_t *body)
{
	const json_t *by = json_object_get(body, "by");
	size_t nr = json_array_size(by), over = 0;
	if (strcmp(json_str(body, "why", ""), "rollback") == 0)
		return false;
	for (size_t i = 0; i < nr; i++) {
		uint64_t action = (uint64_t)json_integer_value(json_array_get(by, i));
		if (action == at->action && action)
			return true;
		uint64_t end = session_action_end(at->s, action);
		over += end && end <= at->seq;
	}
	return nr && over == nr;
}

/* The event that @seq stands for: for a request in this sandbox its end, which counts from
 * there. */
static void settled_aim(struct at *at, struct arena *a)
{
	struct event ev;
	struct err none = ERR_INIT;
	if (session_event(at->s, at->seq, &ev, a, &none) < 0 || ev.box != at->box)
		return;
	uint64_t end = ev.kind == EV_ACTION_REQUESTED ? session_action_end(at->s, ev.seq) : 0;
	if (end || ev.kind == EV_ACTION_ENDED)
		at->action = ev.action ? ev.action : ev.seq;
	if (end)
		at->seq = end;
}

uint64_t session_settled(struct session *s, uint64_t box, uint64_t seq)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct at at = { .s = s, .box = box, .seq = seq };
	if (!seq || seq > INT64_MAX)
		return seq;
	settled_aim(&at, &a);
	uint64_t found = at.seq;
	for (int i = 0; i < LAYERS; i++) { /* one of each layer, next to each other */
		struct event ev;
		struct err none = ERR_INIT;
		uint64_t next = session_next_snapshot(s, box, found);
		if (!next || session_event(s, next, &ev, &a, &none) < 0 || !ev.body)
			break;
		CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "snapshot", &none);
		if (!body || !settled_counts(&at, body))
			break;
		found = next;
	}
	return found;
}

/* --- boxes that were others before --- */

uint64_t session_box_before(struct session *s, uint64_t box, uint64_t *upto_out)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	if (session_event(s, box, &ev, &a, &none) < 0 || ev.kind != EV_BOX_OPEN || !ev.body)
		return 0;
	CLEANUP(json_release) json_t *open = json_parse(ev.body, ev.len, "box.open", &none);
	const json_t *fork = json_object_get(open, "fork");
	uint64_t was = (uint64_t)json_int(open, "was", 0),
		 from = (uint64_t)json_int(fork, "box", 0);
	*upto_out = was ? box : (uint64_t)json_int(fork, "n", 0);
	return was && was < box ? was : from < box ? from : 0;
}

/* The newest snapshot of the layer up to @seq among those of this very box; 0 = none. */
static uint64_t settled_newest(struct session *s, uint64_t box, const char *repo, uint64_t seq)
{
	sqlite3_stmt *st = NULL;
	uint64_t found = 0;
	if (sqlite3_prepare_v2(
		    s->db,
		    "SELECT seq, body FROM event WHERE box = ?1 AND box > 0 AND seq <= ?2 AND kind = ?3 ORDER BY seq DESC",
		    -1, &st, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_int64(st, 1, (int64_t)box);
	sqlite3_bind_int64(st, 2, seq > INT64_MAX ? INT64_MAX : (int64_t)seq);
	sqlite3_bind_int64(st, 3, EV_SNAPSHOT_TAKEN);
	while (!found && sqlite3_step(st) == SQLITE_ROW) {
		struct err none = ERR_INIT;
		const char *text = (const char *)sqlite3_column_text(st, 1);
		CLEANUP(json_release)
		json_t *body = text ? json_parse(text, (size_t)sqlite3_column_bytes(st, 1),
						 "snapshot", &none)
				    : NULL;
		/* the layer of a redacted snapshot is unknown: the reader reports that */
		if (!body || strcmp(json_str(body, "repo", ""), repo) == 0)
			found = (uint64_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	return found;
}

uint64_t session_snapshot_at(struct session *s, uint64_t box, const char *repo, uint64_t seq)
{
	uint64_t upto;
	while (box) {
		uint64_t found = settled_newest(s, box, repo, session_settled(s, box, seq));
		if (found)
			return found;
		box = session_box_before(s, box, &upto);
		if (seq > upto)
			seq = upto;
	}
	return 0;
}
