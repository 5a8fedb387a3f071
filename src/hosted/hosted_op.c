/* One request to a plugin: its wishes are carried out and their results are returned to it,
 * until it reports the end. */
#include <stdlib.h>
#include <string.h>

#include "hosted/hosted_plugin_priv.h"
#include "supervisor/core/core.h"
#include "secrets/vault.h"

enum { PENDING_MAX = 512 << 10, EVENT_BYTES = 256 /* what one costs that holds nothing */ };

/* A delayed callback, or one in the next turn; it is freed with its op. */
struct nap {
	struct nap *next;
	struct remote_op *op;
	int64_t id; /* the plugin's own number */
	struct loop_timer *timer;
};

static void hosted_op_ask(struct remote_op *op);

static void nap_free(struct nap *n)
{
	struct nap **p = &n->op->naps;
	while (*p != n)
		p = &(*p)->next;
	*p = n->next;
	loop_timer_free(&n->timer);
	free(n);
}

static void nap_new(struct remote_op *op, loop_fn *fn, int64_t id, uint64_t ms)
{
	struct nap *n = NEW(struct nap);
	*n = (struct nap){ .next = op->naps, .op = op, .id = id };
	n->timer = loop_timer_new(op->lessor->rent->super->loop, fn, n);
	loop_timer_set(n->timer, ms, 0);
	op->naps = n;
}

static void hosted_op_free(struct remote_op *op)
{
	struct rent *r = op->lessor->rent;
	for (struct remote_op **p = &r->ops; *p; p = &(*p)->next)
		if (*p == op) {
			*p = op->next;
			break;
		}
	requests_end(op);
	sockets_end(op);
	while (op->naps)
		nap_free(op->naps);
	plugin_forget(op->lessor->plugin, op);
	vault_forget(r->super->vault, op);
	json_decref(op->args);
	json_decref(op->options);
	json_decref(op->events);
	json_decref(op->value);
	strv_release(&op->keys);
	free(op->fn);
	free(op->login);
	free(op);
}

void op_cancel(struct remote_op **opp)
{
	struct remote_op *op = *opp;
	*opp = NULL;
	if (!op)
		return;
	if (!op->over && op->lessor->face)
		plugin_ask(op->lessor->plugin, "drop", op->id, NULL, NULL, NULL);
	hosted_op_free(op);
}

void ops_end(struct rent *r)
{
	while (r->ops)
		hosted_op_free(r->ops);
}

static void hosted_op_end(struct remote_op *op)
{
	struct remote_heard heard = op->heard;
	void *to = op->to;
	op->over = true;
	CLEANUP(json_release) json_t *value = op->value ? json_incref(op->value) : NULL;
	struct err err = op->err;
	hosted_op_free(op);
	if (heard.done)
		heard.done(to, err.code ? NULL : value, err.code ? &err : NULL);
}

static void hosted_op_fail(struct remote_op *op, enum err_code code, const char *why)
{
	err_set(&op->err, code, "%s", why);
	hosted_op_end(op);
}

static enum err_code hosted_op_code_of(const char *word)
{
	static const struct {
		const char *word;
		enum err_code code;
	} known[] = { { "gone", ERR_CLOSED },	 { "cut", ERR_IO },
		      { "lost", ERR_CANCELLED }, { "unreached", ERR_BUSY },
		      { "quota", ERR_FULL },	 { "denied", ERR_DENIED },
		      { "noent", ERR_NOENT },	 { "unable", ERR_UNSUPPORTED } };
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].word, word))
			return known[i].code;
	return ERR_PARSE;
}

/* --- what the plugin wants --- */

static struct remote_op *hosted_op_of(struct rent *r, uint64_t id)
{
	struct remote_op *op = r->ops;
	while (op && op->id != id)
		op = op->next;
	return op;
}

static void hosted_op_woke(void *self)
{
	struct nap *n = self;
	struct remote_op *op = n->op;
	json_t *ev = json_object();
	json_put_int(ev, "id", n->id);
	json_put_flag(ev, "over", true);
	nap_free(n);
	op_event(op, ev, 0);
}

static void hosted_op_do_one(struct remote_op *op, const json_t *todo)
{
	const char *what = json_str(todo, "do", "");
	if (!strcmp(what, "http")) {
		request_begin(op, todo);
	} else if (!strcmp(what, "socket")) {
		socket_begin(op, todo);
	} else if (!strcmp(what, "send")) {
		socket_send(op, todo);
	} else if (!strcmp(what, "sleep")) {
		nap_new(op, hosted_op_woke, json_int(todo, "id", 0),
			(uint64_t)json_int(todo, "ms", 0));
	} else if (!strcmp(what, "out") && op->heard.out) {
		CLEANUP(buf_release) struct buf bytes = BUF_INIT;
		if (json_get_bytes(json_object_get(todo, "data"), &bytes))
			op->heard.out(op->to, bytes.data, bytes.len);
	} else if (!strcmp(what, "keep") && op->heard.keep) {
		op->heard.keep(op->to, json_object_get(todo, "box"));
	} else if (!strcmp(what, "say") && op->heard.say) {
		op->heard.say(op->to, json_str(todo, "text", ""));
	}
}

