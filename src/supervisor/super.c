#include "supervisor/super.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/super_priv.h"
#include "supervisor/core/notify_command.h"
#include "ops/dispatch.h"
#include "supervisor/core/call.h"
#include "base/exit.h"
#include "sessions/index_background.h"
#include "hosted/hosted_plugin.h"
#include "supervisor/people/ask.h"
#include "supervisor/people/screen_keys.h"
#include "supervisor/people/unattended.h"
#include "inside/proxy.h"
#include "inside/tls_end.h"
#include "supervisor/box/box_port.h"
#include "ops/mcp_hub.h"
#include "web/web.h"
#include "ops/mcp_inbox.h"
#include "supervisor/telemetry/otlp_live.h"
#include "supervisor/people/operator_input.h"
#include "supervisor/trial/dry_run.h"
#include "supervisor/trial/repeat.h"
#include "supervisor/core/disk_space.h"
#include "supervisor/resume.h"
#include "supervisor/people/policy_files.h"
#include "supervisor/core/readiness.h"
#include "supervisor/box/box_ops.h"
#include "supervisor/box/super_box.h"
#include "supervisor/core/core.h"
#include "supervisor/core/parts.h"
#include "supervisor/people/terminal_hub.h"
#include "models/model_call.h"
#include "secrets/vault.h"
#include "action/budget_recover.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "query/filter.h"
#include "record/deferred_index.h"
#include "record/record_event.h"
#include "sandbox/process/process.h"

enum { END_GRACE_MS = 15000, UNWIND_MS = 5000, WARM_BOXES = 1, DRAIN_US = 3000000 };

static void super_own_release(void *object)
{
	struct super_own *own = object;
	filter_free(&own->notify_when);
	free(own->record_why);
	free(own->hold);
}

struct super_own *super_own(const struct super *s)
{
	static const struct super_part part = { sizeof(struct super_own), super_own_release };
	return super_part(s, &part);
}

/* --- agents --- */

struct agent *super_agent(struct super *s, uint64_t id)
{
	for (size_t i = 0; i < s->nr_agents; i++)
		if (s->agent[i].id == id)
			return &s->agent[i];
	return NULL;
}

struct agent *super_agent_named(struct super *s, const char *name)
{
	struct agent *found = NULL;
	for (size_t i = 0; i < s->nr_agents; i++)
		if (!strcmp(s->agent[i].name, name))
			found = &s->agent[i]; /* the newest of that name */
	return found;
}

struct agent *super_agent_add(struct super *s, uint64_t id, const char *name)
{
	GROW(s->agent, s->nr_agents, s->cap_agents);
	struct agent *a = &s->agent[s->nr_agents++];
	*a = (struct agent){ .id = id, .name = mem_strdup(name) };
	gate_agent(s->gate, id, name);
	return a;
}

void super_warn(struct super *s, const char *fix, const char *fmt, ...)
{
	char text[600];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_info("%s", text);
	record_ev_super_warn(
		s->record, &(struct event){ .cause = s->start_seq },
		&(struct ev_super_warn){ .text = ev_text_of(text), .fix = ev_text_of(fix) });
}

void super_changed(struct super *s)
{
	if (s->server)
		control_server_changed(s->server);
}

/* --- what the layers below tell --- */

static void super_on_head(void *self, uint64_t seq)
{
	struct super *s = self;
	if (s->server)
		control_server_head(s->server, seq);
	disk_space_look(s);
}

static void super_on_state(void *self, enum record_state state, const char *why)
{
	struct super *s = self;
	struct super_own *own = super_own(s);
	own->record_state = state;
	free(own->record_why);
	own->record_why = why ? mem_strdup(why) : NULL;
	super_changed(s);
	if (state == RECORD_DEAD) {
		fprintf(stderr, "sandglass: %s: %s\n", record_id(s->record),
			why ? why : "can't write the session file");
		boxes_freeze(s->boxes, 0, true, s->start_seq);
		super_end(s, EXIT_DAMAGED, "%s", why ? why : "can't write the session file");
	}
}

static const struct record_ops record_ops = { .on_head = super_on_head,
					      .on_state = super_on_state };

