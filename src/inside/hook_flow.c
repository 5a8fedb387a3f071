/* Questions of an agent's own hooks: one entry of the queue per call, joined by the call's id. */
#include <stdlib.h>
#include <string.h>

#include "inside/hook_words.h"
#include "inside/inside_priv.h"
#include "inside/tool_spec.h"
#include "record/record_event.h"

enum { LOOKS_MAX = 64, LOOK_BYTES_MAX = 256 << 10 };

static void hook_reply(struct flow *f, json_t *answer)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct http_visit *v = take(&f->visit);
	if (v) {
		http_visit_set_tag(v, NULL);
		json_dump_buf(answer, &b);
		http_reply(v, 200, "application/json", NULL, b.data, b.len);
	}
	json_decref(answer);
	f->asked = NULL;
	flow_free(f);
}

/* --- an entry of its own ----------------------------------------------------------------------- */

static void hook_flow_done(void *self, const struct action_result *res)
{
	struct tool *t = self;
	struct proxy *p = t->proxy;
	struct hook_verdict verdict = { .allowed = res->end == END_OK,
					.open = t->withdrawn,
					.action = t->action,
					.edited = res->edited ? json_object_get(res->body, "ran")
							      : NULL };
	CLEANUP(free_ptr) char *why = verdict.allowed ? NULL : tool_refusal(res);
	/* without an id no result ends it, and it would answer for every later call like it */
	bool gone = t->gone, keep = verdict.allowed && !verdict.edited && *t->id;
	verdict.why = why;
	t->open = false;
	t->asked = false;
	if (gone) {
		tool_release(t);
		return;
	}
	for (struct flow *f = p->all->flows, *next; f; f = next) {
		next = f->next;
		if (f->asked == t)
			hook_reply(f, hook_words_answer(f->hook, f->req, &verdict));
	}
	if (!keep)
		tool_drop(t);
	models_unpark(p);
}

static void hook_submit(struct flow *f, struct action_spec *spec, const char *id)
{
	struct proxy *p = f->proxy;
	struct tool *t = tool_add(p, id);
	const struct action_client client = { .done = hook_flow_done, .self = t };
	const char *what = spec->cmdline ? spec->cmdline : spec->path;
	spec->agent = p->agent;
	spec->box = p->all->box;
	spec->cause = p->agent ? p->agent : p->all->box;
	spec->parallel = true;
	t->effector = (struct effector){
		.name = "hook", .start = permission_start, .cancel = permission_cancel, .self = t
	};
	tool_describe(t, spec);
	t->cmd = spec->kind == ACT_EXEC && what ? mem_strdup(what) : NULL;
	t->open = t->asked = true;
	f->asked = t;
	t->action = gate_submit(p->all->s->gate, spec, &t->effector, &client);
}

static struct tool *open_entry(const struct proxy *p, const char *id)
{
	for (struct tool *t = p->tools; t; t = t->next)
		if (t->asked && *id && !strcmp(t->id, id))
			return t;
	return NULL;
}

static void hook_withdraw(struct tool *t, const char *why)
{
	t->withdrawn = true;
	gate_cancel(t->proxy->all->s->gate, t->action, "withdraw", why);
}

uint64_t hooks_answered(struct proxy *p, const char *id)
{
	struct tool *t = open_entry(p, id);
	uint64_t action = t ? t->action : 0;
	if (t)
		hook_withdraw(t, "withdrawn: answered in the agent's own interface");
	return action;
}

bool hooks_open(const struct proxy *p)
{
	for (const struct tool *t = p->tools; t; t = t->next)
		if (t->asked)
			return true;
	return false;
}

/* --- events of hooks --------------------------------------------------------------------------- */

void hooks_note(struct proxy *p, const char *step, const char *say)
{
	record_ev_agent_told(p->all->s->record,
			     &(struct event){ .cause = p->agent ? p->agent : p->all->box,
					      .agent = p->agent,
					      .box = p->all->box },
			     &(struct ev_agent_told){ .what = ev_text_of("hooks"),
						      .step = ev_text_of(step),
						      .say = ev_text_of(say) });
}

