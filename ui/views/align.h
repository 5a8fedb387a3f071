/* Two lists of actions laid beside each other: the longest way that both went in common, and
 * between its steps what only one of them did. Pure. */
#ifndef UI_ALIGN_H
#define UI_ALIGN_H

#include "base/mem.h"

/* steps of one side between the equal start and the equal end; steps beyond that are not matched */
enum { ALIGN_MOST = 3000 };

struct align_row {
	int32_t a, b; /* indexes; -1 there is none */
	bool same;    /* both did the same (how it came out may differ) */
};

/* @a, @b: the compared texts, one per step. The rows live in @ar; returns their number. Steps of
 * a gap without a partner are paired in order. */
size_t align_steps(const char *const *a, size_t nr_a, const char *const *b, size_t nr_b,
		   struct arena *ar, struct align_row **out);

#endif
