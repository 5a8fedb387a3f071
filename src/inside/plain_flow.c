/* Repositories and registries: whole requests passed on with the route's credential; a push waits
 * for its decision. */
#include <stdlib.h>
#include <string.h>

#include "inside/inside_priv.h"
#include "models/model_call.h"
#include "http/url.h"

enum { REWRITE_MAX = 48 << 20 };

static struct super *plain_flow_super_of(const struct flow *f)
{
	return f->proxy->all->s;
}

/* --- addresses in an answer --- */

static void plain_flow_replace(struct buf *text, const char *from, const char *to)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	size_t n = strlen(from);
	const char *p = buf_cstr(text), *end = p + text->len, *at;
	if (!n || !text->len)
		return;
	while ((at = memmem(p, (size_t)(end - p), from, n))) {
		buf_append(&out, p, (size_t)(at - p));
		buf_puts(&out, to);
		p = at + n;
	}
	buf_append(&out, p, (size_t)(end - p));
	struct buf was = *text;
	*text = out;
	out = was;
}

/* Rewrites other routes' addresses in the answer to our own. */
static void plain_flow_rewrite(struct flow *f)
{
	const json_t *spec = f->proxy->spec, *r;
	size_t i;
	json_array_foreach(json_object_get(spec, "routes"), i, r)
	{
		const char *url = json_str(r, "url", "");
		CLEANUP(free_ptr)
		char *to =
			mem_printf("http://127.0.0.1:%lld/%s", (long long)json_int(spec, "port", 0),
				   json_str(r, "name", ""));
		plain_flow_replace(&f->whole, url, to);
	}
}

/* --- the answer --- */

static void plain_flow_on_head(void *self, const struct http_head *head)
{
	struct flow *f = self;
	const char *type = flow_content_type(f, head);
	f->status = head->status;
	f->refused = head->status == 401 && f->token; /* none of it reaches the sandbox */
	if (f->refused)
		return;
	f->rewrite = json_flag(f->route, "rewrite", false) &&
		     !http_header(head, "content-encoding") && type &&
		     (strstr(type, "json") || strstr(type, "html"));
	if (f->rewrite)
		f->type = mem_strdup(type);
	else
		flow_begin(f, head);
}

static void plain_flow_on_data(void *self, const void *bytes, size_t len)
{
	struct flow *f = self;
	if (f->refused)
		return;
	if (!f->rewrite)
		flow_write(f, bytes, len);
	else if (f->whole.len + len <= REWRITE_MAX)
		buf_append(&f->whole, bytes, len);
}

static void on_known(struct flow *f, const char *why);

static void plain_flow_on_end(void *self, const struct http_end *end)
{
	struct flow *f = self;
	json_t *body = json_object();
	f->call = NULL;
	if (!end->status) {
		json_decref(body);
		flow_fail(f, 502, end->text);
		return;
	}
	if (f->refused) {
		json_decref(body);
		if (!flow_login_refused(f, on_known))
			flow_fail(f, 529,
				  "the login on the host expired; log in again on the host");
		return;
	}
	json_put_int(body, "status", end->status);
	json_put_int(body, "up_bytes", (int64_t)f->body.len);
	json_put_int(body, "down_bytes", (int64_t)end->bytes);
	json_put_str(body, "how", end->how == HTTP_OK ? "closed" : end->text);
	if (f->coded)
		json_put_str(body, "how", "refused: compressed although it was asked for plain");
	if (f->rewrite && f->visit) {
		struct http_visit *v = take(&f->visit);
		plain_flow_rewrite(f);
		CLEANUP(buf_release) struct buf clean = BUF_INIT;
		if (f->sent && secrets_clean(f->sent, buf_cstr(&f->whole), f->whole.len, &clean)) {
			buf_reset(&f->whole);
			buf_append(&f->whole, clean.data, clean.len);
		}
		http_visit_set_tag(v, NULL);
		http_reply(v, f->status, f->type, NULL, buf_cstr(&f->whole), f->whole.len);
	}
	flow_end(f, end->how == HTTP_OK);
	flow_end_action(f, END_OK, body);
	flow_free(f);
}

/* --- the request --- */

static void on_known(struct flow *f, const char *why)
{
	struct super *s = plain_flow_super_of(f);
	struct http_handler on = { .head = plain_flow_on_head,
				   .data = plain_flow_on_data,
				   .end = plain_flow_on_end,
				   .self = f };
	if (why) {
		flow_fail(f, json_str(f->route, "login", NULL) ? 529 : 502, why);
		return;
	}
	f->refused = false;
	strv_push(&f->headers, "accept-encoding: identity");
	struct http_request r = {
		.method = f->method,
		.url = f->url,
		.headers = (const char *const *)f->headers.item,
		.body = f->body.len || !strcmp(f->method, "POST") || !strcmp(f->method, "PUT")
				? buf_cstr(&f->body)
				: NULL,
		.body_len = f->body.len,
	};
	f->call = tape_send(models_wire(s->models), f->path, &r, &on);
	flow_drop_headers(f);
}

static void plain_flow_start(void *self, struct action *a)
{
	struct flow *f = self;
	if (f->zombie) {
		action_ended(a, END_CANCELLED, NULL);
		return;
	}
	f->running = a;
	flow_credentials(f, on_known);
}

static void plain_flow_cancel(void *self, struct action *a, const char *how)
{
	struct flow *f = self;
	if (f->zombie || f->running != a) {
		action_ended(a, END_CANCELLED, NULL);
		return;
	}
	flow_refuse(f, 403, "stopped by a user");
	flow_end_action(f, !strcmp(how, "kill") ? END_KILLED : END_CANCELLED, NULL);
	flow_free(f);
}

