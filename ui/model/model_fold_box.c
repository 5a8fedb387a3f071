/* model_apply for what actions leave behind and work in: boxes, dry runs, second runs. */
#include <stdlib.h>
#include <string.h>

#include "ui/model/journal.h"
#include "ui/model/model_fold.h"

void fold_text(char **at, const char *s)
{
	if (!s)
		return;
	free(*at);
	*at = mem_strdup(s);
}

void fold_bytes(char **at, struct ev_text t)
{
	if (!t.s)
		return;
	free(*at);
	*at = mem_strndup(t.s, t.n);
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

void fold_box_open(struct model *m, const struct event *ev, const struct ev_box_open *o)
{
	bool target = false;
	for (size_t i = 0; i < o->repos.nr; i++)
		target = target || o->repos.item[i].dir.s;
	struct model_box *was = fold_box(m, (uint64_t)o->was);
	if (was)
		was->again = true;
	GROW(m->box, m->nr_boxes, m->cap_boxes);
	m->box[m->nr_boxes++] = (struct model_box){
		.id = ev->seq,
		.asked_us = ev->ts_us,
		.target = target,
		.name = o->name.s ? mem_strndup(o->name.s, o->name.n) : mem_strdup("box"),
		.driver = mem_strndup(o->driver.s ? o->driver.s : "", o->driver.n),
		.profile = mem_strdup(""),
	};
}

static struct box_snapshot *model_fold_box_layer(struct model_box *b, struct ev_text name)
{
	struct ev_text repo = { name.s ? name.s : "", name.n };
	size_t i = 0;
	while (i < b->nr_snapshots && !ev_text_is(repo, b->snapshot[i].repo))
		i++;
	if (i == b->nr_snapshots) {
		GROW(b->snapshot, b->nr_snapshots, b->cap_snapshots);
		b->snapshot[b->nr_snapshots++] =
			(struct box_snapshot){ .repo = mem_strndup(repo.s, repo.n) };
	}
	return &b->snapshot[i];
}

static void model_fold_box_snapshot(struct model *m, struct model_box *b, const struct event *ev,
				    const struct ev_snapshot_taken *o)
{
	struct box_snapshot *l = model_fold_box_layer(b, o->repo);
	/* older records have no count of files */
	uint32_t touched = (uint32_t)(o->has_files ? o->files : o->touched);
	b->touched += touched - l->touched;
	l->touched = touched;
	l->seq = ev->seq;
	if ((!o->has_changed || o->changed > 0) && !ev_text_is(o->why, "open") &&
	    !ev_text_is(o->why, "resume"))
		b->changed = ev->seq;
	for (size_t k = 0; k < o->by.nr; k++) {
		struct model_action *act = fold_action(m, (uint64_t)o->by.item[k]);
		if (act)
			act->snapshot = ev->seq, m->owner = act->agent;
	}
}

/* A hosted sandbox's cost counts for its opener. */
static void model_fold_box_closed(struct model *m, const struct event *ev,
				  const struct ev_box_closed *o)
{
	struct model_agent *a = fold_agent(m, ev->agent);
	int64_t uusd = o->cost.uusd;
	bool unknown = o->cost.open_us > 0 && !o->cost.has_uusd;
	m->uusd += uusd;
	m->cost_unknown = m->cost_unknown || unknown;
	if (!a)
		return;
	a->uusd += uusd;
	a->cost_unknown = a->cost_unknown || unknown;
}

static void model_fold_box_ready(struct model_box *b, const struct ev_box_ready *o)
{
	b->ready = true;
	fold_text(&b->profile, "");
	fold_bytes(&b->profile, o->profile);
}

static void model_fold_box_frozen(struct model_box *b, const struct ev_box_frozen *o)
{
	b->frozen = o->frozen;
}

static void model_fold_box_warn(struct model *m, const struct ev_box_warn *o)
{
	fold_bytes(&m->warning, o->text);
}

static void model_fold_box_notice(struct model *m, const struct ev_box_notice *o)
{
	fold_bytes(&m->warning, o->text);
}

static void model_fold_box_hashed(struct model_box *b, const struct event *ev,
				  const struct ev_base_hashed *o)
{
	model_fold_box_layer(b, o->repo)->base = ev->seq;
}

static void model_fold_box_merged(struct model_box *b, const struct event *ev,
				  const struct ev_merge_done *o)
{
	if ((o->unmerged.has_files ? o->unmerged.files : o->left) != 0)
		return;
	b->merged = ev->seq;
	snprintf(b->merge, sizeof(b->merge), "%.*s", (int)o->merge.n, o->merge.s ? o->merge.s : "");
}

void fold_box_event(struct model *m, const struct event *ev, const void *body)
{
	struct model_box *b = fold_box(m, ev->box);
	if (!b)
		return;
	switch (ev->kind) {
	case EV_BOX_READY:
		model_fold_box_ready(b, body);
		break;
	case EV_BOX_CLOSED:
		b->closed = true;
		model_fold_box_closed(m, ev, body);
		break;
	case EV_BOX_FROZEN:
		model_fold_box_frozen(b, body);
		break;
	case EV_BOX_WARN:
		model_fold_box_warn(m, body);
		break;
	case EV_BOX_NOTICE:
		model_fold_box_notice(m, body);
		break;
	case EV_SNAPSHOT_TAKEN:
		model_fold_box_snapshot(m, b, ev, body);
		break;
	case EV_BASE_HASHED:
		model_fold_box_hashed(b, ev, body);
		break;
	case EV_MERGE_PLANNED:
		b->planned = ev->seq;
		break;
	case EV_MERGE_DONE:
		model_fold_box_merged(b, ev, body);
		break;
	default:
		break;
	}
}

/* --- dry runs --------------------------------------------------------------------------------- */

static void model_dry_run_ended(struct model_action *act, const struct event *ev,
				const struct ev_preview_ended *o)
{
	if ((uint64_t)o->preview != act->preview)
		return;
	act->previewed = ev->seq;
	act->promotable = ev_text_is(o->end, "ok") && !o->cut;
}

static void model_dry_run_dropped(struct model_action *act, const struct ev_preview_dropped *o)
{
	if ((uint64_t)o->preview == act->preview)
		act->promotable = false;
}

void fold_dry_run(struct model *m, const struct event *ev, const void *body)
{
	struct model_action *act = fold_action(m, ev->action);
	if (!act)
		return;
	if (ev->kind == EV_PREVIEW_STARTED) {
		act->preview = ev->seq;
		act->preview_us = ev->ts_us;
		act->previewed = 0;
		act->promotable = false;
	} else if (ev->kind == EV_PREVIEW_ENDED) {
		model_dry_run_ended(act, ev, body);
	} else if (ev->kind == EV_PREVIEW_DROPPED) {
		model_dry_run_dropped(act, body);
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

static struct model_repeat model_repeat_started(const struct model *m, const struct event *ev,
						const struct ev_redo_started *o)
{
	struct ev_text session = o->origin.session;
	return (struct model_repeat){ .seq = ev->seq,
				      .begin_us = ev->ts_us,
				      .of = (uint64_t)o->origin.action,
				      .here = m->id &&
					      (session.n ? ev_text_is(session, m->id) : !*m->id) };
}

static struct model_repeat model_repeat_ended(const struct model *m, const struct event *ev,
					      const struct ev_redo_ended *o)
{
	struct model_repeat r = repeat_of_seq(m, (uint64_t)o->started);
	r.ended = ev->seq;
	return r;
}

void fold_repeat(struct model *m, const struct event *ev, const void *body)
{
	struct model_repeat r = ev->kind == EV_REDO_ENDED ? model_repeat_ended(m, ev, body)
							  : model_repeat_started(m, ev, body);
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
