/* The channel, and questions that have one answer. Runs: guest_run.c. */
#include "sandbox/guest/guest_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/guest/guest_priv.h"

enum { ENDING_ASKS = 10000 };

struct guest_ask {
	struct guest *g; /* NULL: the guest has been freed, no report */
	enum guest_frame type;
	uint64_t id;
	box_done_fn *done;
	void *self;
	bool late;	    /* asked after the end: its turn of the loop is on its way */
	bool frozen;	    /* FREEZE: which way */
	const char **paths; /* ATTACH: rules by index; their strings are owned too */
	size_t nr_paths;
};

void guest_enter(struct guest *g)
{
	g->busy++;
}

static void guest_client_let_go(struct guest *g)
{
	free(g->ask);
	free(g->run);
	free(g->conn);
	free(g->sink);
	free(g);
}

void guest_leave(struct guest *g)
{
	if (--g->busy == 0 && g->freed)
		guest_client_let_go(g);
}

uint64_t guest_next_id(struct guest *g)
{
	return ++g->last_id;
}

void guest_send(struct guest *g, enum guest_frame type, uint64_t id, const struct buf *body)
{
	if (g->stream)
		stream_send(g->stream, (uint16_t)type, id, body ? body->data : NULL,
			    body ? body->len : 0);
}

void guest_send_stream(struct guest *g, enum guest_frame type, uint64_t id, unsigned stream,
		       const void *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	pack_u8(&b, (uint8_t)stream);
	buf_append(&b, bytes, len);
	guest_send(g, type, id, &b);
}

/* --- questions --- */

static void guest_client_ask_free(struct guest_ask *a)
{
	for (size_t i = 0; i < a->nr_paths; i++)
		free((char *)(uintptr_t)a->paths[i]);
	free(a->paths);
	free(a);
}

static struct guest_ask *ask_take(struct guest *g, uint64_t id)
{
	for (size_t i = 0; i < g->nr_asks; i++)
		if (g->ask[i]->id == id) {
			struct guest_ask *a = g->ask[i];
			memmove(&g->ask[i], &g->ask[i + 1], (--g->nr_asks - i) * sizeof *g->ask);
			return a;
		}
	return NULL;
}

static void ask_fail(struct guest_ask *a, const struct err *err)
{
	a->done(a->self, NULL, err);
	guest_client_ask_free(a);
}

/* One that came after the end has a turn of the loop on its way, which frees it. */
static void ask_over(struct guest_ask *a, const struct err *err)
{
	if (a->late) {
		a->g = NULL;
		a->done(a->self, NULL, err);
	} else {
		ask_fail(a, err);
	}
}

static void ask_too_late(void *self)
{
	struct guest_ask *a = self;
	struct err err = ERR_INIT;
	if (!a->g) {
		guest_client_ask_free(a);
		return;
	}
	ask_take(a->g, a->id);
	err_set(&err, ERR_CLOSED, "the guest of this sandbox has ended");
	ask_fail(a, &err);
}

static struct guest_ask *guest_client_ask(struct guest *g, enum guest_frame type,
					  const struct buf *body, box_done_fn *done, void *self)
{
	struct guest_ask *a = NEW(struct guest_ask);
	*a = (struct guest_ask){
		.g = g, .type = type, .id = guest_next_id(g), .done = done, .self = self
	};
	GROW(g->ask, g->nr_asks, g->cap_asks);
	g->ask[g->nr_asks++] = a;
	a->late = g->gone;
	if (g->gone)
		loop_defer(g->loop, ask_too_late, a);
	else
		guest_send(g, type, a->id, body);
	return a;
}

void guest_attach(struct guest *g, const struct guest_attach *o, box_done_fn *done, void *self)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const char **paths;
	size_t nr;
	guest_rules_pack(o, &b, &paths, &nr);
	for (size_t i = 0; i < nr; i++)
		paths[i] = mem_strdup(paths[i]);
	struct guest_ask *a = guest_client_ask(g, GF_ATTACH, &b, done, self);
	a->paths = paths;
	a->nr_paths = nr;
}

void guest_freeze(struct guest *g, bool frozen, box_done_fn *done, void *self)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	pack_u8(&b, frozen);
	guest_client_ask(g, GF_FREEZE, &b, done, self)->frozen = frozen;
}

