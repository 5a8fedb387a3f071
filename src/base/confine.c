#include "base/confine.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"

static const int common_calls[] = {
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
#ifdef SANITIZED
	/* what the sanitizers need to say what they found, beside write and getpid */
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

int confine_close(int last_fd, struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(err, "can't give up privileges");
	if (close_range((unsigned)last_fd + 1, ~0U, 0) < 0)
		return err_sys(err, "can't close other descriptors");
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	return 0;
}

static int confine_limit(int what, rlim_t value, struct err *err)
{
	struct rlimit r = { value, value };
	return setrlimit((__rlimit_resource_t)what, &r) < 0 ? err_sys(err, "can't set a limit") : 0;
}

static int confine_limits(const struct confinement *c, struct err *err)
{
#ifndef SANITIZED
	if (c->memory_bytes && confine_limit(RLIMIT_AS, c->memory_bytes, err) < 0)
		return -1;
#endif
	if (confine_limit(RLIMIT_CORE, 0, err) < 0 || confine_limit(RLIMIT_FSIZE, 0, err) < 0 ||
	    confine_limit(RLIMIT_NOFILE, c->files, err) < 0)
		return -1;
	return 0;
}

int confine_allow(scmp_filter_ctx f, const int *calls, size_t nr)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < nr; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0);
	return rc;
}

/* Memory that may not become code. mprotect: malloc gives memory back with it. */
static int confine_memory(scmp_filter_ctx f)
{
	int rc = 0;
#ifndef SANITIZED
	static const int memory_calls[] = { SCMP_SYS(mmap), SCMP_SYS(mprotect) };
	const struct scmp_arg_cmp no_exec = {
		.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0
	};
	for (size_t i = 0; !rc && i < ARRAY_LEN(memory_calls); i++)
		rc = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, memory_calls[i], 1, &no_exec);
#else
	(void)f;
#endif
	return rc;
}

static int confine_rules(const struct confinement *c, scmp_filter_ctx f)
{
	int rc = confine_allow(f, common_calls, ARRAY_LEN(common_calls));
	if (!rc)
		rc = c->rules(f);
	return rc ? rc : confine_memory(f);
}

int confine_enter(const struct confinement *c, struct err *err)
{
	if (confine_limits(c, err) < 0)
		return -1;
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int rc = f ? confine_rules(c, f) : -ENOMEM;
	if (!rc)
		rc = seccomp_load(f);
	seccomp_release(f);
	return rc ? err_set(err, ERR_UNSUPPORTED, "can't load the system call filter: %s",
			    strerror(-rc))
		  : 0;
}
