/* A question to a model: held by the gate, sent with the real key, its answer passed on, read and
 * judged. */
#include <stdlib.h>
#include <string.h>

#include "inside/inside_priv.h"
#include "models/model_call.h"
#include "models/provider.h"
#include "secrets/vault.h"
#include "base/hash.h"
#include "record/record_event.h"

enum { ROW_MAX = 3, ALIVE_FIRST_MS = 100000, ALIVE_MS = 15000, ORPHAN_MS = 900000 };

static void model_flow_send_it(struct flow *f);
static void model_flow_submit(struct flow *f);
static void model_flow_keep_alive(struct flow *f, unsigned ms);

struct super *model_flow_super_of(const struct flow *f)
{
	return f->proxy->all->s;
}

/* --- the end of a flow ------------------------------------------------------------------------ */

static void model_flow_done(void *self, const struct action_result *res)
{
	struct flow *f = self;
	bool handled = f->handled;
	if (flow_action_over(f) || handled)
		return;
	CLEANUP(free_ptr)
	char *why = mem_printf("%s%s%s%s%s",
			       res->end == END_BUDGET ? "the budget is used up"
						      : action_end_name(res->end),
			       res->rule ? " by rule " : "", res->rule ? res->rule : "",
			       res->why ? ": " : "", res->why ? res->why : "");
	flow_refuse(f, 403, why);
	flow_free(f);
}

/* --- who waits long --------------------------------------------------------------------------- */

/* A client gives up after a long silence; a comment keeps it waiting. */
static void model_flow_on_alive(void *self)
{
	static const char ping[] = "event: ping\ndata: {\"type\":\"ping\"}\n\n",
			  comment[] = ": waiting for a decision\n\n";
	struct flow *f = self;
	if (!f->visit) { /* no repeated request came for the pending one */
		gate_cancel(model_flow_super_of(f)->gate, f->action, "cancel",
			    "the agent no longer waits");
		return;
	}
	if (!http_begun(f->visit))
		http_begin(f->visit, 200, "text/event-stream", NULL);
	f->late = true;
	if (f->speak == SPEAK_ANTHROPIC)
		http_write(f->visit, ping, sizeof(ping) - 1);
	else
		http_write(f->visit, comment, sizeof(comment) - 1);
	loop_timer_set(f->alive, ALIVE_MS, 0);
}