static void hosted_op_on_answer(void *self, const json_t *value, const char *why)
{
	struct remote_op *op = self;
	struct rent *r = op->lessor->rent;
	uint64_t id = op->id;
	const json_t *list = json_object_get(value, "todo");
	CLEANUP(json_release) json_t *held = json_incref((json_t *)(uintptr_t)value);
	(void)held; /* @value outlives what those who hear do to its owner */
	op->asking = false;
	if (!value) {
		hosted_op_fail(op, ERR_PARSE, why);
		return;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		hosted_op_do_one(op, json_array_get(list, i));
		if (hosted_op_of(r, id) != op) /* who heard that has had enough */
			return;
	}
	if (!json_flag(value, "over", false)) {
		hosted_op_ask(op);
		return;
	}
	const json_t *wrong = json_object_get(value, "wrong");
	if (json_is_object(wrong)) {
		hosted_op_fail(op, hosted_op_code_of(json_str(wrong, "code", "")),
			       json_str(wrong, "msg", "failed"));
		return;
	}
	op->value = json_incref(json_object_get(value, "value"));
	hosted_op_end(op);
}

/* Tells the plugin what has happened, all at once, when it has answered what was before. */
static void hosted_op_ask(struct remote_op *op)
{
	if (op->asking || op->paused || !json_array_size(op->events))
		return;
	json_t *args = json_object();
	bool slow = op_slow(op);
	json_put(args, "events", op->events);
	op->events = json_array();
	op->pending = 0;
	op->asking = true;
	plugin_ask(op->lessor->plugin, "resume", op->id, args, hosted_op_on_answer, op);
	if (slow) {
		requests_pause(op, false);
		sockets_pause(op, false);
	}
}

bool op_slow(const struct remote_op *op)
{
	return op->pending > PENDING_MAX;
}

void op_event(struct remote_op *op, json_t *event, size_t bytes)
{
	json_array_append_new(op->events, event);
	op->pending += bytes + EVENT_BYTES;
	if (op_slow(op)) {
		requests_pause(op, true);
		sockets_pause(op, true);
	}
	hosted_op_ask(op);
}

void op_pause(struct remote_op *op, bool paused)
{
	op->paused = paused;
	if (!paused)
		hosted_op_ask(op);
}

/* --- the beginning: who it is, then the keys, then the question --- */

/* Names of `env` that end in url are not credentials: their values are visible. */
static bool is_address(const char *name)
{
	size_t len = strlen(name);
	return len >= 3 && !strcmp(name + len - 3, "url");
}

static json_t *hosted_op_addresses(const struct lessor *l)
{
	json_t *o = json_object(), *variable;
	const char *name;
	json_object_foreach(json_object_get(l->face, "env"), name, variable)
	{
		const char *value = json_is_string(variable) && is_address(name)
					    ? getenv(json_string_value(variable))
					    : NULL;
		if (value && *value)
			json_put_str(o, name, value);
	}
	return o;
}

/* @login: taken, NULL none */
static void put_question(struct remote_op *op, json_t *login)
{
	json_t *args = json_object();
	json_put(args, "urls", hosted_op_addresses(op->lessor));
	json_put_flag(args, "keyless", op->lessor->keyless || login);
	json_put(args, "login", login);
	json_put_str(args, "fn", op->fn);
	json_put(args, "args", take(&op->args));
	json_put(args, "options", take(&op->options));
	op->asking = true;
	plugin_ask(op->lessor->plugin, "begin", op->id, args, hosted_op_on_answer, op);
}

void op_logged(struct remote_op *op, json_t *told, const struct err *why)
{
	if (told)
		put_question(op, told);
	else
		hosted_op_fail(op, why->code, why->text);
}

static void hosted_op_on_key(void *self, const char *value, size_t len, const struct err *err);

/* One after the other, so that the one that is missing is named. */
static void ask_key(struct remote_op *op)
{
	struct super *s = op->lessor->rent->super;
	vault_get(s->vault, op->keys.item[op->keys.nr - op->keys_left], op->lessor->name,
		  op->box ? op->box : s->start_seq, 0, hosted_op_on_key, op);
}

/* A client on the host may use a server that adds its own key (kubectl proxy). */
static bool needs_none(const struct lessor *l, const char *name)
{
	return !strcmp(json_str(l->face, "keyless", ""), "loopback") &&
	       !strncmp(l->url, "http://127.0.0.1:", 17) && !getenv(name);
}

