/* The supervisor's side of a Lua host: starts it, sends and records its frames, watches the length
 * of its turns. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "luahost/frame_worker.h"
#include "luahost/luahost.h"
#include "luahost/luahost_priv.h"
#include "luahost/luahost_record.h"
#include "supervisor/core/core.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/fd.h"
#include "base/paths.h"
#include "loop/stream.h"
#include "record/record_event.h"
#include "wire/host.h"

enum { TURN_WARN_MS = 1000, TURN_KILL_MS = 10000, MEM_MAX = 256 << 20 };

static bool is_script(const struct host *h)
{
	return !strcmp(h->mode, "script");
}

static void turn_timer(void *self)
{
	struct host *h = self;
	if (!h->warned) {
		h->warned = true;
		super_warn(h->super, "let long loops wait sometimes, for instance with sg.sleep(0)",
			   "'%s' has run for 1 s without waiting", h->name);
		loop_timer_set(h->turn, TURN_KILL_MS - TURN_WARN_MS, 0);
		return;
	}
	h->late = true;
	if (h->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, h->pidfd, SIGKILL, NULL, 0);
}

/* A host's frame is recorded and sent in the same form: both without secrets. Takes @body; both
 * are owned. */
static json_t *clean_frame(struct record *r, json_t *body, char **text_out)
{
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	char *text = json_dump_str(body);
	struct err err = ERR_INIT;
	if (record_clean_json(r, text, strlen(text), &clean)) {
		json_decref(body);
		body = json_parse(buf_cstr(&clean), clean.len, "frame for the Lua host", &err);
		assert(body);
		free(text);
		text = buf_take(&clean);
	}
	*text_out = text;
	return body;
}

/* Frames that the host has: not those that its worker still converts. */
static uint64_t luahost_sent(const struct host *h)
{
	return h->ordinal - frame_worker_pending(h->worker, true);
}

void luahost_turn_begins(struct host *h)
{
	if (luahost_sent(h) == h->turns + 1) {
		h->warned = false;
		loop_timer_set(h->turn, TURN_WARN_MS, 0);
	}
}

static void host_send(struct host *h, uint16_t type, uint64_t id, json_t *body)
{
	if (h->ended) {
		json_decref(body);
		return;
	}
	json_put_int(body, "t", clock_wall_us());
	h->ordinal++;
	if (luahost_send_by_worker(h, type, id, body))
		return;
	char *text;
	body = clean_frame(h->super->record, body, &text);
	if (is_script(h))
		luahost_record_frame(h->super->record, h->start_seq, h->ordinal, type, id, body);
	failpoint_hit("host.frame-recorded");
	stream_send(h->stream, type, id, text, strlen(text));
	free(text);
	json_decref(body);
	luahost_turn_begins(h);
}

static void luahost_ended(struct host *h, const json_t *end, const struct err *died)
{
	if (h->ended)
		return;
	h->ended = true;
	loop_timer_stop(h->turn);
	struct ev_host_end body = { .mode = ev_text_of(h->mode), .has_code = end != NULL };
	if (end) {
		body.code = json_int(end, "code", 0);
		body.why = ev_text_of(json_str(end, "why", NULL));
		body.traceback = ev_text_of(json_str(end, "trace", NULL));
	} else {
		body.why = ev_text_of(died->text);
	}
	record_ev_host_end(h->super->record, &(struct event){ .cause = h->start_seq }, &body);
	h->ops.on_end(h->self, end, died);
}

static void luahost_on_idle(struct host *h)
{
	h->turns++;
	if (h->turns == h->ordinal) {
		loop_timer_stop(h->turn);
		if (h->ops.on_idle)
			h->ops.on_idle(h->self);
	} else if (h->turns == luahost_sent(h)) {
		loop_timer_stop(h->turn);
	} else {
		h->warned = false;
		loop_timer_set(h->turn, TURN_WARN_MS, 0);
	}
}

