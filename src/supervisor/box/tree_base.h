/* The base below each layer: listed when the box is there, hashed in the background, compared now
 * and then with what the user has changed meanwhile (drift). */
#ifndef SUPERVISOR_BOX_TREE_BASE_H
#define SUPERVISOR_BOX_TREE_BASE_H

#include "supervisor/box/tree_priv.h"
#include "sandbox/workspace/base.h"

struct tree_base;

/* After the first snapshot. Queues the listing of every layer that has a directory of the
 * user's. */
void tree_base_begin(struct trees *t);
/* Stops hashing; its thread then ends. */
void tree_base_end(struct trees *t);
/* Worker, within a job of @t: looks for drift of layer @i now; *body_out (owned) or NULL when there
 * is nothing new. */
NODISCARD int tree_base_drift(struct trees *t, size_t i, json_t **body_out, struct err *err);
/* Loop: records what tree_base_drift found. Takes @body (may be NULL). */
void tree_base_record_drift(struct trees *t, json_t *body);

#endif
