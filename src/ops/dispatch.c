#include "ops/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "luahost/answer_cache.h"
#include "luahost/luahost_call.h"
#include "secrets/vault.h"
#include "supervisor/core/resumed.h"
#include "supervisor/people/operator_input.h"
#include "base/clock.h"
#include "base/failpoint.h"

void call_drop(struct call *c)
{
	struct super *s = c->super;
	for (struct call **p = &s->calls; *p; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			break;
		}
	if (c->data && c->free_data)
		c->free_data(c->data);
	record_barrier_forget(s->record, c);
	output_excerpt_release(&c->out[0]);
	output_excerpt_release(&c->out[1]);
	vault_forget(s->vault, c);
	answer_cache_forget(resume_recorded(s->resume), c);
	strv_release(&c->secrets);
	strv_release(&c->kept);
	free(c->op);
	json_decref(c->body);
	free(c);
}

static void secret_ready(void *self, const char *value, size_t len, const struct err *err)
{
	struct call *c = self;
	(void)len;
	if (!value) {
		call_fail_err(c, err);
		return;
	}
	if (--c->secrets_left == 0)
		op_find(c->op)->start(c);
}

static bool secret_in(const json_t *j)
{
	struct strv names = STRV_INIT;
	secret_names(j, &names);
	bool any = names.nr > 0;
	strv_release(&names);
	return any;
}

/* The op begins when the vault has what it names. In a box nothing is ever given. */
static void start_op(struct call *c, const struct op *op)
{
	struct super *s = c->super;
	secret_names(c->args, &c->secrets);
	if (!c->secrets.nr) {
		op->start(c);
		return;
	}
	if (!strcmp(c->op, "box.open") && secret_in(json_object_get(c->args, "env"))) {
		call_fail(
			c, "script", NULL, NULL, 0,
			"secrets can't enter a sandbox: make a route for %s (sg.proxy: models, git, "
			"registries, any HTTP API), and give the sandbox its address and placeholder",
			c->secrets.item[0]);
		return;
	}
	if (!(op->flags & OP_SECRETS)) {
		call_fail(
			c, "script", NULL, NULL, 0,
			"'%s' takes no secret: sandboxes, questions, and recordings must not hold one; sg.host.exec, "
			"model plugins, and the proxy insert it on the host",
			c->op);
		return;
	}
	c->secrets_left = c->secrets.nr;
	for (size_t i = 0; i < c->secrets.nr; i++)
		vault_get(s->vault, c->secrets.item[i], c->op, c->agent ? c->agent : s->start_seq,
			  c->agent, secret_ready, c);
}

/* The event of a call comes before its effect. Live tokens of input are known before both. */
static void dispatch_know_tokens(struct super *s, const json_t *args)
{
	CLEANUP(buf_release) struct buf data = BUF_INIT, held = BUF_INIT, clean = BUF_INIT;
	if (json_get_bytes(json_object_get(args, "data"), &data))
		record_clean_input(s->record, &held, buf_cstr(&data), data.len, true, &clean);
}

static void dispatch_note(struct host *h, struct super *s, uint64_t id, const json_t *body)
{
	const char *op = json_str(body, "op", "");
	if (!strcmp(op, "module"))
		return; /* host.module records the text */
	if (!strcmp(op, "proc.write") || !strcmp(op, "shell.send"))
		dispatch_know_tokens(s, json_object_get(body, "args"));
	json_t *small = luahost_call_small(body);
	json_t *args = json_object_get(small, "args"),
	       *messages = json_object_get(args, "messages");
	if (!strcmp(op, "model.call") && json_is_array(messages))
		json_put(args, "messages", record_list(s->record, json_incref(messages)));
	json_put_int(small, "id", (int64_t)id);
	record_append_json(s->record, EV_HOST_CALL, luahost_start_seq(h), 0, 0, 0, small);
}

static void dispatch_begin(struct host *h, struct super *s, uint64_t id, const json_t *body)
{
	struct call *c = NEW(struct call);
	c->super = s;
	c->host = h;
	c->id = id;
	c->body = json_incref((json_t *)(uintptr_t)body);
	c->op = mem_strdup(json_str(body, "op", ""));
	c->agent = (uint64_t)json_int(body, "agent", 0);
	c->at = json_str(body, "at", NULL);
	c->tool = json_str(body, "tool", NULL);
	c->said = json_str(body, "said", NULL);
	c->args = json_object_get(body, "args");
	c->stream = json_flag(c->args, "stream", false);
	c->began_us = clock_mono_us();
	c->next = s->calls;
	s->calls = c;
	const struct op *op = op_find(c->op);
	if (h == s->host && !answer_cache_asked(resume_recorded(s->resume), id))
		dispatch_note(h, s, id, body);
	if (!op)
		call_fail(c, "script", NULL, NULL, 0, "no operation '%s'", c->op);
	else if (s->ending && !(op->flags & OP_ENDING))
		call_fail(c, "cancelled", NULL, NULL, 0, "the session is ending");
	else if (h != s->host && !(op->flags & OP_ANYWHERE))
		call_fail(c, "script", NULL, NULL, 0,
			  "'%s' can't be used in a policy or configuration file", c->op);
	else
		start_op(c, op);
}

static void dispatch_cancel(struct super *s, uint64_t id)
{
	for (struct call *c = s->calls; c; c = c->next) {
		if (c->id != id || c->host != s->host || c->cancelled)
			continue;
		c->cancelled = true;
		if (c->action)
			gate_cancel(s->gate, c->action, "cancel", "cancelled by the script");
		else if (c->cancel)
			c->cancel(c);
		return;
	}
}

static void dispatch_drained(struct super *s)
{
	for (struct call *c = s->calls; c; c = c->next)
		if (c->slowed) {
			c->slowed = false;
			boxes_hold_output(s->boxes, c->action, false);
		}
}

static void call_on_output(void *self, enum record_stream stream, const void *bytes, size_t len)
{
	call_output(self, stream, bytes, len);
}

static void call_on_done(void *self, const struct action_result *res)
{
	call_result(self, res);
}

void call_action(struct call *c, struct action_spec *spec, const struct effector *eff,
		 void (*done)(struct call *c, const struct action_result *res))
{
	const struct action_client client = { .done = call_on_done,
					      .output = call_on_output,
					      .self = c };
	failpoint_hit("call.before-submit");
	c->done = done;
	if (c->host == c->super->host && answer_cache_answer(resume_recorded(c->super->resume), c))
		return;
	resume_first_action(c->super->resume);
	spec->call = c->host == c->super->host ? c->id : 0;
	spec->cause = spec->cause ? spec->cause : c->agent ? c->agent : c->super->start_seq;
	spec->agent = c->agent;
	spec->tool = c->tool ? c->tool : spec->tool;
	spec->said = c->said;
	const struct agent *agent = super_agent(c->super, c->agent);
	spec->tainted = json_flag(c->body, "tainted", false) || (agent && agent->tainted);
	c->action = gate_submit(c->super->gate, spec, eff, &client);
	if (spec->kind == ACT_EXEC && json_flag(spec->args, "stdin", false))
		operator_input_expect(c->super, c->action);
	failpoint_hit("call.submitted");
}

const struct luahost_ops dispatch_ops = { .begin = dispatch_begin,
					  .note = dispatch_note,
					  .cancel = dispatch_cancel,
					  .drained = dispatch_drained,
					  .tell = call_tell };
