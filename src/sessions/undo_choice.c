#include "sessions/undo_choice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/workspace/merge.h"

enum { UNDO_NAMED_MAX = 5 };

/* A patch file is not a merge that could be taken back. */
static bool can_undo(const struct unmerged_merge *m)
{
	return json_object_get(m->body, "undo") != NULL;
}

static size_t undo_newest(const struct unmerged *u, bool undone)
{
	for (size_t i = u->nr_merges; i-- > 0;)
		if (u->merges[i].undone == undone && can_undo(&u->merges[i]))
			return i;
	return SIZE_MAX;
}

static void undo_name(const struct unmerged *u, size_t i, struct buf *out)
{
	const struct unmerged_merge *m = &u->merges[i];
	buf_printf(out, "#%" PRIu64 " (merge of sandbox %s)", m->seq, u->box[m->box].name);
}

/* "#12 (merge of sandbox a), #9 (rollback of sandbox b)": newest first. */
static void undo_names(const struct unmerged *u, const struct undo_other *other, struct buf *out)
{
	bool told = other->at == 0;
	size_t nr = 0;
	for (size_t i = u->nr_merges; i-- > 0 && nr < UNDO_NAMED_MAX;) {
		const struct unmerged_merge *m = &u->merges[i];
		if (m->undone || !can_undo(m))
			continue;
		if (!told && other->at > m->seq) {
			buf_printf(out, "%s#%" PRIu64 " (%s)", nr++ ? ", " : "", other->at,
				   other->what);
			told = true;
		}
		buf_puts(out, nr++ ? ", " : "");
		undo_name(u, i, out);
	}
	if (!told && nr < UNDO_NAMED_MAX)
		buf_printf(out, "%s#%" PRIu64 " (%s)", nr++ ? ", " : "", other->at, other->what);
	size_t all = other->at != 0;
	for (size_t i = 0; i < u->nr_merges; i++)
		all += !u->merges[i].undone && can_undo(&u->merges[i]);
	if (all > nr)
		buf_printf(out, ", and %zu older", all - nr);
}

uint64_t undo_newest_merge(const struct unmerged *u)
{
	size_t at = undo_newest(u, false);
	return at == SIZE_MAX ? 0 : u->merges[at].seq;
}

bool undo_is_undone(const struct unmerged *u, uint64_t id)
{
	for (size_t i = 0; i < u->nr_merges; i++)
		if (u->merges[i].undone && (u->merges[i].seq == id || u->merges[i].action == id))
			return true;
	return false;
}

static int undo_not_there(const struct unmerged *u, uint64_t id, const struct undo_other *other,
			  struct err *err)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT;
	undo_names(u, other, &names);
	if (undo_is_undone(u, id))
		return err_set(err, ERR_NOENT, "merge #%" PRIu64 " is already undone%s%s", id,
			       names.len ? "; you can undo " : "", buf_cstr(&names));
	return names.len
		       ? err_set(err, ERR_NOENT, "#%" PRIu64 " can't be undone; you can undo %s",
				 id, buf_cstr(&names))
		       : err_set(err, ERR_NOENT,
				 "#%" PRIu64
				 " can't be undone: expected a merge, a rollback, or an action that "
				 "changed files\n'sandglass blame FILE' names the action of each line.",
				 id);
}

/* A branch or HEAD has moved on to a later merge of the same step. */
static int undo_below(const struct unmerged *u, size_t of, struct err *err)
{
	const struct unmerged_merge *m = &u->merges[of];
	const char *group = json_str(m->body, "group", NULL), *mode = json_str(m->body, "mode", "");
	if (!group || !strcmp(mode, "apply"))
		return 0;
	for (size_t i = u->nr_merges; i-- > of + 1;)
		if (!u->merges[i].undone &&
		    !strcmp(json_str(u->merges[i].body, "group", ""), group))
			return err_set(err, ERR_BUSY,
				       "merge #%" PRIu64 " of sandbox %s is below #%" PRIu64
				       "\nUndo that merge first, or all merges with 'undo' alone.",
				       m->seq, u->box[m->box].name, u->merges[i].seq);
	return 0;
}

