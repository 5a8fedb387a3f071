/* Users' commands over the control socket. Each command is one function and one row below. The
 * registry has checked arguments and options already; the server has recorded the command
 * (control.command) and checked the uid. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/super_priv.h"
#include "ops/dispatch.h"
#include "luahost/luahost.h"
#include "supervisor/people/ask.h"
#include "supervisor/people/unattended.h"
#include "supervisor/people/host_command_log.h"
#include "ops/mcp_inbox.h"
#include "supervisor/people/operator_input.h"
#include "sessions/labels.h"
#include "sessions/redact_request.h"
#include "supervisor/box/super_box.h"
#include "supervisor/people/super_cmd.h"
#include "supervisor/people/terminal_hub.h"
#include "base/clock.h"
#include "base/log.h"
#include "record/record_event.h"

static int cmd_pause(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	(void)out;
	if (command_args_agent(a, &id, err) < 0)
		return -1;
	gate_pause(a->s->gate, id, a->rq->who);
	return 0;
}

static int cmd_continue(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	if (command_args_agent(a, &id, err) < 0)
		return -1;
	gate_continue(a->s->gate, id, a->rq->who);
	super_box_continue(a->s, id, a->rq->cause, out);
	op_agents_continue(a->s);
	return 0;
}

static int cmd_step(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	(void)out;
	if (command_args_agent(a, &id, err) < 0)
		return -1;
	gate_step(a->s->gate, id, a->rq->who);
	op_agents_step(a->s, id);
	return 0;
}

struct freeze_answer {
	struct super *s;
	uint64_t ticket;
};

static void frozen_now(void *self, const struct err *err)
{
	struct freeze_answer *f = self;
	if (f->s->server && err)
		control_refuse(f->s->server, f->ticket, err);
	else if (f->s->server)
		control_answer(f->s->server, f->ticket, NULL);
	free(f);
}

static int super_cmd_freeze(struct ask_for *a, bool frozen, struct err *err)
{
	uint64_t id;
	if (command_args_box(a, command_args_word(a, 0), &id, err) < 0)
		return -1;
	if (id && !boxes_get(a->s->boxes, id))
		return err_set(err, ERR_BUSY, "sandbox '%s' is being opened or closed",
			       boxes_name(a->s->boxes, id));
	struct freeze_answer *f = NEW(struct freeze_answer);
	*f = (struct freeze_answer){ a->s, a->rq->ticket };
	boxes_freeze_then(a->s->boxes, id, frozen, a->rq->cause, frozen_now, f);
	return 1;
}

static int cmd_freeze(struct ask_for *a, json_t *out, struct err *err)
{
	(void)out;
	if (!command_args_word(a, 0)) /* "freeze everything" also holds what has not begun */
		gate_freeze(a->s->gate, a->rq->who);
	return super_cmd_freeze(a, true, err);
}

static int cmd_thaw(struct ask_for *a, json_t *out, struct err *err)
{
	(void)out;
	if (!command_args_word(a, 0)) {
		gate_thaw(a->s->gate, a->rq->who);
		op_agents_continue(a->s);
	}
	return super_cmd_freeze(a, false, err);
}

/* Closes a sandbox: its files are recorded, its processes end, and its agents continue with an
 * error. */
static int cmd_close(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	(void)out;
	if (!command_args_word(a, 0))
		return err_set(err, ERR_USAGE, "missing argument: SANDBOX");
	if (command_args_box(a, command_args_word(a, 0), &id, err) < 0)
		return -1;
	super_box_close(a->s, id);
	return 0;
}

static int cmd_kill(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	const char *why = command_opt(a->line, "message");
	struct err not_agent = ERR_INIT;
	(void)out;
	bool turn = command_has(a->line, "turn");
	if (command_args_agent(a, &id, &not_agent) == 0) {
		if (a->s->host)
			(turn ? luahost_break_off : luahost_stop)(a->s->host, id,
								  why	 ? why
								  : turn ? "interrupted by the user"
									 : "killed by the user");
		return 0;
	}
	if (turn)
		return command_args_nobody(a->s, "agent", command_args_word(a, 0), err);
	if (command_args_id(command_args_word(a, 0), &id, err) < 0)
		return command_args_nobody(a->s, "agent or action", command_args_word(a, 0), err);
	if (!gate_action(a->s->gate, id))
		return err_set(err, ERR_NOENT, "action #%" PRIu64 " is not running", id);
	gate_cancel(a->s->gate, id, "kill", why ? why : "killed by the user");
	return 0;
}

