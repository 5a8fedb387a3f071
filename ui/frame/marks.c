/* Marks and jumps. "m" and a letter is the reader's own (own_marks.h); "m" Enter asks for a text
 * and puts the mark into the record (command "mark"), where everybody has it, or, where nothing can
 * be sent, among the reader's own. "'" and its letter goes there, "''" comes back. In replay they
 * are about the cursor. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/finder_priv.h"
#include "ui/frame/transport.h"

static bool marks_place(struct ui *ui, size_t *source, uint64_t *seq)
{
	struct view *top = ui_top(ui);
	struct subject on = { 0 };
	if (ui->replay) {
		*source = 0;
		*seq = transport_cursor(ui);
		return *seq > 0;
	}
	if (top->ops->subject)
		top->ops->subject(top->self, ui, &on);
	*source = on.source;
	*seq = on.action;
	return on.action > 0;
}

bool has_event(struct ui *ui, const struct source *s, uint64_t seq)
{
	uint64_t head = session_head(s->session);
	if (seq > head)
		ui_say(ui, ROLE_ERROR, "event %" PRIu64 " not found; the last event is %" PRIu64,
		       seq, head);
	return seq <= head;
}

void jump_to(struct ui *ui, size_t source, uint64_t seq)
{
	struct looked l = { 0 };
	struct view *top = ui_top(ui);
	struct mark *back = &ui->find->back;
	struct source *s = ui_source(ui, source);
	if (!s || !has_event(ui, s, seq))
		return;
	marks_place(ui, &back->source, &back->seq);
	if (ui->replay && source == 0) {
		transport_go(ui, seq);
		return;
	}
	if (top->ops->look)
		top->ops->look(top->self, ui, &l);
	size_t i = l.what == LOOK_ROWS && l.source == source ? rows_find(l.rows, seq) : 0;
	bool here = l.what == LOOK_ROWS && l.source == source && i < l.rows->nr &&
		    l.rows->row[i].seq == seq;
	if (!here) {
		const struct model_action *act = model_action(&s->model, seq);
		ui_open(ui, "log",
			&(struct subject){
				.source = source, .action = seq, .agent = act ? act->agent : 0 });
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

static void set_own(struct ui *ui, size_t source, uint64_t seq, char key, const char *text)
{
	struct err err = ERR_INIT;
	if (own_marks_set(&ui->find->own[source], seq, key, text, &err) < 0)
		ui_say(ui, ROLE_WARN, "%s", err.text);
	else if (key)
		ui_say(ui, ROLE_DIM,
		       "bookmark %c set at #%" PRIu64 "; '%c returns, :bookmarks lists them", key,
		       seq, key);
	else
		ui_say(ui, ROLE_DIM,
		       "bookmark set at #%" PRIu64 "; ]m finds it, :bookmarks lists them", seq);
}

static void own_text(struct ui *ui, const char *text)
{
	const struct subject on = ui->prompt.on;
	if (text)
		set_own(ui, on.source, on.action, 0, text);
}

void mark_ask(struct ui *ui, uint32_t key)
{
	struct subject on = { 0 };
	char label[64];
	if (!marks_place(ui, &on.source, &on.action)) {
		ui_say(ui, ROLE_DIM, "nothing is selected here");
		return;
	}
	if (key == K_ENTER) {
		snprintf(label, sizeof(label), "bookmark #%" PRIu64 " with a text:", on.action);
		ui_ask(ui, label, &on, ui_may_act(ui, on.source) ? mark_text : own_text);
		return;
	}
	if (key >= 0x7f || !isalnum((int)key)) {
		ui_say(ui, ROLE_DIM, "a bookmark is a letter or a digit");
		return;
	}
	set_own(ui, on.source, on.action, (char)key, "");
}

void ui_mark(struct ui *ui, char key, const char *text)
{
	struct subject on = { 0 };
	if (key && !isalnum((unsigned char)key))
		ui_say(ui, ROLE_ERROR, "a bookmark is a letter or a digit");
	else if (marks_place(ui, &on.source, &on.action))
		set_own(ui, on.source, on.action, key, text);
}

void marks_folder(struct ui *ui, const char *folder)
{
	free(ui->find->marks_folder);
	ui->find->marks_folder = mem_strdup(folder);
	for (size_t i = 0; i < ui->nr_src; i++)
		marks_load(ui, i);
}

void marks_load(struct ui *ui, size_t source)
{
	const char *folder = ui->find->marks_folder;
	if (folder && source < FINDER_SOURCES)
		own_marks_load(&ui->find->own[source],
			       own_marks_path(folder, session_id(ui->src[source]->session)));
}

void mark_go(struct ui *ui, uint32_t key)
{
	struct finder *f = ui->find;
	const struct own_mark *own;
	if (key == '\'') {
		if (f->back.seq)
			jump_to(ui, f->back.source, f->back.seq);
		else
			ui_say(ui, ROLE_DIM, "nothing was jumped from yet");
		return;
	}
	for (size_t i = 0; i < ui->nr_src && key < 0x7f; i++)
		if ((own = own_marks_find(&f->own[i], (char)key))) {
			jump_to(ui, i, own->seq);
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
	ui_say(ui, ROLE_DIM, "bookmark not found; :bookmarks lists them");
}

/* --- jumps ------------------------------------------------------------------------------------ */

static bool marks_marked(const struct ui *ui, size_t source, const struct model *m, uint64_t seq)
{
	if (own_marks_next(&ui->find->own[source], seq - 1, 1) == seq)
		return true;
	for (size_t i = 0; i < m->nr_marks; i++)
		if (m->mark[i].on == seq || m->mark[i].seq == seq)
			return true;
	return false;
}

static bool marks_is_kind(const struct ui *ui, size_t source, const struct model *m,
			  const struct row *r, char kind)
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
		return marks_marked(ui, source, m, r->seq);
	case 's':
		return r->kind == EV_SNAPSHOT_TAKEN || (act && act->snapshot);
	default:
		return r->kind == EV_AGENT_TURN;
	}
}

void jump_kind(struct ui *ui, char kind, int by)
{
	static const char *const words[] = {
		['e'] = "error", ['d'] = "diff",     ['a'] = "approval", ['h'] = "hold",
		['m'] = "mark",	 ['s'] = "snapshot", ['t'] = "turn"
	};
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
	for (int64_t i = (int64_t)rows_find(l.rows, l.at) + by; i >= 0 && i < (int64_t)l.rows->nr;
	     i += by)
		if (marks_is_kind(ui, l.source, m, &l.rows->row[i], kind)) {
			marks_place(ui, &ui->find->back.source, &ui->find->back.seq);
			top->ops->go(top->self, ui, l.rows->row[i].seq);
			ui_say(ui, ROLE_DIM, "%s #%" PRIu64, words[(int)kind], l.rows->row[i].seq);
			return;
		}
	ui_say(ui, ROLE_DIM, "%s %s %s",
	       source_reading(ui->src[l.source]) ? "none so far" : "no more",
	       by > 0 ? "below:" : "above:", words[(int)kind]);
}
