/* Unsigned numbers of one to nine bytes, seven bits each, the lowest first; a set top bit says that
 * one more follows (LEB128, as DWARF 5, 7.6 has it; 63 bits at most). Pure. */
#ifndef BASE_LEB128_H
#define BASE_LEB128_H

#include "base/buf.h"

void leb128_put(struct buf *out, uint64_t n);
/* Moves *@p behind the number; false if it does not end before @end, or is longer. */
bool leb128_get(const uint8_t **p, const uint8_t *end, uint64_t *out);

#endif