static int cmd_stop(struct ask_for *a, json_t *out, struct err *err)
{
	const char *why = command_opt(a->line, "message");
	(void)out;
	(void)err;
	super_stop(a->s, command_has(a->line, "now"), why ? why : "stopped by a user");
	return 0;
}

static int cmd_say(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	(void)out;
	if (command_args_agent(a, &id, err) < 0)
		return -1;
	for (size_t i = 1; command_args_word(a, i); i++)
		buf_printf(&text, "%s%s", i > 1 ? " " : "", command_args_word(a, i));
	if (strspn(buf_cstr(&text), " \t\n") == text.len)
		return err_set(err, ERR_USAGE, "the message is empty");
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	record_ev_agent_say(a->s->record, &(struct event){ .cause = a->rq->cause, .agent = id },
			    &(struct ev_agent_say){ .text = ev_text_of(buf_cstr(&text)),
						    .who = ev_who_from(&mem, a->rq->who) });
	if (a->s->host)
		luahost_message(a->s->host, id, buf_cstr(&text), a->rq->who);
	return 0;
}

static int cmd_hold(struct ask_for *a, json_t *out, struct err *err)
{
	struct super *s = a->s;
	struct super_own *own = super_own(s);
	CLEANUP(buf_release) struct buf filter = BUF_INIT;
	int rc = 0;
	for (size_t i = 0; command_args_word(a, i); i++)
		buf_printf(&filter, "%s%s", i ? " " : "", command_args_word(a, i));
	if (command_has(a->line, "off")) {
		rc = gate_hold(s->gate, "", a->rq->who, err);
	} else if (command_has(a->line, "on")) {
		rc = gate_hold(s->gate, own->hold ? own->hold : "", a->rq->who, err);
	} else if (filter.len || command_has(a->line, "clear")) {
		rc = gate_hold(s->gate, buf_cstr(&filter), a->rq->who, err);
		if (rc == 0) {
			free(own->hold); /* so that --on can bring it back after --off */
			own->hold = mem_strdup(buf_cstr(&filter));
		}
	}
	CLEANUP(json_release) json_t *state = gate_state(s->gate);
	json_put(out, "hold", json_incref(json_object_get(state, "hold")));
	return rc;
}

/* The mark's cause is the event that it is about: is:marked looks there. */
static int cmd_mark(struct ask_for *a, json_t *out, struct err *err)
{
	const char *key = command_opt(a->line, "key");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	uint64_t on;
	if (!command_args_word(a, 0) || command_args_id(command_args_word(a, 0), &on, err) < 0)
		return command_args_word(a, 0) ? -1
					       : err_set(err, ERR_USAGE, "missing argument: ID");
	if (on > record_head(a->s->record))
		return err_set(err, ERR_NOENT, "event #%" PRIu64 " not found", on);
	if (key && (strlen(key) != 1 || !isalnum((unsigned char)*key)))
		return err_set(err, ERR_USAGE, "--key: expected one letter or digit, got '%s'",
			       key);
	for (size_t i = 1; command_args_word(a, i); i++)
		buf_printf(&text, "%s%s", i > 1 ? " " : "", command_args_word(a, i));
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	uint64_t seq = record_ev_note(a->s->record, &(struct event){ .cause = on },
				      &(struct ev_note){ .level = ev_text_of("mark"),
							 .text = ev_text_of(buf_cstr(&text)),
							 .key = ev_text_of(key),
							 .who = ev_who_from(&mem, a->rq->who) });
	json_put_int(out, "event", (int64_t)seq);
	return 0;
}

static int cmd_budget(struct ask_for *a, json_t *out, struct err *err)
{
	uint64_t id;
	struct budget_limits more = { 0 };
	const char *usd = command_opt(a->line, "usd"), *time = command_opt(a->line, "time");
	const char *name = command_args_word(a, 0);
	if (name && strchr(name, '='))
		return err_set(err, ERR_USAGE,
			       "expected an agent, got '%s'\nWrite amounts as options: --usd 1.",
			       name);
	if (command_args_agent(a, &id, err) < 0)
		return -1;
	struct agent *ag = super_agent(a->s, id);
	uint64_t budget = ag && ag->budget ? ag->budget : a->s->session_budget;
	if (!budget)
		return err_set(
			err, ERR_NOENT,
			"the session has no budget\n'sandglass state' shows the budgets of its agents.");
	if (usd) {
		/* dollars in the form of seconds: the same digits, a millionth as unit */
		int64_t v;
		if (!clock_parse_span(usd, &v))
			return err_set(err, ERR_USAGE,
				       "--usd: expected an amount such as 2 or 0.50, got '%s'",
				       usd);
		more.uusd = v;
	}
	if (time && !clock_parse_span(time, &more.time_us))
		return err_set(err, ERR_USAGE,
			       "--time: expected a time such as 90s or 20m, got '%s'", time);
	if (command_opt_int(a->line, "tokens", 1, INT64_MAX, &more.tokens, err) < 0 ||
	    command_opt_int(a->line, "steps", 1, INT64_MAX, &more.steps, err) < 0 ||
	    command_opt_int(a->line, "actions", 1, INT64_MAX, &more.actions, err) < 0)
		return -1;
	if (more.uusd || more.time_us || more.tokens || more.steps || more.actions)
		gate_budget_extend(a->s->gate, budget, &more, a->rq->who);
	CLEANUP(free_ptr) char *empty = gate_budget_empty(a->s->gate, budget);
	if (empty) { /* what was given was too little */
		CLEANUP(free_ptr)
		char *text = mem_printf(
			"still used up: %s; pending actions continue when you extend it", empty);
		json_put_str(out, "text", text);
	}
	json_put_int(out, "budget", (int64_t)budget);
	json_put(out, "left", gate_budget_left(a->s->gate, budget));
	return 0;
}

