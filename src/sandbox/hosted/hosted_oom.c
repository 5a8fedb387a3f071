/* Kills by the memory limit of a hosted sandbox, counted from the reports at the ends of its
 * runs. */
#include "sandbox/hosted/hosted_priv.h"

enum { KILLED_MOST = 1000000 };

void hosted_oom_heard(struct remote_oom *o, int64_t before, int64_t after)
{
	/* the sandbox sent the numbers: ignore impossible ones */
	if (before < 0 || after < before || after > KILLED_MOST)
		return;
	o->least = o->since && o->least < before ? o->least : before;
	o->most = o->since && o->most > after ? o->most : after;
	o->known = o->since = true;
}

void hosted_oom_again(struct remote_oom *o)
{
	o->past += o->since ? o->most - o->least : 0;
	o->since = false;
}

int64_t hosted_oom_count(const struct remote_oom *o)
{
	return o->known ? o->past + (o->since ? o->most - o->least : 0) : -1;
}
