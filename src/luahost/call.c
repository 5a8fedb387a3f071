/* Calls of the script: how they are answered. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "phrase/describe.h"
#include "luahost/answer_cache.h"
#include "luahost/luahost.h"
#include "supervisor/core/call.h"
#include "supervisor/core/resumed.h"
#include "base/clock.h"
#include "wire/host.h"

int64_t call_number(const struct call *c)
{
	return c->host == c->super->host ? (int64_t)c->id : 0;
}

void call_mark(const struct call *c, json_t *body)
{
	if (call_number(c))
		json_put_int(body, "call", call_number(c));
}

const json_t *call_done_before(const struct call *c, enum event_kind kind, uint64_t *seq_out)
{
	if (c->host != c->super->host)
		return NULL;
	return answer_cache_effect(resume_recorded(c->super->resume), c->id, kind, seq_out);
}

void call_answer(struct call *c, json_t *value)
{
	luahost_answer(c->host, c->id, value ? value : json_object(), NULL);
	call_drop(c);
}

static void fail_with(struct call *c, json_t *e)
{
	luahost_answer(c->host, c->id, NULL, e);
	call_drop(c);
}

static json_t *failure_body(const char *code, const char *msg, const char *why, const char *rule,
			    uint64_t event)
{
	json_t *e = json_object();
	json_put_str(e, "code", code);
	json_put_str(e, "msg", msg);
	json_put_str(e, "why", why);
	json_put_str(e, "rule", rule);
	if (event)
		json_put_int(e, "event", (int64_t)event);
	return e;
}

void call_fail(struct call *c, const char *code, const char *why, const char *rule, uint64_t event,
	       const char *fmt, ...)
{
	va_list ap;
	char msg[600];
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	fail_with(c, failure_body(code, msg, why, rule, event));
}

static void call_put_hint(json_t *e, const char *hint)
{
	if (hint && *hint)
		json_put_str(e, "hint", hint);
}

void call_fail_as(struct call *c, const char *code, const struct err *err)
{
	json_t *e = failure_body(code, err->text, NULL, NULL, 0);
	call_put_hint(e, err->hint);
	fail_with(c, e);
}

void call_fail_err(struct call *c, const struct err *err)
{
	static const char *const code[] = {
		[ERR_DENIED] = "denied", [ERR_TIMEOUT] = "timeout", [ERR_CANCELLED] = "cancelled",
		[ERR_FULL] = "limit",	 [ERR_CLOSED] = "backend",  [ERR_UNSUPPORTED] = "backend",
		[ERR_USAGE] = "script",	 [ERR_SCRIPT] = "script",
	};
	const char *name =
		(size_t)err->code < ARRAY_LEN(code) && code[err->code] ? code[err->code] : "io";
	call_fail_as(c, name, err);
}

/* --- actions --- */

void call_output(struct call *c, enum record_stream stream, const void *bytes, size_t len)
{
	int i = stream == STREAM_ERR;
	if (stream == STREAM_REQUEST || stream == STREAM_RESPONSE)
		return; /* bytes on a wire are for the record */
	output_excerpt_add(&c->out[i], bytes, len);
	if (c->stream)
		luahost_chunk(c->host, c->id,
			      stream == STREAM_TEXT ? "text"
			      : i		    ? "err"
						    : "out",
			      bytes, len, c->off[i]);
	if (c->stream && c->action && !c->slowed && luahost_full(c->host)) {
		c->slowed = true;
		boxes_hold_output(c->super->boxes, c->action, true);
	}
	c->off[i] += len;
	if (c->on_output)
		c->on_output(c, stream, bytes, len);
}

static const char *call_why_of(const struct action_result *res)
{
	return res->why ? res->why : json_str(res->body, "why", NULL);
}

/* The output up to then belongs to how it ended: it is what tells why. */
static void fail_action(struct call *c, const struct action_result *res, const char *code,
			const char *text)
{
	const char *why = call_why_of(res);
	json_t *e = failure_body(code, why ? why : text, res->end == END_FAILED ? NULL : why, NULL,
				 res->id);
	call_put_hint(e, json_str(res->body, "hint", NULL));
	if (c->out[0].total || c->out[1].total)
		json_put(e, "result", call_res(c, res));
	fail_with(c, e);
}

static void fail_timeout(struct call *c, const struct action_result *res)
{
	char text[80];
	int64_t us = json_int(c->args, "timeout_us", 0);
	if (us > 0)
		snprintf(text, sizeof(text), "time is up (limit %g s)", (double)us / 1e6);
	fail_action(c, res, "timeout", us > 0 ? text : "time is up");
}

