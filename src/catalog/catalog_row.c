/* The catalog's data of one session. */
#include <stdlib.h>
#include <string.h>

#include "catalog/answers.h"
#include "catalog/catalog_priv.h"
#include "catalog/changed_files.h"
#include "catalog/deeds.h"
#include "catalog/digest.h"
#include "catalog/traits.h"
#include "check/past.h"
#include "check/summary.h"
#include "sessions/unmerged.h"
#include "base/mem.h"
#include "record/read/ended.h"
#include "record/read/lease.h"
#include "wire/event.h"

/* What one pass over the actions gathers. */
struct catalog_row {
	json_t *held, *answers; /* arrays */
	struct shard_actions actions;
	size_t bytes; /* of the deeds */
};

/* Deeds of one session in a shard; a session with more is read by `policy past`. */
enum { CATALOG_DEED_BYTES = 4 << 20 };

/* An action that was held, as `report` counts it. */
static void catalog_row_held(json_t *list, const struct past_action *a)
{
	json_t *o;
	if (a->suite || !json_flag(a->row, "held", false))
		return;
	o = json_object();
	json_put_str(o, "rule", json_str(a->row, "rule", NULL));
	json_put_str(o, "decision", json_str(a->row, "decision", NULL));
	json_put_str(o, "by", json_str(a->row, "by", NULL));
	json_put_int(o, "wait_us", json_int(a->row, "wait_us", 0));
	json_array_append_new(list, o);
}

static void catalog_row_deed(struct catalog_row *r, const struct past_action *a)
{
	/* a redacted one has no deed: who counts reads the session */
	r->actions.unknown |= !a->requested;
	CLEANUP(free_ptr) char *text = r->actions.unknown ? NULL : deed_of_action(a);
	if (!text)
		return;
	r->bytes += strlen(text);
	if (r->bytes > CATALOG_DEED_BYTES) {
		r->actions.unknown = true;
		return;
	}
	GROW(r->actions.id, r->actions.nr, r->actions.cap);
	r->actions.id[r->actions.nr++] = a->id;
	strv_push(&r->actions.text, text);
}

static void catalog_row_answer(json_t *list, const struct past_action *a)
{
	json_t *answer = human_answer(a);
	if (answer)
		json_array_append_new(list, answer);
}

static int catalog_row_on_held(void *self, const struct past_action *a, struct err *err)
{
	(void)err;
	catalog_row_held(((struct catalog_row *)self)->held, a);
	return 0;
}

static int catalog_row_on_decided(void *self, const struct past_action *a, struct err *err)
{
	(void)err;
	catalog_row_answer(((struct catalog_row *)self)->answers, a);
	return 0;
}

static int catalog_row_on_action(void *self, const struct past_action *a, struct err *err)
{
	struct catalog_row *r = self;
	(void)err;
	catalog_row_held(r->held, a);
	catalog_row_answer(r->answers, a);
	catalog_row_deed(r, a);
	return 0;
}

static int catalog_row_gather(struct session *s, struct catalog_row *r, struct err *err)
{
	r->actions.unknown = session_head(s) > SHARD_EVENTS_MOST;
	if (!r->actions.unknown)
		return past_each(s, NULL, NULL, catalog_row_on_action, r, err);
	/* of a long session, only actions that waited are read */
	return past_held(s, NULL, catalog_row_on_held, r, err) < 0
		       ? -1
		       : past_decided_in(s, catalog_row_on_decided, r, err);
}

static json_t *catalog_row_details(struct session *s, struct catalog_row *r, struct err *err)
{
	struct summary m = { 0 };
	json_t *o = NULL, *traits = session_traits(s, err);
	r->held = json_array();
	r->answers = json_array();
	if (traits && summary_of(s, &m, err) == 0 && catalog_row_gather(s, r, err) == 0) {
		o = json_object();
		json_put(o, "traits", json_incref(traits));
		json_put(o, "summary", summary_json(&m));
		json_put(o, "held", json_incref(r->held));
		json_put(o, "answers", json_incref(r->answers));
		json_put(o, "files", session_changed_files(s));
	}
	summary_release(&m);
	json_decref(traits);
	return o;
}

/* Lists show it of thousands of sessions: parsed faster than the details. */
static char *catalog_row_glance(struct session *s, const json_t *details, struct err *err)
{
	CLEANUP(json_release) json_t *o = json_object();
	struct summary m;
	struct unmerged u = UNMERGED_INIT;
	if (unmerged_read(&u, s, err) < 0)
		return NULL;
	summary_from_json(&m, json_object_get(details, "summary"));
	json_put(o, "agents",
		 json_incref(json_object_get(json_object_get(details, "traits"), "agents")));
	json_put(o, "labels",
		 json_incref(json_object_get(json_object_get(details, "traits"), "labels")));
	summary_put_cost(o, m.cost_uusd, m.cost_unknown);
	json_put_int(o, "failed", (int64_t)m.failed);
	json_put_int(o, "denied", (int64_t)(m.denied + m.denied_by_rule));
	json_put_int(o, "unmerged", (int64_t)unmerged_work(&u));
	summary_release(&m);
	unmerged_release(&u);
	return json_dump_str(o);
}

static void catalog_row_release(struct catalog_row *r)
{
	json_decref(r->held);
	json_decref(r->answers);
	free(r->actions.id);
	strv_release(&r->actions.text);
}

/* As `ls` prints it. The strings of @out are of the arena. */
static int catalog_row_about(struct session *s, const struct session_file *f, struct arena *arena,
			     struct shard_session *out, struct err *err)
{
	struct event ev;
	struct ev_session_end end;
	uint64_t head = session_head(s);
	*out = (struct shard_session){ .file = catalog_name(f->path),
				       .id = arena_strdup(arena, session_id(s)),
				       .size = f->size,
				       .mtime_us = f->mtime_us,
				       .events = head };
	if (session_event(s, 1, &ev, arena, err) < 0)
		return -1;
	out->begun_us = ev.ts_us;
	if (session_event(s, head, &ev, arena, err) < 0)
		return -1;
	if (ev.kind != EV_SESSION_END)
		return err_set(err, ERR_INVALID, "session '%s' has no end", f->id);
	out->last_us = digest_ended_us(s, ev.ts_us);
	event_decode(&desc_ev_session_end, &ev, arena, &end);
	out->state = ended_word(&end);
	struct ev_text why = ended_why(&end);
	out->why = why.n ? arena_strndup(arena, why.s, why.n) : NULL;
	return 0;
}

int catalog_add_session(struct shard_maker *m, const struct session_file *f, struct err *err)
{
	struct session *s;
	struct shard_session about;
	struct arena arena = ARENA_INIT;
	struct catalog_row row = { 0 };
	CLEANUP(json_release) json_t *details = NULL;
	CLEANUP(free_ptr) char *glance = NULL;
	if (lease_busy(f->path))
		return err_set(err, ERR_BUSY, "session '%s' is being written", f->id);
	if (session_open(&s, f->path, err) < 0)
		return -1;
	int rc = catalog_row_about(s, f, &arena, &about, err);
	if (rc == 0)
		rc = (details = catalog_row_details(s, &row, err)) &&
				     (glance = catalog_row_glance(s, details, err))
			     ? 0
			     : -1;
	about.glance = glance;
	if (rc == 0)
		rc = shard_maker_add(m, s, &about, details, &row.actions, err);
	catalog_row_release(&row);
	session_close(&s);
	arena_release(&arena);
	return rc;
}
