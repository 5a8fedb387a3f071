/* Kills by the memory limit of a hosted sandbox, from the counters of overlapping runs. */
#include "tap.h"

#include "sandbox/hosted/hosted_priv.h"

int main(void)
{
	struct remote_oom o = { 0 };
	is_int(hosted_oom_count(&o), -1, "not known before a run has said");
	hosted_oom_heard(&o, -1, -1);
	is_int(hosted_oom_count(&o), -1, "nor if it was not reported");
	hosted_oom_heard(&o, 5, 5);
	is_int(hosted_oom_count(&o), 0, "kills before our first run are not ours");
	hosted_oom_heard(&o, 5, 6);
	hosted_oom_heard(&o, 5, 6);
	hosted_oom_heard(&o, 4, 6);
	is_int(hosted_oom_count(&o), 2, "a kill counts once, however many runs overlap it");
	hosted_oom_heard(&o, 5, 5);
	is_int(hosted_oom_count(&o), 2, "also when one that ended before is heard later");
	hosted_oom_heard(&o, 7, 6);
	hosted_oom_heard(&o, 0, INT64_MAX);
	is_int(hosted_oom_count(&o), 2, "what cannot be is not heard");
	hosted_oom_again(&o);
	hosted_oom_again(&o);
	is_int(hosted_oom_count(&o), 2, "a box that was woken has lost nothing");
	hosted_oom_heard(&o, 0, 1);
	is_int(hosted_oom_count(&o), 3, "and may count from nothing again");
	return done_testing();
}
