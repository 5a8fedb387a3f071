#include "supervisor/trial/dry_run.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/box/box_state.h"
#include "supervisor/core/parts.h"
#include "supervisor/trial/dry_run_priv.h"
#include "base/fd.h"
#include "base/paths.h"
#include "record/record_event.h"
#include "sandbox/process/process.h"

enum { QUIET_POLL_MS = 20, QUIET_TRIES = 250 };

/* --- directories that go --- */

struct rubbish {
	struct super *s;
	char *dir;
};

static void remove_work(void *self)
{
	struct rubbish *r = self;
	struct err err = ERR_INIT;
	if (dir_remove(r->dir, &err) < 0 && err.code != ERR_NOENT)
		fprintf(stderr, "sandglass: %s\n", err.text);
}

static void remove_done(void *self)
{
	struct rubbish *r = self;
	r->s->background--;
	super_maybe_finish(r->s);
	free(r->dir);
	free(r);
}

void remove_later(struct super *s, char *dir)
{
	struct rubbish *r = NEW(struct rubbish);
	*r = (struct rubbish){ .s = s, .dir = dir };
	s->background++;
	loop_job_run(s->loop, remove_work, remove_done, r);
}

void dry_runs_clear(const char *state_dir)
{
	DIR *d = opendir(state_dir);
	const struct dirent *e;
	while (d && (e = readdir(d))) {
		struct err err = ERR_INIT;
		CLEANUP(free_ptr) char *path = path_join(state_dir, e->d_name);
		bool ours = !strncmp(e->d_name, ".preview-", 9) ||
			    !strncmp(e->d_name, PROCESS_AHEAD, strlen(PROCESS_AHEAD));
		if (ours && dir_remove(path, &err) < 0)
			fprintf(stderr, "sandglass: %s\n", err.text);
	}
	if (d)
		closedir(d);
}

/* --- the list --- */

struct dry_runs {
	struct dry_run *first;
};

static struct dry_runs *dry_runs_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct dry_runs), NULL };
	return super_part(s, &part);
}

struct dry_run *dry_run_of_action(const struct super *s, uint64_t action)
{
	struct dry_run *found = NULL;
	for (struct dry_run *p = dry_runs_of(s)->first; p; p = p->next)
		if (p->action == action && (!found || p->seq > found->seq))
			found = p;
	return found;
}

const json_t *dry_run_hosts(const struct super *s, uint64_t action)
{
	const struct dry_run *p = dry_run_of_action(s, action);
	return p && p->stage == DRY_RUN_OVER ? p->hosts : NULL;
}

