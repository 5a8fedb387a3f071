/* The channel of a guest. Questions: guest_ask.c; runs: guest_run.c. */
#include "sandbox/guest/guest_client.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/guest/guest_priv.h"

enum { ENDING_ASKS = 10000 };

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
