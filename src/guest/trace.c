/* Policy checks of a command's execve and connect calls: a seccomp filter whose answers come from
 * outside (SECCOMP_RET_USER_NOTIF). Each run has a filter of its own, so that the supervisor knows
 * the run of a call however its process was created; closing descriptors in the sandbox closes no
 * filter. Calls of another ABI, which would pass unseen, are refused: a program of another
 * architecture is killed, x32 is ENOSYS. */
#include <stddef.h>
#include <sys/socket.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "guest/guest_priv.h"
#include "guest/sys.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0 /* nothing is asked for */
#endif

/* Numbers of another kind of call (x32's): they would be the same calls, and nobody asked. */
enum { OTHER_CALLS = 0x40000000 };

static long guest_trace_install(void)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		/* as the filters of a process box do */
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_CALLS, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};
	const struct sock_fprog prog = { .len = sizeof code / sizeof code[0],
					 .filter = (struct sock_filter *)(uintptr_t)code };
	if (!ARCH)
		return -EOPNOTSUPP;
	return sys3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

long inner_trace(int sock)
{
	long fd = guest_trace_install();
	uint32_t why = fd < 0 ? (uint32_t)-fd : 0;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec text = { .iov_base = &why, .iov_len = sizeof why };
	struct msghdr msg = { .msg_iov = &text, .msg_iovlen = 1 };
	if (fd >= 0) {
		*(int *)(void *)CMSG_DATA(&control.head) = (int)fd;
		msg.msg_control = &control;
		msg.msg_controllen = sizeof control.room;
	}
	long rc = sys3(SYS_sendmsg, sock, &msg, MSG_NOSIGNAL);
	if (fd >= 0)
		sys1(SYS_close, fd); /* nobody in here answers */
	return fd < 0 ? fd : rc < 0 ? rc : 0;
}
