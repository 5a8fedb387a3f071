#include "ui/model/journal.h"

#include <stdlib.h>
#include <string.h>

#include "base/longlist.h"

/* One stretch: the model's own fields at its beginning and the elements that it changed. */
struct stretch {
	/* strings, held and ask are ours; of the other lists only the lengths hold */
	struct model m;
	uint32_t id; /* what was kept in it knows it by this */
	bool script; /* there was a row for what the script does itself */
	struct model_agent *agent;
	size_t nr_agents, cap_agents;
	struct model_box *box;
	size_t nr_boxes, cap_boxes;
	struct model_action *action;
	size_t nr_actions, cap_actions;
};

enum { COPIES = 32768, LEAST_STRETCHES = 8 };

struct journal {
	struct stretch *stretch;
	size_t nr, cap;
	uint64_t length; /* of a stretch, in events */
	uint32_t ids;	 /* given out */
	size_t copies, most;
};

struct journal *journal_new(void)
{
	struct journal *j = NEW(struct journal);
	j->length = JOURNAL_STRETCH;
	j->most = COPIES;
	return j;
}

void journal_keep_most(struct journal *j, size_t copies)
{
	j->most = copies;
}

static char *journal_dup(const char *s)
{
	return s ? mem_strdup(s) : NULL;
}

static void *dup_list(const void *p, size_t nr, size_t size)
{
	return nr ? mem_dup(p, nr * size) : NULL;
}

/* --- what each kind of thing owns ------------------------------------------------------------- */

static void agent_own(struct model_agent *a)
{
	a->name = journal_dup(a->name);
	a->task = journal_dup(a->task);
	a->model = journal_dup(a->model);
	a->word = journal_dup(a->word);
	a->stop = journal_dup(a->stop);
	a->text = journal_dup(a->text);
}

static void agent_drop(struct model_agent *a)
{
	free(a->name);
	free(a->task);
	free(a->model);
	free(a->word);
	free(a->stop);
	free(a->text);
}

static void box_own(struct model_box *b)
{
	b->name = journal_dup(b->name);
	b->driver = journal_dup(b->driver);
	b->profile = journal_dup(b->profile);
	b->snapshot = dup_list(b->snapshot, b->nr_snapshots, sizeof(*b->snapshot));
	b->cap_snapshots = b->nr_snapshots;
	for (size_t i = 0; i < b->nr_snapshots; i++)
		b->snapshot[i].repo = journal_dup(b->snapshot[i].repo);
}

static void box_drop(struct model_box *b)
{
	free(b->name);
	free(b->driver);
	free(b->profile);
	for (size_t i = 0; i < b->nr_snapshots; i++)
		free(b->snapshot[i].repo);
	free(b->snapshot);
}

static void model_own(struct model *m)
{
	m->id = journal_dup(m->id);
	m->name = journal_dup(m->name);
	m->script = journal_dup(m->script);
	m->hold = journal_dup(m->hold);
	m->warning = journal_dup(m->warning);
	m->notice = journal_dup(m->notice);
	m->held = dup_list(m->held, m->nr_held, sizeof(*m->held));
	m->cap_held = m->nr_held;
	m->ask = dup_list(m->ask, m->nr_asks, sizeof(*m->ask));
	m->cap_asks = m->nr_asks;
}

static void journal_model_drop(struct model *m)
{
	free(m->id);
	free(m->name);
	free(m->script);
	free(m->hold);
	free(m->warning);
	free(m->notice);
	free(m->held);
	free(m->ask);
}

/* --- keeping ---------------------------------------------------------------------------------- */

static void stretch_release(struct stretch *s)
{
	for (size_t i = 0; i < s->nr_agents; i++)
		agent_drop(&s->agent[i]);
	for (size_t i = 0; i < s->nr_boxes; i++)
		box_drop(&s->box[i]);
	free(s->agent);
	free(s->box);
	free(s->action);
}

void journal_free(struct journal **j)
{
	if (!*j)
		return;
	for (size_t i = 0; i < (*j)->nr; i++) {
		stretch_release(&(*j)->stretch[i]);
		journal_model_drop(&(*j)->stretch[i].m);
	}
	free((*j)->stretch);
	free(*j);
	*j = NULL;
}

