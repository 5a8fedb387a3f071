#include "ui/views/approval_priv.h"

#include <inttypes.h>
#include <string.h>

#include "ui/term/fmt.h"

static bool approval_paint_small(int rows)
{
	return rows < 30;
}

int approval_decide_rows(const struct approval *v, int rows)
{
	if (v->widen.what && !v->info.decided)
		return widen_rows(rows);
	if (v->looks && !v->info.decided)
		return 3;
	return approval_paint_small(rows) ? 6 : 12;
}

static const char *approval_paint_deadline(const struct approval *v)
{
	const struct model_action *act = v->info.act;
	if (!act->until_us)
		return "";
	bool allow = strcmp(v->info.on_timeout, "allow") == 0;
	return arena_printf(v->arena, "auto-%s in %s", allow ? "ALLOW" : "DENY",
			    fmt_age(v->arena, act->until_us - v->now_us));
}

static void paint_top(const struct approval *v, const struct ui *ui, struct area a)
{
	struct arena *ar = v->arena;
	const struct model_action *act = v->info.act;
	bool allow = strcmp(v->info.on_timeout, "allow") == 0;
	bool lost = ui->src[v->source]->lost; /* nothing is denied either, until it is resumed */
	const char *name = v->info.agent ? ui_agent_name(ui, v->source, v->info.agent) : "no agent";
	bool wide = a.cols >= 100;
	/* the same number may wait in each */
	const char *id = ui->src[v->source]->model.id,
		   *of = !wide && ui->nr_src > 1 && id ? id : "action ";
	struct piece p[] = {
		{ ROLE_NAME, name },
		{ ROLE_DIM, wide ? id : "" },
		{ ROLE_DIM, v->info.agent && v->info.agent->turn && wide
				    ? arena_printf(ar, "turn %u", v->info.agent->turn)
				    : "" },
		{ ROLE_TEXT, arena_printf(ar, "%s#%" PRIu64, of, v->action) },
		{ ROLE_HELD,
		  v->info.decided
			  ? ""
			  : arena_printf(ar, "held %s", fmt_age(ar, v->now_us - act->held_us)) },
		{ allow ? ROLE_FAILED : ROLE_WARN, v->info.decided ? ""
						   : lost	   ? "NO SUPERVISOR"
								   : approval_paint_deadline(v) },
	};
	draw_title(a, 0,
		   v->place ? arena_printf(ar, "approval %zu of %zu", v->place, v->of) : "approval",
		   p, ARRAY_LEN(p));
	const char *risk = v->info.high
				   ? arena_printf(ar, "RISK high%s%s",
						  *v->info.risk_why ? ": " : "", v->info.risk_why)
			   : *v->info.risk_why ? v->info.risk_why
					       : NULL;
	put_rule(a, 1, NULL, ROLE_RULE, risk);
	if (risk && v->info.high)
		grid_put(a, 1, a.cols - text_cells(risk, false) - 3, ROLE_FAILED, risk);
}

static void approval_paint_counts(const struct approval *v, struct area a)
{
	if (v->text_top == 0 && v->info.counts && !v->output)
		grid_put(a, 0, 9, v->info.hidden ? ROLE_FAILED : ROLE_DIM,
			 arena_printf(v->arena, "(%s)", v->info.counts));
}

static const struct {
	enum verb verb;
	const char *key, *name, *what;
} approval_paint_decisions[] = {
	{ VERB_YES, "y", "approve once", "run exactly these bytes, once" },
	{ VERB_BUDGET, "$", "extend the budget..", "it continues, and so do later actions" },
	{ VERB_YES_SESSION, "s", "approve for session..",
	  "choose a pattern; shows past actions that it would have allowed" },
	{ VERB_YES_RULE, "p", "add rule to policy..",
	  "appends to .sandglass/added.lua after you see the line" },
	{ VERB_EDIT, "e", "edit and approve..",
	  "opens $EDITOR; checked against policy again; the agent sees the edit" },
	{ VERB_PROMOTE, "m", "apply the dry run",
	  "exactly its changes, exit status, and output; nothing runs" },
	{ VERB_NO, "n", "deny with message..",
	  "the message becomes the tool result; the agent continues" },
	{ VERB_NO_PAUSE, "x", "deny and pause", "the agent stops before its next step" },
	{ VERB_NO_KILL, "X", "kill the agent..", "the sandbox is kept for review" },
	{ VERB_LATER, "Esc", "decide later", "it stays pending; other agents continue" },
	{ VERB_NOTE, "N", "recorded note..", "kept with the decision; the agent does not see it" },
};

