#include "ops/mcp_inbox.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/core/call.h"
#include "supervisor/core/parts.h"
#include "base/fd.h"

struct wanted { /* a request whose answer is due */
	uint64_t nr, ticket;
	int64_t id; /* the serving process's own number */
};

struct mcp_inbox {
	struct wanted *open;
	size_t nr_open, cap_open;
	uint64_t next;
	json_t *queue;	    /* what mcp.next has not taken yet */
	struct call *waits; /* an mcp.next */
	int pidfd;	    /* of the serving process */
	struct loop_fd *watch;
	bool begun, gone;
};

static struct mcp_inbox *mcp_inbox_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct mcp_inbox), NULL };
	return super_part(s, &part);
}

static struct mcp_inbox *mcp_inbox(struct super *s)
{
	struct mcp_inbox *m = mcp_inbox_of(s);
	if (!m->begun)
		*m = (struct mcp_inbox){ .begun = true, .queue = json_array(), .pidfd = -1 };
	return m;
}

void mcp_inbox_free(struct super *s)
{
	struct mcp_inbox *m = mcp_inbox_of(s);
	if (!m->begun)
		return;
	loop_fd_free(&m->watch);
	fd_close(&m->pidfd);
	json_decref(m->queue);
	free(m->open);
	*m = (struct mcp_inbox){ 0 };
}

/* Gives the next request to the waiting call. */
static void hand_out(struct mcp_inbox *m)
{
	struct call *c = m->waits;
	json_t *v = NULL;
	if (!c)
		return;
	if (json_array_size(m->queue)) {
		v = json_incref(json_array_get(m->queue, 0));
		json_array_remove(m->queue, 0);
	} else if (m->gone) {
		v = json_object();
		json_put_flag(v, "eof", true);
	}
	if (!v)
		return;
	m->waits = NULL;
	call_answer(c, v);
}

static void mcp_inbox_put(struct mcp_inbox *m, json_t *v)
{
	json_array_append_new(m->queue, v);
	hand_out(m);
}

static void mcp_inbox_on_gone(void *self, int fd, unsigned events)
{
	struct mcp_inbox *m = self;
	(void)fd;
	(void)events;
	loop_fd_free(&m->watch);
	fd_close(&m->pidfd);
	m->gone = true;
	hand_out(m);
}

static void watch_client(struct super *s, struct mcp_inbox *m, const json_t *who)
{
	int64_t pid = json_int(who, "pid", 0);
	if (m->pidfd >= 0 || pid <= 0)
		return;
	m->gone = false;
	m->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (m->pidfd >= 0)
		m->watch = loop_fd_new(s->loop, m->pidfd, LOOP_READ, mcp_inbox_on_gone, m);
}

static struct wanted *mcp_inbox_find(struct mcp_inbox *m, uint64_t nr, int64_t id)
{
	for (size_t i = 0; i < m->nr_open; i++)
		if (nr ? m->open[i].nr == nr : m->open[i].id == id)
			return &m->open[i];
	return NULL;
}

int mcp_inbox_command(struct super *s, const struct control_request *rq, const char *text,
		      struct err *err)
{
	struct mcp_inbox *m = mcp_inbox(s);
	CLEANUP(json_release) json_t *j = json_parse(text, strlen(text), "mcp_call", err);
	if (!j)
		return -1;
	if (!json_flag(j, "passing", false))
		watch_client(s, m, rq->who);
	const json_t *cancel = json_object_get(j, "cancel");
	if (json_flag(j, "end", false)) {
		m->gone = true;
		hand_out(m);
		return 0;
	}
	if (cancel) {
		const struct wanted *w = mcp_inbox_find(m, 0, json_integer_value(cancel));
		if (w) {
			json_t *v = json_object();
			json_put_int(v, "cancel", (int64_t)w->nr);
			mcp_inbox_put(m, v);
		}
		return 0;
	}
	if (json_str(j, "leave", NULL)) {
		json_t *v = json_object();
		json_put_str(v, "leave", json_str(j, "leave", ""));
		mcp_inbox_put(m, v);
		return 0;
	}
	if (s->ending || m->gone)
		return err_set(err, ERR_CLOSED, "this session is ending");
	GROW(m->open, m->nr_open, m->cap_open);
	m->open[m->nr_open++] = (struct wanted){ .nr = ++m->next,
						 .ticket = rq->ticket,
						 .id = json_int(j, "id", 0) };
	json_t *v = json_object(), *args = json_object_get(j, "args");
	json_put_int(v, "request", (int64_t)m->next);
	json_put_str(v, "tool", json_str(j, "tool", ""));
	json_put(v, "args", args ? json_incref(args) : json_object());
	json_put_str(v, "client", json_str(j, "client", "mcp client"));
	mcp_inbox_put(m, v);
	return 1;
}

static void mcp_inbox_cancelled(struct call *c)
{
	struct mcp_inbox *m = mcp_inbox(c->super);
	if (m->waits == c)
		m->waits = NULL;
	call_fail(c, "cancelled", NULL, NULL, 0, "cancelled");
}

void op_mcp_next(struct call *c)
{
	struct mcp_inbox *m = mcp_inbox(c->super);
	if (m->waits) {
		call_fail(c, "script", NULL, NULL, 0, "mcp.next: another task is already waiting");
		return;
	}
	if (c->super->resume && m->pidfd < 0)
		m->gone = true; /* its client belongs to an earlier supervisor */
	c->cancel = mcp_inbox_cancelled;
	m->waits = c;
	hand_out(m);
}

void op_mcp_answer(struct call *c)
{
	struct mcp_inbox *m = mcp_inbox(c->super);
	struct wanted *w = mcp_inbox_find(m, (uint64_t)json_int(c->args, "request", 0), 0);
	if (w) {
		json_t *v = json_copy(c->args);
		control_answer(c->super->server, w->ticket, v);
		*w = m->open[--m->nr_open];
	}
	call_answer(c, NULL);
}