static void model_flow_keep_alive(struct flow *f, unsigned ms)
{
	if (f->speak == SPEAK_GEMINI || f->speak == SPEAK_CODE_ASSIST || !f->stream)
		return;
	f->alive = f->alive ? f->alive
			    : loop_timer_new(model_flow_super_of(f)->loop, model_flow_on_alive, f);
	loop_timer_set(f->alive, ms, 0);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void on_pass(void *self, const void *bytes, size_t len)
{
	struct flow *f = self;
	if (f->visit && !http_begun(f->visit))
		http_begin(f->visit, 200,
			   f->answer.stream ? "text/event-stream" : "application/json", NULL);
	flow_write(f, bytes, len);
}

static void model_flow_on_text(void *self, const char *bytes, size_t len)
{
	struct flow *f = self;
	if (f->running)
		action_output(f->running, STREAM_TEXT, bytes, len);
}

static void model_flow_on_head(void *self, const struct http_head *head)
{
	struct flow *f = self;
	const char *type = http_header(head, "content-type");
	bool events = type && !strncmp(type, "text/event-stream", 17);
	const struct answer before = { .begun = f->before_begun, .items = f->before_items };
	f->status = head->status;
	f->refused = head->status == 401 && f->token; /* none of it reaches the sandbox */
	if (f->refused)
		return;
	f->as_it_is = head->status != 200 || f->speak == SPEAK_NONE;
	answer_init(&f->answer, f->speak, events, f->proxy->gate && !f->as_it_is,
		    f->cause ? &before : NULL);
	f->answer.pass = on_pass;
	f->answer.text = model_flow_on_text;
	f->answer.self = f;
	if (f->as_it_is ? f->visit && !http_begun(f->visit) : events)
		flow_begin(f, head);
}

static void model_flow_on_data(void *self, const void *bytes, size_t len)
{
	struct flow *f = self;
	if (f->refused)
		return;
	if (f->running)
		action_output(f->running, STREAM_RESPONSE, bytes, len);
	if (!f->as_it_is)
		answer_feed(&f->answer, bytes, len);
	else if (f->passing)
		flow_write(f, bytes, len);
}

static void on_own(struct flow *f, const char *why);

/* In the form of a provider that is too busy: the agent keeps its own placeholder and asks again
 * later. */
static void log_in_again(struct flow *f)
{
	json_t *body = json_object();
	json_put_int(body, "status", f->status);
	json_put_str(body, "why", "upstream refused the login twice");
	struct event at = model_flow_place(f);
	record_ev_agent_state(
		model_flow_super_of(f)->record, &at,
		&(struct ev_agent_state){
			.state = ev_text_of("login"),
			.why = ev_text_of(
				"upstream refused the login: log in again with the vendor's program") });
	flow_refuse(f, 529, "the login on the host expired; log in again on the host");
	flow_end_action(f, END_FAILED, body);
	flow_free(f);
}

static void ended_as_it_is(struct flow *f, const struct http_end *end)
{
	CLEANUP(free_ptr) char *why = mem_printf("the provider answered HTTP %d", f->status);
	json_t *body = json_object();
	json_put_int(body, "status", f->status);
	if (f->status >= 300)
		json_put_str(body, "why", why);
	if (f->passing)
		flow_end(f, end->how == HTTP_OK);
	else
		flow_refuse(f, 502, why);
	flow_end_action(f, f->status >= 300 ? END_FAILED : END_OK, body);
	flow_free(f);
}

static void model_flow_on_end(void *self, const struct http_end *end)
{
	struct flow *f = self;
	bool whole = end->how == HTTP_OK;
	f->call = NULL;
	if (!end->status) {
		flow_fail(f, 502, end->text);
		return;
	}
	if (f->refused && flow_login_refused(f, on_own))
		return;
	if (f->refused) {
		log_in_again(f);
		return;
	}
	if (f->as_it_is) {
		ended_as_it_is(f, end);
		return;
	}
	answer_end(&f->answer);
	f->judging = whole && f->answer.holding && (f->answer.nr_calls || f->answer.over);
	/* the agent has all of it: it need not wait while it is put together for the record */
	if (!f->judging)
		flow_end(f, whole);
	json_t *body = model_flow_record_reply(f);
	if (!whole)
		json_put_str(body, "why", end->text);
	f->cause = f->action;
	flow_end_action(f, END_OK, body);
	if (f->judging) {
		model_flow_keep_alive(f, ALIVE_MS);
		tools_judge(f);
		return;
	}
	if (!f->answer.gate)
		tools_observe(f);
	flow_free(f);
}

/* --- calls that were judged ------------------------------------------------------------------- */

static void record_gated(struct flow *f)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	size_t nr = f->answer.nr_calls;
	struct ev_gated_call *call = arena_alloc(&mem, (nr + 1) * sizeof(*call));
	for (size_t i = 0; i < nr; i++)
		call[i] = (struct ev_gated_call){ .id = ev_text_of(f->answer.call[i].id),
						  .name = ev_text_of(f->answer.call[i].name),
						  .why = ev_text_of(f->why[i]) };
	struct event at = model_flow_place(f);
	record_ev_proxy_gated(
		model_flow_super_of(f)->record, &at,
		&(struct ev_proxy_gated){
			.calls = { nr, call },
			.then = ev_text_of(f->refused_in_row < ROW_MAX ? "again" : "end"),
			EV_SET(in_row, f->refused_in_row) });
}

static void model_flow_end_turn(struct flow *f)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT, out = BUF_INIT;
	const char *model = strchr(f->model, ':') ? strchr(f->model, ':') + 1 : f->model, *why = "";
	for (size_t i = 0; i < f->nr_why; i++)
		why = f->why[i] ? f->why[i] : why;
	buf_printf(
		&text,
		"[sandglass] The turn ends here: tool calls were refused %u times in a row. The last: %s",
		f->refused_in_row, why);
	speak_say(f->speak, f->answer.stream, f->answer.begun, f->answer.items, model,
		  buf_cstr(&text), &out);
	on_pass(f, out.data, out.len);
	flow_end(f, true);
	flow_free(f);
}

static void model_flow_ask_again(struct flow *f)
{
	const char **why = mem_calloc(f->nr_why + 1, sizeof(*why));
	for (size_t i = 0; i < f->nr_why; i++)
		why[i] =
			f->why[i]
				? f->why[i]
				: "Not carried out, because another call of the same answer was refused. Ask for it again if it is still wanted.";
	json_t *again = answer_ask_again(&f->answer, f->req, why);
	free(why);
	json_decref(f->req);
	f->req = again;
	buf_reset(&f->body);
	json_dump_buf(again, &f->body);
	packed_body_changed(f);
	f->before_begun = f->answer.begun;
	f->before_items = f->answer.items;
	answer_release(&f->answer);
	for (size_t i = 0; i < f->nr_why; i++)
		free(f->why[i]);
	free(take(&f->why));
	f->nr_why = 0;
	f->judging = f->handled = false;
	model_flow_submit(f);
}