static void on_held(void *self, uint64_t action, bool held)
{
	struct super *s = self;
	struct super_own *own = super_own(s);
	struct action *a = gate_action(s->gate, action);
	if (held && a) {
		const struct action_spec *spec = action_spec(a);
		CLEANUP(free_ptr)
		char *text = mem_printf("%s %s", action_kind_name(spec->kind),
					spec->cmdline	? spec->cmdline
					: spec->argv.nr ? spec->argv.item[0]
					: spec->path	? spec->path
					: spec->host	? spec->host
					: spec->tool	? spec->tool
							: "");
		if (gate_waits(a) &&
		    (!own->notify_when || gate_finds(s->gate, own->notify_when, a)))
			super_held(s, action, text);
		else
			super_changed(s);
		unattended_look(s);
		json_t *body = json_object();
		json_put_int(body, "action", (int64_t)action);
		if (s->host)
			luahost_event(s->host, "held", body);
		else
			json_decref(body);
		return;
	}
	if (!held)
		dry_run_unheld(s, action);
	unattended_look(s);
	super_changed(s);
}

static void on_accrue(void *self)
{
	struct super *s = self;
	if (s->boxes)
		boxes_accrue(s->boxes);
}

static void on_budget(void *self, uint64_t agent, const char *what)
{
	struct super *s = self;
	struct agent *a = super_agent(s, agent);
	CLEANUP(free_ptr)
	char *text = mem_printf("budget of %s is used up: %s", a ? a->name : "the session", what);
	super_held(s, agent, text);
}

static void super_on_kill(void *self, uint64_t agent, json_t *who)
{
	struct super *s = self;
	(void)who;
	if (s->host)
		luahost_stop(s->host, agent, "killed by the user");
}

static void super_on_snapshot(void *self, uint64_t action, uint64_t box)
{
	operator_input_ended(self, action);
	super_box_snapshot(self, box, action);
}

static bool on_rejected(void *self, uint64_t action)
{
	return trees_review_rejected(self, action);
}

static void box_opened(void *self, uint64_t box, json_t *result, const struct err *err)
{
	super_box_opened(self, box, result, err);
}

static void finish_if_done(struct super *s);

static void box_gone(void *self, uint64_t box, const struct err *err)
{
	struct super *s = self;
	super_box_gone(s, box);
	if (err && !s->ending)
		super_warn(s, "see 'sandglass doctor'", "sandbox '%llu' died: %s",
			   (unsigned long long)box, err->text);
	finish_if_done(s);
}

static void launcher_died(void *self, const struct err *err)
{
	struct super *s = self;
	if (s->ending)
		return;
	super_warn(
		s, NULL,
		"the launcher has died (%s): its sandboxes have ended; a new launcher was started",
		err->text);
	for (size_t i = boxes_count(s->boxes); i > 0; i--)
		boxes_close(s->boxes, boxes_at(s->boxes, i - 1));
	process_ahead();
}

/* --- the end --- */

static void finish_if_done(struct super *s)
{
	if (s->ending && s->boxes && boxes_count(s->boxes) == 0 && !super_box_busy(s) &&
	    !s->background && !vault_reading(s->vault))
		loop_stop(s->loop);
}

static void deferred_finish(void *self)
{
	finish_if_done(self);
}

void super_maybe_finish(struct super *s)
{
	loop_defer(s->loop, deferred_finish, s);
}

static void super_cancel_open(struct super *s, const char *why)
{
	for (struct call *c = s->calls; c; c = c->next)
		if (c->action)
			gate_cancel(s->gate, c->action, "cancel", why);
}

static void end_timeout(void *self)
{
	struct super *s = self;
	log_warn("sandboxes did not close in time");
	loop_stop(s->loop);
}

/* Deferred: the end may come from within one of its own requests. */
static void drop_here(void *self)
{
	proxies_here_free(self);
}