static void plain_flow_done(void *self, const struct action_result *res)
{
	struct flow *f = self;
	bool handled = f->handled;
	if (flow_action_over(f) || handled)
		return;
	CLEANUP(free_ptr)
	char *why = mem_printf("%s%s%s%s%s", action_end_name(res->end),
			       res->rule ? " by rule " : "", res->rule ? res->rule : "",
			       res->why ? ": " : "", res->why ? res->why : "");
	flow_refuse(f, 403, why);
	flow_free(f);
}

/* --- what it is --- */

static bool plain_flow_glob_match(const char *pattern, const char *text)
{
	const char *star = strchr(pattern, '*');
	if (!star)
		return !strcmp(pattern, text);
	return !strncmp(pattern, text, (size_t)(star - pattern)) &&
	       (!star[1] || (strlen(text) >= strlen(star + 1) &&
			     !strcmp(text + strlen(text) - strlen(star + 1), star + 1)));
}

bool plain_allowed(const struct flow *f)
{
	const json_t *list = json_object_get(f->route, "allow"), *e;
	size_t i;
	CLEANUP(free_ptr)
	char *line = mem_printf("%s %s", f->method, f->path), *any = mem_printf("%s *", f->method);
	if (!strcmp(json_str(f->route, "kind", ""), "git"))
		return true; /* push_request says which paths there are */
	if (!json_is_array(list))
		return !strcmp(f->method, "GET") || !strcmp(f->method, "HEAD");
	json_array_foreach(list, i, e) if (json_is_string(e) &&
					   (plain_flow_glob_match(json_string_value(e), line) ||
					    !strcmp(json_string_value(e), any))) return true;
	return false;
}

static void plain_flow_submit(struct flow *f, struct action_spec *spec, const struct url *u)
{
	const struct action_client client = { .done = plain_flow_done, .self = f };
	struct super *s = plain_flow_super_of(f);
	f->effector = (struct effector){
		.name = "proxy", .start = plain_flow_start, .cancel = plain_flow_cancel, .self = f
	};
	spec->cause = f->proxy->agent ? f->proxy->agent : f->proxy->all->box;
	spec->agent = f->proxy->agent;
	spec->box = f->proxy->all->box;
	spec->host = u->host;
	spec->port = u->port;
	spec->leaves_box = true;
	spec->parallel = true;
	f->action = gate_submit(s->gate, spec, &f->effector, &client);
}

static void submit_push(struct flow *f, const struct url *u)
{
	const struct push *p = &f->push;
	struct action_spec spec = { .kind = ACT_HOST, .tool = "git push" };
	CLEANUP(json_release) json_t *args = json_object();
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	const char *repo_end = strstr(f->path, "/git-receive-pack");
	CLEANUP(free_ptr)
	char *url = mem_printf("%s%.*s", json_str(f->route, "url", ""),
			       (int)(repo_end ? repo_end - f->path : 0), f->path);
	json_t *refs = json_array();
	strv_push(&spec.argv, "git");
	strv_push(&spec.argv, "push");
	strv_push(&spec.argv, url);
	for (size_t i = 0; i < p->nr; i++) {
		json_t *r = json_object();
		json_put_bytes(r, "ref", p->ref[i].name, strlen(p->ref[i].name));
		json_put_str(r, "old", p->ref[i].old);
		json_put_str(r, "new", p->ref[i].new);
		json_array_append_new(refs, r);
		buf_reset(&line);
		buf_printf(&line, "%.12s..%.12s:%s", p->ref[i].old, p->ref[i].new, p->ref[i].name);
		strv_push(&spec.argv, buf_cstr(&line));
	}
	json_put(args, "refs", refs);
	json_put_str(args, "url", url);
	json_put_int(args, "bytes", (int64_t)f->body.len);
	spec.args = args;
	plain_flow_submit(f, &spec, u);
	strv_release(&spec.argv);
}

static void submit_request(struct flow *f, const struct url *u)
{
	CLEANUP(json_release) json_t *args = json_object();
	json_put_str(args, "method", f->method);
	json_put_str(args, "path", f->path);
	json_put_str(args, "route", route_name(f));
	struct action_spec spec = { .kind = ACT_CONNECT, .tool = "proxy", .args = args };
	plain_flow_submit(f, &spec, u);
}

void plain_begin(struct flow *f)
{
	struct url u;
	struct err err = ERR_INIT;
	bool git = !strcmp(json_str(f->route, "kind", ""), "git");
	const char *why = NULL;
	f->plain = true;
	f->url = mem_printf("%s%s%s", json_str(f->route, "url", ""), f->path, f->query);
	if (!plain_allowed(f))
		why = "this route does not allow that";
	else if (git)
		why = push_request(&f->push, f->method, f->path, f->query, f->body.data,
				   f->body.len);
	if (!why && url_parse(&u, NULL, f->url, &err) < 0)
		why = "not an address";
	if (why) {
		proxy_incident(f->proxy, f->method, f->path, why);
		flow_refuse(f, 403, why);
		flow_free(f);
		return;
	}
	if (f->push.nr)
		submit_push(f, &u);
	else
		submit_request(f, &u);
	url_release(&u);
}

void plain_drop(struct flow *f)
{
	tape_cancel(&f->call);
	flow_forget(f);
	if (f->running) {
		flow_end_action(f, END_CANCELLED, NULL);
	} else if (f->action && !f->handled) {
		f->handled = true;
		gate_cancel(plain_flow_super_of(f)->gate, f->action, "cancel",
			    "the request was abandoned");
	}
	flow_free(f);
}

void plain_gone(struct flow *f)
{
	plain_drop(f);
}