size_t approval_count(void)
{
	return ARRAY_LEN(approval_paint_decisions);
}

enum verb approval_verb(size_t i)
{
	return approval_paint_decisions[i].verb;
}

const char *approval_key(size_t i)
{
	return approval_paint_decisions[i].key;
}

/* A used-up budget needs more budget, not a pattern or a rule; only a budget can be extended. Only a
 * command line can be edited, and a merge has no dry run to apply. */
bool approval_offers(const struct approval *v, size_t i)
{
	switch ((int)approval_paint_decisions[i].verb) {
	case VERB_BUDGET:
		return v->info.budget;
	case VERB_YES_SESSION:
	case VERB_YES_RULE:
		return !v->info.budget;
	case VERB_EDIT:
		return v->info.command;
	case VERB_PROMOTE:
		return v->info.tries;
	default:
		return true;
	}
}

const char *approval_off(const struct approval *v, const struct ui *ui, enum verb verb)
{
	if (verb_group(verb) != GROUP_DECIDE || verb == VERB_LATER)
		return NULL;
	if (!v->info.act)
		return "there is nothing to decide";
	if (v->info.decided)
		return "already decided";
	if (ui->mono_us - v->opened_us < ui->dead_us)
		return "keys are off for a moment, so that nothing is decided by mistake";
	if (v->info.budget &&
	    (verb == VERB_YES_SESSION || verb == VERB_YES_RULE ||
	     (!v->info.command && verb == VERB_EDIT) || (!v->info.tries && verb == VERB_PROMOTE)))
		return "only the used-up budget holds it: $ extends the budget, y approves once";
	if (!v->seen_end && (verb == VERB_YES || verb == VERB_YES_SESSION || verb == VERB_YES_RULE))
		return "scroll to the end of the command first";
	if (v->edited &&
	    (verb == VERB_YES_SESSION || verb == VERB_YES_RULE || verb == VERB_PROMOTE))
		return "the action is edited: y approves it once";
	if (verb == VERB_PROMOTE && !v->info.tries)
		return "only for commands, writes, and edits";
	if (verb == VERB_PROMOTE && !v->info.act->promotable)
		return v->info.trying  ? "the dry run is running"
		       : v->info.tried ? "this dry run can't be applied; r repeats it"
				       : "r starts a dry run first";
	if (!v->info.command && verb == VERB_EDIT)
		return "only for command lines";
	return NULL;
}

static const char *what_of(const struct approval *v, size_t i)
{
	const char *type = v->info.type;
	if (approval_paint_decisions[i].verb == VERB_YES && !v->seen_end)
		return "(scroll to the end first: Space)";
	if (approval_paint_decisions[i].verb == VERB_PROMOTE && !v->info.act->promotable)
		return v->info.trying ? "the dry run is running" : "r starts a dry run first";
	if (approval_paint_decisions[i].verb == VERB_YES && v->armed)
		return "press again: the risk is high";
	if (approval_paint_decisions[i].verb == VERB_YES && type)
		return arena_printf(v->arena, "run exactly these bytes, once (%sthen type %s)",
				    v->info.high ? "y twice, " : "", type);
	if (approval_paint_decisions[i].verb == VERB_YES && v->info.high)
		return "run exactly these bytes, once (y twice: the risk is high)";
	if (approval_paint_decisions[i].verb == VERB_NOTE && *v->note)
		return v->note;
	return approval_paint_decisions[i].what;
}

