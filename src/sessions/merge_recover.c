#include "sessions/merge_recover.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/read/settled.h"
#include "sandbox/workspace/merge.h"
#include "sessions/merge_intent.h"

/* Ids of the merges that the recording has. */
static void recover_done(struct session *s, struct strv *out)
{
	for (uint64_t seq = 0; (seq = session_next_of(s, EV_MERGE_DONE, 0, seq));) {
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		struct event ev;
		struct err none = ERR_INIT;
		if (session_event(s, seq, &ev, &a, &none) < 0 || !ev.body)
			continue; /* redacted */
		CLEANUP(json_release)
		json_t *body = json_parse(ev.body, ev.len, "event", &none);
		strv_push(out, json_str(body, "merge", ""));
	}
}

/* Entries of @intent that have written something and are not recorded. */
static void recover_standing(const json_t *intent, const struct strv *done, json_t *out)
{
	const json_t *merges = json_object_get(intent, "merges");
	CLEANUP(free_ptr) char *dir = paths_state("undo");
	for (size_t i = 0; i < json_array_size(merges); i++) {
		json_t *one = json_array_get(merges, i);
		struct merge_opts o = { .id = json_str(one, "merge", ""), .undo_dir = dir };
		bool known = false;
		for (size_t k = 0; k < done->nr; k++)
			known |= !strcmp(done->item[k], o.id);
		if (!known && *o.id && merge_stands(&o))
			json_array_append(out, one);
	}
}

json_t *merge_recover_look(struct session *s)
{
	CLEANUP(json_release) json_t *intents = merge_intents_left(session_id(s));
	CLEANUP(strv_release) struct strv done = STRV_INIT;
	json_t *out = json_array();
	if (json_array_size(intents))
		recover_done(s, &done);
	for (size_t i = 0; i < json_array_size(intents); i++)
		recover_standing(json_array_get(intents, i), &done, out);
	return out;
}

json_t *merge_recover_boxes(struct session *s)
{
	CLEANUP(json_release) json_t *left = merge_recover_look(s);
	json_t *out = json_array();
	for (size_t i = 0; i < json_array_size(left); i++)
		json_array_append_new(out,
				      json_string(json_str(json_array_get(left, i), "name", "")));
	return out;
}

static int recover_one(const json_t *one, const char *dir, json_t *out, struct err *err)
{
	struct merge_opts o = { .id = json_str(one, "merge", ""),
				.undo_dir = dir,
				.ts_us = clock_wall_us() };
	json_t *body = NULL;
	if (merge_undo(&o, &body, err) < 0)
		return err_wrap(err, "can't take back the interrupted merge of sandbox '%.60s'",
				json_str(one, "name", ""));
	json_put_flag(body, "interrupted", true);
	json_put_int(body, "box", json_int(one, "box", 0));
	json_put_str(body, "name", json_str(one, "name", ""));
	json_array_append_new(out, body);
	return 0;
}

int merge_recover(struct session *s, json_t **out, struct err *err)
{
	CLEANUP(free_ptr) char *dir = paths_state("undo");
	*out = json_array();
	if (merge_intents_wait(session_id(s), err) < 0)
		return -1;
	CLEANUP(json_release) json_t *intents = merge_intents_left(session_id(s));
	CLEANUP(strv_release) struct strv done = STRV_INIT;
	int rc = 0;
	if (json_array_size(intents))
		recover_done(s, &done);
	for (size_t i = 0; rc == 0 && i < json_array_size(intents); i++) {
		const json_t *intent = json_array_get(intents, i);
		CLEANUP(json_release) json_t *list = json_array();
		recover_standing(intent, &done, list);
		for (size_t k = json_array_size(list); rc == 0 && k-- > 0;)
			rc = recover_one(json_array_get(list, k), dir, *out, err);
		if (rc == 0)
			merge_intent_settled(intent);
	}
	return rc;
}

void merge_recover_forget(struct session *s)
{
	CLEANUP(json_release) json_t *intents = merge_intents_left(session_id(s));
	for (size_t i = 0; i < json_array_size(intents); i++)
		merge_intent_settled(json_array_get(intents, i));
}

void merge_recover_names(const json_t *list, struct buf *out)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		buf_printf(out, "%s%s", i ? ", " : "",
			   json_str(json_array_get(list, i), "name", ""));
}
