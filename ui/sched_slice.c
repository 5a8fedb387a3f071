#include "ui/sched_slice.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TURN_NS = 100000 }; /* the least that there is */

void sched_slice(void)
{
	struct sched_attr a = { .size = sizeof(a) };
	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) < 0 || a.sched_policy != SCHED_NORMAL)
		return;
	a.sched_runtime = TURN_NS;
	a.sched_flags |= SCHED_FLAG_RESET_ON_FORK;
	(void)!syscall(SYS_sched_setattr, 0, &a, 0);
}