void dry_run_free(struct dry_run *p)
{
	for (struct dry_run **at = &dry_runs_of(p->s)->first; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	for (size_t i = 0; i < p->nr_layers; i++) {
		free(p->layer[i].name);
		free(p->layer[i].upper);
		ws_free(&p->layer[i].ws);
		json_decref(p->layer[i].body);
	}
	free(p->layer);
	objects_free(&p->objects);
	json_decref(p->who);
	json_decref(p->hosts);
	json_decref(p->files);
	strv_release(&p->argv);
	strv_release(&p->env);
	buf_release(&p->input);
	buf_release(&p->data);
	json_decref(p->args);
	buf_release(&p->answer);
	free(p->cwd);
	free(p->path);
	free(p->dir);
	free(p);
}

void dry_run_drop(struct dry_run *p, const char *why)
{
	record_ev_preview_dropped(
		p->s->record,
		&(struct event){
			.cause = p->seq, .agent = p->agent, .box = p->box, .action = p->action },
		&(struct ev_preview_dropped){ .preview = (int64_t)p->seq,
					      .of = (int64_t)p->action,
					      .why = ev_text_of(why) });
	if (p->dir)
		remove_later(p->s, take(&p->dir));
	dry_run_free(p);
}

/* --- the beginning --- */

static void dry_run_look_work(struct tree_job *j)
{
	struct dry_run *p = j->data;
	tree_take(j->t, &p->taken, &j->err);
	if (j->err.code != ERR_NONE || dry_run_hash(j->t, &p->before, &j->err) < 0)
		return; /* look_done tells */
}

/* The box is frozen, and what its files are is known. */
static void look_hold(struct tree_job *j)
{
	struct dry_run *p = j->data;
	p->job = j;
	tree_record(j->t, &p->taken);
	if (p->cancelled)
		dry_run_closed(p);
	else
		dry_run_open(p);
}

static void dry_run_look_done(struct tree_job *j)
{
	struct dry_run *p = j->data;
	if (!p) /* held and released */
		return;
	tree_record(j->t, &p->taken);
	if (j->err.code == ERR_NONE)
		err_set(&j->err, ERR_CLOSED, "the sandbox is closed");
	dry_run_fail(p, &j->err);
}

static void dry_run_look(struct dry_run *p)
{
	struct tree_job *j = NEW(struct tree_job);
	*j = (struct tree_job){ .work = dry_run_look_work,
				.hold = look_hold,
				.done = dry_run_look_done,
				.freeze = true,
				.always = true,
				.data = p };
	p->stage = DRY_RUN_LOOKING;
	p->taken = (struct taken){ .why = "background", .cause = p->seq };
	boxes_pin(p->s->boxes, p->box, true);
	tree_job_add(p->t, j);
}

static void wait_quiet(void *self)
{
	struct dry_run *p = self;
	struct err err = ERR_INIT;
	p->stage = DRY_RUN_QUIET;
	if (p->cancelled || !p->t) {
		loop_timer_free(&p->timer);
		p->cancelled = true;
		dry_run_closed(p);
	} else if (gate_box_quiet(p->s->gate, p->box)) {
		loop_timer_free(&p->timer);
		dry_run_look(p);
	} else if (++p->quiet_tries > QUIET_TRIES) {
		loop_timer_free(&p->timer);
		err_set(&err, ERR_BUSY, "the sandbox is busy with its files\nTry again.");
		dry_run_fail(p, &err);
	} else {
		if (!p->timer)
			p->timer = loop_timer_new(p->s->loop, wait_quiet, p);
		loop_timer_set(p->timer, QUIET_POLL_MS, 0);
	}
}

/* preview.started is on the disk. */
static void dry_run_on_barrier(void *self)
{
	struct dry_run *p = self;
	p->locked = true;
	gate_box_lock(p->s->gate, p->box, true);
	wait_quiet(p);
}

static void take_spec(struct dry_run *p, const struct action_spec *spec)
{
	p->kind = spec->kind;
	p->agent = spec->agent;
	strv_copy(&p->argv, &spec->argv);
	strv_copy(&p->env, &spec->env);
	p->cwd = spec->cwd ? mem_strdup(spec->cwd) : NULL;
	p->path = spec->path ? mem_strdup(spec->path) : NULL;
	buf_append(&p->input, spec->stdin_bytes, spec->stdin_len);
	buf_append(&p->data, spec->data, spec->data_len);
	p->args = json_incref(spec->args);
	p->pty = json_flag(spec->args, "pty", false);
}

static void name_layers(struct dry_run *p)
{
	p->nr_layers = p->t->nr_layers + 1;
	p->layer = mem_calloc(p->nr_layers, sizeof(*p->layer));
	for (size_t i = 0; i < p->t->nr_layers; i++)
		p->layer[i].name = mem_strdup(p->t->layer[i].name);
	p->layer[p->t->nr_layers].name = mem_strdup(":home");
}

static uint64_t record_started(const struct dry_run *p)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	return record_ev_preview_started(
		p->s->record,
		&(struct event){
			.cause = p->action, .agent = p->agent, .box = p->box, .action = p->action },
		&(struct ev_preview_started){ .of = (int64_t)p->action,
					      .intent = ev_hex_of(&mem, p->intent.b, HASH_LEN),
					      .how = ev_text_of(p->copy ? "copy" : "overlay"),
					      .limit_us = DRY_RUN_LIMIT_MS * 1000,
					      .who = ev_who_from(&mem, p->who) });
}

/* Checks that a second sandbox can contain the dry run. */
static int can_be_tried(struct super *s, const struct trees *t, struct err *err)
{
	const struct driver *d = t->box->driver;
	CLEANUP(json_release) json_t *seed = d->tree->seed(t->box);
	if (!strcmp(t->box->profile, "none"))
		return err_set(
			err, ERR_UNSUPPORTED,
			"sandbox '%s' has no isolation (backend %s): nothing would contain a dry run",
			t->name, d->name);
	if (!seed)
		return err_set(err, ERR_UNSUPPORTED,
			       "can't copy a sandbox of backend '%s' for a dry run", d->name);
	if (!(d->caps & CAP_FREEZE) && boxes_alive(s->boxes, t->id) > 0)
		return err_set(
			err, ERR_BUSY,
			"a command is running in sandbox '%s', and backend '%s' can't freeze it",
			t->name, d->name);
	return 0;
}

