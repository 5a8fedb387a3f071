/* Marks and jumps. "m" and a letter is this console's own; "m" Enter asks for a text and puts the mark into the record
 * (command "mark"), where everybody has it. "'" and its letter goes there, "''" comes back. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/finder_inner.h"
#include "ui/transport.h"

static bool place(struct ui *ui, size_t *source, uint64_t *seq)
{
	struct view *top = ui_top(ui);
	struct subject on = { 0 };
	if (top->ops->subject)
		top->ops->subject(top->self, ui, &on);
	*source = on.source;
	*seq = on.action;
	return on.action > 0;
}

void jump_to(struct ui *ui, size_t source, uint64_t seq)
{
	struct looked l = { 0 };
	struct view *top = ui_top(ui);
	struct mark *back = &ui->find->back;
	struct source *s = ui_source(ui, source);
	if (!s)
		return;
	place(ui, &back->source, &back->seq);
	if (top->ops->look)
		top->ops->look(top->self, ui, &l);
	size_t i = l.what == LOOK_ROWS && l.source == source ? rows_find(l.rows, seq) : 0;
	bool here = l.what == LOOK_ROWS && l.source == source && i < l.rows->nr && l.rows->row[i].seq == seq;
	if (!here) {
		const struct model_action *act = model_action(&s->model, seq);
		ui_open(ui, "log", &(struct subject){ .source = source, .action = seq, .agent = act ? act->agent : 0 });
		top = ui_top(ui);
		if (*ui_filter(ui) && !ui_lets_row(ui, source, seq))
			filter_set(ui, NULL); /* else it could not be shown */
	}
	top->ops->go(top->self, ui, seq);
}

static void mark_text(struct ui *ui, const char *text)
{
	const struct subject on = ui->prompt.on;
	char id[32];
	if (!text)
		return;
	snprintf(id, sizeof(id), "%" PRIu64, on.action);
	ui_send(ui, on.source, (const char *[]){ "mark", id, *text ? text : "here", NULL }, NULL);
}

void mark_ask(struct ui *ui, uint32_t key)
{
	struct finder *f = ui->find;
	struct mark m = { .key = (char)key };
	char label[64];
	if (!place(ui, &m.source, &m.seq)) {
		ui_say(ui, ROLE_DIM, "nothing is selected here");
		return;
	}
	if (key == K_ENTER) {
		if (!ui_may_act(ui, m.source)) {
			ui_say(ui, ROLE_DIM, "read only: m and a letter marks it for this console");
			return;
		}
		snprintf(label, sizeof(label), "mark #%" PRIu64 " with a text:", m.seq);
		ui_ask(ui, label, &(struct subject){ .source = m.source, .action = m.seq }, mark_text);
		return;
	}
	if (key <= ' ' || key >= 0x7f || key == '\'') {
		ui_say(ui, ROLE_DIM, "a mark is a letter or a digit");
		return;
	}
	size_t i = 0;
	while (i < f->nr_marks && f->mark[i].key != m.key)
		i++;
	if (i == FINDER_MARKS)
		return;
	f->mark[i] = m;
	f->nr_marks += i == f->nr_marks;
	ui_say(ui, ROLE_DIM, "marked #%" PRIu64 " as %c; '%c comes back here", m.seq, m.key, m.key);
}

void mark_go(struct ui *ui, uint32_t key)
{
	struct finder *f = ui->find;
	if (key == '\'') {
		if (f->back.seq)
			jump_to(ui, f->back.source, f->back.seq);
		return;
	}
	for (size_t i = 0; i < f->nr_marks; i++)
		if ((uint32_t)f->mark[i].key == key) {
			jump_to(ui, f->mark[i].source, f->mark[i].seq);
			return;
		}
	for (size_t i = 0; i < ui->nr_src; i++)
		for (size_t k = ui->src[i]->model.nr_marks; k > 0; k--) {
			const struct model_mark *m = &ui->src[i]->model.mark[k - 1];
			if (*m->key && (uint32_t)(unsigned char)*m->key == key && !m->key[1]) {
				jump_to(ui, i, m->on);
				return;
			}
		}
	ui_say(ui, ROLE_DIM, "there is no such mark");
}

/* --- jumps -------------------------------------------------------------------------------------------------------- */

static bool marked(const struct model *m, uint64_t seq)
{
	for (size_t i = 0; i < m->nr_marks; i++)
		if (m->mark[i].on == seq || m->mark[i].seq == seq)
			return true;
	return false;
}

static bool is_kind(const struct model *m, const struct row *r, char kind)
{
	const struct model_action *act = model_action(m, r->seq);
	switch (kind) {
	case 'e':
		return act && act->ended && !act->ok;
	case 'd':
		return act && act->snapshot;
	case 'a':
		return act && (act->person || act->held > act->decided);
	case 'h':
		return act && act->held;
	case 'm':
		return marked(m, r->seq);
	case 's':
		return r->kind == EV_SNAPSHOT_TAKEN || (act && act->snapshot);
	default:
		return r->kind == EV_AGENT_TURN;
	}
}

void jump_kind(struct ui *ui, char kind, int by)
{
	static const char *const words[] = { ['e'] = "error", ['d'] = "diff", ['a'] = "approval", ['h'] = "hold",
					     ['m'] = "mark", ['s'] = "snapshot", ['t'] = "turn" };
	struct view *top = ui_top(ui);
	struct looked l = { 0 };
	if (ui->replay) {
		transport_jump(ui, kind, words[(int)kind], by);
		return;
	}
	if (top->ops->look)
		top->ops->look(top->self, ui, &l);
	if (l.what != LOOK_ROWS || l.rows->nr == 0)
		return;
	const struct model *m = &ui->src[l.source]->model;
	for (int64_t i = (int64_t)rows_find(l.rows, l.at) + by; i >= 0 && i < (int64_t)l.rows->nr; i += by)
		if (is_kind(m, &l.rows->row[i], kind)) {
			place(ui, &ui->find->back.source, &ui->find->back.seq);
			top->ops->go(top->self, ui, l.rows->row[i].seq);
			ui_say(ui, ROLE_DIM, "%s #%" PRIu64, words[(int)kind], l.rows->row[i].seq);
			return;
		}
	ui_say(ui, ROLE_DIM, "no more %s %s", by > 0 ? "below:" : "above:", words[(int)kind]);
}
