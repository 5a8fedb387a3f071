/* Calls of tools in an answer, one action each, before the agent sees them. */
#include <stdlib.h>
#include <string.h>

#include "inside/inside_priv.h"
#include "inside/script_commands.h"
#include "inside/tool_spec.h"
#include "record/record_event.h"

enum { TOOLS_MAX = 1024, RESULT_MAX = 64 << 10 };

static void gate_tool_unlink(struct tool *t)
{
	for (struct tool **at = &t->proxy->tools; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			return;
		}
}

void tool_release(struct tool *t)
{
	free(t->id);
	free(t->of);
	free(t->cmd);
	free(t->what);
	free(t->name);
	json_decref(t->input);
	free(t);
}

void tool_drop(struct tool *t)
{
	gate_tool_unlink(t);
	t->gone = true;
	t->flow = NULL;
	if (!t->open)
		tool_release(t);
}

/* Agents that never send their results must not make us grow. */
struct tool *tool_add(struct proxy *p, const char *id)
{
	struct tool *t = NEW(struct tool), *old = NULL;
	size_t nr = 0;
	for (struct tool *i = p->tools; i; i = i->next, nr++)
		if (!i->open)
			old = i; /* the last of the list is the oldest */
	if (nr >= TOOLS_MAX && old)
		tool_drop(old);
	t->proxy = p;
	t->id = mem_strdup(id);
	t->next = p->tools;
	p->tools = t;
	return t;
}

static struct tool *gate_tool_new(struct flow *f, size_t index)
{
	struct tool *t = tool_add(f->proxy, f->answer.call[index].id);
	t->flow = f;
	t->index = index;
	return t;
}

char *tool_refusal(const struct action_result *res)
{
	if (res->end == END_CANCELLED || res->end == END_KILLED)
		return mem_printf("Stopped by the user. %s", res->why ? res->why : "");
	if (res->end == END_BUDGET)
		return mem_strdup("The budget is used up.");
	return mem_printf("Refused%s%s%s%s", res->rule ? " by rule " : "",
			  res->rule ? res->rule : "", res->why ? ": " : ".",
			  res->why ? res->why : "");
}

/* A user's edit can't be put into the model's answer: the model is notified, and requests the
 * edited call itself. */
static char *gate_tool_edited(const struct action_result *res)
{
	const json_t *ran = json_object_get(res->body, "ran");
	const char *cmd = json_str(ran, "cmd", NULL);
	return cmd ? mem_printf("The user wants this instead: %s", cmd)
		   : mem_strdup("The user wants this done differently.");
}

/* A script with a refused command doesn't run: its other commands answer no hook. */
static void gate_tool_drop_script(struct proxy *p, const char *call)
{
	for (struct tool *t = p->tools, *next; t; t = next) {
		next = t->next;
		if (t->of && !strcmp(t->of, call))
			tool_drop(t);
	}
}

static void gate_tool_done(void *self, const struct action_result *res)
{
	struct tool *t = self;
	struct proxy *p = t->proxy;
	struct flow *f = t->flow;
	t->open = false;
	t->flow = NULL;
	if (t->gone) {
		tool_release(t);
		return;
	}
	if (!f)
		return;
	char *why = res->end != END_OK ? tool_refusal(res)
		    : res->edited      ? gate_tool_edited(res)
				       : NULL;
	if (why && f->why[t->index]) /* of another command of its script */
		free(why);
	else if (why)
		f->why[t->index] = why;
	if (why)
		tool_drop(t);
	if (--f->undecided)
		return;
	for (size_t i = 0; i < f->nr_why; i++)
		if (f->why[i])
			gate_tool_drop_script(p, f->answer.call[i].id);
	model_judged(f);
}

static void take_command(struct tool *t, const struct action_spec *spec)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	for (size_t i = 0; i < spec->argv.nr; i++)
		buf_printf(&b, "%s%s", i ? " " : "", spec->argv.item[i]);
	if (spec->kind == ACT_EXEC)
		t->cmd = mem_strdup(spec->cmdline ? spec->cmdline : buf_cstr(&b));
}

/* A script whose commands the agent's hooks ask about, one by one (Codex). Without hooks that have
 * asked here, the script itself is checked as a command. */
static bool gate_tool_is_script(const struct flow *f, const struct answer_call *c)
{
	return c->custom && f->proxy->hooked && !strcmp(c->name, "exec");
}

static void gate_tool_submit(struct flow *f, struct tool *t, struct action_spec spec)
{
	struct super *s = f->proxy->all->s;
	const struct action_client client = { .done = gate_tool_done, .self = t };
	take_command(t, &spec);
	spec.cause = f->cause;
	spec.agent = f->proxy->agent;
	spec.box = f->proxy->all->box;
	spec.parallel = true;
	spec.said = f->answer.said.len ? buf_cstr(&f->answer.said) : NULL;
	t->effector = (struct effector){
		.name = "tool", .start = permission_start, .cancel = permission_cancel, .self = t
	};
	t->open = true;
	tool_describe(t, &spec);
	t->action = gate_submit(s->gate, &spec, &t->effector, &client);
	strv_release(&spec.argv);
}

