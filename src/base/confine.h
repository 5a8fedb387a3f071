/* Shared by the programs that give up everything before they touch untrusted bytes (sandglass-host,
 * sandglass-tls). Every system call that the filter doesn't allow kills the process. */
#ifndef BASE_CONFINE_H
#define BASE_CONFINE_H

#include <seccomp.h>
#include <sys/resource.h>

#include "base/err.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

struct confinement {
	rlim_t files;	     /* limit of descriptors */
	rlim_t memory_bytes; /* limit of the address space; 0: none. Sanitizers have none. */
	/* adds what this program needs beside memory, the clock, and exit; 0 or -errno */
	int (*rules)(scmp_filter_ctx f);
};

/* Takes privileges and core dumps from this process and lets it die with its parent. Then closes
 * descriptors 0, 1, and all above @last_fd. */
NODISCARD int confine_close(int last_fd, struct err *err);

/* Sets the limits and loads the filter: the last step. */
NODISCARD int confine_enter(const struct confinement *c, struct err *err);

/* Allows @nr @calls with any arguments. 0 or -errno. */
NODISCARD int confine_allow(scmp_filter_ctx f, const int *calls, size_t nr);

#endif