static void on_verdict(struct host *h, uint64_t ticket, const json_t *body)
{
	struct err err = ERR_INIT;
	const json_t *e = json_object_get(body, "err");
	if (e)
		err_set(&err, ERR_SCRIPT, "%s", json_str(e, "msg", "error in 'when'"));
	if (h->super->gate)
		gate_judged(h->super->gate, ticket, json_flag(body, "match", false),
			    json_str(body, "why", NULL), e ? &err : NULL);
}

void luahost_take_frame(struct host *h, uint16_t type, uint64_t id, const json_t *body,
			const struct err *why)
{
	struct err err = ERR_INIT;
	if (!body || h->ended) {
		luahost_ended(h, NULL, why);
		return;
	}
	if (h->feed && feed_frame(h, type, id, body))
		return;
	switch (type) {
	case HOST_CALL:
		h->super->host_calls->begin(h, h->super, id, body);
		break;
	case HOST_TELL:
		if (!strcmp(json_str(body, "op", ""), "observe")) {
			json_decref(h->observed);
			h->observed = json_incref(
				json_object_get(json_object_get(body, "args"), "events"));
		} else {
			h->super->host_calls->tell(h->super, body);
		}
		break;
	case HOST_CANCEL:
		h->super->host_calls->cancel(h->super, id);
		break;
	case HOST_IDLE:
		luahost_on_idle(h);
		if (h->feed && h->turns == h->ordinal) {
			feed_caught_up(h);
			if (!h->ended && h->ops.on_idle) /* again: only now its calls have begun */
				h->ops.on_idle(h->self);
		}
		break;
	case HOST_RESULT:
		if (h->ops.on_result)
			h->ops.on_result(h->self, (json_t *)(uintptr_t)body);
		break;
	case HOST_VERDICT:
		on_verdict(h, id, body);
		break;
	case HOST_VALUE:
		if (h->ops.on_value)
			h->ops.on_value(h->self, id, body);
		break;
	case HOST_END:
		luahost_ended(h, body, NULL);
		break;
	default:
		err_set(&err, ERR_PARSE, "the Lua host of '%s' sent a frame of unknown type %u",
			h->name, type);
		luahost_ended(h, NULL, &err);
	}
}

static void luahost_on_frame(void *self, const struct frame *f, int *fds, size_t nr_fds)
{
	struct host *h = self;
	const char *text = f->len ? f->body : "{}";
	size_t len = f->len ? f->len : 2;
	for (size_t i = 0; i < nr_fds; i++)
		fd_close(&fds[i]);
	if (luahost_take_by_worker(h, f->type, f->id, text, len))
		return;
	struct err err = ERR_INIT;
	CLEANUP(json_release)
	json_t *body = json_parse(text, len, "frame of the Lua host", &err);
	luahost_take_frame(h, f->type, f->id, body, &err);
}

void luahost_on_close(void *self, const struct err *err)
{
	struct host *h = self;
	struct err why = ERR_INIT;
	(void)err;
	if (luahost_close_by_worker(h))
		return;
	if (h->late)
		err_set(&why, ERR_TIMEOUT, "'%s' was ended: it ran for %d s without waiting",
			h->name, TURN_KILL_MS / 1000);
	else
		err_set(&why, ERR_CLOSED, "the Lua host of '%s' has died", h->name);
	luahost_ended(h, NULL, &why);
}

static void luahost_on_drain(void *self)
{
	struct host *h = self;
	h->super->host_calls->drained(h->super);
}

static const struct stream_ops luahost_stream_ops = { .on_frame = luahost_on_frame,
						      .on_close = luahost_on_close,
						      .on_drain = luahost_on_drain };

static void luahost_on_started(void *self, int pid, int pidfd)
{
	struct host *h = self;
	h->pid = pid;
	h->pidfd = pidfd;
}

static void child_exited(void *self, int code, int signal)
{
	(void)self; /* the end of its socket tells, after what it still had to say */
	(void)code;
	(void)signal;
}