/* Claude Code names the id of a call before it asks, but not where it asks in its dialog. Without
 * the id an answer in the dialog would leave the entry open, and the next model call waiting. */
static void hook_remember(struct flow *f, const char *id)
{
	struct proxy *p = f->proxy;
	json_t *input = json_object_get(f->req, "tool_input");
	p->looks = p->looks ? p->looks : json_array();
	if (!*id || !input || f->body.len > LOOK_BYTES_MAX)
		return;
	if (json_array_size(p->looks) >= LOOKS_MAX)
		json_array_remove(p->looks, 0);
	json_array_append_new(p->looks,
			      json_pack("[s,s,O]", id, json_str(f->req, "tool_name", ""), input));
}

/* Takes the id of the latest call that is like the one in question. Returns owned. */
static char *hook_recall(struct flow *f)
{
	const char *id = json_str(f->req, "tool_use_id", ""),
		   *name = json_str(f->req, "tool_name", "");
	json_t *looks = f->proxy->looks, *input = json_object_get(f->req, "tool_input");
	for (size_t i = *id ? 0 : json_array_size(looks); i-- > 0;) {
		const json_t *one = json_array_get(looks, i);
		if (strcmp(json_string_value(json_array_get(one, 1)), name) != 0 ||
		    !json_equal(json_array_get(one, 2), input))
			continue;
		char *found = mem_strdup(json_string_value(json_array_get(one, 0)));
		json_array_remove(looks, i);
		return found;
	}
	return mem_strdup(id);
}

static void hook_question(struct flow *f, bool waits)
{
	struct proxy *p = f->proxy;
	struct action_spec spec;
	json_t *args = json_object_get(f->req, "tool_input");
	CLEANUP(free_ptr) char *id = hook_recall(f);
	tool_spec(&spec, json_str(f->req, "tool_name", "tool"), args, NULL);
	uint64_t before = tools_joined(p, &spec, id);
	struct tool *open = open_entry(p, id);
	if (!before && !waits)
		hook_remember(f, id);
	if (before || !waits) {
		const struct hook_verdict verdict = { .allowed = before != 0,
						      .open = !before,
						      .action = before };
		hook_reply(f, hook_words_answer(f->hook, f->req, &verdict));
	} else if (open) {
		f->asked = open;
	} else {
		hook_submit(f, &spec, id);
	}
	strv_release(&spec.argv);
}

void hook_begin(struct flow *f, const char *format)
{
	struct err none = ERR_INIT;
	f->hook = hook_words_format(format);
	int status;
	const char *why = flow_room_json(f, &status);
	f->req = f->body.len && !why ? json_parse(f->body.data, f->body.len, "hook", &none) : NULL;
	if (!f->hook || !json_is_object(f->req)) {
		flow_refuse(f, why ? status : 400,
			    why	      ? why
			    : f->hook ? "the event is not a JSON object"
				      : "no format of hooks has this name");
		flow_free(f);
		return;
	}
	if (!f->proxy->hooked) /* it proves that they reach us */
		hooks_note(f->proxy, "first", "its own hooks ask here");
	f->proxy->hooked = true;
	enum hook_event what = hook_words_event(f->hook, f->req);
	if (what == HOOK_ENDED)
		hooks_answered(f->proxy, json_str(f->req, "tool_use_id", ""));
	if (what == HOOK_ASKS || what == HOOK_LOOKS)
		hook_question(f, what == HOOK_ASKS);
	else
		hook_reply(f, json_object());
}

void hook_gone(struct flow *f)
{
	struct tool *t = f->asked;
	f->asked = NULL;
	for (const struct flow *other = f->proxy->all->flows; other; other = other->next)
		if (t && other->asked == t)
			t = NULL;
	flow_free(f);
	if (t)
		hook_withdraw(t, "withdrawn: the agent no longer waits");
}