static int undo_by_id(struct undo_choice *c, const struct unmerged *u, uint64_t id,
		      const struct undo_other *other, struct err *err)
{
	for (size_t i = u->nr_merges; i-- > 0;) {
		const struct unmerged_merge *m = &u->merges[i];
		if (m->undone || !can_undo(m) || (m->seq != id && m->action != id))
			continue;
		if (undo_below(u, i, err) < 0)
			return -1;
		c->merge[c->nr++] = i;
		return 0;
	}
	return undo_not_there(u, id, other, err);
}

static void undo_whole_step(struct undo_choice *c, const struct unmerged *u, size_t of)
{
	const char *group = json_str(u->merges[of].body, "group", NULL);
	for (size_t i = u->nr_merges; i-- > 0;)
		if (!u->merges[i].undone &&
		    (i == of ||
		     (group && !strcmp(json_str(u->merges[i].body, "group", ""), group))))
			c->merge[c->nr++] = i;
}

int undo_choose(struct undo_choice *c, const struct unmerged *u, uint64_t id,
		const struct undo_other *other, struct err *err)
{
	size_t newest = undo_newest(u, false), undone = undo_newest(u, true);
	uint64_t at = newest == SIZE_MAX ? 0 : u->merges[newest].seq;
	*c = (struct undo_choice){ .merge = mem_calloc(u->nr_merges + 1, sizeof(*c->merge)) };
	if (id)
		return undo_by_id(c, u, id, other, err);
	if (!at && !other->at)
		return err_set(err, ERR_NOENT,
			       "no merge, rollback, breakpoint, or session approval to undo");
	c->other = other->at > at;
	if (c->other)
		at = other->at;
	if (undone != SIZE_MAX && u->merges[undone].seq > at) {
		CLEANUP(buf_release) struct buf names = BUF_INIT;
		undo_names(u, other, &names);
		return err_set(err, ERR_NOENT,
			       "merge #%" PRIu64
			       " is already undone\nTo undo something older, name it: %s.",
			       u->merges[undone].seq, buf_cstr(&names));
	}
	if (!c->other)
		undo_whole_step(c, u, newest);
	return 0;
}

/* Nothing was undone: the merges stay as they are. */
static void undo_all_gone(json_t *list, struct err *err)
{
	CLEANUP(buf_release) struct buf dir = BUF_INIT;
	const json_t *targets = json_object_get(json_array_get(list, 0), "targets");
	json_get_bytes(json_object_get(json_array_get(targets, 0), "dir"), &dir);
	err_set(err, ERR_NOENT, "nothing undone: directory '%.300s' not found", buf_cstr(&dir));
	json_array_clear(list);
}

json_t *undo_merges(const struct undo_choice *c, const struct unmerged *u, struct err *err)
{
	CLEANUP(free_ptr) char *dir = paths_state("undo");
	json_t *list = json_array();
	size_t gone = 0;
	for (size_t i = 0; i < c->nr; i++) {
		struct merge_opts o = { .id = u->merges[c->merge[i]].id,
					.undo_dir = dir,
					.ts_us = clock_wall_us() };
		json_t *body = NULL;
		if (merge_undo(&o, &body, err) < 0) {
			if (i)
				err_wrap(err, "%zu of %zu merges are undone", i, c->nr);
			return list;
		}
		json_put_int(body, "of", (int64_t)u->merges[c->merge[i]].seq);
		json_array_append_new(list, body);
		gone += merge_all_gone(body);
	}
	if (gone && gone == c->nr)
		undo_all_gone(list, err);
	return list;
}

json_t *undo_result(json_t *list)
{
	json_t *first = json_array_get(list, 0), *o;
	if (json_array_size(list) == 1) {
		o = json_incref(first);
		json_decref(list);
		return o;
	}
	o = json_object();
	json_put_str(o, "merge", json_str(first, "merge", ""));
	json_put(o, "merges", list);
	return o;
}

void undo_choice_release(struct undo_choice *c)
{
	free(c->merge);
	*c = (struct undo_choice){ 0 };
}
