/* Inspect's eval log: each sample is an agent.
 *
 * 1. The conversation is in the sample's messages; the cost and time of each answer are in its
 *    model events. A message is an answer of a model if it names one, is marked as generated, or a
 *    model event holds it. Older logs name no model, and a message that a script has added to a
 *    conversation is not an answer.
 * 2. Model events without a message (graders, agents below the agent) are answers of an agent of
 *    their own, named after their part of the evaluation.
 * 3. Tokens in the sample's sums beyond those of its answers belong to no single answer.
 * 4. Long texts are under "attachments" and are put back; scores and errors are kept unchanged. */
#include <stdlib.h>
#include <string.h>

#include "exchange/import_inspect.h"
#include "base/mem.h"

struct sample {
	struct import *im;
	const json_t *doc, *events;
	const char *name, *model; /* of the evaluation */
	json_t *by_id;		  /* id of an answer -> index of its model event */
	json_t *tools;		  /* id of a call -> its tool event */
	bool *taken;		  /* model events that belong to a message */
	size_t told, next;	  /* events up to here are imported; where the next answer may be */
	struct usage sum;
};

/* --- pieces --- */

static json_t *import_inspect_whole(const json_t *sample, const json_t *j)
{
	static const char mark[] = "attachment://";
	const json_t *kept = json_object_get(sample, "attachments");
	if (!json_is_string(j) || strncmp(json_string_value(j), mark, sizeof(mark) - 1) != 0)
		return json_deep_copy(j);
	json_t *text = json_object_get(kept, json_string_value(j) + sizeof(mark) - 1);
	return json_is_string(text) ? json_incref(text) : json_deep_copy(j);
}

/* A model's thinking is not part of its text. */
static char *import_inspect_text_of(const json_t *sample, const json_t *content)
{
	CLEANUP(json_release)
	json_t *all = json_is_array(content) ? json_array() : import_inspect_whole(sample, content);
	size_t i;
	json_t *part;
	json_array_foreach(content, i, part)
	{
		if (!strcmp(json_str(part, "type", ""), "reasoning"))
			continue;
		json_t *copy = json_deep_copy(part);
		if (json_object_get(part, "text"))
			json_put(copy, "text",
				 import_inspect_whole(sample, json_object_get(part, "text")));
		json_array_append_new(all, copy);
	}
	return import_text(all);
}

static json_t *args_of(const json_t *sample, json_t *args)
{
	json_t *out = json_object(), *v;
	const char *key;
	json_object_foreach(args, key, v) json_put(out, key, import_inspect_whole(sample, v));
	return out;
}

static json_t *import_inspect_calls_of(const json_t *sample, const json_t *m)
{
	json_t *calls = json_array(), *one;
	size_t i;
	json_array_foreach(json_object_get(m, "tool_calls"), i, one)
	{
		CLEANUP(json_release)
		json_t *args = args_of(sample, json_object_get(one, "arguments"));
		json_array_append_new(calls, import_call_of(json_str(one, "id", ""),
							    json_str(one, "function", "?"), args));
	}
	return calls;
}

static struct usage import_inspect_usage_of(const json_t *use)
{
	int64_t read = import_tokens(use, "input_tokens_cache_read"),
		made = import_tokens(use, "input_tokens_cache_write");
	return (struct usage){ .in = import_tokens(use, "input_tokens") + read + made,
			       .out = import_tokens(use, "output_tokens"),
			       .cached = read,
			       .written = made,
			       .cost_uusd = import_uusd(use, "total_cost") };
}

static const json_t *import_inspect_answer_of(const json_t *ev)
{
	return json_object_get(
		json_array_get(json_object_get(json_object_get(ev, "output"), "choices"), 0),
		"message");
}

static bool import_inspect_is_model(const json_t *ev)
{
	return !strcmp(json_str(ev, "event", ""), "model");
}

/* --- which event a message goes back to --- */

static bool import_inspect_alike(const json_t *a, const json_t *b)
{
	const json_t *one = json_array_get(json_object_get(a, "tool_calls"), 0),
		     *two = json_array_get(json_object_get(b, "tool_calls"), 0);
	return a && b && json_equal(json_object_get(a, "content"), json_object_get(b, "content")) &&
	       !strcmp(json_str(one, "id", ""), json_str(two, "id", ""));
}

static size_t next_model(const struct sample *s)
{
	size_t i = s->next;
	while (i < json_array_size(s->events) &&
	       (s->taken[i] || !import_inspect_is_model(json_array_get(s->events, i))))
		i++;
	return i;
}

/* The model event of @m; SIZE_MAX = there is none; *is_answer_out: it is a model's, even so. */
static size_t import_inspect_event_of(struct sample *s, const json_t *m, bool *is_answer_out)
{
	const char *source = json_str(m, "source", ""), *id = json_str(m, "id", NULL);
	const json_t *at = id ? json_object_get(s->by_id, id) : NULL;
	size_t i = at ? (size_t)json_integer_value(at) : next_model(s);
	*is_answer_out = true;
	if (i >= json_array_size(s->events))
		i = SIZE_MAX;
	else if (at ||
		 import_inspect_alike(m, import_inspect_answer_of(json_array_get(s->events, i))))
		return i;
	*is_answer_out = json_str(m, "model", NULL) || !strcmp(source, "generate");
	/* an answer with an id that no event has was changed afterwards: the next one that is
	 * nobody else's */
	return *is_answer_out ? i : SIZE_MAX;
}

