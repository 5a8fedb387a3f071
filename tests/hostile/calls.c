/* System calls that a sandbox must refuse: prints each call with its errno, 0 for success. An error about the arguments
 * means that the call was reached. Runs in a sandbox and outside. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void said(const char *name, long rc)
{
	int sys = rc < 0 ? errno : 0;
	printf("%s %s %d\n", name,
	       sys == EPERM || sys == ENOSYS || sys == EAFNOSUPPORT ? "closed" : "reached", sys);
}

static void opened(const char *name, int fd)
{
	said(name, fd);
	if (fd >= 0)
		close(fd);
}

/* Nothing of it stays. */
static void system_v(const char *name, long id, long ctl, int of_set)
{
	said(name, id);
	if (id >= 0 && of_set)
		syscall(ctl, id, 0, IPC_RMID);
	else if (id >= 0)
		syscall(ctl, id, IPC_RMID, NULL);
}

static void terminals(void)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY), line = 0;
	char typed = 'x';
	if (fd < 0)
		fd = open("/dev/null", O_RDWR);
	said("tiocsetd", ioctl(fd, TIOCSETD, &line));
	said("tiocsti", ioctl(fd, TIOCSTI, &typed));
	/* the kernel looks at the low half of a request */
	said("tiocsti-high", syscall(SYS_ioctl, fd, (1UL << 32) | TIOCSTI, &typed));
	said("tioclinux", ioctl(fd, 0x541C, &typed));
	close(fd);
}

int main(void)
{
	struct {
		unsigned long word[16];
	} none = { { 0 } };
	said("io_uring", syscall(SYS_io_uring_setup, 1, NULL));
	opened("vsock", socket(40 /* AF_VSOCK */, SOCK_STREAM, 0));
	opened("alg", socket(38 /* AF_ALG */, SOCK_SEQPACKET, 0));
	opened("netlink-audit", socket(AF_NETLINK, SOCK_RAW, 9));
	opened("netlink-generic", socket(AF_NETLINK, SOCK_RAW, 16));
	opened("netlink-netfilter", socket(AF_NETLINK, SOCK_RAW, 12));
	terminals();
#ifdef SYS_modify_ldt
	said("modify_ldt", syscall(SYS_modify_ldt, 0, &none, sizeof none));
#endif
	said("bpf", syscall(SYS_bpf, 0, NULL, 0));
	said("userfaultfd", syscall(SYS_userfaultfd, 1));
	said("keyctl", syscall(SYS_keyctl, 0, -3, 0));
	said("perf", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	said("unshare", syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */));
	said("fanotify", syscall(SYS_fanotify_init, 0, 0));
	system_v("shmget", syscall(SYS_shmget, IPC_PRIVATE, 4096, 0600), SYS_shmctl, 0);
	system_v("semget", syscall(SYS_semget, IPC_PRIVATE, 1, 0600), SYS_semctl, 1);
	system_v("msgget", syscall(SYS_msgget, IPC_PRIVATE, 0600), SYS_msgctl, 0);
	return 0;
}