static void ask_port(struct guest *g, enum guest_frame type, uint16_t port, box_done_fn *done,
		     void *self)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	buf_u16le(&b, port);
	pack_u8(&b, g->framed ? 0 : GUEST_FDS);
	guest_client_ask(g, type, &b, done, self);
}

void guest_listen(struct guest *g, uint16_t port, box_done_fn *done, void *self)
{
	ask_port(g, GF_LISTEN, port, done, self);
}

void guest_dial(struct guest *g, uint16_t port, box_done_fn *done, void *self)
{
	ask_port(g, GF_DIAL, port, done, self);
}

void guest_ps(struct guest *g, box_done_fn *done, void *self)
{
	guest_client_ask(g, GF_PS, NULL, done, self);
}

void guest_ping(struct guest *g, box_done_fn *done, void *self)
{
	guest_client_ask(g, GF_PING, NULL, done, self);
}

void guest_oom(const struct guest *g, box_done_fn *done, void *self)
{
	CLEANUP(json_release) json_t *r = json_object();
	if (g && g->oom != GUEST_OOM_UNKNOWN)
		json_put_int(r, "oom", g->oom);
	done(self, r, NULL);
}

void guest_kill_all(struct guest *g, box_done_fn *done, void *self)
{
	guest_client_ask(g, GF_KILL, NULL, done, self);
}

/* --- answers --- */

static json_t *attach_result(const struct guest_ask *a, struct unpack *u)
{
	json_t *o = json_object(), *missing = json_array();
	json_put_int(o, "landlock", unpack_u8(u));
	json_put_flag(o, "filtered", unpack_u8(u));
	size_t nr = unpack_u16(u);
	for (size_t i = 0; i < nr && !u->bad; i++) {
		size_t which = unpack_u16(u);
		if (which >= a->nr_paths)
			u->bad = true;
		else
			json_array_append_new(missing, json_bytes_z(a->paths[which]));
	}
	json_put(o, "missing", missing);
	return o;
}

static json_t *freeze_result(const struct guest_ask *a, struct unpack *u)
{
	json_t *o = json_object();
	unsigned procs = unpack_u32(u), running = unpack_u32(u);
	json_put_str(o, "how", "sigstop");
	json_put_flag(o, "frozen", a->frozen && running == 0);
	json_put_int(o, "procs", procs);
	json_put_int(o, "running", running);
	return o;
}

static json_t *ps_result(struct unpack *u)
{
	json_t *o = json_object(), *procs = json_array();
	uint64_t cpu = 0, mem = 0;
	unsigned all = unpack_u32(u), nr = unpack_u32(u);
	if (nr > GUEST_MAX_PS)
		u->bad = true;
	for (unsigned i = 0; i < nr && !u->bad; i++) {
		json_t *p = json_object();
		json_put_int(p, "pid", unpack_u32(u));
		json_put_int(p, "ppid", unpack_u32(u));
		json_put_int(p, "run", unpack_u32(u));
		char state[2] = { (char)(unpack_u8(u) & 0x7f), '\0' };
		uint64_t bytes = unpack_u64(u) & INT64_MAX, us = unpack_u64(u) & INT64_MAX;
		json_put(p, "name", json_bytes_z(unpack_str(u)));
		json_put_str(p, "state", state);
		json_put_int(p, "mem_bytes", (int64_t)bytes);
		json_put_int(p, "cpu_us", (int64_t)us);
		json_array_append_new(procs, p);
		mem += bytes;
		cpu += us;
	}
	json_put_int(o, "cpu_us", (int64_t)(cpu & INT64_MAX));
	json_put_int(o, "mem_bytes", (int64_t)(mem & INT64_MAX));
	json_put_int(o, "pids", all);
	json_put(o, "procs", procs);
	return o;
}

static json_t *kill_result(struct unpack *u)
{
	json_t *o = json_object();
	json_put_int(o, "killed", unpack_u32(u));
	json_put_int(o, "left", unpack_u32(u));
	return o;
}

/* A box may hand us anything; only a TCP socket in the state that was asked for is used. */
static bool is_tcp(int fd, bool listening)
{
	int domain = 0, type = 0, accepts = 0;
	socklen_t len = sizeof(int);
	struct err err = ERR_INIT;
	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_INET &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM &&
	       getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &len) == 0 &&
	       (accepts != 0) == listening && fd_nonblock(fd, &err) == 0;
}