void super_end(struct super *s, int status, const char *fmt, ...)
{
	if (s->ending)
		return;
	va_list ap;
	char why[600];
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	s->ending = true;
	s->status = status;
	s->why = why[0] ? mem_strdup(why) : NULL;
	super_cancel_open(s, "the session ends");
	dry_runs_stop(s);
	loop_defer(s->loop, drop_here, s);
	for (size_t i = boxes_count(s->boxes); i > 0; i--)
		super_box_close(s, boxes_at(s->boxes, i - 1));
	struct super_own *own = super_own(s);
	own->end_timer = loop_timer_new(s->loop, end_timeout, s);
	loop_timer_set(own->end_timer, END_GRACE_MS, 0);
	super_maybe_finish(s);
}

/* The exit status for a script's end (ux 4.2). */
static int super_status_of(struct super *s, const json_t *end)
{
	static const struct {
		const char *code;
		int status;
	} known[] = { { "denied", EXIT_DENIED },   { "budget", EXIT_BUDGET },
		      { "timeout", EXIT_BUDGET },  { "model", EXIT_MODEL },
		      { "backend", EXIT_SANDBOX }, { "script", EXIT_SCRIPT },
		      { "limit", EXIT_SCRIPT } };
	int status = (int)json_int(end, "code", 0);
	if (status == 0)
		return EXIT_DONE;
	if (ask_missed_person(s) || gate_person_missed(s->gate))
		return EXIT_PERSON;
	const char *code = json_str(json_object_get(end, "err"), "code", NULL);
	for (size_t i = 0; code && i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].code, code) && (status == 1 || status == EXIT_SCRIPT))
			return known[i].status;
	return status;
}

static void script_ended(void *self, const json_t *end, const struct err *died)
{
	struct super *s = self;
	struct super_own *own = super_own(s);
	if (own->signalled)
		super_end(s, 128 + own->signalled, "stopped by %s",
			  own->signalled == SIGINT ? "Ctrl-C" : "SIGTERM");
	else if (own->stopped)
		super_end(s, EXIT_TERM, "stopped by a user");
	else if (end)
		super_end(s, super_status_of(s, end), "%s", json_str(end, "why", ""));
	else
		super_end(s, EXIT_SCRIPT, "%s", died->text);
}

static const struct host_ops script_ops = { .on_end = script_ended, .on_idle = super_idle };

static void unwind_timeout(void *self)
{
	struct super *s = self;
	int signalled = super_own(s)->signalled;
	super_end(s, signalled ? 128 + signalled : EXIT_TERM,
		  "stopped; the script did not unwind in time");
}

void super_stop(struct super *s, bool now, const char *why)
{
	struct super_own *own = super_own(s);
	own->stopped = true;
	if (now || !s->host) {
		super_end(s, EXIT_TERM, "%s", why);
		return;
	}
	super_cancel_open(s, why); /* also what waits for a user, so that the script can unwind */
	luahost_stop(s->host, 0, why);
	if (!own->unwind_timer)
		own->unwind_timer = loop_timer_new(s->loop, unwind_timeout, s);
	loop_timer_set(own->unwind_timer, UNWIND_MS, 0);
}

static void super_on_signal(void *self, int signo)
{
	struct super *s = self;
	struct super_own *own = super_own(s);
	if (s->ending)
		return;
	bool again = own->signalled != 0;
	own->signalled = signo == SIGHUP ? SIGTERM : signo;
	super_stop(s, again, "stopped by a signal");
}

/* --- start --- */

static void start_script(void *self)
{
	struct super *s = self;
	const struct super_opts *o = s->opts;
	struct err err = ERR_INIT;
	if (s->ending)
		return;
	if (s->resume) {
		resume_begin(s->resume, s, &script_ops, s);
		return;
	}
	CLEANUP(json_release) json_t *args = json_array();
	CLEANUP(json_release) json_t *env = json_object();
	for (size_t i = 0; o->args && o->args[i]; i++)
		json_array_append_new(args, json_bytes_z(o->args[i]));
	json_put_str(env, "model", o->model);
	json_put_str(env, "backend", o->backend);
	json_put_flag(env, "interactive", !o->no_input);
	json_put(env, "providers", models_names(s->models));
	CLEANUP(free_ptr) char *dir = o->script_path ? mem_strdup(o->script_path) : NULL;
	char *slash = dir ? strrchr(dir, '/') : NULL;
	if (slash)
		*slash = 0;
	struct host_start st = {
		.mode = "script",
		.name = o->script_path ? (slash ? slash + 1 : o->script_path) : o->name,
		.dir = slash		? dir
		       : o->script_path ? "."
					: NULL,
		.text = o->script,
		.len = o->script_len,
		.args = args,
		.env = env,
	};
	if (luahost_new(&s->host, s, &st, &script_ops, s, &err) < 0)
		super_end(s, EXIT_SANDBOX, "%s", err.text);
}

