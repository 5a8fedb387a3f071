#include "ui/frame/named.h"

#include <string.h>

enum { NAMES_MAX = 8 };

static bool is_box(const struct model *m, uint64_t id, const char *name)
{
	const struct model_box *b = model_box(m, id);
	return b && strcmp(b->name, name) == 0;
}

/* The newest action in it: a box may have had several agents, and an agent several boxes. */
static struct subject last_in(const struct model *m, size_t source, uint64_t box)
{
	for (size_t i = m->nr_actions; i > 0; i--)
		if (m->action[i - 1].box == box)
			return (struct subject){ .source = source,
						 .agent = m->action[i - 1].agent,
						 .action = m->action[i - 1].id };
	return (struct subject){ .source = source };
}

uint64_t box_named(const struct ui *ui, const char *name, struct subject *on)
{
	for (size_t k = 0; k < ui->nr_src; k++) {
		size_t at = (on->source + k) % ui->nr_src;
		const struct model *m = &ui->src[at]->model;
		for (size_t i = m->nr_boxes; i > 0; i--)
			if (strcmp(m->box[i - 1].name, name) == 0) {
				*on = last_in(m, at, m->box[i - 1].id);
				return m->box[i - 1].id;
			}
	}
	return 0;
}

bool agent_named(const struct ui *ui, const char *name, struct subject *on)
{
	for (size_t k = 0; k < ui->nr_src; k++) {
		size_t i = (on->source + k) % ui->nr_src;
		const struct model *m = &ui->src[i]->model;
		for (size_t j = 0; j < m->nr_agents; j++) {
			const struct model_agent *a = &m->agent[j];
			if (strcmp(ui_agent_name(ui, i, a), name) != 0 &&
			    strcmp(a->name, name) != 0 && !is_box(m, a->box, name))
				continue;
			*on = (struct subject){ .source = i, .agent = a->id, .action = a->last };
			return true;
		}
	}
	struct subject in = *on;
	bool found = box_named(ui, name, &in) && in.action;
	if (found)
		*on = in;
	return found;
}

static void named_add(struct buf *out, size_t *nr, const char *name)
{
	if (*nr < NAMES_MAX)
		buf_printf(out, "%s%s", *nr ? ", " : "", name);
	else if (*nr == NAMES_MAX)
		buf_puts(out, ", ..");
	++*nr;
}

void names_of_boxes(const struct ui *ui, struct buf *out)
{
	size_t nr = 0;
	for (size_t i = 0; i < ui->nr_src; i++)
		for (size_t k = 0; k < ui->src[i]->model.nr_boxes; k++)
			named_add(out, &nr, ui->src[i]->model.box[k].name);
}

void names_of_agents(const struct ui *ui, struct buf *out)
{
	size_t nr = 0;
	for (size_t i = 0; i < ui->nr_src; i++) {
		const struct model *m = &ui->src[i]->model;
		for (size_t k = 0; k < m->nr_agents; k++)
			named_add(out, &nr, ui_agent_name(ui, i, &m->agent[k]));
		for (size_t k = 0; k < m->nr_boxes; k++) {
			size_t j = 0;
			while (j < m->nr_agents && strcmp(m->agent[j].name, m->box[k].name) != 0)
				j++;
			if (j == m->nr_agents)
				named_add(out, &nr, m->box[k].name);
		}
	}
}