/* Each command that a script names is an action, so that no hook inside has to be trusted: a hook
 * that asks about one of them receives the answer that is there. */
static bool gate_tool_script(struct flow *f, size_t i)
{
	const struct answer_call *c = &f->answer.call[i];
	CLEANUP(strv_release) struct strv commands = STRV_INIT, dirs = STRV_INIT;
	if (!c->custom || strcmp(c->name, "exec") != 0 ||
	    !script_commands(buf_cstr(&c->args), c->args.len, &commands, &dirs))
		return false;
	f->undecided += commands.nr - 1;
	for (size_t k = 0; k < commands.nr; k++) {
		CLEANUP(json_release) json_t *args = json_object();
		struct action_spec spec;
		struct tool *t = tool_add(f->proxy, "");
		t->flow = f;
		t->index = i;
		t->of = mem_strdup(c->id);
		json_put_str(args, "cmd", commands.item[k]);
		if (*dirs.item[k])
			json_put_str(args, "workdir", dirs.item[k]);
		tool_spec(&spec, "exec_command", args, NULL);
		gate_tool_submit(f, t, spec);
	}
	return true;
}

static void gate_tool_judge(struct flow *f, size_t i)
{
	struct answer_call *c = &f->answer.call[i];
	if (gate_tool_script(f, i))
		return;
	CLEANUP(json_release) json_t *args = answer_call_args(c);
	struct tool *t = gate_tool_new(f, i);
	struct action_spec spec = { .kind = ACT_MCP, .tool = c->name };
	if (gate_tool_is_script(f, c)) {
		json_decref(args);
		spec.args = args = json_object();
		json_put_bytes(args, "script", c->args.data, c->args.len);
	} else {
		tool_spec(&spec, c->name, args, args ? NULL : buf_cstr(&c->args));
	}
	gate_tool_submit(f, t, spec);
}

