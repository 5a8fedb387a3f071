/* The answer of the system call filter for each call, read from its compiled program. The list of
 * refused calls here is a second one on purpose: an entry that one of the two loses fails. */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "sandbox/common/seccomp.h"
#include "tap.h"

static struct buf made[SECCOMP_PROGRAMS];

/* One program, for one call. The instructions that libseccomp makes: loads, jumps, and, ret. */
static uint32_t run_program(const struct buf *program, const struct seccomp_data *d)
{
	const struct sock_filter *code = (const void *)program->data;
	size_t nr = program->len / sizeof(*code);
	uint32_t a = 0;
	for (size_t i = 0; i < nr; i++) {
		uint32_t k = code[i].k;
		bool yes;
		switch (code[i].code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)d + k, sizeof(a));
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= k;
			continue;
		case BPF_JMP | BPF_JA:
			i += k;
			continue;
		case BPF_JMP | BPF_JEQ | BPF_K:
			yes = a == k;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			yes = a > k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			yes = a >= k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			yes = (a & k) != 0;
			break;
		case BPF_RET | BPF_K:
			return k;
		default:
			abort(); /* an instruction that is not known here */
		}
		i += yes ? code[i].jt : code[i].jf;
	}
	abort();
}

/* The errno of a call, 0 allowed, -1 the process is killed: the strictest of all programs. */
static int answer_for(uint32_t arch, int call, const uint64_t arg[6])
{
	struct seccomp_data d = { .nr = call, .arch = arch };
	int worst = 0;
	memcpy(d.args, arg, sizeof(d.args));
	for (size_t i = 0; i < SECCOMP_PROGRAMS; i++) {
		uint32_t r = run_program(&made[i], &d), action = r & SECCOMP_RET_ACTION_FULL;
		if (action == SECCOMP_RET_KILL_PROCESS)
			return -1;
		if (action == SECCOMP_RET_ERRNO && !worst)
			worst = (int)(r & SECCOMP_RET_DATA);
		else if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_ERRNO)
			abort();
	}
	return worst;
}

static int answer(const char *name, uint64_t a0, uint64_t a1, uint64_t a2)
{
	return answer_for(seccomp_arch_native(), seccomp_syscall_resolve_name(name),
			  (const uint64_t[6]){ a0, a1, a2 });
}

static void load(unsigned flags)
{
	struct err err = ERR_INIT;
	for (size_t i = 0; i < SECCOMP_PROGRAMS; i++)
		buf_release(&made[i]);
	ok(seccomp_programs(flags, made, &err) == 0, "the filter compiles (flags %u)", flags);
}

static const char *const refused[] = {
	"mount",
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
	"unshare",
	"setns",
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"process_madvise",
	"kcmp",
	"pidfd_getfd",
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
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
	"clock_settime",
	"adjtimex",
	"clock_adjtime",
	"iopl",
	"ioperm",
	"modify_ldt",
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
static const char *const memory[] = { "memfd_create", "shmget", "shmat" };
static const char *const ipc[] = { "shmget", "shmat",  "shmctl", "shmdt",  "semget",	 "semop",
				   "semctl", "msgget", "msgsnd", "msgrcv", "semtimedop", "msgctl" };
/* with arguments that are looked at */
static const char *const looked_at[] = { "clone",   "clone3", "personality", "mknod",
					 "mknodat", "socket", "socketpair",  "ioctl" };

static bool is_in(const char *const *list, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

#define IN(list, name) is_in(list, ARRAY_LEN(list), name)

/* Each call that the library knows, against the lists. */
static void each_call(unsigned flags, const char *what)
{
	int wrong = 0, looked = 0;
	load(flags);
	for (int n = 0; n < 1024; n++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, n);
		if (!name)
			continue;
		bool no = IN(refused, name) ||
			  (flags & SECCOMP_NO_SHARED_MEMORY && IN(memory, name)) ||
			  (flags & SECCOMP_NO_SYSV && IN(ipc, name));
		if (!IN(looked_at, name)) {
			int got = answer(name, 0, 0, 0);
			looked++;
			if (got != (no ? EPERM : 0)) {
				wrong++;
				printf("# %s: %d\n", name, got);
			}
		}
		free(name);
	}
	ok(looked > 250 && wrong == 0, "%s: each of %d calls is refused or allowed as listed", what,
	   looked);
}

static void spaces_of_clone(void)
{
	static const uint64_t space[] = { CLONE_NEWNS,	CLONE_NEWCGROUP, CLONE_NEWUTS,
					  CLONE_NEWIPC, CLONE_NEWUSER,	 CLONE_NEWPID,
					  CLONE_NEWNET };
	for (size_t i = 0; i < ARRAY_LEN(space); i++)
		is_int(answer("clone", space[i] | SIGCHLD, 0, 0), EPERM, "clone of a namespace");
	is_int(answer("clone", SIGCHLD, 0, 0), 0, "fork");
	is_int(answer("clone", CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, 0, 0), 0, "a thread");
	is_int(answer("clone3", 0, 0, 0), ENOSYS, "clone3 sends libraries back to clone");
}

static void devices(void)
{
	static const uint64_t no[] = { S_IFCHR, S_IFBLK },
			      yes[] = { 0, S_IFREG, S_IFIFO, S_IFSOCK };
	for (size_t i = 0; i < ARRAY_LEN(no); i++) {
		is_int(answer("mknodat", 0, 0, no[i] | 0666), EPERM, "mknodat of a device");
		is_int(answer("mknod", 0, no[i] | 0666, 0), EPERM, "mknod of a device");
	}
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		is_int(answer("mknodat", 0, 0, yes[i] | 0666), 0, "mknodat of another file");
		is_int(answer("mknod", 0, yes[i] | 0666, 0), 0, "mknod of another file");
	}
	is_int(answer("personality", 0, 0, 0), 0, "the ordinary personality");
	is_int(answer("personality", 0xffffffff, 0, 0), 0, "asking for it");
	is_int(answer("personality", 0x0400000, 0, 0), ENOSYS, "READ_IMPLIES_EXEC");
	is_int(answer("personality", 0x0040000, 0, 0), ENOSYS, "ADDR_NO_RANDOMIZE");
}