static size_t copies_of(const struct stretch *s)
{
	return s->nr_agents + s->nr_boxes + s->nr_actions;
}

static int journal_by_id(const void *x, const void *y)
{
	uint64_t a, b;
	memcpy(&a, x, sizeof(a));
	memcpy(&b, y, sizeof(b));
	return (a > b) - (a < b);
}

/* If both kept a version of an element, the older one counts; elements newer than the first need
 * none. */
#define MERGE(to, from, item, nr, cap, drop, is_younger)                                           \
	do {                                                                                       \
		size_t had = (to)->nr;                                                             \
		if (had > 1)                                                                       \
			qsort((to)->item, had, sizeof(*(to)->item), journal_by_id);                \
		for (size_t k = 0; k < (from)->nr; k++) {                                          \
			if ((from)->item[k].id > (to)->m.head || (is_younger) ||                   \
			    (had > 0 && bsearch(&(from)->item[k], (to)->item, had,                 \
						sizeof(*(to)->item), journal_by_id))) {            \
				drop(&(from)->item[k]);                                            \
				continue;                                                          \
			}                                                                          \
			GROW((to)->item, (to)->nr, (to)->cap);                                     \
			(to)->item[(to)->nr++] = (from)->item[k];                                  \
		}                                                                                  \
		(from)->nr = 0;                                                                    \
	} while (0)

static void action_drop(struct model_action *a)
{
	(void)a;
}

static void journal_merge(struct stretch *to, struct stretch *from)
{
	MERGE(to, from, agent, nr_agents, cap_agents, agent_drop,
	      from->agent[k].script && !to->script);
	MERGE(to, from, box, nr_boxes, cap_boxes, box_drop, false);
	MERGE(to, from, action, nr_actions, cap_actions, action_drop, false);
	stretch_release(from);
	journal_model_drop(&from->m);
}

/* Stretches become twice as long, so that what is kept of a session has a limit whatever its
 * length. */
static void journal_lengthen(struct journal *j)
{
	size_t left = 0;
	j->copies = 0;
	for (size_t i = 0; i < j->nr; i += 2, left++) {
		if (i + 1 < j->nr)
			journal_merge(&j->stretch[i], &j->stretch[i + 1]);
		j->stretch[left] = j->stretch[i];
		j->copies += copies_of(&j->stretch[left]);
	}
	j->nr = left;
	j->length *= 2;
}

void journal_next(struct journal *j, const struct model *m)
{
	if (j->nr > 0 && m->events < j->stretch[j->nr - 1].m.events + j->length)
		return;
	if (j->copies > j->most && j->nr >= LEAST_STRETCHES) {
		journal_lengthen(j);
		if (m->events < j->stretch[j->nr - 1].m.events + j->length)
			return; /* the last one had no other */
	}
	GROW(j->stretch, j->nr, j->cap);
	struct stretch *s = &j->stretch[j->nr++];
	*s = (struct stretch){ .m = *m,
			       .id = ++j->ids,
			       .script = m->nr_agents > 0 && m->agent[0].script };
	model_own(&s->m);
}

/* Younger than the stretch: going back takes it away altogether. */
static struct stretch *stretch_for(struct journal *j, uint64_t id, uint32_t *kept)
{
	struct stretch *s = j && j->nr > 0 ? &j->stretch[j->nr - 1] : NULL;
	if (!s || *kept == s->id || id > s->m.head)
		return NULL;
	*kept = s->id;
	j->copies++;
	return s;
}

void journal_keep_agent(struct journal *j, struct model_agent *a)
{
	struct stretch *s = a ? stretch_for(j, a->id, &a->kept) : NULL;
	if (!s)
		return;
	GROW(s->agent, s->nr_agents, s->cap_agents);
	s->agent[s->nr_agents] = *a;
	agent_own(&s->agent[s->nr_agents++]);
}

