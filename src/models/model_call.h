/* The op model.call: an action of kind model. Scripted models answer inside the script and are only
 * recorded here; every other one is asked through its provider's plugin. */
#ifndef MODELS_MODEL_CALL_H
#define MODELS_MODEL_CALL_H

#include "base/json.h"

struct super;
struct call;
struct models;

/* Opens the parts that a session needs for models, by its options: providers, HTTP, perhaps a
 * cassette. */
NODISCARD int models_open(struct models **out, struct super *s, struct err *err);
void models_free(struct models **m);	      /* calls under way are dropped */
json_t *models_names(const struct models *m); /* of the providers; returns owned */

/* Shared with the other users of providers (src/inside). */
struct tape *models_tape(struct models *m);
struct tape *models_wire(struct models *m); /* the same without a cassette */
struct providers *models_providers(struct models *m);
/* "cost_uusd", or "cost_unknown" when it is below 0. */
void models_put_cost(json_t *o, int64_t uusd);
/* True if no price of "provider:model" is known. @face: of its plugin; NULL: only your
 * configuration counts. */
bool models_unpriced(const struct models *m, const json_t *face, const char *model);
/* Pools @bytes as a message and appends its name to @ids (record_message, record_list). */
struct record;
void models_pool(struct record *r, json_t *ids, const void *bytes, size_t len);

void op_model_call(struct call *c);

#endif
