#include "script/lockdown.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/host.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/* Bytes that are mapped now, from /proc; 0 if it cannot be read. */
static size_t lockdown_mapped(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (!f)
		return 0;
	if (fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	fclose(f);
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static int lockdown_limit(int what, rlim_t value, struct err *err)
{
	struct rlimit r = { value, value };
	return setrlimit((__rlimit_resource_t)what, &r) < 0 ? err_sys(err, "can't set a limit") : 0;
}

static int lockdown_limits(size_t mem_bytes, struct err *err)
{
#ifndef SANITIZED
	size_t now = lockdown_mapped();
	if (mem_bytes && now && lockdown_limit(RLIMIT_AS, now + mem_bytes, err) < 0)
		return -1;
#else
	(void)mem_bytes;
	(void)lockdown_mapped;
#endif
	/* Descriptors stay open, new ones cannot be made. */
	if (lockdown_limit(RLIMIT_CORE, 0, err) < 0 || lockdown_limit(RLIMIT_FSIZE, 0, err) < 0 ||
	    lockdown_limit(RLIMIT_NOFILE, 0, err) < 0)
		return -1;
	return 0;
}

/* Calls that are allowed with any arguments. */
static const int plain_calls[] = {
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(exit_group),
	SCMP_SYS(exit),
	SCMP_SYS(futex),
	SCMP_SYS(setitimer),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(clock_gettime),
#ifdef SANITIZED
	/* what the sanitizers need to say what they found */
	SCMP_SYS(write),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(mmap),
	SCMP_SYS(mprotect),
	SCMP_SYS(readlink),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(prctl),
#endif
};

/* Calls that are allowed on the socket alone. */
static const int socket_calls[] = { SCMP_SYS(read),    SCMP_SYS(write),	   SCMP_SYS(recvmsg),
				    SCMP_SYS(sendmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendto) };

static int add_rules(scmp_filter_ctx f)
{
	const struct scmp_arg_cmp on_socket = {
		.arg = 0, .op = SCMP_CMP_EQ, .datum_a = HOST_FD, .datum_b = 0
	};
	int rc = 0;
	for (size_t i = 0; !rc && i < ARRAY_LEN(plain_calls); i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, plain_calls[i], 0);
	for (size_t i = 0; !rc && i < ARRAY_LEN(socket_calls); i++)
		rc = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, socket_calls[i], 1, &on_socket);
#ifndef SANITIZED
	/* The last word of mem_alloc and assert is lost rather than fatal in a new way. */
	const struct scmp_arg_cmp elsewhere = {
		.arg = 0, .op = SCMP_CMP_NE, .datum_a = HOST_FD, .datum_b = 0
	};
	if (!rc)
		rc = seccomp_rule_add_array(f, SCMP_ACT_ERRNO(EBADF), SCMP_SYS(write), 1,
					    &elsewhere);
	/* mprotect: malloc gives memory back with it */
	static const int memory_calls[] = { SCMP_SYS(mmap), SCMP_SYS(mprotect) };
	const struct scmp_arg_cmp no_exec = {
		.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0
	};
	for (size_t i = 0; !rc && i < ARRAY_LEN(memory_calls); i++)
		rc = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, memory_calls[i], 1, &no_exec);
#endif
	return rc;
}

static int lockdown_filter(struct err *err)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (!f)
		return err_set(err, ERR_UNSUPPORTED, "can't create a system call filter");
	int rc = add_rules(f);
	if (!rc)
		rc = seccomp_load(f);
	seccomp_release(f);
	if (rc)
		return err_set(err, ERR_UNSUPPORTED,
			       "can't load the system call filter of a Lua host: %s",
			       strerror(-rc));
	return 0;
}

static int close_others(struct err *err)
{
	if (close_range(HOST_FD + 1, ~0U, 0) < 0)
		return err_sys(err, "can't close other descriptors");
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	return 0;
}

int lockdown_enter(size_t mem_bytes, struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(err, "can't give up privileges");
	clock_mono_us(); /* nothing may have to be looked up later */
	if (close_others(err) < 0 || lockdown_limits(mem_bytes, err) < 0)
		return -1;
	return lockdown_filter(err);
}

void lockdown_turn(unsigned seconds)
{
	/* SIGVTALRM is fatal by default; it counts our CPU time, not the wall, so a busy machine
	 * kills nobody. */
	struct itimerval t = { .it_value.tv_sec = (time_t)seconds };
	setitimer(ITIMER_VIRTUAL, &t, NULL);
}
