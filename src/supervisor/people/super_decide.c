/* Users' decisions over the control socket: approvals, denials, answers, and the other actions
 * that a pattern would decide. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/people/ask.h"
#include "supervisor/trial/dry_run.h"
#include "supervisor/people/super_added.h"
#include "supervisor/people/super_cmd.h"
#include "supervisor/box/super_tree.h"
#include "base/clock.h"

/* Reads the arguments and options of approve and deny. */
static int read_decide(struct ask_for *a, struct decide *d, struct err *err)
{
	const char *intent = command_opt(a->line, "intent"), *span = command_opt(a->line, "for");
	d->message = command_opt(a->line, "message");
	d->note = command_opt(a->line, "note");
	d->confirm = command_opt(a->line, "confirm");
	d->who = a->rq->who;
	if (command_args_id(command_args_word(a, 0), &d->action, err) < 0)
		return -1;
	if (intent && !hex_parse(intent, strlen(intent), d->intent.b, HASH_LEN))
		return err_set(err, ERR_USAGE, "--intent: expected 64 hexadecimal digits, got '%s'",
			       intent);
	d->waiver_host = command_opt(a->line, "also-host");
	if (d->waiver_host && !d->waiver)
		return err_set(err, ERR_USAGE, "--also-host requires --session PATTERN");
	if (!d->waiver &&
	    (span || command_has(a->line, "uses") || command_has(a->line, "all-agents")))
		return err_set(err, ERR_USAGE,
			       "--for, --uses, and --all-agents require --session PATTERN");
	if (span && (!clock_parse_span(span, &d->waiver_for_us) || d->waiver_for_us <= 0))
		return err_set(err, ERR_USAGE, "--for: expected a time such as 30m, got '%s'",
			       span);
	d->waiver_all = command_has(a->line, "all-agents");
	return command_opt_int(a->line, "uses", 1, INT32_MAX, &d->waiver_uses, err);
}

/* A merge takes the reviewed parts, whatever way it is approved. */
static int decide_one(struct ask_for *a, struct decide *d, json_t *went, struct err *err)
{
	CLEANUP(json_release) json_t *opts = command_line_opts(a->line);
	struct tree_request rq = { .s = a->s, .who = a->rq->who };
	if (d->decision == DECIDE_APPROVE && trees_review_approve(&rq, d->action, opts, err) < 0)
		return -1;
	d->others_done = went;
	int rc = gate_decide(a->s->gate, d, err);
	if (rc < 0)
		trees_review_forget(a->s, d->action);
	return rc;
}

static int super_decide(struct ask_for *a, struct decide *d, json_t *out, struct err *err)
{
	const char *rule = command_opt(a->line, "rule"), *list = command_opt(a->line, "others");
	CLEANUP(json_release) json_t *others = json_array();
	if (read_decide(a, d, err) < 0 || (list && added_others(list, others, err) < 0))
		return -1;
	if (list && !rule && !d->waiver)
		return err_set(err, ERR_USAGE, "--others requires --session or --rule");
	d->others = others;
	if (rule && (d->waiver || d->edit))
		return err_set(err, ERR_USAGE,
			       "--rule can't be combined with --session, --cmd, or --edit");
	if (rule) {
		bool deny = d->decision != DECIDE_APPROVE;
		return added_begin(a->s, a->rq->ticket, d, deny ? VERDICT_DENY : VERDICT_ALLOW,
				   rule, err) < 0
			       ? -1
			       : 1;
	}
	CLEANUP(json_release) json_t *went = json_array();
	int rc = decide_one(a, d, went, err);
	if (json_array_size(went))
		json_put(out, "others", json_incref(went));
	super_changed(a->s);
	return rc;
}

/* --- several actions at once --- */

static bool has_high_risk(const json_t *state, uint64_t action)
{
	const json_t *held = json_object_get(state, "held"), *row;
	size_t i;
	json_array_foreach(held, i, row) if ((uint64_t)json_int(row, "action", 0) ==
					     action) return !strcmp(json_str(row, "risk", ""),
								    "high");
	return false;
}

/* Several actions share the words of a decision, and nothing that depends on one of them. */
static int several_fit(struct ask_for *a, enum decision how, struct err *err)
{
	static const char *const one[] = { "session", "for",  "uses",	"all-agents", "also-host",
					   "rule",    "cmd",  "others", "intent",     "confirm",
					   "path",    "edit", "hunks" };
	for (size_t i = 0; i < ARRAY_LEN(one); i++)
		if (command_has(a->line, one[i]))
			return err_set(err, ERR_USAGE, "--%s takes one ID", one[i]);
	CLEANUP(json_release) json_t *state = gate_state(a->s->gate);
	for (size_t i = 0; command_args_word(a, i); i++) {
		uint64_t id;
		if (command_args_id(command_args_word(a, i), &id, err) < 0)
			return -1;
		if (how == DECIDE_APPROVE && has_high_risk(state, id))
			return err_set(err, ERR_USAGE,
				       "#%" PRIu64 " has high risk\nApprove it alone.", id);
	}
	return 0;
}

