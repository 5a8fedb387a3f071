#include "script/lockdown.h"

#include <errno.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/mem.h"
#include "wire/host.h"

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

/* Calls that are allowed with any arguments. */
static const int plain_calls[] = {
	SCMP_SYS(setitimer),
#ifdef SANITIZED
	SCMP_SYS(write),
	SCMP_SYS(getpid),
#endif
};

/* Calls that are allowed on the socket alone. */
static const int socket_calls[] = { SCMP_SYS(read),    SCMP_SYS(write),	   SCMP_SYS(recvmsg),
				    SCMP_SYS(sendmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendto) };

static int lockdown_rules(scmp_filter_ctx f)
{
	const struct scmp_arg_cmp on_socket = {
		.arg = 0, .op = SCMP_CMP_EQ, .datum_a = HOST_FD, .datum_b = 0
	};
	int rc = confine_allow(f, plain_calls, ARRAY_LEN(plain_calls));
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
#endif
	return rc;
}

int lockdown_enter(size_t mem_bytes, struct err *err)
{
	/* Descriptors stay open, new ones cannot be made. */
	struct confinement c = { .files = 0, .rules = lockdown_rules };
	clock_mono_us(); /* nothing may have to be looked up later */
	if (confine_close(HOST_FD, err) < 0)
		return -1;
	size_t now = lockdown_mapped();
	c.memory_bytes = mem_bytes && now ? now + mem_bytes : 0;
	return confine_enter(&c, err);
}

void lockdown_turn(unsigned seconds)
{
	/* SIGVTALRM is fatal by default; it counts our CPU time, not the wall, so a busy machine
	 * kills nobody. */
	struct itimerval t = { .it_value.tv_sec = (time_t)seconds };
	setitimer(ITIMER_VIRTUAL, &t, NULL);
}
