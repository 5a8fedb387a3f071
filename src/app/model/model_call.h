/* The op model.call: an action of kind model. Scripted models answer inside the script and are only recorded here;
 * every other one is asked through its provider's plugin. */
#ifndef APP_MODEL_CALL_H
#define APP_MODEL_CALL_H

#include "base/json.h"

struct super;
struct call;
struct models;

/* What a session needs for models: providers, HTTP, perhaps a cassette; as its options say. */
NODISCARD int models_open(struct models **out, struct super *s, struct err *err);
void models_free(struct models **m); /* calls under way are dropped */
json_t *models_names(const struct models *m); /* of the providers; returns owned */

void op_model_call(struct call *c);

#endif
