#include "models/model_call.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/core/call.h"
#include "models/ask_model.h"
#include "record/record_event.h"
#include "supervisor/core/core.h"

struct models {
	struct super *super;
	struct providers *providers;
	struct tape tape, wire; /* wire: never a cassette */
	struct effector effector;
	struct asked *open;
};

/* One action under way. */
struct asked {
	struct asked *next;
	struct models *models;
	struct action *action;
	struct ask_model *ask;
	bool spoke; /* some of the answer has been handed on */
};

int models_open(struct models **out, struct super *s, struct err *err)
{
	const struct super_opts *o = s->opts;
	struct models *m = NEW(struct models);
	m->super = s;
	m->tape = (struct tape){ .loop = s->loop, .record = s->record, .speed = o->cassette_speed };
	if (providers_open(&m->providers, s, o->models, o->prices, err) < 0 ||
	    http_new(&m->tape.http, s->loop, NULL, err) < 0 ||
	    (o->cassette &&
	     cassette_open(&m->tape.cassette, o->cassette, o->cassette_add, err) < 0)) {
		models_free(&m);
		return -1;
	}
	*out = m;
	return 0;
}

json_t *models_names(const struct models *m)
{
	return providers_names(m->providers);
}

struct tape *models_tape(struct models *m)
{
	return &m->tape;
}

struct tape *models_wire(struct models *m)
{
	m->wire = m->tape;
	m->wire.cassette = NULL;
	return &m->wire;
}

struct providers *models_providers(struct models *m)
{
	return m->providers;
}

static void model_call_asked_free(struct asked *a)
{
	for (struct asked **at = &a->models->open; *at; at = &(*at)->next)
		if (*at == a) {
			*at = a->next;
			break;
		}
	free(a);
}

void models_free(struct models **mp)
{
	struct models *m = *mp;
	*mp = NULL;
	if (!m)
		return;
	while (m->open) {
		ask_model_cancel(&m->open->ask);
		model_call_asked_free(m->open);
	}
	providers_free(&m->providers);
	http_free(&m->tape.http);
	cassette_free(&m->tape.cassette);
	free(m);
}

/* --- the record ------------------------------------------------------------------------------- */

void models_pool(struct record *r, json_t *ids, const void *bytes, size_t len)
{
	struct hash h;
	struct buf hex = BUF_INIT;
	record_message(r, bytes, len, &h);
	hex_append(&hex, h.b, HASH_LEN);
	json_array_append_new(ids, json_string(buf_cstr(&hex)));
	buf_release(&hex);
}

static json_t *pool_messages(struct super *s, const json_t *messages)
{
	json_t *ids = json_array();
	size_t i;
	json_t *m;
	json_array_foreach((json_t *)(uintptr_t)messages, i, m)
	{
		char *text = json_dump_str(m);
		models_pool(s->record, ids, text, strlen(text));
		free(text);
	}
	return record_list(s->record, ids);
}

static void model_call_record_call(struct super *s, struct action *a)
{
	const struct action_spec *spec = action_spec(a);
	json_t *body = json_object(), *names = json_array();
	size_t i;
	json_t *t;
	json_array_foreach(json_object_get(spec->args, "tools"), i, t)
		json_array_append_new(names, json_string(json_str(t, "name", "?")));
	json_put_str(body, "model", json_str(spec->args, "model", ""));
	json_put(body, "messages", pool_messages(s, json_object_get(spec->args, "_messages")));
	json_put(body, "tools", names);
	record_append_json(s->record, EV_MODEL_CALL, action_id(a), spec->agent, 0, action_id(a),
			   body);
}

void models_put_cost(json_t *o, int64_t uusd)
{
	if (uusd < 0)
		json_put_flag(o, "cost_unknown", true);
	else
		json_put_int(o, "cost_uusd", uusd);
}

static void model_call_record_reply(struct super *s, struct action *a, const json_t *reply,
				    const char *model, int64_t cost)
{
	const struct action_spec *spec = action_spec(a);
	json_t *body = json_object();
	const json_t *usage = json_object_get(reply, "usage");
	json_put_str(body, "model", model);
	json_put(body, "text", json_incref(json_object_get(reply, "text")));
	json_put(body, "calls", json_incref(json_object_get(reply, "calls")));
	json_put_str(body, "stop", json_str(reply, "stop", "end"));
	json_put(body, "usage", json_incref((json_t *)(uintptr_t)usage));
	models_put_cost(body, cost);
	json_put_flag(body, "cost_unknown", cost < 0);
	json_put_str(body, "id", json_str(reply, "id", NULL));
	static const char *const more[] = { "raw", "dialect", "window", "why" };
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		json_put(body, more[i], json_incref(json_object_get(reply, more[i])));
	record_append_json(s->record, EV_MODEL_REPLY, action_id(a), spec->agent, 0, action_id(a),
			   body);
	json_t *end = json_object();
	json_put_int(end, "tokens", json_int(usage, "in", 0) + json_int(usage, "out", 0));
	models_put_cost(end, cost);
	action_ended(a, END_OK, end);
}

