#include "tls/tls_lockdown.h"

#include "base/clock.h"
#include "base/confine.h"
#include "base/mem.h"
#include "wire/tls.h"

static const int tls_calls[] = {
	SCMP_SYS(read),	    SCMP_SYS(write),	    SCMP_SYS(recvmsg),	 SCMP_SYS(sendmsg),
	SCMP_SYS(recvfrom), SCMP_SYS(sendto),	    SCMP_SYS(poll),	 SCMP_SYS(ppoll),
	SCMP_SYS(shutdown), SCMP_SYS(close),	    SCMP_SYS(getrandom), SCMP_SYS(getpid),
	SCMP_SYS(time),	    SCMP_SYS(gettimeofday),
};

static int tls_lockdown_rules(scmp_filter_ctx f)
{
	return confine_allow(f, tls_calls, ARRAY_LEN(tls_calls));
}

int tls_lockdown_enter(struct err *err)
{
	/* descriptors arrive by the socket; opening is not among the calls */
	const struct confinement c = { .files = 2 * TLS_CONNS_MAX + 32,
				       .memory_bytes = (rlim_t)512 << 20,
				       .rules = tls_lockdown_rules };
	clock_awake_us(); /* nothing may have to be looked up later */
	return confine_close(TLS_FD, err) < 0 ? -1 : confine_enter(&c, err);
}
