/* model_apply for what actions leave behind and work in: boxes, dry runs, second runs. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "ui/model/journal.h"
#include "ui/model/model_fold.h"

void fold_text(char **at, const char *s)
{
	if (!s)
		return;
	free(*at);
	*at = mem_strdup(s);
}

void fold_bytes(char **at, const json_t *o, const char *key)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (json_get_bytes(json_object_get(o, key), &b))
		fold_text(at, buf_cstr(&b));
}

struct model_box *fold_box(struct model *m, uint64_t id)
{
	struct model_box *b = (struct model_box *)(uintptr_t)model_box(m, id);
	journal_keep_box(m->journal, b);
	return b;
}
struct model_action *fold_action(struct model *m, uint64_t id)
{
	struct model_action *a = (struct model_action *)(uintptr_t)model_action(m, id);
	journal_keep_action(m->journal, a);
	return a;
}

/* --- boxes ------------------------------------------------------------------------------------ */

void fold_box_open(struct model *m, const struct event *ev, const json_t *o)
{
	const json_t *net = json_object_get(o, "net"), *repos = json_object_get(o, "repos");
	bool target = false;
	for (size_t i = 0; i < json_array_size(repos); i++)
		target = target || json_object_get(json_array_get(repos, i), "dir");
	struct model_box *was = fold_box(m, (uint64_t)json_int(o, "was", 0));
	if (was)
		was->again = true;
	GROW(m->box, m->nr_boxes, m->cap_boxes);
	m->box[m->nr_boxes++] = (struct model_box){
		.id = ev->seq,
		.asked_us = ev->ts_us,
		.target = target,
		.name = mem_strdup(json_str(o, "name", "box")),
		.driver = mem_strdup(json_str(o, "driver", "")),
		.profile = mem_strdup(""),
		.net = json_is_string(net) ? mem_strdup(json_string_value(net)) : mem_strdup(""),
	};
}

static struct box_snapshot *model_fold_box_layer(struct model_box *b, const char *repo)
{
	size_t i = 0;
	while (i < b->nr_snapshots && strcmp(b->snapshot[i].repo, repo) != 0)
		i++;
	if (i == b->nr_snapshots) {
		GROW(b->snapshot, b->nr_snapshots, b->cap_snapshots);
		b->snapshot[b->nr_snapshots++] = (struct box_snapshot){ .repo = mem_strdup(repo) };
	}
	return &b->snapshot[i];
}

static void model_fold_box_snapshot(struct model *m, struct model_box *b, const struct event *ev,
				    const json_t *o)
{
	const char *why = json_str(o, "why", "");
	const json_t *by = json_object_get(o, "by");
	struct box_snapshot *l = model_fold_box_layer(b, json_str(o, "repo", ""));
	/* older records have no count of files */
	uint32_t touched = (uint32_t)json_int(o, "files", json_int(o, "touched", 0));
	b->touched += touched - l->touched;
	l->touched = touched;
	l->seq = ev->seq;
	if (json_int(o, "changed", 1) > 0 && strcmp(why, "open") != 0 && strcmp(why, "resume") != 0)
		b->changed = ev->seq;
	for (size_t k = 0; k < json_array_size(by); k++) {
		struct model_action *act =
			fold_action(m, (uint64_t)json_integer_value(json_array_get(by, k)));
		if (act)
			act->snapshot = ev->seq, m->owner = act->agent;
	}
}

/* A hosted sandbox's cost counts for its opener. */
static void model_fold_box_rented(struct model *m, const struct event *ev, const json_t *cost)
{
	struct model_agent *a = fold_agent(m, ev->agent);
	int64_t uusd = json_int(cost, "uusd", 0);
	bool unknown = json_int(cost, "open_us", 0) > 0 && !json_object_get(cost, "uusd");
	m->uusd += uusd;
	m->cost_unknown = m->cost_unknown || unknown;
	if (!a)
		return;
	a->uusd += uusd;
	a->cost_unknown = a->cost_unknown || unknown;
}

