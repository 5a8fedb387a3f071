/* Watched runs (trace.h): their programs become events below the action that caused them; a program
 * that matches a held pattern becomes an action of its own, for which the process waits. */
#include <stdlib.h>
#include <string.h>

#include "action/glob.h"
#include "action/shell.h"
#include "base/fd.h"
#include "base/mem.h"
#include "record/record_event.h"
#include "sandbox/effect_priv.h"
#include "sandbox/trace.h"

enum { ORIGINS_MAX = 1024, ANCESTORS_MAX = 12 };

/* The run of one action and all that comes from it, also after the action's end. */
struct watch {
	struct watch *next;
	struct slot *slot;
	struct trace *trace;  /* NULL: it has not come yet */
	struct watch **owner; /* who holds it; NULL: the run has ended */
	struct action *live;  /* whose it is now; NULL: it has ended */
	uint64_t action, agent;
	struct waiting *waiting;
	/* Processes that a third-party agent's tool call started: their children are that call's,
	 * too. The oldest are forgotten. */
	struct origin {
		int pid;
		uint64_t cause;
	} * origin;
	size_t nr_origins, cap_origins;
	struct { /* refused last: a search through PATH asks for the same in each directory */
		int pid;
		json_t *argv;
	} refused;
};

/* A call that waits for a decision: an action. */
struct waiting {
	struct waiting *next;
	struct watch *watch; /* NULL: nothing in the sandbox waits for it */
	struct effector effector;
	uint64_t action, cause;
	json_t *args, *argv;
	int pid;
	bool allowed, decided;
};

bool box_traced(const struct slot *s)
{
	return json_flag(s->opts.o.trace, "exec", false);
}

bool box_holds_execs(const struct slot *s)
{
	return json_array_size(json_object_get(s->opts.o.trace, "hold")) > 0;
}

static void effect_trace_warn(struct slot *s, uint64_t action, const char *text)
{
	if (s->trace_warned)
		return;
	s->trace_warned = true;
	record_ev_box_warn(s->boxes->record,
			   &(struct event){ .cause = action, .agent = s->agent, .box = s->id },
			   &(struct ev_box_warn){ .text = ev_text_of(text) });
}

void trace_not_here(struct slot *s)
{
	CLEANUP(free_ptr)
	char *text = mem_printf(
		"executed programs of sandbox '%s' aren't recorded: backend '%s' doesn't report them",
		s->name, s->driver->name);
	if (box_traced(s) && !(s->driver->caps & CAP_TRACE))
		effect_trace_warn(s, s->id, text);
}

/* --- whose it is --- */

static uint64_t origin_of(const struct watch *w, int pid)
{
	for (size_t i = w->nr_origins; i-- > 0;)
		if (w->origin[i].pid == pid)
			return w->origin[i].cause;
	return 0;
}

static void effect_trace_remember(struct watch *w, int pid, uint64_t cause)
{
	if (w->nr_origins == ORIGINS_MAX)
		memmove(w->origin, w->origin + 1, --w->nr_origins * sizeof(*w->origin));
	GROW(w->origin, w->nr_origins, w->cap_origins);
	w->origin[w->nr_origins++] = (struct origin){ pid, cause };
}

/* Processes that came between and executed nothing are found by asking for parents. */
static uint64_t effect_trace_inherited(const struct watch *w, const struct trace_call *c)
{
	uint64_t cause = w->nr_origins ? origin_of(w, c->pid) : 0;
	int pid = c->parent;
	for (int i = 0; w->nr_origins && !cause && pid > 1 && i < ANCESTORS_MAX; i++) {
		cause = origin_of(w, pid);
		pid = cause ? 0 : trace_parent(pid);
	}
	return cause;
}

static uint64_t cause_of(struct watch *w, const struct trace_call *c, const char **how_out)
{
	struct boxes *b = w->slot->boxes;
	uint64_t cause = effect_trace_inherited(w, c);
	if (!cause && !c->connect && b->ops.caller)
		cause = b->ops.caller(b->ops.self, w->slot->id, json_object_get(c->body, "argv"),
				      how_out);
	if (!cause)
		return w->action;
	if (!c->connect && origin_of(w, c->pid) != cause)
		effect_trace_remember(w, c->pid, cause);
	return cause;
}

static void waiting_free(struct waiting *h)
{
	json_decref(h->args);
	json_decref(h->argv);
	free(h);
}

/* Nothing in the sandbox waits for it now. */
static void effect_trace_release(struct waiting *h, const char *why)
{
	struct watch *w = h->watch;
	for (struct waiting **p = &w->waiting; *p; p = &(*p)->next)
		if (*p == h) {
			*p = h->next;
			break;
		}
	h->watch = NULL;
	if (h->decided)
		waiting_free(h);
	else
		gate_cancel(w->slot->boxes->gate, h->action, "cancel", why);
}

