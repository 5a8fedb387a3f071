#include "cli/front/front_act.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct waiting {
	struct waiting *next;
	uint64_t id;
	act_done_fn *done;
	void *self;
};

struct hands {
	struct control_client *c;
	char *socket;
	struct waiting *waiting;
	bool look_only, watch, gone;
	struct err why; /* it has gone */
};

static void front_act_on_reply(void *self, uint64_t id, const json_t *result, const struct err *err)
{
	struct hands *h = self;
	for (struct waiting **p = &h->waiting; *p; p = &(*p)->next) {
		struct waiting *w = *p;
		if (w->id != id)
			continue;
		*p = w->next;
		if (w->done)
			w->done(w->self, result, err);
		free(w);
		return;
	}
}

static void front_act_on_closed(void *self, const struct err *err)
{
	struct hands *h = self;
	h->why = *err;
}

static const struct control_client_ops front_act_ops = { .reply = front_act_on_reply,
							 .closed = front_act_on_closed };

enum { AGAIN_MS = 200 }; /* a screen waits for it */

static int front_act_reach(struct hands *h, struct control_client **out, int timeout_ms,
			   struct err *err)
{
	const struct control_client_opts o = { .watch = h->look_only,
					       .stays = true,
					       .timeout_ms = timeout_ms };
	return control_client_open(out, h->socket, &o, &front_act_ops, h, err);
}

struct hands *hands_new(const char *socket, bool watch, struct err *err)
{
	struct hands *h = NEW(struct hands);
	h->look_only = watch;
	h->socket = mem_strdup(socket);
	if (front_act_reach(h, &h->c, 0, err) < 0) {
		hands_free(&h);
		return NULL;
	}
	h->watch = watch || !strcmp(hands_role(h), "watch");
	return h;
}

bool hands_again(void *self, struct act *act_out, int *fd_out)
{
	struct hands *h = self;
	struct control_client *c;
	struct err err = ERR_INIT;
	if (!h->gone || front_act_reach(h, &c, AGAIN_MS, &err) < 0)
		return false;
	control_client_free(&h->c);
	h->c = c;
	h->gone = false;
	h->watch = h->look_only || !strcmp(hands_role(h), "watch");
	*act_out = hands_act(h);
	*fd_out = hands_fd(h);
	return true;
}

void hands_free(struct hands **hp)
{
	struct hands *h = *hp;
	*hp = NULL;
	if (!h)
		return;
	control_client_free(&h->c);
	while (h->waiting) {
		struct waiting *w = h->waiting;
		h->waiting = w->next;
		free(w);
	}
	free(h->socket);
	free(h);
}

static void front_act_command(void *self, const char *const *words, size_t nr, json_t *opts,
			      act_done_fn *done, void *done_self)
{
	struct hands *h = self;
	struct err err = ERR_INIT;
	if (h->gone) { /* @opts is the caller's */
		err_set(&err, ERR_CLOSED, "the session has ended");
		if (done)
			done(done_self, NULL, &err);
		return;
	}
	json_t *list = json_array();
	for (size_t i = 0; i < nr; i++)
		json_array_append_new(list, json_bytes_z(words[i]));
	struct waiting *w = NEW(struct waiting);
	w->done = done;
	w->self = done_self;
	w->id = control_client_send(h->c, list, json_incref(opts));
	w->next = h->waiting;
	h->waiting = w;
}

struct act hands_act(struct hands *h)
{
	if (h && !h->watch)
		return (struct act){ .command = front_act_command, .self = h };
	bool shared = h && *hands_role(h);
	return (struct act){
		.why_not = !h	    ? NULL
			   : shared ? "read only: this session is shared with you to watch"
				    : "read only: 'watch' changes nothing, 'attach' does"
	};
}

const char *hands_role(const struct hands *h)
{
	return json_str(control_client_welcome(h->c), "role", "");
}

const char *hands_path(const struct hands *h)
{
	return json_str(control_client_welcome(h->c), "path", "");
}

const char *hands_why(const struct hands *h)
{
	return h->why.text;
}

int hands_fd(const struct hands *h)
{
	return h ? control_client_fd(h->c) : -1;
}

bool hands_pump(void *self)
{
	struct hands *h = self;
	if (!h->gone && !control_client_pump(h->c))
		h->gone = true;
	return !h->gone;
}

bool hands_wants_write(void *self)
{
	struct hands *h = self;
	return !h->gone && control_client_wants_write(h->c);
}
