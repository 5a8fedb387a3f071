/* Converts frames of one Lua host between text and JSON on a thread of its own: a plugin's frames
 * hold pieces of files, which would keep the loop busy for too long. Not a job of the loop's pool,
 * because a job there may wait for an answer that such a frame brings. */
#ifndef LUAHOST_FRAME_WORKER_H
#define LUAHOST_FRAME_WORKER_H

#include "base/json.h"
#include "loop/loop.h"

struct frame_worker;

struct frame_job {
	struct frame_job *next;
	bool out; /* to the host: text is made of json, else json of text */
	uint16_t type;
	uint64_t id;
	json_t *json; /* owned; out: nothing else may change it meanwhile; NULL: text is there */
	struct buf text;
	struct err err; /* of a text that is not JSON; json is NULL */
};

/* Loop thread. The jobs of a worker come back in the order in which they were added; @job is
 * borrowed. The worker may be freed inside. */
typedef void frame_worker_fn(void *self, struct frame_job *job);

NODISCARD int frame_worker_new(struct frame_worker **out, struct loop *l, frame_worker_fn *done,
			       void *self, struct err *err);
/* Takes @job, which is on the heap. */
void frame_worker_add(struct frame_worker *w, struct frame_job *job);
/* Jobs of this direction that have not come back; NULL has none. */
size_t frame_worker_pending(const struct frame_worker *w, bool out);
/* Converts, on the calling thread. */
void frame_worker_convert(struct frame_job *job);
void frame_worker_free(struct frame_worker **w); /* waits for the frame in work; no callback */

/* Are the texts in @j longer than @most bytes in all? Looks only as far as it must. */
bool frame_is_long(const json_t *j, size_t most);

#endif