/* --- events --- */

static void effect_trace_whose(void *self, struct trace_call *c)
{
	c->cause = cause_of(self, c, &c->how);
}

static void effect_trace_ran(void *self, const struct trace_call *c, void *tag)
{
	struct watch *w = self;
	struct waiting *h = tag;
	struct record *r = w->slot->boxes->record;
	json_t *body = json_copy(c->body);
	uint64_t cause = h ? h->cause : c->cause;
	json_put_str(body, "matched", c->how);
	if (h)
		json_put_int(body, "held", (int64_t)h->action);
	if (!w->live)
		json_put_flag(body, "late", true);
	record_append_json(r, c->connect ? EV_PROC_CONNECT : EV_PROC_EXEC, cause, w->agent,
			   w->slot->id, w->action, body);
	if (h)
		effect_trace_release(h, "");
}

static bool effect_trace_flooded(void *self)
{
	const struct watch *w = self;
	const struct record *r = w->slot->boxes->record;
	/* also after the action's end */
	return record_state(r) != RECORD_OK || record_backlog(r) > RECORD_FLOOD;
}

/* --- what waits --- */

/* @cut: some of its words, or a part of one, could not be read. Then its first word alone decides:
 * the missing part may match the pattern. */
static bool effect_trace_matches(const struct slot *s, const struct strv *argv, bool cut)
{
	const json_t *hold = json_object_get(s->opts.o.trace, "hold"), *p;
	struct shell_word word[TRACE_ARGS + 1] = { 0 };
	struct shell_part part = { .word = word };
	size_t i;
	for (i = 0; i < argv->nr && i < ARRAY_LEN(word); i++)
		word[part.nr_words++] =
			(struct shell_word){ .text = argv->item[i], .len = argv->len[i] };
	json_array_foreach(hold, i, p)
	{
		const char *pattern = json_string_value(p);
		CLEANUP(free_ptr)
		char *first =
			cut ? mem_printf("%.*s *", (int)strcspn(pattern, " "), pattern) : NULL;
		if (words_match(first ? first : pattern, &part, false) != GLOB_NO)
			return true;
	}
	return false;
}

/* Fills @argv with the words that match a held pattern: its arguments, or the file under any name.
 * */
static bool effect_trace_holds(const struct slot *s, const struct trace_call *c, struct strv *argv)
{
	CLEANUP(strv_release) struct strv called = STRV_INIT;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	(void)!json_get_argv(json_object_get(c->body, "argv"), &called);
	(void)!json_get_bytes(json_object_get(c->body, "path"), &path);
	bool cut = json_object_get(c->body, "argc") != NULL;
	if (effect_trace_matches(s, &called, cut)) {
		strv_copy(argv, &called);
		return true;
	}
	strv_push_bytes(argv, buf_cstr(&path), path.len);
	for (size_t i = 1; i < called.nr; i++)
		strv_push_bytes(argv, called.item[i], called.len[i]);
	return effect_trace_matches(s, argv, cut);
}

static void effect_trace_permit(void *self, struct action *a)
{
	struct waiting *h = self;
	h->allowed = true;
	action_ended(a, END_OK, NULL);
}

static void effect_trace_no_cancel(void *self, struct action *a, const char *how)
{
	(void)self;
	(void)a;
	(void)how;
}

static void effect_trace_decided(void *self, const struct action_result *res)
{
	struct waiting *h = self;
	struct watch *w = h->watch;
	/* what a process is about to execute cannot be changed */
	bool allow = h->allowed && !res->edited;
	h->decided = true;
	if (!w) {
		waiting_free(h);
		return;
	}
	if (!allow) {
		w->refused.pid = h->pid;
		json_decref(w->refused.argv);
		w->refused.argv = json_incref(h->argv);
	}
	trace_answer(w->trace, h, allow);
}