static json_t *super_cmd_state_of(void *self)
{
	struct super *s = self;
	json_t *st = s->gate ? gate_state(s->gate) : json_object();
	json_put(st, "asks", ask_pending(s));
	const struct super_own *own = super_own(s);
	if (own->record_state != RECORD_OK) {
		json_put_str(st, "record", own->record_state == RECORD_DEAD ? "dead" : "stalled");
		json_put_str(st, "record_why", own->record_why);
	}
	json_t *boxes = json_array();
	for (size_t i = 0; boxes_at(s->boxes, i); i++) {
		json_t *b = json_object();
		uint64_t id = boxes_at(s->boxes, i);
		json_put_int(b, "box", (int64_t)id);
		json_put_str(b, "name", boxes_name(s->boxes, id));
		json_put_int(b, "alive", boxes_alive(s->boxes, id));
		json_array_append_new(boxes, b);
	}
	json_put(st, "boxes", boxes);
	json_t *agents = json_array();
	for (size_t i = 0; i < s->nr_agents; i++) {
		json_t *one = json_object();
		json_put_int(one, "agent", (int64_t)s->agent[i].id);
		json_put_str(one, "name", s->agent[i].name);
		json_put_flag(one, "ended", s->agent[i].ended);
		json_array_append_new(agents, one);
	}
	json_put(st, "agents", agents);
	json_put(st, "terminals", terminals_json(s));
	json_put_flag(st, "ending", s->ending);
	return st;
}

static int cmd_state(struct ask_for *a, json_t *out, struct err *err)
{
	(void)err;
	CLEANUP(json_release) json_t *st = super_cmd_state_of(a->s);
	json_object_update(out, st);
	return 0;
}

static int cmd_host_command(struct ask_for *a, json_t *out, struct err *err)
{
	(void)out;
	return host_command_log(a->s, a->rq, err) < 0 ? -1 : 1;
}

struct removal_answer {
	struct super *s;
	uint64_t ticket;
};

static void super_cmd_removed(void *self, size_t nr)
{
	struct removal_answer *r = self;
	json_t *out = json_object();
	json_put_int(out, "removed", (int64_t)nr);
	json_put_str(out, "catalog_left", record_catalog_left(r->s->record));
	control_answer(r->s->server, r->ticket, out);
	free(r);
}

static int cmd_redact(struct ask_for *a, json_t *out, struct err *err)
{
	struct removal_wish w = {
		.output = command_has(a->line, "output"),
		.object = command_opt(a->line, "object"),
		.messages = command_opt(a->line, "messages"),
		.why = command_opt(a->line, "why"),
		.who = a->rq->who,
	};
	(void)out;
	if (!w.object && !w.messages &&
	    (!command_args_word(a, 0) || command_args_id(command_args_word(a, 0), &w.seq, err) < 0))
		return command_args_word(a, 0) ? -1
					       : err_set(err, ERR_USAGE, "missing argument: #N");
	struct removal_answer *r = NEW(struct removal_answer);
	*r = (struct removal_answer){ a->s, a->rq->ticket };
	if (redact_request_begin(a->s->record, &w, super_cmd_removed, r, err) == 0)
		return 1;
	free(r);
	return -1;
}

