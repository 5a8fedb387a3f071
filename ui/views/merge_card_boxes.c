/* Part of merge_card.c: the card of a merge of several sandboxes in one step. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ui/views/merge_card_priv.h"
#include "ui/views/merge_card.h"
#include "record/read/settled.h"
#include "ui/views/review_priv.h"

/* --- of several sandboxes in one step --- */

static const char *between_side_words(const json_t *item, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const json_t *side = json_object_get(item, "boxes");
	for (size_t i = 0; i < json_array_size(side); i++) {
		const json_t *o = json_array_get(side, i);
		buf_printf(&b, "%s%s in %s", i ? ", " : "", json_str(o, "how", "changed"),
			   one_line(json_str(o, "name", ""), a));
	}
	return arena_strdup(a, buf_cstr(&b));
}

/* Conflicts between sandboxes; the plan of each names all of them. */
static size_t between_lines(struct text *t, const json_t *o)
{
	const json_t *list = json_object_get(o, "between");
	size_t nr = json_array_size(list);
	for (size_t i = 0; i < nr && i < CARD_FILES; i++) {
		const json_t *item = json_array_get(list, i);
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		json_get_bytes(json_object_get(item, "path"), &line);
		buf_printf(&line, " (%s)", between_side_words(item, t->arena));
		text_add(t, ROLE_FAILED, "!", line.data, line.len, 0);
	}
	plan_more_line(t, nr, "files");
	return nr;
}

static size_t target_conflicts(const json_t *o)
{
	return plan_conflicts(o) - json_array_size(json_object_get(o, "between"));
}

/* With your repository. */
static void target_lines(struct text *t, const json_t *o, const char *name)
{
	if (target_conflicts(o))
		text_putf(t, ROLE_FAILED, "of %s with your repository:", one_line(name, t->arena));
	plan_conflict_lines(t, o);
	plan_branch_lines(t, o);
}

static bool same_choice(const json_t *o, const json_t *args, const char *key)
{
	const json_t *a = json_object_get(o, key), *b = json_object_get(args, key);
	return json_array_size(a) == json_array_size(b) &&
	       (!json_array_size(a) || json_equal(a, b));
}

static bool among_boxes(const json_t *boxes, uint64_t id)
{
	for (size_t i = 0; i < json_array_size(boxes); i++)
		if ((uint64_t)json_int(json_array_get(boxes, i), "box", 0) == id)
			return true;
	return false;
}

/* Was the step of plan @group one of more sandboxes than @boxes? */
static bool plan_has_others(struct source *s, const json_t *boxes, const char *group)
{
	for (size_t i = 0; i < s->model.nr_boxes; i++) {
		const struct model_box *b = &s->model.box[i];
		if (!b->planned || among_boxes(boxes, b->id))
			continue;
		CLEANUP(json_release) json_t *o = source_body(s, b->planned);
		if (!strcmp(json_str(o, "group", ""), group))
			return true;
	}
	return false;
}

static const char *boxes_plan_differs(struct source *s, const struct model_box *b, const json_t *o,
				      const json_t *req, const char *group)
{
	const json_t *args = json_object_get(req, "args");
	const json_t *first = json_array_get(json_object_get(o, "targets"), 0);
	if (!*group || strcmp(json_str(o, "group", ""), group) != 0 ||
	    plan_has_others(s, json_object_get(req, "boxes"), group))
		return "was of other sandboxes";
	if (strcmp(json_str(o, "mode", "branch"), json_str(args, "mode", "branch")) != 0)
		return "was of another mode";
	if (json_object_get(args, "into") &&
	    !merge_same_dir(json_object_get(first, "dir"), json_object_get(req, "host_path")))
		return "was for another directory";
	if (!same_choice(o, args, "leave") || !same_choice(o, args, "take") ||
	    json_object_get(o, "taken"))
		return "was of other files";
	if (json_flag(o, "with_ignored", false))
		return "treated ignored files differently";
	if (b->planned < b->changed)
		return "came before the newest change";
	for (size_t i = 0; i < s->model.nr_drifts; i++)
		if (s->model.drift[i].box == b->id && s->model.drift[i].seq > b->planned)
			return "came before a change in your repository";
	return NULL;
}

/* The newest plan of each sandbox of @req, or what else says how its merge went. */
struct boxes_plans {
	size_t nr, conflicts;
	json_t **body; /* NULL: none; owned */
	uint64_t first;
	const char *differs, *why;
};

static void boxes_plans_read(struct boxes_plans *p, struct source *s, const json_t *req)
{
	const json_t *boxes = json_object_get(req, "boxes");
	const char *group = "";
	*p = (struct boxes_plans){ .nr = json_array_size(boxes) };
	p->body = mem_calloc(p->nr + 1, sizeof(*p->body));
	for (size_t i = 0; i < p->nr; i++) {
		uint64_t id = (uint64_t)json_int(json_array_get(boxes, i), "box", 0);
		const struct model_box *b = model_box(&s->model, id);
		json_t *o = b && b->planned ? source_body(s, b->planned) : NULL;
		p->body[i] = o;
		if (!o) {
			p->differs = "was not of all sandboxes";
			continue;
		}
		group = i ? group : json_str(o, "group", "");
		p->first = p->first ? p->first : b->planned;
		p->why = json_str(o, "why", p->why);
		p->conflicts += i ? target_conflicts(o) : plan_conflicts(o);
		if (!p->differs)
			p->differs = boxes_plan_differs(s, b, o, req, group);
	}
}