void model_judged(struct flow *f)
{
	bool refused = f->answer.over || f->answer.failed;
	loop_timer_free(&f->alive);
	for (size_t i = 0; i < f->nr_why; i++)
		refused |= f->why[i] != NULL;
	if (!refused) {
		answer_pass(&f->answer);
		flow_end(f, true);
		flow_free(f);
		return;
	}
	f->refused_in_row++;
	record_gated(f);
	if (f->refused_in_row >= ROW_MAX || !f->nr_why)
		model_flow_end_turn(f);
	else
		model_flow_ask_again(f);
}

/* --- the request ------------------------------------------------------------------------------ */

/* ".../v1" + "/v1/messages": the version stands once. */
static void make_url(struct flow *f, const char *base)
{
	const char *last = strrchr(base, '/'), *path = f->path;
	size_t n = last ? strlen(last) : 0;
	if (n > 2 && last[1] == 'v' && last[2] >= '0' && last[2] <= '9' &&
	    !strncmp(path, last, n) && path[n] == '/')
		path += n;
	f->url = mem_printf("%s%s%s", base, path, f->query);
}

static void key_line(struct flow *f, const char *auth, const char *key, size_t len)
{
	const char *at = auth ? strstr(auth, "{key}") : NULL;
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	if (!at || !len)
		return;
	buf_append(&line, auth, (size_t)(at - auth));
	buf_append(&line, key, len);
	buf_puts(&line, at + 5);
	strv_push(&f->headers, buf_cstr(&line));
	explicit_bzero(line.data, line.len);
}

static void model_flow_on_key(void *self, const char *value, size_t len, const struct err *err)
{
	struct flow *f = self;
	if (!value) {
		flow_fail(f, 502, err->text);
		return;
	}
	flow_hides(f, "key", value, len);
	key_line(f, provider_auth(f->provider, f->face), value, len);
	model_flow_send_it(f);
}

static void model_flow_on_face(void *self, const json_t *face, const char *why)
{
	struct flow *f = self;
	struct super *s = model_flow_super_of(f);
	if (!face) {
		flow_fail(f, 502, why);
		return;
	}
	f->face = json_incref((json_t *)(uintptr_t)face);
	CLEANUP(free_ptr)
	char *base = provider_url(f->provider, face), *key = provider_key(f->provider, face);
	free(take(&f->url));
	make_url(f, base);
	if (json_str(f->route, "login", NULL) && !tape_plays(models_tape(s->models)))
		flow_credentials(f, on_own);
	else if (*key && !tape_plays(models_tape(s->models)))
		vault_get(s->vault, key, "inference proxy", f->action, f->proxy->agent,
			  model_flow_on_key, f);
	else
		model_flow_send_it(f);
}

static void on_own(struct flow *f, const char *why)
{
	if (why)
		flow_fail(f, json_str(f->route, "login", NULL) ? 529 : 502, why);
	else
		model_flow_send_it(f);
}

static void model_flow_send_it(struct flow *f)
{
	struct super *s = model_flow_super_of(f);
	const struct buf *sent = f->packed.len ? &f->packed : &f->body;
	record_sent(f);
	strv_push(&f->headers, "accept-encoding: identity");
	struct http_handler on = { .head = model_flow_on_head,
				   .data = model_flow_on_data,
				   .end = model_flow_on_end,
				   .self = f };
	struct http_request r = {
		.method = f->method,
		.url = f->url,
		.headers = (const char *const *)f->headers.item,
		.body = sent->len ? sent->data : NULL,
		.body_len = sent->len,
		.first_us = 600 * INT64_C(1000000),
		.idle_us = 300 * INT64_C(1000000),
	};
	f->call = tape_send(models_tape(s->models), f->path, &r, &on);
	flow_drop_headers(f);
}

