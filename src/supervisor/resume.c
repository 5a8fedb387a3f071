#include "supervisor/resume.h"

#include <stdlib.h>
#include <string.h>

#include "action/budget_recover.h"
#include "base/exit.h"
#include "sessions/box_folder.h"
#include "supervisor/box/box_state.h"
#include "base/clock.h"
#include "luahost/answer_cache.h"
#include "record/record_event.h"
#include "supervisor/box/super_box.h"
#include "supervisor/box/super_tree.h"

struct old_box {
	uint64_t id, now;
	uint64_t next; /* the box that stood for it already */
	/* The sandbox with the newest files that count: itself; the one that it was opened again for
	 * while @settled is false (an earlier resume died before anything happened in it, and may
	 * not have brought it to its files). */
	uint64_t files_of;
	json_t *open; /* body of its box.open */
	bool ready, closed, waiting, settled;
	struct old_snap *snap;
	size_t nr, cap;
};

/* It has no end, or an end by an earlier resume: then its call may still be without an answer. */
struct old_action {
	uint64_t id, call, box;
	bool started, writes, outside, connect;
	bool reached; /* a connection of its sandbox was made while it ran */
};

struct resume {
	struct super *s;
	const struct host_ops *ops;
	void *self;
	json_t *start;	       /* body of session.start */
	uint64_t host, head;   /* seq of the script's host.start; the last event */
	uint64_t frames, told; /* sent to the host; its frames after the last of them */
	bool ended;	       /* it had ended before the resume */
	bool over;	       /* its script had ended */
	struct old_box *box;
	size_t nr_boxes, cap_boxes;
	struct {
		uint64_t id;
		char *name;
		bool ended;
	} * agent;
	size_t nr_agents, cap_agents;
	struct old_action *open;
	size_t nr_open, cap_open;
	uint64_t *lost; /* calls of the script */
	size_t nr_lost;
	uint64_t *once; /* those that are not to be issued again (on_interrupted = "error") */
	size_t nr_once, cap_once;
	struct recorded *recorded;
	bool going, acted;
};

/* --- reading --- */

static struct old_box *super_resume_box_of(struct resume *r, uint64_t id)
{
	for (size_t i = 0; i < r->nr_boxes; i++)
		if (r->box[i].id == id)
			return &r->box[i];
	return NULL;
}

static void super_resume_see_snapshot(struct resume *r, const struct event *ev, const json_t *body)
{
	struct old_box *b = super_resume_box_of(r, ev->box);
	if (!b)
		return;
	GROW(b->snap, b->nr, b->cap);
	const char *label = json_str(body, "label", NULL);
	b->snap[b->nr++] = (struct old_snap){ .seq = ev->seq,
					      .repo = mem_strdup(json_str(body, "repo", "")),
					      .label = label ? mem_strdup(label) : NULL };
}

static void see_label(struct resume *r, const struct event *ev, const json_t *body)
{
	struct old_box *b = super_resume_box_of(r, ev->box);
	for (size_t i = 0; b && i < b->nr; i++)
		if ((json_int_t)b->snap[i].seq == json_int(body, "snapshot", 0)) {
			free(b->snap[i].label);
			b->snap[i].label = mem_strdup(json_str(body, "label", ""));
		}
}

static void super_resume_see_call(struct resume *r, const json_t *body)
{
	if (strcmp(json_str(json_object_get(body, "args"), "on_interrupted", ""), "error") != 0)
		return;
	GROW(r->once, r->nr_once, r->cap_once);
	r->once[r->nr_once++] = (uint64_t)json_int(body, "id", 0);
}

static bool is_once(const struct resume *r, uint64_t call)
{
	for (size_t i = 0; i < r->nr_once; i++)
		if (r->once[i] == call)
			return true;
	return false;
}

static void super_resume_see_requested(struct resume *r, const struct event *ev, const json_t *body)
{
	GROW(r->open, r->nr_open, r->cap_open);
	r->open[r->nr_open++] = (struct old_action){
		.id = ev->seq,
		.call = (uint64_t)json_int(body, "call", 0),
		.box = ev->box,
		.writes = json_flag(body, "may_write", false),
		.outside = json_flag(body, "leaves_box", false) &&
			   strcmp(json_str(body, "kind", ""), "model") != 0,
		.connect = !strcmp(json_str(body, "kind", ""), "connect") &&
			   json_flag(body, "leaves_box", false),
	};
}

