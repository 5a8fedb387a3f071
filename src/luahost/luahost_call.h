/* A script's request, as recorded and as 'simulate' compares it: the body of a CALL
 * frame made small. A text of more than CALL_TEXT_MAX bytes is {"hash","bytes"}; the messages of a
 * model call are a list of H(message), the names under which the record pools them (in the record:
 * record_list of it); what a scripted model would answer is left out. */
#ifndef LUAHOST_LUAHOST_CALL_H
#define LUAHOST_LUAHOST_CALL_H

#include "base/json.h"

enum { CALL_TEXT_MAX = 1024 };

/* {"op","at","agent","task","args"}; returns owned. */
json_t *luahost_call_small(const json_t *body);

/* The first place where two small bodies differ, as a JSON pointer ("/args/cmd"); NULL when they do
 * not. Places, and values that a secret was taken out of, are not compared. Returns owned. */
char *luahost_call_differ(const json_t *recorded, const json_t *now);

#endif