static int cmd_label(struct ask_for *a, json_t *out, struct err *err)
{
	const char *words[64];
	size_t nr = 0;
	while (nr < ARRAY_LEN(words) && command_args_word(a, nr)) {
		words[nr] = command_args_word(a, nr);
		nr++;
	}
	json_t *body = nr ? labels_change(words, nr, true, err) : NULL;
	if (!nr)
		return err_set(err, ERR_USAGE, "label: missing argument: LABEL");
	if (!body)
		return -1;
	json_put(body, "who", json_incref(a->rq->who));
	uint64_t seq =
		record_append_json(a->s->record, EV_SESSION_LABELED, a->rq->cause, 0, 0, 0, body);
	json_put_int(out, "event", (int64_t)seq);
	return 0;
}

static int cmd_mcp_call(struct ask_for *a, json_t *out, struct err *err)
{
	(void)out;
	return mcp_inbox_command(a->s, a->rq, command_args_word(a, 0), err);
}

/* 0 = done, @out is the answer; 1 = the answer comes later by the ticket; -1 = @err. */
static const struct {
	const char *name;
	int (*run)(struct ask_for *a, json_t *out, struct err *err);
} super_cmd_row[] = {
	{ "approve", cmd_approve },
	{ "deny", cmd_deny },
	{ "defer", cmd_defer },
	{ "answer", cmd_answer },
	{ "pause", cmd_pause },
	{ "continue", cmd_continue },
	{ "step", cmd_step },
	{ "freeze", cmd_freeze },
	{ "thaw", cmd_thaw },
	{ "close", cmd_close },
	{ "kill", cmd_kill },
	{ "stop", cmd_stop },
	{ "say", cmd_say },
	{ "hold", cmd_hold },
	{ "budget", cmd_budget },
	{ "mark", cmd_mark },
	{ "state", cmd_state },
	{ "merge", cmd_merge },
	{ "review", cmd_review },
	{ "rollback", cmd_rollback },
	{ "redact", cmd_redact },
	{ "label", cmd_label },
	{ "waivers", cmd_waivers },
	{ "undo", cmd_undo },
	{ "dry-run", cmd_dry_run },
	{ "apply", cmd_apply },
	{ "host_command", cmd_host_command },
	{ "redo_here", cmd_repeat_here },
	{ "mcp_call", cmd_mcp_call },
	{ "open_shell", cmd_open_shell },
	{ "input", cmd_input },
	{ "resize", cmd_resize },
	{ "terminal", cmd_terminal },
	{ "box_copy", cmd_box_copy },
	{ "box_look", cmd_box_look },
	{ "box_snapshot", cmd_box_snapshot },
};

static void on_command(void *self, const struct control_request *rq)
{
	struct super *s = self;
	struct ask_for a = { .s = s, .rq = rq, .line = rq->line };
	struct err err = ERR_INIT;
	json_t *out = json_object();
	int rc = -1;
	err_set(&err, ERR_UNSUPPORTED, "this supervisor doesn't support '%s'",
		rq->line->command->name);
	for (size_t i = 0; i < ARRAY_LEN(super_cmd_row); i++)
		if (!strcmp(super_cmd_row[i].name, rq->line->command->name)) {
			err = ERR_INIT;
			rc = super_cmd_row[i].run(&a, out, &err);
			break;
		}
	super_changed(s);
	if (rc == 0) {
		control_answer(s->server, rq->ticket, out);
		return;
	}
	json_decref(out);
	if (rc < 0)
		control_refuse(s->server, rq->ticket, &err);
}

static uint64_t super_cmd_keep(void *self, enum event_kind kind, json_t *body)
{
	struct super *s = self;
	return record_append_json(s->record, kind, s->start_seq, 0, 0, 0, body);
}

static void super_cmd_clients(void *self, size_t nr)
{
	if (!nr)
		operator_inputs_left(self);
}

static void super_cmd_people(void *self, size_t nr)
{
	struct super *s = self;
	s->nr_people = nr;
	unattended_look(s);
}

static void super_cmd_left(void *self, uint64_t client)
{
	shells_left(self, client);
	terminals_left(self, client);
}

static bool super_cmd_clean(void *self, const char *text, size_t len, struct buf *out)
{
	const struct super *s = self;
	return record_clean_json(s->record, text, len, out);
}

static const struct control_ops control_ops = { .command = on_command,
						.state = super_cmd_state_of,
						.record = super_cmd_keep,
						.clean = super_cmd_clean,
						.clients = super_cmd_clients,
						.people = super_cmd_people,
						.left = super_cmd_left,
						.typed = terminal_typed };

int super_listen(struct super *s, struct err *err)
{
	struct control_info info = {
		.program = "sandglass " SANDGLASS_VERSION,
		.session = record_id(s->record),
		.name = s->opts->name,
		.path = record_path(s->record),
	};
	return control_server_new(&s->server, s->loop, &info, &control_ops, s, err);
}