static void paint_decision(const struct approval *v, const struct ui *ui, struct area a, int row,
			   int col, size_t i, bool what)
{
	bool dead = approval_off(v, ui, approval_paint_decisions[i].verb) ||
		    (verb_acts(approval_paint_decisions[i].verb) && !ui_may_act(ui, v->source));
	bool hot = approval_paint_decisions[i].verb == VERB_YES && v->armed,
	     noted = approval_paint_decisions[i].verb == VERB_NOTE && *v->note;
	bool on = v->chosen == i + 1;
	grid_put(a, row, col - 2, ROLE_HELD, on ? ">" : "");
	col = put_field(a, row, col, 4, dead ? ROLE_OFF : ROLE_KEY,
			approval_paint_decisions[i].key);
	col = put_field(a, row, col, 24,
			dead	    ? ROLE_OFF
			: hot || on ? ROLE_HELD
				    : ROLE_TEXT,
			noted && !what ? v->note : approval_paint_decisions[i].name);
	if (what) {
		const char *text = what_of(v, i);
		put_bytes(a, row, col, a.cols - col - 1,
			  hot	  ? ROLE_HELD
			  : noted ? ROLE_NAME
				  : ROLE_DIM,
			  text, strlen(text), 0);
	}
}

static void paint_decisions(const struct approval *v, const struct ui *ui, struct area a)
{
	bool two = a.rows < 8;
	size_t at[ARRAY_LEN(approval_paint_decisions)], nr = 0;
	for (size_t i = 0; i < ARRAY_LEN(approval_paint_decisions); i++)
		if (approval_offers(v, i))
			at[nr++] = i;
	size_t half = (nr + 1) / 2;
	put_rule(a, 0, "decide", ROLE_TITLE,
		 v->armed	  ? "y again to approve, any other key not"
		 : v->info.folded ? "v shows everything"
				  : NULL);
	for (size_t i = 0; i < nr; i++)
		paint_decision(v, ui, a, 1 + (int)(two ? i % half : i),
			       two ? 3 + (int)(i / half) * (a.cols / 2) : 3, at[i], !two);
}

/* Keys that do nothing are not offered. */
static void paint_looking(const struct approval *v, const struct ui *ui, struct area a)
{
	put_rule(a, 0, "to look at", ROLE_TITLE, NULL);
	grid_put(a, 1, 3, ROLE_DIM, ui_why_not(ui, v->source));
}

static void paint_decided(const struct approval *v, struct area a)
{
	put_rule(a, 0, "decided", ROLE_TITLE, "any key closes");
	grid_put(a, 2, 3, ROLE_HELD, v->info.decided);
}

void approval_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct approval *v = self;
	if (!v->info.act) {
		draw_title(a, 0, "approval", NULL, 0);
		put_rule(a, 1, NULL, ROLE_RULE, NULL);
		grid_put(a, 3, 3, ROLE_DIM, "nothing is pending");
		return;
	}
	int below = approval_decide_rows(v, a.rows);
	struct area body = area_sub(a, 2, 1, a.rows - 2 - below, a.cols - 1);
	paint_top(v, ui, a);
	text_paint(&v->text, body, v->text_top);
	approval_paint_counts(v, body);
	if (v->text_top + (size_t)body.rows < v->text.nr)
		put_right(body, body.rows - 1, 0, body.cols - 1, ROLE_WARN,
			  arena_printf(v->arena, " %s: Space ",
				       fmt_plural(v->arena,
						  (int64_t)(v->text.nr - v->text_top) - body.rows,
						  "more line", "more lines")));
	struct area low = area_sub(a, a.rows - below, 0, below, a.cols);
	if (v->info.decided)
		paint_decided(v, low);
	else if (v->looks)
		paint_looking(v, ui, low);
	else if (v->widen.what)
		widen_paint(v, ui, low);
	else
		paint_decisions(v, ui, low);
}
