#include "tls/tls_lockdown.h"

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
#include "base/mem.h"
#include "wire/tls.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

static const rlim_t MEMORY_MAX = (rlim_t)512 << 20;

static const int tls_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendto),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(shutdown),
	SCMP_SYS(close),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(futex),
	SCMP_SYS(getrandom),
	SCMP_SYS(getpid),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
#ifdef SANITIZED
	/* what the sanitizers need to say what they found */
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

static int tls_lockdown_limit(int what, rlim_t value, struct err *err)
{
	struct rlimit r = { value, value };
	return setrlimit((__rlimit_resource_t)what, &r) < 0 ? err_sys(err, "can't set a limit") : 0;
}

static int tls_lockdown_limits(struct err *err)
{
	/* descriptors arrive by the socket; opening is not among the calls */
	if (tls_lockdown_limit(RLIMIT_CORE, 0, err) < 0 ||
	    tls_lockdown_limit(RLIMIT_FSIZE, 0, err) < 0 ||
	    tls_lockdown_limit(RLIMIT_NOFILE, 2 * TLS_CONNS_MAX + 32, err) < 0)
		return -1;
#ifndef SANITIZED
	return tls_lockdown_limit(RLIMIT_AS, MEMORY_MAX, err);
#else
	(void)MEMORY_MAX;
	return 0;
#endif
}

static int tls_lockdown_rules(scmp_filter_ctx f)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < ARRAY_LEN(tls_calls); i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, tls_calls[i], 0);
#ifndef SANITIZED
	static const int memory_calls[] = { SCMP_SYS(mmap), SCMP_SYS(mprotect) };
	const struct scmp_arg_cmp no_exec = {
		.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0
	};
	for (size_t i = 0; !rc && i < ARRAY_LEN(memory_calls); i++)
		rc = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, memory_calls[i], 1, &no_exec);
#endif
	return rc;
}

static int tls_lockdown_filter(struct err *err)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int rc = f ? tls_lockdown_rules(f) : -ENOMEM;
	if (!rc)
		rc = seccomp_load(f);
	seccomp_release(f);
	return rc ? err_set(err, ERR_UNSUPPORTED, "can't load the system call filter: %s",
			    strerror(-rc))
		  : 0;
}

int tls_lockdown_enter(struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(err, "can't give up privileges");
	clock_awake_us(); /* nothing may have to be looked up later */
	if (close_range(TLS_FD + 1, ~0U, 0) < 0)
		return err_sys(err, "can't close other descriptors");
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	if (tls_lockdown_limits(err) < 0)
		return -1;
	return tls_lockdown_filter(err);
}
