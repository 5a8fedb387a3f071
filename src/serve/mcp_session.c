#include "serve/mcp_session.h"

#include <stdlib.h>
#include <string.h>

#include "sessions/spawn.h"
#include "base/mem.h"
#include "control/client.h"

enum { BODY_MAX = 3 << 20 }; /* what fits into a frame of the control socket, quoted */

struct open_call {
	uint64_t call, ticket; /* ours; the control client's */
};

struct mcp_session {
	struct loop *loop;
	const struct mcp_session_ops *ops;
	void *self;
	json_t *opts, *state;
	struct spawned sp;
	struct control_client *client;
	struct open_call *open;
	size_t nr_open, cap_open, under_way;
	uint64_t next;
	bool begun, going; /* the caller has freed it */
};

struct mcp_session *mcp_session_new(struct loop *l, json_t *opts, const struct mcp_session_ops *ops,
				    void *self)
{
	struct mcp_session *s = NEW(struct mcp_session);
	*s = (struct mcp_session){ .loop = l, .opts = opts, .ops = ops, .self = self };
	return s;
}

static void mcp_session_forget(struct mcp_session *s)
{
	control_client_free(&s->client);
	s->under_way = 0;
	spawned_release(&s->sp);
	json_decref(s->state);
	s->state = NULL;
}

static uint64_t mcp_session_send_json(struct mcp_session *s, json_t *j)
{
	json_t *words = json_array();
	CLEANUP(free_ptr) char *text = json_dump_str(j);
	json_decref(j);
	json_array_append_new(words, json_string("mcp_call"));
	json_array_append_new(words, json_string(text));
	s->under_way++;
	return control_client_send(s->client, words, NULL);
}

void mcp_session_free(struct mcp_session **sp)
{
	struct mcp_session *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	s->going = true;
	if (s->client) {
		json_t *j = json_object();
		json_put_flag(j, "end", true);
		mcp_session_send_json(s, j);
		control_client_pump(s->client);
	}
	mcp_session_forget(s);
	json_decref(s->opts);
	free(s->open);
	free(s);
}

static void mcp_session_on_reply(void *self, uint64_t ticket, const json_t *result,
				 const struct err *err)
{
	struct mcp_session *s = self;
	s->under_way--;
	for (size_t i = 0; i < s->nr_open; i++)
		if (s->open[i].ticket == ticket) {
			uint64_t call = s->open[i].call;
			s->open[i] = s->open[--s->nr_open];
			s->ops->answer(s->self, call, result, err);
			return;
		}
}

static void mcp_session_on_state(void *self, const json_t *state)
{
	struct mcp_session *s = self;
	json_decref(s->state);
	s->state = json_incref((json_t *)(uintptr_t)state);
	s->ops->state(s->self);
}

static void drop_client(void *self)
{
	struct mcp_session *s = self;
	if (s->client && !control_client_alive(s->client))
		mcp_session_forget(s);
}

static void mcp_session_on_closed(void *self, const struct err *err)
{
	struct mcp_session *s = self;
	struct err why = ERR_INIT;
	if (s->going)
		return;
	err_set(&why, ERR_CLOSED, "session %s has ended (%s); its sandboxes are closed", s->sp.id,
		err ? err->text : "closed");
	while (s->nr_open) {
		uint64_t call = s->open[--s->nr_open].call;
		s->ops->answer(s->self, call, NULL, &why);
	}
	if (s->ops->closed)
		s->ops->closed(s->self, &why);
	loop_defer(s->loop, drop_client, s);
}

static int mcp_session_begin(struct mcp_session *s, struct err *err)
{
	static const struct control_client_ops ops = { .reply = mcp_session_on_reply,
						       .state = mcp_session_on_state,
						       .closed = mcp_session_on_closed };
	const struct control_client_opts o = { .name = json_str(s->opts, "served_as", "mcp serve"),
					       .tty = "" };
	if (s->client && control_client_alive(s->client))
		return 0;
	if (s->begun && s->ops->closed)
		return err_set(err, ERR_CLOSED, "the session has ended");
	mcp_session_forget(s);
	if (spawn_supervisor(s->opts, &s->sp, err) != 0)
		return -1;
	s->begun = true;
	if (control_client_open(&s->client, s->sp.socket, &o, &ops, s, err) < 0) {
		mcp_session_forget(s);
		return -1;
	}
	control_client_watch(s->client, s->loop);
	return 0;
}

uint64_t mcp_session_call(struct mcp_session *s, const char *tool, json_t *args, const char *client,
			  struct err *err)
{
	if (mcp_session_begin(s, err) < 0)
		return 0;
	json_t *j = json_object();
	json_put_int(j, "id", (int64_t)++s->next);
	json_put_str(j, "tool", tool);
	json_put(j, "args", args ? json_incref(args) : json_object());
	json_put_str(j, "client", client);
	CLEANUP(free_ptr) char *text = json_dump_str(j);
	if (strlen(text) > BODY_MAX) {
		json_decref(j);
		err_set(err, ERR_FULL, "arguments longer than %d bytes; write the file in parts",
			BODY_MAX);
		return 0;
	}
	GROW(s->open, s->nr_open, s->cap_open);
	s->open[s->nr_open++] =
		(struct open_call){ .call = s->next, .ticket = mcp_session_send_json(s, j) };
	return s->next;
}

void mcp_session_cancel(struct mcp_session *s, uint64_t call)
{
	for (size_t i = 0; i < s->nr_open; i++)
		if (s->open[i].call == call) {
			s->open[i] = s->open[--s->nr_open];
			break;
		}
	mcp_session_break(s, call);
}

void mcp_session_break(struct mcp_session *s, uint64_t call)
{
	if (!s->client || !control_client_alive(s->client))
		return;
	json_t *j = json_object();
	json_put_int(j, "cancel", (int64_t)call);
	mcp_session_send_json(s, j);
}

size_t mcp_session_under_way(const struct mcp_session *s)
{
	return s->under_way;
}

void mcp_session_leave(struct mcp_session *s, const char *client)
{
	if (!s->client || !control_client_alive(s->client))
		return;
	json_t *j = json_object();
	json_put_str(j, "leave", client);
	mcp_session_send_json(s, j);
}

bool mcp_session_held(const struct mcp_session *s, const char *tool, struct buf *out)
{
	size_t i;
	const json_t *row;
	json_array_foreach(json_object_get(s->state, "held"), i,
			   row) if (!strcmp(json_str(row, "tool", ""), tool))
	{
		buf_printf(out, "pending approval: #%lld %.120s; decide with 'sandglass attach %s'",
			   (long long)json_int(row, "action", 0),
			   json_str(row, "cmd", json_str(row, "path", "")), s->sp.id);
		return true;
	}
	return false;
}

const char *mcp_session_id(const struct mcp_session *s)
{
	return s->sp.id;
}
