/* A bound on what a program in a loop makes us record of one kind: the first FLOOD_FREE one by one,
 * then at most one a second, which stands for all since the one before and counts them. */
#ifndef SUPERVISOR_CORE_FLOOD_H
#define SUPERVISOR_CORE_FLOOD_H

#include "loop/loop.h"
#include "base/json.h"

enum { FLOOD_FREE = 20 };

struct flood;
/* @body: borrowed; the newest of @count. */
typedef void flood_tell_fn(void *self, const json_t *body, uint64_t count);

struct flood *flood_new(struct loop *l, flood_tell_fn *tell, void *self);
void flood_add(struct flood *f, json_t *body); /* takes @body */
/* Tells first what is held back. */
void flood_free(struct flood **f);

#endif
