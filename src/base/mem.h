/* Memory: allocation that cannot fail, and an arena for what lives one loop turn.
 *
 * A program that supervises others must not limp on half-allocated: x* print one line and abort.
 * Sizes that come from outside are bounded by their parser before they get here. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/compat.h"

void *mem_alloc(size_t size) __attribute__((malloc));
void *mem_calloc(size_t nr, size_t size) __attribute__((malloc));
void *mem_realloc(void *p, size_t size) NODISCARD;
char *mem_strdup(const char *s) __attribute__((malloc));
/* copies exactly @len bytes and adds NUL */
char *mem_strndup(const char *s, size_t len) __attribute__((malloc));
void *mem_dup(const void *p, size_t len) __attribute__((malloc));
char *mem_printf(const char *fmt, ...) PRINTF(1, 2) __attribute__((malloc));

/* Zeroed object of the type. */
#define NEW(type) ((type *)mem_calloc(1, sizeof(type)))

/* Makes room for one more element in (ptr, nr, cap) triples: GROW(v->item, v->nr, v->cap). */
#define GROW(ptr, nr, cap)                                                                         \
	do {                                                                                       \
		if ((nr) == (cap)) {                                                               \
			(cap) = (cap) ? (cap)*2 : 8;                                               \
			(ptr) = mem_realloc((ptr), (size_t)(cap) * sizeof(*(ptr)));                \
		}                                                                                  \
	} while (0)

/* For CLEANUP(free_ptr) on char * and friends. */
void free_ptr(void *pp);

/* Everything from an arena goes away together with arena_reset or arena_release. Not for threads to
 * share. */
struct arena {
	struct arena_block *head;
};
#define ARENA_INIT ((struct arena){ 0 })
void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned for any type */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
void arena_reset(struct arena *a); /* keeps one block for reuse */
void arena_release(struct arena *a);

#endif