static json_t *socket_result(struct guest *g, const struct guest_ask *a, struct unpack *u, int *fds,
			     size_t nr, struct err *err)
{
	bool listening = a->type == GF_LISTEN;
	json_t *o = json_object();
	int fd = -1;
	if (listening)
		json_put_int(o, "port", unpack_u16(u));
	if (g->framed) {
		fd = listening ? guest_conn_listen(g, a->id, err)
			       : guest_conn_dialled(g, a->id, err);
	} else if (nr == 1 && is_tcp(fds[0], listening)) {
		fd = fds[0];
		fds[0] = -1;
	} else {
		u->bad = true;
	}
	if (fd >= 0)
		json_put_int(o, "fd", fd);
	return o;
}

static json_t *guest_client_result_of(struct guest *g, const struct guest_ask *a, struct unpack *u,
				      int *fds, size_t nr, struct err *err)
{
	switch (a->type) {
	case GF_ATTACH:
		return attach_result(a, u);
	case GF_FREEZE:
		return freeze_result(a, u);
	case GF_LISTEN:
	case GF_DIAL:
		return socket_result(g, a, u, fds, nr, err);
	case GF_PS:
		return ps_result(u);
	case GF_KILL:
		return kill_result(u);
	case GF_PING:
	case GF_PREPARE:
	case GF_GO:
	case GF_DATA:
	case GF_EOF:
	case GF_CREDIT:
	case GF_SIGNAL:
	case GF_RESIZE:
	case GF_DROP:
	case GF_READY:
	case GF_PREPARED:
	case GF_ENDED:
	case GF_ACCEPTED:
	case GF_ANSWER:
	case GF_ECHO:
	case GF_STOPPED:
		break;
	}
	return json_object();
}

static void step_error(unsigned step, uint32_t sys, struct err *err)
{
	errno = sys < 4096 ? (int)sys : EIO;
	err_sys(err, "%s", guest_step_text(step));
	if (step == GS_BUSY)
		err->code = ERR_BUSY;
}

static void guest_client_on_answer(struct guest *g, const struct frame *f, int *fds, size_t nr)
{
	struct unpack u = { .p = f->body, .left = f->len };
	struct err err = ERR_INIT;
	unsigned step = unpack_u8(&u);
	uint32_t sys = unpack_u32(&u);
	struct guest_ask *a = ask_take(g, f->id);
	if (!a) {
		guest_broken(g, "an unexpected answer");
		return;
	}
	if (step) {
		step_error(step, sys, &err);
		ask_fail(a, &err);
		return;
	}
	CLEANUP(json_release) json_t *result = guest_client_result_of(g, a, &u, fds, nr, &err);
	if (!unpack_done(&u)) {
		err_set(&err, ERR_PARSE, "the guest sent an invalid answer");
		guest_broken(g, "a damaged answer");
	}
	if (err.code)
		ask_fail(a, &err);
	else {
		a->done(a->self, result, NULL);
		guest_client_ask_free(a);
	}
}

/* --- the channel --- */

static void guest_client_on_ready(struct guest *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	struct guest_info i = { .version = unpack_u32(&u) };
	i.init = unpack_u8(&u);
	i.landlock = unpack_u8(&u);
	i.uid = unpack_u32(&u);
	if (!unpack_done(&u) || g->ready || i.version != GUEST_VERSION) {
		guest_broken(g, i.version == GUEST_VERSION ? "a damaged greeting"
							   : "another version of the protocol");
		return;
	}
	g->info = i;
	g->ready = true;
	if (g->ops->on_ready)
		g->ops->on_ready(g->self, &g->info);
}

static void on_stream(struct guest *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	unsigned stream = unpack_u8(&u);
	if (u.bad) {
		guest_broken(g, "a damaged stream frame");
		return;
	}
	/* frames of a run that was dropped here while they were on their way */
	if (f->type == GF_DATA && u.left > GUEST_CHUNK) {
		guest_broken(g, "too much data in one frame");
	} else if (f->type == GF_DATA) {
		if (!guest_run_data(g, f->id, stream, u.p, u.left))
			guest_conn_data(g, f->id, u.p, u.left);
	} else if (f->type == GF_EOF) {
		guest_conn_eof(g, f->id);
	} else {
		uint32_t more = unpack_u32(&u);
		if (!unpack_done(&u) || more > GUEST_WINDOW)
			guest_broken(g, "damaged credit");
		else if (!guest_run_credit(g, f->id, stream, more))
			guest_conn_credit(g, f->id, more);
	}
}