void fold_box_event(struct model *m, const struct event *ev, const json_t *o)
{
	struct model_box *b = fold_box(m, ev->box);
	if (!b)
		return;
	switch (ev->kind) {
	case EV_BOX_READY:
		b->ready = true;
		fold_text(&b->profile, json_str(o, "profile", ""));
		break;
	case EV_BOX_CLOSED:
		b->closed = true;
		model_fold_box_rented(m, ev, json_object_get(o, "cost"));
		break;
	case EV_BOX_FROZEN:
		b->frozen = json_flag(o, "frozen", false);
		break;
	case EV_BOX_WARN:
	case EV_BOX_NOTICE:
		fold_bytes(&m->warning, o, "text");
		break;
	case EV_SNAPSHOT_TAKEN:
		model_fold_box_snapshot(m, b, ev, o);
		break;
	case EV_BASE_HASHED:
		model_fold_box_layer(b, json_str(o, "repo", ""))->base = ev->seq;
		break;
	case EV_MERGE_PLANNED:
		b->planned = ev->seq;
		break;
	case EV_MERGE_DONE:
		if (json_int(json_object_get(o, "unmerged"), "files", json_int(o, "left", 0)) ==
		    0) {
			b->merged = ev->seq;
			strncpy(b->merge, json_str(o, "merge", ""), sizeof(b->merge) - 1);
		}
		break;
	default:
		break;
	}
}

/* --- dry runs --------------------------------------------------------------------------------- */

void fold_dry_run(struct model *m, const struct event *ev, const json_t *o)
{
	struct model_action *act = fold_action(m, ev->action);
	if (!act)
		return;
	if (ev->kind == EV_PREVIEW_STARTED) {
		act->preview = ev->seq;
		act->preview_us = ev->ts_us;
		act->previewed = 0;
		act->promotable = false;
	} else if ((uint64_t)json_int(o, "preview", 0) != act->preview) {
		return;
	} else if (ev->kind == EV_PREVIEW_ENDED) {
		act->previewed = ev->seq;
		act->promotable =
			strcmp(json_str(o, "end", ""), "ok") == 0 && !json_flag(o, "cut", false);
	} else if (ev->kind == EV_PREVIEW_DROPPED) {
		act->promotable = false;
	}
}

/* Dry runs of a killed supervisor are gone. */
void fold_forget_dry_runs(struct model *m)
{
	for (size_t i = 0; i < m->nr_actions; i++) {
		struct model_action *act = &m->action[i];
		if (!act->promotable && (act->previewed || !act->preview))
			continue;
		journal_keep_action(m->journal, act);
		act->promotable = false;
		if (!act->previewed)
			act->preview = 0;
	}
}

/* --- second runs ------------------------------------------------------------------------------ */

static void repeat_step(struct model *m, struct model_repeat r)
{
	GROW(m->repeat, m->nr_repeats, m->cap_repeats);
	m->repeat[m->nr_repeats++] = r;
}

static struct model_repeat repeat_of_seq(const struct model *m, uint64_t seq)
{
	for (size_t i = m->nr_repeats; i > 0; i--)
		if (m->repeat[i - 1].seq == seq)
			return m->repeat[i - 1];
	return (struct model_repeat){ 0 };
}

void fold_repeat(struct model *m, const struct event *ev, const json_t *o)
{
	const json_t *origin = json_object_get(o, "origin");
	struct model_repeat r = { .seq = ev->seq,
				  .begin_us = ev->ts_us,
				  .of = (uint64_t)json_int(origin, "action", 0),
				  .here = m->id &&
					  strcmp(json_str(origin, "session", ""), m->id) == 0 };
	if (ev->kind == EV_REDO_ENDED) {
		r = repeat_of_seq(m, (uint64_t)json_int(o, "started", 0));
		r.ended = ev->seq;
	}
	if (r.seq)
		repeat_step(m, r);
}

/* The second run of a command names the repeat as its cause; true: it is one. */
bool fold_repeat_action(struct model *m, const struct event *ev)
{
	struct model_repeat r =
		ev->agent ? (struct model_repeat){ 0 } : repeat_of_seq(m, ev->cause);
	r.again = ev->seq;
	if (r.seq)
		repeat_step(m, r);
	return r.seq != 0;
}
