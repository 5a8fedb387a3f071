#include "screen/screen_lockdown.h"

#include "base/confine.h"
#include "base/mem.h"
#include "wire/screen.h"

enum { FILES = 16 };

static const int screen_calls[] = {
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(close),
};

static int screen_lockdown_rules(scmp_filter_ctx f)
{
	return confine_allow(f, screen_calls, ARRAY_LEN(screen_calls));
}

int screen_lockdown_enter(struct err *err)
{
	const struct confinement c = { .files = FILES,
				       .memory_bytes = (rlim_t)1 << 30,
				       .rules = screen_lockdown_rules };
	return confine_close(SCREEN_FD, err) < 0 ? -1 : confine_enter(&c, err);
}