/* --- a provider is asked ---------------------------------------------------------------------- */

static void on_sending(void *self, const char *url, const json_t *pieces)
{
	struct asked *a = self;
	struct super *s = a->models->super;
	const struct action_spec *spec = action_spec(a->action);
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	json_t *ids = json_array();
	size_t i, bytes = 0;
	json_t *p;
	json_array_foreach((json_t *)(uintptr_t)pieces, i, p)
	{
		models_pool(s->record, ids, json_string_value(p), json_string_length(p));
		bytes += json_string_length(p);
	}
	CLEANUP(json_release) json_t *list = record_list(s->record, ids);
	record_ev_model_sent(s->record,
			     &(struct event){ .cause = action_id(a->action),
					      .agent = spec->agent,
					      .action = action_id(a->action) },
			     &(struct ev_model_sent){ .url = ev_text_of(url),
						      .body = ev_json_of(&mem, list),
						      EV_SET(bytes, (int64_t)bytes) });
}

static void on_bytes(void *self, const void *p, size_t len)
{
	struct asked *a = self;
	action_output(a->action, STREAM_RESPONSE, p, len);
}

static void model_call_on_text(void *self, const char *p, size_t len)
{
	struct asked *a = self;
	a->spoke = true;
	action_output(a->action, STREAM_TEXT, p, len);
}

static void model_call_on_again(void *self, const struct ask_model_failure *f, int64_t wait_us,
				unsigned tries)
{
	static const char mark[] = "\n(the answer broke off; asked again)\n";
	struct asked *a = self;
	struct super *s = a->models->super;
	record_ev_model_again(s->record,
			      &(struct event){ .cause = action_id(a->action),
					       .agent = action_spec(a->action)->agent,
					       .action = action_id(a->action) },
			      &(struct ev_model_again){ .why = ev_text_of(f->text),
							EV_SET(status, f->status),
							EV_SET(wait_us, wait_us),
							EV_SET(tries, tries) });
	if (a->spoke)
		action_output(a->action, STREAM_TEXT, mark, sizeof(mark) - 1);
	a->spoke = false;
}

static void model_call_on_done(void *self, const json_t *reply, const char *model, int64_t cost,
			       int64_t window, const struct ask_model_failure *f)
{
	struct asked *a = self;
	struct action *action = a->action;
	struct super *s = a->models->super;
	struct call *c = NULL;
	for (c = s->calls; c && c->action != action_id(action); c = c->next)
		;
	model_call_asked_free(a);
	if (!reply) {
		struct err err = ERR_INIT;
		if (c)
			c->data = (void *)(uintptr_t)f->code; /* static */
		err_set(&err, ERR_IO, "%s", f->text);
		action_fail(action, &err);
		return;
	}
	if (c) {
		json_t *copy = json_copy((json_t *)(uintptr_t)reply);
		if (window)
			json_put_int(copy, "window", window);
		if (cost >= 0)
			json_put_int(copy, "cost_uusd", cost);
		json_put(c->body, "reply", copy);
	}
	const char *spec = json_str(action_spec(action)->args, "model", "");
	CLEANUP(free_ptr) char *full = mem_printf("%.*s:%s", (int)strcspn(spec, ":"), spec, model);
	model_call_record_reply(s, action, reply, full, cost);
}

static const struct ask_model_ops ask_ops = { .sending = on_sending,
					      .bytes = on_bytes,
					      .text = model_call_on_text,
					      .again = model_call_on_again,
					      .done = model_call_on_done };

static void ask_provider(struct models *m, struct action *action)
{
	const struct action_spec *spec = action_spec(action);
	struct provider *p;
	struct err err = ERR_INIT;
	if (provider_of(m->providers, json_str(spec->args, "model", ""), &p, &err) < 0) {
		action_fail(action, &err);
		return;
	}
	CLEANUP(json_release) json_t *req = json_object();
	json_put_str(req, "model", json_str(spec->args, "model", ""));
	json_put(req, "messages", json_incref(json_object_get(spec->args, "_messages")));
	json_put(req, "tools", json_incref(json_object_get(spec->args, "tools")));
	json_put(req, "options", json_incref(json_object_get(spec->args, "options")));
	struct asked *a = NEW(struct asked);
	*a = (struct asked){ .next = m->open, .models = m, .action = action };
	m->open = a;
	action_set_tag(action, a);
	struct ask_model_env env = { .loop = m->super->loop,
				     .tape = &m->tape,
				     .providers = m->providers,
				     .vault = m->super->vault };
	a->ask = ask_model(&env, p, req, action_id(action), spec->agent, &ask_ops, a);
}