static void hosted_op_on_key(void *self, const char *value, size_t len, const struct err *err)
{
	struct remote_op *op = self;
	const char *name = op->keys.item[op->keys.nr - op->keys_left];
	(void)value;
	if ((err || !len) && needs_none(op->lessor, name)) {
		op->lessor->keyless = true;
	} else if ((err || !len) && login_wanted(op, true)) {
		login_ask(op);
		return;
	} else if (err || !len) {
		const char *hint = json_str(op->lessor->face, "hint", NULL);
		bool more = err && err->code != ERR_NOENT; /* a missing value is reported already */
		CLEANUP(free_ptr)
		char *why =
			mem_printf("%s needs its key: set %s, or 'sandglass secret set %s'%s%s%s%s",
				   op->lessor->name, name, name, hint ? "; " : "", hint ? hint : "",
				   more ? ": " : "", more ? err->text : "");
		hosted_op_fail(op, ERR_DENIED, why);
		return;
	}
	if (--op->keys_left) {
		ask_key(op);
		return;
	}
	op->lessor->has_keys = true; /* the vault keeps them for the session */
	put_question(op, NULL);
}

static void url_of(struct lessor *l, const json_t *options)
{
	const char *variable = json_str(json_object_get(l->face, "env"), "url", NULL);
	const char *url = variable ? getenv(variable) : NULL;
	if (!url || !*url)
		url = json_str(options, "url", json_str(l->face, "url", ""));
	size_t len = strlen(url);
	while (len && url[len - 1] == '/')
		len--;
	free(l->url);
	l->url = mem_strndup(url, len);
}

/* These are lists of texts; the name of one that is not. */
static const char *bad_list(const json_t *face)
{
	static const char *const names[] = { "auth", "hide", "hosts" };
	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		const json_t *list = json_object_get(face, names[k]);
		bool good = !list || json_is_array(list) ||
			    (json_is_object(list) && !json_object_size(list));
		for (size_t i = 0; i < json_array_size(list); i++)
			good = good && json_is_string(json_array_get(list, i));
		if (!good)
			return names[k];
	}
	return NULL;
}

/* The first of what every plugin has that this one lacks; NULL: none. */
static const char *hosted_op_lacks(const json_t *face)
{
	static const char *const names[] = { "open", "exec", "close" };
	if (!json_is_string(json_object_get(face, "name")))
		return "name";
	for (size_t k = 0; k < ARRAY_LEN(names); k++)
		if (!face_has(face, names[k]))
			return names[k];
	return NULL;
}

static void hosted_op_on_face(void *self, const json_t *face, const char *why)
{
	struct remote_op *op = self;
	struct lessor *l = op->lessor;
	if (!face || strcmp(json_str(face, "kind", ""), "sandbox") != 0) {
		CLEANUP(free_ptr)
		char *text = face ? mem_printf("the plugin '%s' is of kind '%s', not 'sandbox'",
					       l->name, json_str(face, "kind", "?"))
				  : mem_strdup(why);
		hosted_op_fail(op, ERR_PARSE, text);
		return;
	}
	const char *bad = bad_list(face);
	if (bad) {
		CLEANUP(free_ptr)
		char *text =
			mem_printf("the plugin '%s': '%s' is to be a list of texts", l->name, bad);
		hosted_op_fail(op, ERR_PARSE, text);
		return;
	}
	const char *lacking = hosted_op_lacks(face);
	if (lacking) {
		CLEANUP(free_ptr)
		char *text = mem_printf("the plugin '%s' has no %s'%s'", l->name,
					strcmp(lacking, "name") ? "function " : "", lacking);
		hosted_op_fail(op, ERR_PARSE, text);
		return;
	}
	bool first = !l->face;
	l->face = face;
	if (first)
		url_of(l, op->options);
	const char *name;
	json_t *variable;
	json_object_foreach(json_object_get(face, "env"), name,
			    variable) if (!is_address(name) && json_is_string(variable))
		strv_push(&op->keys, json_string_value(variable));
	op->keys_left = l->has_keys ? 0 : op->keys.nr;
	if (login_wanted(op, false))
		login_ask(op);
	else if (!op->keys_left)
		put_question(op, NULL);
	else
		ask_key(op);
}

static void hosted_op_begin(void *self)
{
	struct nap *n = self;
	struct remote_op *op = n->op;
	nap_free(n);
	plugin_face(op->lessor->plugin, hosted_op_on_face, op);
}

struct remote_op *op_begin(void *self, const char *fn, json_t *args, const json_t *options,
			   uint64_t box, const struct remote_heard *heard, void *to)
{
	struct lessor *l = self;
	struct remote_op *op = NEW(struct remote_op);
	*op = (struct remote_op){ .next = l->rent->ops,
				  .lessor = l,
				  .id = ++l->rent->last,
				  .box = box,
				  .fn = mem_strdup(fn),
				  .args = args,
				  .options = options ? json_deep_copy(options) : json_object(),
				  .heard = *heard,
				  .to = to,
				  .events = json_array() };
	l->rent->ops = op;
	nap_new(op, hosted_op_begin, 0, 0);
	return op;
}