void tools_judge(struct flow *f)
{
	size_t nr = f->answer.nr_calls;
	f->why = mem_calloc(nr + 1, sizeof(*f->why));
	f->nr_why = nr;
	f->undecided = nr;
	if (f->answer.over || !nr) {
		for (size_t i = 0; i < nr; i++)
			f->why[i] = mem_strdup("The answer is too long for the policy check.");
		model_judged(f);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		gate_tool_judge(f, i);
}

void tools_observe(struct flow *f)
{
	struct super *s = f->proxy->all->s;
	for (size_t i = 0; i < f->answer.nr_calls; i++) {
		const struct answer_call *c = &f->answer.call[i];
		struct tool *t = gate_tool_new(f, i);
		CLEANUP(json_release) json_t *args = answer_call_args(c);
		CLEANUP(arena_release) struct arena mem = ARENA_INIT;
		struct action_spec spec;
		t->flow = NULL;
		tool_spec(&spec, c->name, args, args ? NULL : buf_cstr(&c->args));
		take_command(t, &spec);
		strv_release(&spec.argv);
		t->action = record_ev_tool_call(
			s->record,
			&(struct event){ .cause = f->cause ? f->cause : f->proxy->all->box,
					 .agent = f->proxy->agent },
			&(struct ev_tool_call){ .name = ev_text_of(c->name),
						.where = ev_text_of("box"),
						.args = ev_json_of(&mem, args) });
	}
}

/* Takes a snapshot after a call, while its agent waits for its model; otherwise no snapshot
 * comes before the agent ends. Not for a remote sandbox, where this is slow. */
static void gate_tool_look(struct proxy *p, enum action_kind kind, uint64_t action)
{
	struct super *s = p->all->s;
	const struct box *b = boxes_get(s->boxes, p->all->box);
	if (b && b->driver->tree && !b->driver->tree->fresh && kind != ACT_READ && !s->ending)
		s->box_snapshot(s, p->all->box, action);
}

static void record_result(struct proxy *p, uint64_t action, const char *text, bool error)
{
	size_t len = strlen(text);
	record_ev_tool_end(
		p->all->s->record, &(struct event){ .cause = action, .agent = p->agent },
		&(struct ev_tool_end){
			EV_SET(ok, !error), .text = { text, len < RESULT_MAX ? len : RESULT_MAX },
			.text_bytes = len > RESULT_MAX ? (int64_t)len : 0, .claimed = true });
}

static void gate_tool_on_result(void *self, const char *id, const char *text, bool error)
{
	struct proxy *p = self;
	uint64_t answered = hooks_answered(p, id);
	bool ended = false;
	if (answered) {
		record_result(p, answered, text, error);
		gate_tool_look(p, ACT_EXEC, answered);
		return;
	}
	for (struct tool *t = p->tools, *next; t; t = next) {
		next = t->next;
		if (t->open || strcmp(t->of ? t->of : t->id, id) != 0)
			continue;
		if (!ended) {
			record_result(p, t->action, text, error);
			gate_tool_look(p, t->kind, t->action);
		}
		ended = true;
		bool more = t->of != NULL; /* of the same script */
		tool_drop(t);
		if (!more)
			return;
	}
}

void tools_results(struct proxy *p, enum speak speak, const json_t *req)
{
	speak_results(speak, req, gate_tool_on_result, p);
}

/* Only what quoting does not change: agents wrap a command into shells, with quotes of their
 * own. */
static void gate_tool_bare(const char *text, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\n'\"\\", text[i]) || !text[i])
			buf_putc(out, text[i]);
}

static bool gate_tool_is_shell(const char *path)
{
	static const char *const shells[] = { "sh", "bash", "zsh", "dash", "ash", "ksh", "fish" };
	const char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	for (size_t i = 0; i < ARRAY_LEN(shells); i++)
		if (!strcmp(name, shells[i]))
			return true;
	return false;
}

uint64_t tools_caller(const struct proxies *all, const json_t *argv, const char **how_out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT, one = BUF_INIT, cmd = BUF_INIT;
	const struct tool *only = NULL;
	size_t nr = 0;
	bool shell = false;
	for (size_t i = 0; i < json_array_size(argv); i++) {
		if (!json_get_bytes(json_array_get(argv, i), &one))
			continue;
		shell |= i == 0 && gate_tool_is_shell(buf_cstr(&one));
		gate_tool_bare(one.data, one.len, &text);
	}
	for (const struct proxy *p = all->first; p; p = p->next)
		for (const struct tool *t = p->tools; t; t = t->next) {
			if (t->open || !t->cmd)
				continue;
			buf_reset(&cmd);
			gate_tool_bare(t->cmd, strlen(t->cmd), &cmd);
			if (cmd.len && memmem(buf_cstr(&text), text.len, cmd.data, cmd.len)) {
				*how_out = "words";
				return t->action;
			}
			only = t;
			nr++;
		}
	if (!shell || nr != 1)
		return 0;
	*how_out = "time";
	return only->action;
}

/* A number alone is not enough: the present request may differ from the one checked under it. */
uint64_t tools_allowed(const struct proxy *p, enum action_kind kind, const char *id,
		       const char *what)
{
	for (const struct tool *t = p->tools; t; t = t->next) {
		bool same = what && t->what && t->kind == kind && !strcmp(t->what, what);
		/* the agent says no more than which call it is */
		bool bare_number = !what && *id && !strcmp(t->id, id);
		if (!t->open && t->what && (same || bare_number))
			return t->action;
	}
	return 0;
}

/* A call with neither command nor path is the same if its tool and all of its input are. */
static bool is_same_call(const struct tool *t, const struct action_spec *spec, const char *id)
{
	const char *what = spec->cmdline ? spec->cmdline : spec->path;
	bool same_id = !strcmp(t->id, id);
	if (t->kind != spec->kind || (*id && *t->id && !same_id))
		return false;
	if (what)
		return t->what && !strcmp(t->what, what);
	return t->name && !strcmp(t->name, spec->tool) && json_equal(t->input, spec->args);
}

uint64_t tools_joined(const struct proxy *p, const struct action_spec *spec, const char *id)
{
	for (const struct tool *t = p->tools; t; t = t->next)
		if (!t->open && is_same_call(t, spec, id))
			return t->action;
	return 0;
}

void tool_describe(struct tool *t, const struct action_spec *spec)
{
	const char *what = spec->cmdline ? spec->cmdline : spec->path;
	t->kind = spec->kind;
	t->name = spec->tool ? mem_strdup(spec->tool) : NULL;
	t->input = spec->args ? json_incref((json_t *)(uintptr_t)spec->args) : NULL;
	t->what = what ? mem_strdup(what) : NULL;
}

void tools_forget(struct flow *f)
{
	struct gate *g = f->proxy->all->s->gate;
	for (struct tool *t = f->proxy->tools, *next; t; t = next) {
		next = t->next;
		if (t->flow != f)
			continue;
		uint64_t action = t->open ? t->action : 0;
		tool_drop(t);
		if (action)
			gate_cancel(g, action, "cancel", "the agent no longer waits");
	}
}

void tools_free(struct proxy *p)
{
	while (p->tools) {
		struct tool *t = p->tools;
		uint64_t asked = t->asked ? t->action : 0;
		tool_drop(t);
		if (asked)
			gate_cancel(p->all->s->gate, asked, "withdraw",
				    "withdrawn: the sandbox has gone");
	}
}