static void model_call_start(void *self, struct action *a)
{
	struct models *m = self;
	const json_t *reply = json_object_get(action_spec(a)->args, "_reply");
	model_call_record_call(m->super, a);
	if (!json_is_object(reply)) {
		ask_provider(m, a);
		return;
	}
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_get_bytes(json_object_get(reply, "text"), &text);
	if (text.len)
		action_output(a, STREAM_TEXT, text.data, text.len);
	model_call_record_reply(m->super, a, reply, json_str(action_spec(a)->args, "model", ""), 0);
}

static void model_call_cancel(void *self, struct action *action, const char *how)
{
	struct asked *a = action_tag(action);
	(void)self;
	if (!a)
		return; /* scripted: it has ended before anybody could ask */
	action_set_tag(action, NULL);
	ask_model_cancel(&a->ask);
	model_call_asked_free(a);
	action_ended(action, !strcmp(how, "kill") ? END_KILLED : END_CANCELLED, NULL);
}

/* --- the op ----------------------------------------------------------------------------------- */

static void model_call_done(struct call *c, const struct action_result *res)
{
	const char *code = c->data;
	c->data = NULL;
	if (res->end == END_FAILED) {
		const char *why = res->why ? res->why : json_str(res->body, "why", "failed");
		call_fail(c, code ? code : "model", NULL, NULL, res->id, "%s", why);
		return;
	}
	if (call_outcome(c, res))
		call_answer(c, json_incref(json_object_get(c->body, "reply")
						   ? json_object_get(c->body, "reply")
						   : json_object_get(c->args, "reply")));
}

static void submit_model(struct call *c, bool unpriced)
{
	const char *model = json_str(c->args, "model", "");
	struct models *m = c->super->models;
	json_t *reply = json_object_get(c->args, "reply");
	/* the messages go to the pool, not into the event: keys that begin with _ stay out of
	 * action.requested */
	CLEANUP(json_release) json_t *args = json_object();
	json_put_str(args, "model", model);
	json_put(args, "tools", json_incref(json_object_get(c->args, "tools")));
	json_put(args, "options", json_incref(json_object_get(c->args, "options")));
	json_put(args, "_messages", json_incref(json_object_get(c->args, "messages")));
	if (json_is_object(reply))
		json_put(args, "_reply", json_incref(reply));
	struct action_spec spec = { .kind = ACT_MODEL,
				    .tool = model,
				    .args = args,
				    .parallel = true,
				    .unpriced = unpriced };
	m->effector = (struct effector){
		.name = "model", .start = model_call_start, .cancel = model_call_cancel, .self = m
	};
	call_action(c, &spec, &m->effector, model_call_done);
}

/* A call that waits for what its plugin says of its models: only then is it known whether it has a
 * price. */
struct pricing {
	struct call *call;
	struct plugin *plugin;
};

static void pricing_free(void *data)
{
	struct pricing *w = data;
	plugin_forget(w->plugin, w);
	free(w);
}

static struct call *pricing_over(struct pricing *w)
{
	struct call *c = w->call;
	c->data = NULL;
	c->free_data = NULL;
	c->cancel = NULL;
	pricing_free(w);
	return c;
}

static void cancel_pricing(struct call *c)
{
	call_fail(pricing_over(c->data), "cancelled", NULL, NULL, 0, "cancelled");
}

bool models_unpriced(const struct models *m, const json_t *face, const char *model)
{
	struct price price;
	const char *colon = strchr(model, ':');
	return !provider_price(m->providers, face, provider_model(face, colon ? colon + 1 : model),
			       &price);
}

static void model_call_on_priced(void *self, const json_t *face, const char *why)
{
	struct call *c = pricing_over(self);
	(void)why; /* the call itself fails with it */
	submit_model(
		c, face && models_unpriced(c->super->models, face, json_str(c->args, "model", "")));
}

void op_model_call(struct call *c)
{
	struct super *s = c->super;
	struct provider *p = NULL;
	struct err err = ERR_INIT;
	bool scripted = json_is_object(json_object_get(c->args, "reply"));
	if (!scripted &&
	    provider_of(s->models->providers, json_str(c->args, "model", ""), &p, &err) < 0) {
		call_fail_as(c, "model", &err);
		return;
	}
	if (scripted || !gate_counts_dollars(s->gate, c->agent)) {
		submit_model(c, false);
		return;
	}
	struct pricing *w = NEW(struct pricing);
	*w = (struct pricing){ c, p->plugin };
	c->data = w;
	c->free_data = pricing_free;
	c->cancel = cancel_pricing;
	plugin_face(p->plugin, model_call_on_priced, w);
}
