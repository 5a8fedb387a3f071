#include "sandbox/common/seccomp.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

enum { NUMBERS_TRIED = 1024, FAMILIES_TRIED = 64 };

/* Refused with EPERM whatever the arguments. */
static const char *const seccomp_refused[] = {
	/* another view of the tree */
	"mount",
	"umount",
	"umount2",
	"pivot_root",
	"chroot",
	"open_tree",
	"move_mount",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"mount_setattr",
	/* other namespaces, other processes */
	"unshare",
	"setns",
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"process_madvise",
	"kcmp",
	"pidfd_getfd",
	/* what exploits are made of */
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	/* not in any namespace */
	"add_key",
	"keyctl",
	"request_key",
	"init_module",
	"finit_module",
	"delete_module",
	"create_module",
	"get_kernel_syms",
	"query_module",
	"kexec_load",
	"kexec_file_load",
	"reboot",
	"swapon",
	"swapoff",
	"acct",
	"quotactl",
	"quotactl_fd",
	"syslog",
	"sethostname",
	"setdomainname",
	"settimeofday",
	"stime",
	"clock_settime",
	"clock_settime64",
	"adjtimex",
	"clock_adjtime",
	"clock_adjtime64",
	"iopl",
	"ioperm",
	"modify_ldt",
	"vm86",
	"vm86old",
	"uselib",
	"_sysctl",
	"sysfs",
	"ustat",
	"nfsservctl",
	"lookup_dcookie",
	"vhangup",
	"fanotify_init",
	"fanotify_mark",
	"open_by_handle_at",
	"name_to_handle_at",
	"memfd_secret",
	"move_pages",
	"mbind",
	"migrate_pages",
	"set_mempolicy",
	"get_mempolicy",
	"set_mempolicy_home_node",
};
/* Judged by argument below. */
static const char *const seccomp_special[] = { "clone",	  "clone3", "personality", "mknod",
					       "mknodat", "socket", "socketpair" };
static const char *const shared_memory[] = { "memfd_create", "shmget", "shmat" };
static const char *const system_v[] = { "shmget", "shmat",  "shmctl",	  "shmdt",
					"semget", "semop",  "semctl",	  "msgget",
					"msgsnd", "msgrcv", "semtimedop", "msgctl" };

static bool seccomp_in(const char *const *list, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

#define RULE(action, name, ...) seccomp_rule_add(c, (action), SCMP_SYS(name), __VA_ARGS__)

static int allow_the_known(scmp_filter_ctx c, unsigned flags)
{
	int rc = 0;
	for (int n = 0; n < NUMBERS_TRIED && rc == 0; n++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, n);
		if (!name)
			continue;
		bool no = seccomp_in(seccomp_refused, ARRAY_LEN(seccomp_refused), name) ||
			  ((flags & SECCOMP_NO_SHARED_MEMORY) &&
			   seccomp_in(shared_memory, ARRAY_LEN(shared_memory), name)) ||
			  ((flags & SECCOMP_NO_SYSV) &&
			   seccomp_in(system_v, ARRAY_LEN(system_v), name));
		if (!seccomp_in(seccomp_special, ARRAY_LEN(seccomp_special), name))
			rc = seccomp_rule_add(c, no ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW, n, 0);
		free(name);
	}
	return rc;
}

/* Namespaces by clone; clone3's arguments lie behind a pointer, so libraries are sent back to
 * clone. */
static int judge_clone(scmp_filter_ctx c)
{
	static const uint64_t spaces[] = { CLONE_NEWNS,	 CLONE_NEWCGROUP, CLONE_NEWUTS,
					   CLONE_NEWIPC, CLONE_NEWUSER,	  CLONE_NEWPID,
					   CLONE_NEWNET };
	uint64_t all = 0;
	int rc = 0;
	for (size_t i = 0; i < ARRAY_LEN(spaces) && rc == 0; i++) {
		all |= spaces[i];
		rc = RULE(SCMP_ACT_ERRNO(EPERM), clone, 1,
			  SCMP_A0(SCMP_CMP_MASKED_EQ, spaces[i], spaces[i]));
	}
	if (rc == 0)
		rc = RULE(SCMP_ACT_ALLOW, clone, 1, SCMP_A0(SCMP_CMP_MASKED_EQ, all, 0));
	return rc;
}

static int judge_files(scmp_filter_ctx c)
{
	static const uint64_t kinds[] = { 0, S_IFREG, S_IFIFO, S_IFSOCK },
			      devices[] = { S_IFCHR, S_IFBLK };
	int rc = RULE(SCMP_ACT_ALLOW, personality, 1, SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, 0));
	if (rc == 0)
		rc = RULE(SCMP_ACT_ALLOW, personality, 1,
			  SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, 0xffffffff));
	for (size_t i = 0; i < ARRAY_LEN(kinds) && rc == 0; i++) {
		rc = RULE(SCMP_ACT_ALLOW, mknodat, 1,
			  SCMP_A2(SCMP_CMP_MASKED_EQ, S_IFMT, kinds[i]));
		if (rc == 0 && SCMP_SYS(mknod) >= 0)
			rc = RULE(SCMP_ACT_ALLOW, mknod, 1,
				  SCMP_A1(SCMP_CMP_MASKED_EQ, S_IFMT, kinds[i]));
	}
	for (size_t i = 0; i < ARRAY_LEN(devices) && rc == 0; i++) {
		rc = RULE(SCMP_ACT_ERRNO(EPERM), mknodat, 1,
			  SCMP_A2(SCMP_CMP_MASKED_EQ, S_IFMT, devices[i]));
		if (rc == 0 && SCMP_SYS(mknod) >= 0)
			rc = RULE(SCMP_ACT_ERRNO(EPERM), mknod, 1,
				  SCMP_A1(SCMP_CMP_MASKED_EQ, S_IFMT, devices[i]));
	}
	return rc;
}