static void on_accepted(struct guest *g, const struct frame *f)
{
	struct unpack u = { .p = f->body, .left = f->len };
	uint64_t id = unpack_u64(&u);
	if (!unpack_done(&u) || !(id & GUEST_OWN_ID) || !g->framed)
		guest_broken(g, "a damaged connection frame");
	else
		guest_conn_accepted(g, f->id, id);
}

static void guest_client_on_frame(void *self, const struct frame *f, int *fds, size_t nr)
{
	struct guest *g = self;
	guest_enter(g);
	if (g->gone)
		;
	else if (!g->ready && f->type != GF_READY)
		guest_broken(g, "no greeting");
	else if (f->type == GF_READY)
		guest_client_on_ready(g, f);
	else if (f->type == GF_PREPARED)
		guest_run_prepared(g, f, fds, nr);
	else if (f->type == GF_ENDED)
		guest_run_ended(g, f);
	else if (f->type == GF_ANSWER)
		guest_client_on_answer(g, f, fds, nr);
	else if (f->type == GF_ACCEPTED)
		on_accepted(g, f);
	else if (f->type == GF_ECHO)
		guest_run_echo(g, f);
	else if (f->type == GF_STOPPED)
		guest_run_stopped(g, f);
	else if (f->type == GF_DATA || f->type == GF_EOF || f->type == GF_CREDIT)
		on_stream(g, f);
	else
		guest_broken(g, "an unknown frame");
	for (size_t i = 0; i < nr; i++)
		fd_close(&fds[i]); /* what nobody took */
	guest_leave(g);
}

static void guest_client_end(struct guest *g, const struct err *why)
{
	if (g->gone)
		return;
	guest_enter(g);
	g->gone = true;
	guest_runs_lost(g);
	guest_conns_free(g);
	guest_sinks_free(g);
	/* also those that come only now, from the ends of runs and of these here; who does nothing
	 * but ask again is not waited for */
	for (size_t n = 0; n < ENDING_ASKS && g->nr_asks && !g->freed; n++)
		ask_over(ask_take(g, g->ask[0]->id), why);
	if (!g->freed && g->ops->on_gone)
		g->ops->on_gone(g->self, why);
	guest_leave(g);
}

static void guest_client_on_close(void *self, const struct err *err)
{
	struct guest *g = self;
	struct err closed = ERR_INIT;
	if (!err)
		err_set(&closed, ERR_CLOSED, "the guest of this sandbox has ended");
	guest_client_end(g, err ? err : &closed);
}

static void guest_client_on_drain(void *self)
{
	(void)self;
}

static const struct stream_ops guest_client_stream_ops = { .on_frame = guest_client_on_frame,
							   .on_close = guest_client_on_close,
							   .on_drain = guest_client_on_drain };

void guest_broken(struct guest *g, const char *what)
{
	struct err err = ERR_INIT;
	if (g->gone)
		return;
	err_set(&err, ERR_PARSE, "the guest sent %s; the sandbox was stopped", what);
	stream_free(&g->stream);
	guest_client_end(g, &err);
}

struct guest *guest_new(struct loop *l, int sock, const struct guest_opts *o,
			const struct guest_ops *ops, void *self)
{
	struct guest *g = NEW(struct guest);
	g->loop = l;
	g->oom = GUEST_OOM_UNKNOWN;
	g->ops = ops;
	g->self = self;
	g->framed = o && o->framed;
	g->stream = stream_new(l, sock, GUEST_MAX_OUT, &guest_client_stream_ops, g);
	return g;
}

void guest_free(struct guest **gp)
{
	struct guest *g = *gp;
	*gp = NULL;
	if (!g)
		return;
	guest_enter(g);
	g->gone = true;
	g->freed = true;
	stream_free(&g->stream);
	guest_runs_detach(g);
	guest_conns_free(g);
	guest_sinks_free(g);
	while (g->nr_asks) {
		struct guest_ask *a = ask_take(g, g->ask[0]->id);
		a->g = NULL;
		if (!a->late)
			loop_defer(g->loop, ask_too_late, a);
	}
	guest_leave(g);
}

const struct guest_info *guest_info(const struct guest *g)
{
	return g->ready ? &g->info : NULL;
}