static void luahost_on_failed(void *self, const struct err *err)
{
	luahost_ended(self, NULL, err);
}

static const struct launcher_host_ops launch_ops = { .on_started = luahost_on_started,
						     .on_exit = child_exited,
						     .on_failed = luahost_on_failed };

static int luahost_spawn(struct host *h, struct err *err)
{
	int sp[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sp) < 0)
		return err_sys(err, "can't create a socket pair");
	CLEANUP(free_ptr) char *path = paths_libexec("sandglass-host");
	char *argv[] = { (char[]){ "sandglass-host" }, NULL }, *env[] = { NULL };
	int fds[HOST_FD + 1] = { -1, -1, -1, sp[1] };
	launcher_spawn_host(h->super->launcher, path, argv, env, fds, ARRAY_LEN(fds), &launch_ops,
			    h);
	close(sp[1]);
	h->stream = stream_new(h->super->loop, sp[0], HOST_BODY_MAX, &luahost_stream_ops, h);
	return 0;
}

static json_t *start_body(struct host *h, const struct host_start *st)
{
	uint8_t seed[16];
	struct buf hex = BUF_INIT;
	json_t *body = json_object();
	random_bytes(seed, sizeof(seed));
	hex_append(&hex, seed, sizeof(seed));
	json_put_str(body, "mode", h->mode);
	json_put_str(body, "script", h->name);
	json_put_bytes(body, "text", st->text, st->len);
	json_put(body, "args", st->args ? json_incref(st->args) : json_array());
	json_put_str(body, "seed", buf_cstr(&hex));
	json_put_int(body, "mem_bytes", MEM_MAX);
	json_put(body, "env", st->env ? json_incref(st->env) : json_object());
	buf_release(&hex);
	return body;
}

/* Everything but the first frame. */
static struct host *host_make(struct super *s, const char *mode, const char *name, const char *dir,
			      const struct host_ops *ops, void *self, struct err *err)
{
	struct host *h = NEW(struct host);
	h->super = s;
	h->ops = *ops;
	h->self = self;
	h->pidfd = -1;
	h->mode = mem_strdup(mode);
	h->name = mem_strdup(name);
	h->dir = dir ? mem_strdup(dir) : NULL;
	h->turn = loop_timer_new(s->loop, turn_timer, h);
	if (luahost_spawn(h, err) < 0)
		luahost_free(&h);
	return h;
}

static void luahost_record_start(struct host *h, const char *text, size_t len)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct hash hash;
	hash_of(text, len, &hash);
	h->start_seq = record_ev_host_start(
		h->super->record, &(struct event){ .cause = h->super->start_seq },
		&(struct ev_host_start){ .mode = ev_text_of(h->mode),
					 .script = ev_text_of(h->name),
					 .text_hash = ev_hex_of(&mem, hash.b, HASH_LEN) });
}

int luahost_new(struct host **out, struct super *s, const struct host_start *st,
		const struct host_ops *ops, void *self, struct err *err)
{
	struct host *h = host_make(s, st->mode, st->name, st->dir, ops, self, err);
	if (!h)
		return -1;
	h->off_loop = st->off_loop;
	luahost_record_start(h, st->text, st->len);
	host_send(h, HOST_START, 0, start_body(h, st));
	*out = h;
	return 0;
}

int luahost_resume(struct host **out, struct super *s, const struct host_resume *r,
		   const struct host_ops *ops, void *self, struct err *err)
{
	struct host *h = host_make(s, "script", r->name, r->dir, ops, self, err);
	if (!h)
		return -1;
	h->start_seq = r->start_seq;
	if (r->text)
		luahost_record_start(h, r->text, r->len);
	if (feed_begin(h, r, err) < 0) {
		luahost_free(&h);
		return -1;
	}
	loop_timer_set(h->turn, TURN_WARN_MS, 0);
	*out = h;
	return 0;
}