static int judge_sockets(scmp_filter_ctx c, unsigned flags)
{
	bool internet = !(flags & SECCOMP_NO_INTERNET);
	int rc = RULE(SCMP_ACT_ALLOW, socket, 1, SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, AF_UNIX));
	for (uint64_t family = 0; family < FAMILIES_TRIED && rc == 0; family++) {
		bool inet = family == AF_INET || family == AF_INET6;
		if (family == AF_UNIX || family == AF_NETLINK || (inet && internet))
			continue;
		rc = RULE(SCMP_ACT_ERRNO(inet ? EPERM : EAFNOSUPPORT), socket, 1,
			  SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, family));
	}
	for (uint64_t type = 1; type < 8 && rc == 0 && internet; type++) {
		uint32_t action = type == SOCK_STREAM || type == SOCK_DGRAM ? SCMP_ACT_ALLOW
									    : SCMP_ACT_ERRNO(EPERM);
		rc = RULE(action, socket, 2, SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, AF_INET),
			  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, type));
		if (rc == 0)
			rc = RULE(action, socket, 2,
				  SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, AF_INET6),
				  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, type));
	}
	/* the list of interfaces, which getaddrinfo asks for */
	if (rc == 0)
		rc = RULE(SCMP_ACT_ALLOW, socket, 2,
			  SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, AF_NETLINK),
			  SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffff, 0));
	if (rc == 0)
		rc = RULE(SCMP_ACT_ALLOW, socketpair, 1,
			  SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, AF_UNIX));
	return rc;
}

/* The kernel looks at 32 bits of the request, so high bits must not hide one. */
static int second_program(scmp_filter_ctx c)
{
	static const uint64_t requests[] = { TIOCSTI, 0x541C /* TIOCLINUX */, TIOCSETD, TIOCCONS };
	int rc = 0;
	for (size_t i = 0; i < ARRAY_LEN(requests) && rc == 0; i++)
		rc = RULE(SCMP_ACT_ERRNO(EPERM), ioctl, 1,
			  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, requests[i]));
	return rc;
}

static int export_program(scmp_filter_ctx c, struct buf *out, struct err *err)
{
	CLEANUP(fd_close) int fd = memfd_create("filter", MFD_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "can't create a memory file");
	int rc = seccomp_export_bpf(c, fd);
	if (rc < 0) {
		errno = -rc;
		return err_sys(err, "can't compile the system call filter");
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(err, "can't rewind the system call filter");
	return fd_read_all(fd, out, 1 << 20, err);
}

static int seccomp_build(unsigned flags, int which, struct buf *out, struct err *err)
{
	scmp_filter_ctx c = seccomp_init(which == 0 ? SCMP_ACT_ERRNO(ENOSYS) : SCMP_ACT_ALLOW);
	if (!c)
		return err_set(err, ERR_UNSUPPORTED,
			       "libseccomp doesn't support this architecture");
	int rc = seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (rc == 0)
		rc = seccomp_attr_set(c, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc == 0 && which == 0) {
		rc = allow_the_known(c, flags);
		if (rc == 0)
			rc = judge_clone(c);
		if (rc == 0)
			rc = judge_files(c);
		if (rc == 0)
			rc = judge_sockets(c, flags);
	} else if (rc == 0) {
		rc = second_program(c);
	}
	if (rc < 0) {
		errno = -rc;
		err_sys(err, "can't create the system call filter");
	} else {
		rc = export_program(c, out, err);
	}
	seccomp_release(c);
	return rc < 0 ? -1 : 0;
}

int seccomp_programs(unsigned flags, struct buf out[SECCOMP_PROGRAMS], struct err *err)
{
	for (int i = 0; i < SECCOMP_PROGRAMS; i++)
		if (seccomp_build(flags, i, &out[i], err) < 0)
			return -1;
	return 0;
}

const struct buf *seccomp_made(unsigned flags, struct err *err)
{
	/* a few milliseconds each time otherwise */
	static struct buf cache[8][SECCOMP_PROGRAMS];
	struct buf *programs = cache[flags & 7];
	if (programs[0].len == 0 && seccomp_programs(flags, programs, err) < 0)
		return NULL;
	return programs;
}

int seccomp_memfds(unsigned flags, int fds[SECCOMP_PROGRAMS], struct err *err)
{
	const struct buf *programs = seccomp_made(flags, err);
	if (!programs)
		return -1;
	for (int i = 0; i < SECCOMP_PROGRAMS; i++)
		fds[i] = -1;
	for (int i = 0; i < SECCOMP_PROGRAMS; i++) {
		fds[i] = memfd_create("filter", MFD_CLOEXEC);
		if (fds[i] < 0 ||
		    fd_write_all(fds[i], programs[i].data, programs[i].len, err) < 0 ||
		    lseek(fds[i], 0, SEEK_SET) < 0) {
			err_sys(err, "can't pass on the system call filter");
			for (int j = 0; j <= i; j++)
				fd_close(&fds[j]);
			return -1;
		}
	}
	return 0;
}
