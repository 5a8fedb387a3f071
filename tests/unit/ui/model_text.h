/* A model as text, every field: two that are the same print the same. */
#ifndef MODEL_TEXT_H
#define MODEL_TEXT_H

#include <inttypes.h>
#include <stdio.h>

#include "ui/model/model.h"

static void print_limits(FILE *to, const struct limits *l)
{
	fprintf(to, "[%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "]", l->uusd,
		l->tokens, l->time_us, l->steps, l->actions);
}

static void print_rows(FILE *to, const struct rows *r)
{
	for (size_t i = 0; i < r->nr; i++)
		fprintf(to, " %" PRIu64 ":%u", r->row[i].seq, r->row[i].kind);
	fputc('\n', to);
}

static const char *or_none(const char *s)
{
	return s ? s : "(none)";
}

static void print_agent(FILE *to, const struct model_agent *a)
{
	fprintf(to,
		"agent %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %d '%s' '%s' '%s' '%s' '%s' '%s' %d%d%d",
		a->id, a->parent, a->box, a->seq_end, a->said, a->script, a->name, a->task,
		a->model, or_none(a->word), or_none(a->stop), or_none(a->text), a->paused, a->ended,
		a->good);
	fprintf(to,
		" %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64
		" %" PRId64 " %" PRId64 " ",
		a->turn, a->actions, a->held, a->errors, a->current, a->last, a->ask, a->start_us,
		a->end_us, a->since_us, a->tokens, a->uusd);
	print_limits(to, &a->limits);
	fprintf(to, " %" PRId64 "/%" PRId64, a->done, a->total);
	for (size_t i = 0; i < SPARK_SLOTS; i++)
		fprintf(to, " %" PRId64 ",%u,%d%d", a->spark.slot[i], a->spark.events[i],
			a->spark.held[i], a->spark.error[i]);
	print_rows(to, &a->rows);
}

static void print_box(FILE *to, const struct model_box *b)
{
	fprintf(to, "box %" PRIu64 " '%s' '%s' '%s' %d%d%d %u", b->id, b->name, b->driver,
		b->profile, b->ready, b->closed, b->frozen, b->touched);
	for (size_t i = 0; i < b->nr_snapshots; i++)
		fprintf(to, " '%s'=%" PRIu64, b->snapshot[i].repo, b->snapshot[i].seq);
	fputc('\n', to);
}

static void print_action(FILE *to, const struct model_action *a)
{
	fprintf(to,
		"action %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
		a->id, a->agent, a->box, a->judged, a->held, a->decided, a->started, a->ended,
		a->snapshot, a->reply);
	fprintf(to,
		" %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
		" %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s %d %d %d%d%d%d\n",
		a->preview, a->previewed, a->asked_us, a->held_us, a->until_us, a->start_us,
		a->end_us, a->preview_us, a->out_bytes, a->err_bytes, a->pty_bytes, a->kind,
		(int)a->state, a->code, a->ok, a->high_risk, a->person, a->promotable);
}

static void model_print(FILE *to, const struct model *m)
{
	fprintf(to, "'%s' '%s' '%s' %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %d%d%d%d%d\n",
		m->id, m->name, m->script, m->head, m->events, m->start_us, m->last_us, m->ended,
		m->good, m->stalled, m->paused_all, m->broken_order);
	fprintf(to,
		"'%s' '%s' '%s' %u %u %u %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" ",
		m->hold, or_none(m->warning), or_none(m->notice), m->waivers, m->policies,
		m->attached, m->tokens, m->uusd, m->owner, m->session_budget, m->start);
	print_limits(to, &m->limits);
	for (size_t i = 0; i < m->nr_held; i++)
		fprintf(to, " held %" PRIu64, m->held[i]);
	for (size_t i = 0; i < m->nr_asks; i++)
		fprintf(to, " ask %" PRIu64 "/%" PRIu64, m->ask[i].seq, m->ask[i].agent);
	for (size_t i = 0; i < m->nr_sizes; i++)
		fprintf(to, " size %" PRIu64 "@%" PRIu64 " %dx%d", m->size[i].action, m->size[i].at,
			m->size[i].cols, m->size[i].rows);
	for (size_t i = 0; i < m->nr_marks; i++)
		fprintf(to, " mark %" PRIu64 " %" PRIu64 " '%s' '%s'", m->mark[i].seq,
			m->mark[i].on, m->mark[i].text, m->mark[i].key);
	for (size_t i = 0; i < m->nr_repeats; i++)
		fprintf(to, " redo %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %" PRIu64,
			m->repeat[i].seq, m->repeat[i].of, m->repeat[i].here, m->repeat[i].again,
			m->repeat[i].ended);
	print_rows(to, &m->rows);
	for (size_t i = 0; i < m->nr_agents; i++)
		print_agent(to, &m->agent[i]);
	for (size_t i = 0; i < m->nr_boxes; i++)
		print_box(to, &m->box[i]);
	for (size_t i = 0; i < m->nr_actions; i++)
		print_action(to, &m->action[i]);
}

#endif