static int create_or_resume(struct super *s, struct err *err)
{
	const struct super_opts *o = s->opts;
	if (o->resume) {
		if (resume_read(&s->resume, o->resume, err) < 0)
			return -1;
		return record_resume(&s->record, s->loop, o->resume, &record_ops, s, err);
	}
	CLEANUP(json_release) json_t *body = super_options_event(o);
	return record_create(&s->record, s->loop, o->sessions_dir, o->name, body, &record_ops, s,
			     err);
}

static int open_record(struct super *s, struct err *err)
{
	if (create_or_resume(s, err) < 0)
		return -1;
	if (s->opts->hide_tokens)
		record_hide_tokens(s->record);
	return 0;
}

/* Returns an exit status, 0 when all is there. */
static int super_compose(struct super *s, struct err *err)
{
	struct super_own *own = super_own(s);
	const struct super_opts *o = s->opts;
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	const struct gate_ops gate_ops = { .snapshot = super_on_snapshot,
					   .on_held = on_held,
					   .on_budget = on_budget,
					   .accrue = on_accrue,
					   .rejected = on_rejected,
					   .on_kill = super_on_kill,
					   .self = s };
	const struct boxes_ops boxes_ops = { .opened = box_opened,
					     .gone = box_gone,
					     .caller = super_box_caller,
					     .state_dir = super_box_state,
					     .stopped = terminal_stopped,
					     .self = s };
	if (loop_new(&s->loop, err) < 0)
		return EXIT_UNSUCCESSFUL;
	s->launcher = launcher_start(s->loop, &(struct launcher_opts){ .box_uid = o->box_uid },
				     launcher_died, s, err);
	if (!s->launcher)
		return EXIT_SANDBOX;
	process_pool_set(s->loop, o->pool >= 0 ? o->pool : WARM_BOXES);
	process_ahead();
	s->vault =
		vault_new(&(struct vault_start){ o->secrets, o->script, o->script_len, o->args });
	if (open_record(s, err) < 0)
		return exit_of(err);
	vault_attach(s->vault, s->loop, s->record, deferred_finish, s);
	if (otlp_live_begin(s, err) < 0)
		return EXIT_SCRIPT;
	if (models_open(&s->models, s, err) < 0)
		return EXIT_SCRIPT;
	if (hosted_plugin_open(&own->rent, s, err) < 0)
		return EXIT_SANDBOX;
	s->start_seq = record_head(s->record);
	s->gate = gate_new(s->loop, s->record, &gate_ops);
	gate_on_raw(s->gate, terminal_output, s);
	if (s->resume) {
		s->start_seq = 1;
		resume_agents(s->resume, s);
		if (gate_recover(s->gate, o->resume, err) < 0)
			return exit_of(err);
		resume_budgets(s->resume, s);
	}
	s->boxes = boxes_new(s->loop, s->record, s->gate, &boxes_ops);
	if (super_box_init(s, err) < 0)
		return EXIT_SANDBOX;
	if (super_listen(s, err) < 0 || super_share(s, err) < 0)
		return EXIT_UNSUCCESSFUL;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		own->sig[i] = loop_signal_new(s->loop, signals[i], super_on_signal, s);
	return 0;
}

static void super_drained(void *self)
{
	*(bool *)self = true;
}

/* Warm boxes go before the launcher does: it would take them for dead ones. false: one did not go
 * in time. */
static bool drain_pool(struct super *s)
{
	bool done = false;
	if (!s->launcher)
		return true;
	process_pool_drain(s->loop, super_drained, &done);
	for (int64_t until = clock_mono_us() + DRAIN_US; !done && clock_mono_us() < until;)
		loop_turn(s->loop, 50);
	return done;
}

