/* A command that can make no socket, of whatever family: what a try of it does can leave its
 * machine by none, nor reach a server there; nor may it take a descriptor of another process or act
 * through one. Files of /proc of processes of the same uid remain (/proc/PID/mem among them, where
 * the kernel lets it): who can write to those is kept off by the box around it, not by this.
 * Everything that comes from it inherits the filter. Calls of another ABI, which would pass it
 * unseen, are refused as in trace.c. */
#include <stddef.h>
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
#define ARCH 0 /* nothing would be refused */
#endif

enum { OTHER_CALLS = 0x40000000 /* x32 */ };

long inner_offline(void)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_CALLS, 6, 0),
		/* it makes sockets without the call */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 3, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENETUNREACH),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	const struct sock_fprog prog = { .len = sizeof code / sizeof code[0],
					 .filter = (struct sock_filter *)(uintptr_t)code };
	if (!ARCH)
		return -EOPNOTSUPP;
	return sys3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}
