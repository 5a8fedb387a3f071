/* Prompts of line mode: the next pending action or question, and its possible answers. */
#include "ui/line_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ui/term/fmt.h"
#include "ui/frame/cmdtable.h"
#include "ui/views/approve.h"
#include "ui/rows/row.h"

enum { ANSWER_US = 1000000 }; /* who waits longer for an answer may type meanwhile */

const char line_choices[] =
	"  1 approve once  2 approve for session  3 add rule  4 edit  5 deny with message  6 deny and pause  7 kill  8 later\n"
	"  9 details  10 dry run  11 apply the dry run  12 note for the recording\n";

static const char budget_choices[] =
	"  1 approve once  5 deny with message  6 deny and pause  7 kill  8 later  9 tell me more\n";

void line_forget(struct line *l)
{
	free(l->intent);
	free(l->type);
	free(l->note);
	free(l->edited);
	free(l->pattern);
	free(l->others);
	l->intent = l->type = l->note = l->edited = l->pattern = l->others = NULL;
	json_release(&l->pending);
	l->high = false;
	l->armed = 0;
}

static bool can_act(const struct line *l)
{
	return l->ask && l->act && l->act->command;
}

/* Events that came between have pushed it up. */
void line_show_prompt(struct line *l)
{
	static const char *const labels[] = { [AWAIT_MESSAGE] = "message to the agent",
					      [AWAIT_PATTERN] = "pattern",
					      [AWAIT_RULE] = "pattern of the rule",
					      [AWAIT_SURE] = "yes to save",
					      [AWAIT_NAME] = "the name",
					      [AWAIT_NOTE] = "note",
					      [AWAIT_EDIT] = "run this instead",
					      [AWAIT_EDITED] = "yes to approve" };
	const char *label = l->awaiting < ARRAY_LEN(labels) ? labels[l->awaiting] : NULL;
	if (l->awaiting == AWAIT_LOOK) /* asked when it is there to be read */
		return;
	if (l->sent_us && clock_mono_us() - l->sent_us < ANSWER_US)
		return;
	if (!l->at_prompt)
		fprintf(l->out, "%" PRIu64 "%s%s> ", l->asked, label ? " " : "",
			label ? label : "");
	l->at_prompt = true;
}

static void prompt_action(struct line *l, const struct model_action *act)
{
	struct arena a = ARENA_INIT;
	struct approval_info info;
	approval_load(&info, l->s, act->id, &a);
	l->asked = act->id;
	l->awaiting = AWAIT_CHOICE;
	line_forget(l);
	l->intent = mem_strdup(info.intent);
	l->type = info.type ? mem_strdup(info.type) : NULL;
	l->high = info.high;
	l->budget = info.budget;
	l->words = info.command != NULL;
	l->tries = info.tries;
	fprintf(l->out, "ask %" PRIu64 ", risk %s", act->id, info.high ? "high" : "normal");
	if (act->until_us)
		fprintf(l->out, ", %s in %s without an answer",
			strcmp(info.on_timeout, "allow") == 0 ? "ALLOWED" : "denied",
			fmt_age(&a, act->until_us - l->s->model.last_us));
	fputs(".", l->out);
	if (info.type) {
		fputs(" An approval needs the name typed: ", l->out);
		line_print_safe(l->out, info.type);
	}
	if (info.note) {
		fputs(" Note by ", l->out);
		line_print_safe(l->out, info.note_by);
		fputs(": ", l->out);
		line_print_safe(l->out, info.note);
	}
	fprintf(l->out, "\n%s", info.budget ? budget_choices : line_choices);
	if (info.budget) {
		fputs(info.command
			      ? "  4 edit  10 dry run  11 apply the dry run  12 note for the recording\n"
			      : "  12 note for the recording\n",
		      l->out);
		fputs("  a budget is used up; extend it with \"budget", l->out);
		if (!l->s->model.used_up && info.agent && !info.agent->script)
			fputc(' ', l->out), line_print_safe(l->out, info.agent->name);
		fputs(" --usd 1\" (--steps, --tokens, --time, --actions)\n", l->out);
	}
	line_show_prompt(l);
	arena_release(&a);
}