static void model_flow_start(void *self, struct action *a)
{
	struct flow *f = self;
	struct super *s = model_flow_super_of(f);
	struct err err = ERR_INIT;
	const char *provider = json_str(f->route, "provider", NULL);
	if (f->zombie) {
		action_ended(a, END_CANCELLED, NULL);
		return;
	}
	f->running = a;
	f->status = 0; /* asked again: nothing of this answer is there yet */
	f->as_it_is = false;
	f->proxy->calls++;
	f->proxy->unpriced_asked |= action_spec(a)->unpriced;
	loop_timer_free(&f->alive);
	model_flow_record_call(f);
	if (!provider) {
		free(take(&f->url));
		make_url(f, json_str(f->route, "url", ""));
		flow_credentials(f, on_own);
		return;
	}
	CLEANUP(free_ptr) char *name = mem_printf("%s:", provider);
	if (provider_of(models_providers(s->models), name, &f->provider, &err) < 0)
		flow_fail(f, 502, err.text);
	else
		plugin_face(f->provider->plugin, model_flow_on_face, f);
}

static void model_flow_cancel(void *self, struct action *a, const char *how)
{
	struct flow *f = self;
	if (f->zombie || f->running != a) {
		f->running = NULL;
		action_ended(a, END_CANCELLED, NULL);
		return;
	}
	flow_refuse(f, 403, "stopped by a user");
	flow_end_action(f, !strcmp(how, "kill") ? END_KILLED : END_CANCELLED, record_heard(f));
	model_drop(f);
}

/* @unpriced: no price is known for its model. */
static void submit_flow(struct flow *f, bool unpriced)
{
	struct super *s = model_flow_super_of(f);
	f->parked = f->speak && hooks_open(f->proxy);
	f->unpriced = unpriced;
	if (f->parked) {
		hooks_note(f->proxy, "waits", "its model call waits until you have decided");
		model_flow_keep_alive(f, ALIVE_FIRST_MS);
		return;
	}
	bool own_limit = json_int(json_object_get(f->proxy->spec, "limits"), "uusd", 0) > 0;
	CLEANUP(json_release) json_t *args = json_object();
	json_t *provided = speak_provider_tools(f->req);
	json_put_str(args, "model", f->model);
	json_put_str(args, "path", f->path);
	json_put(args, "tools", speak_tools(f->req));
	if (json_array_size(provided))
		json_put(args, "provider_tools", json_incref(provided));
	json_decref(provided);
	if (f->cause)
		json_put_flag(args, "again", true);
	f->effector = (struct effector){
		.name = "model", .start = model_flow_start, .cancel = model_flow_cancel, .self = f
	};
	struct action_spec spec = {
		.kind = ACT_MODEL,
		.cause = f->cause	   ? f->cause
			 : f->proxy->agent ? f->proxy->agent
					   : f->proxy->all->box,
		.agent = f->proxy->agent,
		.tool = f->model,
		.args = args,
		.parallel = true,
		.unpriced = unpriced,
		.hold = unpriced && own_limit && !f->proxy->unpriced_asked,
	};
	const struct action_client client = { .done = model_flow_done, .self = f };
	f->action = gate_submit(s->gate, &spec, &f->effector, &client);
	model_flow_keep_alive(f, http_begun(f->visit) ? ALIVE_MS : ALIVE_FIRST_MS);
}

void models_unpark(struct proxy *p)
{
	bool some = !hooks_open(p);
	while (some) { /* one may end, and the list changes */
		some = false;
		for (struct flow *f = p->all->flows; f && !some; f = f->next)
			if (f->proxy == p && f->parked) {
				some = true;
				submit_flow(f, f->unpriced);
			}
	}
}

static void model_flow_on_priced(void *self, const json_t *face, const char *why)
{
	struct flow *f = self;
	(void)why; /* the request itself fails with it */
	submit_flow(f, face && models_unpriced(model_flow_super_of(f)->models, face, f->model));
}

/* Under a limit in dollars it is looked up first whether its model has a price. */
static void model_flow_submit(struct flow *f)
{
	struct super *s = model_flow_super_of(f);
	struct err none = ERR_INIT;
	const char *provider = json_str(f->route, "provider", NULL);
	CLEANUP(free_ptr) char *name = provider ? mem_printf("%s:", provider) : NULL;
	bool limit = json_int(json_object_get(f->proxy->spec, "limits"), "uusd", 0) > 0;
	if (!f->speak || (!limit && !gate_counts_dollars(s->gate, f->proxy->agent)))
		submit_flow(f, false);
	else if (!name)
		submit_flow(f, models_unpriced(s->models, NULL, f->model));
	else if (provider_of(models_providers(s->models), name, &f->provider, &none) < 0)
		submit_flow(f, false); /* it fails with that */
	else
		plugin_face(f->provider->plugin, model_flow_on_priced, f);
}

static void hash_it(struct flow *f)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	buf_printf(&all, "%s %s\n", f->method, f->path);
	buf_append(&all, buf_cstr(&f->body), f->body.len);
	hash_of(all.data, all.len, &f->same);
}

