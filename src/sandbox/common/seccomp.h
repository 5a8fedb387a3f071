/* The system call filters of a box: every call that libseccomp can name but for a named set is
 * allowed, what nobody has heard of answers ENOSYS, a foreign architecture kills. Two programs,
 * because one filter cannot both allow and refuse a call by argument; the kernel takes the stricter
 * answer. */
#ifndef SANDBOX_PROCESS_SECCOMP_H
#define SANDBOX_PROCESS_SECCOMP_H

#include "base/buf.h"
#include "base/err.h"

enum seccomp_flags {
	/* no memfd and System V memory: where no cgroup bounds memory */
	SECCOMP_NO_SHARED_MEMORY = 1 << 0,
	/* no System V memory, semaphores, and queues: for sandboxes without an IPC namespace */
	SECCOMP_NO_SYSV = 1 << 2,
	/* no AF_INET sockets: for sandboxes without a network namespace */
	SECCOMP_NO_INTERNET = 1 << 1,
};
enum { SECCOMP_PROGRAMS = 2 };

/* The programs, made once for each set of @flags; borrows. NULL with @err. Loop thread only. */
const struct buf *seccomp_made(unsigned flags, struct err *err);
/* Appends each program (an array of struct sock_filter) to @out[i]. */
NODISCARD int seccomp_programs(unsigned flags, struct buf out[SECCOMP_PROGRAMS], struct err *err);
/* The same as memfds, rewound; the caller owns them. */
NODISCARD int seccomp_memfds(unsigned flags, int fds[SECCOMP_PROGRAMS], struct err *err);

#endif