/* The events that merge @act ended with, instead of plans. */
static void boxes_ends_read(struct boxes_plans *p, struct source *s, const json_t *req,
			    const struct model_action *act)
{
	const json_t *boxes = json_object_get(req, "boxes");
	*p = (struct boxes_plans){ .nr = json_array_size(boxes) };
	p->body = mem_calloc(p->nr + 1, sizeof(*p->body));
	for (size_t i = 0; i < p->nr; i++) {
		uint64_t id = (uint64_t)json_int(json_array_get(boxes, i), "box", 0);
		uint64_t seq = session_next_of(s->session, EV_MERGE_DONE, id, act->started);
		if (!seq || (act->ended && seq > act->ended))
			seq = session_next_of(s->session, EV_MERGE_FAILED, id, act->started);
		if (!seq || (act->ended && seq > act->ended))
			continue;
		p->body[i] = source_body(s, seq);
		p->first = seq;
		p->why = json_str(p->body[i], "why", p->why);
		p->conflicts += i ? target_conflicts(p->body[i]) : plan_conflicts(p->body[i]);
	}
}

static void boxes_plans_lines(struct text *t, const struct boxes_plans *p, const json_t *req)
{
	const json_t *boxes = json_object_get(req, "boxes");
	if (p->nr)
		between_lines(t, p->body[0]);
	for (size_t i = 0; i < p->nr; i++)
		target_lines(t, p->body[i], json_str(json_array_get(boxes, i), "name", ""));
}

static void boxes_plans_release(struct boxes_plans *p)
{
	for (size_t i = 0; i < p->nr; i++)
		json_decref(p->body[i]);
	free(p->body);
}

static void merge_boxes_finished(struct text *t, const struct boxes_plans *p,
				 const struct model_action *act)
{
	if (p->conflicts)
		text_putf(t, ROLE_FAILED, "conflicts  %zu: nothing was merged", p->conflicts);
	else if (p->first && !p->why)
		text_puts(t, ROLE_OK, "conflicts  none");
	else
		text_puts(t, ROLE_DIM,
			  act->ended ? "conflicts  nothing was merged: its end says why"
				     : "conflicts  unknown: the merge has not ended");
}

static void merge_boxes_planned(struct text *t, const struct boxes_plans *p, bool keys)
{
	const char *how = keys ? "r plans" : "'sandglass merge -n' plans";
	if (!p->first)
		text_putf(t, ROLE_WARN, "conflicts  not checked: %s the merge", how);
	else if (p->why)
		text_putf(t, ROLE_FAILED, "conflicts  unknown: dry run #%" PRIu64 " failed: %s",
			  p->first, one_line(p->why, t->arena));
	else if (p->differs)
		text_putf(t, ROLE_WARN,
			  "conflicts  unknown: dry run #%" PRIu64 ", which found %zu, %s; %s again",
			  p->first, p->conflicts, p->differs, how);
	else if (p->conflicts)
		text_putf(t, ROLE_FAILED, "conflicts  %zu in dry run #%" PRIu64, p->conflicts,
			  p->first);
	else
		text_putf(t, ROLE_OK, "conflicts  none in dry run #%" PRIu64, p->first);
}

static void merge_box_lines(struct text *t, struct source *s, const json_t *box,
			    const struct model_action *act, bool brief)
{
	uint64_t id = (uint64_t)json_int(box, "box", 0);
	const struct model_box *b = model_box(&s->model, id);
	struct review v = { .box_id = id, .arena = t->arena };
	v.nr = changes_list(s, id, &v.change, t->arena);
	review_drift(&v, s);
	review_checks(&v, s);
	const char *sum = changes_sum(v.change, v.nr, t->arena);
	text_putf(t, ROLE_TEXT, "sandbox    %s: %s since it opened%s",
		  one_line(json_str(box, "name", ""), t->arena), sum ? sum : "no file changed",
		  b && b->merged && !act->started
			  ? arena_printf(t->arena, "; merged before at #%" PRIu64, b->merged)
			  : "");
	if (!brief)
		merge_card_files(t, s, v.change, v.nr);
	if (!brief || v.nr_drifted || v.drift_more)
		merge_card_drift(t, &v);
	merge_card_tests(t, &v, brief ? 1 : CARD_CHECKS);
}

void merge_boxes_lines(struct text *t, struct source *s, const struct model_action *act,
		       const json_t *req, bool brief, bool keys)
{
	const json_t *boxes = json_object_get(req, "boxes");
	struct boxes_plans p;
	if (act->started)
		boxes_ends_read(&p, s, req, act);
	else
		boxes_plans_read(&p, s, req);
	if (act->started)
		merge_boxes_finished(t, &p, act);
	else
		merge_boxes_planned(t, &p, keys);
	boxes_plans_lines(t, &p, req);
	boxes_plans_release(&p);
	for (size_t i = 0; i < json_array_size(boxes); i++)
		merge_box_lines(t, s, json_array_get(boxes, i), act, brief);
	text_putf(t, ROLE_DIM, "undo       sandglass undo -S %s", s->model.id ? s->model.id : "");
}
