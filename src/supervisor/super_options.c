/* What the options of a session do: they are kept in its first event, for a resume, and they set up
 * its gate once it is there. Part of super.c. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/super_priv.h"
#include "action/budget_recover.h"
#include "base/exit.h"
#include "control/share.h"
#include "models/model_call.h"
#include "models/provider.h"
#include "query/filter.h"
#include "supervisor/core/core.h"
#include "supervisor/super.h"

/* Options of the whole session, kept for a resume (spawn.c restores them). */
static json_t *kept_options(const struct super_opts *o)
{
	json_t *k = json_object(), *policy = json_array();
	for (size_t i = 0; o->policy && o->policy[i]; i++) {
		char full[PATH_MAX];
		bool file = strncmp(o->policy[i], "lua:", 4) != 0 && realpath(o->policy[i], full);
		json_array_append_new(policy, json_bytes_z(file ? full : o->policy[i]));
	}
	json_put(k, "policy", policy);
	json_put(k, "roots", json_incref(o->roots));
	json_put(k, "box", json_incref(o->box));
	if (o->hash_only)
		json_put(k, "hash_only",
			 json_argv((char *const *)(uintptr_t)o->hash_only, o->nr_hash_only));
	json_put_int(k, "box_uid", o->box_uid);
	json_put_int(k, "ask_timeout_us", o->ask_timeout_us);
	json_put_int(k, "keep_file_bytes", (int64_t)o->keep_file_bytes);
	json_put_flag(k, "accept_reduced", o->accept_reduced);
	json_put_flag(k, "hide_tokens", o->hide_tokens);
	json_put_str(k, "notify", o->notify);
	json_put_str(k, "notify_host", o->notify_host);
	json_put_str(k, "notify_when", o->notify_when);
	json_put_str(k, "share", o->share);
	return k;
}

json_t *super_options_event(const struct super_opts *o)
{
	json_t *b = json_object(), *args = json_array();
	struct hash h;
	struct buf hex = BUF_INIT;
	hash_of(o->script, o->script_len, &h);
	hex_append(&hex, h.b, HASH_LEN);
	for (size_t i = 0; o->args && o->args[i]; i++)
		json_array_append_new(args, json_bytes_z(o->args[i]));
	json_put_str(b, "script", o->script_path ? o->script_path : o->name);
	json_put_str(b, "script_hash", buf_cstr(&hex));
	json_put_bytes(b, "script_text", o->script, o->script_len);
	json_put(b, "args", args);
	json_put_str(b, "model", o->model);
	json_put_str(b, "backend", o->backend);
	json_put(b, "budget", json_incref(o->budget));
	json_put_flag(b, "no_input", o->no_input);
	/* its list answers, not a user (suite/trial.c) */
	json_put_str(b, "suite", getenv("SANDGLASS_SUITE"));
	json_put(b, "options", kept_options(o));
	json_put_int(b, "uid", getuid());
	json_put_int(b, "pid", getpid());
	buf_release(&hex);
	return b;
}

static json_t *who_started(void)
{
	json_t *who = json_object();
	CLEANUP(free_ptr) char *name = share_own_name();
	json_put_int(who, "uid", getuid());
	json_put_int(who, "pid", getpid());
	json_put_str(who, "name", name);
	return who;
}

/* --model is known before anything begins; what a script names itself is not. */
static int check_model(const struct super *s, struct err *err)
{
	const char *model = s->resume ? s->opts->fork_model : s->opts->model;
	return model ? provider_known(models_providers(s->models), model, err) : 0;
}

/* The agents of a fork that gets a budget had none when they began: from now on they draw from
 * it. */
static void agents_draw(struct super *s)
{
	static const struct budget_limits none;
	for (size_t i = 0; i < s->nr_agents; i++) {
		struct agent *a = &s->agent[i];
		if (!a->ended && !a->budget)
			a->budget = gate_budget(s->gate, s->session_budget, a->id, &none);
	}
}

void super_options_apply(struct super *s)
{
	const struct super_opts *o = s->opts;
	CLEANUP(json_release) json_t *who = who_started();
	struct err err = ERR_INIT;
	gate_unattended(s->gate, o->no_input);
	gate_ask_timeout(s->gate, o->ask_timeout_us);
	if (o->budget && s->resume)
		s->session_budget = gate_budget_of(s->gate, 0);
	if (o->budget && !s->session_budget) {
		struct budget_limits lim = {
			.uusd = json_int(o->budget, "uusd", 0),
			.tokens = json_int(o->budget, "tokens", 0),
			.time_us = json_int(o->budget, "time_us", 0),
			.steps = json_int(o->budget, "steps", 0),
			.actions = json_int(o->budget, "actions", 0),
		};
		s->session_budget = gate_budget(s->gate, 0, 0, &lim);
		agents_draw(s);
	}
	if (o->labels) {
		json_t *labels = json_copy((json_t *)(uintptr_t)o->labels);
		json_put(labels, "who", json_incref(who));
		record_append_json(s->record, EV_SESSION_LABELED, 0, 0, 0, 0, labels);
	}
	if (o->step)
		gate_pause(s->gate, 0, who);
	if (check_model(s, &err) < 0)
		super_end(s, EXIT_SCRIPT, "%s", err.text);
	struct super_own *own = super_own(s);
	if (o->notify_when &&
	    (filter_parse(&own->notify_when, o->notify_when, NULL, NULL, &err) < 0 ||
	     filter_known_before(own->notify_when, &err) < 0))
		super_end(s, EXIT_SCRIPT, "notify.when: %s", err.text);
	if (o->hold && gate_hold(s->gate, o->hold, who, &err) < 0)
		super_end(s, EXIT_USAGE, "--hold: %s", err.text);
}
