/* Which sandbox is meant by what you typed: a name, which several of a session can have, or the id,
 * "12" or "#12", which only one has. */
#ifndef SANDBOX_MEANT_H
#define SANDBOX_MEANT_H

#include <stdbool.h>
#include <stdint.h>

uint64_t meant_id(const char *text); /* 0: @text is not an id */
bool meant_box(const char *text, uint64_t id, const char *name);

#endif
