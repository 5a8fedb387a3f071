/* Runs a program as a plain container would, `debian:12` with no extra flags: root with the capabilities that engines
 * leave, and a system call filter that refuses namespaces, mounts, keys, BPF and perf. `container PROGRAM ARGS...` */
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compat.h"

static const unsigned kept[] = { CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FSETID,  CAP_FOWNER,	 CAP_MKNOD,	       CAP_NET_RAW,    CAP_SETGID,
				 CAP_SETUID, CAP_SETFCAP,      CAP_SETPCAP, CAP_KILL,	 CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT, CAP_AUDIT_WRITE };

static int fewer_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct had[2] = { 0 }, data[2] = { 0 };
	if (syscall(SYS_capget, &head, had) < 0)
		return -1;
	for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++) {
		bool keep = false;
		for (size_t i = 0; i < ARRAY_LEN(kept); i++)
			keep = keep || kept[i] == cap;
		if (keep) {
			data[cap / 32].effective |= had[cap / 32].permitted & 1U << cap % 32;
			data[cap / 32].permitted |= had[cap / 32].permitted & 1U << cap % 32;
		} else if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 && errno != EINVAL) {
			return -1;
		}
	}
	return (int)syscall(SYS_capset, &head, data);
}

static bool may_administer(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	return syscall(SYS_capget, &head, data) == 0 && (data[0].effective & 1U << CAP_SYS_ADMIN);
}

static int fewer_calls(void)
{
	static const char *const refused[] = { "unshare",	"mount",	 "umount2",    "pivot_root", "setns",	  "open_tree",
					       "move_mount",	"fsopen",	 "fsmount",    "fsconfig",   "fspick",	  "mount_setattr",
					       "keyctl",	"add_key",	 "request_key", "bpf",	     "perf_event_open", "userfaultfd",
					       "quotactl",	"swapon",	 "reboot",     "syslog",     "kexec_load" };
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	if (!f)
		return -1;
	int rc = 0;
	for (size_t i = 0; i < ARRAY_LEN(refused) && rc == 0; i++) {
		int nr = seccomp_syscall_resolve_name(refused[i]);
		rc = nr < 0 ? 0 : seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), nr, 0);
	}
	static const unsigned spaces[] = { CLONE_NEWNS,	 CLONE_NEWUSER, CLONE_NEWPID,	CLONE_NEWNET,
					   CLONE_NEWIPC, CLONE_NEWUTS,	CLONE_NEWCGROUP };
	for (size_t i = 0; i < ARRAY_LEN(spaces) && rc == 0; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				      SCMP_A0(SCMP_CMP_MASKED_EQ, spaces[i], spaces[i]));
	/* the flags of clone3 lie behind a pointer: libraries fall back to clone */
	rc = rc == 0 ? seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) : rc;
	/* engines know the other ABIs of the machine, too: their calls are not killed */
	rc = rc == 0 ? seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW) : rc;
	rc = rc == 0 ? seccomp_attr_set(f, SCMP_FLTATR_CTL_NNP, !may_administer()) : rc;
	rc = rc == 0 ? seccomp_load(f) : rc;
	seccomp_release(f);
	errno = rc < 0 ? -rc : 0;
	return rc;
}

/* In a real container nothing has to be played; but some engines' allow namespaces. */
static bool already(void)
{
	int status = 0;
	pid_t pid = may_administer() ? -1 : fork(); /* the attempt itself would enter one */
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) != 0 && unshare(CLONE_NEWNS) != 0 ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: container PROGRAM ARGS...\n", stderr);
		return 2;
	}
	/* the filter first: loading it without no_new_privs takes a capability that then goes, or is not there at
	 * all */
	if (geteuid() != 0 || (!already() && (fewer_calls() != 0 || fewer_capabilities() != 0))) {
		fprintf(stderr, "container: %s\n", geteuid() == 0 ? strerror(errno) : "only root can play one");
		return 125;
	}
	execvp(argv[1], argv + 1);
	fprintf(stderr, "container: %s: %s\n", argv[1], strerror(errno));
	return 127;
}
