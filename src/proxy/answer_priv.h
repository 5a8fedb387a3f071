/* Shared by the files of answer. */
#ifndef PROXY_ANSWER_PRIV_H
#define PROXY_ANSWER_PRIV_H

#include "proxy/answer.h"

/* Takes what an event, or a whole answer, of @a's provider says into @a. */
void answer_understand(struct answer *a, const json_t *e);
/* Calls that the agent carries out, not the provider. @item: of Responses. */
bool agents_call(const json_t *item);

#endif