/* --- telling --- */

static void import_inspect_reply(struct sample *s, const json_t *m, const json_t *ev)
{
	const json_t *output = json_object_get(ev, "output");
	const char *failed = json_str(ev, "error", NULL);
	CLEANUP(free_ptr)
	char *text = import_inspect_text_of(s->doc, json_object_get(m, "content"));
	CLEANUP(json_release) json_t *calls = import_inspect_calls_of(s->doc, m);
	struct usage u = import_inspect_usage_of(json_object_get(output, "usage"));
	import_time(s->im, json_str(ev, "timestamp", NULL));
	import_reply(s->im, json_str(m, "model", json_str(ev, "model", s->model)),
		     m || !failed ? text : failed, calls, &u,
		     failed		      ? "error"
		     : json_array_size(calls) ? "calls"
					      : "end");
	s->sum.in += u.in;
	s->sum.out += u.out;
	import_calls(s->im, calls);
}

/* The result of a call; of a failed call without output: the cause. */
static void import_inspect_result(struct sample *s, const char *id, const json_t *content,
				  const json_t *error)
{
	CLEANUP(free_ptr) char *text = import_inspect_text_of(s->doc, content);
	const char *shown = *text ? text : json_str(error, "message", "");
	import_result(s->im, id, shown, strlen(shown), json_is_object(error), -1);
}

/* The part of the evaluation in which @ev stands. */
static const char *import_inspect_part_of(const struct sample *s, const json_t *ev)
{
	const char *span = json_str(ev, "span_id", NULL);
	size_t i;
	json_t *one;
	json_array_foreach(s->events, i,
			   one) if (span && !strcmp(json_str(one, "event", ""), "span_begin") &&
				    !strcmp(json_str(one, "id", ""),
					    span)) return json_str(one, "name", "aside");
	return "aside";
}

static void import_inspect_aside(struct sample *s, const json_t *ev)
{
	const json_t *input = json_object_get(ev, "input"),
		     *last = json_array_get(input, json_array_size(input) - 1);
	const json_t *m = import_inspect_answer_of(ev);
	CLEANUP(free_ptr) char *who = mem_printf("%s %s", s->name, import_inspect_part_of(s, ev));
	CLEANUP(free_ptr)
	char *text = import_inspect_text_of(s->doc, json_object_get(last, "content"));
	size_t i;
	json_t *call;
	import_agent(s->im, who, json_str(ev, "model", NULL));
	if (last)
		import_say(s->im, "user", text, false);
	import_inspect_reply(s, m, ev);
	json_array_foreach(json_object_get(m, "tool_calls"), i, call)
	{
		const char *id = json_str(call, "id", "");
		const json_t *tool = json_object_get(s->tools, id);
		if (tool)
			import_inspect_result(s, id, json_object_get(tool, "result"),
					      json_object_get(tool, "error"));
	}
	import_agent(s->im, s->name, s->model);
}

static void import_inspect_asides(struct sample *s, size_t upto)
{
	for (; s->told < upto && s->told < json_array_size(s->events); s->told++) {
		const json_t *ev = json_array_get(s->events, s->told);
		if (import_inspect_is_model(ev) && !s->taken[s->told])
			import_inspect_aside(s, ev);
	}
}

static void import_inspect_message(struct sample *s, const json_t *m, size_t at, bool is_answer)
{
	const char *role = json_str(m, "role", "");
	if (!strcmp(role, "assistant") && is_answer) {
		if (at != SIZE_MAX)
			import_inspect_asides(s, at);
		import_inspect_reply(s, m, at != SIZE_MAX ? json_array_get(s->events, at) : NULL);
	} else if (!strcmp(role, "assistant")) { /* a script put it there */
		CLEANUP(json_release) json_t *calls = import_inspect_calls_of(s->doc, m);
		import_calls(s->im, calls);
	} else {
		CLEANUP(free_ptr)
		char *text = import_inspect_text_of(s->doc, json_object_get(m, "content"));
		if (!strcmp(role, "tool"))
			import_inspect_result(s, json_str(m, "tool_call_id", ""),
					      json_object_get(m, "content"),
					      json_object_get(m, "error"));
		else
			import_say(s->im, !strcmp(role, "system") ? "system" : "user", text,
				   !strcmp(role, "user"));
	}
}