bool model_again(struct proxies *all, struct flow *f)
{
	hash_it(f);
	for (struct flow *g = all->flows; g; g = g->next) {
		if (g == f || g->proxy != f->proxy || g->plain || g->visit || !g->action ||
		    g->running || memcmp(&g->same, &f->same, sizeof(g->same)))
			continue;
		g->visit = take(&f->visit);
		http_visit_set_tag(g->visit, g);
		struct event at = model_flow_place(g);
		record_ev_model_again(
			model_flow_super_of(g)->record, &at,
			&(struct ev_model_again){
				.why = ev_text_of(
					"the agent stopped waiting and sent the same request again"),
				EV_SET(tries, 2) });
		if (g->alive)
			loop_timer_set(g->alive, ALIVE_FIRST_MS, 0);
		flow_free(f);
		return true;
	}
	return false;
}

/* NULL: it may ask. */
static const char *model_flow_spent(const struct proxy *p)
{
	const json_t *lim = json_object_get(p->spec, "limits");
	int64_t uusd = json_int(lim, "uusd", 0), tokens = json_int(lim, "tokens", 0),
		calls = json_int(lim, "calls", 0);
	return uusd && p->uusd >= uusd ? "the budget of this proxy is used up (dollars)"
	       : tokens && p->in + p->out >= tokens ? "the budget of this proxy is used up (tokens)"
	       : calls && p->calls >= calls	    ? "the budget of this proxy is used up (calls)"
						    : NULL;
}

/* Our changes to a request: the prompt from outside, and a stream's usage report. */
static void model_flow_change(struct flow *f)
{
	const char *prompt = proxies_prompt(model_flow_super_of(f), f->proxy->spec);
	bool usage =
		f->speak == SPEAK_CHAT && f->stream && !json_object_get(f->req, "stream_options");
	if (!prompt && !usage)
		return;
	if (prompt)
		speak_prompt(f->speak, f->req, prompt);
	if (usage) {
		json_t *o = json_object();
		json_put_flag(o, "include_usage", true);
		json_put(f->req, "stream_options", o);
	}
	buf_reset(&f->body);
	json_dump_buf(f->req, &f->body);
	packed_body_changed(f);
}

void model_begin(struct flow *f)
{
	const char *why = model_flow_spent(f->proxy), *name = speak_model(f->req, f->path);
	f->stream = f->speak && speak_streams(f->speak, f->req, f->path);
	f->model = mem_printf("%s:%.*s", json_str(f->route, "provider", route_name(f)),
			      (int)strcspn(name, ":"), name);
	if (!f->speak) { /* "models", "count_tokens" */
		free(f->model);
		f->model = mem_printf("%s:%s", json_str(f->route, "provider", route_name(f)),
				      strrchr(f->path, '/') + 1);
	}
	if (f->speak)
		tools_results(f->proxy, f->speak, f->req);
	if (why && f->speak) {
		flow_refuse(f, 403, why);
		flow_free(f);
		return;
	}
	if (f->speak)
		model_flow_change(f);
	model_flow_submit(f);
}

/* --- the client or everything goes ------------------------------------------------------------ */

void model_drop(struct flow *f)
{
	struct super *s = model_flow_super_of(f);
	if (f->provider && f->provider->plugin)
		plugin_forget(f->provider->plugin, f);
	vault_forget(s->vault, f);
	tools_forget(f);
	tape_cancel(&f->call);
	if (f->running) {
		flow_end_action(f, END_CANCELLED, record_heard(f));
	} else if (f->action && !f->handled) {
		f->handled = true;
		gate_cancel(s->gate, f->action, "cancel", "the sandbox has ended");
	}
	flow_free(f);
}

void model_gone(struct flow *f)
{
	if (f->action && !f->running && !f->handled) { /* still held: agents ask again */
		f->alive = f->alive ? f->alive
				    : loop_timer_new(model_flow_super_of(f)->loop,
						     model_flow_on_alive, f);
		loop_timer_set(f->alive, ORPHAN_MS, 0);
		return;
	}
	if (f->running) {
		/* agents close at the last event of an answer, which may come before its last
		 * byte */
		json_t *body = record_heard(f);
		bool whole = body && f->answer.complete && !f->answer.holding;
		body = body ? body : json_object();
		if (!whole)
			json_put_str(body, "why", "the agent went away");
		f->cause = f->action;
		flow_end_action(f, whole ? END_OK : END_CANCELLED, body);
		if (whole && !f->answer.gate)
			tools_observe(f);
	}
	model_drop(f);
}