static void super_resume_see_action(struct resume *r, const struct event *ev, const json_t *body)
{
	for (size_t i = r->nr_open; i-- > 0;) {
		if (r->open[i].id != ev->action)
			continue;
		if (ev->kind == EV_ACTION_STARTED) {
			r->open[i].started = true;
			for (size_t k = 0; k < r->nr_open && r->open[i].connect; k++)
				r->open[k].reached |= r->open[k].box == r->open[i].box;
		} else if (strcmp(json_str(body, "end", ""), "interrupted") != 0) {
			memmove(&r->open[i], &r->open[i + 1],
				(--r->nr_open - i) * sizeof(*r->open));
		}
		return;
	}
}

static void super_resume_see_agent(struct resume *r, const struct event *ev, const json_t *body)
{
	GROW(r->agent, r->nr_agents, r->cap_agents);
	r->agent[r->nr_agents].id = ev->seq;
	r->agent[r->nr_agents].name = mem_strdup(json_str(body, "name", "agent"));
	r->agent[r->nr_agents++].ended = false;
}

static void drop_snaps(struct old_box *b)
{
	for (size_t k = 0; k < b->nr; k++) {
		free(b->snap[k].repo);
		free(b->snap[k].label);
	}
	free(b->snap);
	b->snap = NULL;
	b->nr = b->cap = 0;
}

static void see_box_open(struct resume *r, const struct event *ev, json_t *body)
{
	uint64_t was = (uint64_t)json_int(body, "was", 0);
	struct old_box *before = super_resume_box_of(r, was);
	if (before)
		before->next = ev->seq;
	GROW(r->box, r->nr_boxes, r->cap_boxes);
	r->box[r->nr_boxes++] = (struct old_box){
		.id = ev->seq, .files_of = ev->seq, .settled = !before, .open = json_incref(body)
	};
}

/* The sandboxes that the resume before this one has opened have their files: a script runs only
 * after that; @box: only this one, in which a user acted. */
static void settle_boxes(struct resume *r, uint64_t box)
{
	for (size_t i = 0; i < r->nr_boxes; i++)
		r->box[i].settled |= !box || r->box[i].id == box;
}

/* A resume died before its script continued: its records of the files count for nothing,
 * for the effects of interrupted actions may be part of it. */
static void undo_unsettled(struct resume *r)
{
	for (size_t i = 0; i < r->nr_boxes; i++) {
		struct old_box *b = &r->box[i];
		const struct old_box *was =
			super_resume_box_of(r, (uint64_t)json_int(b->open, "was", 0));
		if (b->settled || !was)
			continue;
		drop_snaps(b);
		for (size_t k = 0; k < was->nr; k++) {
			GROW(b->snap, b->nr, b->cap);
			b->snap[b->nr++] = (struct old_snap){
				.seq = was->snap[k].seq,
				.repo = mem_strdup(was->snap[k].repo),
				.label = was->snap[k].label ? mem_strdup(was->snap[k].label) : NULL
			};
		}
		b->files_of = was->files_of;
		b->ready = was->ready;
		b->closed = was->closed;
	}
}

static bool went_on(const struct resume *r, const struct event *ev, const json_t *body)
{
	return ((ev->kind == EV_HOST_FRAME || ev->kind == EV_HOST_CALL) && ev->cause == r->host) ||
	       (ev->kind == EV_HOST_START && !strcmp(json_str(body, "mode", ""), "script")) ||
	       (ev->kind == EV_ACTION_REQUESTED && json_int(body, "call", 0));
}

static void see_progress(struct resume *r, const struct event *ev, const json_t *body)
{
	if (ev->kind == EV_SESSION_RESUMED || ev->kind == EV_SESSION_FORKED)
		undo_unsettled(r);
	else if (went_on(r, ev, body))
		settle_boxes(r, 0);
	else if (ev->box && (ev->kind == EV_ACTION_REQUESTED || ev->kind == EV_ROLLBACK_DONE))
		settle_boxes(r, ev->box);
}

