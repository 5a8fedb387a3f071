/* Events of a foreign or damaged session, as the screens fold them: any kind with any body, in any order, moves nothing but
 * counts at worst, and there is a way back. Each: kind, agent, box, action and the length of the body, two bytes each (low
 * one first), then the body. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ui/model/journal.h"
#include "ui/rows/row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 10 };

static unsigned number(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

static void words(const struct event *ev, const char *body, size_t len)
{
	struct err err = ERR_INIT;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	CLEANUP(json_release) json_t *o = json_parse(body, len, "body", &err);
	const char *word;
	if (!json_is_object(o))
		return;
	row_session(ev, o, &word, &a);
	if (!action_what(o, &a))
		abort();
}

static void look(const struct model *m)
{
	for (size_t i = 0; i < m->nr_agents; i++)
		if (!agent_state_word(model_agent_state(m, &m->agent[i])))
			abort();
	for (size_t i = 1; i < m->nr_actions; i++)
		if (m->action[i].id <= m->action[i - 1].id || model_action(m, m->action[i].id) != &m->action[i])
			abort();
	for (size_t i = 0; i < m->nr_held; i++)
		if (!model_action(m, m->held[i]))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model m;
	struct journal *j = journal_new();
	uint64_t seq = 0;
	model_init(&m);
	m.journal = j;
	while (size >= HEAD && seq < 3000) {
		size_t len = number(data + 8);
		if (len > size - HEAD)
			len = size - HEAD;
		CLEANUP(free_ptr) char *body = mem_strndup((const char *)data + HEAD, len);
		seq++;
		struct event ev = { .seq = seq, .agent = number(data + 2), .box = number(data + 4), .action = number(data + 6),
				    .ts_us = (int64_t)seq * 1000, .mono_us = (int64_t)seq * 1000, .kind = (uint16_t)number(data),
				    .body = len ? body : NULL, .len = len };
		if (ev.kind == EV_ACTION_REQUESTED)
			ev.action = seq;
		words(&ev, body, len);
		journal_next(j, &m);
		model_apply(&m, &ev);
		data += HEAD + len;
		size -= HEAD + len;
	}
	look(&m);
	uint64_t head = m.head;
	if (seq && journal_back(j, &m, seq / 2)) {
		if (m.head > head)
			abort();
		look(&m);
	}
	model_release(&m);
	journal_free(&j);
	return 0;
}
