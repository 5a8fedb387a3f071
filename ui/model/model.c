#include "ui/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/longlist.h"

void model_init(struct model *m)
{
	*m = (struct model){ 0 };
	m->id = mem_strdup("");
	m->name = mem_strdup("");
	m->script = mem_strdup("");
	m->hold = mem_strdup("");
}

static void agent_release(struct model_agent *a)
{
	free(a->name);
	free(a->task);
	free(a->model);
	free(a->word);
	free(a->stop);
	free(a->text);
	long_free(a->rows.row);
}

void model_release(struct model *m)
{
	for (size_t i = 0; i < m->nr_agents; i++)
		agent_release(&m->agent[i]);
	for (size_t i = 0; i < m->nr_boxes; i++) {
		free(m->box[i].name);
		free(m->box[i].driver);
		free(m->box[i].profile);
		for (size_t k = 0; k < m->box[i].nr_snapshots; k++)
			free(m->box[i].snapshot[k].repo);
		free(m->box[i].snapshot);
	}
	for (size_t i = 0; i < m->nr_words; i++)
		free(m->word[i]);
	free(m->word);
	for (size_t i = 0; i < m->nr_marks; i++) {
		free(m->mark[i].text);
		free(m->mark[i].key);
	}
	free(m->mark);
	free(m->repeat);
	free(m->choice);
	free(m->drift);
	free(m->agent);
	free(m->box);
	long_free(m->action);
	free(m->held);
	free(m->size);
	free(m->ask);
	long_free(m->rows.row);
	free(m->id);
	free(m->name);
	free(m->script);
	free(m->hold);
	free(m->warning);
	free(m->notice);
	*m = (struct model){ 0 };
}

/* Elements of all three arrays begin with their id, so one search serves them. */
static void *model_find(const void *base, size_t nr, size_t size, uint64_t id)
{
	size_t low = 0, high = nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const char *at = (const char *)base + mid * size;
		uint64_t here;
		memcpy(&here, at, sizeof(here));
		if (here == id)
			return (void *)(uintptr_t)at;
		if (here < id)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static_assert(offsetof(struct model_agent, id) == 0 && offsetof(struct model_box, id) == 0,
	      "find reads the id there");
static_assert(offsetof(struct model_action, id) == 0, "find reads the id there");

const struct model_agent *model_agent(const struct model *m, uint64_t id)
{
	return model_find(m->agent, m->nr_agents, sizeof(*m->agent), id);
}

const struct model_box *model_box(const struct model *m, uint64_t id)
{
	return model_find(m->box, m->nr_boxes, sizeof(*m->box), id);
}

bool model_box_unmerged(const struct model_box *b)
{
	return b->target && !b->again && b->touched > 0 && (!b->merged || b->merged < b->changed);
}

const struct model_action *model_action(const struct model *m, uint64_t id)
{
	return model_find(m->action, m->nr_actions, sizeof(*m->action), id);
}

bool model_ask(const struct model *m, uint64_t seq)
{
	for (size_t i = 0; i < m->nr_asks; i++)
		if (m->ask[i].seq == seq)
			return true;
	return false;
}

const struct model_repeat *model_repeat(const struct model *m, uint64_t of)
{
	for (size_t i = m->nr_repeats; i > 0; i--)
		if (!of || (m->repeat[i - 1].here && m->repeat[i - 1].of == of))
			return &m->repeat[i - 1];
	return NULL;
}

const struct model_action *model_stands(const struct model *m, const struct model_agent *a)
{
	const struct model_action *now = a->current ? model_action(m, a->current) : NULL;
	const struct model_box *box = now && now->state == ACT_RUNS ? model_box(m, now->box) : NULL;
	return now && ((now->state == ACT_WAITS && now->latched) || (box && box->frozen)) ? now
											  : NULL;
}

const struct model_action *model_held(const struct model *m, const struct model_agent *a)
{
	for (size_t i = 0; a->held && i < m->nr_held; i++) {
		const struct model_action *act = model_action(m, m->held[i]);
		if (act && act->agent == a->id)
			return act;
	}
	return NULL;
}

enum agent_state model_agent_state(const struct model *m, const struct model_agent *a)
{
	const struct model_action *now = a->current ? model_action(m, a->current) : NULL;
	if (a->ended)
		return a->good					    ? AGENT_DONE
		       : a->stop && strcmp(a->stop, "stopped") == 0 ? AGENT_STOPPED
								    : AGENT_FAILED;
	if (a->held)
		return AGENT_HELD;
	if (a->ask)
		return AGENT_ASK;
	if (model_stands(m, a))
		return AGENT_PAUSED;
	if (now && now->state == ACT_RUNS)
		return strcmp(now->kind, "model") == 0 ? AGENT_THINK : AGENT_RUN;
	if (a->paused || m->paused_all)
		return AGENT_PAUSED;
	if (a->word && strcmp(a->word, "think") == 0)
		return AGENT_THINK;
	if (a->word && strcmp(a->word, "run") == 0)
		return AGENT_RUN;
	return AGENT_IDLE;
}

static const struct {
	const char *word;
	char sign;
} model_states[] = {
	[AGENT_IDLE] = { "idle", 'z' }, [AGENT_THINK] = { "thinking", '>' },
	[AGENT_RUN] = { "run", '>' },	[AGENT_ASK] = { "ASKS", '!' },
	[AGENT_HELD] = { "HELD", '!' }, [AGENT_PAUSED] = { "PAUSED", '=' },
	[AGENT_DONE] = { "done", '.' }, [AGENT_STOPPED] = { "stopped", '.' },
	[AGENT_LOST] = { "LOST", 'x' }, [AGENT_FAILED] = { "FAILED", 'x' },
};

const char *agent_state_word(enum agent_state s)
{
	return model_states[s].word;
}

char agent_state_sign(enum agent_state s)
{
	return model_states[s].sign;
}

size_t model_count(const struct model *m, enum agent_state s)
{
	size_t n = 0;
	for (size_t i = 0; i < m->nr_agents; i++)
		n += model_agent_state(m, &m->agent[i]) == s;
	return n;
}

size_t rows_find(const struct rows *r, uint64_t seq)
{
	size_t low = 0, high = r->nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (r->row[mid].seq < seq)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