/* Decides each action separately: one that another client has decided meanwhile is named and
 * doesn't stop the others. */
static int decide_several(struct ask_for *a, enum decision how, json_t *out, struct err *err)
{
	json_t *done = json_array(), *failed = json_array();
	json_put(out, "actions", done);
	json_put(out, "failed", failed);
	if (several_fit(a, how, err) < 0)
		return -1;
	for (size_t i = 0; command_args_word(a, i); i++) {
		struct err why = ERR_INIT;
		struct decide d = { .decision = how,
				    .message = command_opt(a->line, "message"),
				    .note = command_opt(a->line, "note"),
				    .who = a->rq->who };
		if (command_args_id(command_args_word(a, i), &d.action, err) < 0)
			return -1;
		CLEANUP(json_release) json_t *went = json_array();
		if (decide_one(a, &d, went, &why) == 0) {
			json_array_append_new(done, json_integer((json_int_t)d.action));
			continue;
		}
		json_t *row = json_object();
		json_put_int(row, "action", (int64_t)d.action);
		json_put_str(row, "why", why.text);
		json_array_append_new(failed, row);
	}
	super_changed(a->s);
	return 0;
}

int cmd_approve(struct ask_for *a, json_t *out, struct err *err)
{
	if (command_args_word(a, 1)) {
		json_put_str(out, "decision", "approved");
		return decide_several(a, DECIDE_APPROVE, out, err);
	}
	const char *cmd = command_opt(a->line, "cmd");
	json_put_str(out, "decision", cmd ? "edited" : "approved");
	CLEANUP(json_release) json_t *edit = cmd ? json_object() : NULL;
	if (cmd)
		json_put_str(edit, "cmd", cmd);
	struct decide d = { .decision = cmd ? DECIDE_EDIT : DECIDE_APPROVE,
			    .edit = edit,
			    .waiver = command_opt(a->line, "session") };
	return super_decide(a, &d, out, err);
}

int cmd_deny(struct ask_for *a, json_t *out, struct err *err)
{
	struct decide d = { .decision = command_has(a->line, "kill")	? DECIDE_KILL
					: command_has(a->line, "pause") ? DECIDE_DENY_PAUSE
									: DECIDE_DENY };
	json_put_str(out, "decision", "denied");
	if (command_args_word(a, 1))
		return decide_several(a, d.decision, out, err);
	return super_decide(a, &d, out, err);
}

/* Defers an action: you looked at it and left it undecided, with a note for the next reviewer. */
int cmd_defer(struct ask_for *a, json_t *out, struct err *err)
{
	struct decide d = { .decision = DECIDE_LATER };
	json_put_str(out, "decision", "later");
	return super_decide(a, &d, out, err);
}

int cmd_answer(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	const char *choice = command_args_word(a, 1), *text = command_opt(a->line, "message"),
		   *field;
	(void)out;
	if (command_args_id(command_args_word(a, 0), &id, err) < 0)
		return -1;
	CLEANUP(json_release) json_t *form = NULL;
	for (size_t i = 0; (field = command_opt_nth(a->line, "field", i)); i++) {
		const char *eq = strchr(field, '=');
		if (!eq)
			return err_set(err, ERR_USAGE, "--field: expected NAME=VALUE, got '%s'",
				       field);
		if (!form)
			form = json_object();
		CLEANUP(free_ptr) char *name = mem_strndup(field, (size_t)(eq - field));
		json_put_str(form, name, eq + 1);
	}
	if (!choice && !text && !form)
		return err_set(err, ERR_USAGE, "missing answer: CHOICE, --message, or --field");
	return ask_answer(a->s, id, choice ? choice : text, form, a->rq->who, err);
}

int cmd_waivers(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	const char *rule = command_opt(a->line, "rule"), *pattern = command_args_word(a, 1);
	if (command_args_id(command_args_word(a, 0), &id, err) < 0)
		return -1;
	json_put(out, "proposals", gate_waiver_proposals(a->s->gate, id));
	json_put(out, "hosts", gate_waiver_hosts(a->s->gate, id, dry_run_hosts(a->s, id)));
	if (!pattern)
		return 0;
	if (rule && strcmp(rule, "allow") != 0 && strcmp(rule, "deny") != 0)
		return err_set(err, ERR_USAGE, "--rule: expected allow or deny");
	json_t *tried = rule ? added_look(a->s, id, *rule == 'd' ? VERDICT_DENY : VERDICT_ALLOW,
					  pattern, command_opt(a->line, "note"), err)
			     : gate_waiver_try(a->s->gate, id, pattern, err);
	json_put(out, "tried", tried);
	return tried ? 0 : -1;
}
