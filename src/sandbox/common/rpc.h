/* Requests and answers over a socket to one of our small programs (launcher, keeper): JSON bodies,
 * descriptors along.
 *
 * Loop thread only. Each call is answered exactly once, never from inside the call: with a body, or
 * with an error, also when the other side goes away. */
#ifndef SANDBOX_COMMON_RPC_H
#define SANDBOX_COMMON_RPC_H

#include "base/json.h"
#include "loop/loop.h"

struct rpc;

/* One of @body and @err is NULL; both borrowed. A descriptor that the callee wants it takes by
 * setting fds[i] to -1; the others are closed afterwards. */
typedef void rpc_done_fn(void *self, json_t *body, int *fds, size_t nr_fds, const struct err *err);

struct rpc_ops {
	/* frame types of the two answers */
	uint16_t ok, failed;
	/* a frame that answers nothing */
	void (*on_other)(void *self, unsigned type, json_t *body);
	/* The channel has ended, after every open call got its error. rpc_free may be called
	 * inside. */
	void (*on_close)(void *self, const struct err *err);
};

/* Takes @sock. */
struct rpc *rpc_new(struct loop *l, int sock, size_t max_body, const struct rpc_ops *ops,
		    void *self);
void rpc_free(struct rpc **r); /* open calls are dropped without a callback */
/* Takes @fds. @done NULL: the answer does not matter. @body is borrowed. */
void rpc_call(struct rpc *r, uint16_t type, const json_t *body, const int *fds, size_t nr_fds,
	      rpc_done_fn *done, void *self);
/* A frame that has no answer. Takes @fds. */
void rpc_push(struct rpc *r, uint16_t type, const int *fds, size_t nr_fds);
void rpc_forget(struct rpc *r, const void *self); /* no further callbacks to @self */

#endif