static void import_inspect_messages(struct sample *s)
{
	const json_t *list = json_object_get(s->doc, "messages");
	size_t i, nr = json_array_size(list);
	size_t *at = mem_calloc(nr + 1, sizeof(*at));
	bool *is_answer = mem_calloc(nr + 1, sizeof(*is_answer));
	json_t *m;
	json_array_foreach(list, i, m)
	{
		at[i] = SIZE_MAX;
		if (strcmp(json_str(m, "role", ""), "assistant") != 0)
			continue;
		at[i] = import_inspect_event_of(s, m, &is_answer[i]);
		if (at[i] != SIZE_MAX) {
			s->taken[at[i]] = true;
			s->next = at[i] + 1;
		}
	}
	json_array_foreach(list, i, m) import_inspect_message(s, m, at[i], is_answer[i]);
	import_inspect_asides(s, SIZE_MAX);
	free(at);
	free(is_answer);
}

/* --- what is left --- */

static void import_inspect_spent(struct sample *s)
{
	struct usage all = USAGE_INIT;
	const char *model;
	json_t *use;
	json_object_foreach(json_object_get(s->doc, "model_usage"), model, use)
	{
		struct usage u = import_inspect_usage_of(use);
		all.in += u.in;
		all.out += u.out;
	}
	if (!all.in && !all.out && !json_array_size(s->events))
		all = import_inspect_usage_of(
			json_object_get(json_object_get(s->doc, "output"), "usage"));
	all.in = all.in > s->sum.in ? all.in - s->sum.in : 0;
	all.out = all.out > s->sum.out ? all.out - s->sum.out : 0;
	all.cached = all.written = 0;
	if (all.in || all.out)
		import_spent(s->im, &all);
}

static void import_inspect_keep(struct sample *s, const char *key)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	const json_t *j = json_object_get(s->doc, key);
	if (!json_object_size(j))
		return;
	json_dump_buf(j, &text);
	import_keep(s->im, 0, key, buf_cstr(&text), text.len);
}

static void how_it_ended(struct sample *s)
{
	const json_t *error = json_object_get(s->doc, "error"),
		     *limit = json_object_get(s->doc, "limit");
	import_inspect_keep(s, "scores");
	import_inspect_keep(s, "error");
	if (json_is_object(error))
		import_stop(s->im, "error", json_str(error, "message", "an error"));
	else if (json_is_object(limit))
		import_stop(s->im, "budget", json_str(limit, "type", "a limit"));
}

static void look_over(struct sample *s)
{
	size_t i;
	json_t *ev;
	json_array_foreach(s->events, i, ev)
	{
		const char *id = json_str(import_inspect_answer_of(ev), "id", NULL);
		if (import_inspect_is_model(ev) && id)
			json_put_int(s->by_id, id, (int64_t)i);
		if (!strcmp(json_str(ev, "event", ""), "tool") && json_str(ev, "id", NULL))
			json_put(s->tools, json_str(ev, "id", ""), json_incref(ev));
	}
}

void inspect_sample(struct import *im, const json_t *doc, const char *model)
{
	const json_t *id = json_object_get(doc, "id"), *events = json_object_get(doc, "events");
	CLEANUP(free_ptr)
	char *name = json_is_string(id) ? mem_strdup(json_string_value(id))
					: mem_printf("sample %d", (int)json_integer_value(id));
	CLEANUP(free_ptr)
	char *who = mem_printf("%s epoch %d", name, (int)json_int(doc, "epoch", 1));
	struct sample s = { .im = im,
			    .doc = doc,
			    .model = model,
			    .name = json_int(doc, "epoch", 1) > 1 ? who : name };
	/* the first logs had them one level further down */
	s.events = events ? events : json_object_get(json_object_get(doc, "transcript"), "events");
	s.taken = mem_calloc(json_array_size(s.events) + 1, sizeof(*s.taken));
	s.by_id = json_object();
	s.tools = json_object();
	look_over(&s);
	import_agent(im, s.name, model);
	import_inspect_messages(&s);
	import_inspect_spent(&s);
	how_it_ended(&s);
	json_decref(s.by_id);
	json_decref(s.tools);
	free(s.taken);
}

/* --- the .json form --- */

int sniff_inspect(const char *head, size_t len)
{
	if (is_eval(head, len))
		return 80;
	return head[0] == '{' && strstr(head, "\"eval\"") && strstr(head, "\"version\"") &&
			       strstr(head, "\"status\"")
		       ? 80
		       : 0;
}

int import_inspect(struct import *im, FILE *in, struct err *err)
{
	int first = fgetc(in);
	if (first == 'P')
		return import_eval(im, in, err);
	ungetc(first, in);
	size_t i;
	json_t *sample, *doc = import_document(in, err);
	if (!doc)
		return -1;
	int rc = json_is_array(json_object_get(doc, "samples"))
			 ? 0
			 : err_set(err, ERR_PARSE, "not an eval log with samples");
	const json_t *eval = json_object_get(doc, "eval");
	import_time(im, json_str(eval, "created", NULL));
	if (rc == 0)
		json_array_foreach(json_object_get(doc, "samples"), i, sample)
			inspect_sample(im, sample, json_str(eval, "model", NULL));
	json_decref(doc);
	return rc;
}