void journal_keep_box(struct journal *j, struct model_box *b)
{
	struct stretch *s = b ? stretch_for(j, b->id, &b->kept) : NULL;
	if (!s)
		return;
	GROW(s->box, s->nr_boxes, s->cap_boxes);
	s->box[s->nr_boxes] = *b;
	box_own(&s->box[s->nr_boxes++]);
}

void journal_keep_action(struct journal *j, struct model_action *a)
{
	struct stretch *s = a ? stretch_for(j, a->id, &a->kept) : NULL;
	if (!s)
		return;
	GROW(s->action, s->nr_actions, s->cap_actions);
	s->action[s->nr_actions++] = *a;
}

/* --- going back ------------------------------------------------------------------------------- */

static void restore_elements(struct stretch *s, struct model *m)
{
	for (size_t i = 0; i < s->nr_agents; i++) {
		struct model_agent *a =
			(struct model_agent *)(uintptr_t)model_agent(m, s->agent[i].id);
		struct rows rows = a->rows; /* grows only: the list stays, its length goes back */
		agent_drop(a);
		*a = s->agent[i];
		a->rows = (struct rows){ rows.row, a->rows.nr, rows.cap };
		a->kept = 0;
	}
	for (size_t i = 0; i < s->nr_boxes; i++) {
		struct model_box *b = (struct model_box *)(uintptr_t)model_box(m, s->box[i].id);
		box_drop(b);
		*b = s->box[i];
		b->kept = 0;
	}
	for (size_t i = 0; i < s->nr_actions; i++) {
		struct model_action *a =
			(struct model_action *)(uintptr_t)model_action(m, s->action[i].id);
		*a = s->action[i];
		a->kept = 0;
	}
	s->nr_agents = s->nr_boxes = 0; /* they live in the model again */
}

static void agent_remove(struct model *m, size_t i)
{
	agent_drop(&m->agent[i]);
	long_free(m->agent[i].rows.row);
	memmove(&m->agent[i], &m->agent[i + 1], (m->nr_agents - i - 1) * sizeof(*m->agent));
	m->nr_agents--;
}

static void remove_younger(const struct stretch *s, struct model *m)
{
	if (!s->script && m->nr_agents > 0 && m->agent[0].script)
		agent_remove(m, 0);
	while (m->nr_agents > s->m.nr_agents)
		agent_remove(m, m->nr_agents - 1);
	while (m->nr_boxes > s->m.nr_boxes)
		box_drop(&m->box[--m->nr_boxes]);
	while (m->nr_marks > s->m.nr_marks) {
		free(m->mark[--m->nr_marks].text);
		free(m->mark[m->nr_marks].key);
	}
}

/* The lists that only grow keep their room. */
static void restore_own(struct stretch *s, struct model *m)
{
	struct model now = *m;
	journal_model_drop(m);
	*m = s->m;
	m->agent = now.agent, m->cap_agents = now.cap_agents;
	m->box = now.box, m->cap_boxes = now.cap_boxes;
	m->action = now.action, m->cap_actions = now.cap_actions;
	m->size = now.size, m->cap_sizes = now.cap_sizes;
	m->rows.row = now.rows.row, m->rows.cap = now.rows.cap;
	m->mark = now.mark, m->cap_marks = now.cap_marks;
	m->repeat = now.repeat, m->cap_repeats = now.cap_repeats;
	m->choice = now.choice, m->cap_choices = now.cap_choices;
	m->drift = now.drift, m->cap_drifts = now.cap_drifts;
	m->word = now.word, m->nr_words = now.nr_words, m->cap_words = now.cap_words;
	m->journal = now.journal;
}

bool journal_back(struct journal *j, struct model *m, uint64_t seq)
{
	if (j->nr == 0 || j->stretch[0].m.head > seq)
		return false;
	for (bool more = true; more;) {
		struct stretch *s = &j->stretch[j->nr - 1];
		more = s->m.head > seq;
		j->copies -= copies_of(s);
		restore_elements(s, m);
		remove_younger(s, m);
		restore_own(s, m);
		stretch_release(s);
		j->nr--;
	}
	return true; /* journal_next opens the same stretch again */
}