/* Text or bytes, made safe. */
static void print_bytes(struct line *l, const json_t *value)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, safe = BUF_INIT;
	if (!json_get_bytes(value, &b) && value)
		json_dump_buf((json_t *)(uintptr_t)value, &b);
	if (b.len > 0)
		sanitize_line(buf_cstr(&b), b.len, 0, &safe);
	fputs(buf_cstr(&safe), l->out);
}

/* A form has a value for each of its fields: too much for one line without names. */
static void print_form(struct line *l, uint64_t seq, json_t *form)
{
	const char *name;
	json_t *value;
	size_t i;
	if (!json_array_size(form) && !json_object_size(form))
		return;
	fprintf(l->out, "  fields; say \": answer %" PRIu64, seq);
	json_array_foreach(form, i, value)
	{
		fputs(" --field ", l->out);
		print_bytes(l, value);
		fputs("=..", l->out);
	}
	json_object_foreach(form, name, value)
	{
		fputs(" --field ", l->out);
		line_print_safe(l->out, name);
		fputc('=', l->out);
		print_bytes(l, value);
	}
	fputs("\"\n", l->out);
}

static void prompt_question(struct line *l, uint64_t seq)
{
	CLEANUP(json_release) json_t *o = source_body(l->s, seq);
	const json_t *list = json_object_get(o, "choices");
	l->asked = seq;
	l->awaiting = AWAIT_ANSWER;
	fprintf(l->out, "question %" PRIu64 ": ", seq);
	print_bytes(l, json_object_get(o, "text"));
	fputc('\n', l->out);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);
		fprintf(l->out, "  %zu ", i + 1);
		print_bytes(l, json_is_object(c) && json_object_get(c, "text")
				       ? json_object_get(c, "text")
				       : c);
	}
	if (json_array_size(list))
		fputc('\n', l->out);
	print_form(l, seq, json_object_get(o, "form"));
	if (json_object_get(o, "default")) {
		fputs(json_int(o, "timeout_us", 0) > 0 ? "  if the time is over: "
						       : "  without an answer: ",
		      l->out);
		print_bytes(l, json_object_get(o, "default"));
		fputc('\n', l->out);
	}
	line_show_prompt(l);
}

bool line_waits(const struct line *l, uint64_t seq)
{
	const struct model_action *act = model_action(&l->s->model, seq);
	if (act)
		return act->state == ACT_WAITS;
	for (size_t i = 0; i < l->s->model.nr_asks; i++)
		if (l->s->model.ask[i].seq == seq)
			return true;
	return false;
}

void line_prompt_about(struct line *l, uint64_t seq)
{
	const struct model_action *act = model_action(&l->s->model, seq);
	if (act)
		prompt_action(l, act);
	else
		prompt_question(l, seq);
}

/* True if a prompt of its own is due. */
static bool is_due(const struct line *l, uint64_t seq)
{
	size_t i = 0;
	while (i < l->nr_off && l->off[i] != seq)
		i++;
	return i == l->nr_off;
}

void line_later(struct line *l)
{
	if (is_due(l, l->asked)) {
		GROW(l->off, l->nr_off, l->cap_off);
		l->off[l->nr_off++] = l->asked;
	}
	l->asked = 0;
	l->awaiting = AWAIT_COMMAND;
}

/* What waits no longer is asked about when it waits anew. */
static void drop_off(struct line *l)
{
	size_t nr = l->nr_off;
	l->nr_off = 0;
	for (size_t i = 0; i < nr; i++)
		if (line_waits(l, l->off[i]))
			l->off[l->nr_off++] = l->off[i];
}

void line_prompt(struct line *l)
{
	const struct model *m = &l->s->model;
	if (!can_act(l) || l->json)
		return;
	if (l->asked && line_waits(l, l->asked)) {
		line_show_prompt(l);
		return;
	}
	if (l->asked) {
		fputs("(already decided)\n", l->out);
		l->swapped_us = clock_mono_us();
	}
	l->asked = 0;
	l->awaiting = AWAIT_COMMAND;
	drop_off(l);
	for (size_t i = 0; i < m->nr_held; i++)
		if (is_due(l, m->held[i])) {
			prompt_action(l, model_action(m, m->held[i]));
			return;
		}
	for (size_t i = 0; i < m->nr_asks; i++)
		if (is_due(l, m->ask[i].seq)) {
			prompt_question(l, m->ask[i].seq);
			return;
		}
}
