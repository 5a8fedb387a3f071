/* System calls for a child that still shares our memory (run.c: clone with CLONE_VM, as posix_spawn
 * does it): libc's wrappers write errno, and that one is the guest's. Results are -errno. */
#ifndef GUEST_SYS_H
#define GUEST_SYS_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compat.h"

/* Where the calls below are not spelled out, and where a sanitizer keeps books about stacks, the
 * child is a plain fork.
 */
#if defined(__SANITIZE_ADDRESS__)
#define SYS_SHARED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SYS_SHARED 0
#endif
#endif
#ifndef SYS_SHARED
#if defined(__x86_64__) || defined(__aarch64__)
#define SYS_SHARED 1
#else
#define SYS_SHARED 0
#endif
#endif

#if SYS_SHARED && defined(__x86_64__)
static inline long sys_call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long out;
	__asm__ volatile("syscall"
			 : "=a"(out)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return out;
}
#elif SYS_SHARED && defined(__aarch64__)
static inline long sys_call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
			 x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
static inline long sys_call(long nr, long a, long b, long c, long d, long e, long f)
{
	long out = syscall(nr, a, b, c, d, e, f);
	return out < 0 ? -errno : out;
}
#endif

#define SYS_ARG(x)	     (long)(x)
#define sys0(nr)	     sys_call((nr), 0, 0, 0, 0, 0, 0)
#define sys1(nr, a)	     sys_call((nr), SYS_ARG(a), 0, 0, 0, 0, 0)
#define sys2(nr, a, b)	     sys_call((nr), SYS_ARG(a), SYS_ARG(b), 0, 0, 0, 0)
#define sys3(nr, a, b, c)    sys_call((nr), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), 0, 0, 0)
#define sys4(nr, a, b, c, d) sys_call((nr), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), 0, 0)

#endif
