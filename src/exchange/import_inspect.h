/* Shared by the two formats of an Inspect eval log: .json (import_inspect.c) and .eval
 * (import_eval.c). */
#ifndef EXCHANGE_IMPORT_INSPECT_H
#define EXCHANGE_IMPORT_INSPECT_H

#include "exchange/import.h"

/* One sample: an agent with its messages. @model: of the evaluation, may be NULL. */
void inspect_sample(struct import *im, const json_t *sample, const char *model);
bool is_eval(const char *head, size_t len);
NODISCARD int import_eval(struct import *im, FILE *in, struct err *err);

#endif