static void super_resume_see(struct resume *r, const struct event *ev)
{
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &none) : json_object();
	struct old_box *b = ev->box ? super_resume_box_of(r, ev->box) : NULL;
	r->head = ev->seq;
	answer_cache_see(r->recorded, ev, body);
	see_progress(r, ev, body);
	if (ev->kind == EV_SESSION_START) {
		r->start = json_incref(body);
	} else if (ev->kind == EV_SESSION_END) {
		r->ended = true;
	} else if (ev->kind == EV_HOST_START && !strcmp(json_str(body, "mode", ""), "script")) {
		/* the last one: a fork whose script was changed has begun anew */
		r->host = ev->seq;
		r->over = false;
		r->nr_once = 0;
	} else if (ev->kind == EV_HOST_CALL && ev->cause == r->host) {
		super_resume_see_call(r, body);
	} else if (ev->kind == EV_HOST_END && ev->cause == r->host) {
		r->over = true;
	} else if (ev->kind == EV_HOST_FRAME && ev->cause == r->host) {
		r->frames++;
		r->told = 0;
	} else if (ev->kind == EV_NOTE || ev->kind == EV_TOOL_END || ev->kind == EV_AGENT_STATE ||
		   ev->kind == EV_AGENT_TOLD) {
		r->told++;
	} else if (ev->kind == EV_AGENT_START) {
		super_resume_see_agent(r, ev, body);
	} else if (ev->kind == EV_AGENT_END) {
		for (size_t i = 0; i < r->nr_agents; i++)
			r->agent[i].ended |= r->agent[i].id == ev->agent;
	} else if (ev->kind == EV_BOX_OPEN) {
		see_box_open(r, ev, body);
	} else if (ev->kind == EV_BOX_READY && b) {
		b->ready = true;
	} else if (ev->kind == EV_BOX_CLOSED && b) {
		b->closed = true;
	} else if (ev->kind == EV_SNAPSHOT_TAKEN) {
		super_resume_see_snapshot(r, ev, body);
	} else if (ev->kind == EV_SNAPSHOT_LABELED) {
		see_label(r, ev, body);
	} else if (ev->kind == EV_ACTION_REQUESTED) {
		super_resume_see_requested(r, ev, body);
	} else if (ev->kind == EV_ACTION_STARTED || ev->kind == EV_ACTION_ENDED) {
		super_resume_see_action(r, ev, body);
	}
}

/* Effects that may have reached outside are never repeated: actions outside a sandbox, those of
 * a sandbox with a connection, and those that the script excludes. */
static void see_lost(struct resume *r)
{
	r->lost = mem_calloc(r->nr_open + 1, sizeof(*r->lost));
	for (size_t i = 0; i < r->nr_open; i++) {
		const struct old_action *a = &r->open[i];
		bool connected = a->box && a->reached;
		for (size_t k = 0; k < r->nr_open; k++)
			connected |= a->box && r->open[k].box == a->box && r->open[k].connect &&
				     r->open[k].started;
		if (a->started && a->call && (a->outside || connected || is_once(r, a->call)))
			r->lost[r->nr_lost++] = a->call;
	}
}

int resume_read(struct resume **out, const char *path, struct err *err)
{
	struct session *s;
	struct feed *f;
	struct event ev;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	if (session_open(&s, path, err) < 0)
		return -1;
	CLEANUP(free_ptr) char *boxes = box_folder(session_id(s));
	if (box_folder_mine(boxes, path, err) < 0) {
		session_close(&s);
		return -1;
	}
	struct resume *r = NEW(struct resume);
	r->recorded = answer_cache_new();
	int rc = feed_new(&f, s, FEED_ALL, 0, err);
	while (rc == 0 && (rc = feed_next(f, &ev, &a, 0, err)) == 1) {
		super_resume_see(r, &ev);
		arena_reset(&a);
		rc = 0;
	}
	if (rc == 0 && r->ended)
		rc = err_set(err, ERR_INVALID, "session %s has ended: nothing to resume",
			     session_id(s));
	else if (rc == 0 && (!r->frames || !r->start))
		rc = err_set(
			err, ERR_INVALID,
			"session %s was interrupted before its script started\nRun the script again.",
			session_id(s));
	else if (rc == 0 && r->over)
		rc = err_set(err, ERR_INVALID,
			     "the script of session %s had ended: nothing to resume",
			     session_id(s));
	feed_free(&f);
	session_close(&s);
	undo_unsettled(r);
	see_lost(r);
	if (rc < 0) {
		resume_free(&r);
		return -1;
	}
	*out = r;
	return 0;
}

void resume_free(struct resume **rp)
{
	struct resume *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	for (size_t i = 0; i < r->nr_boxes; i++) {
		drop_snaps(&r->box[i]);
		json_decref(r->box[i].open);
	}
	for (size_t i = 0; i < r->nr_agents; i++)
		free(r->agent[i].name);
	free(r->lost);
	free(r->once);
	answer_cache_free(&r->recorded);
	free(r->box);
	free(r->agent);
	free(r->open);
	json_decref(r->start);
	free(r);
}

void resume_agents(struct resume *r, struct super *s)
{
	for (size_t i = 0; i < r->nr_agents; i++)
		super_agent_add(s, r->agent[i].id, r->agent[i].name)->ended = r->agent[i].ended;
}

