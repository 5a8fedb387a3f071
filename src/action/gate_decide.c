/* Users and held actions. */
#include "action/gate_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/record_event.h"

enum { NAMED_PENDING = 8 }; /* numbers in the text of an error */

static const char *decision_name(enum decision d)
{
	switch (d) {
	case DECIDE_APPROVE:
		return "approve";
	case DECIDE_DENY:
		return "deny";
	case DECIDE_DENY_PAUSE:
		return "deny_pause";
	case DECIDE_EDIT:
		return "edit";
	case DECIDE_LATER:
		return "later";
	case DECIDE_KILL:
		return "kill";
	}
	return "";
}

static void decided_push(struct gate *g, uint64_t action, enum decision d, const char *by,
			 const json_t *who)
{
	struct decided *e = &g->decided[g->nr_decided++ % ARRAY_LEN(g->decided)];
	const char *name = json_str(who, "name", by);
	free(e->name);
	*e = (struct decided){ action, d, by, mem_strdup(name), clock_wall_us() };
}

/* "#80, #105", the oldest first; empty when nothing is pending. */
static void pending_numbers(const struct gate *g, struct buf *out)
{
	size_t nr = 0;
	for (const struct action *a = g->all; a; a = a->next)
		if (a->state == ACTION_HELD && nr++ < NAMED_PENDING)
			buf_printf(out, "%s#%llu", out->len ? ", " : "", (unsigned long long)a->id);
	if (nr > NAMED_PENDING)
		buf_printf(out, " and %zu more", nr - NAMED_PENDING);
}

static int not_held(const struct gate *g, uint64_t action, struct err *err)
{
	static const char *const done[] = {
		[DECIDE_APPROVE] = "approved",	 [DECIDE_DENY] = "denied",
		[DECIDE_DENY_PAUSE] = "denied",	 [DECIDE_EDIT] = "edited and approved",
		[DECIDE_LATER] = "left pending", [DECIDE_KILL] = "killed"
	};
	CLEANUP(buf_release) struct buf when = BUF_INIT, pending = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(g->decided); i++) {
		const struct decided *e = &g->decided[i];
		if (e->action != action || !e->name)
			continue;
		clock_local_hms(e->wall_us, true, &when);
		return err_set(err, ERR_NOENT, "#%llu is not pending: %s by %s at %s",
			       (unsigned long long)action, done[e->decision], e->name,
			       buf_cstr(&when));
	}
	pending_numbers(g, &pending);
	return err_set(err, ERR_NOENT, "#%llu is not pending; %s%s", (unsigned long long)action,
		       pending.len ? "pending: " : "nothing is pending", buf_cstr(&pending));
}

static void gate_decide_deny(struct action *a, const struct decide *d)
{
	struct gate *g = a->gate;
	const struct match *m = judgement_winner(&a->judgement);
	bool budget = a->reasons && !(a->reasons & ~(unsigned)(HOLD_BUDGET | HOLD_PRICE));
	uint64_t agent = a->spec.agent;
	past_denied(g, a);
	action_unhold(a);
	switch (d->decision) {
	case DECIDE_KILL:
		action_finish(a, END_KILLED, NULL,
			      d->message ? d->message : "the user ended the agent", NULL);
		break;
	case DECIDE_APPROVE:
	case DECIDE_DENY:
	case DECIDE_DENY_PAUSE:
	case DECIDE_EDIT:
	case DECIDE_LATER:
		action_finish(a, budget ? END_BUDGET : END_DENIED, NULL, d->message,
			      m && a->judgement.verdict == VERDICT_ASK ? m->rule->name : NULL);
		break;
	}
	if (d->decision == DECIDE_DENY_PAUSE || d->decision == DECIDE_KILL)
		gate_pause(g, agent, d->who);
	if (d->decision == DECIDE_KILL && g->ops.on_kill)
		g->ops.on_kill(g->ops.self, agent, d->who);
}

