/* One message a line over a pair of descriptors on a loop: the stdio transport of MCP, both ends of
 * it.
 *
 * Reading takes \n and \r\n and skips empty lines; a line past RPC_LINE_MAX ends the stream with an
 * error. Writing queues and never blocks. Loop thread only. */
#ifndef MCP_LINES_H
#define MCP_LINES_H

#include "base/json.h"
#include "loop/loop.h"

struct lines;
struct lines_ops {
	void (*on_line)(void *self, const char *text, size_t len); /* borrowed for the call */
	/* Reading has ended: NULL at the end of the input. Once; the lines may be freed inside. */
	void (*on_end)(void *self, const struct err *err);
};

/* Takes both descriptors (they may be files or a terminal). */
struct lines *lines_new(struct loop *l, int in, int out, const struct lines_ops *ops, void *self);
void lines_free(struct lines **l);	       /* what is not written yet is dropped */
void lines_send(struct lines *l, json_t *msg); /* takes @msg */
size_t lines_queued(const struct lines *l);
void lines_end_output(struct lines *l); /* closes the way out when the queue is empty */
/* writes what is queued, waiting if need be; at the end of a program */
void lines_flush(struct lines *l);

#endif
