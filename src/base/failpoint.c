#include "base/failpoint.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void failpoint_hit(const char *name)
{
	static const char *want;
	static long countdown;
	static bool read_it;
	if (!read_it) {
		read_it = true;
		want = getenv("FAILPOINT");
		const char *colon = want ? strrchr(want, ':') : NULL;
		countdown = colon ? strtol(colon + 1, NULL, 10) : 1;
	}
	if (!want)
		return;
	size_t n = strcspn(want, ":");
	if (strlen(name) == n && !strncmp(want, name, n) && --countdown == 0)
		raise(SIGKILL);
}