/* --- editing ---------------------------------------------------------------------------------- */

static void set_text(const char **to, const json_t *value)
{
	struct buf b = BUF_INIT;
	json_get_bytes(value, &b);
	free((void *)(uintptr_t)*to);
	*to = buf_take(&b);
}

/* The words as they will run; the text is kept beside them when a shell reads it. */
static void set_cmd(struct action_spec *s, const json_t *value)
{
	struct strv argv = STRV_INIT;
	bool shell = s->argv.nr == 3 && !strcmp(s->argv.item[1], "-c");
	set_text(&s->cmdline, value);
	strv_push(&argv, shell ? s->argv.item[0] : "sh");
	strv_push(&argv, "-c");
	strv_push(&argv, s->cmdline);
	strv_release(&s->argv);
	s->argv = argv;
}

static bool no_nul(const json_t *value)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	return json_get_bytes(value, &b) && b.len && !memchr(b.data, 0, b.len);
}

static int check_argv(const json_t *value, struct err *err)
{
	bool good = json_is_array(value) && json_array_size(value) > 0;
	for (size_t i = 0; good && i < json_array_size(value); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		good = json_get_bytes(json_array_get(value, i), &b) &&
		       !(b.len && memchr(b.data, 0, b.len));
	}
	return good ? 0 : err_set(err, ERR_INVALID, "edit: \"argv\": expected a list of arguments");
}

static int check_edit(const struct action_spec *s, const json_t *edit, struct err *err)
{
	static const char *const keys[] = { "argv", "cmd",  "cwd",  "data",
					    "path", "host", "args", NULL };
	const char *key;
	json_t *value;
	if (!json_is_object(edit) || !json_object_size(edit))
		return err_set(err, ERR_INVALID, "edit: nothing to change was given");
	json_object_foreach((json_t *)(uintptr_t)edit, key, value)
	{
		const char *const *k = keys;
		while (*k && strcmp(*k, key) != 0)
			k++;
		if (!*k)
			return err_set(err, ERR_INVALID, "edit: can't change \"%s\"", key);
		bool command = !strcmp(key, "argv") || !strcmp(key, "cmd");
		if (command && !s->argv.nr && !s->cmdline)
			return err_set(err, ERR_INVALID, "edit: a %s has no command",
				       action_kind_name(s->kind));
		if (!strcmp(key, "argv")) {
			if (check_argv(value, err) < 0)
				return -1;
		} else if (!strcmp(key, "args")) {
			if (!json_is_object(value))
				return err_set(err, ERR_INVALID, "edit: \"args\" must be a table");
		} else if (!strcmp(key, "data")) {
			CLEANUP(buf_release) struct buf b = BUF_INIT;
			if (!json_get_bytes(value, &b))
				return err_set(err, ERR_INVALID, "edit: \"data\" must be text");
		} else if (!no_nul(value)) {
			return err_set(err, ERR_INVALID,
				       "edit: \"%s\" must be a text, not empty and without NUL",
				       key);
		}
	}
	if (json_object_get(edit, "argv") && json_object_get(edit, "cmd"))
		return err_set(err, ERR_INVALID, "edit: either \"argv\" or \"cmd\"");
	return 0;
}

static void apply_edit(struct action_spec *s, const json_t *edit)
{
	const json_t *v;
	if ((v = json_object_get(edit, "argv"))) {
		strv_release(&s->argv);
		json_get_argv(v, &s->argv);
		free((void *)(uintptr_t)s->cmdline);
		s->cmdline = NULL;
	}
	if ((v = json_object_get(edit, "cmd")))
		set_cmd(s, v);
	if ((v = json_object_get(edit, "cwd")))
		set_text(&s->cwd, v);
	if ((v = json_object_get(edit, "path")))
		set_text(&s->path, v);
	if ((v = json_object_get(edit, "host")))
		set_text(&s->host, v);
	if ((v = json_object_get(edit, "data"))) {
		struct buf b = BUF_INIT;
		json_get_bytes(v, &b);
		free((void *)(uintptr_t)s->data);
		s->data_len = b.len;
		s->data = buf_take(&b);
	}
	if ((v = json_object_get(edit, "args"))) {
		json_t *merged = json_is_object(s->args) ? json_copy(s->args) : json_object();
		json_object_update(merged, (json_t *)(uintptr_t)v);
		json_decref(s->args);
		s->args = merged;
	}
}

