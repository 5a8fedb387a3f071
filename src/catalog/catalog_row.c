/* What the catalog keeps of one session. */
#include <string.h>

#include "catalog/answers.h"
#include "catalog/catalog_priv.h"
#include "catalog/traits.h"
#include "check/past.h"
#include "check/summary.h"
#include "sessions/unmerged.h"
#include "base/mem.h"
#include "record/read/ended.h"
#include "record/read/lease.h"
#include "wire/event.h"

/* An action that was held, as `report` counts it. */
static int catalog_row_held(void *self, const struct past_action *a, struct err *err)
{
	json_t *o;
	(void)err;
	if (a->suite || !json_flag(a->row, "held", false))
		return 0;
	o = json_object();
	json_put_str(o, "rule", json_str(a->row, "rule", NULL));
	json_put_str(o, "decision", json_str(a->row, "decision", NULL));
	json_put_str(o, "by", json_str(a->row, "by", NULL));
	json_put_int(o, "wait_us", json_int(a->row, "wait_us", 0));
	json_array_append_new(self, o);
	return 0;
}

static int catalog_row_answer(void *self, const struct past_action *a, struct err *err)
{
	json_t *answer = human_answer(a);
	(void)err;
	if (answer)
		json_array_append_new(self, answer);
	return 0;
}

static json_t *catalog_row_details(struct session *s, struct err *err)
{
	struct summary m = { 0 };
	json_t *held = json_array(), *answers = json_array(), *o = NULL,
	       *traits = session_traits(s, err);
	if (traits && summary_of(s, &m, err) == 0 &&
	    past_held(s, NULL, catalog_row_held, held, err) == 0 &&
	    past_decided_in(s, catalog_row_answer, answers, err) == 0) {
		o = json_object();
		json_put(o, "traits", json_incref(traits));
		json_put(o, "summary", summary_json(&m));
		json_put(o, "held", json_incref(held));
		json_put(o, "answers", json_incref(answers));
	}
	summary_release(&m);
	json_decref(traits);
	json_decref(held);
	json_decref(answers);
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
	summary_put_cost(o, m.cost_uusd, m.cost_unknown);
	json_put_int(o, "failed", (int64_t)m.failed);
	json_put_int(o, "denied", (int64_t)(m.denied + m.denied_by_rule));
	json_put_int(o, "unmerged", (int64_t)unmerged_files(&u));
	summary_release(&m);
	unmerged_release(&u);
	return json_dump_str(o);
}

/* As `ls` prints it. The strings of @out are of the arena and of @end. */
static int catalog_row_about(struct session *s, const struct session_file *f, struct arena *arena,
			     json_t **end, struct shard_session *out, struct err *err)
{
	struct event ev;
	size_t len;
	uint64_t head = session_head(s);
	*out = (struct shard_session){ .file = catalog_name(f->path),
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
	out->last_us = ev.ts_us;
	*end = ev.body ? json_parse(ev.body, ev.len, "event", err) : NULL;
	out->state = ended_word(*end);
	const char *why = ended_why(*end, &len);
	out->why = len ? arena_strndup(arena, why, len) : NULL;
	return 0;
}

int catalog_add_session(struct shard_maker *m, const struct session_file *f, struct err *err)
{
	struct session *s;
	struct shard_session about;
	struct arena arena = ARENA_INIT;
	CLEANUP(json_release) json_t *end = NULL, *details = NULL;
	CLEANUP(free_ptr) char *glance = NULL;
	if (lease_busy(f->path))
		return err_set(err, ERR_BUSY, "session '%s' is being written", f->id);
	if (session_open(&s, f->path, err) < 0)
		return -1;
	int rc = catalog_row_about(s, f, &arena, &end, &about, err);
	if (rc == 0)
		rc = (details = catalog_row_details(s, err)) &&
				     (glance = catalog_row_glance(s, details, err))
			     ? 0
			     : -1;
	about.glance = glance;
	if (rc == 0)
		rc = shard_maker_add(m, s, &about, details, err);
	session_close(&s);
	arena_release(&arena);
	return rc;
}
