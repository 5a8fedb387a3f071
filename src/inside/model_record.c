/* Recording of a model call: the question, the bytes sent, the answer. */
#include <string.h>

#include "inside/inside_priv.h"
#include "models/model_call.h"
#include "models/provider.h"
#include "record/record_event.h"

/* --- the record ------------------------------------------------------------------------------- */

struct event model_flow_place(const struct flow *f)
{
	return (struct event){ .cause = f->action ? f->action : f->cause,
			       .agent = f->proxy->agent,
			       .action = f->action };
}

uint64_t model_flow_append(struct flow *f, enum event_kind kind, json_t *body)
{
	return record_append_json(model_flow_super_of(f)->record, kind,
				  f->action ? f->action : f->cause, f->proxy->agent, 0, f->action,
				  body);
}

void model_flow_record_call(struct flow *f)
{
	struct super *s = model_flow_super_of(f);
	json_t *body = json_object(), *ids = json_array(), *m;
	size_t i;
	json_array_foreach(speak_messages(f->speak, f->req), i, m)
	{
		CLEANUP(free_ptr) char *text = json_dump_str(m);
		models_pool(s->record, ids, text, strlen(text));
	}
	json_put_str(body, "model", f->model);
	json_put(body, "messages", record_list(s->record, ids));
	json_put(body, "tools", speak_tools(f->req));
	model_flow_append(f, EV_MODEL_CALL, body);
}

struct pooling {
	struct super *s;
	json_t *ids;
};

static void pool_piece(void *self, const char *bytes, size_t len)
{
	struct pooling *p = self;
	models_pool(p->s->record, p->ids, bytes, len);
}

void record_sent(struct flow *f)
{
	struct pooling p = { model_flow_super_of(f), json_array() };
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	speak_pieces(f->speak, buf_cstr(&f->body), f->body.len, pool_piece, &p);
	CLEANUP(json_release) json_t *list = record_list(p.s->record, p.ids);
	struct event at = model_flow_place(f);
	record_ev_model_sent(p.s->record, &at,
			     &(struct ev_model_sent){ .url = ev_text_of(f->url),
						      .body = ev_json_of(&mem, list),
						      EV_SET(bytes, (int64_t)f->body.len) });
}

static json_t *model_flow_calls_of(const struct answer *a)
{
	json_t *list = json_array();
	for (size_t i = 0; i < a->nr_calls; i++) {
		json_t *c = json_object(), *args = answer_call_args(&a->call[i]);
		json_put_str(c, "id", a->call[i].id);
		json_put_str(c, "name", a->call[i].name);
		if (args)
			json_put(c, "args", args);
		else
			json_put_bytes(c, "bad", buf_cstr(&a->call[i].args), a->call[i].args.len);
		json_array_append_new(list, c);
	}
	return list;
}

/* Adds the tokens with a price of their own. */
static void put_special(json_t *usage, const struct answer_usage *u)
{
	const struct {
		const char *key;
		int64_t n;
	} more[] = { { "written_1h", u->written_1h },
		     { "image_in", u->image_in },
		     { "image_out", u->image_out } };
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		if (more[i].n)
			json_put_int(usage, more[i].key, more[i].n);
	if (*u->tier)
		json_put_str(usage, "tier", u->tier);
	if (*u->geo)
		json_put_str(usage, "geo", u->geo);
}

/* Returns the body of the action's end. */
json_t *model_flow_record_reply(struct flow *f)
{
	const struct answer *a = &f->answer;
	struct super *s = model_flow_super_of(f);
	json_t *usage = json_object(), *body = json_object(), *end = json_object();
	json_put_int(usage, "in", a->usage.in);
	json_put_int(usage, "out", a->usage.out);
	json_put_int(usage, "cached", a->usage.cached);
	json_put_int(usage, "written", a->usage.written);
	put_special(usage, &a->usage);
	const char *model = strchr(f->model, ':') ? strchr(f->model, ':') + 1 : f->model;
	int64_t cost = a->usage.known
			       ? provider_cost(models_providers(s->models), f->face, model, usage)
			       : -1;
	if (cost < 0 && a->usage.known && a->model)
		cost = provider_cost(models_providers(s->models), f->face, a->model, usage);
	json_put_str(body, "model", f->model);
	json_put_bytes(body, "text", buf_cstr(&a->said), a->said.len);
	json_put(body, "calls", model_flow_calls_of(a));
	json_put_str(body, "stop", answer_stop(a));
	json_put(body, "usage", usage);
	models_put_cost(body, cost);
	json_put_flag(body, "cost_unknown", cost < 0);
	if (a->id)
		json_put_str(body, "id", a->id);
	if (!a->complete)
		json_put_flag(body, "incomplete", true);
	model_flow_append(f, EV_MODEL_REPLY, body);
	json_put_int(end, "tokens", a->usage.in + a->usage.out);
	models_put_cost(end, cost);
	f->proxy->in += a->usage.in;
	f->proxy->out += a->usage.out;
	f->proxy->uusd += cost < 0 ? 0 : cost;
	return end;
}

/* Records the received part of an answer that broke off, and counts its cost. NULL if nothing had
 * arrived. */
json_t *record_heard(struct flow *f)
{
	if (!f->running || f->status != 200 || f->as_it_is)
		return NULL;
	answer_end(&f->answer);
	return model_flow_record_reply(f);
}