static int dry_run_check(struct super *s, uint64_t id, struct action **a_out, struct trees **t_out,
			 struct err *err)
{
	struct action *a = gate_action(s->gate, id);
	const struct action_spec *spec = a ? action_spec(a) : NULL;
	if (!a || action_state(a) != ACTION_HELD)
		return err_set(err, ERR_NOENT, "action #%" PRIu64 " is not a pending approval", id);
	if (spec->kind != ACT_EXEC && spec->kind != ACT_WRITE && spec->kind != ACT_EDIT)
		return err_set(err, ERR_UNSUPPORTED,
			       "a dry run needs a command, write, or edit in a sandbox; #%" PRIu64
			       " is %s %s",
			       id, strchr("aeimo", *action_kind_name(spec->kind)) ? "an" : "a",
			       action_kind_name(spec->kind));
	struct trees *t = super_box_trees(s, spec->box);
	if (!t)
		return err_set(err, ERR_UNSUPPORTED,
			       "the backend of #%" PRIu64 " gives no access to files", id);
	if (can_be_tried(s, t, err) < 0)
		return -1;
	if (record_state(s->record) != RECORD_OK)
		return err_set(err, ERR_BUSY,
			       "the session file can't be written: no dry run started");
	const struct dry_run *old = dry_run_of_action(s, id);
	if (old && old->stage != DRY_RUN_OVER)
		return err_set(err, ERR_BUSY, "a dry run of #%" PRIu64 " is running", id);
	if (old && old->promoting)
		return err_set(err, ERR_BUSY, "the dry run of #%" PRIu64 " is being applied", id);
	*a_out = a;
	*t_out = t;
	return 0;
}

int dry_run_begin(const struct tree_request *rq, uint64_t id, struct err *err)
{
	struct super *s = rq->s;
	struct action *a = NULL;
	struct trees *t = NULL;
	if (dry_run_check(s, id, &a, &t, err) < 0)
		return -1;
	struct dry_run *old = dry_run_of_action(s, id);
	if (old)
		dry_run_drop(old, "another one begins");
	struct dry_run *p = NEW(struct dry_run);
	*p = (struct dry_run){ .s = s,
			       .t = t,
			       .action = id,
			       .box = action_spec(a)->box,
			       .ticket = rq->ticket,
			       .end = "ok",
			       .driver = t->box->driver,
			       .who = json_incref(rq->who),
			       .intent = *action_intent(a) };
	take_spec(p, action_spec(a));
	p->copy = !p->driver->tree->overlay(t->box);
	p->partial = p->driver->tree->fresh != NULL;
	p->offline = p->driver->caps & CAP_OFFLINE;
	name_layers(p);
	p->seq = record_started(p);
	CLEANUP(free_ptr) char *name = mem_printf(".preview-%" PRIu64, p->seq);
	p->dir = path_join(box_state_root(s), name);
	p->next = dry_runs_of(s)->first;
	dry_runs_of(s)->first = p;
	s->background++;
	record_barrier(s->record, p->seq, dry_run_on_barrier, p);
	return 0;
}

/* --- what happens meanwhile --- */

void dry_run_unheld(struct super *s, uint64_t action)
{
	for (struct dry_run *p = dry_runs_of(s)->first, *next; p; p = next) {
		next = p->next;
		if (p->action != action || p->promoting)
			continue;
		if (p->stage == DRY_RUN_OVER)
			dry_run_drop(p, "the action is decided");
		else
			dry_run_cut(p);
	}
}

void dry_run_box_gone(struct super *s, uint64_t box)
{
	for (struct dry_run *p = dry_runs_of(s)->first, *next; p; p = next) {
		next = p->next;
		if (p->box != box)
			continue;
		/* a held job keeps it alive */
		p->t = p->stage >= DRY_RUN_LOOKING && p->stage < DRY_RUN_OVER ? p->t : NULL;
		if (p->stage == DRY_RUN_OVER && !p->promoting)
			dry_run_drop(p, "its sandbox has ended");
		else if (p->stage != DRY_RUN_OVER)
			dry_run_cut(p);
	}
}

void dry_runs_stop(struct super *s)
{
	for (struct dry_run *p = dry_runs_of(s)->first; p; p = p->next)
		if (p->stage != DRY_RUN_OVER)
			dry_run_cut(p);
}

void dry_runs_free(struct super *s)
{
	struct dry_runs *all = dry_runs_of(s);
	while (all->first) {
		struct dry_run *p = all->first;
		struct err err = ERR_INIT;
		record_barrier_forget(s->record, p);
		loop_timer_free(&p->timer);
		if (p->dir && dir_remove(p->dir, &err) < 0 && err.code != ERR_NOENT)
			fprintf(stderr, "sandglass: %s\n", err.text);
		dry_run_free(p);
	}
}