bool call_outcome(struct call *c, const struct action_result *res)
{
	const char *why = call_why_of(res);
	switch (res->end) {
	case END_OK:
		return true;
	case END_DENIED:
		call_fail(c, "denied", why, res->rule, res->id, "denied%s%s%s%s",
			  res->rule ? " by rule " : "", res->rule ? res->rule : "", why ? ": " : "",
			  why ? why : "");
		return false;
	case END_TIMEOUT:
		fail_timeout(c, res);
		return false;
	case END_CANCELLED:
		fail_action(c, res, "cancelled", "cancelled");
		return false;
	case END_KILLED:
		fail_action(c, res, "cancelled", "killed by the user");
		return false;
	case END_INTERRUPTED:
		fail_action(c, res, "interrupted", "interrupted: how it ended is not known");
		return false;
	case END_BUDGET:
		fail_action(c, res, "budget", "the budget is used up");
		return false;
	case END_FAILED:
		fail_action(c, res, "io", "failed");
		return false;
	}
	return false;
}

/* The edited form as a user would type it. */
static void call_put_ran(json_t *v, const json_t *ran)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	const char *cmd = json_str(ran, "cmd", NULL);
	if (cmd)
		buf_puts(&text, cmd);
	else if (json_is_array(json_object_get(ran, "argv")))
		describe_argv(json_object_get(ran, "argv"), &text);
	json_put_bytes(v, "ran", buf_cstr(&text), text.len);
}

json_t *call_res(struct call *c, const struct action_result *res)
{
	json_t *v = json_object();
	struct buf text = BUF_INIT;
	const json_t *code = json_object_get(res->body, "code"),
		     *signal = json_object_get(res->body, "signal");
	const json_t *stopped = json_object_get(res->body, "stopped");
	if (json_is_integer(code))
		json_put_int(v, "code", json_integer_value(code));
	if (json_is_integer(signal))
		json_put_int(v, "signal", json_integer_value(signal));
	if (json_is_integer(stopped)) /* by the script itself: no failure, but how it ended */
		json_put_int(v, "signal", json_integer_value(stopped));
	if (json_int(res->body, "oom", 0))
		json_put_int(v, "oom", json_int(res->body, "oom", 0));
	else if (json_is_integer(signal))
		json_put_str(v, "why", json_str(res->body, "why", NULL));
	json_put(v, "refused", json_incref(json_object_get(res->body, "refused")));
	json_put(v, "refused_more", json_incref(json_object_get(res->body, "refused_more")));
	output_excerpt_text(&c->out[0], &text);
	json_put_bytes(v, "out", buf_cstr(&text), text.len);
	buf_reset(&text);
	output_excerpt_text(&c->out[1], &text);
	json_put_bytes(v, "err", buf_cstr(&text), text.len);
	buf_release(&text);
	json_put_int(v, "ms", (clock_mono_us() - c->began_us) / 1000);
	json_put_int(v, "event", (int64_t)res->id);
	json_put_int(v, "out_bytes", (int64_t)c->out[0].total);
	json_put_int(v, "err_bytes", (int64_t)c->out[1].total);
	json_put_flag(v, "cut",
		      c->out[0].total > 2 * HOST_OUTPUT_SHOWN ||
			      c->out[1].total > 2 * HOST_OUTPUT_SHOWN);
	json_put(v, "batch", json_incref(json_object_get(res->body, "batch")));
	if (res->edited) {
		json_put_flag(v, "edited", true);
		call_put_ran(v, json_object_get(res->body, "ran"));
	}
	return v;
}

void call_result(struct call *c, const struct action_result *res)
{
	c->action = 0;
	if (c->done)
		c->done(c, res);
	else if (call_outcome(c, res))
		call_answer(c, call_res(c, res));
}

void call_answer_stored(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	json_t *v = json_copy(json_object_get(res->body, "result"));
	json_put_int(v, "event", (int64_t)res->id);
	call_answer(c, v);
}

bool call_bytes(struct call *c, const char *key, const char **out)
{
	const json_t *v = json_object_get(c->args, key);
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	*out = NULL;
	if (!v || json_is_null(v))
		return true;
	if (!json_get_bytes(v, &bytes)) {
		call_fail(c, "script", NULL, NULL, 0, "%s: '%s' is not a text", c->op, key);
		return false;
	}
	if (memchr(bytes.data ? bytes.data : "", 0, bytes.len)) {
		call_fail(c, "script", NULL, NULL, 0,
			  "%s: '%s' holds a NUL byte (byte %zu), which no command or path can",
			  c->op, key, strlen(bytes.data) + 1);
		return false;
	}
	strv_push_bytes(&c->kept, buf_cstr(&bytes), bytes.len);
	*out = c->kept.item[c->kept.nr - 1];
	return true;
}

struct box *call_box(struct call *c, uint64_t *id_out)
{
	uint64_t id = resume_box(c->super->resume, (uint64_t)json_int(c->args, "box", 0));
	struct box *b = boxes_get(c->super->boxes, id);
	if (!b)
		call_fail(c, "backend", NULL, NULL, id, "sandbox %llu has ended",
			  (unsigned long long)id);
	*id_out = id;
	return b;
}
