#include "login/login_lockdown.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/mem.h"

enum { FILES = 32, MEMORY_BYTES = 256 << 20 };

static const int login_calls[] = {
	SCMP_SYS(read),	      SCMP_SYS(write), SCMP_SYS(close), SCMP_SYS(fstat),  SCMP_SYS(stat),
	SCMP_SYS(newfstatat), SCMP_SYS(lseek), SCMP_SYS(flock), SCMP_SYS(getpid),
};

static int login_lockdown_rules(scmp_filter_ctx f)
{
	const struct scmp_arg_cmp reads = {
		.arg = 2,
		.op = SCMP_CMP_MASKED_EQ,
		.datum_a = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND,
		.datum_b = O_RDONLY,
	};
	int rc = confine_allow(f, login_calls, ARRAY_LEN(login_calls));
	return rc ? rc : seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, &reads);
}

int login_lockdown_enter(struct err *err)
{
	const struct confinement c = { .files = FILES,
				       .memory_bytes = MEMORY_BYTES,
				       .rules = login_lockdown_rules };
	clock_wall_us(); /* nothing may have to be looked up later */
	return confine_close(LOGIN_LAST_FD, err) < 0 ? -1 : confine_enter(&c, err);
}