static void gate_decide_edit(struct action *a, const struct decide *d)
{
	const struct gate_box *b = gate_find_box(a->gate, a->spec.box);
	apply_edit(&a->spec, d->edit);
	a->edited = true;
	a->by_person = true;
	intent_of(&a->spec, b ? b->profile : NULL, &a->intent);
}

/* --- decisions -------------------------------------------------------------------------------- */

static void append_decided(struct action *a, const struct decide *d, const char *by, bool changed)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct event at = action_place(a);
	const char *decision = d->promote ? "promote" : decision_name(d->decision);
	a->last_seq = record_ev_action_decided(
		a->gate->record, &at,
		&(struct ev_action_decided){
			.decision = ev_text_of(decision),
			.preview = (int64_t)d->promote,
			.by = ev_text_of(by),
			.who = ev_who_from(&mem, d->who),
			.message = ev_text_of(d->message),
			.intent = ev_hex_of(&mem, a->intent.b, HASH_LEN),
			.edit = ev_json_of(&mem, d->decision == DECIDE_EDIT ? d->edit : NULL),
			.waiver = ev_text_of(d->waiver),
			.rule = ev_text_of(d->rule),
			.note = ev_text_of(d->note),
			.confirm = ev_text_of(action_confirm(a) ? d->confirm : NULL),
			.with = (int64_t)d->with_action,
			.workspace_changed = changed });
	decided_push(a->gate, a->id, d->decision, by, d->who);
}

bool action_tree_changed(struct action *a)
{
	struct hash now = { { 0 } };
	if (!a->eff || !a->eff->tree || hash_is_zero(&a->tree))
		return false;
	a->eff->tree(a->eff->self, a, &now);
	return !hash_is_zero(&now) && !hash_eq(&now, &a->tree);
}

bool action_rejected(const struct action *a)
{
	const struct gate_ops *ops = &a->gate->ops;
	return ops->rejected && ops->rejected(ops->self, a->id);
}

static void gate_decide_later(struct action *a, const struct decide *d)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct event at = action_place(a);
	a->last_seq =
		record_ev_action_later(a->gate->record, &at,
				       &(struct ev_action_later){ .who = ev_who_from(&mem, d->who),
								  .message = ev_text_of(d->message),
								  .note = ev_text_of(d->note) });
}

static int gate_decide_typed(struct action *a, const struct decide *d, struct err *err)
{
	const char *word = action_confirm(a);
	if (!word || (d->confirm && !strcmp(d->confirm, word)))
		return 0;
	if (d->confirm)
		return err_set(err, ERR_DENIED, "action %llu: expected the name '%s', got '%s'",
			       (unsigned long long)a->id, word, d->confirm);
	return err_set(err, ERR_DENIED,
		       "action %llu: a rule requires its name: approve %llu --confirm %s",
		       (unsigned long long)a->id, (unsigned long long)a->id, word);
}

static int may_approve(struct action *a, const struct decide *d, struct err *err)
{
	if (gate_decide_typed(a, d, err) < 0)
		return -1;
	if (d->waiver && waiver_check(a->spec.kind, d->waiver, err) < 0)
		return -1;
	if (d->waiver_host && waiver_check(ACT_CONNECT, d->waiver_host, err) < 0)
		return -1;
	if (d->decision == DECIDE_EDIT && check_edit(&a->spec, d->edit, err) < 0)
		return -1;
	return 0;
}

