/* Inside of hosted_plugin.h: providers in hosted_plugin.c, ops in hosted_op.c, requests in
 * hosted_request.c, WebSockets in hosted_socket.c, ways in to ports in hosted_reach.c, kubeconfigs
 * in hosted_login.c. */
#ifndef HOSTED_HOSTED_PLUGIN_PRIV_H
#define HOSTED_HOSTED_PLUGIN_PRIV_H

#include "luahost/plugin.h"
#include "hosted/hosted_plugin.h"
#include "base/mem.h"
#include "http/client.h"
#include "sandbox/hosted/hosted.h"

struct lessor {
	struct lessor *next;
	struct rent *rent;
	char *name; /* as it was asked for: "daytona", "./mine.lua" */
	const struct driver *driver;
	struct plugin *plugin;
	const json_t *face;	/* borrowed of the plugin; NULL not yet known */
	char *url;		/* without a slash at its end */
	bool has_keys, keyless; /* keyless: it has none, and needs none where it goes */
	struct strv hidden;	/* credentials that answers held */
	struct login *logins;
	unsigned nr_logins; /* ever */
};

struct reach;
struct rent {
	struct super *super;
	struct http *http;
	struct lessor *first;
	struct remote_op *ops;
	struct reach *reaches;
	uint64_t last;
};

struct request;
struct socket;
struct nap;
struct remote_op {
	struct remote_op *next;
	struct lessor *lessor;
	uint64_t id, box;
	char *fn;
	json_t *args, *options;
	struct remote_heard heard;
	void *to;
	struct request *requests;
	struct socket *sockets;
	struct nap *naps;
	json_t *events; /* for the plugin */
	size_t pending; /* bytes of them, and what each costs besides */
	bool asking, paused, over;
	json_t *value;
	struct err err;
	struct strv keys; /* names that it waits for */
	size_t keys_left;
	char *login; /* the address that it asks instead of the lessor's, without a key; NULL */
	bool awaits_login;
};

/* --- hosted_op.c --- */
bool face_has(const json_t *face, const char *fn); /* hosted_plugin.c: a function of the plugin */
struct remote_op *op_begin(void *self, const char *fn, json_t *args, const json_t *options,
			   uint64_t box, const struct remote_heard *heard, void *to);
void op_pause(struct remote_op *op, bool paused);
void op_cancel(struct remote_op **op);
void ops_end(struct rent *r); /* all of them; neither their owners nor the plugin hear of it */
void op_event(struct remote_op *op, json_t *event, size_t bytes); /* takes */
bool op_slow(const struct remote_op *op); /* requests of it hand on nothing for now */

/* --- hosted_request.c --- */
void request_begin(struct remote_op *op, const json_t *todo);
void requests_end(struct remote_op *op);
void requests_pause(struct remote_op *op, bool paused);
/* box.call */
struct call_note {
	const char *fn, *method, *url, *why;
	int status;
	int64_t bytes, took_us;
	unsigned tries;
};
void hosted_plugin_note(struct lessor *l, uint64_t box, const struct call_note *n);
char *op_url(const struct remote_op *op, const json_t *todo); /* returns owned */
/* Those of the plugin and of @todo, filled in; false: one names a credential that is not there. */
bool op_headers(const struct remote_op *op, const json_t *todo, struct strv *out);
void headers_release(struct strv *headers); /* wiped */

/* --- hosted_socket.c --- */
void socket_begin(struct remote_op *op, const json_t *todo);
void socket_send(struct remote_op *op, const json_t *todo); /* or closes */
void sockets_end(struct remote_op *op);
void sockets_pause(struct remote_op *op, bool paused);

/* --- hosted_login.c --- */
/* A plugin with `login = "kubeconfig"` is reached as the user's own kubectl reaches it. Is it
 * wanted for @op: does it name a context, or (@keyless) is there nothing else to go by? */
bool login_wanted(const struct remote_op *op, bool keyless);
/* Calls op_logged once it stands or cannot: now or later. */
void login_ask(struct remote_op *op);
/* that leads to @url; NULL: the network does. Borrowed */
const char *login_socket(const struct lessor *l, const char *url);
void logins_end(struct lessor *l);
/* Of hosted_op.c. @told: what the plugin hears of it, taken; NULL: @why it cannot. */
void op_logged(struct remote_op *op, json_t *told, const struct err *why);

/* --- hosted_reach.c ---. struct remote_port */
int lessor_reach(void *self, const json_t *address, uint64_t box, struct err *err);
void reaches_end(struct rent *r);

/* Names of the credentials in a template "x: {key}" or "{hidden:1}" of @l are filled in; false when
 * one is not there. */
bool lessor_fill(const struct lessor *l, const char *template, struct buf *out);
/* 0: its host is declared */
int lessor_may(const struct lessor *l, const char *url, struct err *err);

#endif
