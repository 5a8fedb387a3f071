/* The credentials of a request that goes through a proxy (a part of proxy.c): the vault or a login
 * gives their values, which the sandbox never sees. */
#include "inside/inside_priv.h"
#include "inside/login_flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "record/record_event.h"
#include "supervisor/core/notify_command.h"
#include "secrets/vault.h"

struct creds {
	struct flow *flow;
	void (*done)(struct flow *f, const char *why);
	size_t left;
	char *why;
};

void flow_forget(struct flow *f)
{
	struct creds *c = take(&f->creds);
	if (!c)
		return;
	vault_forget(f->proxy->all->s->vault, c);
	free(c->why);
	free(c);
}

static void proxy_value_of(struct flow *f, const json_t *parts, struct buf *out)
{
	const struct vault *vault = f->proxy->all->s->vault;
	size_t i, len;
	json_t *part;
	json_array_foreach(parts, i, part)
	{
		const char *name = json_str(part, "key", NULL),
			   *value = name ? vault_value(vault, name, &len) : NULL;
		if (value) {
			buf_append(out, value, len);
			flow_hides(f, name, value, len);
		} else if (json_is_string(part))
			buf_puts(out, json_string_value(part));
	}
}

static void proxy_basic(struct flow *f, const json_t *b, struct buf *out)
{
	CLEANUP(buf_release) struct buf pair = BUF_INIT;
	size_t len = 0;
	const char *value = vault_value(f->proxy->all->s->vault, json_str(b, "key", ""), &len);
	buf_printf(&pair, "%s:", json_str(b, "user", "x-access-token"));
	buf_append(&pair, value ? value : "", value ? len : 0);
	if (value) {
		flow_hides(f, json_str(b, "key", ""), value, len);
		flow_hides(f, json_str(b, "key", ""), pair.data, pair.len);
	}
	buf_puts(out, "authorization: Basic ");
	base64_append(out, pair.data, pair.len);
	explicit_bzero(pair.data, pair.len);
}

/* All that was asked for is known: the lines are written. */
static void all_known(struct flow *f)
{
	const char *name;
	json_t *parts;
	json_object_foreach(json_object_get(f->route, "headers"), name, parts)
	{
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		buf_printf(&line, "%s: ", name);
		proxy_value_of(f, parts, &line);
		strv_push(&f->headers, buf_cstr(&line));
	}
	const json_t *b = json_object_get(f->route, "basic");
	if (b) {
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		proxy_basic(f, b, &line);
		strv_push(&f->headers, buf_cstr(&line));
	}
}

static void on_secret(void *self, const char *value, size_t len, const struct err *err)
{
	struct creds *c = self;
	struct flow *f = c->flow;
	(void)len;
	if (!value && !c->why)
		c->why = mem_strdup(err->text);
	if (--c->left)
		return;
	void (*done)(struct flow *, const char *) = c->done;
	CLEANUP(free_ptr) char *why = take(&c->why);
	flow_forget(f);
	if (!why)
		all_known(f);
	done(f, why);
}

static void key_names(const json_t *j, struct strv *out)
{
	const char *k = json_str(j, "key", NULL), *name;
	size_t i;
	json_t *v;
	if (k)
		strv_push(out, k);
	json_array_foreach(j, i, v) key_names(v, out);
	if (!k && json_is_object(j))
		json_object_foreach((json_t *)(uintptr_t)j, name, v) key_names(v, out);
}

static void on_login(void *self, const char *token, const char *why)
{
	struct flow *f = self;
	void (*done)(struct flow *, const char *) = f->login_done;
	f->login = NULL;
	if (token) {
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		buf_printf(&line, "authorization: Bearer %s", token);
		strv_push(&f->headers, buf_cstr(&line));
		explicit_bzero(line.data, line.len);
		free(f->token);
		f->token = mem_strdup(token);
		flow_hides(f, json_str(f->route, "login", "login"), token, strlen(token));
		all_known(f);
	} else {
		/* a user has to do something */
		record_ev_agent_state(f->proxy->all->s->record,
				      &(struct event){ .cause = f->action,
						       .agent = f->proxy->agent,
						       .box = f->proxy->all->box },
				      &(struct ev_agent_state){ .state = ev_text_of("login"),
								.why = ev_text_of(why) });
		super_held(f->proxy->all->s, f->proxy->agent, why);
	}
	done(f, why);
}

bool flow_login_refused(struct flow *f, void (*done)(struct flow *f, const char *why))
{
	const char *name = json_str(f->route, "login", NULL);
	if (!name || !f->token || f->again)
		return false;
	f->again = true;
	f->login_done = done;
	f->login = login_ask_new(f->proxy->all->s, name, f->token, on_login, f);
	return true;
}

void flow_credentials(struct flow *f, void (*done)(struct flow *f, const char *why))
{
	const char *login = json_str(f->route, "login", NULL);
	if (login) {
		f->login_done = done;
		f->login = login_ask_new(f->proxy->all->s, login, NULL, on_login, f);
		return;
	}
	struct strv names = STRV_INIT;
	struct super *s = f->proxy->all->s;
	key_names(json_object_get(f->route, "headers"), &names);
	key_names(json_object_get(f->route, "basic"), &names);
	if (!names.nr) {
		all_known(f);
		done(f, NULL);
		return;
	}
	struct creds *c = NEW(struct creds);
	*c = (struct creds){ .flow = f, .done = done, .left = names.nr };
	f->creds = c;
	for (size_t i = 0; i < names.nr; i++)
		vault_get(s->vault, names.item[i], "proxy", f->action, f->proxy->agent, on_secret,
			  c);
	strv_release(&names);
}