void resume_budgets(struct resume *r, struct super *s)
{
	for (size_t i = 0; i < r->nr_agents; i++)
		super_agent(s, r->agent[i].id)->budget = gate_budget_of(s->gate, r->agent[i].id);
}

void resume_first_action(struct resume *r)
{
	if (!r || r->acted)
		return;
	r->acted = true;
	if (!r->s->opts->saved_us)
		return;
	int64_t saved_us = r->s->opts->saved_us;
	record_ev_host_changed(r->s->record, &(struct event){ 0 },
			       &(struct ev_host_changed){ .saved_us = saved_us,
							  EV_SET(us, clock_wall_us() - saved_us) });
}

struct recorded *resume_recorded(const struct resume *r)
{
	return r ? r->recorded : NULL;
}

/* --- going on --- */

static void caught_up(void *self)
{
	struct resume *r = self;
	/* under whichever of its numbers the script knows it */
	for (size_t i = 0; i < r->nr_boxes; i++) {
		const struct box *b = boxes_get(r->s->boxes, resume_box(r, r->box[i].id));
		if (b && b->workspace)
			luahost_box_moved(r->s->host, r->box[i].id, b->workspace);
	}
	if (r->s->opts->fork_model)
		luahost_model_moved(r->s->host, r->s->opts->fork_model);
	super_warn(r->s, NULL, "the session continues after #%llu", (unsigned long long)r->head);
}

static void super_resume_start_host(struct resume *r)
{
	struct err err = ERR_INIT;
	const char *script = json_str(r->start, "script", "script");
	CLEANUP(free_ptr) char *dir = mem_strdup(script);
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = 0;
	struct host_resume hr = {
		.name = slash ? slash + 1 : script,
		.dir = slash ? dir : ".",
		.start_seq = r->host,
		.until_seq = r->head,
		.lost = r->lost,
		.nr_lost = r->nr_lost,
		.told = r->told,
		.caught_up = caught_up,
		.self = r,
	};
	if (r->s->opts->script_len) {
		hr.text = r->s->opts->script;
		hr.len = r->s->opts->script_len;
		answer_cache_ask_anew(r->recorded);
	}
	r->going = true;
	if (luahost_resume(&r->s->host, r->s, &hr, r->ops, r->self, &err) < 0)
		super_end(r->s, EXIT_SANDBOX, "can't continue: %s", err.text);
}

static void maybe_start(struct resume *r)
{
	for (size_t i = 0; i < r->nr_boxes; i++)
		if (r->box[i].waiting)
			return;
	if (!r->going && !r->s->ending)
		super_resume_start_host(r);
}

void resume_begin(struct resume *r, struct super *s, const struct host_ops *ops, void *self)
{
	struct err err = ERR_INIT;
	r->s = s;
	r->ops = ops;
	r->self = self;
	for (size_t i = 0; i < r->nr_boxes; i++) {
		struct old_box *b = &r->box[i];
		if (json_flag(b->open, "stays", false))
			box_state_stays(s, box_state_owner(b->id, b->open));
		else if (b->closed && !b->next && !json_flag(b->open, "keep", false))
			box_state_clear(s, box_state_owner(b->id, b->open));
		if (!b->ready || b->closed || b->next)
			continue;
		b->waiting = true;
		bool broken_off = answer_cache_undone(r->recorded, b->files_of);
		for (size_t k = 0; k < r->nr_open; k++)
			broken_off |= r->open[k].box == b->files_of && r->open[k].started &&
				      r->open[k].writes;
		b->now = super_box_reopen(s, b->id, b->open, b->snap, b->nr, broken_off, &err);
		if (!b->now) {
			b->waiting = false;
			super_warn(s, NULL, "can't open sandbox '%s' again: %s",
				   json_str(b->open, "name", ""), err.text);
		}
	}
	maybe_start(r);
}

uint64_t resume_box(const struct resume *r, uint64_t old)
{
	/* a box that stands for another one comes after it */
	for (size_t i = 0; r && i < r->nr_boxes; i++)
		if (r->box[i].id == old) {
			if (!r->box[i].next)
				return r->box[i].now ? r->box[i].now : old;
			old = r->box[i].next;
		}
	return old;
}

void resume_box_ready(struct resume *r, uint64_t box, const struct err *err)
{
	for (size_t i = 0; i < r->nr_boxes; i++) {
		struct old_box *b = &r->box[i];
		if (b->now != box || !b->waiting)
			continue;
		b->waiting = false;
		if (err)
			super_warn(r->s, NULL, "can't open sandbox '%s' again: %s",
				   json_str(b->open, "name", ""), err->text);
	}
	maybe_start(r);
}
