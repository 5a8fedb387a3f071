/* Differences between gcc 12 and clang 14 in gnu17, in one place. Every file may include it. */
#ifndef BASE_COMPAT_H
#define BASE_COMPAT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODISCARD	  __attribute__((warn_unused_result))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CLEANUP(fn)	  __attribute__((cleanup(fn)))
#define FALLTHROUGH	  __attribute__((fallthrough))
#define UNUSED		  __attribute__((unused))
#define NORETURN	  __attribute__((noreturn))
/* A large buffer that is filled before it is read: the build sets every other local variable to
 * zero. */
#define UNSET __attribute__((uninitialized))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member)                                                            \
	((type *)(void *)((char *)(uintptr_t)(ptr)-offsetof(type, member)))

/* Hands an owned pointer over and leaves NULL behind, so that a transfer can be grepped for. */
#define take(p)                                                                                    \
	__extension__({                                                                            \
		__auto_type take_ = *(p);                                                          \
		*(p) = NULL;                                                                       \
		take_;                                                                             \
	})

static_assert(sizeof(size_t) == 8, "64-bit only");
static_assert(sizeof(long) == 8, "64-bit only");

#endif