static void close_record(struct super *s, json_t *end)
{
	struct err err = ERR_INIT;
	struct session *ended = NULL;
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(s->record));
	if (record_close(&s->record, end, &err) < 0) {
		fprintf(stderr, "sandglass: can't close the session file: %s\n", err.text);
		s->status = EXIT_DAMAGED;
		return;
	}
	bool due = session_open(&ended, path, &err) == 0 && deferred_index_due(ended);
	session_close(&ended);
	if (due)
		index_background((const char *const[]){ path }, 1);
}

/* true: nothing is left that waits on the loop. */
static bool super_release(struct super *s)
{
	struct super_own *own = super_own(s);
	/* a box did not close in time: no more turns of the loop */
	bool stuck = s->boxes && boxes_count(s->boxes);
	hosted_plugin_ways_end(own->rent);
	dry_runs_free(s);
	repeats_free(s);
	disk_space_free(s);
	process_pool_set(s->loop, 0); /* no warm sandboxes during the release */
	super_box_release(s);	      /* first: what still waits for its files is answered */
	proxies_here_free(s);	      /* its questions are actions of the gate */
	tls_end_free(s);
	luahost_free(&s->host);
	policy_hosts_free(s);
	while (s->calls)
		call_drop(s->calls);
	op_procs_free(s);
	op_shells_free(s);
	terminals_free(s);
	screen_keys_free(s);
	operator_inputs_free(s);
	op_copy_leave();
	control_server_free(&s->server, s->why);
	if (s->boxes && boxes_count(s->boxes) == 0)
		boxes_free(&s->boxes);
	gate_free(&s->gate);
	/* sources of late events are freed before the recorder */
	models_free(&s->models);
	hosted_plugin_free(&own->rent);
	mcp_inbox_free(s);
	box_ports_gone(s, 0);
	mcp_hub_free(s);
	web_free(s);
	otlp_live_end(s, !stuck);
	if (s->record) {
		json_t *end = json_object();
		json_put_flag(end, "ok", s->status == EXIT_DONE);
		json_put_int(end, "status", s->status);
		json_put_str(end, "why", s->why);
		if (own->record_state == RECORD_DEAD) {
			json_decref(end);
			record_abandon(&s->record);
		} else {
			close_record(s, end);
		}
	}
	vault_free(&s->vault);
	stuck = stuck || !drain_pool(s);
	launcher_stop(&s->launcher);
	loop_timer_free(&own->end_timer);
	loop_timer_free(&own->unwind_timer);
	for (size_t i = 0; i < ARRAY_LEN(own->sig); i++)
		loop_signal_free(&own->sig[i]);
	for (size_t i = 0; i < s->nr_agents; i++)
		free(s->agent[i].name);
	free(s->agent);
	resume_free(&s->resume);
	return !stuck;
}

static const struct box_observer super_box_observer = { .leaves = op_shells_end,
							.gone = dry_run_box_gone,
							.clear = dry_runs_clear };

int super_run(const struct super_opts *o)
{
	struct super s = { .opts = o,
			   .parts = super_parts_new(),
			   .host_calls = &dispatch_ops,
			   .box_observer = &super_box_observer,
			   .box_snapshot = super_box_snapshot };
	struct err err = ERR_INIT;
	hash_init();
	proc_raise_descriptors(); /* each sandbox takes some */
	int status = super_compose(&s, &err);
	if (status) {
		s.status = status;
		s.why = mem_strdup(err.text);
		if (super_release(&s) && s.loop)
			loop_free(s.loop);
		super_tell_failed(o, &err, status);
		super_parts_free(&s.parts);
		free(s.why);
		return status;
	}
	super_listens(&s);
	super_options_apply(&s);
	policy_load(&s, start_script);
	if (!s.ending || boxes_count(s.boxes))
		loop_run(s.loop);
	bool idle = super_release(&s);
	super_stood(&s);
	if (idle)
		loop_free(s.loop);
	status = s.status;
	super_parts_free(&s.parts);
	free(s.why);
	return status;
}