static enum trace_say effect_trace_asked(void *self, const struct trace_call *c, void **tag_out)
{
	struct watch *w = self;
	struct slot *s = w->slot;
	const char *how = NULL;
	const json_t *argv = json_object_get(c->body, "argv");
	CLEANUP(strv_release) struct strv as = STRV_INIT;
	if (json_object_get(c->body, "unread")) {
		effect_trace_warn(
			s, w->action,
			"a program was refused: its name can't be read, so you can't be asked about it");
		return TRACE_REFUSE;
	}
	if (!effect_trace_holds(s, c, &as))
		return TRACE_GO;
	if (w->refused.pid == c->pid && json_equal(w->refused.argv, argv))
		return TRACE_REFUSE;
	struct waiting *h = NEW(struct waiting);
	h->pid = c->pid;
	h->argv = json_incref((json_t *)(uintptr_t)argv);
	h->watch = w;
	h->next = w->waiting;
	w->waiting = h;
	h->cause = cause_of(w, c, &how);
	h->args = json_object();
	json_put_int(h->args, "below", (int64_t)w->action);
	json_put(h->args, "pid", json_incref(json_object_get(c->body, "pid")));
	json_put(h->args, "path", json_incref(json_object_get(c->body, "path")));
	CLEANUP(buf_release) struct buf cwd = BUF_INIT;
	struct action_spec spec = { .kind = ACT_EXEC,
				    .cause = h->cause,
				    .agent = w->agent,
				    .box = s->id,
				    .tool = "execve",
				    .args = h->args,
				    .parallel = true,
				    .hold = true };
	spec.cwd = json_get_bytes(json_object_get(c->body, "cwd"), &cwd) ? buf_cstr(&cwd) : NULL;
	spec.argv = as;
	h->effector = (struct effector){ .name = "execve",
					 .start = effect_trace_permit,
					 .cancel = effect_trace_no_cancel,
					 .self = h };
	const struct action_client client = { .done = effect_trace_decided, .self = h };
	h->action = gate_submit(s->boxes->gate, &spec, &h->effector, &client);
	*tag_out = h;
	return TRACE_HOLD;
}

static void effect_trace_gone(void *self, void *tag)
{
	(void)self;
	effect_trace_release(tag, "the process that waited was killed");
}

/* --- the life of a watch --- */

static void effect_trace_watch_free(struct watch *w)
{
	struct slot *s = w->slot;
	struct trace_counts n = { 0 };
	for (struct watch **p = &s->watches; *p; p = &(*p)->next)
		if (*p == w) {
			*p = w->next;
			break;
		}
	if (w->trace)
		trace_untold(w->trace, &n);
	if (n.execs || n.connects || n.missed >= TRACE_MISSES) {
		record_ev_proc_gap(
			s->boxes->record,
			&(struct event){ .cause = w->action,
					 .agent = w->agent,
					 .box = s->id,
					 .action = w->action },
			&(struct ev_proc_gap){ EV_SET(execs, n.execs), EV_SET(connects, n.connects),
					       EV_SET(missed, n.missed), EV_SET(told, n.told) });
	}
	while (w->waiting)
		effect_trace_release(w->waiting, "its sandbox has ended");
	trace_free(&w->trace);
	if (w->owner)
		*w->owner = NULL;
	json_decref(w->refused.argv);
	free(w->origin);
	free(w);
}

static void effect_trace_over(void *self)
{
	effect_trace_watch_free(self);
}

static void effect_trace_watch(struct slot *s, struct action *a, int listener, int sys,
			       struct watch **owner)
{
	static const struct trace_ops ops = { .asked = effect_trace_asked,
					      .whose = effect_trace_whose,
					      .ran = effect_trace_ran,
					      .gone = effect_trace_gone,
					      .flooded = effect_trace_flooded,
					      .over = effect_trace_over };
	struct err err = ERR_INIT;
	if (listener < 0) {
		CLEANUP(free_ptr)
		char *text = mem_printf("executed programs of sandbox '%s' aren't recorded: %s",
					s->name, strerror(sys));
		effect_trace_warn(s, action_id(a), text);
		return;
	}
	struct watch *w = NEW(struct watch);
	*w = (struct watch){ .slot = s, .owner = owner, .next = s->watches };
	if (trace_new(s->boxes->loop, listener, box_holds_execs(s), &ops, w, &w->trace, &err) < 0) {
		effect_trace_warn(s, action_id(a), err.text);
		free(w);
		return;
	}
	s->watches = w;
	*owner = w;
	watch_turn(w, a);
}

void watch_turn(struct watch *w, struct action *a)
{
	if (!w)
		return;
	w->live = a;
	w->action = action_id(a);
	w->agent = action_spec(a)->agent;
}

void watch_leave(struct watch **owner)
{
	if (*owner) {
		(*owner)->owner = NULL;
		(*owner)->live = NULL;
	}
	*owner = NULL;
}

void boxes_watch(struct boxes *b, uint64_t box, struct action *a, int listener, int sys,
		 struct watch **owner)
{
	struct slot *s = slot_find(b, box);
	if (s)
		effect_trace_watch(s, a, listener, sys, owner);
	else
		fd_close(&listener);
}

enum trace_want boxes_watched(struct boxes *b, uint64_t box)
{
	const struct slot *s = slot_find(b, box);
	return !s || !box_traced(s) ? TRACE_NONE : box_holds_execs(s) ? TRACE_MUST : TRACE_IF;
}

void job_trace(void *self, int listener, int sys)
{
	struct job *j = self;
	effect_trace_watch(j->slot, j->action, listener, sys, &j->watch);
}

void slot_untrace(struct slot *s)
{
	while (s->watches)
		effect_trace_watch_free(s->watches);
}
