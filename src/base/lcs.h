/* How much two sequences have in common: the length of their longest common subsequence, exactly.
 *
 * By bits (H. Hyyro, "Bit-parallel LCS-length computation revisited", 2004): about nr_a * nr_b / 64
 * steps of the processor once the equal beginning, the equal end and what only one side has are
 * left out; memory grows with nr_a + nr_b alone. Pure. */
#ifndef BASE_LCS_H
#define BASE_LCS_H

#include "base/compat.h"

/* @a, @b: symbols, any numbers below @symbols (numbers given one after another keep it small). */
size_t lcs_length(const uint32_t *a, size_t nr_a, const uint32_t *b, size_t nr_b, uint32_t symbols);

#endif
