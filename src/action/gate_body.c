#include <stdlib.h>
#include <string.h>

#include "action/gate_priv.h"

static char *gate_body_copy(const char *s)
{
	return s ? mem_strdup(s) : NULL;
}

static void gate_body_drop(const char *s)
{
	free((void *)(uintptr_t)s);
}

void spec_copy(struct action_spec *to, const struct action_spec *from)
{
	struct action_spec s = *from;
	s.argv = s.env = STRV_INIT;
	strv_copy(&s.argv, &from->argv);
	strv_copy(&s.env, &from->env);
	s.tool = gate_body_copy(from->tool);
	s.cmdline = gate_body_copy(from->cmdline);
	s.cwd = gate_body_copy(from->cwd);
	s.path = gate_body_copy(from->path);
	s.host_path = gate_body_copy(from->host_path);
	s.host = gate_body_copy(from->host);
	s.said = gate_body_copy(from->said);
	s.stdin_bytes = from->stdin_bytes ? mem_dup(from->stdin_bytes, from->stdin_len) : NULL;
	s.data = from->data ? mem_dup(from->data, from->data_len) : NULL;
	s.args = json_incref(from->args);
	s.boxes = json_incref(from->boxes);
	*to = s;
}

void action_spec_release(struct action_spec *s)
{
	strv_release(&s->argv);
	strv_release(&s->env);
	gate_body_drop(s->tool);
	gate_body_drop(s->cmdline);
	gate_body_drop(s->cwd);
	gate_body_drop(s->path);
	gate_body_drop(s->host_path);
	gate_body_drop(s->host);
	gate_body_drop(s->said);
	gate_body_drop(s->stdin_bytes);
	gate_body_drop(s->data);
	json_decref(s->args);
	json_decref(s->boxes);
	*s = (struct action_spec){ 0 };
}

/* --- the intent hash -------------------------------------------------------------------------- */

static void gate_body_add(struct hash_ctx *c, const void *bytes, size_t len)
{
	uint8_t head[8];
	put_u64be(head, len);
	hash_add(c, head, sizeof(head));
	if (len)
		hash_add(c, bytes, len);
}

static void gate_body_add_text(struct hash_ctx *c, const char *s)
{
	uint8_t there = s != NULL;
	hash_add(c, &there, 1);
	if (s)
		gate_body_add(c, s, strlen(s));
}

static void add_bytes(struct hash_ctx *c, const void *bytes, size_t len)
{
	struct hash h = { { 0 } };
	if (bytes)
		hash_of(bytes, len, &h);
	gate_body_add(c, h.b, sizeof(h.b));
}

static void add_env(struct hash_ctx *c, const struct strv *env)
{
	uint8_t nr[8];
	put_u64be(nr, env->nr);
	hash_add(c, nr, sizeof(nr));
	for (size_t i = 0; i < env->nr; i++) {
		const char *eq = memchr(env->item[i], '=', env->len[i]);
		size_t name = eq ? (size_t)(eq - env->item[i]) : env->len[i];
		gate_body_add(c, env->item[i], name);
		add_bytes(c, env->item[i] + name, env->len[i] - name);
	}
}

void intent_of(const struct action_spec *s, const char *profile, struct hash *out)
{
	struct hash_ctx c;
	uint8_t nr[8];
	hash_begin(&c);
	gate_body_add_text(&c, "sandglass intent 1");
	gate_body_add_text(&c, action_kind_name(s->kind));
	put_u64be(nr, s->argv.nr);
	hash_add(&c, nr, sizeof(nr));
	for (size_t i = 0; i < s->argv.nr; i++)
		gate_body_add(&c, s->argv.item[i], s->argv.len[i]);
	gate_body_add_text(&c, s->argv.nr ? NULL : s->cmdline);
	gate_body_add_text(&c, s->tool);
	gate_body_add_text(&c, s->cwd);
	add_env(&c, &s->env);
	add_bytes(&c, s->stdin_bytes, s->stdin_len);
	gate_body_add_text(&c, s->path);
	gate_body_add_text(&c, s->host_path);
	gate_body_add_text(&c, s->host);
	put_u64be(nr, s->port);
	hash_add(&c, nr, sizeof(nr));
	add_bytes(&c, s->data, s->data_len);
	char *args = s->args ? json_dump_str(s->args) : NULL;
	gate_body_add_text(&c, args);
	free(args);
	gate_body_add_text(&c, profile);
	hash_end(&c, out);
}

bool hash_is_zero(const struct hash *h)
{
	static const struct hash zero;
	return hash_eq(h, &zero);
}

void put_hash(json_t *o, const char *key, const struct hash *h)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	hex_append(&b, h->b, sizeof(h->b));
	json_put_str(o, key, buf_cstr(&b));
}

/* --- action.requested ------------------------------------------------------------------------- */

enum { DATA_KEPT = 256 << 10 };

static void put_data(json_t *o, const char *bytes_key, const char *size_key, const char *hash_key,
		     const void *bytes, size_t len)
{
	struct hash h;
	if (!bytes)
		return;
	hash_of(bytes, len, &h);
	if (bytes_key)
		json_put_bytes(o, bytes_key, bytes, len < DATA_KEPT ? len : DATA_KEPT);
	json_put_int(o, size_key, (json_int_t)len);
	put_hash(o, hash_key, &h);
}

static json_t *env_names(const struct strv *env)
{
	json_t *a = json_array();
	for (size_t i = 0; i < env->nr; i++) {
		const char *eq = memchr(env->item[i], '=', env->len[i]);
		json_array_append_new(a, json_bytes(env->item[i], eq ? (size_t)(eq - env->item[i])
								     : env->len[i]));
	}
	return a;
}