/* Yes, to exactly what was shown. */
static int gate_decide_approve(struct action *a, const struct decide *d, struct err *err)
{
	bool changed = action_tree_changed(a);
	if (changed && a->judgement.risk == RISK_HIGH && d->decision == DECIDE_APPROVE) {
		a->shown_again = true;
		action_hold(a, a->reasons);
		return err_set(
			err, ERR_INVALID,
			"files in the sandbox have changed since action %llu was shown\nReview it again.",
			(unsigned long long)a->id);
	}
	if (d->decision == DECIDE_EDIT)
		gate_decide_edit(a, d);
	append_decided(a, d, "human", changed);
	if (d->waiver)
		waiver_add(a, d);
	if (d->promote && d->decision == DECIDE_APPROVE) {
		a->promoted = d->promote;
		a->eff = d->with;
	}
	price_accepted(a);
	action_unhold(a);
	a->by_person = true;
	if (d->decision == DECIDE_EDIT)
		action_judge(a);
	else
		action_admit(a);
	if (d->waiver || d->rule)
		others_decide(a->gate, d);
	return 0;
}

void decision_carry_out(struct action *a, const struct decide *d)
{
	append_decided(a, d, "human", action_tree_changed(a));
	if (d->decision != DECIDE_APPROVE) {
		gate_decide_deny(a, d);
		return;
	}
	price_accepted(a);
	action_unhold(a);
	a->by_person = true;
	action_admit(a);
}

int gate_may_decide(struct gate *g, const struct decide *d, struct err *err)
{
	struct action *a = gate_action(g, d->action);
	if (!a || a->state != ACTION_HELD)
		return not_held(g, d->action, err);
	if (a->orphan)
		return err_set(err, ERR_BUSY,
			       "action %llu waits until its script has come back to it",
			       (unsigned long long)d->action);
	if (!hash_is_zero(&d->intent) && !hash_eq(&d->intent, &a->intent))
		return err_set(
			err, ERR_INVALID,
			"action %llu has changed since it was shown (another intent)\nReview it again.",
			(unsigned long long)d->action);
	if (d->decision == DECIDE_APPROVE || d->decision == DECIDE_EDIT)
		return may_approve(a, d, err);
	return 0;
}

int gate_decide(struct gate *g, const struct decide *d, struct err *err)
{
	if (gate_may_decide(g, d, err) < 0)
		return -1;
	struct action *a = gate_action(g, d->action);
	switch (d->decision) {
	case DECIDE_LATER:
		gate_decide_later(a, d);
		return 0;
	case DECIDE_APPROVE:
	case DECIDE_EDIT:
		return gate_decide_approve(a, d, err);
	case DECIDE_DENY:
	case DECIDE_DENY_PAUSE:
	case DECIDE_KILL:
		append_decided(a, d, "human", false);
		gate_decide_deny(a, d);
		if (d->rule)
			others_decide(g, d);
		return 0;
	}
	return 0;
}

void action_timed_out(struct action *a)
{
	static const char text[] = "nobody answered in time";
	struct decide d = { .action = a->id, .decision = DECIDE_DENY, .message = text };
	switch (a->judgement.on_timeout) {
	case ON_TIMEOUT_HOLD:
		return;
	case ON_TIMEOUT_ALLOW:
		if (action_rejected(a))
			return; /* as it is, nobody wants it: it waits for a decision */
		d.decision = DECIDE_APPROVE;
		append_decided(a, &d, "timeout", action_tree_changed(a));
		a->reasons &= ~(unsigned)HOLD_ASK;
		if (a->reasons)
			return; /* a pause or a hold remains */
		action_unhold(a);
		a->by_person = true;
		action_admit(a);
		return;
	case ON_TIMEOUT_DENY:
		append_decided(a, &d, "timeout", false);
		gate_decide_deny(a, &d);
		return;
	}
}
