/* The texts of an agent's right pane: those on the screen, and the whole one for a copy. */
#include "ui/views/agent_priv.h"

enum { TAIL_FOLLOW = 16 << 10, TAIL_SCROLL = 256 << 10, TAIL_ALL = 1 << 20, TALK_ROWS = 200 };

uint64_t agent_action_at(const struct agent_view *v, const struct model *m)
{
	const struct rows *r = v->rows;
	for (size_t i = rows_find(r, v->seq) + 1; i > 0; i--)
		if (i <= r->nr && r->row[i - 1].kind == EV_ACTION_REQUESTED)
			return model_action(m, r->row[i - 1].seq) ? r->row[i - 1].seq : 0;
	return 0;
}

void agent_gather_text(struct agent_view *v, struct source *s, int rows, int cols)
{
	uint64_t action = agent_action_at(v, &s->model);
	text_init(&v->text, v->arena, cols,
		  v->tab == TAB_DETAILS	 ? 14
		  : v->tab == TAB_OUTPUT ? 2
					 : 3,
		  v->ascii);
	if (v->text_follow)
		v->output_at = v->talk_at = (struct pane_hold){ 0 };
	switch (v->tab) {
	case TAB_OUTPUT:
		pane_output(&v->text, s, action, v->text_follow ? TAIL_FOLLOW : TAIL_SCROLL,
			    v->render, v->text_follow ? NULL : &v->output_at);
		break;
	case TAB_TALK:
		pane_transcript(&v->text, s, v->agent, TALK_ROWS,
				v->text_follow ? NULL : &v->talk_at);
		break;
	case TAB_DIFF:
		pane_diff(&v->text, s, v->a->box);
		break;
	case TAB_DETAILS:
		pane_details(&v->text, s, v->seq);
		break;
	case TAB_NR:
		break;
	}
	bool from_end = v->tab == TAB_OUTPUT || v->tab == TAB_TALK;
	if (v->below && !v->text_follow)
		v->top = (int64_t)v->text.nr - v->below;
	v->below = 0;
	v->text_rows = rows;
	v->text_top = v->text_follow ? (from_end ? text_clamp(&v->text, INT32_MAX, rows) : 0)
				     : text_clamp(&v->text, v->top, rows);
	v->top = (int64_t)v->text_top;
}

void agent_pane_text(const void *self, struct ui *ui, struct buf *out)
{
	struct agent_view v = *(const struct agent_view *)self;
	CLEANUP(arena_release) struct arena ar = ARENA_INIT;
	struct source *s = ui_source(ui, v.source);
	if (!s || !v.a)
		return;
	v.arena = &ar;
	text_init(&v.text, &ar, 4000, 2, v.ascii);
	uint64_t action = agent_action_at(&v, &s->model);
	if (v.tab == TAB_OUTPUT)
		pane_output(&v.text, s, action, TAIL_ALL, v.render, NULL);
	else if (v.tab == TAB_TALK)
		pane_transcript(&v.text, s, v.agent, SIZE_MAX, NULL);
	else if (v.tab == TAB_DIFF)
		pane_diff(&v.text, s, v.a->box);
	else
		pane_details(&v.text, s, v.seq);
	text_plain(&v.text, v.tab == TAB_DIFF || v.tab == TAB_DETAILS, out);
}