static json_t *public_args(json_t *args)
{
	json_t *o = json_object(), *value;
	const char *key;
	json_object_foreach(args, key, value) if (key[0] != '_') json_object_set(o, key, value);
	return o;
}

static void gate_body_put_cmd(json_t *o, const struct action_spec *s)
{
	if (s->argv.nr)
		json_put(o, "argv", json_argv(s->argv.item, s->argv.nr));
	if (s->cmdline)
		json_put_bytes(o, "cmd", s->cmdline, strlen(s->cmdline));
}

json_t *requested_body(const struct action *a)
{
	const struct action_spec *s = &a->spec;
	const struct gate_box *box = gate_find_box(a->gate, s->box);
	json_t *o = json_object();
	json_put_str(o, "kind", action_kind_name(s->kind));
	json_put_str(o, "tool", s->tool);
	gate_body_put_cmd(o, s);
	json_put_str(o, "cwd", s->cwd);
	if (s->env.nr)
		json_put(o, "env", env_names(&s->env));
	put_data(o, NULL, "stdin_bytes", "stdin_hash", s->stdin_bytes, s->stdin_len);
	json_put_str(o, "path", s->path);
	json_put_str(o, "host_path", s->host_path);
	json_put_str(o, "host", s->host);
	if (s->port)
		json_put_int(o, "port", s->port);
	put_data(o, "data", "data_bytes", "data_hash", s->data, s->data_len);
	if (json_is_object(s->args))
		json_put(o, "args", public_args(s->args));
	if (s->boxes)
		json_put(o, "boxes", json_incref(s->boxes));
	if (s->timeout_us)
		json_put_int(o, "timeout_us", s->timeout_us);
	if (s->call)
		json_put_int(o, "call", (int64_t)s->call);
	if (s->within)
		json_put_int(o, "within", (int64_t)s->within);
	json_put_flag(o, "may_write", s->may_write);
	if (s->parallel)
		json_put_flag(o, "parallel", true);
	json_put_str(o, "where", action_on_host(s) ? "host" : "box");
	if (s->leaves_box)
		json_put_flag(o, "leaves_box", true);
	if (s->tainted)
		json_put_flag(o, "tainted", true);
	if (s->unpriced)
		json_put_flag(o, "unpriced", true);
	json_put_str(o, "said", s->said);
	json_put_str(o, "profile", box ? box->profile : NULL);
	put_hash(o, "intent", &a->intent);
	return o;
}

json_t *ran_json(const struct action_spec *s)
{
	json_t *o = json_object();
	gate_body_put_cmd(o, s);
	json_put_str(o, "cwd", s->cwd);
	json_put_str(o, "path", s->path);
	json_put_str(o, "host", s->host);
	if (s->data)
		json_put_bytes(o, "data", s->data,
			       s->data_len < DATA_KEPT ? s->data_len : DATA_KEPT);
	if (json_is_object(s->args))
		json_put(o, "args", public_args(s->args));
	return o;
}

/* --- and back --------------------------------------------------------------------------------- */

static void read_bytes(const char **to, const json_t *body, const char *key)
{
	struct buf b = BUF_INIT;
	const json_t *v = json_object_get(body, key);
	if (v && json_get_bytes(v, &b))
		*to = buf_take(&b);
	else
		buf_release(&b);
}

static void read_env(struct action_spec *s, const json_t *body)
{
	struct strv names = STRV_INIT;
	json_get_argv(json_object_get(body, "env"), &names);
	for (size_t i = 0; i < names.nr; i++) {
		CLEANUP(free_ptr) char *assignment = mem_printf("%s=", names.item[i]);
		strv_push(&s->env, assignment);
	}
	strv_release(&names);
}

int action_spec_from_json(struct action_spec *out, const json_t *body, struct err *err)
{
	struct action_spec s = { 0 };
	struct buf data = BUF_INIT;
	const json_t *argv = json_object_get(body, "argv"), *bytes = json_object_get(body, "data");
	if (!action_kind_find(json_str(body, "kind", ""), &s.kind))
		return err_set(err, ERR_PARSE, "an action of kind \"%s\" is not known",
			       json_str(body, "kind", ""));
	if (argv && !json_get_argv(argv, &s.argv)) {
		action_spec_release(&s);
		return err_set(err, ERR_PARSE, "can't read the arguments of an action");
	}
	read_bytes(&s.cmdline, body, "cmd");
	read_bytes(&s.tool, body, "tool");
	read_bytes(&s.cwd, body, "cwd");
	read_bytes(&s.path, body, "path");
	read_bytes(&s.host_path, body, "host_path");
	read_bytes(&s.host, body, "host");
	read_bytes(&s.said, body, "said");
	read_env(&s, body);
	if (bytes && json_get_bytes(bytes, &data)) {
		s.data_len = data.len;
		s.data = buf_take(&data);
	}
	buf_release(&data);
	s.port = (uint16_t)json_int(body, "port", 0);
	s.args = json_incref(json_object_get(body, "args"));
	s.boxes = json_incref(json_object_get(body, "boxes"));
	s.timeout_us = json_int(body, "timeout_us", 0);
	s.may_write = json_flag(body, "may_write", false);
	s.parallel = json_flag(body, "parallel", false);
	s.leaves_box = json_flag(body, "leaves_box", false);
	s.tainted = json_flag(body, "tainted", false);
	s.unpriced = json_flag(body, "unpriced", false);
	s.within = (uint64_t)json_int(body, "within", 0);
	*out = s;
	return 0;
}
