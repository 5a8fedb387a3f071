/* Part of guest_client.c: questions to the guest that have one answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sandbox/guest/guest_priv.h"
#include "sandbox/guest/guest_client.h"
#include "base/mem.h"

/* --- questions --- */

static void guest_client_ask_free(struct guest_ask *a)
{
	for (size_t i = 0; i < a->nr_paths; i++)
		free((char *)(uintptr_t)a->paths[i]);
	free(a->paths);
	free(a);
}

struct guest_ask *ask_take(struct guest *g, uint64_t id)
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
void ask_over(struct guest_ask *a, const struct err *err)
{
	if (a->late) {
		a->g = NULL;
		a->done(a->self, NULL, err);
	} else {
		ask_fail(a, err);
	}
}

void ask_too_late(void *self)
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

void guest_client_on_answer(struct guest *g, const struct frame *f, int *fds, size_t nr)
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