static void sockets(bool internet)
{
	int wrong = 0;
	for (uint64_t f = 0; f < 64; f++) {
		bool inet = f == AF_INET || f == AF_INET6;
		int want = f == AF_UNIX || f == AF_NETLINK || (inet && internet) ? 0
			   : inet						 ? EPERM
										 : EAFNOSUPPORT;
		int got = answer("socket", f, SOCK_STREAM, 0);
		if (got != want) {
			wrong++;
			printf("# family %d: %d\n", (int)f, got);
		}
	}
	is_int(wrong, 0, internet ? "families of sockets" : "families of sockets, off the network");
	is_int(answer("socket", 64, SOCK_STREAM, 0) != 0, 1, "a family beyond the known ones");
	is_int(answer("socket", (1ULL << 32) | 40, SOCK_STREAM, 0), EAFNOSUPPORT,
	       "the kernel looks at the low half of a family");
	for (uint64_t type = 1; internet && type < 8; type++) {
		int want = type == SOCK_STREAM || type == SOCK_DGRAM ? 0 : EPERM;
		is_int(answer("socket", AF_INET, type, 0), want, "a type of socket");
		is_int(answer("socket", AF_INET6, type | SOCK_CLOEXEC, 0), want, "with a flag");
	}
	is_int(answer("socket", AF_NETLINK, SOCK_RAW, 0), 0, "netlink lists interfaces");
	is_int(answer("socket", AF_NETLINK, SOCK_RAW, 9) != 0, 1, "no other netlink");
	is_int(answer("socket", AF_NETLINK, SOCK_RAW, 16) != 0, 1, "not the generic one");
	is_int(answer("socketpair", AF_UNIX, SOCK_STREAM, 0), 0, "a pair of sockets");
	is_int(answer("socketpair", AF_INET, SOCK_STREAM, 0) != 0, 1, "of Unix alone");
}

static void terminal_requests(void)
{
	static const uint64_t request[] = { TIOCSTI, 0x541C, TIOCSETD, TIOCCONS };
	for (size_t i = 0; i < ARRAY_LEN(request); i++) {
		is_int(answer("ioctl", 0, request[i], 0), EPERM, "a request to a terminal");
		is_int(answer("ioctl", 0, request[i] | (1ULL << 40), 0), EPERM, "with high bits");
	}
	is_int(answer("ioctl", 0, TIOCGWINSZ, 0), 0, "the size of a terminal");
}

static void other_machines(void)
{
	static const uint64_t none[6];
	is_int(answer_for(SCMP_ARCH_X86 == seccomp_arch_native() ? SCMP_ARCH_ARM : SCMP_ARCH_X86, 1,
			  none),
	       -1, "a call of another architecture ends the process");
	is_int(answer_for(seccomp_arch_native(), 1000, none), ENOSYS, "an unknown call");
	if (seccomp_arch_native() == SCMP_ARCH_X86_64) /* getpid, with the bit of x32 */
		is_int(answer_for(SCMP_ARCH_X86_64, 0x40000000 | 39, none) != 0, 1,
		       "no call of x32");
}

int main(void)
{
	each_call(SECCOMP_NO_INTERNET | SECCOMP_NO_SYSV, "reduced");
	sockets(false);
	each_call(SECCOMP_NO_SHARED_MEMORY, "no shared memory");
	each_call(0, "enforced");
	sockets(true);
	spaces_of_clone();
	devices();
	terminal_requests();
	other_machines();
	for (size_t i = 0; i < SECCOMP_PROGRAMS; i++)
		buf_release(&made[i]);
	return done_testing();
}
