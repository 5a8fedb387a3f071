/* The table of drivers: one row each. */
#include <string.h>

#include "sandbox/driver.h"
#include "sandbox/container.h"
#include "sandbox/host.h"
#include "sandbox/process.h"
#include "sandbox/ssh.h"

static const struct driver *const drivers[] = {
	&driver_process,
	&driver_container,
	&driver_ssh,
	&driver_host,
};

const struct driver *driver_at(size_t i)
{
	return i < ARRAY_LEN(drivers) ? drivers[i] : NULL;
}

const struct driver *driver_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(drivers); i++)
		if (strcmp(drivers[i]->name, name) == 0)
			return drivers[i];
	return NULL;
}
