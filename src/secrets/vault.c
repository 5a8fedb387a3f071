#include "secrets/vault.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "secrets/secret_source.h"
#include "base/log.h"
#include "base/mem.h"
#include "record/record_event.h"
#include "record/secrets.h"

struct secret {
	struct secret *next;
	char *name;
	char *value; /* NULL: not read yet, or it could not be */
	size_t len;
	const char *kind;
	bool reading;
};

struct asked {
	struct asked *next;
	struct secret *secret;
	vault_fn *done;
	void *self;
};

struct vault {
	struct loop *loop;
	struct record *record;
	loop_fn *read;
	void *read_self;
	json_t *conf;
	char *const *args;
	struct secret *all;
	struct asked *asked;
	struct flush {
		struct vault *v;
	} * flush; /* a deferred call outlives us with NULL inside */
	bool deferred;
};

/* A source that is read on a worker thread. It outlives the vault if need be. */
struct reading {
	struct vault *v;
	struct reading *next;
	struct secret *secret;
	struct secret_source source;
	struct buf value;
	struct err err;
	uint64_t cause, agent;
};

static struct reading *vault_readings; /* loop thread */

static struct secret *vault_find(const struct vault *v, const char *name)
{
	for (struct secret *s = v->all; s; s = s->next)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

static struct secret *vault_make(struct vault *v, const char *name)
{
	struct secret *s = vault_find(v, name);
	if (s)
		return s;
	s = NEW(struct secret);
	s->name = mem_strdup(name);
	s->next = v->all;
	v->all = s;
	return s;
}

static void vault_keep(struct secret *s, enum secret_kind kind, struct buf *value)
{
	s->kind = secret_kind_name(kind);
	s->len = value->len;
	s->value = buf_take(value);
}

/* --- at the beginning ------------------------------------------------------------------------- */

static void read_early(struct vault *v, struct secrets *hide, const char *name)
{
	struct secret_source source;
	struct err err = ERR_INIT;
	struct buf value = BUF_INIT;
	if (vault_find(v, name) || secret_find(v->conf, name, &source, &err) < 0)
		return;
	if (source.kind != SECRET_COMMAND && secret_read(&source, &value, &err) == 0 &&
	    secrets_add(hide, name, value.data, value.len, &err) == 0)
		vault_keep(vault_make(v, name), source.kind, &value);
	secret_wipe_buf(&value);
	secret_source_release(&source);
}

/* sg.secret "NAME", sg.secret('NAME'): what the text of a script declares, as far as that can be
 * seen without running it. */
static void vault_names_in(const char *text, size_t len, struct strv *out)
{
	static const char word[] = ".secret";
	const char *at = text, *end = text + len;
	while (at && at < end && (at = memmem(at, (size_t)(end - at), word, sizeof(word) - 1))) {
		at += sizeof(word) - 1;
		while (at < end && (isspace((unsigned char)*at) || *at == '('))
			at++;
		if (at == end || (*at != '"' && *at != '\''))
			continue;
		const char *shut = memchr(at + 1, *at, (size_t)(end - at - 1));
		CLEANUP(free_ptr)
		char *name = shut ? mem_strndup(at + 1, (size_t)(shut - at - 1)) : NULL;
		if (name && secret_name_ok(name))
			strv_push(out, name);
	}
}

struct vault *vault_new(const struct vault_start *start)
{
	struct vault *v = NEW(struct vault);
	struct secrets *hide = secrets_new();
	struct strv names = STRV_INIT;
	const char *key;
	json_t *entry;
	v->conf = json_is_object(start->conf) ? json_deep_copy(start->conf) : json_object();
	v->args = start->args;
	v->flush = NEW(struct flush);
	v->flush->v = v;
	json_object_foreach(v->conf, key, entry) strv_push(&names, key);
	secret_store_list(&names);
	secret_ambient(&names);
	if (start->script)
		vault_names_in(start->script, start->script_len, &names);
	for (size_t i = 0; i < names.nr; i++)
		read_early(v, hide, names.item[i]);
	strv_release(&names);
	record_hide(hide);
	secrets_free(&hide);
	return v;
}

void vault_attach(struct vault *v, struct loop *l, struct record *r, loop_fn *read, void *self)
{
	v->loop = l;
	v->record = r;
	v->read = read;
	v->read_self = self;
}

void vault_free(struct vault **vp)
{
	struct vault *v = *vp;
	if (!v)
		return;
	*vp = NULL;
	for (struct reading *r = vault_readings; r; r = r->next)
		if (r->v == v)
			r->v = NULL;
	for (struct secret *s = v->all, *next; s; s = next) {
		next = s->next;
		if (s->value)
			secret_wipe(s->value, s->len);
		free(s->value);
		free(s->name);
		free(s);
	}
	for (struct asked *a = v->asked, *next; a; a = next) {
		next = a->next;
		free(a);
	}
	json_decref(v->conf);
	if (v->deferred)
		v->flush->v = NULL;
	else
		free(v->flush);
	free(v);
}

/* --- asking ----------------------------------------------------------------------------------- */

static void vault_note(struct vault *v, const struct secret *s, const char *what, uint64_t cause,
		       uint64_t agent)
{
	record_ev_secret_used(v->record, &(struct event){ .cause = cause, .agent = agent },
			      &(struct ev_secret_used){ .name = ev_text_of(s->name),
							.source = ev_text_of(s->kind),
							.what = ev_text_of(what) });
}

/* Answers all callers that wait for @s; @err: the cause if it has no value. */
static void vault_tell(struct vault *v, const struct secret *s, const struct err *err)
{
	for (struct asked **p = &v->asked; *p;) {
		struct asked *a = *p;
		if (a->secret != s) {
			p = &a->next;
			continue;
		}
		*p = a->next;
		if (a->done)
			a->done(a->self, s->value, s->len, s->value ? NULL : err);
		free(a);
		p = &v->asked; /* the callback may have asked for more */
	}
}

static void vault_flush(void *self)
{
	struct flush *f = self;
	struct err none = ERR_INIT;
	struct vault *v = f->v;
	if (!v) {
		free(f);
		return;
	}
	v->deferred = false;
	for (struct secret *s = v->all; s; s = s->next)
		if (s->value)
			vault_tell(v, s, &none);
}

/* The first event of the session was written before anybody knew that this is a secret. */
static void look_at_args(struct vault *v, const struct secret *s)
{
	bool there = false;
	for (size_t i = 0; v->args && v->args[i]; i++)
		there |= memmem(v->args[i], strlen(v->args[i]), s->value, s->len) != NULL;
	if (!there)
		return;
	CLEANUP(free_ptr)
	char *text = mem_printf(
		"the arguments of this session contain the value of secret '%s', and its first event "
		"can't be redacted: remove the session ('sandglass prune %s'), and use sg.secret "
		"\"%s\" in the script",
		s->name, record_id(v->record), s->name);
	record_ev_note(v->record, &(struct event){ 0 },
		       &(struct ev_note){ .level = ev_text_of("warn"), .text = ev_text_of(text) });
}

static void vault_read_value(void *self)
{
	struct reading *r = self;
	if (secret_read(&r->source, &r->value, &r->err) < 0)
		err_wrap(&r->err, "secret '%s'", r->secret->name);
}

static void vault_read_done(void *self)
{
	struct reading *r = self;
	struct vault *v = r->v;
	for (struct reading **p = &vault_readings; *p; p = &(*p)->next)
		if (*p == r) {
			*p = r->next;
			break;
		}
	if (v) {
		struct secret *s = r->secret;
		s->reading = false;
		if (r->err.code == ERR_NONE &&
		    record_secret(v->record, s->name, r->value.data, r->value.len, &r->err) == 0) {
			vault_keep(s, r->source.kind, &r->value);
			vault_note(v, s, "read", r->cause, r->agent);
			look_at_args(v, s);
		}
		vault_tell(v, s, &r->err);
		v->read(v->read_self);
	}
	secret_wipe_buf(&r->value);
	secret_source_release(&r->source);
	free(r);
}

/* A command of the user's configuration runs behind a barrier: its event is recorded first. */
static void read_now(void *self)
{
	struct reading *r = self;
	if (r->v)
		loop_job_run(r->v->loop, vault_read_value, vault_read_done, r);
}

static void read_later(struct vault *v, struct secret *s, struct reading *r)
{
	s->reading = true;
	r->next = vault_readings;
	vault_readings = r;
	if (r->err.code != ERR_NONE) {
		loop_defer(v->loop, vault_read_done, r);
		return;
	}
	uint64_t seq = record_ev_secret_wanted(
		v->record, &(struct event){ .cause = r->cause, .agent = r->agent },
		&(struct ev_secret_wanted){ .name = ev_text_of(s->name),
					    .source =
						    ev_text_of(secret_kind_name(r->source.kind)) });
	record_barrier(v->record, seq, read_now, r);
}

static void vault_want(struct vault *v, struct secret *s, uint64_t cause, uint64_t agent)
{
	if (s->value || s->reading)
		return;
	struct reading *r = NEW(struct reading);
	r->v = v;
	r->secret = s;
	r->cause = cause;
	r->agent = agent;
	if (secret_find(v->conf, s->name, &r->source, &r->err) < 0)
		r->source = (struct secret_source){ 0 };
	read_later(v, s, r);
}

void vault_get(struct vault *v, const char *name, const char *what, uint64_t cause, uint64_t agent,
	       vault_fn *done, void *self)
{
	struct secret *s = vault_make(v, name);
	struct asked *a = NEW(struct asked), **end = &v->asked;
	while (*end)
		end = &(*end)->next;
	*a = (struct asked){ .secret = s, .done = done, .self = self };
	*end = a;
	if (s->value)
		vault_note(v, s, what, cause, agent);
	vault_want(v, s, cause, agent);
	if (s->value && !v->deferred) {
		v->deferred = true;
		loop_defer(v->loop, vault_flush, v->flush);
	}
}

void vault_forget(struct vault *v, const void *self)
{
	for (struct asked *a = v ? v->asked : NULL; a; a = a->next)
		if (a->self == self)
			a->done = NULL;
}

const char *vault_value(const struct vault *v, const char *name, size_t *len_out)
{
	const struct secret *s = vault_find(v, name);
	*len_out = s ? s->len : 0;
	return s ? s->value : NULL;
}

void vault_declare(struct vault *v, const char *name, uint64_t agent)
{
	vault_want(v, vault_make(v, name), agent, agent);
}

bool vault_reading(const struct vault *v)
{
	for (const struct reading *r = vault_readings; r; r = r->next)
		if (r->v == v && r->source.kind != SECRET_COMMAND)
			return true;
	return false;
}

void secret_names(const json_t *j, struct strv *out)
{
	const char *key;
	json_t *value;
	size_t i;
	if (json_is_array(j))
		json_array_foreach(j, i, value) secret_names(value, out);
	if (!json_is_object(j))
		return;
	const char *name = json_str(j, "$secret", NULL);
	if (name) {
		strv_push(out, name);
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)j, key, value) secret_names(value, out);
}