void luahost_free(struct host **hp)
{
	struct host *h = *hp;
	*hp = NULL;
	if (!h)
		return;
	launcher_forget(h->super->launcher, h);
	if (h->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, h->pidfd, SIGKILL, NULL, 0);
	fd_close(&h->pidfd);
	stream_free(&h->stream);
	frame_worker_free(&h->worker);
	loop_timer_free(&h->turn);
	json_decref(h->observed);
	feed_free_calls(h);
	free(h->mode);
	free(h->name);
	free(h->dir);
	free(h);
}

void luahost_answer(struct host *h, uint64_t call, json_t *value, json_t *error)
{
	json_t *body = json_object();
	json_put(body, "value", value);
	json_put(body, "err", error);
	host_send(h, HOST_ANSWER, call, body);
}

void luahost_chunk(struct host *h, uint64_t call, const char *stream, const void *bytes, size_t len,
		   uint64_t off)
{
	json_t *body = json_object();
	json_put_str(body, "stream", stream);
	json_put_bytes(body, "data", bytes, len);
	json_put_int(body, "off", (int64_t)off);
	host_send(h, HOST_CHUNK, call, body);
}

void luahost_stop(struct host *h, uint64_t agent, const char *why)
{
	json_t *body = json_object();
	if (agent)
		json_put_int(body, "agent", (int64_t)agent);
	json_put_str(body, "why", why);
	host_send(h, HOST_STOP, 0, body);
}

void luahost_break_off(struct host *h, uint64_t agent, const char *why)
{
	json_t *body = json_object();
	json_put_int(body, "agent", (int64_t)agent);
	json_put_flag(body, "turn", true);
	json_put_str(body, "why", why);
	host_send(h, HOST_STOP, 0, body);
}

void luahost_message(struct host *h, uint64_t agent, const char *text, json_t *who)
{
	json_t *body = json_object();
	json_put_int(body, "agent", (int64_t)agent);
	json_put_str(body, "text", text);
	json_put(body, "who", json_incref(who));
	host_send(h, HOST_MESSAGE, 0, body);
}

void luahost_event(struct host *h, const char *name, json_t *body)
{
	size_t i;
	json_t *want;
	json_array_foreach(h->observed, i, want)
	{
		if (strcmp(json_is_string(want) ? json_string_value(want) : "", name) != 0)
			continue;
		json_t *frame = json_object();
		json_put_str(frame, "event", name);
		json_put(frame, "body", body);
		host_send(h, HOST_EVENT, 0, frame);
		return;
	}
	json_decref(body);
}

void luahost_model_moved(struct host *h, const char *model)
{
	json_t *frame = json_object(), *body = json_object();
	json_put_str(body, "model", model);
	json_put_str(frame, "event", "model");
	json_put(frame, "body", body);
	host_send(h, HOST_EVENT, 0, frame);
}

void luahost_box_moved(struct host *h, uint64_t box, const char *workspace)
{
	json_t *frame = json_object(), *body = json_object();
	json_put_int(body, "box", (int64_t)box);
	json_put_bytes(body, "workspace", workspace, strlen(workspace));
	json_put_str(frame, "event", "box");
	json_put(frame, "body", body);
	host_send(h, HOST_EVENT, 0, frame);
}

void luahost_judge(struct host *h, uint64_t ticket, int line, json_t *act)
{
	json_t *body = json_object();
	json_put_int(body, "line", line);
	const json_t *n = json_object_get(json_object_get(act, "rule"), "n");
	if (json_is_integer(n))
		json_put_int(body, "when", json_integer_value(n));
	json_put(body, "act", json_incref(act));
	host_send(h, HOST_JUDGE, ticket, body);
}

void luahost_ask(struct host *h, uint64_t ticket, json_t *body)
{
	host_send(h, HOST_ASK, ticket, body);
}

bool luahost_full(const struct host *h)
{
	return !h->ended && stream_full(h->stream);
}

uint64_t luahost_start_seq(const struct host *h)
{
	return h->start_seq;
}

const char *luahost_dir(const struct host *h)
{
	return h->dir;
}
